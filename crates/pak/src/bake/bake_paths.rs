//! The paths of a bake: the output, the journal, and what a failed bake left.

use super::{Bake, LINK, path_error};
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::record::Record;
use kiln_engine::{Code, Diag, Fs, Journal, Real, RelPath, Stamp};
use kiln_format::pak::MAGIC;
use std::io;
use std::path::{Path, PathBuf};

/// The folders and files of one output.
pub(super) struct BakePaths {
    /// The folder of the output, and its name there.
    pub(super) out: Real,
    pub(super) name: RelPath,
    /// The output as the user named it.
    pub(super) pak: PathBuf,
    /// The folder of the journal, and its name there.
    pub(super) cache: Real,
    pub(super) journal: RelPath,
    /// What a bake got done that failed elsewhere.
    pub(super) partial: PathBuf,
}

impl BakePaths {
    /// Finds them, and makes folders that are not there.
    pub(super) fn new(bake: &Bake<'_>) -> Result<BakePaths, Diag> {
        let unnamed = || Diag::new(Code::Unwritable, "this is no name for a file").path(bake.dst.display());
        let name = bake.dst.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| RelPath::new(name).ok()).ok_or_else(unnamed)?;
        let journal = RelPath::new(bake.journal_name()).map_err(|_| unnamed())?;
        let out_dir = match bake.dst.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let cache_dir = bake.cache.clone().unwrap_or_else(|| out_dir.clone());
        Ok(BakePaths {
            out: folder(&out_dir, journal.as_str())?,
            name,
            pak: bake.dst.clone(),
            cache: folder(&cache_dir, journal.as_str())?,
            partial: cache_dir.join(format!("{journal}.partial")),
            journal,
        })
    }

    /// Opens the journal, which nobody else has then, and sweeps up after a bake that was killed.
    pub(super) fn open(&self, waiting: &dyn Fn()) -> Result<Journal, Diag> {
        let journal = Journal::open(&self.cache, &self.journal, waiting).map_err(|e| self.unwritable(&e))?;
        let _ = (self.cache.sweep(), self.out.sweep());
        Ok(journal)
    }

    /// Removes what a failed bake left, when nothing of it is needed any more.
    pub(super) fn remove_partial(&self) {
        let _ = std::fs::remove_file(&self.partial);
    }

    /// The stamp of the output.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        self.out.stamp(&self.name).ok().flatten()
    }

    /// Returns whether the output is the one that was written last: nobody touched it since.
    pub(super) fn is_trusted(&self, journal: &Journal) -> bool {
        let record = journal.records().get(LINK);
        let stamp = record.as_ref().and_then(|record| record.outputs.first()).map(|output| output.stamp);
        stamp.is_some() && self.stamp() == stamp
    }

    /// Decides whether the pak may take its path.
    pub(super) fn admit(&self, journal: &Journal, overwrite: bool) -> Result<(), Diag> {
        // A journal in a folder of its own does not say which folder its pak was in; the stamp does.
        let beside = self.out.root() == self.cache.root();
        let owned = || match journal.records().get(LINK) {
            Some(record) if beside => record.outputs.iter().any(|output| output.path == self.name.as_str()),
            Some(_) => self.is_trusted(journal),
            None => false,
        };
        let replace = Replace { overwrite, magic: Some(&MAGIC), owned: &owned };
        let admitted = admit(&self.out, &self.name, None, replace);
        admitted.map(drop).map_err(|diag| diag.path(self.pak.display()))
    }

    /// Remembers the whole bake.
    pub(super) fn remember(&self, journal: &mut Journal, record: Record<'_>) -> Result<(), Diag> {
        journal.append(&[(LINK, Some(&record))]).map_err(|e| self.unwritable(&e))
    }

    /// The journal cannot be written.
    pub(super) fn unwritable(&self, error: &io::Error) -> Diag {
        path_error(Code::Unwritable, &self.journal.below(self.cache.root()), "write", error)
    }
}

/// Opens a folder, making it first.
fn folder(path: &Path, name: &str) -> Result<Real, Diag> {
    let made = std::fs::create_dir_all(path).and_then(|()| Real::named(path, name));
    made.map_err(|e| path_error(Code::Unwritable, path, "write", &e))
}
