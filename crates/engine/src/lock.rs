//! File locks. A lock is released when its process ends, so a killed run never blocks the next one.
//!
//! Unix locks are advisory and belong to the inode: a locked file can be replaced, and whoever waited for the old one finds
//! out and opens the new one. Windows neither replaces nor removes a file that is open without sharing its deletion, so a
//! file that is opened here stays at its path as long as a process owns the lock or waits for it.

use crate::regular_file;
use std::fs::{File, OpenOptions, TryLockError};
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
        let mut options = OpenOptions::new();
        options.read(true).write(write).create(write).truncate(false);
        deny_removal(&mut options);
        let file = options.open(path)?;
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
    match std::fs::metadata(path) {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true: nobody can rename, replace or remove the file while it is open, see [`deny_removal`].
#[cfg(windows)]
fn is_named(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Returns whether there is a file at the path. On other platforms an open file cannot be identified.
#[cfg(not(any(unix, windows)))]
fn is_named(_file: &File, path: &Path) -> io::Result<bool> {
    std::fs::exists(path)
}

/// Lets other processes read and write the file while it is open, but not rename, replace or remove it.
#[cfg(windows)]
fn deny_removal(options: &mut OpenOptions) {
    const FILE_SHARE_READ: u32 = 1;
    const FILE_SHARE_WRITE: u32 = 2;
    std::os::windows::fs::OpenOptionsExt::share_mode(options, FILE_SHARE_READ | FILE_SHARE_WRITE);
}

#[cfg(not(windows))]
fn deny_removal(_options: &mut OpenOptions) {}
