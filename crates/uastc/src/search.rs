//! Mode selection for UASTC: the order of the stages for each class, and the blocks that each stage runs on.
//!
//! A stage gets only the blocks that it may improve: an estimate of the error that the stage could reach,
//! from the variance of the texels, is compared with the best candidate so far.

use crate::batch::{self, Stage};
use crate::block::{Block, Choice, Class};
use crate::effort::Effort;
use crate::hints::{Eac, Etc1};
use crate::lanes::Lanes;
use crate::modes::MODES;
use crate::partitions::{self, Partition};
use crate::stages::{ChoosePattern, ChoosePlanes, DualPlane, GreyAlphaDualPlane, SingleSubset, Subsets};

const TWO: usize = 0;
const TWO_OF_THREE: usize = 1;
const THREE: usize = 2;

/// The lists of patterns, with the number of subsets of each.
static LISTS: &[(&[Partition], usize)] =
    &[(&partitions::TWO, 2), (&partitions::TWO_OF_THREE, 2), (&partitions::THREE, 3)];

/// Finds the best candidate for every block that is not a solid colour.
pub(crate) fn search<L: Lanes>(blocks: &mut [Block], effort: &Effort) {
    let mut group = Group { blocks, effort };
    group.rgb::<L>();
    group.rgba::<L>();
    group.grey::<L>();
    group.grey_alpha::<L>();
    group.hints::<L>();
}

struct Group<'a> {
    blocks: &'a mut [Block],
    effort: &'a Effort,
}

