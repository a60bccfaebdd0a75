//! The inputs of an action. Every file that it reads, every file that it looks for and does not find, and every directory
//! that it lists is recorded as a dependency.

use crate::fs::{Entry, Fs, Stamp, StampedRead, Tree};
use crate::hash::Hash;
use crate::memory::Memory;
pub use crate::memory::Reservation;
use crate::record::{Input, Seen};
use crate::{Code, Diag, Limits, RelPath, Severity, SourceFiles};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// The time after a change in which a second change may get the same stamp, in nanoseconds: the clocks of file systems tick
/// every 1–10 ms.
pub const RACY_NS: i64 = 20_000_000;

/// The same for file systems that store whole seconds, in steps of one or two seconds.
const COARSE_NS: i64 = 2_000_000_000 + RACY_NS;

/// Returns the time until which a file with this stamp is racy: it may be modified without a change of its stamp.
pub fn racy_until(stamp: Stamp) -> i64 {
    let whole = stamp.changed_ns % 1_000_000_000 == 0;
    stamp.changed_ns.saturating_add(if whole { COARSE_NS } else { RACY_NS })
}

/// The number of attempts to read a file that is modified during the read.
const READ_ATTEMPTS: usize = 3;

/// The sources of a run: the file system and the snapshot taken when the run began.
#[derive(Clone, Copy)]
pub struct SourceTree<'a> {
    /// The file system that files are read from.
    pub fs: &'a dyn Fs,
    /// The snapshot of the tree.
    pub tree: &'a Tree,
}

impl SourceTree<'_> {
    /// Returns the length of a file in bytes; 0 if there is none.
    pub fn len(&self, path: &RelPath) -> u64 {
        self.tree.stamp(path.as_str()).map_or(0, |stamp| stamp.len)
    }
}

/// The memory estimate that an action was admitted with.
#[derive(Clone, Copy)]
pub struct MemoryAdmission<'a>(Option<(&'a Memory, u64)>);

impl<'a> MemoryAdmission<'a> {
    /// Reserves memory for a part of a source that exceeds the estimate of the action: blocks until the other actions leave
    /// room for the difference. The reservation ends when it is dropped.
    pub fn reserve(self, bytes: u64) -> Reservation<'a> {
        match self.0 {
            Some((memory, weight)) if bytes > weight => memory.reserve(bytes - weight),
            _ => Reservation::nothing(),
        }
    }
}

/// Reads sources within limits, and records every access.
pub struct Inputs<'a> {
    sources: SourceTree<'a>,
    limits: Limits,
    deadline: Option<Instant>,
    /// The memory that all actions of a run share, and the estimate that this action was admitted with.
    memory: Option<(&'a Memory, u64)>,
    pub(crate) seen: BTreeMap<RelPath, Seen>,
}

impl<'a> Inputs<'a> {
    /// Makes inputs with the default limits and no deadline.
    pub fn new(sources: SourceTree<'a>) -> Inputs<'a> {
        let limits = Limits { max_time: None, ..Limits::default() };
        Inputs { sources, limits, deadline: None, memory: None, seen: BTreeMap::new() }
    }

    /// Sets the limits. The time limit starts now.
    pub fn limited(self, limits: Limits) -> Inputs<'a> {
        Inputs { limits, deadline: limits.deadline(), ..self }
    }

    /// Sets the memory estimate that the action was admitted with.
    pub(crate) fn admitted(self, memory: &'a Memory, weight: u64) -> Inputs<'a> {
        Inputs { memory: Some((memory, weight)), ..self }
    }

    /// Returns the limits. They decide whether there is a result, never its content.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the deadline, for work that checks the clock itself.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the memory admission, to reserve more.
    pub fn admission(&self) -> MemoryAdmission<'a> {
        MemoryAdmission(self.memory)
    }

