//! The stages of the search. Each runs one family of modes on batches of blocks that may gain by it.

use crate::bc7::{self, Endpoints, Weights};
use crate::block::{Batch, Block, Candidate, Choice};
use crate::effort::Effort;
use crate::fit::{Fitted, Line, Members, Texels, fit, principal, spread};
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

/// How BC7 stores a mode's endpoints and weights, if the mode has one plane.
const fn as_bc7(mode: usize) -> (Endpoints, Weights) {
    match mode {
        1 | 4 => (Endpoints::Seven1, Weights::Same),
        2 => (Endpoints::Six1, Weights::Same),
        3 | 7 => (Endpoints::Five, Weights::Same),
        9 | 16 => (Endpoints::Five1, Weights::Same),
        _ => (Endpoints::Seven1, Weights::Sixteen),
    }
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
pub(crate) struct OneLine<const MODE: usize, const C: usize, const N: usize, const G: usize>;

impl<const MODE: usize, const C: usize, const N: usize, const G: usize> Stage for OneLine<MODE, C, N, G> {
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, G>());
        let spread = spread::<L, C, 1, G>(&px, &[]);
        let (along, across) = (spread.along.store(), spread.across.store());
        for (lane, id) in batch.lanes() {
            (blocks[id].along, blocks[id].across) = (along[lane], across[lane]);
        }
        let fitted = fit::<L, C, N, 1, G>(&px, &[], &spread, MODES[MODE].lattice, effort.tries(N));
        offer::<L, C, N, 1, G>(MODE, blocks, batch, effort, &px, &[], &fitted, [0; WIDTH]);
    }
}

/// Weighs a candidate, its BC7 form included, and offers it.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "all of it is the candidate")]
fn offer<L: Lanes, const C: usize, const N: usize, const S: usize, const G: usize>(
    mode: usize,
    blocks: &mut [Block],
    batch: &Batch,
    effort: &Effort,
    px: &Texels<L, C>,
    members: &Members<L>,
    fitted: &Fitted<L, C, S>,
    pattern: [u32; WIDTH],
) {
    let best = batch.gather::<L>(blocks, |block| block.cost);
    if !L::any(fitted.error.less(best)) {
        return;
    }
    let (endpoints, weights) = as_bc7(mode);
    let transcoded = bc7::error::<L, C, N, S, G>(px, members, fitted, endpoints, weights);
    let (ends, count) = stored(mode, &fitted.lines);
    let candidate = Candidate {
        mode: mode as u8,
        pattern,
        channel: [0; WIDTH],
        endpoints: &ends[..count],
        weights: &[fitted.weights],
        error: fitted.error,
        cost: fitted.error + transcoded * L::splat(effort.bc7),
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
        let mut best = (L::splat(1e30), L::zero(), L::zero());
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
            let across = (trace - length).max(L::zero());
            let along = length + cov[alone][alone];
            let better = (across + along * L::splat(1.0 / 9.0)).less(best.0 + best.1 * L::splat(1.0 / 9.0));
            best = (
                across.or(better, best.0),
                along.or(better, best.1),
                L::splat(alone as f32).or(better, best.2),
            );
        }
        let (across, along, alone) = (best.0.store(), best.1.store(), best.2.to_words());
        for (lane, id) in batch.lanes() {
            blocks[id].planes =
                Choice { pattern: alone[lane] as u8, across: across[lane], along: along[lane] };
        }
    }
}

/// A mode of two planes: one channel has weights of its own. `R` is how many channels remain.
pub(crate) struct TwoPlanes<const MODE: usize, const C: usize, const R: usize, const N: usize>;