impl Group<'_> {
    /// Runs a stage on the blocks of a class that satisfy `pass`.
    fn stage<L: Lanes, T: Stage<Block = Block, Effort = Effort>>(
        &mut self,
        class: Class,
        stage: &T,
        pass: impl Fn(&Block) -> bool,
    ) {
        self.run::<L, T>(stage, |block| block.class == class && pass(block));
    }

    /// Runs a stage on the blocks that satisfy `pass`.
    fn run<L: Lanes, T: Stage<Block = Block, Effort = Effort>>(
        &mut self,
        stage: &T,
        pass: impl Fn(&Block) -> bool,
    ) {
        batch::run::<L, T>(stage, self.blocks, self.effort, pass);
    }

    fn rgb<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Rgb, self.effort);
        self.stage::<L, _>(class, &SingleSubset::<0, 3, 16, 1> { is_first: true }, |_| true);
        self.stage::<L, _>(class, &SingleSubset::<5, 3, 8, 1> { is_first: false }, |b| {
            single_subset_may_win(b, 1, effort)
        });
        if effort.rare_modes {
            self.stage::<L, _>(class, &SingleSubset::<1, 3, 4, 1> { is_first: false }, |b| {
                single_subset_may_win(b, 0, effort)
            });
            self.stage::<L, _>(class, &SingleSubset::<18, 3, 32, 1> { is_first: false }, |b| {
                single_subset_may_win(b, 2, effort)
            });
        }
        self.stage::<L, _>(class, &ChoosePlanes::<3>, dual_plane_may_win);
        for second_channel in [1, 0, 2] {
            let stage = DualPlane::<6, 3, 2, 4> { second_channel };
            self.stage::<L, _>(class, &stage, |b| {
                mode_may_win(b, 6, &b.planes[second_channel], effort.plane_slack)
            });
        }
        self.stage::<L, _>(class, &ChoosePattern::<3, 1> { lists: LISTS }, |b| partitions_may_win(b, effort));
        for rank in 0..effort.patterns[TWO] {
            let choice = |mode| move |b: &Block| pattern_may_win(b, mode, &b.choices[TWO][rank], effort);
            self.stage::<L, _>(class, &Subsets::<4, 3, 4, 2, 1> { list: TWO, rank }, choice(4));
            self.stage::<L, _>(class, &Subsets::<2, 3, 8, 2, 1> { list: TWO, rank }, choice(2));
        }
        for rank in 0..effort.patterns[TWO_OF_THREE] {
            let stage = Subsets::<7, 3, 4, 2, 1> { list: TWO_OF_THREE, rank };
            self.stage::<L, _>(class, &stage, |b| {
                pattern_may_win(b, 7, &b.choices[TWO_OF_THREE][rank], effort)
            });
        }
        for rank in 0..effort.patterns[THREE] {
            let stage = Subsets::<3, 3, 4, 3, 1> { list: THREE, rank };
            self.stage::<L, _>(class, &stage, |b| pattern_may_win(b, 3, &b.choices[THREE][rank], effort));
        }
    }

    fn rgba<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Rgba, self.effort);
        self.stage::<L, _>(class, &SingleSubset::<10, 4, 16, 1> { is_first: true }, |_| true);
        self.stage::<L, _>(class, &SingleSubset::<12, 4, 8, 1> { is_first: false }, |b| {
            single_subset_may_win(b, 1, effort)
        });
        if effort.rare_modes {
            self.stage::<L, _>(class, &SingleSubset::<14, 4, 4, 1> { is_first: false }, |b| {
                single_subset_may_win(b, 0, effort)
            });
        }
        self.stage::<L, _>(class, &ChoosePlanes::<4>, dual_plane_may_win);
        for second_channel in [3, 1, 0, 2] {
            let choice = |mode| {
                move |b: &Block| mode_may_win(b, mode, &b.planes[second_channel], effort.alpha_slack[1])
            };
            self.stage::<L, _>(class, &DualPlane::<11, 4, 3, 4> { second_channel }, choice(11));
            self.stage::<L, _>(class, &DualPlane::<13, 4, 3, 2> { second_channel }, choice(13));
        }
        self.stage::<L, _>(class, &ChoosePattern::<4, 1> { lists: &LISTS[..1] }, |b| {
            b.cost > effort.alpha_split_above
        });
        for rank in 0..effort.alpha_patterns {
            let stage = Subsets::<9, 4, 4, 2, 1> { list: TWO, rank };
            self.stage::<L, _>(class, &stage, |b| {
                b.cost > effort.alpha_split_above
                    && mode_may_win(b, 9, &b.choices[TWO][rank], effort.alpha_slack[0])
            });
        }
    }

    fn grey<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Grey, self.effort);
        self.stage::<L, _>(class, &SingleSubset::<15, 1, 16, 3> { is_first: true }, |_| true);
        self.stage::<L, _>(class, &SingleSubset::<18, 1, 32, 3> { is_first: false }, |b| {
            single_subset_may_win(b, 2, effort)
        });
        // Two flat greys either side of an edge: the error to gain is a level or two.
        let split_above = effort.split_above * 0.4;
        self.stage::<L, _>(class, &ChoosePattern::<1, 3> { lists: &LISTS[..1] }, |b| b.cost > split_above);
        for rank in 0..effort.patterns[TWO] {
            let stage = Subsets::<16, 1, 4, 2, 3> { list: TWO, rank };
            // Grey levels cluster at few values: the estimate, which assumes a uniform distribution, is far
            // too high.
            let eager = effort.slack * 0.25;
            let pass = |b: &Block| b.cost > split_above && mode_may_win(b, 16, &b.choices[TWO][rank], eager);
            self.stage::<L, _>(class, &stage, pass);
        }
    }

    fn grey_alpha<L: Lanes>(&mut self) {
        let (class, effort) = (Class::GreyAlpha, self.effort);
        self.stage::<L, _>(class, &SingleSubset::<15, 2, 16, 3> { is_first: true }, |_| true);
        self.stage::<L, _>(class, &GreyAlphaDualPlane, dual_plane_may_win);
        self.stage::<L, _>(class, &ChoosePattern::<2, 3> { lists: &LISTS[..1] }, |b| {
            b.cost > effort.alpha_split_above
        });
        for rank in 0..effort.alpha_patterns {
            let stage = Subsets::<16, 2, 4, 2, 3> { list: TWO, rank };
            self.stage::<L, _>(class, &stage, |b| {
                b.cost > effort.alpha_split_above
                    && mode_may_win(b, 16, &b.choices[TWO][rank], effort.alpha_slack[0] * 0.25)
            });
        }
    }
}

impl Group<'_> {
    /// Finds transcoding hints, once the modes are known.
    fn hints<L: Lanes>(&mut self) {
        self.run::<L, _>(&Etc1, |block| block.class != Class::Solid);
        self.run::<L, _>(&Eac, |block| matches!(block.class, Class::Rgba | Class::GreyAlpha));
    }
}

