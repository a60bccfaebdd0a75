//! The engine of Kiln's tools, written once: rooted paths, file systems, walking, globs, hashing, the cache,
//! incremental parallel runs and diagnostics.
//!
//! Nothing in here prints, exits, or looks at environment variables or the current directory.

pub mod diag;
pub mod glob;
pub mod path;

pub use diag::{Diag, Severity};
pub use path::RelPath;
