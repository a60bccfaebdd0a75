//! Finds references in text: `{fileID: 21300000, guid: 8f57…, type: 3}` and similar notations.
//!
//! A GUID counts wherever a word that ends in `guid`, in any case, stands before its 32 digits, with at most a few marks
//! or a line break between them: so are references in YAML, `m_AssetGUID` of Addressables, `sceneGuid:`, `GUID:` of assembly
//! definitions, and those of shader graphs and UI documents found by one scan. The fileID is the one that stands directly
//! before the GUID. [`scan_plain_keys`] finds GUIDs after the few other keys that Unity's packages use.

use crate::guid;
use memchr::memmem::Finder;
use std::ops::Range;
use std::sync::LazyLock;

/// The maximum distance in bytes between the start of a fileID and its GUID.
pub(crate) const LOOKBEHIND: usize = 80;

static LOWER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"guid"));
// The end of `guid` and `Guid`, so that one search finds both.
static LOWER_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"uid"));
static UPPER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"GUID"));

/// The keys whose value is a GUID although they do not say so: of Localization and of Shader Graph.
const PLAIN_KEYS: [&[u8]; 2] = [b"m_Localized", b"m_FunctionSource"];

/// A reference that was found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundReference {
    /// The GUID of the asset.
    pub guid: u128,
    /// The fileID of the object inside the asset; 0 if the reference has none.
    pub file_id: i64,
    /// The offset of the first digit of the GUID.
    pub at: usize,
    /// The offset of the key `fileID`, or of the GUID where there is none.
    pub key: usize,
}

impl FoundReference {
    /// Returns the range of the whole reference in its text: with the braces around it, or else from the fileID to the end
    /// of the GUID.
    pub fn span(&self, text: &[u8]) -> Range<usize> {
        let end = self.at + 32;
        let before = self.key.checked_sub(1).filter(|at| self.key < self.at && text.get(*at) == Some(&b'{'));
        let Some(start) = before else { return self.key..end };
        let rest = text.get(end..text.len().min(end + 64)).unwrap_or_default();
        start..end + memchr::memchr(b'}', rest).map_or(0, |close| close + 1)
    }
}

