//! The block layout of UASTC LDR 4x4: modes, partitions, endpoint ranges, packing, unpacking and decoding.
//!
//! Everything a transcoder or an encoder needs to know about the format. [`decode_block`] is for everyone; the
//! other items are for encoders.

pub mod decode;
pub mod endpoint_range;
pub mod modes;
pub mod packing;
pub mod partitions;
pub(crate) mod unpack;

pub use decode::decode_block;
pub use packing::{Fields, Hints};
