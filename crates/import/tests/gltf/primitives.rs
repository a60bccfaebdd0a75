//! Primitive modes, UV mapping of materials, joints and weights.

use crate::model::{Model, U8, U16};
use kiln_import::Code;
use kiln_ir::MaterialId;
use serde_json::json;

/// The triangles of vertices in a mode.
fn triangles(mode: u32, indices: Option<&[u16]>) -> Vec<u32> {
    let mut model = Model::new();
    let positions: Vec<f32> = (0..18).map(|v| v as f32).collect();
    let positions = model.floats("VEC3", &positions);
    let mut primitive = json!({"attributes": {"POSITION": positions}, "mode": mode});
    if let Some(indices) = indices {
        primitive["indices"] = json!(model.shorts(indices));
    }
    model.mesh(json!([primitive]));
    model.primitive().indices
}

#[test]
fn strips_and_fans_keep_winding() {
    assert_eq!(triangles(4, None), [0, 1, 2, 3, 4, 5]);
    assert_eq!(triangles(5, None), [0, 1, 2, 1, 3, 2, 2, 3, 4, 3, 5, 4]);
    assert_eq!(triangles(6, None), [1, 2, 0, 2, 3, 0, 3, 4, 0, 4, 5, 0]);
    assert_eq!(triangles(5, Some(&[5, 4, 3, 2, 1, 0])), [5, 4, 3, 4, 2, 3, 3, 2, 1, 2, 0, 1]);
    assert_eq!(triangles(6, Some(&[0, 1, 2, 3, 4, 5]))[..3], [1, 2, 0]);
}

#[test]
fn drops_a_triangle_list_of_two_vertices() {
    let mut model = Model::triangle();
    let positions = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let primitives = model.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    primitives.push(json!({"attributes": {"POSITION": positions}}));
    let found = model.import().unwrap();
    assert_eq!(found.value.meshes[0].primitives.len(), 1);
    let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    assert_eq!(
        (warning.code, warning.at.as_deref()),
        (Code::GltfTooFewVertices, Some("/meshes/0/primitives/1"))
    );
    assert!(warning.hint.is_some());
}

#[test]
fn ignores_points_and_lines_with_one_warning() {
    let mut model = Model::triangle();
    let short = model.shorts(&[0, 1]);
    let none = model.push("accessors", json!({"componentType": U16, "type": "SCALAR", "count": 0}));
    let attributes = json!({"POSITION": 0});
    model.json["meshes"][0]["primitives"] = json!([
        {"attributes": attributes, "mode": 0},
        {"attributes": attributes, "mode": 1},
        {"attributes": attributes, "indices": 1},
        {"attributes": attributes, "mode": 2},
        {"attributes": attributes, "mode": 3},
        {"attributes": attributes, "mode": 5, "indices": short},
        {"attributes": attributes, "mode": 6, "indices": short},
        {"attributes": attributes, "indices": none},
        {"attributes": {}},
    ]);
    let found = model.import().unwrap();
    assert_eq!(found.value.meshes[0].primitives.len(), 1);
    let [warning, short] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    assert_eq!(
        (warning.code.as_str(), warning.at.as_deref().unwrap_or_default()),
        ("gltf-no-triangles", "/meshes/0/primitives/0")
    );
    assert!(warning.message.starts_with("5 primitives"), "{warning}");
    assert_eq!(
        (short.code.as_str(), short.at.as_deref().unwrap_or_default()),
        ("gltf-too-few-vertices", "/meshes/0/primitives/5")
    );
    assert!(short.message.starts_with("3 primitives"), "{short}");
    model.json["meshes"][0]["primitives"] = json!([{"attributes": {"POSITION": 0}, "mode": 0}]);
    assert!(model.scene().meshes[0].primitives.is_empty());
}

