//! Scans assets in Unity's YAML for their main object, their other named objects and their references.
//!
//! A file is a sequence of documents, `--- !u!114 &11400000`, one for each object. They are found by their headers; of their
//! bodies only `m_Name` and `m_Script` at the indentation of the object itself are read. A [`Scanner`] takes a file in
//! chunks of whole lines, so that memory does not depend on its size.

use crate::class_id::{ClassId, canonical_fid};
use crate::refs;
use crate::scalar;
use memchr::memmem::Finder;
use std::ops::Range;
use std::sync::LazyLock;

static HEADER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n--- !u!"));
static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n  m_Name:"));
static SCRIPT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n  m_Script:"));
static CONFLICT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n<<<<<<< "));

/// One YAML document: an object of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) class_id: u32,
    pub(crate) file_id: i64,
    /// True for a placeholder of an object in another prefab.
    pub(crate) stripped: bool,
    pub(crate) name: Option<String>,
    /// The GUID of `m_Script`.
    pub(crate) script: Option<u128>,
    /// The offset of the header in the file.
    pub(crate) offset: u64,
}

/// A reference of a file, with the line of its first occurrence and the number of occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ref {
    pub(crate) guid: u128,
    pub(crate) file_id: i64,
    pub(crate) line: u32,
    pub(crate) count: u32,
}

/// The extent of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Only references are collected.
    References,
    /// References and documents of every class are collected.
    All,
    /// References and documents are collected, except those of the hierarchy of a prefab.
    Prefab,
}

/// Returns whether objects of a class are part of a hierarchy, and so no sub-assets.
pub(crate) fn in_hierarchy(class_id: u32) -> bool {
    [ClassId::GameObject as u32, ClassId::Transform as u32, ClassId::RectTransform as u32].contains(&class_id)
}

/// Scans a file chunk by chunk.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    /// The documents within the extent of the scan that have a name or may be the main object.
    pub(crate) documents: Vec<Document>,
    pub(crate) refs: RefSet,
    /// True if the keys of [`refs::scan_plain_keys`] are also searched for. Kept from one file to the next.
    pub(crate) plain_keys: bool,
    /// The line of the first conflict marker.
    pub(crate) conflict: Option<u32>,
    /// The line of the first name that is not UTF-8.
    pub(crate) not_utf8: Option<u32>,
    /// True if the file starts with a byte order mark.
    pub(crate) bom: bool,
    /// True if the first line ends in CR LF.
    pub(crate) crlf: bool,
    /// The number of complete lines before the next chunk.
    lines: u32,
    /// The offset of the next chunk in the file.
    offset: u64,
    open: Option<Document>,
    any: bool,
}

impl Scanner {
    /// Resets the scanner for another file.
    pub(crate) fn clear(&mut self) {
        self.documents.clear();
        self.refs.clear();
        (self.conflict, self.not_utf8) = (None, None);
        (self.bom, self.crlf) = (false, false);
        self.lines = 0;
        self.offset = 0;
        self.open = None;
        self.any = false;
    }

    /// Scans the next lines. The first `context` bytes are the end of the previous chunk.
    pub(crate) fn feed(&mut self, text: &[u8], context: usize, depth: Depth) {
        let fresh = &text[context..];
        let before = self.lines;
        if before == 0 {
            self.bom |= fresh.starts_with(b"\xef\xbb\xbf");
            self.crlf |= memchr::memchr(b'\n', fresh).is_some_and(|at| fresh[..at].ends_with(b"\r"));
        }
        let mut lines = LineCounter { text, at: context, line: self.lines + 1 };
        refs::scan(text, context, |found| {
            self.refs.add(found.guid, found.file_id, || lines.line_of(found.at));
        });
        if self.plain_keys {
            refs::scan_plain_keys(text, context, |found| {
                let until = &text[context..found.at];
                let line = || before + 1 + memchr::memchr_iter(b'\n', until).count() as u32;
                self.refs.add(found.guid, found.file_id, line);
            });
        }
        if self.conflict.is_none()
            && let Some(at) = CONFLICT.find(fresh)
        {
            self.conflict = Some(self.lines + 2 + memchr::memchr_iter(b'\n', &fresh[..at]).count() as u32);
        }
        self.lines = lines.line_of(text.len()) - 1;
        if depth != Depth::References {
            self.split(fresh, before, depth);
        }
        self.offset += fresh.len() as u64;
    }

