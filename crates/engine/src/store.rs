//! The build cache: results of actions, shared by all checkouts, branches and presets on this machine and, with a server, by
//! many machines.
//!
//! An action is a pure function of its fingerprint and its inputs, so its result is valid wherever both are equal (`action.rs`
//! has the keys). The cache is an optimisation and never trusted: every entry is verified when it is used, and an entry that is
//! missing, damaged or cannot be written costs time and nothing else.

mod action;
mod dir;
mod fetch;
mod input_hashes;
mod local;
mod remote_result;
mod seal;
pub mod settings;
mod signing;
mod sweep;
mod upload_source;

pub(crate) use action::{Access, PathSet};
pub(crate) use input_hashes::InputHashes;
pub use remote_result::run_action;
pub(crate) use remote_result::{RemoteAnswer, RemoteResult};
pub use seal::seal_record;
pub use signing::SigningKey;
pub use sweep::{Stats, Swept};

use crate::artifact::{Artifact, Content, Metadata};
use crate::cache_entry::{CacheEntry, Contents, Rejected};
use crate::record::Seen;
use crate::remote::{Blob, Job, Lane, Policy, RejectedObjects, Remote, RemoteLimits, Tier, Uploads};
use crate::shared_results::{SharedResult, WorkKey};
use crate::sink::Sink;
use crate::{Code, Diag, Hash, RelPath};
use action::{CachedResult, MAX_PATH_SETS, StoredOutput};
use action::{read_path_sets, strong_key, weak_key, work_key, write_path_sets};
use fetch::{Lookup, Origin, Prefetched};
use local::{Kind, Local};
use seal::Seal;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use upload_source::UploadSource;

/// The build cache of one run: a local directory and optionally a server.
pub struct Store {
    local: Arc<Local>,
    tier: Option<Arc<Tier>>,
    uploads: Option<Uploads>,
    seal: Seal,
    build: String,
    tally: Tally,
    /// The first write error of the local cache, after which nothing more is written.
    write_error: Mutex<Option<Diag>>,
    rejected: Arc<RejectedObjects>,
    /// Prefetched records that no worker has looked up yet.
    prefetched: Mutex<Prefetched>,
    /// Locked by the prefetch thread that hashes sources, because each source is in memory while it is hashed.
    hashing: Mutex<()>,
}

/// The counters of the cache for one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of lookups.
    pub lookups: u64,
    /// The number of cache hits.
    pub hits: u64,
    /// The number of hits that came from the server.
    pub from_server: u64,
    /// The number of cache hits for shared results, of actions that were misses.
    pub shared_hits: u64,
    /// Bytes of results read from the cache.
    pub bytes_out: u64,
    /// Bytes written to the local cache.
    pub bytes_in: u64,
    /// Bytes downloaded from the server.
    pub bytes_down: u64,
    /// Bytes uploaded to the server.
    pub bytes_up: u64,
    /// The build time that hits saved.
    pub saved: Duration,
}

#[derive(Default)]
struct Tally {
    lookups: AtomicU64,
    hits: AtomicU64,
    from_server: AtomicU64,
    shared_hits: AtomicU64,
    bytes_out: AtomicU64,
    bytes_in: AtomicU64,
    saved_ms: AtomicU64,
}

/// A cached result that matches the current inputs.
pub(crate) struct Found {
    pub(crate) result: CachedResult,
    pub(crate) seen: BTreeMap<RelPath, Seen>,
    /// The content of each artifact.
    pub(crate) files: Vec<File>,
    weak_key: Hash,
    key: Hash,
    /// The path set of the result, if only the server has it.
    new_path_set: Option<PathSet>,
    from_server: bool,
    downloaded: Vec<Blob>,
}

/// A cached result with the content of its artifacts.
struct CompleteResult {
    result: CachedResult,
    files: Vec<File>,
    /// True if a part of it came from the server.
    from_server: bool,
    /// The blobs that were downloaded.
    downloaded: Vec<Blob>,
}

