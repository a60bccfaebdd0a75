//! Endpoint quantisation of a BC7 mode: the best endpoints around the least-squares solution, including
//! P-bits.
//!
//! The error of a pair of endpoints is a quadratic form about the solution, the same for every channel. So
//! each choice of P-bits is tried, in it each channel takes the best of the four quantised pairs around its
//! solution, and the choice with the smallest sum over the channels wins. That needs no pass over the texels.

use super::modes::{Grid, PBits};
use crate::lanes::Lanes;
use crate::subset_fit::EndpointPair;

/// The choices of P-bits of the low and the high endpoint.
type PBitChoices = &'static [[f32; 2]];

const INDEPENDENT: PBitChoices = &[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
const SHARED: PBitChoices = &[[0.0, 0.0], [1.0, 1.0]];
const ALL_ONES: PBitChoices = &[[1.0, 1.0]];
const NONE: PBitChoices = &[[0.0, 0.0]];

/// Returns the P-bits that may be chosen. `opaque`: alpha shares the P-bits with the channels of the fit
/// and has to be all ones.
const fn p_bit_choices(grid: Grid, opaque: bool) -> PBitChoices {
    match grid.p_bits {
        PBits::None => NONE,
        PBits::PerEndpoint if opaque => ALL_ONES,
        PBits::PerEndpoint => INDEPENDENT,
        PBits::Shared => SHARED,
    }
}

/// Returns the quantised values below and above a value, with this P-bit.
#[inline(always)]
fn around<L: Lanes>(grid: Grid, value: L, p_bit: f32) -> [L; 2] {
    let top = ((1 << grid.bits) - 1) as f32;
    let value = if grid.bits == 8 { value } else { value * L::splat(top / 255.0) };
    let (low, step) = match grid.p_bits {
        PBits::None => (value.clamp(0.0, top - 1.0).floor(), 1.0),
        _ => {
            let half = ((value - L::splat(p_bit)) * L::splat(0.5)).clamp(0.0, (top - 3.0) * 0.5).floor();
            (half + half + L::splat(p_bit), 2.0)
        }
    };
    [widened(grid, low), widened(grid, low + L::splat(step))]
}

/// Expands to eight bits as [`Grid::widen`] does, for lanes.
#[inline(always)]
fn widened<L: Lanes>(grid: Grid, value: L) -> L {
    if grid.bits == 8 {
        return value;
    }
    let high = value * L::splat((1 << (8 - grid.bits)) as f32);
    high + (high * L::splat(1.0 / (1 << grid.bits) as f32)).floor()
}

/// Returns the best endpoints for a solution `x`, `y` of each channel, where an offset from it costs
/// `form[0] dx² + form[1] dx dy + form[2] dy²`.
#[inline(always)]
pub(crate) fn nearest<L: Lanes, const C: usize>(
    grid: Grid,
    x: &[L; C],
    y: &[L; C],
    form: [L; 3],
    opaque: bool,
) -> EndpointPair<L, C> {
    let mut best = EndpointPair { low: *x, high: *y };
    let mut least = L::splat(1e30);
    for &[px, py] in p_bit_choices(grid, opaque) {
        let mut now = best;
        let mut sum = L::zero();
        for c in 0..C {
            let (xs, ys) = (around(grid, x[c], px), around(grid, y[c], py));
            let (low, high, cost) = best_pair(xs, ys, x[c], y[c], form);
            (now.low[c], now.high[c]) = (low, high);
            sum = sum + cost;
        }
        let better = sum.less(least);
        least = least.min(sum);
        for c in 0..C {
            best.low[c] = now.low[c].or(better, best.low[c]);
            best.high[c] = now.high[c].or(better, best.high[c]);
        }
    }
    best
}

/// Returns the pair of the four with the lowest cost, and its cost.
#[inline(always)]
fn best_pair<L: Lanes>(xs: [L; 2], ys: [L; 2], x: L, y: L, [a, b, c]: [L; 3]) -> (L, L, L) {
    let (dx, dy) = ([xs[0] - x, xs[1] - x], [ys[0] - y, ys[1] - y]);
    let (ax, cy) = ([a * dx[0] * dx[0], a * dx[1] * dx[1]], [c * dy[0] * dy[0], c * dy[1] * dy[1]]);
    let bx = [b * dx[0], b * dx[1]];
    // For each x the better y, then the better x.
    let (e00, e01) = (cy[0] + bx[0] * dy[0], cy[1] + bx[0] * dy[1]);
    let (e10, e11) = (cy[0] + bx[1] * dy[0], cy[1] + bx[1] * dy[1]);
    let (e0, e1) = (ax[0] + e00.min(e01), ax[1] + e10.min(e11));
    let right = e1.less(e0);
    let high = ys[1].or(e11.less(e10), ys[0]).or(right, ys[1].or(e01.less(e00), ys[0]));
    (xs[1].or(right, xs[0]), high, e0.min(e1))
}
