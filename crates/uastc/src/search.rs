//! Mode selection for UASTC: the order of the stages for each class, and the blocks that each stage runs on.
//!
//! A stage gets only the blocks that it may improve: an estimate of the error that the stage could reach,
//! from the variance of the texels, is compared with the best candidate so far.

use crate::batch::{self, Stage};
use crate::block::{Block, Choice, Class};
use crate::effort::{Effort, Step};
use crate::hints::{Eac, Etc1};
use crate::lanes::Lanes;
use crate::modes::MODES;
use crate::partitions;
use crate::stages::{
    ChoosePattern, ChoosePlanes, DualPlane, EIGHT, FOUR, GreyAlphaDualPlane, PatternList, SingleSubset,
    Subsets,
};

/// The lists of ranked patterns in [`Block::choices`].
const TWO: usize = 0;
const TWO_OF_THREE: usize = 1;
const THREE: usize = 2;
const TWO_LONGER: usize = 3;

/// The patterns of each list.
static LISTS: &[PatternList] = &[
    PatternList { patterns: (&partitions::TWO, 2), four: TWO, eight: Some(TWO_LONGER) },
    PatternList { patterns: (&partitions::TWO_OF_THREE, 2), four: TWO_OF_THREE, eight: None },
    PatternList { patterns: (&partitions::THREE, 3), four: THREE, eight: None },
];
/// The patterns of greys, all of whose axes are one.
static GREY_LISTS: &[PatternList] =
    &[PatternList { patterns: (&partitions::TWO, 2), four: TWO, eight: None }];

/// Finds the best candidate for every block that is not a solid colour.
pub(crate) fn search<L: Lanes>(blocks: &mut [Block], effort: &Effort) {
    let mut group = Group { blocks, effort };
    // Every stage looks at every block of the group: most groups have blocks of one or two classes only.
    if group.has(Class::Rgb) {
        group.rgb::<L>();
    }
    if group.has(Class::Rgba) {
        group.rgba::<L>();
    }
    if group.has(Class::Grey) {
        group.grey::<L>();
    }
    if group.has(Class::GreyAlpha) {
        group.grey_alpha::<L>();
    }
    if effort.refine.is_some() {
        group.refine::<L>();
    }
    group.hints::<L>();
}

struct Group<'a> {
    blocks: &'a mut [Block],
    effort: &'a Effort,
}

