//! The stages of the search: one family of modes each, on batches of blocks that may gain by it.

use super::block::{Block, Candidate, Choice};
use super::effort::Effort;
use super::fit::{Fitted, fit};
use super::modes::MODES;
use super::patterns::{THREE, TWO};
use crate::batch::{Batch, Stage};
use crate::fit::Line;
use crate::lanes::{Lanes, WIDTH};
use crate::ranking::{Moments, Ranked};
use crate::spread::{Texels, apart, spread};

/// Lists of [`Block::choices`].
pub(crate) const TWO_8: usize = 0;
pub(crate) const TWO_4: usize = 1;
pub(crate) const THREE_8: usize = 2;
pub(crate) const THREE_4: usize = 3;

/// A line of all four channels; alpha is 255 if the fit has but three.
#[inline(always)]
fn with_alpha<L: Lanes, const C: usize>(line: &Line<L, C>) -> Line<L, 4> {
    let opaque = [L::splat(255.0); 4];
    let mut out = Line { low: opaque, high: opaque };
    for c in 0..C {
        (out.low[c], out.high[c]) = (line.low[c], line.high[c]);
    }
    out
}

/// The first `C` channels.
#[inline(always)]
fn channels<L: Lanes, const C: usize>(batch: &Batch) -> Texels<L, C> {
    let mut which = [0; C];
    for c in 0..C {
        which[c] = c as u32;
    }
    batch.channels(which)
}

/// Mode 6: one line for all texels. `OPAQUE`: alpha is not among the channels, and has to stay 255.
pub(crate) struct OneLine<const C: usize, const OPAQUE: bool>;

impl<const C: usize, const OPAQUE: bool> Stage for OneLine<C, OPAQUE> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px = channels::<L, C>(batch);
        let spread = spread::<L, C, 1, 1>(&px, &[]);
        let fitted = fit::<L, C, 16, 1>(&px, &[], &spread, MODES[6].colour, OPAQUE, effort.tries(16));
        offer(6, blocks, batch, &fitted, [0; WIDTH]);
    }
}

/// Offers a candidate of one plane.
#[inline(always)]
fn offer<L: Lanes, const C: usize, const S: usize>(
    mode: u8,
    blocks: &mut [Block],
    batch: &Batch,
    fitted: &Fitted<L, C, S>,
    pattern: [u32; WIDTH],
) {
    let mut lines = [Line { low: [L::zero(); 4], high: [L::zero(); 4] }; S];
    for s in 0..S {
        lines[s] = with_alpha(&fitted.lines[s]);
    }
    let candidate = Candidate {
        mode,
        pattern,
        rotation: 0,
        swapped: false,
        lines: &lines,
        weights: &[fitted.weights],
        error: fitted.error,
    };
    candidate.offer(blocks, batch);
}

/// How well the channels of each block split into one alone and the others on a line.
pub(crate) struct ChoosePlanes;

impl Stage for ChoosePlanes {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, _: &Effort) {
        let px = channels::<L, 4>(batch);
        for (alone, apart) in apart(&px).iter().enumerate() {
            // Three steps or seven, whichever plane has them: about a twentieth of the spread stays.
            let line = apart.across + apart.along * L::splat(1.0 / 20.0);
            let score = (line + apart.steps.min(apart.alone * L::splat(1.0 / 20.0))).store();
            for (lane, id) in batch.lanes() {
                blocks[id].planes[alone] = score[lane];
            }
        }
    }
}

/// Modes 4 and 5: one channel has weights of its own. `N` and `M` are how many weights the others and the lone one
/// have. The alpha of an opaque block is one of the others, and stays what it is.
pub(crate) struct TwoPlanes<const MODE: usize, const N: usize, const M: usize> {
    /// The channel on its own.
    pub(crate) alone: usize,
}

