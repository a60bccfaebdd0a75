//! Advice for transcoders: ETC1 colours, ETC2 alpha, BC1.

use crate::packing::SolidHint;

/// ETC1's intensity modifiers, smallest first.
const ETC1: [[i32; 4]; 8] = [
    [-8, -2, 2, 8],
    [-17, -5, 5, 17],
    [-29, -9, 9, 29],
    [-42, -13, 13, 42],
    [-60, -18, 18, 60],
    [-80, -24, 24, 80],
    [-106, -33, 33, 106],
    [-183, -47, 47, 183],
];

/// The five-bit base that comes nearest to `value` with a modifier, and its error.
const fn nearest_base(value: i32, modifier: i32) -> (u8, u8) {
    let mut best = (0, 255);
    let mut base = 0;
    while base < 32 {
        let mut sum = (base << 3 | base >> 2) + modifier;
        if sum < 0 {
            sum = 0;
        } else if sum > 255 {
            sum = 255;
        }
        let error = (sum - value).unsigned_abs();
        if error < best.1 as u32 {
            best = (base as u8, error as u8);
        }
        base += 1;
    }
    best
}

/// The best ETC1 form of one colour: both halves of the block alike.
pub(crate) fn solid(colour: [u8; 4]) -> SolidHint {
    let mut best = (u32::MAX, SolidHint { table: 0, selector: 0, base: [0; 3] });
    for (table, modifiers) in ETC1.iter().enumerate() {
        for (selector, &modifier) in modifiers.iter().enumerate() {
            let bases = [colour[0], colour[1], colour[2]].map(|v| nearest_base(v.into(), modifier));
            let error = bases.iter().map(|&(_, e)| u32::from(e) * u32::from(e)).sum();
            if error < best.0 {
                let base = bases.map(|(base, _)| base);
                best = (error, SolidHint { table: table as u8, selector: selector as u8, base });
            }
        }
    }
    best.1
}
