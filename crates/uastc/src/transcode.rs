//! The BC7 block that a UASTC block transcodes to, and its error.
//!
//! Transcoders map each UASTC mode to one BC7 mode without looking at texels: endpoints are rounded to the
//! BC7 mode's precision, weights are kept or mapped. Desktop GPUs show the result, so selection counts its
//! error too. The rules are those of the UASTC specification's chapter on transcoding to BC7.

use crate::lanes::Lanes;
use crate::principal_axis::{Members, Texels};
use crate::subset_fit::{EndpointPair, Fitted, Interpolation};

/// The endpoint precision of a BC7 mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoints {
    /// Seven bits and a P-bit for each endpoint (BC7 modes 3 and 6).
    SevenPBit,
    /// Six bits and one P-bit shared by both endpoints (BC7 mode 1).
    SixSharedPBit,
    /// Five bits and a P-bit for each endpoint (BC7 mode 7).
    FivePBit,
    /// Five bits without P-bits (BC7 mode 2).
    Five,
    /// Seven bits (the colours of BC7 mode 5).
    Seven,
    /// Eight bits (the second plane of BC7 mode 5).
    Eight,
}

/// The mapping from UASTC weights to BC7 weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// The same number of levels with the same values (two to eight levels).
    Same,
    /// Sixteen levels; fewer or more are mapped to the nearest of them.
    Sixteen,
}

/// The BC7 encoding of a UASTC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The precision of its endpoints.
    pub(crate) endpoints: Endpoints,
    /// The mapping of its weights.
    pub(crate) weights: Weights,
}

impl Target {
    /// Returns the target of a single-plane mode.
    pub(crate) const fn of(mode: usize) -> Self {
        let (endpoints, weights) = match mode {
            1 | 4 => (Endpoints::SevenPBit, Weights::Same),
            2 => (Endpoints::SixSharedPBit, Weights::Same),
            3 | 7 => (Endpoints::Five, Weights::Same),
            9 | 16 => (Endpoints::FivePBit, Weights::Same),
            _ => (Endpoints::SevenPBit, Weights::Sixteen),
        };
        Self { endpoints, weights }
    }

    /// The target of the first plane of a dual-plane mode.
    pub(crate) const FIRST_PLANE: Self = Self { endpoints: Endpoints::Seven, weights: Weights::Same };
    /// The target of the second plane of a dual-plane mode.
    pub(crate) const SECOND_PLANE: Self = Self { endpoints: Endpoints::Eight, weights: Weights::Same };
}

/// Returns the squared error after transcoding.
#[inline(always)]
pub(crate) fn error<L: Lanes, const C: usize, const N: usize, const S: usize, const G: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
    fitted: &Fitted<L, C, S>,
    target: Target,
) -> L {
    let Target { endpoints, weights } = target;
    let mut pairs = fitted.pairs;
    for s in 0..S {
        pairs[s] = convert::<L, C, G>(&fitted.pairs[s], endpoints);
    }
    let mut total = [L::zero(); C];
    for i in 0..16 {
        let w = weight::<L, N>(fitted.weights[i], weights);
        for c in 0..C {
            let (mut low, mut high) = (pairs[0].low[c], pairs[0].high[c]);
            for s in 1..S {
                low = pairs[s].low[c].or(members[s - 1][i], low);
                high = pairs[s].high[c].or(members[s - 1][i], high);
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

/// Returns a weight index as a fraction of one.
#[inline(always)]
fn weight<L: Lanes, const N: usize>(index: L, weights: Weights) -> L {
    if weights == Weights::Same {
        return crate::fit::Astc::weight::<L, N>(index) * L::splat(1.0 / 64.0);
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
fn convert<L: Lanes, const C: usize, const G: usize>(
    pair: &EndpointPair<L, C>,
    endpoints: Endpoints,
) -> EndpointPair<L, C> {
    match endpoints {
        Endpoints::SevenPBit => EndpointPair {
            low: round_with_majority_p_bit::<L, C, G>(&pair.low),
            high: round_with_majority_p_bit::<L, C, G>(&pair.high),
        },
        Endpoints::FivePBit => EndpointPair {
            low: round_with_best_p_bit::<L, C, G>(&pair.low, None, 6)[0],
            high: round_with_best_p_bit::<L, C, G>(&pair.high, None, 6)[0],
        },
        Endpoints::SixSharedPBit => {
            let [low, high] = round_with_best_p_bit::<L, C, G>(&pair.low, Some(&pair.high), 7);
            EndpointPair { low, high }
        }
        Endpoints::Five => {
            EndpointPair { low: round_to_bits(&pair.low, 5), high: round_to_bits(&pair.high, 5) }
        }
        Endpoints::Seven => {
            EndpointPair { low: round_to_bits(&pair.low, 7), high: round_to_bits(&pair.high, 7) }
        }
        Endpoints::Eight => *pair,
    }
}

/// Rounds to eight bits with a shared P-bit: the parity of most channels, even on a tie.
#[inline(always)]
fn round_with_majority_p_bit<L: Lanes, const C: usize, const G: usize>(end: &[L; C]) -> [L; C] {
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

/// Rounds to `bits` bits with a P-bit shared by the channels (of both endpoints, if there are two): the
/// better of both.
#[inline(always)]
fn round_with_best_p_bit<L: Lanes, const C: usize, const G: usize>(
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
        // Opaque grey has an alpha of 255, which a P-bit of zero makes 251.
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

/// Rounds to `bits` bits and expands to eight.
#[inline(always)]
fn round_to_bits<L: Lanes, const C: usize>(end: &[L; C], bits: i32) -> [L; C] {
    let top = ((1 << bits) - 1) as f32;
    let mut out = *end;
    for c in 0..C {
        // Integer division of `value * top + 127` by 255; the thousandth keeps exact quotients exact.
        out[c] = widen((end[c] * L::splat(top / 255.0) + L::splat(127.0 / 255.0 + 1e-3)).floor(), bits);
    }
    out
}

/// Expands a value of `bits` bits to eight by replicating its top bits.
#[inline(always)]
fn widen<L: Lanes>(value: L, bits: i32) -> L {
    let high = value * L::splat((1 << (8 - bits)) as f32);
    high + (high * L::splat(1.0 / (1 << bits) as f32)).floor()
}
