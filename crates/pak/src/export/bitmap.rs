//! Bitmaps as PNG or KTX2 files.

use crate::bitmap::{Bitmap, BitmapColor, Sample};
use crate::error::Fault;
use crate::{Error, Kind};
use half::f16;
use kiln_format::ktx2::{self, Desc, Payload, Shape, Supercompression, Transfer};

/// Returns the extension and the content of the file: PNG if it holds everything, otherwise KTX2.
pub(super) fn file(bitmap: &Bitmap, id: usize) -> Result<(&'static str, Vec<u8>), Error> {
    // KTX2 has no 16-bit formats with the sRGB transfer function.
    let is_wide_srgb = bitmap.sample() == Sample::U16 && bitmap.color() == BitmapColor::Srgb;
    let fits_png = bitmap.sample() != Sample::F32 && (bitmap.mip_levels() == 1 || is_wide_srgb);
    if let Some(file) = bitmap.ktx2() {
        Ok((".ktx2", file.to_vec()))
    } else if fits_png {
        Ok((".png", png(bitmap).map_err(|e| std::io::Error::other(e.to_string()))?))
    } else {
        Ok((".ktx2", ktx2(bitmap, id)?))
    }
}

/// Encodes mip level 0 as PNG. Two channels become red and green.
fn png(bitmap: &Bitmap) -> Result<Vec<u8>, png::EncodingError> {
    let size = bitmap.sample().byte_len() as usize;
    let channels = bitmap.format().channels();
    let (color, stored) = match channels {
        1 => (png::ColorType::Grayscale, 1),
        2 | 3 => (png::ColorType::Rgb, 3),
        _ => (png::ColorType::Rgba, 4),
    };
    let mut texels = Vec::with_capacity(bitmap.pixels().len() / channels * stored);
    for texel in bitmap.pixels().chunks_exact(bitmap.texel_len()) {
        texels.extend_from_slice(texel);
        texels.resize(texels.len() + (stored - channels) * size, 0);
    }
    if size == 2 {
        // PNG is big-endian.
        texels.as_chunks_mut::<2>().0.iter_mut().for_each(|sample| sample.reverse());
    }
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, bitmap.width(), bitmap.height());
    encoder.set_color(color);
    encoder.set_depth(if size == 2 { png::BitDepth::Sixteen } else { png::BitDepth::Eight });
    if bitmap.color() == BitmapColor::Srgb {
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&texels)?;
    writer.finish()?;
    Ok(out)
}

/// Encodes all mip levels as KTX2, or returns the KTX2 file that the bitmap is.
pub(super) fn ktx2(bitmap: &Bitmap, id: usize) -> Result<Vec<u8>, Error> {
    if let Some(file) = bitmap.ktx2() {
        return Ok(file.to_vec());
    }
    let (payload, one) = match bitmap.sample() {
        Sample::U8 => (Payload::Rgba8, vec![255]),
        Sample::U16 => (Payload::Rgba16, vec![255, 255]),
        Sample::F32 => (Payload::Rgba16F, f16::ONE.to_le_bytes().to_vec()),
    };
    let levels: Vec<Vec<u8>> = (0..bitmap.mip_levels())
        .map_while(|level| bitmap.level(level))
        .map(|(_, texels)| rgba(bitmap, texels, &one))
        .collect();
    let levels: Vec<&[u8]> = levels.iter().map(Vec::as_slice).collect();
    let desc = Desc {
        shape: Shape::flat(bitmap.width(), bitmap.height()),
        payload,
        transfer: Transfer::of(bitmap.color() == BitmapColor::Srgb && !payload.is_linear_only()),
        supercompression: Supercompression::None,
        writer: "Kiln pak",
        oriented: true,
    };
    let fault =
        |error| Error::Asset { kind: Kind::Bitmap, name: format!("id {id}"), why: Fault::Content(error) };
    ktx2::write(&desc, &levels).map_err(fault)
}

/// Returns texels with four channels: one channel becomes gray, a missing channel 0, a missing alpha channel `one`.
fn rgba(bitmap: &Bitmap, texels: &[u8], one: &[u8]) -> Vec<u8> {
    let zero = vec![0; one.len()];
    let channels = bitmap.format().channels();
    let mut out = Vec::with_capacity(texels.len() / bitmap.texel_len() * 4 * one.len());
    for texel in texels.chunks_exact(bitmap.texel_len()) {
        let sample = |channel: usize| -> Vec<u8> {
            match texel.chunks_exact(bitmap.sample().byte_len() as usize).nth(channel) {
                Some(&[a, b, c, d]) => f16::from_f32(f32::from_le_bytes([a, b, c, d])).to_le_bytes().to_vec(),
                Some(stored) => stored.to_vec(),
                None => zero.clone(),
            }
        };
        if bitmap.sample() == Sample::U8 {
            // The common case without allocations.
            out.extend(match *texel {
                [v] => [v, v, v, 255],
                [r, g] => [r, g, 0, 255],
                [r, g, b] => [r, g, b, 255],
                [r, g, b, a, ..] => [r, g, b, a],
                [] => [0, 0, 0, 255],
            });
            continue;
        }
        for channel in 0..4 {
            match (channels, channel) {
                (1, 0..3) => out.extend(sample(0)),
                (1..4, 3) => out.extend_from_slice(one),
                _ => out.extend(sample(channel)),
            }
        }
    }
    out
}
