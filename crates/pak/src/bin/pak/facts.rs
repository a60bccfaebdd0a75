//! The properties of one asset: format, dimensions, mip levels, vertex layout and sizes, for people and as JSON.

use ::pak::bitmap::{Bitmap, GpuFormat};
use ::pak::mesh::{Mesh, Primitive};
use ::pak::sound::SoundInfo;
use ::pak::{BitmapId, Error, Kind, MaterialInfo, Pak, PakBuf};
use kiln_cli::render;
use kiln_engine::Json;

/// One property of an asset.
pub(super) struct Fact {
    pub(super) name: &'static str,
    /// The value for people.
    pub(super) text: String,
    value: Json,
}

impl Fact {
    /// Makes a property whose value is the same for people and in JSON.
    fn of(name: &'static str, value: impl Into<Json>) -> Fact {
        let value = value.into();
        let text = match &value {
            Json::Null => "none".to_owned(),
            Json::Text(text) => text.clone(),
            other => other.to_string(),
        };
        Fact { name, text, value }
    }

    fn new(name: &'static str, text: String, value: Json) -> Fact {
        Fact { name, text, value }
    }

    pub(super) fn json(&self) -> Json {
        Json::object([("name", self.name.into()), ("value", self.value.clone())])
    }
}

/// Reads an asset, which validates it, and returns its properties.
pub(super) fn facts(pak: &PakBuf, kind: Kind, id: usize) -> Result<Vec<Fact>, Error> {
    Ok(match kind {
        Kind::Animation => {
            let animation = pak.read_animation_id(id)?;
            let duration = animation.duration();
            let mut facts = vec![Fact::new("duration", format!("{duration} s"), duration.into())];
            facts.extend(animation.channels().iter().map(|channel| {
                let (keys, how) = (channel.inputs().len(), format!("{:?}", channel.interpolation()));
                let text = format!(
                    "{} ({how}, {})",
                    render::printable(channel.target()),
                    render::count(keys, "keyframe", "keyframes")
                );
                let value = [
                    ("target", channel.target().into()),
                    ("interpolation", how.into()),
                    ("keyframes", keys.into()),
                ];
                Fact::new("channel", text, Json::object(value))
            }));
            facts
        }
        Kind::Bitmap => bitmap_facts(&pak.read_bitmap_id(id)?),
        Kind::BitmapFont => {
            let font = pak.read_bitmap_font_id(id)?;
            let len = font.def().len();
            let mut facts = vec![
                Fact::of("pages", font.pages().len()),
                Fact::new("definition", format!("{len} bytes"), len.into()),
            ];
            facts.extend(font.pages().map(|page| Fact::of("page", summary(&bitmap_facts(page)))));
            facts
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
            material_facts(&info)
        }
        Kind::Mesh => mesh_facts(&pak.read_mesh_id(id)?),
        Kind::Scene => {
            let scene = pak.read_scene_id(id)?;
            vec![Fact::of("references", scene.refs().len()), Fact::of("geometries", scene.geometries().len())]
        }
    })
}

/// Returns the properties that describe an asset in one line of a listing.
pub(super) fn summary(facts: &[Fact]) -> String {
    let shown = ["size", "texels", "sound", "main", "duration", "pages", "references", "geometries"];
    let parts: Vec<String> = facts
        .iter()
        .filter(|fact| shown.contains(&fact.name))
        .map(|fact| {
            let count = |one, many| render::count(fact.text.parse().unwrap_or(0), one, many);
            match fact.name {
                "pages" => count("page", "pages"),
                "references" => count("reference", "references"),
                "geometries" => count("geometry", "geometries"),
                _ => fact.text.clone(),
            }
        })
        .collect();
    parts.join("; ")
}

/// Returns size and texel format, and the mip levels with their sizes.
fn bitmap_facts(bitmap: &Bitmap) -> Vec<Fact> {
    let (width, height) = bitmap.extent();
    let (sample, color) = (bitmap.sample().name(), bitmap.color().name());
    let channels = bitmap.format().channels();
    let size = Json::object([("width", width.into()), ("height", height.into())]);
    let format = bitmap.gpu_format();
    let (text, name) = match format {
        Some(format) => {
            let name = format.name(bitmap.transfer());
            (format!("{name}, {} per block", bytes(format.block_len() as usize)), name.to_owned())
        }
        None => (format!("{:?}, {sample}, {color}", bitmap.format()), format!("{:?}", bitmap.format())),
    };
    let texels = Json::object([
        ("format", name.into()),
        ("vk_format", format.map(|format| format.vk_format(bitmap.transfer())).into()),
        ("block_len", format.map_or(bitmap.texel_len() as u64, GpuFormat::block_len).into()),
        ("block_side", format.map_or(1, GpuFormat::block_side).into()),
        ("channels", channels.into()),
        ("sample", sample.into()),
        ("color", color.into()),
        ("ktx2", bitmap.ktx2().is_some().into()),
    ]);
    let mut facts = vec![
        Fact::new("size", format!("{width} x {height}"), size),
        Fact::new("texels", text, texels),
        Fact::of("mip levels", bitmap.mip_levels()),
    ];
    // The levels of UASTC are supercompressed: only the whole file has a size.
    facts.extend((0..bitmap.mip_levels()).filter_map(|number| {
        let ((width, height), stored) = bitmap.level(number).or_else(|| bitmap.gpu_level(number))?;
        let value = [
            ("level", number.into()),
            ("width", width.into()),
            ("height", height.into()),
            ("bytes", stored.len().into()),
        ];
        let text = format!("{number}: {width} x {height}, {}", bytes(stored.len()));
        Some(Fact::new("mip level", text, Json::object(value)))
    }));
    facts
}

