//! `.ktx2`: textures in the KTX 2.0 container, the subset that Kiln writes.
//!
//! Implements `docs/reference/formats/ktx2.md`. Reads 2D textures, arrays, cubemaps and 3D textures in UASTC, BC1, BC3
//! to BC7, ASTC 4x4, ETC2, EAC, RGBA8, R16, RG16, RGBA16 or RGBA16F, with or without Zstd supercompression. Rejects
//! other formats, and any file with a level index, descriptor, metadata or mip levels that differ from what the header implies.

mod dfd;
mod kvd;
mod shape;
#[cfg(feature = "tools")]
mod write;

use core::mem::offset_of;

pub use self::kvd::KeyValues;
pub use self::shape::{Channels, Payload, Shape, Supercompression, Transfer};
#[cfg(feature = "tools")]
pub use self::write::{Desc, write};

use crate::bytes::{Reader, align, record, slice, zeroed};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, error::Count, refs};

/// The KTX 2.0 identifier: the first twelve bytes of the file.
pub const IDENTIFIER: [u8; 12] = *b"\xabKTX 20\xbb\r\n\x1a\n";

record! {
    /// The file header. The level index follows it.
    struct Header {
        identifier: [u8; 12],
        vk_format: u32,
        type_size: u32,
        pixel_width: u32,
        pixel_height: u32,
        pixel_depth: u32,
        layer_count: u32,
        face_count: u32,
        level_count: u32,
        supercompression_scheme: u32,
        dfd_byte_offset: u32,
        dfd_byte_length: u32,
        kvd_byte_offset: u32,
        kvd_byte_length: u32,
        sgd_byte_offset: u64,
        sgd_byte_length: u64,
    }
}

record! {
    /// An entry of the level index. The index lists the largest mip level first, the file stores the smallest
    /// first.
    struct LevelIndex {
        byte_offset: u64,
        byte_length: u64,
        uncompressed_byte_length: u64,
    }
}

/// One mip level of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level<'a> {
    /// Width, height and depth in texels, each at least one.
    pub dims: [u32; 3],
    /// The byte offset of the mip level in the file.
    pub offset: u64,
    /// The bytes as stored: one Zstandard frame if the texture is supercompressed. Uncompressed data is
    /// ordered by layer, face, slice and row.
    pub bytes: &'a [u8],
    /// The uncompressed length in bytes; equal to the length of `bytes` without supercompression.
    pub uncompressed_len: u64,
}

/// A texture with a checked header, descriptor, metadata and level index.
#[derive(Clone, Copy, Debug)]
pub struct Ktx2View<'a> {
    bytes: &'a [u8],
    key_values: &'a [u8],
    shape: Shape,
    level_count: u32,
    payload: Payload,
    transfer: Transfer,
    premultiplied: bool,
    supercompression: Supercompression,
    levels_at: u64,
}

/// Reads the transfer function from the start of a file: header, level index and data format descriptor
/// suffice.
///
/// # Errors
///
/// [`Error`] if the header or the descriptor is truncated or invalid.
#[cfg(feature = "tools")]
pub fn transfer(head: &[u8]) -> Result<Transfer, Error> {
    let header = read_header(&mut Reader::new(head))?;
    let found = Supercompression::ALL.into_iter().find(|s| s.scheme() == header.supercompression_scheme);
    let mut reader = Reader::starting(head, header.dfd_byte_offset as usize);
    let descriptor = dfd::read(&mut reader, header.vk_format, found.unwrap_or(Supercompression::None))?;
    Ok(descriptor.transfer)
}

/// Returns the length of everything before the mip levels, which [`Ktx2View::read_prefix`] needs: header, level index,
/// descriptor and metadata.
///
/// # Errors
///
/// [`Error`] if the header is truncated or invalid.
pub fn head_len(prefix: &[u8]) -> Result<u64, Error> {
    let header = read_header(&mut Reader::new(prefix))?;
    read_shape(&header)?;
    let sections = u64::from(header.dfd_byte_length) + u64::from(header.kvd_byte_length);
    Ok(level_index_at(header.level_count) as u64 + sections)
}

