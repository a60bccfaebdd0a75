//! Every form of accessor.

use crate::model::{F32, I8, I16, Model, U8, U16, U32};
use serde_json::json;

const POSITIONS: [[f32; 3]; 3] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

#[test]
fn reads_strided_elements_at_an_offset() {
    let mut model = Model::new();
    let mut bytes = vec![0xAA; 8];
    for (position, uv) in POSITIONS.iter().zip([[0.5f32, 0.25], [1.0, 0.0], [0.0, 1.0]]) {
        bytes.extend(position.iter().chain(&uv).flat_map(|v| v.to_le_bytes()));
    }
    let view = model.view(&bytes);
    model.json["bufferViews"][view]["byteStride"] = json!(20);
    let accessor = |offset: usize, kind: &str| json!({"bufferView": view, "byteOffset": offset, "componentType": F32, "type": kind, "count": 3});
    let positions = model.push("accessors", accessor(8, "VEC3"));
    // The last pair ends with the view, where a whole stride would not fit any more.
    let uv = model.push("accessors", accessor(20, "VEC2"));
    model.mesh(json!([{"attributes": {"POSITION": positions, "TEXCOORD_0": uv}}]));
    let found = model.primitive();
    assert_eq!(found.positions, POSITIONS);
    assert_eq!(found.uv0, [[0.5, 0.25], [1.0, 0.0], [0.0, 1.0]]);
}

#[test]
fn decodes_normalized_integers() {
    let check = |component: u32, bytes: &[u8], normalized: bool, wanted: [[f32; 2]; 3]| {
        let mut model = Model::triangle();
        let view = model.view(bytes);
        model.json["bufferViews"][view]["byteStride"] = json!(bytes.len() / 3);
        let uv = model.accessor(view, component, "VEC2", 3);
        model.json["accessors"][uv]["normalized"] = json!(normalized);
        model.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"] = json!(uv);
        assert_eq!(model.primitive().uv0, wanted, "{component} {normalized}");
    };
    let bytes = [0, 255, 9, 9, 51, 127, 9, 9, 128, 1, 9, 9];
    check(U8, &bytes, true, [[0.0, 1.0], [0.2, 127.0 / 255.0], [128.0 / 255.0, 1.0 / 255.0]]);
    check(U8, &bytes, false, [[0.0, 255.0], [51.0, 127.0], [128.0, 1.0]]);
    check(I8, &bytes, true, [[0.0, -1.0 / 127.0], [51.0 / 127.0, 1.0], [-1.0, 1.0 / 127.0]]);
    check(I8, &bytes, false, [[0.0, -1.0], [51.0, 127.0], [-128.0, 1.0]]);
    let shorts: Vec<u8> =
        [0u16, 65535, 13107, 32767, 32768, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
    check(U16, &shorts, true, [[0.0, 1.0], [0.2, 32767.0 / 65535.0], [32768.0 / 65535.0, 1.0 / 65535.0]]);
    check(U16, &shorts, false, [[0.0, 65535.0], [13107.0, 32767.0], [32768.0, 1.0]]);
    check(I16, &shorts, true, [[0.0, -1.0 / 32767.0], [13107.0 / 32767.0, 1.0], [-1.0, 1.0 / 32767.0]]);
    check(I16, &shorts, false, [[0.0, -1.0], [13107.0, 32767.0], [-32768.0, 1.0]]);
}

#[test]
fn decodes_quantized_positions() {
    let mut model = Model::new();
    let bytes: Vec<u8> =
        [0i16, -5, 7, 0, 100, 0, 0, 0, 0, 300, 0, 0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let view = model.view(&bytes);
    model.json["bufferViews"][view]["byteStride"] = json!(8);
    let positions = model.accessor(view, I16, "VEC3", 3);
    model.json["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    model.mesh(json!([{"attributes": {"POSITION": positions}}]));
    assert_eq!(model.primitive().positions, [[0.0, -5.0, 7.0], [100.0, 0.0, 0.0], [0.0, 300.0, 0.0]]);
}

#[test]
fn sparse_accessors_replace_elements() {
    for (component, width) in [(U8, 1), (U16, 2), (U32, 4)] {
        let mut model = Model::triangle();
        let indices: Vec<u8> = [0u32, 2].iter().flat_map(|v| v.to_le_bytes()[..width].to_vec()).collect();
        let indices = model.view(&indices);
        let values: Vec<u8> = [9f32, 8.0, 7.0, 0.0, 2.0, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = model.view(&values);
        let sparse = json!({
            "count": 2,
            "indices": {"bufferView": indices, "componentType": component},
            "values": {"bufferView": values},
        });
        model.json["accessors"][0]["sparse"] = sparse.clone();
        assert_eq!(model.primitive().positions, [[9.0, 8.0, 7.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]);
        // Over nothing at all, everything else is zero.
        model.json["accessors"][0].as_object_mut().unwrap().remove("bufferView");
        assert_eq!(model.primitive().positions, [[9.0, 8.0, 7.0], [0.0; 3], [0.0, 2.0, 0.0]]);
    }
}

#[test]
fn sparse_accessors_work_with_unused_vertices() {
    let mut model = Model::new();
    let positions: Vec<f32> = (0..300).map(|v| v as f32).collect();
    let positions = model.floats("VEC3", &positions);
    let indices = model.shorts(&[90, 50, 10]);
    let targets = model.view(&[50, 60]);
    let values: Vec<u8> = [-1f32; 6].iter().flat_map(|v| v.to_le_bytes()).collect();
    let values = model.view(&values);
    model.json["accessors"][positions]["sparse"] = json!({
        "count": 2,
        "indices": {"bufferView": targets, "componentType": U8},
        "values": {"bufferView": values},
    });
    model.mesh(json!([{"attributes": {"POSITION": positions}, "indices": indices}]));
    let found = model.primitive();
    assert_eq!(found.positions, [[30.0, 31.0, 32.0], [-1.0; 3], [270.0, 271.0, 272.0]]);
    assert_eq!(found.indices, [2, 1, 0]);
}

#[test]
fn accessors_without_view_are_zeros() {
    let mut model = Model::triangle();
    let normals = model.push("accessors", json!({"componentType": F32, "type": "VEC3", "count": 3}));
    model.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(normals);
    assert_eq!(model.primitive().normals, [[0.0; 3]; 3]);
}

#[test]
fn reads_indices_of_every_width_and_none() {
    let indices = [2u32, 0, 1];
    for (component, width) in [(U8, 1), (U16, 2), (U32, 4)] {
        let mut model = Model::triangle();
        let bytes: Vec<u8> = indices.iter().flat_map(|v| v.to_le_bytes()[..width].to_vec()).collect();
        let view = model.view(&bytes);
        let accessor = model.accessor(view, component, "SCALAR", 3);
        model.json["meshes"][0]["primitives"][0]["indices"] = json!(accessor);
        assert_eq!(model.primitive().indices, indices);
    }
    let mut model = Model::triangle();
    model.json["meshes"][0]["primitives"][0].as_object_mut().unwrap().remove("indices");
    assert_eq!(model.primitive().indices, [0, 1, 2]);
}

#[test]
fn zero_stride_means_tightly_packed() {
    let mut model = Model::triangle();
    model.json["bufferViews"][0]["byteStride"] = json!(0);
    assert_eq!(model.primitive().positions, POSITIONS);
}
