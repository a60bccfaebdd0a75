//! Checks the output directory of a bake, and the files in it that the bake would replace.
//!
//! A project may be untrusted. Rejected are output directories that symbolic links lead out of the project and, at the paths
//! of the two files, links, special files and files that no bake wrote.

use super::BakeError;
use crate::state;
use crate::store::{self, LOCK, cache_path, db_path};
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::{Code, Diag, Fs, Real, RelPath};
use std::fs;
use std::path::Path;

/// Checks that a directory is inside the project, links followed, as far as it exists.
pub(super) fn check_inside(project: &Path, dir: &Path) -> Result<(), BakeError> {
    let real = project.canonicalize().map_err(|e| super::at(project, e))?;
    let existing = dir.ancestors().find(|part| fs::symlink_metadata(part).is_ok()).unwrap_or(dir);
    // A dangling link has no canonical path: its future target is unknown.
    if existing.canonicalize().is_ok_and(|existing| existing.starts_with(&real)) {
        return Ok(());
    }
    let message = "a symbolic link leads the output directory out of the project; nothing was written";
    let diag = Diag::new(Code::UnityOutputOutside, message).path(dir.display());
    Err(diag.hint("remove the link, or choose the directory with --out-dir").into())
}

/// Checks that the two files of a bake may take their paths. A directory with the lock file of a bake, or with a
/// database, is that of an index, so that any regular file at one of the paths is a damaged one of an earlier bake. Called
/// before the lock file is created.
pub(super) fn check_files(dir: &Path) -> Result<(), BakeError> {
    let out = Real::open(dir).map_err(|e| super::at(dir, e))?;
    let name = |path: &Path| {
        path.file_name().and_then(|name| name.to_str()).and_then(|name| RelPath::new(name).ok())
    };
    let (db, state) = (db_path(dir), cache_path(dir));
    let is_database =
        |name: RelPath| out.peek(&name, store::MAGIC.len()).is_ok_and(|head| head == store::MAGIC);
    let is_index = || dir.join(LOCK).is_file() || name(&db).is_some_and(is_database);
    for (path, magic) in [(&db, &store::MAGIC[..]), (&state, &state::MAGIC[..])] {
        let Some(name) = name(path) else { continue };
        let replace = Replace { overwrite: false, magic: Some(magic), owned: &is_index };
        admit(&out, &name, None, replace).map_err(|diag| {
            diag.path(path.display()).hint("move the file away, or choose another directory with --out-dir")
        })?;
    }
    Ok(())
}
