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
use kiln_cli::guarded;
use kiln_cli::manual;
use kiln_cli::render;
use kiln_cli::terminal::{Color, Out, Style, lost};
use kiln_kit::{Diag, Json, Severity};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Found, or fine.
const OK: u8 = 0;
/// Not found, or a problem.
const MISS: u8 = 1;
/// Usage or environment.
const TROUBLE: u8 = 2;

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
        Diag::error("unity-index", error.to_string()).hint("run unity-assetdb bake").into()
    }
}

/// Runs the program.
fn main() -> ExitCode {
    let cli = Cli::parse();
    let session = Session::new(cli.common);
    let done = guarded("unity-assetdb", || dispatch(&session, cli.command));
    let code = done.unwrap_or_else(|failure: Failure| {
        for diag in &failure.diags {
            if session.json {
                session.out().line(&Json::object([("error", render::diag_json(diag))]).to_string());
            }
            session.say(diag);
        }
        failure.code
    });
    match lost() {
        None => code.into(),
        Some(diag) => {
            session.say(&diag);
            TROUBLE.into()
        }
    }
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
        Command::Completions { shell } => {
            manual::completions(&mut session.out(), Cli::command(), shell);
            Ok(OK)
        }
        Command::Man { dir } => {
            manual::man(&mut session.out(), Cli::command(), dir.as_deref(), session.json)?;
            Ok(OK)
        }
    }
}

/// What all commands share.
struct Session {
    project: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    no_refresh: bool,
    json: bool,
    quiet: bool,
    color: Color,
}

impl Session {
    fn new(common: Common) -> Session {
        let Common { project, out_dir, no_refresh, json, quiet, color } = common;
        Session { project, out_dir, no_refresh, json, quiet, color }
    }

    /// The root of the project.
    fn root(&self) -> Result<PathBuf, Diag> {
        walk::resolve_project_root(self.project.as_deref()).map_err(|error| {
            Diag::error("unity-project", error.to_string())
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

    fn say(&self, diag: &Diag) {
        if diag.severity == Severity::Error || !self.quiet {
            let stderr = io::stderr();
            let _ = writeln!(&stderr, "{}", render::diag(diag, Style::of(&stderr, self.color)));
        }
    }

    fn note(&self, line: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    fn out(&self) -> Out {
        Out::new(self.color)
    }
}
