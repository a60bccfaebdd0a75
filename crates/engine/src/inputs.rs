//! The source files that an action reads, and the record of what it saw: every file it read, looked for in vain, and
//! every directory it listed is a dependency of its result.

use crate::fs::{Entry, Fs, Stamp, Tree};
use crate::hash::Hash;
use crate::memory::Memory;
pub use crate::memory::Reservation;
use crate::record::{Input, Seen};
use crate::{Code, Diag, Limits, RelPath, Severity};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// A file that was changed less than this before it was read may be changed again without its stamp telling:
/// clocks of file systems tick every 1–10 ms.
pub const RACY_NS: i64 = 20_000_000;

/// The same where times are whole seconds: such file systems count in steps of one second, or two.
const COARSE_NS: i64 = 2_000_000_000 + RACY_NS;

/// Returns until when a file with this stamp may be changed without its stamp telling.
pub fn racy_until(stamp: Stamp) -> i64 {
    let whole = stamp.changed_ns % 1_000_000_000 == 0;
    stamp.changed_ns.saturating_add(if whole { COARSE_NS } else { RACY_NS })
}

/// The number of times that a file which is modified during a read is read again.
const TRIES: usize = 3;

/// The sources of a run: where they are read, and the tree as it was when the run began.
#[derive(Clone, Copy)]
pub struct SourceTree<'a> {
    /// Reads the files.
    pub fs: &'a dyn Fs,
    /// The files and directories when the run began.
    pub tree: &'a Tree,
}

impl SourceTree<'_> {
    /// The length of a file; 0 if there is none.
    pub fn len(&self, path: &RelPath) -> u64 {
        self.tree.stamp(path.as_str()).map_or(0, |stamp| stamp.len)
    }
}

/// The memory that an action was admitted with.
#[derive(Clone, Copy)]
pub struct MemoryAdmission<'a>(Option<(&'a Memory, u64)>);

impl<'a> MemoryAdmission<'a> {
    /// Waits until the other actions leave room for this many bytes, unless this action was estimated to take as much. For
    /// a part of a source that turns out to be large; the reservation ends when it is dropped.
    pub fn reserve(self, bytes: u64) -> Reservation<'a> {
        match self.0 {
            Some((memory, weight)) if bytes > weight => memory.reserve(bytes - weight),
            _ => Reservation::nothing(),
        }
    }
}

/// Reads sources within limits, and records what it saw.
pub struct Inputs<'a> {
    sources: SourceTree<'a>,
    limits: Limits,
    deadline: Option<Instant>,
    /// The memory that all actions of a run share, and the part that this one was admitted with.
    memory: Option<(&'a Memory, u64)>,
    pub(crate) seen: BTreeMap<RelPath, Seen>,
}

impl<'a> Inputs<'a> {
    /// Inputs from these sources, with the default limits and no deadline.
    pub fn new(sources: SourceTree<'a>) -> Inputs<'a> {
        let limits = Limits { max_time: None, ..Limits::default() };
        Inputs { sources, limits, deadline: None, memory: None, seen: BTreeMap::new() }
    }

    /// The same with these limits. The time counts from now.
    pub fn limited(self, limits: Limits) -> Inputs<'a> {
        Inputs { limits, deadline: limits.deadline(), ..self }
    }

    /// The same, for an action that was admitted with this weight.
    pub(crate) fn admitted(self, memory: &'a Memory, weight: u64) -> Inputs<'a> {
        Inputs { memory: Some((memory, weight)), ..self }
    }

    /// The limits. They decide whether there is a result, and never what it is.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The deadline, for work that looks at the clock by itself.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The memory that the action was admitted with, to ask for more.
    pub fn admission(&self) -> MemoryAdmission<'a> {
        MemoryAdmission(self.memory)
    }

    /// Ends an action that takes too long. An action cannot be stopped from outside, so it calls this between its steps.
    ///
    /// # Errors
    /// `time-limit` when the deadline has passed.
    pub fn check_deadline(&self) -> Result<(), Diag> {
        self.limits.check_time(self.deadline)
    }

    /// Reads a file that has to be there.
    ///
    /// # Errors
    /// `file-missing`, or what [`read_opt`](Self::read_opt) fails with.
    pub fn read(&mut self, path: &RelPath) -> Result<Vec<u8>, Diag> {
        self.read_opt(path)?.ok_or_else(|| Diag::new(Code::FileMissing, "there is no such file").path(path))
    }

