//! Lint levels: the configuration of which warnings are hidden, shown or treated as errors.

use crate::{Code, Severity};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The level of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintLevel {
    /// The warning is not reported.
    Allow,
    /// The warning is reported.
    Warn,
    /// The warning is reported as an error and fails the command.
    Deny,
}

impl LintLevel {
    /// All levels, from the most lenient.
    pub const ALL: [LintLevel; 3] = [LintLevel::Allow, LintLevel::Warn, LintLevel::Deny];

    /// Returns the name in configuration files.
    pub const fn as_str(self) -> &'static str {
        match self {
            LintLevel::Allow => "allow",
            LintLevel::Warn => "warn",
            LintLevel::Deny => "deny",
        }
    }
}

impl fmt::Display for LintLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LintLevel {
    type Err = ();

    fn from_str(name: &str) -> Result<LintLevel, ()> {
        LintLevel::ALL.into_iter().find(|level| level.as_str() == name).ok_or(())
    }
}

/// The levels of all warnings. A code without a level of its own has [`LintLevel::Warn`]; errors are always denied.
///
/// ```
/// use kiln_diagnostics::{Code, LintLevel, LintPolicy, Severity};
///
/// let mut policy = LintPolicy::default();
/// policy.set(Code::SymlinkIgnored, LintLevel::Allow);
/// policy.deny_warnings();
/// assert_eq!(policy.severity(Code::SymlinkIgnored), None, "an allowed warning stays allowed");
/// assert_eq!(policy.severity(Code::CleanKept), Some(Severity::Error));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintPolicy {
    levels: BTreeMap<Code, LintLevel>,
    deny_warnings: bool,
}

impl LintPolicy {
    /// Sets the level of one code. The level of an error cannot be changed: for such a code there is no effect.
    pub fn set(&mut self, code: Code, level: LintLevel) {
        self.levels.insert(code, level);
    }

    /// Treats every warning that is not allowed as an error.
    pub fn deny_warnings(&mut self) {
        self.deny_warnings = true;
    }

    /// Adds the levels of another policy, which take precedence.
    pub fn extend(&mut self, other: &LintPolicy) {
        self.levels.extend(&other.levels);
        self.deny_warnings |= other.deny_warnings;
    }

    /// Returns the level of a code.
    pub fn level(&self, code: Code) -> LintLevel {
        if code.severity() == Severity::Error {
            return LintLevel::Deny;
        }
        match self.levels.get(&code).copied().unwrap_or(LintLevel::Warn) {
            LintLevel::Warn if self.deny_warnings => LintLevel::Deny,
            level => level,
        }
    }

    /// Returns the severity that diagnostics with this code are reported with; `None` if they are not reported.
    pub fn severity(&self, code: Code) -> Option<Severity> {
        match self.level(code) {
            LintLevel::Allow => None,
            LintLevel::Warn => Some(Severity::Warning),
            LintLevel::Deny => Some(Severity::Error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_levels_take_precedence_and_errors_stay_errors() {
        let (mut project, mut command_line) = (LintPolicy::default(), LintPolicy::default());
        project.set(Code::CleanKept, LintLevel::Allow);
        project.set(Code::SymlinkIgnored, LintLevel::Deny);
        project.set(Code::FileEmpty, LintLevel::Allow);
        assert_eq!(project.level(Code::CleanKept), LintLevel::Allow);
        assert_eq!(project.level(Code::FileEmpty), LintLevel::Deny);
        assert_eq!(project.level(Code::ConfigUnknownKey), LintLevel::Warn);
        command_line.set(Code::CleanKept, LintLevel::Deny);
        project.extend(&command_line);
        assert_eq!(project.level(Code::CleanKept), LintLevel::Deny);
        assert_eq!(project.level(Code::SymlinkIgnored), LintLevel::Deny);
    }

    #[test]
    fn level_names_parse_back() {
        for level in LintLevel::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert_eq!("Deny".parse::<LintLevel>(), Err(()));
    }
}
