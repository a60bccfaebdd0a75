//! A transcoder of UASTC LDR 4x4 textures: one file for every GPU, converted to what the GPU reads when it is loaded.
//!
//! # Concepts
//!
//! A GPU samples textures from **blocks** of 4x4 texels, in a format of its own: BC7 on desktop GPUs, ASTC or ETC2
//! on mobile ones. UASTC, the high-quality format of Basis Universal, is built so that its blocks become blocks of all
//! of these within some nanoseconds. To **transcode** is that conversion. For ASTC and BC7 it rearranges
//! endpoints and weights and decodes no texel; for the others texels are decoded and encoded again, guided by **hints**
//! that the encoder stored in the block.
//!
//! [`transcode`] converts one image: a mip level of one layer and face.
//!
//! # Example
//!
//! ```
//! use kiln_transcode::{Target, transcode};
//!
//! // A solid-colour block: the prefix code of mode 8, then RGBA.
//! let block = ((0xFF_00_80_40_u128 << 5) | 0x17).to_le_bytes();
//! let mut texels = [0; 4 * 4 * 4];
//! transcode(&block, 4, 4, Target::Rgba8, &mut texels)?;
//! assert_eq!(texels[..4], [0x40, 0x80, 0x00, 0xFF]);
//!
//! let mut bc7 = [0; 16];
//! transcode(&block, 4, 4, Target::Bc7, &mut bc7)?;
//! assert_eq!(kiln_transcode::bc7::decode_block(&bc7), Some([[0x40, 0x80, 0x00, 0xFF]; 16]));
//! # Ok::<(), kiln_transcode::Error>(())
//! ```
//!
//! # Guarantees
//!
//! The bytes are those of the reference transcoder of Basis Universal with its default options, for every block, valid
//! or not. Blocks that it rejects are an [`Error`]. No input panics. The crate is `no_std`, allocates nothing, starts no
//! threads and has no `unsafe` code; images of one texture can be transcoded on as many threads as the caller has.
//!
//! # Modules
//!
//! [`uastc`] and [`bc7`] are the layouts of both formats, which the encoders of `kiln-uastc` use too; [`astc`], `bc1`,
//! `bc4`, [`etc1`] and [`eac`] transcode or encode blocks of their formats; `image` transcodes images.

#![no_std]
#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "texels, channels and subsets are indices of several arrays")]

#[cfg(feature = "zstd")]
extern crate alloc;

pub mod astc;
mod bc1;
mod bc4;
pub mod bc7;
mod bits;
pub mod eac;
mod error;
pub mod etc1;
mod image;
#[cfg(feature = "ktx2")]
pub mod ktx2;
mod target;
pub mod uastc;
#[cfg(feature = "zstd")]
mod zstd;

pub use error::Error;
pub use image::{BLOCK_BYTES, transcode, uastc_len};
pub use target::{Channel, Target};
