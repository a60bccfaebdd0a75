//! Loads a pack as an engine does: finds a material's textures through the manifest and walks meshlets.
//!
//! The example needs only this crate without default features:
//!
//! ```sh
//! cargo run -p kiln-format --no-default-features --example load_pack -- examples/showcase/runtime/desktop.hpack
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use kiln_format::hman::{self, HmanView};
use kiln_format::hmat::{HmatView, SLOTS};
use kiln_format::hmesh::{HmeshView, Meshlet, NO_MATERIAL, SubMesh};
use kiln_format::hpack::HpackView;
use kiln_format::ktx2::Ktx2View;
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: load_pack <file.hpack>");
        return ExitCode::from(2);
    };
    // An engine would memory-map the file; every view below borrows from these bytes without copying.
    let loaded = std::fs::read(path).map_err(Into::into).and_then(|bytes| load(&bytes));
    match loaded {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn load(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    // The files are used in place: a pack with compressed files (`pack_compress: zstd`) is rejected by its version, and needs
    // a `CompressedHpackView`. A view validates once, so that no accessor can fail or read out of bounds afterwards.
    let pack = HpackView::read(bytes)?;
    let manifest = match pack.get(hman::PATH) {
        Some(manifest) => Some(HmanView::read(manifest)?),
        None => None,
    };
    println!("{} files, {} bytes", pack.toc().len(), bytes.len());
    for (entry, mesh) in pack.files().filter(|(entry, _)| entry.path.ends_with(".hmesh")) {
        let mesh = HmeshView::read(mesh)?;
        // The materials of `models/chair.hmesh` are the rows of `models/chair.hmat`.
        let materials = entry.path.replace(".hmesh", ".hmat");
        let materials = match pack.get(&materials) {
            Some(materials) => Some(HmatView::read(materials)?),
            None => None,
        };
        println!("\n{}: {} vertices, ready to upload", entry.path, mesh.vertices().len());
        for submesh in mesh.submeshes().iter() {
            draw(&mesh, &submesh);
            let row = (submesh.material_slot != NO_MATERIAL).then_some(submesh.material_slot as usize);
            let material = row.and_then(|row| materials.as_ref()?.materials().get(row));
            for (slot, hash) in
                material.iter().flat_map(|material| SLOTS.into_iter().zip(material.textures()))
            {
                // A hash of 0 means that there is no such texture. Any other hash is resolved to a file by
                // the manifest.
                let Some(found) = manifest.as_ref().and_then(|manifest| manifest.find(hash)) else {
                    continue;
                };
                let texture =
                    pack.get(found.path).ok_or_else(|| format!("{} is not in the pack", found.path))?;
                let texture = Ktx2View::read(texture)?;
                let shape = texture.shape();
                let levels = texture.level_count();
                println!("    {slot}: {} ({}x{}, {levels} levels)", found.path, shape.width, shape.height);
            }
        }
    }
    Ok(())
}

/// Draws on the CPU as a mesh shader would: culls whole meshlets, then walks the triangles of the others.
fn draw(mesh: &HmeshView<'_>, submesh: &SubMesh) {
    // A distant viewer that looks along -z.
    let view = [0.0, 0.0, -1.0f32];
    let (mut drawn, mut culled, mut area) = (0, 0, 0.0f64);
    let bounds = mesh.meshlet_bounds().range(submesh.first_meshlet, submesh.meshlet_count);
    let meshlets = mesh.submesh_meshlets(submesh);
    for (meshlet, bounds) in meshlets.iter().zip(bounds.iter().flat_map(|bounds| bounds.iter())) {
        let facing: f32 = bounds.cone_axis.iter().zip(view).map(|(a, b)| a * b).sum();
        if facing >= bounds.cone_cutoff {
            culled += 1;
        } else {
            drawn += 1;
            area += surface(mesh, &meshlet);
        }
    }
    println!("  {drawn} meshlets seen from +z with {area:.3} square metres, {culled} turned away");
}

/// Returns the surface area of a meshlet's triangles.
fn surface(mesh: &HmeshView<'_>, meshlet: &Meshlet) -> f64 {
    let (vertices, triangles) = mesh.meshlet(meshlet);
    let corner = |local: u8| {
        let vertex = vertices.get(local.into()).and_then(|vertex| mesh.vertices().get(vertex as usize));
        vertex.map_or([0.0; 3], |vertex| vertex.position.map(f64::from))
    };
    triangles.iter().map(|triangle| area(triangle.map(corner))).sum()
}

fn area([a, b, c]: [[f64; 3]; 3]) -> f64 {
    let edge = |to: [f64; 3]| [to[0] - a[0], to[1] - a[1], to[2] - a[2]];
    let (u, v) = (edge(b), edge(c));
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    cross.iter().map(|x| x * x).sum::<f64>().sqrt() / 2.0
}
