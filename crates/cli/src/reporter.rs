//! The reporter of a tool: diagnostics on standard error, results on standard output, and the exit code.

use crate::diagnostics::{DiagnosticArgs, Diagnostics, MessageFormat, groups};
use crate::guarded;
use crate::interrupt;
use crate::json_events::{self, JSON_VERSION};
use crate::progress::Verbosity;
use crate::render;
use crate::terminal::{Color, Out, Style, write_error};
use clap::{Args, ValueEnum};
use kiln_engine::Code;
use kiln_engine::{Diag, Json, Severity};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// The exit code of success.
pub const OK: u8 = 0;
/// The exit code when an asset failed, a file is damaged, or a search or comparison found nothing.
pub const FAILED: u8 = 1;
/// The exit code of a usage, configuration or environment error.
pub const FATAL: u8 = 2;

/// The form of JSON on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum JsonOutput {
    /// One object, the result.
    Object,
    /// One object per line for each event, the last of which is the result.
    Lines,
}

/// The output flags of tools that build.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print the reason for each rebuild
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print the result as JSON on standard output: one object, or with --json=lines also one object for each event
    #[arg(long, global = true, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "object", hide_possible_values = true)]
    json: Option<JsonOutput>,
    /// Control when to use colour
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", global = true)]
    color: Color,
    #[command(flatten)]
    diagnostics: DiagnosticArgs,
}

impl From<Flags> for Reporter {
    fn from(flags: Flags) -> Reporter {
        let verbosity = match (flags.quiet, flags.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let reporter = Reporter::new(flags.json.is_some(), flags.color, verbosity, &flags.diagnostics);
        Reporter { json_lines: flags.json == Some(JsonOutput::Lines), ..reporter }
    }
}

/// Prints diagnostics and results in the form that the user asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reporter {
    /// True if results are printed as JSON.
    pub json: bool,
    /// True if the events of a run are printed as JSON as well.
    pub json_lines: bool,
    /// The use of colour.
    pub color: Color,
    /// The amount of output on standard error.
    pub verbosity: Verbosity,
    /// The message format and the lint levels.
    pub diagnostics: Arc<Diagnostics>,
}

impl Reporter {
    /// Makes a reporter.
    pub fn new(json: bool, color: Color, verbosity: Verbosity, args: &DiagnosticArgs) -> Reporter {
        let diagnostics = Arc::new(Diagnostics::new(args));
        Reporter { json, json_lines: false, color, verbosity, diagnostics }
    }

    /// Locks standard output for results.
    pub fn out(&self) -> Out {
        Out::new(self.color)
    }

    /// Prints the result of a command as JSON, with the version of the format first. With `--json=lines` the result is the
    /// last event.
    pub fn print_json(&self, result: Json) {
        let mut members = vec![("version".to_owned(), JSON_VERSION.into())];
        if let Json::Object(result) = result {
            members.extend(result);
        }
        match self.json_lines {
            true => json_events::print("result", Json::Object(members)),
            false => self.out().line(&Json::Object(members).to_string()),
        }
    }

    /// Locks the stream for the summary of a command: standard output, or standard error if standard output is a sequence
    /// of JSON objects or a SARIF document.
    pub fn summary(&self) -> Out {
        match self.diagnostics.format() {
            MessageFormat::Human | MessageFormat::Github => self.out(),
            MessageFormat::Json | MessageFormat::Sarif => Out::stderr(self.color),
        }
    }

    /// Reports a diagnostic with the severity of its lint level, in the message format; warnings only if the user did not
    /// ask for quiet. The human format is printed to standard error.
    pub fn say(&self, diag: &Diag) {
        let Some(severity) = self.diagnostics.count(diag) else { return };
        if self.json_lines {
            json_events::print_diag(diag, severity);
        }
        if !self.is_shown(severity) {
            return;
        }
        match self.diagnostics.format() {
            MessageFormat::Human => {
                let stderr = io::stderr();
                let style = Style::of(&stderr, self.color);
                let _ = writeln!(&stderr, "{}", render::diag_with_severity(diag, severity, style));
            }
            _ => self.diagnostics.write(diag, severity, self.json),
        }
    }

