//! Output of diagnostics: the message formats, the lint levels of the command line, and the count of denied warnings.
//!
//! A tool flattens [`DiagnosticArgs`] into its arguments and passes every diagnostic to
//! [`Reporter::say`](crate::reporter::Reporter::say), which applies the lint levels and the message format.
//! [`Reporter::run`](crate::reporter::Reporter::run) fails the command if a denied warning was reported, and writes the SARIF
//! document.

mod explain;
mod github;
pub(crate) mod groups;
mod location;
mod sarif;

pub use explain::parse_arguments;
pub use location::Position;

use crate::render;
use crate::terminal::{Color, Out, Style};
use clap::{Args, ValueEnum};
use kiln_engine::{Code, Diag, Json, LintLevel, LintPolicy, Severity, nearest};
use location::PathBases;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The format of diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum MessageFormat {
    /// Text for people, on standard error
    #[default]
    Human,
    /// One JSON object per line, on standard output
    Json,
    /// Workflow commands of GitHub Actions, which annotate the files of a pull request
    Github,
    /// One SARIF 2.1.0 document, on standard output
    Sarif,
}

/// An argument of `--deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denied {
    Warnings,
    Code(Code),
}

/// The diagnostics flags that all tools share.
#[derive(Args, Clone, Debug, Default)]
pub struct DiagnosticArgs {
    /// Set the format of diagnostics
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT", global = true)]
    message_format: MessageFormat,
    /// Treat warnings as errors: all of them (`warnings`), or those with a code; repeatable
    #[arg(long, value_name = "CODE", value_parser = parse_denied, global = true)]
    deny: Vec<Denied>,
    /// Treat warnings as errors; the same as --deny warnings
    #[arg(long, global = true)]
    strict: bool,
    /// Explain a diagnostic code and exit
    #[arg(long, value_name = "CODE", value_parser = parse_code)]
    explain: Option<Code>,
}

impl DiagnosticArgs {
    /// Returns the lint levels that the command line sets.
    pub fn policy(&self) -> LintPolicy {
        let mut policy = LintPolicy::default();
        if self.strict {
            policy.deny_warnings();
        }
        for denied in &self.deny {
            match *denied {
                Denied::Warnings => policy.deny_warnings(),
                Denied::Code(code) => policy.set(code, LintLevel::Deny),
            }
        }
        policy
    }
}

fn parse_denied(text: &str) -> Result<Denied, String> {
    match text {
        "warnings" => Ok(Denied::Warnings),
        code => parse_code(code).map(Denied::Code),
    }
}

/// Parses a diagnostic code; the error has a suggestion.
///
/// # Errors
///
/// The message for the user if no diagnostic has this code.
pub fn parse_code(text: &str) -> Result<Code, String> {
    text.parse().map_err(|_| {
        let near = nearest(text, Code::ALL.iter().map(|code| code.as_str()));
        let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        format!("no diagnostic has this code{near}")
    })
}

/// The destination of the diagnostics of one run.
#[derive(Debug)]
pub struct Diagnostics {
    format: MessageFormat,
    command_line: LintPolicy,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The lint levels in effect.
    policy: LintPolicy,
    /// The number of warnings that were reported as errors.
    denied: usize,
    /// The diagnostics for the SARIF document.
    collected: Vec<(Severity, Diag)>,
    bases: PathBases,
}

impl Diagnostics {
    /// Makes a destination from the flags of the command line.
    pub fn new(args: &DiagnosticArgs) -> Diagnostics {
        let policy = args.policy();
        let state = State { policy: policy.clone(), ..State::default() };
        Diagnostics { format: args.message_format, command_line: policy, state: Mutex::new(state) }
    }

    /// Returns the format of diagnostics.
    pub fn format(&self) -> MessageFormat {
        self.format
    }

    /// Sets the lint levels of the project. Those of the command line take precedence.
    pub fn set_project_levels(&self, project: &LintPolicy) {
        let mut policy = project.clone();
        policy.extend(&self.command_line);
        self.state().policy = policy;
    }

    /// Sets the directories that relative paths in diagnostics refer to, for the formats that need the location of the
    /// file: the first directory that has such a file applies.
    pub fn set_path_bases(&self, bases: &[&Path]) {
        self.state().bases.set(bases.iter().map(|base| PathBuf::from(*base)).collect());
    }

