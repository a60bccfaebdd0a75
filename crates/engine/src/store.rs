//! The cache of results beyond one output tree: what was built once, in whatever checkout, branch or preset, is copied
//! and not built again.
//!
//! An action is a pure function of its fingerprint and of what it saw, so its result can stand in for it wherever both are
//! the same (`action.rs` says how that is found). The store is a help and never an authority: whatever is in it is
//! checked when it is used, and what is missing, damaged or cannot be written costs time and nothing else.

mod action;
mod dir;
mod fetch;
mod input_hashes;
mod local;
mod refused;
mod seal;
pub mod settings;
mod signing;
mod sweep;
mod upload_source;

pub(crate) use input_hashes::InputHashes;
pub use seal::seal_record;
pub use signing::SigningKey;
pub use sweep::{Stats, Swept};

use crate::artifact::{Artifact, Content, Metadata, PlacedArtifact};
use crate::cache_entry::{CacheEntry, Rejected};
use crate::record::Seen;
use crate::remote::{Blob, Job, Lane, Policy, Remote, RemoteLimits, Tier, Uploads};
use crate::shared_results::{SharedResult, WorkKey};
use crate::sink::Sink;
use crate::{Code, Diag, Hash, RelPath};
use action::{Answer, SETS, Set, StoredOutput, answer_key, question, read_sets, work_key, write_sets};
use fetch::{Origin, Prefetched, Sought};
use local::{Kind, Local};
use refused::Refused;
use seal::Seal;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use upload_source::UploadSource;

/// A store, as one run of a tool uses it.
pub struct Store {
    local: Arc<Local>,
    tier: Option<Arc<Tier>>,
    uploads: Option<Uploads>,
    seal: Seal,
    build: String,
    tally: Tally,
    trouble: Mutex<Option<Diag>>,
    refused: Mutex<Refused>,
    /// Results that were prefetched from the server and not looked for yet.
    prefetched: Mutex<Prefetched>,
    /// Held by the prefetch thread that reads sources: each is in memory while it is hashed.
    hashing: Mutex<()>,
}

/// What a store did for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How many results were looked for.
    pub asked: u64,
    /// How many of them were there.
    pub found: u64,
    /// How many of these had to come from the server.
    pub from_server: u64,
    /// How many pieces of shared work were there, for sources whose own result was not.
    pub works: u64,
    /// Bytes that were taken from the store.
    pub bytes_out: u64,
    /// Bytes that were put into it.
    pub bytes_in: u64,
    /// Bytes that came from the server.
    pub bytes_down: u64,
    /// Bytes that went to the server.
    pub bytes_up: u64,
    /// How long the actions and the shared work took that were not done again.
    pub saved: Duration,
}

#[derive(Default)]
struct Tally {
    asked: AtomicU64,
    found: AtomicU64,
    from_server: AtomicU64,
    works: AtomicU64,
    bytes_out: AtomicU64,
    bytes_in: AtomicU64,
    saved_ms: AtomicU64,
}

/// A stored result that fits what is there now.
pub(crate) struct Found {
    pub(crate) answer: Answer,
    pub(crate) seen: BTreeMap<RelPath, Seen>,
    /// The bytes of each artifact.
    pub(crate) files: Vec<File>,
    question: Hash,
    key: Hash,
    /// The set of paths that led to it, if only the server had it.
    set: Option<Set>,
    far: bool,
    brought: Vec<Blob>,
}

/// An answer with its bytes.
struct Whole {
    answer: Answer,
    files: Vec<File>,
    /// Whether any of it had to come from the server.
    far: bool,
    /// The blobs that did.
    brought: Vec<Blob>,
}

impl Found {
    /// The entry as the tool sees it.
    ///
    /// # Errors
    /// If the metadata of an artifact is none.
    pub(crate) fn entry<M: Metadata>(&mut self) -> Result<CacheEntry<'_, M>, Rejected> {
        let artifact = |output: &StoredOutput| {
            let metadata = M::decode(&output.metadata)
                .ok_or_else(|| Rejected(format!("the metadata of {} is damaged", output.path)))?;
            Ok(PlacedArtifact { name: output.path.clone(), hash: output.blob.hash, metadata })
        };
        let artifacts = self.answer.outputs.iter().map(artifact).collect::<Result<_, Rejected>>()?;
        Ok(CacheEntry { artifacts, inputs: &self.seen, files: &mut self.files })
    }

    /// Copies the artifacts to a sink; all or none.
    ///
    /// # Errors
    /// If one cannot be copied.
    pub(crate) fn stage<M: Metadata>(&mut self, sink: &dyn Sink) -> io::Result<Vec<Artifact<M>>> {
        let outputs = self.answer.outputs.iter().zip(&mut self.files);
        let artifacts = outputs.map(|(output, file)| {
            let metadata = M::decode(&output.metadata).ok_or(io::ErrorKind::InvalidData)?;
            let staged = sink.stage_copy(output.blob, file)?;
            // The work that it is the result of is not taken from a cache: another action would use it as that.
            let content = Content { staged, blob: output.blob, work: None };
            Ok(Artifact { name: output.path.clone(), metadata, content })
        });
        artifacts.collect()
    }
}

