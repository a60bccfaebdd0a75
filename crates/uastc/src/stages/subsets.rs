//! The modes with two and three subsets: ranks partition patterns and fits the best ones.

use super::{channels, offer};

use crate::batch::{Batch, Stage};
use crate::block::{Block, Choice};
use crate::effort::{Effort, Step};
use crate::fit::fit;
use crate::lanes::{Lanes, WIDTH};
use crate::modes::MODES;
use crate::partitions::Partition;
use crate::principal_axis::{Texels, project_on_axes};
use crate::ranking::{Moments, Ranked};
use crate::transcode::Target;

/// Patterns to rank.
pub(crate) struct PatternList {
    /// The patterns, and the number of their subsets.
    pub(crate) patterns: (&'static [Partition], usize),
    /// The index in [`Block::choices`] of the ranking for four weights: a ninth of the variance along the axes is left.
    pub(crate) four: usize,
    /// The index of the ranking for eight weights: more tolerate longer axes. So do texels of few values.
    pub(crate) eight: Option<usize>,
}

/// The stage that ranks partition patterns by the fit of principal axes through their subsets.
pub(crate) struct ChoosePattern<const C: usize, const G: usize> {
    /// The lists of patterns.
    pub(crate) lists: &'static [PatternList],
}

impl<const C: usize, const G: usize> Stage for ChoosePattern<C, G> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let moments = Moments::<L, C, G>::new(&batch.channels(channels::<C, G>()));
        let wanted = if C == 4 || C == 2 { &effort.alpha_patterns } else { &effort.patterns };
        for &PatternList { patterns: (patterns, subsets), four, eight } in self.lists {
            let Some(eight) = eight.filter(|&list| wanted[list] > 0) else {
                let [ranked] = moments.rank(patterns, subsets, [FOUR], wanted[four]);
                store_ranking(blocks, batch, four, &ranked[..wanted[four]]);
                continue;
            };
            let most = wanted[four].max(wanted[eight]);
            let [ranked, longer] = moments.rank(patterns, subsets, [FOUR, EIGHT], most);
            store_ranking(blocks, batch, four, &ranked[..wanted[four]]);
            store_ranking(blocks, batch, eight, &longer[..wanted[eight]]);
        }
    }
}

/// The share of the variance along the axes that four and eight weights leave.
pub(crate) const FOUR: f32 = 1.0 / 9.0;
pub(crate) const EIGHT: f32 = 1.0 / 49.0;

#[inline(always)]
fn store_ranking<L: Lanes>(blocks: &mut [Block], batch: &Batch, list: usize, ranked: &[Ranked<L>]) {
    for (rank, t) in ranked.iter().enumerate() {
        let (across, along, pattern) = (t.across.store(), t.along.store(), t.pattern.to_words());
        for (lane, id) in batch.lanes() {
            blocks[id].choices[list][rank] =
                Choice { pattern: pattern[lane] as u8, across: across[lane], along: along[lane] };
        }
    }
}

/// The stage of a mode with several subsets and the pattern that ranked `rank` in its list.
pub(crate) struct Subsets<const MODE: usize, const C: usize, const N: usize, const S: usize, const G: usize> {
    /// The index of the list in [`Block::choices`].
    pub(crate) list: usize,
    /// The rank of the pattern: 0 for the best.
    pub(crate) rank: usize,
    /// The step of the search: a refinement takes the pattern of the best candidate.
    pub(crate) step: Step,
}

impl<const MODE: usize, const C: usize, const N: usize, const S: usize, const G: usize> Stage
    for Subsets<MODE, C, N, S, G>
{
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, G>());
        let mode = &MODES[MODE];
        let pattern = batch.words(blocks, |block| match self.step {
            Step::Refine => block.fields.pattern.into(),
            _ => block.choices[self.list][self.rank].pattern.into(),
        });
        let mut members = [[L::zero().less(L::zero()); 16]; 2];
        for (s, members) in members.iter_mut().enumerate().take(S - 1) {
            let mut bits = [0; WIDTH];
            for lane in 0..WIDTH {
                bits[lane] = mode.patterns[pattern[lane] as usize].members[s + 1].into();
            }
            for (i, member) in members.iter_mut().enumerate() {
                *member = L::bit(&bits, i as u32);
            }
        }
        let members = &members[..S - 1];
        let projection = project_on_axes::<L, C, S, G>(&px, members);
        let fitted = fit::<L, C, N, S, G>(
            &px,
            members,
            &projection,
            mode.range,
            Target::of(MODE),
            effort.tries::<G>(N, self.step),
            batch.gather(blocks, |block| block.cost),
        );
        offer(MODE, blocks, batch, &fitted, pattern);
    }
}
