//! Compiled models beside an independent reading of their sources.
//!
//! `cargo run --release -- <sources> <runtime>` looks at every `.gltf` and `.glb` below a directory of sources and at
//! the `.hmesh` and `.hmat` that a build with default mesh settings made of it. Sources are read with another
//! parser and other mathematics; what is compressed with Draco is held against the same model in another folder. Both
//! sides are put into the pose the source has, and then every triangle of the source has to be in the result
//! exactly once, with the same winding, corners, normals, texture coordinates and material, and nothing else may be
//! there. Meshlets have to hold the triangles of their submesh. The handedness of tangents is counted against the
//! texture coordinates of the source and against authored tangents.
//!
//! It ends with 1 when anything differs.

mod compare;
mod packed;
mod runtime;
mod source;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compare::{Tolerance, compare};
use glam::{DVec2, DVec3};

/// A corner of a triangle, in the scene's space. What is `None` is not looked at.
#[derive(Clone, Copy, Debug)]
pub struct Corner {
    pub position: DVec3,
    pub normal: Option<DVec3>,
    pub uv: DVec2,
    /// The direction, and the sign of the bitangent.
    pub tangent: Option<(DVec3, f64)>,
}

/// A triangle, counter-clockwise from outside.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    pub corners: [Corner; 3],
    /// The reference of its material, hashed.
    pub material: Option<u64>,
}

/// The factors of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    pub reference: u64,
    pub base_color: [f32; 4],
    pub emissive: [f32; 3],
    /// Metallic, roughness, normal scale, occlusion strength, alpha cut-off.
    pub rest: [f32; 5],
    /// 0 opaque, 1 mask, 2 blend.
    pub alpha_mode: u8,
    pub double_sided: bool,
    /// The slots that have a texture.
    pub textures: [bool; 5],
}

/// A model, from either side.
#[derive(Debug, Default)]
pub struct Model {
    pub triangles: Vec<Triangle>,
    /// Of all materials that are used, in any order.
    pub materials: Vec<Factors>,
}

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(sources), Some(runtime)) = (args.next(), args.next()) else {
        println!("usage: models-bench <sources> <runtime>");
        return ExitCode::from(2);
    };
    let mut models = Vec::new();
    collect(&sources, &mut models);
    models.sort();
    let mut failed = 0;
    println!("{:5} {:>9} {:>9} {:>14}  model", "", "triangles", "materials", "handedness");
    for model in &models {
        let name = model.strip_prefix(&sources).unwrap_or(model).to_string_lossy().replace('\\', "/");
        match check(model, &name, &runtime) {
            Ok(line) => println!("ok    {line}"),
            Err(why) => {
                failed += 1;
                println!("WRONG {name}\n      {why}");
            }
        }
    }
    println!("{} models, {failed} wrong", models.len());
    ExitCode::from(u8::from(failed > 0 || models.is_empty()))
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "gltf" || e == "glb") {
            found.push(path);
        }
    }
}

fn check(path: &Path, name: &str, runtime: &Path) -> Result<String, String> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let (read, tolerance) = match source::read(path, stem) {
        Err(source::Unread::Draco) => {
            let plain = packed::uncompressed_variant(path)
                .ok_or("packed with Draco, and there is no other form of it")?;
            let variant =
                source::read(&plain, stem).map_err(|unread| format!("{}: {unread:?}", plain.display()))?;
            (variant, Tolerance::QUANTISED)
        }
        read => (read.map_err(|unread| format!("{unread:?}"))?, Tolerance::EXACT),
    };
    let output = runtime.join(format!("{stem}.hmesh"));
    let compiled = match std::fs::read(&output) {
        Ok(bytes) => runtime::read(&bytes, std::fs::read(output.with_extension("hmat")).ok().as_deref())?,
        Err(_) if read.triangles.is_empty() => Model::default(),
        Err(error) => return Err(format!("{}: {error}", output.display())),
    };
    let verdict = compare(&read, &compiled, tolerance)?;
    let handed = match verdict.handed {
        (_, 0) => "-".to_owned(),
        (same, all) => format!("{same}/{all}"),
    };
    let contradict = match verdict.contradict {
        0 => String::new(),
        corners => format!(" ({corners} authored tangents contradict their texture coordinates)"),
    };
    Ok(format!(
        "{:>9} {:>9} {handed:>14}  {name}{contradict}",
        compiled.triangles.len(),
        compiled.materials.len()
    ))
}
