//! Names of the files and journal records that a build reserves in an output directory.

use kiln_engine::{Code, Diag, RelPath};
use std::io;
use std::path::Path;

/// The file name of the journal in the output directory, which records the origin of each file and is the build lock.
pub(crate) const JOURNAL: &str = ".assetc-cache";

/// The key of the manifest in the journal. No source has this key: paths of sources do not start with a slash.
pub(crate) const LINK: &str = "//manifest";

/// The key of the pack in the journal.
pub(crate) const PACK: &str = "//pack";

/// The key of the failures of the last build in the journal.
pub(crate) const FAILURES: &str = "//failures";

/// The key of the digests in the journal.
pub(crate) const DIGESTS: &str = "//digests";

/// The records of the journal that belong to no source.
pub(crate) const RESERVED: [&str; 4] = [LINK, PACK, FAILURES, DIGESTS];

pub(crate) fn journal_path() -> RelPath {
    RelPath::new(JOURNAL).expect("a plain name")
}

/// Returns an I/O error about a path that is not below a source tree.
pub(crate) fn at_root(code: Code, path: &Path, error: &io::Error) -> Diag {
    let verb = if code == Code::Unreadable { "read" } else { "write" };
    Diag::new(code, format!("cannot {verb} this file or directory: {error}")).path(path.display())
}
