//! Scalars of Unity's YAML: plain, `'single'` and `"double"` quoted, folded over several lines.
//!
//! Unity writes names verbatim where it can, quotes them where YAML asks for it, escapes what is not ASCII as `\uXXXX`
//! and folds long ones at spaces. Invalid UTF-8 is replaced; a scalar is truncated after [`MAX_LEN`] bytes.

use std::borrow::Cow;

/// The maximum length of a scalar in bytes.
const MAX_LEN: usize = 64 << 10;

/// Decodes the scalar that starts at `text` (just after the colon) of a key that is indented by `indent`.
pub(crate) fn decode(text: &[u8], indent: usize) -> Cow<'_, str> {
    let text = &text[..text.len().min(MAX_LEN)];
    let skip = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let text = &text[skip..];
    match text.first() {
        Some(b'\'') => single(&text[1..]).into(),
        Some(b'"') => double(&text[1..]).into(),
        _ => plain(text, indent),
    }
}

/// Decodes a plain scalar: its line, and following lines that are indented more deeply than its key.
fn plain(text: &[u8], indent: usize) -> Cow<'_, str> {
    let mut lines = text.split(|b| *b == b'\n');
    let first = comment_off(trim(lines.next().unwrap_or_default()));
    let deeper = |line: &&[u8]| {
        let spaces = line.iter().take_while(|b| **b == b' ').count();
        spaces > indent && !trim(line).is_empty()
    };
    let mut more = lines.take_while(deeper).peekable();
    if more.peek().is_none() || first.is_empty() {
        return String::from_utf8_lossy(first);
    }
    let mut joined = first.to_vec();
    for line in more {
        joined.push(b' ');
        joined.extend_from_slice(trim(line));
    }
    String::from_utf8_lossy(&joined).into_owned().into()
}

/// Strips a trailing ` # comment`.
fn comment_off(line: &[u8]) -> &[u8] {
    match line.windows(2).position(|pair| pair == b" #") {
        Some(at) => trim(&line[..at]),
        None => line,
    }
}

fn trim(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

fn single(text: &[u8]) -> String {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\'' if text.get(at + 1) == Some(&b'\'') => {
                out.push(b'\'');
                at += 1;
            }
            b'\'' => break,
            b'\n' => at = fold(text, at, &mut out),
            byte => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn double(text: &[u8]) -> String {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => break,
            b'\n' => at = fold(text, at, &mut out),
            b'\\' => {
                at += 1;
                at = escape(text, at, &mut out);
            }
            byte => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Folds line breaks inside quotes: one becomes a space, `n` become `n - 1` breaks; the indentation of the next line is
/// dropped. Returns the offset of the last byte of the break.
fn fold(text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    while out.last().is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r')) {
        out.pop();
    }
    let rest = text.get(at..).unwrap_or_default();
    let blank = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let breaks = rest[..blank].iter().filter(|b| **b == b'\n').count();
    match breaks {
        0 | 1 => out.push(b' '),
        more => out.extend(std::iter::repeat_n(b'\n', more - 1)),
    }
    at + blank.max(1) - 1
}

/// Decodes the escape sequence whose letter is at `at`. Returns the offset of its last byte.
fn escape(text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let hex = |from: usize, digits: usize| {
        let digits = text.get(from..from + digits)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut put = |value: Option<u32>| {
        let c = value.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    };
    match text.get(at) {
        Some(b'x') => {
            put(hex(at + 1, 2));
            return at + 2;
        }
        Some(b'U') => {
            put(hex(at + 1, 8));
            return at + 8;
        }
        Some(b'u') => {
            let first = hex(at + 1, 4);
            // Unity writes code points beyond the basic multilingual plane as surrogate pairs.
            if let Some(high @ 0xD800..0xDC00) = first
                && text.get(at + 5..at + 7) == Some(b"\\u")
                && let Some(low @ 0xDC00..0xE000) = hex(at + 7, 4)
            {
                put(Some(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
                return at + 10;
            }
            put(first);
            return at + 4;
        }
        Some(b'\n') => {
            // An escaped line break joins the lines.
            let blank = text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
            return at + blank - 1;
        }
        Some(b'\r') if text.get(at + 1) == Some(&b'\n') => {
            let blank = text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
            return at + blank - 1;
        }
        Some(b'n') => out.push(b'\n'),
        Some(b't') => out.push(b'\t'),
        Some(b'r') => out.push(b'\r'),
        Some(b'0') => out.push(0),
        Some(b'a') => out.push(7),
        Some(b'b') => out.push(8),
        Some(b'v') => out.push(11),
        Some(b'f') => out.push(12),
        Some(b'e') => out.push(27),
        Some(b'_') => put(Some(0xA0)),
        Some(b'N') => put(Some(0x85)),
        Some(b'L') => put(Some(0x2028)),
        Some(b'P') => put(Some(0x2029)),
        Some(other) => out.push(*other),
        None => {}
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(decode(text.as_bytes(), 2), expected, "{text:?}");
    }

    #[test]
    fn decodes_plain_scalars() {
        check(" TX_FlagBig_Main\n  next: 1", "TX_FlagBig_Main");
        check(" TX\r\n  next: 1", "TX");
        check("\n  next: 1", "");
        check(" a#b # remark\n", "a#b");
        check(" a long name that was\n    folded here\n  next: 1", "a long name that was folded here");
        check("\n    - list", "");
    }

    #[test]
    fn decodes_quoted_scalars() {
        check(" 'it''s #1'\n", "it's #1");
        check(" ''\n", "");
        check(r#" "\u30C6\u30B9\u30C8""#, "テスト");
        check(r#" "\U0001F600 \uD83D\uDE00 \x41\t\"\\""#, "😀 😀 A\t\"\\");
        check(r#" "\uD83D alone \uZZZZ""#, "\u{fffd} alone \u{fffd}");
        check(" \"folded\n    here\n\n    twice\"\n", "folded here\ntwice");
        check(" 'folded\n    here'\n", "folded here");
        check(" \"joined\\\n    here\"", "joinedhere");
        check(" \"never closed", "never closed");
        check(" \"ends in \\", "ends in ");
    }

    #[test]
    fn replaces_invalid_utf8() {
        assert_eq!(decode(b" a\xffb\n", 0), "a\u{fffd}b");
        assert_eq!(decode(b" 'a\xffb'", 0), "a\u{fffd}b");
    }
}
