//! The stages of the search. Each runs one family of modes on batches of blocks that may gain by it.
//!
//! Here are the modes of one line; `planes` and `subsets` have the others.

mod planes;
mod subsets;

pub(crate) use planes::{ChoosePlanes, GreyPlanes, TwoPlanes};
pub(crate) use subsets::{ChoosePattern, Subsets};

use crate::batch::{Batch, Stage};
use crate::block::{Block, Candidate};
use crate::effort::Effort;
use crate::fit::{Fitted, Line, fit};
use crate::lanes::{Lanes, WIDTH};
use crate::modes::MODES;
use crate::spread::{Texels, spread};
use crate::transcode::Target;

/// The channels that a fit of `C` channels is about; `G` is 3 if the first stands for red, green and blue.
#[inline(always)]
fn channels<const C: usize, const G: usize>() -> [u32; C] {
    let mut out = [0; C];
    for c in 0..C {
        out[c] = if G == 3 && c == 1 { 3 } else { c as u32 };
    }
    out
}

/// The endpoints of the lines in stored order. Grey modes store alpha too, RGB ones all three channels.
#[inline(always)]
fn stored<L: Lanes, const C: usize, const S: usize>(
    mode: usize,
    lines: &[Line<L, C>; S],
) -> ([L; 18], usize) {
    let components = MODES[mode].components;
    let mut out = [L::zero(); 18];
    for (s, line) in lines.iter().enumerate() {
        for k in 0..components {
            let at = (s * components + k) * 2;
            let (low, high) = if k < C {
                (line.low[k], line.high[k])
            } else if components == 3 {
                (line.low[0], line.high[0])
            } else {
                (L::splat(255.0), L::splat(255.0))
            };
            (out[at], out[at + 1]) = (low, high);
        }
    }
    (out, components * 2 * S)
}

/// A mode of one line for all texels.
pub(crate) struct OneLine<const MODE: usize, const C: usize, const N: usize, const G: usize> {
    /// Whether this is the first stage, which also finds what other weights could reach.
    pub(crate) opens: bool,
}

impl<const MODE: usize, const C: usize, const N: usize, const G: usize> Stage for OneLine<MODE, C, N, G> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, G>());
        let spread = spread::<L, C, 1, G>(&px, &[]);
        if self.opens {
            let across = spread.across;
            let reach = [
                across + spread.rounding::<4>(),
                across + spread.rounding::<8>(),
                across + spread.rounding::<32>(),
            ];
            for (k, reach) in reach.into_iter().enumerate() {
                let reach = reach.store();
                for (lane, id) in batch.lanes() {
                    blocks[id].reach[k] = reach[lane];
                }
            }
        }
        let fitted =
            fit::<L, C, N, 1, G>(&px, &[], &spread, MODES[MODE].lattice, Target::of(MODE), effort.tries(N));
        offer(MODE, blocks, batch, &fitted, [0; WIDTH]);
    }
}

/// Offers a candidate of one plane.
#[inline(always)]
fn offer<L: Lanes, const C: usize, const S: usize>(
    mode: usize,
    blocks: &mut [Block],
    batch: &Batch,
    fitted: &Fitted<L, C, S>,
    pattern: [u32; WIDTH],
) {
    let (ends, count) = stored(mode, &fitted.lines);
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
