//! The modes of two and three subsets: which partition patterns suit a block, and fitting them.

use super::{Stage, channels, offer};
use crate::bc7::Target;
use crate::block::{Batch, Block, Choice, RANKS};
use crate::effort::Effort;
use crate::fit::fit;
use crate::lanes::{Lanes, WIDTH};
use crate::modes::MODES;
use crate::partitions::Partition;
use crate::spread::{Texels, spread};

/// Ranks partition patterns by how well lines through their subsets would fit.
pub(crate) struct ChoosePattern<const C: usize, const G: usize> {
    /// The lists of patterns, in the order of [`Block::choices`], and how many subsets each has.
    pub(crate) lists: &'static [(&'static [Partition], usize)],
}

/// First and second moments of at most four channels.
const MOMENTS: usize = 14;

impl<const C: usize, const G: usize> Stage for ChoosePattern<C, G> {
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, G>());
        let count = C + C * (C + 1) / 2;
        // The moments of every set of texels of one row: a pattern is four such sets.
        let mut rows = [[[L::zero(); MOMENTS]; 16]; 4];
        for i in 0..16 {
            let (row, bit) = (&mut rows[i / 4], 1 << (i % 4));
            let mut m = C;
            for a in 0..C {
                let p = px[a][i] - L::splat(128.0);
                row[bit][a] = p;
                for b in a..C {
                    row[bit][m] = p * (px[b][i] - L::splat(128.0));
                    m += 1;
                }
            }
            for set in 1..bit {
                for m in 0..count {
                    row[bit + set][m] = row[set][m] + row[bit][m];
                }
            }
        }
        let mut total = [L::zero(); MOMENTS];
        for m in 0..count {
            total[m] = (rows[0][15][m] + rows[1][15][m]) + (rows[2][15][m] + rows[3][15][m]);
        }
        for (list, &(patterns, subsets)) in self.lists.iter().enumerate() {
            // Score, spread across and along, index; best first.
            let none = [L::splat(1e30), L::splat(1e30), L::zero(), L::zero()];
            let mut ranked = [none; RANKS];
            let wanted = effort.patterns[list];
            for (index, partition) in patterns.iter().enumerate() {
                let mut rest = total;
                let (mut across, mut along) = (L::zero(), L::zero());
                for s in 1..subsets {
                    let members = usize::from(partition.members[s]);
                    let n = partition.members[s].count_ones() as f32;
                    let mut sums = [L::zero(); MOMENTS];
                    for m in 0..count {
                        sums[m] = (rows[0][members & 15][m] + rows[1][members >> 4 & 15][m])
                            + (rows[2][members >> 8 & 15][m] + rows[3][members >> 12 & 15][m]);
                        rest[m] = rest[m] - sums[m];
                    }
                    let (x, y) = quick_spread::<L, C, G>(&sums, n);
                    (across, along) = (across + x, along + y);
                }
                let (x, y) = quick_spread::<L, C, G>(&rest, partition.members[0].count_ones() as f32);
                (across, along) = (across + x, along + y);
                let score = across + along * L::splat(1.0 / 9.0);
                let mut falling = [score, across, along, L::splat(index as f32)];
                for rank in 0..wanted.min(RANKS) {
                    let wins = falling[0].less(ranked[rank][0]);
                    for k in 0..4 {
                        let stays = falling[k].or(wins, ranked[rank][k]);
                        falling[k] = ranked[rank][k].or(wins, falling[k]);
                        ranked[rank][k] = stays;
                    }
                }
            }
            for (rank, t) in ranked.into_iter().enumerate().take(wanted) {
                let (across, along, pattern) = (t[1].store(), t[2].store(), t[3].to_words());
                for (lane, id) in batch.lanes() {
                    blocks[id].choices[list][rank] =
                        Choice { pattern: pattern[lane] as u8, across: across[lane], along: along[lane] };
                }
            }
        }
    }
}

/// Spread across and along the principal axis, from moments. The length of the covariance matrix stands in
/// for its largest eigenvalue: it is that eigenvalue if the texels lie on a line, and somewhat more if not.
#[inline(always)]
fn quick_spread<L: Lanes, const C: usize, const G: usize>(moments: &[L; MOMENTS], count: f32) -> (L, L) {
    let share = L::splat(1.0 / count.max(1.0));
    let (mut trace, mut squares) = (L::zero(), L::zero());
    let mut m = C;
    for a in 0..C {
        let mean = moments[a] * share;
        for b in a..C {
            let repeat = if G == 1 { 1.0 } else { [3.0, 1.732_050_8, 1.0][a + b] };
            let cov = (moments[m] - mean * moments[b]) * L::splat(repeat);
            squares = squares + cov.squared() * L::splat(if a == b { 1.0 } else { 2.0 });
            if a == b {
                trace = trace + cov;
            }
            m += 1;
        }
    }
    if C == 1 {
        return (L::zero(), trace);
    }
    let along = squares.sqrt();
    ((trace - along).max(L::zero()), along)
}

/// A mode of several subsets, with the pattern that ranked `rank` in its list.
pub(crate) struct Subsets<const MODE: usize, const C: usize, const N: usize, const S: usize, const G: usize> {
    /// Which list of [`Block::choices`].
    pub(crate) list: usize,
    /// First or second choice.
    pub(crate) rank: usize,
}

impl<const MODE: usize, const C: usize, const N: usize, const S: usize, const G: usize> Stage
    for Subsets<MODE, C, N, S, G>
{
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
        let spread = spread::<L, C, S, G>(&px, members);
        let fitted =
            fit::<L, C, N, S, G>(&px, members, &spread, mode.lattice, Target::of(MODE), effort.tries(N));
        offer(MODE, blocks, batch, &fitted, pattern);
    }
}
