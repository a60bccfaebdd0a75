//! Compressed geometry: decompression restores what was compressed.

use crate::model::{F32, I8, I16, Model, U8, U16, U32, numbers};
use draco_core::{
    DataType, EncoderBuffer, EncoderOptions, GeometryAttributeType, Mesh, MeshEncoder, PointAttribute,
    PointIndex,
};
use kiln_ir::Primitive;
use serde_json::{Value, json};

/// A grid of 20 x 20 quads: positions and triangles.
fn grid() -> (Vec<[f32; 3]>, Vec<u32>) {
    const SIDE: u32 = 20;
    let point = |i: u32| [(i % (SIDE + 1)) as f32 * 0.25, (i / (SIDE + 1)) as f32 * 0.5, (i * 7 % 13) as f32];
    let positions = (0..(SIDE + 1) * (SIDE + 1)).map(point).collect();
    let quad = |i: u32| {
        let at = i / SIDE * (SIDE + 1) + i % SIDE;
        [at, at + 1, at + SIDE + 1, at + SIDE + 1, at + 1, at + SIDE + 2]
    };
    (positions, (0..SIDE * SIDE).flat_map(quad).collect())
}

/// Adds a packed view with its extension.
fn packed(
    model: &mut Model,
    extension: &str,
    data: &[u8],
    stride: usize,
    count: usize,
    mode: &str,
    filter: &str,
) -> usize {
    let raw = model.view(data);
    let place = model.json["bufferViews"][raw].clone();
    model.push(
        "bufferViews",
        json!({"buffer": 1, "byteOffset": 0, "byteLength": stride * count, "byteStride": stride, "extensions": {extension: {
            "buffer": 0,
            "byteOffset": place["byteOffset"],
            "byteLength": place["byteLength"],
            "byteStride": stride,
            "count": count,
            "mode": mode,
            "filter": filter,
        }}}),
    )
}

/// A packed grid. The second buffer is what readers without the extension would use; it has no data.
pub(crate) fn meshopt_grid(extension: &str, index_mode: &str, index_type: u32) -> Model {
    let (positions, indices) = grid();
    let mut model = Model::new();
    let vertices = meshopt::encode_vertex_buffer(&positions).unwrap();
    let view = packed(&mut model, extension, &vertices, 12, positions.len(), "ATTRIBUTES", "NONE");
    let position = model.accessor(view, F32, "VEC3", positions.len());
    let data = match index_mode {
        "TRIANGLES" => meshopt::encode_index_buffer(&indices, positions.len()),
        _ => meshopt::encode_index_sequence(&indices, positions.len()),
    };
    let stride = if index_type == U16 { 2 } else { 4 };
    let view = packed(&mut model, extension, &data.unwrap(), stride, indices.len(), index_mode, "NONE");
    let index = model.accessor(view, index_type, "SCALAR", indices.len());
    model.mesh(json!([{"attributes": {"POSITION": position}, "indices": index}]));
    finish(&mut model, extension);
    model
}

fn finish(model: &mut Model, extension: &str) {
    model.json["extensionsRequired"] = json!([extension, "KHR_mesh_quantization"]);
    let fallback = json!({"byteLength": 1 << 20, "extensions": {extension: {"fallback": true}}});
    model.json["buffers"] = json!([{"byteLength": model.data.len()}, fallback]);
}

/// The triangles with the smallest number first: packers turn them around.
fn turned(indices: &[u32]) -> Vec<[u32; 3]> {
    let turn = |t: &[u32]| {
        let mut t = [t[0], t[1], t[2]];
        let least = (0..3).min_by_key(|&i| t[i]).unwrap();
        t.rotate_left(least);
        t
    };
    indices.chunks(3).map(turn).collect()
}

#[test]
fn meshopt_decompresses_vertices_and_indices() {
    let (positions, indices) = grid();
    for extension in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
        for index_mode in ["TRIANGLES", "INDICES"] {
            for index_type in [U16, U32] {
                let found = meshopt_grid(extension, index_mode, index_type).primitive();
                assert_eq!(found.positions, positions);
                assert_eq!(turned(&found.indices), turned(&indices), "{extension} {index_mode}");
            }
        }
    }
}

