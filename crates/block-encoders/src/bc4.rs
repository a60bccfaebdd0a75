//! BC4 and BC5: one and two channels with two 8-bit endpoints and sixteen selectors of three bits for each.
//!
//! The order of the endpoints selects a mode: eight values from the first to the second, or six and the constants 0 and
//! 255. With [`Effort::High`] the endpoints are optimal among all pairs in both modes. The search is exhaustive within
//! bounds: a pair whose palette has too few entries near the values cannot beat the best pair so far, because even the
//! optimal clustering with that few entries has a larger error.

use crate::Effort;
use crate::levels::Levels;

/// A pair of endpoints and its squared error. The first is the larger one in the mode with eight values.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    first: i32,
    second: i32,
    error: i32,
}

/// Encodes one channel as BC4.
#[must_use]
pub fn encode(values: &[u8; 16], effort: Effort) -> [u8; 8] {
    let levels = Levels::new(&values.map(i32::from));
    let (low, high) = (levels.low(), levels.high());
    if low == high {
        return [low as u8, low as u8, 0, 0, 0, 0, 0, 0];
    }
    let mut best = Candidate { first: high, second: low, error: 0 };
    best.error = levels.error(&palette(high, low), i32::MAX);
    if effort != Effort::Fast {
        refine(&levels, &mut best);
        // Six values suffice if others are near one of the constants.
        if best.error > 0 && (low <= 1 || high >= 254) {
            let inner = |v: &&i32| (2..254).contains(*v);
            let first = levels.values().iter().find(inner).copied();
            let last = levels.values().iter().rfind(inner).copied();
            let (first, last) = (first.unwrap_or(low), last.unwrap_or(high));
            let error = levels.error(&palette(first, last), i32::MAX);
            let mut six = Candidate { first, second: last, error };
            refine(&levels, &mut six);
            if six.error < best.error {
                best = six;
            }
        }
    }
    if effort == Effort::High && best.error > 0 {
        search(&levels, &mut best);
    }
    write(values, &best)
}

/// Encodes two channels as BC5.
#[must_use]
pub fn encode_two(texels: &[[u8; 2]; 16], effort: Effort) -> [u8; 16] {
    let mut out = [0; 16];
    out[..8].copy_from_slice(&encode(&texels.map(|texel| texel[0]), effort));
    out[8..].copy_from_slice(&encode(&texels.map(|texel| texel[1]), effort));
    out
}

/// Returns the values of a pair of endpoints in ascending order. Interpolated values are rounded to the nearest integer.
#[inline]
fn palette(first: i32, second: i32) -> [i32; 8] {
    if first > second {
        std::array::from_fn(|i| (i as i32 * first + (7 - i as i32) * second + 3) / 7)
    } else {
        std::array::from_fn(|i| match i as i32 {
            0 => 0,
            7 => 255,
            i => ((6 - i) * first + (i - 1) * second + 2) / 5,
        })
    }
}

/// Improves a pair by small steps of both endpoints, within its mode.
fn refine(levels: &Levels, best: &mut Candidate) {
    let eight = best.first > best.second;
    for _ in 0..4 {
        let start = *best;
        for a in -2..=2 {
            for b in -2..=2 {
                let (first, second) = (start.first + a, start.second + b);
                let valid = (0..=255).contains(&first) && (0..=255).contains(&second);
                if valid && (first > second) == eight {
                    offer(levels, first, second, best);
                }
            }
        }
        if best.error == start.error || best.error == 0 {
            break;
        }
    }
}

#[inline]
fn offer(levels: &Levels, first: i32, second: i32, best: &mut Candidate) {
    let error = levels.error(&palette(first, second), best.error);
    if error < best.error {
        *best = Candidate { first, second, error };
    }
}

/// Finds the optimal pair of both modes.
fn search(levels: &Levels, best: &mut Candidate) {
    let clusters = levels.clustering_errors();
    let (low, high) = (levels.low(), levels.high());
    // The number of palette entries that a smaller error needs, and the largest error of one texel it leaves.
    let bounds = |best: &Candidate| {
        let needed = clusters.iter().position(|error| *error < best.error).map(|at| at as i32 + 1);
        needed.map(|needed| (needed, (best.error - 1).isqrt()))
    };
    // The largest distance of the endpoints at which `needed` of `steps + 1` values are at most `reach` from the range of
    // the values. Rounding moves two values by less than one.
    let extent = |steps: i32, needed: i32, reach: i32| {
        if needed < 2 { 255 } else { steps * (high - low + 2 * reach + 1) / (needed - 1) }
    };

    let Some((needed, reach)) = bounds(best) else { return };
    let widest = extent(7, needed, reach);
    for first in (high - reach).max(1)..=255 {
        for second in (first - widest).max(0)..=(low + reach).min(first - 1) {
            offer(levels, first, second, best);
        }
    }
    let Some((needed, reach)) = bounds(best) else { return };
    let (zero, full) = (low <= reach, high >= 255 - reach);
    let widest = extent(5, needed - i32::from(zero) - i32::from(full), reach);
    // The interpolated values have to reach all values that the constants do not.
    let inner = |v: &&i32| **v > if zero { reach } else { -1 } && **v < if full { 255 - reach } else { 256 };
    let lowest = levels.values().iter().find(inner).map_or(255, |v| v + reach);
    let highest = levels.values().iter().rfind(inner).map_or(0, |v| v - reach);
    for first in 0..=lowest.min(255) {
        for second in highest.max(first)..=(first + widest).min(255) {
            offer(levels, first, second, best);
        }
    }
}

