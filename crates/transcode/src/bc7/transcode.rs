//! UASTC to BC7: every mode has one BC7 mode, and no texel is decoded.
//!
//! Endpoints are rounded to the precision of the BC7 mode, weights are kept or mapped to sixteen levels, subsets
//! are renumbered as BC7 has them. The rules are those of the UASTC specification's chapter on transcoding to BC7.
//! P-bits are chosen as the reference transcoder does, whose arithmetic on `f32` is evaluated here at compile time.

use super::modes::Fields;
use super::packing::pack_mode;
use super::{patterns, solid};
use crate::uastc::modes::{MODES, Mode};
use crate::uastc::partitions::{self, Partition};
use crate::uastc::unpack::{
    Stored, endpoint_values, read, solid_colour, spread_to_nibbles, weight_planes, with_mode,
};

/// Transcodes a block to BC7. Returns `None` if its mode or pattern does not exist.
#[inline]
pub(crate) fn transcode(block: &[u8; 16]) -> Option<[u8; 16]> {
    let mode = Mode::of_first_byte(block[0])?;
    with_mode!(mode, transcode_mode(block), Some(solid::transcode(solid_colour(block))))
}

fn transcode_mode<const M: usize>(block: &[u8; 16]) -> Option<[u8; 16]> {
    let mode = &MODES[M];
    let stored = read::<M>(block)?;
    let values = endpoint_values(&stored.indices, mode);
    let mut fields = Fields { weights: weights::<M>(stored.weights), ..Fields::NONE };
    Some(match M {
        1 => {
            // One subset becomes two equal ones: BC7 has no mode with one subset of this precision.
            let pair = unique_p_bits(pair(mode, &values, 0), 3, &SEVEN_P);
            fields.ends = [pair; 3];
            pack_mode::<3>(fields)
        }
        2 => {
            ends(&mut fields, &TWO, &stored, |s| shared_p_bit(pair(mode, &values, s)));
            pack_mode::<1>(fields)
        }
        3 => {
            ends(&mut fields, &THREE, &stored, |s| rounded(pair(mode, &values, s), &FIVE));
            pack_mode::<2>(fields)
        }
        4 => {
            ends(&mut fields, &TWO, &stored, |s| unique_p_bits(pair(mode, &values, s), 3, &SEVEN_P));
            pack_mode::<3>(fields)
        }
        7 => {
            ends(&mut fields, &TWO_OF_THREE, &stored, |s| rounded(pair(mode, &values, s), &FIVE));
            pack_mode::<2>(fields)
        }
        9 | 16 => {
            ends(&mut fields, &TWO, &stored, |s| unique_p_bits(pair(mode, &values, s), 4, &FIVE_P));
            pack_mode::<7>(fields)
        }
        6 | 11 | 13 | 17 => {
            dual_plane::<M>(&mut fields, &stored, pair(mode, &values, 0));
            pack_mode::<5>(fields)
        }
        _ => {
            let counted = if mode.components == 3 { 3 } else { 4 };
            fields.ends[0] = unique_p_bits(pair(mode, &values, 0), counted, &SEVEN_P);
            pack_mode::<6>(fields)
        }
    })
}

/// An endpoint pair as RGBA.
type Pair = [[u8; 4]; 2];

/// Returns the endpoint pair of a subset as RGBA.
#[inline(always)]
fn pair(mode: &Mode, values: &[u8; 18], subset: usize) -> Pair {
    let at = subset * mode.components * 2;
    let mut out = [[255; 4]; 2];
    for (k, end) in out.iter_mut().enumerate() {
        let value = |component: usize| values[at + component * 2 + k];
        *end = match mode.components {
            2 => [value(0), value(0), value(0), value(1)],
            3 => [value(0), value(1), value(2), 255],
            _ => [value(0), value(1), value(2), value(3)],
        };
    }
    out
}

/// Sets the pattern and the endpoints of every BC7 subset.
#[inline(always)]
fn ends<const N: usize>(
    fields: &mut Fields,
    list: &[Renumbered; N],
    stored: &Stored,
    convert: impl Fn(usize) -> [u32; 2],
) {
    let renumbered = &list[usize::from(stored.pattern)];
    fields.pattern = renumbered.bc7;
    let converted = [convert(0), convert(1), if N == THREE.len() { convert(2) } else { [0; 2] }];
    for (ends, &subset) in fields.ends.iter_mut().zip(&renumbered.subset) {
        *ends = converted[usize::from(subset)];
    }
}

