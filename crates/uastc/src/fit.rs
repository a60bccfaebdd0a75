//! Endpoint fitting for UASTC: endpoints and weights of each subset, for texels near its principal axis.
//!
//! 1. [`crate::principal_axis`] projects the texels of each subset on its principal axis.
//! 2. [`fit`] rounds the projections to weights, solves for the endpoints by least squares, quantises them to
//!    the endpoint range ([`nearest_pair`]), projects the texels on the segment between the quantised endpoints,
//!    and repeats.
//! 3. [`error`] is the exact squared error of the decoded texels, not an estimate. Attempts are compared by
//!    it plus the weighted error after transcoding to BC7.
//!
//! ASTC rounds interpolated values down, after expanding endpoints to sixteen bits: a texel between the
//! endpoints decodes to `floor(x * 257 / 256 + 1 / 512)`, while both endpoints decode exactly. Texels between
//! the endpoints are therefore fitted to [`rounding_target`] values, half a step higher.

use crate::endpoint_range::EndpointRange;
use crate::lanes::Lanes;
use crate::principal_axis::{AxisProjection, Members, Texels, add, finish_sums, pick};
use crate::transcode;

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
    /// The endpoints of each subset, quantised to the endpoint range.
    pub(crate) pairs: [EndpointPair<L, C>; S],
    /// The weight index of each texel.
    pub(crate) weights: [L; 16],
    /// The squared error of the decoded texels.
    pub(crate) error: L,
    /// The error plus the weighted error after transcoding to BC7.
    pub(crate) cost: L,
}

/// Returns the multiplicity of a channel: grey stands for three channels.
#[inline(always)]
const fn repeats(channel: usize, grey: usize) -> f32 {
    if channel == 0 { grey as f32 } else { 1.0 }
}

/// Returns the value to fit a texel between the endpoints to, so that rounding down hits `px`.
#[inline(always)]
fn rounding_target<L: Lanes, const C: usize>(px: &Texels<L, C>) -> Texels<L, C> {
    let mut out = *px;
    for c in 0..C {
        for i in 0..16 {
            out[c][i] = px[c][i] * L::splat(255.0 / 256.0) + L::splat(0.5);
        }
    }
    out
}

/// Returns a weight index of `N` levels in 64ths, as ASTC defines it.
#[inline(always)]
pub(crate) fn weight<L: Lanes, const N: usize>(index: L) -> L {
    match N {
        2 => index * L::splat(64.0),
        4 => (index * L::splat(21.5)).floor(),
        8 => (index * L::splat(64.0 / 7.0)).round(),
        16 => (index * L::splat(4.25)).floor() + L::splat(1.0).only(L::splat(7.5).less(index)),
        _ => index * L::splat(2.0) + L::splat(2.0).only(L::splat(15.5).less(index)),
    }
}

/// Returns the weight index of `N` levels nearest to a position, 0 for the low endpoint and 1 for the high
/// one. Weights skip the middle: the upper half is a 64th (for 32 weights, two) further on.
#[inline(always)]
fn nearest_index<L: Lanes, const N: usize>(position: L) -> L {
    let skip: f32 = match N {
        2 => 0.0,
        32 => 2.0,
        _ => 1.0,
    };
    let last = (N - 1) as f32;
    let scale = last / (64.0 - skip);
    let upper = L::splat(skip * scale).only(L::splat(0.5).less(position));
    (position * L::splat(64.0 * scale) - upper).round().clamp(0.0, last)
}

/// The sums of the least-squares problem for given weights.
struct Sums<L, const C: usize, const S: usize> {
    weight: [L; S],
    weight2: [L; S],
    texel: [[L; S]; C],
    texel_weight: [[L; S]; C],
}

