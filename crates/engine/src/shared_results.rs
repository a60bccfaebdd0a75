//! Work that several actions ask for and one does: the same image in ten models is encoded once.
//!
//! Such work is a pure function of what its key was made from, so it does not matter who did it, or in which run.
//! Results of this run stay in memory while there is room; those of earlier runs, and those that had to make room,
//! are read back from the output they were written to, and used only if that is still what was written.

use crate::remote::Blob;
use crate::{Diag, Hash, RelPath};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of results that are placed in memory.
const ROOM: usize = 256 << 20;

/// Names a piece of work: half of the hash of everything that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkKey(pub [u8; 16]);

impl WorkKey {
    /// The key of work that depends on these alone.
    pub fn of<'f>(fields: impl IntoIterator<Item = &'f [u8]>) -> WorkKey {
        let hash = Hash::of_fields(fields).0;
        WorkKey(std::array::from_fn(|n| hash[n]))
    }
}

/// The result of a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedResult {
    pub(crate) bytes: Vec<u8>,
    pub(crate) blob: Blob,
    pub(crate) warnings: Vec<Diag>,
}

impl SharedResult {
    /// The content of an artifact, and warnings for everyone who asks for it, without paths.
    pub fn new(bytes: Vec<u8>, warnings: Vec<Diag>) -> SharedResult {
        SharedResult { blob: Blob::of(&bytes), bytes, warnings }
    }
}

/// Where a result can be found again.
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
    /// Those whose bytes are in memory, oldest first.
    held: VecDeque<(WorkKey, usize)>,
    total: usize,
}

/// All work of a run, and what earlier runs left.
#[derive(Default)]
pub(crate) struct SharedResults {
    state: Mutex<State>,
    ended: Condvar,
}

thread_local! {
    /// How many pieces of work this thread is in the middle of, one below the other on its stack.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

impl SharedResults {
    /// Starts from what earlier runs left. Of outputs with one key any will do.
    pub(crate) fn new(left: impl Iterator<Item = (WorkKey, Placed)>) -> SharedResults {
        let done = |(key, placed)| (key, Work::Done { placed, bytes: None, warnings: vec![] });
        let state = State { results: left.map(done).collect(), ..State::default() };
        SharedResults { state: Mutex::new(state), ended: Condvar::new() }
    }

    /// The result for a key: one that is there, or that of `make`. It is going to be written to `path`.
    pub(crate) fn get(
        &self,
        key: WorkKey,
        path: &RelPath,
        read: impl Fn(&RelPath) -> Option<Vec<u8>>,
        make: impl FnOnce() -> Result<SharedResult, Diag>,
    ) -> Result<Arc<SharedResult>, Diag> {
        loop {
            let mut state = self.lock();
            match state.results.get(&key) {
                // Whoever is in the middle of a piece of work waits for nobody: the other one could be further
                // down this thread's own stack, or wait in turn. It does the work again; that is rare.
                Some(Work::Running) if DEPTH.get() > 0 => break,
                Some(Work::Running) => {
                    drop(state);
                    yield_or_park(&self.ended, || self.lock());
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
                    self.forget(key, &placed);
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

    /// Drops a result that was found damaged, unless somebody who found the same has replaced it since.
    fn forget(&self, key: WorkKey, damaged: &Placed) {
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

/// Lets a thread of a pool work for the pool while it waits; if there is nothing to do, it parks for a moment, or until
/// `signal` comes.
pub(crate) fn yield_or_park<'a, T: 'a>(signal: &Condvar, lock: impl FnOnce() -> MutexGuard<'a, T>) {
    const MOMENT: Duration = Duration::from_millis(2);
    if rayon::yield_now() != Some(rayon::Yield::Executed) {
        drop(signal.wait_timeout(lock(), MOMENT).unwrap_or_else(PoisonError::into_inner));
    }
}

/// A piece of work in progress. If it fails or panics, the next one who asks tries again.
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
        while state.total > ROOM {
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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
    fn many_ask_and_one_results() {
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
    fn a_failure_is_nobody_elses() {
        let results = SharedResults::default();
        let fail = || Err(Diag::new(Code::Unreadable, "bad"));
        assert!(results.get(key("k"), &path("a"), |_| None, fail).is_err());
        let panics = || results.get(key("k"), &path("a"), |_| None, || panic!("no"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(results.get(key("k"), &path("a"), |_| None, || made("x")).unwrap().bytes, b"x");
        assert_eq!(DEPTH.get(), 0);
    }

    #[test]
    fn who_results_does_not_wait_for_itself() {
        let results = SharedResults::default();
        let nested = || {
            let inner = results.get(key("k"), &path("b"), |_| None, || made("same"))?;
            assert_eq!(inner.bytes, b"same");
            made("same")
        };
        assert_eq!(results.get(key("k"), &path("a"), |_| None, nested).unwrap().bytes, b"same");
    }

    #[test]
    fn what_an_earlier_run_left_is_used_while_it_is_what_it_was() {
        let left = || {
            SharedResults::new([(key("k"), Placed { path: path("old"), hash: Hash::of(b"old") })].into_iter())
        };
        let never = || panic!("it is there");
        let got = left().get(key("k"), &path("new"), |_| Some(b"old".into()), never).unwrap();
        assert_eq!(got.bytes, b"old");
        for damaged in [None, Some(b"odd".to_vec())] {
            let got = left().get(key("k"), &path("new"), |_| damaged.clone(), || made("made")).unwrap();
            assert_eq!(got.bytes, b"made");
        }
    }

    #[test]
    fn many_find_it_damaged_and_one_mends_it() {
        let left = [(key("k"), Placed { path: path("old"), hash: Hash::of(b"old") })];
        let results = SharedResults::new(left.into_iter());
        let count = AtomicUsize::new(0);
        // All have read the damaged file before any of them goes on.
        let all = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for n in 0..4 {
                let (results, count, all) = (&results, &count, &all);
                scope.spawn(move || {
                    let damaged = |_: &RelPath| {
                        all.wait();
                        Some(b"odd".to_vec())
                    };
                    let make = || {
                        count.fetch_add(1, Ordering::Relaxed);
                        made("mended")
                    };
                    assert_eq!(
                        results.get(key("k"), &path(&n.to_string()), damaged, make).unwrap().bytes,
                        b"mended"
                    );
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
    }

    #[test]
    fn memory_is_bounded_and_what_left_it_is_read_back() {
        let results = SharedResults::default();
        let large = ROOM / 4 + 1;
        for n in 0..6 {
            let made = || Ok(SharedResult::new(vec![n; large], vec![Diag::new(Code::LinkIgnored, "w")]));
            results.get(key(&n.to_string()), &path(&n.to_string()), |_| None, made).unwrap();
        }
        assert!(results.lock().total <= ROOM);
        let back = |at: &RelPath| Some(vec![at.as_str().parse().unwrap(); large]);
        let got = results.get(key("0"), &path("x"), back, || panic!("it is there")).unwrap();
        assert_eq!((got.bytes[0], got.warnings.len()), (0, 1));
    }
}
