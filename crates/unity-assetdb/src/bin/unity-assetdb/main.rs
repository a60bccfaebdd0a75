//! The command line of `unity-assetdb`.

mod analysis;
mod args;
mod argument;
mod bake;
mod check;
mod dependencies;
mod edit;
mod folder_watch;
mod freshness_socket;
mod git;
mod json_rpc;
mod lookup;
mod lsp;
mod mcp;
mod not_indexed;
mod review;
mod rows;
mod warm_index;
mod watch;

use ::unity_assetdb::index::{Index, IndexError};
use ::unity_assetdb::query::duplicates::duplicates;
use ::unity_assetdb::walk::{self, WalkError};
use args::{Cli, Command, Common};
use clap::CommandFactory;
use kiln_cli::diagnostics::parse_arguments;
use kiln_cli::progress::Verbosity;
use kiln_cli::reporter::{ExitStatus, FATAL, Reporter};
use kiln_engine::{Code, Diag};
use lookup::{Direction, answer};
use std::cell::{Cell, OnceCell};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warm_index::WarmIndex;

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
        Command::Guid { asset } | Command::Path { asset } => {
            query(&|| answer(session, |index, root| lookup::asset(index, root, &asset)))
        }
        Command::Resolve { asset, file_id } => {
            query(&|| answer(session, |index, root| lookup::resolve(index, root, &asset, file_id)))
        }
        Command::Find { pattern } => query(&|| answer(session, |index, _| lookup::find(index, &pattern))),
        Command::List { kind } => query(&|| answer(session, |index, _| lookup::list(index, kind.as_deref()))),
        Command::Uses { asset, recursive } => query(&|| {
            answer(session, |index, root| match recursive {
                true => lookup::recursive(index, root, &asset, Direction::Uses, false),
                false => lookup::uses(index, root, &asset),
            })
        }),
        Command::Deps { asset, recursive: true, size } => query(&|| {
            answer(session, |index, root| {
                lookup::recursive(index, root, &asset, Direction::Dependencies, size)
            })
        }),
        Command::Deps { asset, .. } => query(&|| dependencies::deps(session, &asset)),
        Command::Why { asset, all_scenes } => {
            query(&|| answer(session, |index, root| lookup::why(index, root, &asset, all_scenes)))
        }
        Command::Unused(args) => query(&|| analysis::unused(session, &args)),
        Command::Broken => query(&|| analysis::broken(session)),
        Command::Check(args) => query(&|| check::check(session, &args)),
        Command::Review(args) => query(&|| review::review(session, &args)),
        Command::Replace { old, new, edit } => query(&|| edit::replace(session, &old, &new, edit)),
        Command::Mv { from, to, edit } => query(&|| edit::mv(session, &from, &to, edit)),
        Command::Mcp { allow_writes } => mcp::mcp(session, allow_writes),
        Command::Lsp => lsp::lsp(session),
        Command::Watch => watch::watch(session),
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
    /// Set by a server, which answers many requests.
    warm: OnceCell<WarmIndex>,
    reporter: Reporter,
}

impl Session {
    fn new(common: Common) -> Session {
        let Common { project, out_dir, no_refresh, json, quiet, color, diagnostics } = common;
        let verbosity = if quiet { Verbosity::Quiet } else { Verbosity::Normal };
        let rebuild = Cell::new(false);
        let reporter = Reporter::new(json, color, verbosity, &diagnostics);
        Session { project, out_dir, no_refresh, rebuild, warm: OnceCell::new(), reporter }
    }

    /// Keeps the index warm from one request to the next: it is refreshed when a file changed, and otherwise only opened.
    fn keep_warm(&self) {
        self.warm.get_or_init(WarmIndex::default);
    }

    /// The root of the project.
    fn root(&self) -> Result<PathBuf, Diag> {
        let root = walk::resolve_project_root(self.project.as_deref()).map_err(|error| {
            let message = match error {
                WalkError::Canonicalize(path, error) if error.kind() == io::ErrorKind::NotFound => {
                    format!("the project directory {} does not exist", path.display())
                }
                WalkError::Canonicalize(path, error) => {
                    format!("cannot open the project directory {}: {error}", path.display())
                }
                error => error.to_string(),
            };
            Diag::new(Code::UnityProject, message)
                .hint("change to the directory of a Unity project, or pass --project DIR")
        })?;
        self.reporter.diagnostics.set_path_bases(&[&root]);
        Ok(root)
    }

    fn out_dir(&self, root: &Path) -> PathBuf {
        self.out_dir.clone().unwrap_or_else(|| root.join("Library").join("unity-assetdb"))
    }

    /// Opens the index, refreshed unless `--no-refresh` is given. Warns of GUIDs that several assets share.
    fn index(&self) -> Result<(PathBuf, Index), Failure> {
        let (root, index) = self.index_with_duplicates()?;
        for (_, diag) in duplicates(&index, &root)? {
            let at = diag.path.as_deref().unwrap_or_default();
            self.reporter.note(&format!("warning[{}]: {at}: {}", diag.code, diag.message));
        }
        Ok((root, index))
    }

    /// Opens the index, for commands that report duplicate GUIDs themselves.
    fn index_with_duplicates(&self) -> Result<(PathBuf, Index), Failure> {
        self.index_of(None)
    }

    /// Opens the index of the project at or above a directory, unless the command line names one.
    fn index_of(&self, dir: Option<&Path>) -> Result<(PathBuf, Index), Failure> {
        let above = dir.filter(|_| self.project.is_none()).and_then(walk::resolve_above);
        let root = match above.map(|root| root.canonicalize().unwrap_or(root)) {
            Some(root) => root,
            None => self.root()?,
        };
        let out_dir = self.out_dir(&root);
        let index = match self.warm.get() {
            _ if self.no_refresh => Index::open(&out_dir)?,
            Some(warm) => warm.open(self, &root, &out_dir)?,
            None => self.refresh(&root, &out_dir)?,
        };
        Ok((root, index))
    }

    /// Opens the index that a running `watch` keeps up to date, or else refreshes it.
    fn refresh(&self, root: &Path, out_dir: &Path) -> Result<Index, Failure> {
        if !self.rebuild.get()
            && freshness_socket::ask(out_dir)
            && let Ok(index) = Index::open(out_dir)
        {
            return Ok(index.assume_fresh());
        }
        bake::refresh(self, root, out_dir)
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

    /// Ends the effect of [`rebuild`](Self::rebuild), for a server that goes on.
    fn forget_rebuild(&self) {
        self.rebuild.set(false);
    }
}