impl Store {
    /// Opens the store in a directory, making it if need be. `build` names the program and its version: results of
    /// another one are not used.
    ///
    /// # Errors
    ///
    /// A warning that says why the directory is not used: it cannot be written (`store-unwritable`), has files that are
    /// not a cache's (`cache-dir-not-owned`), or a symbolic link where a cache has none (`cache-dir-link`).
    pub fn open(dir: &Path, build: impl Into<String>) -> Result<Store, Diag> {
        Ok(Store {
            local: Arc::new(Local::open(dir)?),
            tier: None,
            uploads: None,
            seal: Seal::default(),
            build: build.into(),
            tally: Tally::default(),
            trouble: Mutex::default(),
            refused: Mutex::default(),
            prefetched: Mutex::default(),
            hashing: Mutex::default(),
        })
    }

    /// The same store with a key: records are signed, and those without its signature are not used, be they on a server
    /// or in the directory. Comes before [`Store::with_remote`].
    pub fn signed_with(self, key: SigningKey) -> Store {
        debug_assert!(self.uploads.is_none(), "uploads would not be signed");
        Store { seal: Seal(Some(key)), ..self }
    }

    /// The same store in front of a server: what is not here is looked for there, and what is made here is sent there
    /// if the policy is to write.
    pub fn with_remote(self, remote: Box<dyn Remote>, policy: Policy) -> Store {
        self.with_limited_remote(remote, policy, RemoteLimits::default())
    }

    /// The same with other limits than the usual ones.
    pub fn with_limited_remote(self, remote: Box<dyn Remote>, policy: Policy, limits: RemoteLimits) -> Store {
        let tier = Arc::new(Tier::new(remote, limits));
        let source = || Arc::new(UploadSource { local: self.local.clone(), seal: self.seal.clone() });
        let uploads = (policy == Policy::Write).then(|| Uploads::start(tier.clone(), source()));
        Store { tier: Some(tier), uploads, ..self }
    }

    /// Waits until everything that was made is on the server, for as long as it is worth.
    pub fn finish(&self, limit: Duration) {
        if let Some(uploads) = &self.uploads {
            uploads.drain(limit);
        }
    }

    /// What it holds.
    pub fn stats(&self) -> Stats {
        sweep::stats(&self.local)
    }

    /// Removes what was not used for longest until no more than `max_bytes` are left; or only says what would go.
    pub fn sweep(&self, max_bytes: u64, dry_run: bool) -> Swept {
        sweep::sweep(&self.local, max_bytes, dry_run)
    }

    /// The same at the end of a build, once a day.
    pub fn sweep_if_due(&self, max_bytes: u64) {
        if self.tally.bytes_in.load(Relaxed) > 0 && sweep::is_due(&self.local) {
            self.sweep(max_bytes, false);
        }
    }

    /// What it did so far.
    pub fn figures(&self) -> Figures {
        let tally = &self.tally;
        let far = |bytes: fn(&Tier) -> &AtomicU64| self.tier.as_ref().map_or(0, |t| bytes(t).load(Relaxed));
        Figures {
            asked: tally.asked.load(Relaxed),
            found: tally.found.load(Relaxed),
            from_server: tally.from_server.load(Relaxed),
            works: tally.works.load(Relaxed),
            bytes_down: far(|tier| &tier.bytes_down),
            bytes_up: far(|tier| &tier.bytes_up),
            bytes_out: tally.bytes_out.load(Relaxed),
            bytes_in: tally.bytes_in.load(Relaxed),
            saved: Duration::from_millis(tally.saved_ms.load(Relaxed)),
        }
    }

    /// What is wrong with it, and with its server, if anything: one warning of each kind, however often it happened.
    pub fn trouble(&self) -> Vec<Diag> {
        let here = self.lock_trouble().clone();
        let refused = self.refused();
        let found = [here, refused.rejected_warning(), refused.unsigned_warning()];
        let writes = self.uploads.is_some();
        found.into_iter().flatten().chain(self.tier.iter().flat_map(|tier| tier.warnings(writes))).collect()
    }

