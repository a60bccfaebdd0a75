//! Solid-colour BC7 blocks, exactly: mode 5, which has 8-bit alpha, with colours interpolated between two
//! endpoints.
//!
//! Colour endpoints have seven bits in mode 5, so half of the values are not endpoints; but each of the 256
//! values is the interpolation of some pair of endpoints at the second weight (21 of 64).

use super::decode::{interpolate, weight_64ths};
use super::modes::{Fields, MODES};

/// The endpoints, eight bits each, that interpolate to a value at the second weight.
static PAIRS: [[u8; 2]; 256] = {
    let mut out = [[0; 2]; 256];
    let grid = MODES_5;
    let mut distance = 0;
    let mut found = [false; 256];
    // Close pairs first, so that the endpoints are as near to the value as possible.
    while distance < 4 {
        let mut low = 0;
        while low < 128 {
            if low + distance < 128 {
                let (a, b) = (grid.widen(low), grid.widen(low + distance));
                let value = interpolate(a, b, weight_64ths(2, 1)) as usize;
                if !found[value] {
                    (found[value], out[value]) = (true, [a, b]);
                }
                let value = interpolate(b, a, weight_64ths(2, 1)) as usize;
                if !found[value] {
                    (found[value], out[value]) = (true, [b, a]);
                }
            }
            low += 1;
        }
        distance += 1;
    }
    let mut value = 0;
    while value < 256 {
        assert!(found[value], "every value is between two endpoints");
        value += 1;
    }
    out
};

const MODES_5: super::modes::Grid = MODES[5].colour;

/// Returns the fields of a solid-colour block.
pub(crate) fn solid(colour: u32) -> Fields {
    let [r, g, b, a] = colour.to_le_bytes();
    let [r, g, b] = [r, g, b].map(|value| PAIRS[usize::from(value)]);
    let end = |k: usize| u32::from_le_bytes([r[k], g[k], b[k], a]);
    let mut ends = [[0; 2]; 3];
    ends[0] = [end(0), end(1)];
    Fields { mode: 5, ends, weights: 0x1111_1111_1111_1111, ..Fields::NONE }
}
