//! Proptest strategies for files of every format.

use std::collections::BTreeMap;

use kiln_format::Array;
use kiln_format::hanim::{self, Channel, ClipParts, HanimView, Interp, Keys, Path, Vec3Key, Vec4Key};
use kiln_format::hfont::{Glyph, Metrics, Pair};
use kiln_format::hman::{self, Colorspace, ManifestKind};
use kiln_format::hmat::{self, AlphaMode, GpuMaterial};
use kiln_format::hpack;
use kiln_format::ktx2::{self, Channels, Desc, Payload, Shape, Supercompression, Transfer};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::meshes::{Mesh, MeshSpec};

pub(crate) fn path() -> impl Strategy<Value = String> {
    let name = "[a-zA-Zäß_ .-]{1,6}(\\.ktx2|\\.hman|\\.spv|\\.bin)?";
    let name = name.prop_filter("not a file name", |name| !matches!(name.as_str(), "." | ".."));
    vec(name, 1..4).prop_map(|parts| parts.join("/"))
}

pub(crate) fn manifest() -> impl Strategy<Value = BTreeMap<u64, (String, ManifestKind, Colorspace)>> {
    let entry = (path(), select(ManifestKind::ALL.to_vec()), select(Colorspace::ALL.to_vec()));
    btree_map(any::<u64>(), entry, 0..12)
}

pub(crate) fn write_manifest(entries: &BTreeMap<u64, (String, ManifestKind, Colorspace)>) -> Vec<u8> {
    // Reversed and duplicated: the writer sorts and removes duplicates.
    let twice = entries.iter().rev().chain(entries);
    let entries: Vec<_> = twice
        .map(|(&hash, &(ref path, kind, colorspace))| hman::ManifestEntry { hash, kind, colorspace, path })
        .collect();
    hman::write(&entries).unwrap()
}

pub(crate) fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    btree_map(path(), vec(any::<u8>(), 0..40), 0..8)
}

pub(crate) fn write_pack(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let files: Vec<_> = files.iter().rev().map(|(path, data)| (path.as_str(), data.as_slice())).collect();
    hpack::write(&files).unwrap()
}

/// Files of which some shrink.
pub(crate) fn compressible_files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let noise = vec(any::<u8>(), 0..40);
    let repeated = (vec(any::<u8>(), 1..6), 1..40usize).prop_map(|(bytes, times)| bytes.repeat(times));
    btree_map(path(), prop_oneof![noise, repeated], 0..6)
}

pub(crate) fn write_compressed_pack(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let files: Vec<_> = files.iter().rev().map(|(path, data)| (path.as_str(), data.as_slice())).collect();
    let compress = |data: &[u8]| {
        let mut compressor = zstd::bulk::Compressor::new(3).ok()?;
        compressor.include_checksum(true).ok()?;
        compressor.compress(data).ok()
    };
    hpack::write_compressed(&files, compress).unwrap()
}

pub(crate) fn texture() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        select(Channels::ALL.to_vec()).prop_map(|channels| Payload::Uastc { channels }),
        select(Payload::NUMBERED.to_vec()),
    ];
    let shape = prop_oneof![
        (1..20u32, 1..20u32).prop_map(|(w, h)| Shape::flat(w, h)),
        (1..9u32, 1..9u32, 1..4u32).prop_map(|(w, h, n)| Shape::array(w, h, n)),
        (1..9u32).prop_map(Shape::cube),
        (1..6u32, 1..6u32, 1..6u32).prop_map(|(w, h, d)| Shape::volume(w, h, d)),
    ];
    let zstd = select(vec![Supercompression::None, Supercompression::Zstd]);
    (payload, shape, zstd, any::<[bool; 2]>(), "[ -~]{0,9}", any::<(u8, u8)>()).prop_map(
        |(payload, shape, supercompression, [srgb, oriented], writer, (seed, levels))| {
            let blocks = payload.block_side() > 1;
            let shape = if blocks { Shape { depth: 0, ..shape } } else { shape };
            let srgb = srgb && !payload.is_linear_only();
            let transfer = if srgb { Transfer::Srgb } else { Transfer::Linear };
            let desc = Desc { shape, payload, transfer, supercompression, writer: &writer, oriented };
            let level = |level| {
                let len = payload.level_len(&shape, level).unwrap() as usize;
                let raw: Vec<u8> = (0..len).map(|i| (i as u8 & 31).wrapping_mul(seed)).collect();
                match supercompression {
                    Supercompression::None => raw,
                    Supercompression::Zstd => zstd::bulk::compress(&raw, 1).unwrap(),
                }
            };
            let levels: Vec<_> = (0..=u32::from(levels) % shape.max_levels()).map(level).collect();
            ktx2::write(&desc, &levels.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
        },
    )
}

