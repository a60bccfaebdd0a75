//! Vertex colors, second UVs and morph targets, compared with an independent evaluation of their sources.

use crate::project::{Model, Project, positions};
use pak::export::Exporter;
use pak::mesh::{Mesh, VertexFormat, VertexSemantic, VertexType};
use pak::{Kind, Pak};
use serde_json::json;

/// The squares along a side of the grid.
const SIDE: usize = 8;
const COUNT: usize = (SIDE + 1) * (SIDE + 1);

fn bake(model: Model, fields: &str) -> Mesh {
    let project = Project::new();
    model.write(&project, "art/m.gltf");
    project.put("art/m.toml", format!("[mesh]\n{fields}\n"));
    project.content("zstd", "['art/m.toml']");
    project.open().read_mesh("art/m").unwrap()
}

fn color(vertex: usize) -> [u8; 4] {
    [(vertex * 3) as u8, 255 - vertex as u8, (vertex * 7) as u8, 200]
}

/// The deltas of the first target: position and normal.
fn smile(vertex: usize) -> [[f32; 3]; 2] {
    let v = vertex as f32;
    [[v * 0.5, 1.0 - v, 0.25], [0.125 * v, 0.5, -v * 0.0625]]
}

/// A grid with normals up, colors of 8 bits, a second UV set and two morph targets.
fn model(node: serde_json::Value) -> Model {
    let mut model = Model::new();
    let mesh = model.grid("m", SIDE as u32);
    let colors: Vec<u8> = (0..COUNT).flat_map(color).collect();
    let colors = model.accessor("VEC4", 5121, COUNT, &colors);
    model.json["accessors"][colors]["normalized"] = json!(true);
    let uv1: Vec<f32> = (0..COUNT).flat_map(|v| [v as f32, -(v as f32)]).collect();
    let uv1 = model.floats("VEC2", &uv1);
    let smiles: Vec<_> = (0..COUNT).map(smile).collect();
    let moved: Vec<f32> = smiles.iter().flat_map(|[position, _]| *position).collect();
    let turned: Vec<f32> = smiles.iter().flat_map(|[_, normal]| *normal).collect();
    let (moved, turned) = (model.floats("VEC3", &moved), model.floats("VEC3", &turned));
    let blink: Vec<f32> = (0..COUNT).flat_map(|v| [0.0, 0.0, v as f32]).collect();
    let blink = model.floats("VEC3", &blink);
    let own = &mut model.json["meshes"][mesh];
    own["primitives"][0]["attributes"]["COLOR_0"] = json!(colors);
    own["primitives"][0]["attributes"]["TEXCOORD_1"] = json!(uv1);
    own["primitives"][0]["targets"] = json!([{"POSITION": moved, "NORMAL": turned}, {"POSITION": blink}]);
    own["weights"] = json!([0.25, 0.0]);
    own["extras"] = json!({"targetNames": ["smile", "blink"]});
    let mut with_mesh = json!({"mesh": mesh, "name": "n"});
    for (name, value) in node.as_object().unwrap() {
        with_mesh[name] = value.clone();
    }
    model.node(with_mesh, None);
    model
}

/// Returns the number of the source vertex at a position of the grid, by its x and z.
fn source(x: f32, z: f32) -> usize {
    let step = |v: f32| (v * SIDE as f32 / 10.0).round() as usize;
    step(z) * (SIDE + 1) + step(x)
}

#[test]
fn streams_have_the_values_of_their_source() {
    // The placement takes (x, y, z) to (-y, 2x, z): twice as wide, then a quarter turn about z.
    let mesh = bake(model(json!({})), "scale = [2, 1, 1]\nrotation = [0, 0, 90]");
    let primitive = &mesh.primitives()[0];
    let [colors] = primitive.colors() else { panic!("one set of colors") };
    let [first, second] = primitive.morph_targets() else { panic!("two morph targets") };
    assert_eq!(
        (primitive.vertex_count(), colors.len(), colors.format()),
        (COUNT, COUNT, VertexFormat::Unorm8x4)
    );
    assert_eq!((first.name(), first.weight(), second.name(), second.weight()), ("smile", 0.25, "blink", 0.0));
    let semantics: Vec<_> = first.attributes().map(|attribute| attribute.semantic).collect();
    assert_eq!(semantics, [VertexSemantic::Position, VertexSemantic::Normal]);
    assert_eq!((first.stride(), second.stride(), first.data().len()), (24, 12, COUNT * 24));
    assert!([colors.data(), first.data(), second.data()].iter().all(|data| data.as_ptr().addr() % 16 == 0));
    let second_uvs: Vec<_> = primitive.second_uvs().unwrap().collect();
    let close = |a: [f32; 3], b: [f32; 3]| (0..3).all(|i| (a[i] - b[i]).abs() < 1e-4);
    for (vertex, position) in positions(primitive).iter().enumerate() {
        let number = source(position[1] / 2.0, position[2]);
        assert_eq!(colors.get(vertex), Some(color(number).map(|v| f32::from(v) / 255.0)), "{number}");
        assert_eq!(second_uvs[vertex], [number as f32, -(number as f32)]);
        let [[x, y, z], [a, b, c]] = smile(number);
        assert!(close(first.position(vertex).unwrap(), [-y, 2.0 * x, z]), "{number}");
        // Normals take the inverse transpose, (a, b, c) to (-b, a / 2, c); that of the base has length 1.
        assert!(close(first.normal(vertex).unwrap(), [-b, a / 2.0, c]), "{number}");
        assert_eq!(first.tangent(vertex), None);
        assert!(close(second.position(vertex).unwrap(), [0.0, 0.0, number as f32]), "{number}");
        assert_eq!(second.normal(vertex), None);
    }
    assert_eq!((colors.get(COUNT), first.position(COUNT), first.position(usize::MAX)), (None, None, None));
    assert!(colors.iter().eq((0..COUNT).map(|vertex| colors.get(vertex).unwrap())));
}