    fn refused(&self) -> MutexGuard<'_, Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of an action, if one is there that saw what is there now.
    pub(crate) fn find(
        &self,
        hashes: &InputHashes<'_>,
        fingerprint: &str,
        source: &RelPath,
    ) -> Option<Found> {
        self.tally.asked.fetch_add(1, Relaxed);
        let question = question(&self.build, fingerprint, source, hashes.source(source).ok()?);
        let find = |set: &Set, new: bool| {
            let see = |(path, ask): &(RelPath, _)| Some((path.clone(), hashes.at(path, *ask).ok()?));
            let seen: BTreeMap<RelPath, Seen> = set.0.iter().map(see).collect::<Option<_>>()?;
            let key = answer_key(question, pairs(&seen));
            let Whole { answer, files, far, brought } = self.answer(key)?;
            let set = new.then(|| set.clone());
            Some(Found { answer, seen, files, question, key, set, far, brought })
        };
        let here = self.sets(question);
        here.iter().find_map(|set| find(set, false)).or_else(|| {
            let there = self.sets_there(question, Lane::Worker);
            there.iter().filter(|set| !here.contains(set)).find_map(|set| find(set, true))
        })
    }

    /// Counts a result that was used, and keeps what of it came from the server; one that the server may not have is
    /// sent there.
    pub(crate) fn count(&self, found: &mut Found) {
        self.tally.found.fetch_add(1, Relaxed);
        self.tally.from_server.fetch_add(found.far.into(), Relaxed);
        self.note_use(&found.answer);
        if let Some(set) = found.set.take() {
            self.add_set(found.question, set);
        }
        match found.far {
            true => self.put(Kind::Record, found.key, &found.answer.write(&self.seal, found.key)),
            false => {
                self.send(found.key, &found.answer);
                self.send_sets(found.question);
            }
        }
    }

    /// Drops a result that the tool refused, and the blobs that came with it. Those that were here before may belong to
    /// other results as well.
    pub(crate) fn reject(&self, found: &Found, why: Rejected) {
        self.drop_answer(found.key, &found.brought, why);
    }

    fn drop_answer(&self, key: Hash, brought: &[Blob], why: Rejected) {
        self.local.remove(Kind::Record, key);
        brought.iter().for_each(|blob| _ = self.local.remove(Kind::Blob, blob.hash));
        self.refused().reject(key, why);
    }

    /// Stores the result of an action, unless something that it read has changed since.
    pub(crate) fn remember<M: Metadata>(
        &self,
        hashes: &InputHashes<'_>,
        (fingerprint, source): (&str, &RelPath),
        inputs: &BTreeMap<RelPath, Seen>,
        artifacts: &[Artifact<M>],
        warnings: &[Diag],
        took: Duration,
    ) {
        if !pairs(inputs).all(|(path, seen)| hashes.is_still(path, seen)) {
            return;
        }
        let Ok(seen) = inputs.get(source).map_or_else(|| hashes.source(source), |seen| Ok(Some(*seen)))
        else {
            return;
        };
        let question = question(&self.build, fingerprint, source, seen);
        let stored = |artifact: &Artifact<M>| StoredOutput {
            path: artifact.name.clone(),
            metadata: artifact.metadata.encode(),
            blob: artifact.content.blob,
        };
        let answer = Answer {
            outputs: artifacts.iter().map(stored).collect(),
            warnings: warnings.to_vec(),
            took_ms: took.as_millis() as u64,
        };
        let key = answer_key(question, pairs(inputs));
        // An action is a pure function: another result under the same key is wrong, here and wherever it came from.
        let old = self.local.record(key).and_then(|record| Answer::read(&self.seal, key, &record).ok());
        if old.is_some_and(|old| !old.is_same(&answer)) {
            self.refused().replace(key);
        }
        self.put(Kind::Record, key, &answer.write(&self.seal, key));
        self.add_set(question, Set::of(pairs(inputs)));
        self.send(key, &answer);
        self.send_sets(question);
    }

    /// The result of shared work, if its bytes are such as `accept` says that they can be.
    pub(crate) fn find_work(&self, key: WorkKey, accept: impl FnOnce(&[u8]) -> bool) -> Option<SharedResult> {
        let key = work_key(&self.build, key);
        let Whole { answer, mut files, far, brought } = self.answer(key)?;
        let mut bytes = Vec::new();
        let read = files.pop().is_some_and(|mut file| file.read_to_end(&mut bytes).is_ok());
        if !read || answer.outputs.len() != 1 || !accept(&bytes) {
            let why = "it is not the result of the work that it is stored for";
            self.drop_answer(key, &brought, Rejected(why.to_owned()));
            return None;
        }
        self.tally.works.fetch_add(1, Relaxed);
        self.note_use(&answer);
        match far {
            true => self.put(Kind::Record, key, &answer.write(&self.seal, key)),
            false => self.send(key, &answer),
        }
        Some(SharedResult { blob: answer.outputs[0].blob, bytes, warnings: answer.warnings })
    }

