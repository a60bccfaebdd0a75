//! The fault-injection suites: every row of the table in `docs/internals/reliability.md` is a module here that generates cases. A
//! case is a test directory, an executable and assertions.
//!
//! A case fails by panicking. All random choices derive from the seed and the name of the case, so that a failure can be
//! reproduced alone. The suites are black-box tests: they rely on the documented behaviour of the tools only.

pub mod case;
pub mod concurrent_runs;
pub mod corruption;
pub mod decompression_bombs;
pub mod edits;
pub mod files;
pub mod incremental_vs_clean;
pub mod kills;
pub mod model_based;
pub mod modified_during_read;
pub mod path_traversal;
pub mod project;
pub mod report;
pub mod resource_usage;
pub mod sample;
pub mod soak;
pub mod syscall_failures;
pub mod tool;
pub mod trace;
pub mod untrusted_project;
pub mod unusual_trees;
pub mod watch;

use case::{Case, NotRun};
use std::path::PathBuf;
use tool::Tools;

/// The configuration of a run.
pub struct Setup {
    /// The executables under test.
    pub tools: Tools,
    /// The seed of all random choices.
    pub seed: u64,
    /// True to run the short subset of the cases.
    pub short: bool,
    /// The parent of the test directories.
    pub work_dir: PathBuf,
    /// The directory of the showcase example, if it exists.
    pub showcase: Option<PathBuf>,
}

impl Setup {
    /// Returns `short` for the short form of a run and `long` for the full one.
    pub fn of<T>(&self, short: T, long: T) -> T {
        if self.short { short } else { long }
    }
}

/// A kind of injected faults.
pub struct Suite {
    /// The name on the command line.
    pub name: &'static str,
    /// A one-line summary for `--list`.
    pub summary: &'static str,
    /// The plural noun for what the suite counts.
    pub unit: &'static str,
    /// Generates the cases, or returns why the suite cannot be run here.
    pub cases: fn(&Setup) -> Result<Vec<Case>, NotRun>,
}

/// All suites, in the order of `docs/internals/reliability.md`.
pub const SUITES: [Suite; 11] = [
    kills::SUITE,
    syscall_failures::SUITE,
    concurrent_runs::SUITE,
    modified_during_read::SUITE,
    corruption::SUITE,
    model_based::SUITE,
    unusual_trees::SUITE,
    path_traversal::SUITE,
    untrusted_project::SUITE,
    decompression_bombs::SUITE,
    soak::SUITE,
];
