//! A minimal engine: memory-maps a pack, uploads meshes and textures from it unchanged, and draws every model of it.
//!
//! ```sh
//! cargo run --release -p assetc -- -C examples/showcase --pack
//! cargo run --manifest-path examples/viewer/Cargo.toml -- examples/showcase/runtime/desktop.hpack view.png
//! ```
//!
//! There is no window: the image goes to a file, so that it also runs where there is only a software driver
//! (Debian's `mesa-vulkan-drivers`).

mod camera;
mod gpu;
mod texture;

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use kiln_format::hman::{self, HmanView};
use kiln_format::hmat::{AlphaMode, GpuMaterial, HmatView};
use kiln_format::hmesh::{CompressedHmesh, HmeshView};
use kiln_format::hpack::HpackView;

use crate::gpu::{Draw, Gpu, Model};

/// The side of the square that a model is drawn in.
const CELL: u32 = 320;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let [pack, image] = args.as_slice() else {
        eprintln!("usage: viewer <file.hpack> <image.png>");
        return ExitCode::from(2);
    };
    let viewed = File::open(pack).map_err(Into::into).and_then(|file| {
        // SAFETY: nobody writes to the pack while the viewer runs; `assetc` replaces packs, it never edits them.
        let bytes = unsafe { memmap2::Mmap::map(&file) }?;
        let (width, height, texels) = view(&bytes)?;
        let mut encoder = png::Encoder::new(File::create(image)?, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.write_header()?.write_image_data(&texels)?;
        Ok(())
    });
    match viewed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error: Box<dyn Error> = error;
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Decodes a compressed mesh. A game decodes into memory that the GPU reads.
fn decode(file: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mesh = CompressedHmesh::read(file)?;
    let mut decoded = vec![0; usize::try_from(mesh.decoded_size())?];
    mesh.decode_into(&mut decoded)?;
    Ok(decoded)
}

/// Draws every mesh of a pack beside the others; returns width, height and texels.
fn view(bytes: &[u8]) -> Result<(u32, u32, Vec<u8>), Box<dyn Error>> {
    // One check of each file, then nothing below can fail or read out of bounds.
    let pack = HpackView::read(bytes)?;
    let manifest = HmanView::read(pack.get(hman::PATH).ok_or("the pack has no manifest")?)?;
    let gpu = Gpu::new()?;
    println!("{} on {}", env!("CARGO_PKG_NAME"), gpu.name());

    let mut models = Vec::new();
    for (entry, bytes) in pack.files().filter(|(entry, _)| entry.path.ends_with(".hmesh")) {
        let decoded;
        let bytes = match CompressedHmesh::is_compressed(bytes) {
            false => bytes,
            true => {
                decoded = decode(bytes)?;
                &decoded
            }
        };
        let mesh = HmeshView::read(bytes)?;
        let materials = pack.get(&entry.path.replace(".hmesh", ".hmat")).map(HmatView::read).transpose()?;
        let mut draws = Vec::new();
        for submesh in mesh.submeshes().iter() {
            let row =
                materials.as_ref().and_then(|table| table.materials().get(submesh.material_slot as usize));
            let material = row.unwrap_or_default();
            // A hash of 0 is no texture; any other leads through the manifest to a file of the pack.
            let found = manifest.find(material.base_color_tex).and_then(|found| pack.get(found.path));
            let texture = found.map(|file| gpu.upload(file)).transpose()?;
            let range = submesh.first_index..submesh.first_index + submesh.index_count;
            draws.push(Draw { range, bind: gpu.material(&factors(&material), texture.as_ref()) });
        }
        println!("{}: {} vertices, {} draws", entry.path, mesh.vertices().len(), draws.len());
        let camera = camera::around(&mesh.bounds());
        // What the GPU gets is what lies in the mapped pack.
        models.push(Model {
            vertices: gpu.vertices(mesh.vertices().bytes()),
            indices: gpu.indices(mesh.indices().bytes()),
            width: mesh.desc().index_width,
            camera: gpu.camera(&camera),
            draws,
        });
    }
    let columns = (models.len() as f64).sqrt().ceil().max(1.0) as u32;
    let rows = (models.len() as u32).div_ceil(columns).max(1);
    let texels = gpu.draw(&models, columns, rows, CELL)?;
    // The corner is background.
    let drawn = texels.chunks_exact(4).filter(|texel| *texel != &texels[..4]).count();
    println!(
        "{} models over {:.1} % of the image",
        models.len(),
        drawn as f64 * 400.0 / texels.len() as f64
    );
    Ok((columns * CELL, rows * CELL, texels))
}

/// The material parameters of the shader: the base colour and the alpha cutoff.
fn factors(material: &GpuMaterial) -> [f32; 8] {
    let [r, g, b, a] = material.base_color_factor;
    let cutoff = if material.alpha_mode() == AlphaMode::Mask { material.alpha_cutoff } else { 0.0 };
    [r, g, b, a, cutoff, 0.0, 0.0, 0.0]
}