    /// Stores the result of shared work.
    pub(crate) fn remember_work(&self, key: WorkKey, made: &SharedResult, took: Duration) {
        self.put_blob(made.blob, &made.bytes);
        let path = RelPath::new("shared").expect("a plain name");
        let answer = Answer {
            outputs: vec![StoredOutput { path, metadata: vec![], blob: made.blob }],
            warnings: made.warnings.clone(),
            took_ms: took.as_millis() as u64,
        };
        let key = work_key(&self.build, key);
        self.put(Kind::Record, key, &answer.write(&self.seal, key));
        self.send(key, &answer);
    }

    /// Keeps bytes for the records to come.
    pub(crate) fn put_blob(&self, blob: Blob, bytes: &[u8]) {
        if !self.local.has(blob) {
            self.put(Kind::Blob, blob.hash, bytes);
        }
    }

    fn sets(&self, question: Hash) -> Vec<Set> {
        let record = self.local.record(question);
        record.and_then(|record| read_sets(&self.seal, question, &record).ok()).unwrap_or_default()
    }

    fn add_set(&self, question: Hash, set: Set) {
        let mut sets = self.sets(question);
        if !sets.contains(&set) {
            sets.insert(0, set);
            sets.truncate(SETS);
            self.put(Kind::Record, question, &write_sets(&self.seal, question, &sets));
        }
    }

    /// An answer with all of its bytes: from here, and what is not here from the server. The record is kept here when the
    /// tool has accepted it.
    fn answer(&self, key: Hash) -> Option<Whole> {
        let Sought { answer, origin, mut brought } = self.sought(key, Lane::Worker)?;
        let blobs: Vec<Blob> = answer.blobs().collect();
        let mut files: Vec<Option<File>> = blobs.iter().map(|blob| self.local.blob(*blob)).collect();
        let lost = blobs.iter().zip(&files).filter(|(_, file)| file.is_none());
        let mut lost: Vec<Blob> = lost.map(|(blob, _)| *blob).collect();
        lost.dedup();
        let fetched = origin == Origin::Server || !lost.is_empty();
        if fetched {
            self.fetch(&answer, &lost, Lane::Worker)?;
            for (file, blob) in files.iter_mut().zip(&blobs).filter(|(file, _)| file.is_none()) {
                *file = self.local.blob(*blob);
            }
        }
        let files = files.into_iter().collect::<Option<Vec<File>>>()?;
        brought.extend(lost);
        Some(Whole { answer, files, far: fetched || origin == Origin::Prefetched, brought })
    }

    fn send(&self, key: Hash, answer: &Answer) {
        if let Some(uploads) = &self.uploads {
            let replaces = self.refused().is_replaced(key);
            uploads.add(Job { key, blobs: answer.blobs().collect(), merges: false, replaces });
        }
    }

    fn send_sets(&self, question: Hash) {
        if let Some(uploads) = &self.uploads {
            uploads.add(Job { key: question, blobs: vec![], merges: true, replaces: false });
        }
    }

    fn note_use(&self, answer: &Answer) {
        self.tally.bytes_out.fetch_add(answer.blobs().map(|blob| blob.len).sum(), Relaxed);
        self.tally.saved_ms.fetch_add(answer.took_ms, Relaxed);
    }

    fn lock_trouble(&self) -> MutexGuard<'_, Option<Diag>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a file into the store; after the first one that cannot be, no more are tried.
    fn put(&self, kind: Kind, hash: Hash, bytes: &[u8]) {
        if self.lock_trouble().is_some() {
            return;
        }
        match self.local.put(kind, hash, bytes) {
            Ok(()) => _ = self.tally.bytes_in.fetch_add(bytes.len() as u64, Relaxed),
            Err(error) => {
                _ = self.lock_trouble().get_or_insert_with(|| unwritable(self.local.root(), &error))
            }
        }
    }
}

/// What is said of a store that cannot be used.
fn unwritable(dir: &Path, error: &io::Error) -> Diag {
    Diag::new(Code::StoreUnwritable, format!("results are not kept: {error}"))
        .path(dir.display())
        .hint("see to its permissions and to free space, or name another directory in KILN_CACHE_DIR")
}

fn pairs(seen: &BTreeMap<RelPath, Seen>) -> impl Iterator<Item = (&RelPath, Seen)> {
    seen.iter().map(|(path, seen)| (path, *seen))
}
