//! A tokenizer of line-based statements, for OBJ and MTL files.
//!
//! A backslash at the end of a line joins it to the next. Line endings are LF, CRLF or CR.

use std::fmt::Display;

use kiln_diagnostics::{Code, Diag};

use super::number;

/// A text and the current position in it.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of a text, after a byte order mark.
    pub(super) fn new(text: &'a [u8]) -> Cursor<'a> {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        Cursor { text, at: 0, line: 1 }
    }

    /// Returns the current line, from one.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Returns the next two bytes.
    #[inline]
    pub(super) fn peek(&self) -> (Option<u8>, Option<u8>) {
        (self.text.get(self.at).copied(), self.text.get(self.at + 1).copied())
    }

    /// Creates a syntax error on this line.
    pub(super) fn syntax_error(&self, message: impl Display) -> Diag {
        Diag::new(Code::ObjSyntax, message.to_string())
            .at(format_args!("line {}", self.line))
            .hint("correct the line, or export the file again")
    }

    /// Skips whitespace up to the next word or the end of the line.
    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.joins() => {
                    self.at += 1;
                    self.skip_line_break();
                }
                _ => return,
            }
        }
    }

    /// Returns `true` if the backslash here joins two lines.
    fn joins(&self) -> bool {
        matches!(self.text.get(self.at + 1), None | Some(b'\n' | b'\r'))
    }

    /// Skips a line break, if there is one.
    fn skip_line_break(&mut self) {
        match self.peek() {
            (Some(b'\r'), Some(b'\n')) => self.at += 2,
            (Some(b'\r' | b'\n'), _) => self.at += 1,
            _ => return,
        }
        self.line += 1;
    }

    /// Returns `true` at the end of the statement: a line break or a comment. Whitespace has to be skipped before.
    pub(super) fn at_end(&self) -> bool {
        matches!(self.text.get(self.at), None | Some(b'\n' | b'\r' | b'#'))
    }

    /// Skips to the first word of the next statement. Returns `false` at the end of the text.
    pub(super) fn next_statement(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.text.get(self.at) {
                None => return false,
                Some(b'\n' | b'\r') => self.skip_line_break(),
                Some(b'#') => self.skip_comment(),
                Some(_) => return true,
            }
        }
    }

    fn skip_comment(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
    }

    /// Skips a number of bytes.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.text.len());
    }

    /// Returns the next word; empty at the end of the line.
    pub(super) fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let is_end = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let mut length = rest.iter().position(is_end).unwrap_or(rest.len());
        // A line continuation ends the word.
        if rest[..length].ends_with(b"\\") && matches!(rest.get(length), None | Some(b'\n' | b'\r')) {
            length -= 1;
        }
        self.at += length;
        &rest[..length]
    }

    /// Returns the rest of the line, trimmed. Comments are part of it: names may contain number signs.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        loop {
            self.skip_blanks();
            let start = self.at;
            self.skip_comment();
            let piece = &self.text[start..self.at];
            match piece.strip_suffix(b"\\") {
                Some(piece) => {
                    text.extend_from_slice(piece);
                    self.skip_line_break();
                }
                None => {
                    text.extend_from_slice(piece);
                    return text.trim_ascii_end().to_vec();
                }
            }
        }
    }

    /// Parses a finite number.
    #[inline]
    pub(super) fn float(&mut self) -> Result<f32, Diag> {
        self.skip_blanks();
        match number::float(self.text, self.at) {
            Some((value, end)) => {
                self.at = end;
                Ok(value)
            }
            None => Err(self.expected("a finite number")),
        }
    }

    /// Parses a finite number, unless the statement ends.
    pub(super) fn float_or_end(&mut self) -> Result<Option<f32>, Diag> {
        self.skip_blanks();
        if self.at_end() { Ok(None) } else { self.float().map(Some) }
    }

    /// Parses a face vertex, unless the statement ends.
    #[inline(always)]
    pub(super) fn corner_or_end(&mut self) -> Result<Option<[i64; 3]>, Diag> {
        self.skip_blanks();
        match number::corner(self.text, self.at) {
            Some((numbers, end)) => {
                self.at = end;
                Ok(Some(numbers))
            }
            None if self.at_end() => Ok(None),
            None => Err(self.expected("a face vertex such as 1/2/3")),
        }
    }

    #[cold]
    pub(super) fn expected(&mut self, what: &str) -> Diag {
        let diag = |cursor: &Cursor<'_>, found: &str| {
            cursor.syntax_error(format_args!("expected {what}, found {found}"))
        };
        if self.at_end() {
            return diag(self, "the end of the line");
        }
        let word = String::from_utf8_lossy(self.word());
        diag(self, &crate::excerpt(&word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<(usize, String, String)> {
        let mut cursor = Cursor::new(text.as_bytes());
        let mut found = Vec::new();
        while cursor.next_statement() {
            let line = cursor.line();
            let word = String::from_utf8(cursor.word().to_vec()).unwrap();
            found.push((line, word, String::from_utf8(cursor.rest()).unwrap()));
        }
        found
    }

    #[test]
    fn accepts_all_line_endings() {
        let wanted = [(1, "a", "b c"), (3, "d", ""), (4, "e", "f")];
        let wanted = wanted.map(|(line, word, rest)| (line, word.to_owned(), rest.to_owned()));
        for ending in ["\n", "\r\n", "\r"] {
            let text = ["a \t b c  ", "# x", "  d", "\te f"].join(ending);
            assert_eq!(statements(&text), wanted, "{ending:?}");
            assert_eq!(statements(&format!("\u{FEFF}{text}{ending}{ending}")), wanted, "{ending:?}");
        }
    }

    #[test]
    fn a_backslash_joins_lines() {
        let found = statements("usemtl a\\\r\nb\\\n c\nx\\\n y\nmap C:\\dir\\x.png\nlast \\");
        let found: Vec<_> = found.iter().map(|(l, w, r)| (*l, w.as_str(), r.as_str())).collect();
        assert_eq!(
            found,
            [(1, "usemtl", "abc"), (4, "x", "y"), (6, "map", "C:\\dir\\x.png"), (7, "last", "")]
        );
        let mut cursor = Cursor::new(b"1\\\n2 \\\n\\\n3");
        let values: Vec<f32> = std::iter::from_fn(|| cursor.float_or_end().unwrap()).collect();
        assert_eq!((values, cursor.line()), (vec![1.0, 2.0, 3.0], 4));
    }

    #[test]
    fn errors_name_the_line_and_the_word() {
        let mut cursor = Cursor::new(b"\n\n  v 1 nan");
        cursor.next_statement();
        cursor.word();
        cursor.float().unwrap();
        let error = cursor.float().unwrap_err();
        assert_eq!((error.at.as_deref().unwrap_or_default(), error.code.as_str()), ("line 3", "obj-syntax"));
        assert!(error.message.contains("\"nan\""), "{error}");
    }
}