impl Found {
    /// Returns the entry for validation by the tool.
    ///
    /// # Errors
    /// If the metadata of an artifact is damaged.
    pub(crate) fn entry<M: Metadata>(&mut self) -> Result<CacheEntry<'_, M>, Rejected> {
        let artifacts = self.result.artifacts()?;
        Ok(CacheEntry { artifacts, inputs: &self.seen, contents: Contents::Files(&mut self.files) })
    }

    /// Copies the artifacts to a sink; all or none.
    ///
    /// # Errors
    /// If one cannot be copied.
    pub(crate) fn stage<M: Metadata>(&mut self, sink: &dyn Sink) -> io::Result<Vec<Artifact<M>>> {
        let outputs = self.result.outputs.iter().zip(&mut self.files);
        let artifacts = outputs.map(|(output, file)| {
            let metadata = M::decode(&output.metadata).ok_or(io::ErrorKind::InvalidData)?;
            let staged = sink.stage_copy(output.blob, file)?;
            // The key of shared work is not taken from a cache, because other actions would use the artifact as that result.
            let content = Content { staged, blob: output.blob, work: None };
            Ok(Artifact { name: output.path.clone(), metadata, content })
        });
        artifacts.collect()
    }
}

impl Store {
    /// Opens the cache in a directory, and creates it if it does not exist. `build` is the name and version of the program:
    /// results of another program or version are not used.
    ///
    /// # Errors
    ///
    /// The warning to report if the directory cannot be used: it cannot be written (`cache-unwritable`), is not a cache
    /// directory (`cache-dir-not-owned`), or contains a symbolic link (`cache-dir-link`).
    pub fn open(dir: &Path, build: impl Into<String>) -> Result<Store, Diag> {
        Ok(Store {
            local: Arc::new(Local::open(dir)?),
            tier: None,
            uploads: None,
            seal: Seal::default(),
            build: build.into(),
            tally: Tally::default(),
            write_error: Mutex::default(),
            rejected: Arc::default(),
            prefetched: Mutex::default(),
            hashing: Mutex::default(),
        })
    }

    /// Sets the signing key: records are signed, and records without its signature are not used. Must be called before
    /// [`Store::with_remote`].
    pub fn signed_with(self, key: SigningKey) -> Store {
        debug_assert!(self.uploads.is_none(), "uploads would not be signed");
        Store { seal: Seal(Some(key)), ..self }
    }

    /// Adds a server: local misses are looked up there, and results are uploaded if the policy is to write.
    pub fn with_remote(self, remote: Box<dyn Remote>, policy: Policy) -> Store {
        self.with_limited_remote(remote, policy, RemoteLimits::default())
    }

    /// Adds a server with limits other than the default.
    pub fn with_limited_remote(self, remote: Box<dyn Remote>, policy: Policy, limits: RemoteLimits) -> Store {
        let tier = Arc::new(Tier::new(remote, limits, self.rejected.clone()));
        let source = || Arc::new(UploadSource { local: self.local.clone(), seal: self.seal.clone() });
        let uploads = (policy == Policy::Write).then(|| Uploads::start(tier.clone(), source()));
        Store { tier: Some(tier), uploads, ..self }
    }

    /// Waits for the uploads to finish, up to a time limit.
    pub fn finish(&self, limit: Duration) {
        if let Some(uploads) = &self.uploads {
            uploads.drain(limit);
        }
    }

    /// Returns the number and size of the local entries.
    pub fn stats(&self) -> Stats {
        sweep::stats(&self.local)
    }

    /// Evicts the least recently used entries until at most `max_bytes` are left; with `dry_run` only counts them.
    pub fn sweep(&self, max_bytes: u64, dry_run: bool) -> Swept {
        sweep::sweep(&self.local, max_bytes, dry_run)
    }

