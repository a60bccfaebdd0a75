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

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Diag {
        self.hint = hint.into();
        self
    }
}

/// `error[code]: path:at: message (hint)`, on one line.
impl fmt::Display for Diag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity, self.code)?;
        if !self.path.is_empty() {
            f.write_str(&self.path)?;
            if !self.at.is_empty() {
                write!(f, ":{}", self.at)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
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
}
