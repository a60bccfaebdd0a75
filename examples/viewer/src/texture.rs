//! The mip levels of a texture in a format of the GPU: UASTC is transcoded to BC7, or to RGBA8 if the GPU has no BC7.
//! Textures that are stored in such a format are uploaded as they are.

use std::error::Error;

use kiln_format::ktx2::{Payload, Transfer};
use kiln_transcode::Target;
use kiln_transcode::ktx2::{Texture, load_level, load_stored_level};
use wgpu::TextureFormat;

/// A texture to upload.
pub(crate) struct Ready {
    pub(crate) format: TextureFormat,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// From the largest mip level to the smallest.
    pub(crate) levels: Vec<Vec<u8>>,
}

/// Loads all mip levels of a KTX2 file.
pub(crate) fn ready(file: &[u8], has_bc7: bool) -> Result<Ready, Box<dyn Error>> {
    let texture = Texture::read(file)?;
    let view = texture.view();
    let shape = view.shape();
    let srgb = view.transfer() == Transfer::Srgb;
    // A GPU takes blocks only where the largest mip level is made of whole ones.
    let blocks = has_bc7 && shape.width.is_multiple_of(4) && shape.height.is_multiple_of(4);
    let (width, height) = (shape.width, shape.height);
    if view.payload() == Payload::Rgba16F {
        let load = |level| load_stored_level(file, level);
        let levels = (0..view.level_count()).map(load).collect::<Result<_, _>>()?;
        return Ok(Ready { format: TextureFormat::Rgba16Float, width, height, levels });
    }
    let (target, format) = match (blocks, srgb) {
        (true, true) => (Target::Bc7, TextureFormat::Bc7RgbaUnormSrgb),
        (true, false) => (Target::Bc7, TextureFormat::Bc7RgbaUnorm),
        (false, true) => (Target::Rgba8, TextureFormat::Rgba8UnormSrgb),
        (false, false) => (Target::Rgba8, TextureFormat::Rgba8Unorm),
    };
    let (target, format) = match (view.payload(), srgb) {
        (Payload::Rgba8, true) => (Target::Rgba8, TextureFormat::Rgba8UnormSrgb),
        (Payload::Rgba8, false) => (Target::Rgba8, TextureFormat::Rgba8Unorm),
        (Payload::Bc7, _) if !blocks => {
            return Err("a BC7 texture needs a GPU with BC7, and sides that are multiples of four".into());
        }
        _ => (target, format),
    };
    let load = |level| load_level(file, level, target).map(|loaded| loaded.bytes);
    let levels = (0..view.level_count()).map(load).collect::<Result<_, _>>()?;
    Ok(Ready { format, width, height, levels })
}
