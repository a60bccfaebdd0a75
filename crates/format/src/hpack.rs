//! `.hpack`: every runtime file in one, behind a table of contents sorted by path.
//!
//! Implements `docs/formats/hpack.md`. Refuses a table of contents that is not consumed exactly, paths out of
//! order or that could leave the runtime root, kinds that do not fit their path, and payloads anywhere but at
//! the one place the order and the sizes leave them: so there are no overlaps, no gaps and no bytes at the end.

use core::mem::offset_of;

use crate::bytes::{Reader, align, record, slice, zeroed};
use crate::{Error, Format, paths, table::sealed::Sealed};
#[cfg(feature = "tools")]
use crate::{Fact, Layout as Table, Lookup, refs};
#[cfg(feature = "tools")]
use alloc::{borrow::Cow, string::String, vec::Vec};

/// The first bytes of a pack.
pub const MAGIC: [u8; 4] = *b"HPAK";
/// The only version there is.
pub const VERSION: u32 = 2;
/// Every payload starts at a multiple of this, so that it can be used where it lies in a mapped pack.
pub const ALIGNMENT: u64 = 16;

record! {
    /// The start of the file.
    struct Header {
        magic: [u8; 4],
        version: u32,
        count: u32,
        flags: u32,
        toc_bytes: u64,
    }
}

record! {
    /// The start of an entry of the table of contents; the path follows it.
    struct Record {
        offset: u64,
        size: u64,
        kind: u8,
        path_len: u16,
    }
}

/// What a packed file is, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PackKind {
    /// Anything else.
    Other = 0,
    /// `.hmesh`
    Mesh = 1,
    /// `.hmat`
    Material = 2,
    /// `.hman`
    Manifest = 3,
    /// `.hanim`
    Animation = 4,
    /// `.ktx2`
    Texture = 5,
    /// `.spv`
    Shader = 6,
}

impl PackKind {
    /// All kinds, in order of their numbers.
    pub const ALL: [PackKind; 7] = [
        PackKind::Other,
        PackKind::Mesh,
        PackKind::Material,
        PackKind::Manifest,
        PackKind::Animation,
        PackKind::Texture,
        PackKind::Shader,
    ];

    /// The kind of the file at `path`; extensions are matched as written.
    pub fn from_path(path: &str) -> PackKind {
        let ext = paths::extension(path).unwrap_or_default();
        let known = PackKind::ALL.into_iter().find(|kind| kind.ext() == Some(ext));
        known.unwrap_or(PackKind::Other)
    }

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        ["other", "mesh", "material", "manifest", "animation", "texture", "shader"][self as usize]
    }

    /// Its extension, without the dot; `Other` has none.
    pub const fn ext(self) -> Option<&'static str> {
        match self {
            PackKind::Other => None,
            PackKind::Mesh => Some("hmesh"),
            PackKind::Material => Some("hmat"),
            PackKind::Manifest => Some("hman"),
            PackKind::Animation => Some("hanim"),
            PackKind::Texture => Some("ktx2"),
            PackKind::Shader => Some("spv"),
        }
    }
}

/// Whether a pack leaves this file of the output directory out: the build's own bookkeeping, and other packs.
pub fn excludes(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == ".assetc-cache" || name.ends_with(".hpack")
}

/// One line of a table of contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Where the payload starts in the pack.
    pub offset: u64,
    /// Its length in bytes.
    pub size: u64,
    /// What it is.
    pub kind: PackKind,
    /// Where the file was, relative to the output root.
    pub path: &'a str,
}

/// How many bytes at the start of a pack its header and table of contents take: what to read before
/// [`Toc::read`]. `first` holds at least the first 24 bytes.
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

/// A table of contents that was read: all entries are known to be sound.
#[derive(Clone, Copy, Debug)]
pub struct Toc<'a> {
    head: &'a [u8],
    count: u32,
}

impl<'a> Toc<'a> {
    /// Checks header and table of contents of a pack that is `file_len` bytes long. `head` holds its start, at
    /// least [`head_len`] bytes; payloads are not looked at and need not be in memory.
    pub fn read(head: &'a [u8], file_len: u64) -> Result<Self, Error> {
        let head_len = head_len(head, file_len)?;
        let head = Reader::new(head).take(head_len, "table of contents")?;
        let mut reader = Reader::new(head);
        let count = read_header(&mut reader)?.count;
        let mut last: Option<&str> = None;
        let mut end = head_len;
        for _ in 0..count {
            let at = reader.at();
            let entry = read_entry(&mut reader)?;
            if last.is_some_and(|last| last >= entry.path) {
                return Err(Error::Order { at, field: "path" });
            }
            last = Some(entry.path);

            let (offset, size) = (entry.offset, entry.size);
            let outside = Error::Range { at, field: "payload", start: offset, size, len: file_len };
            let place = align(end, ALIGNMENT).unwrap_or(u64::MAX);
            if offset != place {
                return Err(Error::Mismatch { at, field: "offset", found: offset, expected: place });
            }
            end = offset.checked_add(size).filter(|&end| end <= file_len).ok_or(outside)?;
        }
        reader.finish()?;
        if end != file_len {
            return Err(Error::Trailing { at: end, extra: file_len - end });
        }
        Ok(Toc { head, count })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it lists nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of header and table of contents together.
    pub fn head_len(&self) -> u64 {
        self.head.len() as u64
    }

    /// The entries, by ascending path.
    pub fn entries(&self) -> Entries<'a> {
        Entries { reader: Reader::starting(self.head, Header::SIZE), left: self.count }
    }

