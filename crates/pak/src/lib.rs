//! Many assets in one file: baked from TOML descriptions at build time, read where they lie at run time.
//!
//! ```no_run
//! use pak::{Pak, PakBuf};
//!
//! let pak = PakBuf::open("game_art.pak")?;
//! let mesh = pak.read_mesh("mesh/cube")?;
//! for primitive in mesh.primitives() {
//!     let (vertices, indices) = (primitive.vertex_data(), primitive.lods()[0].bytes());
//!     // … to the GPU: both are aligned, and come straight from the file where it is not compressed.
//! #   let _ = (vertices, indices);
//! }
//! # Ok::<(), pak::Error>(())
//! ```
//!
//! By default this crate only reads, and a game links nothing else of Kiln but `kiln-format`. The feature `bake` adds
//! `PakBuf::bake` and the module `bake`, which turn a configuration and its sources into a file.
//! `docs/pak.md` describes the configuration, `docs/formats/pak.md` the file.
//!
//! Whatever a file holds, reading gives an asset or an [`Error`] that names it. Each block of the file has a checksum,
//! which is compared on reading unless [`Options`] say otherwise; what is read is never longer than was declared.

mod aligned;
pub mod anim;
pub mod bitmap;
mod bitmap_font;
mod blob;
mod buf;
mod bytes;
mod checksum;
mod codec;
pub mod error;
mod id;
mod identity;
mod index;
mod material;
pub mod mesh;
mod overlay;
pub mod scene;
mod source;
mod traits;

#[cfg(feature = "bake")]
pub mod bake;

pub use bitmap::Bitmap;
pub use bitmap_font::BitmapFont;
pub use blob::BlobStream;
pub use buf::{Entry, Options, PakBuf};
pub use bytes::Bytes;
pub use error::Error;
pub use id::{AnimationId, BitmapFontId, BitmapId, BlobId, MaterialId, MeshId, SceneId};
pub use index::{IndexBuffer, IndexType};
pub use kiln_format::pak::{Codec, Kind};
pub use material::{MaterialInfo, MaterialParameterFlags};
pub use overlay::Overlay;
pub use source::Stream;
pub use traits::Pak;

/// Three numbers.
pub type Vec3 = [f32; 3];
/// A quaternion: `x, y, z, w`.
pub type Quat = [f32; 4];
/// Sixteen numbers, column by column.
pub type Mat4 = [f32; 16];
