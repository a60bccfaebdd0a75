//! Lookups on a cache server ahead of the workers.
//!
//! A lookup is a handful of round trips and no work, so a few threads do those of the next sources while the workers
//! build. What they find lies in the local cache when a worker gets to the source. Each source is looked up once: by a
//! prefetch thread, or by the worker that got there first.

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

    /// Looks sources up until none is left or the run ends: the body of a prefetch thread.
    pub(super) fn work(&self, is_over: impl Fn() -> bool, lookup: impl Fn(usize)) {
        loop {
            if is_over() {
                return self.cancel();
            }
            let Some(index) = self.claim() else { return };
            // Workers wait for it, so it finishes whatever happens.
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

    /// Called by a worker before it looks a source up: waits if a prefetch thread is at it, and keeps them off otherwise.
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

    /// Ends the threads after their current lookup.
    pub(super) fn cancel(&self) {
        self.lock().cancelled = true;
        self.finished.notify_all();
    }
}

/// Marks a lookup as finished, also when it panics.
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
    fn each_source_is_looked_up_once_and_workers_wait_for_it() {
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
    fn a_cancelled_run_keeps_nobody_waiting() {
        let prefetch = Prefetch::new(vec![0, 1]);
        prefetch.work(|| true, |_| unreachable!());
        (0..2).for_each(|index| prefetch.wait_for(index));
        assert_eq!(prefetch.claim(), None);
    }
}
