//! Compares `include/kiln.h` with this crate: the structures have the same layouts, and for any bytes the C
//! header accepts and rejects the same files and reads the same values.
//!
//! Compiles with `cc` and `c++`, with the sanitizers where they can be linked.

#[path = "hmesh/encode.rs"]
mod encode;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "hmesh/meshes.rs"]
mod meshes;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "prop/strategies.rs"]
mod strategies;

use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_format::hanim::{HanimView, Keys};
use kiln_format::hfont::{self, HfontView};
use kiln_format::hman::HmanView;
use kiln_format::hmat::{self, HmatView};
use kiln_format::hmatx::{self, HmatxView};
use kiln_format::hmesh::{self, CutView, HmeshView};
use kiln_format::hpack::{CompressedHpackView, Payload};
use kiln_format::hscn::{self, HscnView, TextRange};
use kiln_format::ktx2::{Ktx2View, Transfer};
use kiln_format::{Error, FORMATS, Pod, refs};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// The records that the C header uses in place, and its names for them. It reads the others field by field.
const STRUCTS: [(&str, &str); 32] = [
    ("MeshDesc", "kiln_mesh_desc"),
    ("MeshBounds", "kiln_mesh_bounds"),
    ("GpuVertex", "kiln_vertex"),
    ("Meshlet", "kiln_meshlet"),
    ("MeshletBounds", "kiln_meshlet_bounds"),
    ("SubMesh", "kiln_submesh"),
    ("GpuSkinVertex", "kiln_skin_vertex"),
    ("GpuJoint", "kiln_joint"),
    ("MeshLod", "kiln_mesh_lod"),
    ("ClusterGroup", "kiln_cluster_group"),
    ("Cluster", "kiln_cluster"),
    ("ClusterPage", "kiln_cluster_page"),
    ("MorphSet", "kiln_morph_set"),
    ("MorphTarget", "kiln_morph_target"),
    ("MorphDelta", "kiln_morph_delta"),
    ("MeshNode", "kiln_mesh_node"),
    ("GpuMaterial", "kiln_material"),
    ("TextRange", "kiln_text_range"),
    ("MaterialExtension", "kiln_material_extension"),
    ("MaterialTexture", "kiln_material_texture"),
    ("SceneInfo", "kiln_scene_info"),
    ("SceneTransform", "kiln_scene_transform"),
    ("SceneNode", "kiln_scene_node"),
    ("SceneMesh", "kiln_scene_mesh"),
    ("SceneSkin", "kiln_scene_skin"),
    ("SceneJoint", "kiln_scene_joint"),
    ("SceneCamera", "kiln_scene_camera"),
    ("SceneLight", "kiln_scene_light"),
    ("SceneClip", "kiln_scene_clip"),
    ("SceneChannel", "kiln_scene_channel"),
    ("Glyph", "kiln_glyph"),
    ("Pair", "kiln_pair"),
];

