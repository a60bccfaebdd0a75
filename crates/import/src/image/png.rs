//! PNG (ISO/IEC 15948): every colour type and bit depth, palettes, colour keys, interlacing.
//!
//! Refused: a wrong checksum in any chunk, and a file without its end chunk.

use std::io::Cursor;

use ::png::{BitDepth, DecodeOptions, Decoder, DecodingError, Reader, Transformations};
use kiln_engine::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, animated, corrupt, rgba, truncated, unfilled, upright, widen};

/// Deflate turns one byte into 1032 at best (RFC 1951: 258 bytes from two bits).
const MOST_PER_BYTE: u64 = 1032;

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    let header = prefix.get(12..24)?.strip_prefix(b"IHDR")?;
    let side = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((side(0)?, side(4)?))
}

/// Whether the header states sixteen bits a channel.
pub(super) fn is_deep(prefix: &[u8]) -> bool {
    prefix.get(24) == Some(&16)
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let mut options = DecodeOptions::default();
    options.set_skip_ancillary_crc_failures(false);
    options.set_ignore_text_chunk(true);
    options.set_ignore_iccp_chunk(true);
    let mut decoder = Decoder::new_with_options(Cursor::new(bytes), options);
    decoder.set_transformations(Transformations::EXPAND | Transformations::ALPHA);

    let header = decoder.read_header_info().map_err(explain)?;
    let (width, height, depth) = (header.width, header.height, header.bit_depth);
    let channel_bytes = if depth == BitDepth::Sixteen { 2 } else { 1 };
    admit(limits, width, height, channel_bytes).map_err(|d| d.at("IHDR"))?;
    let stored = header.raw_bytes() as u64;
    if stored / MOST_PER_BYTE > bytes.len() as u64 {
        return Err(truncated(format!("{} bytes cannot hold {width}x{height} texels", bytes.len())));
    }

    let mut reader = decoder.read_info().map_err(explain)?;
    // The decoder panics on a palette that it cannot cut into 256 colours at most.
    if let Some(palette) = &reader.info().palette
        && (palette.len() % 3 != 0 || palette.len() > 3 * 256)
    {
        return Err(corrupt(format!("a palette of {} bytes", palette.len())).at("PLTE"));
    }
    if let Some(frames) = reader.info().animation_control.map(|a| a.num_frames)
        && frames > 1
    {
        warnings.push(animated(format!("an animated PNG of {frames} frames")));
    }
    let texels = texels(&mut reader)?;
    reader.finish().map_err(explain)?;
    upright((width, height, texels), reader.info().exif_metadata.as_deref(), warnings)
}

/// The texels of the first frame, as RGBA.
fn texels(reader: &mut Reader<Cursor<&[u8]>>) -> Result<Texels, Diag> {
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let (colour, depth) = reader.output_color_type();
    let channels = colour.samples();
    let values = width.checked_mul(height).and_then(|texels| texels.checked_mul(4)).ok_or_else(unfilled)?;
    if depth != BitDepth::Sixteen {
        let mut texels = vec![0; values];
        let samples = reader.output_buffer_size().and_then(|size| texels.get_mut(..size));
        reader.next_frame(samples.ok_or_else(unfilled)?).map_err(explain)?;
        widen(&mut texels, channels);
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
        // The passes fill the image in no order of rows, so that it is there twice for a while.
        let mut samples = vec![0; reader.output_buffer_size().ok_or_else(unfilled)?];
        reader.next_frame(&mut samples).map_err(explain)?;
        fill(&samples, &mut texels);
    } else {
        for row in texels.chunks_exact_mut(width * 4) {
            fill(reader.next_row().map_err(explain)?.ok_or_else(unfilled)?.data(), row);
        }
    }
    Ok(Texels::Rgba16(texels))
}

fn explain(error: DecodingError) -> Diag {
    match error {
        DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => truncated(e),
        e => corrupt(e),
    }
}