    /// The entry of the file at `path`. Entries vary in length, so this walks them: an engine that looks up
    /// many fills a map from [`entries`](Self::entries) once.
    pub fn find(&self, path: &str) -> Option<Entry<'a>> {
        self.entries().find(|entry| entry.path >= path).filter(|entry| entry.path == path)
    }
}

/// The entries of a table of contents; see [`Toc::entries`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        self.left = self.left.checked_sub(1)?;
        read_entry(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Entries<'_> {}

/// A whole pack in memory, mapped or read.
#[derive(Clone, Copy, Debug)]
pub struct HpackView<'a> {
    bytes: &'a [u8],
    toc: Toc<'a>,
}

impl<'a> HpackView<'a> {
    /// Checks header and table of contents. The bytes between payloads are left to
    /// [`verify`](Format::verify), which spares a mapped pack a page fault for each file.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(HpackView { bytes, toc: Toc::read(bytes, bytes.len() as u64)? })
    }

    /// The table of contents.
    pub fn toc(&self) -> &Toc<'a> {
        &self.toc
    }

    /// All files with their content, by ascending path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (Entry<'a>, &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.toc.entries().map(move |e| (e, slice(bytes, e.offset, e.size).unwrap_or_default()))
    }

    /// The content of the file at `path`.
    pub fn get(&self, path: &str) -> Option<&'a [u8]> {
        let entry = self.toc.find(path)?;
        slice(self.bytes, entry.offset, entry.size)
    }
}

#[cfg(feature = "tools")]
impl Lookup for HpackView<'_> {
    fn size(&self, path: &str) -> Option<u64> {
        self.toc.find(path).map(|entry| entry.size)
    }

    fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        self.get(path).map(Cow::Borrowed)
    }
}

fn read_header(reader: &mut Reader<'_>) -> Result<Header, Error> {
    let header = Header::read(reader)?;
    if header.magic != MAGIC {
        return Err(Error::Magic { found: header.magic, format: "hpack" });
    }
    let bad = |at: usize, field, found: u32, expected| {
        Err(Error::Value { at: at as u64, field, found: found.into(), expected })
    };
    if header.version != VERSION {
        return bad(offset_of!(Header, version), "version", header.version, "2");
    }
    if header.flags != 0 {
        return bad(offset_of!(Header, flags), "flags", header.flags, "0");
    }
    Ok(header)
}

fn read_entry<'a>(reader: &mut Reader<'a>) -> Result<Entry<'a>, Error> {
    let at = reader.at();
    let record = Record::read(reader)?;
    let path_at = reader.at();
    let path = reader.text(record.path_len.into(), "path")?;
    paths::check(path).map_err(|why| Error::Path { at: path_at, why })?;
    let kind = PackKind::from_path(path);
    if record.kind != kind as u8 {
        return Err(Error::Mismatch {
            at: at + offset_of!(Record, kind) as u64,
            field: "kind",
            found: record.kind.into(),
            expected: kind as u64,
        });
    }
    Ok(Entry { offset: record.offset, size: record.size, kind, path })
}

/// Where everything goes in a pack that is about to be written. Only the paths and sizes are needed, so a pack
/// may be larger than memory: write [`head`](Layout::head), then for each of [`files`](Layout::files) its
/// padding and its payload. Nothing follows the last payload.
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
pub struct Layout {
    head: Vec<u8>,
    files: Vec<Placed>,
    file_len: u64,
}

/// A file in a [`Layout`].
#[cfg(feature = "tools")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where the file is, relative to the output root.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// What it is.
    pub kind: PackKind,
    /// How many zero bytes go before its payload: fewer than [`ALIGNMENT`].
    pub padding: usize,
    /// Where its payload starts in the pack.
    pub offset: u64,
}