#[inline(always)]
fn sums<L: Lanes, const C: usize, const N: usize, const S: usize>(
    px: &Texels<L, C>,
    goal: &Texels<L, C>,
    members: &Members<L>,
    index: &[L; 16],
) -> Sums<L, C, S> {
    let zero = [L::zero(); S];
    let mut out = Sums { weight: zero, weight2: zero, texel: [zero; C], texel_weight: [zero; C] };
    for i in 0..16 {
        let w = weight::<L, N>(index[i]);
        add(&mut out.weight, w, members, i);
        add(&mut out.weight2, w * w, members, i);
        let inside = L::splat(0.5).less(index[i]) & index[i].less(L::splat(N as f32 - 1.5));
        for c in 0..C {
            let goal = if N == 2 { px[c][i] } else { goal[c][i].or(inside, px[c][i]) };
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

/// Returns the two levels around a value: the one below (or the last but one) and the next.
#[inline(always)]
fn around<L: Lanes>(value: L, range: &EndpointRange) -> (L, L) {
    if range.levels == 256 {
        let below = value.clamp(0.0, 254.0).floor();
        return (below, below + L::splat(1.0));
    }
    let last = (range.levels - 1) as f32;
    let i = (value * L::splat(last / 255.0)).clamp(0.0, last - 1.0).floor();
    (level(i, range), level(i + L::splat(1.0), range))
}

/// Returns level `i` of the sorted levels.
#[inline(always)]
fn level<L: Lanes>(i: L, range: &EndpointRange) -> L {
    let upper = L::splat(range.upper).only(L::splat((range.levels / 2) as f32 - 0.5).less(i));
    (i * L::splat(range.step) + L::splat(range.offset) + upper).floor()
}

/// Solves least squares for one subset, then selects for each channel the best of the four quantised pairs
/// around the solution. The error of a pair is a quadratic form about the solution, so the four cost little.
#[inline(always)]
fn solve<L: Lanes, const C: usize, const S: usize>(
    sums: &Sums<L, C, S>,
    count: L,
    s: usize,
    range: &EndpointRange,
) -> EndpointPair<L, C> {
    let (w, high2) = (sums.weight[s], sums.weight2[s]);
    let both = w * L::splat(64.0) - high2;
    let low2 = count * L::splat(4096.0) - w * L::splat(128.0) + high2;
    let det = low2 * high2 - both * both;
    let flat = det.less(L::splat(16_384.0));
    let scale = L::splat(64.0) / det.max(L::splat(16_384.0));
    let share = L::splat(1.0) / count.max(L::splat(1.0));
    let cross = both + both;
    let mut pair = EndpointPair { low: [L::zero(); C], high: [L::zero(); C] };
    for c in 0..C {
        let at_high = sums.texel_weight[c][s];
        let at_low = sums.texel[c][s] * L::splat(64.0) - at_high;
        let mean = sums.texel[c][s] * share;
        let x = mean.or(flat, (at_low * high2 - at_high * both) * scale);
        let y = mean.or(flat, (at_high * low2 - at_low * both) * scale);
        let ((x0, x1), (y0, y1)) = (around(x, range), around(y, range));
        let (right, up) = nearest_pair([x0 - x, x1 - x], [y0 - y, y1 - y], [low2, cross, high2]);
        pair.low[c] = x1.or(right, x0);
        pair.high[c] = y1.or(up, y0);
    }
    pair
}

/// Returns masks that tell if the second of two offsets in x, and in y, minimises `a x^2 + b x y + c y^2`.
#[inline(always)]
fn nearest_pair<L: Lanes>(dx: [L; 2], dy: [L; 2], [a, b, c]: [L; 3]) -> (L::Mask, L::Mask) {
    let (ax0, ax1) = (a * dx[0] * dx[0], a * dx[1] * dx[1]);
    let (cy0, cy1) = (c * dy[0] * dy[0], c * dy[1] * dy[1]);
    let (bx0, bx1) = (b * dx[0], b * dx[1]);
    let (e00, e01) = (ax0 + cy0 + bx0 * dy[0], ax0 + cy1 + bx0 * dy[1]);
    let (e10, e11) = (ax1 + cy0 + bx1 * dy[0], ax1 + cy1 + bx1 * dy[1]);
    let right = e10.min(e11).less(e00.min(e01));
    let up = (right & e11.less(e10)) | (!right & e01.less(e00));
    (right, up)
}

/// Returns weight indices by projection on the segments between endpoints.
#[inline(always)]
fn project<L: Lanes, const C: usize, const N: usize, const S: usize, const G: usize>(
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
        let scale = L::splat(1.0) / length.max(L::splat(1e-6));
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
        index[i] = nearest_index::<L, N>(t - pick(&origin, members, i));
    }
    index
}

/// Returns the exact squared error of the decoded texels.
#[inline(always)]
fn error<L: Lanes, const C: usize, const N: usize, const S: usize, const G: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    pairs: &[EndpointPair<L, C>; S],
    index: &[L; 16],
) -> L {
    let mut start = [[L::zero(); S]; C];
    let mut slope = [[L::zero(); S]; C];
    for c in 0..C {
        for s in 0..S {
            start[c][s] = pairs[s].low[c] * L::splat(257.0 / 256.0) + L::splat(1.0 / 512.0);
            slope[c][s] = (pairs[s].high[c] - pairs[s].low[c]) * L::splat(257.0 / 16_384.0);
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
    let mut sum = total[0] * L::splat(G as f32);
    for c in 1..C {
        sum = sum + total[c];
    }
    sum
}

/// The attempts of a fit and the weight of the BC7 error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries<'a> {
    /// By how much the initial endpoints extend beyond the texels at each end, relative to their extent; one
    /// attempt each.
    pub(crate) stretch: &'a [(f32, f32)],
    /// Additional attempts for smooth blocks: few values in between, and many ways to hit them exactly.
    pub(crate) smooth: &'a [(f32, f32)],
    /// The squared extent below which a block is smooth.
    pub(crate) smooth_below: f32,
    /// Least-squares iterations for each attempt.
    pub(crate) rounds: usize,
    /// The weight of the error after transcoding to BC7.
    pub(crate) bc7: f32,
}

/// Fits `S` subsets with `N` weight levels.
#[inline(always)]
pub(crate) fn fit<L: Lanes, const C: usize, const N: usize, const S: usize, const G: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    projection: &AxisProjection<L, S>,
    range: &EndpointRange,
    target: transcode::Target,
    tries: Tries<'_>,
) -> Fitted<L, C, S> {
    let goal = rounding_target(px);
    let nothing = EndpointPair { low: [L::zero(); C], high: [L::zero(); C] };
    let far = L::splat(1e30);
    let mut best = Fitted { pairs: [nothing; S], weights: [L::zero(); 16], error: far, cost: far };
    let mut longest = projection.extent[0];
    for s in 1..S {
        longest = longest.max(projection.extent[s]);
    }
    let smooth = longest.less(L::splat(tries.smooth_below));
    let count = tries.stretch.len() + if L::any(smooth) { tries.smooth.len() } else { 0 };
    for attempt in 0..count {
        let extra = attempt >= tries.stretch.len();
        let (low, high) =
            if extra { tries.smooth[attempt - tries.stretch.len()] } else { tries.stretch[attempt] };
        let scale = L::splat(1.0 / (1.0 + low + high));
        let shift = L::splat(low / (1.0 + low + high));
        let mut now = best;
        for i in 0..16 {
            now.weights[i] = nearest_index::<L, N>(projection.position[i] * scale + shift);
        }
        for _ in 0..tries.rounds {
            let sums = sums::<L, C, N, S>(px, &goal, members, &now.weights);
            for s in 0..S {
                now.pairs[s] = solve(&sums, projection.count[s], s, range);
            }
            now.weights = project::<L, C, N, S, G>(&goal, members, &now.pairs);
            now.error = error::<L, C, N, S, G>(px, members, &now.pairs, &now.weights);
            if !L::any(now.error.less(best.cost)) {
                continue;
            }
            let transcoded = transcode::error::<L, C, N, S, G>(px, members, &now, target);
            now.cost = now.error + transcoded * L::splat(tries.bc7);
            if extra {
                now.cost = now.cost.or(smooth, far);
            }
            best.improve(&now);
        }
    }
    best
}

impl<L: Lanes, const C: usize, const S: usize> Fitted<L, C, S> {
    /// Replaces the lanes in which another candidate costs less.
    #[inline(always)]
    fn improve(&mut self, other: &Self) {
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
