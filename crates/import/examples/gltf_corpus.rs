//! Imports every glTF model below a directory and compares its triangles with a count taken from the JSON alone.
//!
//! `cargo run --release -p kiln-import --example gltf_corpus -- <directory>` prints a line for each model: triangles
//! in the file, triangles drawn (each mesh counted for each node and instance that draws it), the surface they cover,
//! and the warnings. It ends with 1 when a model cannot be read or a triangle is missing.
//!
//! The count is made by other code, from another JSON parser: for every node of the default scene, the indices (or
//! vertices) that each primitive states, by its mode.

#![allow(clippy::print_stdout)]

mod corpus;

use std::path::Path;
use std::process::ExitCode;

use kiln_import::gltf;
use kiln_ir::{Scene, Valid};
use serde_json::Value;

fn main() -> ExitCode {
    corpus::every(&["gltf", "glb"], gltf::import, |corpus::Model { file, name, found, .. }| {
        let wanted = count(&document(file));
        let (drawn, area) = measure(&found.value);
        let stored: usize =
            found.value.meshes.iter().flat_map(|m| &m.primitives).map(|p| p.triangles()).sum();
        let verdict = if drawn == wanted { "ok" } else { "WRONG" };
        println!("{verdict:5} {stored:8} {drawn:8} {area:14.6e} {name}");
        if drawn != wanted {
            println!("      the JSON says {wanted}");
        }
        for warning in found.warnings {
            println!("      {}", warning.path(name));
        }
        drawn == wanted
    })
}

/// Triangles as they are drawn, and the surface they cover in the scene.
fn measure(scene: &Valid<Scene>) -> (usize, f64) {
    let (mut triangles, mut area) = (0, 0.0);
    for draw in scene.draws() {
        for primitive in &scene.meshes[draw.mesh.0 as usize].primitives {
            triangles += primitive.triangles();
            for corners in primitive.indices.chunks_exact(3) {
                let [a, b, c] = [0, 1, 2]
                    .map(|i| draw.world.point(primitive.positions[corners[i] as usize]).map(f64::from));
                let (u, v) = ([0, 1, 2].map(|i| b[i] - a[i]), [0, 1, 2].map(|i| c[i] - a[i]));
                let n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
                area += n.iter().map(|x| x * x).sum::<f64>().sqrt() / 2.0;
            }
        }
    }
    (triangles, area)
}

fn document(model: &Path) -> Value {
    let bytes = std::fs::read(model).expect("a file that was just read");
    let json = match bytes.strip_prefix(b"glTF") {
        Some(rest) => {
            let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes"));
            &rest[16..16 + length as usize]
        }
        None => &bytes,
    };
    serde_json::from_slice(json).expect("JSON")
}

/// Triangles that the default scene draws, by what the JSON states.
fn count(document: &Value) -> usize {
    let scene = &document["scenes"][document["scene"].as_u64().unwrap_or(0) as usize];
    let mut waiting: Vec<u64> = match scene["nodes"].as_array() {
        Some(nodes) => nodes.iter().filter_map(Value::as_u64).collect(),
        None if document["scenes"].is_array() => Vec::new(),
        None => (0..document["nodes"].as_array().map_or(0, Vec::len) as u64).collect(),
    };
    let accessor = |index: &Value| {
        index.as_u64().and_then(|i| document["accessors"][i as usize]["count"].as_u64()).unwrap_or(0) as usize
    };
    let mut triangles = 0;
    while let Some(index) = waiting.pop() {
        let node = &document["nodes"][index as usize];
        if document["scenes"].is_array() {
            waiting.extend(node["children"].as_array().into_iter().flatten().filter_map(Value::as_u64));
        }
        let instancing = &node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
        let times = instancing.as_object().and_then(|map| map.values().next()).map_or(1, accessor);
        let Some(mesh) = node["mesh"].as_u64() else { continue };
        for primitive in document["meshes"][mesh as usize]["primitives"].as_array().into_iter().flatten() {
            let drawn = match &primitive["indices"] {
                Value::Null => accessor(&primitive["attributes"]["POSITION"]),
                indices => accessor(indices),
            };
            triangles += times
                * match primitive["mode"].as_u64().unwrap_or(4) {
                    4 => drawn / 3,
                    5 | 6 => drawn.saturating_sub(2),
                    _ => 0,
                };
        }
    }
    triangles
}
