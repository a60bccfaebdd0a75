//! `.hmesh`: GPU-ready geometry: vertices, indices, meshlets, LODs, a skin and its skeleton, and where a source has
//! them vertex colours, further UV sets, morph targets and nodes.
//!
//! Implements `docs/reference/formats/hmesh.md`. Unknown chunks are ignored. [`HmeshView::read`] rejects duplicate
//! chunks, sizes that are inconsistent with the counts, submeshes and LODs that do not cover their indices
//! contiguously, and skeletons with cycles. Compressed meshes, version 3, are decoded first: [`CompressedHmesh`]. [`HmeshView::verify`] also rejects indices and ranges that are
//! out of range, wrong bounds, numbers that are not finite, and unaccounted bytes.
//!
//! ```
//! use kiln_format::hmesh::HmeshView;
//!
//! /// What to upload, and what to draw: index range and material slot of each part.
//! fn load(file: &[u8]) -> Result<(&[u8], &[u8], Vec<(u32, u32, u32)>), kiln_format::Error> {
//!     let mesh = HmeshView::read(file)?;
//!     let draws = mesh.submeshes().iter().map(|sub| (sub.first_index, sub.index_count, sub.material_slot));
//!     Ok((mesh.vertices().bytes(), mesh.indices().bytes(), draws.collect()))
//! }
//! # assert!(load(b"HMSH").is_err());
//! ```

mod clusters;
mod compressed;
mod extra;
mod inspect;
mod records;
mod tables;
mod verify;
mod view;
#[cfg(feature = "tools")]
mod write;

pub use self::clusters::{
    Cluster, ClusterGeometry, ClusterGroup, ClusterHierarchy, ClusterPage, CutView, MAX_PAGE_SIZE, NO_GROUP,
    ROOT_ERROR,
};
#[cfg(feature = "tools")]
pub use self::clusters::{ClusterPart, ClusterParts, GroupPart};
pub use self::compressed::{
    COMPRESSED_VERSION, CompressedHmesh, EncodedChunk, MAX_STREAM_RATIO, StreamCodec,
};
#[cfg(feature = "tools")]
pub use self::compressed::{Stream, decoded, write_compressed};
pub use self::extra::{Colors, Morph};
pub use self::inspect::HMesh;
pub use self::records::*;
pub use self::view::{HmeshView, Indices};
#[cfg(feature = "tools")]
pub use self::write::{MESHLET_MAX_TRIS, MESHLET_MAX_VERTS, Parts, write};

use crate::chunks::Kind;

/// The magic number of meshes.
pub const MAGIC: [u8; 4] = *b"HMSH";
/// The only supported version.
pub const VERSION: u32 = 2;

const FORMAT: Kind = Kind { format: "hmesh", magic: MAGIC, version: VERSION, version_text: "2" };
