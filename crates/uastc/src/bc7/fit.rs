//! Endpoint fitting for BC7: endpoints and weights of each subset, for texels near its principal axis.
//!
//! As for UASTC, [`crate::principal_axis`] projects each texel on the principal axis of its subset; the
//! projections become weights, least squares gives the endpoints for them, [`Grid::nearest`] quantises those,
//! and the texels are projected on the segment between the quantised endpoints for the final weights. BC7 is
//! the simpler of the two: weights are uniform, and interpolated values round to the nearest.

use super::modes::Grid;
use crate::fit::EndpointPair;
use crate::lanes::Lanes;
use crate::principal_axis::{AxisProjection, Members, Texels, add, finish_sums, pick};

/// A candidate for eight blocks: `S` endpoint pairs and sixteen weight indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fitted<L, const C: usize, const S: usize> {
    /// The quantised endpoints of each subset.
    pub(crate) pairs: [EndpointPair<L, C>; S],
    /// The weight index of each texel.
    pub(crate) weights: [L; 16],
    /// The squared error of the decoded texels.
    pub(crate) error: L,
}

/// The attempts of a fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    /// By how much the initial endpoints extend beyond the texels at each end, relative to their extent; one
    /// attempt each.
    pub(crate) stretch: &'static [f32],
    /// Additional attempts for smooth blocks: few values in between, and many ways to hit them exactly.
    pub(crate) smooth: &'static [f32],
    /// The squared extent below which a block is smooth.
    pub(crate) smooth_below: f32,
    /// Least-squares iterations for each attempt.
    pub(crate) rounds: usize,
}

/// Returns a weight index of `N` levels in 64ths.
#[inline(always)]
fn weight<L: Lanes, const N: usize>(index: L) -> L {
    (index * L::splat(64.0 / (N - 1) as f32)).round()
}

/// Returns the weight index of `N` levels nearest to a position, 0 for the low endpoint and 1 for the high
/// one.
#[inline(always)]
fn nearest_index<L: Lanes, const N: usize>(position: L) -> L {
    let last = (N - 1) as f32;
    (position * L::splat(last)).round().clamp(0.0, last)
}

/// Solves least squares for given weights and quantises the endpoints.
#[inline(always)]
fn solve<L: Lanes, const C: usize, const N: usize, const S: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    count: &[L; S],
    index: &[L; 16],
    grid: Grid,
    opaque: bool,
) -> [EndpointPair<L, C>; S] {
    let zero = [L::zero(); S];
    let (mut sum, mut square) = (zero, zero);
    let (mut texel, mut product) = ([zero; C], [zero; C]);
    for i in 0..16 {
        let w = weight::<L, N>(index[i]);
        add(&mut sum, w, members, i);
        add(&mut square, w * w, members, i);
        for c in 0..C {
            add(&mut texel[c], px[c][i], members, i);
            add(&mut product[c], px[c][i] * w, members, i);
        }
    }
    finish_sums(&mut sum);
    finish_sums(&mut square);
    let mut pairs = [EndpointPair { low: [L::zero(); C], high: [L::zero(); C] }; S];
    for c in 0..C {
        finish_sums(&mut texel[c]);
        finish_sums(&mut product[c]);
    }
    for s in 0..S {
        let both = sum[s] * L::splat(64.0) - square[s];
        let low2 = count[s] * L::splat(4096.0) - sum[s] * L::splat(128.0) + square[s];
        let high2 = square[s];
        let det = low2 * high2 - both * both;
        let flat = det.less(L::splat(16_384.0));
        let scale = L::splat(64.0) / det.max(L::splat(16_384.0));
        let share = L::splat(1.0) / count[s].max(L::splat(1.0));
        let (mut x, mut y) = ([L::zero(); C], [L::zero(); C]);
        for c in 0..C {
            let at_high = product[c][s];
            let at_low = texel[c][s] * L::splat(64.0) - at_high;
            let mean = texel[c][s] * share;
            x[c] = mean.or(flat, (at_low * high2 - at_high * both) * scale);
            y[c] = mean.or(flat, (at_high * low2 - at_low * both) * scale);
        }
        pairs[s] = grid.nearest(&x, &y, [low2, both + both, high2], opaque);
    }
    pairs
}

