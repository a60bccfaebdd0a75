//! The diagnostic type: a stable code, a location, a message and a hint.

use crate::Code;
use std::borrow::Cow;
use std::fmt;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The result is usable, but something in the source should be corrected.
    Warning,
    /// The asset or the command failed, so there is no result.
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

/// A diagnostic about a file, or about the command as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diag {
    /// The kind of diagnostic, which also determines its [severity](Diag::severity).
    pub code: Code,
    /// The file that the diagnostic is about, as the user refers to it.
    pub path: Option<String>,
    /// The location in that file: `12:3`, `line 12`, `skins[1]`.
    pub at: Option<String>,
    /// The problem, with the value that was found.
    pub message: String,
    /// The suggested fix, where the message does not imply it.
    pub hint: Option<String>,
}

impl Diag {
    /// Makes a diagnostic with a code and a message.
    pub fn new(code: Code, message: impl Into<String>) -> Diag {
        Diag { code, path: None, at: None, message: message.into(), hint: None }
    }

    /// Returns the severity, which the code determines.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// Sets the file that the diagnostic is about.
    #[must_use]
    pub fn path(mut self, path: impl fmt::Display) -> Diag {
        self.path = non_empty(path.to_string());
        self
    }

    /// Sets the file, unless one is set already: a caller knows the source, a callee may know the included file.
    #[must_use]
    pub fn or_path(mut self, path: impl fmt::Display) -> Diag {
        self.path.get_or_insert_with(|| path.to_string());
        self
    }

    /// Sets the location in the file; an empty string clears it.
    #[must_use]
    pub fn at(mut self, at: impl fmt::Display) -> Diag {
        self.at = non_empty(at.to_string());
        self
    }

    /// Sets the suggested fix; an empty string clears it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Diag {
        self.hint = non_empty(hint.into());
        self
    }
}

/// Returns `None` for an empty string.
fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Formats as `error[code]: path:at: message (hint)` on one line, with every part [printable].
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

/// Escapes a string for output to a terminal: control characters (C0, DEL and C1, so that no escape sequence remains),
/// line separators and bidirectional formatting characters, which reorder the text around them. File names, strings from
/// files and responses of servers are escaped before they are printed.
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
    fn displays_all_parts_on_one_line() {
        let diag =
            Diag::new(Code::ImageTooLarge, "99999x99999 texels").path("a/b.png").at("IHDR").hint("resize it");
        assert_eq!(diag.to_string(), "error[image-too-large]: a/b.png:IHDR: 99999x99999 texels (resize it)");
        assert_eq!(
            Diag::new(Code::SymlinkIgnored, "dangling").to_string(),
            "warning[symlink-ignored]: dangling"
        );
    }

    #[test]
    fn escapes_terminal_control_characters() {
        let raw = "a\u{1b}[2J\u{9b}31m\u{7}\u{7f}\r\n\u{202e}cod.exe\u{2066}\u{2069}\u{2028}ü";
        let shown = "a\\u{1b}[2J\\u{9b}31m\\u{7}\\u{7f}\\r\\n\\u{202e}cod.exe\\u{2066}\\u{2069}\\u{2028}ü";
        assert_eq!(printable(raw), shown);
        assert!(matches!(printable("plain ü ß 漢"), Cow::Borrowed(_)));
        let diag = Diag::new(Code::SymlinkIgnored, raw).path(raw).at(raw).hint(raw);
        assert_eq!(diag.to_string(), format!("warning[symlink-ignored]: {shown}:{shown}: {shown} ({shown})"));
    }
}
