//! Temporary files and directories: removed when they are dropped, or all at once when the process is interrupted.
//!
//! A process that ends by [`std::process::exit`] drops nothing. So every temporary path is in a registry of the process,
//! from which [`remove_all`] removes what is left. A killed process leaves its files to the sweep of the next run.

use crate::file_in_use::{self, retry_while_in_use};
use crate::publish::{Durability, publish};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// True after [`remove_all`]: no path can be created any more. Threads that create a path share the lock until the path is
/// registered, so that none appears after `remove_all`, and none waits for another that creates one.
static IS_CLOSED: RwLock<bool> = RwLock::new(false);

/// The temporary paths of this process.
struct Registry {
    /// The number of the next path.
    next: u64,
    paths: BTreeMap<u64, (PathBuf, Kind)>,
}

#[derive(Clone, Copy)]
enum Kind {
    File,
    Directory,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { next: 0, paths: BTreeMap::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_closed() -> RwLockReadGuard<'static, bool> {
    IS_CLOSED.read().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files and directories of this process, and lets it create no others: for a process that is about
/// to exit while other threads still work. A thread that creates or renames one blocks until the exit, so that it reports no
/// error.
pub fn remove_all() {
    *IS_CLOSED.write().unwrap_or_else(PoisonError::into_inner) = true;
    // Locked until all are removed: a thread that renames one finishes before, or fails.
    let mut registry = registry();
    std::mem::take(&mut registry.paths).values().for_each(|(path, kind)| remove(path, *kind));
}

/// Blocks after [`remove_all`]: the process is about to exit.
fn wait_for_exit() -> ! {
    loop {
        std::thread::park();
    }
}

fn remove(path: &Path, kind: Kind) {
    // What cannot be removed is left to the sweep of the next run, or to the cleanup of the system's temporary directory.
    let _ = match kind {
        Kind::File => retry_while_in_use(|| fs::remove_file(path)),
        Kind::Directory => retry_while_in_use(|| fs::remove_dir_all(path)),
    };
}

/// A temporary file or directory, removed when dropped unless it was renamed.
#[derive(Debug)]
pub struct TemporaryPath {
    path: PathBuf,
    /// The number of the path in the registry.
    number: u64,
}

impl TemporaryPath {
    fn create<T>(
        path: PathBuf,
        kind: Kind,
        create: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<(TemporaryPath, T)> {
        let closed = is_closed();
        if *closed {
            drop(closed);
            wait_for_exit();
        }
        let created = create(&path)?;
        let mut registry = registry();
        let number = registry.next;
        registry.next += 1;
        registry.paths.insert(number, (path.clone(), kind));
        Ok((TemporaryPath { path, number }, created))
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// If the path exists, or the directory cannot be created.
    pub fn directory(path: PathBuf) -> io::Result<TemporaryPath> {
        TemporaryPath::create(path, Kind::Directory, |path| fs::create_dir(path)).map(|(path, ())| path)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file or directory; it is no longer temporary then.
    pub(crate) fn rename(&self, target: &Path) -> io::Result<()> {
        let renamed = file_in_use::rename(&self.path, target);
        if renamed.is_err() && *is_closed() {
            wait_for_exit();
        }
        renamed?;
        registry().paths.remove(&self.number);
        Ok(())
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        // The guard must not be held while a large directory is removed.
        let left = registry().paths.remove(&self.number);
        if let Some((path, kind)) = left {
            remove(&path, kind);
        }
    }
}

/// A file under a temporary name, removed when dropped.
pub struct TemporaryFile {
    path: TemporaryPath,
    pub(crate) file: File,
}

impl TemporaryFile {
    /// Creates a file for reading and writing.
    ///
    /// # Errors
    /// If the path exists, or the file cannot be created.
    pub(crate) fn create(path: PathBuf) -> io::Result<TemporaryFile> {
        let create = |path: &Path| OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let (path, file) = TemporaryPath::create(path, Kind::File, create)?;
        Ok(TemporaryFile { path, file })
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Publishes the complete file under a path in its directory; a file or a link at that path is replaced.
    ///
    /// # Errors
    /// If the file cannot be flushed or renamed. Then the temporary file is removed and the target is as it was.
    pub fn publish(self, target: &Path, durability: Durability) -> io::Result<()> {
        publish(&self.file, durability, || self.rename(target))
    }

    /// Renames the file, which is not flushed.
    pub(crate) fn rename(&self, target: &Path) -> io::Result<()> {
        self.path.rename(target)
    }

    /// Renames the file by a function that returns whether it did.
    pub(crate) fn rename_by(&self, rename: impl FnOnce(&Path) -> bool) -> bool {
        let is_renamed = rename(&self.path.path);
        if is_renamed {
            registry().paths.remove(&self.path.number);
        }
        is_renamed
    }

    /// Publishes the file like [`publish`](Self::publish), and returns it open.
    pub(crate) fn publish_open(self, target: &Path, durability: Durability) -> io::Result<File> {
        publish(&self.file, durability, || self.rename(target))?;
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_files_and_directories_unless_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let directory = TemporaryPath::directory(at("directory")).unwrap();
        fs::write(at("directory/file"), "x").unwrap();
        let (dropped, kept) =
            (TemporaryFile::create(at("dropped")).unwrap(), TemporaryFile::create(at("kept")).unwrap());
        kept.publish(&at("renamed"), Durability::Verified).unwrap();
        // A new file with the temporary name belongs to somebody else.
        fs::write(at("kept"), "foreign").unwrap();
        drop((directory, dropped));
        let mut names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["kept", "renamed"]);
    }
}
