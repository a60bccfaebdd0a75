//! Kiln's runtime formats: zero-copy readers for game engines, writers and inspection for tools.
//!
//! # Concepts
//!
//! A **view** ([`hmesh::HmeshView`], [`ktx2::Ktx2View`], [`hpack::HpackView`], …) borrows from the bytes of one file.
//! `View::read` validates what its accessors depend on; after that they cannot fail or panic, whatever the file
//! contains. [`Format::verify`] validates the rest of the file: indices, bounds, padding.
//!
//! Arrays in a file are [`Array`]s of [`Pod`] records. In a memory-mapped file they are aligned, so
//! [`Array::as_slice`] and [`Array::bytes`] need no copy: the bytes can go to the GPU as they are.
//!
//! Files reference each other by 64-bit hashes of **asset references** ([`refs`]). The manifest ([`hman`]) maps a hash
//! to the path of a runtime file, and a pack ([`hpack`]) maps a path to its bytes.
//!
//! # Features
//!
//! Without default features the crate is `no_std`, does not allocate and has no dependencies: this is what a game links.
//! The feature `tools` (on by default) adds the writers and the methods of [`Format`] that `info`, `check`, `--verify`
//! and the golden tests use. The feature `zstd` decompresses the files of compressed packs through `ruzstd`, which needs
//! `alloc`; without it, the caller passes a decompressor.
//!
//! Every format is a module of this crate, an entry of [`FORMATS`] and a document in `docs/reference/formats/`.
//!
//! # Example
//!
//! Finds the texture of a material in a pack:
//!
//! ```
//! use kiln_format::{Error, hman, hpack::HpackView, ktx2::Ktx2View, refs::hash_asset_ref};
//!
//! fn load_texture<'a>(pack: &HpackView<'a>, texture_ref: &str) -> Result<Option<Ktx2View<'a>>, Error> {
//!     let manifest = hman::HmanView::read(pack.get(hman::PATH).unwrap_or_default())?;
//!     let entry = manifest.find(hash_asset_ref(texture_ref));
//!     entry.and_then(|entry| pack.get(entry.path)).map(Ktx2View::read).transpose()
//! }
//!
//! # #[cfg(feature = "tools")]
//! # {
//! let manifest = hman::write(&[])?;
//! let pack = kiln_format::hpack::write(&[(hman::PATH, manifest.as_slice())])?;
//! assert!(load_texture(&HpackView::read(&pack)?, "models/chair/tex_0")?.is_none());
//! # }
//! # Ok::<(), Error>(())
//! ```

#![no_std]

#[cfg(any(feature = "tools", feature = "zstd"))]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
mod chunk_tables;
mod chunks;
mod error;
pub mod meshopt;
mod numbered;
mod paths;
mod pod;
pub mod refs;
mod table;
pub mod zstd_frame;

pub mod assetdb;
pub mod glb;
pub mod hanim;
pub mod hfont;
pub mod hman;
pub mod hmat;
pub mod hmatx;
pub mod hmesh;
pub mod hpack;
pub mod hscn;
pub mod ktx2;
pub mod pak;
pub mod spv;

/// All formats, in the order in which `info` lists them. Code that works on files of any format iterates over
/// this list and names no format.
pub static FORMATS: &[&dyn Format] = &[
    &hmesh::HMesh,
    &hmat::HMat,
    &hmatx::HMatX,
    &hman::HMan,
    &hanim::HAnim,
    &hscn::HScn,
    &hfont::HFont,
    &ktx2::Ktx2,
    &spv::Spv,
    &glb::Glb,
    &hpack::HPack,
];

pub use error::Error;
#[cfg(feature = "tools")]
pub use error::count_u32;
pub use paths::PathFault;
pub use pod::{Array, Iter, Pod};
#[cfg(feature = "tools")]
pub use table::{Fact, Field, GPU_BYTES, Layout, Lookup, Problem, ZstdFrame};
pub use table::{Format, by_path};
