//! A project in a temporary directory, with generated sources: images, and glTF files as JSON.

use pak::PakBuf;
use pak::bake::{Bake, Baked};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) struct Project {
    pub(crate) dir: tempfile::TempDir,
}

impl Project {
    /// Creates a project that bakes everything below `art`.
    pub(crate) fn new() -> Project {
        let project = Project { dir: tempfile::tempdir().unwrap() };
        project.content("none", "['art/**/*']");
        project
    }

    pub(crate) fn content(&self, compression: &str, assets: &str) {
        let text =
            format!("[content]\ncompression = '{compression}'\n[[content.group]]\nassets = {assets}\n");
        self.put("pak.toml", text);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes an 8-bit PNG with these channels.
    pub(crate) fn png(&self, name: &str, width: u32, channels: usize, texels: &[u8]) {
        self.put(name, png(width, channels, png::BitDepth::Eight, texels));
    }

    pub(crate) fn bake(&self) -> Result<Baked, String> {
        Bake::new(self.path("pak.toml"), self.path("out/a.pak")).jobs(2).run().map_err(|e| e.to_string())
    }

    pub(crate) fn open(&self) -> PakBuf {
        if let Err(error) = self.bake() {
            panic!("{error}");
        }
        PakBuf::open(self.path("out/a.pak")).unwrap()
    }

    /// Returns the single error of a bake that has to fail.
    pub(crate) fn error(&self) -> String {
        match self.bake() {
            Ok(_) => panic!("the bake succeeded"),
            Err(error) => error,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path("out/a.pak")).unwrap()
    }
}

pub(crate) fn png(width: u32, channels: usize, depth: png::BitDepth, texels: &[u8]) -> Vec<u8> {
    let bytes = if depth == png::BitDepth::Sixteen { 2 } else { 1 };
    let mut out = Vec::new();
    let height = (texels.len() / channels / bytes) as u32 / width;
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_depth(depth);
    encoder.set_color(match channels {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    encoder.write_header().unwrap().write_image_data(texels).unwrap();
    out
}

/// A builder of glTF files.
pub(crate) struct Model {
    pub(crate) json: Value,
    bytes: Vec<u8>,
}

impl Model {
    pub(crate) fn new() -> Model {
        let json = json!({
            "asset": {"version": "2.0"},
            "buffers": [], "bufferViews": [], "accessors": [], "meshes": [], "nodes": [],
            "scenes": [{"nodes": []}], "scene": 0,
        });
        Model { json, bytes: Vec::new() }
    }

    /// Adds an accessor of floats and returns its index.
    pub(crate) fn floats(&mut self, kind: &str, values: &[f32]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let components = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        self.accessor(kind, 5126, values.len() / components, &bytes)
    }

    pub(crate) fn shorts(&mut self, kind: &str, count: usize, values: &[u16]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.accessor(kind, 5123, count, &bytes)
    }

    pub(crate) fn ints(&mut self, values: &[u32]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.accessor("SCALAR", 5125, values.len(), &bytes)
    }

    pub(crate) fn accessor(&mut self, kind: &str, component: u32, count: usize, bytes: &[u8]) -> usize {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        let view = list(&mut self.json, "bufferViews");
        view.push(json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()}));
        let view = view.len() - 1;
        self.bytes.extend_from_slice(bytes);
        let accessors = list(&mut self.json, "accessors");
        let mut accessor =
            json!({"bufferView": view, "componentType": component, "count": count, "type": kind});
        if let ("SCALAR" | "VEC3", 5126) = (kind, component) {
            let components = if kind == "VEC3" { 3 } else { 1 };
            let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            let side = |pick: fn(f32, f32) -> f32| {
                (0..components)
                    .map(|c| floats.iter().skip(c).step_by(components).copied().reduce(pick).unwrap())
                    .collect::<Vec<_>>()
            };
            accessor["min"] = json!(side(f32::min));
            accessor["max"] = json!(side(f32::max));
        }
        accessors.push(accessor);
        accessors.len() - 1
    }

    /// Adds a mesh of one primitive and returns its index.
    pub(crate) fn mesh(&mut self, name: &str, primitive: Value) -> usize {
        let meshes = list(&mut self.json, "meshes");
        meshes.push(json!({"name": name, "primitives": [primitive]}));
        meshes.len() - 1
    }

    /// A right triangle in the plane z = 0 that faces +z, with normals and texture coordinates.
    pub(crate) fn triangle(&mut self, name: &str) -> usize {
        let position = self.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let normal = self.floats("VEC3", &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        let uv = self.floats("VEC2", &[0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        self.mesh(name, json!({"attributes": {"POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv}}))
    }

    /// A bumpy grid of `side` × `side` squares, with normals up and texture coordinates.
    pub(crate) fn grid(&mut self, name: &str, side: u32) -> usize {
        let (mut position, mut normal, mut uv, mut indices) = (vec![], vec![], vec![], vec![]);
        for y in 0..=side {
            for x in 0..=side {
                let (u, v) = (x as f32 / side as f32, y as f32 / side as f32);
                position.extend([u * 10.0, libm::sinf(u * 9.0) * libm::cosf(v * 7.0) * 0.3, v * 10.0]);
                normal.extend([0.0, 1.0, 0.0]);
                uv.extend([u, v]);
            }
        }
        for y in 0..side {
            for x in 0..side {
                let at = y * (side + 1) + x;
                indices.extend([at, at + side + 1, at + 1, at + 1, at + side + 1, at + side + 2]);
            }
        }
        let (position, normal) = (self.floats("VEC3", &position), self.floats("VEC3", &normal));
        let (uv, indices) = (self.floats("VEC2", &uv), self.ints(&indices));
        let attributes = json!({"POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv});
        self.mesh(name, json!({"attributes": attributes, "indices": indices}))
    }

    /// Adds a node to the scene, or as a child of another node.
    pub(crate) fn node(&mut self, node: Value, parent: Option<usize>) -> usize {
        let nodes = list(&mut self.json, "nodes");
        nodes.push(node);
        let id = nodes.len() - 1;
        let siblings = match parent {
            Some(parent) => &mut self.json["nodes"][parent]["children"],
            None => &mut self.json["scenes"][0]["nodes"],
        };
        if siblings.is_null() {
            *siblings = json!([]);
        }
        siblings.as_array_mut().unwrap().push(json!(id));
        id
    }

    /// Writes the glTF file, and its buffer beside it with the extension `.bin`.
    pub(crate) fn write(mut self, project: &Project, path: &str) {
        let bin = Path::new(path).with_extension("bin");
        let uri = bin.file_name().unwrap().to_str().unwrap().to_owned();
        self.json["buffers"] = json!([{"uri": uri, "byteLength": self.bytes.len()}]);
        project.put(bin.to_str().unwrap(), &self.bytes);
        project.put(path, self.json.to_string());
    }
}

fn list<'a>(json: &'a mut Value, name: &str) -> &'a mut Vec<Value> {
    json[name].as_array_mut().unwrap()
}

/// Returns a float attribute of all vertices.
pub(crate) fn attribute(primitive: &pak::mesh::Primitive, offset: usize, count: usize) -> Vec<Vec<f32>> {
    let stride = primitive.vertex_type().stride();
    let vertex = |bytes: &[u8]| {
        let floats = bytes[offset..offset + count * 4].as_chunks::<4>().0;
        floats.iter().map(|b| f32::from_le_bytes(*b)).collect()
    };
    primitive.vertex_data().chunks_exact(stride).map(vertex).collect()
}

pub(crate) fn positions(primitive: &pak::mesh::Primitive) -> Vec<Vec<f32>> {
    attribute(primitive, 0, 3)
}

/// Returns the positions of the triangles of a LOD, each rotated so that its smallest corner is first.
pub(crate) fn triangles(primitive: &pak::mesh::Primitive, lod: usize) -> Vec<[[u32; 3]; 3]> {
    let positions = positions(primitive);
    let corner = |index: &u32| {
        let place = &positions[*index as usize];
        [place[0].to_bits(), place[1].to_bits(), place[2].to_bits()]
    };
    let indices = primitive.lods()[lod].as_u32();
    let mut all: Vec<[[u32; 3]; 3]> = indices
        .as_chunks::<3>()
        .0
        .iter()
        .map(|[a, b, c]| {
            let (a, b, c) = (corner(a), corner(b), corner(c));
            [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()
        })
        .collect();
    all.sort_unstable();
    all
}
