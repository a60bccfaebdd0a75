//! The stages of the search. Each runs one family of modes on batches of blocks that may gain by it.

use crate::bc7::Target;
use crate::block::{Batch, Block, Candidate, Choice, RANKS};
use crate::effort::Effort;
use crate::fit::{Fitted, Line, Texels, fit, principal, spread};
use crate::lanes::{Kernel, Lanes, WIDTH};
use crate::modes::MODES;
use crate::partitions::Partition;
use std::marker::PhantomData;

/// One step of the search on eight blocks.
pub(crate) trait Stage {
    /// Looks at the blocks of the batch and improves them where it can.
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort);
}

/// Runs a stage on all the blocks of `ids`, eight at a time.
pub(crate) fn run<L: Lanes, T: Stage>(stage: &T, blocks: &mut [Block], ids: &[u16], effort: &Effort) {
    L::enter(Batches { stage, blocks, ids, effort, lanes: PhantomData::<L> });
}

struct Batches<'a, L, T> {
    stage: &'a T,
    blocks: &'a mut [Block],
    ids: &'a [u16],
    effort: &'a Effort,
    lanes: PhantomData<L>,
}

impl<L: Lanes, T: Stage> Kernel<L> for Batches<'_, L, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for ids in self.ids.chunks(WIDTH) {
            let batch = Batch::new(self.blocks, ids);
            self.stage.run::<L>(self.blocks, &batch, self.effort);
        }
    }
}

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

/// How well the channels of each block split into one alone and the others on a line.
pub(crate) struct ChoosePlanes<const C: usize>;

impl<const C: usize> Stage for ChoosePlanes<C> {
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, _: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, 1>());
        let mut sum = [L::zero(); C];
        let mut cov = [[L::zero(); C]; C];
        for i in 0..16 {
            let mut p = [L::zero(); C];
            for c in 0..C {
                p[c] = px[c][i] - L::splat(128.0);
            }
            for a in 0..C {
                sum[a] = sum[a] + p[a];
                for b in a..C {
                    cov[a][b] = cov[a][b] + p[a] * p[b];
                }
            }
        }
        for a in 0..C {
            for b in a..C {
                cov[a][b] = cov[a][b] - sum[a] * sum[b] * L::splat(1.0 / 16.0);
                cov[b][a] = cov[a][b];
            }
        }
        for alone in 0..C {
            // The others: the row and column of `alone` count nothing.
            let mut rest = cov;
            let mut trace = L::zero();
            for c in 0..C {
                rest[alone][c] = L::zero();
                rest[c][alone] = L::zero();
                trace = trace + rest[c][c];
            }
            let (_, length) = principal(&rest);
            let mut last = px[alone][0];
            let mut first = last;
            for i in 1..16 {
                first = first.min(px[alone][i]);
                last = last.max(px[alone][i]);
            }
            // The lone channel's rounding is computed, that of the others estimated.
            let mut rounding = L::zero();
            let scale = L::splat(3.0) / (last - first).max(L::splat(1.0));
            for i in 0..16 {
                let t = (px[alone][i] - first) * scale;
                rounding = rounding + (t - t.round()).squared();
            }
            let across = (trace - length).max(L::zero()) + rounding / scale.squared();
            let (across, along) = (across.store(), length.store());
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
        let best = batch.gather::<L>(blocks, |block| block.error.max(block.cost));
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