#[test]
fn meshopt_decompresses_every_stride() {
    fn check<const WORDS: usize>() {
        let vertices: Vec<[f32; WORDS]> =
            (0..300).map(|i| std::array::from_fn(|w| (i * 31 + w * 7) as f32 * 0.5)).collect();
        for version in [0, 1] {
            let mut model = Model::new();
            let data = meshopt::encode_vertex_buffer_level(&vertices, 3, Some(version)).unwrap();
            let view =
                packed(&mut model, "KHR_meshopt_compression", &data, 4 * WORDS, 300, "ATTRIBUTES", "NONE");
            let position = model.accessor(view, F32, "VEC3", 300);
            model.mesh(json!([{"attributes": {"POSITION": position}}]));
            finish(&mut model, "KHR_meshopt_compression");
            let wanted: Vec<[f32; 3]> = vertices.iter().map(|v| [v[0], v[1], v[2]]).collect();
            assert_eq!(model.primitive().positions, wanted, "{WORDS} words, version {version}");
        }
    }
    check::<3>();
    check::<4>();
    check::<7>();
    check::<16>();
    check::<33>();
    check::<63>();
    check::<64>();
}

/// The directions that a filter unpacks, from three vertices of four numbers, packed as `bytes` with a stride.
fn filtered(
    data: &[u8],
    stride: usize,
    filter: &str,
    component: u32,
    attribute: &str,
    kind: &str,
) -> Primitive {
    let mut model = Model::triangle();
    let view = packed(&mut model, "KHR_meshopt_compression", data, stride, 3, "ATTRIBUTES", filter);
    let accessor = model.accessor(view, component, kind, 3);
    model.json["accessors"][accessor]["normalized"] = json!(component != F32);
    let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
    attributes[attribute] = json!(accessor);
    if attribute == "TANGENT" {
        attributes["NORMAL"] = json!(0);
    }
    finish(&mut model, "KHR_meshopt_compression");
    model.primitive()
}

#[test]
fn meshopt_undoes_filters() {
    let vectors = [[1.0, 0.0, 0.0, 1.0], [0.0, -0.6, 0.8, -1.0], [-0.48, 0.64, -0.6, 1.0f32]];
    let near = |found: &[[f32; 4]], slack: f32| {
        for (found, wanted) in found.iter().zip(&vectors) {
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < slack), "{found:?} {wanted:?}");
        }
    };
    let bytes: Vec<[i8; 4]> = meshopt::encode_filter_oct(&vectors, 8);
    let data = meshopt::encode_vertex_buffer(&bytes).unwrap();
    near(&filtered(&data, 4, "OCTAHEDRAL", I8, "TANGENT", "VEC4").tangents, 0.02);
    let shorts: Vec<[i16; 4]> = meshopt::encode_filter_oct(&vectors, 16);
    let data = meshopt::encode_vertex_buffer(&shorts).unwrap();
    near(&filtered(&data, 8, "OCTAHEDRAL", I16, "TANGENT", "VEC4").tangents, 1e-4);

    // Exponents are exact for numbers this short.
    let places = [[0.5f32, -3.0, 128.0], [1.25, 0.0, -7.5], [1e-3, 2e5, 1.0]];
    let words = meshopt::encode_filter_exp(&places, 24, meshopt::EncodeExpMode::Separate);
    let data = meshopt::encode_vertex_buffer(&words).unwrap();
    let found = filtered(&data, 12, "EXPONENTIAL", F32, "NORMAL", "VEC3").normals;
    for (found, wanted) in found.iter().flatten().zip(places.iter().flatten()) {
        assert!((found - wanted).abs() <= wanted.abs() * 1e-6, "{found} {wanted}");
    }

    // Weights stand in for colours here: both are four fractions.
    let colours = [[0.25, 0.5, 0.75, 1.0], [1.0, 0.0, 0.0, 1.0], [0.5, 0.5, 0.5, 0.25f32]];
    let bytes: Vec<[u8; 4]> = meshopt::encode_filter_color(&colours, 8);
    let data = meshopt::encode_vertex_buffer(&bytes).unwrap();
    let found = filtered(&data, 4, "COLOR", U8, "TANGENT", "VEC4").tangents;
    for (found, wanted) in found.iter().zip(&colours) {
        assert!(found[..3].iter().zip(wanted).all(|(a, b)| (a - b).abs() < 0.02), "{found:?} {wanted:?}");
    }

    let turns = [[0.0, 0.0, 0.0, 1.0], [0.5, -0.5, 0.5, 0.5], [0.0, 0.6, 0.8, 0.0f32]];
    let shorts = meshopt::encode_filter_quat(&turns, 16);
    let data = meshopt::encode_vertex_buffer(&shorts).unwrap();
    let mut model = Model::triangle();
    let view = packed(&mut model, "EXT_meshopt_compression", &data, 8, 3, "ATTRIBUTES", "QUATERNION");
    let turned = model.accessor(view, I16, "VEC4", 3);
    model.json["accessors"][turned]["normalized"] = json!(true);
    model.json["nodes"][0]["extensions"] =
        json!({"EXT_mesh_gpu_instancing": {"attributes": {"ROTATION": turned}}});
    finish(&mut model, "EXT_meshopt_compression");
    for (found, wanted) in model.scene().nodes[0].instances.iter().zip(turns) {
        let dot: f32 = found.rotation.iter().zip(wanted).map(|(a, b)| a * b).sum();
        assert!((dot.abs() - 1.0).abs() < 1e-3, "{found:?} {wanted:?}");
    }
}

