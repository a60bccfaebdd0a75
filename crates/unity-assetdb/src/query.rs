//! Queries that take more than one lookup: broken references, unused assets, objects inside prefabs, differences between
//! two databases.
//!
//! Each takes an open [`crate::index::Index`] and returns data; none changes a file.

pub mod annotate;
mod base_objects;
pub mod baseline;
pub mod broken;
pub mod changed_since;
pub mod check;
pub mod diff;
pub mod duplicates;
pub mod graph;
pub mod ignore;
pub mod inner;
mod occurrences;
pub mod packages;
mod properties;
pub mod replace;
pub mod review;
pub mod roots;
mod string_literals;
pub mod suggest;
pub mod type_names;
pub mod unused;
