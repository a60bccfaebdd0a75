//! The order of the stages for each class of block, and which blocks go through which stage.
//!
//! Blocks are worked on by the group. Every stage gets only the blocks that may gain by it: an estimate of the
//! error the stage could reach, from the spread of the texels, is compared with the best candidate so far.
//! The blocks that pass are packed into full batches, so that no lane idles. The decision looks at one block
//! alone; so a block's bytes depend on its texels and the options, and on nothing else.

use crate::block::{Block, Choice, Class};
use crate::effort::Effort;
use crate::lanes::Lanes;
use crate::modes::MODES;
use crate::partitions;
use crate::stages::{self, ChoosePattern, ChoosePlanes, GreyPlanes, OneLine, Stage, Subsets, TwoPlanes};

/// How many blocks are searched together.
pub(crate) const GROUP: usize = 128;

const TWO: usize = 0;
const THREE: usize = 1;
const TWO_OF_THREE: usize = 2;

/// Finds the best candidate for every block that is not solid.
pub(crate) fn search<L: Lanes>(blocks: &mut [Block], effort: &Effort) {
    let mut group = Group { blocks, ids: [0; GROUP], effort };
    group.rgb::<L>();
    group.rgba::<L>();
    group.grey::<L>();
    group.grey_alpha::<L>();
}

struct Group<'a> {
    blocks: &'a mut [Block],
    ids: [u16; GROUP],
    effort: &'a Effort,
}

