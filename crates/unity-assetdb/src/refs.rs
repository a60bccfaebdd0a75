//! References in text: `{fileID: 21300000, guid: 8f57…, type: 3}` and its relatives.
//!
//! A GUID counts wherever a word that ends in `guid` or `GUID` stands before its 32 digits, with at most a few marks
//! between them: so are references in YAML, `m_AssetGUID` of Addressables, `GUID:` of assembly definitions, and those
//! of shader graphs and UI documents found by one scan. The fileID is the one that stands directly before the GUID.

use crate::guid;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// How far before its GUID a fileID may begin.
pub(crate) const BEFORE: usize = 80;

static LOWER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"guid"));
static UPPER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"GUID"));

/// A reference in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The GUID of the asset.
    pub guid: u128,
    /// The object inside it, or 0 when the reference names none.
    pub file_id: i64,
    /// Where the first digit of the GUID is.
    pub at: usize,
    /// Where the reference starts: at `{` or at the fileID, or else at the GUID.
    pub start: usize,
    /// Where it ends: after `}` where it started at `{`, or else after the GUID.
    pub end: usize,
}

/// Every reference that starts at or after `from`, ascending. References without a real GUID are passed over.
pub fn scan(text: &[u8], from: usize, mut each: impl FnMut(Found)) {
    let tail = text.get(from..).unwrap_or_default();
    let mut lower = LOWER.find_iter(tail).map(|at| at + from).peekable();
    let mut upper = UPPER.find_iter(tail).map(|at| at + from).peekable();
    loop {
        let at = match (lower.peek(), upper.peek()) {
            (Some(a), Some(b)) if a > b => upper.next(),
            (None, Some(_)) => upper.next(),
            _ => lower.next(),
        };
        let Some(at) = at else { return };
        if let Some(found) = reference(text, at) {
            each(found);
        }
    }
}

/// The same for a `.meta`, where the word is always written small.
#[cfg(feature = "bake")]
pub(crate) fn scan_meta(text: &[u8], mut each: impl FnMut(Found)) {
    LOWER.find_iter(text).filter_map(|at| reference(text, at)).for_each(&mut each);
}

/// The reference whose `guid` is at `word`.
fn reference(text: &[u8], word: usize) -> Option<Found> {
    let after = text.get(word + 4..)?;
    let marks =
        after.iter().take(8).take_while(|b| matches!(b, b':' | b' ' | b'"' | b'\\' | b'=' | b'\'')).count();
    let digits = after.get(marks..)?.first_chunk::<32>()?;
    if marks == 0 || after.get(marks + 32).is_some_and(u8::is_ascii_hexdigit) {
        return None;
    }
    let guid = guid::parse_bytes(digits)?;
    if guid == 0 {
        return None;
    }
    let at = word + 4 + marks;
    let (mut start, mut end, mut file_id) = (at, at + 32, 0);
    if let Some((id, id_at)) = file_id_before(text, word) {
        file_id = id;
        start = id_at;
        if id_at > 0 && text[id_at - 1] == b'{' {
            start = id_at - 1;
            let rest = &text[end..text.len().min(end + 64)];
            end += memchr::memchr(b'}', rest).map_or(0, |close| close + 1);
        }
    }
    Some(Found { guid, file_id, at, start, end })
}

/// The fileID that ends just before `word`, and where its key starts.
fn file_id_before(text: &[u8], word: usize) -> Option<(i64, usize)> {
    let window = &text[word.saturating_sub(BEFORE)..word];
    let base = word - window.len();
    // Nearly always at one of a few places: the digits of the number lie between.
    let key = memchr::memrchr_iter(b'f', window).find(|at| window[*at..].starts_with(b"fileID"))?;
    let after = &window[key + 6..];
    let marks = after.iter().take_while(|b| matches!(b, b':' | b' ' | b'"' | b'\\' | b'=')).count();
    let digits = after[marks..].iter().take_while(|b| matches!(b, b'-' | b'0'..=b'9')).count();
    let between = &after[marks + digits..];
    let separates =
        |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b'"' | b'\\' | b'&' | b';' | b'a'..=b'z');
    let (plain, joined) = (
        between.iter().all(separates),
        between.len() <= 8 || between.iter().all(|b| !b.is_ascii_lowercase()),
    );
    if !(plain && joined) || digits == 0 {
        return None;
    }
    let id = std::str::from_utf8(&after[marks..marks + digits]).ok()?.parse().ok()?;
    Some((id, base + key))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "8f57b4a070f7b43bbb3925467e6752ab";

    fn check(text: &str, expected: &[(i64, &str)]) {
        let mut found = Vec::new();
        scan(text.as_bytes(), 0, |f| {
            assert_eq!(Some(f.guid), guid::parse(A), "{text}");
            found.push((f.file_id, &text[f.start..f.end]));
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn yaml() {
        let text = format!("  m_Sprite: {{fileID: -42, guid: {A}, type: 3}}\n");
        check(&text, &[(-42, text.trim().split_at(10).1)]);
        let folded = format!(
            "- {{fileID: 2100000, guid: {A},\n    type: 2}}\n- {{fileID: 5,\n    guid: {A}, type: 2}}\n"
        );
        let mut found = Vec::new();
        scan(folded.as_bytes(), 0, |f| found.push(f.file_id));
        assert_eq!(found, [2_100_000, 5]);
        check(&format!("    m_AssetGUID: {A}\n"), &[(0, A)]);
        check(&format!("  - guid: {A}\n"), &[(0, A)]);
        check("  x: {fileID: 7}\n  guid: 00000000000000000000000000000000\n", &[]);
        check(&format!("  guid: {A}0\n  guid: {}\n  guid{A}\n", &A[1..]), &[]);
        // The fileID of another reference is not this one's.
        check(&format!("  x: {{fileID: 7}}\n  guid: {A}\n"), &[(0, A)]);
    }

    #[test]
    fn other_texts() {
        check(&format!("\"references\": [\"GUID:{A}\"]"), &[(0, A)]);
        let json = format!(r#"{{\"fileID\":2800000,\"guid\":\"{A}\",\"type\":3}}"#);
        let mut found = Vec::new();
        scan(json.as_bytes(), 0, |f| found.push(f.file_id));
        assert_eq!(found, [2_800_000]);
        let uxml = format!(
            "src=\"project://database/Assets/a.uss?fileID=7433441132597879392&amp;guid={A}&amp;type=3#a\""
        );
        let mut found = Vec::new();
        scan(uxml.as_bytes(), 0, |f| found.push(f.file_id));
        assert_eq!(found, [7_433_441_132_597_879_392]);
    }

    #[test]
    fn ends_of_text() {
        for end in 0..46 {
            let text = format!("{{fileID: 1, guid: {A}");
            scan(&text.as_bytes()[..end.min(text.len())], 0, |_| panic!("too short"));
        }
        scan(b"", 9, |_| panic!("nothing there"));
    }
}
