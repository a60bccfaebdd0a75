//! An in-memory file system for tests, with a log of reads, a manual clock and fault injection.

use crate::RelPath;
use crate::fs::{Entry, Fill, Fs, Log, LogGuard, Occupant, Staged, Stamp, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An operation on a [`Mem`], as its fault hook sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reading a file.
    Read,
    /// Writing a file under a temporary name.
    Stage,
    /// Renaming a staged file into place.
    Publish,
    /// Removing a file.
    Remove,
    /// Changing the log.
    Log,
}

/// A hook that decides whether an operation on a path fails.
pub type FaultHook = Box<dyn FnMut(Op, &str) -> Option<io::Error> + Send>;

#[derive(Default)]
struct State {
    files: BTreeMap<RelPath, (Vec<u8>, Stamp)>,
    now_ns: i64,
    grain_ns: i64,
    reads: Vec<String>,
    fault: Option<FaultHook>,
}

impl State {
    fn check(&mut self, op: Op, path: &str) -> io::Result<()> {
        match self.fault.as_mut().and_then(|fault| fault(op, path)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn put(&mut self, path: RelPath, bytes: Vec<u8>) -> Stamp {
        let now_ns = self.now_ns - self.now_ns % self.grain_ns.max(1);
        let stamp = Stamp { mtime_ns: now_ns, changed_ns: now_ns, len: bytes.len() as u64 };
        self.files.insert(path, (bytes, stamp));
        stamp
    }
}

/// A file system in memory; clones share it.
#[derive(Clone, Default)]
pub struct Mem(Arc<Mutex<State>>);

impl Mem {
    /// Makes an empty file system. Its clock starts shortly after one second, because whole seconds indicate a coarse clock.
    pub fn new() -> Mem {
        let mem = Mem::default();
        mem.tick(1_000_000_007);
        mem
    }

    /// Advances the clock.
    pub fn tick(&self, ns: i64) {
        self.state().now_ns += ns;
    }

    /// Sets the resolution of stamps, as on a coarse file system.
    pub fn grain(&self, ns: i64) {
        self.state().grain_ns = ns;
    }

    /// Writes a file at the current time.
    ///
    /// # Panics
    /// If `path` is not a relative path.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        let path = RelPath::new(path).expect("a relative path");
        self.state().put(path, bytes.into());
    }

    /// Sets the modification time of a file, as `touch` does.
    pub fn touch(&self, path: &str, mtime_ns: i64) {
        let mut state = self.state();
        let now_ns = state.now_ns;
        if let Some((_, stamp)) = state.files.get_mut(path) {
            *stamp = Stamp { mtime_ns, changed_ns: now_ns, ..*stamp };
        }
    }

    /// Returns the content of a file without logging a read.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.state().files.get(path).map(|(bytes, _)| bytes.clone())
    }

    /// Removes a file without calling the fault hook.
    pub fn delete(&self, path: &str) {
        self.state().files.remove(path);
    }

