//! A cache entry as the tool validates it before it is used in place of a run.
//!
//! Anyone with write access to a shared cache decides what is stored under a key. Only the tool knows which artifacts an
//! action can return, so it validates every entry ([`Action::check_cached`](crate::Action::check_cached)), and entries that
//! it rejects are evicted.

use crate::artifact::PlacedArtifact;
use crate::record::Seen;
use crate::{Hash, RelPath};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// A cached result that matches the inputs, before any of it is used.
pub struct CacheEntry<'a, M> {
    pub(crate) artifacts: Vec<PlacedArtifact<M>>,
    pub(crate) inputs: &'a BTreeMap<RelPath, Seen>,
    pub(crate) contents: Contents<'a>,
}

/// The content of each artifact.
pub(crate) enum Contents<'a> {
    /// In the local cache.
    Files(&'a mut [File]),
    /// Returned by a server that ran the action.
    Bytes(&'a [Vec<u8>]),
}

/// The reason that a cache entry is rejected: a clause such as `it writes b.ktx2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected(pub String);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Rejected {}

/// An entry with an unreadable file is rejected.
impl From<io::Error> for Rejected {
    fn from(error: io::Error) -> Rejected {
        Rejected(format!("one of its files cannot be read: {error}"))
    }
}

impl<M> CacheEntry<'_, M> {
    /// Returns the artifacts of the entry.
    pub fn artifacts(&self) -> &[PlacedArtifact<M>] {
        &self.artifacts
    }

    /// Iterates over the files that the action read, with the hashes of their content, which is unchanged.
    pub fn inputs(&self) -> impl Iterator<Item = (&RelPath, Hash)> {
        self.inputs.iter().filter_map(|(path, seen)| match seen {
            Seen::File { hash, .. } => Some((path, *hash)),
            _ => None,
        })
    }

    /// Reads the content of the artifact at an index of [`artifacts`](CacheEntry::artifacts).
    ///
    /// # Errors
    /// If there is no such artifact, or it cannot be read.
    pub fn read(&mut self, index: usize) -> io::Result<Vec<u8>> {
        let files = match &mut self.contents {
            Contents::Files(files) => files,
            Contents::Bytes(all) => return Ok(all.get(index).ok_or(io::ErrorKind::NotFound)?.clone()),
        };
        let file = files.get_mut(index).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        // The file is read again when it is staged.
        file.seek(SeekFrom::Start(0))?;
        Ok(bytes)
    }
}
