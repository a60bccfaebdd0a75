//! The signal that wakes or stops a watch from any thread.
//!
//! A signal is level-triggered and does not count: any number of notifications since the last wait are one wakeup, so
//! that a burst of file events costs no memory and a lost event among them costs nothing.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A handle that wakes or stops a watch from any thread; clones share one signal.
#[derive(Clone, Debug, Default)]
pub struct WakeSignal(Arc<(Mutex<Pending>, Condvar)>);

#[derive(Debug, Default)]
struct Pending {
    notified: bool,
    stopped: bool,
}

/// The reason why a wait on a [`WakeSignal`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wakeup {
    /// A source or the configuration may have changed.
    Notified,
    /// The timeout elapsed without a notification.
    Timeout,
    /// The watch was asked to stop. Every later wait returns this value as well.
    Stop,
}

impl WakeSignal {
    /// Wakes the watch: something may have changed.
    pub fn notify(&self) {
        self.lock().notified = true;
        self.0.1.notify_all();
    }

    /// Asks the watch to stop. Jobs in flight are finished; no other job is started.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.0.1.notify_all();
    }

    /// Returns whether [`stop`](WakeSignal::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Waits for a notification, for `timeout` at most.
    pub fn wait(&self, timeout: Duration) -> Wakeup {
        let is_idle = |pending: &mut Pending| !pending.notified && !pending.stopped;
        let waited = self.0.1.wait_timeout_while(self.lock(), timeout, is_idle);
        let (mut pending, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match *pending {
            Pending { stopped: true, .. } => Wakeup::Stop,
            Pending { notified: true, .. } => {
                pending.notified = false;
                Wakeup::Notified
            }
            _ => Wakeup::Timeout,
        }
    }

    /// Debounces after a notification: waits until none came for `quiet_period`, but at most `max_delay` in all.
    pub fn debounce(&self, quiet_period: Duration, max_delay: Duration) -> Wakeup {
        let start = Instant::now();
        loop {
            let left = max_delay.saturating_sub(start.elapsed());
            match self.wait(quiet_period.min(left)) {
                Wakeup::Notified if !left.is_zero() => {}
                Wakeup::Stop => return Wakeup::Stop,
                _ => return Wakeup::Notified,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn coalesces_notifications() {
        let wake = WakeSignal::default();
        assert_eq!(wake.wait(SHORT), Wakeup::Timeout);
        (0..20_000).for_each(|_| wake.notify());
        assert_eq!(wake.wait(LONG), Wakeup::Notified);
        assert_eq!(wake.wait(SHORT), Wakeup::Timeout);
    }

    #[test]
    fn notification_from_another_thread_ends_a_wait() {
        let wake = WakeSignal::default();
        let sender = wake.clone();
        let thread = std::thread::spawn(move || sender.notify());
        assert_eq!(wake.wait(LONG), Wakeup::Notified);
        thread.join().unwrap();
    }

    #[test]
    fn stop_takes_precedence_and_persists() {
        let wake = WakeSignal::default();
        wake.notify();
        assert!(!wake.is_stopped());
        wake.stop();
        assert!(wake.is_stopped());
        assert_eq!(wake.wait(LONG), Wakeup::Stop);
        assert_eq!(wake.debounce(LONG, LONG), Wakeup::Stop);
    }

    #[test]
    fn endless_notifications_delay_a_build_by_max_delay_at_most() {
        let wake = WakeSignal::default();
        let sender = wake.clone();
        let (done, end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            while end.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                sender.notify();
            }
        });
        assert_eq!(wake.debounce(LONG, Duration::from_millis(20)), Wakeup::Notified);
        drop(done);
        thread.join().unwrap();
    }
}
