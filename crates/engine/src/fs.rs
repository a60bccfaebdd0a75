//! The file system interface of the engine: a tree of files with stamps, atomic writes and one append-only log.
//!
//! There are two implementations: [`crate::real::Real`] over a directory on disk, and [`crate::mem::Mem`] for tests, which
//! logs reads and injects faults. All paths are relative to the root of the file system, and none leaves it.

use crate::{Diag, RelPath};
use std::any::Any;
use std::fs::File;
use std::io;

/// The metadata that identifies a version of a file without reading it.
///
/// `mtime_ns` and `len` catch ordinary edits; `changed_ns` (the inode's change time where the platform has
/// one, else the modification time again) also catches an edit whose modification time was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Time of the last modification, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Time of the last change of content or metadata, in nanoseconds since the epoch.
    pub changed_ns: i64,
    /// Size in bytes.
    pub len: u64,
}

impl Stamp {
    /// The stamp of a file that does not exist.
    pub const NONE: Stamp = Stamp { mtime_ns: 0, changed_ns: 0, len: 0 };

    /// Returns the stamp of a symbolic link to a file with this stamp. A link, and any link on the way to its target, can be
    /// redirected without a trace in the stamp of the target. The change time is therefore always in the future, so that
    /// the content is compared.
    pub(crate) fn through_link(self) -> Stamp {
        Stamp { changed_ns: i64::MAX, ..self }
    }
}

/// A file or a directory of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path relative to the root.
    pub path: RelPath,
    /// The stamp of a file, or `None` for a directory.
    pub file: Option<Stamp>,
}

/// A snapshot of all files and directories below a root, sorted by path.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    entries: Vec<Entry>,
    /// Diagnostics about entries that are not in the tree: links that lead out of it, names that are not UTF-8, unreadable
    /// directories.
    pub problems: Vec<Diag>,
    directories: Vec<(String, Stamp)>,
}

/// Two trees are equal if they have the same files, directories and problems. Stamps of directories do not count: they
/// also change when a temporary file is created and removed.
impl PartialEq for Tree {
    fn eq(&self, other: &Tree) -> bool {
        (&self.entries, &self.problems) == (&other.entries, &other.problems)
    }
}

impl Eq for Tree {}

impl Tree {
    /// Makes a tree from entries in any order; long sorted runs are merged fast.
    pub fn new(mut entries: Vec<Entry>, mut problems: Vec<Diag>) -> Tree {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        problems.sort_unstable_by(|a, b| (&a.path, &a.code).cmp(&(&b.path, &b.code)));
        Tree { entries, problems, directories: Vec::new() }
    }

    /// Adds the stamps of the directories that were walked, each from before it was listed.
    pub(crate) fn with_directories(self, mut directories: Vec<(String, Stamp)>) -> Tree {
        directories.sort_unstable();
        Tree { directories, ..self }
    }

    /// Returns every directory that was walked, sorted by path, with its stamp from before it was listed. The root has the
    /// empty path. Directories that are excluded as the output of another build are among them. Empty if the file system
    /// has no such stamps.
    pub(crate) fn directories(&self) -> &[(String, Stamp)] {
        &self.directories
    }

    /// Returns all entries, sorted by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Iterates over all files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&RelPath, Stamp)> {
        self.entries.iter().filter_map(|e| Some((&e.path, e.file?)))
    }

    /// Returns the entry at a path.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        let index = self.entries.binary_search_by(|e| e.path.as_str().cmp(path)).ok()?;
        Some(&self.entries[index])
    }

    /// Returns the stamp of the file at a path; `None` if there is no file.
    pub fn stamp(&self, path: &str) -> Option<Stamp> {
        self.get(path)?.file
    }

    /// Returns the stamp of the file at a path, like [`stamp`](Self::stamp), but fast for lookups in sorted order: `hint` is
    /// the index after the last hit.
    pub fn stamp_near(&self, path: &str, hint: &mut usize) -> Option<Stamp> {
        let index = match self.entries.get(*hint) {
            Some(entry) if entry.path.as_str() == path => *hint,
            _ => self.entries.binary_search_by(|e| e.path.as_str().cmp(path)).ok()?,
        };
        *hint = index + 1;
        self.entries[index].file
    }

    /// Returns all entries below a directory, at any depth.
    pub fn below(&self, dir: &RelPath) -> &[Entry] {
        let prefix = format!("{dir}/");
        let start = self.entries.partition_point(|e| e.path.as_str() < prefix.as_str());
        let rest = &self.entries[start..];
        &rest[..rest.partition_point(|e| e.path.as_str().starts_with(&prefix))]
    }

    /// Iterates over the direct children of a directory.
    pub fn children(&self, dir: &RelPath) -> impl Iterator<Item = &Entry> {
        let skip = dir.as_str().len() + 1;
        self.below(dir).iter().filter(move |e| !e.path.as_str()[skip..].contains('/'))
    }
}

