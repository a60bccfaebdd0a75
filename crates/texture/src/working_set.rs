//! Upper estimate of the memory that encoding a texture takes, computed before a pixel is decoded.

use crate::mips::{fit, level_size};
use crate::{Settings, Wrap, row_stream, streaming};

/// The dimensions of the images that a texture is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Width of each image in texels.
    pub width: u32,
    /// Height of each image in texels.
    pub height: u32,
    /// Bytes of a channel: 1 or 2.
    pub channel_bytes: u32,
    /// The number of images: layers or faces.
    pub count: u32,
    /// True for the faces of a cubemap, whose mip levels are filtered together.
    pub cube: bool,
}

/// Returns an upper estimate of the peak memory in bytes while images are encoded: the sources, texels in
/// floats, the result and the scratch buffers of every thread of the current rayon pool.
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
    let sixteen_bit = settings.sixteen_bit && !settings.compress;
    let filtering =
        if cube || settings.alpha_coverage.is_some() || settings.wrap != Wrap::Clamp || sixteen_bit {
            // Whole levels: at any time one and the one that is filtered from it; coverage copies the alpha
            // channel.
            let together = if cube { count } else { 1 };
            let floats = |size| texels(size, together).saturating_mul(16);
            let two = floats(first).saturating_add(if first == next { 0 } else { floats(next) });
            two.saturating_add(settings.alpha_coverage.map_or(0, |_| floats(first) / 4))
        } else {
            streaming::window_bytes(first.0, first.1)
        };
    let stored: u64 = (0..levels)
        .map(|level| level_size(base.0, base.1, level))
        .map(|(w, h)| match settings.compress {
            true => texels((w.div_ceil(4), h.div_ceil(4)), count).saturating_mul(16),
            // The mip chain as images, and as bytes.
            false if sixteen_bit => texels((w, h), count).saturating_mul(16),
            false => texels((w, h), count).saturating_mul(4),
        })
        .fold(0, u64::saturating_add);
    // A thread holds a row in floats, the kernel's ring buffer (eight rows' worth) and a strip of 32 rows of
    // bytes.
    let threads = rayon::current_num_threads() as u64;
    let scratch = threads.saturating_mul(u64::from(width)).saturating_mul(16 + 128 + 128);
    // Supercompressed levels are at most slightly longer than the input; each thread has a compressor of some
    // megabytes.
    let compressing = if settings.zstd { stored.saturating_add(stored / 128 + (threads << 23)) } else { 0 };
    // Of a huge texture, two batches of rows and the compressed levels are in memory beside the other levels.
    let streaming = match settings.zstd && settings.compress && stored >= row_stream::STREAMED_LEN as u64 {
        true => (stored / 3).saturating_add(2 * row_stream::BATCH_LEN as u64),
        false => 0,
    };
    let encoding = source.saturating_add(filtering.max(streaming));
    stored.saturating_add(encoding.max(compressing)).saturating_add(scratch).saturating_add(1 << 16)
}
