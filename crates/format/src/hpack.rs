//! `.hpack`: all runtime files in one file, with a table of contents sorted by path.
//!
//! Implements `docs/reference/formats/hpack.md`. Rejects a table of contents with trailing bytes, paths out of order or
//! that could escape the runtime root, kinds that do not match the path, and payloads at any offset other
//! than the one that order, sizes and alignment determine, unless they are inside the payloads before them: entries
//! with identical content share one payload. So there are no gaps and no trailing bytes.
//!
//! Version 2 stores every file as it is, and [`HpackView`] reads it in place. In version 3, which a build writes with
//! `pack_compress: zstd`, a payload may be a Zstandard frame: [`Toc`] and [`CompressedHpackView`] read both versions.

mod compressed;
mod inspect;
mod kind;
#[cfg(feature = "tools")]
mod write;

use core::mem::offset_of;

pub use self::compressed::{CompressedHpackView, MAX_RATIO, Payload, UNLIMITED_CONTENT, is_accepted_size};
pub use self::inspect::HPack;
pub use self::kind::PackKind;
#[cfg(feature = "tools")]
pub use self::write::{FileToPack, PackLayout, PlacedFile, write, write_compressed};

#[cfg(feature = "tools")]
use crate::Lookup;
use crate::bytes::{Reader, align, record, slice};
use crate::{Error, paths};
#[cfg(feature = "tools")]
use alloc::{borrow::Cow, collections::BTreeSet, vec::Vec};

/// The magic number of packs.
pub const MAGIC: [u8; 4] = *b"HPAK";
/// The version of packs that store every file as it is.
pub const VERSION: u32 = 2;
/// The version of packs with compressed files.
pub const COMPRESSED_VERSION: u32 = 3;
/// Alignment of every payload in bytes, so that a memory-mapped pack can be used in place.
pub const ALIGNMENT: u64 = 16;

record! {
    /// The file header; the table of contents follows it.
    struct Header {
        magic: [u8; 4],
        version: u32,
        count: u32,
        flags: u32,
        toc_bytes: u64,
    }
}

/// Size of the header in bytes, as [`head_len`] needs it.
pub const HEADER_LEN: usize = Header::SIZE;

record! {
    /// The fixed part of an entry of the table of contents; the path follows it.
    struct Record {
        offset: u64,
        size: u64,
        kind: u8,
        path_len: u16,
    }
}

record! {
    /// The fixed part of an entry of version 3; the path follows it.
    struct CompressedRecord {
        offset: u64,
        size: u64,
        content_size: u64,
        kind: u8,
        path_len: u16,
    }
}

/// Returns whether a pack excludes this file of the output directory: the build's own state, and other packs.
pub fn excludes(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == ".assetc-cache" || name.ends_with(".hpack")
}

/// One entry of a table of contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackEntry<'a> {
    /// The byte offset of the payload in the pack.
    pub offset: u64,
    /// The length of the payload in bytes.
    pub size: u64,
    /// The length of the file in bytes; greater than `size` if the payload is a Zstandard frame.
    pub content_size: u64,
    /// The kind of the file, by its extension.
    pub kind: PackKind,
    /// The path of the file, relative to the output root.
    pub path: &'a str,
}

impl PackEntry<'_> {
    /// Returns whether the payload is a Zstandard frame.
    pub fn is_compressed(&self) -> bool {
        self.size != self.content_size
    }
}

/// Returns the length in bytes of header and table of contents: the prefix to read before [`Toc::read`].
/// `first` holds at least the first 24 bytes.
///
/// # Errors
///
/// [`Error`] if the header is invalid, or if the table of contents does not fit in `file_len` bytes.
pub fn head_len(first: &[u8], file_len: u64) -> Result<u64, Error> {
    let header = read_header(&mut Reader::new(first))?;
    let toc_bytes = header.toc_bytes;
    let end = (Header::SIZE as u64).checked_add(toc_bytes).filter(|&end| end <= file_len);
    end.ok_or(Error::Range {
        at: offset_of!(Header, toc_bytes) as u64,
        field: "table of contents",
        start: Header::SIZE as u64,
        size: toc_bytes,
        len: file_len,
    })
}

/// A checked table of contents: all entries are valid.
#[derive(Clone, Copy, Debug)]
pub struct Toc<'a> {
    head: &'a [u8],
    version: u32,
    count: u32,
}

