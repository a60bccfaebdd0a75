//! The command line of `unity-assetdb`.

mod args;
mod ask;
mod bake;
mod rows;
mod survey;

use ::unity_assetdb::index::{Index, IndexError};
use ::unity_assetdb::walk;
use args::{Cli, Command, Common};
use clap::{CommandFactory, Parser};
use kiln_cli::progress::Verbosity;
use kiln_cli::voice::{Ending, TROUBLE, Voice};
use kiln_engine::{Code, Diag};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a command ended early, and with which code.
struct Failure {
    diags: Vec<Diag>,
    code: u8,
}

impl From<Diag> for Failure {
    fn from(diag: Diag) -> Failure {
        Failure { diags: vec![diag], code: TROUBLE }
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Failure {
        Diag::new(Code::UnityIndex, error.to_string()).hint("run unity-assetdb bake").into()
    }
}

impl Ending for Failure {
    fn told(self) -> (Vec<Diag>, u8) {
        (self.diags, self.code)
    }
}

/// Runs the program.
fn main() -> ExitCode {
    let cli = Cli::parse();
    let session = Session::new(cli.common);
    let voice = session.voice;
    voice.run("unity-assetdb", |diag| voice.say(diag), || dispatch(&session, cli.command))
}

fn dispatch(session: &Session, command: Command) -> Result<u8, Failure> {
    match command {
        Command::Bake(args) => bake::bake(session, &args),
        Command::Guid { path } => ask::guid(session, &path),
        Command::Path { guid } => ask::path(session, &guid),
        Command::Resolve { guid, file_id } => ask::resolve(session, &guid, file_id),
        Command::Find { pattern } => ask::find(session, &pattern),
        Command::List { kind } => ask::list(session, kind.as_deref()),
        Command::Uses { asset } => ask::uses(session, &asset),
        Command::Deps { asset } => ask::deps(session, &asset),
        Command::Unused => survey::unused(session),
        Command::Broken => survey::broken(session),
        Command::Check { strict } => survey::check(session, strict),
        Command::Annotate { file } => survey::annotate(session, file.as_deref()),
        Command::Diff { old, new } => survey::diff(session, &old, &new),
        Command::Manual(manual) => Ok(manual.run(&session.voice, Cli::command())?),
    }
}

/// What all commands share.
struct Session {
    project: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    no_refresh: bool,
    voice: Voice,
}

impl Session {
    fn new(common: Common) -> Session {
        let Common { project, out_dir, no_refresh, json, quiet, color } = common;
        let verbosity = if quiet { Verbosity::Quiet } else { Verbosity::Normal };
        Session { project, out_dir, no_refresh, voice: Voice { json, color, verbosity } }
    }

    /// The root of the project.
    fn root(&self) -> Result<PathBuf, Diag> {
        walk::resolve_project_root(self.project.as_deref()).map_err(|error| {
            Diag::new(Code::UnityProject, error.to_string())
                .hint("go to a Unity project, or name one with --project")
        })
    }

    fn out_dir(&self, root: &Path) -> PathBuf {
        self.out_dir.clone().unwrap_or_else(|| root.join("Library").join("unity-assetdb"))
    }

    /// The index, brought up to date unless that is not wanted.
    fn index(&self) -> Result<(PathBuf, Index), Failure> {
        let root = self.root()?;
        let out_dir = self.out_dir(&root);
        if !self.no_refresh {
            bake::refresh(self, &root, &out_dir)?;
        }
        Ok((root, Index::open(&out_dir)?))
    }
}
