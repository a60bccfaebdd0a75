//! The `pak` executable: parses the command line and runs a command.

mod args;
mod bake;
mod diff;
mod extract;
mod facts;
mod file_names;
mod inspect;
mod keys;
mod list;
mod report;
mod ship;
mod watch;

use ::pak::{Entry, Options, PakBuf};
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
        Command::Bake { toml, pak, dir, cache, jobs, no_cache, overwrite, shard, remote, limits } => {
            let args = bake::Args { toml, pak, dir, cache, jobs, no_cache, overwrite, shard, remote, limits };
            bake::bake(reporter, &args)
        }
        Command::RunAction => ::pak::bake::run_action(Path::new(".")).map(|()| OK),
        Command::Watch { toml, pak, dir, poll_ms } => {
            watch::watch(reporter, &toml, &pak, dir, Duration::from_millis(poll_ms.into()))
        }
        Command::List { pak, all, long } => list::list(reporter, &pak, all, long),
        Command::Info { pak, key } => inspect::info(reporter, &pak, &key),
        Command::Extract(args) => extract::extract(reporter, &args),
        Command::Report(args) => report::report(reporter, &args),
        Command::Verify { pak, key } => inspect::verify(reporter, &pak, key.as_deref()),
        Command::Keygen { key } => ship::keygen(reporter, &key),
        Command::Sign { pak, key } => ship::sign(reporter, &pak, &key),
        Command::Patch { old, new, out, overwrite } => ship::patch(reporter, &old, &new, &out, overwrite),
        Command::Apply { old, patch, out, overwrite } => ship::apply(reporter, &old, &patch, &out, overwrite),
        Command::Merge { paks, out, overwrite } => ship::merge(reporter, &paks, &out, overwrite),
        Command::Append { pak, more } => {
            let paks: Vec<_> = std::iter::once(pak.clone()).chain(more).collect();
            ship::merge(reporter, &paks, &pak, false)
        }
        Command::Diff { old, new, patch_size } => diff::diff(reporter, &old, &new, patch_size),
        Command::Keys { pak, rust } => keys::keys(reporter, &pak, rust),
        Command::Schema => {
            reporter.out().line(::pak::bake::json_schema().pretty().trim_end());
            Ok(OK)
        }
        Command::Manual(manual) => manual.run(reporter, Cli::command()),
    }
}

/// The options of tools: they read whatever the baker writes, while a game has lower limits. A file that shrinks must not
/// end the process.
fn options() -> Options {
    Options::default().max_decoded(4 << 30).mapped(false)
}

/// Opens a pak file.
fn open(path: &Path) -> Result<PakBuf, Diag> {
    PakBuf::open_with(path, options()).map_err(|error| unopened(path, error))
}

/// Creates the diagnostic for a pak that cannot be opened.
fn unopened(path: &Path, error: ::pak::Error) -> Diag {
    match error {
        ::pak::Error::Io(error) => {
            Diag::new(Code::Unreadable, format!("cannot read the pak: {error}")).path(path.display())
        }
        error @ ::pak::Error::Signature { .. } => Diag::new(Code::PakSignature, error.to_string())
            .path(path.display())
            .hint("get the pak and its signature file from its publisher again"),
        error => damaged(path, &error),
    }
}

/// Creates the diagnostic for a damaged pak.
fn damaged(path: &Path, error: &::pak::Error) -> Diag {
    Diag::new(Code::PakDamaged, error.to_string()).path(path.display()).hint("bake it again")
}

/// Creates the diagnostic for a damaged asset, which it names as `list --all` does.
fn damaged_asset(path: &Path, name: &str, error: &::pak::Error) -> Diag {
    let why = match error {
        ::pak::Error::Asset { why, .. } => why.to_string(),
        error => error.to_string(),
    };
    Diag::new(Code::PakDamaged, format!("{name}: {why}")).path(path.display()).hint("bake it again")
}

/// Returns an asset by its key or, if no key has that name, by its name in `list --all`.
fn find<'a>(pak: &'a PakBuf, path: &Path, name: &str) -> Result<Entry<'a>, Diag> {
    let entry = pak.entries().find(|entry| entry.key == name);
    entry.or_else(|| pak.assets().find(|entry| entry.name() == name)).ok_or_else(|| {
        let diag =
            Diag::new(Code::PakUnknownKey, format!("the pak has no key {name:?}")).path(path.display());
        match kiln_engine::nearest(name, pak.keys()) {
            Some(near) => diag.hint(format!("did you mean {near:?}?")),
            None => diag.hint("run `pak list` to see all keys"),
        }
    })
}