impl Group<'_> {
    /// Runs a stage on the blocks of a class that pass.
    fn stage<L: Lanes, T: Stage>(&mut self, class: Class, stage: &T, pass: impl Fn(&Block) -> bool) {
        let mut count = 0;
        for (id, block) in self.blocks.iter().enumerate() {
            self.ids[count] = id as u16;
            count += usize::from(block.class == class && pass(block));
            if count == GROUP {
                break;
            }
        }
        if count > 0 {
            stages::run::<L, T>(stage, self.blocks, &self.ids[..count], self.effort);
        }
    }

    fn rgb<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Rgb, self.effort);
        self.stage::<L, _>(class, &OneLine::<0, 3, 16, 1>, |_| true);
        let line = |mode| move |block: &Block| promising(block, mode, block.across, block.along, effort);
        self.stage::<L, _>(class, &OneLine::<5, 3, 8, 1>, line(5));
        self.stage::<L, _>(class, &OneLine::<1, 3, 4, 1>, line(1));
        self.stage::<L, _>(class, &OneLine::<18, 3, 32, 1>, line(18));
        self.stage::<L, _>(class, &ChoosePlanes::<3>, worth_splitting);
        self.stage::<L, _>(class, &TwoPlanes::<6, 3, 2, 4>, |b| chosen(b, 6, &b.planes, effort));
        let choose = ChoosePattern::<3, 2, 1> { list: TWO, patterns: &partitions::TWO };
        self.stage::<L, _>(class, &choose, worth_splitting);
        for rank in 0..effort.patterns {
            let choice = |mode| move |b: &Block| chosen(b, mode, &b.choices[TWO][rank], effort);
            self.stage::<L, _>(class, &Subsets::<4, 3, 4, 2, 1> { list: TWO, rank }, choice(4));
            self.stage::<L, _>(class, &Subsets::<2, 3, 8, 2, 1> { list: TWO, rank }, choice(2));
        }
        let choose = ChoosePattern::<3, 2, 1> { list: TWO_OF_THREE, patterns: &partitions::TWO_OF_THREE };
        self.stage::<L, _>(class, &choose, worth_splitting);
        let choose = ChoosePattern::<3, 3, 1> { list: THREE, patterns: &partitions::THREE };
        self.stage::<L, _>(class, &choose, worth_splitting);
        for rank in 0..effort.patterns {
            let stage = Subsets::<7, 3, 4, 2, 1> { list: TWO_OF_THREE, rank };
            self.stage::<L, _>(class, &stage, |b| chosen(b, 7, &b.choices[TWO_OF_THREE][rank], effort));
            let stage = Subsets::<3, 3, 4, 3, 1> { list: THREE, rank };
            self.stage::<L, _>(class, &stage, |b| chosen(b, 3, &b.choices[THREE][rank], effort));
        }
    }

    fn rgba<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Rgba, self.effort);
        self.stage::<L, _>(class, &OneLine::<10, 4, 16, 1>, |_| true);
        let line = |mode| move |block: &Block| promising(block, mode, block.across, block.along, effort);
        self.stage::<L, _>(class, &OneLine::<12, 4, 8, 1>, line(12));
        self.stage::<L, _>(class, &OneLine::<14, 4, 4, 1>, line(14));
        self.stage::<L, _>(class, &ChoosePlanes::<4>, worth_splitting);
        self.stage::<L, _>(class, &TwoPlanes::<11, 4, 3, 4>, |b| chosen(b, 11, &b.planes, effort));
        self.stage::<L, _>(class, &TwoPlanes::<13, 4, 3, 2>, |b| chosen(b, 13, &b.planes, effort));
        let choose = ChoosePattern::<4, 2, 1> { list: TWO, patterns: &partitions::TWO };
        self.stage::<L, _>(class, &choose, worth_splitting);
        for rank in 0..effort.patterns {
            let stage = Subsets::<9, 4, 4, 2, 1> { list: TWO, rank };
            self.stage::<L, _>(class, &stage, |b| chosen(b, 9, &b.choices[TWO][rank], effort));
        }
    }

    fn grey<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Grey, self.effort);
        self.stage::<L, _>(class, &OneLine::<15, 1, 16, 3>, |_| true);
        let line = |mode| move |block: &Block| promising(block, mode, block.across, block.along, effort);
        self.stage::<L, _>(class, &OneLine::<18, 1, 32, 3>, line(18));
        let choose = ChoosePattern::<1, 2, 3> { list: TWO, patterns: &partitions::TWO };
        self.stage::<L, _>(class, &choose, worth_splitting);
        for rank in 0..effort.patterns {
            let stage = Subsets::<16, 1, 4, 2, 3> { list: TWO, rank };
            self.stage::<L, _>(class, &stage, |b| chosen(b, 16, &b.choices[TWO][rank], effort));
        }
    }

    fn grey_alpha<L: Lanes>(&mut self) {
        let (class, effort) = (Class::GreyAlpha, self.effort);
        self.stage::<L, _>(class, &OneLine::<15, 2, 16, 3>, |_| true);
        self.stage::<L, _>(class, &GreyPlanes, worth_splitting);
        let choose = ChoosePattern::<2, 2, 3> { list: TWO, patterns: &partitions::TWO };
        self.stage::<L, _>(class, &choose, worth_splitting);
        for rank in 0..effort.patterns {
            let stage = Subsets::<16, 2, 4, 2, 3> { list: TWO, rank };
            self.stage::<L, _>(class, &stage, |b| chosen(b, 16, &b.choices[TWO][rank], effort));
        }
    }
}

/// Whether the best candidate leaves an error that a split could lower.
fn worth_splitting(block: &Block) -> bool {
    block.error > 0.0
}

/// Whether a choice of planes or pattern may beat the best candidate.
fn chosen(block: &Block, mode: usize, choice: &Choice, effort: &Effort) -> bool {
    promising(block, mode, choice.across, choice.along, effort)
}

/// Whether a mode may beat the best candidate, given the spread of the texels about its lines.
fn promising(block: &Block, mode: usize, across: f32, along: f32, effort: &Effort) -> bool {
    let steps = ((1u32 << MODES[mode].weight_bits) - 1) as f32;
    let estimate = across + along / (steps * steps);
    estimate * (1.0 + effort.bc7) * effort.slack < block.cost
}
