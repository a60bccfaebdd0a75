//! The container of tagged chunks of `.hmesh`, `.hscn` and `.hmatx`: a header, a chunk table, and payloads at 16-byte
//! boundaries.
//!
//! Rejects more chunks than any file needs, and payloads that are misaligned or out of bounds. Payloads may
//! come in any order, and the meaning of a tag is left to the format. [`Chunks::check_layout`] also rejects
//! overlaps, gaps and trailing bytes.

use core::mem::offset_of;

use crate::Error;
use crate::bytes::{Reader, align, record, slice, zeroed};

/// Alignment of every payload in bytes, so that a memory-mapped file can be used in place.
pub(crate) const ALIGNMENT: u64 = 16;

/// Upper bound on the number of chunks. It is more than any file needs and lets the chunk table be sorted
/// without allocating.
const MAX_CHUNKS: usize = 256;

/// Declares the chunk tags of a format.
macro_rules! chunk_ids {
    ($($(#[$doc:meta])* $id:ident $name:literal,)*) => {
        /// The known chunks, in the order in which they are written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ChunkId {
            $($(#[$doc])* $id,)*
        }

        impl ChunkId {
            /// All known chunks, in the order in which they are written.
            pub const ALL: [ChunkId; [$($name),*].len()] = [$(ChunkId::$id),*];

            /// Returns the tag as a string.
            pub const fn name(self) -> &'static str {
                [$($name),*][self as usize]
            }

            /// Returns the tag as stored in a file.
            pub const fn fourcc(self) -> [u8; 4] {
                [$(*$name.as_bytes().first_chunk().unwrap()),*][self as usize]
            }

            /// Returns the name of the chunk's size in error messages.
            pub(crate) const fn size_name(self) -> &'static str {
                [$(concat!("size of ", $name)),*][self as usize]
            }
        }
    };
}
pub(crate) use chunk_ids;

record! {
    /// The file header; the chunk table follows it.
    struct Header {
        magic: [u8; 4],
        version: u32,
        chunk_count: u32,
        flags: u32,
        reserved1: u64,
        reserved2: u64,
    }
}

record! {
    /// A row of the chunk table.
    struct ChunkEntry {
        fourcc: [u8; 4],
        flags: u32,
        offset: u64,
        size: u64,
    }
}

/// One chunk of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    /// The byte offset of its row in the chunk table.
    pub(crate) entry_at: u64,
    /// The tag of the chunk.
    pub(crate) fourcc: [u8; 4],
    /// Zero, or the codec of an encoded chunk.
    pub(crate) flags: u32,
    /// The byte offset of the payload.
    pub(crate) at: u64,
    /// The bytes of the payload.
    pub(crate) bytes: &'a [u8],
}

impl Chunk<'_> {
    /// Returns the byte offset of the end of the payload.
    pub(crate) fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }
}

/// A file with a checked header and chunk table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks<'a> {
    bytes: &'a [u8],
    count: usize,
}

/// The identity of one chunk-based format: extension, magic and version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) format: &'static str,
    pub(crate) magic: [u8; 4],
    pub(crate) version: u32,
    /// The version as a string, for error messages.
    pub(crate) version_text: &'static str,
}

impl<'a> Chunks<'a> {
    /// Checks the header and the chunk table.
    pub(crate) fn read(bytes: &'a [u8], kind: Kind) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let header = Header::read(&mut reader)?;
        if header.magic != kind.magic {
            return Err(Error::Magic { found: header.magic, format: kind.format });
        }
        let bad = |at: usize, field, found, expected| Error::Value { at: at as u64, field, found, expected };
        if header.version != kind.version {
            let at = offset_of!(Header, version);
            return Err(bad(at, "version", header.version.into(), kind.version_text));
        }
        header.must_equal(Header { flags: 0, reserved1: 0, reserved2: 0, ..header }, 0)?;
        let count = header.chunk_count as usize;
        if count > MAX_CHUNKS {
            let at = offset_of!(Header, chunk_count);
            return Err(bad(at, "chunk_count", count as u64, "at most 256"));
        }
        reader.take((count * ChunkEntry::SIZE) as u64, "chunk table")?;
        let payloads_at = reader.at();
        for i in 0..count {
            let at = Header::SIZE + i * ChunkEntry::SIZE;
            let entry = ChunkEntry::read(&mut Reader::starting(bytes, at))?;
            let (start, size, len) = (entry.offset, entry.size, bytes.len() as u64);
            if start % ALIGNMENT != 0 {
                let at = at + offset_of!(ChunkEntry, offset);
                return Err(bad(at, "offset", start, "a multiple of 16"));
            }
            if start < payloads_at || slice(bytes, start, size).is_none() {
                return Err(Error::Range { at: at as u64, field: "payload", start, size, len });
            }
        }
        Ok(Chunks { bytes, count })
    }