impl Group<'_> {
    /// Returns true if a block is of a class.
    fn has(&self, class: Class) -> bool {
        self.blocks.iter().any(|block| block.class == class)
    }

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
        self.stage::<L, _>(class, &SingleSubset::<0, 3, 16, 1> { step: Step::First }, |_| true);
        self.stage::<L, _>(class, &SingleSubset::<5, 3, 8, 1> { step: Step::Search }, |b| {
            single_subset_may_win(b, 1, effort)
        });
        if effort.rare_modes {
            self.stage::<L, _>(class, &SingleSubset::<1, 3, 4, 1> { step: Step::Search }, |b| {
                single_subset_may_win(b, 0, effort)
            });
            self.stage::<L, _>(class, &SingleSubset::<18, 3, 32, 1> { step: Step::Search }, |b| {
                single_subset_may_win(b, 2, effort)
            });
        }
        self.stage::<L, _>(class, &ChoosePlanes::<3>, dual_plane_may_win);
        for second_channel in [1, 0, 2] {
            let stage = DualPlane::<6, 3, 2, 4> { second_channel, step: Step::Search };
            self.stage::<L, _>(class, &stage, |b| {
                mode_may_win(b, 6, &b.planes[second_channel], effort.plane_slack)
            });
        }
        self.stage::<L, _>(class, &ChoosePattern::<3, 1> { lists: LISTS }, |b| partitions_may_win(b, effort));
        for rank in 0..effort.patterns[TWO] {
            let choice = |mode| move |b: &Block| pattern_may_win(b, mode, &b.choices[TWO][rank], effort);
            self.stage::<L, _>(
                class,
                &Subsets::<4, 3, 4, 2, 1> { list: TWO, rank, step: Step::Search },
                choice(4),
            );
        }
        for rank in 0..effort.patterns[TWO_LONGER] {
            let stage = Subsets::<2, 3, 8, 2, 1> { list: TWO_LONGER, rank, step: Step::Search };
            self.stage::<L, _>(class, &stage, |b| {
                pattern_may_win(b, 2, &b.choices[TWO_LONGER][rank], effort)
            });
        }
        for rank in 0..effort.patterns[TWO_OF_THREE] {
            let stage = Subsets::<7, 3, 4, 2, 1> { list: TWO_OF_THREE, rank, step: Step::Search };
            self.stage::<L, _>(class, &stage, |b| {
                pattern_may_win(b, 7, &b.choices[TWO_OF_THREE][rank], effort)
            });
        }
        for rank in 0..effort.patterns[THREE] {
            let stage = Subsets::<3, 3, 4, 3, 1> { list: THREE, rank, step: Step::Search };
            self.stage::<L, _>(class, &stage, |b| pattern_may_win(b, 3, &b.choices[THREE][rank], effort));
        }
    }

    fn rgba<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Rgba, self.effort);
        self.stage::<L, _>(class, &SingleSubset::<10, 4, 16, 1> { step: Step::First }, |_| true);
        self.stage::<L, _>(class, &SingleSubset::<12, 4, 8, 1> { step: Step::Search }, |b| {
            single_subset_may_win(b, 1, effort)
        });
        if effort.rare_modes {
            self.stage::<L, _>(class, &SingleSubset::<14, 4, 4, 1> { step: Step::Search }, |b| {
                single_subset_may_win(b, 0, effort)
            });
        }
        self.stage::<L, _>(class, &ChoosePlanes::<4>, dual_plane_may_win);
        for second_channel in [3, 1, 0, 2] {
            let choice = |mode| {
                move |b: &Block| mode_may_win(b, mode, &b.planes[second_channel], effort.alpha_slack[1])
            };
            self.stage::<L, _>(
                class,
                &DualPlane::<11, 4, 3, 4> { second_channel, step: Step::Search },
                choice(11),
            );
            self.stage::<L, _>(
                class,
                &DualPlane::<13, 4, 3, 2> { second_channel, step: Step::Search },
                choice(13),
            );
        }
        self.stage::<L, _>(class, &ChoosePattern::<4, 1> { lists: &LISTS[..1] }, |b| {
            b.cost > effort.alpha_split_above
        });
        for (list, rank) in alpha_ranks(effort) {
            let stage = Subsets::<9, 4, 4, 2, 1> { list, rank, step: Step::Search };
            self.stage::<L, _>(class, &stage, |b| alpha_pattern_may_win(b, list, rank, effort, 1.0));
        }
    }

    fn grey<L: Lanes>(&mut self) {
        let (class, effort) = (Class::Grey, self.effort);
        self.stage::<L, _>(class, &SingleSubset::<15, 1, 16, 3> { step: Step::First }, |_| true);
        self.stage::<L, _>(class, &SingleSubset::<18, 1, 32, 3> { step: Step::Search }, |b| {
            single_subset_may_win(b, 2, effort)
        });
        // Two flat greys either side of an edge: the error to gain is a level or two.
        let split_above = effort.split_above * 0.4;
        self.stage::<L, _>(class, &ChoosePattern::<1, 3> { lists: GREY_LISTS }, |b| b.cost > split_above);
        for rank in 0..effort.patterns[TWO] {
            let stage = Subsets::<16, 1, 4, 2, 3> { list: TWO, rank, step: Step::Search };
            // Grey levels cluster at few values: the estimate, which assumes a uniform distribution, is far
            // too high.
            let eager = effort.slack * 0.25;
            let pass = |b: &Block| b.cost > split_above && mode_may_win(b, 16, &b.choices[TWO][rank], eager);
            self.stage::<L, _>(class, &stage, pass);
        }
    }

    fn grey_alpha<L: Lanes>(&mut self) {
        let (class, effort) = (Class::GreyAlpha, self.effort);
        self.stage::<L, _>(class, &SingleSubset::<15, 2, 16, 3> { step: Step::First }, |_| true);
        self.stage::<L, _>(class, &GreyAlphaDualPlane { step: Step::Search }, dual_plane_may_win);
        self.stage::<L, _>(class, &ChoosePattern::<2, 3> { lists: &LISTS[..1] }, |b| {
            b.cost > effort.alpha_split_above
        });
        for (list, rank) in alpha_ranks(effort) {
            let stage = Subsets::<16, 2, 4, 2, 3> { list, rank, step: Step::Search };
            self.stage::<L, _>(class, &stage, |b| alpha_pattern_may_win(b, list, rank, effort, 0.25));
        }
    }
}

