//! What a person reads: one finding with a stable code, the place it is about, and what to do.
//!
//! Every code in the workspace stands in `docs/diagnostics.md`; a test compares both ways.

use std::borrow::Cow;
use std::fmt;

/// How bad a finding is.
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

/// One finding about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diag {
    /// Error or warning.
    pub severity: Severity,
    /// Stable, kebab-case, listed in `docs/diagnostics.md`.
    pub code: Cow<'static, str>,
    /// The file it is about, as the user knows it; empty when it is about none.
    pub path: String,
    /// The place in that file: `12:3`, `line 12`, `skins[1]`; empty when it is about the whole.
    pub at: String,
    /// What is wrong, with the value found.
    pub message: String,
    /// What to do about it; empty when that is plain.
    pub hint: String,
}

impl Diag {
    /// An error with this code and message.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diag {
        Diag::new(Severity::Error, code, message)
    }

    /// A warning with this code and message.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diag {
        Diag::new(Severity::Warning, code, message)
    }

    fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Diag {
        Diag {
            severity,
            code: Cow::Borrowed(code),
            path: String::new(),
            at: String::new(),
            message: message.into(),
            hint: String::new(),
        }
    }

    /// Names the file.
    pub fn path(mut self, path: impl fmt::Display) -> Diag {
        self.path = path.to_string();
        self
    }

    /// Names the place in the file.
    pub fn at(mut self, at: impl fmt::Display) -> Diag {
        self.at = at.to_string();
        self
    }

    /// Returns whether the code has the form of one: words of small letters and digits with hyphens between them.
    pub(crate) fn has_code(&self) -> bool {
        let word = |word: &str| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        self.code.len() <= 64 && self.code.split('-').all(word)
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Diag {
        self.hint = hint.into();
        self
    }
}

/// `error[code]: path:at: message (hint)`, on one line, with every part [printable].
impl fmt::Display for Diag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity, printable(&self.code))?;
        if !self.path.is_empty() {
            f.write_str(&printable(&self.path))?;
            if !self.at.is_empty() {
                write!(f, ":{}", printable(&self.at))?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&printable(&self.message))?;
        if !self.hint.is_empty() {
            write!(f, " ({})", printable(&self.hint))?;
        }
        Ok(())
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
            Diag::error("image-too-large", "99999x99999 texels").path("a/b.png").at("IHDR").hint("resize it");
        assert_eq!(diag.to_string(), "error[image-too-large]: a/b.png:IHDR: 99999x99999 texels (resize it)");
        assert_eq!(Diag::warning("odd", "what").to_string(), "warning[odd]: what");
    }

    #[test]
    fn terminals_are_not_obeyed() {
        let raw = "a\u{1b}[2J\u{9b}31m\u{7}\u{7f}\r\n\u{202e}cod.exe\u{2066}\u{2069}\u{2028}ü";
        let shown = "a\\u{1b}[2J\\u{9b}31m\\u{7}\\u{7f}\\r\\n\\u{202e}cod.exe\\u{2066}\\u{2069}\\u{2028}ü";
        assert_eq!(printable(raw), shown);
        assert!(matches!(printable("plain ü ß 漢"), Cow::Borrowed(_)));
        let diag = Diag { code: raw.into(), ..Diag::warning("odd", raw) }.path(raw).at(raw).hint(raw);
        assert_eq!(diag.to_string(), format!("warning[{shown}]: {shown}:{shown}: {shown} ({shown})"));
    }
}