    /// Reads a file; `None` when nothing is there.
    ///
    /// # Errors
    /// `unreadable`, `memory-limit`, or `source-changing` if the file was modified during the read.
    pub fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        let read = read_settled(self.sources.fs, path, &self.limits)?;
        self.saw(path, read.as_ref().map_or(Seen::Absent, |(_, seen)| *seen))?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// Lists the direct children of a directory, by name.
    ///
    /// # Errors
    /// If a part of the directory could not be walked: a result from the other part would be another one.
    pub fn list(&mut self, dir: &RelPath) -> Result<Vec<&'a Entry>, Diag> {
        let inside = |path: &str| RelPath::new(path).is_ok_and(|path| path.parent().as_ref() == Some(dir));
        let hidden = |problem: &&Diag| {
            problem.severity() == Severity::Error && problem.path.as_deref().is_some_and(inside)
        };
        if let Some(problem) = self.sources.tree.problems.iter().find(hidden) {
            return Err(problem.clone());
        }
        self.saw(dir, Seen::Listing(listing(self.sources.tree, dir)))?;
        Ok(self.sources.tree.children(dir).collect())
    }

    /// Records what was seen. A file that is read twice has to be the same both times, or the record would be wrong about
    /// one of them.
    fn saw(&mut self, path: &RelPath, seen: Seen) -> Result<(), Diag> {
        let same = |old: &Seen| match (old, &seen) {
            (Seen::File { hash: a, .. }, Seen::File { hash: b, .. }) => a == b,
            (a, b) => a == b,
        };
        match self.seen.get(path) {
            Some(old) if !same(old) => Err(changing(path)),
            Some(_) => Ok(()),
            None => {
                self.seen.insert(path.clone(), seen);
                Ok(())
            }
        }
    }

    /// The hash of a file that was read, so that nobody has to hash its bytes again.
    pub fn hash(&self, path: &RelPath) -> Option<Hash> {
        match self.seen.get(path)? {
            Seen::File { hash, .. } => Some(*hash),
            _ => None,
        }
    }

    /// The files that were read so far, by path.
    pub fn files_read(&self) -> impl Iterator<Item = &RelPath> {
        let read = |(_, seen): &(&RelPath, &Seen)| matches!(seen, Seen::File { .. });
        self.seen.iter().filter(read).map(|(path, _)| path)
    }

    /// Everything that was read, looked for in vain or listed so far, by path, for the journal.
    pub fn recorded(&self) -> Vec<Input<'static>> {
        self.seen.iter().map(|(path, seen)| Input { path: path.to_string().into(), seen: *seen }).collect()
    }
}

/// Reads a file that is not modified during the read; returns its bytes and what was seen of it, or `None` when nothing
/// is there.
pub(crate) fn read_settled(
    src: &dyn Fs,
    path: &RelPath,
    limits: &Limits,
) -> Result<Option<(Vec<u8>, Seen)>, Diag> {
    for _ in 0..TRIES {
        let before = src.stamp(path).map_err(|e| unreadable(path, &e))?;
        let Some(stamp) = before else { return Ok(None) };
        limits.check_memory(stamp.len, "the bytes of the file").map_err(|diag| diag.path(path))?;
        let read = src.read(path);
        let now_ns = src.now_ns();
        let after = src.stamp(path).map_err(|e| unreadable(path, &e))?;
        if after != before {
            continue;
        }
        let bytes = read.map_err(|e| unreadable(path, &e))?;
        let seen = seen_file(stamp, now_ns, Hash::of(&bytes));
        return Ok(Some((bytes, seen)));
    }
    Err(changing(path))
}

fn changing(path: &RelPath) -> Diag {
    Diag::new(Code::SourceChanging, "it changes while it is read")
        .path(path)
        .hint("build again when it rests")
}

/// The record of a file, with the mark of one that was too young to trust its stamp.
pub(crate) fn seen_file(stamp: Stamp, now_ns: i64, hash: Hash) -> Seen {
    Seen::File { stamp, racy: racy_until(stamp) >= now_ns, hash }
}

/// The hash of a directory's names and kinds.
pub(crate) fn listing(tree: &Tree, dir: &RelPath) -> Hash {
    let kind = |e: &Entry| if e.file.is_some() { "f" } else { "d" };
    let fields: Vec<String> =
        tree.children(dir).map(|e| format!("{}{}", kind(e), e.path.file_name())).collect();
    Hash::of_fields(fields.iter().map(|f| f.as_bytes()))
}

fn unreadable(path: &RelPath, error: &io::Error) -> Diag {
    Diag::new(Code::Unreadable, format!("cannot read it: {error}")).path(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Mem;

    #[test]
    fn a_directory_of_which_a_part_cannot_be_seen_is_not_listed() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let mem = Mem::new();
        mem.put("layers/1.png", "x");
        mem.put("others/1.png", "x");
        let mut tree = mem.walk(None).unwrap();
        tree.problems.push(Diag::new(Code::LinkIgnored, "it leads nowhere").path("others/2.png"));
        tree.problems.push(Diag::new(Code::Unreadable, "the disk says no").path("layers/2.png"));
        let mut inputs = Inputs::new(SourceTree { fs: &mem, tree: &tree });
        assert_eq!(inputs.list(&path("layers")).unwrap_err().path.as_deref(), Some("layers/2.png"));
        assert_eq!(inputs.list(&path("others")).unwrap().len(), 1);
    }
}
