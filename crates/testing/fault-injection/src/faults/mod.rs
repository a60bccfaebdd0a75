//! Attacks on Kiln's executables, as a stranger would make them: every row of `docs/reliability.md` is a module here that
//! makes cases, and a case is a directory, an executable and assertions.
//!
//! A case fails by panicking. Everything random in it follows from the seed and from the name of the case, so that a
//! failure can be had again alone. Nothing here knows how the tools work inside; it knows their manuals.

pub mod bombs;
pub mod case;
pub mod crowds;
pub mod damage;
pub mod edits;
pub mod files;
pub mod histories;
pub mod kills;
pub mod measured;
pub mod moving;
pub mod odd;
pub mod project;
pub mod refusals;
pub mod report;
pub mod sample;
pub mod soak;
pub mod tool;
pub mod trace;
pub mod traversal;
pub mod untrusted_project;
pub mod wander;
pub mod watch;

use case::{Case, NotRun};
use std::path::PathBuf;
use tool::Tools;

/// What a run attacks, and how hard.
pub struct Setup {
    /// The executables.
    pub tools: Tools,
    /// What everything random is drawn from.
    pub seed: u64,
    /// Whether it has to be over soon.
    pub short: bool,
    /// Where cases get their directories.
    pub room: PathBuf,
    /// The showcase of the examples, where it is.
    pub showcase: Option<PathBuf>,
}

impl Setup {
    /// One number for the short form and one for the long form.
    pub fn of<T>(&self, short: T, long: T) -> T {
        if self.short { short } else { long }
    }
}

/// One kind of attack.
pub struct Row {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// Makes its cases.
    pub cases: fn(&Setup) -> Result<Vec<Case>, NotRun>,
}

/// Every kind of attack, in the order of `docs/reliability.md`.
pub const ROWS: [Row; 11] = [
    kills::ROW,
    refusals::ROW,
    crowds::ROW,
    moving::ROW,
    damage::ROW,
    histories::ROW,
    odd::ROW,
    traversal::ROW,
    untrusted_project::ROW,
    bombs::ROW,
    soak::ROW,
];