    /// Checks the deadline. An action cannot be interrupted, so it calls this between its steps.
    ///
    /// # Errors
    /// `time-limit` if the deadline has passed.
    pub fn check_deadline(&self) -> Result<(), Diag> {
        self.limits.check_time(self.deadline)
    }

    /// Reads a file that must exist.
    ///
    /// # Errors
    /// `file-missing`, or the errors of [`read_opt`](Self::read_opt).
    pub fn read(&mut self, path: &RelPath) -> Result<Vec<u8>, Diag> {
        self.read_opt(path)?.ok_or_else(|| Diag::new(Code::FileMissing, "the file does not exist").path(path))
    }

    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    /// `unreadable`, `memory-limit`, or `source-modified` if the file was modified during the read.
    pub fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        let read = read_unmodified(self.sources.fs, path, &self.limits)?;
        self.record(path, read.as_ref().map_or(Seen::Absent, |(_, seen)| *seen))?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// Lists the direct children of a directory, sorted by name.
    ///
    /// # Errors
    /// If an entry of the directory could not be read: the result would depend on the error.
    pub fn list(&mut self, dir: &RelPath) -> Result<Vec<&'a Entry>, Diag> {
        let inside = |path: &str| RelPath::new(path).is_ok_and(|path| path.parent().as_ref() == Some(dir));
        let hidden = |problem: &&Diag| {
            problem.severity() == Severity::Error && problem.path.as_deref().is_some_and(inside)
        };
        if let Some(problem) = self.sources.tree.problems.iter().find(hidden) {
            return Err(problem.clone());
        }
        self.record(dir, Seen::Listing(listing(self.sources.tree, dir)))?;
        Ok(self.sources.tree.children(dir).collect())
    }

    /// Records an access. A file that is read twice must be the same both times, because the record has one state of it.
    fn record(&mut self, path: &RelPath, seen: Seen) -> Result<(), Diag> {
        let same = |old: &Seen| match (old, &seen) {
            (Seen::File { hash: a, .. }, Seen::File { hash: b, .. }) => a == b,
            (a, b) => a == b,
        };
        match self.seen.get(path) {
            Some(old) if !same(old) => Err(modified_during_read(path)),
            Some(_) => Ok(()),
            None => {
                self.seen.insert(path.clone(), seen);
                Ok(())
            }
        }
    }

    /// Returns the hash of a file that was read, so that it need not be hashed again.
    pub fn hash(&self, path: &RelPath) -> Option<Hash> {
        match self.seen.get(path)? {
            Seen::File { hash, .. } => Some(*hash),
            _ => None,
        }
    }

    /// Iterates over the files that were read so far, sorted by path.
    pub fn files_read(&self) -> impl Iterator<Item = &RelPath> {
        let read = |(_, seen): &(&RelPath, &Seen)| matches!(seen, Seen::File { .. });
        self.seen.iter().filter(read).map(|(path, _)| path)
    }

    /// Returns all recorded accesses, sorted by path, for the journal.
    pub fn recorded(&self) -> Vec<Input<'static>> {
        self.seen.iter().map(|(path, seen)| Input { path: path.to_string().into(), seen: *seen }).collect()
    }
}

/// Importers read through this: whatever they read, look up or list is recorded as a dependency of the action.
impl SourceFiles for Inputs<'_> {
    fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        Inputs::read_opt(self, path)
    }

    fn list(&mut self, dir: &RelPath) -> Result<Vec<RelPath>, Diag> {
        let files = Inputs::list(self, dir)?.into_iter().filter(|entry| entry.file.is_some());
        Ok(files.map(|entry| entry.path.clone()).collect())
    }

    fn limits(&self) -> &Limits {
        Inputs::limits(self)
    }

    fn deadline(&self) -> Option<Instant> {
        Inputs::deadline(self)
    }
}

