//! The records and blobs that uploads read from the local cache.

use super::action::{MAX_PATH_SETS, read_path_sets, write_path_sets};
use super::local::Local;
use super::seal::Seal;
use crate::Hash;
use crate::remote::{Blob, Source};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// The local cache and its signing key, as a source of uploads.
pub(super) struct UploadSource {
    pub(super) local: Arc<Local>,
    pub(super) seal: Seal,
}

impl Source for UploadSource {
    fn record(&self, key: Hash) -> Option<Vec<u8>> {
        self.local.record(key)
    }

    fn blob(&self, blob: Blob) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.local.blob(blob)?.read_to_end(&mut bytes).ok().map(|_| bytes)
    }

    fn file(&self, blob: Blob) -> Option<File> {
        self.local.blob(blob)
    }

    fn merge(&self, key: Hash, theirs: &[u8]) -> Option<Vec<u8>> {
        let mut sets = read_path_sets(&self.seal, key, &self.record(key)?).ok()?;
        let theirs = read_path_sets(&self.seal, key, theirs).unwrap_or_default();
        if sets.iter().all(|set| theirs.contains(set)) {
            return None;
        }
        sets.extend(theirs.into_iter().filter(|set| !sets.contains(set)).collect::<Vec<_>>());
        sets.truncate(MAX_PATH_SETS);
        Some(write_path_sets(&self.seal, key, &sets))
    }

    fn signs(&self) -> bool {
        self.seal.0.is_some()
    }

    fn is_signed(&self, key: Hash, theirs: &[u8]) -> bool {
        self.seal.unseal(key, theirs).is_ok()
    }
}