/// Writes the block with the nearest selector of every texel.
fn write(values: &[u8; 16], pair: &Candidate) -> [u8; 8] {
    let palette = palette(pair.first, pair.second);
    let codes: [u64; 8] =
        if pair.first > pair.second { [1, 7, 6, 5, 4, 3, 2, 0] } else { [6, 0, 2, 3, 4, 5, 1, 7] };
    let mut out = u64::from(pair.first as u8) | u64::from(pair.second as u8) << 8;
    for (i, &value) in values.iter().enumerate() {
        let distance = |at: &usize| (palette[*at] - i32::from(value)).abs();
        let nearest = (0..8).min_by_key(distance).unwrap_or(0);
        out |= codes[nearest] << (16 + 3 * i);
    }
    out.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the eight values of a block by the definition of the format (Khronos Data Format, section 19.1), rounded.
    fn defined(first: u8, second: u8) -> [f64; 8] {
        let (a, b) = (f64::from(first), f64::from(second));
        let steps = if first > second { 7.0 } else { 5.0 };
        std::array::from_fn(|i| match i {
            0 => a,
            1 => b,
            6 if first <= second => 0.0,
            7 if first <= second => 255.0,
            i => (((steps + 1.0 - i as f64) * a + (i as f64 - 1.0) * b) / steps).round(),
        })
    }

    fn error(values: &[u8; 16], palette: &[f64; 8]) -> f64 {
        let nearest = |v: &u8| palette.iter().map(|p| (p - f64::from(*v)).powi(2)).fold(f64::MAX, f64::min);
        values.iter().map(nearest).sum()
    }

    /// Blocks of several kinds: noise, ramps, two clusters, values at the ends of the range.
    fn blocks() -> Vec<[u8; 16]> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) % below
        };
        (0..24)
            .map(|kind| match kind % 6 {
                0 => std::array::from_fn(|_| random(256) as u8),
                1 => std::array::from_fn(|i| (40 + i as u64 * 3 + random(4)) as u8),
                2 => std::array::from_fn(|_| (100 + random(9)) as u8),
                3 => std::array::from_fn(|_| (random(2) * 200 + random(12)) as u8),
                4 => std::array::from_fn(|_| [0, 255, 255, 90 + random(30) as u8][random(4) as usize]),
                _ => std::array::from_fn(|_| (220 + random(36)) as u8),
            })
            .collect()
    }

    #[test]
    fn high_effort_is_optimal_over_all_pairs() {
        let all: Vec<[f64; 8]> =
            (0..=255).flat_map(|a| (0..=255).map(move |b| (a, b))).map(|(a, b)| defined(a, b)).collect();
        for values in blocks() {
            let least = all.iter().map(|palette| error(&values, palette)).fold(f64::MAX, f64::min);
            let block = encode(&values, Effort::High);
            let mut decoded = [0; 16];
            bcdec_rs::bc4(&block, &mut decoded, 4, false);
            let palette = defined(block[0], block[1]);
            assert_eq!(error(&values, &palette), least, "{values:?}");
            // Selectors are those of the nearest values; the other decoder may round differently by one.
            let selectors = u64::from_le_bytes(block) >> 16;
            for (i, (value, decoded)) in values.iter().zip(decoded).enumerate() {
                let chosen = palette[(selectors >> (3 * i) & 7) as usize];
                assert!((chosen - f64::from(decoded)).abs() <= 1.0);
                let nearest = palette.iter().map(|p| (p - f64::from(*value)).abs()).fold(f64::MAX, f64::min);
                assert_eq!((chosen - f64::from(*value)).abs(), nearest);
            }
        }
    }

    #[test]
    fn effort_never_increases_the_error() {
        for values in blocks() {
            let errors = [Effort::Fast, Effort::Default, Effort::High].map(|effort| {
                let block = encode(&values, effort);
                error(&values, &defined(block[0], block[1]))
            });
            assert!(errors.is_sorted_by(|a, b| a >= b), "{values:?}: {errors:?}");
        }
    }

    #[test]
    fn two_levels_and_flat_blocks_are_exact() {
        for (a, b) in [(0, 0), (0, 255), (7, 8), (200, 13), (255, 255)] {
            let texels: [[u8; 2]; 16] = std::array::from_fn(|i| if i % 3 == 0 { [a, b] } else { [b, a] });
            let mut decoded = [0; 32];
            bcdec_rs::bc5(&encode_two(&texels, Effort::Fast), &mut decoded, 8, false);
            assert_eq!(decoded.as_chunks::<2>().0, texels);
        }
    }
}