/// Calls `each` for every reference that starts at or after `from`, ascending. A GUID of zeros is no reference.
pub fn scan(text: &[u8], from: usize, mut each: impl FnMut(FoundReference)) {
    let tail = text.get(from..).unwrap_or_default();
    let is_key = |at: &usize| *at > 0 && matches!(text[at - 1], b'g' | b'G');
    let mut lower = LOWER_END.find_iter(tail).map(|at| at + from).filter(is_key).map(|at| at - 1).peekable();
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

/// Scans a `.meta`, where the key is always in lower case.
#[cfg(feature = "bake")]
pub(crate) fn scan_meta(text: &[u8], mut each: impl FnMut(FoundReference)) {
    LOWER.find_iter(text).filter_map(|at| reference(text, at)).for_each(&mut each);
}

/// Parses the reference whose key `guid` is at `word`.
fn reference(text: &[u8], word: usize) -> Option<FoundReference> {
    let after = text.get(word + 4..)?;
    let marks = match after {
        // As YAML has it.
        [b':', b' ', b'0'..=b'9' | b'a'..=b'f', ..] => 2,
        _ => after.iter().take(MAX_MARKS).take_while(|b| is_mark(**b)).count(),
    };
    let digits = after.get(marks..)?.first_chunk::<32>()?;
    if marks == 0 || after.get(marks + 32).is_some_and(u8::is_ascii_hexdigit) {
        return None;
    }
    let guid = guid::parse_bytes(digits)?;
    if guid == 0 {
        return None;
    }
    let at = word + 4 + marks;
    let window = &text[word.saturating_sub(LOOKBEHIND)..word];
    let found = common_file_id(window).or_else(|| file_id_before(window));
    let (file_id, key) = found.map_or((0, at), |(id, key)| (id, word - window.len() + key));
    Some(FoundReference { guid, file_id, at, key })
}

/// The maximum number of bytes between a key and its GUID: marks, or a line break with the indentation after it.
const MAX_MARKS: usize = 24;

fn is_mark(byte: u8) -> bool {
    matches!(byte, b':' | b' ' | b'"' | b'\\' | b'=' | b'\'' | b'\n' | b'\r')
}

/// Calls `each` for every GUID at or after `from` that stands alone after one of the keys of Unity's packages that do not
/// end in `guid`: `m_Localized` of Localization, `m_FunctionSource` of Shader Graph. Not in ascending order.
pub fn scan_plain_keys(text: &[u8], from: usize, mut each: impl FnMut(FoundReference)) {
    for key in PLAIN_KEYS {
        for at in memchr::memmem::find_iter(text.get(from..).unwrap_or_default(), key) {
            let end = from + at + key.len();
            let marks = text[end..].iter().take(MAX_MARKS).take_while(|b| is_mark(**b)).count();
            let Some(digits) = text.get(end + marks..).and_then(<[u8]>::first_chunk::<32>) else { continue };
            let after = text.get(end + marks + 32);
            if marks > 0
                && !after.is_some_and(u8::is_ascii_alphanumeric)
                && let Some(guid) = guid::parse_bytes(digits).filter(|guid| *guid != 0)
            {
                each(FoundReference { guid, file_id: 0, at: end + marks, key: end + marks });
            }
        }
    }
}

/// Parses a fileID in the form in which Unity writes nearly all of them, `fileID: 21300000, `, at the end of a window.
/// Returns the fileID and the offset of its key.
fn common_file_id(window: &[u8]) -> Option<(i64, usize)> {
    let mut before = window.strip_suffix(b", ")?;
    // From the last digit to the first. Any 18 digits fit an i64.
    let (mut id, mut scale) = (0, 1);
    while let [rest @ .., digit @ b'0'..=b'9'] = before
        && scale < 1_000_000_000_000_000_000
    {
        id += i64::from(digit - b'0') * scale;
        scale *= 10;
        before = rest;
    }
    let (before, negative) = match before.strip_suffix(b"-") {
        Some(before) => (before, true),
        None => (before, false),
    };
    let key = before.strip_suffix(b"fileID: ").filter(|_| scale > 1)?.len();
    Some((if negative { -id } else { id }, key))
}

/// Parses a fileID in any notation at the end of a window. Returns the fileID and the offset of its key.
fn file_id_before(window: &[u8]) -> Option<(i64, usize)> {
    // Searched backwards: the key is only the digits of the number away.
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
    Some((id, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "8f57b4a070f7b43bbb3925467e6752ab";

    fn check(text: &str, expected: &[(i64, &str)]) {
        let mut found = Vec::new();
        scan(text.as_bytes(), 0, |f| {
            assert_eq!(Some(f.guid), guid::parse(A), "{text}");
            found.push((f.file_id, &text[f.span(text.as_bytes())]));
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
        check(&format!("  sceneGuid: {A}\n"), &[(0, A)]);
        check(&format!("  m_AddressableAssetSettingsGuid: {A}\n  Guid: {A}\n"), &[(0, A), (0, A)]);
        check(
            &format!("  x: {{fileID: 7, guid:\n      {A}, type: 3}}\n"),
            &[(7, &format!("{{fileID: 7, guid:\n      {A}, type: 3}}"))],
        );
        check(&format!("uid: {A}\n"), &[]);
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
    fn plain_keys() {
        let text = format!(
            "  m_Localized: {A}\n  m_Localized: hello\n\"m_FunctionSource\": \"{A}\"\n m_Localized: {A}x"
        );
        let mut found = Vec::new();
        scan_plain_keys(text.as_bytes(), 0, |f| found.push(&text[f.at..f.at + 32]));
        assert_eq!(found, [A, A]);
    }

    #[test]
    fn both_ways_read_the_same_numbers() {
        for id in
            [0, 7, -7, 21_300_000, i64::MAX, i64::MIN, 999_999_999_999_999_999, -1_000_000_000_000_000_000]
        {
            let text = format!("x: {{fileID: {id}, ");
            assert_eq!(file_id_before(text.as_bytes()), Some((id, 4)), "{id}");
            let usual = common_file_id(text.as_bytes());
            assert!(usual == Some((id, 4)) || usual.is_none() && id.unsigned_abs() >= 10u64.pow(18), "{id}");
        }
        for text in ["fileID: , ", "fileID: -, ", "fileID: x7, ", "fileId: 7, ", "7, ", ", ", ""] {
            assert_eq!(common_file_id(text.as_bytes()), None, "{text}");
        }
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