    /// Evicts entries once a day, at the end of a build that wrote to the cache.
    pub fn sweep_if_due(&self, max_bytes: u64) {
        if self.tally.bytes_in.load(Relaxed) > 0 && sweep::is_due(&self.local) {
            self.sweep(max_bytes, false);
        }
    }

    /// Returns the counters so from_server.
    pub fn figures(&self) -> Figures {
        let tally = &self.tally;
        let remote_bytes =
            |bytes: fn(&Tier) -> &AtomicU64| self.tier.as_ref().map_or(0, |t| bytes(t).load(Relaxed));
        Figures {
            lookups: tally.lookups.load(Relaxed),
            hits: tally.hits.load(Relaxed),
            from_server: tally.from_server.load(Relaxed),
            shared_hits: tally.shared_hits.load(Relaxed),
            bytes_down: remote_bytes(|tier| &tier.bytes_down),
            bytes_up: remote_bytes(|tier| &tier.bytes_up),
            bytes_out: tally.bytes_out.load(Relaxed),
            bytes_in: tally.bytes_in.load(Relaxed),
            saved: Duration::from_millis(tally.saved_ms.load(Relaxed)),
        }
    }

    /// Returns the warnings about the cache and its server: at most one of each kind.
    pub fn warnings(&self) -> Vec<Diag> {
        let local = self.lock_write_error().clone();
        let found = [local, self.rejected.rejected_warning(), self.rejected.unsigned_warning()];
        let writes = self.uploads.is_some();
        found.into_iter().flatten().chain(self.tier.iter().flat_map(|tier| tier.warnings(writes))).collect()
    }

    /// Looks up the result of an action for the current inputs.
    pub(crate) fn find(
        &self,
        hashes: &InputHashes<'_>,
        fingerprint: &str,
        source: &RelPath,
    ) -> Option<Found> {
        self.tally.lookups.fetch_add(1, Relaxed);
        let weak_key = weak_key(&self.build, fingerprint, source, hashes.source(source).ok()?);
        let find = |set: &PathSet, new: bool| {
            let see = |(path, access): &(RelPath, _)| Some((path.clone(), hashes.at(path, *access).ok()?));
            let seen: BTreeMap<RelPath, Seen> = set.0.iter().map(see).collect::<Option<_>>()?;
            let key = strong_key(weak_key, pairs(&seen));
            let CompleteResult { result, files, from_server, downloaded } = self.complete_result(key)?;
            let new_path_set = new.then(|| set.clone());
            Some(Found { result, seen, files, weak_key, key, new_path_set, from_server, downloaded })
        };
        let local = self.local_path_sets(weak_key);
        local.iter().find_map(|set| find(set, false)).or_else(|| {
            let remote = self.remote_path_sets(weak_key, Lane::Worker);
            remote.iter().filter(|set| !local.contains(set)).find_map(|set| find(set, true))
        })
    }

    /// Counts a hit and stores the records that came from the server; a local result is uploaded if the server lacks it.
    pub(crate) fn count_hit(&self, found: &mut Found) {
        self.tally.hits.fetch_add(1, Relaxed);
        self.tally.from_server.fetch_add(found.from_server.into(), Relaxed);
        self.count_use(&found.result);
        if let Some(set) = found.new_path_set.take() {
            self.add_path_set(found.weak_key, set);
        }
        match found.from_server {
            true => self.put(Kind::Record, found.key, &found.result.write(&self.seal, found.key)),
            false => {
                self.send(found.key, &found.result);
                self.send_path_sets(found.weak_key);
            }
        }
    }

    /// Evicts a result that the tool rejected, and the blobs downloaded with it. Blobs that were already local may belong to
    /// other results.
    pub(crate) fn reject(&self, found: &Found, why: Rejected) {
        self.evict(found.key, &found.downloaded, why);
    }

    fn evict(&self, key: Hash, downloaded: &[Blob], why: Rejected) {
        self.local.remove(Kind::Record, key);
        downloaded.iter().for_each(|blob| _ = self.local.remove(Kind::Blob, blob.hash));
        self.rejected.add_rejected(key, why.0);
    }

