//! The ignore file of `check`: findings that a project has decided to live with, by code and path.
//!
//! Each line has codes, separated by commas, or `*` for all of them, then a glob for the path that may contain spaces.
//! `**` spans folders. Empty lines and lines that start with `#` are skipped.
//!
//! ```text
//! # imported as it is
//! unity-missing-meta,unity-bom  Assets/Third Party/**
//! *                             Assets/Samples/**
//! ```

use super::check::Finding;
use kiln_engine::glob::{Dialect, Glob};
use kiln_engine::{Code, Diag, nearest};

/// The name of the ignore file in the root of a project.
pub const IGNORE_FILE: &str = ".unity-assetdb-ignore";

/// The rules of an ignore file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IgnoreFile {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// The codes; empty for all.
    codes: Vec<Code>,
    glob: Glob,
}

impl IgnoreFile {
    /// Parses an ignore file.
    ///
    /// # Errors
    /// If a line has no glob, an unknown code or an invalid glob.
    pub fn parse(text: &str) -> Result<IgnoreFile, Diag> {
        let mut rules = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            rules.push(rule(line).map_err(|diag| diag.at(n + 1))?);
        }
        Ok(IgnoreFile { rules })
    }

    /// Returns whether a rule covers the finding.
    pub fn covers(&self, finding: &Finding) -> bool {
        let covers = |rule: &Rule| {
            (rule.codes.is_empty() || rule.codes.contains(&finding.diag.code))
                && rule.glob.matches(finding.path())
        };
        self.rules.iter().any(covers)
    }
}

fn rule(line: &str) -> Result<Rule, Diag> {
    let bad = |message: String| Diag::new(Code::UnityIgnoreFile, message);
    let Some((codes, glob)) = line.split_once(char::is_whitespace) else {
        return Err(bad(format!("expected codes and a glob, found {line:?}"))
            .hint("write `unity-bom Assets/Plugins/**`, or `*` in place of the code"));
    };
    let code = |name: &str| {
        name.parse::<Code>().map_err(|_| {
            let diag = bad(format!("unknown code {name:?}"));
            match nearest(name, Code::ALL.iter().map(|code| code.as_str())) {
                Some(near) => diag.hint(format!("did you mean {near}?")),
                None => diag,
            }
        })
    };
    let codes = match codes {
        "*" => Vec::new(),
        codes => codes.split(',').filter(|name| !name.is_empty()).map(code).collect::<Result<_, _>>()?,
    };
    let glob = glob.trim();
    let glob =
        Glob::new(glob, Dialect::Pak).map_err(|error| bad(format!("invalid glob {glob:?}: {error}")))?;
    Ok(Rule { codes, glob })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: Code, path: &str) -> Finding {
        Finding::new(Diag::new(code, "m").path(path), "")
    }

    #[test]
    fn covers_by_code_and_glob() {
        let text =
            "# comment\n\nunity-bom,unity-missing-meta  Assets/Third Party/**\n* Assets/Samples/*.mat\n";
        let file = IgnoreFile::parse(text).unwrap();
        let check = |code, path, expected| assert_eq!(file.covers(&finding(code, path)), expected, "{path}");
        check(Code::UnityBom, "Assets/Third Party/a/b.cs.meta", true);
        check(Code::UnityBrokenGuid, "Assets/Third Party/a/b.mat", false);
        check(Code::UnityBrokenGuid, "Assets/Samples/b.mat", true);
        check(Code::UnityBrokenGuid, "Assets/Samples/x/b.mat", false);
        check(Code::UnityBom, "", false);
    }

    #[test]
    fn rejects_unknown_codes_and_bad_globs() {
        let error = |text: &str| IgnoreFile::parse(text).unwrap_err().to_string();
        assert!(error("unity-bom").contains("expected codes and a glob"), "{}", error("unity-bom"));
        let unknown = error("# x\nunity-bomb Assets/**\n");
        assert!(unknown.contains("unknown code \"unity-bomb\" (did you mean unity-bom?)"), "{unknown}");
        assert!(error("* Assets/[").contains("invalid glob"));
        assert_eq!(IgnoreFile::parse("\n* a\nx b\n").unwrap_err().at.as_deref(), Some("3"));
    }
}
