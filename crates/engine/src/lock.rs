//! Advisory file locks. A lock is released when its process ends, so a killed run never blocks the next one.

use crate::regular_file;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The mode of a file lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// A single writer; the file is created if it does not exist.
    Exclusive,
    /// Any number of readers, and no writer.
    Shared,
}

/// Opens and locks a file. Calls `waiting` once if another process holds the lock, then blocks.
///
/// # Errors
/// If the file does not exist (shared mode), is not a regular file, or cannot be opened or locked.
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
        // The owner may have replaced the file in the meantime: a lock on the old inode excludes nobody.
        if is_named(&file, path)? {
            return Ok(file);
        }
    }
}

/// Returns whether an open file is still the file at a path.
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

/// On other platforms an open file cannot be replaced, so the locked file is the file at the path.
#[cfg(not(unix))]
fn is_named(_file: &File, path: &Path) -> io::Result<bool> {
    fs::exists(path)
}
