//! Admission control by memory: actions start, and reserve more than their estimate, as far as the memory limit permits.

use crate::shared_results::WakeSignal;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The memory that the actions of a run share, by estimate.
pub(crate) struct Memory {
    limit: u64,
    state: Mutex<State>,
    freed: WakeSignal,
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
        Memory { limit, state: Mutex::default(), freed: WakeSignal::default() }
    }

    /// Admits an action if its estimate fits the limit beside the bytes that the sink holds in memory. A single action is
    /// always admitted.
    pub(crate) fn admit(&self, weight: u64, held: u64) -> bool {
        let mut state = self.lock();
        let used = state.used.saturating_add(held);
        let has_room = state.actions == 0 || used.saturating_add(weight) <= self.limit;
        if has_room {
            state.used = state.used.saturating_add(weight);
            state.actions += 1;
        }
        has_room
    }

    /// Releases the memory of an admitted action.
    pub(crate) fn release(&self, weight: u64) {
        let mut state = self.lock();
        state.used = state.used.saturating_sub(weight);
        state.actions -= 1;
        drop(state);
        self.freed.notify_all();
    }

    /// Lets a pool thread execute other work, or parks it until memory may have been freed.
    pub(crate) fn wait(&self) {
        self.freed.yield_or_park(|| self.lock());
    }

    /// Blocks until there is room for memory beyond the estimate of an action. One reservation is always granted, which rules
    /// out a deadlock of actions that wait for each other.
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

/// Reserved memory, released when dropped.
#[must_use]
pub struct Reservation<'a> {
    memory: Option<&'a Memory>,
    bytes: u64,
}

impl Reservation<'_> {
    /// Makes an empty reservation.
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
    fn admits_actions_that_fit_the_limit() {
        let memory = Memory::new(100);
        assert!(memory.admit(500, 0), "a single action is always admitted");
        assert!(!memory.admit(1, 0));
        memory.release(500);
        assert!(memory.admit(60, 0) && memory.admit(40, 0));
        assert!(!memory.admit(1, 0));
        memory.release(40);
        assert!(memory.admit(40, 0));
    }

    #[test]
    fn admission_counts_the_bytes_that_the_sink_holds() {
        let memory = Memory::new(100);
        assert!(memory.admit(10, 500), "a single action is always admitted");
        assert!(!memory.admit(10, 81) && memory.admit(10, 80));
    }

    #[test]
    fn grants_large_reservations_one_at_a_time() {
        let memory = Memory::new(100);
        assert!((0..4).all(|_| memory.admit(10, 0)));
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
        assert!(!memory.admit(1, 0));
        drop(both);
        assert!(memory.admit(1, 0));
    }
}
