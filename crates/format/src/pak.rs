//! `.pak`: many assets in one file, with an index that is searched in place.
//!
//! Implements `docs/reference/formats/pak.md`. [`Header`] locates the index; [`Index::read`] checks the whole index,
//! and after that no accessor can fail. Rejected are an index with trailing bytes, payloads at any offset
//! other than the one that order and sizes determine, blocks longer than their decompressed size, keys out of
//! order, and indices out of range. The contents of payloads are checked by the views in the submodules.
//!
//! Checksums are XXH3 (64 bits, seed 0). This crate has no dependencies and does not compute them: the caller
//! compares [`Header::checksum`], [`Header::index_checksum`] and [`Block::checksum`] with the bytes they
//! cover.

pub mod animation;
pub mod bitmap;
mod flags;
pub mod font;
mod half;
mod index;
mod kind;
pub mod mesh;
mod mesh_streams;
pub mod patch;
pub mod scene;
pub mod signature;
mod text;
mod vertex;
#[cfg(feature = "tools")]
pub mod write;

pub use self::half::Half;
pub use self::index::{Asset, Block, Index, IndexView};
pub use self::kind::{Codec, Color, Encoding, Kind, MaterialParameterFlags, Role, Sample, VertexType};
pub use self::vertex::{VertexAttribute, VertexFormat, VertexSemantic};

use core::ops::Range;

#[cfg(feature = "tools")]
use crate::Layout;
use crate::bytes::{Reader, align, record, slice};
use crate::{Array, Error, Pod};

/// The magic number of paks.
pub const MAGIC: [u8; 4] = *b"KPAK";
/// The only supported version.
pub const VERSION: u32 = 1;
/// Alignment of every payload in bytes, so that a memory-mapped file can be used in place.
pub const ALIGNMENT: u64 = 16;
/// The value of an index field that means "none".
pub const NONE: u32 = u32::MAX;
/// The range of decompressed block sizes as powers of two: 4 KiB to 4 MiB. Compressed blocks do not reveal
/// their decompressed size, so the largest is also the limit for decompression bombs.
pub const BLOCK_LOG2: Range<u8> = 12..23;

record! {
    /// The header at the start of the file.
    struct HeaderRecord {
        magic: [u8; 4],
        version: u32,
        flags: u32,
        reserved: u32,
        file_len: u64,
        index_offset: u64,
        index_len: u64,
        index_checksum: u64,
        header_checksum: u64,
    }
}

record! {
    /// The header of the index.
    struct IndexRecord {
        animations: u32,
        bitmaps: u32,
        bitmap_fonts: u32,
        blobs: u32,
        materials: u32,
        meshes: u32,
        scenes: u32,
        keys: u32,
        blocks: u32,
        refs: u32,
        text_len: u32,
        reserved: u32,
    }
}

record! {
    /// An entry of the asset table: offset, length and storage of one payload.
    struct AssetRecord {
        offset: u64,
        len: u64,
        first_block: u32,
        first_ref: u32,
        refs: u32,
        codec: u8,
        block_log2: u8,
        reserved: u16,
    }
}

record! {
    /// One block of a payload.
    struct BlockRecord {
        checksum: u64,
        stored_len: u32,
    }
}

record! {
    /// A reference from one asset to another.
    struct RefRecord {
        kind: u32,
        id: u32,
    }
}

record! {
    /// A material with all its fields.
    struct MaterialRecord {
        color: u32,
        normal: u32,
        emissive: u32,
        params: u32,
        params_used: u8,
        flags: u8,
        emissive_strength: u16,
        alpha_cutoff: f32,
    }
}

record! {
    /// A key and the asset that it names.
    struct KeyRecord {
        text_offset: u32,
        text_len: u16,
        kind: u8,
        reserved: u8,
        id: u32,
    }
}

/// All records of the format, for the test that compares them with the document.
#[cfg(feature = "tools")]
pub const LAYOUTS: &[Layout] = &[
    HeaderRecord::LAYOUT,
    IndexRecord::LAYOUT,
    AssetRecord::LAYOUT,
    BlockRecord::LAYOUT,
    RefRecord::LAYOUT,
    MaterialRecord::LAYOUT,
    KeyRecord::LAYOUT,
    mesh::MeshHead::LAYOUT,
    mesh::PrimitiveRecord::LAYOUT,
    mesh::LodRecord::LAYOUT,
    mesh::JointRecord::LAYOUT,
    mesh::MeshletRecord::LAYOUT,
    mesh::StreamRecord::LAYOUT,
    bitmap::BitmapHead::LAYOUT,
    animation::AnimationHead::LAYOUT,
    animation::ChannelRecord::LAYOUT,
    font::FontHead::LAYOUT,
    scene::SceneHead::LAYOUT,
    scene::ReferenceRecord::LAYOUT,
    scene::GeometryRecord::LAYOUT,
    scene::DataRecord::LAYOUT,
    text::TextRange::LAYOUT,
    patch::PatchHead::LAYOUT,
    patch::PatchOperation::LAYOUT,
    signature::SignatureHead::LAYOUT,
];

