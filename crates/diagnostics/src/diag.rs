//! One diagnostic: a stable code, the place it is about, the message, and the remedy.

use crate::Code;
use std::borrow::Cow;
use std::fmt;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The result is usable; something in the source deserves a look.
    Warning,
    /// There is no result.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// One diagnostic about one file, or about the command as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diag {
    /// The kind of diagnostic, which also determines its [severity](Diag::severity).
    pub code: Code,
    /// The file it is about, as the user knows it.
    pub path: Option<String>,
    /// The place in that file: `12:3`, `line 12`, `skins[1]`.
    pub at: Option<String>,
    /// The defect, with the value found.
    pub message: String,
    /// The remedy, where the message does not imply it.
    pub hint: Option<String>,
}

impl Diag {
    /// A diagnostic with this code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Diag {
        Diag { code, path: None, at: None, message: message.into(), hint: None }
    }

    /// The severity, which the code determines.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// Sets the file.
    #[must_use]
    pub fn path(mut self, path: impl fmt::Display) -> Diag {
        self.path = non_empty(path.to_string());
        self
    }

    /// Sets the file, unless one is set already: a caller knows the source, a callee perhaps the file that it includes.
    #[must_use]
    pub fn or_path(mut self, path: impl fmt::Display) -> Diag {
        self.path.get_or_insert_with(|| path.to_string());
        self
    }

    /// Sets the place in the file.
    #[must_use]
    pub fn at(mut self, at: impl fmt::Display) -> Diag {
        self.at = non_empty(at.to_string());
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Diag {
        self.hint = non_empty(hint.into());
        self
    }
}

/// An empty string is as good as none.
fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// `error[code]: path:at: message (hint)`, on one line, with every part [printable].
impl fmt::Display for Diag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity(), self.code)?;
        if let Some(path) = &self.path {
            f.write_str(&printable(path))?;
            if let Some(at) = &self.at {
                write!(f, ":{}", printable(at))?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&printable(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, " ({})", printable(hint)),
            None => Ok(()),
        }
    }
}

/// A string that a terminal shows and does not obey: control characters (C0, DEL and C1, so that there are no escape
/// sequences), line separators and the controls of bidirectional text, which reorder what stands around them, are
/// escaped. Names of files, texts in them and whatever a server says pass through here on their way to a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return text.into();
    }
    let escape = |c: char| if is_unprintable(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect::<String>().into()
}

/// Returns whether [`printable`] escapes a character.
pub fn is_unprintable(c: char) -> bool {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || reorders || matches!(c, '\u{2028}' | '\u{2029}')
}

impl std::error::Error for Diag {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_with_all_its_parts() {
        let diag =
            Diag::new(Code::ImageTooLarge, "99999x99999 texels").path("a/b.png").at("IHDR").hint("resize it");
        assert_eq!(diag.to_string(), "error[image-too-large]: a/b.png:IHDR: 99999x99999 texels (resize it)");
        assert_eq!(Diag::new(Code::LinkIgnored, "what").to_string(), "warning[link-ignored]: what");
    }

    #[test]
    fn terminals_are_not_obeyed() {
        let raw = "a\u{1b}[2J\u{9b}31m\u{7}\u{7f}\r\n\u{202e}cod.exe\u{2066}\u{2069}\u{2028}ü";
        let shown = "a\\u{1b}[2J\\u{9b}31m\\u{7}\\u{7f}\\r\\n\\u{202e}cod.exe\\u{2066}\\u{2069}\\u{2028}ü";
        assert_eq!(printable(raw), shown);
        assert!(matches!(printable("plain ü ß 漢"), Cow::Borrowed(_)));
        let diag = Diag::new(Code::LinkIgnored, raw).path(raw).at(raw).hint(raw);
        assert_eq!(diag.to_string(), format!("warning[link-ignored]: {shown}:{shown}: {shown} ({shown})"));
    }
}
