//! Proptest strategies for files of every format.

use std::collections::BTreeMap;

use kiln_format::Array;
use kiln_format::hanim::{self, Channel, ClipParts, HanimView, Interp, Keys, Path, Vec3Key, Vec4Key};
use kiln_format::hfont::{Glyph, Metrics, Pair};
use kiln_format::hman::{self, Colorspace, ManifestKind};
use kiln_format::hmat::{self, AlphaMode, GpuMaterial};
use kiln_format::hmatx::{self, HmatxView, MaterialExtension, MaterialTexture};
use kiln_format::hpack;
use kiln_format::hscn::{self, HscnView};
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

/// The strings of a record: its name and its `extras`.
type Labels = (String, String);

fn labels() -> impl Strategy<Value = Labels> {
    (".{0,3}", "(\\{\"ä\": 1\\})?")
}

/// The random content of a scene; indices are taken modulo the number of objects.
#[derive(Clone, Debug)]
pub(crate) struct SceneSpec {
    labels: Vec<Labels>,
    counts: [usize; 7],
    numbers: Vec<i8>,
    channels: Vec<(u8, u8, u8, bool)>,
}

pub(crate) fn scene() -> impl Strategy<Value = hscn::Parts> {
    let counts = [0..4usize, 0..3, 0..3, 0..3, 0..3, 0..3, 0..3];
    let channels = vec((0..4u8, 0..3u8, 1..4u8, any::<bool>()), 0..4);
    let spec = (vec(labels(), 8), counts, vec(any::<i8>(), 32), channels);
    spec.prop_map(|(labels, counts, numbers, channels)| {
        SceneSpec { labels, counts, numbers, channels }.build()
    })
}

impl SceneSpec {
    fn build(&self) -> hscn::Parts {
        let mut parts = hscn::Parts::default();
        let mut next = 0;
        let mut number = || {
            next += 1;
            f32::from(self.numbers[next % self.numbers.len()]) / 4.0
        };
        let [nodes, meshes, skins, cameras, lights, instances, clips] = self.counts;
        let mut text = hscn::TextBuilder::default();
        let (name, extras) = &self.labels[0];
        parts.info = hscn::SceneInfo {
            name: text.add(name).unwrap(),
            extras: text.add(extras).unwrap(),
            document_extras: text.add("[1]").unwrap(),
        };
        let mut used = 0;
        let mut label = || {
            let (name, extras) = &self.labels[used % self.labels.len()];
            used += 1;
            (text.add(name).unwrap(), text.add(extras).unwrap())
        };
        parts.instances = (0..instances)
            .map(|_| hscn::SceneTransform { translation: [number(); 3], ..hscn::SceneTransform::default() })
            .collect();
        parts.matrices = (0..instances).map(|_| [number(); 16]).collect();
        parts.weights = (0..2 * meshes).map(|_| number()).collect();
        let pick = |index: usize, count: usize| if count == 0 { hscn::NONE } else { (index % count) as i32 };
        for index in 0..nodes {
            let (name, extras) = label();
            let mesh = pick(index, meshes);
            let own = mesh != hscn::NONE && index % 2 == 1;
            parts.nodes.push(hscn::SceneNode {
                name,
                extras,
                parent: [hscn::NONE, 0, 0, 1][index],
                mesh,
                skin: pick(index + 1, skins),
                camera: pick(index, cameras),
                light: pick(index + 1, lights),
                matrix: pick(index, parts.matrices.len()),
                flags: index as u32 % 2,
                first_submesh: index as u32,
                submesh_count: 1,
                first_instance: 0,
                instance_count: instances as u32,
                first_weight: if own { 2 * mesh as u32 } else { 0 },
                weight_count: if own { 2 } else { 0 },
                transform: hscn::SceneTransform { scale: [number(); 3], ..hscn::SceneTransform::default() },
            });
        }
        for index in 0..meshes {
            let (name, extras) = label();
            parts.meshes.push(hscn::SceneMesh {
                name,
                extras,
                first_weight: 2 * index as u32,
                weight_count: 2,
            });
        }
        for index in 0..skins {
            let (name, extras) = label();
            let joint_count = nodes.min(2) as u32;
            parts.skins.push(hscn::SceneSkin {
                name,
                extras,
                first_joint: parts.joints.len() as u32,
                joint_count,
            });
            for joint in 0..joint_count {
                let node = (joint + index as u32) % nodes as u32;
                parts.joints.push(hscn::SceneJoint { node, inverse_bind: [number(); 16] });
            }
        }
        for index in 0..cameras {
            let (name, extras) = label();
            let kind = index as u32 % 2;
            let [x, y, z_near, z_far] = [number(), number(), number(), number()];
            parts.cameras.push(hscn::SceneCamera { name, extras, kind, x, y, z_near, z_far });
        }
        for index in 0..lights {
            let (name, extras) = label();
            parts.lights.push(hscn::SceneLight {
                name,
                extras,
                kind: index as u32 % 3,
                color: [number(); 3],
                intensity: number(),
                range: number(),
                inner_cone_angle: number(),
                outer_cone_angle: number(),
            });
        }
        for index in 0..clips {
            let (name, extras) = label();
            let first_channel = parts.channels.len() as u32;
            let mut duration = 0.0f32;
            let channels = self.channels.iter().filter(|_| index == 0 && nodes > 0);
            for (i, &(path, interpolation, keys, shared)) in channels.enumerate() {
                let components = [3, 4, 3, 2][usize::from(path)];
                let previous = parts.channels.last().copied();
                let key_count = u32::from(keys);
                let shared = previous.filter(|last| shared && last.key_count == key_count);
                let first_time = shared.map_or(parts.times.len() as u32, |last| last.first_time);
                if shared.is_none() {
                    parts.times.extend((0..keys).map(|key| f32::from(key / 2) + i as f32));
                }
                duration = duration.max(parts.times[(first_time + key_count) as usize - 1]);
                let first_value = parts.values.len() as u32;
                let values = key_count * components * if interpolation == 2 { 3 } else { 1 };
                parts.values.extend((0..values).map(|_| number()));
                let node = i as u32 % nodes as u32;
                parts.channels.push(hscn::SceneChannel {
                    node,
                    path,
                    interpolation,
                    reserved: 0,
                    components,
                    key_count,
                    first_time,
                    first_value,
                });
            }
            let channel_count = parts.channels.len() as u32 - first_channel;
            parts.clips.push(hscn::SceneClip { name, extras, duration, first_channel, channel_count });
        }
        parts.text = text;
        parts
    }
}

