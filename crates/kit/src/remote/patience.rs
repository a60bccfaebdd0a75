//! How long a server is waited for.
//!
//! A request starts with a second of credit. Waiting uses it up; bytes that come or go earn it back, never beyond that
//! second. What a byte earns follows from how long the whole may take, so that a transfer that keeps its pace goes on
//! for as long as it takes, and one that stands still or trickles ends after a second, wherever it is.

use std::time::{Duration, Instant};

/// What a request has at its start, and at the most.
const CREDIT: Duration = Duration::from_secs(1);

/// What a byte earns at least, in nanoseconds: a megabyte a second is fast enough for anything.
const EARNED_NS: u64 = 1_000;

/// No work is worth a longer wait.
const LONGEST: Duration = Duration::from_secs(60);

/// The credit of one request.
#[derive(Debug)]
pub struct Patience {
    credit: Duration,
    since: Instant,
    byte_ns: u64,
}

impl Patience {
    /// For a transfer of `len` bytes that saves `worth`.
    pub fn new(len: u64, worth: Duration) -> Patience {
        let worth_ns = worth.min(LONGEST).as_nanos() as u64;
        let byte_ns = (worth_ns / len.max(1)).max(EARNED_NS);
        Patience { credit: CREDIT, since: Instant::now(), byte_ns }
    }

    /// For a transfer of `len` bytes that is not seen on its way: it has everything at once.
    pub fn in_one(len: u64) -> Patience {
        let whole = CREDIT + Duration::from_nanos(len.saturating_mul(EARNED_NS)).min(LONGEST);
        Patience { credit: whole, since: Instant::now(), byte_ns: 0 }
    }

    /// Until when the next byte has to come or go; `None` when it is too late already.
    pub fn until(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.credit = self.credit.saturating_sub(now - self.since);
        self.since = now;
        (!self.credit.is_zero()).then(|| now + self.credit)
    }

    /// So many bytes came or went.
    pub fn earn(&mut self, bytes: usize) {
        let earned = Duration::from_nanos((bytes as u64).saturating_mul(self.byte_ns));
        self.credit = self.credit.saturating_add(earned).min(CREDIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets time pass without waiting for it.
    fn wait(patience: &mut Patience, time: Duration) -> bool {
        patience.since -= time;
        patience.until().is_some()
    }

    #[test]
    fn a_trickle_ends_after_a_second_and_a_steady_pace_does_not() {
        let half = Duration::from_millis(500);
        let mut slow = Patience::new(1 << 20, Duration::ZERO);
        assert!(wait(&mut slow, half));
        slow.earn(1);
        assert!(!wait(&mut slow, half + Duration::from_millis(1)));
        // Ten megabytes that save forty seconds may come at a quarter of a megabyte each second.
        let mut steady = Patience::new(10_000_000, Duration::from_secs(40));
        for _ in 0..80 {
            assert!(wait(&mut steady, half));
            steady.earn(125_000);
        }
        // However fast the start was, standing still is not waited for.
        steady.earn(1 << 30);
        assert!(!wait(&mut steady, 2 * half));
        let mut unseen = Patience::in_one(3_000_000);
        assert!(wait(&mut unseen, 7 * half) && !wait(&mut unseen, half));
    }
}
