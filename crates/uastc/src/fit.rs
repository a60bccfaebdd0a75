//! Endpoint fitting for UASTC: endpoints and weights of each subset, for texels near its principal axis.
//!
//! 1. [`crate::principal_axis`] projects the texels of each subset on its principal axis.
//! 2. [`fit`] rounds the projections to weights, solves for the endpoints by least squares, quantises them to
//!    the endpoint range ([`nearest_pair`]), projects the texels on the segment between the quantised endpoints,
//!    and repeats; the arithmetic is in [`crate::subset_fit`].
//! 3. Attempts are compared by the exact squared error of the decoded texels plus the weighted error after
//!    transcoding to BC7.
//!
//! ASTC rounds interpolated values down, after expanding endpoints to sixteen bits: a texel between the
//! endpoints decodes to `floor(x * 257 / 256 + 1 / 512)`, while both endpoints decode exactly. Texels between
//! the endpoints are therefore fitted to [`rounding_target`] values, which are higher: by half a level for UASTC alone. BC7
//! rounds to the nearest, and so does a GPU that decodes ASTC to more than eight bits; half a level costs these up to 3 dB
//! in smooth maps, and what is in between costs UASTC next to nothing.

use crate::effort::Balance;
use crate::endpoint_range::EndpointRange;
use crate::lanes::Lanes;
use crate::principal_axis::{AxisProjection, Members, Texels};
use crate::subset_fit::{self, EndpointPair, Fitted, Interpolation, NormalEquations, Sums, Tries, UNFITTED};
use crate::transcode;

/// The interpolation of ASTC.
pub(crate) struct Astc;

impl Interpolation for Astc {
    const SCALE: f32 = 257.0 / 256.0;
    const OFFSET: f32 = 1.0 / 512.0;
    const STEP: f32 = 257.0 / 16_384.0;

    #[inline(always)]
    fn weight<L: Lanes, const N: usize>(index: L) -> L {
        match N {
            2 => index * L::splat(64.0),
            4 => (index * L::splat(21.5)).floor(),
            8 => (index * L::splat(64.0 / 7.0)).round(),
            16 => (index * L::splat(4.25)).floor() + L::splat(1.0).only(L::splat(7.5).less(index)),
            _ => index * L::splat(2.0) + L::splat(2.0).only(L::splat(15.5).less(index)),
        }
    }

    #[inline(always)]
    fn unit<const N: usize>() -> f32 {
        1.0
    }

    /// Weights skip the middle: the upper half is a 64th (for 32 weights, two) further on.
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

    #[inline(always)]
    fn goal<L: Lanes, const N: usize>(texel: L, between: L, index: L) -> L {
        if N == 2 {
            return texel;
        }
        between.or(L::splat(0.5).less(index) & index.less(L::splat(N as f32 - 1.5)), texel)
    }
}

/// Returns the value to fit a texel between the endpoints to, so that rounding down hits `px` (`share` 1), or rounding to
/// the nearest does (0).
#[inline(always)]
fn rounding_target<L: Lanes, const C: usize>(px: &Texels<L, C>, share: f32) -> Texels<L, C> {
    let mut out = *px;
    for c in 0..C {
        for i in 0..16 {
            out[c][i] = px[c][i] * L::splat(1.0 - share / 256.0) + L::splat(0.5 * share);
        }
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

/// Selects for each channel the best of the four quantised pairs around the least-squares solution. The error of a
/// pair is a quadratic form about the solution, so the four cost little.
#[inline(always)]
fn quantise<L: Lanes, const C: usize>(
    solution: &NormalEquations<L, C>,
    range: &EndpointRange,
) -> EndpointPair<L, C> {
    let mut pair = EndpointPair { low: [L::zero(); C], high: [L::zero(); C] };
    for c in 0..C {
        let (x, y) = (solution.low[c], solution.high[c]);
        let ((x0, x1), (y0, y1)) = (around(x, range), around(y, range));
        let (right, up) = nearest_pair([x0 - x, x1 - x], [y0 - y, y1 - y], solution.form);
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

/// Fits `S` subsets with `N` weight levels. [`Balance`] weighs the decoded texels against those after transcoding. Lanes
/// whose error is never below `limit`, the cost of the best candidate, stay unfitted: their cost would not be, either.
#[inline(always)]
pub(crate) fn fit<L: Lanes, const C: usize, const N: usize, const S: usize, const G: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    projection: &AxisProjection<L, S>,
    range: &EndpointRange,
    target: transcode::Target,
    (tries, balance): (Tries, Balance),
    limit: L,
) -> Fitted<L, C, S> {
    let goal = rounding_target(px, balance.floor);
    let mut best = Fitted::unfitted();
    let (smooth, attempts) = tries.count(projection);
    for attempt in 0..attempts {
        let mut now = best;
        now.weights = tries.initial_weights::<Astc, L, N, S>(attempt, projection);
        for _ in 0..tries.rounds {
            let sums = Sums::<L, C, S>::new::<Astc, N>(members, &now.weights, px, &goal);
            for s in 0..S {
                now.pairs[s] = quantise(&sums.solve(s, projection.count[s]), range);
            }
            now.weights = subset_fit::project::<Astc, L, C, N, S, G>(&goal, members, &now.pairs);
            now.error = subset_fit::error::<Astc, L, C, N, S, G>(px, members, &now.pairs, &now.weights);
            let mut promising = now.error.less(best.cost.min(limit));
            if tries.for_smooth(attempt) {
                promising = promising & smooth;
            }
            if !L::any(promising) {
                continue;
            }
            let transcoded = transcode::error::<L, C, N, S, G>(px, members, &now, target);
            now.cost = (now.error + transcoded * L::splat(balance.bc7)).or(promising, L::splat(UNFITTED));
            best.improve(&now);
        }
    }
    best
}
