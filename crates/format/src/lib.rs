//! Bytes on disk: the only crate that knows how Kiln's runtime files are laid out.
//!
//! Without default features this is what a game engine links: `no_std`, no allocation, no dependencies, and
//! readers that borrow from the bytes they are given. A reader validates everything once; after that its
//! accessors cannot fail or panic, whatever the file held. Feature `tools` (on by default) adds the writers
//! and what `info`, `check`, `--verify` and the golden tests need.
//!
//! Every format is a module here, a row of [`FORMATS`], and a document in `docs/formats/`.
//!
//! ```
//! use kiln_format::{hman::HmanView, refs::hash_asset_ref};
//!
//! fn texture_path<'a>(manifest: &'a [u8], texture_ref: &str) -> Option<&'a str> {
//!     HmanView::read(manifest).ok()?.find(hash_asset_ref(texture_ref)).map(|entry| entry.path)
//! }
//! # assert_eq!(texture_path(b"HMAN", "models/chair/tex_0"), None);
//! ```

#![no_std]

#[cfg(feature = "tools")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
mod chunks;
mod error;
mod paths;
mod pod;
pub mod refs;
mod table;

pub mod assetdb;
pub mod hanim;
pub mod hfont;
pub mod hman;
pub mod hmat;
pub mod hmesh;
pub mod hpack;
pub mod ktx2;
pub mod pak;
pub mod spv;

/// Every format, in the order in which `info` lists them. The one list of formats: what works on files of any
/// kind walks this and names none.
pub static FORMATS: &[&dyn Format] = &[
    &hmesh::HMesh,
    &hmat::HMat,
    &hman::HMan,
    &hanim::HAnim,
    &hfont::HFont,
    &ktx2::Ktx2,
    &spv::Spv,
    &hpack::HPack,
];

pub use error::Error;
pub use paths::PathFault;
pub use pod::{Array, Iter, Pod};
#[cfg(feature = "tools")]
pub use table::{Fact, Field, Layout, Lookup, Problem};
pub use table::{Format, by_path};