impl<'a> Toc<'a> {
    /// Checks the header and the table of contents of a pack of `file_len` bytes. `head` holds at least its
    /// first [`head_len`] bytes. Payloads are not read and need not be in memory.
    ///
    /// # Errors
    ///
    /// [`Error`] if the header or an entry is invalid.
    pub fn read(head: &'a [u8], file_len: u64) -> Result<Self, Error> {
        let head_len = head_len(head, file_len)?;
        let head = Reader::new(head).take(head_len, "table of contents")?;
        let mut reader = Reader::new(head);
        let Header { count, version, .. } = read_header(&mut reader)?;
        let mut last: Option<&str> = None;
        let mut end = head_len;
        for _ in 0..count {
            let at = reader.at();
            let entry = read_entry(&mut reader, version)?;
            if last.is_some_and(|last| last >= entry.path) {
                return Err(Error::Order { at, field: "path" });
            }
            last = Some(entry.path);

            let (offset, size) = (entry.offset, entry.size);
            let outside = Error::Range { at, field: "payload", start: offset, size, len: file_len };
            let place = align(end, ALIGNMENT).unwrap_or(u64::MAX);
            if offset != place {
                if !is_shared(&entry, head_len, end) {
                    return Err(Error::Mismatch { at, field: "offset", found: offset, expected: place });
                }
                continue;
            }
            end = offset.checked_add(size).filter(|&end| end <= file_len).ok_or(outside)?;
        }
        reader.finish()?;
        if end != file_len {
            return Err(Error::Trailing { at: end, extra: file_len - end });
        }
        Ok(Toc { head, version, count })
    }

    /// Returns the version of the format: 2, or 3 if files may be compressed.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the length in bytes of header and table of contents.
    pub fn head_len(&self) -> u64 {
        self.head.len() as u64
    }

    /// Returns the payloads in the order of the file, each once: those of entries that share the payload of an earlier
    /// entry are left out.
    pub fn payloads(&self) -> impl Iterator<Item = PackEntry<'a>> + use<'a> {
        let mut end = 0;
        self.entries().filter(move |entry| {
            let is_first = entry.offset >= end;
            end = end.max(entry.offset + entry.size);
            is_first
        })
    }

    /// Checks that every entry that shares a payload has the offset and size of exactly one earlier payload.
    /// [`read`](Toc::read), which has no memory for a set of payloads, checks the range only.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] with the offset of the first entry that starts or ends inside a payload.
    #[cfg(feature = "tools")]
    pub fn check_shared(&self) -> Result<(), Error> {
        let place = |entry: PackEntry<'_>| (entry.offset, entry.size, entry.content_size);
        let payloads: BTreeSet<(u64, u64, u64)> = self.payloads().map(place).collect();
        let mut at = Header::SIZE as u64;
        for entry in self.entries() {
            let PackEntry { offset, path, .. } = entry;
            if !payloads.contains(&place(entry)) {
                let expected = "the offset of an earlier payload of the same size";
                return Err(Error::Value { at, field: "offset", found: offset, expected });
            }
            at += (record_len(self.version) + path.len()) as u64;
        }
        Ok(())
    }

    /// Returns the entries by ascending path.
    pub fn entries(&self) -> PackEntries<'a> {
        let reader = Reader::starting(self.head, Header::SIZE);
        PackEntries { reader, version: self.version, left: self.count }
    }

    /// Looks up the entry of the file at `path`. PackEntries vary in length, so this is a linear search; for many
    /// lookups, build a map from [`entries`](Self::entries) once.
    pub fn find(&self, path: &str) -> Option<PackEntry<'a>> {
        self.entries().find(|entry| entry.path >= path).filter(|entry| entry.path == path)
    }
}

/// Iterator over the entries of a table of contents; see [`Toc::entries`].
#[derive(Clone, Debug)]
pub struct PackEntries<'a> {
    reader: Reader<'a>,
    version: u32,
    left: u32,
}

impl<'a> Iterator for PackEntries<'a> {
    type Item = PackEntry<'a>;

    fn next(&mut self) -> Option<PackEntry<'a>> {
        self.left = self.left.checked_sub(1)?;
        read_entry(&mut self.reader, self.version).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for PackEntries<'_> {}

/// A whole pack of version 2 in memory, read or memory-mapped: all files are used in place.
#[derive(Clone, Copy, Debug)]
pub struct HpackView<'a> {
    bytes: &'a [u8],
    toc: Toc<'a>,
}

