//! `.hman`: the manifest that maps hashes of asset references to paths of runtime files.
//!
//! Implements `docs/reference/formats/hman.md`. Rejects entries out of order, unknown kinds and colour spaces, paths
//! that could escape the runtime root, and bytes after the last entry. The writer also rejects hash
//! collisions, since neither path could be looked up.

use core::mem::offset_of;

use crate::bytes::{Reader, record};
use crate::hpack::PackKind;
use crate::{Error, Format, paths, table::FormatId};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, error::Count, refs};
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

/// The kind of file that an entry refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ManifestKind {
    /// A texture: a `.ktx2` file.
    Texture = 0,
    /// A mesh: a `.hmesh` file.
    Mesh = 1,
    /// A material table: a `.hmat` file.
    Material = 2,
    /// A colour lookup table: a `.lut.ktx2` file.
    Lut = 3,
    /// A shader module: a `.spv` file.
    Shader = 4,
    /// A file that was copied unchanged.
    Embed = 5,
    /// Animation clips: a `.hanim` file.
    Animation = 6,
    /// A font: a `.hfont` file.
    Font = 7,
}

impl ManifestKind {
    /// All kinds, in order of their numbers.
    pub const ALL: [ManifestKind; 8] = [
        ManifestKind::Texture,
        ManifestKind::Mesh,
        ManifestKind::Material,
        ManifestKind::Lut,
        ManifestKind::Shader,
        ManifestKind::Embed,
        ManifestKind::Animation,
        ManifestKind::Font,
    ];

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

    /// Returns the name in lower case.
    pub const fn name(self) -> &'static str {
        ["texture", "mesh", "material", "lut", "shader", "embed", "animation", "font"][self as usize]
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
    let kind = ManifestKind::ALL.get(usize::from(record.kind));
    let colorspace = Colorspace::ALL.get(usize::from(record.colorspace));
    let path_at = reader.at();
    let path = reader.text(record.path_len.into(), "path")?;
    paths::check(path).map_err(|why| Error::Path { at: path_at, why })?;
    Ok(ManifestEntry {
        hash: record.hash,
        kind: *kind.ok_or(bad(offset_of!(Record, kind), "kind", record.kind, "at most 7"))?,
        colorspace: *colorspace.ok_or(bad(
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
    let count = u32::try_from(entries.len()).map_err(|_| Error::TooLarge {
        field: "count",
        found: entries.len() as u64,
        max: u32::MAX.into(),
    })?;
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

/// The entry of this format in [`FORMATS`](crate::FORMATS).
#[derive(Clone, Copy, Debug)]
pub struct HMan;

impl Format for HMan {
    fn id(&self) -> FormatId {
        FormatId { name: "hman", magic: &MAGIC, title: "manifests", kind: PackKind::Manifest }
    }

    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HmanView::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmanView::read(bytes)?;
        let srgb = srgb(&view);
        write!(out, "v{VERSION} | {} | kinds:", Count(view.len() as u64, "entry", "entries"))?;
        // The first four kinds are always listed, the others only if they occur.
        let shown = kinds(&view).into_iter().filter(|(kind, n)| (*kind as u8) < 4 || *n > 0);
        for (n, (kind, count)) in shown.enumerate() {
            write!(out, "{}{count} {}", if n == 0 { ' ' } else { '/' }, kind.name())?;
        }
        write!(out, " | colour space: {srgb} sRGB/{} linear", view.len() as u64 - srgb)?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HmanView::read(bytes)?;
        let srgb = srgb(&view);
        each("version", Fact::Number(VERSION.into()));
        each("entries", Fact::Total(view.len() as u64));
        const NAMES: [&str; ManifestKind::ALL.len()] = [
            "texture_entries",
            "mesh_entries",
            "material_entries",
            "lut_entries",
            "shader_entries",
            "embed_entries",
            "animation_entries",
            "font_entries",
        ];
        for (name, (_, count)) in NAMES.into_iter().zip(kinds(&view)) {
            each(name, Fact::Number(count));
        }
        each("srgb_entries", Fact::Number(srgb));
        each("linear_entries", Fact::Number(view.len() as u64 - srgb));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmanView::read(bytes)?;
        writeln!(out, "hman v{VERSION}, {}", Count(view.len() as u64, "entry", "entries"))?;
        for e in view.entries() {
            writeln!(out, "{:#018x} {} {} {:?}", e.hash, e.kind.name(), e.colorspace.name(), e.path)?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT, Record::LAYOUT]
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        _path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let mut last: Option<ManifestEntry<'_>> = None;
        for entry in HmanView::read(bytes)?.entries() {
            let ManifestEntry { hash, path, .. } = entry;
            if at.size(path).is_none() {
                bad(Problem {
                    code: kiln_diagnostics::Code::ManifestMissingFile,
                    message: alloc::format!(
                        "the entry {hash:#018x} refers to {path:?}, which does not exist"
                    ),
                    hint: "run the build again: the file was deleted, or the manifest is from another build",
                });
            }
            let expected = refs::hash_runtime_path(path);
            if hash != expected {
                bad(Problem {
                    code: kiln_diagnostics::Code::ManifestWrongHash,
                    message: alloc::format!(
                        "the entry {hash:#018x} refers to {path:?}, but the hash of that path is {expected:#018x}"
                    ),
                    hint: "run the build again: the manifest is damaged or was written by another program",
                });
            }
            if let Some(last) = last.filter(|last| last.hash == hash) {
                bad(Problem {
                    code: kiln_diagnostics::Code::ManifestAmbiguousHash,
                    message: alloc::format!(
                        "the hash {hash:#018x} is listed for both {:?} and {path:?}",
                        last.path
                    ),
                    hint: "rename one of the two source files",
                });
            }
            last = Some(entry);
        }
        Ok(())
    }
}

#[cfg(feature = "tools")]
fn kinds(view: &HmanView<'_>) -> [(ManifestKind, u64); ManifestKind::ALL.len()] {
    ManifestKind::ALL.map(|kind| (kind, view.entries().filter(|e| e.kind == kind).count() as u64))
}

#[cfg(feature = "tools")]
fn srgb(view: &HmanView<'_>) -> u64 {
    view.entries().filter(|e| e.colorspace == Colorspace::Srgb).count() as u64
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::{borrow::Cow, string::ToString, vec};

    fn texture(path: &str) -> ManifestEntry<'_> {
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

    struct Files(&'static [&'static str]);

    impl Lookup for Files {
        fn size(&self, path: &str) -> Option<u64> {
            self.0.contains(&path).then_some(0)
        }

        fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
            self.0.contains(&path).then_some(Cow::Borrowed(&[]))
        }
    }

    fn codes(manifest: &[u8], files: &'static [&'static str]) -> Vec<&'static str> {
        let mut codes = vec![];
        HMan.check_references("assets.hman", manifest, &Files(files), &mut |p| codes.push(p.code.as_str()))
            .unwrap();
        codes
    }

