//! The process of a worker: the directory of a command, from the request file to the result file.

use super::{REQUEST, RESULT, SOURCES};
use crate::fs::Fs;
use crate::inputs::SourceTree;
use crate::real::Real;
use crate::{Code, Diag};
use std::io;
use std::path::Path;

/// Runs the request of a directory and writes its result: the body of a worker process. `run` returns the result of
/// [`run_action`](crate::store::run_action).
///
/// # Errors
/// The directory has no request, or cannot be read or written; or the error of `run`.
pub fn run_request(
    dir: &Path,
    run: impl FnOnce(&[u8], SourceTree<'_>) -> Result<Vec<u8>, Diag>,
) -> Result<(), Diag> {
    let unreadable = |name: &str, error: io::Error| Diag::new(Code::Unreadable, error.to_string()).path(name);
    let request = std::fs::read(dir.join(REQUEST)).map_err(|e| unreadable(REQUEST, e))?;
    let fs = Real::open(&dir.join(SOURCES)).map_err(|e| unreadable(SOURCES, e))?;
    let tree = fs.walk(None).map_err(|e| unreadable(SOURCES, e))?;
    let result = run(&request, SourceTree { fs: &fs, tree: &tree })?;
    std::fs::write(dir.join(RESULT), result)
        .map_err(|e| Diag::new(Code::Unwritable, e.to_string()).path(RESULT))
}

/// Returns the error about a request of another program or version.
pub fn bad_request() -> Diag {
    Diag::new(Code::Unreadable, "the request is damaged, or was written by another program or version")
        .path(REQUEST)
}
