//! Batches of eight blocks: SIMD batching of the blocks that a search stage may improve.
//!
//! Blocks are searched in groups. A stage gets only the blocks of the group that it may improve, packed into
//! full batches, so that no lane idles. A block is selected by its own texels and candidates only, and lanes
//! are independent, so the result of a block depends on its texels and on nothing else.

use crate::lanes::{Kernel, Lanes, WIDTH};
use crate::principal_axis::Texels;
use std::marker::PhantomData;

/// The number of blocks that are searched together. Few blocks of a group pass a stage of a rare mode, and a batch of theirs
/// is full only if there are eight of them: 1024 in place of 128 make textures with alpha 9 % faster, others 5 %.
pub(crate) const GROUP: usize = 1024;

/// A block during a search.
pub(crate) trait Searched {
    /// Returns the RGBA words of the block in raster order.
    fn texels(&self) -> &[u32; 16];
    /// Returns true for a block that belongs in a batch with others that differ little.
    fn is_smooth(&self) -> bool;
}

/// A search stage, which runs on eight blocks at once.
pub(crate) trait Stage {
    /// The block type that the stage improves.
    type Block: Searched;
    /// The effort settings of the stage.
    type Effort;
    /// Returns true if the stage can refine the best candidate of a block, whose mode is that of the stage.
    fn is_for(&self, _: &Self::Block) -> bool {
        true
    }

    /// Searches candidates for the blocks of the batch and keeps those that are better.
    fn run<L: Lanes>(&self, blocks: &mut [Self::Block], batch: &Batch, effort: &Self::Effort);
}

/// Runs a stage on the blocks of a group that satisfy `pass`.
pub(crate) fn run<L: Lanes, T: Stage>(
    stage: &T,
    blocks: &mut [T::Block],
    effort: &T::Effort,
    pass: impl Fn(&T::Block) -> bool,
) {
    // Smooth blocks from one end, all others from the other: batches are of one kind, except where they meet.
    let (mut ids, mut others) = (Vec::with_capacity(blocks.len()), Vec::new());
    for (id, block) in blocks.iter().enumerate() {
        if pass(block) {
            let list = if block.is_smooth() { &mut ids } else { &mut others };
            list.push(id);
        }
    }
    ids.append(&mut others);
    if !ids.is_empty() {
        run_batches::<L, T>(stage, blocks, &ids, effort);
    }
}

/// Runs a stage on the selected blocks, in batches.
///
/// Not inlined: several selections run the same stage, and a stage is up to 40 KB of machine code for each instruction set.
#[inline(never)]
fn run_batches<L: Lanes, T: Stage>(stage: &T, blocks: &mut [T::Block], ids: &[usize], effort: &T::Effort) {
    L::enter(Batches { stage, blocks, ids, effort, lanes: PhantomData::<L> });
}

struct Batches<'a, L, T: Stage> {
    stage: &'a T,
    blocks: &'a mut [T::Block],
    ids: &'a [usize],
    effort: &'a T::Effort,
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

/// Eight blocks in the lanes. A short batch repeats its last block; results of the repetitions are dropped.
pub(crate) struct Batch {
    ids: [usize; WIDTH],
    count: usize,
    words: [[u32; WIDTH]; 16],
}

impl Batch {
    /// Returns a batch of one to eight blocks.
    #[inline(always)]
    fn new<B: Searched>(blocks: &[B], ids: &[usize]) -> Self {
        let mut batch = Self { ids: [0; WIDTH], count: ids.len(), words: [[0; WIDTH]; 16] };
        for lane in 0..WIDTH {
            let id = ids[lane.min(ids.len() - 1)];
            let texels = blocks[id].texels();
            batch.ids[lane] = id;
            for i in 0..16 {
                batch.words[i][lane] = texels[i];
            }
        }
        batch
    }

    /// Iterates over the lanes and their blocks, without repetitions.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.ids.into_iter().take(self.count).enumerate()
    }

    /// Gathers a number from each block.
    #[inline(always)]
    pub(crate) fn gather<L: Lanes, B>(&self, blocks: &[B], get: impl Fn(&B) -> f32) -> L {
        let mut out = [0.0; WIDTH];
        for lane in 0..WIDTH {
            out[lane] = get(&blocks[self.ids[lane]]);
        }
        L::load(&out)
    }

    /// Gathers a word from each block.
    #[inline(always)]
    pub(crate) fn words<B>(&self, blocks: &[B], get: impl Fn(&B) -> u32) -> [u32; WIDTH] {
        let mut out = [0; WIDTH];
        for lane in 0..WIDTH {
            out[lane] = get(&blocks[self.ids[lane]]);
        }
        out
    }

    /// Returns the selected channels of the texels.
    #[inline(always)]
    pub(crate) fn channels<L: Lanes, const C: usize>(&self, channels: [u32; C]) -> Texels<L, C> {
        let mut out = [[L::zero(); 16]; C];
        for c in 0..C {
            for i in 0..16 {
                out[c][i] = L::byte(&self.words[i], channels[c]);
            }
        }
        out
    }
}