#[test]
fn meshopt_rejects_invalid_parameters() {
    let change = |key: &str, value: Value, code: &str, at: &str| {
        let mut model = meshopt_grid("EXT_meshopt_compression", "TRIANGLES", U16);
        let index = if at.starts_with("/bufferViews/3") { 3 } else { 1 };
        model.json["bufferViews"][index]["extensions"]["EXT_meshopt_compression"][key] = value;
        model.rejected(code, at);
    };
    let at = |view: usize, key: &str| format!("/bufferViews/{view}/extensions/EXT_meshopt_compression{key}");
    change("byteStride", json!(13), "gltf-value", &at(1, "/byteStride"));
    change("byteStride", json!(0), "gltf-value", &at(1, "/byteStride"));
    change("byteStride", json!(260), "gltf-value", &at(1, "/byteStride"));
    change("byteStride", json!(1), "gltf-value", &at(3, "/byteStride"));
    change("count", json!(1u64 << 40), "gltf-value", &at(1, "/count"));
    change("count", json!((1u64 << 53) - 1), "gltf-value", &at(1, "/count"));
    change("count", json!(2401), "gltf-value", &at(3, "/count"));
    change("count", json!(1_000_002), "gltf-value", &at(3, "/count"));
    change("mode", json!("LINES"), "gltf-value", &at(1, "/mode"));
    change("filter", json!("OCTAHEDRAL"), "gltf-value", &at(1, "/byteStride"));
    change("filter", json!("EXPONENTIAL"), "gltf-value", &at(3, ""));
    change("filter", json!("SEPIA"), "gltf-value", &at(1, ""));
    change("buffer", json!(1), "gltf-buffer", "/buffers/1");
    change("buffer", json!(2), "gltf-reference", &at(1, "/buffer"));
    change("byteLength", json!(40), "gltf-compression", &at(1, ""));
    change("byteOffset", json!(1 << 20), "gltf-buffer", &at(1, ""));
    change("byteOffset", json!(1), "gltf-compression", &at(1, ""));
}

/// Adds floats to a Draco mesh; the identifier is the number of the attribute.
fn draco_attribute(mesh: &mut Mesh, kind: GeometryAttributeType, numbers: u8, values: &[f32]) {
    let count = values.len() / usize::from(numbers);
    let mut attribute = PointAttribute::new();
    attribute.init(kind, numbers, DataType::Float32, false, count);
    attribute.buffer_mut().update_f32s_le(0, values);
    mesh.add_attribute(attribute);
}