/// The kind of entry at a path; symbolic links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// No entry.
    Nothing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link to anything.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Content that has been written but not published under its name; it is deleted when dropped.
pub struct Staged(Box<dyn Any + Send>);

impl Staged {
    /// Wraps staged content in the form that the same sink publishes.
    pub fn new(content: impl Any + Send) -> Staged {
        Staged(Box::new(content))
    }

    /// Unwraps the content; `None` if it has another type.
    pub fn into_inner<T: Any>(self) -> Option<T> {
        self.0.downcast().ok().map(|content| *content)
    }
}

/// Writes the content of a staged file, in chunks, so that it need not fit into memory.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>;

/// A file that was read, and its stamps. If they differ, it was modified during the read.
#[derive(Debug)]
pub struct StampedRead {
    /// The stamp before the read.
    pub before: Stamp,
    /// The content; empty if the file was too long to be read.
    pub bytes: io::Result<Vec<u8>>,
    /// The stamp after the read; `None` if the file was removed.
    pub after: Option<Stamp>,
}

/// Reads a file between two lookups of its stamp.
pub(crate) fn read_stamped<F: Fs + ?Sized>(
    fs: &F,
    path: &RelPath,
    max_len: u64,
) -> io::Result<Option<StampedRead>> {
    let Some(before) = fs.stamp(path)? else { return Ok(None) };
    let bytes = if before.len <= max_len { fs.read(path) } else { Ok(Vec::new()) };
    Ok(Some(StampedRead { before, bytes, after: fs.stamp(path)? }))
}

/// A file system below a root directory.
pub trait Fs: Sync {
    /// Takes a snapshot of the whole tree. A directory below the root that contains a file named `boundary` is the output of
    /// another build and is excluded.
    ///
    /// # Errors
    /// If the root cannot be read. Other problems are in [`Tree::problems`].
    fn walk(&self, boundary: Option<&str>) -> io::Result<Tree>;

    /// Reads a regular file inside the root.
    ///
    /// # Errors
    /// If there is no such file, it is not a regular file, a symbolic link leads out of the root, or reading fails.
    fn read(&self, path: &RelPath) -> io::Result<Vec<u8>>;

    /// Reads a regular file inside the root with its stamps before and after; `None` if it does not exist. A file of more
    /// than `max_len` bytes is not read.
    ///
    /// # Errors
    /// If the metadata cannot be read.
    fn read_stamped(&self, path: &RelPath, max_len: u64) -> io::Result<Option<StampedRead>> {
        read_stamped(self, path, max_len)
    }

    /// Reads at most the first `len` bytes of a regular file.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn peek(&self, path: &RelPath, len: usize) -> io::Result<Vec<u8>>;

    /// Returns the stamp of a regular file; `None` if there is none.
    ///
    /// # Errors
    /// If the metadata cannot be read.
    fn stamp(&self, path: &RelPath) -> io::Result<Option<Stamp>>;

    /// Returns the kind of entry at a path without following a link.
    ///
    /// # Errors
    /// If a parent of the path is a symbolic link or not a directory.
    fn occupant(&self, path: &RelPath) -> io::Result<Occupant>;

    /// Returns the current time of the clock that stamps use, in nanoseconds since the epoch.
    fn now_ns(&self) -> i64;

