//! The `pak info` and `pak verify` commands.

use super::ship::public_key;
use super::{damaged, open, options, unopened};
use ::pak::mesh::Mesh;
use ::pak::sound::SoundInfo;
use ::pak::{Entry, Error, Kind, Pak, PakBuf};
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Code, Diag, Json};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn entry_json(entry: &Entry<'_>) -> Json {
    Json::object([
        ("key", Some(entry.key).filter(|key| !key.is_empty()).into()),
        ("kind", entry.kind.name().into()),
        ("id", entry.id.into()),
        ("len", entry.len.into()),
        ("stored", entry.stored_len.into()),
        ("codec", entry.codec.name().into()),
        ("blocks", entry.blocks.len().into()),
    ])
}

pub(super) fn info(reporter: &Reporter, path: &Path, key: &str) -> Result<u8, Diag> {
    let pak = open(path)?;
    let Some(entry) = pak.entries().find(|entry| entry.key == key) else {
        let diag = Diag::new(Code::PakUnknownKey, format!("the pak has no key {key:?}")).path(path.display());
        return Err(match kiln_engine::nearest(key, pak.keys()) {
            Some(near) => diag.hint(format!("did you mean {near:?}?")),
            None => diag.hint("run `pak list` to see all keys"),
        });
    };
    let facts = facts(&pak, entry.kind, entry.id).map_err(|error| damaged(path, &error))?;
    let mut out = reporter.out();
    if reporter.json {
        let facts =
            Json::list(facts.iter().map(|(name, value)| {
                Json::object([("name", (*name).into()), ("value", value.as_str().into())])
            }));
        out.line(&Json::object([("entry", entry_json(&entry)), ("facts", facts)]).to_string());
        return Ok(OK);
    }
    out.line(&out.style.strong(&format!("{} {}", entry.kind.name(), render::printable(key))));
    let blocks = entry.blocks.len();
    out.line(&format!(
        "  stored: {} of {} as {} in {}",
        render::size(entry.stored_len),
        render::size(entry.len),
        entry.codec.name(),
        render::count(blocks, "block", "blocks")
    ));
    for (name, value) in facts {
        out.line(&format!("  {name}: {value}"));
    }
    Ok(OK)
}

/// Reads an asset, which validates it, and returns its properties as names and values.
fn facts(pak: &PakBuf, kind: Kind, id: usize) -> Result<Vec<(&'static str, String)>, Error> {
    Ok(match kind {
        Kind::Animation => {
            let animation = pak.read_animation_id(id)?;
            let mut facts = vec![("duration", format!("{} s", animation.duration()))];
            facts.extend(animation.channels().iter().map(|channel| {
                let keyframes = render::count(channel.inputs().len(), "keyframe", "keyframes");
                let what = format!("{:?}, {keyframes}", channel.interpolation());
                ("channel", format!("{} ({what})", channel.target()))
            }));
            facts
        }
        Kind::Bitmap => {
            let bitmap = pak.read_bitmap_id(id)?;
            let form =
                if bitmap.ktx2().is_some() { "KTX2".to_owned() } else { format!("{:?}", bitmap.format()) };
            vec![
                ("size", format!("{} x {}", bitmap.width(), bitmap.height())),
                ("texels", format!("{form}, {}, {}", bitmap.sample().name(), bitmap.color().name())),
                ("mip levels", bitmap.mip_levels().to_string()),
            ]
        }
        Kind::BitmapFont => {
            let font = pak.read_bitmap_font_id(id)?;
            vec![
                ("pages", font.pages().len().to_string()),
                ("definition", format!("{} bytes", font.def().len())),
            ]
        }
        Kind::Blob => {
            // Streamed: a blob may be larger than memory.
            std::io::copy(&mut pak.stream_blob_id(id)?, &mut std::io::sink())?;
            let is_small = pak.stream_blob_id(id)?.len() <= MAX_SOUND;
            let bytes = is_small.then(|| pak.read_blob_id(id)).transpose()?;
            bytes.map_or_else(Vec::new, |bytes| sound_facts(&bytes))
        }
        Kind::Material => {
            let info = pak.read_material_id(id).ok_or(Error::NoSuchId { kind: Kind::Material, id })?;
            vec![
                ("color", format!("bitmap {}", info.color.0)),
                ("normal", info.normal.map_or("none".into(), |id| format!("bitmap {}", id.0))),
                ("emissive", info.emissive.map_or("none".into(), |id| format!("bitmap {}", id.0))),
                ("params", info.params.map_or("none".into(), |id| format!("bitmap {}", id.0))),
                ("double-sided", info.double_sided.to_string()),
                ("alpha-test", info.alpha_test.to_string()),
            ]
        }
        Kind::Mesh => mesh_facts(&pak.read_mesh_id(id)?),
        Kind::Scene => {
            let scene = pak.read_scene_id(id)?;
            vec![
                ("references", scene.refs().len().to_string()),
                ("geometries", scene.geometries().len().to_string()),
            ]
        }
    })
}

