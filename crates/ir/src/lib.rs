//! Kiln's neutral model: plain data that importers produce and algorithms and writers consume.
//!
//! Nothing here reads files, knows a byte layout or holds a type of an importer. Invariants that the rest of
//! the workspace relies on are established by constructors and cannot be broken afterwards.

pub mod image;
pub mod lut;

pub use image::{Image, Texels};
pub use lut::Lut;
