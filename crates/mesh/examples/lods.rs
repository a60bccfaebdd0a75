//! Processes a wavy sheet of 20,000 triangles and prints its levels of detail and meshlets.
//!
//! ```text
//! cargo run -p kiln-mesh --example lods
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use kiln_mesh::{LodRule, MeshInput, MeshOptions, process};

fn main() -> Result<(), kiln_mesh::Error> {
    let cells = 100u32;
    let (mut positions, mut uvs, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..=cells {
        for column in 0..=cells {
            let (x, y) = (column as f32 / cells as f32, row as f32 / cells as f32);
            positions.push([x, libm::sinf(x * 9.0) * libm::cosf(y * 7.0) * 0.1, y]);
            uvs.push([x, y]);
        }
    }
    for row in 0..cells {
        for column in 0..cells {
            let a = row * (cells + 1) + column;
            let b = a + cells + 1;
            indices.extend([a, b, a + 1, b, b + 1, a + 1]);
        }
    }

    // Normals are missing, so they are created flat; tangents are generated from the UVs.
    let input = MeshInput {
        indices: indices.into(),
        positions: positions.into(),
        uvs: Some(uvs.into()),
        ..MeshInput::default()
    };
    let mut options = MeshOptions::default();
    options.lods = LodRule::HalveDownTo(1000);
    let mesh = process(input, &options)?;

    println!("{} triangles, {} vertices", mesh.indices.len() / 3, mesh.vertices.len());
    for (level, lod) in (1..).zip(&mesh.lods) {
        println!("LOD {level}: {} triangles, error {:.5}", lod.indices.len() / 3, lod.error);
    }
    println!("{} meshlets, notes: {:?}", mesh.meshlets.meshlets.len(), mesh.notes);
    Ok(())
}