impl<'a> Ktx2View<'a> {
    /// Checks header, descriptor, metadata and level index. The contents of mip levels are left to
    /// [`verify`](Format::verify).
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is not one that Kiln could have written.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let view = Self::read_prefix(bytes)?;
        let (end, len) = (view.level_end(0).unwrap_or(0), bytes.len() as u64);
        if end <= len {
            return Ok(view);
        }
        // The mip level at which the file ends; smaller ones are before it.
        let missing = (0..view.level_count).rev().find(|&level| view.level_end(level) > Some(len));
        let at = level_index_at(missing.unwrap_or(0));
        let index = LevelIndex::read(&mut Reader::starting(bytes, at))?;
        let (start, size) = (index.byte_offset, index.byte_length);
        Err(Error::Range { at: at as u64, field: "level", start, size, len })
    }

    /// Reads the first bytes of a file, at least [`head_len`] of them, with the checks of [`read`](Self::read).
    /// [`level`](Self::level) returns the mip levels that the prefix has whole. Mip levels are stored smallest first, so
    /// that every prefix has the smallest ones.
    ///
    /// # Errors
    ///
    /// [`Error`] if the bytes are not the start of a file that Kiln could have written.
    pub fn read_prefix(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let header = read_header(&mut reader)?;
        let level_count = header.level_count;
        let shape = read_shape(&header)?;
        let supercompression =
            Supercompression::ALL.into_iter().find(|s| s.scheme() == header.supercompression_scheme);
        let supercompression = supercompression.ok_or(bad(
            offset_of!(Header, supercompression_scheme),
            "supercompression_scheme",
            header.supercompression_scheme.into(),
            "0 (none) or 2 (Zstandard)",
        ))?;

        // The sections are contiguous, so each offset has exactly one valid value.
        reader.take(u64::from(level_count) * LevelIndex::SIZE as u64, "level index")?;
        let dfd_at = reader.at();
        header.must_equal(Header { dfd_byte_offset: dfd_at as u32, ..header }, 0)?;
        let descriptor = dfd::read(&mut reader, header.vk_format, supercompression)?;
        let kvd_at = reader.at();
        let payload = descriptor.payload;
        let expected = Header {
            type_size: payload.type_size(),
            dfd_byte_length: (kvd_at - dfd_at) as u32,
            kvd_byte_offset: if header.kvd_byte_length == 0 { 0 } else { kvd_at as u32 },
            sgd_byte_offset: 0,
            sgd_byte_length: 0,
            ..header
        };
        header.must_equal(expected, 0)?;
        let key_values = reader.take(header.kvd_byte_length.into(), "key/value data")?;
        kvd::check(key_values, kvd_at)?;
        if shape.depth > 0 && payload.block_side() > 1 {
            let depth = shape.depth.into();
            return Err(bad(
                offset_of!(Header, pixel_depth),
                "pixel_depth",
                depth,
                "0 for block-compressed formats",
            ));
        }
        let view = Ktx2View {
            bytes,
            key_values,
            shape,
            level_count,
            payload,
            transfer: descriptor.transfer,
            premultiplied: descriptor.premultiplied,
            supercompression,
            levels_at: reader.at(),
        };
        view.check_index()?;
        Ok(view)
    }

    /// Checks that mip levels are stored smallest first, each at the next aligned offset, and that nothing follows the
    /// largest.
    fn check_index(&self) -> Result<(), Error> {
        let len = self.bytes.len() as u64;
        let mut end = self.levels_at;
        for level in (0..self.level_count).rev() {
            let at = level_index_at(level);
            let index = LevelIndex::read(&mut Reader::starting(self.bytes, at))?;
            let (offset, size) = (index.byte_offset, index.byte_length);
            let needed = self.payload.level_len(&self.shape, level).ok_or(bad(
                at + offset_of!(LevelIndex, uncompressed_byte_length),
                "uncompressed_byte_length",
                index.uncompressed_byte_length,
                "a size below 2^64",
            ))?;
            let expected = LevelIndex {
                byte_offset: align(end, self.alignment()).unwrap_or(u64::MAX),
                byte_length: if self.supercompression == Supercompression::None { needed } else { size },
                uncompressed_byte_length: needed,
            };
            index.must_equal(expected, at as u64)?;
            let outside = Error::Range { at: at as u64, field: "level", start: offset, size, len };
            end = offset.checked_add(size).ok_or(outside)?;
        }
        match len.saturating_sub(end) {
            0 => Ok(()),
            extra => Err(Error::Trailing { at: end, extra }),
        }
    }

    /// Returns the dimensions, layers and faces.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the number of mip levels, at least one.
    pub fn level_count(&self) -> u32 {
        self.level_count
    }

    /// Returns the texel format.
    pub fn payload(&self) -> Payload {
        self.payload
    }

    /// Returns the `VkFormat` to create the image with; 0 for UASTC, which is transcoded first.
    pub fn vk_format(&self) -> u32 {
        self.payload.vk_format(self.transfer)
    }

    /// Returns the transfer function of the colour channels; alpha is always linear.
    pub fn transfer(&self) -> Transfer {
        self.transfer
    }

    /// Returns whether the texture has premultiplied alpha.
    pub fn premultiplied(&self) -> bool {
        self.premultiplied
    }

    /// Returns the supercompression scheme.
    pub fn supercompression(&self) -> Supercompression {
        self.supercompression
    }

    /// Returns the byte offset of the end of a mip level: a prefix of this length has that mip level and all smaller
    /// ones. `None` if there is no such mip level.
    pub fn level_end(&self, level: u32) -> Option<u64> {
        if level >= self.level_count {
            return None;
        }
        let index = LevelIndex::read(&mut Reader::starting(self.bytes, level_index_at(level))).ok()?;
        index.byte_offset.checked_add(index.byte_length)
    }

    /// Returns a mip level, 0 being the largest; `None` if there is no such mip level, or if the file is a prefix that
    /// does not have it.
    pub fn level(&self, level: u32) -> Option<Level<'a>> {
        if level >= self.level_count {
            return None;
        }
        let index = LevelIndex::read(&mut Reader::starting(self.bytes, level_index_at(level))).ok()?;
        Some(Level {
            dims: self.shape.level_dims(level),
            offset: index.byte_offset,
            bytes: slice(self.bytes, index.byte_offset, index.byte_length)?,
            uncompressed_len: index.uncompressed_byte_length,
        })
    }

    /// Returns the mip levels, largest first.
    pub fn levels(&self) -> impl DoubleEndedIterator<Item = Level<'a>> + use<'a> {
        let view = *self;
        (0..self.level_count).filter_map(move |level| view.level(level))
    }

    /// Returns the metadata by ascending key.
    pub fn key_values(&self) -> KeyValues<'a> {
        KeyValues::new(self.key_values)
    }

    /// Returns the metadata value of `key`.
    pub fn value(&self, key: &str) -> Option<&'a [u8]> {
        self.key_values().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// Returns the number of texels in all mip levels, layers and faces.
    pub fn texels(&self) -> u64 {
        let level = |level| self.shape.level_texels(level).unwrap_or(u64::MAX);
        (0..self.level_count).map(level).fold(0, u64::saturating_add)
    }

    fn alignment(&self) -> u64 {
        self.payload.alignment(self.supercompression)
    }
}

