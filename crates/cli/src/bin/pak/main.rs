//! The command line of `pak`.

mod args;
mod bake;
mod diff;
mod extract;
mod inspect;
mod keys;

use ::pak::PakBuf;
use args::{Cli, Command, Common};
use clap::{CommandFactory, Parser};
use kiln_cli::guarded;
use kiln_cli::manual;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::terminal::{Color, Out, Style, lost};
use kiln_kit::{Diag, Json, Severity};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Fine.
const OK: u8 = 0;
/// An asset failed, a file is damaged, or two differ.
const FAILED: u8 = 1;
/// Usage, configuration or environment.
const TROUBLE: u8 = 2;

/// Runs the program.
fn main() -> ExitCode {
    kiln_cli::quiet_panics();
    let cli = Cli::parse();
    let session = Session::new(&cli.common);
    let done = guarded("pak", || dispatch(&session, cli.command));
    let code = done.unwrap_or_else(|diag: Diag| {
        if session.json {
            session.out().line(&Json::object([("error", render::diag_json(&diag))]).to_string());
        }
        session.say(&diag);
        if diag.code == "pak-damaged" { FAILED } else { TROUBLE }
    });
    match lost() {
        None => code.into(),
        Some(diag) => {
            session.say(&diag);
            TROUBLE.into()
        }
    }
}

fn dispatch(session: &Session, command: Command) -> Result<u8, Diag> {
    match command {
        Command::Bake { toml, pak, dir, cache, jobs, no_cache, shard } => {
            bake::bake(session, &bake::Args { toml, pak, dir, cache, jobs, no_cache, shard })
        }
        Command::List { pak } => inspect::list(session, &pak),
        Command::Info { pak, key } => inspect::info(session, &pak, &key),
        Command::Extract { pak, dir, keys } => extract::extract(session, &pak, &dir, &keys),
        Command::Verify { pak } => inspect::verify(session, &pak),
        Command::Diff { old, new } => diff::diff(session, &old, &new),
        Command::Keys { pak, rust } => keys::keys(session, &pak, rust),
        Command::Completions { shell } => {
            manual::completions(&mut session.out(), Cli::command(), shell);
            Ok(OK)
        }
        Command::Man { dir } => {
            manual::man(&mut session.out(), Cli::command(), dir.as_deref(), session.json).map(|()| OK)
        }
    }
}

/// How to speak.
struct Session {
    json: bool,
    color: Color,
    verbosity: Verbosity,
}

impl Session {
    fn new(common: &Common) -> Session {
        let verbosity = match (common.quiet, common.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Session { json: common.json, color: common.color, verbosity }
    }

    /// Says something on standard error, unless warnings are not wanted.
    fn say(&self, diag: &Diag) {
        if diag.severity == Severity::Error || self.verbosity > Verbosity::Quiet {
            let stderr = io::stderr();
            let _ = writeln!(&stderr, "{}", render::diag(diag, Style::of(&stderr, self.color)));
        }
    }

    fn out(&self) -> Out {
        Out::new(self.color)
    }
}

/// Opens a pak.
fn open(path: &Path) -> Result<PakBuf, Diag> {
    PakBuf::open(path).map_err(|error| match error {
        ::pak::Error::Io(error) => {
            Diag::error("unreadable", format!("cannot read it: {error}")).path(path.display())
        }
        error => damaged(path, &error),
    })
}

/// A pak that is not what was written.
fn damaged(path: &Path, error: &::pak::Error) -> Diag {
    Diag::error("pak-damaged", error.to_string()).path(path.display()).hint("bake it again")
}
