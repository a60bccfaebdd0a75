//! `.pak`: many assets in one file, behind an index that is searched where it lies.
//!
//! Implements `docs/formats/pak.md`. [`Header`] says where the index is; [`Index::read`] checks it as a whole, and
//! after that no accessor can fail. Refused are an index that is not consumed exactly, payloads anywhere but at the
//! one place that order and sizes leave them, blocks longer than what they decode to, keys out of order, and numbers
//! that name nothing. What the payloads hold is checked by the views in the modules below, when they are read.
//!
//! Checksums are XXH3 (64 bits, seed 0), which this crate does not compute: it has no dependencies. Whoever reads a
//! file compares [`Header::checksum`], [`Header::index_checksum`] and [`Block::checksum`] with the bytes they cover.

pub mod animation;
pub mod bitmap;
pub mod font;
mod index;
mod kind;
pub mod mesh;
pub mod scene;
mod text;
#[cfg(feature = "tools")]
pub mod write;

pub use self::index::{Asset, Block, Index, IndexView};
pub use self::kind::{Codec, Color, Encoding, Kind, Role, Sample, VertexType};

use core::ops::Range;

#[cfg(feature = "tools")]
use crate::Layout;
use crate::bytes::{Reader, align, record, slice};
use crate::{Array, Error, Pod};

/// The first bytes of the file.
pub const MAGIC: [u8; 4] = *b"KPAK";
/// The only version there is.
pub const VERSION: u32 = 1;
/// Every payload starts at a multiple of this, so that it can be used where it lies in a mapped file.
pub const ALIGNMENT: u64 = 16;
/// Stands for "none" wherever a number names something.
pub const NONE: u32 = u32::MAX;
/// What blocks may decode to, as powers of two: 4 KiB to 4 MiB. A block says little about how much it decodes to, so
/// the largest is also the most that a few hostile bytes can claim.
pub const BLOCK_LOG2: Range<u8> = 12..23;

record! {
    /// The start of the file.
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
    /// The start of the index.
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
    /// Where one asset's payload is, and how it is stored.
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
    /// An asset that another one uses.
    struct RefRecord {
        kind: u32,
        id: u32,
    }
}

record! {
    /// A material, whole.
    struct MaterialRecord {
        color: u32,
        normal: u32,
        emissive: u32,
        params: u32,
        params_used: u8,
        flags: u8,
        reserved: u16,
        alpha_cutoff: f32,
    }
}

record! {
    /// What a key names.
    struct KeyRecord {
        text_offset: u32,
        text_len: u16,
        kind: u8,
        reserved: u8,
        id: u32,
    }
}

/// Every record of the format, for the test that compares them with the document.
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
    bitmap::BitmapHead::LAYOUT,
    animation::AnimationHead::LAYOUT,
    animation::ChannelRecord::LAYOUT,
    font::FontHead::LAYOUT,
    scene::SceneHead::LAYOUT,
    scene::ReferenceRecord::LAYOUT,
    scene::GeometryRecord::LAYOUT,
    scene::DataRecord::LAYOUT,
    text::TextRange::LAYOUT,
];

/// Bytes of the header.
pub const HEADER_LEN: usize = HeaderRecord::SIZE;
/// How many of them the header's own checksum covers.
pub const HEADER_CHECKED: usize = HEADER_LEN - 8;

/// Where the index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The length of the whole file.
    pub file_len: u64,
    /// Where the index starts; it ends with the file.
    pub index_offset: u64,
    /// Its length in bytes.
    pub index_len: u64,
    /// The checksum of the index.
    pub index_checksum: u64,
    /// The checksum of the first [`HEADER_CHECKED`] bytes.
    pub checksum: u64,
}

impl Header {
    /// Checks the first bytes of a file that is `file_len` bytes long.
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
        if record.file_len != file_len {
            return Err(Error::Mismatch {
                at: 16,
                field: "file_len",
                found: record.file_len,
                expected: file_len,
            });
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

/// A material, with the numbers of the bitmaps it uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Colour and opacity.
    pub color: u32,
    /// Normals in tangent space.
    pub normal: Option<u32>,
    /// Emitted colour.
    pub emissive: Option<u32>,
    /// Metal, roughness, height and transmission in one.
    pub params: Option<u32>,
    /// Which channels of `params` were asked for: metal 1, rough 2, height 4, transmission 8.
    pub params_used: u8,
    /// Double-sided 1, alpha-tested 2.
    pub flags: u8,
    /// The least alpha that passes the test.
    pub alpha_cutoff: f32,
}

/// The flag of a material that is seen from both sides.
pub const DOUBLE_SIDED: u8 = 1;
/// The flag of a material whose texels are there or not.
pub const ALPHA_TEST: u8 = 2;

/// Arrays of a payload, one after another, each where it is aligned.
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
