//! ETC1 hints of solid-colour blocks.

use crate::packing::SolidHint;
use kiln_transcode::etc1::MODIFIERS as ETC1_MODIFIERS;

/// For every modifier and value, the nearest 5-bit base with that modifier, and its error.
static NEAREST: [[(u8, u8); 256]; 32] = {
    let mut table = [[(0, 0); 256]; 32];
    let mut k = 0;
    while k < 32 {
        let mut value = 0;
        while value < 256 {
            table[k][value as usize] = nearest_base(value, ETC1_MODIFIERS[k / 4][k % 4]);
            value += 1;
        }
        k += 1;
    }
    table
};

const fn nearest_base(value: i32, modifier: i32) -> (u8, u8) {
    // A base b expands to about 8.23 b: the nearest is the quotient or the next.
    let first = (value - modifier) * 31 / 255;
    let mut best = (0, u32::MAX);
    let mut base = first;
    while base <= first + 1 {
        let b = if base < 0 {
            0
        } else if base > 31 {
            31
        } else {
            base
        };
        let sum = (b << 3 | b >> 2) + modifier;
        let sum = if sum < 0 {
            0
        } else if sum > 255 {
            255
        } else {
            sum
        };
        let error = (sum - value).unsigned_abs();
        if error < best.1 {
            best = (b, error);
        }
        base += 1;
    }
    (best.0 as u8, best.1 as u8)
}

/// Returns the best ETC1 encoding of one colour, the same in both halves of the block.
pub(crate) fn solid(colour: [u8; 4]) -> SolidHint {
    let mut best = (u32::MAX, 0);
    for (k, nearest) in NEAREST.iter().enumerate() {
        let error = |c: usize| u32::from(nearest[usize::from(colour[c])].1).pow(2);
        let sum = error(0) + error(1) + error(2);
        if sum < best.0 {
            best = (sum, k);
        }
    }
    let k = best.1;
    let base = [0, 1, 2].map(|c: usize| NEAREST[k][usize::from(colour[c])].0);
    SolidHint { table: (k / 4) as u8, selector: (k % 4) as u8, base }
}
