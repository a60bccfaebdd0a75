//! An upper bound of the memory that baking a bitmap takes, from its file header, for resource limits and the scheduler.

use super::super::plan::bitmap::{BitmapSpec, MipLevels, is_float};
use super::super::plan::extension;
use kiln_engine::{Diag, Limits};
use kiln_format::pak::Sample;
use kiln_import::{hdr, image};
use kiln_texture::{Settings, Sources};

/// The size of an RGBA texel in 32-bit floats, in bytes.
const FLOAT_TEXEL: u64 = 16;

/// Rejects a bitmap that takes more memory than the limit. Too many pixels are left to the importer, which names the
/// place.
///
/// # Errors
/// `memory-limit` if the estimate exceeds the limit.
pub(crate) fn check(bytes: &[u8], name: &str, spec: &BitmapSpec, limits: &Limits) -> Result<(), Diag> {
    let Some((width, height, channel_bytes)) = size(bytes, name) else { return Ok(()) };
    if limits.check_pixels(width, height).is_err() {
        return Ok(());
    }
    let what = format!("the texels of {width}x{height} pixels, their mip chain and the bitmap");
    limits.check_memory(of(spec, width, height, channel_bytes), what)
}

/// Estimates the memory from the first bytes of a file; 0 if they do not contain the image size.
pub(crate) fn estimate(head: &[u8], spec: &BitmapSpec) -> u64 {
    let found = size(head, &extension(&spec.src.path));
    found.map_or(0, |(width, height, channel_bytes)| of(spec, width, height, channel_bytes))
}

/// Returns the width, the height and the bytes per decoded channel.
fn size(head: &[u8], extension: &str) -> Option<(u32, u32, u32)> {
    match image::probe(head, extension) {
        Some(image) => Some((image.width, image.height, image.channel_bytes)),
        None => hdr::probe(head).map(|(width, height)| (width, height, 4)),
    }
}

fn of(spec: &BitmapSpec, width: u32, height: u32, channel_bytes: u32) -> u64 {
    let texels = |width: u32, height: u32| u64::from(width).saturating_mul(height.into());
    let source = texels(width, height).saturating_mul(4 * u64::from(channel_bytes));
    let settings = Settings {
        compress: spec.blocks.is_some(),
        zstd: spec.is_supercompressed(),
        mips: spec.levels.mips(),
        max_size: spec.resize,
        ..Settings::default()
    };
    let is_float = is_float(&spec.src) || spec.sample == Some(Sample::F32);
    let sources = Sources { width, height, channel_bytes, count: 1, cube: false };
    let encoding = kiln_texture::working_set(&sources, &settings);
    if spec.blocks.is_some() && !is_float {
        return encoding;
    }
    let longer = width.max(height);
    let side = |side: u32| match spec.resize {
        Some(limit) if limit < longer => {
            (u64::from(side) * u64::from(limit)).div_ceil(longer.into()).max(1) as u32
        }
        _ => side,
    };
    let base = texels(side(width), side(height));
    let chain = if spec.levels == MipLevels::Count(1) { base } else { base.saturating_mul(4) / 3 };
    if is_float {
        // The mip chain in floats, the picked channels, and the written payload.
        return source.saturating_add(chain.saturating_mul(3 * FLOAT_TEXEL));
    }
    let deep = match spec.sample {
        Some(Sample::U8) => false,
        Some(_) => true,
        None => channel_bytes > 1,
    };
    let stored = chain.saturating_mul(if deep { 8 } else { 4 });
    // 16-bit images are filtered one whole level at a time.
    let filtering = if deep { chain.saturating_sub(base).saturating_mul(FLOAT_TEXEL) } else { 0 };
    let decoded = source.saturating_add(stored).saturating_add(filtering);
    let encoding = match (deep, spec.levels) {
        (true, _) => decoded,
        // The decoded texels become the only level in place.
        (false, MipLevels::Count(1)) if base == texels(width, height) && channel_bytes == 1 => source,
        (false, _) => encoding,
    };
    // At the end, the picked channels and the written payload exist at once.
    encoding.max(stored.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::payload::factor::Factor;
    use crate::bake::plan::Reference;
    use crate::bake::plan::bitmap::ImageUse;
    use kiln_engine::RelPath;
    use kiln_format::pak::Color;

    fn spec(levels: MipLevels, sample: Option<Sample>, resize: Option<u32>) -> BitmapSpec {
        let src = Reference { path: RelPath::new("a.png").unwrap(), part: None };
        BitmapSpec {
            src,
            used_as: ImageUse::Color,
            color: Color::Srgb,
            swizzle: vec![],
            resize,
            levels,
            sample,
            blocks: None,
            factor: Factor::One,
        }
    }

    #[test]
    fn estimate_includes_mip_chain_depth_and_written_copy() {
        let texels = 1000 * 1000;
        let of = |levels, sample, resize| of(&spec(levels, sample, resize), 1000, 1000, 1);
        let alone = of(MipLevels::Count(1), None, None);
        assert_eq!(alone, 8 * texels);
        let largest = super::of(&spec(MipLevels::Count(1), None, None), 16384, 16384, 1);
        assert_eq!(Limits::default().check_memory(largest, "the default limit"), Ok(()));
        let chain = of(MipLevels::Full, None, None);
        assert!(chain >= 4 * texels * 8 / 3 && chain > alone, "{chain}");
        // Two copies of a 16-bit mip chain.
        assert!(of(MipLevels::Full, Some(Sample::U16), None) >= 21 * texels);
        assert!(of(MipLevels::Full, Some(Sample::F32), None) >= 48 * texels);
        // The source is decoded at full size, the resized image is smaller.
        let small = of(MipLevels::Full, None, Some(100));
        assert!(small >= 4 * texels && small < alone, "{small}");
        assert_eq!(super::of(&spec(MipLevels::Full, None, None), u32::MAX, u32::MAX, 4), u64::MAX);
    }
}