    /// Returns the chunks in table order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Chunk<'a>> + use<'a> {
        let (bytes, count) = (self.bytes, self.count);
        (0..count).filter_map(move |i| chunk(bytes, i))
    }

    /// Rejects payloads that do not start at the first aligned offset after the preceding one (in any table
    /// order), padding bytes that are not zero, and trailing bytes.
    pub(crate) fn check_layout(&self) -> Result<(), Error> {
        let none = Chunk { entry_at: 0, fourcc: [0; 4], flags: 0, at: 0, bytes: &[] };
        let mut sorted = [none; MAX_CHUNKS];
        sorted.iter_mut().zip(self.iter()).for_each(|(place, chunk)| *place = chunk);
        let sorted = sorted.get_mut(..self.count).unwrap_or_default();
        sorted.sort_unstable_by_key(|chunk| (chunk.at, chunk.end()));
        let mut end = (Header::SIZE + self.count * ChunkEntry::SIZE) as u64;
        for chunk in sorted {
            let place = align(end, ALIGNMENT).unwrap_or(u64::MAX);
            if chunk.at != place {
                let at = chunk.entry_at + offset_of!(ChunkEntry, offset) as u64;
                return Err(Error::Mismatch { at, field: "offset", found: chunk.at, expected: place });
            }
            zeroed(self.bytes, end, chunk.at)?;
            end = chunk.end();
        }
        match self.bytes.len() as u64 - end {
            0 => Ok(()),
            extra => Err(Error::Trailing { at: end, extra }),
        }
    }
}

fn chunk(bytes: &[u8], index: usize) -> Option<Chunk<'_>> {
    let at = Header::SIZE + index * ChunkEntry::SIZE;
    let entry = ChunkEntry::read(&mut Reader::starting(bytes, at)).ok()?;
    Some(Chunk {
        entry_at: at as u64,
        fourcc: entry.fourcc,
        flags: entry.flags,
        at: entry.offset,
        bytes: slice(bytes, entry.offset, entry.size)?,
    })
}

/// Returns the byte offset of the field `size` of a chunk's table row.
pub(crate) fn size_at(chunk: &Chunk<'_>) -> u64 {
    chunk.entry_at + offset_of!(ChunkEntry, size) as u64
}

/// Returns the byte offset of the field `offset` of a chunk's table row.
pub(crate) fn offset_at(chunk: &Chunk<'_>) -> u64 {
    chunk.entry_at + offset_of!(ChunkEntry, offset) as u64
}

/// Returns the byte offset of the field `flags` of a chunk's table row.
pub(crate) fn flags_at(chunk: &Chunk<'_>) -> u64 {
    chunk.entry_at + offset_of!(ChunkEntry, flags) as u64
}

/// The layouts of the header and of the chunk table.
#[cfg(feature = "tools")]
pub(crate) const LAYOUTS: [crate::Layout; 2] = [Header::LAYOUT, ChunkEntry::LAYOUT];

/// Encodes a file of these chunks in this order. A payload is a list of slices that are concatenated.
#[cfg(feature = "tools")]
pub(crate) fn write(kind: Kind, chunks: &[([u8; 4], &[&[u8]])]) -> Result<alloc::vec::Vec<u8>, Error> {
    let chunks: alloc::vec::Vec<_> = chunks.iter().map(|&(fourcc, pieces)| (fourcc, 0, pieces)).collect();
    write_with_flags(kind, &chunks)
}

