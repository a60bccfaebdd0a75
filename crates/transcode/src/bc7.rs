//! The block layout of BC7, and transcoding to BC7.

pub mod decode;
pub mod modes;
pub mod packing;
pub mod patterns;
mod solid;
pub(crate) mod transcode;

pub use decode::decode_block;
