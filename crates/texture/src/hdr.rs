//! HDR images: RGBA16F or BC6H textures with box-filtered mips.
//!
//! A filter with negative lobes would put dark rings around a sun. So each texel of a mip level is the
//! average of the area it covers (a box filter), and the mean of the image is the same at every level.

use std::time::Instant;

use kiln_block_encoders::bc6h;
use kiln_ir::HdrImage;
use rayon::prelude::*;

use crate::filter_mode::Texel;
use crate::half::half4;
use crate::mips::{self, Mips};
use crate::{Encoded, Error, Payload, Quality, check, effort, supercompress};

/// Options of an HDR texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HdrSettings {
    /// The number of mip levels.
    pub mips: Mips,
    /// The longest side of the base level in texels; a larger image is downscaled.
    pub max_size: Option<u32>,
    /// Encodes BC6H blocks with this effort, without alpha; `None` stores RGBA16F.
    pub bc6h: Option<Quality>,
    /// Compresses every mip level with Zstandard.
    pub zstd: bool,
    /// The instant at which encoding is cancelled. The result does not depend on it.
    pub deadline: Option<Instant>,
}

/// Encodes an HDR image as a linear 2D texture. BC6H blocks are signed if a texel has a negative channel.
///
/// # Errors
///
/// [`Error::Deadline`] if the deadline passes, [`Error::Zstd`] if memory runs out.
pub fn encode_hdr(image: HdrImage, settings: &HdrSettings) -> Result<Encoded, Error> {
    let HdrSettings { mips, max_size, bc6h, zstd, deadline } = *settings;
    let mut size = (image.width(), image.height());
    let (width, height) = mips::fit(size.0, size.1, max_size);
    let count = mips.levels(width, height);
    let mut texels = image.into_texels();
    let signed = bc6h.is_some() && texels.par_iter().any(|[r, g, b, _]| r.min(*g).min(*b) < 0.0);
    if size != (width, height) {
        texels = shrink(&texels, size, (width, height));
        size = (width, height);
    }
    let mut levels = Vec::new();
    for level in 1..=count {
        check(deadline)?;
        let next = mips::level_size(width, height, level);
        let smaller = if level < count { shrink(&texels, size, next) } else { Vec::new() };
        levels.push(match bc6h {
            Some(quality) => bc6h_blocks(&texels, size.0, signed, quality),
            None => into_half_texels(texels),
        });
        (texels, size) = (smaller, next);
    }
    let levels = supercompress::levels(levels, zstd, deadline)?;
    let texels = hdr_payload(bc6h, signed);
    Ok(Encoded { width, height, depth: 0, layers: 0, faces: 1, srgb: false, texels, zstd, levels })
}

/// Returns the texel format of HDR textures.
pub(crate) const fn hdr_payload(bc6h: Option<Quality>, signed: bool) -> Payload {
    match (bc6h, signed) {
        (None, _) => Payload::Rgba16F,
        (Some(_), false) => Payload::Bc6h,
        (Some(_), true) => Payload::Bc6hSigned,
    }
}

/// Encodes an image of this width as BC6H, one row of blocks per task. Texels repeat past the edges.
pub(crate) fn bc6h_blocks(texels: &[Texel], width: u32, signed: bool, quality: Quality) -> Vec<u8> {
    let width = width as usize;
    let (wide, height) = (width.div_ceil(4), texels.len() / width);
    let mut out = vec![0; wide * height.div_ceil(4) * BC6H_BYTES];
    out.par_chunks_mut(wide * BC6H_BYTES).enumerate().for_each(|(y, row)| {
        for (x, out) in row.as_chunks_mut::<BC6H_BYTES>().0.iter_mut().enumerate() {
            let block = std::array::from_fn(|i| {
                let (x, y) = ((4 * x + i % 4).min(width - 1), (4 * y + i / 4).min(height - 1));
                let [r, g, b, _] = half4(&texels[y * width + x]).map(u16::from_le_bytes);
                [r, g, b]
            });
            *out = bc6h::encode(&block, signed, effort(quality));
        }
    });
    out
}