impl<const MODE: usize, const C: usize, const R: usize, const N: usize> Stage for TwoPlanes<MODE, C, R, N> {
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, 1>());
        let words = batch.words(blocks, |block| block.planes.pattern.into());
        let alone = L::byte(&words, 0);
        // Which channels are the lone one or come after it. Those after it move down by one.
        let mut past = [L::zero().less(L::zero()); C];
        for c in 0..C {
            past[c] = alone.less(L::splat(c as f32 + 0.5));
        }
        let mut rest = [[L::zero(); 16]; R];
        let mut lone = [px[C - 1]];
        for c in (0..R).rev() {
            for i in 0..16 {
                rest[c][i] = px[c + 1][i].or(past[c], px[c][i]);
                lone[0][i] = px[c][i].or(past[c], lone[0][i]);
            }
        }
        let lattice = MODES[MODE].lattice;
        let a = fit::<L, R, N, 1, 1>(&rest, &[], &spread::<L, R, 1, 1>(&rest, &[]), lattice, effort.tries(N));
        let b = fit::<L, 1, N, 1, 1>(&lone, &[], &spread::<L, 1, 1, 1>(&lone, &[]), lattice, effort.tries(N));
        let mut endpoints = [L::zero(); 8];
        for c in 0..C {
            // Before the lone channel, itself, after it.
            let (before, after) = (c.min(R - 1), c.max(1) - 1);
            let (rest, lone) = (&a.lines[0], &b.lines[0]);
            let mut low = lone.low[0].or(past[c], rest.low[before]);
            let mut high = lone.high[0].or(past[c], rest.high[before]);
            if c > 0 {
                low = rest.low[after].or(past[c - 1], low);
                high = rest.high[after].or(past[c - 1], high);
            }
            (endpoints[c * 2], endpoints[c * 2 + 1]) = (low, high);
        }
        let ends = (&endpoints[..C * 2], words);
        offer_planes::<L, R, N, 1>(MODE, blocks, batch, effort, (&rest, &a), (&lone, &b), ends);
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
        let a = fit::<L, 1, 4, 1, 3>(&grey, &[], &spread::<L, 1, 1, 3>(&grey, &[]), lattice, effort.tries(4));
        let b =
            fit::<L, 1, 4, 1, 1>(&alpha, &[], &spread::<L, 1, 1, 1>(&alpha, &[]), lattice, effort.tries(4));
        let [l, k] = [a.lines[0], b.lines[0]];
        let ends: [L; 4] = [l.low[0], l.high[0], k.low[0], k.high[0]];
        offer_planes::<L, 1, 4, 3>(17, blocks, batch, effort, (&grey, &a), (&alpha, &b), (&ends, [3; WIDTH]));
    }
}

/// Weighs and offers a candidate of two planes: BC7's mode 5 keeps seven bits of the channels that share
/// weights and all eight of the lone one.
#[inline(always)]
fn offer_planes<L: Lanes, const R: usize, const N: usize, const G: usize>(
    mode: usize,
    blocks: &mut [Block],
    batch: &Batch,
    effort: &Effort,
    (rest, a): (&Texels<L, R>, &Fitted<L, R, 1>),
    (lone, b): (&Texels<L, 1>, &Fitted<L, 1, 1>),
    (endpoints, channel): (&[L], [u32; WIDTH]),
) {
    let error = a.error + b.error;
    let best = batch.gather::<L>(blocks, |block| block.cost);
    if !L::any(error.less(best)) {
        return;
    }
    let transcoded = bc7::error::<L, R, N, 1, G>(rest, &[], a, Endpoints::Seven, Weights::Same)
        + bc7::error::<L, 1, N, 1, 1>(lone, &[], b, Endpoints::Eight, Weights::Same);
    let candidate = Candidate {
        mode: mode as u8,
        pattern: [0; WIDTH],
        channel,
        endpoints,
        weights: &[a.weights, b.weights],
        error,
        cost: error + transcoded * L::splat(effort.bc7),
    };
    candidate.offer(blocks, batch);
}

/// Ranks the patterns of a list by how well lines through their subsets fit.
pub(crate) struct ChoosePattern<const C: usize, const S: usize, const G: usize> {
    /// Which list of [`Block::choices`] this is about.
    pub(crate) list: usize,
    /// The patterns.
    pub(crate) patterns: &'static [Partition],
}

/// First and second moments of at most four channels.
const MOMENTS: usize = 14;

