//! The BC7 search stages. Each searches one family of modes on batches of blocks.

use super::block::{Block, Candidate, Choice};
use super::effort::Effort;
use super::fit::fit;
use super::modes::MODES;
use super::patterns::{THREE, TWO};
use crate::batch::{Batch, Stage};
use crate::lanes::{Lanes, WIDTH};
use crate::principal_axis::{Texels, dual_plane_estimates, project_on_axes};
use crate::ranking::{Moments, Ranked};
use crate::subset_fit::{EndpointPair, Fitted};

/// Indices of the lists in [`Block::choices`].
pub(crate) const TWO_8: usize = 0;
pub(crate) const TWO_4: usize = 1;
pub(crate) const THREE_8: usize = 2;
pub(crate) const THREE_4: usize = 3;

/// Returns an endpoint pair with all four channels; alpha is 255 if the fit has only three.
#[inline(always)]
fn with_alpha<L: Lanes, const C: usize>(pair: &EndpointPair<L, C>) -> EndpointPair<L, 4> {
    let opaque = [L::splat(255.0); 4];
    let mut out = EndpointPair { low: opaque, high: opaque };
    for c in 0..C {
        (out.low[c], out.high[c]) = (pair.low[c], pair.high[c]);
    }
    out
}

/// Returns the first `C` channels of the texels.
#[inline(always)]
fn channels<L: Lanes, const C: usize>(batch: &Batch) -> Texels<L, C> {
    let mut which = [0; C];
    for c in 0..C {
        which[c] = c as u32;
    }
    batch.channels(which)
}

/// The stage of mode 6: a single subset. `OPAQUE`: alpha is not among the channels and has to stay 255.
pub(crate) struct SingleSubset<const C: usize, const OPAQUE: bool>;

impl<const C: usize, const OPAQUE: bool> Stage for SingleSubset<C, OPAQUE> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px = channels::<L, C>(batch);
        let projection = project_on_axes::<L, C, 1, 1>(&px, &[]);
        let tries = if OPAQUE { effort.opaque_tries() } else { effort.tries(16) };
        let fitted = fit::<L, C, 16, 1>(&px, &[], &projection, MODES[6].colour, OPAQUE, tries);
        offer(6, blocks, batch, &fitted, [0; WIDTH]);
    }
}

/// Offers a single-plane candidate to the blocks of the batch.
#[inline(always)]
fn offer<L: Lanes, const C: usize, const S: usize>(
    mode: u8,
    blocks: &mut [Block],
    batch: &Batch,
    fitted: &Fitted<L, C, S>,
    pattern: [u32; WIDTH],
) {
    let mut pairs = [EndpointPair { low: [L::zero(); 4], high: [L::zero(); 4] }; S];
    for s in 0..S {
        pairs[s] = with_alpha(&fitted.pairs[s]);
    }
    let candidate = Candidate {
        mode,
        pattern,
        rotation: 0,
        swapped: false,
        pairs: &pairs,
        weights: &[fitted.weights],
        error: fitted.error,
    };
    candidate.offer(blocks, batch);
}

/// The stage that estimates the error of each choice of the second plane's channel.
pub(crate) struct ChoosePlanes;

impl Stage for ChoosePlanes {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, _: &Effort) {
        let px = channels::<L, 4>(batch);
        for (second_channel, estimate) in dual_plane_estimates(&px).iter().enumerate() {
            // Four weights or eight, whichever plane has them: about a twentieth of the variance remains.
            let pair = estimate.across + estimate.along * L::splat(1.0 / 20.0);
            let score = (pair + estimate.steps.min(estimate.second_channel * L::splat(1.0 / 20.0))).store();
            for (lane, id) in batch.lanes() {
                blocks[id].planes[second_channel] = score[lane];
            }
        }
    }
}

/// The stage of modes 4 and 5, which have two planes. `N` and `M` are the numbers of weights of the first and
/// the second plane. The alpha of an opaque block is in the first plane and keeps its value.
pub(crate) struct DualPlane<const MODE: usize, const N: usize, const M: usize> {
    /// The channel of the second plane.
    pub(crate) second_channel: usize,
}

