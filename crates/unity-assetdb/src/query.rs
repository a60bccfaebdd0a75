//! Questions about a project that take more than one lookup: what is broken, what is unused, what a prefab's inner
//! objects are called, what changed between two databases.
//!
//! Each takes an open [`crate::index::Index`] and returns data; nothing here changes a file.

pub mod annotate;
pub mod broken;
pub mod check;
pub mod diff;
pub mod inner;
pub mod packages;
pub mod suggest;
pub mod unused;