    /// Scans a whole `.meta` for references to other assets than `own`.
    pub(crate) fn feed_meta(&mut self, text: &[u8], own: u128) {
        let mut lines = LineCounter { text, at: 0, line: 1 };
        refs::scan_meta(text, |found| {
            if found.guid != own {
                self.refs.add(found.guid, found.file_id, || lines.line_of(found.at));
            }
        });
    }

    /// Completes the last document of the file.
    pub(crate) fn finish(&mut self, depth: Depth) {
        self.close(depth);
    }

    /// Splits a chunk into documents. There were `before` lines before it.
    fn split(&mut self, text: &[u8], before: u32, depth: Depth) {
        // A header at the start of a chunk has no line break before it.
        let mut start = 0;
        if text.starts_with(b"--- !u!") {
            self.close(depth);
            self.open(text, 0, depth);
        }
        for at in HEADER.find_iter(text) {
            self.body(text, start..at + 1, before);
            self.close(depth);
            start = at + 1;
            self.open(text, start, depth);
        }
        self.body(text, start..text.len(), before);
    }

    /// Opens the document whose header is at `start` of a chunk.
    fn open(&mut self, text: &[u8], start: usize, depth: Depth) {
        let offset = self.offset + start as u64;
        let header = parse_header(&text[start..]).map(|doc| Document { offset, ..doc });
        self.open = header.filter(|doc| match depth {
            Depth::Prefab => !in_hierarchy(doc.class_id) && doc.class_id != ClassId::MonoBehaviour as u32,
            _ => true,
        });
    }

    fn body(&mut self, piece: &[u8], body: Range<usize>, before: u32) {
        let Some(doc) = &mut self.open else { return };
        let text = &piece[body.clone()];
        if doc.name.is_none()
            && let Some(value) = value_of(text, &NAME)
        {
            let name = scalar::decode(value, 2);
            if name.contains(char::REPLACEMENT_CHARACTER) && std::str::from_utf8(value).is_err() {
                let until = &piece[..body.end - value.len()];
                self.not_utf8.get_or_insert(before + 1 + memchr::memchr_iter(b'\n', until).count() as u32);
            }
            doc.name = Some(name.into_owned());
        }
        if doc.class_id == ClassId::MonoBehaviour as u32
            && doc.script.is_none()
            && let Some(value) = value_of(text, &SCRIPT)
        {
            refs::scan(&value[..value.len().min(160)], 0, |found| {
                doc.script = doc.script.or(Some(found.guid))
            });
        }
    }

    fn close(&mut self, depth: Depth) {
        let Some(doc) = self.open.take() else { return };
        let named = doc.name.as_deref().is_some_and(|name| !name.is_empty());
        let first = !doc.stripped && !self.any;
        self.any |= !doc.stripped;
        let may_be_main = depth == Depth::All && (first || !in_hierarchy(doc.class_id));
        if named || may_be_main {
            self.documents.push(doc);
        }
    }

    /// Returns pairs of documents with the same fileID, class and name, of which a merge has left two: the indices of the
    /// first and of each other one.
    pub(crate) fn duplicates(&self) -> Vec<(usize, usize)> {
        let key = |at: &usize| {
            let doc = &self.documents[*at];
            (doc.file_id, doc.class_id, doc.name.as_deref())
        };
        let is_row = |at: &usize| {
            let doc = &self.documents[*at];
            !doc.stripped
                && !in_hierarchy(doc.class_id)
                && doc.name.as_deref().is_some_and(|name| !name.is_empty())
        };
        let mut order: Vec<usize> = (0..self.documents.len()).filter(is_row).collect();
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        let same = order.chunk_by(|a, b| key(a) == key(b));
        same.flat_map(|same| same[1..].iter().map(|other| (same[0], *other))).collect()
    }