fn level_index_at(level: u32) -> usize {
    Header::SIZE + level as usize * LevelIndex::SIZE
}

fn bad(at: usize, field: &'static str, found: u64, expected: &'static str) -> Error {
    Error::Value { at: at as u64, field, found, expected }
}

fn read_header(reader: &mut Reader<'_>) -> Result<Header, Error> {
    let header = Header::read(reader)?;
    let [a, b, c, d, rest @ ..] = header.identifier;
    if [a, b, c, d] != IDENTIFIER[..4] {
        return Err(Error::Magic { found: [a, b, c, d], format: "ktx2" });
    }
    if rest != IDENTIFIER[4..] {
        let found = u64::from_be_bytes(rest);
        return Err(bad(4, "identifier", found, "the identifier of KTX 2.0"));
    }
    Ok(header)
}

fn read_shape(header: &Header) -> Result<Shape, Error> {
    let shape = Shape {
        width: header.pixel_width,
        height: header.pixel_height,
        depth: header.pixel_depth,
        layer_count: header.layer_count,
        face_count: header.face_count,
    };
    let reject = |at, field, found: u32, expected| Err(bad(at, field, found.into(), expected));
    if shape.width == 0 {
        return reject(offset_of!(Header, pixel_width), "pixel_width", 0, "at least 1");
    }
    if shape.height == 0 {
        return reject(offset_of!(Header, pixel_height), "pixel_height", 0, "at least 1");
    }
    match shape.face_count {
        1 => {}
        6 if shape.height != shape.width => {
            let at = offset_of!(Header, pixel_height);
            return reject(at, "pixel_height", shape.height, "equal to the width of a cubemap");
        }
        6 if shape.depth != 0 => {
            return reject(offset_of!(Header, pixel_depth), "pixel_depth", shape.depth, "0 for a cubemap");
        }
        6 => {}
        found => return reject(offset_of!(Header, face_count), "face_count", found, "1 or 6"),
    }
    if shape.depth != 0 && shape.layer_count != 0 {
        return reject(
            offset_of!(Header, layer_count),
            "layer_count",
            shape.layer_count,
            "0 for a 3D texture",
        );
    }
    let levels = header.level_count;
    if levels == 0 || levels > shape.max_levels() {
        let expected = "at least 1 and at most the length of a full mip chain";
        return reject(offset_of!(Header, level_count), "level_count", levels, expected);
    }
    Ok(shape)
}

