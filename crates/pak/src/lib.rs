//! Asset bundles for games: a pak file is baked from TOML descriptions at build time and read zero-copy at run time.
//!
//! ```no_run
//! use pak::{Pak, PakBuf};
//!
//! let pak = PakBuf::open("game_art.pak")?;
//! let mesh = pak.read_mesh("mesh/cube")?;
//! for primitive in mesh.primitives() {
//!     let (vertices, indices) = (primitive.vertex_data(), primitive.lods()[0].bytes());
//!     // Upload both to the GPU. They are aligned to 16 bytes, and zero-copy if stored uncompressed.
//! #   let _ = (vertices, indices);
//! }
//! # Ok::<(), pak::Error>(())
//! ```
//!
//! # Concepts
//!
//! - A **pak** is one file with a header, the payloads of all assets, and an index. [`PakBuf`] opens it memory-mapped, from
//!   a stream or from bytes, validates the index once, and searches it in place.
//! - An **asset** has a [`Kind`]: animation, bitmap, bitmap font, blob, material, mesh or scene. Its **id** is a typed
//!   number such as [`MeshId`], valid for one pak; its **key** is the path of its source file from the root directory,
//!   without a trailing `.toml`. The [`Pak`] trait reads assets by key or by id.
//! - A **payload** is stored in blocks that are compressed independently with a [`Codec`], so that large assets are decoded
//!   in parallel and blobs can be streamed ([`BlobStream`]). Uncompressed payloads are zero-copy: [`Bytes`] shares the
//!   mapping.
//! - An [`Overlay`] stacks several paks: patches and mods override assets by key, and references follow.
//!
//! # Features
//!
//! By default this crate only reads, and of Kiln a game links nothing else than `kiln-format`. The feature `bake` adds
//! `PakBuf::bake`, the module `bake` (the incremental baker, and `bake::DevPak` for hot reload) and the module `export`
//! (assets as PNG, KTX2, GLB and JSON files). `cli` builds the
//! executable `pak`. `signature` verifies signed paks. `transcode` transcodes UASTC bitmaps. `serde` implements its traits for the ids. `zstd-c` decompresses Zstandard with the C library. `docs/reference/pak.md` documents the configuration,
//! `docs/reference/formats/pak.md` the file format.
//!
//! # Errors
//!
//! For arbitrary bytes, reading returns an asset or an [`Error`] that names it, and never panics. Each block of the file
//! has a checksum, which is verified on reading unless [`Options`] disable it; a payload never decodes to more than its
//! declared length.

mod aligned;
pub mod anim;
pub mod bitmap;
pub mod bitmap_font;
mod blob;
pub mod buf;
mod bytes;
mod changes;
mod checksum;
mod codec;
mod entries;
pub mod error;
mod id;
mod identity;
pub mod index;
mod material;
pub mod mesh;
mod open;
mod options;
mod overlay;
mod patch;
mod read_at;
pub mod scene;
#[cfg(feature = "signature")]
mod signature;
pub mod sound;
mod source;
mod traits;
mod vertex_streams;

#[cfg(feature = "bake")]
pub mod bake;
#[cfg(feature = "bake")]
pub mod export;

pub use bitmap::Bitmap;
pub use bitmap_font::BitmapFont;
pub use blob::BlobStream;
pub use buf::PakBuf;
pub use bytes::Bytes;
pub use changes::Change;
pub use entries::Entry;
pub use error::Error;
pub use id::{AnimationId, BitmapFontId, BitmapId, BlobId, MaterialId, MeshId, SceneId};
pub use index::{IndexBuffer, IndexType};
pub use kiln_format::pak::{Codec, Kind};
#[cfg(feature = "transcode")]
pub use kiln_transcode as transcode;
pub use material::{MaterialInfo, MaterialParameterFlags};
pub use options::Options;
pub use overlay::Overlay;
pub use read_at::ReadAt;
#[cfg(feature = "signature")]
pub use signature::{PublicKey, SecretKey, signature_path};
pub use source::Stream;
pub use traits::Pak;

/// A vector of three `f32`: `x, y, z`.
pub type Vec3 = [f32; 3];
/// A quaternion of four `f32`: `x, y, z, w`.
pub type Quat = [f32; 4];
/// A 4×4 matrix in column-major order.
pub type Mat4 = [f32; 16];
