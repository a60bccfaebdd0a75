//! Decodes the mip levels of a texture to texels: inflates supercompression and decodes blocks of every format.
//!
//! Rejects mip levels that are larger than a limit before it allocates, frames that do not have the declared size, and
//! blocks of a reserved mode.

use half::f16;
use kiln_block_encoders::{astc, bc6h, eac, etc2};
use kiln_format::ktx2::{Ktx2View, Payload, Supercompression};
use kiln_uastc::bc;
use rayon::prelude::*;
use std::io::Read;

use crate::half::HALF_ONE;

/// The texels of an image, row by row from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodedTexels {
    /// Red, green, blue and alpha in 8 bits each, as stored: sRGB values stay sRGB values.
    Rgba8(Vec<[u8; 4]>),
    /// Red, green, blue and alpha in 16 bits each: 65535 is 1.0.
    Rgba16(Vec<[u16; 4]>),
    /// Red, green, blue and alpha as the bits of half floats.
    Rgba16F(Vec<[u16; 4]>),
}

/// One image of a mip level: a layer, a face or a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodedImage {
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// The texels.
    pub texels: DecodedTexels,
}

/// The error of a mip level that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The texture has no such mip level.
    NoLevel,
    /// The mip level needs more memory than the limit, in bytes.
    TooLarge {
        /// The required memory in bytes.
        needed: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The Zstandard frame is damaged.
    Frame(String),
    /// A block has a reserved mode.
    Block,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecodeError::NoLevel => f.write_str("the texture has no such mip level"),
            DecodeError::TooLarge { needed, limit } => {
                write!(f, "the mip level needs {needed} bytes of memory; the limit is {limit}")
            }
            DecodeError::Frame(why) => write!(f, "the Zstandard frame of the mip level is damaged: {why}"),
            DecodeError::Block => f.write_str("a block of the mip level has a reserved mode"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Returns the bytes of a mip level without supercompression.
///
/// # Errors
///
/// [`DecodeError`] if there is no such mip level, it is larger than `max_bytes`, or its frame is damaged.
pub fn inflate_level(view: &Ktx2View<'_>, level: u32, max_bytes: u64) -> Result<Vec<u8>, DecodeError> {
    let level = view.level(level).ok_or(DecodeError::NoLevel)?;
    let needed = level.uncompressed_len;
    if needed > max_bytes {
        return Err(DecodeError::TooLarge { needed, limit: max_bytes });
    }
    match view.supercompression() {
        Supercompression::None => Ok(level.bytes.to_vec()),
        Supercompression::Zstd => {
            let fault = |e: std::io::Error| DecodeError::Frame(e.to_string());
            let decoder =
                zstd::stream::read::Decoder::with_buffer(level.bytes).map_err(fault)?.single_frame();
            let mut bytes = Vec::new();
            // One byte more than declared shows a frame that is too long.
            decoder.take(needed.saturating_add(1)).read_to_end(&mut bytes).map_err(fault)?;
            match bytes.len() as u64 == needed {
                true => Ok(bytes),
                false => Err(DecodeError::Frame(format!("its content is not {needed} bytes long"))),
            }
        }
    }
}

/// Decodes all images of a mip level, ordered by layer, face and slice.
///
/// # Errors
///
/// [`DecodeError`] if there is no such mip level, its texels need more than `max_bytes`, or it is damaged.
pub fn decode_level(
    view: &Ktx2View<'_>,
    level: u32,
    max_bytes: u64,
) -> Result<Vec<DecodedImage>, DecodeError> {
    let [width, height, _] = view.level(level).ok_or(DecodeError::NoLevel)?.dims;
    let payload = view.payload();
    let deep = payload.is_float() || [Payload::R16, Payload::Rg16, Payload::Rgba16].contains(&payload);
    let texel = if deep { 8 } else { 4 };
    let needed =
        view.shape().level_texels(level).and_then(|texels| texels.checked_mul(texel)).unwrap_or(u64::MAX);
    if needed > max_bytes {
        return Err(DecodeError::TooLarge { needed, limit: max_bytes });
    }
    let bytes = inflate_level(view, level, max_bytes)?;
    let side = view.payload().block_side();
    let row_len = width.div_ceil(side) as usize * view.payload().block_len() as usize;
    let image_len = row_len * height.div_ceil(side) as usize;
    bytes.chunks_exact(image_len).map(|bytes| decode_image(payload, bytes, width, height)).collect()
}

/// Decodes one image of a mip level without supercompression.
pub(crate) fn decode_image(
    payload: Payload,
    bytes: &[u8],
    width: u32,
    height: u32,
) -> Result<DecodedImage, DecodeError> {
    let texels = match payload {
        Payload::Rgba8 => DecodedTexels::Rgba8(bytes.as_chunks::<4>().0.to_vec()),
        Payload::Rgba16F => {
            let texel = |texel: &[u8; 8]| {
                std::array::from_fn(|c| u16::from_le_bytes([texel[2 * c], texel[2 * c + 1]]))
            };
            DecodedTexels::Rgba16F(bytes.as_chunks::<8>().0.iter().map(texel).collect())
        }
        Payload::R16 => DecodedTexels::Rgba16(sixteen_bit(bytes, 1)),
        Payload::Rg16 => DecodedTexels::Rgba16(sixteen_bit(bytes, 2)),
        Payload::Rgba16 => DecodedTexels::Rgba16(sixteen_bit(bytes, 4)),
        payload @ (Payload::Bc6h | Payload::Bc6hSigned) => {
            let decode = |block: &[u8]| decode_hdr_block(payload, block);
            DecodedTexels::Rgba16F(blocks(payload, bytes, width, height, decode)?)
        }
        payload => {
            let decode = |block: &[u8]| decode_block(payload, block);
            DecodedTexels::Rgba8(blocks(payload, bytes, width, height, decode)?)
        }
    };
    Ok(DecodedImage { width, height, texels })
}

impl DecodedImage {
    /// Returns a texel of the image enlarged to `width` × `height` by bilinear interpolation of the stored values, as a GPU
    /// samples a texture of a lower resolution; a texel of the image itself if that is its size. Channels of 8 and 16 bits
    /// are from 0 to 1.
    #[must_use]
    pub fn enlarged_texel(&self, x: u32, y: u32, (width, height): (u32, u32)) -> [f32; 4] {
        if (width, height) == (self.width, self.height) {
            return self.texel(x, y);
        }
        let (left, right, across) = neighbours(x, width, self.width);
        let (top, bottom, down) = neighbours(y, height, self.height);
        let row = |y: u32| {
            let (a, b) = (self.texel(left, y), self.texel(right, y));
            std::array::from_fn::<f32, 4, _>(|c| a[c] + (b[c] - a[c]) * across)
        };
        let (a, b) = (row(top), row(bottom));
        std::array::from_fn(|c| a[c] + (b[c] - a[c]) * down)
    }

    fn texel(&self, x: u32, y: u32) -> [f32; 4] {
        let at = y as usize * self.width as usize + x as usize;
        match &self.texels {
            DecodedTexels::Rgba8(v) => v[at].map(|value| f32::from(value) / 255.0),
            DecodedTexels::Rgba16(v) => v[at].map(|value| f32::from(value) / 65535.0),
            DecodedTexels::Rgba16F(v) => v[at].map(|bits| f16::from_bits(bits).to_f32()),
        }
    }
}

/// Returns the two texels of `side` around the centre of texel `at` of `enlarged`, and the weight of the second one. Texels
/// repeat past the edges.
fn neighbours(at: u32, enlarged: u32, side: u32) -> (u32, u32, f32) {
    let centre = (f64::from(at) + 0.5) * f64::from(side) / f64::from(enlarged) - 0.5;
    let first = centre.floor();
    let clamped = |value: f64| value.clamp(0.0, f64::from(side - 1)) as u32;
    (clamped(first), clamped(first + 1.0), (centre - first) as f32)
}

/// Expands texels of one, two or four 16-bit channels. One channel becomes grey.
fn sixteen_bit(bytes: &[u8], channels: usize) -> Vec<[u16; 4]> {
    let texel = |bytes: &[u8]| {
        let value = |c: usize| u16::from_le_bytes([bytes[2 * c], bytes[2 * c + 1]]);
        match channels {
            1 => [value(0), value(0), value(0), u16::MAX],
            2 => [value(0), value(1), 0, u16::MAX],
            _ => [value(0), value(1), value(2), value(3)],
        }
    };
    bytes.chunks_exact(2 * channels).map(texel).collect()
}

/// Decodes a block of 4×4 texels to RGBA, row by row; one channel becomes grey. Returns `None` if the mode of the block is
/// reserved, the bytes are not one block, or the format has no blocks or is HDR.
pub fn decode_block(payload: Payload, block: &[u8]) -> Option<[[u8; 4]; 16]> {
    let (eight, sixteen) = (block.try_into().ok(), block.try_into().ok());
    Some(match payload {
        Payload::Uastc { .. } => return kiln_uastc::decode_block(sixteen?),
        Payload::Bc7 => return kiln_uastc::bc7::decode_block(sixteen?),
        Payload::Bc1 => bc::decode_bc1(eight?),
        Payload::Bc3 => bc::decode_bc3(sixteen?),
        Payload::Bc4 => bc::decode_bc4(eight?).map(|red| [red, red, red, u8::MAX]),
        Payload::Bc5 => bc::decode_bc5(sixteen?).map(|[red, green]| [red, green, 0, u8::MAX]),
        Payload::Astc4x4 => astc::decode(sixteen?),
        Payload::Etc2Rgb => etc2::decode(eight?).map(|[r, g, b]| [r, g, b, u8::MAX]),
        Payload::Etc2Rgba => {
            let [alpha, colour] = halves(sixteen?);
            let (alpha, colour) = (eac::decode_alpha(alpha), etc2::decode(colour));
            std::array::from_fn(|i| [colour[i][0], colour[i][1], colour[i][2], alpha[i]])
        }
        Payload::EacR11 => eac::decode_r11(eight?).map(eleven_to_eight).map(|red| [red, red, red, u8::MAX]),
        Payload::EacRg11 => {
            let [red, green] = halves(sixteen?).map(|half| eac::decode_r11(half).map(eleven_to_eight));
            std::array::from_fn(|i| [red[i], green[i], 0, u8::MAX])
        }
        _ => return None,
    })
}

fn halves(block: &[u8; 16]) -> [&[u8; 8]; 2] {
    let halves = block.as_chunks().0;
    [&halves[0], &halves[1]]
}

/// Rounds a value of 11 bits to 8.
fn eleven_to_eight(value: u16) -> u8 {
    ((u32::from(value) * 255 + 1023) / 2047) as u8
}

/// Decodes a BC6H block of 4×4 texels to the bits of half floats, RGBA with alpha 1.0, row by row. Returns `None` if the
/// bytes are not one block or the format is another.
pub fn decode_hdr_block(payload: Payload, block: &[u8]) -> Option<[[u16; 4]; 16]> {
    let signed = match payload {
        Payload::Bc6h => false,
        Payload::Bc6hSigned => true,
        _ => return None,
    };
    let one = u16::from_le_bytes(HALF_ONE);
    Some(bc6h::decode(block.try_into().ok()?, signed).map(|[r, g, b]| [r, g, b, one]))
}

/// Decodes an image of 4×4 blocks, one row of blocks per task.
fn blocks<T: Copy + Default + Send>(
    payload: Payload,
    bytes: &[u8],
    width: u32,
    height: u32,
    decode: impl Fn(&[u8]) -> Option<[T; 16]> + Sync,
) -> Result<Vec<T>, DecodeError> {
    let (width, block_len) = (width as usize, payload.block_len() as usize);
    let mut texels = vec![T::default(); width * height as usize];
    let rows = bytes.par_chunks_exact(width.div_ceil(4) * block_len);
    texels.par_chunks_mut(width * 4).zip(rows).try_for_each(|(strip, row)| {
        for (block, x) in row.chunks_exact(block_len).zip((0..width).step_by(4)) {
            let decoded = decode(block).ok_or(DecodeError::Block)?;
            let inside = (width - x).min(4);
            for (line, texels) in strip.chunks_exact_mut(width).zip(decoded.chunks_exact(4)) {
                line[x..x + inside].copy_from_slice(&texels[..inside]);
            }
        }
        Ok(())
    })?;
    Ok(texels)
}
