//! WebP (RFC 9649): lossy, lossless, with alpha; of an animation, the first frame.

use std::io::Cursor;

use ::image::ImageDecoder;
use ::image::codecs::webp::WebPDecoder;
use kiln_ir::Image;
use kiln_kit::Diag;

use super::{Limits, animated, decode, explain, le16, le32, truncated, upright};

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    match prefix.get(12..16)? {
        // Canvas: two 24-bit fields, each one less than the side.
        b"VP8X" => Some(((le32(prefix, 24)? & 0xFF_FFFF) + 1, (le32(prefix, 26)? >> 8) + 1)),
        // Lossless: two 14-bit fields after the signature byte, each one less than the side.
        b"VP8L" => le32(prefix, 21).map(|bits| ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)),
        // Lossy: two 14-bit fields after the frame tag and the start code, each below two bits of scaling.
        b"VP8 " => Some((le16(prefix, 26)? & 0x3FFF, le16(prefix, 28)? & 0x3FFF)),
        _ => None,
    }
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    // The decoder is content as long as the first frame is there.
    let declared = le32(bytes, 4).unwrap_or_default();
    if u64::from(declared) + 8 > bytes.len() as u64 {
        return Err(truncated(format!("{} bytes of {}", bytes.len(), u64::from(declared) + 8)));
    }
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(explain)?;
    if decoder.has_animation() {
        warnings.push(animated("an animated WebP"));
    }
    let exif = decoder.exif_metadata().map_err(explain)?;
    // Some writers keep the prefix that the block has in JPEG files.
    let exif = exif.as_deref().map(|exif| exif.strip_prefix(b"Exif\0\0").unwrap_or(exif));
    upright(decode(decoder, limits)?, exif, warnings)
}