/// Reads a file and makes sure that it was not modified during the read; `None` if it does not exist.
pub(crate) fn read_unmodified(
    src: &dyn Fs,
    path: &RelPath,
    limits: &Limits,
) -> Result<Option<(Vec<u8>, Seen)>, Diag> {
    for _ in 0..READ_ATTEMPTS {
        let read = src.read_stamped(path, limits.max_memory).map_err(|e| unreadable(path, &e))?;
        let Some(StampedRead { before, bytes, after }) = read else { return Ok(None) };
        limits.check_memory(before.len, "the bytes of the file").map_err(|diag| diag.path(path))?;
        let now_ns = src.now_ns();
        if after != Some(before) {
            continue;
        }
        let bytes = bytes.map_err(|e| unreadable(path, &e))?;
        let seen = seen_file(before, now_ns, Hash::of(&bytes));
        return Ok(Some((bytes, seen)));
    }
    Err(modified_during_read(path))
}

fn modified_during_read(path: &RelPath) -> Diag {
    Diag::new(Code::SourceModified, "the file was modified while it was being read")
        .path(path)
        .hint("run the build again when no program writes to the file")
}

/// Returns the recorded state of a file, marked as racy if its stamp is too recent to be trusted.
pub(crate) fn seen_file(stamp: Stamp, now_ns: i64, hash: Hash) -> Seen {
    Seen::File { stamp, racy: racy_until(stamp) >= now_ns, hash }
}

/// Hashes the names and kinds of the entries of a directory.
pub(crate) fn listing(tree: &Tree, dir: &RelPath) -> Hash {
    let kind = |e: &Entry| if e.file.is_some() { "f" } else { "d" };
    let fields: Vec<String> =
        tree.children(dir).map(|e| format!("{}{}", kind(e), e.path.file_name())).collect();
    Hash::of_fields(fields.iter().map(|f| f.as_bytes()))
}

fn unreadable(path: &RelPath, error: &io::Error) -> Diag {
    Diag::new(Code::Unreadable, format!("the file cannot be read: {error}")).path(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Mem;

    #[test]
    fn rejects_listing_a_directory_with_an_unreadable_entry() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let mem = Mem::new();
        mem.put("layers/1.png", "x");
        mem.put("others/1.png", "x");
        let mut tree = mem.walk(None).unwrap();
        tree.problems.push(Diag::new(Code::SymlinkIgnored, "dangling").path("others/2.png"));
        tree.problems.push(Diag::new(Code::Unreadable, "input/output error").path("layers/2.png"));
        let mut inputs = Inputs::new(SourceTree { fs: &mem, tree: &tree });
        assert_eq!(inputs.list(&path("layers")).unwrap_err().path.as_deref(), Some("layers/2.png"));
        assert_eq!(inputs.list(&path("others")).unwrap().len(), 1);
    }

    #[test]
    fn records_every_access_of_an_importer() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let mem = Mem::new();
        mem.put("a/model.gltf", "x");
        mem.put("a/b/deeper.bin", "x");
        let tree = mem.walk(None).unwrap();
        let mut inputs = Inputs::new(SourceTree { fs: &mem, tree: &tree });
        let files: &mut dyn SourceFiles = &mut inputs;
        assert_eq!(files.read(&path("a/model.gltf")), Ok(b"x".to_vec()));
        assert_eq!(files.read_opt(&path("missing.bin")), Ok(None));
        assert_eq!(files.exists(&path("missing.png")), Ok(false));
        assert_eq!(files.exists(&path("a/b/deeper.bin")), Ok(true));
        assert_eq!(files.list(&path("a")), Ok(vec![path("a/model.gltf")]));
        let seen: Vec<_> = inputs.seen.iter().map(|(path, seen)| (path.as_str(), seen)).collect();
        assert!(
            matches!(
                seen[..],
                [
                    ("a", Seen::Listing(_)),
                    ("a/b/deeper.bin", Seen::File { .. }),
                    ("a/model.gltf", Seen::File { .. }),
                    ("missing.bin", Seen::Absent),
                    ("missing.png", Seen::Absent),
                ]
            ),
            "{seen:?}"
        );
    }
}