#[test]
fn removes_unused_vertices() {
    let mut model = Model::new();
    let values: Vec<f32> = (0..30).map(|v| v as f32).collect();
    let positions = model.floats("VEC3", &values);
    let normals = model.floats("VEC3", &values.iter().rev().copied().collect::<Vec<_>>());
    let indices = model.shorts(&[8, 3, 1, 1, 3, 0]);
    model.mesh(json!([{"attributes": {"POSITION": positions, "NORMAL": normals}, "indices": indices}]));
    let found = model.primitive();
    assert_eq!(found.positions, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [9.0, 10.0, 11.0], [24.0, 25.0, 26.0]]);
    assert_eq!(found.normals[3], [5.0, 4.0, 3.0]);
    assert_eq!(found.indices, [3, 2, 1, 1, 2, 0]);
}

#[test]
fn ignores_tangents_without_normals() {
    let mut model = Model::triangle();
    let tangents = model.floats("VEC4", &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -0.9, 1.0, 0.0, 0.0, 0.0]);
    model.json["meshes"][0]["primitives"][0]["attributes"]["TANGENT"] = json!(tangents);
    assert!(model.primitive().tangents.is_empty());
    model.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(0);
    let signs: Vec<f32> = model.primitive().tangents.iter().map(|t| t[3]).collect();
    assert_eq!(signs, [1.0, -1.0, 1.0]);
}

#[test]
fn warns_once_about_unsupported_attributes() {
    let mut model = Model::triangle();
    let uv = model.floats("VEC2", &[0.0; 6]);
    let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
    for name in ["TEXCOORD_0", "TEXCOORD_1", "COLOR_0", "_CUSTOM"] {
        attributes[name] = json!(uv);
    }
    model.json["meshes"][0]["primitives"][0]["targets"] = json!([{"POSITION": 0}]);
    let found = model.import().unwrap();
    let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    assert_eq!(warning.code, Code::GltfDataIgnored);
    assert_eq!(warning.message, "unsupported content is ignored: COLOR_0, _CUSTOM, morph targets");
}

/// A triangle with joints and weights in sets of four; the second vertex has those given.
fn pulled(sets: &[([u8; 4], [f32; 4])]) -> Model {
    let mut model = Model::triangle();
    for (set, (joints, weights)) in sets.iter().enumerate() {
        let joints: Vec<u8> = [[0; 4], *joints, [0; 4]].concat();
        let view = model.view(&joints);
        let joints = model.accessor(view, U8, "VEC4", 3);
        let rigid = [if set == 0 { 1.0 } else { 0.0 }, 0.0, 0.0, 0.0];
        let weights = model.floats("VEC4", &[rigid, *weights, rigid].concat());
        let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
        attributes[format!("JOINTS_{set}")] = json!(joints);
        attributes[format!("WEIGHTS_{set}")] = json!(weights);
    }
    model
}

#[test]
fn keeps_the_strongest_four_influences() {
    let model = pulled(&[([9, 8, 7, 6], [0.1, 0.2, 0.0, 0.3]), ([5, 4, 3, 2], [0.05, 0.2, 0.15, 0.0])]);
    let found = model.primitive();
    assert_eq!(found.joints[1], [6, 8, 4, 3], "of equal weights the first stays first");
    assert_eq!(found.weights[1], [0.3, 0.2, 0.2, 0.15]);
    assert_eq!((found.joints[0], found.weights[0]), ([0; 4], [1.0, 0.0, 0.0, 0.0]));
    let warnings = model.import().unwrap().warnings;
    assert_eq!((warnings[0].code.as_str(), warnings.len()), ("gltf-influences", 1));
    assert!(warnings[0].message.starts_with("1 vertex has"), "{}", warnings[0]);
}

#[test]
fn merges_two_joint_sets_without_loss() {
    let model = pulled(&[([9, 8, 7, 6], [0.25, 0.25, 0.0, 0.0]), ([5, 4, 3, 2], [0.0, 0.25, 0.25, 0.0])]);
    let found = model.primitive();
    assert_eq!((found.joints[1], found.weights[1]), ([9, 8, 4, 3], [0.25; 4]));
    assert!(model.warnings().is_empty());
}

