//! ETC2 colours: ETC1 blocks of two halves, planar blocks for gradients, and the modes T and H for blocks of two colours.
//!
//! A half has a base colour and one of eight tables of intensity modifiers. For every orientation, precision and table
//! the base starts at the average of the half and moves by the average of the chosen modifiers, as least squares does.

mod decode;
mod planar;
mod two_colours;

pub use decode::decode;

use crate::{Effort, eac};
use kiln_transcode::etc1::MODIFIERS;

/// The texels of a half, or of a block.
type Rgb = [i32; 3];

/// The best base and table of a half.
#[derive(Clone, Copy, Debug)]
struct Half {
    /// In steps of the precision.
    base: Rgb,
    table: usize,
    error: i32,
}

/// Encodes a block without alpha.
#[must_use]
pub fn encode(texels: &[[u8; 4]; 16], effort: Effort) -> [u8; 8] {
    let rgb = texels.map(|[r, g, b, _]| [r, g, b].map(i32::from));
    let mut best = (i32::MAX, [0; 8]);
    for flipped in [false, true] {
        let halves = split(&rgb, flipped);
        for bits in [5, 4] {
            offer_halves(&halves, flipped, bits, effort, &mut best);
        }
    }
    if effort != Effort::Fast && best.0 > 0 {
        planar::offer(&rgb, effort, &mut best);
        two_colours::offer(&rgb, effort, &mut best);
    }
    best.1
}

/// Encodes a block with EAC alpha.
#[must_use]
pub fn encode_with_alpha(texels: &[[u8; 4]; 16], effort: Effort) -> [u8; 16] {
    let mut out = [0; 16];
    out[..8].copy_from_slice(&eac::encode_alpha(&texels.map(|texel| texel[3]), effort));
    out[8..].copy_from_slice(&encode(texels, effort));
    out
}

/// Returns the left and the right half of a block, or the upper and the lower if flipped.
fn split(rgb: &[Rgb; 16], flipped: bool) -> [[Rgb; 8]; 2] {
    let mut out = [[[0; 3]; 8]; 2];
    let mut len = [0; 2];
    for (i, texel) in rgb.iter().enumerate() {
        let half = half_of(i, flipped);
        out[half][len[half]] = *texel;
        len[half] += 1;
    }
    out
}

/// Returns the half of a texel.
const fn half_of(texel: usize, flipped: bool) -> usize {
    if flipped { texel / 8 } else { texel / 2 % 2 }
}

/// Expands a base of 4 or 5 bits to 8.
fn expand(base: Rgb, bits: u32) -> Rgb {
    base.map(|value| if bits == 4 { value * 17 } else { value << 3 | value >> 2 })
}

/// Offers the best pair of halves in one orientation and precision.
fn offer_halves(halves: &[[Rgb; 8]; 2], flipped: bool, bits: u32, effort: Effort, best: &mut (i32, [u8; 8])) {
    let any = [[0; 3], [(1 << bits) - 1; 3]];
    let first = search(&halves[0], bits, any, effort, best.0);
    if first.error >= best.0 {
        return;
    }
    // With five bits the second base is a small difference from the first.
    let limits = match bits {
        5 => [first.base.map(|base| (base - 4).max(0)), first.base.map(|base| (base + 3).min(31))],
        _ => any,
    };
    let second = search(&halves[1], bits, limits, effort, best.0 - first.error);
    let error = first.error + second.error;
    if error < best.0 {
        *best = (error, write(halves, [&first, &second], flipped, bits));
    }
}

