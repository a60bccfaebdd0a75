//! The store as a client of its server: lookups, prefetching, and blobs on their way to this machine.

use super::action::{Answer, Set, answer_key, question, read_sets};
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

/// The reason why a record is not that of its key.
const ANOTHER: &str = "it has a damaged result, or that of another cook";

/// What was prefetched from the server and not looked for yet.
#[derive(Default)]
pub(super) struct Prefetched {
    /// The sets of paths that the server has, by question.
    sets: HashMap<Hash, Vec<Set>>,
    /// Answers by key, with the blobs that were brought here for them.
    answers: HashMap<Hash, (Answer, Vec<Blob>)>,
}

/// The place that a record came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// This machine.
    Local,
    /// The server, just now.
    Server,
    /// The server, ahead of time.
    Prefetched,
}

/// The record of an answer.
pub(super) struct Sought {
    pub(super) answer: Answer,
    pub(super) origin: Origin,
    /// The blobs that were brought here for it.
    pub(super) brought: Vec<Blob>,
}

impl Store {
    /// Returns the number of lookups that may be in flight at a time beside those of the workers; 0 without a server.
    pub(crate) fn prefetchers(&self) -> usize {
        self.tier.as_ref().map_or(0, |tier| tier.prefetchers())
    }

    /// Brings the result of a cook from the server to this machine, if the server has the one that
    /// [`find`](Self::find) will look for.
    pub(crate) fn prefetch(&self, hashes: &InputHashes<'_>, fingerprint: &str, source: &RelPath) {
        let reading = || self.hashing.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = {
            let _one_at_a_time = reading();
            hashes.source(source)
        };
        let Ok(seen) = seen else { return };
        let question = question(&self.build, fingerprint, source, seen);
        let bring = |set: &Set| {
            let see = |(path, ask): &(RelPath, _)| Some((path.clone(), hashes.at(path, *ask).ok()?));
            let seen: Option<BTreeMap<RelPath, Seen>> = {
                let _one_at_a_time = reading();
                set.0.iter().map(see).collect()
            };
            self.bring(answer_key(question, pairs(&seen?)))
        };
        let here = self.sets(question);
        if here.iter().find_map(bring).is_none() {
            let there = self.sets_there(question, Lane::Prefetch);
            there.iter().filter(|set| !here.contains(set)).find_map(bring);
            self.lock_prefetched().sets.insert(question, there);
        }
    }

    /// Brings an answer with all of its blobs to this machine. The record itself stays in memory until the tool has
    /// accepted the result.
    fn bring(&self, key: Hash) -> Option<()> {
        let Sought { answer, origin, mut brought } = self.sought(key, Lane::Prefetch)?;
        let lost: Vec<Blob> = answer.blobs().filter(|blob| !self.local.has(*blob)).collect();
        if origin == Origin::Local && lost.is_empty() {
            return Some(());
        }
        if origin == Origin::Server || !lost.is_empty() {
            self.fetch(&answer, &lost, Lane::Prefetch)?;
        }
        brought.extend(lost);
        self.lock_prefetched().answers.insert(key, (answer, brought));
        Some(())
    }

    /// Returns the record of an answer: one that was prefetched, one of this machine, or one of the server.
    pub(super) fn sought(&self, key: Hash, lane: Lane) -> Option<Sought> {
        if let Some((answer, brought)) = self.lock_prefetched().answers.remove(&key) {
            return Some(Sought { answer, origin: Origin::Prefetched, brought });
        }
        let here = self.local.record(key).and_then(|record| Answer::read(&self.seal, key, &record).ok());
        let origin = if here.is_some() { Origin::Local } else { Origin::Server };
        let there = || self.record_there(key, lane, |bytes| Answer::read(&self.seal, key, bytes));
        Some(Sought { answer: here.or_else(there)?, origin, brought: vec![] })
    }

    /// Returns the sets of paths that the server has for a question, asking it only if no prefetch did.
    pub(super) fn sets_there(&self, question: Hash, lane: Lane) -> Vec<Set> {
        if let Some(sets) = self.lock_prefetched().sets.remove(&question) {
            return sets;
        }
        self.record_there(question, lane, |bytes| read_sets(&self.seal, question, bytes)).unwrap_or_default()
    }

    /// Gets a record of the server. One without our signature is a miss, and not a fault of the server: it may be older
    /// than the key, or that of somebody without one.
    fn record_there<T>(
        &self,
        key: Hash,
        lane: Lane,
        read: impl FnOnce(&[u8]) -> Result<T, BadRecord>,
    ) -> Option<T> {
        let check = |bytes: Vec<u8>| match read(&bytes) {
            Ok(record) => Ok(Some(record)),
            Err(BadRecord::Unsigned) => Ok(None),
            Err(BadRecord::Damaged) => Err(ANOTHER),
        };
        let record = self.tier.as_ref()?.record(key, lane, check)?;
        if record.is_none() {
            self.refused().unsigned(key);
        }
        record
    }

    fn lock_prefetched(&self) -> MutexGuard<'_, Prefetched> {
        self.prefetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings those blobs of an answer here that are not, from the server.
    pub(super) fn fetch(&self, answer: &Answer, blobs: &[Blob], lane: Lane) -> Option<()> {
        let (tier, worth) = (self.tier.as_ref()?, Duration::from_millis(answer.took_ms));
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

    /// Streams a blob to the disk, so that its length does not matter for memory.
    fn fetch_large(&self, tier: &Tier, blob: Blob, worth: Duration, lane: Lane) -> Option<()> {
        let written = |result: io::Result<()>| {
            let unusable =
                |error| _ = self.lock_trouble().get_or_insert_with(|| unwritable(self.local.root(), &error));
            result.map_err(unusable).ok()
        };
        if self.lock_trouble().is_some() {
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
