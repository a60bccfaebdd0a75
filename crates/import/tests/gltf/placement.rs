//! Scenes, nodes, transforms, instances.

use crate::imported::{import, memory_files};
use crate::model::{I16, Model};
use kiln_import::{Code, RelPath, gltf};
use kiln_ir::{Matrix, Transform};
use serde_json::json;

/// The nodes that are drawn.
fn drawn(model: &Model) -> Vec<u32> {
    model.scene().draws().map(|draw| draw.node.0).collect()
}

#[test]
fn draws_the_default_scene() {
    let mut model = Model::triangle();
    model.push("nodes", json!({"mesh": 0}));
    model.push("scenes", json!({"nodes": [1]}));
    assert_eq!(drawn(&model), [0], "the first, where none is the default");
    assert_eq!(model.warnings(), ["gltf-scenes"]);
    model.json["scene"] = json!(1);
    assert_eq!(drawn(&model), [1]);
    // Another one on request.
    let mut files = memory_files(&[("m.glb", model.glb())]);
    let source = RelPath::new("m.glb").unwrap();
    let mut scene = |number| gltf::import_scene(&mut files, &source, Some(number));
    assert_eq!(scene(0).unwrap().value.draws().next().unwrap().node.0, 0);
    assert_eq!(scene(2).unwrap_err().code, Code::GltfReference);
}

#[test]
fn draws_all_roots_without_scenes() {
    let mut model = Model::triangle();
    model.push("nodes", json!({"mesh": 0}));
    model.push("nodes", json!({"children": [0]}));
    model.json.as_object_mut().unwrap().remove("scenes");
    assert_eq!(drawn(&model), [1, 0]);
    assert!(model.warnings().is_empty());
}

#[test]
fn draws_every_mesh_without_nodes() {
    let mut model = Model::triangle();
    let mesh = model.json["meshes"][0].clone();
    model.push("meshes", mesh);
    model.json.as_object_mut().unwrap().remove("scenes");
    model.json.as_object_mut().unwrap().remove("nodes");
    let scene = model.scene();
    let meshes: Vec<u32> = scene.draws().map(|draw| draw.mesh.0).collect();
    assert_eq!(meshes, [0, 1]);
    assert!(scene.draws().all(|draw| draw.world == Matrix::IDENTITY));
}

#[test]
fn does_not_read_unused_meshes() {
    let mut model = Model::triangle();
    model.push("meshes", json!({"name": "broken", "primitives": [{"attributes": {"POSITION": 99}}]}));
    let scene = model.scene();
    assert_eq!(scene.meshes[1].name, "broken");
    assert!(scene.meshes[1].primitives.is_empty());
}

#[test]
fn world_matrices_multiply_down_the_tree() {
    let mut model = Model::triangle();
    model.json["nodes"][0]["scale"] = json!([2.0, 2.0, 2.0]);
    model.json["nodes"][0]["translation"] = json!([1.0, 0.0, 0.0]);
    // A quarter turn about z, of a length that is not one.
    model.push("nodes", json!({"children": [0], "rotation": [0.0, 0.0, 2.0, 2.0], "name": "turn"}));
    let lift = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 5.0, 1.0];
    model.push("nodes", json!({"children": [1], "matrix": lift}));
    model.json["scenes"][0]["nodes"] = json!([2]);
    let scene = model.scene();
    let draw = scene.draws().next().unwrap();
    let moved = draw.world.point([1.0, 0.0, 0.0]);
    for (found, wanted) in moved.into_iter().zip([0.0, 3.0, 5.0]) {
        assert!((found - wanted).abs() < 1e-6, "{moved:?}");
    }
    assert_eq!(scene.nodes[1].name, "turn");
    let Transform::Trs(turn) = scene.nodes[1].transform else { panic!() };
    let length: f32 = turn.rotation.iter().map(|v| v * v).sum();
    assert!((length - 1.0).abs() < 1e-6);
    assert!(matches!(scene.nodes[2].transform, Transform::Matrix(_)));
}

#[test]
fn keeps_unit_rotations_bit_exact() {
    let mut model = Model::triangle();
    model.json["nodes"][0]["rotation"] = json!([0.36, 0.48, 0.0, 0.8]);
    let Transform::Trs(trs) = model.scene().nodes[0].transform else { panic!() };
    assert_eq!(trs.rotation, [0.36, 0.48, 0.0, 0.8]);
}

#[test]
fn imports_gpu_instances() {
    let mut model = Model::triangle();
    let places = model.floats("VEC3", &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    let turns: Vec<u8> = [0i16, 0, 0, 32767, 0, 0, 32767, 0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let view = model.view(&turns);
    let turns = model.accessor(view, I16, "VEC4", 2);
    model.json["accessors"][turns]["normalized"] = json!(true);
    model.json["nodes"][0]["translation"] = json!([0.0, 10.0, 0.0]);
    model.json["nodes"][0]["extensions"] =
        json!({"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": places, "ROTATION": turns}}});
    let scene = model.scene();
    let points: Vec<[f32; 3]> = scene.draws().map(|draw| draw.world.point([1.0, 0.0, 0.0])).collect();
    // The second is turned by half a circle about z.
    assert_eq!(points, [[2.0, 10.0, 0.0], [1.0, 10.0, 0.0]]);
    model.json["nodes"][0]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]["SCALE"] = json!(0);
    model.rejected("gltf-accessor", "/nodes/0/extensions/EXT_mesh_gpu_instancing/attributes");
}

#[test]
fn warns_about_unknown_and_rejects_required_extensions() {
    let mut model = Model::triangle();
    model.json["extensionsUsed"] = json!(["KHR_materials_unlit", "ACME_curved_triangles"]);
    let warnings = model.import().unwrap().warnings;
    assert_eq!((warnings.len(), warnings[0].code.as_str()), (1, "gltf-extension-unknown"));
    assert!(warnings[0].message.ends_with(": ACME_curved_triangles"), "{}", warnings[0]);
    model.json["extensionsRequired"] = json!(["ACME_curved_triangles"]);
    let error = model.rejected("gltf-extension-required", "/extensionsRequired/0");
    assert!(error.message.contains("ACME_curved_triangles"), "{error}");
}

#[test]
fn warns_about_unsupported_content() {
    let mut model = Model::triangle();
    model.json["nodes"][0]["extensions"] =
        json!({"KHR_lights_punctual": {"light": 0}, "KHR_node_visibility": {"visible": false}});
    let warnings = model.import().unwrap().warnings;
    assert_eq!(
        warnings[0].message,
        "unsupported content is ignored: lights (KHR_lights_punctual), node visibility (KHR_node_visibility)"
    );
    // The triangles of a hidden node are there.
    assert_eq!(drawn(&model), [0]);
}

#[test]
fn keeps_names_unchanged() {
    let mut model = Model::triangle();
    model.json["nodes"][0]["name"] = json!(" N\u{f6}de/1 ");
    model.json["meshes"][0]["name"] = json!("M");
    model.push("materials", json!({"name": "Wood"}));
    model.push("materials", json!({}));
    let scene = import("m.glb", &[("m.glb", model.glb())]).unwrap().value;
    assert_eq!(scene.nodes[0].name, " N\u{f6}de/1 ");
    assert_eq!(scene.meshes[0].name, "M");
    let names: Vec<&str> = scene.materials.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["Wood", ""]);
}
