//! Compares the documents in `docs/reference/formats/` with the code.
//!
//! A section headed `## Name (n bytes)` holds the table of the record of that name. Every record has one, and
//! every row must have the offset and size that the reader and writer use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kiln_format::hanim::{self, Interp};
use kiln_format::hman::{Colorspace, ManifestKind};
use kiln_format::hmat::{AlphaMode, GpuMaterial};
use kiln_format::hmesh::ChunkId;
use kiln_format::hpack::PackKind;

use kiln_format::ktx2::{Channels, Payload, Supercompression, Transfer};
use kiln_format::pak::{self, Codec};
use kiln_format::spv::Stage;
use kiln_format::{FORMATS, Layout, hmatx, hscn, refs};

fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/formats")
}

fn document(name: &str) -> String {
    let path = documents().join(name).with_extension("md");
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the cells of the first table after a heading, without its header rows.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let after = text.split_once(&format!("\n## {heading}\n"));
    let (_, after) = after.unwrap_or_else(|| panic!("no section {heading:?}"));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|c| c.trim().replace('`', "")).collect();
    after
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(cells)
        .collect()
}

fn numbered(rows: &[Vec<String>]) -> Vec<(usize, &str)> {
    rows.iter().map(|row| (row[0].parse().unwrap(), row[1].as_str())).collect()
}

#[test]
fn formats_and_documents_match() {
    let found: BTreeSet<String> = fs::read_dir(documents())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    // These are not runtime files of assetc and so not in `FORMATS`: the index of a Unity project, the format of the
    // crate `pak`, and the digests of a pack.
    let names = FORMATS.iter().map(|f| f.name()).chain(["assetdb", "pak", "assets-sha256"]);
    let expected: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(found, expected);
    for format in FORMATS {
        let title = format!("# `.{}`: ", format.ext());
        assert!(document(format.name()).starts_with(&title), "{title}");
    }
}

