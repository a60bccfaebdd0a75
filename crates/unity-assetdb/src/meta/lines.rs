//! The lines of a `.meta` file with their indentation, from which the meaning of a line follows.

/// A line without its indentation and its line ending.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: u32,
    pub(super) indent: usize,
    pub(super) text: &'a [u8],
    /// The bytes from the text to the end of the file: scalars may continue in the next lines.
    pub(super) rest: &'a [u8],
}

impl<'a> Line<'a> {
    /// Returns the value, if the line has this key.
    pub(super) fn value(&self, key: &str) -> Option<&'a [u8]> {
        let text = self.text.strip_prefix(key.as_bytes())?.strip_prefix(b":")?;
        (text.is_empty() || text[0] == b' ').then(|| &self.rest[key.len() + 1..])
    }

    pub(super) fn number_of(&self, key: &str) -> Option<i64> {
        integer(first_line(self.value(key)?))
    }

    /// Returns the line without the dash of a list item.
    pub(super) fn undashed(&self) -> Option<Line<'a>> {
        let text = self.text.strip_prefix(b"-")?;
        let spaces = text.iter().take_while(|b| **b == b' ').count();
        if spaces == 0 && !text.is_empty() {
            return None;
        }
        let skip = 1 + spaces;
        Some(Line { indent: self.indent + skip, text: &self.text[skip..], rest: &self.rest[skip..], ..*self })
    }
}

/// Returns the text up to the end of its line, trimmed.
pub(super) fn first_line(text: &[u8]) -> &[u8] {
    text.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii()
}

pub(super) fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Repeats a byte eight times.
const fn each_byte(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The lines of a file that were not parsed yet.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    number: u32,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Lines<'a> {
        Lines { text, at: 0, number: 0 }
    }

    /// Skips the next lines that are indented by more than `above` and have no relevant key, by the first bytes of the key.
    /// Most lines are skipped here, eight bytes at a time: they are too short for wider SIMD to pay off.
    #[inline]
    pub(super) fn skip_irrelevant(&mut self, above: usize, is_relevant: impl Fn([u8; 4]) -> bool) {
        'lines: while let Some(indent) = self.indent() {
            let start = self.text.get(self.at + indent..).and_then(<[u8]>::first_chunk);
            if indent <= above || start.is_none_or(|start| is_relevant(*start)) {
                return;
            }
            let mut end = self.at + indent;
            while let Some(eight) = self.text.get(end..).and_then(<[u8]>::first_chunk) {
                let breaks = u64::from_le_bytes(*eight) ^ each_byte(b'\n');
                // The lowest zero byte has the lowest bit that remains.
                let found = breaks.wrapping_sub(each_byte(1)) & !breaks & each_byte(0x80);
                if found != 0 {
                    self.at = end + found.trailing_zeros() as usize / 8 + 1;
                    self.number += 1;
                    continue 'lines;
                }
                end += 8;
            }
            return;
        }
    }

    /// Skips all lines up to the next one that is neither indented nor empty.
    pub(super) fn skip_block(&mut self) {
        let rest = &self.text[self.at.min(self.text.len())..];
        for at in memchr::memchr_iter(b'\n', rest) {
            if rest.get(at + 1).is_some_and(|next| !matches!(next, b' ' | b'\n' | b'\r')) {
                self.number += memchr::memchr_iter(b'\n', &rest[..at + 1]).count() as u32;
                self.at += at + 1;
                return;
            }
        }
        self.at = self.text.len();
    }

    /// Returns the indentation of the next line; `None` at the end of the text.
    fn indent(&self) -> Option<usize> {
        let mut indent = 0;
        loop {
            let eight = self.text.get(self.at + indent..)?.first_chunk()?;
            let others = u64::from_le_bytes(*eight) ^ each_byte(b' ');
            indent += others.trailing_zeros() as usize / 8;
            if others != 0 {
                return Some(indent);
            }
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.at += end + 1;
        self.number += 1;
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        let indent = line.iter().take_while(|b| **b == b' ').count();
        Some(Line { number: self.number, indent, text: &line[indent..], rest: &rest[indent..] })
    }
}
