//! The baseline of `check`: the findings that a project had when it adopted the check, which are not reported again.
//!
//! A baseline is a text file for version control: one line for each finding with code, path and subject (the GUID or object),
//! separated by tabs and sorted. Lines of files are no part of it, so that unrelated edits do not bring findings back.

use super::check::Finding;
use kiln_engine::{Code, Diag};
use std::collections::BTreeMap;

/// The first line of a baseline.
const HEADER: &str = "# unity-assetdb check --baseline: known findings (code, path, subject)";

/// The known findings of a project, with the number of times that each may occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Baseline {
    known: BTreeMap<String, usize>,
}

/// The comparison of findings with a baseline.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// The findings that the baseline does not contain.
    pub new: Vec<Finding>,
    /// The number of findings that the baseline contains.
    pub known: usize,
    /// The number of lines of the baseline that are no longer found.
    pub fixed: usize,
}

impl Baseline {
    /// Makes a baseline of findings.
    pub fn new(findings: &[Finding]) -> Baseline {
        let mut known = BTreeMap::new();
        for finding in findings {
            *known.entry(key(finding)).or_insert(0) += 1;
        }
        Baseline { known }
    }

    /// Parses a baseline.
    ///
    /// # Errors
    /// If a line does not have three parts, or its code is unknown.
    pub fn parse(text: &str) -> Result<Baseline, Diag> {
        let mut known = BTreeMap::new();
        for (n, line) in text.lines().enumerate() {
            let line = line.trim_end_matches('\r');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let code = line.split('\t').next().unwrap_or_default();
            if line.split('\t').count() != 3 || code.parse::<Code>().is_err() {
                let message = format!("expected code, path and subject separated by tabs, found {line:?}");
                return Err(Diag::new(Code::UnityBaseline, message)
                    .at(n + 1)
                    .hint("write the baseline again with --update-baseline"));
            }
            *known.entry(line.to_owned()).or_insert(0) += 1;
        }
        Ok(Baseline { known })
    }

    /// Formats the baseline as the content of its file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for (line, count) in &self.known {
            (0..*count).for_each(|_| text += &format!("{line}\n"));
        }
        text
    }

    /// Returns the number of findings in the baseline.
    pub fn len(&self) -> usize {
        self.known.values().sum()
    }

    /// Returns whether the baseline has no findings.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Compares findings with the baseline.
    pub fn compare(&self, findings: Vec<Finding>) -> Comparison {
        let mut left = self.known.clone();
        let mut result = Comparison::default();
        for finding in findings {
            match left.get_mut(&key(&finding)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    result.known += 1;
                }
                _ => result.new.push(finding),
            }
        }
        result.fixed = left.values().sum();
        result
    }
}

/// Returns the line of a finding. Tabs and line breaks in names are escaped.
fn key(finding: &Finding) -> String {
    let escape = |text: &str| {
        text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
    };
    format!("{}\t{}\t{}", finding.diag.code, escape(finding.path()), escape(&finding.subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: Code, path: &str, line: u32, subject: &str) -> Finding {
        Finding::new(Diag::new(code, "m").path(path).at(line), subject)
    }

    #[test]
    fn compares_by_code_path_and_subject() {
        let old = [
            finding(Code::UnityBrokenGuid, "a\tb", 3, "x"),
            finding(Code::UnityBrokenGuid, "a", 3, "x"),
            finding(Code::UnityBrokenGuid, "a", 9, "x"),
            finding(Code::UnityBom, "c", 1, ""),
        ];
        let baseline = Baseline::parse(&Baseline::new(&old).to_text()).unwrap();
        assert_eq!(baseline, Baseline::new(&old));
        assert_eq!(baseline.len(), 4);
        let moved = finding(Code::UnityBrokenGuid, "a", 77, "x");
        let new = finding(Code::UnityBrokenGuid, "a", 3, "y");
        let result = baseline.compare(vec![moved.clone(), moved.clone(), moved.clone(), new.clone()]);
        assert_eq!(result.new, [moved, new], "a third one of the same kind is new");
        assert_eq!((result.known, result.fixed), (2, 2));
    }

    #[test]
    fn rejects_malformed_lines() {
        let error = Baseline::parse("# c\n\nunity-bom\ta\n").unwrap_err();
        assert_eq!((error.code, error.at.as_deref()), (Code::UnityBaseline, Some("3")));
        assert!(Baseline::parse("no-such-code\ta\tb\n").is_err());
        assert!(Baseline::parse("").unwrap().is_empty());
    }
}
