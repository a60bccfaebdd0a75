//! GIF: the first frame, on a transparent canvas of the size that the file states.

use std::io::Cursor;
use std::num::NonZeroU64;

use ::gif::{ColorOutput, DecodeOptions, DecodingError, MemoryLimit};
use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, animated, checked_image, corrupt, decoder_message, le16, truncated};

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    Some((le16(prefix, 6)?, le16(prefix, 8)?))
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let (width, height) = probe(bytes).ok_or_else(|| truncated("the GIF header is incomplete"))?;
    let size = admit(limits, width, height, 1)?;
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    options.check_frame_consistency(true);
    if let Some(limit) = NonZeroU64::new(limits.max_memory) {
        options.set_memory_limit(MemoryLimit::Bytes(limit));
    }
    let mut decoder = options.read_info(Cursor::new(bytes)).map_err(diagnose)?;
    let frame =
        decoder.next_frame_info().map_err(diagnose)?.ok_or_else(|| corrupt("the GIF has no frame"))?;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let (columns, rows) = (usize::from(frame.width), usize::from(frame.height));
    let canvas = width as usize;
    if left + columns > canvas || top + rows > height as usize {
        return Err(corrupt("the first frame of the GIF lies outside its canvas"));
    }
    let what = format_args!("the first frame and the canvas of {width}x{height} pixels");
    limits.check_memory(size as u64 + decoder.buffer_size() as u64, what)?;
    let mut pixels = vec![0; decoder.buffer_size()];
    decoder.read_into_buffer(&mut pixels).map_err(diagnose)?;
    let mut texels = vec![0; size];
    if columns > 0 {
        let canvas_rows = texels.chunks_exact_mut(canvas * 4).skip(top);
        for (row, out) in pixels.chunks_exact(columns * 4).zip(canvas_rows) {
            out[left * 4..][..columns * 4].copy_from_slice(row);
        }
    }
    if decoder.next_frame_info().map_err(diagnose)?.is_some() {
        warnings.push(animated("the file is an animated GIF"));
    }
    checked_image((width, height, Texels::Rgba8(texels)))
}

fn diagnose(error: DecodingError) -> Diag {
    match error {
        DecodingError::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            truncated("the GIF data is incomplete")
        }
        e => corrupt(decoder_message(e)),
    }
}