    /// Returns the severity that diagnostics with a code are reported with; `None` if they are not reported.
    pub fn severity(&self, code: Code) -> Option<Severity> {
        self.state().policy.severity(code)
    }

    /// Returns the number of denied warnings so far.
    pub fn denied(&self) -> usize {
        self.state().denied
    }

    /// Forgets the denied warnings so far, for a command whose exit code does not depend on them.
    pub fn reset_denied(&self) {
        self.state().denied = 0;
    }

    /// Counts a diagnostic and returns the severity that it is reported with; `None` if it is not reported.
    pub(crate) fn count(&self, diag: &Diag) -> Option<Severity> {
        let mut state = self.state();
        let severity = state.policy.severity(diag.code)?;
        if severity > diag.severity() {
            state.denied += 1;
        }
        Some(severity)
    }

    /// Writes a diagnostic in a format other than [`MessageFormat::Human`]. With `json`, standard output holds the result
    /// of the command, so diagnostics are written to standard error.
    pub(crate) fn write(&self, diag: &Diag, severity: Severity, json: bool) {
        let mut state = self.state();
        let path = diag.path.as_deref().map(|path| state.bases.locate(path));
        let line = match self.format {
            // A document cannot share standard output with the result, which is a usage error.
            MessageFormat::Sarif if json => {
                render::diag_with_severity(diag, severity, Style::of(&io::stderr(), Color::Auto))
            }
            MessageFormat::Human => {
                render::diag_with_severity(diag, severity, Style::of(&io::stderr(), Color::Auto))
            }
            MessageFormat::Json => {
                let mut object = render::diag_json_with_severity(diag, severity);
                if let (Json::Object(members), Some(path)) = (&mut object, path) {
                    members.push(("file".to_owned(), path.into()));
                }
                object.to_string()
            }
            MessageFormat::Github => github::command(diag, severity, path.as_deref()),
            MessageFormat::Sarif => {
                let mut diag = diag.clone();
                diag.path = path;
                state.collected.push((severity, diag));
                return;
            }
        };
        match json {
            true => _ = writeln!(io::stderr(), "{line}"),
            false => Out::new(Color::Never).line(&line),
        }
    }

    /// Writes the SARIF document, if that is the format.
    pub(crate) fn finish(&self, tool: &str, exit_code: u8) {
        if self.format == MessageFormat::Sarif {
            let state = self.state();
            let document = sarif::document(tool, exit_code, &state.collected);
            Out::new(Color::Never).line(&document.to_string());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(deny: &[&str]) -> DiagnosticArgs {
        let deny = deny.iter().map(|text| parse_denied(text).unwrap()).collect();
        DiagnosticArgs { deny, ..DiagnosticArgs::default() }
    }

    #[test]
    fn command_line_takes_precedence_over_project() {
        let output = Diagnostics::new(&args(&["clean-kept"]));
        let mut project = LintPolicy::default();
        project.set(Code::CleanKept, LintLevel::Allow);
        project.set(Code::SymlinkIgnored, LintLevel::Allow);
        output.set_project_levels(&project);
        assert_eq!(output.severity(Code::CleanKept), Some(Severity::Error));
        assert_eq!(output.severity(Code::SymlinkIgnored), None);
        assert_eq!(output.count(&Diag::new(Code::SymlinkIgnored, "a")), None);
        assert_eq!(output.denied(), 0);
        assert_eq!(output.count(&Diag::new(Code::CleanKept, "a")), Some(Severity::Error));
        assert_eq!(output.count(&Diag::new(Code::FileEmpty, "a")), Some(Severity::Error));
        assert_eq!(output.denied(), 1, "an error is no denied warning");
    }

    #[test]
    fn unknown_code_has_a_suggestion() {
        assert_eq!(
            parse_denied("symlink-ignore").unwrap_err(),
            "no diagnostic has this code; did you mean 'symlink-ignored'?"
        );
        assert_eq!(parse_code("zzzzzzzzz").unwrap_err(), "no diagnostic has this code");
        assert_eq!(parse_denied("warnings"), Ok(Denied::Warnings));
    }
}