/// Returns weight indices by projection on the segments between endpoints.
#[inline(always)]
fn project<L: Lanes, const C: usize, const N: usize, const S: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    pairs: &[EndpointPair<L, C>; S],
) -> [L; 16] {
    let mut slope = [[L::zero(); S]; C];
    let mut origin = [L::zero(); S];
    for s in 0..S {
        let mut length = L::zero();
        for c in 0..C {
            slope[c][s] = pairs[s].high[c] - pairs[s].low[c];
            length = length + slope[c][s].squared();
        }
        let scale = L::splat((N - 1) as f32) / length.max(L::splat(1e-6));
        for c in 0..C {
            slope[c][s] = slope[c][s] * scale;
            origin[s] = origin[s] + pairs[s].low[c] * slope[c][s];
        }
    }
    let mut index = [L::zero(); 16];
    for i in 0..16 {
        let mut t = px[0][i] * pick(&slope[0], members, i);
        for c in 1..C {
            t = t + px[c][i] * pick(&slope[c], members, i);
        }
        index[i] = (t - pick(&origin, members, i)).round().clamp(0.0, (N - 1) as f32);
    }
    index
}

/// Returns the exact squared error of the decoded texels.
#[inline(always)]
fn error<L: Lanes, const C: usize, const N: usize, const S: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    pairs: &[EndpointPair<L, C>; S],
    index: &[L; 16],
) -> L {
    let mut start = [[L::zero(); S]; C];
    let mut slope = [[L::zero(); S]; C];
    for c in 0..C {
        for s in 0..S {
            start[c][s] = pairs[s].low[c] + L::splat(0.5);
            slope[c][s] = (pairs[s].high[c] - pairs[s].low[c]) * L::splat(1.0 / 64.0);
        }
    }
    let mut total = [L::zero(); C];
    for i in 0..16 {
        let w = weight::<L, N>(index[i]);
        for c in 0..C {
            let value = (pick(&start[c], members, i) + pick(&slope[c], members, i) * w).floor();
            total[c] = total[c] + (px[c][i] - value).squared();
        }
    }
    let mut sum = total[0];
    for c in 1..C {
        sum = sum + total[c];
    }
    sum
}

/// Fits `S` subsets with `N` weight levels. `opaque`: a P-bit is shared with an alpha that has to stay 255.
#[inline(always)]
pub(crate) fn fit<L: Lanes, const C: usize, const N: usize, const S: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    projection: &AxisProjection<L, S>,
    grid: Grid,
    opaque: bool,
    tries: Tries,
) -> Fitted<L, C, S> {
    let nothing = EndpointPair { low: [L::zero(); C], high: [L::zero(); C] };
    let mut best = Fitted { pairs: [nothing; S], weights: [L::zero(); 16], error: L::splat(1e30) };
    let mut longest = projection.extent[0];
    for s in 1..S {
        longest = longest.max(projection.extent[s]);
    }
    let smooth = longest.less(L::splat(tries.smooth_below));
    let count = tries.stretch.len() + if L::any(smooth) { tries.smooth.len() } else { 0 };
    for attempt in 0..count {
        let extra = attempt >= tries.stretch.len();
        let stretch =
            if extra { tries.smooth[attempt - tries.stretch.len()] } else { tries.stretch[attempt] };
        let scale = L::splat(1.0 / (1.0 + stretch + stretch));
        let shift = L::splat(stretch / (1.0 + stretch + stretch));
        let mut now = best;
        for i in 0..16 {
            now.weights[i] = nearest_index::<L, N>(projection.position[i] * scale + shift);
        }
        for _ in 0..tries.rounds {
            now.pairs = solve::<L, C, N, S>(px, members, &projection.count, &now.weights, grid, opaque);
            now.weights = project::<L, C, N, S>(px, members, &now.pairs);
            now.error = error::<L, C, N, S>(px, members, &now.pairs, &now.weights);
            if extra {
                now.error = now.error.or(smooth, L::splat(1e30));
            }
            best.improve(&now);
        }
    }
    best
}

impl<L: Lanes, const C: usize, const S: usize> Fitted<L, C, S> {
    /// Replaces the lanes in which the error of another candidate is smaller.
    #[inline(always)]
    fn improve(&mut self, other: &Self) {
        let better = other.error.less(self.error);
        self.error = self.error.min(other.error);
        for s in 0..S {
            for c in 0..C {
                self.pairs[s].low[c] = other.pairs[s].low[c].or(better, self.pairs[s].low[c]);
                self.pairs[s].high[c] = other.pairs[s].high[c].or(better, self.pairs[s].high[c]);
            }
        }
        for i in 0..16 {
            self.weights[i] = other.weights[i].or(better, self.weights[i]);
        }
    }
}
