//! Small glTF models that tests generate.

use kiln_import::{MemoryFiles, RelPath};
use serde_json::{Value, json};

/// A document with its buffer.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) json: Value,
    pub(crate) buffer: Vec<u8>,
}

impl Model {
    pub(crate) fn new() -> Model {
        Model { json: json!({"asset": {"version": "2.0"}, "scenes": [{"nodes": []}]}), buffer: vec![] }
    }

    /// Returns the files `model.gltf` and `model.bin`.
    pub(crate) fn files(&self) -> MemoryFiles {
        let mut json = self.json.clone();
        json["buffers"] = json!([{"byteLength": self.buffer.len(), "uri": "model.bin"}]);
        let path = |name: &str| RelPath::new(name).unwrap();
        let text = serde_json::to_vec(&json).unwrap();
        MemoryFiles::from_iter([(path("model.gltf"), text), (path("model.bin"), self.buffer.clone())])
    }

    /// Appends an object to a list; returns its index.
    pub(crate) fn push(&mut self, list: &str, object: Value) -> usize {
        let list =
            self.json.as_object_mut().unwrap().entry(list).or_insert(json!([])).as_array_mut().unwrap();
        list.push(object);
        list.len() - 1
    }

    /// Adds a root node with a mesh.
    pub(crate) fn draw(&mut self, mesh: usize) {
        let node = self.push("nodes", json!({"mesh": mesh}));
        self.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(node));
    }

    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
        let offset = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        self.push("bufferViews", json!({"buffer": 0, "byteOffset": offset, "byteLength": bytes.len()}))
    }

    pub(crate) fn floats(&mut self, kind: &str, values: &[f32]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let components = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let bound = |pick: fn(f32, f32) -> f32, start: f32| -> Vec<f32> {
            (0..components)
                .map(|c| values.iter().skip(c).step_by(components).copied().fold(start, pick))
                .collect()
        };
        let (least, most) = (bound(f32::min, f32::INFINITY), bound(f32::max, f32::NEG_INFINITY));
        let view = self.view(&bytes);
        let count = values.len() / components;
        let mut accessor = json!({"bufferView": view, "componentType": 5126, "count": count, "type": kind});
        if components < 16 {
            (accessor["min"], accessor["max"]) = (json!(least), json!(most));
        }
        self.push("accessors", accessor)
    }

    pub(crate) fn shorts(&mut self, values: &[u16]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let view = self.view(&bytes);
        self.push(
            "accessors",
            json!({"bufferView": view, "componentType": 5123, "count": values.len(), "type": "SCALAR"}),
        )
    }

    /// Adds a sphere whose triangles share no vertices, with normals and UVs.
    #[allow(clippy::disallowed_methods)]
    pub(crate) fn sphere(&mut self, side: usize, radius: f32) -> usize {
        let (mut positions, mut normals, mut uvs) = (Vec::new(), Vec::new(), Vec::new());
        for quad in 0..side * side {
            let (x, y) = (quad % side, quad / side);
            for [a, b] in [[0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 1]] {
                let (u, v) = ((x + a) as f32 / side as f32, (y + b) as f32 / side as f32);
                let (turn, fall) = (u * std::f32::consts::TAU, v * std::f32::consts::PI);
                let normal = [turn.cos() * fall.sin(), fall.cos(), turn.sin() * fall.sin()];
                normals.extend(normal);
                positions.extend(normal.map(|x| x * radius));
                uvs.extend([u, v]);
            }
        }
        let attributes = json!({
            "POSITION": self.floats("VEC3", &positions),
            "NORMAL": self.floats("VEC3", &normals),
            "TEXCOORD_0": self.floats("VEC2", &uvs),
        });
        self.push("meshes", json!({"primitives": [{"attributes": attributes}]}))
    }

    /// Adds a strip along y from 0 to 4, bound to joint 0 at the bottom and joint 1 at the top.
    pub(crate) fn skinned_strip(&mut self, rows: usize) -> usize {
        let (mut positions, mut joints, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..=rows {
            let share = row as f32 / rows as f32;
            for x in [0.0, 1.0] {
                positions.extend([x, share * 4.0, 0.0]);
                joints.extend([0u16, 1, 0, 0]);
                weights.extend([1.0 - share, share, 0.0, 0.0]);
            }
        }
        let strip: Vec<u16> = (0..positions.len() as u16 / 3).collect();
        let bytes: Vec<u8> = joints.iter().flat_map(|joint| joint.to_le_bytes()).collect();
        let view = self.view(&bytes);
        let count = joints.len() / 4;
        let joints = self.push(
            "accessors",
            json!({"bufferView": view, "componentType": 5123, "count": count, "type": "VEC4"}),
        );
        let attributes = json!({
            "POSITION": self.floats("VEC3", &positions),
            "JOINTS_0": joints,
            "WEIGHTS_0": self.floats("VEC4", &weights),
        });
        let indices = self.shorts(&strip);
        self.push(
            "meshes",
            json!({"primitives": [{"attributes": attributes, "indices": indices, "mode": 5}]}),
        )
    }

    /// Adds the start of a PNG file as an image; returns its buffer view. No test decodes it.
    pub(crate) fn png(&mut self, width: u32, height: u32) -> usize {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        // Different images have different bytes.
        bytes.extend((self.buffer.len() as u32).to_be_bytes());
        self.view(&bytes)
    }
}
