//! WebP (RFC 9649): lossy, lossless, with alpha; of an animation, the first frame.
//!
//! Rejects a file shorter than its header states, and a frame whose two stated sizes differ.

use std::borrow::Cow;
use std::io::{Cursor, ErrorKind};

use image_webp::{DecodingError, WebPDecoder};
use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{
    admit, animated, corrupt, decoder_message, expand_to_rgba, incomplete_texels, le16, le32, truncated,
    upright,
};

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    match prefix.get(12..16)? {
        // Canvas: two 24-bit fields, each one less than the dimension.
        b"VP8X" => Some(((le32(prefix, 24)? & 0xFF_FFFF) + 1, (le32(prefix, 26)? >> 8) + 1)),
        // Lossless: two 14-bit fields after the signature byte, each one less than the dimension.
        b"VP8L" => le32(prefix, 21).map(|bits| ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)),
        b"VP8 " => lossy_size(prefix.get(20..)?),
        _ => None,
    }
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    // The decoder accepts files that are truncated after the first frame.
    let declared = u64::from(le32(bytes, 4).unwrap_or_default()) + 8;
    if declared > bytes.len() as u64 {
        return Err(truncated(format!("the file has {} of {declared} bytes", bytes.len())));
    }
    let opaque = is_opaque_lossless(bytes);
    let bytes = if opaque { Cow::Owned(declare_alpha(bytes)) } else { Cow::Borrowed(bytes) };
    let mut decoder = WebPDecoder::new(Cursor::new(&*bytes)).map_err(diagnose)?;
    let (canvas, is_animated) = (decoder.dimensions(), decoder.is_animated());
    if is_animated {
        warnings.push(animated("the file is an animated WebP"));
    }
    if !sizes_match(&bytes, canvas, is_animated) {
        return Err(corrupt("the size of a frame differs from that in its header"));
    }
    let size = admit(limits, canvas.0, canvas.1, 1)?;
    let pixels = u64::from(canvas.0) * u64::from(canvas.1);
    let what = format_args!("the frame and the texels of {}x{} pixels", canvas.0, canvas.1);
    limits.check_memory(pixels * bytes_per_pixel(&bytes, is_animated), what)?;
    // Some writers keep the prefix of the EXIF block in JPEG files.
    let exif = chunk(&bytes, b"EXIF").map(|exif| exif.strip_prefix(b"Exif\0\0").unwrap_or(exif));
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut texels = vec![0; size];
    let samples = texels.get_mut(..size / 4 * channels).ok_or_else(incomplete_texels)?;
    decoder.read_image(samples).map_err(diagnose)?;
    expand_to_rgba(&mut texels, channels);
    if opaque {
        texels.as_chunks_mut().0.iter_mut().for_each(|[_, _, _, a]| *a = u8::MAX);
    }
    upright((canvas.0, canvas.1, Texels::Rgba8(texels)), exif, warnings)
}

fn diagnose(error: DecodingError) -> Diag {
    match error {
        DecodingError::IoError(e) if e.kind() == ErrorKind::UnexpectedEof => {
            truncated("the WebP data is incomplete")
        }
        e => corrupt(decoder_message(e)),
    }
}

/// Returns the bytes per pixel that the decoder allocates: the texels, luma and chroma of a lossy frame, its separate
/// alpha, and the canvas of an animation.
fn bytes_per_pixel(bytes: &[u8], animated: bool) -> u64 {
    match animated {
        true => 4 + 4 + 11,
        false if chunk(bytes, b"ALPH").is_some() => 11,
        false if chunk(bytes, b"VP8 ").is_some() => 6,
        false => 4,
    }
}

/// Returns `true` for a single lossless frame whose header states no alpha.
fn is_opaque_lossless(bytes: &[u8]) -> bool {
    match bytes.get(12..16) {
        Some(b"VP8L") => bytes.get(24).is_some_and(|flags| flags & LOSSLESS_ALPHA == 0),
        Some(b"VP8X") => {
            let plain = bytes.get(20).is_some_and(|flags| flags & (EXTENDED_ALPHA | EXTENDED_ANIMATION) == 0);
            plain && chunk(bytes, b"VP8L").is_some()
        }
        _ => false,
    }
}

/// Returns the same file with the alpha flag set. Lossless frames always contain alpha; the decoder writes them in place
/// only with the flag, and otherwise decodes them into another buffer and copies.
fn declare_alpha(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match &bytes[12..16] {
        b"VP8L" => bytes[24] |= LOSSLESS_ALPHA,
        _ => bytes[20] |= EXTENDED_ALPHA,
    }
    bytes
}

/// The alpha flag in the last byte of a lossless frame's header.
const LOSSLESS_ALPHA: u8 = 0x10;
/// The alpha and animation flags in the first byte of an extended header.
const EXTENDED_ALPHA: u8 = 0x10;
const EXTENDED_ANIMATION: u8 = 0x02;

/// Returns `true` if the frame to be decoded has the size that the enclosing header states. The decoder allocates a lossy
/// frame before it compares, and panics on one in an animation with alpha.
fn sizes_match(bytes: &[u8], canvas: (u32, u32), animated: bool) -> bool {
    if !animated {
        return chunk(bytes, b"VP8 ").is_none_or(|frame| lossy_size(frame) == Some(canvas));
    }
    let Some(frame) = chunk(bytes, b"ANMF") else { return false };
    let (Some(width), Some(height)) = (le32(frame, 6), le32(frame, 9)) else { return false };
    let stated = ((width & 0xFF_FFFF) + 1, (height & 0xFF_FFFF) + 1);
    // The chunk after alpha is decoded as lossy whatever its name.
    let mut parts = chunks(frame.get(16..).unwrap_or_default());
    match parts.next() {
        Some((b"VP8L", _)) => true,
        Some((b"VP8 ", data)) => lossy_size(data) == Some(stated),
        Some((b"ALPH", _)) => parts.next().is_some_and(|(_, data)| lossy_size(data) == Some(stated)),
        _ => false,
    }
}

/// Reads the size of a lossy frame: two 14-bit fields after the frame tag and the start code, each below two bits of
/// scaling.
fn lossy_size(data: &[u8]) -> Option<(u32, u32)> {
    Some((le16(data, 6)? & 0x3FFF, le16(data, 8)? & 0x3FFF))
}

/// Returns the content of the first chunk of this name.
fn chunk<'a>(bytes: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    chunks(bytes.get(12..)?).find(|(found, _)| *found == name).map(|(_, content)| content)
}

/// Iterates over the chunks up to the first incomplete one.
fn chunks(mut rest: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (name, after) = rest.split_first_chunk()?;
        let length = usize::try_from(le32(after, 0)?).ok()?;
        let content = after.get(4..length.checked_add(4)?)?;
        rest = after.get(4 + length + length % 2..).unwrap_or_default();
        Some((name, content))
    })
}
