//! The names that a build has for its own files and records in an output directory.

use kiln_engine::{Code, Diag, RelPath};
use std::io;
use std::path::Path;

/// The journal in the output: which file came from what, and the lock of the build that owns it.
pub const JOURNAL: &str = ".assetc-cache";

/// The journal's name for the manifest. No source can have it: paths of sources do not start with a slash.
pub(crate) const LINK: &str = "//manifest";

/// The journal's name for the pack.
pub(crate) const PACK: &str = "//pack";

pub(crate) fn journal_path() -> RelPath {
    RelPath::new(JOURNAL).expect("a plain name")
}

/// An error about a path that the user named.
pub(crate) fn at_root(code: Code, path: &Path, error: &io::Error) -> Diag {
    let what = if code == Code::Unreadable { "read" } else { "write" };
    Diag::new(code, format!("cannot {what} it: {error}")).path(path.display())
}