#[cfg(feature = "tools")]
impl Layout {
    /// Lays out files given as path and size, in any order.
    pub fn new(mut files: Vec<(String, u64)>) -> Result<Layout, Error> {
        let too_large = |field, found| Error::TooLarge { field, found, max: u64::MAX };
        files.sort();
        if let Some(pair) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::Duplicate { path: pair[0].0.clone() });
        }
        let count = u32::try_from(files.len()).map_err(|_| Error::TooLarge {
            field: "count",
            found: files.len() as u64,
            max: u32::MAX.into(),
        })?;
        let toc_bytes: u64 = files.iter().map(|(path, _)| (Record::SIZE + path.len()) as u64).sum();

        let mut head = Vec::new();
        Header { magic: MAGIC, version: VERSION, count, flags: 0, toc_bytes }.put(&mut head);
        let mut end = Header::SIZE as u64 + toc_bytes;
        let mut placed = Vec::with_capacity(files.len());
        for (path, size) in files {
            paths::check(&path).map_err(|why| Error::BadPath { path: path.clone(), why })?;
            let (kind, path_len) = (PackKind::from_path(&path), paths::len_u16(&path)?);
            let offset = align(end, ALIGNMENT).ok_or(too_large("offset", end))?;
            Record { offset, size, kind: kind as u8, path_len }.put(&mut head);
            head.extend_from_slice(path.as_bytes());
            placed.push(Placed { path, size, kind, padding: (offset - end) as usize, offset });
            end = offset.checked_add(size).ok_or(too_large("size", size))?;
        }
        Ok(Layout { head, files: placed, file_len: end })
    }

    /// Header and table of contents: the first bytes of the pack.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The files in the order in which they are written, which is that of their paths.
    pub fn files(&self) -> &[Placed] {
        &self.files
    }

    /// The length of the finished pack.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }
}

/// The bytes of a pack of files in memory, which may come in any order.
#[cfg(feature = "tools")]
pub fn write(files: &[(&str, &[u8])]) -> Result<Vec<u8>, Error> {
    let mut files = files.to_vec();
    files.sort();
    let layout = Layout::new(files.iter().map(|(path, data)| ((*path).into(), data.len() as u64)).collect())?;
    let mut out = layout.head.clone();
    for (placed, (_, data)) in layout.files().iter().zip(files) {
        out.extend_from_slice(&[0; ALIGNMENT as usize][..placed.padding]);
        out.extend_from_slice(data);
    }
    Ok(out)
}

/// The row of the format table. A pack holds no packs, so its own kind is `Other`.
#[derive(Clone, Copy, Debug)]
pub struct HPack;

impl Sealed for HPack {}

impl Format for HPack {
    fn name(&self) -> &'static str {
        "hpack"
    }

    fn ext(&self) -> &'static str {
        "hpack"
    }

    fn title(&self) -> &'static str {
        "packs"
    }

    fn pack_kind(&self) -> PackKind {
        PackKind::Other
    }

    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        let toc = Toc::read(bytes, bytes.len() as u64)?;
        let mut end = toc.head_len();
        for entry in toc.entries() {
            zeroed(bytes, end, entry.offset)?;
            end = entry.offset + entry.size;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let toc = Toc::read(bytes, bytes.len() as u64)?;
        let (payload, padding) = sums(&toc);
        let len = toc.len();
        write!(
            out,
            "v{VERSION} | {len} entries | {} B header and toc | {payload} B payload | {padding} B padding",
            toc.head_len(),
        )?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let toc = Toc::read(bytes, bytes.len() as u64)?;
        let (payload, padding) = sums(&toc);
        each("version", Fact::Number(VERSION.into()));
        each("entries", Fact::Total(toc.len() as u64));
        each("header_bytes", Fact::Number(Header::SIZE as u64));
        each("toc_bytes", Fact::Number(toc.head_len() - Header::SIZE as u64));
        each("payload_bytes", Fact::Number(payload));
        each("padding_bytes", Fact::Number(padding));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HpackView::read(bytes)?;
        writeln!(out, "hpack v{VERSION}, {} entries", view.toc().len())?;
        for (Entry { offset, size, kind, path }, data) in view.files() {
            let (kind, hash) = (kind.name(), refs::fnv1a_64(data));
            writeln!(out, "{kind} {path:?} {size} B @{offset} fnv {hash:016x}")?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Table] {
        &[Header::LAYOUT, Record::LAYOUT]
    }
}