/// Finds the best base within limits, and its table.
fn search(texels: &[Rgb; 8], bits: u32, limits: [Rgb; 2], effort: Effort, below: i32) -> Half {
    let mut sums = [0; 3];
    for texel in texels {
        (0..3).for_each(|c| sums[c] += texel[c]);
    }
    let top = (1 << bits) - 1;
    // The base nearest to an average of eight texels, less eight times a shift.
    let quantise = |shift: i32| -> Rgb {
        std::array::from_fn(|c| {
            let base = ((sums[c] - shift).clamp(0, 2040) * top + 1020) / 2040;
            base.clamp(limits[0][c], limits[1][c])
        })
    };
    let spread =
        texels.iter().flat_map(|texel| (0..3).map(|c| (8 * texel[c] - sums[c]).abs())).fold(0, i32::max) / 8;
    let mut best = Half { base: quantise(0), table: 0, error: i32::MAX };
    for (table, modifiers) in MODIFIERS.iter().enumerate() {
        // The smaller modifier of a table that is far too strong exceeds every difference.
        if modifiers[2] > spread + 8 {
            break;
        }
        let mut base = quantise(0);
        let attempts = match effort {
            Effort::Fast => 1,
            Effort::Default => 2,
            Effort::High => 3,
        };
        for _ in 0..attempts {
            let (error, shift) = evaluate(texels, expand(base, bits), modifiers, best.error.min(below));
            if error < best.error {
                best = Half { base, table, error };
            }
            let moved = quantise(shift);
            if moved == base {
                break;
            }
            base = moved;
        }
    }
    if effort == Effort::High && best.error > 0 {
        step(texels, bits, limits, &mut best);
    }
    best
}

/// Tries single steps of each channel of the base while the error decreases.
fn step(texels: &[Rgb; 8], bits: u32, limits: [Rgb; 2], best: &mut Half) {
    for _ in 0..3 {
        let before = best.error;
        for c in 0..3 {
            for by in [-1, 1] {
                let mut base = best.base;
                base[c] = (base[c] + by).clamp(limits[0][c], limits[1][c]);
                let (error, _) = evaluate(texels, expand(base, bits), &MODIFIERS[best.table], best.error);
                if error < best.error {
                    *best = Half { base, error, ..*best };
                }
            }
        }
        if best.error == before {
            break;
        }
    }
}

/// Returns the squared error of a base and table, and the sum of the chosen modifiers. Stops at an error from `limit` on.
fn evaluate(texels: &[Rgb; 8], base: Rgb, modifiers: &[i32; 4], limit: i32) -> (i32, i32) {
    let palette = modifiers.map(|modifier| base.map(|value| (value + modifier).clamp(0, 255)));
    let (mut error, mut shift) = (0, 0);
    for texel in texels {
        let mut least = i32::MAX;
        for (k, colour) in palette.iter().enumerate() {
            let [r, g, b] = [texel[0] - colour[0], texel[1] - colour[1], texel[2] - colour[2]];
            least = least.min((r * r + g * g + b * b) << 2 | k as i32);
        }
        error += least >> 2;
        shift += modifiers[(least & 3) as usize];
        if error >= limit {
            break;
        }
    }
    (error, shift)
}

fn write(halves: &[[Rgb; 8]; 2], found: [&Half; 2], flipped: bool, bits: u32) -> [u8; 8] {
    let [first, second] = found;
    let mut out = [0; 8];
    for c in 0..3 {
        out[c] = match bits {
            4 => (first.base[c] << 4 | second.base[c]) as u8,
            _ => (first.base[c] << 3 | (second.base[c] - first.base[c]) & 7) as u8,
        };
    }
    let differential = bits == 5;
    out[3] = (first.table << 5 | second.table << 2) as u8 | u8::from(differential) << 1 | u8::from(flipped);
    // Selectors from the smallest modifier: 3, 2, 0, 1, as two planes of bits by columns.
    let (mut high, mut low) = (0u16, 0u16);
    let mut next = [0; 2];
    for i in 0..16 {
        let half = half_of(i, flipped);
        let texel = halves[half][next[half]];
        next[half] += 1;
        let base = expand(found[half].base, bits);
        let distance = |k: &usize| -> i32 {
            let modifier = MODIFIERS[found[half].table][*k];
            (0..3).map(|c| (texel[c] - (base[c] + modifier).clamp(0, 255)).pow(2)).sum()
        };
        let code = [3u16, 2, 0, 1][(0..4).min_by_key(distance).unwrap_or(0)];
        let place = i % 4 * 4 + i / 4;
        high |= (code >> 1) << place;
        low |= (code & 1) << place;
    }
    out[4..6].copy_from_slice(&high.to_be_bytes());
    out[6..8].copy_from_slice(&low.to_be_bytes());
    out
}