#[test]
fn clears_joints_without_weight_and_negative_weights() {
    let found = pulled(&[([9, 8, 7, 6], [0.5, 0.0, -0.25, 0.5])]).primitive();
    assert_eq!((found.joints[1], found.weights[1]), ([9, 0, 0, 6], [0.5, 0.0, 0.0, 0.5]));
}

#[test]
fn decodes_normalized_weights() {
    let mut model = pulled(&[([1, 2, 0, 0], [0.0; 4])]);
    let view = model.view(&[255, 0, 0, 0, 51, 204, 0, 0, 255, 0, 0, 0]);
    let weights = model.accessor(view, U8, "VEC4", 3);
    model.json["accessors"][weights]["normalized"] = json!(true);
    model.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"] = json!(weights);
    assert_eq!(model.primitive().weights[1], [0.2, 0.8, 0.0, 0.0]);
}

/// A triangle with two sets of coordinates and a material with these members.
fn textured(material: serde_json::Value) -> Model {
    let mut model = Model::triangle();
    let first = model.floats("VEC2", &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let second = model.floats("VEC2", &[0.5, 0.5, 0.25, 0.5, 0.5, 0.75]);
    let image = model.push("images", json!({"uri": "data:image/png;base64,AAAA"}));
    model.push("textures", json!({"source": image}));
    model.push("materials", material);
    let primitive = &mut model.json["meshes"][0]["primitives"][0];
    primitive["attributes"]["TEXCOORD_0"] = json!(first);
    primitive["attributes"]["TEXCOORD_1"] = json!(second);
    primitive["material"] = json!(0);
    model
}

#[test]
fn uv_set_of_all_textures_becomes_the_first() {
    let model = textured(json!({
        "emissiveTexture": {"index": 0, "texCoord": 1},
        "normalTexture": {"index": 0, "texCoord": 1},
    }));
    assert_eq!(model.primitive().uv0, [[0.5, 0.5], [0.25, 0.5], [0.5, 0.75]]);
    assert_eq!(model.primitive().uv1, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    assert_eq!(model.primitive().material, Some(MaterialId(0)));
    assert_eq!(model.warnings(), [""; 0]);
}

#[test]
fn applies_shared_texture_transform() {
    let transform =
        json!({"KHR_texture_transform": {"offset": [0.5, 0.25], "scale": [2.0, 4.0], "texCoord": 1}});
    let model = textured(json!({
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "extensions": transform}},
        "emissiveTexture": {"index": 0, "texCoord": 7, "extensions": transform},
    }));
    assert_eq!(model.primitive().uv0, [[1.5, 2.25], [1.0, 2.25], [1.5, 3.25]]);
    assert_eq!(model.warnings(), [""; 0]);
}

#[test]
fn conflicting_textures_use_uvs_of_the_first() {
    let model = textured(json!({
        "name": "odd",
        "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0, "extensions": {"KHR_texture_transform": {"scale": [2.0, 2.0]}}},
            "metallicRoughnessTexture": {"index": 0},
        },
        "occlusionTexture": {"index": 0, "texCoord": 1},
    }));
    assert_eq!(model.primitive().uv0, [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]);
    let warnings = model.import().unwrap().warnings;
    assert_eq!(
        (warnings[0].code.as_str(), warnings[0].at.as_deref().unwrap_or_default()),
        ("gltf-uv", "/materials/0")
    );
    assert!(
        warnings[0].message.contains("\"odd\": the textures for metallic-roughness, occlusion use other UVs"),
        "{}",
        warnings[0]
    );
}

#[test]
fn missing_uv_set_falls_back_to_the_first_with_a_warning() {
    let model = textured(json!({"emissiveTexture": {"index": 0, "texCoord": 2}}));
    assert_eq!(model.primitive().uv0[1], [1.0, 0.0]);
    assert_eq!(model.warnings(), ["gltf-uv"]);
}
