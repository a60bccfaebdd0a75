//! Synthetic geometry and images for models, and vector arithmetic that is independent of the code under test.

use crate::model::Model;
use kiln_format::hmesh::GpuVertex;
use serde_json::{Value, json};

/// A quad of 4 vertices with normals and UVs, `v` downwards, in the plane z = 0, facing +z.
pub(crate) fn quad(model: &mut Model) -> Value {
    let positions = model.floats("VEC3", &[0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    let normals = model.floats("VEC3", &[0.0, 0.0, 1.0].repeat(4));
    let uvs = model.floats("VEC2", &[0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    let indices = model.shorts(&[0, 1, 2, 0, 2, 3]);
    let attributes = json!({"POSITION": positions, "NORMAL": normals, "TEXCOORD_0": uvs});
    json!({"attributes": attributes, "indices": indices})
}

/// A grid of `columns` × `rows` vertices, all distinct and used.
pub(crate) fn grid(model: &mut Model, columns: u32, rows: u32) -> Value {
    let at = |i: u32| [(i % columns) as f32, (i / columns) as f32, 0.0];
    let positions: Vec<f32> = (0..columns * rows).flat_map(at).collect();
    let cell = |i: u32| {
        let (x, y) = (i % (columns - 1), i / (columns - 1));
        let at = y * columns + x;
        [at, at + 1, at + columns + 1, at, at + columns + 1, at + columns]
    };
    let indices = (0..(columns - 1) * (rows - 1)).flat_map(cell);
    let bytes: Vec<u8> = indices.flat_map(u32::to_le_bytes).collect();
    let view = model.view(&bytes);
    let indices = model.accessor(view, crate::model::U32, "SCALAR", bytes.len() / 4);
    json!({"attributes": {"POSITION": model.floats("VEC3", &positions)}, "indices": indices})
}

/// Embeds an image in the model; returns its index.
pub(crate) fn image(model: &mut Model, png: &[u8]) -> usize {
    let view = model.view(png);
    model.push("images", json!({"bufferView": view, "mimeType": "image/png"}))
}

/// Encodes a PNG whose four channels all differ and vary.
pub(crate) fn png(side: u32, seed: u8) -> Vec<u8> {
    let texel = |i: u32| [(i as u8).wrapping_mul(3).wrapping_add(seed), 100 + seed, 200 - seed, 128];
    let rgba: Vec<u8> = (0..side * side).flat_map(texel).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(&rgba).unwrap();
    bytes
}

pub(crate) type Vec3 = [f64; 3];

pub(crate) fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [0, 1, 2].map(|i| a[i] - b[i])
}

pub(crate) fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(crate) fn unit(v: Vec3) -> Vec3 {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
}

/// Decodes an octahedral direction as the documentation of `.hmesh` defines it.
pub(crate) fn direction([x, y]: [i16; 2]) -> Vec3 {
    let [x, y] = [x, y].map(|v| (f64::from(v) / 32767.0).max(-1.0));
    let z = 1.0 - x.abs() - y.abs();
    let sign = |v: f64| if v < 0.0 { -1.0 } else { 1.0 };
    let folded = [(1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y), z];
    unit(if z >= 0.0 { [x, y, z] } else { folded })
}

/// A vertex of a triangle with its tangent frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corner {
    pub(crate) position: Vec3,
    pub(crate) normal: Vec3,
    pub(crate) tangent: Vec3,
    pub(crate) hand: f64,
    pub(crate) uv: [f64; 2],
}

impl From<GpuVertex> for Corner {
    fn from(vertex: GpuVertex) -> Corner {
        Corner {
            position: vertex.position.map(f64::from),
            normal: direction(vertex.normal),
            tangent: direction(vertex.tangent),
            hand: if vertex.tangent[0] & 1 == 1 { -1.0 } else { 1.0 },
            uv: vertex.uv.map(f64::from),
        }
    }
}

/// Asserts that a triangle faces along its normals, and that its tangent frames follow its UVs: the tangent along
/// increasing `u`, the bitangent along decreasing `v`, which is up in the image.
#[track_caller]
pub(crate) fn assert_frames(corners: &[Corner; 3]) {
    let [a, b, c] = corners.map(|corner| corner.position);
    let [p, q] = [sub(b, a), sub(c, a)];
    let face = cross(p, q);
    let uv = corners.map(|corner| corner.uv);
    let [[du1, dv1], [du2, dv2]] = [1, 2].map(|i| [uv[i][0] - uv[0][0], uv[i][1] - uv[0][1]]);
    let area = du1 * dv2 - du2 * dv1;
    assert!(area != 0.0, "a triangle without texture");
    let along_u: Vec3 = [0, 1, 2].map(|i| (dv2 * p[i] - dv1 * q[i]) / area);
    let along_v: Vec3 = [0, 1, 2].map(|i| (du1 * q[i] - du2 * p[i]) / area);
    for corner in corners {
        assert!(
            dot(unit(face), corner.normal) > 0.3,
            "the normal of {corner:?} points away from its triangle {corners:?}"
        );
        let bitangent = cross(corner.normal, corner.tangent).map(|x| x * corner.hand);
        assert!(dot(corner.tangent, unit(along_u)) > 0.3, "{corner:?}: the tangent is not along u");
        assert!(dot(bitangent, unit(along_v)) < -0.3, "{corner:?}: wrong handedness");
    }
}
