//! The memory that a bitmap takes while it is baked, by what its header states: an upper estimate, for limits and for
//! the scheduler.

use super::super::plan::bitmap::{BitmapSpec, Levels, is_float};
use super::super::plan::extension;
use super::bitmap::mips;
use kiln_engine::{Diag, Limits};
use kiln_format::pak::Sample;
use kiln_import::{image, light};
use kiln_texture::{Settings, Sources};

/// The bytes of an RGBA texel in floats.
const FLOAT_TEXEL: u64 = 16;

/// Refuses a bitmap that takes more memory than the limits admit. Too many pixels are left to the importer, which names
/// their place.
///
/// # Errors
/// `memory-limit` when the bitmap takes more.
pub(crate) fn check(bytes: &[u8], name: &str, spec: &BitmapSpec, limits: &Limits) -> Result<(), Diag> {
    let Some((width, height, channel_bytes)) = size(bytes, name) else { return Ok(()) };
    if limits.check_pixels(width, height).is_err() {
        return Ok(());
    }
    let what = format!("the texels of {width}x{height} pixels, their mip chain and the bitmap");
    limits.check_memory(of(spec, width, height, channel_bytes), what)
}

/// An estimate from the first bytes of a file with this extension; 0 where they do not tell.
pub(crate) fn estimate(head: &[u8], spec: &BitmapSpec) -> u64 {
    let found = size(head, &extension(&spec.src.path));
    found.map_or(0, |(width, height, channel_bytes)| of(spec, width, height, channel_bytes))
}

/// Width, height and the bytes of a channel once it is decoded.
fn size(head: &[u8], extension: &str) -> Option<(u32, u32, u32)> {
    match image::probe(head, extension) {
        Some(image) => Some((image.width, image.height, image.channel_bytes)),
        None => light::probe(head).map(|(width, height)| (width, height, 4)),
    }
}

fn of(spec: &BitmapSpec, width: u32, height: u32, channel_bytes: u32) -> u64 {
    let texels = |width: u32, height: u32| u64::from(width).saturating_mul(height.into());
    let source = texels(width, height).saturating_mul(4 * u64::from(channel_bytes));
    let settings = Settings {
        compress: spec.uastc,
        zstd: spec.uastc,
        mips: mips(spec.levels),
        max_size: spec.resize,
        ..Settings::default()
    };
    let is_float = is_float(&spec.src) || spec.sample == Some(Sample::F32);
    let sources = Sources { width, height, channel_bytes, count: 1, cube: false };
    let encoding = kiln_texture::working_set(&sources, &settings);
    if spec.uastc && !is_float {
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
    let chain = if spec.levels == Levels::Count(1) { base } else { base.saturating_mul(4) / 3 };
    if is_float {
        // The levels in floats, the channels that are kept of them, and these as they are written.
        return source.saturating_add(chain.saturating_mul(3 * FLOAT_TEXEL));
    }
    let deep = match spec.sample {
        Some(Sample::U8) => false,
        Some(_) => true,
        None => channel_bytes > 1,
    };
    let stored = chain.saturating_mul(if deep { 8 } else { 4 });
    // Sixteen bits are filtered a whole level at a time.
    let filtering = if deep { chain.saturating_sub(base).saturating_mul(FLOAT_TEXEL) } else { 0 };
    let decoded = source.saturating_add(stored).saturating_add(filtering);
    let encoding = match (deep, spec.levels) {
        (true, _) => decoded,
        // The texels become the only level where they are.
        (false, Levels::Count(1)) if base == texels(width, height) && channel_bytes == 1 => source,
        (false, _) => encoding,
    };
    // At the end there are the channels that are kept, and these as they are written.
    encoding.max(stored.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::plan::Reference;
    use crate::bake::plan::bitmap::Use;
    use kiln_engine::RelPath;
    use kiln_format::pak::Color;

    fn spec(levels: Levels, sample: Option<Sample>, resize: Option<u32>) -> BitmapSpec {
        let src = Reference { path: RelPath::new("a.png").unwrap(), part: None };
        BitmapSpec {
            src,
            used_as: Use::Color,
            color: Color::Srgb,
            swizzle: vec![],
            resize,
            levels,
            sample,
            uastc: false,
        }
    }

    #[test]
    fn mip_chain_depth_and_the_written_copy_count() {
        let texels = 1000 * 1000;
        let of = |levels, sample, resize| of(&spec(levels, sample, resize), 1000, 1000, 1);
        let alone = of(Levels::Count(1), None, None);
        assert_eq!(alone, 8 * texels);
        let largest = super::of(&spec(Levels::Count(1), None, None), 16384, 16384, 1);
        assert_eq!(Limits::default().check_memory(largest, "the default limit"), Ok(()));
        let chain = of(Levels::Full, None, None);
        assert!(chain >= 4 * texels * 8 / 3 && chain > alone, "{chain}");
        // Two copies of a mip chain of sixteen bits.
        assert!(of(Levels::Full, Some(Sample::U16), None) >= 21 * texels);
        assert!(of(Levels::Full, Some(Sample::F32), None) >= 48 * texels);
        // The source is decoded as it is, what is made of it is smaller.
        let small = of(Levels::Full, None, Some(100));
        assert!(small >= 4 * texels && small < alone, "{small}");
        assert_eq!(super::of(&spec(Levels::Full, None, None), u32::MAX, u32::MAX, 4), u64::MAX);
    }
}
