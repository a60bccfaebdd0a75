//! The command line of `pak`.

mod args;
mod bake;
mod diff;
mod extract;
mod inspect;
mod keys;

use ::pak::PakBuf;
use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use kiln_cli::voice::Voice;
use kiln_engine::{Code, Diag};
use std::path::Path;
use std::process::ExitCode;

/// Runs the program.
fn main() -> ExitCode {
    kiln_cli::quiet_panics();
    let cli = Cli::parse();
    let voice = Voice::from(cli.flags);
    voice.run("pak", |diag| voice.say(diag), || dispatch(&voice, cli.command))
}

fn dispatch(voice: &Voice, command: Command) -> Result<u8, Diag> {
    match command {
        Command::Bake { toml, pak, dir, cache, jobs, no_cache, overwrite, shard, limits } => {
            let args = bake::Args { toml, pak, dir, cache, jobs, no_cache, overwrite, shard, limits };
            bake::bake(voice, &args)
        }
        Command::List { pak } => inspect::list(voice, &pak),
        Command::Info { pak, key } => inspect::info(voice, &pak, &key),
        Command::Extract { pak, dir, keys } => extract::extract(voice, &pak, &dir, &keys),
        Command::Verify { pak } => inspect::verify(voice, &pak),
        Command::Diff { old, new } => diff::diff(voice, &old, &new),
        Command::Keys { pak, rust } => keys::keys(voice, &pak, rust),
        Command::Manual(manual) => manual.run(voice, Cli::command()),
    }
}

/// Opens a pak.
fn open(path: &Path) -> Result<PakBuf, Diag> {
    PakBuf::open(path).map_err(|error| match error {
        ::pak::Error::Io(error) => {
            Diag::new(Code::Unreadable, format!("cannot read it: {error}")).path(path.display())
        }
        error => damaged(path, &error),
    })
}

/// A pak that is not what was written.
fn damaged(path: &Path, error: &::pak::Error) -> Diag {
    Diag::new(Code::PakDamaged, error.to_string()).path(path.display()).hint("bake it again")
}
