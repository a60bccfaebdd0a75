//! The planar mode of ETC2: three colours in 6, 7 and 6 bits that span a linear gradient over the block.

use super::Rgb;
use crate::Effort;

/// The bits of each channel.
const BITS: [u32; 3] = [6, 7, 6];

/// The colours at the origin, four texels to the right of it and four texels below it, in steps of their precision.
type Corners = [Rgb; 3];

/// Offers the planar block of the least squares of each channel.
pub(super) fn offer(rgb: &[Rgb; 16], effort: Effort, best: &mut (i32, [u8; 8])) {
    let mut corners = [[0; 3]; 3];
    let mut total = 0;
    for c in 0..3 {
        let values = rgb.map(|texel| texel[c]);
        let (found, error) = channel(&values, BITS[c], effort);
        (0..3).for_each(|k| corners[k][c] = found[k]);
        total += error;
        if total >= best.0 {
            return;
        }
    }
    *best = (total, write(&corners));
}

/// Fits one channel; returns its values at the corners and the squared error.
fn channel(values: &[i32; 16], bits: u32, effort: Effort) -> ([i32; 3], i32) {
    // The slopes of the regression plane, times 40: the positions less 1.5, doubled, have squares that sum to 80.
    let (mut sum, mut right, mut down) = (0, 0, 0);
    for (i, value) in values.iter().enumerate() {
        let (x, y) = (i as i32 % 4, i as i32 / 4);
        sum += value;
        right += (2 * x - 3) * value;
        down += (2 * y - 3) * value;
    }
    // In eightieths: the mean is 5 sums, a slope is 2 (right / 80) per texel.
    let origin = 5 * sum - 3 * right - 3 * down;
    let eightieths = [origin, origin + 8 * right, origin + 8 * down];
    let top = (1 << bits) - 1;
    let quantise = |value: i32| ((value.clamp(0, 80 * 255) * top + 80 * 255 / 2) / (80 * 255)).clamp(0, top);
    let mut best = eightieths.map(quantise);
    let mut least = error(values, best, bits);
    if effort == Effort::High {
        for _ in 0..4 {
            let before = least;
            for k in 0..3 {
                for by in [-1, 1] {
                    let mut now = best;
                    now[k] = (now[k] + by).clamp(0, top);
                    let found = error(values, now, bits);
                    if found < least {
                        (best, least) = (now, found);
                    }
                }
            }
            if least == before {
                break;
            }
        }
    }
    (best, least)
}

/// Expands a value of 6 or 7 bits to 8.
pub(super) const fn expand(value: i32, bits: u32) -> i32 {
    if bits == 6 { value << 2 | value >> 4 } else { value << 1 | value >> 6 }
}

/// Returns the value of a texel from the expanded values of the corners.
pub(super) fn interpolate([origin, right, down]: [i32; 3], x: i32, y: i32) -> i32 {
    ((x * (right - origin) + y * (down - origin) + 4 * origin + 2) >> 2).clamp(0, 255)
}

fn error(values: &[i32; 16], corners: [i32; 3], bits: u32) -> i32 {
    let corners = corners.map(|value| expand(value, bits));
    let texel = |(i, value): (usize, &i32)| {
        let found = interpolate(corners, i as i32 % 4, i as i32 / 4);
        (found - value).pow(2)
    };
    values.iter().enumerate().map(texel).sum()
}

/// Packs the corners. The bits between them make red and green valid differences and blue an overflow, which is what
/// selects the mode.
fn write(corners: &Corners) -> [u8; 8] {
    let [[ro, go, bo], [rh, gh, bh], [rv, gv, bv]] = corners.map(|corner| corner.map(|value| value as u64));
    let mut bits = ro << 57 | (go >> 6) << 56 | (go & 63) << 49 | (bo >> 5) << 48;
    bits |= (bo >> 3 & 3) << 43 | (bo & 7) << 39 | (rh >> 1) << 34 | 1 << 33 | (rh & 1) << 32;
    bits |= gh << 25 | bh << 19 | rv << 13 | gv << 6 | bv;
    // The sign of each difference decides the top bit of its base.
    bits |= (bits >> 58 & 1) << 63 | (bits >> 50 & 1) << 55;
    let (base, difference) = (bo >> 3 & 3, bo >> 1 & 3);
    bits |= if base + difference >= 4 { 7 << 45 } else { 1 << 42 };
    bits.to_be_bytes()
}
