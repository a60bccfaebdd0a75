//! The search effort of each UASTC quality setting. The values were tuned by measurement (`bench/uastc`).

use crate::Quality;
use crate::block::LISTS;
use crate::subset_fit::{NO_STRETCH, Stretch, Tries};

/// The balance between UASTC itself and the formats that it is transcoded to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Balance {
    /// The weight of the error after transcoding to BC7, relative to the error itself.
    pub(crate) bc7: f32,
    /// By how much texels between the endpoints aim higher, of half a level: 1 is right where interpolation rounds down
    /// (UASTC), 0 where it rounds to the nearest (BC7, ASTC on a GPU).
    pub(crate) floor: f32,
}

/// The parameters of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The balance for colours and for grey.
    pub(crate) balance: [Balance; 2],
    /// The attempts of the search for the mode.
    search: Attempts,
    /// The attempts at the best candidate once the mode is known; `None` keeps what the search found.
    pub(crate) refine: Option<Attempts>,
    /// A mode with one plane is tried if its estimated error, times this, is below the best cost.
    pub(crate) slack: f32,
    /// A dual-plane mode is tried if its estimated error, times this, is below the best cost.
    pub(crate) plane_slack: f32,
    /// Partitions are ranked if the best cost is above this.
    pub(crate) split_above: f32,
    /// The number of patterns of each list that are fitted: two subsets ranked for four weights, two merged from three,
    /// three subsets, and two ranked for eight weights.
    pub(crate) patterns: [usize; LISTS],
    /// The number of patterns of each list that are fitted to blocks with alpha.
    pub(crate) alpha_patterns: [usize; LISTS],
    /// Partitions of blocks with alpha are ranked if the best cost is above this.
    pub(crate) alpha_split_above: f32,
    /// The slack of partitions and of dual-plane modes for blocks with alpha. Alpha clusters at its ends: estimates, which
    /// assume a uniform distribution, are too high.
    pub(crate) alpha_slack: [f32; 2],
    /// Tries the modes with the fewest and the most weight levels.
    pub(crate) rare_modes: bool,
    /// Also considers 4-bit base colours for ETC1 hints.
    pub(crate) coarse_etc1: bool,
}

impl Effort {
    /// Returns the parameters of a quality setting.
    pub(crate) const fn of(quality: Quality) -> &'static Self {
        match quality {
            Quality::Fast => &FAST,
            Quality::Default => &DEFAULT,
            Quality::High => &HIGH,
        }
    }

    /// Returns the attempts of a step for this many weight levels, and the balance. `G` is 3 for grey.
    #[inline(always)]
    pub(crate) const fn tries<const G: usize>(&self, levels: usize, step: Step) -> (Tries, Balance) {
        let k = match levels {
            0..=4 => 0,
            8 => 1,
            _ => 2,
        };
        let attempts = match (step, &self.refine) {
            (Step::Refine, Some(refine)) => refine,
            _ => &self.search,
        };
        let Attempts { rounds, stretch, smooth, smooth_below } = *attempts;
        (Tries { stretch: stretch[k], smooth: smooth[k], smooth_below, rounds }, self.balance[G / 3])
    }
}

/// The step of the search that a stage runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The first mode of a class, whose fit also estimates the errors of others.
    First,
    /// The search for the mode.
    Search,
    /// The refinement of the best candidate: its mode, pattern and second channel are known.
    Refine,
}

/// The attempts of a step, by the number of weight levels: up to 4, 8, and more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    /// Least-squares iterations for each attempt.
    rounds: usize,
    /// The attempts for every block.
    stretch: [Stretch; 3],
    /// Additional attempts for smooth blocks.
    smooth: [Stretch; 3],
    /// The squared extent below which a block is smooth.
    smooth_below: f32,
}

static FAST: Effort = Effort {
    balance: [Balance { bc7: 0.5, floor: 0.6 }, Balance { bc7: 1.0, floor: 0.55 }],
    search: Attempts { rounds: 1, stretch: [NO_STRETCH; 3], smooth: [&[]; 3], smooth_below: 0.0 },
    refine: None,
    slack: 2.0,
    plane_slack: 2.0,
    split_above: f32::INFINITY,
    patterns: [0; LISTS],
    alpha_patterns: [0; LISTS],
    alpha_split_above: f32::INFINITY,
    alpha_slack: [1.0, 1.5],
    rare_modes: false,
    coarse_etc1: false,
};

static DEFAULT: Effort = Effort {
    balance: [Balance { bc7: 0.4, floor: 0.6 }, Balance { bc7: 1.5, floor: 0.55 }],
    search: Attempts {
        rounds: 1,
        stretch: [NO_STRETCH, NO_STRETCH, &[(0.0, 0.0), (0.1, 0.1)]],
        smooth: [&[(1.0, 1.0), (0.0, 0.5)], &[(0.4, 0.4)], &[(0.4, 0.4), (1.0, 1.0)]],
        smooth_below: 100.0,
    },
    refine: Some(Attempts {
        rounds: 1,
        stretch: [&[(-0.08, -0.08), (0.08, 0.08)], &[(0.0, 0.08), (0.08, 0.0)], &[(0.12, 0.0), (0.0, 0.12)]],
        smooth: [&[]; 3],
        smooth_below: 0.0,
    }),
    slack: 1.0,
    plane_slack: 1.0,
    split_above: 120.0,
    patterns: [1; LISTS],
    alpha_patterns: [1, 0, 0, 2],
    alpha_split_above: 40.0,
    alpha_slack: [0.3, 0.4],
    rare_modes: true,
    coarse_etc1: true,
};

/// One end or both longer. Where endpoints are coarse, the line between them is free to end anywhere beyond the texels.
const LONGER: Stretch = &[
    (0.0, 0.0),
    (0.0, 0.07),
    (0.07, 0.0),
    (0.07, 0.07),
    (0.0, 0.15),
    (0.15, 0.0),
    (0.15, 0.15),
    (0.15, 0.07),
    (0.07, 0.15),
    (0.25, 0.25),
];

static HIGH: Effort = Effort {
    balance: [Balance { bc7: 0.17, floor: 0.6 }, Balance { bc7: 0.45, floor: 0.55 }],
    search: Attempts {
        rounds: 1,
        stretch: [NO_STRETCH, &[(0.0, 0.0), (0.1, 0.1)], &[(0.0, 0.0), (0.1, 0.1)]],
        smooth: [
            &[(0.0, 0.5), (0.5, 0.0), (1.0, 1.0), (0.0, 2.0)],
            &[(0.2, 0.2), (0.6, 0.6), (1.0, 1.0)],
            &[(0.3, 0.3), (0.6, 0.6), (1.0, 1.0), (1.6, 1.6)],
        ],
        smooth_below: 200.0,
    },
    refine: Some(Attempts {
        rounds: 2,
        stretch: [
            &[
                (0.0, 0.0),
                (0.0, 0.07),
                (0.07, 0.0),
                (0.07, 0.07),
                (0.0, 0.15),
                (0.15, 0.0),
                (0.15, 0.15),
                (-0.08, -0.08),
                (-0.1, 0.0),
                (0.0, -0.1),
            ],
            LONGER,
            LONGER,
        ],
        smooth: [&[]; 3],
        smooth_below: 0.0,
    }),
    slack: 0.25,
    plane_slack: 0.7,
    split_above: 50.0,
    patterns: [4, 2, 1, 4],
    alpha_patterns: [4, 0, 0, 3],
    alpha_split_above: 20.0,
    alpha_slack: [0.2, 0.3],
    rare_modes: true,
    coarse_etc1: true,
};