impl Group<'_> {
    /// Refines the best candidate of each block: more attempts with its mode, pattern and second channel.
    fn refine<L: Lanes>(&mut self) {
        let (step, list, rank) = (Step::Refine, TWO, 0);
        let mut found = Found::default();
        self.blocks.iter().for_each(|block| found.add(block));
        let f = &found;
        let class = Class::Rgb;
        self.refine_mode::<L, _>(f, class, 0, &SingleSubset::<0, 3, 16, 1> { step });
        self.refine_mode::<L, _>(f, class, 1, &SingleSubset::<1, 3, 4, 1> { step });
        self.refine_mode::<L, _>(f, class, 2, &Subsets::<2, 3, 8, 2, 1> { list, rank, step });
        self.refine_mode::<L, _>(f, class, 3, &Subsets::<3, 3, 4, 3, 1> { list, rank, step });
        self.refine_mode::<L, _>(f, class, 4, &Subsets::<4, 3, 4, 2, 1> { list, rank, step });
        self.refine_mode::<L, _>(f, class, 5, &SingleSubset::<5, 3, 8, 1> { step });
        self.refine_mode::<L, _>(f, class, 7, &Subsets::<7, 3, 4, 2, 1> { list, rank, step });
        self.refine_mode::<L, _>(f, class, 18, &SingleSubset::<18, 3, 32, 1> { step });
        for second_channel in 0..3 {
            self.refine_mode::<L, _>(f, class, 6, &DualPlane::<6, 3, 2, 4> { second_channel, step });
        }
        let class = Class::Rgba;
        self.refine_mode::<L, _>(f, class, 9, &Subsets::<9, 4, 4, 2, 1> { list, rank, step });
        self.refine_mode::<L, _>(f, class, 10, &SingleSubset::<10, 4, 16, 1> { step });
        self.refine_mode::<L, _>(f, class, 12, &SingleSubset::<12, 4, 8, 1> { step });
        self.refine_mode::<L, _>(f, class, 14, &SingleSubset::<14, 4, 4, 1> { step });
        for second_channel in 0..4 {
            self.refine_mode::<L, _>(f, class, 11, &DualPlane::<11, 4, 3, 4> { second_channel, step });
            self.refine_mode::<L, _>(f, class, 13, &DualPlane::<13, 4, 3, 2> { second_channel, step });
        }
        let class = Class::Grey;
        self.refine_mode::<L, _>(f, class, 15, &SingleSubset::<15, 1, 16, 3> { step });
        self.refine_mode::<L, _>(f, class, 16, &Subsets::<16, 1, 4, 2, 3> { list, rank, step });
        self.refine_mode::<L, _>(f, class, 18, &SingleSubset::<18, 1, 32, 3> { step });
        let class = Class::GreyAlpha;
        self.refine_mode::<L, _>(f, class, 15, &SingleSubset::<15, 2, 16, 3> { step });
        self.refine_mode::<L, _>(f, class, 16, &Subsets::<16, 2, 4, 2, 3> { list, rank, step });
        self.refine_mode::<L, _>(f, class, 17, &GreyAlphaDualPlane { step });
    }

    /// Runs a stage on the blocks of a class whose best candidate has a mode and leaves an error.
    fn refine_mode<L: Lanes, T: Stage<Block = Block, Effort = Effort>>(
        &mut self,
        found: &Found,
        class: Class,
        mode: u8,
        stage: &T,
    ) {
        if found.has(class, mode) {
            self.stage::<L, T>(class, stage, |b| b.fields.mode == mode && b.cost > 0.0 && stage.is_for(b));
        }
    }

    /// Finds transcoding hints, once the modes are known.
    fn hints<L: Lanes>(&mut self) {
        self.run::<L, _>(&Etc1, |block| block.class != Class::Solid);
        self.run::<L, _>(&Eac, |block| matches!(block.class, Class::Rgba | Class::GreyAlpha));
    }
}

/// The modes of the best candidates of a group, as bits, by class.
#[derive(Default)]
struct Found([u32; 5]);

impl Found {
    fn add(&mut self, block: &Block) {
        self.0[block.class as usize] |= 1 << block.fields.mode;
    }

    fn has(&self, class: Class, mode: u8) -> bool {
        self.0[class as usize] >> mode & 1 == 1
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

/// Iterates over the lists and ranks of the patterns that are fitted to blocks with alpha.
fn alpha_ranks(effort: &Effort) -> impl Iterator<Item = (usize, usize)> {
    [TWO, TWO_LONGER]
        .into_iter()
        .flat_map(|list| (0..effort.alpha_patterns[list]).map(move |rank| (list, rank)))
}

/// Returns true if a pattern of a block with alpha may beat the best candidate, and was not tried before. Alpha often has
/// few values: then axes may be as long as if there were more weights.
fn alpha_pattern_may_win(block: &Block, list: usize, rank: usize, effort: &Effort, slack: f32) -> bool {
    let choice = &block.choices[list][rank];
    let tried = &block.choices[TWO][..effort.alpha_patterns[TWO]];
    let share = if list == TWO { FOUR } else { EIGHT };
    block.cost > effort.alpha_split_above
        && (choice.across + choice.along * share) * effort.alpha_slack[0] * slack < block.cost
        && (list == TWO || tried.iter().all(|tried| tried.pattern != choice.pattern))
}

/// Returns true if a mode may beat the best candidate, given the variance of the texels about its principal
/// axes.
fn mode_may_win(block: &Block, mode: usize, choice: &Choice, slack: f32) -> bool {
    let steps = ((1u32 << MODES[mode].weight_bits) - 1) as f32;
    (choice.across + choice.along / (steps * steps)) * slack < block.cost
}