pub(crate) fn draco_grid(quantized: bool) -> Model {
    let (positions, indices) = grid();
    let mut mesh = Mesh::new();
    for triangle in indices.chunks(3) {
        mesh.add_face([PointIndex(triangle[0]), PointIndex(triangle[1]), PointIndex(triangle[2])]);
    }
    mesh.set_num_points(positions.len());
    draco_attribute(&mut mesh, GeometryAttributeType::Position, 3, positions.as_flattened());
    let uv: Vec<f32> = positions.iter().flat_map(|p| [p[0] / 5.0, p[1] / 10.0]).collect();
    draco_attribute(&mut mesh, GeometryAttributeType::TexCoord, 2, &uv);
    let mut options = EncoderOptions::new();
    if quantized {
        options.set_attribute_int(0, "quantization_bits", 14);
        options.set_attribute_int(1, "quantization_bits", 12);
    } else {
        options.set_encoding_method(0);
    }
    let mut encoder = MeshEncoder::new();
    encoder.set_mesh(mesh);
    let mut buffer = EncoderBuffer::new();
    encoder.encode(&options, &mut buffer).unwrap();

    let mut model = Model::new();
    let view = model.view(buffer.data());
    let mut accessor = |component: u32, kind: &str, count: usize| {
        assert!(numbers(kind) > 0);
        model.push("accessors", json!({"componentType": component, "type": kind, "count": count}))
    };
    let position = accessor(F32, "VEC3", positions.len());
    let uv = accessor(F32, "VEC2", positions.len());
    let index = accessor(U32, "SCALAR", indices.len());
    model.mesh(json!([{
        "attributes": {"POSITION": position, "TEXCOORD_0": uv},
        "indices": index,
        "extensions": {"KHR_draco_mesh_compression": {"bufferView": view, "attributes": {"POSITION": 0, "TEXCOORD_0": 1}}},
    }]));
    model.json["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]);
    model
}

/// The corners of triangles, each from its least corner on, sorted: packers change every order.
fn corners(positions: &[[f32; 3]], indices: &[u32]) -> Vec<[[i64; 3]; 3]> {
    let corner = |i: u32| positions[i as usize].map(|v| (v * 64.0).round() as i64);
    let mut triangles: Vec<_> = (indices.chunks(3))
        .map(|t| {
            let mut t = [corner(t[0]), corner(t[1]), corner(t[2])];
            let least = (0..3).min_by_key(|&i| t[i]).unwrap();
            t.rotate_left(least);
            t
        })
        .collect();
    triangles.sort_unstable();
    triangles
}

#[test]
fn draco_decompresses_the_same_triangles() {
    let (positions, indices) = grid();
    for quantized in [false, true] {
        let found = draco_grid(quantized).primitive();
        assert_eq!(found.triangles(), indices.len() / 3);
        assert_eq!(corners(&found.positions, &found.indices), corners(&positions, &indices));
        for (uv, position) in found.uv0.iter().zip(&found.positions) {
            assert!((uv[0] - position[0] / 5.0).abs() < 2e-3 && (uv[1] - position[1] / 10.0).abs() < 2e-3);
        }
    }
}

#[test]
fn rejects_damaged_draco_data() {
    let at = "/meshes/0/primitives/0/extensions/KHR_draco_mesh_compression";
    let mut model = draco_grid(true);
    model.json["bufferViews"][0]["byteLength"] = json!(40);
    model.rejected("gltf-compression", at);
    let mut model = draco_grid(true);
    model.data[0] = b'X';
    model.rejected("gltf-compression", at);
    let mut model = draco_grid(true);
    let extension = &mut model.json["meshes"][0]["primitives"][0]["extensions"]["KHR_draco_mesh_compression"];
    extension["attributes"]["TEXCOORD_0"] = json!(9);
    model.rejected("gltf-compression", &format!("{at}/attributes/TEXCOORD_0"));
    let mut model = draco_grid(true);
    let extension = &mut model.json["meshes"][0]["primitives"][0]["extensions"]["KHR_draco_mesh_compression"];
    extension["attributes"]["TEXCOORD_0"] = json!(0);
    model.rejected("gltf-compression", &format!("{at}/attributes/TEXCOORD_0"));
}
