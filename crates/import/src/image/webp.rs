//! WebP (RFC 9649): lossy, lossless, with alpha; of an animation, the first frame.
//!
//! Refused: a file shorter than it says, and a frame whose size is stated twice and differently.

use std::io::Cursor;

use ::image::ImageDecoder;
use ::image::codecs::webp::WebPDecoder;
use kiln_ir::Image;
use kiln_kit::Diag;

use super::{Limits, animated, corrupt, decode, explain, le16, le32, truncated, upright};

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    match prefix.get(12..16)? {
        // Canvas: two 24-bit fields, each one less than the side.
        b"VP8X" => Some(((le32(prefix, 24)? & 0xFF_FFFF) + 1, (le32(prefix, 26)? >> 8) + 1)),
        // Lossless: two 14-bit fields after the signature byte, each one less than the side.
        b"VP8L" => le32(prefix, 21).map(|bits| ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)),
        b"VP8 " => lossy_size(prefix.get(20..)?),
        _ => None,
    }
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    // The decoder is content as long as the first frame is there.
    let declared = u64::from(le32(bytes, 4).unwrap_or_default()) + 8;
    if declared > bytes.len() as u64 {
        return Err(truncated(format!("{} bytes of {declared}", bytes.len())));
    }
    let decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(explain)?;
    if decoder.has_animation() {
        warnings.push(animated("an animated WebP"));
    }
    if !sizes_agree(bytes, decoder.dimensions(), decoder.has_animation()) {
        return Err(corrupt("a frame has another size than its header says"));
    }
    // Some writers keep the prefix that the block has in JPEG files.
    let exif = chunk(bytes, b"EXIF").map(|exif| exif.strip_prefix(b"Exif\0\0").unwrap_or(exif));
    upright(decode(decoder, limits)?, exif, warnings)
}

/// Whether the frame to be decoded has the size that its surroundings state. The decoder allocates a lossy
/// frame before it compares, and panics on one in an animation with alpha.
fn sizes_agree(bytes: &[u8], canvas: (u32, u32), animated: bool) -> bool {
    if !animated {
        return chunk(bytes, b"VP8 ").is_none_or(|frame| lossy_size(frame) == Some(canvas));
    }
    let Some(frame) = chunk(bytes, b"ANMF") else { return false };
    let (Some(width), Some(height)) = (le32(frame, 6), le32(frame, 9)) else { return false };
    let stated = ((width & 0xFF_FFFF) + 1, (height & 0xFF_FFFF) + 1);
    // What follows alpha is decoded as lossy whatever its name.
    let mut parts = chunks(frame.get(16..).unwrap_or_default());
    match parts.next() {
        Some((b"VP8L", _)) => true,
        Some((b"VP8 ", data)) => lossy_size(data) == Some(stated),
        Some((b"ALPH", _)) => parts.next().is_some_and(|(_, data)| lossy_size(data) == Some(stated)),
        _ => false,
    }
}

/// Two 14-bit fields after the frame tag and the start code, each below two bits of scaling.
fn lossy_size(data: &[u8]) -> Option<(u32, u32)> {
    Some((le16(data, 6)? & 0x3FFF, le16(data, 8)? & 0x3FFF))
}

/// The content of the first chunk of this name.
fn chunk<'a>(bytes: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    chunks(bytes.get(12..)?).find(|(found, _)| *found == name).map(|(_, content)| content)
}

/// The chunks one after another, until one is not there as a whole.
fn chunks(mut rest: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (name, after) = rest.split_first_chunk()?;
        let length = usize::try_from(le32(after, 0)?).ok()?;
        let content = after.get(4..length.checked_add(4)?)?;
        rest = after.get(4 + length + length % 2..).unwrap_or_default();
        Some((name, content))
    })
}
