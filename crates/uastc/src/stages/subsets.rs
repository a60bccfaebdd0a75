//! The modes with two and three subsets: ranks partition patterns and fits the best ones.

use super::{channels, offer};

use crate::batch::{Batch, Stage};
use crate::block::{Block, Choice};
use crate::effort::Effort;
use crate::fit::fit;
use crate::lanes::{Lanes, WIDTH};
use crate::modes::MODES;
use crate::partitions::Partition;
use crate::principal_axis::{Texels, project_on_axes};
use crate::ranking::Moments;
use crate::transcode::Target;

/// The stage that ranks partition patterns by the fit of principal axes through their subsets.
pub(crate) struct ChoosePattern<const C: usize, const G: usize> {
    /// The lists of patterns, in the order of [`Block::choices`], with the number of subsets of each.
    pub(crate) lists: &'static [(&'static [Partition], usize)],
}

impl<const C: usize, const G: usize> Stage for ChoosePattern<C, G> {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let moments = Moments::<L, C, G>::new(&batch.channels(channels::<C, G>()));
        for (list, &(patterns, subsets)) in self.lists.iter().enumerate() {
            let wanted = if C == 4 || C == 2 { effort.alpha_patterns } else { effort.patterns[list] };
            let [ranked] = moments.rank(patterns, subsets, [1.0 / 9.0], wanted);
            for (rank, t) in ranked.into_iter().enumerate().take(wanted) {
                let (across, along, pattern) = (t.across.store(), t.along.store(), t.pattern.to_words());
                for (lane, id) in batch.lanes() {
                    blocks[id].choices[list][rank] =
                        Choice { pattern: pattern[lane] as u8, across: across[lane], along: along[lane] };
                }
            }
        }
    }
}

/// The stage of a mode with several subsets and the pattern that ranked `rank` in its list.
pub(crate) struct Subsets<const MODE: usize, const C: usize, const N: usize, const S: usize, const G: usize> {
    /// The index of the list in [`Block::choices`].
    pub(crate) list: usize,
    /// The rank of the pattern: 0 for the best.
    pub(crate) rank: usize,
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
        let pattern = batch.words(blocks, |block| block.choices[self.list][self.rank].pattern.into());
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
            effort.tries::<G>(N),
        );
        offer(MODE, blocks, batch, &fitted, pattern);
    }
}
