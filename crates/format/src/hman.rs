//! `.hman`: the manifest that maps hashes of asset references to paths of runtime files.
//!
//! Implements `docs/reference/formats/hman.md`. Rejects entries out of order, unknown kinds and colour spaces, paths
//! that could escape the runtime root, and bytes after the last entry. The writer also rejects hash
//! collisions, since neither path could be looked up.

mod inspect;

pub use self::inspect::HMan;

use core::mem::offset_of;

use crate::bytes::{Reader, record};
use crate::numbered::numbered;
use crate::{Error, paths};
#[cfg(feature = "tools")]
use alloc::{string::String, vec::Vec};

/// The magic number of manifests.
pub const MAGIC: [u8; 4] = *b"HMAN";
/// The only supported version.
pub const VERSION: u32 = 1;
/// The path of a build's manifest, relative to the runtime root.
pub const PATH: &str = "assets.hman";

record! {
    /// The file header; the entries follow it.
    struct Header {
        magic: [u8; 4],
        version: u32,
        count: u32,
        reserved: u32,
    }
}

record! {
    /// The fixed part of an entry; the path follows it.
    struct Record {
        hash: u64,
        kind: u8,
        colorspace: u8,
        path_len: u16,
    }
}

numbered! {
    /// The kind of file that an entry refers to.
    pub enum ManifestKind: u8 {
        /// A texture: a `.ktx2` file.
        Texture = "texture",
        /// A mesh: a `.hmesh` file.
        Mesh = "mesh",
        /// A material table: a `.hmat` file.
        Material = "material",
        /// A colour lookup table: a `.lut.ktx2` file.
        Lut = "lut",
        /// A shader module: a `.spv` file.
        Shader = "shader",
        /// A file that was copied unchanged.
        Embed = "embed",
        /// Animation clips: a `.hanim` file.
        Animation = "animation",
        /// A font: a `.hfont` file.
        Font = "font",
    }
}

impl ManifestKind {
    /// Returns the kind of the runtime file `path`, by its extension.
    pub fn from_path(path: &str) -> ManifestKind {
        let kinds = [
            (".lut.ktx2", ManifestKind::Lut),
            (".ktx2", ManifestKind::Texture),
            (".hmesh", ManifestKind::Mesh),
            (".hmat", ManifestKind::Material),
            (".spv", ManifestKind::Shader),
            (".hanim", ManifestKind::Animation),
            (".hfont", ManifestKind::Font),
        ];
        kinds.iter().find(|(end, _)| path.ends_with(end)).map_or(ManifestKind::Embed, |(_, kind)| *kind)
    }
}

/// The colour space of an entry: the transfer function of a texture, `Linear` for every other kind.
pub use crate::ktx2::Transfer as Colorspace;

/// One entry of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestEntry<'a> {
    /// The hash by which other files reference this file.
    pub hash: u64,
    /// The kind of the file.
    pub kind: ManifestKind,
    /// The colour space of a texture; `Linear` for other kinds.
    pub colorspace: Colorspace,
    /// The path relative to the runtime root.
    pub path: &'a str,
}

/// A checked manifest: all entries are valid.
#[derive(Clone, Copy, Debug)]
pub struct HmanView<'a> {
    bytes: &'a [u8],
    count: u32,
}

