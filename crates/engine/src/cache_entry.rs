//! A cache entry as a tool sees it before it stands in for a run of an action.
//!
//! Whoever can write to a shared cache decides what is stored under a key. Only the tool knows what an action may come
//! to, so it is asked first ([`Action::check_cached`](crate::Action::check_cached)), and what it refuses is dropped.

use crate::artifact::PlacedArtifact;
use crate::record::Seen;
use crate::{Hash, RelPath};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// A cached result that fits the inputs, before anything in it is used.
pub struct CacheEntry<'a, M> {
    pub(crate) artifacts: Vec<PlacedArtifact<M>>,
    pub(crate) inputs: &'a BTreeMap<RelPath, Seen>,
    /// The bytes of each artifact.
    pub(crate) files: &'a mut [File],
}

/// The reason why a cache entry is not used: a sentence that ends another one, such as `it writes b.ktx2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected(pub String);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Rejected {}

/// A file of a result that cannot be read is as good as none.
impl From<io::Error> for Rejected {
    fn from(error: io::Error) -> Rejected {
        Rejected(format!("a file of it cannot be read: {error}"))
    }
}

impl<M> CacheEntry<'_, M> {
    /// The artifacts that it would place.
    pub fn artifacts(&self) -> &[PlacedArtifact<M>] {
        &self.artifacts
    }

    /// The files that the action read, each with the hash of its bytes, which are the same now.
    pub fn inputs(&self) -> impl Iterator<Item = (&RelPath, Hash)> {
        self.inputs.iter().filter_map(|(path, seen)| match seen {
            Seen::File { hash, .. } => Some((path, *hash)),
            _ => None,
        })
    }

    /// Reads the bytes of an artifact, by its place among the [artifacts](CacheEntry::artifacts).
    ///
    /// # Errors
    /// If there is no such artifact, or it cannot be read.
    pub fn read(&mut self, index: usize) -> io::Result<Vec<u8>> {
        let file = self.files.get_mut(index).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        // The next reader starts at the beginning.
        file.seek(SeekFrom::Start(0))?;
        Ok(bytes)
    }
}
