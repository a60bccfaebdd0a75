//! What a block becomes when it is transcoded to BC7, and the error of that.
//!
//! Transcoders turn each UASTC mode into one BC7 mode without looking at texels: endpoints are rounded to the
//! BC7 mode's precision, weights are kept or mapped. Desktop players see the result, so selection counts its
//! error too. The rules are those of the UASTC specification's chapter on transcoding to BC7.

use crate::fit::{Fitted, Line};
use crate::lanes::Lanes;
use crate::spread::{Members, Texels};

/// How a mode's endpoints are stored in BC7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoints {
    /// Seven bits and a shared lowest bit for each endpoint (BC7 modes 3 and 6).
    Seven1,
    /// Six bits and one lowest bit for both endpoints (BC7 mode 1).
    Six1,
    /// Five bits and a lowest bit for each endpoint (BC7 mode 7).
    Five1,
    /// Five bits (BC7 mode 2).
    Five,
    /// Seven bits (the colours of BC7 mode 5).
    Seven,
    /// Eight bits (the separate channel of BC7 mode 5).
    Eight,
}

/// Which BC7 weight each weight index becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// As many levels as there were, at the same places (two to eight levels).
    Same,
    /// Sixteen levels; fewer or more are mapped to the nearest of them.
    Sixteen,
}

/// What a mode becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// How its endpoints are stored.
    pub(crate) endpoints: Endpoints,
    /// What its weights become.
    pub(crate) weights: Weights,
}

impl Target {
    /// The target of a mode with one plane.
    pub(crate) const fn of(mode: usize) -> Self {
        let (endpoints, weights) = match mode {
            1 | 4 => (Endpoints::Seven1, Weights::Same),
            2 => (Endpoints::Six1, Weights::Same),
            3 | 7 => (Endpoints::Five, Weights::Same),
            9 | 16 => (Endpoints::Five1, Weights::Same),
            _ => (Endpoints::Seven1, Weights::Sixteen),
        };
        Self { endpoints, weights }
    }

    /// The channels that share weights, in a mode of two planes.
    pub(crate) const SHARED: Self = Self { endpoints: Endpoints::Seven, weights: Weights::Same };
    /// The channel that has weights of its own.
    pub(crate) const ALONE: Self = Self { endpoints: Endpoints::Eight, weights: Weights::Same };
}

/// The squared error after transcoding.
#[inline(always)]
pub(crate) fn error<L: Lanes, const C: usize, const N: usize, const S: usize, const G: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    fitted: &Fitted<L, C, S>,
    target: Target,
) -> L {
    let Target { endpoints, weights } = target;
    let mut lines = fitted.lines;
    for s in 0..S {
        lines[s] = convert::<L, C, G>(&fitted.lines[s], endpoints);
    }
    let mut total = [L::zero(); C];
    for i in 0..16 {
        let w = weight::<L, N>(fitted.weights[i], weights);
        for c in 0..C {
            let (mut low, mut high) = (lines[0].low[c], lines[0].high[c]);
            for s in 1..S {
                low = lines[s].low[c].or(members[s - 1][i], low);
                high = lines[s].high[c].or(members[s - 1][i], high);
            }
            let value = ((high - low) * w + low + L::splat(0.5)).floor();
            total[c] = total[c] + (px[c][i] - value).squared();
        }
    }
    let mut sum = total[0] * L::splat(G as f32);
    for c in 1..C {
        sum = sum + total[c];
    }
    sum
}

/// A weight index as a fraction of one.
#[inline(always)]
fn weight<L: Lanes, const N: usize>(index: L, weights: Weights) -> L {
    if weights == Weights::Same {
        return crate::fit::weight::<L, N>(index) * L::splat(1.0 / 64.0);
    }
    let sixteen = match N {
        4 => index * L::splat(5.0),
        // 0, 2, 4, 6, 9, 11, 13, 15
        8 => index + index + L::splat(1.0).only(L::splat(3.5).less(index)),
        16 => index,
        // 0 0 1 1 2 2 3 3 4 4 5 5 6 6 6 7 and the same mirrored.
        _ => {
            let upper = L::splat(15.5).less(index);
            let near = (L::splat(31.0) - index).or(upper, index);
            let half = (near * L::splat(0.5)).floor() - L::splat(1.0).only(L::splat(13.5).less(near))
                + L::splat(1.0).only(L::splat(14.5).less(near));
            (L::splat(15.0) - half).or(upper, half)
        }
    };
    (sixteen * L::splat(64.0 / 15.0)).round() * L::splat(1.0 / 64.0)
}

