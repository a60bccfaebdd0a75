//! Lookups, prefetching and downloads of the cache from its server.

use super::action::{CachedResult, PathSet, read_path_sets, strong_key, weak_key};
use super::local::Kind;
use super::seal::BadRecord;
use super::{InputHashes, Store, pairs, unwritable};
use crate::record::Seen;
use crate::remote::{BATCH_BYTES, Blob, Lane, Tier, batches};
use crate::{Hash, RelPath};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

/// The reason that a record does not match its key.
const DAMAGED: &str = "the record is damaged or belongs to another action";

/// Prefetched records that no worker has looked up yet.
#[derive(Default)]
pub(super) struct Prefetched {
    /// The path sets of the server, by weak key.
    path_sets: HashMap<Hash, Vec<PathSet>>,
    /// Results by strong key, with the blobs that were downloaded for them.
    results: HashMap<Hash, (CachedResult, Vec<Blob>)>,
}

/// The origin of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The local cache.
    Local,
    /// The server, by this lookup.
    Server,
    /// The server, by a prefetch thread.
    Prefetched,
}

/// The result of a lookup.
pub(super) struct Lookup {
    pub(super) result: CachedResult,
    pub(super) origin: Origin,
    /// The blobs that were downloaded for it.
    pub(super) downloaded: Vec<Blob>,
}

impl Store {
    /// Returns the number of prefetch threads; 0 without a server.
    pub(crate) fn prefetchers(&self) -> usize {
        self.tier.as_ref().map_or(0, |tier| tier.prefetchers())
    }

    /// Downloads the result that [`find`](Self::find) will look up, if the server has it.
    pub(crate) fn prefetch(&self, hashes: &InputHashes<'_>, fingerprint: &str, source: &RelPath) {
        let reading = || self.hashing.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = {
            let _one_at_a_time = reading();
            hashes.source(source)
        };
        let Ok(seen) = seen else { return };
        let weak_key = weak_key(&self.build, fingerprint, source, seen);
        let prefetch = |set: &PathSet| {
            let see = |(path, access): &(RelPath, _)| Some((path.clone(), hashes.at(path, *access).ok()?));
            let seen: Option<BTreeMap<RelPath, Seen>> = {
                let _one_at_a_time = reading();
                set.0.iter().map(see).collect()
            };
            self.prefetch_result(strong_key(weak_key, pairs(&seen?)))
        };
        let local = self.local_path_sets(weak_key);
        if local.iter().find_map(prefetch).is_none() {
            let remote = self.remote_path_sets(weak_key, Lane::Prefetch);
            remote.iter().filter(|set| !local.contains(set)).find_map(prefetch);
            self.lock_prefetched().path_sets.insert(weak_key, remote);
        }
    }

    /// Downloads a result with all of its blobs. The record stays in memory until the tool has accepted the result.
    fn prefetch_result(&self, key: Hash) -> Option<()> {
        let Lookup { result, origin, mut downloaded } = self.lookup(key, Lane::Prefetch)?;
        let missing: Vec<Blob> = result.blobs().filter(|blob| !self.local.has(*blob)).collect();
        if origin == Origin::Local && missing.is_empty() {
            return Some(());
        }
        if origin == Origin::Server || !missing.is_empty() {
            self.fetch(&result, &missing, Lane::Prefetch)?;
        }
        downloaded.extend(missing);
        self.lock_prefetched().results.insert(key, (result, downloaded));
        Some(())
    }

    /// Looks up a result: prefetched, in the local cache, or on the server.
    pub(super) fn lookup(&self, key: Hash, lane: Lane) -> Option<Lookup> {
        if let Some((result, downloaded)) = self.lock_prefetched().results.remove(&key) {
            return Some(Lookup { result, origin: Origin::Prefetched, downloaded });
        }
        let local =
            self.local.record(key).and_then(|record| CachedResult::read(&self.seal, key, &record).ok());
        let origin = if local.is_some() { Origin::Local } else { Origin::Server };
        let remote = || self.remote_record(key, lane, |bytes| CachedResult::read(&self.seal, key, bytes));
        Some(Lookup { result: local.or_else(remote)?, origin, downloaded: vec![] })
    }

    /// Returns the path sets of a weak key on the server, prefetched or by a request.
    pub(super) fn remote_path_sets(&self, weak_key: Hash, lane: Lane) -> Vec<PathSet> {
        if let Some(sets) = self.lock_prefetched().path_sets.remove(&weak_key) {
            return sets;
        }
        self.remote_record(weak_key, lane, |bytes| read_path_sets(&self.seal, weak_key, bytes))
            .unwrap_or_default()
    }

    /// Downloads a record. A record without a valid signature is a miss, not a fault of the server: its writer may not have had
    /// the key.
    fn remote_record<T>(
        &self,
        key: Hash,
        lane: Lane,
        read: impl FnOnce(&[u8]) -> Result<T, BadRecord>,
    ) -> Option<T> {
        let check = |bytes: Vec<u8>| match read(&bytes) {
            Ok(record) => Ok(Some(record)),
            Err(BadRecord::Unsigned) => Ok(None),
            Err(BadRecord::Damaged) => Err(DAMAGED),
        };
        let record = self.tier.as_ref()?.record(key, lane, check)?;
        if record.is_none() {
            self.rejected.add_unsigned(key);
        }
        record
    }

    fn lock_prefetched(&self) -> MutexGuard<'_, Prefetched> {
        self.prefetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Downloads blobs of a result.
    pub(super) fn fetch(&self, result: &CachedResult, blobs: &[Blob], lane: Lane) -> Option<()> {
        let (tier, worth) = (self.tier.as_ref()?, Duration::from_millis(result.took_ms));
        tier.credit(worth);
        let fetched =
            batches(blobs).into_iter().try_for_each(|batch| self.fetch_batch(tier, batch, worth, lane));
        if fetched.is_none() {
            tier.revoke_credit(worth);
        }
        fetched
    }

    fn fetch_batch(&self, tier: &Tier, batch: &[Blob], worth: Duration, lane: Lane) -> Option<()> {
        if !batch.iter().all(|blob| tier.admits(*blob)) {
            return None;
        }
        if let [blob] = batch
            && blob.len > BATCH_BYTES
        {
            return self.fetch_large(tier, *blob, worth, lane);
        }
        for (blob, bytes) in batch.iter().zip(tier.blobs(batch, worth, lane)?) {
            self.put(Kind::Blob, blob.hash, &bytes);
        }
        Some(())
    }

    /// Streams a blob to disk, so that memory does not depend on its length.
    fn fetch_large(&self, tier: &Tier, blob: Blob, worth: Duration, lane: Lane) -> Option<()> {
        let written = |result: io::Result<()>| {
            let unusable = |error| {
                _ = self.lock_write_error().get_or_insert_with(|| unwritable(self.local.root(), &error))
            };
            result.map_err(unusable).ok()
        };
        if self.lock_write_error().is_some() {
            return None;
        }
        let mut incoming = match self.local.incoming() {
            Ok(incoming) => incoming,
            Err(error) => return written(Err(error)),
        };
        tier.stream(blob, worth, lane, &mut incoming, |incoming| incoming.is(blob))?;
        written(incoming.commit(blob))?;
        self.tally.bytes_in.fetch_add(blob.len, Relaxed);
        Some(())
    }
}
