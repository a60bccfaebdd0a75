//! Benchmark inputs: a generated sphere and the largest models at hand, as geometry without its images.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The rings of the largest globe; there are twice as many segments.
pub const RINGS: u32 = 512;

/// An image of one texel, which stands for every image: materials keep their normal maps, and so need tangents.
const TEXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A sphere: positions, normals, texture coordinates, one material with a normal map. With [`RINGS`] it has 1,048,576
/// triangles.
pub fn sphere(folder: &Path, rings: u32) -> PathBuf {
    let name = match rings {
        RINGS => "sphere".to_owned(),
        _ => format!("sphere-{}k", rings * rings * 4 / 1024),
    };
    globe(folder, &name, rings, |_| 1.0)
}

/// As many triangles over a sphere that is rough on its upper half and smooth below: where triangles are needed
/// is not where they are.
pub fn relief(folder: &Path) -> PathBuf {
    let sin = libm::sin;
    globe(folder, "relief", RINGS, |[x, y, z]| {
        let rough = (y * 2.5 + 0.5).clamp(0.0, 1.0) * 0.004;
        let coarse = sin(60.0 * x) * sin(67.0 * y + 1.0) * sin(71.0 * z + 2.0);
        1.0 + 0.05 * sin(3.0 * x + 1.0) + rough * (coarse + 0.5 * sin(151.0 * x + 3.0) * sin(139.0 * z))
    })
}

fn globe(folder: &Path, name: &str, rings: u32, radius: impl Fn([f64; 3]) -> f64) -> PathBuf {
    let segments = 2 * rings;
    let (mut positions, mut uvs, mut indices) =
        (Vec::<[f32; 3]>::new(), Vec::<[f32; 2]>::new(), Vec::<u32>::new());
    for ring in 0..=rings {
        for segment in 0..=segments {
            let (u, v) = (f64::from(segment) / f64::from(segments), f64::from(ring) / f64::from(rings));
            // Closed to the bit: around the seam and at both poles.
            let around = f64::from(segment % segments) / f64::from(segments) * std::f64::consts::TAU;
            let down = v * std::f64::consts::PI;
            let wide = if ring == rings { 0.0 } else { libm::sin(down) };
            let direction = [libm::cos(around) * wide, libm::cos(down), libm::sin(around) * wide];
            let radius = radius(direction);
            positions.push(direction.map(|c| (c * radius) as f32));
            uvs.push([u as f32, v as f32]);
        }
    }
    for ring in 0..rings {
        for segment in 0..segments {
            let a = ring * (segments + 1) + segment;
            let b = a + segments + 1;
            indices.extend([a, a + 1, b, b, a + 1, b + 1]);
        }
    }
    let mut bin: Vec<u8> = positions.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    bin.extend(normals(&positions, &indices, rings).as_flattened().iter().flat_map(|x| x.to_le_bytes()));
    let uv_at = bin.len();
    bin.extend(uvs.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
    let index_at = bin.len();
    bin.extend(indices.iter().flat_map(|x| x.to_le_bytes()));
    let count = positions.len();
    let view = |at: usize, end: usize| json!({"buffer": 0, "byteOffset": at, "byteLength": end - at});
    let json = json!({
        "asset": {"version": "2.0"},
        "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{
            "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}, "indices": 3, "material": 0
        }]}],
        "materials": [{"normalTexture": {"index": 0}}], "textures": [{"source": 0}], "images": [{"uri": TEXEL}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3", "min": [-2, -2, -2], "max": [2, 2, 2]},
            {"bufferView": 1, "componentType": 5126, "count": count, "type": "VEC3"},
            {"bufferView": 2, "componentType": 5126, "count": count, "type": "VEC2"},
            {"bufferView": 3, "componentType": 5125, "count": indices.len(), "type": "SCALAR"}
        ],
        "bufferViews": [view(0, uv_at / 2), view(uv_at / 2, uv_at), view(uv_at, index_at), view(index_at, bin.len())],
        "buffers": [{"uri": format!("{name}.bin"), "byteLength": bin.len()}]
    });
    save(folder, name, &json, &bin)
}

