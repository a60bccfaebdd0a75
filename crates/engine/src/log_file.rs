//! The log of a directory on disk: locked by one process, appended to, and replaced by rename.
//!
//! The lock has to survive the replacement. On Unix it is on the log itself: the new file is locked before it is renamed into
//! place, and a process that waited for the old one finds that it is gone and opens the new one. Windows does not replace an
//! open file on every file system, and other processes cannot read what is locked; there the lock is a hidden file beside the
//! log that is never replaced, and the log is closed for the moment of its replacement.

use crate::fs::{Log, LogGuard};
use crate::lock::{LockMode, open_locked};
use crate::publish::Durability;
use crate::real::{TEMPORARY, is_not_found, read_to_len};
use crate::regular_file;
use crate::temporary::TemporaryFile;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file that carries the lock of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockPlacement {
    /// The log itself.
    InLog,
    /// A file beside the log.
    BesideLog,
}

impl LockPlacement {
    /// The placement for this platform.
    pub(crate) const NATIVE: LockPlacement =
        if cfg!(windows) { LockPlacement::BesideLog } else { LockPlacement::InLog };

    /// Returns the path of the lock file of a log, if it is a file of its own. Like a temporary file it is in no tree; unlike
    /// one it is not swept, because prefixes of temporary files continue with a hexadecimal number.
    fn lock_file(self, log: &Path) -> Option<PathBuf> {
        let name = log.file_name()?.to_string_lossy();
        (self == LockPlacement::BesideLog).then(|| log.with_file_name(format!("{TEMPORARY}lock{name}")))
    }
}

/// An open log, locked until it is dropped.
pub(crate) struct LogFile {
    /// The log; `None` if it could not be opened again after a failed replacement.
    file: Option<File>,
    /// The lock, where it is not on the log itself.
    lock: Option<File>,
    path: PathBuf,
    temporary: PathBuf,
}

impl LogFile {
    /// Opens and locks a log, and creates it if it does not exist. Calls `waiting` once if another process holds the lock,
    /// then blocks. A replacement is written to `temporary` first.
    ///
    /// # Errors
    /// If the log is not a regular file, or cannot be opened or locked.
    pub(crate) fn open(
        path: PathBuf,
        temporary: PathBuf,
        placement: LockPlacement,
        waiting: &dyn Fn(),
    ) -> io::Result<LogFile> {
        let (file, lock) = match placement.lock_file(&path) {
            None => (open_locked(&path, LockMode::Exclusive, waiting)?, None),
            Some(lock) => {
                let lock = open_locked(&lock, LockMode::Exclusive, waiting)?;
                (open_unlocked(&path, true)?, Some(lock))
            }
        };
        Ok(LogFile { file: Some(file), lock, path, temporary })
    }

    fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the log was closed after an error"))
    }
}

/// Reads a log with a shared lock; empty if there is none.
///
/// # Errors
/// If the log is not a regular file, or cannot be read or locked.
pub(crate) fn read(
    log: &Path,
    placement: LockPlacement,
    waiting: &dyn Fn(),
) -> io::Result<(Vec<u8>, LogGuard)> {
    let lock_file = placement.lock_file(log);
    let locked = found(open_locked(lock_file.as_deref().unwrap_or(log), LockMode::Shared, waiting))?;
    let read = |file: &Option<File>| match file {
        Some(file) => read_to_len(file, file.metadata()?.len()),
        None => Ok(vec![]),
    };
    let bytes = match lock_file {
        None => read(&locked)?,
        // Without a lock file no process owns the log: it may be a copy, or be on a read-only file system. It is closed after
        // it is read, so that the next owner can replace it.
        Some(_) => read(&found(regular_file::open(log))?)?,
    };
    Ok((bytes, locked.map_or_else(LogGuard::nothing, |file| LogGuard(Box::new(file)))))
}

/// Removes the lock file of a log, unless the log itself is locked or a process owns the lock or waits for it.
pub(crate) fn remove_lock(log: &Path, placement: LockPlacement) {
    if let Some(lock) = placement.lock_file(log) {
        // Windows refuses this, as it should, while a process has the file open.
        let _ = fs::remove_file(lock);
    }
}

/// Opens a log whose lock is a file of its own.
fn open_unlocked(path: &Path, create: bool) -> io::Result<File> {
    regular_file::check_or_absent(path)?;
    OpenOptions::new().read(true).write(true).create(create).truncate(false).open(path)
}

