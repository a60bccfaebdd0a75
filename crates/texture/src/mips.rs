//! Mip chain: level counts, level sizes and the filter from one level to the next.
//!
//! Each level is filtered from the previous one, which is kept in floats and not clamped, so that no
//! precision is lost on the way down. Large images are filtered a window of rows at a time (`streaming.rs`).
//! Work is split into bands of rows; a row's value does not depend on its band, so the result is the same for
//! any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::filter_mode::{FilterMode, MIN_WEIGHT, Texel};
use crate::kernel::{Edge, Taps, reach};

/// The number of mip levels of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mips {
    /// A full mip chain, down to 1×1.
    #[default]
    Full,
    /// The base level only.
    None,
    /// At most this many levels including the base level (zero counts as one).
    Count(u32),
}

impl Mips {
    /// Returns the number of mip levels of a texture whose base level is `width` × `height`.
    pub fn levels(self, width: u32, height: u32) -> u32 {
        let full = width.max(height).max(1).ilog2() + 1;
        match self {
            Mips::Full => full,
            Mips::None => 1,
            Mips::Count(n) => n.clamp(1, full),
        }
    }
}

/// Returns the size of a mip level: halved and rounded down for each level, at least 1×1.
pub(crate) fn level_size(width: u32, height: u32, level: u32) -> (u32, u32) {
    ((width >> level).max(1), (height >> level).max(1))
}

/// Returns the largest size of the same aspect ratio whose longer side is at most `limit`; never larger than
/// the original.
pub(crate) fn fit(width: u32, height: u32, limit: Option<u32>) -> (u32, u32) {
    let (longer, limit) = (width.max(height), limit.unwrap_or(u32::MAX).max(1));
    if longer <= limit {
        return (width, height);
    }
    let scaled = |side: u32| {
        let rounded = (u64::from(side) * u64::from(limit) + u64::from(longer) / 2) / u64::from(longer);
        (rounded as u32).max(1)
    };
    (scaled(width), scaled(height))
}

/// A source of rows of texels, optionally with a border of neighbouring texels all around.
pub(crate) trait Rows: Sync {
    /// Returns the width in texels, without the border.
    fn width(&self) -> u32;
    /// Returns the height in texels, without the border.
    fn height(&self) -> u32;
    /// Returns the address mode. With [`Edge::Border`], `read` counts from the border's corner and fills
    /// whole rows of `border + width + border` texels, where the border is as wide as the kernel's reach.
    fn edge(&self) -> Edge;
    /// Reads a whole row.
    fn read(&self, y: usize, out: &mut [Texel]);
}

/// Returns the destination rows of one task. Two neighbouring bands both filter the three source rows between
/// them: under a tenth of the work for 32 rows. Smaller images are split finer, so that several threads have
/// work.
fn band_rows(height: u32) -> usize {
    (height / 16).clamp(8, 32) as usize
}

/// Downscales `source` to `width` × `height`, which must not exceed its size.
pub(crate) fn shrink(source: &impl Rows, filter_mode: FilterMode, width: u32, height: u32) -> Vec<Texel> {
    Pass::new((source.width(), source.height()), source.edge(), filter_mode, (width, height))
        .rows(source, 0..height as usize)
}

/// A resampling pass from one size to another.
pub(crate) struct Pass {
    across: Taps,
    down: Taps,
    /// Texels in a row of the source, including the border.
    row_len: usize,
    translucent: bool,
}

impl Pass {
    /// Returns the pass from size `from` to size `to`, which must not exceed it.
    pub(crate) fn new(from: (u32, u32), edge: Edge, filter_mode: FilterMode, to: (u32, u32)) -> Pass {
        let border = match edge {
            Edge::Clamp => 0,
            Edge::Border => reach(from.0, to.0),
        };
        let across = Taps::new(from.0, to.0, edge);
        let is_square = (from.0, to.0) == (from.1, to.1);
        Pass {
            down: if is_square { across.clone() } else { Taps::new(from.1, to.1, edge) },
            across,
            row_len: from.0 as usize + 2 * border as usize,
            translucent: filter_mode == FilterMode::Translucent,
        }
    }

    /// Returns the source rows of a destination row.
    pub(crate) fn sources(&self, row: usize) -> Range<usize> {
        let (first, weights) = self.down.of(row);
        first..first + weights.len()
    }

    /// Filters a range of destination rows. Reads only the source rows that they need.
    pub(crate) fn rows(&self, source: &impl Rows, rows: Range<usize>) -> Vec<Texel> {
        let (width, band) = (self.across.len(), band_rows(rows.len() as u32));
        let mut out = vec![[0.0; 4]; width * rows.len()];
        let bands = out.par_chunks_mut(width * band).enumerate();
        bands.for_each(|(i, out)| self.filter(source, rows.start + i * band, out));
        out
    }