    #[test]
    fn check_references_finds_wrong_entries() {
        let good = write(&[texture("A/x.ktx2"), texture("b.ktx2")]).unwrap();
        assert!(codes(&good, &["A/x.ktx2", "b.ktx2"]).is_empty());
        assert_eq!(codes(&good, &["A/x.ktx2"]), ["manifest-missing-file"]);
        let wrong = write(&[ManifestEntry { hash: 5, ..texture("b.ktx2") }]).unwrap();
        assert_eq!(codes(&wrong, &["b.ktx2"]), ["manifest-wrong-hash"]);

        // Two paths that differ only in case have the same hash. The writer rejects them, but a file from
        // another program may contain them.
        let mut twice = write(&[texture("A.ktx2")]).unwrap();
        let second: Vec<u8> = twice[16..].iter().map(u8::to_ascii_lowercase).collect();
        twice.extend(second);
        twice[8] = 2;
        twice[16 + 18..][..8].copy_from_slice(&refs::hash_asset_ref("a").to_le_bytes());
        assert_eq!(codes(&twice, &["A.ktx2", "a.ktx2"]), ["manifest-ambiguous-hash"]);
    }

    #[test]
    fn describe_facts_and_dump_match_document() {
        let bytes = write(&[
            texture("a.ktx2"),
            ManifestEntry { colorspace: Colorspace::Linear, ..texture("b.ktx2") },
            ManifestEntry {
                colorspace: Colorspace::Linear,
                kind: ManifestKind::Lut,
                ..texture("c.lut.ktx2")
            },
        ])
        .unwrap();
        let mut text = String::new();
        HMan.describe(&bytes, &mut text).unwrap();
        assert_eq!(
            text,
            "v1 | 3 entries | kinds: 2 texture/0 mesh/0 material/1 lut | colour space: 1 sRGB/2 linear"
        );
        let mut facts = vec![];
        HMan.facts(&bytes, &mut |name, fact| {
            if let Fact::Total(n) = fact {
                facts.push((name, n));
            }
        })
        .unwrap();
        assert_eq!(facts, [("entries", 3)]);
        let mut dump = String::new();
        HMan.dump(&bytes, &mut dump).unwrap();
        assert_eq!(dump.lines().count(), 4);
        assert!(dump.contains("lut linear \"c.lut.ktx2\""), "{dump}");
    }
}
