//! The circuit breaker for one direction of traffic with a server.
//!
//! A permanent failure (rejected, unreachable, protocol violation) opens it at once. Transient failures open it when several
//! follow each other or when they have cost most of a stall deadline. It stays open for the rest of the run: the cache is
//! an optimisation, and what it does not deliver is built.

use super::Fault;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of consecutive transient failures that opens the breaker.
const CONSECUTIVE_FAILURES: u32 = 3;

/// Stops lookups or uploads after failures.
pub(crate) struct CircuitBreaker {
    /// The time that failures may cost before the breaker opens.
    lost_limit: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lost: Duration,
    consecutive: u32,
    cause: Option<Fault>,
}

impl CircuitBreaker {
    /// Returns a closed breaker for requests with this stall deadline.
    pub(crate) fn new(stall: Duration) -> CircuitBreaker {
        CircuitBreaker { lost_limit: stall.mul_f32(0.7), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.lock().cause.is_some()
    }

    /// Returns the failure that opened the breaker.
    pub(crate) fn cause(&self) -> Option<Fault> {
        self.lock().cause.clone()
    }

    /// Opens the breaker, unless it is open for another cause already.
    pub(crate) fn open(&self, cause: Fault) {
        self.lock().cause.get_or_insert(cause);
    }

    pub(crate) fn record_success(&self) {
        self.lock().consecutive = 0;
    }

    pub(crate) fn record_failure(&self, fault: Fault, took: Duration) {
        let mut state = self.lock();
        state.lost += took;
        state.consecutive += 1;
        if fault.is_permanent() || state.lost >= self.lost_limit || state.consecutive >= CONSECUTIVE_FAILURES
        {
            state.cause.get_or_insert(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::STALL_DEADLINE;

    fn opens(faults: &[(Fault, u64)]) -> bool {
        let breaker = CircuitBreaker::new(STALL_DEADLINE);
        for (fault, ms) in faults {
            breaker.record_failure(fault.clone(), Duration::from_millis(*ms));
        }
        breaker.is_open()
    }

    #[test]
    fn opens_at_once_for_permanent_failures() {
        for fault in [
            Fault::Unreachable(String::new()),
            Fault::Refused(String::new()),
            Fault::Garbled(""),
            Fault::Status(403),
            Fault::Status(507),
        ] {
            assert!(opens(&[(fault, 0)]));
        }
    }

    #[test]
    fn opens_after_several_transient_failures_or_lost_time() {
        let broken = || Fault::Broken(String::new());
        assert!(!opens(&[(broken(), 1)]) && !opens(&[(Fault::Status(429), 1), (broken(), 1)]));
        assert!(opens(&[(broken(), 1), (broken(), 1), (Fault::Status(503), 1)]));
        assert!(opens(&[(Fault::Slow, 1000)]));
    }

    #[test]
    fn success_resets_the_count_of_failures() {
        let breaker = CircuitBreaker::new(STALL_DEADLINE);
        for _ in 0..10 {
            breaker.record_failure(Fault::Status(503), Duration::from_millis(1));
            breaker.record_success();
        }
        assert!(!breaker.is_open());
    }
}
