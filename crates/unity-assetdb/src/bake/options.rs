//! What a bake is asked for, what it reports, and why it may fail.

use super::name::Ambiguous;
use crate::guid::Guid;
use crate::store::StoreError;
use crate::walk::WalkError;
use kiln_engine::Diag;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Rewrites a name that would clash with a consumer's grammar; `None` leaves it.
pub type NameSanitizer = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;
/// Takes each warning, one line.
pub type WarnSink = Box<dyn Fn(&str) + Send + Sync>;
/// Takes each line of progress.
pub type ProgressSink = Box<dyn Fn(&str) + Send + Sync>;

/// What to bake, and whom to tell.
pub struct BakeOptions {
    /// The project: see [`crate::walk::resolve_project_root`].
    pub project_root: PathBuf,
    /// Where the two files go. Made if it is not there.
    pub out_dir: PathBuf,
    /// Asked about every name before names are made unique.
    pub name_sanitizer: Option<NameSanitizer>,
    /// Told of everything odd.
    pub on_warn: Option<WarnSink>,
    /// Told of the result, and with `verbose_timing` of how long each phase took.
    pub on_progress: Option<ProgressSink>,
    /// Whether to tell how long each phase took.
    pub verbose_timing: bool,
    /// Whether to warn of each name that was made unique.
    pub verbose_collisions: bool,
}

/// What the document's options do not cover; see [`super::bake_with`].
#[derive(Default)]
pub struct Extra {
    /// No extension step: names that no parent directory separates fail the bake, as the document has it.
    pub strict_names: bool,
    /// Read everything, whatever the last bake knew.
    pub no_cache: bool,
    /// Refuse an output directory that links lead out of the project, for a directory that the user did not name.
    pub inside_project: bool,
    /// Kept in the state for whoever bakes next: see [`crate::index::Index::note`].
    pub note: String,
    /// How many threads to use; `None` is one per core.
    pub jobs: Option<usize>,
    /// Told how many `.meta` files have been looked at, as they are.
    #[allow(clippy::type_complexity)]
    pub on_walk: Option<Box<dyn Fn(usize) + Send + Sync>>,
    /// Receives lines that are not diagnostics (renamed objects, a cache that cannot be used); without it `on_warn` does.
    pub on_note: Option<WarnSink>,
    /// Called when another bake has to end first.
    pub on_wait: Option<Box<dyn Fn() + Send + Sync>>,
}

/// What a bake did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// How many assets are in the database.
    pub entries: usize,
    /// How many `.meta` files there are.
    pub walked: usize,
    /// How many of them were as the last bake knew them.
    pub hit: usize,
    /// How many of them were read.
    pub parsed: usize,
    /// Everything odd, in the order of paths.
    pub warnings: Vec<Diag>,
    /// Whether a file was written.
    pub wrote: bool,
    /// How long opening the old state took.
    pub cache: Duration,
    /// How long the walk took, reading included.
    pub walk: Duration,
    /// How long it took to resolve names and references.
    pub build: Duration,
    /// How long writing took.
    pub write: Duration,
}

/// Why a bake failed. The files of the last bake are as they were.
#[derive(Debug)]
#[non_exhaustive]
pub enum BakeError {
    /// A file of the output could not be read or written.
    Store(StoreError),
    /// There is no project.
    Walk(WalkError),
    /// Assets share a GUID: all of them, with the paths of all that do.
    Duplicates(Vec<(u128, Vec<String>)>),
    /// Names that nothing separates: all of them, with GUID and path of each claimant.
    Names(Vec<(String, Vec<(u128, String)>)>),
    /// The output directory, or a file in it, may not be written to.
    Output(Box<Diag>),
    /// Anything else.
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