/// BC7 mode 5: the channel of the second plane changes places with alpha.
#[inline(always)]
fn dual_plane<const M: usize>(fields: &mut Fields, stored: &Stored, mut pair: Pair) {
    let mode = &MODES[M];
    fields.rotation = (stored.channel + 1) & 3;
    for (end, out) in pair.iter_mut().zip(&mut fields.ends[0]) {
        end.swap(3, usize::from(stored.channel & 3));
        let [r, g, b, a] = *end;
        *out = u32::from_le_bytes([SEVEN[r as usize], SEVEN[g as usize], SEVEN[b as usize], a]);
    }
    // Both planes are interleaved: pairs of weights in each nibble or half nibble.
    let width = mode.weight_bits;
    let (mut first, mut second) = if width == 2 {
        let all = stored.weights as u64;
        (all & 0x3333_3333_3333_3333, all >> 2 & 0x3333_3333_3333_3333)
    } else {
        let all = spread_to_nibbles(stored.weights as u64, 2);
        (all & 0x1111_1111_1111_1111, all >> 1 & 0x1111_1111_1111_1111)
    };
    if width == 1 {
        (first, second) = (first * 3, second * 3);
    }
    (fields.weights, fields.second) = (first, second);
}

/// Returns the weights of BC7, four bits each, for modes with one plane.
#[inline(always)]
fn weights<const M: usize>(stored: u128) -> u64 {
    let mode = &MODES[M];
    if mode.planes == 2 {
        return 0;
    }
    if mode.weight_bits == 5 {
        let mut out = 0;
        for (i, &weight) in weight_planes(stored, mode)[0].iter().enumerate() {
            out |= u64::from(SIXTEEN_OF_32[usize::from(weight)]) << (4 * i);
        }
        return out;
    }
    let nibbles = spread_to_nibbles(stored as u64, mode.weight_bits);
    match M {
        // 0, 2, 4, 6, 9, 11, 13, 15
        5 | 12 => nibbles << 1 | nibbles >> 2 & 0x1111_1111_1111_1111,
        // 0, 5, 10, 15
        14 => nibbles | nibbles << 2,
        _ => nibbles,
    }
}

/// The nearest of sixteen weights for each of 32.
const SIXTEEN_OF_32: [u8; 32] = {
    let mut out = [0; 32];
    let mut i = 0;
    while i < 16 {
        // Every second one, except that weight 14 of 31 is nearer to 6 of 15 than to 7.
        out[i] = if i == 14 { 6 } else { (i / 2) as u8 };
        out[31 - i] = 15 - out[i];
        i += 1;
    }
    out
};

/// A UASTC partition in terms of BC7.
struct Renumbered {
    /// The index of the BC7 pattern.
    bc7: u8,
    /// The UASTC subset of each BC7 subset.
    subset: [u8; 3],
}

/// The two-subset patterns: BC7 patterns of the UASTC specification's table.
static TWO: [Renumbered; 30] = renumbered(
    [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 29, 32,
        33, 52,
    ],
    &partitions::TWO,
    &patterns::TWO,
);
/// The three-subset patterns.
static THREE: [Renumbered; 11] =
    renumbered([4, 8, 9, 10, 11, 12, 13, 20, 35, 36, 57], &partitions::THREE, &patterns::THREE);
/// The two-subset patterns that BC7 has as three subsets, two of which are equal.
static TWO_OF_THREE: [Renumbered; 19] = renumbered(
    [10, 11, 0, 2, 8, 13, 1, 33, 40, 20, 21, 58, 3, 32, 59, 34, 20, 14, 31],
    &partitions::TWO_OF_THREE,
    &patterns::THREE,
);

/// Finds the UASTC subset of each BC7 subset, and checks that both patterns are the same partition.
const fn renumbered<const N: usize>(
    bc7: [u8; N],
    uastc: &[Partition; N],
    patterns: &[Partition; 64],
) -> [Renumbered; N] {
    const NONE: Renumbered = Renumbered { bc7: 0, subset: [0; 3] };
    let mut out = [NONE; N];
    let mut i = 0;
    while i < N {
        let pattern = &patterns[bc7[i] as usize];
        out[i].bc7 = bc7[i];
        let mut texel = 16;
        while texel > 0 {
            texel -= 1;
            out[i].subset[pattern.subset[texel] as usize] = uastc[i].subset[texel];
        }
        while texel < 16 {
            assert!(out[i].subset[pattern.subset[texel] as usize] == uastc[i].subset[texel]);
            texel += 1;
        }
        i += 1;
    }
    out
}

/// Every value rounded to fewer bits and expanded again.
type Rounding = [u8; 256];

/// Five bits.
static FIVE: Rounding = rounding(5);
/// Seven bits.
static SEVEN: Rounding = rounding(7);

