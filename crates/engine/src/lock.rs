//! Advisory locks on files. A lock ends with its process, so that a killed run never blocks the next one.

use crate::regular_file;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// For one writer; the file is created if it is missing.
    Exclusive,
    /// For any number of readers, which keep writers away.
    Shared,
}

/// Opens and locks a file. Calls `waiting` once if another process has the lock, then waits for it.
///
/// # Errors
/// If there is no such file (for readers), the path does not lead to a regular file, or the system refuses.
pub fn open_locked(path: &Path, mode: LockMode, waiting: &dyn Fn()) -> io::Result<File> {
    let mut called = false;
    loop {
        regular_file::check_or_absent(path)?;
        let write = mode == LockMode::Exclusive;
        let file = OpenOptions::new().read(true).write(write).create(write).truncate(false).open(path)?;
        let tried = match mode {
            LockMode::Exclusive => file.try_lock(),
            LockMode::Shared => file.try_lock_shared(),
        };
        match tried {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                if !std::mem::replace(&mut called, true) {
                    waiting();
                }
                match mode {
                    LockMode::Exclusive => file.lock()?,
                    LockMode::Shared => file.lock_shared()?,
                }
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The owner may have replaced the file in the meantime: a lock on the old one keeps nobody away.
        if is_named(&file, path)? {
            return Ok(file);
        }
    }
}

/// Returns whether an open file is still the one that a path names.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere an open file cannot be replaced, so the one that is locked is the one that is named.
#[cfg(not(unix))]
fn is_named(_file: &File, path: &Path) -> io::Result<bool> {
    fs::exists(path)
}
