//! The hashes of inputs for as long as one run takes: a file that many sources depend on is hashed once.

use super::action::Ask;
use crate::fs::Fs;
use crate::hash::Hash;
use crate::inputs::{SourceTree, listing, read_settled};
use crate::record::Seen;
use crate::{Diag, Limits, RelPath};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// InputHashes at sources, each once.
pub(crate) struct InputHashes<'a> {
    sources: SourceTree<'a>,
    limits: Limits,
    seen: Mutex<HashMap<(RelPath, Ask), Seen>>,
}

impl<'a> InputHashes<'a> {
    pub(crate) fn new(sources: SourceTree<'a>, limits: Limits) -> InputHashes<'a> {
        InputHashes { sources, limits, seen: Mutex::default() }
    }

    /// What an action would see there.
    pub(crate) fn at(&self, path: &RelPath, ask: Ask) -> Result<Seen, Diag> {
        let known = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = known().get(&(path.clone(), ask)) {
            return Ok(*seen);
        }
        let seen = match ask {
            Ask::Names => Seen::Listing(listing(self.sources.tree, path)),
            Ask::Content => {
                let read = read_settled(self.sources.fs, path, &self.limits)?;
                read.map_or(Seen::Absent, |(_, seen)| seen)
            }
        };
        known().insert((path.clone(), ask), seen);
        Ok(seen)
    }

    /// What is known of a source before its action runs: the content of a file, the names in a directory, and nothing of
    /// a source that is a part of another file.
    pub(crate) fn source(&self, source: &RelPath) -> Result<Option<Seen>, Diag> {
        match self.sources.tree.get(source.as_str()) {
            Some(entry) if entry.file.is_some() => self.at(source, Ask::Content).map(Some),
            Some(_) => self.at(source, Ask::Names).map(Some),
            None => Ok(None),
        }
    }

    /// Whether something is still as an action saw it.
    pub(crate) fn is_still(&self, path: &RelPath, seen: Seen) -> bool {
        let src: &dyn Fs = self.sources.fs;
        match seen {
            // Actions see the directories of the tree that the run began with, and so does the key.
            Seen::Listing(_) => true,
            Seen::Absent => matches!(src.stamp(path), Ok(None)),
            Seen::File { stamp, racy, hash } => {
                matches!(src.stamp(path), Ok(Some(now)) if now == stamp)
                    && (!racy || src.read(path).is_ok_and(|bytes| Hash::of(&bytes) == hash))
            }
        }
    }
}
