//! How much memory a texture takes while it is made, estimated before a pixel is decoded.

use crate::mips::{fit, level_size};
use crate::{Settings, cascade};

/// The images that a texture is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Texels in a row of each.
    pub width: u32,
    /// Rows of each.
    pub height: u32,
    /// Bytes of a channel.
    pub channel_bytes: u32,
    /// How many there are: layers, or faces.
    pub count: u32,
    /// Whether they are the faces of a cubemap, whose levels are filtered together.
    pub cube: bool,
}

/// An upper estimate of the bytes in use at the worst moment while images become a texture: the sources, what is in
/// floats, the result and the scratch of every thread of the current pool.
pub fn working_set(sources: &Sources, settings: &Settings) -> u64 {
    let Sources { width, height, channel_bytes, count, cube } = *sources;
    let texels = |(width, height): (u32, u32), count: u32| {
        u64::from(width).saturating_mul(height.into()).saturating_mul(count.into())
    };
    let base = fit(width, height, settings.max_size);
    let source = texels((width, height), count).saturating_mul(4 * u64::from(channel_bytes));
    let levels = settings.mips.levels(base.0, base.1);
    let next = if levels > 1 { level_size(base.0, base.1, 1) } else { (0, 0) };
    let first = if base == (width, height) { next } else { base };
    let filtering = if cube || settings.alpha_coverage.is_some() {
        // Whole levels: at any time one and the one that is made from it; coverage looks at a copy of its alpha.
        let together = if cube { count } else { 1 };
        let floats = |size| texels(size, together).saturating_mul(16);
        let two = floats(first).saturating_add(if first == next { 0 } else { floats(next) });
        two.saturating_add(settings.alpha_coverage.map_or(0, |_| floats(first) / 4))
    } else {
        cascade::windows(first.0, first.1)
    };
    let stored: u64 = (0..levels)
        .map(|level| level_size(base.0, base.1, level))
        .map(|(w, h)| match settings.compress {
            true => texels((w.div_ceil(4), h.div_ceil(4)), count).saturating_mul(16),
            false => texels((w, h), count).saturating_mul(4),
        })
        .fold(0, u64::saturating_add);
    // A thread holds a row in floats, the kernel's ring (eight rows' worth) and a strip of 32 rows of bytes.
    let threads = rayon::current_num_threads() as u64;
    let scratch = threads.saturating_mul(u64::from(width)).saturating_mul(16 + 128 + 128);
    // Compressed levels are at most a little longer than plain ones; each thread has a compressor of some
    // megabytes.
    let compressing = if settings.zstd { stored.saturating_add(stored / 128 + (threads << 23)) } else { 0 };
    let encoding = source.saturating_add(filtering);
    stored.saturating_add(encoding.max(compressing)).saturating_add(scratch).saturating_add(1 << 16)
}