/// Bytes of a BC6H block.
const BC6H_BYTES: usize = 16;

/// The number of texels that are converted to half floats before their memory is freed.
const CHUNK_TEXELS: usize = 1 << 20;

/// Converts texels to four half floats each. Converts from the last texel to the first and frees the memory
/// of converted texels on the way, so that a large image is never in memory twice.
fn into_half_texels(mut texels: Vec<Texel>) -> Vec<u8> {
    let mut out = vec![0; texels.len() * TEXEL_BYTES];
    while !texels.is_empty() {
        let start = (texels.len() - 1) / CHUNK_TEXELS * CHUNK_TEXELS;
        convert_to_half(&texels[start..], &mut out[start * TEXEL_BYTES..texels.len() * TEXEL_BYTES]);
        texels.truncate(start);
        texels.shrink_to_fit();
    }
    out
}

/// Bytes of an RGBA16F texel.
const TEXEL_BYTES: usize = 8;

/// Converts texels to four half floats each.
pub(crate) fn half_texels(texels: &[Texel]) -> Vec<u8> {
    let mut out = vec![0; texels.len() * TEXEL_BYTES];
    convert_to_half(texels, &mut out);
    out
}

fn convert_to_half(texels: &[Texel], out: &mut [u8]) {
    let put = |(texel, out): (&Texel, &mut [u8; TEXEL_BYTES])| {
        out.as_chunks_mut().0.copy_from_slice(&half4(texel));
    };
    texels.par_iter().zip(out.as_chunks_mut().0).with_min_len(4096).for_each(put);
}

/// Downscales an image with a box filter: each texel is the average of the area it covers.
pub(crate) fn shrink(texels: &[Texel], from: (u32, u32), to: (u32, u32)) -> Vec<Texel> {
    let (across, down) = (spans(from.0, to.0), spans(from.1, to.1));
    let width = from.0 as usize;
    let mut out = vec![[0.0; 4]; to.0 as usize * to.1 as usize];
    out.par_chunks_mut(to.0 as usize).zip(&down).for_each(|(row, tall)| {
        for (texel, wide) in row.iter_mut().zip(&across) {
            let mut sum = [0.0f64; 4];
            for (y, high) in tall {
                for (x, long) in wide {
                    let weight = high * long;
                    let source = texels[y * width + x];
                    (0..4).for_each(|c| sum[c] += weight * f64::from(source[c]));
                }
            }
            *texel = sum.map(|value| value as f32);
        }
    });
    out
}