/// Bytes of payload and of padding.
#[cfg(feature = "tools")]
fn sums(toc: &Toc<'_>) -> (u64, u64) {
    let payload: u64 = toc.entries().map(|e| e.size).sum();
    let end = toc.entries().last().map_or(toc.head_len(), |e| e.offset + e.size);
    (payload, end - toc.head_len() - payload)
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::{string::ToString, vec};

    const FILES: [(&str, &[u8]); 4] =
        [("b/t.ktx2", b"texture"), ("a.txt", b""), ("assets.hman", &[7; 16]), ("z", b"!")];

    #[test]
    fn bytes_are_as_documented() {
        let bytes = write(&[("b.ktx2", b"two"), ("a", b"1")]).unwrap();
        let mut expected = b"HPAK\x02\0\0\0\x02\0\0\0\0\0\0\0\x2d\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"\x50\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x00\x01\0a");
        expected.extend(b"\x60\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x05\x06\0b.ktx2");
        expected.resize(0x50, 0);
        expected.extend(b"1");
        expected.resize(0x60, 0);
        expected.extend(b"two");
        assert_eq!(bytes, expected);
        HPack.verify(&bytes).unwrap();
    }

    #[test]
    fn files_come_back() {
        let bytes = write(&FILES).unwrap();
        HPack.verify(&bytes).unwrap();
        let view = HpackView::read(&bytes).unwrap();
        for (path, data) in FILES {
            assert_eq!(view.get(path), Some(data), "{path}");
            assert_eq!(Lookup::size(&view, path), Some(data.len() as u64));
        }
        assert_eq!(view.get("a"), None);
        assert_eq!(view.get("zz"), None);
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
    fn empty_files_and_empty_packs() {
        assert_eq!(write(&[]).unwrap().len(), 24);
        HPack.verify(&write(&[]).unwrap()).unwrap();
        let bytes = write(&[("a", b"x"), ("b", b"")]).unwrap();
        HPack.verify(&bytes).unwrap();
        assert_eq!(HpackView::read(&bytes).unwrap().get("b"), Some(&[][..]));
        assert_eq!(bytes.len() % 16, 0, "the padding before an empty payload is there, none after it");
    }

    #[test]
    fn a_pack_larger_than_memory_is_laid_out() {
        let sizes = vec![("b".to_string(), 1 << 50), ("a".to_string(), (1 << 40) + 1)];
        let layout = Layout::new(sizes).unwrap();
        assert_eq!(head_len(&layout.head()[..24], layout.file_len()), Ok(layout.head().len() as u64));
        let toc = Toc::read(layout.head(), layout.file_len()).unwrap();
        let read: Vec<_> = toc.entries().map(|e| (e.path, e.offset, e.size)).collect();
        let laid: Vec<_> = layout.files().iter().map(|f| (f.path.as_str(), f.offset, f.size)).collect();
        assert_eq!(read, laid);
        assert_eq!(layout.files()[1].padding, 15);
        assert!(Toc::read(layout.head(), layout.file_len() - 1).is_err());
        assert!(Toc::read(layout.head(), layout.file_len() + 1).is_err());
        assert!(Layout::new(vec![("a".to_string(), u64::MAX), ("b".to_string(), 1)]).is_err());
    }

    #[test]
    fn what_cannot_be_written() {
        assert_eq!(write(&[("a", b"1"), ("a", b"2")]), Err(Error::Duplicate { path: "a".to_string() }));
        assert!(matches!(write(&[("../a", b"")]), Err(Error::BadPath { .. })));
        let long = "a".repeat(65536);
        assert!(matches!(write(&[(&long, b"")]), Err(Error::TooLarge { field: "path_len", .. })));
    }

    #[test]
    fn what_is_not_read() {
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
        assert_eq!(broken(4, 1), Error::Value { at: 4, field: "version", found: 1, expected: "2" });
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
    fn kinds_have_the_documented_numbers() {
        let of = |path| PackKind::from_path(path) as u8;
        assert_eq!(
            ["x.bin", "x.hmesh", "x.hmat", "x.hman", "x.hanim", "x.ktx2", "x.spv", "x.hpack"].map(of),
            [0, 1, 2, 3, 4, 5, 6, 0]
        );
        for (number, kind) in PackKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }

    #[test]
    fn what_a_pack_leaves_out() {
        assert!([".assetc-cache", "mobile/.assetc-cache", "a.hpack", "a/.hpack"].into_iter().all(excludes));
        assert!(!["assets.hman", ".assetc-cache2", "a.hpack.txt"].into_iter().any(excludes));
    }

    #[test]
    fn inspected() {
        let bytes = write(&FILES).unwrap();
        let mut facts = vec![];
        HPack.facts(&bytes, &mut |name, fact| facts.push((name, std::format!("{fact:?}")))).unwrap();
        let number = |name| {
            let (_, text) = facts.iter().find(|(n, _)| *n == name).unwrap();
            text.trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().unwrap()
        };
        assert_eq!(number("entries"), 4);
        assert_eq!(
            number("header_bytes") + number("toc_bytes") + number("payload_bytes") + number("padding_bytes"),
            bytes.len()
        );
        let mut dump = String::new();
        HPack.dump(&bytes, &mut dump).unwrap();
        assert!(dump.contains("other \"a.txt\" 0 B @"), "{dump}");
    }
}
