//! The parts of an endpoint fit that UASTC and BC7 share: both store endpoints of subsets and weights between them, and
//! differ in how they interpolate ([`Interpolation`]) and quantise endpoints.
//!
//! A fit starts from the projections of the texels on the principal axes ([`Tries::initial_weights`]), solves for the
//! endpoints by least squares ([`Sums`], [`NormalEquations`]), projects the texels on the quantised endpoints
//! ([`project`]) and keeps the best candidate ([`Fitted::improve`]) by the exact error of the decoded texels ([`error`]).
//!
//! Nothing here takes a closure: closures are not compiled for the instruction set of the function around them, and each
//! SIMD operation in one becomes a call.

use crate::lanes::Lanes;
use crate::principal_axis::{AxisProjection, Members, Texels, add, finish_sums, pick};

/// The cost of a candidate that was not fitted.
pub(crate) const UNFITTED: f32 = 1e30;

/// The interpolation between endpoints: a decoded value is the floor of
/// `(SCALE * low + OFFSET) + STEP * (high - low) * weight`, with the weight in 64ths.
pub(crate) trait Interpolation {
    const SCALE: f32;
    const OFFSET: f32;
    const STEP: f32;

    /// Returns a weight index of `N` levels in 64ths.
    fn weight<L: Lanes, const N: usize>(index: L) -> L;

    /// Returns the length of the segment between the endpoints in the unit that [`Self::nearest_index`] expects.
    fn unit<const N: usize>() -> f32;

    /// Returns the weight index of `N` levels nearest to a position: 0 is the low endpoint, [`Self::unit`] the high one.
    fn nearest_index<L: Lanes, const N: usize>(position: L) -> L;

    /// Returns the value to approximate for a texel with this weight index: itself, or `between` if the decoder treats
    /// texels between the endpoints differently from those at them.
    fn goal<L: Lanes, const N: usize>(texel: L, between: L, index: L) -> L;
}

/// The low and high endpoint of a subset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointPair<L, const C: usize> {
    /// The endpoint of weight zero.
    pub(crate) low: [L; C],
    /// The endpoint of the largest weight.
    pub(crate) high: [L; C],
}

/// A candidate for eight blocks: `S` endpoint pairs and sixteen weight indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fitted<L, const C: usize, const S: usize> {
    /// The quantised endpoints of each subset.
    pub(crate) pairs: [EndpointPair<L, C>; S],
    /// The weight index of each texel.
    pub(crate) weights: [L; 16],
    /// The squared error of the decoded texels.
    pub(crate) error: L,
    /// The value by which candidates are compared: the error, for UASTC plus the weighted error after transcoding to BC7.
    pub(crate) cost: L,
}

impl<L: Lanes, const C: usize, const S: usize> Fitted<L, C, S> {
    /// Returns a candidate that every fit improves.
    #[inline(always)]
    pub(crate) fn unfitted() -> Self {
        let zero = EndpointPair { low: [L::zero(); C], high: [L::zero(); C] };
        let far = L::splat(UNFITTED);
        Self { pairs: [zero; S], weights: [L::zero(); 16], error: far, cost: far }
    }

    /// Replaces the lanes in which another candidate costs less.
    #[inline(always)]
    pub(crate) fn improve(&mut self, other: &Self) {
        let better = other.cost.less(self.cost);
        self.cost = self.cost.min(other.cost);
        self.error = other.error.or(better, self.error);
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

/// By how much initial endpoints extend beyond the texels, below and above, as fractions of their extent.
pub(crate) type Stretch = &'static [(f32, f32)];

/// One attempt without stretch.
pub(crate) const NO_STRETCH: Stretch = &[(0.0, 0.0)];

/// The attempts of a fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    /// The stretch of each attempt.
    pub(crate) stretch: Stretch,
    /// Additional attempts for smooth blocks: few values in between, and many ways to hit them exactly.
    pub(crate) smooth: Stretch,
    /// The squared extent below which a block is smooth.
    pub(crate) smooth_below: f32,
    /// Least-squares iterations for each attempt.
    pub(crate) rounds: usize,
}

impl Tries {
    /// Returns the smooth lanes and the number of attempts.
    #[inline(always)]
    pub(crate) fn count<L: Lanes, const S: usize>(
        &self,
        projection: &AxisProjection<L, S>,
    ) -> (L::Mask, usize) {
        let mut longest = projection.extent[0];
        for s in 1..S {
            longest = longest.max(projection.extent[s]);
        }
        let smooth = longest.less(L::splat(self.smooth_below));
        (smooth, self.stretch.len() + if L::any(smooth) { self.smooth.len() } else { 0 })
    }

