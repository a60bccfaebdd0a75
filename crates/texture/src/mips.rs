//! The chain of ever smaller levels: its sizes, and how one level is made from the one before.
//!
//! Each level is filtered from the previous one, which is kept in floats and not clamped, so that nothing is
//! lost on the way down. Large images are filtered a window of rows at a time (`cascade.rs`). Work is split into bands of rows; a row's value does not depend on the band it falls
//! in, so that the result is the same for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernel::{Edge, Taps, reach};
use crate::texel::{Meaning, Texel, VEIL};

/// How many levels to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mips {
    /// All, down to 1×1.
    #[default]
    Full,
    /// The base level alone.
    None,
    /// At most this many, the base level among them (zero counts as one).
    Count(u32),
}

impl Mips {
    /// The number of levels of a texture whose base is `width` × `height`.
    pub fn levels(self, width: u32, height: u32) -> u32 {
        let full = width.max(height).max(1).ilog2() + 1;
        match self {
            Mips::Full => full,
            Mips::None => 1,
            Mips::Count(n) => n.clamp(1, full),
        }
    }
}

/// The size of a level: halved and rounded down each time, but never nothing.
pub(crate) fn level_size(width: u32, height: u32, level: u32) -> (u32, u32) {
    ((width >> level).max(1), (height >> level).max(1))
}

/// The largest size of the same aspect whose longer side is at most `limit`; never larger than the original.
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

/// Something to filter: rows of texels, perhaps with a border of the neighbours' texels all around.
pub(crate) trait Rows: Sync {
    /// Texels in a row, without the border.
    fn width(&self) -> u32;
    /// Number of rows, without the border.
    fn height(&self) -> u32;
    /// What lies beyond the edges. With [`Edge::Border`], `read` counts from the border's corner and fills
    /// whole rows of `border + width + border` texels, where the border is as wide as the kernel reaches.
    fn edge(&self) -> Edge;
    /// A row, whole.
    fn read(&self, y: usize, out: &mut [Texel]);
}

/// Destination rows that one task makes. Two bands both need the three rows' worth of source between them: under a
/// tenth of the work for 32 rows. Lower images are cut finer, so that several threads have something to do.
fn band(height: u32) -> usize {
    (height / 16).clamp(8, 32) as usize
}

/// `source` at `width` × `height`, which must not exceed its own size.
pub(crate) fn shrink(source: &impl Rows, meaning: Meaning, width: u32, height: u32) -> Vec<Texel> {
    Pass::new((source.width(), source.height()), source.edge(), meaning, (width, height))
        .rows(source, 0..height as usize)
}

/// One change of size.
pub(crate) struct Pass {
    across: Taps,
    down: Taps,
    /// Texels in a row of the source, border and all.
    line: usize,
    translucent: bool,
}

impl Pass {
    /// The change of size from one to another, which must not exceed it.
    pub(crate) fn new(from: (u32, u32), edge: Edge, meaning: Meaning, to: (u32, u32)) -> Pass {
        let border = match edge {
            Edge::Clamp => 0,
            Edge::Border => reach(from.0, to.0),
        };
        Pass {
            across: Taps::new(from.0, to.0, edge),
            down: Taps::new(from.1, to.1, edge),
            line: from.0 as usize + 2 * border as usize,
            translucent: meaning == Meaning::Translucent,
        }
    }

    /// The rows of the source that a row of the destination is made from.
    pub(crate) fn sources(&self, row: usize) -> Range<usize> {
        let (first, weights) = self.down.of(row);
        first..first + weights.len()
    }

    /// Some rows of the destination. Of the source, only the rows that they are made from are read.
    pub(crate) fn rows(&self, source: &impl Rows, rows: Range<usize>) -> Vec<Texel> {
        let (width, band) = (self.across.len(), band(rows.len() as u32));
        let mut out = vec![[0.0; 4]; width * rows.len()];
        let bands = out.par_chunks_mut(width * band).enumerate();
        bands.for_each(|(i, out)| self.filter(source, rows.start + i * band, out));
        out
    }

    /// Fills the destination rows from row `top` on: across first, and the narrow rows are kept in a ring as
    /// long as the kernel is tall. Translucent rows are kept twice, the second time with all weights made
    /// positive.
    fn filter(&self, source: &impl Rows, top: usize, out: &mut [Texel]) {
        let width = self.across.len();
        let slots = self.down.longest();
        let kept = if self.translucent { 2 * width } else { width };
        let mut line = vec![[0.0; 4]; self.line];
        let mut ring = vec![[0.0; 4]; kept * slots];
        let mut next = 0;
        for (y, out) in out.chunks_exact_mut(width).enumerate() {
            let (first, weights) = self.down.of(top + y);
            next = next.max(first);
            while next < first + weights.len() {
                source.read(next, &mut line);
                let (row, positive) = ring[next % slots * kept..][..kept].split_at_mut(width);
                self.squeeze(&line, |weight| weight, row);
                self.squeeze(&line, f32::abs, positive);
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
                    *texel = settled(texel[3], sum);
                }
            }
        }
    }

    /// Filters one row, as far as `out` is long.
    fn squeeze(&self, line: &[Texel], weigh: impl Fn(f32) -> f32, out: &mut [Texel]) {
        for (x, out) in out.iter_mut().enumerate() {
            let (first, weights) = self.across.of(x);
            let mut sum = [0.0; 4];
            for (weight, texel) in weights.iter().zip(&line[first..first + weights.len()]) {
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

/// Texels with less alpha than this have their colour settled: well above what the kernel's negative lobes
/// can take.
const FAINT: f32 = 0.25;

/// A faint texel: its alpha, and the mean colour of all that the kernel touched.
///
/// Negative lobes may cancel out nearly all of the weight, and a colour divided by what is left would be
/// noise. A mean cannot overshoot. It also gives transparent texels the colour of the visible ones next to
/// them, so that a sampler that blends the two shows no fringe.
fn settled(alpha: f32, mean: Texel) -> Texel {
    let weight = alpha.max(VEIL);
    let ratio = weight / mean[3];
    [mean[0] * ratio, mean[1] * ratio, mean[2] * ratio, weight]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_counts_and_sizes() {
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
    fn fitting_keeps_the_aspect() {
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
