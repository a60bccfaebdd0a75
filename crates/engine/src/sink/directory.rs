//! The sink of an output directory: each artifact is a file, and its name is the path.

use super::{Candidate, Sink};
use crate::fold::folded;
use crate::fs::{Fill, Fs, Staged, Stamp, Tree};
use crate::hash::Hash;
use crate::journal::Records;
use crate::ownership::{Admission, OwnedPaths, Replace, admit, is_recorded};
use crate::record::Output;
use crate::remote::Blob;
use crate::stale::RebuildReason;
use crate::{Code, Diag, RelPath};
use std::fs::File;
use std::io;
use std::sync::OnceLock;

/// The output directory of a run.
pub struct DirectorySink<'a> {
    fs: &'a dyn Fs,
    tree: &'a Tree,
    overwrite: bool,
    /// The outputs of the journal, collected when an existing file is not in the record of its own source.
    owned: OnceLock<OwnedPaths>,
}

impl<'a> DirectorySink<'a> {
    /// Makes a sink from a directory and its snapshot at the start of the run.
    pub fn new(fs: &'a dyn Fs, tree: &'a Tree) -> DirectorySink<'a> {
        DirectorySink { fs, tree, overwrite: false, owned: OnceLock::new() }
    }

    /// Sets whether regular files that no journal records are replaced.
    pub fn overwriting(self, overwrite: bool) -> DirectorySink<'a> {
        DirectorySink { overwrite, ..self }
    }
}

impl Sink for DirectorySink<'_> {
    fn stage(&self, _: Blob, fill: Fill<'_>) -> io::Result<Staged> {
        self.fs.stage(fill)
    }

    fn stage_copy(&self, _: Blob, from: &mut File) -> io::Result<Staged> {
        self.fs.stage_copy(from)
    }

    /// The folded path, so that names that collide on some file system share a slot.
    fn slot(&self, name: &RelPath) -> Option<String> {
        Some(folded(name))
    }

    fn admit(&self, candidate: Candidate<'_>, records: &Records) -> Result<Option<Stamp>, Diag> {
        let Candidate { source, name, blob, magic } = candidate;
        let owned = || {
            let record = records.get(source.as_str());
            let outputs = record.as_ref().map(|record| &*record.outputs).unwrap_or_default();
            let own = outputs.iter().any(|o| o.path == name.as_str() && is_recorded(self.fs, o, name));
            own || self.owned.get_or_init(|| OwnedPaths::new(records)).contains(self.fs, name)
        };
        let replace = Replace { overwrite: self.overwrite, magic, owned: &owned };
        Ok(match admit(self.fs, name, Some(blob), replace)? {
            Admission::Write => None,
            Admission::Adopt(stamp) => Some(stamp),
        })
    }

    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        self.fs.publish(batch)
    }

    fn find(&self, recorded: &Output<'_>, verify: bool, hint: &mut usize) -> Result<Stamp, RebuildReason> {
        let why = |make: fn(RelPath) -> RebuildReason| {
            RelPath::new(&*recorded.path).map_or(RebuildReason::New, make)
        };
        let Some(stamp) = self.tree.stamp_near(&recorded.path, hint) else {
            return Err(why(RebuildReason::OutputMissing));
        };
        let is_same = || {
            let path = RelPath::new(&*recorded.path).ok().filter(|_| stamp.len == recorded.stamp.len);
            let bytes = path.and_then(|path| self.fs.read(&path).ok());
            bytes.is_some_and(|bytes| Hash::of(&bytes) == recorded.hash)
        };
        if (stamp != recorded.stamp || verify) && !is_same() {
            return Err(why(RebuildReason::OutputChanged));
        }
        Ok(stamp)
    }

    fn read(&self, name: &RelPath) -> Option<Vec<u8>> {
        self.fs.read(name).ok()
    }

    /// Hidden files are never artifacts, whatever a journal has: one of them is the journal.
    fn remove(&self, recorded: &Output<'_>) -> Result<(), Diag> {
        let Ok(path) = RelPath::new(&*recorded.path) else { return Ok(()) };
        if path.is_hidden() || !is_recorded(self.fs, recorded, &path) {
            return Ok(());
        }
        let unremovable =
            |e| Diag::new(Code::Unwritable, format!("the output cannot be removed: {e}")).path(&path);
        self.fs.remove(&path).map_err(unremovable)
    }
}
