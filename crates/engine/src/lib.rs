//! The build engine of Kiln's tools: incremental, parallel, crash-safe and cached.
//!
//! # Concepts
//!
//! - An [`Action`] is a source with a recipe and settings. It reads sources through [`Inputs`], which record every access, and
//!   returns [`Artifact`]s with typed [`Metadata`].
//! - A [`Sink`] publishes artifacts, for example as files of a [directory](DirectorySink), and finds them again on the next run.
//! - The [`Journal`] in the output has the record of every action: fingerprint, inputs, artifacts and warnings. An action whose
//!   record is unchanged is up to date; otherwise there is a [`RebuildReason`].
//! - The [`Store`] is the build cache, on this machine and on a [server](remote): results by fingerprint and input hashes.
//! - [`run()`] brings all artifacts up to date on a thread pool, within [`Limits`], and reports [`Event`]s.
//! - An [`Fs`] is a directory on disk ([`Real`]) or in memory ([`mem::Mem`], for tests with fault injection).
//!
//! The crate never prints, exits, or reads environment variables or the current directory.
//!
//! # Example
//!
//! An action that copies a file in upper case. The second run finds it up to date.
//!
//! ```
//! use kiln_engine::mem::Mem;
//! use kiln_engine::{Action, ActionContext, Artifact, Diag, DirectorySink, Fs, Journal, Plan, RelPath};
//! use kiln_engine::{RebuildReason, SourceTree, State, run};
//!
//! struct UpperCase(RelPath);
//!
//! impl Action for UpperCase {
//!     type Metadata = ();
//!
//!     fn source(&self) -> &RelPath {
//!         &self.0
//!     }
//!
//!     fn fingerprint(&self) -> &str {
//!         "upper-case 1"
//!     }
//!
//!     fn weight(&self, sources: SourceTree<'_>) -> u64 {
//!         sources.len(&self.0)
//!     }
//!
//!     fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<()>>, Diag> {
//!         let bytes = cx.inputs.read(&self.0)?.to_ascii_uppercase();
//!         Ok(vec![cx.artifact(&self.0, (), &bytes)?])
//!     }
//! }
//!
//! let (src, out) = (Mem::new(), Mem::new());
//! src.put("a.txt", "hello");
//! let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let mut states = Vec::new();
//! for _ in 0..2 {
//!     let (src_tree, out_tree) = (src.walk(None)?, out.walk(None)?);
//!     let mut journal = Journal::open(&out, &RelPath::new(".journal")?, &|| ())?;
//!     let sources = SourceTree { fs: &src, tree: &src_tree };
//!     let sink = DirectorySink::new(&out, &out_tree);
//!     let actions = [UpperCase(RelPath::new("a.txt")?)];
//!     states.extend(run(sources, &sink, &mut journal, &actions, &[], Plan::new(&pool))?.into_iter().map(|o| o.state));
//! }
//! assert_eq!(states, [State::Built(RebuildReason::New), State::Fresh]);
//! assert_eq!(out.get("a.txt").unwrap(), b"HELLO");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod action;
pub mod artifact;
pub mod cache_entry;
pub mod file_in_use;
mod fold;
pub mod fs;
pub mod glob;
pub mod hash;
pub mod inputs;
pub mod journal;
pub mod json;
pub mod lock;
mod log_file;
pub mod mem;
mod memory;
mod open_root;
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
pub mod temporary;
pub mod tree_stamps;
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
pub use kiln_diagnostics::{
    BadPath, Code, Diag, Limits, LintLevel, LintPolicy, MemoryBudget, RelPath, Severity, SourceFiles,
    WindowsNameFault, counted, is_unprintable, is_windows_device, nearest, printable, windows_name_fault,
};
pub use real::Real;
pub use run::{Event, Events, Outcome, Plan, State, cancelled, run};
pub use shard::Shard;
pub use shared_results::{SharedResult, WorkKey};
pub use sink::{DirectorySink, Sink};
pub use stale::RebuildReason;
pub use store::Store;
