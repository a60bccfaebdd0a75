//! Solid-colour UASTC blocks as BC7.
//!
//! A value is the interpolation of two endpoints at 21 of 64, which is a weight of BC7's modes 5 and 6. Mode 6 with
//! equal P-bits is used if it is exact for all four channels, else mode 5, whose alpha has eight bits.

use super::modes::Fields;
use super::packing::pack_mode;

/// The endpoints of a value, as stored, and whether they interpolate to it exactly.
#[derive(Clone, Copy)]
struct Ends {
    low: u8,
    high: u8,
    exact: bool,
    error: u8,
}

/// Mode 6: seven bits and a P-bit of 0 or 1 for both endpoints; eight bits each.
static MODE_6: [[Ends; 256]; 2] = [ends(0), ends(1)];
/// Mode 5: seven bits, replicated to eight.
static MODE_5: [Ends; 256] = ends(2);

/// Expands seven bits to eight: with a P-bit, or (2) by replication.
const fn expand(value: i32, lowest: i32) -> i32 {
    value << 1 | if lowest == 2 { value >> 6 } else { lowest }
}

/// Finds the first pair with the smallest error: the smallest low endpoint, then the smallest high one.
const fn ends(lowest: i32) -> [Ends; 256] {
    let mut out = [Ends { low: 0, high: 0, exact: false, error: 255 }; 256];
    let mut value = 0;
    while value < 256 {
        let best = &mut out[value as usize];
        let mut low = 0;
        while low < 128 && !best.exact {
            // The interpolation grows with the high endpoint, by less than one a step: start a few steps early.
            let from = (value * 64 - expand(low, lowest) * 43) / 42 - 4;
            let mut high = if from < 0 {
                0
            } else if from > 120 {
                120
            } else {
                from
            };
            let end = if high + 10 > 128 { 128 } else { high + 10 };
            while high < end && !best.exact {
                let (a, b) = (expand(low, lowest), expand(high, lowest));
                let error = ((a * 43 + b * 21 + 32) >> 6) - value;
                let error = if error < 0 { -error } else { error };
                if error < best.error as i32 {
                    *best = Ends { low: a as u8, high: b as u8, exact: error == 0, error: error as u8 };
                }
                high += 1;
            }
            low += 1;
        }
        value += 1;
    }
    out
}

/// Transcodes a solid-colour block.
pub(crate) fn transcode(colour: [u8; 4]) -> [u8; 16] {
    let exact = |p_bit: usize| colour.iter().all(|&value| MODE_6[p_bit][usize::from(value)].exact);
    let mut fields = Fields::NONE;
    let p_bit = match (exact(0), exact(1)) {
        (true, _) => 0,
        (_, true) => 1,
        _ => {
            let ends = colour.map(|value| MODE_5[usize::from(value)]);
            let [r, g, b, _] = ends.map(|ends| ends.low);
            fields.ends[0][0] = u32::from_le_bytes([r, g, b, colour[3]]);
            let [r, g, b, _] = ends.map(|ends| ends.high);
            fields.ends[0][1] = u32::from_le_bytes([r, g, b, colour[3]]);
            fields.weights = 0x1111_1111_1111_1111;
            return pack_mode::<5>(fields);
        }
    };
    let ends = colour.map(|value| MODE_6[p_bit][usize::from(value)]);
    fields.ends[0][0] = u32::from_le_bytes(ends.map(|ends| ends.low));
    fields.ends[0][1] = u32::from_le_bytes(ends.map(|ends| ends.high));
    fields.weights = 0x5555_5555_5555_5555;
    pack_mode::<6>(fields)
}
