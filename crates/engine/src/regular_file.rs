//! Opens regular files only: opening a pipe would block, and devices and directories are not files to read.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Returns the error about a path that is not a regular file.
pub(crate) fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Opens a regular file for reading; symbolic links are followed. The type is checked before opening, because opening a pipe
/// blocks until a writer opens it.
///
/// # Errors
/// If the file does not exist, is not a regular file, or cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    File::open(path)
}

/// Checks that a path is a regular file or does not exist. A symbolic link is an error: it may lead out of the tree.
///
/// # Errors
/// If a link, a directory, a pipe, a socket or a device is at the path.
pub fn check_or_absent(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => Err(not_regular()),
        _ => Ok(()),
    }
}