pub(crate) fn mesh() -> impl Strategy<Value = Mesh> {
    let position = [-8i16..8, -8..8, -8..8].prop_map(|p| p.map(|x| f32::from(x) * 0.75));
    let submesh = (vec([0..64u32, 0..64, 0..64], 0..6), any::<bool>());
    let spec = (
        vec(position, 1..9),
        vec(submesh, 1..4),
        any::<[bool; 3]>(),
        vec(0..9u32, 0..4),
        0..3u32,
        any::<u8>(),
    );
    spec.prop_map(
        |(positions, submeshes, [has_tangents, has_meshlets, has_clusters], joints, lod_count, extra)| {
            let spec = MeshSpec { positions, submeshes, has_tangents, has_meshlets, joints, lod_count };
            let mesh = Mesh::build(&spec).with_extra(extra);
            if has_clusters { mesh.with_clusters() } else { mesh }
        },
    )
}

pub(crate) fn materials() -> impl Strategy<Value = Vec<GpuMaterial>> {
    let mode = select(AlphaMode::ALL.to_vec());
    let row = (any::<[i16; 12]>(), mode, any::<bool>(), any::<[u64; 5]>());
    let row = row.prop_map(|(factors, mode, double_sided, textures)| {
        let [r, g, b, a, red, green, blue, rest @ ..] = factors.map(|n| f32::from(n) / 64.0);
        GpuMaterial {
            base_color_factor: [r, g, b, a],
            emissive_factor: [red, green, blue],
            metallic_factor: rest[0],
            roughness_factor: rest[1],
            normal_scale: rest[2],
            occlusion_strength: rest[3],
            alpha_cutoff: rest[4],
            flags: hmat::flags(mode, double_sided),
            pad: 0,
            base_color_tex: textures[0],
            metallic_roughness_tex: textures[1],
            normal_tex: textures[2],
            occlusion_tex: textures[3],
            emissive_tex: textures[4],
        }
    });
    vec(row, 0..5)
}

/// Generates the metrics, glyphs and kerning pairs of a font.
pub(crate) fn font() -> impl Strategy<Value = (Metrics, Vec<Glyph>, Vec<Pair>)> {
    let metrics = (any::<u64>(), any::<[i16; 3]>(), 1..64u16, 0..=16u16, 1..=u16::MAX, any::<bool>());
    let metrics = metrics.prop_map(|(atlas_tex, lines, range, edge, side, multi_channel)| {
        let [ascent, descent, line_gap] = lines.map(|n| f32::from(n) / 64.0);
        let (distance_range, edge_value) = (f32::from(range) / 4.0, f32::from(edge) / 16.0);
        let (atlas_width, atlas_height) = (side, u16::MAX - side + 1);
        Metrics {
            atlas_tex,
            ascent,
            descent,
            line_gap,
            distance_range,
            edge_value,
            atlas_width,
            atlas_height,
            multi_channel,
        }
    });
    let glyph = (any::<[i16; 3]>(), any::<[u8; 6]>()).prop_map(|([advance, x, y], sizes)| {
        let [advance, x, y] = [advance, x, y].map(|n| f32::from(n) / 64.0);
        let [width, height, u, v, w, h] = sizes.map(f32::from);
        let plane = [x, y, x + width, y + height];
        let uv = [u.min(w), v.min(h), u.max(w), v.max(h)].map(|n| n / 255.0);
        Glyph { codepoint: 0, advance, plane, uv }
    });
    let glyphs = (glyph.clone(), btree_map(1..=0x10_ffffu32, glyph, 0..4));
    (metrics, glyphs, btree_map((0..5usize, 0..5usize), 1..99i16, 0..4)).prop_map(
        |(metrics, (notdef, glyphs), pairs)| {
            let glyphs: Vec<Glyph> = std::iter::once(notdef)
                .chain(glyphs.into_iter().map(|(codepoint, glyph)| Glyph { codepoint, ..glyph }))
                .collect();
            let pairs = pairs.into_iter().filter_map(|((left, right), advance)| {
                let (left, right) = (glyphs.get(left)?.codepoint, glyphs.get(right)?.codepoint);
                Some(Pair { left, right, advance: f32::from(advance) / 64.0 })
            });
            let pairs = pairs.collect();
            (metrics, glyphs, pairs)
        },
    )
}

