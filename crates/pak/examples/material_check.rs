//! Bakes the materials of every glTF file below a directory, and compares each texel with an independent evaluation of
//! the file: `cargo run -p kiln-pak --features bake --example material_check -- DIRECTORY`.
//!
//! Skips files that use specular-glossiness, which is converted approximately, and files that the importer rejects, and
//! prints both. Exits with 1 if a value differs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example program")]

#[path = "../tests/bake/gltf_evaluation.rs"]
mod gltf_evaluation;

use gltf_evaluation::{Texels, compare};
use kiln_engine::Limits;
use pak::bake::Bake;
use pak::{Pak, PakBuf};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: material_check DIRECTORY");
        return ExitCode::from(2);
    };
    let mut files = Vec::new();
    find_models(Path::new(&directory), &mut files);
    files.sort();
    let (mut right, mut wrong, mut skipped) = ([0usize; 3], 0, 0);
    for file in &files {
        match check(file) {
            Ok((materials, values)) => {
                right = [right[0] + 1, right[1] + materials, right[2] + values];
            }
            Err(Failure::Skipped(why)) => {
                skipped += 1;
                println!("skipped {}: {why}", file.display());
            }
            Err(Failure::Differs(why)) => {
                wrong += 1;
                println!("DIFFERS {}: {why}", file.display());
            }
        }
    }
    let [models, materials, values] = right;
    println!(
        "{models} models with {materials} materials and {values} values are equal, {wrong} models differ, {skipped} are \
         skipped"
    );
    if wrong == 0 && models > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

enum Failure {
    Skipped(String),
    Differs(String),
}

fn find_models(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find_models(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "gltf" || extension == "glb") {
            files.push(path);
        }
    }
}

/// Returns the number of materials and of values that are equal.
fn check(file: &Path) -> Result<(usize, usize), Failure> {
    let skipped = |why: &str| Failure::Skipped(why.to_owned());
    let bytes = std::fs::read(file).map_err(|error| Failure::Skipped(error.to_string()))?;
    let (json, binary) = split(&bytes).ok_or_else(|| skipped("not a glTF 2.0 file"))?;
    let document: Value = serde_json::from_slice(json).map_err(|e| Failure::Skipped(e.to_string()))?;
    let materials = document["materials"].as_array().map_or(0, Vec::len);
    if document.to_string().contains("KHR_materials_pbrSpecularGlossiness") {
        return Err(skipped("specular-glossiness"));
    }
    if materials == 0 {
        return Err(skipped("no materials"));
    }
    let project = tempfile::tempdir().map_err(|e| Failure::Skipped(e.to_string()))?;
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    let name = format!("model.{extension}");
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::copy(file, project.path().join(&name)).map_err(|e| Failure::Skipped(e.to_string()))?;
    for uri in ["buffers", "images"].iter().flat_map(|list| document[*list].as_array()).flatten() {
        let Some(uri) = uri["uri"].as_str().filter(|uri| !uri.starts_with("data:")) else { continue };
        let path = percent_decoded(uri);
        let target = project.path().join(&path);
        let _ = std::fs::create_dir_all(target.parent().unwrap_or(project.path()));
        std::fs::copy(folder.join(&path), target).map_err(|_| skipped("a file is missing"))?;
    }
    let list: Vec<String> = (0..materials).map(|n| format!("'{name}#{n}'")).collect();
    let scene = format!("[scene]\n[[scene.ref]]\nmaterials = [{}]\n", list.join(", "));
    let content = "[content]\n[[content.group]]\nassets = ['s.toml']\n";
    for (name, text) in [("s.toml", scene.as_str()), ("content.toml", content)] {
        std::fs::write(project.path().join(name), text).map_err(|e| Failure::Skipped(e.to_string()))?;
    }
    let out = project.path().join("out.pak");
    let baked = Bake::new(project.path().join("content.toml"), &out).run();
    baked.map_err(|error| Failure::Skipped(error.to_string()))?;
    let pak = PakBuf::open(&out).map_err(|error| Failure::Differs(error.to_string()))?;
    let scene = pak.read_scene("s").map_err(|error| Failure::Differs(error.to_string()))?;
    let ids: Vec<_> = scene.refs().flat_map(|reference| reference.materials().to_vec()).collect();

    let decoded = std::cell::RefCell::new(HashMap::<usize, Option<Texels>>::new());
    let image = |index: usize| {
        let decode = || decode(&document, index, folder, binary);
        decoded.borrow_mut().entry(index).or_insert_with(decode).clone()
    };
    let mut values = 0;
    for (number, id) in ids.iter().enumerate() {
        let info = pak.read_material_id(*id).ok_or_else(|| Failure::Differs("no material".to_owned()))?;
        values += compare(&document, Some(number), &image, &pak, &info)
            .map_err(|why| Failure::Differs(format!("material {number}: {why}")))?;
    }
    Ok((materials, values))
}

/// Returns the JSON and the binary chunk of a file.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    if !bytes.starts_with(b"glTF") {
        return Some((bytes, &[]));
    }
    let length = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let end = 20 + length(12)?;
    Some((bytes.get(20..end)?, bytes.get(end + 8..).unwrap_or_default()))
}

/// Decodes an image of a file. Decoding itself is not what is compared, so the importer does it.
fn decode(document: &Value, index: usize, folder: &Path, binary: &[u8]) -> Option<Texels> {
    let image = &document["images"][index];
    let bytes = match image["uri"].as_str() {
        Some(uri) => match uri.split_once("base64,") {
            Some((_, data)) if uri.starts_with("data:") => base64(data),
            _ => std::fs::read(folder.join(percent_decoded(uri))).ok()?,
        },
        None => {
            let view = &document["bufferViews"][image["bufferView"].as_u64()? as usize];
            let buffer = &document["buffers"][view["buffer"].as_u64()? as usize];
            let owned = match buffer["uri"].as_str() {
                None => None,
                Some(uri) if uri.starts_with("data:") => Some(base64(uri.split_once("base64,")?.1)),
                Some(uri) => Some(std::fs::read(folder.join(percent_decoded(uri))).ok()?),
            };
            let bytes = owned.as_deref().unwrap_or(binary);
            let start = view["byteOffset"].as_u64().unwrap_or(0) as usize;
            bytes.get(start..start + view["byteLength"].as_u64()? as usize)?.to_vec()
        }
    };
    let image = kiln_import::image::import(&bytes, "", &Limits::default()).ok()?.value;
    let (width, height) = (image.width(), image.height());
    let rgba = match image.texels() {
        kiln_ir::Texels::Rgba8(v) => {
            v.as_chunks::<4>().0.iter().map(|t| t.map(|v| f64::from(v) / 255.0)).collect()
        }
        kiln_ir::Texels::Rgba16(v) => {
            v.as_chunks::<4>().0.iter().map(|t| t.map(|v| f64::from(v) / 65535.0)).collect()
        }
    };
    Some(Texels { width, height, rgba })
}

fn percent_decoded(uri: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = uri.bytes();
    while let Some(byte) = bytes.next() {
        let mut digit = || bytes.next().and_then(|b| (b as char).to_digit(16)).unwrap_or(0) as u8;
        out.push(if byte == b'%' { digit() * 16 + digit() } else { byte });
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte)) {
        (bits, count) = (bits << 6 | digit as u32, count + 6);
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
