//! The decoder of BC6H blocks.

use super::layout::{Fields, unpack};
use super::{WEIGHTS_3, WEIGHTS_4, finish, to_half, unquantise};

/// Decodes a block to the bits of half floats: red, green, blue. A block with a reserved mode is black.
#[must_use]
pub fn decode(block: &[u8; 16], signed: bool) -> [[u16; 3]; 16] {
    let Some(fields) = unpack(block) else { return [[0; 3]; 16] };
    let ends = wide_ends(&fields, signed);
    std::array::from_fn(|i| texel(&ends, fields.subset(i), weight(&fields, i), signed).map(to_half))
}

/// Returns the weight of a texel in 64ths.
fn weight(fields: &Fields, texel: usize) -> i32 {
    let index = usize::from(fields.weights[texel]);
    if fields.mode().subsets == 2 { WEIGHTS_3[index & 7] } else { WEIGHTS_4[index & 15] }
}

/// Interpolates a texel: the integers of half floats.
#[inline]
fn texel(ends: &[[i32; 3]; 4], subset: usize, weight: i32, signed: bool) -> [i32; 3] {
    let [a, b] = [ends[2 * subset], ends[2 * subset + 1]];
    std::array::from_fn(|c| finish((a[c] * (64 - weight) + b[c] * weight + 32) >> 6, signed))
}

/// Returns the endpoints in 16 bits.
fn wide_ends(fields: &Fields, signed: bool) -> [[i32; 3]; 4] {
    let mode = fields.mode();
    let mut ends = fields.ends;
    let extend = |value: i32, bits: u32| value << (32 - bits) >> (32 - bits);
    for c in 0..3 {
        if signed {
            ends[0][c] = extend(ends[0][c], mode.bits);
        }
        for end in 1..4 {
            if mode.transformed {
                let sum = extend(ends[end][c], mode.delta[c]) + ends[0][c];
                // Sums wrap around in the precision of the first endpoint.
                let wrapped = sum & ((1u32 << mode.bits) as i32).wrapping_sub(1);
                ends[end][c] = if signed { extend(wrapped, mode.bits) } else { wrapped };
            } else if signed {
                ends[end][c] = extend(ends[end][c], mode.bits);
            }
        }
    }
    ends.map(|end| end.map(|value| unquantise(value, mode.bits, signed)))
}
