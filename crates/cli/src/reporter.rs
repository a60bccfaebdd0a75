//! The reporter of a tool: diagnostics on standard error, results on standard output, and the exit code.

use crate::guarded;
use crate::progress::Verbosity;
use crate::render;
use crate::terminal::{Color, Out, Style, write_error};
use clap::Args;
use kiln_engine::Code;
use kiln_engine::{Diag, Json, Severity};
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit code of success.
pub const OK: u8 = 0;
/// The exit code when an asset failed, a file is damaged, or a search or comparison found nothing.
pub const FAILED: u8 = 1;
/// The exit code of a usage, configuration or environment error.
pub const FATAL: u8 = 2;

/// The output flags of tools that build.
#[derive(Args, Clone, Copy, Debug)]
pub struct Flags {
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print the reason for each rebuild
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print the result as one JSON object on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Control when to use colour
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", global = true)]
    color: Color,
}

impl From<Flags> for Reporter {
    fn from(flags: Flags) -> Reporter {
        let verbosity = match (flags.quiet, flags.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Reporter { json: flags.json, color: flags.color, verbosity }
    }
}

/// Prints diagnostics and results in the form that the user asked for.
#[derive(Clone, Copy, Debug)]
pub struct Reporter {
    /// True if results are printed as JSON.
    pub json: bool,
    /// The use of colour.
    pub color: Color,
    /// The amount of output on standard error.
    pub verbosity: Verbosity,
}

impl Reporter {
    /// Locks standard output for results.
    pub fn out(&self) -> Out {
        Out::new(self.color)
    }

    /// Prints a diagnostic to standard error; warnings only if the user did not ask for quiet.
    pub fn say(&self, diag: &Diag) {
        if diag.severity() == Severity::Error || self.verbosity > Verbosity::Quiet {
            let stderr = io::stderr();
            let _ = writeln!(&stderr, "{}", render::diag(diag, Style::of(&stderr, self.color)));
        }
    }

    /// Prints a status line to standard error, unless the user asked for quiet.
    pub fn note(&self, line: &str) {
        if self.verbosity > Verbosity::Quiet {
            let _ = writeln!(io::stderr(), "{}", render::printable(line));
        }
    }

    /// Runs a command of a tool and returns its exit code. The diagnostics of an error are passed to `say`, and with `json`
    /// also printed to standard output as JSON. A write error on standard output is an error as well.
    pub fn run<E: ExitStatus>(
        &self,
        tool: &str,
        say: impl Fn(&Diag),
        command: impl FnOnce() -> Result<u8, E>,
    ) -> ExitCode {
        let code = guarded(tool, command).unwrap_or_else(|error| {
            let (diags, code) = error.report();
            for diag in &diags {
                if self.json {
                    self.out().line(&Json::object([("error", render::diag_json(diag))]).to_string());
                }
                say(diag);
            }
            code
        });
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

/// A damaged file is the result of a check (exit code 1); any other error is fatal (exit code 2).
impl ExitStatus for Diag {
    fn report(self) -> (Vec<Diag>, u8) {
        let code = if matches!(self.code, Code::CheckCorrupt | Code::PakDamaged) { FAILED } else { FATAL };
        (vec![self], code)
    }
}