/// Reads a scene and returns its tables.
pub(crate) fn scene_parts(bytes: &[u8]) -> hscn::Parts {
    let view = HscnView::read(bytes).unwrap();
    let mut text = hscn::TextBuilder::default();
    let labels = |info: hscn::SceneInfo| [info.name, info.extras, info.document_extras];
    let mut ranges = labels(view.info()).to_vec();
    ranges.extend(view.nodes().iter().flat_map(|it| [it.name, it.extras]));
    ranges.extend(view.meshes().iter().flat_map(|it| [it.name, it.extras]));
    ranges.extend(view.skins().iter().flat_map(|it| [it.name, it.extras]));
    ranges.extend(view.cameras().iter().flat_map(|it| [it.name, it.extras]));
    ranges.extend(view.lights().iter().flat_map(|it| [it.name, it.extras]));
    ranges.extend(view.clips().iter().flat_map(|it| [it.name, it.extras]));
    ranges.into_iter().for_each(|range| assert_eq!(text.add(view.text(range)).unwrap(), range));
    let channels: Vec<hscn::SceneChannel> = view.all_channels().iter().collect();
    let mut times = Vec::new();
    for (i, channel) in channels.iter().enumerate() {
        if i == 0 || channels[i - 1].first_time != channel.first_time {
            times.extend(view.times(channel));
        }
    }
    hscn::Parts {
        info: view.info(),
        nodes: view.nodes().iter().collect(),
        meshes: view.meshes().iter().collect(),
        skins: view.skins().iter().collect(),
        joints: view.all_joints().iter().collect(),
        cameras: view.cameras().iter().collect(),
        lights: view.lights().iter().collect(),
        instances: view.all_instances().iter().collect(),
        matrices: view.matrices().iter().collect(),
        weights: view.all_weights().iter().collect(),
        clips: view.clips().iter().collect(),
        values: channels.iter().flat_map(|channel| view.values(channel).iter()).collect(),
        channels,
        times,
        text,
    }
}

/// The rows, textures and strings of a table of material extensions.
pub(crate) type Extensions = (Vec<MaterialExtension>, Vec<MaterialTexture>, hmatx::TextBuilder);

pub(crate) fn material_extensions() -> impl Strategy<Value = Extensions> {
    let texture = (any::<u64>(), [0..2u8, 0..2, 0..3, 0..3, 0..3], 0..3u32, any::<i8>());
    let row = (labels(), 0..256u32, any::<[i8; 4]>(), btree_map(0..17u8, texture, 0..4));
    vec(row, 0..4).prop_map(|rows| {
        let (mut extensions, mut textures, mut text) =
            (Vec::new(), Vec::new(), hmatx::TextBuilder::default());
        for ((name, extras), flags, numbers, used) in rows {
            let [ior, strength, red, rotation] = numbers.map(|n| f32::from(n) / 8.0);
            extensions.push(MaterialExtension {
                name: text.add(&name).unwrap(),
                extras: text.add(&extras).unwrap(),
                flags,
                ior,
                emissive_strength: strength,
                sheen_color_factor: [red, 0.5, 1.0],
                anisotropy_rotation: rotation,
                first_texture: textures.len() as u32,
                texture_count: used.len() as u32,
                ..MaterialExtension::default()
            });
            textures.extend(used.into_iter().map(|(slot, (texture, modes, uv_set, offset))| {
                let [mag_filter, min_filter, mip_filter, wrap_u, wrap_v] = modes;
                let transform = [1.0, 0.0, f32::from(offset), 0.0, 1.0, 0.0];
                let (reserved, pad) = (0, 0);
                MaterialTexture {
                    texture,
                    slot,
                    mag_filter,
                    min_filter,
                    mip_filter,
                    wrap_u,
                    wrap_v,
                    reserved,
                    uv_set,
                    transform,
                    pad,
                }
            }));
        }
        (extensions, textures, text)
    })
}

/// Reads material extensions and returns their tables.
pub(crate) fn read_extensions(bytes: &[u8]) -> Extensions {
    let view = HmatxView::read(bytes).unwrap();
    let mut text = hmatx::TextBuilder::default();
    for row in view.rows() {
        assert_eq!(text.add(view.text(row.name)).unwrap(), row.name);
        assert_eq!(text.add(view.text(row.extras)).unwrap(), row.extras);
    }
    (view.rows().iter().collect(), view.all_textures().iter().collect(), text)
}
