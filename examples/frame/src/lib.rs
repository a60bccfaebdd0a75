//! Draws the scene of a pak with wgpu, off-screen.
//!
//! ```sh
//! examples/frame/run frame.ppm        # bakes the art, compares pixels, and writes the image
//! ```
//!
//! The vertex layout of each mesh comes from the attributes that [`pak::mesh::VertexType`] lists, vertices and indices go
//! to the GPU as they are in the pak, and bitmaps of any format are converted while they are copied to the staging
//! buffer. There is no window, so that it also runs where there is only a software driver (Debian's
//! `mesa-vulkan-drivers`).

mod gpu;

use gpu::{Draw, Gpu};
use pak::{Pak, PakBuf};
use std::error::Error;

/// A drawn frame: rows of RGBA texels from the top.
pub struct Frame {
    /// The width and height in texels.
    pub side: u32,
    /// Four bytes for each texel, sRGB.
    pub texels: Vec<u8>,
    /// The name of the GPU or of the software driver.
    pub adapter: String,
}

impl Frame {
    /// Returns the colour at a place, from −1 to 1 to the right and upwards, as the scene has it.
    pub fn at(&self, x: f32, y: f32) -> [u8; 4] {
        let texel =
            |place: f32| (((place + 1.0) * 0.5 * self.side as f32) as usize).min(self.side as usize - 1);
        let start = (texel(-y) * self.side as usize + texel(x)) * 4;
        self.texels.as_chunks::<4>().0[start / 4]
    }
}

/// Draws everything that the scene `key` of a pak refers to.
///
/// # Errors
/// If the pak cannot be read, or there is no GPU.
pub fn draw(pak: &PakBuf, key: &str, side: u32) -> Result<Frame, Box<dyn Error>> {
    let gpu = Gpu::new()?;
    let mut draws: Vec<Draw> = Vec::new();
    for place in pak.read_scene(key)?.refs() {
        let Some(mesh) = place.mesh() else { continue };
        let instance = gpu.instance(place.rotation(), place.scale(), place.translation());
        for primitive in pak.read_mesh_id(mesh)?.primitives() {
            let material = place.materials().get(usize::from(primitive.material()));
            let material =
                material.and_then(|id| pak.read_material_id(*id)).ok_or("a mesh without a material")?;
            let texture = gpu.texture(&pak.read_bitmap_id(material.color)?)?;
            draws.push(gpu.prepare(primitive, &instance, &texture)?);
        }
    }
    Ok(Frame { side, texels: gpu.draw(&draws, side)?, adapter: gpu.name() })
}