#[test]
fn streams_do_not_change_the_interleaved_vertices() {
    let with = bake(model(json!({})), "");
    let without = bake(model(json!({})), "colors = false\nmorphs = false");
    let [with, without] = [&with.primitives()[0], &without.primitives()[0]];
    assert_eq!((with.vertex_type(), with.vertex_data()), (without.vertex_type(), without.vertex_data()));
    assert_eq!(with.lods(), without.lods());
    assert!(without.colors().is_empty() && without.morph_targets().is_empty());
    assert!(with.vertex_type().contains(VertexType::TEXTURE1));
    let plain = bake(model(json!({})), "uv1 = false");
    let plain = &plain.primitives()[0];
    assert!(!plain.vertex_type().contains(VertexType::TEXTURE1) && plain.second_uvs().is_none());
    assert_eq!(plain.vertex_type().stride() + 8, with.vertex_type().stride());
    assert_eq!((plain.colors().len(), plain.morph_targets().len()), (1, 2));
}

#[test]
fn weights_of_the_node_replace_those_of_the_mesh() {
    let mesh =
        bake(model(json!({"weights": [1.0, 0.5]})), "lod = true\nshadow = true\nmin-lod-triangles = 8");
    let [main, shadow] = mesh.primitives() else { panic!("a primitive and its shadow geometry") };
    let weights: Vec<_> = main.morph_targets().iter().map(|target| target.weight()).collect();
    assert_eq!(weights, [1.0, 0.5]);
    assert!(main.lods().len() > 1);
    assert!(shadow.colors().is_empty() && shadow.morph_targets().is_empty());
}

#[test]
fn colors_keep_the_precision_of_their_source() {
    let mut wide = model(json!({}));
    let values: Vec<u16> = (0..COUNT).flat_map(|v| [v as u16 * 800 + 1, 65535, 0, 3]).collect();
    let accessor = wide.shorts("VEC4", COUNT, &values);
    wide.json["accessors"][accessor]["normalized"] = json!(true);
    wide.json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = json!(accessor);
    let mesh = bake(wide, "");
    let colors = &mesh.primitives()[0].colors()[0];
    assert_eq!(colors.format(), VertexFormat::Unorm16x4);
    for (vertex, position) in positions(&mesh.primitives()[0]).iter().enumerate() {
        let red = source(position[0], position[2]) as f32 * 800.0 + 1.0;
        assert_eq!(colors.get(vertex), Some([red / 65535.0, 1.0, 0.0, 3.0 / 65535.0]));
    }
    // Three floats, without alpha.
    let mut float = model(json!({}));
    let values: Vec<f32> = (0..COUNT).flat_map(|v| [v as f32 * 0.3, 2.5, 0.0]).collect();
    let accessor = float.floats("VEC3", &values);
    float.json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = json!(accessor);
    let mesh = bake(float, "");
    let colors = &mesh.primitives()[0].colors()[0];
    assert_eq!(colors.format(), VertexFormat::Float32x4);
    for (vertex, position) in positions(&mesh.primitives()[0]).iter().enumerate() {
        let red = source(position[0], position[2]) as f32 * 0.3;
        assert_eq!(colors.get(vertex), Some([red, 2.5, 0.0, 1.0]));
    }
}

#[test]
fn exported_models_have_the_same_streams() {
    let project = Project::new();
    model(json!({"weights": [1.0, 0.5]})).write(&project, "art/m.gltf");
    // In the order of the source, which another optimisation would change.
    project.put("art/m.toml", "[mesh]\noptimize = false\n");
    project.content("none", "['art/m.toml']");
    let first = project.open().read_mesh("art/m").unwrap();
    let pak = project.open();
    let exported = Exporter::new(&pak).export(Kind::Mesh, 0).unwrap().remove(0);
    let again = Project::new();
    again.put("art/m.glb", &exported.bytes);
    again.put("art/m.toml", "[mesh]\noptimize = false\n");
    again.content("none", "['art/m.toml']");
    let again = again.open().read_mesh("art/m").unwrap();
    let [first, again] = [&first.primitives()[0], &again.primitives()[0]];
    assert_eq!(again.vertex_data(), first.vertex_data());
    assert_eq!((again.colors(), again.morph_targets()), (first.colors(), first.morph_targets()));
    assert_eq!(again.morph_targets().len(), 2);
}
