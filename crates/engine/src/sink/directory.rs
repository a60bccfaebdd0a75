//! A directory as a sink: each artifact is a file, and its name the path.

use super::{Candidate, Sink};
use crate::fold::folded;
use crate::fs::{Fill, Fs, Staged, Stamp, Tree};
use crate::hash::Hash;
use crate::journal::Records;
use crate::ownership::{Admission, OwnedPaths, Replace, admit, is_recorded};
use crate::record::Output;
use crate::remote::Blob;
use crate::stale::Why;
use crate::{Code, Diag, RelPath};
use std::fs::File;
use std::io;
use std::sync::OnceLock;

/// An output directory, as one run uses it.
pub struct DirectorySink<'a> {
    fs: &'a dyn Fs,
    tree: &'a Tree,
    overwrite: bool,
    /// The outputs of the journal, collected when a file is in the way that the record of its own source does not have.
    owned: OnceLock<OwnedPaths>,
}

impl<'a> DirectorySink<'a> {
    /// A sink for a directory whose tree was walked when the run began.
    pub fn new(fs: &'a dyn Fs, tree: &'a Tree) -> DirectorySink<'a> {
        DirectorySink { fs, tree, overwrite: false, owned: OnceLock::new() }
    }

    /// The same, which replaces regular files that no journal records.
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

    /// The path as file systems see it that do not tell capital letters.
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

    fn find(&self, recorded: &Output<'_>, verify: bool, hint: &mut usize) -> Result<Stamp, Why> {
        let why = |make: fn(RelPath) -> Why| RelPath::new(&*recorded.path).map_or(Why::New, make);
        let Some(stamp) = self.tree.stamp_near(&recorded.path, hint) else {
            return Err(why(Why::OutputMissing));
        };
        let is_same = || {
            let path = RelPath::new(&*recorded.path).ok().filter(|_| stamp.len == recorded.stamp.len);
            let bytes = path.and_then(|path| self.fs.read(&path).ok());
            bytes.is_some_and(|bytes| Hash::of(&bytes) == recorded.hash)
        };
        if (stamp != recorded.stamp || verify) && !is_same() {
            return Err(why(Why::OutputChanged));
        }
        Ok(stamp)
    }

    fn read(&self, name: &RelPath) -> Option<Vec<u8>> {
        self.fs.read(name).ok()
    }

    /// What is hidden is no artifact, whatever a journal says: it may be the journal.
    fn remove(&self, recorded: &Output<'_>) -> Result<(), Diag> {
        let Ok(path) = RelPath::new(&*recorded.path) else { return Ok(()) };
        if path.is_hidden() || !is_recorded(self.fs, recorded, &path) {
            return Ok(());
        }
        let unremovable = |e| Diag::new(Code::Unwritable, format!("cannot remove it: {e}")).path(&path);
        self.fs.remove(&path).map_err(unremovable)
    }
}
