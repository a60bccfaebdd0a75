//! Imports every FBX model below a directory and prints what it comes to, a line for each.
//!
//! `cargo run --release -p kiln-import --features fbx --example fbx_corpus -- <directory>` prints the triangles that are
//! drawn, the corners of the box around them in metres, joints, clips and the time it took, and then the warnings. It
//! ends with 1 when a model cannot be read.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use kiln_import::fbx;
use kiln_ir::{Scene, Valid};
use kiln_kit::mem::Mem;
use kiln_kit::{Cook, Real, RelPath, Tree};

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        println!("usage: fbx_corpus <directory>");
        return ExitCode::from(2);
    };
    let mut models = Vec::new();
    collect(&dir, &mut models);
    models.sort();
    let src = Real::open(&dir).expect("a directory");
    let (tree, out) = (Tree::default(), Mem::new());
    let mut failed = 0;
    for model in &models {
        let name = model.strip_prefix(&dir).unwrap_or(model).to_string_lossy().replace('\\', "/");
        let source = RelPath::new(name.as_str()).expect("a relative path");
        let mut cx = Cook::new(&source, &src, &tree, &out);
        let start = Instant::now();
        match fbx::import(&mut cx, &source) {
            Ok(found) => {
                let took = start.elapsed().as_secs_f64() * 1000.0;
                let (triangles, [low, high]) = measure(&found.value);
                let joints: usize = found.value.skins.iter().map(|skin| skin.joints.len()).sum();
                let clips = found.value.animations.len();
                println!(
                    "{triangles:8} {low:.4?} {high:.4?} {joints} joints {clips} clips {took:.1} ms {name}"
                );
                for warning in found.warnings {
                    println!("      {warning}");
                }
            }
            Err(diag) => {
                failed += 1;
                println!("FAIL  {name}\n      {diag}");
            }
        }
    }
    println!("{} models, {failed} failed", models.len());
    ExitCode::from(u8::from(failed > 0 || models.is_empty()))
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("fbx")) {
            found.push(path);
        }
    }
}

/// The triangles that are drawn, and the box around them.
fn measure(scene: &Valid<Scene>) -> (usize, [[f32; 3]; 2]) {
    let (mut triangles, mut low, mut high) = (0, [f32::MAX; 3], [f32::MIN; 3]);
    for draw in scene.draws() {
        for part in &scene.meshes[draw.mesh.0 as usize].primitives {
            triangles += part.triangles();
            for position in &part.positions {
                let at = draw.world.point(*position);
                (low, high) = ([0, 1, 2].map(|i| low[i].min(at[i])), [0, 1, 2].map(|i| high[i].max(at[i])));
            }
        }
    }
    (triangles, [low, high])
}