    /// Returns every file with its content.
    pub fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        self.state().files.iter().map(|(path, (bytes, _))| (path.to_string(), bytes.clone())).collect()
    }

    /// Returns the paths read since the last call, in order.
    pub fn take_reads(&self) -> Vec<String> {
        std::mem::take(&mut self.state().reads)
    }

    /// Sets or removes the fault hook.
    pub fn inject(&self, fault: Option<FaultHook>) {
        self.state().fault = fault;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Fs for Mem {
    fn walk(&self, boundary: Option<&str>) -> io::Result<Tree> {
        let state = self.state();
        let foreign: Vec<RelPath> = (state.files.keys())
            .filter(|p| Some(p.file_name()) == boundary)
            .filter_map(RelPath::parent)
            .collect();
        let ours = |p: &RelPath| !foreign.iter().any(|dir| p == dir || p.is_under(dir));
        let mut dirs = BTreeSet::new();
        let mut entries = Vec::new();
        for (path, (_, stamp)) in state.files.iter().filter(|(p, _)| ours(p)) {
            entries.push(Entry { path: path.clone(), file: Some(*stamp) });
            let mut dir = path.parent();
            while let Some(path) = dir {
                dir = path.parent();
                dirs.insert(path);
            }
        }
        entries.extend(dirs.into_iter().map(|path| Entry { path, file: None }));
        Ok(Tree::new(entries, vec![]))
    }

    fn read(&self, path: &RelPath) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        state.reads.push(path.to_string());
        state.check(Op::Read, path.as_str())?;
        state.files.get(path).map(|(bytes, _)| bytes.clone()).ok_or_else(missing)
    }

    fn peek(&self, path: &RelPath, len: usize) -> io::Result<Vec<u8>> {
        let state = self.state();
        let (bytes, _) = state.files.get(path).ok_or_else(missing)?;
        Ok(bytes[..bytes.len().min(len)].to_vec())
    }

    fn stamp(&self, path: &RelPath) -> io::Result<Option<Stamp>> {
        Ok(self.state().files.get(path).map(|(_, stamp)| *stamp))
    }

    fn occupant(&self, path: &RelPath) -> io::Result<Occupant> {
        let state = self.state();
        Ok(match () {
            () if state.files.contains_key(path) => Occupant::File,
            () if state.files.keys().any(|file| file.is_under(path)) => Occupant::Directory,
            () => Occupant::Nothing,
        })
    }

    fn now_ns(&self) -> i64 {
        self.state().now_ns
    }

    fn stage(&self, fill: Fill<'_>) -> io::Result<Staged> {
        self.state().check(Op::Stage, "")?;
        let mut bytes = Vec::new();
        fill(&mut bytes)?;
        Ok(Staged::new(bytes))
    }

    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        let publish = |(staged, path): (Staged, RelPath)| {
            let mut state = self.state();
            state.check(Op::Publish, path.as_str())?;
            let bytes = staged.into_inner::<Vec<u8>>().ok_or_else(missing)?;
            Ok(state.put(path, bytes))
        };
        batch.into_iter().map(publish).collect()
    }

    fn remove(&self, path: &RelPath) -> io::Result<()> {
        let mut state = self.state();
        state.check(Op::Remove, path.as_str())?;
        state.files.remove(path);
        Ok(())
    }

    fn open_log(&self, name: &RelPath, _waiting: &dyn Fn()) -> io::Result<Box<dyn Log>> {
        self.state()
            .files
            .entry(name.clone())
            .or_insert_with(|| (vec![], Stamp { mtime_ns: 0, changed_ns: 0, len: 0 }));
        Ok(Box::new(MemLog { mem: self.clone(), name: name.clone() }))
    }

    fn read_log(&self, name: &RelPath, _waiting: &dyn Fn()) -> io::Result<(Vec<u8>, LogGuard)> {
        Ok((self.get(name.as_str()).unwrap_or_default(), LogGuard::nothing()))
    }
}

struct MemLog {
    mem: Mem,
    name: RelPath,
}

impl MemLog {
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut state = self.mem.state();
        state.check(Op::Log, self.name.as_str())?;
        let (bytes, _) = state.files.get_mut(&self.name).ok_or_else(missing)?;
        change(bytes);
        Ok(())
    }
}

impl Log for MemLog {
    fn name(&self) -> String {
        self.name.to_string()
    }

    fn byte_len(&mut self) -> io::Result<u64> {
        Ok(self.mem.get(self.name.as_str()).ok_or_else(missing)?.len() as u64)
    }

    fn read_at(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let bytes = self.mem.get(self.name.as_str()).ok_or_else(missing)?;
        let rest = bytes.get(offset as usize..).and_then(|rest| rest.get(..len as usize));
        rest.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.change(|bytes| bytes.truncate(len as usize))
    }

    fn append(&mut self, more: &[u8]) -> io::Result<()> {
        self.change(|bytes| bytes.extend_from_slice(more))
    }

    fn replace(&mut self, new: &[u8]) -> io::Result<()> {
        self.change(|bytes| *bytes = new.to_vec())
    }
}
