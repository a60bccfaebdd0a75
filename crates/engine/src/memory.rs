//! Admission by memory: actions begin, and take more than they were estimated to, as the limit leaves room.

use crate::shared_results::yield_or_park;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The memory that the actions of a run share, by their own estimates.
pub(crate) struct Memory {
    limit: u64,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes of actions in flight and of reservations.
    used: u64,
    actions: usize,
    reservations: usize,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Memory {
        Memory { limit, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Counts an action of this weight as in flight if there is room for it. The only action in flight has room always.
    pub(crate) fn admit(&self, weight: u64) -> bool {
        let mut state = self.lock();
        let has_room = state.actions == 0 || state.used.saturating_add(weight) <= self.limit;
        if has_room {
            state.used = state.used.saturating_add(weight);
            state.actions += 1;
        }
        has_room
    }

    /// Ends what `admit` began.
    pub(crate) fn release(&self, weight: u64) {
        let mut state = self.lock();
        state.used = state.used.saturating_sub(weight);
        state.actions -= 1;
        drop(state);
        self.freed.notify_all();
    }

    /// Lets a thread of the pool help others until memory may have been freed.
    pub(crate) fn wait(&self) {
        yield_or_park(&self.freed, || self.lock());
    }

    /// Waits for room for more memory than an action was estimated to take. One reservation is always granted, so that
    /// actions which wait for each other's memory cannot exist.
    pub(crate) fn reserve(&self, bytes: u64) -> Reservation<'_> {
        loop {
            let mut state = self.lock();
            if state.reservations == 0 || state.used.saturating_add(bytes) <= self.limit {
                state.used = state.used.saturating_add(bytes);
                state.reservations += 1;
                return Reservation { memory: Some(self), bytes };
            }
            drop(state);
            self.wait();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory that is counted until this is dropped.
#[must_use]
pub struct Reservation<'a> {
    memory: Option<&'a Memory>,
    bytes: u64,
}

impl Reservation<'_> {
    /// A reservation of nothing.
    pub(crate) fn nothing() -> Self {
        Reservation { memory: None, bytes: 0 }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let Some(memory) = self.memory else { return };
        let mut state = memory.lock();
        state.used = state.used.saturating_sub(self.bytes);
        state.reservations -= 1;
        drop(state);
        memory.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn actions_begin_as_memory_admits() {
        let memory = Memory::new(100);
        assert!(memory.admit(500), "alone it has room");
        assert!(!memory.admit(1));
        memory.release(500);
        assert!(memory.admit(60) && memory.admit(40));
        assert!(!memory.admit(1));
        memory.release(40);
        assert!(memory.admit(40));
    }

    #[test]
    fn large_reservations_are_granted_one_at_a_time() {
        let memory = Memory::new(100);
        assert!((0..4).all(|_| memory.admit(10)));
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let held = memory.reserve(90);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    now.fetch_sub(1, Ordering::SeqCst);
                    drop(held);
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        let both = (memory.reserve(30), memory.reserve(30));
        assert!(!memory.admit(1));
        drop(both);
        assert!(memory.admit(1));
    }
}