/// Size of the header in bytes.
pub const HEADER_LEN: usize = HeaderRecord::SIZE;
/// Number of leading header bytes that the header's own checksum covers.
pub const HEADER_CHECKED: usize = HEADER_LEN - 8;

/// The checked header: the location and checksum of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The length of the whole file in bytes.
    pub file_len: u64,
    /// The byte offset of the index, which extends to the end of the file.
    pub index_offset: u64,
    /// The length of the index in bytes.
    pub index_len: u64,
    /// The XXH3 checksum of the index.
    pub index_checksum: u64,
    /// The XXH3 checksum of the first [`HEADER_CHECKED`] bytes.
    pub checksum: u64,
}

impl Header {
    /// Checks the header of a file of `file_len` bytes.
    ///
    /// # Errors
    ///
    /// [`Error`] if `first` is shorter than [`HEADER_LEN`] or holds an invalid value.
    pub fn read(first: &[u8], file_len: u64) -> Result<Header, Error> {
        let record = HeaderRecord::read(&mut Reader::new(first))?;
        if record.magic != MAGIC {
            return Err(Error::Magic { found: record.magic, format: "pak" });
        }
        let bad =
            |at, field, found: u32, expected| Err(Error::Value { at, field, found: found.into(), expected });
        match (record.version, record.flags, record.reserved) {
            (VERSION, 0, 0) => {}
            (VERSION, 0, found) => return bad(12, "reserved", found, "0"),
            (VERSION, found, _) => return bad(8, "flags", found, "0"),
            (found, ..) => return bad(4, "version", found, "1"),
        }
        let needed = record.file_len;
        if needed > file_len {
            return Err(Error::Truncated { at: 0, field: "the pak", needed, len: file_len });
        }
        if needed < file_len {
            return Err(Error::Trailing { at: needed, extra: file_len - needed });
        }
        let (index_offset, index_len) = (record.index_offset, record.index_len);
        let fits = index_offset >= HEADER_LEN as u64
            && index_offset.is_multiple_of(ALIGNMENT)
            && index_offset.checked_add(index_len) == Some(file_len);
        if !fits {
            return Err(Error::Range {
                at: 24,
                field: "index",
                start: index_offset,
                size: index_len,
                len: file_len,
            });
        }
        Ok(Header {
            file_len,
            index_offset,
            index_len,
            index_checksum: record.index_checksum,
            checksum: record.header_checksum,
        })
    }
}

/// A material with the IDs of its bitmaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Base colour and alpha.
    pub color: u32,
    /// The tangent-space normal map.
    pub normal: Option<u32>,
    /// The emissive colour texture.
    pub emissive: Option<u32>,
    /// Metallic, roughness, height or occlusion, and transmission, one per channel.
    pub params: Option<u32>,
    /// The channels of `params` that are in use: metallic 1, roughness 2, height 4, transmission 8, and occlusion 16
    /// in the channel of height.
    pub params_used: u8,
    /// Flag bits: [`DOUBLE_SIDED`] 1, [`ALPHA_TEST`] 2, [`ALPHA_BLEND`] 4.
    pub flags: u8,
    /// The factor of the emissive texture, for emitters brighter than 1.
    pub emissive_strength: Half,
    /// The alpha cutoff: fragments with a lower alpha are discarded.
    pub alpha_cutoff: f32,
}

/// The flag bit of a double-sided material.
pub const DOUBLE_SIDED: u8 = 1;
/// The flag bit of an alpha-tested material.
pub const ALPHA_TEST: u8 = 2;
/// The flag bit of an alpha-blended material.
pub const ALPHA_BLEND: u8 = 4;
/// The bit of `params_used` for occlusion in the blue channel. Excludes [`PARAM_HEIGHT`], which uses the same channel.
pub const PARAM_OCCLUSION: u8 = 16;
/// The bit of `params_used` for height in the blue channel.
pub const PARAM_HEIGHT: u8 = 4;

/// Sequential reader of the aligned arrays of a payload.
struct Sections<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Sections<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Self {
        Sections { bytes, at: at as u64 }
    }

    fn align(&mut self) {
        self.at = align(self.at, ALIGNMENT).unwrap_or(u64::MAX);
    }

    fn take<T: Pod>(&mut self, count: u32, field: &'static str) -> Result<Array<'a, T>, Error> {
        self.bytes(u64::from(count) * size_of::<T>() as u64, field).map(Array::new)
    }

    fn bytes(&mut self, size: u64, field: &'static str) -> Result<&'a [u8], Error> {
        let found = slice(self.bytes, self.at, size);
        let (start, len) = (self.at, self.bytes.len() as u64);
        self.at = self.at.saturating_add(size);
        found.ok_or(Error::Range { at: 0, field, start, size, len })
    }

    fn finish(&self) -> Result<(), Error> {
        match (self.bytes.len() as u64).saturating_sub(self.at) {
            0 => Ok(()),
            extra => Err(Error::Trailing { at: self.at, extra }),
        }
    }
}
