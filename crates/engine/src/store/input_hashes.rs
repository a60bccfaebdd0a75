//! The hashes of inputs during one run: a file that many sources depend on is hashed once.

use super::action::Access;
use crate::fs::Fs;
use crate::hash::Hash;
use crate::inputs::{SourceTree, listing, read_unmodified};
use crate::record::Seen;
use crate::{Diag, Limits, RelPath};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Computes the state of source paths, each once.
pub(crate) struct InputHashes<'a> {
    sources: SourceTree<'a>,
    limits: Limits,
    seen: Mutex<HashMap<(RelPath, Access), Seen>>,
}

impl<'a> InputHashes<'a> {
    pub(crate) fn new(sources: SourceTree<'a>, limits: Limits) -> InputHashes<'a> {
        InputHashes { sources, limits, seen: Mutex::default() }
    }

    /// Returns the state of a path as an action would record it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn at(&self, path: &RelPath, access: Access) -> Result<Seen, Diag> {
        let known = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = known().get(&(path.clone(), access)) {
            return Ok(*seen);
        }
        let seen = match access {
            Access::Listing => Seen::Listing(listing(self.sources.tree, path)),
            Access::Content => {
                let read = read_unmodified(self.sources.fs, path, &self.limits)?;
                read.map_or(Seen::Absent, |(_, seen)| seen)
            }
        };
        known().insert((path.clone(), access), seen);
        Ok(seen)
    }

    /// Returns the state of a source before its action runs: the content of a file, the listing of a directory, `None` for a
    /// source that is a part of another file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn source(&self, source: &RelPath) -> Result<Option<Seen>, Diag> {
        match self.sources.tree.get(source.as_str()) {
            Some(entry) if entry.file.is_some() => self.at(source, Access::Content).map(Some),
            Some(_) => self.at(source, Access::Listing).map(Some),
            None => Ok(None),
        }
    }

    /// Returns whether a path is unchanged since an action accessed it.
    pub(crate) fn is_unchanged(&self, path: &RelPath, seen: Seen) -> bool {
        let src: &dyn Fs = self.sources.fs;
        match seen {
            // Listings come from the snapshot of the run, for actions and for keys.
            Seen::Listing(_) => true,
            Seen::Absent => matches!(src.stamp(path), Ok(None)),
            Seen::File { stamp, racy, hash } => {
                matches!(src.stamp(path), Ok(Some(now)) if now == stamp)
                    && (!racy || src.read(path).is_ok_and(|bytes| Hash::of(&bytes) == hash))
            }
        }
    }
}
