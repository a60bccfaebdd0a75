//! Endpoint fitting for BC7: endpoints and weights of each subset, for texels near its principal axis.
//!
//! The arithmetic is that of UASTC, in [`crate::subset_fit`]; [`nearest`] quantises the endpoints. BC7 is the
//! simpler of the two: weights are uniform, and interpolated values round to the nearest.

use super::grid::nearest;
use super::modes::Grid;
use crate::lanes::Lanes;
use crate::principal_axis::{AxisProjection, Members, Texels};
use crate::subset_fit::{self, Fitted, Interpolation, Sums, Tries, UNFITTED};

/// The interpolation of BC7.
struct Bc7;

impl Interpolation for Bc7 {
    const SCALE: f32 = 1.0;
    const OFFSET: f32 = 0.5;
    const STEP: f32 = 1.0 / 64.0;

    #[inline(always)]
    fn weight<L: Lanes, const N: usize>(index: L) -> L {
        (index * L::splat(64.0 / (N - 1) as f32)).round()
    }

    #[inline(always)]
    fn unit<const N: usize>() -> f32 {
        (N - 1) as f32
    }

    #[inline(always)]
    fn nearest_index<L: Lanes, const N: usize>(position: L) -> L {
        position.round().clamp(0.0, (N - 1) as f32)
    }

    #[inline(always)]
    fn goal<L: Lanes, const N: usize>(texel: L, _between: L, _index: L) -> L {
        texel
    }
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
    let mut best = Fitted::unfitted();
    let (smooth, attempts) = tries.count(projection);
    for attempt in 0..attempts {
        let mut now = best;
        now.weights = tries.initial_weights::<Bc7, L, N, S>(attempt, projection);
        for _ in 0..tries.rounds {
            let sums = Sums::<L, C, S>::new::<Bc7, N>(members, &now.weights, px, px);
            for s in 0..S {
                let solution = sums.solve(s, projection.count[s]);
                now.pairs[s] = nearest(grid, &solution.low, &solution.high, solution.form, opaque);
            }
            now.weights = subset_fit::project::<Bc7, L, C, N, S, 1>(px, members, &now.pairs);
            now.error = subset_fit::error::<Bc7, L, C, N, S, 1>(px, members, &now.pairs, &now.weights);
            now.cost = now.error;
            if tries.for_smooth(attempt) {
                now.cost = now.cost.or(smooth, L::splat(UNFITTED));
            }
            best.improve(&now);
        }
    }
    best
}
