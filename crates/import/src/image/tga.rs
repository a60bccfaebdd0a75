//! TGA (Truevision): true colour, grey and palettes, plain or run-length coded, from any corner.
//!
//! There is no signature, so a file counts as TGA when its name says so and its header makes sense.

use std::io::Cursor;

use ::image::codecs::tga::TgaDecoder;
use kiln_ir::Image;
use kiln_kit::{Diag, Limits};

use super::{decode, explain, le16, whole};

/// Whether the header could be one: known types of palette and picture, a known depth.
pub(super) fn plausible(bytes: &[u8]) -> bool {
    bytes.len() >= 18
        && matches!(bytes[1], 0 | 1)
        && matches!(bytes[2], 1..=3 | 9..=11)
        && matches!(bytes[16], 8 | 15 | 16 | 24 | 32)
}

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    Some((le16(prefix, 12)?, le16(prefix, 14)?))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    whole(decode(TgaDecoder::new(Cursor::new(bytes)).map_err(explain)?, limits)?)
}
