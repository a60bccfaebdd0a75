//! ETC2 alpha (EAC) hints: the modifier table and the multiplier.
//!
//! The transcoder chooses the base so that the table spans the alphas from the smallest to the largest, and
//! gives each texel the nearest of the eight values. All sixteen tables are tried, with the multiplier that
//! makes the table as wide as the range of the alphas.

use crate::batch::{Batch, Stage};
use crate::block::Block;
use crate::effort::Effort;
use crate::lanes::Lanes;
use kiln_transcode::eac::MODIFIERS;

/// The stage that finds the EAC hints of blocks with varying alpha.
pub(crate) struct Eac;

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
            let (least, most) = (f32::from(modifiers[3]), f32::from(modifiers[7]));
            let base = (low + (high - low) * L::splat(-least / (most - least)) + L::splat(0.5)).floor();
            let fit = ((high - low) * L::splat(1.0 / (most - least)) + L::splat(0.5)).floor();
            let multiplier = fit.clamp(1.0, 15.0);
            let mut values = [L::zero(); 8];
            for j in 0..8 {
                values[j] = (base + multiplier * L::splat(f32::from(modifiers[j]))).clamp(0.0, 255.0);
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