impl<'a> HpackView<'a> {
    /// Checks the header and the table of contents. The padding between payloads is left to
    /// [`verify`](crate::Format::verify), which saves a memory-mapped pack one page fault per file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the header or an entry is invalid, or if the pack has compressed files: [`CompressedHpackView`] reads
    /// these.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        if let Header { version: version @ COMPRESSED_VERSION, .. } = read_header(&mut Reader::new(bytes))? {
            let (at, expected) = (offset_of!(Header, version) as u64, "2, because files are used in place");
            return Err(Error::Value { at, field: "version", found: version.into(), expected });
        }
        Ok(HpackView { bytes, toc: Toc::read(bytes, bytes.len() as u64)? })
    }

    /// Returns the table of contents.
    pub fn toc(&self) -> &Toc<'a> {
        &self.toc
    }

    /// Returns all files with their contents, by ascending path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (PackEntry<'a>, &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.toc.entries().map(move |e| (e, slice(bytes, e.offset, e.size).unwrap_or_default()))
    }

    /// Returns the contents of the file at `path`; a linear search, as in [`Toc::find`].
    pub fn get(&self, path: &str) -> Option<&'a [u8]> {
        let entry = self.toc.find(path)?;
        slice(self.bytes, entry.offset, entry.size)
    }

    /// Builds an index in which each lookup is a binary search.
    #[cfg(feature = "tools")]
    pub fn index(&self) -> PackIndex<'a> {
        PackIndex(self.files().map(|(entry, data)| (entry.path, data)).collect())
    }
}

/// An index of the files of a pack for many lookups; see [`HpackView::index`].
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
pub struct PackIndex<'a>(Vec<(&'a str, &'a [u8])>);

#[cfg(feature = "tools")]
impl<'a> PackIndex<'a> {
    /// Returns the contents of the file at `path`.
    pub fn get(&self, path: &str) -> Option<&'a [u8]> {
        let found = self.0.binary_search_by_key(&path, |file| file.0).ok()?;
        self.0.get(found).map(|file| file.1)
    }
}

#[cfg(feature = "tools")]
impl Lookup for PackIndex<'_> {
    fn size(&self, path: &str) -> Option<u64> {
        self.get(path).map(|data| data.len() as u64)
    }

    fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        self.get(path).map(Cow::Borrowed)
    }
}

/// Returns whether an entry is inside the payloads before it, which end at `end`.
fn is_shared(entry: &PackEntry<'_>, head_len: u64, end: u64) -> bool {
    let starts = entry.size > 0 && entry.offset.is_multiple_of(ALIGNMENT) && entry.offset >= head_len;
    starts && entry.offset.checked_add(entry.size).is_some_and(|last| last <= end)
}

fn read_header(reader: &mut Reader<'_>) -> Result<Header, Error> {
    let header = Header::read(reader)?;
    if header.magic != MAGIC {
        return Err(Error::Magic { found: header.magic, format: "hpack" });
    }
    let bad = |at: usize, field, found: u32, expected| {
        Err(Error::Value { at: at as u64, field, found: found.into(), expected })
    };
    if !matches!(header.version, VERSION | COMPRESSED_VERSION) {
        return bad(offset_of!(Header, version), "version", header.version, "2 or 3");
    }
    if header.flags != 0 {
        return bad(offset_of!(Header, flags), "flags", header.flags, "0");
    }
    Ok(header)
}

/// Returns the length in bytes of the fixed part of an entry.
#[cfg(feature = "tools")]
fn record_len(version: u32) -> usize {
    if version == COMPRESSED_VERSION { CompressedRecord::SIZE } else { Record::SIZE }
}

fn read_record(reader: &mut Reader<'_>, version: u32) -> Result<CompressedRecord, Error> {
    if version == COMPRESSED_VERSION {
        return CompressedRecord::read(reader);
    }
    let Record { offset, size, kind, path_len } = Record::read(reader)?;
    Ok(CompressedRecord { offset, size, content_size: size, kind, path_len })
}

