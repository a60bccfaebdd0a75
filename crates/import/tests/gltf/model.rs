//! A builder of small glTF files.

use serde_json::{Value, json};

pub(crate) const U8: u32 = 5121;
pub(crate) const I8: u32 = 5120;
pub(crate) const I16: u32 = 5122;
pub(crate) const U16: u32 = 5123;
pub(crate) const U32: u32 = 5125;
pub(crate) const F32: u32 = 5126;

/// A document and its only buffer.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) json: Value,
    pub(crate) data: Vec<u8>,
}

impl Model {
    /// A document without content.
    pub(crate) fn new() -> Model {
        Model { json: json!({"asset": {"version": "2.0"}}), data: Vec::new() }
    }

    /// One triangle in one node: positions, and indices 0 1 2.
    pub(crate) fn triangle() -> Model {
        let mut model = Model::new();
        let positions = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let indices = model.shorts(&[0, 1, 2]);
        model.mesh(json!([{"attributes": {"POSITION": positions}, "indices": indices}]));
        model
    }

    /// Adds to a list of the document and gives the index.
    pub(crate) fn push(&mut self, list: &str, value: Value) -> usize {
        let object = self.json.as_object_mut().unwrap();
        let list = object.entry(list).or_insert_with(|| json!([])).as_array_mut().unwrap();
        list.push(value);
        list.len() - 1
    }

    /// Adds a mesh, a node that draws it and a scene that draws the node; gives the index of the node.
    pub(crate) fn mesh(&mut self, primitives: Value) -> usize {
        let mesh = self.push("meshes", json!({"primitives": primitives}));
        let node = self.push("nodes", json!({"mesh": mesh}));
        if self.json.get("scenes").is_none() {
            self.push("scenes", json!({"nodes": []}));
        }
        self.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(node));
        node
    }

    /// Adds bytes, aligned, with a view of them.
    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        let offset = self.data.len().next_multiple_of(4);
        self.data.resize(offset, 0xEE);
        self.data.extend(bytes);
        self.push("bufferViews", json!({"buffer": 0, "byteOffset": offset, "byteLength": bytes.len()}))
    }

    /// Adds an accessor of a view.
    pub(crate) fn accessor(&mut self, view: usize, component: u32, kind: &str, count: usize) -> usize {
        self.push(
            "accessors",
            json!({"bufferView": view, "componentType": component, "type": kind, "count": count}),
        )
    }

    /// Adds floats with their view and accessor.
    pub(crate) fn floats(&mut self, kind: &str, values: &[f32]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes);
        let accessor = self.accessor(view, F32, kind, values.len() / numbers(kind));
        // Positions and times have to state them.
        if let ("SCALAR" | "VEC3", numbers) = (kind, numbers(kind)) {
            self.json["accessors"][accessor]["min"] = json!(bounds(values, numbers, f32::min));
            self.json["accessors"][accessor]["max"] = json!(bounds(values, numbers, f32::max));
        }
        accessor
    }

    /// Adds scalar shorts with their view and accessor.
    pub(crate) fn shorts(&mut self, values: &[u16]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes);
        self.accessor(view, U16, "SCALAR", values.len())
    }

    /// The document with a buffer that is at a URI, or nowhere.
    pub(crate) fn text(&self, uri: Option<&str>) -> String {
        let mut json = self.json.clone();
        if json.get("buffers").is_none() && !self.data.is_empty() {
            json["buffers"] = json!([{"byteLength": self.data.len()}]);
        }
        if let Some(uri) = uri {
            json["buffers"][0]["uri"] = json!(uri);
        }
        json.to_string()
    }

    /// As a binary file.
    pub(crate) fn glb(&self) -> Vec<u8> {
        let mut text = self.text(None).into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut data = self.data.clone();
        data.resize(data.len().next_multiple_of(4), 0);
        let mut bytes = b"glTF\x02\0\0\0".to_vec();
        bytes.extend((28 + text.len() as u32 + data.len() as u32).to_le_bytes());
        for (kind, chunk) in [(b"JSON", text), (b"BIN\0", data)] {
            bytes.extend((chunk.len() as u32).to_le_bytes());
            bytes.extend(kind);
            bytes.extend(chunk);
        }
        bytes
    }
}

/// The least or the greatest number of each component. JSON has no numbers that are not finite.
fn bounds(values: &[f32], numbers: usize, pick: fn(f32, f32) -> f32) -> Vec<f32> {
    if !values.iter().all(|v| v.is_finite()) {
        return vec![0.0; numbers];
    }
    let component = |c| values.iter().skip(c).step_by(numbers).copied().reduce(pick).unwrap_or_default();
    (0..numbers).map(component).collect()
}

/// Numbers in an element.
pub(crate) fn numbers(kind: &str) -> usize {
    match kind {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" => 4,
        "MAT4" => 16,
        _ => panic!("{kind}"),
    }
}

/// Base64, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(*group.get(i).unwrap_or(&0)));
        for i in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}