    /// Returns true for an attempt that is for smooth lanes only.
    #[inline(always)]
    pub(crate) const fn for_smooth(&self, attempt: usize) -> bool {
        attempt >= self.stretch.len()
    }

    /// Returns the initial weight indices of an attempt.
    #[inline(always)]
    pub(crate) fn initial_weights<I: Interpolation, L: Lanes, const N: usize, const S: usize>(
        &self,
        attempt: usize,
        projection: &AxisProjection<L, S>,
    ) -> [L; 16] {
        let (low, high) = if self.for_smooth(attempt) {
            self.smooth[attempt - self.stretch.len()]
        } else {
            self.stretch[attempt]
        };
        let scale = L::splat(1.0 / (1.0 + low + high));
        let shift = L::splat(low / (1.0 + low + high));
        let mut index = [L::zero(); 16];
        for i in 0..16 {
            let position = projection.position[i] * scale + shift;
            index[i] = I::nearest_index::<L, N>(position * L::splat(I::unit::<N>()));
        }
        index
    }
}

/// The sums of the least-squares problem for given weights, by subset.
pub(crate) struct Sums<L, const C: usize, const S: usize> {
    weight: [L; S],
    weight2: [L; S],
    texel: [[L; S]; C],
    texel_weight: [[L; S]; C],
}

impl<L: Lanes, const C: usize, const S: usize> Sums<L, C, S> {
    /// Sums over the texels with these weight indices; see [`Interpolation::goal`].
    #[inline(always)]
    pub(crate) fn new<I: Interpolation, const N: usize>(
        members: &Members<L>,
        index: &[L; 16],
        px: &Texels<L, C>,
        between: &Texels<L, C>,
    ) -> Self {
        let zero = [L::zero(); S];
        let mut out = Self { weight: zero, weight2: zero, texel: [zero; C], texel_weight: [zero; C] };
        for i in 0..16 {
            let w = I::weight::<L, N>(index[i]);
            add(&mut out.weight, w, members, i);
            add(&mut out.weight2, w * w, members, i);
            for c in 0..C {
                let goal = I::goal::<L, N>(px[c][i], between[c][i], index[i]);
                add(&mut out.texel[c], goal, members, i);
                add(&mut out.texel_weight[c], goal * w, members, i);
            }
        }
        finish_sums(&mut out.weight);
        finish_sums(&mut out.weight2);
        for c in 0..C {
            finish_sums(&mut out.texel[c]);
            finish_sums(&mut out.texel_weight[c]);
        }
        out
    }

