//! The engine of Kiln's tools, written once: rooted paths, file systems, walking, globs, hashing, the journal, the
//! store, incremental parallel runs and diagnostics.
//!
//! Nothing in here prints, exits, or looks at environment variables or the current directory.

pub mod cache;
pub mod cook;
mod fold;
pub mod fs;
pub mod glob;
pub mod hash;
pub mod json;
pub mod limits;
pub mod lock;
pub mod mem;
pub mod ownership;
pub mod path;
pub mod publish;
pub mod real;
pub mod record;
pub mod regular_file;
pub mod remote;
pub mod run;
pub mod shard;
pub mod share;
pub mod stale;
pub mod store;
mod walk;
pub mod wire;

pub use cache::{Cache, Records};
pub use cook::Cook;
pub use fold::folded;
pub use fs::{Entry, Fs, Stamp, Tree};
pub use hash::Hash;
pub use json::Json;
pub use kiln_diagnostics::{BadPath, Code, Diag, RelPath, Severity, is_unprintable, nearest, printable};
pub use limits::Limits;
pub use real::Real;
pub use run::{Done, Event, Events, Plan, State, Task, run};
pub use shard::Shard;
pub use share::{Made, WorkKey};
pub use stale::{Why, World};
pub use store::{Rejected, Store, StoredResult};
