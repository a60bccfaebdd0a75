//! UASTC to ETC1: a base colour and a table of modifiers for each half of the block.
//!
//! The hints of the block give the halves, the precision of the bases, the tables and a bias; the bases are the
//! averages of the halves, and each texel takes the modifier nearest to its luma. ETC2 decodes ETC1 blocks.

use crate::uastc::decode::Channels;
use crate::uastc::packing::{Hints, SolidHint};

/// The intensity modifiers of ETC1, by table and selector, smallest first.
pub const MODIFIERS: [[i32; 4]; 8] = [
    [-8, -2, 2, 8],
    [-17, -5, 5, 17],
    [-29, -9, 9, 29],
    [-42, -13, 13, 42],
    [-60, -18, 18, 60],
    [-80, -24, 24, 80],
    [-106, -33, 33, 106],
    [-183, -47, 47, 183],
];

/// The offset of each channel of each half for a bias code, in steps of the base: `[half][channel]`.
pub type Bias = [[i8; 3]; 2];

/// The offsets of each bias code.
pub static BIASES: [Bias; 32] = {
    let mut all = [[[0; 3]; 2]; 32];
    let mut code = 0;
    while code < 32 {
        all[code] = bias(code as i8);
        code += 1;
    }
    all
};

/// Returns the offsets of a bias code, from the UASTC specification's table of ETC1 biases.
const fn bias(code: i8) -> Bias {
    const fn one(half: usize, channel: usize, by: i8) -> Bias {
        let mut out = [[0; 3]; 2];
        out[half][channel] = by;
        out
    }
    match code {
        2 => one(0, 0, -1),
        5 => one(0, 1, -1),
        6 => one(0, 2, -1),
        7 => one(0, 0, 1),
        11 => one(0, 1, 1),
        15 => one(0, 2, 1),
        18 => one(1, 0, -1),
        19 => one(1, 1, -1),
        20 => one(1, 2, -1),
        21 => one(1, 0, 1),
        24 => one(1, 1, 1),
        8 => one(1, 2, 1),
        10 => [[-2; 3]; 2],
        27 => [[-1; 3], [0; 3]],
        28 => [[1; 3], [-1; 3]],
        29 => [[0; 3], [1; 3]],
        30 => [[0; 3], [-1; 3]],
        31 => [[1; 3], [0; 3]],
        _ => {
            let by = [code % 3 - 1, code / 3 % 3 - 1, code / 9 % 3 - 1];
            [by, by]
        }
    }
}

/// Returns a base of a half with its bias. At the ends of the range a bias points inwards.
const fn biased(base: i32, by: i8, top: i32) -> i32 {
    let by = by as i32;
    if base == 0 {
        if by == -2 { 3 } else { by + 1 }
    } else if base == top {
        top + by - 1
    } else if base + by < 0 || base + by > top {
        base - by
    } else {
        base + by
    }
}

/// Returns the block of a solid-colour block.
#[inline]
pub(crate) fn solid(hint: &SolidHint, differential: bool) -> [u8; 8] {
    // Selectors by position from the smallest modifier: 3, 2, 0, 1, as two planes of bits.
    let planes = [[0xFF, 0xFF], [0xFF, 0], [0, 0], [0, 0xFF]][usize::from(hint.selector & 3)];
    let [r, g, b] = hint.base.map(|base| if differential { base << 3 } else { base | base << 4 });
    let tables = u8::from(differential) << 1 | hint.table << 5 | hint.table << 2;
    [r, g, b, tables, planes[0], planes[0], planes[1], planes[1]]
}

/// Encodes texels with the hints of their block; `has_bias` is false for modes without a bias.
#[inline]
pub(crate) fn encode(texels: &Channels, hints: &Hints, has_bias: bool) -> [u8; 8] {
    let flipped = hints.etc1 & 1 != 0;
    let differential = hints.etc1 & 2 != 0;
    let tables = [hints.etc1 >> 2 & 7, hints.etc1 >> 5];
    let top = if differential { 31 } else { 15 };

    let mut bases = [[0i32; 3]; 2];
    for (c, channel) in texels[..3].iter().enumerate() {
        for (half, sum) in half_sums(channel, flipped).into_iter().enumerate() {
            let base = ((sum * top + 1020) / 2040) as i32;
            let by = BIASES[usize::from(hints.etc1_bias & 31)][half][c];
            bases[half][c] = if has_bias { biased(base, by, top as i32) } else { base };
        }
    }
    let mut out = [0; 8];
    for c in 0..3 {
        let [first, second] = [bases[0][c], bases[1][c]];
        if differential {
            let delta = (second - first).clamp(-4, 3);
            bases[1][c] = first + delta;
            out[c] = (first << 3 | delta & 7) as u8;
        } else {
            out[c] = (first << 4 | second) as u8;
        }
    }
    out[3] = u8::from(flipped) | u8::from(differential) << 1 | tables[0] << 5 | tables[1] << 2;

    // Twice the midpoints between the lumas of neighbouring colours, for each half.
    let mut limits = [[0i32; 3]; 2];
    for half in 0..2 {
        let wide = bases[half].map(|base| if differential { base << 3 | base >> 2 } else { base * 17 });
        let lumas = MODIFIERS[usize::from(tables[half])]
            .map(|modifier| luma(wide.map(|value| (value + modifier).clamp(0, 255))));
        limits[half] = [lumas[0] + lumas[1], lumas[1] + lumas[2], lumas[2] + lumas[3]];
    }
    let (mut below, mut outer) = ([0u8; 16], [0u8; 16]);
    for i in 0..16 {
        let second = if flipped { i >= 8 } else { i & 2 != 0 };
        let limits = limits[usize::from(second)];
        let twice = 2 * luma([texels[0][i].into(), texels[1][i].into(), texels[2][i].into()]);
        below[i] = u8::from(twice < limits[1]);
        outer[i] = u8::from(twice < limits[0]) | u8::from(twice >= limits[2]);
    }
    out[4..6].copy_from_slice(&by_columns(&below).to_be_bytes());
    out[6..8].copy_from_slice(&by_columns(&outer).to_be_bytes());
    out
}

#[inline(always)]
fn luma([r, g, b]: [i32; 3]) -> i32 {
    r * 54 + g * 183 + b * 19
}

/// Returns the sums of the texels of both halves: left and right, or upper and lower if flipped.
#[inline(always)]
fn half_sums(channel: &[u8; 16], flipped: bool) -> [u32; 2] {
    let mut quarters = [[0u32; 2]; 2];
    for i in 0..16 {
        quarters[i / 8][i / 2 % 2] += u32::from(channel[i]);
    }
    let [[a, b], [c, d]] = quarters;
    if flipped { [a + b, c + d] } else { [a + c, b + d] }
}

/// Packs a bit of each texel by columns.
#[inline(always)]
fn by_columns(bits: &[u8; 16]) -> u16 {
    let mut out = 0;
    for i in 0..16 {
        out |= u16::from(bits[i]) << (i % 4 * 4 + i / 4);
    }
    out
}
