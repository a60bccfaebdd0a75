//! The encoder of BC6H: one subset for every block, and two where the best patterns promise a gain.

use super::fit::{
    Channels, Ends, assign, covariance, estimate, mean, membership, project, solve, sum, terms,
};
use super::layout::{Fields, pack};
use super::modes::{BY_PRECISION, MODES};
use super::{ANCHORS, HALF_MAX, SECOND, to_integer, unquantise};
use crate::Effort;

/// The parameters of an effort.
struct Parameters {
    /// Least-squares iterations.
    rounds: usize,
    /// Two subsets are tried if the squared error of one is above this, over all texels and channels.
    split_above: f32,
    /// The number of patterns that are tried.
    patterns: usize,
    /// A pattern is tried if its estimated error, times this, is below the best error.
    slack: f32,
}

impl Parameters {
    const fn of(effort: Effort) -> Parameters {
        match effort {
            Effort::Fast => Parameters { rounds: 1, split_above: f32::INFINITY, patterns: 0, slack: 1.0 },
            Effort::Default => Parameters { rounds: 1, split_above: 1000.0, patterns: 2, slack: 0.7 },
            Effort::High => Parameters { rounds: 3, split_above: 0.0, patterns: 8, slack: 0.25 },
        }
    }
}

/// The best block so far.
struct Best {
    fields: Fields,
    error: f32,
}

/// Encodes a block of half floats: the bits of red, green and blue of each texel. Without a sign negative values become
/// zero. Infinities and NaN become the largest finite value.
#[must_use]
pub fn encode(texels: &[[u16; 3]; 16], signed: bool, effort: Effort) -> [u8; 16] {
    let mut px: Channels = [[0.0; 16]; 3];
    for (i, texel) in texels.iter().enumerate() {
        for c in 0..3 {
            px[c][i] = to_integer(texel[c], signed) as f32;
        }
    }
    let wanted = Parameters::of(effort);
    let terms = terms(&px, mean(&px));
    let total = sum(&terms, u16::MAX);
    let mut best = Best {
        fields: Fields { mode: 10, ends: [[0; 3]; 4], pattern: 0, weights: [0; 16] },
        error: f32::MAX,
    };
    try_subsets::<1>(&px, signed, 0, [covariance(&total); 2], wanted.rounds, &mut best);
    if best.error <= wanted.split_above || wanted.patterns == 0 {
        return pack(&best.fields);
    }

    let mut ranked = [(f32::MAX, 0usize); 8];
    let mut covariances = [[[0.0; 6]; 2]; 32];
    for (pattern, mask) in SECOND.iter().enumerate() {
        let second = sum(&terms, *mask);
        let first = std::array::from_fn(|i| total[i] - second[i]);
        covariances[pattern] = [covariance(&first), covariance(&second)];
        let score = covariances[pattern].map(estimate).iter().sum();
        // Insertion into the best few.
        let mut entry = (score, pattern);
        for place in &mut ranked[..wanted.patterns] {
            if entry.0 < place.0 {
                std::mem::swap(&mut entry, place);
            }
        }
    }
    for (score, pattern) in &ranked[..wanted.patterns] {
        if score * wanted.slack >= best.error {
            break;
        }
        try_subsets::<2>(&px, signed, *pattern, covariances[*pattern], wanted.rounds, &mut best);
    }
    pack(&best.fields)
}

/// Fits one or two subsets and offers the result.
fn try_subsets<const SUBSETS: usize>(
    px: &Channels,
    signed: bool,
    pattern: usize,
    covariances: [[f32; 6]; 2],
    rounds: usize,
    best: &mut Best,
) {
    let last = if SUBSETS == 1 { 15.0 } else { 7.0 };
    let second = if SUBSETS == 1 { [0.0; 16] } else { membership(pattern) };
    let anchors = [0, if SUBSETS == 1 { 0 } else { usize::from(ANCHORS[pattern]) }];
    let half = if signed { 31.0 / 32.0 } else { 31.0 / 64.0 };
    let mut weights = project::<SUBSETS>(px, &second, &covariances, last);
    for round in 0..rounds.max(1) {
        // The weight of an anchor is below one half: otherwise the endpoints change places.
        for s in 0..SUBSETS {
            if weights[anchors[s]] > 0.5 {
                for i in 0..16 {
                    let is_member = SUBSETS == 1 || (second[i] > 0.5) == (s == 1);
                    weights[i] = if is_member { 1.0 - weights[i] } else { weights[i] };
                }
            }
        }
        let ends = solve::<SUBSETS>(px, &second, &weights);
        let (mode, stored, wide) = quantise::<SUBSETS>(&ends, signed);
        let (indices, error) = assign::<SUBSETS>(px, &second, &wide, half, last, anchors);
        if error < best.error {
            best.error = error;
            best.fields = Fields { mode, ends: stored, pattern, weights: indices.map(|index| index as u8) };
        } else if round > 0 {
            return;
        }
        weights = indices.map(|index| index / last);
    }
}

/// Quantises endpoints in the most precise mode that they fit. Returns the mode, the endpoints as stored, and in 16 bits.
fn quantise<const SUBSETS: usize>(ends: &Ends, signed: bool) -> (usize, [[i32; 3]; 4], Ends) {
    let all = [ends[0][0], ends[0][1], ends[1][0], ends[1][1]];
    let used = 2 * SUBSETS;
    // Decoders truncate, so that the middle of the range of a half float is one half above it.
    let integer = |value: f32| {
        let least = if signed { -HALF_MAX as f32 } else { 0.0 };
        let value = value.clamp(least, HALF_MAX as f32);
        if signed {
            let wide = ((value.abs() + 0.5) * (32.0 / 31.0) + 0.5) as i32;
            if value < 0.0 { -wide.min(0x7FFF) } else { wide.min(0x7FFF) }
        } else {
            (((value + 0.5) * (64.0 / 31.0) + 0.5) as i32).min(0xFFFF)
        }
    };
    let integers = all.map(|end| end.map(integer));
    let reduce = |value: i32, bits: u32| {
        if value < 0 { -(-value >> (16 - bits)) } else { value >> (16 - bits) }
    };
    let order = BY_PRECISION[SUBSETS - 1];
    for (at, &number) in order.iter().enumerate() {
        let mode = &MODES[number];
        let reduced = integers.map(|end| end.map(|value| reduce(value, mode.bits)));
        let mut stored = reduced;
        if mode.transformed {
            for end in 1..used {
                for c in 0..3 {
                    stored[end][c] = reduced[end][c] - reduced[0][c];
                }
            }
            let fits = |end: &[i32; 3]| {
                (0..3).all(|c| {
                    let half = 1 << (mode.delta[c] - 1);
                    (-half..half).contains(&end[c])
                })
            };
            if !stored[1..used].iter().all(fits) && at + 1 < order.len() {
                continue;
            }
        }
        let wide = reduced.map(|end| end.map(|value| unquantise(value, mode.bits, signed) as f32));
        return (number, stored, [[wide[0], wide[1]], [wide[2], wide[3]]]);
    }
    // The last mode of either order stores endpoints as they are.
    (order[order.len() - 1], [[0; 3]; 4], [[[0.0; 3]; 2]; 2])
}