/// A chunk to be written: its tag, its flags, and the slices that are concatenated to its payload.
#[cfg(feature = "tools")]
pub(crate) type WrittenChunk<'a> = ([u8; 4], u32, &'a [&'a [u8]]);

/// Encodes a file of these chunks, with the flags of each.
#[cfg(feature = "tools")]
pub(crate) fn write_with_flags(
    kind: Kind,
    chunks: &[WrittenChunk<'_>],
) -> Result<alloc::vec::Vec<u8>, Error> {
    if chunks.len() > MAX_CHUNKS {
        let (found, max) = (chunks.len() as u64, MAX_CHUNKS as u64);
        return Err(Error::TooLarge { field: "chunk_count", found, max });
    }
    let size = |pieces: &[&[u8]]| pieces.iter().map(|piece| piece.len()).sum::<usize>();
    // These are slices in memory, so the sum of their lengths cannot overflow.
    let place = |end: usize| end.next_multiple_of(ALIGNMENT as usize);
    let table_end = Header::SIZE + chunks.len() * ChunkEntry::SIZE;
    let len = chunks.iter().fold(table_end, |end, (_, _, pieces)| place(end) + size(pieces));
    let mut out = alloc::vec::Vec::with_capacity(len);
    let chunk_count = chunks.len() as u32;
    Header { magic: kind.magic, version: kind.version, chunk_count, flags: 0, reserved1: 0, reserved2: 0 }
        .put(&mut out);
    let mut end = table_end;
    for &(fourcc, flags, pieces) in chunks {
        let offset = place(end);
        end = offset + size(pieces);
        ChunkEntry { fourcc, flags, offset: offset as u64, size: size(pieces) as u64 }.put(&mut out);
    }
    for (_, _, pieces) in chunks {
        out.resize(place(out.len()), 0);
        pieces.iter().for_each(|piece| out.extend_from_slice(piece));
    }
    Ok(out)
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    const KIND: Kind = Kind { format: "test", magic: *b"TEST", version: 7, version_text: "7" };

    fn check(bytes: &[u8]) -> Result<(), Error> {
        Chunks::read(bytes, KIND)?.check_layout()
    }

    fn sample() -> Vec<u8> {
        write(KIND, &[(*b"AAAA", &[b"1", b"23"]), (*b"NONE", &[]), (*b"BBBB", &[b"4567"])]).unwrap()
    }

    #[test]
    fn encodes_documented_bytes() {
        let mut expected = b"TEST\x07\0\0\0\x03\0\0\0\0\0\0\0".to_vec();
        expected.resize(32, 0);
        for (name, offset, size) in [(b"AAAA", 112u64, 3u64), (b"NONE", 128, 0), (b"BBBB", 128, 4)] {
            expected.extend_from_slice(name);
            expected.extend_from_slice(&[0; 4]);
            expected.extend_from_slice(&offset.to_le_bytes());
            expected.extend_from_slice(&size.to_le_bytes());
        }
        expected.resize(112, 0);
        expected.extend_from_slice(b"123");
        expected.resize(128, 0);
        expected.extend_from_slice(b"4567");
        assert_eq!(sample(), expected);
        check(&expected).unwrap();
        let read: Vec<_> =
            Chunks::read(&expected, KIND).unwrap().iter().map(|c| (c.fourcc, c.bytes)).collect();
        assert_eq!(read, [(*b"AAAA", &b"123"[..]), (*b"NONE", b""), (*b"BBBB", b"4567")]);
    }

    #[test]
    fn accepts_payloads_in_any_order() {
        let good = sample();
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let mut bytes = good.clone();
            for i in 0..24 {
                bytes.swap(32 + 24 * a + i, 32 + 24 * b + i);
            }
            check(&bytes).unwrap();
        }
    }

    #[test]
    fn rejects_invalid_fields() {
        let good = sample();
        let broken = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            check(&bytes).unwrap_err()
        };
        assert_eq!(broken(0, b'B'), Error::Magic { found: *b"BEST", format: "test" });
        assert_eq!(broken(4, 8), Error::Value { at: 4, field: "version", found: 8, expected: "7" });
        for (at, field) in [(12, "flags"), (16, "reserved1"), (24, "reserved2")] {
            assert_eq!(broken(at, 1), Error::Mismatch { at: at as u64, field, found: 1, expected: 0 });
        }
        assert!(matches!(broken(9, 2), Error::Value { field: "chunk_count", found: 515, .. }));
        assert!(matches!(broken(8, 40), Error::Truncated { field: "chunk table", .. }));
        assert!(matches!(broken(40, 113), Error::Value { at: 40, field: "offset", found: 113, .. }));
        assert!(matches!(broken(40, 96), Error::Range { field: "payload", start: 96, .. }));
        assert!(matches!(broken(47, 0x80), Error::Range { .. }));
        assert!(matches!(broken(55, 0x80), Error::Range { .. }));
        assert!(matches!(broken(40, 128), Error::Mismatch { field: "offset", expected: 112, .. }), "a gap");
        assert!(
            matches!(broken(48, 17), Error::Mismatch { field: "offset", expected: 144, .. }),
            "an overlap"
        );
        assert_eq!(broken(120, 9), Error::Value { at: 120, field: "padding", found: 9, expected: "0" });
        assert_eq!(broken(96, 0), Error::Trailing { at: 128, extra: 4 });
    }

    #[test]
    fn chunk_count_is_limited() {
        check(&write(KIND, &[]).unwrap()).unwrap();
        let payload = [&b"x"[..]];
        let many = vec![(*b"MANY", &payload[..]); 256];
        check(&write(KIND, &many).unwrap()).unwrap();
        let more = vec![(*b"MANY", &[][..]); 257];
        assert_eq!(write(KIND, &more), Err(Error::TooLarge { field: "chunk_count", found: 257, max: 256 }));
    }

    #[test]
    fn trailing_empty_chunk_is_aligned() {
        let bytes = write(KIND, &[(*b"AAAA", &[b"1"]), (*b"NONE", &[])]).unwrap();
        assert_eq!(bytes.len(), 96);
        check(&bytes).unwrap();
    }
}