/// Returns true if a single subset with 4, 8 or 32 weights may beat the best candidate.
fn single_subset_may_win(block: &Block, weights: usize, effort: &Effort) -> bool {
    block.single_subset[weights] * effort.slack < block.cost
}

/// Returns true if the best candidate leaves an error, as UASTC or as BC7, that a dual-plane mode could
/// reduce.
fn dual_plane_may_win(block: &Block) -> bool {
    block.cost > 0.0
}

/// Returns true if the best candidate leaves an error that partitions, with their coarse endpoints, could
/// reduce.
fn partitions_may_win(block: &Block, effort: &Effort) -> bool {
    block.cost > effort.split_above
}

/// Returns true if a mode with several subsets may beat the best candidate.
fn pattern_may_win(block: &Block, mode: usize, choice: &Choice, effort: &Effort) -> bool {
    partitions_may_win(block, effort) && mode_may_win(block, mode, choice, effort.slack)
}

/// Returns true if a mode may beat the best candidate, given the variance of the texels about its principal
/// axes.
fn mode_may_win(block: &Block, mode: usize, choice: &Choice, slack: f32) -> bool {
    let steps = ((1u32 << MODES[mode].weight_bits) - 1) as f32;
    (choice.across + choice.along / (steps * steps)) * slack < block.cost
}

#[cfg(test)]
#[path = "../tests/kinds/mod.rs"]
mod kinds;

#[cfg(test)]
mod tests {
    use super::kinds::{KINDS, Random, block};
    use super::*;
    use crate::batch::GROUP;
    use crate::lanes::portable::Array;
    use crate::packing::pack;
    use crate::{Quality, decode_block};

    fn distance(texels: &[u32; 16], decoded: &[[u8; 4]; 16], channels: usize) -> u32 {
        let mut sum = 0;
        for (texel, decoded) in texels.iter().zip(decoded) {
            for (a, b) in texel.to_le_bytes().iter().zip(decoded).take(channels) {
                sum += u32::from(a.abs_diff(*b)).pow(2);
            }
        }
        sum
    }

    /// The error that selection uses is the error of the decoded block, and that of the BC7 block it
    /// transcodes to. BC7 may change the alpha of an opaque block to 254, which selection does not count.
    #[test]
    fn predicted_errors_are_exact() {
        let mut random = Random(11);
        let mut differ = [[0u32; 2]; 19];
        for round in 0..200 {
            let mut blocks = [Block::EMPTY; GROUP];
            for (i, b) in blocks.iter_mut().enumerate() {
                b.restart(block(i as u32 % KINDS, &mut random).map(u32::from_le_bytes));
            }
            let quality = [Quality::Fast, Quality::Default, Quality::High][round % 3];
            // One instruction set, because every further one doubles the compile time of this test; all give the same bits.
            search::<Array>(&mut blocks, Effort::of(quality));
            let balance = &Effort::of(quality).balance;
            for found in blocks.iter().filter(|b| b.class != Class::Solid) {
                let grey = matches!(found.class, Class::Grey | Class::GreyAlpha);
                let weight = balance[usize::from(grey)].bc7;
                let bytes = pack(&found.fields);
                let decoded = decode_block(&bytes).expect("a legal block");
                assert_eq!(distance(&found.texels, &decoded, 4) as f32, found.error, "{:?}", found.fields);
                let bc7 = basisu::uastc::bc7::transcode_uastc_to_bc7(&bytes).expect("legal");
                let bc7 = crate::bc7::decode_block(&bc7).expect("legal");
                let channels = if matches!(found.class, Class::Grey | Class::Rgb) { 3 } else { 4 };
                let (actual, modelled) =
                    (distance(&found.texels, &bc7, channels) as f32, (found.cost - found.error) / weight);
                let mode = &mut differ[usize::from(found.fields.mode)];
                mode[0] += 1;
                mode[1] += u32::from((actual - modelled).abs() > 0.01 * actual + 1.0);
            }
        }
        assert!(differ.iter().all(|[all, wrong]| wrong * 20 <= *all), "{differ:?}");
    }
}
