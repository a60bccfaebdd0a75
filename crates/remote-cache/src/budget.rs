//! The deadline budget of one request.
//!
//! A request starts with the stall deadline (one second unless configured) as its credit. Waiting uses the credit up;
//! bytes that are received or sent earn it back, never beyond the stall deadline. The credit for one byte follows from
//! how long the whole transfer may take, so a transfer that keeps its rate continues for as long as it needs, and one
//! that stalls or trickles ends after the stall deadline, in whatever phase it is.

use std::time::{Duration, Instant};

/// The least credit for a byte, in nanoseconds: one megabyte per second is fast enough for any transfer.
const MIN_CREDIT_NS_PER_BYTE: u64 = 1_000;

/// The longest transfer that any result is worth.
const MAX_TRANSFER: Duration = Duration::from_secs(60);

/// The deadline budget of one request.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineBudget {
    stall: Duration,
    credit: Duration,
    since: Instant,
    byte_ns: u64,
}

impl DeadlineBudget {
    /// Returns the budget for a transfer of `len` bytes that saves `worth` of work.
    pub fn new(stall: Duration, len: u64, worth: Duration) -> DeadlineBudget {
        let worth_ns = worth.min(MAX_TRANSFER).as_nanos() as u64;
        let byte_ns = (worth_ns / len.max(1)).max(MIN_CREDIT_NS_PER_BYTE);
        DeadlineBudget { stall, credit: stall, since: Instant::now(), byte_ns }
    }

    /// Returns the budget for a transfer of `len` bytes whose progress cannot be observed: it has its credit at once.
    pub fn for_message(stall: Duration, len: u64) -> DeadlineBudget {
        let transfer = Duration::from_nanos(len.saturating_mul(MIN_CREDIT_NS_PER_BYTE)).min(MAX_TRANSFER);
        DeadlineBudget { stall, credit: stall + transfer, since: Instant::now(), byte_ns: 0 }
    }

    /// Returns the deadline for the next byte; `None` when the budget is exhausted.
    pub fn deadline(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.credit = self.credit.saturating_sub(now.saturating_duration_since(self.since));
        self.since = now;
        (!self.credit.is_zero()).then(|| now + self.credit)
    }

    /// Credits bytes that were received or sent.
    pub fn credit(&mut self, bytes: usize) {
        let earned = Duration::from_nanos((bytes as u64).saturating_mul(self.byte_ns));
        self.credit = self.credit.saturating_add(earned).min(self.stall.max(self.credit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::remote::STALL_DEADLINE;

    /// Advances the clock of a budget without sleeping.
    fn wait(budget: &mut DeadlineBudget, time: Duration) -> bool {
        budget.since -= time;
        budget.deadline().is_some()
    }

    #[test]
    fn ends_a_trickle_and_continues_a_steady_transfer() {
        let half = Duration::from_millis(500);
        let mut slow = DeadlineBudget::new(STALL_DEADLINE, 1 << 20, Duration::ZERO);
        assert!(wait(&mut slow, half));
        slow.credit(1);
        assert!(!wait(&mut slow, half + Duration::from_millis(1)));
        // Ten megabytes that save forty seconds may arrive at a quarter of a megabyte per second.
        let mut steady = DeadlineBudget::new(STALL_DEADLINE, 10_000_000, Duration::from_secs(40));
        for _ in 0..80 {
            assert!(wait(&mut steady, half));
            steady.credit(125_000);
        }
        // A fast start does not admit a longer stall.
        steady.credit(1 << 30);
        assert!(!wait(&mut steady, 2 * half));
        let mut message = DeadlineBudget::for_message(STALL_DEADLINE, 3_000_000);
        assert!(wait(&mut message, 7 * half) && !wait(&mut message, half));
    }

    #[test]
    fn scales_with_the_stall_deadline() {
        let mut budget = DeadlineBudget::new(Duration::from_secs(5), 1, Duration::ZERO);
        assert!(wait(&mut budget, Duration::from_secs(4)));
        assert!(!wait(&mut budget, Duration::from_secs(2)));
    }
}