format_entry!(
    Ktx2,
    FormatId {
        name: "ktx2",
        magic: &IDENTIFIER,
        title: "textures",
        noun: "texture",
        kind: PackKind::Texture
    }
);

impl Format for Ktx2 {
    /// Checks more than [`Ktx2View::read`]: padding is zero, and each supercompressed mip level is one
    /// Zstandard frame of the right content size that ends where the mip level does.
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        let view = Ktx2View::read(bytes)?;
        let mut end = view.levels_at;
        for level in view.levels().rev() {
            zeroed(bytes, end, level.offset)?;
            end = level.offset + level.bytes.len() as u64;
            if view.supercompression == Supercompression::Zstd {
                crate::zstd_frame::check(level.bytes, level.offset, level.uncompressed_len)?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn zstd_frames(&self, bytes: &[u8], each: &mut dyn FnMut(crate::ZstdFrame<'_>)) -> Result<(), Error> {
        let view = Ktx2View::read(bytes)?;
        for Level { offset, bytes, uncompressed_len: content_len, .. } in view.levels() {
            if view.supercompression == Supercompression::Zstd {
                each(crate::ZstdFrame { offset, bytes, content_len });
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = Ktx2View::read(bytes)?;
        let shape = view.shape;
        write!(out, "{}x{}", shape.width, shape.height)?;
        if shape.depth > 0 {
            write!(out, "x{}", shape.depth)?;
        }
        write!(
            out,
            " | {} | {} | {} | {}, {} | supercompression: {}",
            shape.name(),
            view.payload.name(view.transfer),
            Count(view.level_count.into(), "mip level", "mip levels"),
            Count(shape.face_count.into(), "face", "faces"),
            Count(shape.layer_count.max(1).into(), "layer", "layers"),
            view.supercompression.name(),
        )?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = Ktx2View::read(bytes)?;
        let shape = view.shape;
        each("type", Fact::Text(shape.name()));
        each("width", Fact::Number(shape.width.into()));
        each("height", Fact::Number(shape.height.into()));
        each("depth", Fact::Number(shape.depth.into()));
        each("layers", Fact::Number(shape.layer_count.max(1).into()));
        each("faces", Fact::Number(shape.face_count.into()));
        each("mips", Fact::Number(view.level_count.into()));
        each("format", Fact::Text(view.payload.name(view.transfer)));
        // UASTC has no `VkFormat`: the transcoder chooses it for the GPU.
        if view.vk_format() != 0 {
            each("vk_format", Fact::Number(view.vk_format().into()));
        }
        each("channels", Fact::Text(view.payload.channels().name()));
        each("transfer", Fact::Text(view.transfer.name()));
        each("supercompression", Fact::Text(view.supercompression.name()));
        let inflated = view.levels().map(|level| level.uncompressed_len).fold(0, u64::saturating_add);
        each("uncompressed_bytes", Fact::Number(inflated));
        each("texels", Fact::Total(view.texels()));
        // UASTC is transcoded to BC7 or ASTC 4x4, whose blocks have the same size.
        each(crate::GPU_BYTES, Fact::Total(inflated));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = Ktx2View::read(bytes)?;
        writeln!(out, "ktx2 {} {}", view.shape.name(), view.payload.name(view.transfer))?;
        let Shape { width, height, depth, layer_count, face_count } = view.shape;
        writeln!(
            out,
            "size {width}x{height}x{depth}, {}, {}",
            Count(layer_count.into(), "layer", "layers"),
            Count(face_count.into(), "face", "faces")
        )?;
        writeln!(out, "channels {}", view.payload.channels().name())?;
        writeln!(out, "transfer {}", view.transfer.name())?;
        writeln!(out, "alpha {}", if view.premultiplied { "premultiplied" } else { "straight" })?;
        writeln!(out, "supercompression {}", view.supercompression.name())?;
        for (key, value) in view.key_values() {
            writeln!(out, "{key} \"{}\"", value.escape_ascii())?;
        }
        for (i, Level { dims: [w, h, d], offset, bytes, uncompressed_len }) in view.levels().enumerate() {
            let (len, hash) = (bytes.len(), refs::fnv1a_64(bytes));
            writeln!(
                out,
                "level {i} {w}x{h}x{d} {len} B @{offset}, {uncompressed_len} B inflated, fnv {hash:016x}"
            )?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT, LevelIndex::LAYOUT, dfd::Descriptor::LAYOUT, dfd::Sample::LAYOUT]
    }
}
