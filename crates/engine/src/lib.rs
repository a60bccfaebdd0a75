//! The engine of Kiln's tools, written once: rooted paths, file systems, walking, globs, hashing, the journal, the
//! store, incremental parallel runs and diagnostics.
//!
//! Nothing in here prints, exits, or looks at environment variables or the current directory.

pub mod action;
pub mod artifact;
pub mod cache_entry;
mod fold;
pub mod fs;
pub mod glob;
pub mod hash;
pub mod inputs;
pub mod journal;
pub mod json;
pub mod limits;
pub mod lock;
pub mod mem;
mod memory;
pub mod ownership;
pub mod publish;
pub mod real;
pub mod record;
pub mod regular_file;
pub mod remote;
pub mod run;
pub mod shard;
pub mod shared_results;
pub mod sink;
pub mod stale;
pub mod store;
mod walk;
pub mod wire;

pub use action::{Action, ActionContext};
pub use artifact::{Artifact, Metadata, PlacedArtifact};
pub use cache_entry::{CacheEntry, Rejected};
pub use fold::folded;
pub use fs::{Entry, Fs, Stamp, Tree};
pub use hash::Hash;
pub use inputs::{Inputs, SourceTree};
pub use journal::{Journal, Records};
pub use json::Json;
pub use kiln_diagnostics::{BadPath, Code, Diag, RelPath, Severity, is_unprintable, nearest, printable};
pub use limits::Limits;
pub use real::Real;
pub use run::{Event, Events, Outcome, Plan, State, run};
pub use shard::Shard;
pub use shared_results::{SharedResult, WorkKey};
pub use sink::{DirectorySink, Sink};
pub use stale::Why;
pub use store::Store;