/// Returns the source texels of each destination texel, with weights that sum to one.
fn spans(from: u32, to: u32) -> Vec<Vec<(usize, f64)>> {
    let (from, to) = (u64::from(from), u64::from(to));
    let span = |i: u64| {
        // In units of which a source texel has `to` and a destination texel `from`: integers, so exact.
        let (start, end) = (i * from, (i + 1) * from);
        let covered = |x: u64| end.min((x + 1) * to) - start.max(x * to);
        (start / to..end.div_ceil(to)).map(|x| (x as usize, covered(x) as f64 / from as f64)).collect()
    };
    (0..to).map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: HdrSettings =
        HdrSettings { mips: Mips::Full, max_size: None, bc6h: None, zstd: false, deadline: None };

    fn hdr_image(width: u32, height: u32, value: impl Fn(u32) -> f32) -> HdrImage {
        let texel = |i| [value(i), 2.0 * value(i), 0.0, 1.0];
        HdrImage::new(width, height, (0..width * height).map(texel).collect()).unwrap()
    }

    #[test]
    fn box_filter_keeps_the_mean() {
        for size in [(8, 8), (7, 5), (13, 1), (6, 9)] {
            let source =
                hdr_image(size.0, size.1, |i| (i * i % 17) as f32 * if i == 3 { 1000.0 } else { 1.0 });
            let mean =
                |texels: &[Texel]| texels.iter().map(|t| f64::from(t[0])).sum::<f64>() / texels.len() as f64;
            let small = shrink(source.texels(), size, ((size.0 / 2).max(1), (size.1 / 2).max(1)));
            let (before, after) = (mean(source.texels()), mean(&small));
            assert!((before - after).abs() < before * 1e-6, "{size:?}: {before}, then {after}");
            assert!(small.iter().all(|t| t[0] >= 0.0 && t[3] == 1.0));
        }
    }

    #[test]
    fn chunked_conversion_equals_whole_conversion() {
        for len in [1, 7, CHUNK_TEXELS, CHUNK_TEXELS + 3] {
            let texels: Vec<Texel> = (0..len).map(|i| [i as f32, 0.5, -1.0, (i % 9) as f32]).collect();
            assert!(half_texels(&texels) == into_half_texels(texels), "{len}");
        }
    }

    #[test]
    fn levels_are_stored_as_half_floats() {
        let encoded = encode_hdr(hdr_image(4, 2, |i| i as f32), &PLAIN).unwrap();
        assert_eq!((encoded.width, encoded.height, encoded.texels), (4, 2, Payload::Rgba16F));
        assert_eq!(encoded.levels.iter().map(|l| l.bytes.len()).collect::<Vec<_>>(), [64, 16, 8]);
        // 5.0, 10.0, 0.0 and 1.0 in binary16.
        assert_eq!(encoded.levels[0].bytes[40..48], [0x00, 0x45, 0x00, 0x49, 0, 0, 0x00, 0x3c]);
        // The mean of 0 to 7 is 3.5.
        assert_eq!(encoded.levels[2].bytes[..2], [0x00, 0x43]);
        let small = HdrSettings { mips: Mips::None, max_size: Some(2), zstd: true, ..PLAIN };
        let small = encode_hdr(hdr_image(4, 2, |i| i as f32), &small).unwrap();
        assert_eq!((small.width, small.height, small.levels.len(), small.zstd), (2, 1, 1, true));
    }

    #[test]
    fn bc6h_levels_are_close_to_half_floats() {
        let smooth = |i: u32| 0.5 + (i % 13) as f32 / 40.0 + (i / 13) as f32 / 70.0;
        for (sign, payload) in [(1.0, Payload::Bc6h), (-1.0, Payload::Bc6hSigned)] {
            let settings = HdrSettings { bc6h: Some(Quality::Default), ..PLAIN };
            let blocks = encode_hdr(hdr_image(13, 11, |i| sign * smooth(i)), &settings).unwrap();
            let halves = encode_hdr(hdr_image(13, 11, |i| sign * smooth(i)), &PLAIN).unwrap();
            assert_eq!((blocks.texels, blocks.levels.len()), (payload, halves.levels.len()));
            for (level, (blocks, halves)) in blocks.levels.iter().zip(&halves.levels).enumerate() {
                let (width, height) = ((13usize >> level).max(1), (11usize >> level).max(1));
                assert_eq!(blocks.bytes.len(), width.div_ceil(4) * height.div_ceil(4) * 16);
                for (n, texel) in halves.bytes.as_chunks::<8>().0.iter().enumerate() {
                    let (x, y) = (n % width, n / width);
                    let at = (y / 4 * width.div_ceil(4) + x / 4) * 16;
                    let mut decoded = [0.0; 48];
                    let signed = payload == Payload::Bc6hSigned;
                    bcdec_rs::bc6h_float(&blocks.bytes[at..at + 16], &mut decoded, 12, signed);
                    let red = f32::from(::half::f16::from_le_bytes([texel[0], texel[1]]));
                    let found = decoded[(y % 4 * 4 + x % 4) * 3];
                    assert!((found - red).abs() < 0.02 * red.abs(), "level {level}: {found}, not {red}");
                }
            }
        }
    }
}