impl<const MODE: usize, const N: usize, const M: usize> Stage for DualPlane<MODE, N, M> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px = channels::<L, 4>(batch);
        let (second_channel, mode) = (self.second_channel, &MODES[MODE]);
        let mut rest = [[L::zero(); 16]; 3];
        for c in 0..3 {
            rest[c] = px[c + usize::from(c >= second_channel)];
        }
        let rest_projection = project_on_axes::<L, 3, 1, 1>(&rest, &[]);
        let a = fit::<L, 3, N, 1>(&rest, &[], &rest_projection, mode.colour, false, effort.tries(N));
        let best = batch.gather::<L, _>(blocks, |block| block.error);
        if !L::any(a.error.less(best)) {
            return;
        }
        let second = [px[second_channel]];
        let lone_projection = project_on_axes::<L, 1, 1, 1>(&second, &[]);
        let b = fit::<L, 1, M, 1>(&second, &[], &lone_projection, mode.alpha, false, effort.tries(M));
        // The channel of the second plane is stored as alpha, and alpha in its place (rotation).
        let mut pair = EndpointPair { low: [L::zero(); 4], high: [L::zero(); 4] };
        for c in 0..3 {
            let from = c + usize::from(c >= second_channel);
            let place = if from == 3 { second_channel } else { from };
            (pair.low[place], pair.high[place]) = (a.pairs[0].low[c], a.pairs[0].high[c]);
        }
        (pair.low[3], pair.high[3]) = (b.pairs[0].low[0], b.pairs[0].high[0]);
        let candidate = Candidate {
            mode: MODE as u8,
            pattern: [0; WIDTH],
            rotation: ((second_channel + 1) % 4) as u8,
            swapped: N > M,
            pairs: &[pair],
            weights: &[a.weights, b.weights],
            error: a.error + b.error,
        };
        candidate.offer(blocks, batch);
    }
}

/// The stage that ranks the patterns with two subsets by the fit of principal axes through them.
pub(crate) struct ChooseTwo<const C: usize>;

impl<const C: usize> Stage for ChooseTwo<C> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let moments = Moments::<L, C, 1>::new(&channels::<L, C>(batch));
        let wanted = effort.patterns[TWO_8].max(effort.patterns[TWO_4]);
        let [eight, four] = moments.rank(&TWO, 2, [1.0 / 49.0, 1.0 / 9.0], wanted);
        store_ranking(blocks, batch, TWO_8, &eight[..effort.patterns[TWO_8]]);
        store_ranking(blocks, batch, TWO_4, &four[..effort.patterns[TWO_4]]);
    }
}

/// The stage that ranks the patterns with three subsets.
pub(crate) struct ChooseThree;

impl Stage for ChooseThree {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let moments = Moments::<L, 3, 1>::new(&channels::<L, 3>(batch));
        let (eight, four) = (effort.patterns[THREE_8], effort.patterns[THREE_4]);
        let [ranked] = moments.rank(&THREE[..16], 3, [1.0 / 49.0], eight);
        store_ranking(blocks, batch, THREE_8, &ranked[..eight]);
        if four > 0 {
            let [ranked] = moments.rank(&THREE, 3, [1.0 / 9.0], four);
            store_ranking(blocks, batch, THREE_4, &ranked[..four]);
        }
    }
}

#[inline(always)]
fn store_ranking<L: Lanes>(blocks: &mut [Block], batch: &Batch, list: usize, ranked: &[Ranked<L>]) {
    for (rank, t) in ranked.iter().enumerate() {
        let (score, pattern) = (t.score.store(), t.pattern.to_words());
        for (lane, id) in batch.lanes() {
            blocks[id].choices[list][rank] = Choice { pattern: pattern[lane] as u8, score: score[lane] };
        }
    }
}

/// The stage of a mode with several subsets and the pattern that ranked `rank` in its list.
pub(crate) struct Subsets<const MODE: usize, const C: usize, const N: usize, const S: usize> {
    /// The index of the list in [`Block::choices`].
    pub(crate) list: usize,
    /// The rank of the pattern: 0 for the best.
    pub(crate) rank: usize,
}

impl<const MODE: usize, const C: usize, const N: usize, const S: usize> Stage for Subsets<MODE, C, N, S> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px = channels::<L, C>(batch);
        let mode = &MODES[MODE];
        let pattern = batch.words(blocks, |block| block.choices[self.list][self.rank].pattern.into());
        let mut members = [[L::zero().less(L::zero()); 16]; 2];
        for (s, members) in members.iter_mut().enumerate().take(S - 1) {
            let bits = pattern.map(|p| u32::from(mode.partition(p as u8).members[s + 1]));
            for (i, member) in members.iter_mut().enumerate() {
                *member = L::bit(&bits, i as u32);
            }
        }
        let members = &members[..S - 1];
        let projection = project_on_axes::<L, C, S, 1>(&px, members);
        let fitted = fit::<L, C, N, S>(&px, members, &projection, mode.colour, false, effort.tries(N));
        offer(MODE as u8, blocks, batch, &fitted, pattern);
    }
}
