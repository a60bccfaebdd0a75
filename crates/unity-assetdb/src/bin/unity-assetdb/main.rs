//! The command line of `unity-assetdb`.

mod analysis;
mod args;
mod bake;
mod lookup;
mod rows;

use ::unity_assetdb::index::{Index, IndexError};
use ::unity_assetdb::walk;
use args::{Cli, Command, Common};
use clap::CommandFactory;
use kiln_cli::diagnostics::parse_arguments;
use kiln_cli::progress::Verbosity;
use kiln_cli::reporter::{ExitStatus, FATAL, Reporter};
use kiln_engine::{Code, Diag};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The diagnostics and the exit code of a command that failed.
struct Failure {
    diags: Vec<Diag>,
    code: u8,
    /// True if the state of the index is damaged, so that a rebuild may help.
    damaged: bool,
}

impl Failure {
    fn new(diags: Vec<Diag>, code: u8) -> Failure {
        Failure { diags, code, damaged: false }
    }
}

impl From<Diag> for Failure {
    fn from(diag: Diag) -> Failure {
        Failure::new(vec![diag], FATAL)
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Failure {
        let damaged = matches!(error, IndexError::Unusable(_));
        let diag = Diag::new(Code::UnityIndex, error.to_string()).hint("run unity-assetdb bake");
        Failure { damaged, ..diag.into() }
    }
}

impl ExitStatus for Failure {
    fn report(self) -> (Vec<Diag>, u8) {
        (self.diags, self.code)
    }
}

/// Parses the arguments, runs the command and maps its result to an exit code.
fn main() -> ExitCode {
    let cli: Cli = match parse_arguments() {
        Ok(cli) => cli,
        Err(exit_code) => return exit_code,
    };
    let session = Session::new(cli.common);
    let reporter = session.reporter.clone();
    reporter.run("unity-assetdb", |diag| reporter.say(diag), || dispatch(&session, cli.command))
}

fn dispatch(session: &Session, command: Command) -> Result<u8, Failure> {
    let query = |run: &dyn Fn() -> Result<u8, Failure>| session.query(run);
    match command {
        Command::Bake(args) => bake::bake(session, &args),
        Command::Guid { path } => query(&|| lookup::guid(session, &path)),
        Command::Path { guid } => query(&|| lookup::path(session, &guid)),
        Command::Resolve { guid, file_id } => query(&|| lookup::resolve(session, &guid, file_id)),
        Command::Find { pattern } => query(&|| lookup::find(session, &pattern)),
        Command::List { kind } => query(&|| lookup::list(session, kind.as_deref())),
        Command::Uses { asset } => query(&|| lookup::uses(session, &asset)),
        Command::Deps { asset } => query(&|| lookup::deps(session, &asset)),
        Command::Unused => query(&|| analysis::unused(session)),
        Command::Broken => query(&|| analysis::broken(session)),
        Command::Check => query(&|| analysis::check(session)),
        Command::Annotate { file } => analysis::annotate(session, file.as_deref()),
        Command::Diff { old, new } => analysis::diff(session, &old, &new),
        Command::Manual(manual) => Ok(manual.run(&session.reporter, Cli::command())?),
    }
}

/// The global options of one run, and the state that commands share.
struct Session {
    project: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    no_refresh: bool,
    /// Set once a query found the state damaged: the next refresh reads all files.
    rebuild: Cell<bool>,
    reporter: Reporter,
}

impl Session {
    fn new(common: Common) -> Session {
        let Common { project, out_dir, no_refresh, json, quiet, color, diagnostics } = common;
        let verbosity = if quiet { Verbosity::Quiet } else { Verbosity::Normal };
        let rebuild = Cell::new(false);
        let reporter = Reporter::new(json, color, verbosity, &diagnostics);
        Session { project, out_dir, no_refresh, rebuild, reporter }
    }

    /// The root of the project.
    fn root(&self) -> Result<PathBuf, Diag> {
        let root = walk::resolve_project_root(self.project.as_deref()).map_err(|error| {
            Diag::new(Code::UnityProject, error.to_string())
                .hint("change to the directory of a Unity project, or pass --project DIR")
        })?;
        self.reporter.diagnostics.set_path_bases(&[&root]);
        Ok(root)
    }

    fn out_dir(&self, root: &Path) -> PathBuf {
        self.out_dir.clone().unwrap_or_else(|| root.join("Library").join("unity-assetdb"))
    }

    /// Opens the index, refreshed unless `--no-refresh` is given.
    fn index(&self) -> Result<(PathBuf, Index), Failure> {
        let root = self.root()?;
        let out_dir = self.out_dir(&root);
        let index = match self.no_refresh {
            true => Index::open(&out_dir)?,
            false => bake::refresh(self, &root, &out_dir)?,
        };
        Ok((root, index))
    }

    /// Runs a query. It prints nothing before it has its whole answer, so that a query that reads a damaged page of the
    /// state runs again on a rebuilt index.
    fn query(&self, run: &dyn Fn() -> Result<u8, Failure>) -> Result<u8, Failure> {
        match run() {
            Err(failure) if failure.damaged && self.rebuild() => run(),
            result => result,
        }
    }

    /// Has the next [`index`](Self::index) rebuilt. Returns whether that may help: not a second time, and not when the user
    /// asked for the index as it is.
    fn rebuild(&self) -> bool {
        !self.no_refresh && !self.rebuild.replace(true)
    }
}