/// The normals of a globe: its positions if it is a sphere, else the mean of the faces around.
fn normals(positions: &[[f32; 3]], indices: &[u32], rings: u32) -> Vec<[f32; 3]> {
    if positions.iter().all(|p| (p.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < 1e-5) {
        return positions.to_vec();
    }
    let segments = 2 * rings;
    let row = segments as usize + 1;
    // The first and the last of a row are one place, and so is all of the first and the last row.
    let place = |v: u32| match (v as usize / row, v as usize % row) {
        (ring, _) if ring == 0 || ring == rings as usize => ring * row,
        (ring, segment) => ring * row + segment % segments as usize,
    };
    let mut sums = vec![[0.0f64; 3]; positions.len()];
    for triangle in indices.as_chunks::<3>().0 {
        let [a, b, c] = triangle.map(|v| positions[v as usize].map(f64::from));
        let [u, v]: [[f64; 3]; 2] = [b, c].map(|p| std::array::from_fn(|i| p[i] - a[i]));
        let face = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        for &vertex in triangle {
            (0..3).for_each(|i| sums[place(vertex)][i] += face[i]);
        }
    }
    let unit = |sum: [f64; 3]| {
        let length = sum.iter().map(|c| c * c).sum::<f64>().sqrt();
        sum.map(|c| (c / length) as f32)
    };
    (0..positions.len() as u32).map(|v| unit(sums[place(v)])).collect()
}

/// The `most` largest models below `root` by the bytes of their geometry, without their images.
pub fn largest(root: &Path, most: usize, folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(usize, String, Value, Vec<u8>)> = Vec::new();
    for path in files(root) {
        let Some((mut json, bin)) = open(&path) else { continue };
        let indexed = json["accessors"].as_array().is_some_and(|all| !all.is_empty());
        if !indexed || json["extensionsRequired"].is_array() {
            continue;
        }
        for image in json["images"].as_array_mut().into_iter().flatten() {
            *image = json!({"uri": TEXEL});
        }
        let geometry = geometry_bytes(&json);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !found.iter().any(|other| other.1 == name) {
            found.push((geometry, name, json, bin));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    found.truncate(most);
    found.into_iter().map(|(_, name, json, bin)| save(folder, &name, &json, &bin)).collect()
}

/// The number of indices of the file's triangles.
fn geometry_bytes(json: &Value) -> usize {
    let primitives = json["meshes"].as_array().into_iter().flatten().flat_map(|m| m["primitives"].as_array());
    let count = |p: &Value| {
        let which = p["indices"].as_u64().or(p["attributes"]["POSITION"].as_u64()).unwrap_or(0);
        json["accessors"][which as usize]["count"].as_u64().unwrap_or(0) as usize
    };
    primitives.flatten().map(count).sum()
}

fn save(folder: &Path, name: &str, json: &Value, bin: &[u8]) -> PathBuf {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).expect("a scratch folder");
    let mut json = json.clone();
    json["buffers"] = json!([{"uri": format!("{name}.bin"), "byteLength": bin.len()}]);
    fs::write(folder.join(format!("{name}.bin")), bin).expect("room for a model");
    let path = folder.join(format!("{name}.gltf"));
    fs::write(&path, json.to_string()).expect("room for a model");
    path
}

/// A document and its one buffer.
fn open(path: &Path) -> Option<(Value, Vec<u8>)> {
    let bytes = fs::read(path).ok()?;
    let (json, bin) = if path.extension()? == "glb" {
        let length = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
        let json = length(12)?;
        let bin = length(20 + json)?;
        (
            serde_json::from_slice(bytes.get(20..20 + json)?).ok()?,
            bytes.get(28 + json..28 + json + bin)?.to_vec(),
        )
    } else {
        let json: Value = serde_json::from_slice(&bytes).ok()?;
        let uri = json["buffers"][0]["uri"].as_str()?.to_owned();
        (json, fs::read(path.parent()?.join(uri)).ok()?)
    };
    let json: Value = json;
    (json["buffers"].as_array()?.len() == 1).then_some((json, bin))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "gltf" || e == "glb") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The smallest model there is, to tell what a program takes to start.
pub fn triangle(folder: &Path) -> PathBuf {
    let bin: Vec<u8> =
        [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let json = json!({
        "asset": {"version": "2.0"},
        "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}]
    });
    save(folder, "triangle", &json, &bin)
}

/// meshoptimizer's tangents for a primitive, one per corner.
pub fn tangents(p: &kiln_ir::Primitive) -> Vec<[f32; 4]> {
    meshopt::generate_tangents(
        Some(&p.indices),
        &p.positions,
        &p.normals,
        &p.uv0,
        meshopt::TangentOptions::Compatible,
    )
}