impl<'a> HmanView<'a> {
    /// Checks the whole file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is truncated, has trailing bytes, is not sorted or holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let header = Header::read(&mut reader)?;
        if header.magic != MAGIC {
            return Err(Error::Magic { found: header.magic, format: "hman" });
        }
        let bad = |at: usize, field, found: u32, expected| {
            Err(Error::Value { at: at as u64, field, found: found.into(), expected })
        };
        if header.version != VERSION {
            return bad(offset_of!(Header, version), "version", header.version, "1");
        }
        if header.reserved != 0 {
            return bad(offset_of!(Header, reserved), "reserved", header.reserved, "0");
        }
        let mut last: Option<(u64, &str)> = None;
        for _ in 0..header.count {
            let at = reader.at();
            let entry = read_entry(&mut reader)?;
            if last.is_some_and(|last| last >= (entry.hash, entry.path)) {
                return Err(Error::Order { at, field: "hash and path" });
            }
            last = Some((entry.hash, entry.path));
        }
        reader.finish()?;
        Ok(HmanView { bytes, count: header.count })
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the entries by ascending hash.
    pub fn entries(&self) -> ManifestEntries<'a> {
        ManifestEntries { reader: Reader::starting(self.bytes, Header::SIZE), left: self.count }
    }

    /// Looks up the entry with this hash. ManifestEntries vary in length, so this is a linear search; for many
    /// lookups, build a map from [`entries`](Self::entries) once.
    pub fn find(&self, hash: u64) -> Option<ManifestEntry<'a>> {
        self.entries().find(|entry| entry.hash >= hash).filter(|entry| entry.hash == hash)
    }
}

/// Iterator over the entries of a manifest; see [`HmanView::entries`].
#[derive(Clone, Debug)]
pub struct ManifestEntries<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl<'a> Iterator for ManifestEntries<'a> {
    type Item = ManifestEntry<'a>;

    fn next(&mut self) -> Option<ManifestEntry<'a>> {
        self.left = self.left.checked_sub(1)?;
        read_entry(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for ManifestEntries<'_> {}

fn read_entry<'a>(reader: &mut Reader<'a>) -> Result<ManifestEntry<'a>, Error> {
    let at = reader.at();
    let record = Record::read(reader)?;
    let bad = |offset: usize, field, found: u8, expected| Error::Value {
        at: at + offset as u64,
        field,
        found: found.into(),
        expected,
    };
    let kind = ManifestKind::from_number(record.kind);
    let colorspace = Colorspace::from_number(record.colorspace);
    let path_at = reader.at();
    let path = reader.text(record.path_len.into(), "path")?;
    paths::check(path).map_err(|why| Error::Path { at: path_at, why })?;
    Ok(ManifestEntry {
        hash: record.hash,
        kind: kind.ok_or(bad(offset_of!(Record, kind), "kind", record.kind, "at most 7"))?,
        colorspace: colorspace.ok_or(bad(
            offset_of!(Record, colorspace),
            "colorspace",
            record.colorspace,
            "0 or 1",
        ))?,
        path,
    })
}