    /// Returns the index of the main object: the one that the `.meta` names, else one with the canonical fileID of its class,
    /// else the first that is no placeholder.
    pub(crate) fn main_object(&self, wanted: Option<i64>) -> Option<usize> {
        let find = |test: &dyn Fn(&Document) -> bool| self.documents.iter().position(test);
        find(&|doc| Some(doc.file_id) == wanted)
            .or_else(|| find(&|doc| doc.file_id == canonical_fid(doc.class_id)))
            .or_else(|| find(&|doc| !doc.stripped))
    }
}

/// Converts offsets, which must ascend, to lines.
struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl LineCounter<'_> {
    fn line_of(&mut self, place: usize) -> u32 {
        let between = self.text.get(self.at..place).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', between).count() as u32;
        self.at = self.at.max(place);
        self.line
    }
}

/// Returns the text after a key at the start of a line.
fn value_of<'a>(text: &'a [u8], key: &Finder<'_>) -> Option<&'a [u8]> {
    let needle = &key.needle()[1..];
    if let Some(rest) = text.strip_prefix(needle) {
        return Some(rest);
    }
    key.find(text).map(|at| &text[at + key.needle().len()..])
}

/// Parses the header of a document: `--- !u!114 &11400000 stripped`.
pub(crate) fn parse_header(text: &[u8]) -> Option<Document> {
    let (class_id, text) = number(text.strip_prefix(b"--- !u!")?)?;
    let text = text.strip_prefix(b" &")?;
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (file_id, text) = number(text)?;
    let stripped = match text.first() {
        // Nearly all headers end here.
        None | Some(b'\n') => false,
        Some(byte) if byte.is_ascii_whitespace() => {
            text.split(|b| *b == b'\n').next()?.trim_ascii() == b"stripped"
        }
        Some(_) => return None,
    };
    Some(Document {
        class_id: class_id.try_into().ok()?,
        file_id: if negative { 0i64.checked_sub_unsigned(file_id)? } else { file_id.try_into().ok()? },
        stripped,
        name: None,
        script: None,
        offset: 0,
    })
}

/// Parses the leading digits of a text. Returns the number and the rest.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut rest) = (0u64, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        rest = after;
    }
    // Twenty digits may overflow.
    (1..=19).contains(&(text.len() - rest.len())).then_some((number, rest))
}

/// Returns the offset at which to split a chunk: before a document or a line at the indentation of a key, so that no scalar
/// continues in the next chunk.
pub(crate) fn split_point(text: &[u8]) -> usize {
    let whole = |at: &usize| {
        let next = text.get(at + 1..).unwrap_or_default();
        next.starts_with(b"--- ") || next.starts_with(b"  ") && next.get(2).is_some_and(|b| *b != b' ')
    };
    let mut breaks = memchr::memrchr_iter(b'\n', text);
    breaks.clone().take(1000).find(whole).or_else(|| breaks.next()).map_or(text.len(), |at| at + 1)
}

/// The distinct references of one file: a list with a hash table of indices.
#[derive(Debug, Default)]
pub(crate) struct RefSet {
    /// The references, in the order of their first occurrence.
    pub(crate) list: Vec<Ref>,
    /// Indices into the list plus 1, by hash; 0 is a free slot.
    slots: Vec<u32>,
}

impl RefSet {
    fn clear(&mut self) {
        self.list.clear();
        self.slots.clear();
    }

