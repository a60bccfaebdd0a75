//! Shared results (single-flight): work that several actions need is done once. An image in ten models is encoded once.
//!
//! Such work is a pure function of the fields of its key, so a result of any action and any run is valid. Results of this run
//! stay in memory up to a limit; evicted results and those of earlier runs are read back from their output, and used only if
//! its hash is unchanged.

use crate::remote::Blob;
use crate::{Diag, Hash, RelPath};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The memory limit for results, in bytes.
const MEMORY_LIMIT: usize = 256 << 20;

/// The key of shared work: the first half of the hash of everything that the work depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkKey(pub [u8; 16]);

impl WorkKey {
    /// Returns the key of work that depends on these fields alone.
    pub fn of<'f>(fields: impl IntoIterator<Item = &'f [u8]>) -> WorkKey {
        let hash = Hash::of_fields(fields).0;
        WorkKey(std::array::from_fn(|n| hash[n]))
    }
}

/// The result of shared work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedResult {
    pub(crate) bytes: Vec<u8>,
    pub(crate) blob: Blob,
    pub(crate) warnings: Vec<Diag>,
}

impl SharedResult {
    /// Makes a result from the content of an artifact, and warnings without paths, which every user of the result repeats.
    pub fn new(bytes: Vec<u8>, warnings: Vec<Diag>) -> SharedResult {
        SharedResult { blob: Blob::of(&bytes), bytes, warnings }
    }
}

/// A published artifact with the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) path: RelPath,
    pub(crate) hash: Hash,
}

enum Work {
    Running,
    Done { placed: Placed, bytes: Option<Arc<SharedResult>>, warnings: Vec<Diag> },
}

#[derive(Default)]
struct State {
    results: HashMap<WorkKey, Work>,
    /// The results of earlier runs that no action has asked for yet, sorted by key: a compact list, because there may be one
    /// for each source.
    earlier: Vec<(WorkKey, Option<Placed>)>,
    /// The results in memory, oldest first.
    held: VecDeque<(WorkKey, usize)>,
    total: usize,
}

impl State {
    /// Moves the result of an earlier run to the results, if there is one and nothing asked for it before.
    fn take_earlier(&mut self, key: WorkKey) {
        let Ok(at) = self.earlier.binary_search_by_key(&key, |(key, _)| *key) else { return };
        if let Some(placed) = self.earlier[at].1.take() {
            self.results.entry(key).or_insert(Work::Done { placed, bytes: None, warnings: vec![] });
        }
    }
}

/// The shared results of a run and of earlier runs.
#[derive(Default)]
pub(crate) struct SharedResults {
    state: Mutex<State>,
    ended: WakeSignal,
}

