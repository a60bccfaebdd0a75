//! The options, the report and the errors of a bake.

use super::name::Ambiguous;
use crate::guid::Guid;
use crate::store::StoreError;
use crate::walk::WalkError;
use kiln_engine::Diag;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Rewrites a name that conflicts with the grammar of a consumer; `None` keeps it.
pub type NameSanitizer = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;
/// Receives each warning as one line.
pub type WarnSink = Box<dyn Fn(&str) + Send + Sync>;
/// Receives each line of progress.
pub type ProgressSink = Box<dyn Fn(&str) + Send + Sync>;

/// The options of [`super::bake`].
pub struct BakeOptions {
    /// The root of the project: see [`crate::walk::resolve_project_root`].
    pub project_root: PathBuf,
    /// The output directory. Created if it does not exist.
    pub out_dir: PathBuf,
    /// Called for every name before names are made unique.
    pub name_sanitizer: Option<NameSanitizer>,
    /// Called for each warning.
    pub on_warn: Option<WarnSink>,
    /// Called with the result and, with `verbose_timing`, with the duration of each phase.
    pub on_progress: Option<ProgressSink>,
    /// Report the duration of each phase.
    pub verbose_timing: bool,
    /// Warn of each name that was made unique.
    pub verbose_collisions: bool,
}

/// Receives the number of `.meta` files walked so far.
pub type WalkSink = Box<dyn Fn(usize) + Send + Sync>;

/// Additional options of [`super::bake_with`], beyond those of the specification.
///
/// ```
/// use unity_assetdb::bake::Extra;
/// let extra = Extra::default().jobs(2).strict_names(true);
/// assert_eq!(extra.jobs, Some(2));
/// ```
#[derive(Default)]
#[non_exhaustive]
pub struct Extra {
    /// Fail if no parent directory distinguishes two names, as the specification has it, instead of adding extensions.
    pub strict_names: bool,
    /// Ignore the state of the last bake and read all files.
    pub no_cache: bool,
    /// Fail if symbolic links lead the output directory out of the project; for a directory that the user did not choose.
    pub inside_project: bool,
    /// Stored in the state for the next bake: see [`crate::index::Index::note`].
    pub note: String,
    /// The number of threads; `None` is one per core.
    pub jobs: Option<usize>,
    /// Called with the number of `.meta` files walked so far.
    pub on_walk: Option<WalkSink>,
    /// Receives lines that are not diagnostics (renamed objects, a cache that cannot be used); without it `on_warn` does.
    pub on_note: Option<WarnSink>,
    /// Called once if another bake has the lock.
    pub on_wait: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Extra {
    /// Sets whether the bake fails if no parent directory distinguishes two names.
    pub fn strict_names(self, strict_names: bool) -> Extra {
        Extra { strict_names, ..self }
    }

    /// Sets whether the state of the last bake is ignored.
    pub fn no_cache(self, no_cache: bool) -> Extra {
        Extra { no_cache, ..self }
    }

    /// Sets whether the output directory has to be inside the project.
    pub fn inside_project(self, inside_project: bool) -> Extra {
        Extra { inside_project, ..self }
    }

    /// Sets the note for the next bake.
    pub fn note(self, note: impl Into<String>) -> Extra {
        Extra { note: note.into(), ..self }
    }

    /// Sets the number of threads; `None` is one per core.
    pub fn jobs(self, jobs: impl Into<Option<usize>>) -> Extra {
        Extra { jobs: jobs.into(), ..self }
    }

    /// Sets the receiver of the number of `.meta` files walked so far.
    pub fn on_walk(self, on_walk: Option<WalkSink>) -> Extra {
        Extra { on_walk, ..self }
    }

    /// Sets the receiver of lines that are not diagnostics.
    pub fn on_note(self, on_note: impl Fn(&str) + Send + Sync + 'static) -> Extra {
        Extra { on_note: Some(Box::new(on_note)), ..self }
    }

    /// Sets the function that is called once if another bake has the lock.
    pub fn on_wait(self, on_wait: impl Fn() + Send + Sync + 'static) -> Extra {
        Extra { on_wait: Some(Box::new(on_wait)), ..self }
    }
}

/// The report of a bake.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The number of assets in the database.
    pub entries: usize,
    /// The number of `.meta` files.
    pub walked: usize,
    /// The number of `.meta` files that are unchanged since the last bake.
    pub hit: usize,
    /// The number of `.meta` files that were parsed.
    pub parsed: usize,
    /// The warnings, by path.
    pub warnings: Vec<Diag>,
    /// True if files were written.
    pub wrote: bool,
    /// The time to open and verify the state of the last bake.
    pub cache: Duration,
    /// The time to walk the project and read its files.
    pub walk: Duration,
    /// The time to resolve names and references.
    pub build: Duration,
    /// The time to write the files.
    pub write: Duration,
}

/// The error of a bake. The files of the last bake are unchanged.
#[derive(Debug)]
#[non_exhaustive]
pub enum BakeError {
    /// A file of the output could not be read or written.
    Store(StoreError),
    /// The project was not found.
    Walk(WalkError),
    /// GUIDs that several assets share, with the paths of the assets.
    Duplicates(Vec<(u128, Vec<String>)>),
    /// Objects that an asset contains twice, with path and lines.
    Objects(Vec<Diag>),
    /// Names that cannot be made unique, with GUID and path of each claimant.
    Names(Vec<(String, Vec<(u128, String)>)>),
    /// The output directory, or a file in it, may not be written to.
    Output(Box<Diag>),
    /// Another failure, described by the string.
    Other(String),
}

impl From<StoreError> for BakeError {
    fn from(error: StoreError) -> BakeError {
        BakeError::Store(error)
    }
}

impl From<WalkError> for BakeError {
    fn from(error: WalkError) -> BakeError {
        BakeError::Walk(error)
    }
}

impl From<std::io::Error> for BakeError {
    fn from(error: std::io::Error) -> BakeError {
        BakeError::Store(StoreError::Io(error))
    }
}

impl From<Diag> for BakeError {
    fn from(diag: Diag) -> BakeError {
        BakeError::Output(diag.into())
    }
}

impl From<Vec<Ambiguous>> for BakeError {
    fn from(ambiguous: Vec<Ambiguous>) -> BakeError {
        BakeError::Names(ambiguous.into_iter().map(|each| (each.name, each.claimants)).collect())
    }
}

impl fmt::Display for BakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BakeError::Store(error) => error.fmt(f),
            BakeError::Walk(error) => error.fmt(f),
            BakeError::Output(diag) => diag.fmt(f),
            BakeError::Other(text) => f.write_str(text),
            BakeError::Objects(found) => {
                let lines: Vec<String> = found.iter().map(Diag::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            BakeError::Duplicates(found) => {
                for (n, (guid, paths)) in found.iter().enumerate() {
                    let end = if n + 1 < found.len() { "\n" } else { "" };
                    write!(f, "duplicate top-level GUID: {} in {}{end}", Guid(*guid), paths.join(" and "))?;
                }
                Ok(())
            }
            BakeError::Names(found) => {
                for (n, (name, claimants)) in found.iter().enumerate() {
                    let paths: Vec<&str> = claimants.iter().map(|(_, path)| &**path).collect();
                    let end = if n + 1 < found.len() { "\n" } else { "" };
                    write!(f, "cannot disambiguate name `{name}`: {}{end}", paths.join(" and "))?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for BakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BakeError::Store(error) => Some(error),
            BakeError::Walk(error) => Some(error),
            _ => None,
        }
    }
}
