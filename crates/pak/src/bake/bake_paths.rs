//! The paths of a bake: the pak, the journal, and the partial pak of a failed bake.

use super::{Bake, LINK, path_error};
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::record::Record;
use kiln_engine::{Code, Diag, Fs, Journal, Real, RelPath, Stamp};
use kiln_format::pak::MAGIC;
use std::io;
use std::path::{Path, PathBuf};

/// The directories and files of one pak.
pub(super) struct BakePaths {
    /// The directory of the pak, and its name there.
    pub(super) out: Real,
    pub(super) name: RelPath,
    /// The path of the pak as the user gave it.
    pub(super) pak: PathBuf,
    /// The directory of the journal, and its name there.
    pub(super) cache: Real,
    pub(super) journal: RelPath,
    /// The pak with the successful payloads of a failed bake.
    pub(super) partial: PathBuf,
}

impl BakePaths {
    /// Resolves the paths, and creates missing directories.
    pub(super) fn new(bake: &Bake<'_>) -> Result<BakePaths, Diag> {
        let unnamed = || {
            Diag::new(Code::Unwritable, "the output path does not end in a valid file name")
                .path(bake.dst.display())
        };
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

    /// Opens and locks the journal, and removes temporary files of a killed bake.
    pub(super) fn open(&self, waiting: &dyn Fn()) -> Result<Journal, Diag> {
        let journal = Journal::open(&self.cache, &self.journal, waiting).map_err(|e| self.unwritable(&e))?;
        let _ = (self.cache.sweep(), self.out.sweep());
        Ok(journal)
    }

    /// Removes the partial pak of a failed bake once a bake succeeded.
    pub(super) fn remove_partial(&self) {
        let _ = std::fs::remove_file(&self.partial);
    }

    /// Returns the file stamp of the pak, if it exists.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        self.out.stamp(&self.name).ok().flatten()
    }

    /// Returns `true` if the pak is unmodified since the last bake wrote it.
    pub(super) fn is_unmodified(&self, journal: &Journal) -> bool {
        let record = journal.records().get(LINK);
        let stamp = record.as_ref().and_then(|record| record.outputs.first()).map(|output| output.stamp);
        stamp.is_some() && self.stamp() == stamp
    }

    /// Checks that the pak may be written to its path.
    pub(super) fn admit(&self, journal: &Journal, overwrite: bool) -> Result<(), Diag> {
        if self.pak.is_dir() && !self.pak.is_symlink() {
            return Err(Diag::new(Code::Unwritable, "cannot write the pak: a directory is at its path")
                .path(self.pak.display())
                .hint("name a file, as in `pak bake art.toml art.pak`"));
        }
        // A journal in a separate directory does not record the directory of its pak; the stamp identifies the pak.
        let beside = self.out.root() == self.cache.root();
        let owned = || match journal.records().get(LINK) {
            Some(record) if beside => record.outputs.iter().any(|output| output.path == self.name.as_str()),
            Some(_) => self.is_unmodified(journal),
            None => false,
        };
        let replace = Replace { overwrite, magic: Some(&MAGIC), owned: &owned };
        let admitted = admit(&self.out, &self.name, None, replace);
        admitted.map(drop).map_err(|diag| diag.path(self.pak.display()))
    }

    /// Records the whole bake in the journal.
    pub(super) fn remember(&self, journal: &mut Journal, record: Record<'_>) -> Result<(), Diag> {
        journal.append(&[(LINK, Some(&record))]).map_err(|e| self.unwritable(&e))
    }

    /// Creates the diagnostic for a journal that cannot be written.
    pub(super) fn unwritable(&self, error: &io::Error) -> Diag {
        path_error(Code::Unwritable, &self.journal.below(self.cache.root()), "write the journal", error)
    }
}

/// Opens a directory, and creates it if it is missing.
fn folder(path: &Path, name: &str) -> Result<Real, Diag> {
    let made = std::fs::create_dir_all(path).and_then(|()| Real::named(path, name));
    made.map_err(|e| path_error(Code::Unwritable, path, "create or open the directory", &e))
}