const fn rounding(bits: u32) -> Rounding {
    let mut out = [0; 256];
    let mut value = 0;
    while value < 256 {
        let rounded = (value as u32 * ((1 << bits) - 1) + 127) / 255;
        out[value] = expand(rounded, bits);
        value += 1;
    }
    out
}

const fn expand(value: u32, bits: u32) -> u8 {
    let high = value << (8 - bits);
    (high | high >> bits) as u8
}

#[inline(always)]
fn rounded(pair: Pair, rounding: &Rounding) -> [u32; 2] {
    pair.map(|end| u32::from_le_bytes(end.map(|value| rounding[usize::from(value)])))
}

/// Every value rounded with a P-bit.
struct PBitRounding {
    /// The rounded values, expanded to eight bits, by P-bit.
    values: [[u8; 256]; 2],
    /// The squared error with a P-bit of one, minus that with zero.
    gain: [i16; 256],
}

/// Seven bits and a P-bit.
static SEVEN_P: PBitRounding = p_bit_rounding(8);
/// Five bits and a P-bit.
static FIVE_P: PBitRounding = p_bit_rounding(6);

const fn p_bit_rounding(bits: u32) -> PBitRounding {
    let mut out = PBitRounding { values: [[0; 256]; 2], gain: [0; 256] };
    let mut value = 0;
    while value < 256 {
        // The reference measures errors of values that went through a division; none of them changes, so that
        // its sums are integers.
        assert!((value as f32 / 255.0) * 255.0 == value as f32);
        let mut p_bit = 0;
        while p_bit < 2 {
            let expanded = expand(round_with_p_bit(value as f32 / 255.0, bits, p_bit), bits);
            out.values[p_bit as usize][value] = expanded;
            let error = expanded as i16 - value as i16;
            out.gain[value] += if p_bit == 1 { error * error } else { -(error * error) };
            p_bit += 1;
        }
        value += 1;
    }
    out
}

/// Rounds a fraction to `bits` bits, the lowest being the P-bit.
const fn round_with_p_bit(fraction: f32, bits: u32, p_bit: i32) -> u32 {
    let top = (1 << bits) - 1;
    let value = ((fraction * top as f32 - p_bit as f32) / 2.0 + 0.5) as i32 * 2 + p_bit;
    let (least, most) = (p_bit, top - 1 + p_bit);
    if value < least {
        least as u32
    } else if value > most {
        most as u32
    } else {
        value as u32
    }
}

/// Rounds both endpoints, each with the P-bit of the smaller error over the first `counted` channels.
#[inline(always)]
fn unique_p_bits(pair: Pair, counted: usize, rounding: &PBitRounding) -> [u32; 2] {
    pair.map(|end| {
        let mut gain = 0;
        for &value in &end[..counted] {
            gain += rounding.gain[usize::from(value)];
        }
        let values = &rounding.values[usize::from(gain < 0)];
        let mut out = end.map(|value| values[usize::from(value)]);
        if counted == 3 {
            // All ones, and the P-bit below them.
            out[3] = 254 | u8::from(gain < 0);
        }
        u32::from_le_bytes(out)
    })
}

/// The sixteen endpoint values of mode 2, rounded to six bits and a P-bit, and their errors as fractions.
static SIX_P: ([[u8; 16]; 2], [[f32; 16]; 2]) = {
    let (mut values, mut errors) = ([[0; 16]; 2], [[0.0; 16]; 2]);
    let mut index = 0;
    while index < 16 {
        let fraction = (index * 17) as f32 / 255.0;
        let mut p_bit = 0;
        while p_bit < 2 {
            let expanded = expand(round_with_p_bit(fraction, 7, p_bit), 7);
            values[p_bit as usize][index] = expanded;
            let error = expanded as f32 / 255.0 - fraction;
            errors[p_bit as usize][index] = error * error;
            p_bit += 1;
        }
        index += 1;
    }
    (values, errors)
};

/// Rounds both endpoints with one P-bit for both, that of the smaller error. The sum is rounded as the reference
/// rounds it, because its choice between equal errors depends on that.
#[inline(always)]
fn shared_p_bit([low, high]: Pair) -> [u32; 2] {
    let mut errors = [0.0; 2];
    for (p_bit, error) in errors.iter_mut().enumerate() {
        for channel in 0..3 {
            let of = |end: [u8; 4]| SIX_P.1[p_bit][usize::from(end[channel] >> 4)];
            *error += of(low) + of(high);
        }
    }
    let values = &SIX_P.0[usize::from(errors[1] < errors[0])];
    [low, high].map(|end| u32::from_le_bytes(end.map(|value| values[usize::from(value >> 4)])))
}
