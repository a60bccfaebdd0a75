//! Block encoders and decoders in portable Rust: sixteen texels in, 8 or 16 bytes out.
//!
//! | module | format | encodes | decodes |
//! |---|---|---|---|
//! | [`bc1`] | BC1 and BC3, colour | yes | in `kiln-uastc` |
//! | [`bc4`] | BC4 and BC5 | yes | in `kiln-uastc` |
//! | [`bc6h`] | BC6H, unsigned and signed | yes | yes |
//! | [`etc2`] | ETC2, colour | yes | yes |
//! | [`eac`] | EAC alpha, R11 and RG11 | yes | yes |
//! | [`astc`] | ASTC 4×4 LDR | by `kiln-transcode` from UASTC | yes |
//!
//! Texels are in raster order. The bytes depend on the texels and the [`Effort`] alone: not on the processor, the
//! number of threads, or the division of an image. Nothing is allocated and no input panics. The layouts are those of
//! the Khronos Data Format Specification 1.3.
//!
//! # Example
//!
//! ```
//! use kiln_block_encoders::{Effort, bc6h};
//!
//! let one = 0x3C00; // 1.0 as a half float
//! let block = bc6h::encode(&[[one; 3]; 16], false, Effort::Default);
//! assert_eq!(bc6h::decode(&block, false), [[one; 3]; 16]);
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "texels, channels and subsets are indices of several arrays")]

pub mod astc;
pub mod bc1;
pub mod bc4;
pub mod bc6h;
pub mod eac;
pub mod etc2;
mod levels;

/// The effort of an encoder: time against quality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effort {
    /// For iteration: one attempt.
    Fast,
    /// Attempts that promise a gain.
    #[default]
    Default,
    /// Exhaustive where that is affordable.
    High,
}
