//! The search effort of each BC7 quality setting. The values were tuned by measurement (`bench/bc7`).

use crate::Quality;
use crate::subset_fit::{NO_STRETCH, Stretch, Tries};

/// The parameters of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Least-squares iterations for each attempt.
    rounds: usize,
    /// The attempts for 4, for 8, and for 16 weight levels.
    stretch: [Stretch; 3],
    /// Additional attempts for smooth blocks.
    smooth: [Stretch; 3],
    /// The attempts for mode 6 if alpha has to stay 255, and the additional ones for smooth blocks: one choice of P-bits
    /// instead of four takes a quarter of the time, and other endpoints make up for it.
    opaque: [Stretch; 2],
    /// The squared extent below which a block is smooth.
    smooth_below: f32,
    /// Partitions are ranked if the best error is above this.
    pub(crate) split_above: f32,
    /// A pattern is tried if its expected error, times this, is below the best error.
    pub(crate) slack: f32,
    /// The number of patterns that are fitted, by list of [`super::block::Block::choices`].
    pub(crate) patterns: [usize; 4],
    /// Dual-plane modes are estimated for an opaque block if the best error is above this.
    pub(crate) opaque_planes_above: f32,
    /// A dual-plane mode is tried if its expected error, times this, is below the best error.
    pub(crate) plane_slack: f32,
    /// Tries dual-plane modes with fine weights for the first plane, and for the second.
    pub(crate) fine_planes: [bool; 2],
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

    /// Returns the attempts of mode 6 if alpha has to stay 255.
    #[inline(always)]
    pub(crate) const fn opaque_tries(&self) -> Tries {
        let [stretch, smooth] = self.opaque;
        Tries { stretch, smooth, smooth_below: self.smooth_below, rounds: self.rounds }
    }

    /// Returns the attempts for this many weight levels.
    #[inline(always)]
    pub(crate) const fn tries(&self, levels: usize) -> Tries {
        let k = match levels {
            4 => 0,
            8 => 1,
            _ => 2,
        };
        let (stretch, smooth) = (self.stretch[k], self.smooth[k]);
        Tries { stretch, smooth, smooth_below: self.smooth_below, rounds: self.rounds }
    }
}

static FAST: Effort = Effort {
    rounds: 2,
    stretch: [NO_STRETCH, NO_STRETCH, &[(0.0, 0.0), (0.12, 0.12)]],
    smooth: [&[], &[], &[(0.4, 0.4)]],
    opaque: [&[(0.0, 0.0), (0.06, 0.06), (0.12, 0.12), (0.25, 0.25)], &[(0.4, 0.4), (0.7, 0.7), (1.0, 1.0)]],
    smooth_below: 100.0,
    split_above: f32::INFINITY,
    slack: 1.0,
    patterns: [0; 4],
    opaque_planes_above: f32::INFINITY,
    plane_slack: 0.8,
    fine_planes: [true, false],
};

static DEFAULT: Effort = Effort {
    rounds: 1,
    stretch: [NO_STRETCH, NO_STRETCH, &[(0.0, 0.0), (0.1, 0.1)]],
    smooth: [&[(0.5, 0.5)], &[(0.2, 0.2)], &[(0.3, 0.3)]],
    opaque: [&[(0.0, 0.0), (0.05, 0.05), (0.1, 0.1), (0.2, 0.2)], &[(0.3, 0.3), (0.6, 0.6), (1.0, 1.0)]],
    smooth_below: 100.0,
    split_above: 4.0,
    slack: 0.5,
    patterns: [3, 2, 1, 0],
    opaque_planes_above: 4.0,
    plane_slack: 0.8,
    fine_planes: [true, true],
};

static HIGH: Effort = Effort {
    rounds: 2,
    stretch: [
        &[(0.0, 0.0), (-0.06, -0.06), (0.06, 0.06)],
        &[(0.0, 0.0), (0.05, 0.05), (0.1, 0.1)],
        &[(0.0, 0.0), (0.07, 0.07), (0.15, 0.15)],
    ],
    smooth: [&[(0.5, 0.5)], &[(0.2, 0.2)], &[(0.3, 0.3), (0.6, 0.6)]],
    opaque: [
        &[(0.0, 0.0), (0.04, 0.04), (0.08, 0.08), (0.12, 0.12), (0.2, 0.2)],
        &[(0.3, 0.3), (0.45, 0.45), (0.6, 0.6), (1.0, 1.0)],
    ],
    smooth_below: 200.0,
    split_above: 0.0,
    slack: 0.1,
    patterns: [4; 4],
    opaque_planes_above: 0.0,
    plane_slack: 0.2,
    fine_planes: [true, true],
};