    /// Counts a reference. `line` is called for its first occurrence only.
    fn add(&mut self, guid: u128, file_id: i64, line: impl FnOnce() -> u32) {
        const LINEAR_SEARCH_MAX: usize = 8;
        let same = |known: &Ref| known.guid == guid && known.file_id == file_id;
        if self.slots.is_empty() {
            if let Some(known) = self.list.iter_mut().find(|known| same(known)) {
                known.count += 1;
                return;
            }
            self.list.push(Ref { guid, file_id, line: line(), count: 1 });
            if self.list.len() > LINEAR_SEARCH_MAX {
                self.rehash();
            }
            return;
        }
        let slot = self.slot(guid, file_id);
        match self.slots[slot].checked_sub(1) {
            Some(at) => self.list[at as usize].count = self.list[at as usize].count.saturating_add(1),
            None => {
                self.list.push(Ref { guid, file_id, line: line(), count: 1 });
                self.slots[slot] = self.list.len() as u32;
                if self.list.len() * 2 > self.slots.len() {
                    self.rehash();
                }
            }
        }
    }

    /// Returns the slot of a reference, or the free slot for it.
    fn slot(&self, guid: u128, file_id: i64) -> usize {
        let mask = self.slots.len() - 1;
        let mixed = (guid as u64 ^ (guid >> 64) as u64 ^ (file_id as u64).rotate_left(32))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (mixed >> 32) as usize & mask;
        while let Some(known) = self.slots[at].checked_sub(1) {
            let known = &self.list[known as usize];
            if known.guid == guid && known.file_id == file_id {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }

    fn rehash(&mut self) {
        let size = (self.list.len() * 4).next_power_of_two();
        self.slots.clear();
        self.slots.resize(size, 0);
        for at in 0..self.list.len() {
            let slot = self.slot(self.list[at].guid, self.list[at].file_id);
            self.slots[slot] = at as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "8f57b4a070f7b43bbb3925467e6752ab";

    /// Scans a file in one chunk, and again in chunks split as those of a large file are.
    fn scan(text: &str, depth: Depth) -> Scanner {
        let whole = {
            let mut scanner = Scanner::default();
            scanner.feed(text.as_bytes(), 0, depth);
            scanner.finish(depth);
            scanner
        };
        for size in [130, 200, 333] {
            let mut scanner = Scanner::default();
            let (mut start, mut end) = (0, 0);
            while end < text.len() {
                let reach = (end + size).min(text.len());
                let piece = &text.as_bytes()[end..reach];
                let next = if reach == text.len() { reach } else { end + split_point(piece) };
                scanner.feed(&text.as_bytes()[start..next], end - start, depth);
                start = next.saturating_sub(refs::LOOKBEHIND);
                end = next;
            }
            scanner.finish(depth);
            if depth != Depth::References {
                assert_eq!(scanner.documents, whole.documents, "chunks of {size}");
            }
        }
        whole
    }

    fn asset() -> String {
        format!(
            "%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n--- !u!114 &-5\nMonoBehaviour:\n  m_Script: {{fileID: 11500000, guid: {A}, type: 3}}\n  \
             m_Name: 'Bloom''s'\n  list:\n  - m_Name: inner\n    m_Name: deeper\n--- !u!114 &11400000\nMonoBehaviour:\n  \
             m_Script: {{fileID: 11500000, guid: {},\n    type: 3}}\n  m_Name: Profile\n  x: {{fileID: 7, guid: {A}, type: 2}}\n",
            A.replace('8', "9")
        )
    }

    #[test]
    fn main_object_may_follow_others() {
        let scanner = scan(&asset(), Depth::All);
        let main = &scanner.documents[scanner.main_object(None).unwrap()];
        assert_eq!((main.file_id, main.name.as_deref()), (11_400_000, Some("Profile")));
        assert_eq!(main.script, crate::guid::parse(&A.replace('8', "9")));
        assert_eq!(scanner.main_object(Some(-5)), Some(0));
        assert_eq!(scanner.main_object(Some(99)), Some(1), "no document has that fileID");
        assert_eq!(scanner.documents[0].name.as_deref(), Some("Bloom's"));
    }

    #[test]
    fn stripped_documents_are_not_main() {
        let text = "--- !u!74 &55 stripped\nAnimationClip:\n  m_Name: no\n--- !u!74 &66\nAnimationClip:\n  m_Name: yes\n";
        let scanner = scan(text, Depth::All);
        assert_eq!(scanner.documents[scanner.main_object(None).unwrap()].file_id, 66);
        assert!(scanner.documents[0].stripped);
    }

    #[test]
    fn references_have_lines_and_counts() {
        let text = asset();
        let scanner = scan(&text, Depth::References);
        let a = crate::guid::parse(A).unwrap();
        let found: Vec<_> =
            scanner.refs.list.iter().map(|r| (r.guid == a, r.file_id, r.line, r.count)).collect();
        assert_eq!(found, [(true, 11_500_000, 5, 1), (false, 11_500_000, 12, 1), (true, 7, 15, 1)]);
    }

    #[test]
    fn counts_repeated_references() {
        let mut text = String::new();
        for round in 0..3 {
            for n in 0..1000u128 {
                let guid = crate::guid::Guid(n * 0x0101_0101_0101_0101_0101 + 7);
                text += &format!("- {{fileID: {}, guid: {guid}, type: {round}}}\n", n % 3);
            }
        }
        let scanner = scan(&text, Depth::References);
        assert_eq!(scanner.refs.list.len(), 1000);
        assert!(scanner.refs.list.iter().enumerate().all(|(n, r)| r.count == 3 && r.line == n as u32 + 1));
    }

    #[test]
    fn prefab_scan_skips_hierarchy_objects() {
        let text = "--- !u!1 &1\nGameObject:\n  m_Name: Root\n--- !u!74 &7400000\nAnimationClip:\n  m_Name: Spin\n--- !u!114 &3\nMonoBehaviour:\n  m_Name: no\n";
        let scanner = scan(text, Depth::Prefab);
        let names: Vec<_> = scanner.documents.iter().map(|doc| doc.name.as_deref()).collect();
        assert_eq!(names, [Some("Spin")]);
    }

    #[test]
    fn finds_merge_conflict_markers() {
        let scanner = scan("a: 1\nb: 2\n<<<<<<< HEAD\nc: 3\n", Depth::References);
        assert_eq!(scanner.conflict, Some(3));
    }

    #[test]
    fn finds_bom_crlf_and_invalid_utf8() {
        let mut scanner = Scanner::default();
        let text = b"\xef\xbb\xbf%YAML 1.1\r\n--- !u!21 &1\r\nMaterial:\r\n  m_Name: a\xff\r\n";
        scanner.feed(text, 0, Depth::All);
        scanner.finish(Depth::All);
        assert_eq!((scanner.bom, scanner.crlf, scanner.not_utf8), (true, true, Some(4)));
        scanner.clear();
        scanner.feed("--- !u!21 &1\nMaterial:\n  m_Name: \u{fffd}\n".as_bytes(), 0, Depth::All);
        assert_eq!((scanner.bom, scanner.crlf, scanner.not_utf8), (false, false, None));
    }

    #[test]
    fn parses_document_headers() {
        let check = |text: &str, expected: Option<(u32, i64, bool)>| {
            assert_eq!(
                parse_header(text.as_bytes()).map(|d| (d.class_id, d.file_id, d.stripped)),
                expected,
                "{text}"
            );
        };
        check("--- !u!114 &11400000\n", Some((114, 11_400_000, false)));
        check("--- !u!1 &-7 stripped\r\n", Some((1, -7, true)));
        check("--- !u!4294967296 &1\n", None);
        check("--- !u!1 &99999999999999999999\n", None);
        check("--- !u!1 &-9223372036854775808\n", Some((1, i64::MIN, false)));
        check("--- !u!1 &9223372036854775808\n", None);
        check("--- !u!1 &\n", None);
        check("--- !u!1 &7x\n", None);
        check("--- !u!1 &7", Some((1, 7, false)));
        check("--- !u!header\n", None);
        check("---", None);
    }
}
