//! Fast encoders for UASTC LDR 4x4 and BC7 textures: sixteen texels in, sixteen bytes out.
//!
//! UASTC is the high-quality form of Basis Universal: blocks that transcode within microseconds to BC7, ASTC,
//! ETC and others, so that one file serves every GPU. This crate writes such blocks, some sixty times as fast
//! as the reference encoder at the same quality, and reads them back. [`bc7`] writes BC7 with the same core, for
//! builds that are for desktops alone.
//!
//! ```
//! use kiln_uastc::{BLOCK_BYTES, Options, View, blocks_high, encode_rows, encoded_len};
//!
//! let (width, height) = (10, 6);
//! let pixels = vec![128; 10 * 6 * 4];
//! let view = View::tight(&pixels, width, height).expect("the pixels suffice");
//! let mut out = vec![0; encoded_len(width, height).expect("it fits")];
//! encode_rows(&view, 0..blocks_high(height), &Options::default(), &mut out);
//! assert_eq!(out.len(), 3 * 2 * BLOCK_BYTES);
//! ```
//!
//! The bytes depend on the texels and the [`Options`] alone: not on the processor, the number of threads, or
//! how an image is cut into strips. There is nothing to set up and nothing is allocated; a caller that wants
//! parallelism gives strips of rows to its own threads.
//!
//! How it works, module by module: `block` sorts blocks into classes; `search` decides which modes a block is
//! worth, `batch` packs blocks into batches of eight; `stages` holds the modes' searches, built from `spread` (axes), `fit`
//! (lines), `lattice` (endpoint levels), `partitions`, `ranking` (which of them) and `transcode` (the cost as BC7); `packing` writes the bits,
//! `hints` advises transcoders, `rdo` makes blocks repeat for Zstd, `decode` reads blocks back; `lanes` is the arithmetic on eight blocks at once.

#![allow(clippy::needless_range_loop, reason = "texels, channels and subsets are indices of several arrays")]

mod batch;
pub mod bc7;
mod block;
mod decode;
mod effort;
mod encode;
mod fit;
mod hints;
mod lanes;
mod lattice;
mod modes;
mod packing;
mod partitions;
mod ranking;
mod rdo;
mod search;
mod spread;
mod stages;
mod transcode;
mod view;

pub use decode::decode_block;
pub use encode::{encode_block, encode_rows, strip_rows};
#[doc(hidden)]
pub use encode::{encode_rows_on, encode_with_errors};
pub use hints::solid::ETC1_MODIFIERS;
#[doc(hidden)]
pub use lanes::Path;
pub use view::{View, blocks_high, blocks_wide, encoded_len};

/// Bytes of an encoded block.
pub const BLOCK_BYTES: usize = 16;

/// How much time to spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Quality {
    /// For iterating: few modes, one attempt each.
    Fast,
    /// All modes where they promise a gain.
    #[default]
    Default,
    /// Several attempts for each mode.
    High,
}

/// How to encode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// How much time to spend.
    pub quality: Quality,
    /// λ: how much error may be traded for a smaller file after Zstd. `None` or zero for none; 1.0 is a good
    /// start. With it a block depends on the blocks before it: see [`strip_rows`].
    pub rdo: Option<f32>,
}