impl<const C: usize, const S: usize, const G: usize> Stage for ChoosePattern<C, S, G> {
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, _: &Effort) {
        let px: Texels<L, C> = batch.channels(channels::<C, G>());
        let count = C + C * (C + 1) / 2;
        let mut moments = [[L::zero(); MOMENTS]; 16];
        let mut total = [L::zero(); MOMENTS];
        for i in 0..16 {
            let mut p = [L::zero(); C];
            for c in 0..C {
                p[c] = px[c][i] - L::splat(128.0);
            }
            let mut m = C;
            for a in 0..C {
                moments[i][a] = p[a];
                for b in a..C {
                    moments[i][m] = p[a] * p[b];
                    m += 1;
                }
            }
            for m in 0..count {
                total[m] = total[m] + moments[i][m];
            }
        }
        // Score, spread across and along, index.
        let mut first = [L::splat(1e30), L::splat(1e30), L::zero(), L::zero()];
        let mut second = first;
        for (index, partition) in self.patterns.iter().enumerate() {
            let mut rest = total;
            let (mut across, mut along) = (L::zero(), L::zero());
            for s in 1..S {
                let mut sums = [L::zero(); MOMENTS];
                let mut members = partition.members[s];
                let n = members.count_ones() as f32;
                while members != 0 {
                    let texel = members.trailing_zeros() as usize & 15;
                    members &= members - 1;
                    for m in 0..count {
                        sums[m] = sums[m] + moments[texel][m];
                    }
                }
                for m in 0..count {
                    rest[m] = rest[m] - sums[m];
                }
                let (x, y) = quick_spread::<L, C>(&sums, n);
                (across, along) = (across + x, along + y);
            }
            let (x, y) = quick_spread::<L, C>(&rest, partition.members[0].count_ones() as f32);
            (across, along) = (across + x, along + y);
            let score = across + along * L::splat(1.0 / 9.0);
            let this = [score, across, along, L::splat(index as f32)];
            let (wins, places) = (score.less(first[0]), score.less(second[0]));
            for k in 0..4 {
                second[k] = first[k].or(wins, this[k].or(places, second[k]));
                first[k] = this[k].or(wins, first[k]);
            }
        }
        let repeat = G as f32;
        for (rank, t) in [first, second].into_iter().enumerate() {
            let (across, along, pattern) = (t[1].store(), t[2].store(), t[3].to_words());
            for (lane, id) in batch.lanes() {
                blocks[id].choices[self.list][rank] = Choice {
                    pattern: pattern[lane] as u8,
                    across: across[lane] * repeat,
                    along: along[lane] * repeat,
                };
            }
        }
    }
}

/// Spread across and along the principal axis from moments: one power step from the signs of the first row.
#[inline(always)]
fn quick_spread<L: Lanes, const C: usize>(moments: &[L; MOMENTS], count: f32) -> (L, L) {
    let share = L::splat(1.0 / count.max(1.0));
    let mut cov = [[L::zero(); C]; C];
    let mut trace = L::zero();
    let mut m = C;
    for a in 0..C {
        for b in a..C {
            cov[a][b] = moments[m] - moments[a] * moments[b] * share;
            cov[b][a] = cov[a][b];
            m += 1;
        }
        trace = trace + cov[a][a];
    }
    if C == 1 {
        return (L::zero(), trace);
    }
    let mut v = [L::zero(); C];
    for a in 0..C {
        v[a] = cov[a][0];
        for b in 1..C {
            let negative = cov[0][b].less(L::zero());
            v[a] = (v[a] - cov[a][b]).or(negative, v[a] + cov[a][b]);
        }
    }
    let (mut up, mut down) = (L::zero(), L::splat(1e-6));
    for a in 0..C {
        let mut w = L::zero();
        for b in 0..C {
            w = w + cov[a][b] * v[b];
        }
        up = up + w.squared();
        down = down + v[a] * w;
    }
    let along = (up / down).min(trace);
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
        let fitted = fit::<L, C, N, S, G>(&px, members, &spread, mode.lattice, effort.tries(N));
        offer::<L, C, N, S, G>(MODE, blocks, batch, effort, &px, members, &fitted, pattern);
    }
}
