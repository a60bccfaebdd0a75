//! Prefetching of cache entries from a server, ahead of the workers.
//!
//! A lookup is a few round trips without computation, so a few threads look up the next sources while the workers build. The
//! results are in the local cache when a worker reaches the source. Each source is looked up once: by a prefetch thread, or by
//! the worker that reached it first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The sources of a run in the order in which workers take them.
pub(super) struct Prefetch {
    order: Vec<usize>,
    state: Mutex<State>,
    finished: Condvar,
}

#[derive(Default)]
struct State {
    next: usize,
    stages: HashMap<usize, Stage>,
    cancelled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    InFlight,
    Finished,
}

impl Prefetch {
    pub(super) fn new(order: Vec<usize>) -> Prefetch {
        Prefetch { order, state: Mutex::default(), finished: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up sources until none is left or the run is cancelled: the body of a prefetch thread.
    pub(super) fn work(&self, is_cancelled: impl Fn() -> bool, lookup: impl Fn(usize)) {
        loop {
            if is_cancelled() {
                return self.cancel();
            }
            let Some(index) = self.claim() else { return };
            // Workers wait for the lookup, so it is marked as finished even if it panics.
            let _finish = Finish(self, index);
            lookup(index);
        }
    }

    fn claim(&self) -> Option<usize> {
        let mut state = self.lock();
        while !state.cancelled {
            let index = *self.order.get(state.next)?;
            state.next += 1;
            if let Entry::Vacant(stage) = state.stages.entry(index) {
                stage.insert(Stage::InFlight);
                return Some(index);
            }
        }
        None
    }

    /// Called by a worker before it looks up a source: waits for a lookup in flight, or claims the source.
    pub(super) fn wait_for(&self, index: usize) {
        let mut state = self.lock();
        loop {
            match state.stages.get(&index) {
                Some(Stage::InFlight) if !state.cancelled => {
                    state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Some(_) => return,
                None => {
                    state.stages.insert(index, Stage::Finished);
                    return;
                }
            }
        }
    }

    /// Stops the threads after their current lookup.
    pub(super) fn cancel(&self) {
        self.lock().cancelled = true;
        self.finished.notify_all();
    }
}

/// Marks a lookup as finished when dropped, also by a panic.
struct Finish<'a>(&'a Prefetch, usize);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.lock().stages.insert(self.1, Stage::Finished);
        self.0.finished.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_up_each_source_once() {
        let prefetch = Prefetch::new((0..200).collect());
        let looked_up = Mutex::new(vec![0u32; 200]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    prefetch.work(|| false, |index| looked_up.lock().unwrap()[index] += 1);
                });
            }
            for _ in 0..2 {
                scope.spawn(|| (0..200).for_each(|index| prefetch.wait_for(index)));
            }
        });
        assert!(looked_up.lock().unwrap().iter().all(|count| *count <= 1));
    }

    #[test]
    fn cancellation_releases_waiting_workers() {
        let prefetch = Prefetch::new(vec![0, 1]);
        prefetch.work(|| true, |_| unreachable!());
        (0..2).for_each(|index| prefetch.wait_for(index));
        assert_eq!(prefetch.claim(), None);
    }
}