thread_local! {
    /// The number of shared computations in progress on the stack of this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

impl SharedResults {
    /// Starts with the results of earlier runs. Outputs with equal keys are interchangeable.
    pub(crate) fn new(earlier: impl Iterator<Item = (WorkKey, Placed)>) -> SharedResults {
        let mut earlier: Vec<_> = earlier.map(|(key, placed)| (key, Some(placed))).collect();
        earlier.shrink_to_fit();
        earlier.sort_unstable_by_key(|(key, _)| *key);
        earlier.dedup_by_key(|(key, _)| *key);
        let state = State { earlier, ..State::default() };
        SharedResults { state: Mutex::new(state), ended: WakeSignal::default() }
    }

    /// Returns the result of a key: a known one, or that of `make`, which is going to be published at `path`.
    ///
    /// # Errors
    /// The error of `make`.
    pub(crate) fn get(
        &self,
        key: WorkKey,
        path: &RelPath,
        read: impl Fn(&RelPath) -> Option<Vec<u8>>,
        make: impl FnOnce() -> Result<SharedResult, Diag>,
    ) -> Result<Arc<SharedResult>, Diag> {
        loop {
            let mut state = self.lock();
            state.take_earlier(key);
            match state.results.get(&key) {
                // A thread with a computation in progress must not wait: the other computation could be on its own
                // stack, or wait for this one. It repeats the work, which is rare.
                Some(Work::Running) if DEPTH.get() > 0 => break,
                Some(Work::Running) => {
                    drop(state);
                    self.ended.yield_or_park(|| self.lock());
                }
                Some(Work::Done { bytes: Some(made), .. }) => return Ok(made.clone()),
                Some(Work::Done { placed, warnings, .. }) => {
                    let (placed, warnings) = (placed.clone(), warnings.clone());
                    drop(state);
                    let bytes = read(&placed.path).unwrap_or_default();
                    let blob = Blob::of(&bytes);
                    if blob.hash == placed.hash {
                        return Ok(Arc::new(SharedResult { blob, bytes, warnings }));
                    }
                    self.remove_damaged(key, &placed);
                }
                None => {
                    state.results.insert(key, Work::Running);
                    break;
                }
            }
        }
        let running = Running { results: self, key };
        DEPTH.set(DEPTH.get() + 1);
        let made = make();
        let made = Arc::new(made?);
        running.done(path, &made);
        Ok(made)
    }

    /// Removes a damaged result, unless another thread has replaced it since.
    fn remove_damaged(&self, key: WorkKey, damaged: &Placed) {
        let mut state = self.lock();
        if matches!(state.results.get(&key), Some(Work::Done { placed, bytes: None, .. }) if placed == damaged)
        {
            state.results.remove(&key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable that wakes nobody at no cost: notifying a [`Condvar`] is a system call even if no thread waits.
#[derive(Default)]
pub(crate) struct WakeSignal {
    condvar: Condvar,
    parked: AtomicUsize,
}

impl WakeSignal {
    /// Wakes all parked threads. The caller has released the lock under which they park.
    pub(crate) fn notify_all(&self) {
        if self.parked.load(Relaxed) > 0 {
            self.condvar.notify_all();
        }
    }

    /// Lets a waiting pool thread execute other work of the pool; if there is none, parks it for 2 ms or until a
    /// notification.
    pub(crate) fn yield_or_park<'a, T: 'a>(&self, lock: impl FnOnce() -> MutexGuard<'a, T>) {
        const PARK_TIME: Duration = Duration::from_millis(2);
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            let guard = lock();
            self.parked.fetch_add(1, Relaxed);
            drop(self.condvar.wait_timeout(guard, PARK_TIME).unwrap_or_else(PoisonError::into_inner));
            self.parked.fetch_sub(1, Relaxed);
        }
    }
}

/// A computation in progress. If it fails or panics, the next caller tries again.
struct Running<'a> {
    results: &'a SharedResults,
    key: WorkKey,
}

impl Running<'_> {
    fn done(self, path: &RelPath, made: &Arc<SharedResult>) {
        let placed = Placed { path: path.clone(), hash: made.blob.hash };
        let work = Work::Done { placed, bytes: Some(made.clone()), warnings: made.warnings.clone() };
        let mut state = self.results.lock();
        state.results.insert(self.key, work);
        state.held.push_back((self.key, made.bytes.len()));
        state.total += made.bytes.len();
        while state.total > MEMORY_LIMIT {
            let Some((oldest, len)) = state.held.pop_front() else { break };
            state.total -= len;
            if let Some(Work::Done { bytes, .. }) = state.results.get_mut(&oldest) {
                *bytes = None;
            }
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        let mut state = self.results.lock();
        if matches!(state.results.get(&self.key), Some(Work::Running)) {
            state.results.remove(&self.key);
        }
        drop(state);
        self.results.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use std::sync::atomic::Ordering;

    fn key(text: &str) -> WorkKey {
        WorkKey::of([text.as_bytes()])
    }

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    fn made(text: &str) -> Result<SharedResult, Diag> {
        Ok(SharedResult::new(text.into(), vec![]))
    }

    #[test]
    fn concurrent_requests_compute_once() {
        let results = SharedResults::default();
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (results, count) = (&results, &count);
                scope.spawn(move || {
                    let got = results.get(
                        key("k"),
                        &path(&format!("{n}")),
                        |_| None,
                        || {
                            count.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(20));
                            made("result")
                        },
                    );
                    assert_eq!(got.unwrap().bytes, b"result");
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
    }

    #[test]
    fn failures_are_not_shared() {
        let results = SharedResults::default();
        let fail = || Err(Diag::new(Code::Unreadable, "bad"));
        assert!(results.get(key("k"), &path("a"), |_| None, fail).is_err());
        let panics = || results.get(key("k"), &path("a"), |_| None, || panic!("no"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(results.get(key("k"), &path("a"), |_| None, || made("x")).unwrap().bytes, b"x");
        assert_eq!(DEPTH.get(), 0);
    }

    #[test]
    fn nested_request_does_not_deadlock() {
        let results = SharedResults::default();
        let nested = || {
            let inner = results.get(key("k"), &path("b"), |_| None, || made("same"))?;
            assert_eq!(inner.bytes, b"same");
            made("same")
        };
        assert_eq!(results.get(key("k"), &path("a"), |_| None, nested).unwrap().bytes, b"same");
    }

    #[test]
    fn uses_an_earlier_result_if_its_hash_is_unchanged() {
        let earlier = || {
            SharedResults::new([(key("k"), Placed { path: path("old"), hash: Hash::of(b"old") })].into_iter())
        };
        let never = || panic!("the result is known");
        let got = earlier().get(key("k"), &path("new"), |_| Some(b"old".into()), never).unwrap();
        assert_eq!(got.bytes, b"old");
        for damaged in [None, Some(b"bad".to_vec())] {
            let got = earlier().get(key("k"), &path("new"), |_| damaged.clone(), || made("made")).unwrap();
            assert_eq!(got.bytes, b"made");
        }
    }

    #[test]
    fn damaged_result_is_recomputed_once() {
        let earlier = [(key("k"), Placed { path: path("old"), hash: Hash::of(b"old") })];
        let results = SharedResults::new(earlier.into_iter());
        let count = AtomicUsize::new(0);
        // All threads have read the damaged file before any of them continues.
        let all = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for n in 0..4 {
                let (results, count, all) = (&results, &count, &all);
                scope.spawn(move || {
                    let damaged = |_: &RelPath| {
                        all.wait();
                        Some(b"bad".to_vec())
                    };
                    let make = || {
                        count.fetch_add(1, Ordering::Relaxed);
                        made("recomputed")
                    };
                    assert_eq!(
                        results.get(key("k"), &path(&n.to_string()), damaged, make).unwrap().bytes,
                        b"recomputed"
                    );
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
    }

    #[test]
    fn evicted_results_are_read_back() {
        let results = SharedResults::default();
        let large = MEMORY_LIMIT / 4 + 1;
        for n in 0..6 {
            let made = || Ok(SharedResult::new(vec![n; large], vec![Diag::new(Code::SymlinkIgnored, "w")]));
            results.get(key(&n.to_string()), &path(&n.to_string()), |_| None, made).unwrap();
        }
        assert!(results.lock().total <= MEMORY_LIMIT);
        let back = |at: &RelPath| Some(vec![at.as_str().parse().unwrap(); large]);
        let got = results.get(key("0"), &path("x"), back, || panic!("the result is known")).unwrap();
        assert_eq!((got.bytes[0], got.warnings.len()), (0, 1));
    }
}
