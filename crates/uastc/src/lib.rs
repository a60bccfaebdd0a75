//! Fast block encoders for UASTC LDR 4x4 and BC7 textures: sixteen texels in, sixteen bytes out.
//!
//! # Concepts
//!
//! UASTC is the high-quality format of Basis Universal: blocks that transcode within microseconds to BC7,
//! ASTC, ETC and others, so that one file serves every GPU. This crate encodes such blocks, some sixty times
//! as fast as the reference encoder at the same quality, and decodes them. [`bc7`] encodes BC7 with the same
//! core, for builds for desktop GPUs alone.
//!
//! Both formats store a block as a **mode**, a **partition** of the texels into **subsets**, a pair of
//! **endpoints** for each subset, and a **weight** for each texel that interpolates between them. In
//! **dual-plane** modes one channel has weights of its own. In BC7, **P-bits** are lowest endpoint bits that
//! channels share.
//!
//! # Example
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
//! # Guarantees
//!
//! The bytes depend on the texels and the [`Options`] alone: not on the processor, the number of threads, or
//! the division of an image into strips. There is nothing to set up and nothing is allocated; a caller that
//! wants parallelism gives strips of rows to its own threads.
//!
//! # Modules
//!
//! `block` classifies blocks; `search` selects the modes to try for a block and refines the best, `batch` packs blocks into
//! batches of eight; `stages` searches the modes, built from `principal_axis`, `fit` and `subset_fit` (endpoints and weights),
//! `ranking` (of partitions) and `transcode` (the error as BC7); `hints` finds transcoding hints, `rdo` makes blocks
//! repeat for Zstandard; `lanes` is the SIMD arithmetic on eight blocks at once. The layouts of both formats, modes,
//! partitions, endpoint ranges, packing and decoding, are in `kiln-transcode`, which games link.

#![allow(clippy::needless_range_loop, reason = "texels, channels and subsets are indices of several arrays")]

mod batch;
pub mod bc;
pub mod bc7;
mod block;
mod effort;
mod encode;
mod fit;
mod hints;
mod lanes;
mod principal_axis;
mod ranking;
mod rdo;
mod search;
mod stages;
mod subset_fit;
mod transcode;
mod view;

use kiln_transcode::uastc::{decode, endpoint_range, modes, packing, partitions};

#[doc(hidden)]
pub use encode::{Predicted, encode_rows_on, encode_with_errors};
pub use encode::{encode_block, encode_rows, strip_rows};
pub use kiln_transcode::etc1::MODIFIERS as ETC1_MODIFIERS;
pub use kiln_transcode::uastc::decode_block;
#[doc(hidden)]
pub use lanes::Path;
pub use view::{View, blocks_high, blocks_wide, encoded_len};

/// Bytes of an encoded block.
pub const BLOCK_BYTES: usize = 16;

/// The effort of the encoder: time against quality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Quality {
    /// For iteration: few modes, one attempt each.
    Fast,
    /// All modes where they promise a gain.
    #[default]
    Default,
    /// Several attempts for each mode.
    High,
}

/// Options of the UASTC encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The effort of the search.
    pub quality: Quality,
    /// The RDO lambda: how much error may be traded for a smaller file after Zstandard. `None` or zero
    /// disables RDO; 1.0 is a good start. With RDO a block depends on the previous blocks: see
    /// [`strip_rows`].
    pub rdo: Option<f32>,
}
