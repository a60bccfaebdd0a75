//! What each quality setting spends.

use crate::Quality;
use crate::fit::Tries;

/// The knobs of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How much the error after transcoding to BC7 counts, beside the error itself.
    pub(crate) bc7: f32,
    /// Rounds of least squares.
    pub(crate) rounds: usize,
    /// Stretches of the first guess, for weights of few and of many levels.
    pub(crate) stretch: [&'static [f32]; 3],
    /// How many patterns of a list are fitted.
    pub(crate) patterns: usize,
    /// A mode is tried if its estimated error, times this, is below the best so far.
    pub(crate) slack: f32,
}

impl Effort {
    pub(crate) const fn of(quality: Quality) -> Self {
        match quality {
            Quality::Fast => FAST,
            Quality::Default => DEFAULT,
            Quality::High => HIGH,
        }
    }

    #[inline(always)]
    pub(crate) const fn tries(&self, levels: usize) -> Tries<'static> {
        let stretch = match levels {
            0..=4 => self.stretch[0],
            8 => self.stretch[1],
            _ => self.stretch[2],
        };
        Tries { stretch, rounds: self.rounds }
    }
}

const FAST: Effort =
    Effort { bc7: 0.5, rounds: 1, stretch: [&[0.0], &[0.0], &[0.0]], patterns: 1, slack: 2.0 };
const DEFAULT: Effort =
    Effort { bc7: 0.5, rounds: 2, stretch: [&[0.0], &[0.0], &[0.0]], patterns: 1, slack: 1.0 };
const HIGH: Effort = Effort {
    bc7: 0.5,
    rounds: 2,
    stretch: [&[0.0, -0.06, 0.06, -0.12], &[0.0, 0.05, 0.1, -0.06], &[0.0, 0.03, 0.07, 0.12, 0.2, -0.04]],
    patterns: 2,
    slack: 0.7,
};
