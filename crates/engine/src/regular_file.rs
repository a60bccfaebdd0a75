//! Regular files, distinguished from everything that must not be opened in their place: a pipe, on which a reader waits without
//! end, a device, a directory.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The error about a path at which there is no regular file.
pub(crate) fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Opens a regular file for reading, through links. The type is checked before the file is opened: opening a pipe would
/// wait for its other end.
///
/// # Errors
/// If there is no such file, it is not a regular one, or the system refuses.
pub fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    File::open(path)
}

/// Checks that a path leads to a regular file or to nothing, and not through a link, which might lead out of the tree.
///
/// # Errors
/// If a link, a directory, a pipe, a socket or a device is at the path.
pub fn check_or_absent(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => Err(not_regular()),
        _ => Ok(()),
    }
}
