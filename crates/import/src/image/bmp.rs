//! BMP (Windows bitmaps): 1 to 32 bits, run-length coded, alpha where a version 3 or later header masks it out.
//!
//! The fourth byte of plain 32-bit files is padding by the format's rules, so those are opaque.

use std::io::Cursor;

use ::image::codecs::bmp::BmpDecoder;
use kiln_ir::Image;
use kiln_kit::{Diag, Limits};

use super::{decode, explain, le16, le32, whole};

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    // The oldest header has 12 bytes and 16-bit sides; in the others a negative height means top row first.
    match le32(prefix, 14)? {
        12 => Some((le16(prefix, 18)?, le16(prefix, 20)?)),
        _ => Some((le32(prefix, 18)?, le32(prefix, 22)?.cast_signed().unsigned_abs())),
    }
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    whole(decode(BmpDecoder::new(Cursor::new(bytes)).map_err(explain)?, limits)?)
}
