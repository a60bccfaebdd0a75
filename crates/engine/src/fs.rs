//! The outside world, as the engine may know it: one tree of files with stamps, atomic writes, one log.
//!
//! There are two implementations: [`crate::real::Real`] over a directory on disk, and [`crate::mem::Mem`] for
//! tests, which logs what is read and injects faults. All paths are relative to the root that the file system
//! was made for, and none leaves it.

use crate::{Diag, RelPath};
use std::any::Any;
use std::fs::File;
use std::io;

/// What tells at a glance that a file did not change.
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
    /// The stamp of no file.
    pub const NONE: Stamp = Stamp { mtime_ns: 0, changed_ns: 0, len: 0 };

    /// The stamp of a link to a file with this one. A link can be turned to another file, and any link on the way
    /// there, without a trace in the stamp of what it leads to; so it always counts as changed just now, and content
    /// decides.
    pub(crate) fn through_link(self) -> Stamp {
        Stamp { changed_ns: i64::MAX, ..self }
    }
}

/// A file or a directory of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub path: RelPath,
    /// The stamp of a file, or `None` for a directory.
    pub file: Option<Stamp>,
}

/// All files and directories below a root as they were at one time, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    entries: Vec<Entry>,
    /// What could not be taken into the tree: links that lead out, names that are not UTF-8, unreadable
    /// directories.
    pub problems: Vec<Diag>,
}

impl Tree {
    /// Sorts the entries into a tree; entries that come in long sorted runs cost little.
    pub fn new(mut entries: Vec<Entry>, mut problems: Vec<Diag>) -> Tree {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        problems.sort_unstable_by(|a, b| (&a.path, &a.code).cmp(&(&b.path, &b.code)));
        Tree { entries, problems }
    }

    /// All entries, by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// All files, by path.
    pub fn files(&self) -> impl Iterator<Item = (&RelPath, Stamp)> {
        self.entries.iter().filter_map(|e| Some((&e.path, e.file?)))
    }

    /// The entry at a path.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        let index = self.entries.binary_search_by(|e| e.path.as_str().cmp(path)).ok()?;
        Some(&self.entries[index])
    }

    /// The stamp of the file at a path, or `None` when there is none.
    pub fn stamp(&self, path: &str) -> Option<Stamp> {
        self.get(path)?.file
    }

    /// The same, for searches that come in order: `hint` remembers where the last one ended, and the next one
    /// usually ends right behind it.
    pub fn stamp_near(&self, path: &str, hint: &mut usize) -> Option<Stamp> {
        let index = match self.entries.get(*hint) {
            Some(entry) if entry.path.as_str() == path => *hint,
            _ => self.entries.binary_search_by(|e| e.path.as_str().cmp(path)).ok()?,
        };
        *hint = index + 1;
        self.entries[index].file
    }

    /// Everything below a directory, at any depth.
    pub fn below(&self, dir: &RelPath) -> &[Entry] {
        let prefix = format!("{dir}/");
        let start = self.entries.partition_point(|e| e.path.as_str() < prefix.as_str());
        let rest = &self.entries[start..];
        &rest[..rest.partition_point(|e| e.path.as_str().starts_with(&prefix))]
    }

    /// The direct children of a directory.
    pub fn children(&self, dir: &RelPath) -> impl Iterator<Item = &Entry> {
        let skip = dir.as_str().len() + 1;
        self.below(dir).iter().filter(move |e| !e.path.as_str()[skip..].contains('/'))
    }
}

/// The kind of entry at a path, of which a link is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// No entry.
    Nothing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Content that is written but not yet visible under its name; it disappears when dropped.
pub struct Staged(Box<dyn Any + Send>);

impl Staged {
    /// Content that a sink staged, in the form that the same sink publishes.
    pub fn new(content: impl Any + Send) -> Staged {
        Staged(Box::new(content))
    }

    /// The content, if it has this form.
    pub fn into_inner<T: Any>(self) -> Option<T> {
        self.0.downcast().ok().map(|content| *content)
    }
}

/// Fills a staged file, piece by piece, so that no file has to fit into memory.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>;

/// A tree of files below a root.
pub trait Fs: Sync {
    /// The whole tree. A directory other than the root that holds a file named `boundary` belongs to someone
    /// else and is left out, with all that is in it.
    fn walk(&self, boundary: Option<&str>) -> io::Result<Tree>;

    /// The bytes of a regular file; never a device, a pipe, or a file that a link reaches outside the root.
    fn read(&self, path: &RelPath) -> io::Result<Vec<u8>>;

    /// At most the first `len` bytes of a regular file.
    fn peek(&self, path: &RelPath, len: usize) -> io::Result<Vec<u8>>;

    /// The stamp of a regular file, or `None` when nothing is there.
    fn stamp(&self, path: &RelPath) -> io::Result<Option<Stamp>>;

    /// Returns the kind of entry at a path without following a link.
    ///
    /// # Errors
    /// When a directory on the way to the path is a link or no directory.
    fn occupant(&self, path: &RelPath) -> io::Result<Occupant>;

    /// The time now, on the clock that stamps are taken from.
    fn now_ns(&self) -> i64;

    /// Writes a file under a temporary name.
    fn stage(&self, fill: Fill<'_>) -> io::Result<Staged>;

    /// Writes what is left of an open file under a temporary name: as a copy, never as a second name of the same file.
    fn stage_copy(&self, from: &mut File) -> io::Result<Staged> {
        self.stage(&mut |to| io::copy(from, to).map(drop))
    }

    /// Makes staged files durable, then gives each its name. A regular file that was there is replaced, and so is a
    /// directory that contains no files; a link or a special file is an error. A file fails alone.
    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>>;

    /// Removes a regular file, if one is there, and the directories that this leaves empty. Nothing is removed behind a
    /// link, and neither is a link.
    fn remove(&self, path: &RelPath) -> io::Result<()>;

    /// Opens the log of this tree for one owner, creating it, and waits for another owner to let go after
    /// calling `waiting` once.
    fn open_log(&self, name: &RelPath, waiting: &dyn Fn()) -> io::Result<Box<dyn Log>>;

    /// Reads the log, empty when there is none; no owner gets it while what comes with it is held.
    fn read_log(&self, name: &RelPath, waiting: &dyn Fn()) -> io::Result<(Vec<u8>, Held)>;
}

/// Keeps owners away from a log until dropped.
#[allow(dead_code, reason = "dropping it is its use")]
pub struct Held(pub(crate) Box<dyn Any + Send + Sync>);

impl Held {
    /// For a log that is not there.
    pub(crate) fn nothing() -> Held {
        Held(Box::new(()))
    }
}

/// A file that grows at its end, held by one owner until dropped.
pub trait Log: Send {
    /// What messages call it.
    fn name(&self) -> String;
    /// All of it.
    fn read(&mut self) -> io::Result<Vec<u8>>;
    /// Cuts it off after `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Adds to its end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Replaces it as a whole, at once.
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
    fn children_and_descendants_are_told_from_namesakes() {
        let tree = tree(&["a/", "a/y/", "a/y/z", "a/x", "a.b", "a0", "b"]);
        let dir = RelPath::new("a").unwrap();
        let names = |it: &mut dyn Iterator<Item = &Entry>| it.map(|e| e.path.to_string()).collect::<Vec<_>>();
        assert_eq!(names(&mut tree.below(&dir).iter()), ["a/x", "a/y", "a/y/z"]);
        assert_eq!(names(&mut tree.children(&dir)), ["a/x", "a/y"]);
        assert!(tree.stamp("a").is_none() && tree.get("a").is_some() && tree.get("c").is_none());
    }
}
