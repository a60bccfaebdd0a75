//! Bakes every glTF file below a directory as one mesh, and compares the triangle count with an independent count.
//!
//! ```text
//! cargo run --release -p kiln-pak --features bake --example pak_corpus -- <directory>
//! ```
#![allow(clippy::print_stdout, reason = "it is a program")]

use pak::bake::Bake;
use pak::{Pak, PakBuf};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn main() {
    let root = std::env::args().nth(1).expect("a folder of glTF files");
    let mut files = Vec::new();
    find(Path::new(&root), &mut files);
    files.sort();
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (mut good, mut refused, mut wrong) = (0, 0, 0);
    for file in &files {
        let expected = triangles(&document(file));
        match (bake(file, scratch.path()), expected) {
            (Ok(found), expected) if found == expected => good += 1,
            (Ok(found), expected) => {
                wrong += 1;
                println!("{}: {found} triangles, not {expected}", file.display());
            }
            // A file that draws nothing is no mesh.
            (Err(error), 0) => println!("{}: {error}", file.display()),
            (Err(error), _) => {
                refused += 1;
                println!("{}: refused: {error}", file.display());
            }
        }
    }
    println!("{} files: {good} with all triangles, {refused} refused, {wrong} wrong", files.len());
    assert_eq!(wrong, 0);
}

fn find(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "gltf" || ext == "glb") {
            files.push(path);
        }
    }
}

fn bake(file: &Path, scratch: &Path) -> Result<usize, String> {
    let name = file.file_name().and_then(|name| name.to_str()).ok_or("a name")?;
    let content = scratch.join("pak.toml");
    std::fs::write(&content, format!("[content]\n[[content.group]]\nassets = [{name:?}]\n"))
        .map_err(|e| e.to_string())?;
    let out = scratch.join("out.pak");
    let dir = file.parent().ok_or("a folder")?;
    Bake::new(content, &*out)
        .dir(dir)
        .force(true)
        .run()
        .map_err(|e| e.to_string().lines().last().unwrap_or_default().to_owned())?;
    let pak = PakBuf::open(&out).map_err(|e| e.to_string())?;
    let mesh = pak.read_mesh(name).map_err(|e| e.to_string())?;
    Ok(mesh.primitives().iter().map(|part| part.lods()[0].triangle_count()).sum())
}

fn document(file: &Path) -> Value {
    let bytes = std::fs::read(file).expect("a file");
    let json = match bytes.starts_with(b"glTF") {
        true => {
            let len = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes"));
            &bytes[20..20 + len as usize]
        }
        false => &bytes[..],
    };
    serde_json::from_slice(json).expect("JSON")
}

/// Counts the triangles that the default scene draws, from the JSON document alone.
fn triangles(json: &Value) -> usize {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let scene = json["scene"].as_u64().unwrap_or(0) as usize;
    let mut waiting: Vec<usize> =
        list(&json["scenes"][scene]["nodes"]).iter().filter_map(|n| Some(n.as_u64()? as usize)).collect();
    let mut total = 0;
    while let Some(id) = waiting.pop() {
        let node = &json["nodes"][id];
        waiting.extend(list(&node["children"]).iter().filter_map(|n| Some(n.as_u64()? as usize)));
        let Some(mesh) = node["mesh"].as_u64() else { continue };
        let instances = node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"].as_object();
        let accessor = instances.and_then(|all| all.values().next()).and_then(Value::as_u64);
        let times =
            accessor.map_or(1, |n| json["accessors"][n as usize]["count"].as_u64().unwrap_or(1) as usize);
        for primitive in list(&json["meshes"][mesh as usize]["primitives"]) {
            let Some(position) = primitive["attributes"]["POSITION"].as_u64() else { continue };
            let drawn = primitive["indices"].as_u64().unwrap_or(position);
            let count = json["accessors"][drawn as usize]["count"].as_u64().unwrap_or(0) as usize;
            total += times
                * match primitive["mode"].as_u64().unwrap_or(4) {
                    4 => count / 3,
                    5 | 6 => count.saturating_sub(2),
                    _ => 0,
                };
        }
    }
    total
}