/// The largest blob whose headers of sounds are shown, in bytes: it is read into memory.
const MAX_SOUND: u64 = 64 << 20;

/// Returns the properties of a sound; none if the blob is not one.
fn sound_facts(bytes: &[u8]) -> Vec<(&'static str, String)> {
    let Ok(info) = SoundInfo::parse(bytes) else { return vec![] };
    let duration = info.duration().map_or("unknown".to_owned(), |duration| format!("{duration:.3?}"));
    let channels = render::count(info.channels.into(), "channel", "channels");
    vec![
        ("sound", format!("{}, {channels}, {} Hz", info.format.name(), info.sample_rate)),
        ("duration", duration),
    ]
}

fn mesh_facts(mesh: &Mesh) -> Vec<(&'static str, String)> {
    let bounds = mesh.bounds();
    let mut facts = vec![("bounds", format!("{:?} to {:?}", bounds.min, bounds.max))];
    for part in mesh.primitives() {
        let lods: Vec<String> = part.lods().iter().map(|lod| lod.triangle_count().to_string()).collect();
        facts.push((
            part.role().name(),
            format!(
                "{} of {} bytes, triangles per LOD {}, material {}, {}",
                render::count(part.vertex_count(), "vertex", "vertices"),
                part.vertex_type().stride(),
                lods.join("/"),
                part.material(),
                render::count(part.meshlets().len(), "meshlet", "meshlets")
            ),
        ));
    }
    facts.extend(mesh.skin().map(|skin| ("joints", skin.joints().len().to_string())));
    facts
}

/// Verifies a pak, and its signature if a public key is given.
pub(super) fn verify(reporter: &Reporter, path: &Path, key: Option<&Path>) -> Result<u8, Diag> {
    let pak = match key {
        None => open(path)?,
        Some(key) => {
            let pak = PakBuf::open_signed(path, &public_key(key)?, options());
            pak.map_err(|error| unopened(path, error))?
        }
    };
    let whole = pak.validate_hash().map_err(|error| damaged(path, &error))?;
    let keys: BTreeMap<(Kind, usize), &str> =
        pak.entries().map(|entry| ((entry.kind, entry.id), entry.key)).collect();
    let mut bad = Vec::new();
    for kind in Kind::ALL {
        for id in 0..pak.count(kind) {
            let name = format!("{} {id}", kind.name());
            let key = keys.get(&(kind, id)).copied();
            if let Err(error) = facts(&pak, kind, id) {
                bad.push((key.map_or(name, str::to_owned), error));
            }
        }
    }
    for (key, error) in &bad {
        let mut diag = damaged(path, error);
        diag.message = format!("{key}: {}", diag.message);
        reporter.say(&diag);
    }
    if !whole && bad.is_empty() {
        reporter
            .say(&Diag::new(Code::PakDamaged, "the padding between assets is not zero").path(path.display()));
    }
    let fine = whole && bad.is_empty();
    if reporter.json {
        let keys = Json::list(bad.iter().map(|(key, _)| key.as_str()));
        reporter.out().line(&Json::object([("ok", fine.into()), ("damaged", keys)]).to_string());
    } else if reporter.verbosity > Verbosity::Quiet {
        let count = render::count(pak.keys().len(), "key", "keys");
        let word = match (fine, key) {
            (true, None) => "ok",
            (true, Some(_)) => "ok, the signature is valid",
            (false, _) => "damaged",
        };
        reporter.out().line(&format!(
            "{}: {word}, {count}, {}",
            path.display(),
            render::size(pak.file_len())
        ));
    }
    Ok(if fine { OK } else { FAILED })
}
