//! Results on their way to a server, behind the back of the cooks.
//!
//! A few threads send what is in the local store; the queue holds names, not bytes. An encoder never waits for them: when
//! the queue is full, or the server in trouble, what should have been sent is not. At the end of a run the queue is
//! drained, for a time.

use super::{Blob, LONGEST_TRAVELLER, Name, Tier, batches};
use crate::Hash;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How many things are sent at once.
const THREADS: usize = 4;

/// How many records may wait.
const LONGEST: usize = 1 << 16;

/// A record to send, after the blobs that it needs.
pub(crate) struct Job {
    pub(crate) key: Hash,
    pub(crate) blobs: Vec<Blob>,
    /// Whether what the server has under the key is merged with ours, and not left as it is.
    pub(crate) merges: bool,
    /// True if what the server has under the key is known to be wrong, and is replaced.
    pub(crate) replaces: bool,
}

/// Where jobs get their bytes.
pub(crate) trait Source: Send + Sync + 'static {
    /// The bytes of a record.
    fn record(&self, key: Hash) -> Option<Vec<u8>>;
    /// Bytes, checked.
    fn blob(&self, blob: Blob) -> Option<Vec<u8>>;
    /// Our record with what the server's one has more; `None` when the server's is as good.
    fn merge(&self, key: Hash, theirs: &[u8]) -> Option<Vec<u8>>;
    /// Returns whether records are used only with our signature.
    fn signs(&self) -> bool;
    /// Returns whether a record of the server has our signature.
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

/// The queue and its threads.
pub(crate) struct Uploads {
    queue: Arc<Queue>,
    tier: Arc<Tier>,
    threads: Vec<JoinHandle<()>>,
}

impl Uploads {
    /// Starts the threads.
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
            // A system that refuses a thread gets nothing sent.
            Builder::new().name(format!("kiln-upload-{n}")).spawn(work).ok()
        };
        let threads = (0..THREADS).filter_map(start).collect();
        Uploads { queue, tier, threads }
    }

    /// Takes a job, unless there are too many.
    pub(crate) fn add(&self, job: Job) {
        if job.blobs.iter().any(|blob| blob.len > LONGEST_TRAVELLER) {
            return;
        }
        let mut state = self.queue.lock();
        if state.jobs.len() < LONGEST && self.tier.is_writable() && !self.threads.is_empty() {
            state.jobs.push_back(job);
            drop(state);
            self.queue.changed.notify_all();
        }
    }

    /// Waits until everything is sent, or the server in trouble, or the time over.
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

/// Threads that are in the middle of something end on their own, in a second or so; nobody waits for them.
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

/// Returns whether the server has a record, with our signature if there is a key: one without is of no use to those who have it.
fn has_record(tier: &Tier, source: &dyn Source, key: Hash) -> Option<bool> {
    let name = Name::Record(key);
    if !source.signs() {
        return tier.write(|remote| remote.has(name));
    }
    let theirs = tier.write(|remote| remote.get(name, crate::store::LONGEST_RECORD, Duration::ZERO))?;
    Some(theirs.is_some_and(|theirs| source.is_signed(key, &theirs)))
}

/// Sends a record and what it needs; the record last, so that whoever finds it finds everything.
fn send(tier: &Tier, source: &dyn Source, job: &Job) -> Option<()> {
    let count = |bytes: usize| tier.bytes_up.fetch_add(bytes as u64, Relaxed);
    let name = Name::Record(job.key);
    let record = if job.merges {
        let theirs = tier.write(|remote| remote.get(name, crate::store::LONGEST_RECORD, Duration::ZERO))?;
        match theirs {
            Some(theirs) => source.merge(job.key, &theirs)?,
            None => source.record(job.key)?,
        }
    } else {
        if !job.replaces && has_record(tier, source, job.key)? {
            return Some(());
        }
        let missing = tier.write(|remote| remote.missing(&job.blobs))?;
        for batch in batches(&missing) {
            let read = |blob: &Blob| Some((*blob, source.blob(*blob)?));
            let blobs = batch.iter().map(read).collect::<Option<Vec<_>>>()?;
            tier.write(|remote| remote.put_blobs(&blobs))?;
            blobs.iter().for_each(|(_, bytes)| _ = count(bytes.len()));
        }
        source.record(job.key)?
    };
    tier.write(|remote| remote.put(name, &record))?;
    count(record.len());
    Some(())
}
