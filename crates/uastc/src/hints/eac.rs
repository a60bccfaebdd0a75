//! ETC2 alpha (EAC) hints: the modifier table and the multiplier.
//!
//! The transcoder chooses the base so that the table spans the alphas from the smallest to the largest, and
//! gives each texel the nearest of the eight values. All sixteen tables are tried, with the multiplier that
//! makes the table as wide as the range of the alphas.

use crate::batch::{Batch, Stage};
use crate::block::Block;
use crate::effort::Effort;
use crate::lanes::Lanes;

/// The stage that finds the EAC hints of blocks with varying alpha.
pub(crate) struct Eac;

/// The modifiers of EAC, from the specification; the fourth is the smallest, the last the largest.
const MODIFIERS: [[i32; 8]; 16] = [
    [-3, -6, -9, -15, 2, 5, 8, 14],
    [-3, -7, -10, -13, 2, 6, 9, 12],
    [-2, -5, -8, -13, 1, 4, 7, 12],
    [-2, -4, -6, -13, 1, 3, 5, 12],
    [-3, -6, -8, -12, 2, 5, 7, 11],
    [-3, -7, -9, -11, 2, 6, 8, 10],
    [-4, -7, -8, -11, 3, 6, 7, 10],
    [-3, -5, -8, -11, 2, 4, 7, 10],
    [-2, -6, -8, -10, 1, 5, 7, 9],
    [-2, -5, -8, -10, 1, 4, 7, 9],
    [-2, -4, -8, -10, 1, 3, 7, 9],
    [-2, -5, -7, -10, 1, 4, 6, 9],
    [-3, -4, -7, -10, 2, 3, 6, 9],
    [-1, -2, -3, -10, 0, 1, 2, 9],
    [-4, -6, -8, -9, 3, 5, 7, 8],
    [-3, -5, -7, -9, 2, 4, 6, 8],
];

impl Stage for Eac {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, _: &Effort) {
        let [alpha] = batch.channels::<L, 1>([3]);
        let (mut low, mut high) = (alpha[0], alpha[0]);
        for i in 1..16 {
            low = low.min(alpha[i]);
            high = high.max(alpha[i]);
        }
        let mut best = (L::splat(1e30), L::splat(0x1D as f32));
        for (table, modifiers) in MODIFIERS.iter().enumerate() {
            let (least, most) = (modifiers[3] as f32, modifiers[7] as f32);
            let base = (low + (high - low) * L::splat(-least / (most - least)) + L::splat(0.5)).floor();
            let fit = ((high - low) * L::splat(1.0 / (most - least)) + L::splat(0.5)).floor();
            let multiplier = fit.clamp(1.0, 15.0);
            let mut values = [L::zero(); 8];
            for j in 0..8 {
                values[j] = (base + multiplier * L::splat(modifiers[j] as f32)).clamp(0.0, 255.0);
            }
            let mut error = L::zero();
            for i in 0..16 {
                let mut nearest = (alpha[i] - values[0]).abs();
                for j in 1..8 {
                    nearest = nearest.min((alpha[i] - values[j]).abs());
                }
                error = error + nearest.squared();
            }
            let better = error.less(best.0);
            best.0 = best.0.min(error);
            best.1 = (multiplier * L::splat(16.0) + L::splat(table as f32)).or(better, best.1);
        }
        let hint = best.1.to_words();
        for (lane, id) in batch.lanes() {
            blocks[id].fields.hints.eac = hint[lane] as u8;
        }
    }
}