fn compile(dir: &Path, compiler: &[&str], source: &Path, out: &str) -> Result<PathBuf, String> {
    let out = dir.join(out);
    let strict = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
    let mut command = Command::new(compiler[0]);
    command.args(strict).arg(include).args(&compiler[1..]).arg(source).arg("-o").arg(&out);
    let done = command.output().map_err(|error| format!("{}: {error}", compiler[0]))?;
    if done.status.success() { Ok(out) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn c_structures_have_declared_layouts() {
    let mut source = String::from(
        "#include \"kiln.h\"\n#include <stddef.h>\n#define HOLDS(n, c) typedef char n[(c) ? 1 : -1]\n",
    );
    // Several formats have strings, and list the same record.
    let mut seen = std::collections::BTreeSet::new();
    for layout in FORMATS.iter().flat_map(|format| format.layouts()) {
        let Some((_, name)) = STRUCTS.iter().find(|(record, _)| *record == layout.name) else {
            continue;
        };
        if !seen.insert(name) {
            continue;
        }
        source += &format!("HOLDS(size_{name}, sizeof({name}) == {});\n", layout.size);
        for field in layout.fields {
            let (field, offset, size) = (field.name, field.offset, field.size);
            source += &format!(
                "HOLDS(at_{name}_{field}, offsetof({name}, {field}) == {offset} && sizeof((({name} *)0)->{field}) == {size});\n"
            );
        }
    }
    assert_eq!(seen.len(), STRUCTS.len(), "a structure has no record");
    source += "int main(void) { return 0; }\n";
    let dir = scratch("header-layouts");
    let file = dir.join("layouts.c");
    std::fs::write(&file, source).unwrap();
    compile(&dir, &["cc", "-std=c99", "-Wno-unused-function"], &file, "layouts").unwrap();
}

/// The checksum that `walk.c` computes.
struct Sum(u64);

impl Sum {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn number(&mut self, number: impl Into<u64>) {
        self.bytes(&number.into().to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn floats(&mut self, floats: &[f32]) {
        floats.iter().for_each(|float| self.bytes(&float.to_le_bytes()));
    }

    fn row<T: Pod>(&mut self, rows: &kiln_format::Array<'_, T>, index: usize) {
        self.bytes(&rows.bytes()[index * size_of::<T>()..][..size_of::<T>()]);
    }
}

/// Returns the checksum of everything that this crate reads from a file, or the error.
fn walk(format: u8, bytes: &[u8]) -> Result<u64, Error> {
    let mut sum = Sum(0xcbf2_9ce4_8422_2325);
    match format {
        b'P' => {
            let pack = CompressedHpackView::read(bytes)?;
            sum.number(pack.toc().version());
            sum.number(pack.toc().len() as u64);
            for (entry, payload) in pack.files() {
                let (Payload::Stored(data) | Payload::Zstd { frame: data, .. }) = payload;
                sum.text(entry.path);
                sum.number(entry.kind as u64);
                sum.number(data.len() as u64);
                sum.bytes(data);
                sum.number(payload.content_size());
                sum.number(pack.get(entry.path).is_some());
            }
        }
        b'N' => {
            let manifest = HmanView::read(bytes)?;
            sum.number(manifest.len() as u64);
            for entry in manifest.entries() {
                sum.number(entry.hash);
                sum.number(entry.kind as u64);
                sum.number(entry.colorspace as u64);
                sum.text(entry.path);
                sum.number(manifest.find(entry.hash).is_some());
                sum.number(refs::hash_asset_ref(entry.path));
            }
        }
        b'M' => walk_mesh(&HmeshView::read(&hmesh::decoded(bytes)?)?, &mut sum),
        b'R' => {
            let rows = HmatView::read(bytes)?.materials();
            for (i, row) in rows.iter().enumerate() {
                sum.row(&rows, i);
                sum.number(row.double_sided());
                sum.number(row.alpha_mode() as u64);
            }
        }
        b'A' => {
            for clip in HanimView::read(bytes)?.clips() {
                sum.text(clip.name);
                sum.floats(&[clip.duration]);
                sum.number(clip.channel_count());
                for channel in clip.channels() {
                    sum.number(channel.joint);
                    sum.number(channel.keys.path() as u64);
                    sum.number(channel.interp as u64);
                    match channel.keys {
                        Keys::Rotation(keys) => sum.bytes(keys.bytes()),
                        Keys::Translation(keys) | Keys::Scale(keys) => sum.bytes(keys.bytes()),
                    }
                }
            }
        }
        b'X' => {
            let table = HmatxView::read(bytes)?;
            for (i, row) in table.rows().iter().enumerate() {
                sum.row(&table.rows(), i);
                sum.text(table.text(row.name));
                sum.text(table.text(row.extras));
                sum.bytes(table.textures(&row).bytes());
            }
        }
        b'S' => walk_scene(&HscnView::read(bytes)?, &mut sum),
        b'F' => walk_font(&HfontView::read(bytes)?, &mut sum),
        _ => {
            let texture = Ktx2View::read(bytes)?;
            let shape = texture.shape();
            let numbers = [shape.width, shape.height, shape.depth, shape.layer_count, shape.face_count];
            sum.number(texture.payload().block_len() as u32);
            sum.number(texture.payload().block_side());
            sum.number(texture.vk_format());
            numbers.into_iter().for_each(|number| sum.number(number));
            sum.number(texture.supercompression().scheme());
            sum.number(texture.transfer() == Transfer::Srgb);
            for level in texture.levels() {
                level.dims.into_iter().for_each(|dim| sum.number(dim));
                sum.number(level.uncompressed_len);
                sum.bytes(level.bytes);
            }
        }
    }
    Ok(sum.0)
}

fn walk_mesh(mesh: &HmeshView<'_>, sum: &mut Sum) {
    let chunk =
        |name: &[u8; 4]| mesh.chunks().find(|(fourcc, _)| fourcc == name).map_or(&[][..], |(_, bytes)| bytes);
    let desc = mesh.desc();
    sum.bytes(chunk(b"DESC"));
    sum.bytes(chunk(b"BNDS"));
    for (i, vertex) in mesh.vertices().iter().enumerate() {
        sum.row(&mesh.vertices(), i);
        sum.number(vertex.tangent[0] & 1 != 0);
    }
    mesh.indices().iter().for_each(|index| sum.number(index));
    for i in 0..mesh.meshlets().len() {
        sum.row(&mesh.meshlets(), i);
        sum.row(&mesh.meshlet_bounds(), i);
    }
    sum.bytes(mesh.meshlet_vertices().bytes());
    sum.bytes(mesh.meshlet_triangles().bytes());
    mesh.materials().iter().for_each(|hash| sum.number(hash));
    for submesh in 0..desc.submesh_count {
        sum.row(&mesh.submeshes(), submesh as usize);
        for lod in 0..mesh.lod_count() {
            let indices = mesh.lod(submesh, lod).unwrap_or_default();
            sum.number(indices.len() as u64);
            sum.bytes(indices.bytes());
        }
    }
    sum.bytes(mesh.skin().bytes());
    sum.bytes(mesh.joints().bytes());
    if let Some(hierarchy) = mesh.clusters() {
        sum.bytes(hierarchy.groups().bytes());
        sum.bytes(hierarchy.pages().bytes());
        for cluster in hierarchy.clusters() {
            let geometry = hierarchy.geometry(&cluster);
            sum.bytes(geometry.indices.bytes());
            sum.bytes(geometry.vertices.bytes());
            sum.bytes(geometry.triangles.bytes());
        }
        for threshold in [0.01, 1.0, 100.0] {
            let view = CutView { camera: [5.0, 0.5, -1.0], scale: 100.0, near: 0.1, threshold };
            for cluster in hierarchy.cut(&view).chain(hierarchy.cut_of_pages(&view, 1)) {
                sum.number(cluster.group);
                sum.number(cluster.offset);
            }
        }
    }
    sum.number(mesh.colors().map_or(0, |colors| colors.stride()) as u64);
    sum.number(mesh.uv_set_count());
    sum.bytes(mesh.colors().map_or(&[][..], |colors| colors.bytes()));
    (1..mesh.uv_set_count()).for_each(|set| sum.bytes(mesh.uv_set(set).unwrap().bytes()));
    sum.bytes(mesh.morph_sets().bytes());
    for i in 0..mesh.morph_targets().len() {
        sum.row(&mesh.morph_targets(), i);
        sum.text(mesh.morph(i).unwrap().name);
    }
    sum.bytes(chunk(b"MDLT"));
    sum.bytes(chunk(b"MDNR"));
    sum.bytes(chunk(b"MDTN"));
    for (i, node) in mesh.nodes().iter().enumerate() {
        sum.row(&mesh.nodes(), i);
        sum.text(mesh.node_name(&node));
    }
    sum.number(indices_in_range(mesh));
}

/// Independent implementation of `kiln_mesh_check_indices`.
fn indices_in_range(mesh: &HmeshView<'_>) -> bool {
    let vertices = mesh.desc().vertex_count;
    let mut numbers =
        mesh.indices().iter().chain(mesh.lod_indices().iter()).chain(mesh.meshlet_vertices().iter());
    let (mut used, mut triangles) = (0u64, 0u64);
    let meshlets = mesh.meshlets().iter().all(|meshlet| {
        let place =
            (u64::from(meshlet.vertex_offset), u64::from(meshlet.triangle_offset)) == (used, triangles);
        used += u64::from(meshlet.vertex_count);
        triangles += u64::from(meshlet.triangle_count);
        let (_, corners) = mesh.meshlet(&meshlet);
        place
            && corners.len() as u64 == meshlet.triangle_count.into()
            && corners.iter().flatten().all(|corner| u32::from(corner) < meshlet.vertex_count)
    });
    let clusters = mesh.clusters().is_none_or(|hierarchy| {
        hierarchy.clusters().iter().all(|cluster| {
            let geometry = hierarchy.geometry(&cluster);
            geometry.indices.iter().all(|index| index < vertices)
                && geometry.triangles.iter().flatten().all(|corner| u16::from(corner) < cluster.vertex_count)
        })
    });
    let mut moved = (0..mesh.morph_targets().len()).flat_map(|i| mesh.morph(i).unwrap().deltas.iter());
    numbers.all(|number| number < vertices)
        && clusters
        && moved.all(|delta| delta.vertex < vertices)
        && meshlets
        && used == mesh.meshlet_vertices().len() as u64
        && triangles == mesh.meshlet_triangles().len() as u64
        && mesh
            .skin()
            .iter()
            .flat_map(|skin| skin.joints)
            .all(|joint| usize::from(joint) < mesh.joints().len())
}

fn walk_scene(scene: &HscnView<'_>, sum: &mut Sum) {
    let labels =
        |sum: &mut Sum, ranges: [TextRange; 2]| ranges.iter().for_each(|range| sum.text(scene.text(*range)));
    let info = scene.info();
    labels(sum, [info.name, info.extras]);
    sum.text(scene.text(info.document_extras));
    for (i, node) in scene.nodes().iter().enumerate() {
        sum.row(&scene.nodes(), i);
        labels(sum, [node.name, node.extras]);
        sum.bytes(scene.weights(&node).bytes());
        sum.bytes(scene.instances(&node).bytes());
        sum.floats(&scene.matrix(&node).map_or(vec![], |matrix| matrix.to_vec()));
        if scene.camera(&node).is_some() {
            sum.row(&scene.cameras(), node.camera as usize);
        }
        if scene.light(&node).is_some() {
            sum.row(&scene.lights(), node.light as usize);
        }
    }
    for (i, mesh) in scene.meshes().iter().enumerate() {
        sum.row(&scene.meshes(), i);
        labels(sum, [mesh.name, mesh.extras]);
    }
    for (i, skin) in scene.skins().iter().enumerate() {
        sum.row(&scene.skins(), i);
        labels(sum, [skin.name, skin.extras]);
        sum.bytes(scene.joints(&skin).bytes());
    }
    scene.cameras().iter().for_each(|camera| labels(sum, [camera.name, camera.extras]));
    scene.lights().iter().for_each(|light| labels(sum, [light.name, light.extras]));
    for (i, clip) in scene.clips().iter().enumerate() {
        sum.row(&scene.clips(), i);
        labels(sum, [clip.name, clip.extras]);
        for (k, channel) in scene.channels(&clip).iter().enumerate() {
            sum.row(&scene.channels(&clip), k);
            sum.bytes(scene.times(&channel).bytes());
            sum.bytes(scene.values(&channel).bytes());
        }
    }
}

fn walk_font(font: &HfontView<'_>, sum: &mut Sum) {
    let metrics = font.metrics();
    sum.number(metrics.atlas_tex);
    sum.number(metrics.multi_channel);
    sum.number(metrics.atlas_width);
    sum.number(metrics.atlas_height);
    sum.floats(&[
        metrics.ascent,
        metrics.descent,
        metrics.line_gap,
        metrics.distance_range,
        metrics.edge_value,
    ]);
    for (i, glyph) in font.glyphs().iter().enumerate() {
        sum.row(&font.glyphs(), i);
        for codepoint in [glyph.codepoint, glyph.codepoint + 1] {
            sum.number(font.find(codepoint).map_or(0, |glyph| glyph.codepoint));
        }
    }
    for (i, pair) in font.pairs().iter().enumerate() {
        sum.row(&font.pairs(), i);
        sum.floats(&[pair.advance]);
    }
}

/// Returns valid files of every format, with the format's letter.
fn samples() -> Vec<(u8, Vec<u8>)> {
    fn draw<T>(strategy: impl Strategy<Value = T>, runner: &mut TestRunner) -> T {
        strategy.new_tree(runner).unwrap().current()
    }
    let mut runner = TestRunner::deterministic();
    let runner = &mut runner;
    let mut out = Vec::new();
    for _ in 0..24 {
        out.push((b'P', strategies::write_pack(&draw(strategies::files(), runner))));
        out.push((b'P', strategies::write_compressed_pack(&draw(strategies::compressible_files(), runner))));
        out.push((b'N', strategies::write_manifest(&draw(strategies::manifest(), runner))));
        let mesh = hmesh::write(&draw(strategies::mesh(), runner).parts()).unwrap();
        out.push((b'M', hmesh::write_compressed(&mesh, encode::encode).unwrap()));
        out.push((b'M', mesh));
        out.push((b'R', hmat::write(&draw(strategies::materials(), runner)).unwrap()));
        out.push((b'A', strategies::write_clips(&draw(strategies::clips(), runner))));
        let (rows, textures, text) = draw(strategies::material_extensions(), runner);
        out.push((b'X', hmatx::write(&rows, &textures, &text).unwrap()));
        out.push((b'S', hscn::write(&draw(strategies::scene(), runner)).unwrap()));
        let (metrics, glyphs, pairs) = draw(strategies::font(), runner);
        out.push((b'F', hfont::write(&metrics, &glyphs, &pairs).unwrap()));
        out.push((b'T', draw(strategies::texture(), runner)));
        let mesh = hmesh::write(&meshes::strip().with_extra(0xff).parts()).unwrap();
        out.push((b'M', hmesh::write_compressed(&mesh, encode::encode).unwrap()));
    }
    out
}

/// Returns the valid file, every prefix of a short one, and files with a few bytes changed.
fn damaged(good: &[u8], random: &mut impl FnMut() -> u64) -> Vec<Vec<u8>> {
    let mut out = vec![good.to_vec()];
    out.extend((0..good.len()).step_by(1 + good.len() / 48).map(|len| good[..len].to_vec()));
    for _ in 0..160 {
        let mut bytes = good.to_vec();
        for _ in 0..=random() % 2 {
            let at = (random() % bytes.len() as u64) as usize;
            // Headers and tables come first, so most damage goes there.
            let at = if random().is_multiple_of(2) { at % 96.min(bytes.len()) } else { at };
            bytes[at] = match random() % 4 {
                0 => bytes[at] ^ 1 << (random() % 8),
                1 => 0xff,
                2 => 0,
                _ => random() as u8,
            };
        }
        out.push(bytes);
    }
    out
}

#[test]
fn c_header_reads_same_values() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let cases: Vec<(u8, Vec<u8>)> = samples()
        .into_iter()
        .flat_map(|(format, good)| damaged(&good, &mut random).into_iter().map(move |bytes| (format, bytes)))
        .collect();
    let mut file = Vec::new();
    for (format, bytes) in &cases {
        file.push(*format);
        file.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        file.extend_from_slice(bytes);
    }
    let dir = scratch("header-walk");
    let list = dir.join("cases");
    std::fs::write(&list, file).unwrap();
    let expected: Vec<_> = cases.iter().map(|(format, bytes)| walk(*format, bytes)).collect();
    let good = expected.iter().filter(|sum| sum.is_ok()).count();
    assert!(good * 10 > cases.len() && good * 10 < cases.len() * 9, "{good} of {} are good", cases.len());

    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/header/walk.c");
    let sanitize = "-fsanitize=address,undefined";
    let plain = ["cc", "-std=c99"];
    let sanitized = ["cc", "-std=c99", sanitize, "-fno-sanitize-recover=all"];
    let program = compile(&dir, &sanitized, &source, "walk-sanitized")
        .or_else(|_| compile(&dir, &plain, &source, "walk"));
    let plus = compile(&dir, &["c++", "-std=c++11", "-x", "c++"], &source, "walk-plus").unwrap();
    for program in [program.unwrap(), plus] {
        let run = Command::new(&program).arg(&list).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let lines = String::from_utf8(run.stdout).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), cases.len());
        for (((format, bytes), expected), found) in cases.iter().zip(&expected).zip(lines) {
            let name = *format as char;
            match expected {
                Ok(sum) => assert_eq!(found, format!("{sum:016x}"), "{name} {bytes:?}"),
                // The C header reads only the parts of a texture that an upload needs.
                Err(_) if name == 'T' => {}
                Err(error) => {
                    assert!(
                        found.contains(' '),
                        "{name} is accepted instead of rejected with: {error}: {bytes:?}"
                    )
                }
            }
        }
    }
}