/// Encodes a manifest of these entries, in any order. Equal entries are merged into one.
///
/// # Errors
///
/// [`Error::Collision`] if two paths have the same hash, [`Error::Conflict`] if one path has two kinds or
/// colour spaces, [`Error::BadPath`] and [`Error::TooLarge`] if a path cannot be written.
#[cfg(feature = "tools")]
pub fn write(entries: &[ManifestEntry<'_>]) -> Result<Vec<u8>, Error> {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|e| (e.hash, e.path, e.kind as u8, e.colorspace as u8));
    entries.dedup();
    for pair in entries.windows(2) {
        if pair[0].hash == pair[1].hash {
            let (first, second) = (String::from(pair[0].path), String::from(pair[1].path));
            return Err(if first == second {
                Error::Conflict { path: first }
            } else {
                Error::Collision { hash: pair[0].hash, first, second }
            });
        }
    }
    let count = crate::count_u32("count", entries.len())?;
    let mut out = Vec::new();
    Header { magic: MAGIC, version: VERSION, count, reserved: 0 }.put(&mut out);
    for entry in &entries {
        paths::check(entry.path).map_err(|why| Error::BadPath { path: entry.path.into(), why })?;
        Record {
            hash: entry.hash,
            kind: entry.kind as u8,
            colorspace: entry.colorspace as u8,
            path_len: paths::len_u16(entry.path)?,
        }
        .put(&mut out);
        out.extend_from_slice(entry.path.as_bytes());
    }
    Ok(out)
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use crate::refs;
    use alloc::string::ToString;

    pub(super) fn texture(path: &str) -> ManifestEntry<'_> {
        let hash = refs::hash_runtime_path(path);
        ManifestEntry { hash, kind: ManifestKind::Texture, colorspace: Colorspace::Srgb, path }
    }

    #[test]
    fn encodes_documented_bytes() {
        let entries = [
            ManifestEntry { colorspace: Colorspace::Linear, ..texture("court/tex_0.ktx2") },
            texture("court/tex_1.ktx2"),
            texture("court/tex_1.ktx2"),
        ];
        let mut expected = b"HMAN\x01\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"\x06\x94\x04\x97\xa2\xc3\x44\xad\x00\x01\x10\x00court/tex_1.ktx2");
        expected.extend(b"\xb9\x95\x04\x97\xa2\xc4\x44\xad\x00\x00\x10\x00court/tex_0.ktx2");
        assert_eq!(write(&entries).unwrap(), expected);
    }

    #[test]
    fn lookups() {
        let bytes = write(&[texture("b.ktx2"), texture("a.ktx2"), texture("c.ktx2")]).unwrap();
        let view = HmanView::read(&bytes).unwrap();
        assert_eq!((view.len(), view.is_empty(), view.entries().len()), (3, false, 3));
        for entry in view.entries() {
            assert_eq!(view.find(entry.hash), Some(entry));
        }
        assert_eq!(view.find(0), None);
        assert_eq!(view.find(u64::MAX), None);
        assert!(HmanView::read(&write(&[]).unwrap()).unwrap().is_empty());
    }

    #[test]
    fn writer_rejects_invalid_input() {
        let lower = ManifestEntry { path: "a/x.ktx2", ..texture("A/x.ktx2") };
        let error = write(&[lower, texture("A/x.ktx2")]).unwrap_err().to_string();
        assert!(error.contains("\"A/x.ktx2\" and \"a/x.ktx2\""), "{error}");
        let linear = ManifestEntry { colorspace: Colorspace::Linear, ..texture("a.ktx2") };
        assert_eq!(write(&[texture("a.ktx2"), linear]), Err(Error::Conflict { path: "a.ktx2".to_string() }));
        assert!(matches!(write(&[texture("../a.ktx2")]), Err(Error::BadPath { .. })));
        assert!(write(&[texture(&"a".repeat(65535))]).is_ok());
        assert_eq!(
            write(&[texture(&"a".repeat(65536))]),
            Err(Error::TooLarge { field: "path_len", found: 65536, max: 65535 })
        );
    }

    #[test]
    fn rejects_invalid_fields() {
        let good = write(&[texture("a.ktx2"), texture("b.ktx2")]).unwrap();
        let broken = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            HmanView::read(&bytes).unwrap_err()
        };
        assert_eq!(broken(3, b'T'), Error::Magic { found: *b"HMAT", format: "hman" });
        assert_eq!(broken(4, 2), Error::Value { at: 4, field: "version", found: 2, expected: "1" });
        assert_eq!(broken(12, 9), Error::Value { at: 12, field: "reserved", found: 9, expected: "0" });
        assert_eq!(broken(8, 1), Error::Trailing { at: 34, extra: 18 });
        assert!(matches!(broken(8, 3), Error::Truncated { at: 52, field: "hash", .. }));
        assert_eq!(broken(24, 8), Error::Value { at: 24, field: "kind", found: 8, expected: "at most 7" });
        assert_eq!(broken(25, 2), Error::Value { at: 25, field: "colorspace", found: 2, expected: "0 or 1" });
        assert_eq!(broken(28, 0xff), Error::Text { at: 28, field: "path" });
        assert_eq!(broken(28, b'/'), Error::Path { at: 28, why: crate::PathFault::Absolute });
        assert_eq!(broken(41, 0), Error::Order { at: 34, field: "hash and path" });
        assert_eq!(HmanView::read(b"HM").unwrap_err().to_string(), {
            "unexpected end of file: magic at byte 0 needs 4 bytes, but the file has 2"
        });
    }
}
