//! The UASTC search stages. Each searches one family of modes on batches of blocks.
//!
//! This file has the modes with a single subset; `planes` and `subsets` have the others.

mod planes;
mod subsets;

pub(crate) use planes::{ChoosePlanes, DualPlane, GreyAlphaDualPlane};
pub(crate) use subsets::{ChoosePattern, EIGHT, FOUR, PatternList, Subsets};

use crate::batch::{Batch, Stage};
use crate::block::{Block, Candidate};
use crate::effort::{Effort, Step};
use crate::fit::fit;
use crate::lanes::{Lanes, WIDTH};
use crate::modes::MODES;
use crate::principal_axis::{Texels, project_on_axes};
use crate::subset_fit::{EndpointPair, Fitted};
use crate::transcode::Target;

/// Returns the channels of a fit of `C` channels; `G` is 3 if the first stands for red, green and blue.
#[inline(always)]
fn channels<const C: usize, const G: usize>() -> [u32; C] {
    let mut out = [0; C];
    for c in 0..C {
        out[c] = if G == 3 && c == 1 { 3 } else { c as u32 };
    }
    out
}

/// Returns the endpoints in stored order. Grey modes store alpha too, RGB modes all three channels.
#[inline(always)]
fn stored<L: Lanes, const C: usize, const S: usize>(
    mode: usize,
    pairs: &[EndpointPair<L, C>; S],
) -> ([L; 18], usize) {
    let components = MODES[mode].components;
    let mut out = [L::zero(); 18];
    for (s, pair) in pairs.iter().enumerate() {
        for k in 0..components {
            let at = (s * components + k) * 2;
            let (low, high) = if k < C {
                (pair.low[k], pair.high[k])
            } else if components == 3 {
                (pair.low[0], pair.high[0])
            } else {
                (L::splat(255.0), L::splat(255.0))
            };
            (out[at], out[at + 1]) = (low, high);
        }
    }
    (out, components * 2 * S)
}

/// The stage of a mode with a single subset and plane.
pub(crate) struct SingleSubset<const MODE: usize, const C: usize, const N: usize, const G: usize> {
    /// The step: the first also estimates the errors of other numbers of weights.
    pub(crate) step: Step,
}

impl<const MODE: usize, const C: usize, const N: usize, const G: usize> Stage
    for SingleSubset<MODE, C, N, G>
{
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, G>());
        let projection = project_on_axes::<L, C, 1, G>(&px, &[]);
        if self.step == Step::First {
            let across = projection.across;
            let single_subset = [
                across + projection.rounding::<4>(),
                across + projection.rounding::<8>(),
                across + projection.rounding::<32>(),
            ];
            for (k, single_subset) in single_subset.into_iter().enumerate() {
                let single_subset = single_subset.store();
                for (lane, id) in batch.lanes() {
                    blocks[id].single_subset[k] = single_subset[lane];
                }
            }
        }
        let fitted = fit::<L, C, N, 1, G>(
            &px,
            &[],
            &projection,
            MODES[MODE].range,
            Target::of(MODE),
            effort.tries::<G>(N, self.step),
            batch.gather(blocks, |block| block.cost),
        );
        offer(MODE, blocks, batch, &fitted, [0; WIDTH]);
    }
}

/// Offers a single-plane candidate to the blocks of the batch.
#[inline(always)]
fn offer<L: Lanes, const C: usize, const S: usize>(
    mode: usize,
    blocks: &mut [Block],
    batch: &Batch,
    fitted: &Fitted<L, C, S>,
    pattern: [u32; WIDTH],
) {
    let (ends, count) = stored(mode, &fitted.pairs);
    let candidate = Candidate {
        mode: mode as u8,
        pattern,
        channel: [0; WIDTH],
        endpoints: &ends[..count],
        weights: &[fitted.weights],
        error: fitted.error,
        cost: fitted.cost,
    };
    candidate.offer(blocks, batch);
}
