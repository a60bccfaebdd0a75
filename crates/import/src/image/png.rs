//! PNG (ISO/IEC 15948): every colour type and bit depth, palettes, colour keys, interlacing.
//!
//! Refused: a wrong checksum in any chunk, and a file without its end chunk.

use std::io::Cursor;

use ::png::{BitDepth, DecodeOptions, Decoder, DecodingError, Transformations};
use kiln_ir::{Image, Texels};
use kiln_kit::Diag;

use super::{Limits, animated, corrupt, to_rgba, truncated, upright};

/// Deflate turns one byte into 1032 at best (RFC 1951: 258 bytes from two bits).
const MOST_PER_BYTE: u64 = 1032;

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    let header = prefix.get(12..24)?.strip_prefix(b"IHDR")?;
    let side = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((side(0)?, side(4)?))
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
    limits.admit(width, height, if depth == BitDepth::Sixteen { 2 } else { 1 }).map_err(|d| d.at("IHDR"))?;
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
    let size = reader.output_buffer_size().ok_or_else(|| corrupt("its size overflows"))?;
    let mut samples = vec![0; size];
    reader.next_frame(&mut samples).map_err(explain)?;
    reader.finish().map_err(explain)?;

    let (colour, depth) = reader.output_color_type();
    let channels = colour.samples();
    let texels = if depth == BitDepth::Sixteen {
        let samples: Vec<u16> = samples.as_chunks().0.iter().map(|&pair| u16::from_be_bytes(pair)).collect();
        Texels::Rgba16(to_rgba(samples, channels, u16::MAX))
    } else {
        Texels::Rgba8(to_rgba(samples, channels, u8::MAX))
    };
    upright((width, height, texels), reader.info().exif_metadata.as_deref(), warnings)
}

fn explain(error: DecodingError) -> Diag {
    match error {
        DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => truncated(e),
        e => corrupt(e),
    }
}
