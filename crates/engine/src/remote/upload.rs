//! Background uploads to a server.
//!
//! A few threads upload entries of the local cache; the queue has keys, not bytes. A worker never blocks on uploads: if the
//! queue is full, or uploads are disabled, an entry is not uploaded. At the end of a run the queue is drained, for a limited
//! time.

use super::{BATCH_BYTES, Blob, Fault, LONGEST_RECORD, Name, Tier, batches};
use crate::Hash;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The number of upload threads.
const THREADS: usize = 4;

/// The largest number of queued records.
const MAX_QUEUED: usize = 1 << 16;

/// A record to upload, after the blobs that it references.
pub(crate) struct Job {
    pub(crate) key: Hash,
    pub(crate) blobs: Vec<Blob>,
    /// True if the record is merged with that of the server; otherwise an existing record is kept.
    pub(crate) merges: bool,
}

/// The source of the bytes to upload.
pub(crate) trait Source: Send + Sync + 'static {
    /// Returns the bytes of a record.
    fn record(&self, key: Hash) -> Option<Vec<u8>>;
    /// Returns the bytes of a blob, verified.
    fn blob(&self, blob: Blob) -> Option<Vec<u8>>;
    /// Opens a file with the bytes of a blob, verified.
    fn file(&self, blob: Blob) -> Option<File>;
    /// Merges the local record with that of the server; `None` if the server's has all of it.
    fn merge(&self, key: Hash, theirs: &[u8]) -> Option<Vec<u8>>;
    /// Returns whether records must be signed.
    fn signs(&self) -> bool;
    /// Returns whether a record of the server has a valid signature.
    fn is_signed(&self, key: Hash, theirs: &[u8]) -> bool;
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    running: usize,
    ended: bool,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The upload queue and its threads.
pub(crate) struct Uploads {
    queue: Arc<Queue>,
    tier: Arc<Tier>,
    threads: Vec<JoinHandle<()>>,
}

impl Uploads {
    /// Starts the upload threads.
    pub(crate) fn start(tier: Arc<Tier>, source: Arc<dyn Source>) -> Uploads {
        let queue = Arc::new(Queue::default());
        let start = |n: usize| {
            let (queue, tier, source) = (queue.clone(), tier.clone(), source.clone());
            let work = move || {
                while let Some(job) = next(&queue) {
                    send(&tier, &*source, &job);
                    queue.lock().running -= 1;
                    queue.changed.notify_all();
                }
            };
            // Without threads nothing is uploaded.
            Builder::new().name(format!("kiln-upload-{n}")).spawn(work).ok()
        };
        let threads = (0..THREADS).filter_map(start).collect();
        Uploads { queue, tier, threads }
    }

    /// Enqueues a job, unless the queue is full.
    pub(crate) fn add(&self, job: Job) {
        if !job.blobs.iter().all(|blob| self.tier.admits(*blob)) {
            return;
        }
        let mut state = self.queue.lock();
        if state.jobs.len() < MAX_QUEUED && self.tier.is_writable() && !self.threads.is_empty() {
            state.jobs.push_back(job);
            drop(state);
            self.queue.changed.notify_all();
        }
    }

    /// Waits until the queue is empty, uploads are disabled, or the time limit has passed.
    pub(crate) fn drain(&self, limit: Duration) {
        let end = Instant::now() + limit;
        let mut state = self.queue.lock();
        while !(state.jobs.is_empty() && state.running == 0) && self.tier.is_writable() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.tier.give_up_writing();
                break;
            }
            let step = left.min(Duration::from_millis(50));
            state = self.queue.changed.wait_timeout(state, step).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.jobs.clear();
    }
}

/// Threads with a request in flight end by themselves after about a second; they are not joined.
impl Drop for Uploads {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.ended = true;
        state.jobs.clear();
        drop(state);
        self.queue.changed.notify_all();
    }
}

fn next(queue: &Queue) -> Option<Job> {
    let mut state = queue.lock();
    loop {
        if state.ended {
            return None;
        }
        if let Some(job) = state.jobs.pop_front() {
            state.running += 1;
            return Some(job);
        }
        state = queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Returns whether the server has a record; with a signing key, only a signed record counts.
fn has_record(tier: &Tier, source: &dyn Source, key: Hash) -> Option<bool> {
    let name = Name::Record(key);
    if !source.signs() {
        return tier.write(name, |remote| remote.has(name));
    }
    let theirs = get_record(tier, name)?;
    Some(theirs.is_some_and(|theirs| source.is_signed(key, &theirs)))
}

/// Uploads a record and the blobs that it references; the record last, so that a reader of the record finds all blobs.
/// Objects that the server has are not uploaded, unless this run has found them damaged.
fn send(tier: &Tier, source: &dyn Source, job: &Job) -> Option<()> {
    let name = Name::Record(job.key);
    let record = if job.merges { merged(tier, source, job.key)? } else { with_blobs(tier, source, job)? };
    tier.write(name, |remote| remote.put(name, &record))?;
    sent(tier, name, record.len() as u64);
    Some(())
}

/// Returns the local record, merged with that of the server; `None` if no upload is needed.
fn merged(tier: &Tier, source: &dyn Source, key: Hash) -> Option<Vec<u8>> {
    let name = Name::Record(key);
    match get_record(tier, name)? {
        Some(theirs) => source.merge(key, &theirs),
        None => source.record(key),
    }
}

/// Downloads the record of the server for comparison. A damaged record counts as absent and is replaced.
fn get_record(tier: &Tier, name: Name) -> Option<Option<Vec<u8>>> {
    tier.write(name, |remote| match remote.get(name, LONGEST_RECORD, Duration::ZERO) {
        Err(Fault::Damaged(_)) => Ok(None),
        found => found,
    })
}

/// Uploads the blobs of a record; returns the record once all of them are on the server, `None` if an upload failed or the
/// server has everything.
fn with_blobs(tier: &Tier, source: &dyn Source, job: &Job) -> Option<Vec<u8>> {
    let name = Name::Record(job.key);
    let is_damaged = |blob: &Blob| tier.rejected.must_replace(Name::Blob(*blob));
    let (damaged, others): (Vec<Blob>, Vec<Blob>) = job.blobs.iter().copied().partition(is_damaged);
    let replaces = tier.rejected.must_replace(name) || !damaged.is_empty();
    if !replaces && has_record(tier, source, job.key)? {
        return None;
    }
    let mut wanted = tier.write(name, |remote| remote.missing(&others))?;
    wanted.extend(damaged);
    for batch in batches(&wanted) {
        match batch {
            [blob] if blob.len > BATCH_BYTES => {
                let file = source.file(*blob)?;
                tier.write(Name::Blob(*blob), |remote| remote.put_from(*blob, &file))?;
            }
            batch => {
                let read = |blob: &Blob| Some((*blob, source.blob(*blob)?));
                let blobs = batch.iter().map(read).collect::<Option<Vec<_>>>()?;
                tier.write(batch.first().map_or(name, |blob| Name::Blob(*blob)), |remote| {
                    remote.put_blobs(&blobs)
                })?;
            }
        }
        batch.iter().for_each(|blob| sent(tier, Name::Blob(*blob), blob.len));
    }
    source.record(job.key)
}

fn sent(tier: &Tier, name: Name, bytes: u64) {
    tier.bytes_up.fetch_add(bytes, Relaxed);
    tier.rejected.mark_uploaded(name);
}
