//! The search effort of each UASTC quality setting. The values were tuned by measurement (`bench/uastc`).

use crate::Quality;
use crate::subset_fit::{NO_STRETCH, Stretch, Tries};

/// The parameters of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The weight of the error after transcoding to BC7, relative to the error itself.
    pub(crate) bc7: f32,
    /// Least-squares iterations for each attempt.
    rounds: usize,
    /// The attempts for up to 4, for 8, and for more weight levels.
    stretch: [Stretch; 3],
    /// Additional attempts for smooth blocks.
    smooth: [Stretch; 3],
    /// The squared extent below which a block is smooth.
    smooth_below: f32,
    /// A mode with one plane is tried if its estimated error, times this, is below the best cost.
    pub(crate) slack: f32,
    /// A dual-plane mode is tried if its estimated error, times this, is below the best cost.
    pub(crate) plane_slack: f32,
    /// Partitions are ranked if the best cost is above this.
    pub(crate) split_above: f32,
    /// The number of patterns that are fitted with two subsets, two merged from three, and three.
    pub(crate) patterns: [usize; 3],
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

    /// Returns the attempts for this many weight levels, and the weight of the error after transcoding to BC7.
    #[inline(always)]
    pub(crate) const fn tries(&self, levels: usize) -> (Tries, f32) {
        let k = match levels {
            0..=4 => 0,
            8 => 1,
            _ => 2,
        };
        let (stretch, smooth) = (self.stretch[k], self.smooth[k]);
        (Tries { stretch, smooth, smooth_below: self.smooth_below, rounds: self.rounds }, self.bc7)
    }
}

static FAST: Effort = Effort {
    bc7: 0.5,
    rounds: 1,
    stretch: [NO_STRETCH; 3],
    smooth: [&[]; 3],
    smooth_below: 0.0,
    slack: 2.0,
    plane_slack: 1.5,
    split_above: f32::INFINITY,
    patterns: [0; 3],
    rare_modes: false,
    coarse_etc1: false,
};

static DEFAULT: Effort = Effort {
    bc7: 0.43,
    rounds: 1,
    stretch: [NO_STRETCH, NO_STRETCH, &[(0.0, 0.0), (0.06, 0.06), (0.15, 0.15)]],
    smooth: [
        &[(0.0, 0.5), (0.5, 0.0), (1.0, 1.0)],
        &[(0.2, 0.2), (0.6, 0.6)],
        &[(0.3, 0.3), (0.6, 0.6), (1.0, 1.0)],
    ],
    smooth_below: 100.0,
    slack: 1.0,
    plane_slack: 1.0,
    split_above: 100.0,
    patterns: [1; 3],
    rare_modes: true,
    coarse_etc1: true,
};

static HIGH: Effort = Effort {
    bc7: 0.21,
    rounds: 2,
    stretch: [
        &[(0.0, 0.0), (-0.06, -0.06), (0.06, 0.06), (-0.12, -0.12)],
        &[(0.0, 0.0), (0.05, 0.05), (0.1, 0.1), (-0.06, -0.06)],
        &[(0.0, 0.0), (0.03, 0.03), (0.07, 0.07), (0.15, 0.15), (0.3, 0.3)],
    ],
    smooth: [
        &[(0.0, 0.5), (0.5, 0.0), (1.0, 1.0), (0.0, 2.0)],
        &[(0.2, 0.2), (0.6, 0.6), (1.0, 1.0)],
        &[(0.6, 0.6), (1.0, 1.0), (1.6, 1.6)],
    ],
    smooth_below: 200.0,
    slack: 0.35,
    plane_slack: 0.7,
    split_above: 60.0,
    patterns: [2, 1, 1],
    rare_modes: true,
    coarse_etc1: true,
};
