//! The modes of two planes: one channel has weights of its own.

use super::channels;

use crate::batch::{Batch, Stage};
use crate::block::{Block, Candidate, Choice};
use crate::effort::Effort;
use crate::fit::{Fitted, fit};
use crate::lanes::{Lanes, WIDTH};
use crate::modes::MODES;
use crate::spread::{Texels, apart, spread};
use crate::transcode::Target;

/// How well the channels of each block split into one alone and the others on a line.
pub(crate) struct ChoosePlanes<const C: usize>;

impl<const C: usize> Stage for ChoosePlanes<C> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, _: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, 1>());
        for (alone, apart) in apart(&px).iter().enumerate() {
            let across = apart.across + apart.steps;
            let (across, along) = (across.store(), apart.along.store());
            for (lane, id) in batch.lanes() {
                blocks[id].planes[alone] =
                    Choice { pattern: alone as u8, across: across[lane], along: along[lane] };
            }
        }
    }
}

/// A mode of two planes: one channel has weights of its own. `R` is how many channels remain.
pub(crate) struct TwoPlanes<const MODE: usize, const C: usize, const R: usize, const N: usize> {
    /// The channel on its own.
    pub(crate) alone: usize,
}

impl<const MODE: usize, const C: usize, const R: usize, const N: usize> Stage for TwoPlanes<MODE, C, R, N> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, 1>());
        let alone = self.alone;
        let mut rest = [[L::zero(); 16]; R];
        for c in 0..R {
            rest[c] = px[c + usize::from(c >= alone)];
        }
        let lone = [px[alone]];
        let lattice = MODES[MODE].lattice;
        let tries = effort.tries(N);
        let spread_rest = spread::<L, R, 1, 1>(&rest, &[]);
        let a = fit::<L, R, N, 1, 1>(&rest, &[], &spread_rest, lattice, Target::SHARED, tries);
        let best = batch.gather::<L, _>(blocks, |block| block.error.max(block.cost));
        if !L::any(a.error.less(best)) {
            return;
        }
        let spread_lone = spread::<L, 1, 1, 1>(&lone, &[]);
        let b = fit::<L, 1, N, 1, 1>(&lone, &[], &spread_lone, lattice, Target::ALONE, tries);
        let mut ends = [L::zero(); 8];
        for c in 0..C {
            let (line, at) = (&a.lines[0], c - usize::from(c > alone));
            let own = c == alone;
            ends[c * 2] = if own { b.lines[0].low[0] } else { line.low[at.min(R - 1)] };
            ends[c * 2 + 1] = if own { b.lines[0].high[0] } else { line.high[at.min(R - 1)] };
        }
        offer_planes(MODE, blocks, batch, &a, &b, &ends[..C * 2], alone);
    }
}

/// Grey and alpha with weights of their own (mode 17).
pub(crate) struct GreyPlanes;

impl Stage for GreyPlanes {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let [grey, alpha] = batch.channels::<L, 2>([0, 3]);
        let (grey, alpha) = ([grey], [alpha]);
        let lattice = MODES[17].lattice;
        let tries = effort.tries(4);
        let spread_grey = spread::<L, 1, 1, 3>(&grey, &[]);
        let a = fit::<L, 1, 4, 1, 3>(&grey, &[], &spread_grey, lattice, Target::SHARED, tries);
        let spread_alpha = spread::<L, 1, 1, 1>(&alpha, &[]);
        let b = fit::<L, 1, 4, 1, 1>(&alpha, &[], &spread_alpha, lattice, Target::ALONE, tries);
        let [l, k] = [a.lines[0], b.lines[0]];
        offer_planes(17, blocks, batch, &a, &b, &[l.low[0], l.high[0], k.low[0], k.high[0]], 3);
    }
}

/// Offers a candidate of two planes.
#[inline(always)]
fn offer_planes<L: Lanes, const R: usize>(
    mode: usize,
    blocks: &mut [Block],
    batch: &Batch,
    rest: &Fitted<L, R, 1>,
    lone: &Fitted<L, 1, 1>,
    endpoints: &[L],
    channel: usize,
) {
    let candidate = Candidate {
        mode: mode as u8,
        pattern: [0; WIDTH],
        channel: [channel as u32; WIDTH],
        endpoints,
        weights: &[rest.weights, lone.weights],
        error: rest.error + lone.error,
        cost: rest.cost + lone.cost,
    };
    candidate.offer(blocks, batch);
}
