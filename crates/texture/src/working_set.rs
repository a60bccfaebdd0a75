//! How much memory a texture takes while it is made, estimated before a pixel is decoded.

use crate::Settings;
use crate::mips::{fit, level_size};

/// An upper estimate of the bytes in use at the worst moment while `count` pictures (layers or faces) of
/// `width` × `height` become a texture: the sources (taken to be sixteen bits deep), the levels in floats,
/// the result and the scratch of every thread of the current pool.
pub fn working_set(width: u32, height: u32, count: u32, settings: &Settings) -> u64 {
    let texels =
        |(w, h): (u32, u32)| u64::from(w).saturating_mul(u64::from(h)).saturating_mul(u64::from(count));
    let base = fit(width, height, settings.max_size);
    let source = texels((width, height)).saturating_mul(8);
    let floats = |size| texels(size).saturating_mul(16);
    let levels = settings.mips.levels(base.0, base.1);
    let next = if levels > 1 { floats(level_size(base.0, base.1, 1)) } else { 0 };
    // At any time two pictures: a source that becomes a smaller base, or a base that becomes the next level.
    let filtering = match base == (width, height) {
        true => source.saturating_add(next),
        false => floats(base).saturating_add(source.max(next)),
    };
    // Coverage looks at a copy of a filtered level's alpha, one of its four floats.
    let filtered = if base == (width, height) { next } else { floats(base) };
    let filtering = filtering.saturating_add(settings.alpha_coverage.map_or(0, |_| filtered / 4));
    let stored: u64 = (0..levels)
        .map(|level| level_size(base.0, base.1, level))
        .map(|(w, h)| match settings.compress {
            true => texels((w.div_ceil(4), h.div_ceil(4))).saturating_mul(16),
            false => texels((w, h)).saturating_mul(4),
        })
        .fold(0, u64::saturating_add);
    // A thread holds a row in floats, the kernel's ring (eight rows' worth) and a strip of 32 rows of bytes.
    let threads = rayon::current_num_threads() as u64;
    let scratch = threads.saturating_mul(u64::from(width)).saturating_mul(16 + 128 + 128);
    // Compressed levels are at most a little longer than plain ones; each thread has a compressor of some
    // megabytes.
    let compressing = if settings.zstd { stored.saturating_add(stored / 128 + (threads << 23)) } else { 0 };
    stored.saturating_add(filtering.max(compressing)).saturating_add(scratch).saturating_add(1 << 16)
}