    /// Stores the result of an action, unless an input was modified since it was read.
    pub(crate) fn store_result<M: Metadata>(
        &self,
        hashes: &InputHashes<'_>,
        (fingerprint, source): (&str, &RelPath),
        inputs: &BTreeMap<RelPath, Seen>,
        artifacts: &[Artifact<M>],
        warnings: &[Diag],
        took: Duration,
    ) {
        if !pairs(inputs).all(|(path, seen)| hashes.is_unchanged(path, seen)) {
            return;
        }
        let Ok(seen) = inputs.get(source).map_or_else(|| hashes.source(source), |seen| Ok(Some(*seen)))
        else {
            return;
        };
        let weak_key = weak_key(&self.build, fingerprint, source, seen);
        let stored = |artifact: &Artifact<M>| StoredOutput {
            path: artifact.name.clone(),
            metadata: artifact.metadata.encode(),
            blob: artifact.content.blob,
        };
        let result = CachedResult {
            outputs: artifacts.iter().map(stored).collect(),
            warnings: warnings.to_vec(),
            took_ms: took.as_millis() as u64,
        };
        let key = strong_key(weak_key, pairs(inputs));
        // An action is a pure function: a different result under the same key is invalid, here and on the server.
        let old = self.local.record(key).and_then(|record| CachedResult::read(&self.seal, key, &record).ok());
        if old.is_some_and(|old| !old.is_same(&result)) {
            self.rejected.mark_outdated(key);
        }
        self.put(Kind::Record, key, &result.write(&self.seal, key));
        self.add_path_set(weak_key, PathSet::of(pairs(inputs)));
        self.send(key, &result);
        self.send_path_sets(weak_key);
    }

    /// Looks up a shared result whose bytes `accept` validates.
    pub(crate) fn find_shared_result(
        &self,
        key: WorkKey,
        accept: impl FnOnce(&[u8]) -> bool,
    ) -> Option<SharedResult> {
        let key = work_key(&self.build, key);
        let CompleteResult { result, mut files, from_server, downloaded } = self.complete_result(key)?;
        let mut bytes = Vec::new();
        let read = files.pop().is_some_and(|mut file| file.read_to_end(&mut bytes).is_ok());
        if !read || result.outputs.len() != 1 || !accept(&bytes) {
            let why = "it is not a valid result of this shared work";
            self.evict(key, &downloaded, Rejected(why.to_owned()));
            return None;
        }
        self.tally.shared_hits.fetch_add(1, Relaxed);
        self.count_use(&result);
        match from_server {
            true => self.put(Kind::Record, key, &result.write(&self.seal, key)),
            false => self.send(key, &result),
        }
        Some(SharedResult { blob: result.outputs[0].blob, bytes, warnings: result.warnings })
    }

    /// Stores a shared result.
    pub(crate) fn store_shared_result(&self, key: WorkKey, shared: &SharedResult, took: Duration) {
        self.put_blob(shared.blob, &shared.bytes);
        let path = RelPath::new("shared").expect("a plain name");
        let result = CachedResult {
            outputs: vec![StoredOutput { path, metadata: vec![], blob: shared.blob }],
            warnings: shared.warnings.clone(),
            took_ms: took.as_millis() as u64,
        };
        let key = work_key(&self.build, key);
        self.put(Kind::Record, key, &result.write(&self.seal, key));
        self.send(key, &result);
    }

    /// Stores a blob for a record that follows.
    pub(crate) fn put_blob(&self, blob: Blob, bytes: &[u8]) {
        if !self.local.has(blob) {
            self.put(Kind::Blob, blob.hash, bytes);
        }
    }

    /// Returns the paths that earlier runs of an action accessed, by its fingerprint and source.
    pub(crate) fn known_accesses(
        &self,
        hashes: &InputHashes<'_>,
        fingerprint: &str,
        source: &RelPath,
    ) -> Vec<PathSet> {
        let Ok(seen) = hashes.source(source) else { return vec![] };
        self.local_path_sets(weak_key(&self.build, fingerprint, source, seen))
    }

