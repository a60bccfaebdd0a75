//! The mip levels of a texture in a format of the GPU: UASTC is transcoded to BC7, or to RGBA8 if the GPU has no BC7.
//! Textures that are stored in a format of the GPU are uploaded as they are.

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
pub(crate) fn ready(file: &[u8], features: wgpu::Features) -> Result<Ready, Box<dyn Error>> {
    let texture = Texture::read(file)?;
    let view = texture.view();
    let shape = view.shape();
    let srgb = view.transfer() == Transfer::Srgb;
    let family = match view.payload() {
        Payload::Astc4x4 => wgpu::Features::TEXTURE_COMPRESSION_ASTC,
        Payload::Etc2Rgb | Payload::Etc2Rgba | Payload::EacR11 | Payload::EacRg11 => {
            wgpu::Features::TEXTURE_COMPRESSION_ETC2
        }
        _ => wgpu::Features::TEXTURE_COMPRESSION_BC,
    };
    // A GPU takes blocks only where the largest mip level is made of whole ones.
    let blocks = features.contains(family) && shape.width.is_multiple_of(4) && shape.height.is_multiple_of(4);
    let (width, height) = (shape.width, shape.height);
    if view.payload() == Payload::Rgba16F {
        let load = |level| load_stored_level(file, level);
        let levels = (0..view.level_count()).map(load).collect::<Result<_, _>>()?;
        return Ok(Ready { format: TextureFormat::Rgba16Float, width, height, levels });
    }
    if let Some(format) = stored_format(view.payload(), srgb) {
        // One kind of block is on a GPU, or none.
        if !blocks {
            let name = view.payload().name(view.transfer());
            return Err(format!("{name} needs a GPU with it, and sides that are multiples of four").into());
        }
        let load = |level| load_stored_level(file, level);
        let levels = (0..view.level_count()).map(load).collect::<Result<_, _>>()?;
        return Ok(Ready { format, width, height, levels });
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
        _ => (target, format),
    };
    let load = |level| load_level(file, level, target).map(|loaded| loaded.bytes);
    let levels = (0..view.level_count()).map(load).collect::<Result<_, _>>()?;
    Ok(Ready { format, width, height, levels })
}

/// Returns the format of a texture that is stored in blocks of a GPU; `None` for UASTC and uncompressed texels.
fn stored_format(payload: Payload, srgb: bool) -> Option<TextureFormat> {
    use wgpu::{AstcBlock, AstcChannel};
    let astc = |channel| TextureFormat::Astc { block: AstcBlock::B4x4, channel };
    Some(match (payload, srgb) {
        (Payload::Bc1, true) => TextureFormat::Bc1RgbaUnormSrgb,
        (Payload::Bc1, false) => TextureFormat::Bc1RgbaUnorm,
        (Payload::Bc3, true) => TextureFormat::Bc3RgbaUnormSrgb,
        (Payload::Bc3, false) => TextureFormat::Bc3RgbaUnorm,
        (Payload::Bc4, _) => TextureFormat::Bc4RUnorm,
        (Payload::Bc5, _) => TextureFormat::Bc5RgUnorm,
        (Payload::Bc6h, _) => TextureFormat::Bc6hRgbUfloat,
        (Payload::Bc6hSigned, _) => TextureFormat::Bc6hRgbFloat,
        (Payload::Bc7, true) => TextureFormat::Bc7RgbaUnormSrgb,
        (Payload::Bc7, false) => TextureFormat::Bc7RgbaUnorm,
        (Payload::Etc2Rgb, true) => TextureFormat::Etc2Rgb8UnormSrgb,
        (Payload::Etc2Rgb, false) => TextureFormat::Etc2Rgb8Unorm,
        (Payload::Etc2Rgba, true) => TextureFormat::Etc2Rgba8UnormSrgb,
        (Payload::Etc2Rgba, false) => TextureFormat::Etc2Rgba8Unorm,
        (Payload::EacR11, _) => TextureFormat::EacR11Unorm,
        (Payload::EacRg11, _) => TextureFormat::EacRg11Unorm,
        (Payload::Astc4x4, true) => astc(AstcChannel::UnormSrgb),
        (Payload::Astc4x4, false) => astc(AstcChannel::Unorm),
        _ => return None,
    })
}