/// An owned animation channel.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    joint: u32,
    interp: Interp,
    path: Path,
    /// All keys, and the same keys without the last component.
    keys: (Vec<Vec4Key>, Vec<Vec3Key>),
}

impl Track {
    pub(crate) fn channel(&self) -> Channel<'_> {
        let (four, three) = (Array::from(self.keys.0.as_slice()), Array::from(self.keys.1.as_slice()));
        let keys = match self.path {
            Path::Translation => Keys::Translation(three),
            Path::Rotation => Keys::Rotation(four),
            Path::Scale => Keys::Scale(three),
        };
        Channel { joint: self.joint, interp: self.interp, keys }
    }

    pub(crate) fn end(&self) -> f32 {
        self.keys.0.last().unwrap().time
    }
}

fn track() -> impl Strategy<Value = Track> {
    let keys = vec((1..100u8, any::<[i8; 4]>()), 1..5);
    let kind = (any::<u32>(), select(Interp::ALL.to_vec()), select(Path::ALL.to_vec()));
    (kind, keys).prop_map(|((joint, interp, path), keys)| {
        let mut time = -0.25;
        let key = |(pause, value): (u8, [i8; 4])| {
            time += f32::from(pause) / 4.0;
            Vec4Key { time, value: value.map(f32::from) }
        };
        let four: Vec<Vec4Key> = keys.into_iter().map(key).collect();
        let short = |&Vec4Key { time, value: [x, y, z, _] }: &Vec4Key| Vec3Key { time, value: [x, y, z] };
        let three = four.iter().map(short).collect();
        Track { joint, interp, path, keys: (four, three) }
    })
}

pub(crate) fn clips() -> impl Strategy<Value = Vec<(String, Vec<Track>)>> {
    vec((".{0,6}", vec(track(), 0..4)), 0..4)
}

pub(crate) fn write_clips(clips: &[(String, Vec<Track>)]) -> Vec<u8> {
    let channels: Vec<(&str, Vec<Channel<'_>>)> = clips
        .iter()
        .map(|(name, tracks)| (name.as_str(), tracks.iter().map(Track::channel).collect()))
        .collect();
    let parts: Vec<_> = channels.iter().map(|(name, channels)| ClipParts { name, channels }).collect();
    hanim::write(&parts).unwrap()
}

/// Reads an animation file and writes its contents again.
pub(crate) fn rewrite_clips(bytes: &[u8]) -> Vec<u8> {
    let view = HanimView::read(bytes).unwrap();
    let channels: Vec<(&str, Vec<Channel<'_>>)> =
        view.clips().map(|clip| (clip.name, clip.channels().collect())).collect();
    let parts: Vec<_> = channels.iter().map(|(name, channels)| ClipParts { name, channels }).collect();
    hanim::write(&parts).unwrap()
}