impl<const MODE: usize, const N: usize, const M: usize> Stage for TwoPlanes<MODE, N, M> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px = channels::<L, 4>(batch);
        let (alone, mode) = (self.alone, &MODES[MODE]);
        let mut rest = [[L::zero(); 16]; 3];
        for c in 0..3 {
            rest[c] = px[c + usize::from(c >= alone)];
        }
        let spread_rest = spread::<L, 3, 1, 1>(&rest, &[]);
        let a = fit::<L, 3, N, 1>(&rest, &[], &spread_rest, mode.colour, false, effort.tries(N));
        let best = batch.gather::<L, _>(blocks, |block| block.error);
        if !L::any(a.error.less(best)) {
            return;
        }
        let lone = [px[alone]];
        let spread_lone = spread::<L, 1, 1, 1>(&lone, &[]);
        let b = fit::<L, 1, M, 1>(&lone, &[], &spread_lone, mode.alpha, false, effort.tries(M));
        // The lone channel is stored as alpha, and alpha in its place.
        let mut line = Line { low: [L::zero(); 4], high: [L::zero(); 4] };
        for c in 0..3 {
            let from = c + usize::from(c >= alone);
            let place = if from == 3 { alone } else { from };
            (line.low[place], line.high[place]) = (a.lines[0].low[c], a.lines[0].high[c]);
        }
        (line.low[3], line.high[3]) = (b.lines[0].low[0], b.lines[0].high[0]);
        let candidate = Candidate {
            mode: MODE as u8,
            pattern: [0; WIDTH],
            rotation: ((alone + 1) % 4) as u8,
            swapped: N > M,
            lines: &[line],
            weights: &[a.weights, b.weights],
            error: a.error + b.error,
        };
        candidate.offer(blocks, batch);
    }
}

/// Ranks the patterns of two subsets by how well lines through their subsets would fit.
pub(crate) struct ChooseTwo<const C: usize>;

impl<const C: usize> Stage for ChooseTwo<C> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let moments = Moments::<L, C, 1>::new(&channels::<L, C>(batch));
        let wanted = effort.patterns[TWO_8].max(effort.patterns[TWO_4]);
        let [eight, four] = moments.rank(&TWO, 2, [1.0 / 49.0, 1.0 / 9.0], wanted);
        remember(blocks, batch, TWO_8, &eight[..effort.patterns[TWO_8]]);
        remember(blocks, batch, TWO_4, &four[..effort.patterns[TWO_4]]);
    }
}

/// The same for three subsets.
pub(crate) struct ChooseThree;

impl Stage for ChooseThree {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let moments = Moments::<L, 3, 1>::new(&channels::<L, 3>(batch));
        let (eight, four) = (effort.patterns[THREE_8], effort.patterns[THREE_4]);
        let [ranked] = moments.rank(&THREE[..16], 3, [1.0 / 49.0], eight);
        remember(blocks, batch, THREE_8, &ranked[..eight]);
        if four > 0 {
            let [ranked] = moments.rank(&THREE, 3, [1.0 / 9.0], four);
            remember(blocks, batch, THREE_4, &ranked[..four]);
        }
    }
}

#[inline(always)]
fn remember<L: Lanes>(blocks: &mut [Block], batch: &Batch, list: usize, ranked: &[Ranked<L>]) {
    for (rank, t) in ranked.iter().enumerate() {
        let (score, pattern) = (t.score.store(), t.pattern.to_words());
        for (lane, id) in batch.lanes() {
            blocks[id].choices[list][rank] = Choice { pattern: pattern[lane] as u8, score: score[lane] };
        }
    }
}

/// A mode of several subsets, with the pattern that ranked `rank` in its list.
pub(crate) struct Subsets<const MODE: usize, const C: usize, const N: usize, const S: usize> {
    /// Which list of [`Block::choices`].
    pub(crate) list: usize,
    /// First choice, second, ...
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
        let spread = spread::<L, C, S, 1>(&px, members);
        let fitted = fit::<L, C, N, S>(&px, members, &spread, mode.colour, false, effort.tries(N));
        offer(MODE as u8, blocks, batch, &fitted, pattern);
    }
}