impl Log for LogFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn byte_len(&mut self) -> io::Result<u64> {
        Ok(self.file()?.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let file = self.file()?;
        file.seek(SeekFrom::Start(offset))?;
        read_to_len((&*file).take(len), len)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file()?.set_len(len)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file()?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut pending = TemporaryFile::create(self.temporary.clone())?;
        let carries_lock = self.lock.is_none();
        if carries_lock {
            // The new file is locked before the rename, so that the lock has no gap.
            pending.file.lock()?;
        }
        pending.file.write_all(bytes)?;
        if !carries_lock {
            self.file = None;
        }
        match pending.publish_open(&self.path, Durability::Durable) {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                if self.file.is_none() {
                    self.file = open_unlocked(&self.path, false).ok();
                }
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Converts the error of a file that does not exist to `None`.
fn found(result: io::Result<File>) -> io::Result<Option<File>> {
    match result {
        Err(error) if is_not_found(&error) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fs, Real};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A log in a temporary directory, with its lock at one of the places.
    struct Case {
        dir: tempfile::TempDir,
        placement: LockPlacement,
    }

    impl Case {
        fn all() -> impl Iterator<Item = Case> {
            let new = |placement| Case { dir: tempfile::tempdir().unwrap(), placement };
            [LockPlacement::InLog, LockPlacement::BesideLog].into_iter().map(new)
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join(".log")
        }

        fn open(&self, waiting: &dyn Fn()) -> LogFile {
            let temporary = self.dir.path().join(format!(".kiln-{:?}", std::thread::current().id()));
            LogFile::open(self.path(), temporary, self.placement, waiting).unwrap()
        }

        fn read(&self, waiting: &dyn Fn()) -> (Vec<u8>, LogGuard) {
            read(&self.path(), self.placement, waiting).unwrap()
        }
    }

    /// A reader that waits for the owner reads the final log, also if the owner replaced the file, and blocks the next owner.
    #[test]
    fn log_readers_and_owners_exclude_each_other() {
        Case::all().for_each(|case| readers_and_owners_exclude_each_other(&case));
    }

    fn readers_and_owners_exclude_each_other(case: &Case) {
        let (waits, waiting) = std::sync::mpsc::channel();
        let waits = || waits.send(()).unwrap();
        let mut log = case.open(&|| ());
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| case.read(&waits.clone()));
            waiting.recv().unwrap();
            log.replace(b"first").unwrap();
            log.append(b", second").unwrap();
            drop(log);
            let (bytes, held) = reader.join().unwrap();
            assert_eq!(bytes, b"first, second");

            let owner = scope.spawn(|| {
                let mut log = case.open(&waits.clone());
                let len = log.byte_len().unwrap();
                log.read_at(0, len).unwrap()
            });
            waiting.recv().unwrap();
            drop(held);
            assert_eq!(owner.join().unwrap(), b"first, second");
        });
    }

    /// Two owners that wait while the log is replaced, removed and created again never own it together.
    #[test]
    fn waiting_owners_follow_each_other() {
        for case in Case::all() {
            let inside = AtomicU64::new(0);
            let mut log = case.open(&|| ());
            std::thread::scope(|scope| {
                let (waits, waiting) = std::sync::mpsc::channel();
                for _ in 0..4 {
                    let waits = waits.clone();
                    let (case, inside) = (&case, &inside);
                    scope.spawn(move || {
                        let mut log = case.open(&|| waits.send(()).unwrap());
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        log.replace(b"theirs").unwrap();
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    });
                }
                (0..4).for_each(|_| waiting.recv().unwrap());
                log.replace(b"ours").unwrap();
                fs::remove_file(case.path()).unwrap();
                drop(log);
            });
            assert_eq!(case.read(&|| ()).0, b"theirs");
        }
    }

    #[test]
    fn lock_beside_the_log_is_no_part_of_the_tree() {
        let case = Case::all().find(|case| case.placement == LockPlacement::BesideLog).unwrap();
        let real = Real::open(case.dir.path()).unwrap();
        // A log without a lock file, such as a copy, can be read.
        fs::write(case.path(), "copied").unwrap();
        assert_eq!(case.read(&|| ()).0, b"copied");
        assert_eq!(fs::read_dir(case.dir.path()).unwrap().count(), 1);
        let log = case.open(&|| ());
        let lock = case.dir.path().join(".kiln-lock.log");
        assert!(lock.is_file());
        real.sweep().unwrap();
        Real::named(case.dir.path(), "other").unwrap().sweep().unwrap();
        assert!(lock.is_file());
        let names: Vec<_> = real.walk(None).unwrap().entries().iter().map(|e| e.path.to_string()).collect();
        assert_eq!(names, [".log"]);
        drop(log);
        remove_lock(&case.path(), case.placement);
        assert!(!lock.exists());
    }

    /// If the log cannot be replaced, it stays as it was and is still open.
    #[test]
    fn failed_replacement_keeps_the_log() {
        for case in Case::all() {
            let (path, moved) = (case.path(), case.dir.path().join("moved"));
            let mut log = case.open(&|| ());
            log.append(b"first").unwrap();
            // The temporary file cannot be renamed onto a directory.
            fs::rename(&path, &moved).unwrap();
            fs::create_dir_all(path.join("full")).unwrap();
            log.replace(b"second").unwrap_err();
            assert_eq!(fs::read(&moved).unwrap(), b"first");
            fs::remove_dir_all(&path).unwrap();
            fs::rename(&moved, &path).unwrap();
            if case.placement == LockPlacement::InLog {
                log.append(b", third").unwrap();
            } else {
                // There was no file to open again.
                log.append(b", third").unwrap_err();
            }
        }
    }
}