    /// Writes a file under a temporary name.
    ///
    /// # Errors
    /// The error of `fill`, or of the file system.
    fn stage(&self, fill: Fill<'_>) -> io::Result<Staged>;

    /// Copies the rest of an open file to a temporary name: always as a copy, never as a hard link.
    ///
    /// # Errors
    /// If reading or writing fails.
    fn stage_copy(&self, from: &mut File) -> io::Result<Staged> {
        self.stage(&mut |to| io::copy(from, to).map(drop))
    }

    /// Flushes staged files to disk, then renames each into place. An existing regular file is replaced, and so is a directory
    /// that contains no files; a symbolic link or a special file is an error. Each file has its own result.
    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>>;

    /// Removes a regular file, if it exists, and the directories that become empty. Symbolic links are neither followed nor
    /// removed.
    ///
    /// # Errors
    /// If the file exists and cannot be removed.
    fn remove(&self, path: &RelPath) -> io::Result<()>;

    /// Opens the log with an exclusive lock, creating it if it does not exist. Calls `waiting` once if another process holds
    /// the lock, then blocks.
    ///
    /// # Errors
    /// If the log is not a regular file, or cannot be opened or locked.
    fn open_log(&self, name: &RelPath, waiting: &dyn Fn()) -> io::Result<Box<dyn Log>>;

    /// Reads the log with a shared lock; empty if there is none. The lock is held until the guard is dropped.
    ///
    /// # Errors
    /// If the log is not a regular file, or cannot be read or locked.
    fn read_log(&self, name: &RelPath, waiting: &dyn Fn()) -> io::Result<(Vec<u8>, LogGuard)>;

    /// Removes the lock file of a log that was removed, unless the lock is on the log itself or another process has it open.
    fn remove_lock(&self, _name: &RelPath) {}
}

/// A shared lock on a log, released when dropped.
#[allow(dead_code, reason = "dropping it is its use")]
pub struct LogGuard(pub(crate) Box<dyn Any + Send + Sync>);

impl LogGuard {
    /// Returns the guard of a log that does not exist.
    pub(crate) fn nothing() -> LogGuard {
        LogGuard(Box::new(()))
    }
}

/// An append-only file, locked exclusively until dropped.
pub trait Log: Send {
    /// Returns the name for messages.
    fn name(&self) -> String;
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// If the metadata cannot be read.
    fn byte_len(&mut self) -> io::Result<u64>;
    /// Reads `len` bytes at an offset.
    ///
    /// # Errors
    /// If reading fails or ends early.
    fn read_at(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>>;
    /// Truncates the log to `len` bytes.
    ///
    /// # Errors
    /// If the file system refuses.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Appends bytes.
    ///
    /// # Errors
    /// If writing fails; a part may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Replaces the whole log atomically.
    ///
    /// # Errors
    /// If writing or renaming fails; the old log is kept.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Tree {
        let stamp = Stamp { mtime_ns: 0, changed_ns: 0, len: 0 };
        let entry = |p: &&str| match p.strip_suffix('/') {
            Some(dir) => Entry { path: RelPath::new(dir).unwrap(), file: None },
            None => Entry { path: RelPath::new(*p).unwrap(), file: Some(stamp) },
        };
        Tree::new(paths.iter().map(entry).collect(), vec![])
    }

    #[test]
    fn distinguishes_children_from_siblings_with_a_common_prefix() {
        let tree = tree(&["a/", "a/y/", "a/y/z", "a/x", "a.b", "a0", "b"]);
        let dir = RelPath::new("a").unwrap();
        let names = |it: &mut dyn Iterator<Item = &Entry>| it.map(|e| e.path.to_string()).collect::<Vec<_>>();
        assert_eq!(names(&mut tree.below(&dir).iter()), ["a/x", "a/y", "a/y/z"]);
        assert_eq!(names(&mut tree.children(&dir)), ["a/x", "a/y"]);
        assert!(tree.stamp("a").is_none() && tree.get("a").is_some() && tree.get("c").is_none());
    }
}