    /// Fills the destination rows from row `top` on. Filters horizontally first and keeps the filtered rows
    /// in a ring buffer as tall as the kernel. Translucent rows are kept twice, the second time with absolute
    /// weights.
    fn filter(&self, source: &impl Rows, top: usize, out: &mut [Texel]) {
        let width = self.across.len();
        let slots = self.down.longest();
        let kept = if self.translucent { 2 * width } else { width };
        let mut line = vec![[0.0; 4]; self.row_len];
        let mut ring = vec![[0.0; 4]; kept * slots];
        let mut next = 0;
        for (y, out) in out.chunks_exact_mut(width).enumerate() {
            let (first, weights) = self.down.of(top + y);
            next = next.max(first);
            while next < first + weights.len() {
                source.read(next, &mut line);
                let (row, positive) = ring[next % slots * kept..][..kept].split_at_mut(width);
                self.filter_row(&line, |weight| weight, row);
                self.filter_row(&line, f32::abs, positive);
                next += 1;
            }
            let rows = || {
                weights
                    .iter()
                    .zip(first..)
                    .map(|(weight, row)| (*weight, &ring[row % slots * kept..][..kept]))
            };
            for (weight, row) in rows() {
                let values = row[..width].as_flattened();
                out.as_flattened_mut().iter_mut().zip(values).for_each(|(sum, v)| *sum += weight * v);
            }
            if self.translucent {
                for (x, texel) in out.iter_mut().enumerate().filter(|(_, texel)| texel[3] < FAINT) {
                    let mut sum = [0.0; 4];
                    rows().for_each(|(weight, row)| add(&mut sum, weight.abs(), &row[width + x]));
                    *texel = faint_texel(texel[3], sum);
                }
            }
        }
    }

    /// Filters one row horizontally; an empty `out` skips it.
    fn filter_row(&self, row: &[Texel], weigh: impl Fn(f32) -> f32, out: &mut [Texel]) {
        for (x, out) in out.iter_mut().enumerate() {
            let (first, weights) = self.across.of(x);
            let mut sum = [0.0; 4];
            for (weight, texel) in weights.iter().zip(&row[first..first + weights.len()]) {
                add(&mut sum, weigh(*weight), texel);
            }
            *out = sum;
        }
    }
}

fn add(sum: &mut Texel, weight: f32, texel: &Texel) {
    for c in 0..4 {
        sum[c] += weight * texel[c];
    }
}

/// Texels with less alpha than this get their colour from [`faint_texel`]: well above what the kernel's
/// negative lobes can subtract.
const FAINT: f32 = 0.25;

/// Returns a texel with low alpha: its alpha, and the average colour of the kernel's support.
///
/// Negative lobes may cancel out nearly all of the weight, and a colour divided by the remainder would be
/// noise. An average cannot overshoot. It also gives transparent texels the colour of the visible texels next
/// to them, so that bilinear sampling shows no fringe.
fn faint_texel(alpha: f32, mean: Texel) -> Texel {
    let weight = alpha.max(MIN_WEIGHT);
    let ratio = weight / mean[3];
    [mean[0] * ratio, mean[1] * ratio, mean[2] * ratio, weight]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_counts_and_sizes_match_vulkan() {
        for (w, h, full) in [(1, 1, 1), (2, 1, 2), (5, 3, 3), (256, 256, 9), (1, 1000, 10), (u32::MAX, 1, 32)]
        {
            assert_eq!(Mips::Full.levels(w, h), full, "{w}x{h}");
            assert_eq!(level_size(w, h, full - 1), (1, 1));
            assert_eq!(Mips::None.levels(w, h), 1);
            assert_eq!(Mips::Count(0).levels(w, h), 1);
            assert_eq!(Mips::Count(2).levels(w, h), full.min(2));
            assert_eq!(Mips::Count(99).levels(w, h), full);
        }
        assert_eq!(level_size(5, 3, 1), (2, 1));
    }

    #[test]
    fn fit_keeps_the_aspect_ratio() {
        for (w, h, limit, expected) in [
            (100, 50, Some(50), (50, 25)),
            (100, 50, Some(100), (100, 50)),
            (100, 50, None, (100, 50)),
            (5000, 1, Some(4096), (4096, 1)),
            (3, 1000, Some(10), (1, 10)),
            (10, 10, Some(0), (1, 1)),
            (u32::MAX, u32::MAX, Some(7), (7, 7)),
        ] {
            assert_eq!(fit(w, h, limit), expected, "{w}x{h}");
        }
    }
}
