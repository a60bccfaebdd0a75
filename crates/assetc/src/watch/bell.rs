//! What wakes a watch: a hint that something may have changed, or the wish that it ends.
//!
//! A bell does not count. However often it rang since it was last heard, there is one hint, so that a burst of events
//! costs no memory and a lost one among them nothing at all.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wakes a watch, from any thread; clones ring the same bell.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<(Mutex<Rung>, Condvar)>);

#[derive(Debug, Default)]
struct Rung {
    hint: bool,
    stop: bool,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Something may have changed.
    Hint,
    /// Nothing was heard.
    Silence,
    /// The watch is to end. This stays so.
    Stop,
}

impl Bell {
    /// Something may have changed.
    pub fn hint(&self) {
        self.lock().hint = true;
        self.0.1.notify_all();
    }

    /// The watch is to end.
    pub fn stop(&self) {
        self.lock().stop = true;
        self.0.1.notify_all();
    }

    /// Whether the watch is to end.
    pub fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    /// Waits for a hint, at most this long.
    pub fn wait(&self, at_most: Duration) -> Woken {
        let nothing = |rung: &mut Rung| !rung.hint && !rung.stop;
        let waited = self.0.1.wait_timeout_while(self.lock(), at_most, nothing);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match *rung {
            Rung { stop: true, .. } => Woken::Stop,
            Rung { hint: true, .. } => {
                rung.hint = false;
                Woken::Hint
            }
            _ => Woken::Silence,
        }
    }

    /// After a hint: waits until none came for `quiet`, but at most `most` in all.
    pub fn settle(&self, quiet: Duration, most: Duration) -> Woken {
        let start = Instant::now();
        loop {
            let left = most.saturating_sub(start.elapsed());
            match self.wait(quiet.min(left)) {
                Woken::Hint if !left.is_zero() => {}
                Woken::Stop => return Woken::Stop,
                _ => return Woken::Hint,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rung> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn many_hints_are_one() {
        let bell = Bell::default();
        assert_eq!(bell.wait(SHORT), Woken::Silence);
        (0..20_000).for_each(|_| bell.hint());
        assert_eq!(bell.wait(LONG), Woken::Hint);
        assert_eq!(bell.wait(SHORT), Woken::Silence);
    }

    #[test]
    fn a_wait_ends_with_a_hint_from_another_thread() {
        let bell = Bell::default();
        let ringer = bell.clone();
        let thread = std::thread::spawn(move || ringer.hint());
        assert_eq!(bell.wait(LONG), Woken::Hint);
        thread.join().unwrap();
    }

    #[test]
    fn the_end_comes_before_all_else_and_stays() {
        let bell = Bell::default();
        bell.hint();
        assert!(!bell.is_stopped());
        bell.stop();
        assert!(bell.is_stopped());
        assert_eq!(bell.wait(LONG), Woken::Stop);
        assert_eq!(bell.settle(LONG, LONG), Woken::Stop);
    }

    #[test]
    fn hints_without_end_do_not_put_a_build_off_for_ever() {
        let bell = Bell::default();
        let ringer = bell.clone();
        let (done, end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            while end.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                ringer.hint();
            }
        });
        assert_eq!(bell.settle(LONG, Duration::from_millis(20)), Woken::Hint);
        drop(done);
        thread.join().unwrap();
    }
}