#[test]
fn all_implementations_are_in_formats() {
    fn implementations(dir: &Path) -> usize {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let count = |path: PathBuf| match path.is_dir() {
            true => implementations(&path),
            false => fs::read_to_string(path).unwrap().matches("\nimpl Format for ").count(),
        };
        entries.map(count).sum()
    }
    assert_eq!(implementations(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")), FORMATS.len());
}

#[test]
fn byte_tables_match_records() {
    let formats = FORMATS.iter().map(|f| (f.name(), f.layouts())).chain([("pak", pak::LAYOUTS)]);
    for (format, layouts) in formats {
        let text = document(format);
        for Layout { name, size, fields, .. } in layouts {
            let rows = table(&text, &format!("{name} ({size} bytes)"));
            let documented: Vec<_> = rows
                .iter()
                .map(|row| {
                    let bytes = bytes_of(&row[3], layouts);
                    assert_eq!(bytes, row[1].parse().ok(), "{name}: the type of {} is not its size", row[2]);
                    (row[0].parse().unwrap(), row[1].parse().unwrap(), row[2].as_str())
                })
                .collect();
            let declared: Vec<_> = fields.iter().map(|f| (f.offset, f.size, f.name)).collect();
            assert_eq!(documented, declared, "{format}: {name}");
        }
        let headed = text.lines().filter(|line| line.starts_with("## ") && line.ends_with(" bytes)")).count();
        assert_eq!(headed, layouts.len(), "{format}: a table without a record");
    }
}

/// Returns the size of a type such as `u8 × 4`, or of another record.
fn bytes_of(ty: &str, records: &[Layout]) -> Option<usize> {
    if let Some(record) = records.iter().find(|record| record.name == ty) {
        return Some(record.size);
    }
    let (number, times) = ty.split_once(" × ").unwrap_or((ty, "1"));
    let bits: usize = number.strip_prefix(['u', 'i', 'f'])?.parse().ok()?;
    Some(bits / 8 * times.parse::<usize>().ok()?)
}

#[test]
fn manifest_kinds_match_document() {
    let text = document("hman");
    let rows = table(&text, "Kinds");
    let kinds = ManifestKind::ALL.map(|kind| (kind as usize, kind.name()));
    assert_eq!(numbered(&rows), kinds);
    let spaces = Colorspace::ALL.map(|c| format!("{} {}", c as u8, c.name())).join(", ");
    assert!(text.contains(&format!("| `colorspace` | u8 | {spaces} |")), "{spaces}");
}

#[test]
fn manifest_hashes_match_document() {
    let rows = table(&document("hman"), "Hashes");
    assert!(rows.len() >= 5);
    for row in rows {
        let text = if row[0] == "(empty)" { "" } else { &row[0] };
        assert_eq!(format!("{:#018x}", refs::hash_asset_ref(text)), row[1], "{text}");
    }
}

#[test]
fn pack_kinds_match_document() {
    let rows = table(&document("hpack"), "Kinds");
    assert_eq!(numbered(&rows), PackKind::ALL.map(|kind| (kind as usize, kind.name())));
    for (row, kind) in rows.iter().zip(PackKind::ALL) {
        assert_eq!(row[2].strip_prefix('.'), kind.ext());
    }
}

#[test]
fn pak_enumerations_match_document() {
    let text = document("pak");
    assert_eq!(numbered(&table(&text, "Kinds")), pak::Kind::ALL.map(|kind| (kind as usize, kind.name())));
    assert_eq!(numbered(&table(&text, "Codecs")), Codec::ALL.map(|codec| (codec as usize, codec.name())));
    let mut all = pak::VertexType::POSITION;
    for row in table(&text, "Vertices") {
        let (bit, bytes): (u16, usize) = (row[0].parse().unwrap(), row[2].parse().unwrap());
        let before = all.stride();
        all |= pak::VertexType::from_bits(1 | bit | if bit == 64 { 2 } else { 0 }).unwrap();
        let added = match bit {
            1 => before,
            64 => 8 + all.stride() - before,
            _ => all.stride() - before,
        };
        assert_eq!(added, bytes, "bit {bit}");
    }
    for (number, names) in [["u8", "linear", "raw"], ["u16", "srgb", "ktx2"]].into_iter().enumerate() {
        let [sample, color, encoding] = names;
        assert_eq!(pak::Sample::ALL[number].name(), sample);
        assert_eq!(pak::Color::ALL[number].name(), color);
        assert_eq!(pak::Encoding::ALL[number].name(), encoding);
        assert!(text.contains(&format!("\n| {number} | {sample} | {color} | {encoding} |")));
    }
}

#[test]
fn mesh_chunks_match_document() {
    let rows = table(&document("hmesh"), "Chunks");
    let tags: Vec<_> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(tags, ChunkId::ALL.map(ChunkId::name));
}

#[test]
fn mesh_materials_match_document() {
    let rows = table(&document("hmesh"), "Materials");
    assert!(rows.len() >= 2);
    for row in rows {
        let names: Vec<_> =
            row[1].split(", ").map(|name| Some(name).filter(|name| *name != "none")).collect();
        let leaf = refs::material_leaf(&names, row[2].parse().unwrap());
        assert_eq!(format!("{}/{leaf}", refs::source_ref(&row[0])), row[3]);
        assert_eq!(format!("{:#018x}", refs::hash_asset_ref(&row[3])), row[4]);
    }
}

#[test]
fn alpha_modes_and_defaults_match_document() {
    let text = document("hmat");
    let rows = table(&text, "Alpha modes");
    assert_eq!(numbered(&rows), AlphaMode::ALL.map(|mode| (mode as usize, mode.name())));
    let default = GpuMaterial::default();
    let list = |numbers: &[f32]| numbers.iter().map(f32::to_string).collect::<Vec<_>>().join(", ");
    let expected = [
        ("base_color_factor", list(&default.base_color_factor)),
        ("emissive_factor", list(&default.emissive_factor)),
        ("metallic_factor", list(&[default.metallic_factor])),
        ("roughness_factor", list(&[default.roughness_factor])),
        ("normal_scale", list(&[default.normal_scale])),
        ("occlusion_strength", list(&[default.occlusion_strength])),
        ("alpha_cutoff", list(&[default.alpha_cutoff])),
        ("flags", format!("{}: single-sided, opaque", default.flags)),
    ];
    let rows = table(&text, "Defaults");
    let documented: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[1].clone())).collect();
    assert_eq!(documented, expected);
}

#[test]
fn animation_enumerations_match_document() {
    let text = document("hanim");
    let rows = table(&text, "Paths");
    assert_eq!(numbered(&rows), hanim::Path::ALL.map(|path| (path as usize, path.name())));
    for (row, path) in rows.iter().zip(hanim::Path::ALL) {
        assert_eq!(row[2], path.components().to_string());
    }
    let rows = table(&text, "Interpolations");
    assert_eq!(numbered(&rows), Interp::ALL.map(|interp| (interp as usize, interp.name())));
}