    /// Solves the normal equations of subset `s`, which has `count` texels.
    #[inline(always)]
    pub(crate) fn solve(&self, s: usize, count: L) -> NormalEquations<L, C> {
        let (w, high2) = (self.weight[s], self.weight2[s]);
        let both = w * L::splat(64.0) - high2;
        let low2 = count * L::splat(4096.0) - w * L::splat(128.0) + high2;
        let det = low2 * high2 - both * both;
        let flat = det.less(L::splat(16_384.0));
        let scale = L::splat(64.0) / det.max(L::splat(16_384.0));
        let share = L::splat(1.0) / count.max(L::splat(1.0));
        let mut out =
            NormalEquations { low: [L::zero(); C], high: [L::zero(); C], form: [low2, both + both, high2] };
        for c in 0..C {
            let at_high = self.texel_weight[c][s];
            let at_low = self.texel[c][s] * L::splat(64.0) - at_high;
            let mean = self.texel[c][s] * share;
            out.low[c] = mean.or(flat, (at_low * high2 - at_high * both) * scale);
            out.high[c] = mean.or(flat, (at_high * low2 - at_low * both) * scale);
        }
        out
    }
}

/// The least-squares solution of one subset. If all weights are equal, both endpoints are the mean.
pub(crate) struct NormalEquations<L, const C: usize> {
    /// The low endpoint, not quantised.
    pub(crate) low: [L; C],
    /// The high endpoint, not quantised.
    pub(crate) high: [L; C],
    /// The error of other endpoints: at the offsets `x` and `y` from the solution it is larger by
    /// `form[0] x² + form[1] x y + form[2] y²`, up to a factor.
    pub(crate) form: [L; 3],
}

/// Returns the multiplicity of a channel: grey stands for three channels.
#[inline(always)]
const fn repeats(channel: usize, grey: usize) -> f32 {
    if channel == 0 { grey as f32 } else { 1.0 }
}

/// Returns weight indices by projection on the segments between endpoints. `G` is the number of channels that the first
/// one stands for.
#[inline(always)]
pub(crate) fn project<
    I: Interpolation,
    L: Lanes,
    const C: usize,
    const N: usize,
    const S: usize,
    const G: usize,
>(
    goal: &Texels<L, C>,
    members: &Members<L>,
    pairs: &[EndpointPair<L, C>; S],
) -> [L; 16] {
    let mut slope = [[L::zero(); S]; C];
    let mut origin = [L::zero(); S];
    for s in 0..S {
        let mut length = L::zero();
        for c in 0..C {
            slope[c][s] = (pairs[s].high[c] - pairs[s].low[c]) * L::splat(repeats(c, G));
            length = length + slope[c][s] * (pairs[s].high[c] - pairs[s].low[c]);
        }
        let scale = L::splat(I::unit::<N>()) / length.max(L::splat(1e-6));
        for c in 0..C {
            slope[c][s] = slope[c][s] * scale;
            origin[s] = origin[s] + pairs[s].low[c] * slope[c][s];
        }
    }
    let mut index = [L::zero(); 16];
    for i in 0..16 {
        let mut t = goal[0][i] * pick(&slope[0], members, i);
        for c in 1..C {
            t = t + goal[c][i] * pick(&slope[c], members, i);
        }
        index[i] = I::nearest_index::<L, N>(t - pick(&origin, members, i));
    }
    index
}

/// Returns the exact squared error of the decoded texels.
#[inline(always)]
pub(crate) fn error<
    I: Interpolation,
    L: Lanes,
    const C: usize,
    const N: usize,
    const S: usize,
    const G: usize,
>(
    px: &Texels<L, C>,
    members: &Members<L>,
    pairs: &[EndpointPair<L, C>; S],
    index: &[L; 16],
) -> L {
    let mut start = [[L::zero(); S]; C];
    let mut slope = [[L::zero(); S]; C];
    for c in 0..C {
        for s in 0..S {
            start[c][s] = pairs[s].low[c] * L::splat(I::SCALE) + L::splat(I::OFFSET);
            slope[c][s] = (pairs[s].high[c] - pairs[s].low[c]) * L::splat(I::STEP);
        }
    }
    let mut total = [L::zero(); C];
    for i in 0..16 {
        let w = I::weight::<L, N>(index[i]);
        for c in 0..C {
            let value = (pick(&start[c], members, i) + pick(&slope[c], members, i) * w).floor();
            total[c] = total[c] + (px[c][i] - value).squared();
        }
    }
    let mut sum = total[0] * L::splat(G as f32);
    for c in 1..C {
        sum = sum + total[c];
    }
    sum
}
