//! Imports every FBX model below a directory and prints what it comes to, a line for each.
//!
//! `cargo run --release -p kiln-import --features fbx --example fbx_corpus -- <directory>` prints the triangles that are
//! drawn, the corners of the box around them in metres, joints, clips and the time it took, and then the warnings. It
//! ends with 1 when a model cannot be read.

#![allow(clippy::print_stdout)]

mod corpus;

use std::process::ExitCode;

use kiln_import::fbx;
use kiln_ir::{Scene, Valid};

fn main() -> ExitCode {
    corpus::every(&["fbx"], fbx::import, |corpus::Model { name, found, took, .. }| {
        let took = took.as_secs_f64() * 1000.0;
        let (triangles, [low, high]) = measure(&found.value);
        let joints: usize = found.value.skins.iter().map(|skin| skin.joints.len()).sum();
        let clips = found.value.animations.len();
        println!("{triangles:8} {low:.4?} {high:.4?} {joints} joints {clips} clips {took:.1} ms {name}");
        for warning in found.warnings {
            println!("      {warning}");
        }
        true
    })
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
