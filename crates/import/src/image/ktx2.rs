//! KTX 2.0 with a Basis Universal payload (UASTC or ETC1S), as `KHR_texture_basisu` has it: its largest level.
//!
//! Refused: cubemaps, arrays, volumes, video, and payloads for one kind of GPU. Textures are read here to be encoded
//! again with the settings of the project; no `.ktx2` is a source by itself.

use std::panic::{AssertUnwindSafe, catch_unwind};

use basisu::{DecodeFlags, TargetFormat, Transcoder};
use kiln_ir::{Image, Texels};
use kiln_kit::{Code, Diag, Limits};

use super::{admit, corrupt, le32};

/// The header: identifier, format and type size, then the sides.
pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    Some((le32(prefix, 20)?, le32(prefix, 24)?))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    let field = |at: usize| le32(bytes, at).ok_or_else(|| corrupt("its header is cut off"));
    let (width, height) = (field(20)?, field(24)?);
    let texels = admit(limits, width, height, 1)?;
    let (depth, layers, faces) = (field(28)?, field(32)?, field(36)?);
    if depth > 0 || layers > 1 || faces != 1 {
        return Err(Diag::new(Code::ImageKind, "this KTX texture is a cubemap, an array or a volume")
            .hint("a material needs a single picture"));
    }
    let blocks = check_level(bytes, width, height)?;
    limits.check_memory(
        texels as u64 + blocks,
        format_args!("the blocks and texels of {width}x{height} pixels"),
    )?;
    // The transcoder is made for files of its own tools; a damaged one may trip it.
    let transcode = || {
        let transcoder = Transcoder::new(bytes).ok()?;
        transcoder.transcode(0, TargetFormat::Rgba32, DecodeFlags::NONE).ok()
    };
    let texels = catch_unwind(AssertUnwindSafe(transcode)).ok().flatten();
    let texels = texels.ok_or_else(|| {
        Diag::new(Code::ImageCorrupt, "this KTX texture is damaged, or has no Basis Universal payload")
            .hint("export it again, as UASTC or ETC1S")
    })?;
    Image::new(width, height, Texels::Rgba8(texels))
        .ok_or_else(|| corrupt("its level has another size than it says"))
}

/// The bytes of the first level without supercompression, as the index states them, before memory is taken for it.
fn check_level(bytes: &[u8], width: u32, height: u32) -> Result<u64, Diag> {
    let word = |at: usize| Some(u64::from(le32(bytes, at)?) | u64::from(le32(bytes, at + 4)?) << 32);
    let level = || Some((word(80)?, word(88)?, word(96)?));
    let (offset, length, unpacked) = level().ok_or_else(|| corrupt("its index is cut off"))?;
    let inside = offset.checked_add(length).is_some_and(|end| end <= bytes.len() as u64);
    // Sixteen bytes for sixteen texels is the most that a payload takes.
    let most = u64::from(width.div_ceil(4)) * u64::from(height.div_ceil(4)) * 16;
    if !inside || unpacked > most {
        return Err(corrupt("its first level is larger than it can be"));
    }
    Ok(unpacked)
}