fn bytes(len: usize) -> String {
    render::count(len, "byte", "bytes")
}

fn material_facts(info: &MaterialInfo) -> Vec<Fact> {
    let bitmap = |name, id: Option<BitmapId>| Fact {
        text: id.map_or("none".into(), |id| format!("bitmap {}", id.0)),
        ..Fact::of(name, id.map(|id| id.0))
    };
    let channels: Vec<&str> = info.params_used.iter_names().map(|(name, _)| name).collect();
    vec![
        bitmap("color", Some(info.color)),
        bitmap("normal", info.normal),
        bitmap("emissive", info.emissive),
        Fact::of("emissive-strength", info.emissive_strength),
        bitmap("params", info.params),
        Fact::new("params given", channels.join(", ").to_lowercase(), Json::list(channels)),
        Fact::of("double-sided", info.double_sided),
        Fact::of("alpha-test", info.alpha_test),
        Fact::of("alpha-blend", info.alpha_blend),
        Fact::of("alpha-cutoff", info.alpha_cutoff),
    ]
}

/// The largest blob whose headers of sounds are shown, in bytes: it is read into memory.
const MAX_SOUND: u64 = 64 << 20;

/// Returns the properties of a sound; none if the blob is not one.
fn sound_facts(bytes: &[u8]) -> Vec<Fact> {
    let Ok(info) = SoundInfo::parse(bytes) else { return vec![] };
    let (format, rate) = (info.format.name(), info.sample_rate);
    let channels = render::count(info.channels.into(), "channel", "channels");
    let sound = Json::object([
        ("format", format.into()),
        ("channels", u32::from(info.channels).into()),
        ("sample_rate", rate.into()),
        ("frames", info.frames.into()),
    ]);
    let duration = info.duration();
    vec![
        Fact::new("sound", format!("{format}, {channels}, {rate} Hz"), sound),
        Fact::new(
            "duration",
            duration.map_or("unknown".to_owned(), |duration| format!("{duration:.3?}")),
            duration.map(|duration| duration.as_secs_f32()).into(),
        ),
    ]
}

/// Returns bounds, primitives with their vertex layouts, skin and materials.
fn mesh_facts(mesh: &Mesh) -> Vec<Fact> {
    let bounds = mesh.bounds();
    let mut facts = vec![Fact::new(
        "bounds",
        format!("{:?} to {:?}", bounds.min, bounds.max),
        Json::object([("min", Json::list(bounds.min)), ("max", Json::list(bounds.max))]),
    )];
    for part in mesh.primitives() {
        facts.extend(primitive_facts(part));
    }
    facts.extend(mesh.skin().map(|skin| Fact::of("joints", skin.joints().len())));
    facts.extend(mesh.materials().iter().map(|name| Fact {
        text: render::printable(name).into_owned(),
        ..Fact::of("material", name.as_str())
    }));
    facts.extend(mesh.data().map(|id| Fact::new("data", format!("blob {}", id.0), id.0.into())));
    facts
}

fn primitive_facts(part: &Primitive) -> [Fact; 2] {
    let lods: Vec<usize> = part.lods().iter().map(|lod| lod.triangle_count()).collect();
    let (vertices, stride) = (part.vertex_count(), part.vertex_type().stride());
    let index = part.lods().first().map(|lod| format!("{:?}", lod.index_type()).to_lowercase());
    let shown: Vec<String> = lods.iter().map(ToString::to_string).collect();
    let text = format!(
        "{} of {stride} bytes, triangles per LOD {} ({} indices), material {}, {}",
        render::count(vertices, "vertex", "vertices"),
        shown.join("/"),
        index.as_deref().unwrap_or("no"),
        part.material(),
        render::count(part.meshlets().len(), "meshlet", "meshlets")
    );
    let value = [
        ("vertices", vertices.into()),
        ("stride", stride.into()),
        ("triangles", Json::list(lods)),
        ("index", index.into()),
        ("material", u32::from(part.material()).into()),
        ("meshlets", part.meshlets().len().into()),
    ];
    let attributes: Vec<_> = part.vertex_type().attributes().collect();
    let mut layout: Vec<String> = attributes
        .iter()
        .map(|attribute| format!("{:?} {:?} at {}", attribute.semantic, attribute.format, attribute.offset))
        .collect();
    layout.extend(part.colors().iter().map(|colors| format!("colors {:?} in a stream", colors.format())));
    if !part.morph_targets().is_empty() {
        layout.push(render::count(part.morph_targets().len(), "morph target", "morph targets"));
    }
    let attribute = |attribute: &::pak::mesh::VertexAttribute| {
        Json::object([
            ("semantic", format!("{:?}", attribute.semantic).into()),
            ("format", format!("{:?}", attribute.format).into()),
            ("offset", attribute.offset.into()),
        ])
    };
    let layout_value = Json::object([
        ("attributes", Json::List(attributes.iter().map(attribute).collect())),
        ("colors", Json::list(part.colors().iter().map(|colors| format!("{:?}", colors.format())))),
        ("morph_targets", Json::list(part.morph_targets().iter().map(|target| target.name()))),
    ]);
    [
        Fact::new(part.role().name(), text, Json::object(value)),
        Fact::new("vertex layout", layout.join(", "), layout_value),
    ]
}
