//! Queries that take more than one lookup: broken references, unused assets, objects inside prefabs, differences between
//! two databases.
//!
//! Each takes an open [`crate::index::Index`] and returns data; none changes a file.

pub mod annotate;
pub mod broken;
pub mod check;
pub mod diff;
pub mod inner;
pub mod packages;
pub mod suggest;
pub mod unused;
