//! Prints the meshes, materials and dependencies of a model: `cargo run -p kiln-import --example list_scene -- MODEL`.
//!
//! MODEL is a `.gltf`, `.glb` or `.obj` file; it may refer to files in its directory and below.

#![allow(clippy::print_stdout)]

use kiln_import::{Directory, Recorder, RelPath, gltf, obj};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: list_scene MODEL")?);
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("the path has no file name")?;
    let source = RelPath::new(name)?;
    let mut files = Recorder::new(Directory::new(path.parent().unwrap_or(&path)));
    let is_obj = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("obj"));
    let imported =
        if is_obj { obj::import(&mut files, &source)? } else { gltf::import(&mut files, &source)? };

    for mesh in &imported.value.meshes {
        let triangles: usize = mesh.primitives.iter().map(|primitive| primitive.triangles()).sum();
        println!("mesh {:?}: {triangles} triangles", mesh.name);
    }
    for material in &imported.value.materials {
        println!("material {:?}: base colour {:?}", material.name, material.base_color_factor);
    }
    for dependency in files.files_read() {
        println!("reads {dependency}");
    }
    for warning in &imported.warnings {
        println!("{warning}");
    }
    Ok(())
}
