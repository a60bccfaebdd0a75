//! The `pak` executable: parses the command line and runs a command.

mod args;
mod bake;
mod diff;
mod extract;
mod file_names;
mod inspect;
mod keys;
mod list;
mod report;
mod watch;

use ::pak::PakBuf;
use args::{Cli, Command};
use clap::CommandFactory;
use kiln_cli::diagnostics::parse_arguments;
use kiln_cli::reporter::{OK, Reporter};
use kiln_engine::{Code, Diag};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Parses the command line and runs the command.
fn main() -> ExitCode {
    kiln_cli::quiet_panics();
    let cli: Cli = match parse_arguments() {
        Ok(cli) => cli,
        Err(exit_code) => return exit_code,
    };
    let reporter = Reporter::from(cli.flags);
    reporter.run("pak", |diag| reporter.say(diag), || dispatch(&reporter, cli.command))
}

fn dispatch(reporter: &Reporter, command: Command) -> Result<u8, Diag> {
    match command {
        Command::Bake { toml, pak, dir, cache, jobs, no_cache, overwrite, shard, limits } => {
            let args = bake::Args { toml, pak, dir, cache, jobs, no_cache, overwrite, shard, limits };
            bake::bake(reporter, &args)
        }
        Command::Watch { toml, pak, dir, poll_ms } => {
            watch::watch(reporter, &toml, &pak, dir, Duration::from_millis(poll_ms.into()))
        }
        Command::List { pak, all } => list::list(reporter, &pak, all),
        Command::Info { pak, key } => inspect::info(reporter, &pak, &key),
        Command::Extract(args) => extract::extract(reporter, &args),
        Command::Report(args) => report::report(reporter, &args),
        Command::Verify { pak } => inspect::verify(reporter, &pak),
        Command::Diff { old, new } => diff::diff(reporter, &old, &new),
        Command::Keys { pak, rust } => keys::keys(reporter, &pak, rust),
        Command::Schema => {
            reporter.out().line(::pak::bake::json_schema().pretty().trim_end());
            Ok(OK)
        }
        Command::Manual(manual) => manual.run(reporter, Cli::command()),
    }
}

/// Opens a pak file.
fn open(path: &Path) -> Result<PakBuf, Diag> {
    PakBuf::open(path).map_err(|error| match error {
        ::pak::Error::Io(error) => {
            Diag::new(Code::Unreadable, format!("cannot read the pak: {error}")).path(path.display())
        }
        error => damaged(path, &error),
    })
}

/// Creates the diagnostic for a damaged pak.
fn damaged(path: &Path, error: &::pak::Error) -> Diag {
    Diag::new(Code::PakDamaged, error.to_string()).path(path.display()).hint("bake it again")
}