#[test]
fn scene_chunks_and_enumerations_match_document() {
    let text = document("hscn");
    let rows = table(&text, "Chunks");
    assert_eq!(
        rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(),
        hscn::ChunkId::ALL.map(|id| id.name())
    );
    for (row, id) in rows.iter().zip(hscn::ChunkId::ALL) {
        let layouts = FORMATS.iter().find(|format| format.name() == "hscn").unwrap().layouts();
        assert_eq!(bytes_of(&row[1], layouts), Some(id.record_size()), "{}", row[0]);
    }
    let kinds = hscn::CameraKind::ALL.map(|kind| (kind as usize, kind.name()));
    assert_eq!(numbered(&table(&text, "Cameras")), kinds);
    let kinds = hscn::LightKind::ALL.map(|kind| (kind as usize, kind.name()));
    assert_eq!(numbered(&table(&text, "Lights")), kinds);
    let paths = hscn::ChannelPath::ALL.map(|path| (path as usize, path.name()));
    assert_eq!(numbered(&table(&text, "Paths")), paths);
    let modes = hscn::Interpolation::ALL.map(|mode| (mode as usize, mode.name()));
    assert_eq!(numbered(&table(&text, "Interpolations")), modes);
}

#[test]
fn material_extension_chunks_and_enumerations_match_document() {
    let text = document("hmatx");
    let tags: Vec<_> = table(&text, "Chunks").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(tags, hmatx::ChunkId::ALL.map(hmatx::ChunkId::name));
    let rows = table(&text, "Flags");
    assert_eq!(numbered(&rows), hmatx::FLAG_NAMES.into_iter().enumerate().collect::<Vec<_>>());
    let slots = hmatx::TextureSlot::ALL.map(|slot| (slot as usize, slot.name()));
    assert_eq!(numbered(&table(&text, "Slots")), slots);
    let filters = hmatx::Filter::ALL.map(|filter| (filter as usize, filter.name()));
    assert_eq!(numbered(&table(&text, "Filters")), filters);
    let filters = hmatx::MipFilter::ALL.map(|filter| (filter as usize, filter.name()));
    assert_eq!(numbered(&table(&text, "Mip filters")), filters);
    let modes = hmatx::Wrap::ALL.map(|mode| (mode as usize, mode.name()));
    assert_eq!(numbered(&table(&text, "Wrap modes")), modes);
}

#[test]
fn shader_stages_match_document() {
    let rows = table(&document("spv"), "Stages");
    assert_eq!(rows.len(), 14);
    for row in rows {
        let stage = Stage::from_model(row[1].parse().unwrap()).unwrap();
        assert_eq!(row[0], format!("{}.spv", stage.name()));
    }
}

#[test]
fn texture_payloads_match_document() {
    let rows = table(&document("ktx2"), "Payloads");
    let row = |name: &str| {
        let row = rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no row {name}"));
        row[1..].to_vec()
    };
    let uastc = Payload::Uastc { channels: Channels::Rgb };
    let columns = [
        (uastc, Transfer::Linear),
        (Payload::Bc7, Transfer::Srgb),
        (Payload::Bc7, Transfer::Linear),
        (Payload::Rgba8, Transfer::Srgb),
        (Payload::Rgba8, Transfer::Linear),
        (Payload::Rgba16F, Transfer::Linear),
    ];
    assert_eq!(row("vk_format"), columns.map(|(p, t)| p.vk_format(t).to_string()));
    assert_eq!(row("bytes of a block"), columns.map(|(p, _)| p.block_len().to_string()));
    let side = |(p, _): (Payload, Transfer)| match p.block_side() {
        1 => "1".to_owned(),
        side => format!("{side} × {side}"),
    };
    assert_eq!(row("texels of a block"), columns.map(side));

    let text = document("ktx2");
    let in_columns = columns.map(|(payload, _)| payload);
    for payload in Payload::NUMBERED.into_iter().filter(|payload| !in_columns.contains(payload)) {
        let (linear, srgb) = (payload.vk_format(Transfer::Linear), payload.vk_format(Transfer::Srgb));
        let formats =
            if payload.is_linear_only() { linear.to_string() } else { format!("{linear}, sRGB {srgb}") };
        let row = format!("| {payload:?} | {formats} | {} |", payload.block_len());
        assert!(text.to_lowercase().contains(&row.to_lowercase()), "{row}");
    }
    for channels in Channels::ALL {
        let row = format!("\n| {} | {} |", channels as u8, channels.name());
        assert!(text.contains(&row), "{row}");
    }
    let (none, zstd) = (Supercompression::None.scheme(), Supercompression::Zstd.scheme());
    assert!(text.contains(&format!("| `supercompression_scheme` | u32 | {none} none, {zstd} Zstandard |")));
}
