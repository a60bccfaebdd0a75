//! TIFF: the first image; greyscale and RGB with 8 or 16 bits per channel, uncompressed or with LZW, Deflate,
//! PackBits or JPEG, in strips or tiles.
//!
//! Rejects floating point, palettes, CMYK, Lab, other bit depths and planar channels.

use std::io::Cursor;

use ::tiff::decoder::{Decoder, DecodingResult, Limits as DecoderLimits};
use ::tiff::tags::Tag;
use ::tiff::{ColorType, TiffError};
use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{
    admit, animated, corrupt, decoder_message, incomplete_texels, rgba, truncated, unsupported, upright,
};

/// A bound on the compression ratio of LZW, Deflate and JPEG.
const MAX_RATIO: u64 = 8192;

/// Reads the width, height and the bits per sample of the first image, if its directory is in the prefix.
pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32, u32)> {
    let [width, height, bits] = tags(prefix, [256, 257, 258])?;
    Some((width?, height?, bits.unwrap_or(8)))
}

/// Returns `true` if the directory states one channel of black to white or white to black.
pub(super) fn is_greyscale(bytes: &[u8]) -> bool {
    matches!(tags(bytes, [262, 277]), Some([Some(0 | 1), None | Some(1)]))
}

/// Returns the values of some tags of the first directory, each `None` if the file does not have it.
fn tags<const COUNT: usize>(prefix: &[u8], wanted: [u32; COUNT]) -> Option<[Option<u32>; COUNT]> {
    let little = prefix.starts_with(b"II");
    let number = |at: usize, len: usize| {
        let bytes = prefix.get(at..at.checked_add(len)?)?;
        let fold = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        Some(if little { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) })
    };
    let directory = number(4, 4)? as usize;
    let mut found = [None; COUNT];
    for entry in 0..number(directory, 2)? as usize {
        let at = directory + 2 + 12 * entry;
        // A single SHORT or LONG is stored in the entry itself; several samples of equal depth in an array behind it.
        let (tag, kind, count) = (number(at, 2)?, number(at + 2, 2)?, number(at + 4, 4)?);
        let Some(place) = wanted.iter().position(|wanted| *wanted == tag) else { continue };
        let size = if kind == 3 { 2 } else { 4 };
        let in_entry = u64::from(count) * size as u64 <= 4;
        found[place] = Some(number(if in_entry { at + 8 } else { number(at + 8, 4)? as usize }, size)?);
    }
    Some(found)
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(diagnose)?;
    let (width, height) = decoder.dimensions().map_err(diagnose)?;
    let colour = decoder.colortype().map_err(diagnose)?;
    let (channels, bits) = match colour {
        ColorType::Gray(bits) => (1, bits),
        ColorType::GrayA(bits) => (2, bits),
        ColorType::RGB(bits) | ColorType::YCbCr(bits) => (3, bits),
        ColorType::RGBA(bits) => (4, bits),
        other => return Err(unsupported(format!("a TIFF with {other:?} samples"), "save the image as RGB")),
    };
    if !matches!(bits, 8 | 16) || colour == ColorType::YCbCr(16) {
        let hint = "save the image with 8 or 16 bits per channel";
        return Err(unsupported(format!("a TIFF with {colour:?} samples"), hint));
    }
    let planar = decoder.find_tag_unsigned::<u16>(Tag::PlanarConfiguration).map_err(diagnose)?;
    if planar == Some(2) && channels > 1 {
        let hint = "save the image with interleaved (chunky) channels";
        return Err(unsupported("a TIFF with planar channels", hint));
    }
    let depth = u32::from(bits / 8);
    let size = admit(limits, width, height, depth)?;
    let samples = size as u64 / 4 * channels;
    if samples / MAX_RATIO > bytes.len() as u64 {
        return Err(truncated(format!("{} bytes cannot contain {width}x{height} texels", bytes.len())));
    }
    let what = format_args!("the samples and texels of {width}x{height} pixels");
    limits.check_memory(size as u64 + samples, what)?;
    let mut decoder_limits = DecoderLimits::default();
    decoder_limits.decoding_buffer_size = samples as usize;
    decoder_limits.intermediate_buffer_size = usize::try_from(limits.max_memory).unwrap_or(usize::MAX);
    let mut decoder = decoder.with_limits(decoder_limits);

    let texels = texels(decoder.read_image().map_err(diagnose)?, channels as usize)?;
    if decoder.more_images() {
        warnings.push(animated("the file is a TIFF with several images"));
    }
    // The file itself has the structure of an EXIF block.
    upright((width, height, texels), Some(bytes), warnings)
}

fn texels(samples: DecodingResult, channels: usize) -> Result<Texels, Diag> {
    match samples {
        DecodingResult::U8(samples) => {
            let texels = samples.chunks_exact(channels).flat_map(|texel| rgba(texel, u8::MAX));
            Ok(Texels::Rgba8(texels.collect()))
        }
        DecodingResult::U16(samples) => {
            let texels = samples.chunks_exact(channels).flat_map(|texel| rgba(texel, u16::MAX));
            Ok(Texels::Rgba16(texels.collect()))
        }
        DecodingResult::F16(_) | DecodingResult::F32(_) | DecodingResult::F64(_) => {
            Err(unsupported("a TIFF with floating-point samples", "save the image as OpenEXR"))
        }
        _ => Err(incomplete_texels()),
    }
}

fn diagnose(error: TiffError) -> Diag {
    match error {
        TiffError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            truncated("the TIFF data is incomplete")
        }
        TiffError::UnsupportedError(e) => unsupported(decoder_message(e), "save the image as PNG"),
        e => corrupt(decoder_message(e)),
    }
}