    /// Reports many diagnostics: each like [`say`](Self::say), but in the human format warnings are grouped by code, and of
    /// each code the first are shown with the number of the others. Verbose output shows all.
    pub fn say_grouped<'a>(&self, diags: impl IntoIterator<Item = &'a Diag>) {
        let is_complete = self.json_lines || self.verbosity == Verbosity::Verbose;
        if self.diagnostics.format() != MessageFormat::Human || is_complete {
            diags.into_iter().for_each(|diag| self.say(diag));
            return;
        }
        let counted = diags.into_iter().filter_map(|diag| Some((self.diagnostics.count(diag)?, diag)));
        let shown: Vec<_> = counted.filter(|(severity, _)| self.is_shown(*severity)).collect();
        let mut stderr = io::stderr();
        let style = Style::of(&stderr, self.color);
        for group in groups::by_code(&shown) {
            for diag in &group.first {
                let _ = writeln!(stderr, "{}", render::diag_with_severity(diag, group.severity, style));
            }
            if let Some(remainder) = group.remainder() {
                let head = format!("{}[{}]", group.severity, group.code);
                let _ = writeln!(stderr, "{}: {remainder}", style.severity(group.severity, &head));
            }
        }
    }

    /// Returns whether warnings of earlier builds are reported again: in verbose output, and in the formats for programs,
    /// which have no other source. The human format has their number.
    pub fn repeats_cached_warnings(&self) -> bool {
        self.json_lines
            || self.verbosity == Verbosity::Verbose
            || self.diagnostics.format() != MessageFormat::Human
    }

    /// Reports a diagnostic that is the result of the command, such as a finding of a check: like [`say`](Self::say), but
    /// the human format is printed to `out`, and with `--json` the diagnostic is one line of JSON there. Returns the
    /// severity; `None` if the diagnostic is allowed.
    pub fn say_result(&self, out: &mut Out, diag: &Diag) -> Option<Severity> {
        let severity = self.diagnostics.count(diag)?;
        match self.diagnostics.format() {
            _ if self.json => out.line(&render::diag_json_with_severity(diag, severity).to_string()),
            MessageFormat::Human => {
                let line = render::diag_with_severity(diag, severity, out.style);
                out.line(&line);
            }
            _ => self.diagnostics.write(diag, severity, self.json),
        }
        Some(severity)
    }

    /// Converts diagnostics to JSON, with the severities of their lint levels and without those that are allowed.
    pub fn diags_json<'a>(&self, diags: impl IntoIterator<Item = &'a Diag>) -> Json {
        let shown = diags.into_iter().filter_map(|diag| {
            let severity = self.diagnostics.severity(diag.code)?;
            Some(render::diag_json_with_severity(diag, severity))
        });
        Json::list(shown)
    }

    fn is_shown(&self, severity: Severity) -> bool {
        severity == Severity::Error || self.verbosity > Verbosity::Quiet
    }

    /// Returns an error if both `--json` and the message format need standard output.
    fn check_formats(&self) -> Result<(), Diag> {
        match self.diagnostics.format() {
            MessageFormat::Json | MessageFormat::Sarif if self.json => {
                let message = "--json cannot be combined with --message-format json or sarif: both write to standard output";
                Err(Diag::new(Code::Usage, message)
                    .hint("remove one of them; the result of --json contains the diagnostics"))
            }
            _ => Ok(()),
        }
    }

    /// Prints a status line to standard error, unless the user asked for quiet.
    pub fn note(&self, line: &str) {
        if self.verbosity > Verbosity::Quiet {
            let _ = writeln!(io::stderr(), "{}", render::printable(line));
        }
    }

    /// Runs a command of a tool and returns its exit code. The diagnostics of an error are passed to `say`, and with `json`
    /// also printed to standard output as JSON. A command that reported a denied warning fails. A write error on standard
    /// output is an error as well.
    pub fn run<E: ExitStatus>(
        &self,
        tool: &str,
        say: impl Fn(&Diag),
        command: impl FnOnce() -> Result<u8, E>,
    ) -> ExitCode {
        let checked = || self.check_formats().map_err(E::from).and_then(|()| command());
        let code = guarded(tool, checked).unwrap_or_else(|error| {
            let (diags, code) = error.report();
            for diag in &diags {
                if self.json {
                    self.print_json(Json::object([("error", render::diag_json(diag))]));
                }
                say(diag);
            }
            let is_cancelled = diags.iter().any(|diag| diag.code == Code::Cancelled);
            interrupt::exit_code().filter(|_| is_cancelled).unwrap_or(code)
        });
        let code = if code == OK && self.diagnostics.denied() > 0 { FAILED } else { code };
        if !self.json {
            self.diagnostics.finish(tool, code);
        }
        match write_error() {
            None => code.into(),
            Some(diag) => {
                say(&diag);
                FATAL.into()
            }
        }
    }
}

/// The error of a command, as diagnostics and an exit code.
pub trait ExitStatus: From<Diag> {
    /// Returns the diagnostics to print, and the exit code.
    fn report(self) -> (Vec<Diag>, u8);
}

/// A damaged file and a signature that does not fit are results of a check (exit code 1); any other error is fatal (exit
/// code 2).
impl ExitStatus for Diag {
    fn report(self) -> (Vec<Diag>, u8) {
        let code = match self.code {
            Code::CheckCorrupt | Code::PakDamaged | Code::PakSignature => FAILED,
            _ => FATAL,
        };
        (vec![self], code)
    }
}