    /// Returns whether records are signed.
    pub(crate) fn is_signed(&self) -> bool {
        self.seal.0.is_some()
    }

    fn local_path_sets(&self, weak_key: Hash) -> Vec<PathSet> {
        let record = self.local.record(weak_key);
        record.and_then(|record| read_path_sets(&self.seal, weak_key, &record).ok()).unwrap_or_default()
    }

    fn add_path_set(&self, weak_key: Hash, set: PathSet) {
        let mut sets = self.local_path_sets(weak_key);
        if !sets.contains(&set) {
            sets.insert(0, set);
            sets.truncate(MAX_PATH_SETS);
            self.put(Kind::Record, weak_key, &write_path_sets(&self.seal, weak_key, &sets));
        }
    }

    /// Returns a result with the content of its artifacts; missing parts are downloaded. The record is stored locally when the
    /// tool has accepted it.
    fn complete_result(&self, key: Hash) -> Option<CompleteResult> {
        let Lookup { result, origin, mut downloaded } = self.lookup(key, Lane::Worker)?;
        let blobs: Vec<Blob> = result.blobs().collect();
        let mut files: Vec<Option<File>> = blobs.iter().map(|blob| self.local.blob(*blob)).collect();
        let missing = blobs.iter().zip(&files).filter(|(_, file)| file.is_none());
        let mut missing: Vec<Blob> = missing.map(|(blob, _)| *blob).collect();
        missing.dedup();
        let fetched = origin == Origin::Server || !missing.is_empty();
        if fetched {
            self.fetch(&result, &missing, Lane::Worker)?;
            for (file, blob) in files.iter_mut().zip(&blobs).filter(|(file, _)| file.is_none()) {
                *file = self.local.blob(*blob);
            }
        }
        let files = files.into_iter().collect::<Option<Vec<File>>>()?;
        downloaded.extend(missing);
        Some(CompleteResult {
            result,
            files,
            from_server: fetched || origin == Origin::Prefetched,
            downloaded,
        })
    }

    fn send(&self, key: Hash, result: &CachedResult) {
        if let Some(uploads) = &self.uploads {
            uploads.add(Job { key, blobs: result.blobs().collect(), merges: false });
        }
    }

    fn send_path_sets(&self, weak_key: Hash) {
        if let Some(uploads) = &self.uploads {
            uploads.add(Job { key: weak_key, blobs: vec![], merges: true });
        }
    }

    fn count_use(&self, result: &CachedResult) {
        self.tally.bytes_out.fetch_add(result.blobs().map(|blob| blob.len).sum(), Relaxed);
        self.tally.saved_ms.fetch_add(result.took_ms, Relaxed);
    }

    fn lock_write_error(&self) -> MutexGuard<'_, Option<Diag>> {
        self.write_error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a file to the local cache; after the first error nothing more is written.
    fn put(&self, kind: Kind, hash: Hash, bytes: &[u8]) {
        if self.lock_write_error().is_some() {
            return;
        }
        match self.local.put(kind, hash, bytes) {
            Ok(()) => _ = self.tally.bytes_in.fetch_add(bytes.len() as u64, Relaxed),
            Err(error) => {
                _ = self.lock_write_error().get_or_insert_with(|| unwritable(self.local.root(), &error))
            }
        }
    }
}

/// Returns the warning about a cache directory that cannot be written.
fn unwritable(dir: &Path, error: &io::Error) -> Diag {
    Diag::new(Code::CacheUnwritable, format!("results cannot be written to the cache: {error}"))
        .path(dir.display())
        .hint("check its permissions and free space, or set KILN_CACHE_DIR to another directory")
}

fn pairs(seen: &BTreeMap<RelPath, Seen>) -> impl Iterator<Item = (&RelPath, Seen)> {
    seen.iter().map(|(path, seen)| (path, *seen))
}
