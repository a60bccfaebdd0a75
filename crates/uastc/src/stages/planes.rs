//! The dual-plane modes: one channel has weights of its own.

use super::channels;

use crate::batch::{Batch, Stage};
use crate::block::{Block, Candidate, Choice};
use crate::effort::{Effort, Step};
use crate::fit::fit;
use crate::lanes::{Lanes, WIDTH};
use crate::modes::MODES;
use crate::principal_axis::{Texels, dual_plane_estimates, project_on_axes};
use crate::subset_fit::Fitted;
use crate::transcode::Target;

/// The stage that estimates the error of each choice of the second plane's channel.
pub(crate) struct ChoosePlanes<const C: usize>;

impl<const C: usize> Stage for ChoosePlanes<C> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, _: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, 1>());
        for (second_channel, estimate) in dual_plane_estimates(&px).iter().enumerate() {
            let across = estimate.across + estimate.steps;
            let (across, along) = (across.store(), estimate.along.store());
            for (lane, id) in batch.lanes() {
                blocks[id].planes[second_channel] =
                    Choice { pattern: second_channel as u8, across: across[lane], along: along[lane] };
            }
        }
    }
}

/// The stage of a dual-plane mode. `R` is the number of channels in the first plane.
pub(crate) struct DualPlane<const MODE: usize, const C: usize, const R: usize, const N: usize> {
    /// The channel of the second plane.
    pub(crate) second_channel: usize,
    /// The step of the search.
    pub(crate) step: Step,
}

impl<const MODE: usize, const C: usize, const R: usize, const N: usize> Stage for DualPlane<MODE, C, R, N> {
    type Block = Block;
    type Effort = Effort;

    fn is_for(&self, block: &Block) -> bool {
        usize::from(block.fields.channel) == self.second_channel
    }

    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, 1>());
        let second_channel = self.second_channel;
        let mut rest = [[L::zero(); 16]; R];
        for c in 0..R {
            rest[c] = px[c + usize::from(c >= second_channel)];
        }
        let second = [px[second_channel]];
        let range = MODES[MODE].range;
        let tries = effort.tries::<1>(N, self.step);
        let best = batch.gather::<L, _>(blocks, |block| block.cost);
        let rest_projection = project_on_axes::<L, R, 1, 1>(&rest, &[]);
        let a = fit::<L, R, N, 1, 1>(&rest, &[], &rest_projection, range, Target::FIRST_PLANE, tries, best);
        if !L::any(a.error.less(best)) {
            return;
        }
        let lone_projection = project_on_axes::<L, 1, 1, 1>(&second, &[]);
        let b =
            fit::<L, 1, N, 1, 1>(&second, &[], &lone_projection, range, Target::SECOND_PLANE, tries, best);
        let mut ends = [L::zero(); 8];
        for c in 0..C {
            let (pair, at) = (&a.pairs[0], c - usize::from(c > second_channel));
            let own = c == second_channel;
            ends[c * 2] = if own { b.pairs[0].low[0] } else { pair.low[at.min(R - 1)] };
            ends[c * 2 + 1] = if own { b.pairs[0].high[0] } else { pair.high[at.min(R - 1)] };
        }
        offer_planes(MODE, blocks, batch, &a, &b, &ends[..C * 2], second_channel);
    }
}

/// The stage of mode 17: grey in the first plane and alpha in the second.
pub(crate) struct GreyAlphaDualPlane {
    /// The step of the search.
    pub(crate) step: Step,
}

impl Stage for GreyAlphaDualPlane {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let [grey, alpha] = batch.channels::<L, 2>([0, 3]);
        let (grey, alpha) = ([grey], [alpha]);
        let range = MODES[17].range;
        let tries = effort.tries::<3>(4, self.step);
        let best = batch.gather::<L, _>(blocks, |block| block.cost);
        let grey_projection = project_on_axes::<L, 1, 1, 3>(&grey, &[]);
        let a = fit::<L, 1, 4, 1, 3>(&grey, &[], &grey_projection, range, Target::FIRST_PLANE, tries, best);
        let alpha_projection = project_on_axes::<L, 1, 1, 1>(&alpha, &[]);
        let b =
            fit::<L, 1, 4, 1, 1>(&alpha, &[], &alpha_projection, range, Target::SECOND_PLANE, tries, best);
        let [l, k] = [a.pairs[0], b.pairs[0]];
        offer_planes(17, blocks, batch, &a, &b, &[l.low[0], l.high[0], k.low[0], k.high[0]], 3);
    }
}

/// Offers a dual-plane candidate to the blocks of the batch.
#[inline(always)]
fn offer_planes<L: Lanes, const R: usize>(
    mode: usize,
    blocks: &mut [Block],
    batch: &Batch,
    rest: &Fitted<L, R, 1>,
    second: &Fitted<L, 1, 1>,
    endpoints: &[L],
    channel: usize,
) {
    let candidate = Candidate {
        mode: mode as u8,
        pattern: [0; WIDTH],
        channel: [channel as u32; WIDTH],
        endpoints,
        weights: &[rest.weights, second.weights],
        error: rest.error + second.error,
        cost: rest.cost + second.cost,
    };
    candidate.offer(blocks, batch);
}
