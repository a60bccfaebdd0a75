//! PNG (ISO/IEC 15948): every colour type and bit depth, palettes, colour keys, interlacing.
//!
//! Rejects a wrong checksum in any chunk, and a file without its end chunk.

mod rows;

use std::io::Cursor;

use ::png::{BitDepth, DecodeOptions, Decoder, DecodingError, Reader, Transformations};
use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{
    OpaqueSamples, admit, animated, corrupt, decoder_message, expand_to_rgba, incomplete_texels, rgba,
    truncated, upright,
};

pub use rows::OpaqueRows;

/// The maximum compression ratio of Deflate (RFC 1951: 258 bytes from two bits).
const MAX_DEFLATE_RATIO: u64 = 1032;

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    let header = prefix.get(12..24)?.strip_prefix(b"IHDR")?;
    let side = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((side(0)?, side(4)?))
}

/// Returns `true` if the header states 16 bits per channel.
pub(super) fn is_16_bit(prefix: &[u8]) -> bool {
    prefix.get(24) == Some(&16)
}

/// Returns `true` for colour type 0 in IHDR without a tRNS chunk, which would add alpha.
pub(super) fn is_greyscale(bytes: &[u8]) -> bool {
    bytes.get(25) == Some(&0) && !bytes.windows(4).take(4096).any(|name| name == b"tRNS")
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let mut reader = open(bytes, limits)?;
    if let Some(frames) = frame_count(&reader)
        && frames > 1
    {
        warnings.push(animated(format!("the file is an animated PNG of {frames} frames")));
    }
    let (width, height) = (reader.info().width, reader.info().height);
    let texels = texels(&mut reader)?;
    reader.finish().map_err(diagnose)?;
    upright((width, height, texels), reader.info().exif_metadata.as_deref(), warnings)
}

/// Decodes an image of 8 bits per channel without alpha, behind `headroom` bytes; returns `None` for any other, and for
/// one that [`import`] would change or warn about.
pub(super) fn import_opaque(
    bytes: &[u8],
    headroom: usize,
    limits: &Limits,
) -> Result<Option<OpaqueSamples>, Diag> {
    // Color type and bit depth in IHDR: most other files are recognised without a decoder.
    if !matches!(bytes.get(24..26), Some([8, 0 | 2])) {
        return Ok(None);
    }
    let mut reader = open(bytes, limits)?;
    let (info, channels) = (reader.info(), reader.info().color_type.samples());
    let (width, height) = (info.width, info.height);
    if info.trns.is_some() || info.bit_depth != BitDepth::Eight || frame_count(&reader).is_some() {
        return Ok(None);
    }
    let len = reader.output_buffer_size().and_then(|len| len.checked_add(headroom));
    let mut samples = vec![0; len.ok_or_else(incomplete_texels)?];
    reader.next_frame(&mut samples[headroom..]).map_err(diagnose)?;
    reader.finish().map_err(diagnose)?;
    // The orientation may follow the texels.
    let is_upright = reader.info().exif_metadata.is_none();
    Ok(is_upright.then_some(OpaqueSamples { width, height, channels, bytes: samples }))
}

fn frame_count(reader: &Reader<Cursor<&[u8]>>) -> Option<u32> {
    reader.info().animation_control.map(|animation| animation.num_frames)
}

/// Reads everything before the texels, within the limits.
fn open<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Reader<Cursor<&'a [u8]>>, Diag> {
    let mut options = DecodeOptions::default();
    options.set_skip_ancillary_crc_failures(false);
    options.set_ignore_text_chunk(true);
    options.set_ignore_iccp_chunk(true);
    let mut decoder = Decoder::new_with_options(Cursor::new(bytes), options);
    // Not `ALPHA`: the decoder expands RGB texel by texel, which takes longer than decompressing them.
    decoder.set_transformations(Transformations::EXPAND);

    let header = decoder.read_header_info().map_err(diagnose)?;
    let (width, height, depth) = (header.width, header.height, header.bit_depth);
    let channel_bytes = if depth == BitDepth::Sixteen { 2 } else { 1 };
    admit(limits, width, height, channel_bytes).map_err(|d| d.at("IHDR"))?;
    let stored = header.raw_bytes() as u64;
    if stored / MAX_DEFLATE_RATIO > bytes.len() as u64 {
        return Err(truncated(format!("{} bytes cannot contain {width}x{height} texels", bytes.len())));
    }

    let reader = decoder.read_info().map_err(diagnose)?;
    // The decoder panics on a palette that is not at most 256 whole colours.
    if let Some(palette) = &reader.info().palette
        && (palette.len() % 3 != 0 || palette.len() > 3 * 256)
    {
        return Err(corrupt(format!("the palette has {} bytes", palette.len())).at("PLTE"));
    }
    Ok(reader)
}

/// Decodes the first frame as RGBA.
fn texels(reader: &mut Reader<Cursor<&[u8]>>) -> Result<Texels, Diag> {
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let (colour, depth) = reader.output_color_type();
    let channels = colour.samples();
    let values =
        width.checked_mul(height).and_then(|texels| texels.checked_mul(4)).ok_or_else(incomplete_texels)?;
    if depth != BitDepth::Sixteen {
        let mut texels = vec![0; values];
        let samples = reader.output_buffer_size().and_then(|size| texels.get_mut(..size));
        reader.next_frame(samples.ok_or_else(incomplete_texels)?).map_err(diagnose)?;
        expand_to_rgba(&mut texels, channels);
        return Ok(Texels::Rgba8(texels));
    }
    let mut texels = vec![0; values];
    let texel = |pairs: &[[u8; 2]]| {
        let mut samples = [0; 4];
        samples.iter_mut().zip(pairs).for_each(|(sample, pair)| *sample = u16::from_be_bytes(*pair));
        rgba(&samples[..channels], u16::MAX)
    };
    let fill = |row: &[u8], texels: &mut [u16]| {
        let pairs = row.as_chunks().0.chunks_exact(channels);
        texels.as_chunks_mut().0.iter_mut().zip(pairs).for_each(|(out, pairs)| *out = texel(pairs));
    };
    if reader.info().interlaced {
        // Interlaced passes do not fill rows in order, so the samples need a buffer of their own.
        let mut samples = vec![0; reader.output_buffer_size().ok_or_else(incomplete_texels)?];
        reader.next_frame(&mut samples).map_err(diagnose)?;
        fill(&samples, &mut texels);
    } else {
        for row in texels.chunks_exact_mut(width * 4) {
            fill(reader.next_row().map_err(diagnose)?.ok_or_else(incomplete_texels)?.data(), row);
        }
    }
    Ok(Texels::Rgba16(texels))
}

fn diagnose(error: DecodingError) -> Diag {
    match error {
        DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            truncated("the PNG data is incomplete")
        }
        e => corrupt(decoder_message(e)),
    }
}