#[inline(always)]
fn convert<L: Lanes, const C: usize, const G: usize>(line: &Line<L, C>, endpoints: Endpoints) -> Line<L, C> {
    match endpoints {
        Endpoints::Seven1 => Line { low: seven1::<L, C, G>(&line.low), high: seven1::<L, C, G>(&line.high) },
        Endpoints::Five1 => Line {
            low: with_bit::<L, C, G>(&line.low, None, 6)[0],
            high: with_bit::<L, C, G>(&line.high, None, 6)[0],
        },
        Endpoints::Six1 => {
            let [low, high] = with_bit::<L, C, G>(&line.low, Some(&line.high), 7);
            Line { low, high }
        }
        Endpoints::Five => Line { low: plain(&line.low, 5), high: plain(&line.high, 5) },
        Endpoints::Seven => Line { low: plain(&line.low, 7), high: plain(&line.high, 7) },
        Endpoints::Eight => *line,
    }
}

/// Eight bits whose lowest is shared by the channels: the parity that most channels have, even on a tie.
#[inline(always)]
fn seven1<L: Lanes, const C: usize, const G: usize>(end: &[L; C]) -> [L; C] {
    let mut odd = *end;
    for c in 0..C {
        odd[c] = end[c] - (end[c] * L::splat(0.5)).floor() * L::splat(2.0);
    }
    let mut count = odd[0] * L::splat(G as f32);
    for c in 1..C {
        count = count + odd[c];
    }
    let channels = (C + G - 1) as f32;
    let parity = L::splat(1.0).only(L::splat(channels).less(count + count));
    let mut out = *end;
    for c in 0..C {
        let wrong = (odd[c] - parity).abs();
        out[c] = (end[c] + wrong).min(parity + L::splat(254.0));
    }
    out
}

/// `bits` bits whose lowest is shared by the channels (of both ends, if there are two): the better of both.
#[inline(always)]
fn with_bit<L: Lanes, const C: usize, const G: usize>(
    a: &[L; C],
    b: Option<&[L; C]>,
    bits: i32,
) -> [[L; C]; 2] {
    let top = ((1 << bits) - 1) as f32;
    let ends = [*a, *b.unwrap_or(a)];
    let mut best = ends;
    let mut least = L::splat(1e30);
    for parity in [0.0, 1.0] {
        let mut tried = ends;
        // Opaque grey brings an alpha of 255 along, which an even bit makes 251.
        let opaque = if C == 1 && G == 3 && parity == 0.0 { 16.0 } else { 0.0 };
        let mut cost = L::splat(opaque);
        for e in 0..2 {
            for c in 0..C {
                let scaled = ends[e][c] * L::splat(top / 255.0) - L::splat(parity);
                let half = (scaled * L::splat(0.5) + L::splat(0.5)).floor();
                let value = (half + half + L::splat(parity)).clamp(parity, top - 1.0 + parity);
                tried[e][c] = widen(value, bits);
                let repeats = if c == 0 { G as f32 } else { 1.0 };
                cost = cost + (tried[e][c] - ends[e][c]).squared() * L::splat(repeats);
            }
        }
        let better = cost.less(least);
        least = least.min(cost);
        for e in 0..2 {
            for c in 0..C {
                best[e][c] = tried[e][c].or(better, best[e][c]);
            }
        }
    }
    best
}

/// Rounded to `bits` bits and widened again.
#[inline(always)]
fn plain<L: Lanes, const C: usize>(end: &[L; C], bits: i32) -> [L; C] {
    let top = ((1 << bits) - 1) as f32;
    let mut out = *end;
    for c in 0..C {
        // Whole-number division of `value * top + 127` by 255; the thousandth keeps exact quotients exact.
        out[c] = widen((end[c] * L::splat(top / 255.0) + L::splat(127.0 / 255.0 + 1e-3)).floor(), bits);
    }
    out
}

/// A value of `bits` bits as eight, its top bits repeated below.
#[inline(always)]
fn widen<L: Lanes>(value: L, bits: i32) -> L {
    let high = value * L::splat((1 << (8 - bits)) as f32);
    high + (high * L::splat(1.0 / (1 << bits) as f32)).floor()
}
