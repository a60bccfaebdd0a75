//! How a tool speaks: the flags that decide it, messages and results on their streams, and the code it ends with.

use crate::guarded;
use crate::progress::Verbosity;
use crate::render;
use crate::terminal::{Color, Out, Style, lost};
use clap::Args;
use kiln_engine::Code;
use kiln_engine::{Diag, Json, Severity};
use std::io::{self, Write};
use std::process::ExitCode;

/// Found, or fine.
pub const OK: u8 = 0;
/// Not found or not the same, an asset failed, or a file is damaged.
pub const FAILED: u8 = 1;
/// Usage, configuration or environment.
pub const TROUBLE: u8 = 2;

/// The flags of tools that build.
#[derive(Args, Clone, Copy, Debug)]
pub struct Flags {
    /// Say nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say why each asset was built
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Print the result as one JSON object on standard output
    #[arg(long, global = true)]
    json: bool,
    /// When to use colour
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", global = true)]
    color: Color,
}

impl From<Flags> for Voice {
    fn from(flags: Flags) -> Voice {
        let verbosity = match (flags.quiet, flags.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Voice { json: flags.json, color: flags.color, verbosity }
    }
}

/// How to speak.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    /// Whether results are for programs.
    pub json: bool,
    /// When to use colour.
    pub color: Color,
    /// How much is said.
    pub verbosity: Verbosity,
}

impl Voice {
    /// Standard output, for results.
    pub fn out(&self) -> Out {
        Out::new(self.color)
    }

    /// Says something on standard error, unless it is a warning and those are not wanted.
    pub fn say(&self, diag: &Diag) {
        if diag.severity() == Severity::Error || self.verbosity > Verbosity::Quiet {
            let stderr = io::stderr();
            let _ = writeln!(&stderr, "{}", render::diag(diag, Style::of(&stderr, self.color)));
        }
    }

    /// Says something on standard error that is neither error nor warning.
    pub fn note(&self, line: &str) {
        if self.verbosity > Verbosity::Quiet {
            let _ = writeln!(io::stderr(), "{}", render::printable(line));
        }
    }

    /// Runs a command of a tool to its end. Why it ended early goes to standard error, through `say`, and for programs
    /// to standard output; a result that could not be printed is trouble.
    pub fn run<E: Ending>(
        &self,
        tool: &str,
        say: impl Fn(&Diag),
        command: impl FnOnce() -> Result<u8, E>,
    ) -> ExitCode {
        let code = guarded(tool, command).unwrap_or_else(|ending| {
            let (diags, code) = ending.told();
            for diag in &diags {
                if self.json {
                    self.out().line(&Json::object([("error", render::diag_json(diag))]).to_string());
                }
                say(diag);
            }
            code
        });
        match lost() {
            None => code.into(),
            Some(diag) => {
                say(&diag);
                TROUBLE.into()
            }
        }
    }
}

/// Why a command ended early.
pub trait Ending: From<Diag> {
    /// What is said, and the code.
    fn told(self) -> (Vec<Diag>, u8);
}

/// Damage that a command was to look for is its answer; everything else is trouble.
impl Ending for Diag {
    fn told(self) -> (Vec<Diag>, u8) {
        let code = if matches!(self.code, Code::CheckBroken | Code::PakDamaged) { FAILED } else { TROUBLE };
        (vec![self], code)
    }
}