fn read_entry<'a>(reader: &mut Reader<'a>, version: u32) -> Result<PackEntry<'a>, Error> {
    let at = reader.at();
    let record = read_record(reader, version)?;
    let path_at = reader.at();
    let path = reader.text(record.path_len.into(), "path")?;
    paths::check(path).map_err(|why| Error::Path { at: path_at, why })?;
    let kind = PackKind::from_path(path);
    if record.kind != kind as u8 {
        // The kind and the length of the path are the last three bytes.
        let at = path_at - 3;
        return Err(Error::Mismatch { at, field: "kind", found: record.kind.into(), expected: kind as u64 });
    }
    let CompressedRecord { offset, size, content_size, .. } = record;
    if !is_accepted_size(size, content_size) {
        let at = at + offset_of!(CompressedRecord, content_size) as u64;
        let expected = "the size of the payload, or more, but within the ratio of decompression";
        return Err(Error::Value { at, field: "content_size", found: content_size, expected });
    }
    Ok(PackEntry { offset, size, content_size, kind, path })
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use crate::Format;

    const FILES: [(&str, &[u8]); 4] =
        [("b/t.ktx2", b"texture"), ("a.txt", b""), ("assets.hman", &[7; 16]), ("z", b"!")];

    #[test]
    fn files_round_trip() {
        let bytes = write(&FILES).unwrap();
        HPack.verify(&bytes).unwrap();
        let view = HpackView::read(&bytes).unwrap();
        for (path, data) in FILES {
            assert_eq!(view.get(path), Some(data), "{path}");
            assert_eq!(view.index().size(path), Some(data.len() as u64));
            assert_eq!(view.index().bytes(path).as_deref(), Some(data));
        }
        assert_eq!(view.get("a"), None);
        assert_eq!(view.get("zz"), None);
        assert_eq!(view.index().get("a"), None);
        let listed: Vec<_> = view.files().map(|(e, _)| (e.path, e.kind)).collect();
        assert_eq!(
            listed,
            [
                ("a.txt", PackKind::Other),
                ("assets.hman", PackKind::Manifest),
                ("b/t.ktx2", PackKind::Texture),
                ("z", PackKind::Other)
            ]
        );
        assert!(view.files().all(|(e, _)| e.offset % ALIGNMENT == 0));
    }

    #[test]
    fn rejects_invalid_fields() {
        let good = write(&[("a.txt", b"1"), ("b.ktx2", b"22")]).unwrap();
        let broken = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            HPack.verify(&bytes).unwrap_err()
        };
        let first = 24;
        let second = first + 19 + 5;
        let head = second + 19 + 6;
        assert_eq!(broken(0, b'X'), Error::Magic { found: *b"XPAK", format: "hpack" });
        assert_eq!(broken(4, 1), Error::Value { at: 4, field: "version", found: 1, expected: "2 or 3" });
        assert_eq!(broken(12, 1), Error::Value { at: 12, field: "flags", found: 1, expected: "0" });
        assert!(matches!(broken(8, 1), Error::Trailing { .. }));
        assert!(matches!(broken(8, 3), Error::Truncated { .. }));
        assert!(matches!(broken(16, 0), Error::Truncated { .. }));
        assert!(matches!(broken(23, 1), Error::Range { field: "table of contents", .. }));
        assert_eq!(
            broken(first, 0x70),
            Error::Mismatch { at: 24, field: "offset", found: 0x70, expected: 0x50 }
        );
        assert!(matches!(broken(second + 8, 3), Error::Range { field: "payload", .. }));
        assert!(matches!(broken(second + 8, 1), Error::Trailing { extra: 1, .. }));
        assert!(matches!(broken(first + 16, 5), Error::Mismatch { field: "kind", .. }));
        assert_eq!(broken(first + 19, b'c'), Error::Order { at: second as u64, field: "path" });
        assert_eq!(
            broken(head, 9),
            Error::Value { at: head as u64, field: "padding", found: 9, expected: "0" }
        );
    }

    #[test]
    fn equal_contents_share_a_payload() {
        let files: [(&str, &[u8]); 5] =
            [("a", b"same"), ("b", b"other"), ("c.ktx2", b"same"), ("d", b""), ("e", b"")];
        let bytes = write(&files).unwrap();
        HPack.verify(&bytes).unwrap();
        let view = HpackView::read(&bytes).unwrap();
        for (path, data) in files {
            assert_eq!(view.get(path), Some(data), "{path}");
        }
        let offset = |path| view.toc().find(path).unwrap().offset;
        assert_eq!(offset("a"), offset("c.ktx2"));
        assert_eq!(view.toc().payloads().map(|e| e.path).collect::<Vec<_>>(), ["a", "b", "d", "e"]);
        assert_eq!(view.toc().payloads().map(|e| e.size).sum::<u64>(), 9);

        // A payload that is only a part of an earlier one is inside the file, but no build writes it.
        let record = 24 + 2 * 20;
        let mut part = bytes.clone();
        part[record + 8] = 3;
        assert!(HpackView::read(&part).is_ok());
        assert!(matches!(HPack.verify(&part), Err(Error::Value { field: "offset", .. })));
        // One that reaches beyond the payloads before it, or into the table of contents, is an error at once.
        for (at, value) in [(8, 40), (0, 0), (0, bytes[record] + 1)] {
            let mut outside = bytes.clone();
            outside[record + at] = value;
            assert!(HpackView::read(&outside).is_err(), "{at} {value}");
        }
    }

    #[test]
    fn excludes_build_state_and_packs() {
        assert!([".assetc-cache", "mobile/.assetc-cache", "a.hpack", "a/.hpack"].into_iter().all(excludes));
        assert!(!["assets.hman", ".assetc-cache2", "a.hpack.txt"].into_iter().any(excludes));
    }
}
