//! The levels of a texture as the GPU takes them: unpacked, and UASTC turned into BC7. What is BC7 already goes as
//! it is, to a GPU that has it.

use std::error::Error;
use std::io::Read;

use basisu::uastc::bc7::transcode_uastc_to_bc7;
use basisu::uastc::unpack::unpack_uastc;
use kiln_format::ktx2::{Ktx2View, Level, Payload, Supercompression, Transfer};
use wgpu::TextureFormat;

/// A texture to upload.
pub(crate) struct Ready {
    pub(crate) format: TextureFormat,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// From the largest level to the smallest.
    pub(crate) levels: Vec<Vec<u8>>,
}

/// Makes what is uploaded of a level's bytes and dimensions.
type Turn = fn(&[u8], [u32; 3]) -> Option<Vec<u8>>;

/// Unpacks and, where it has to be, transcodes.
pub(crate) fn ready(texture: &Ktx2View<'_>, has_bc7: bool) -> Result<Ready, Box<dyn Error>> {
    let shape = texture.shape();
    let srgb = texture.transfer() == Transfer::Srgb;
    // A GPU takes blocks only where the largest level is made of whole ones.
    let blocks = has_bc7 && shape.width.is_multiple_of(4) && shape.height.is_multiple_of(4);
    let plain = if srgb { TextureFormat::Rgba8UnormSrgb } else { TextureFormat::Rgba8Unorm };
    let bc7 = if srgb { TextureFormat::Bc7RgbaUnormSrgb } else { TextureFormat::Bc7RgbaUnorm };
    let (format, turn): (_, Turn) = match texture.payload() {
        Payload::Rgba8 => (plain, |raw, _| Some(raw.to_vec())),
        Payload::Rgba16F => (TextureFormat::Rgba16Float, |raw, _| Some(raw.to_vec())),
        Payload::Bc7 if blocks => (bc7, |raw, _| Some(raw.to_vec())),
        Payload::Bc7 => {
            return Err("a BC7 texture needs a GPU with BC7, and sides that are multiples of four".into());
        }
        Payload::Uastc { .. } if blocks => (bc7, to_bc7),
        Payload::Uastc { .. } => (plain, to_texels),
    };
    let level = |level: Level<'_>| {
        let raw = unpack(&level, texture.supercompression())?;
        turn(&raw, level.dims).ok_or_else(|| "a block of the texture is damaged".into())
    };
    let levels = texture.levels().map(level).collect::<Result<_, Box<dyn Error>>>()?;
    Ok(Ready { format, width: shape.width, height: shape.height, levels })
}

fn unpack(level: &Level<'_>, packed: Supercompression) -> Result<Vec<u8>, Box<dyn Error>> {
    match packed {
        Supercompression::None => Ok(level.bytes.to_vec()),
        Supercompression::Zstd => {
            // No more than the file says, so that a damaged frame cannot fill the memory.
            let decoder = ruzstd::decoding::StreamingDecoder::new(level.bytes)?;
            let mut raw = Vec::new();
            decoder.take(level.uncompressed_len).read_to_end(&mut raw)?;
            if raw.len() as u64 == level.uncompressed_len {
                Ok(raw)
            } else {
                Err("a level is too short".into())
            }
        }
    }
}

fn to_bc7(raw: &[u8], _: [u32; 3]) -> Option<Vec<u8>> {
    let blocks = raw.as_chunks::<16>().0.iter();
    blocks.map(transcode_uastc_to_bc7).collect::<Option<Vec<_>>>().map(|blocks| blocks.into_flattened())
}

fn to_texels(raw: &[u8], [width, height, _]: [u32; 3]) -> Option<Vec<u8>> {
    let (width, height) = (width as usize, height as usize);
    let mut texels = vec![0; width * height * 4];
    for (i, block) in raw.as_chunks::<16>().0.iter().enumerate() {
        let (x, y) = (i % width.div_ceil(4) * 4, i / width.div_ceil(4) * 4);
        for (n, colour) in unpack_uastc(block, false)?.iter().enumerate() {
            let (x, y) = (x + n % 4, y + n / 4);
            if x < width && y < height {
                let texel = [colour.r(), colour.g(), colour.b(), colour.a()];
                texels[(y * width + x) * 4..][..4].copy_from_slice(&texel);
            }
        }
    }
    Some(texels)
}
