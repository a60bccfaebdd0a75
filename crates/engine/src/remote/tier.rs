//! A server as one run uses it: its circuit breakers, its damaged objects and the time that is spent on it.
//!
//! A server that is unreachable, stalled, full or wrong is not used any more for the rest of the run, after about a
//! second and with one warning. A damaged object is a cache miss. A server that answers, but so slowly that building
//! is faster, is not used any more either: the time spent on lookups is compared with the build time that the results
//! save.

use super::breaker::CircuitBreaker;
use super::damage::DamagedObjects;
use super::{Blob, Fault, LONGEST_RECORD, Name, Remote, RemoteLimits};
use crate::{Code, Diag, Hash};
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most work that one result is credited with: a record is written by others and may say anything.
const MAX_CREDIT: Duration = Duration::from_secs(600);

/// The thread that waits for a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// A worker of the build, which does nothing else meanwhile.
    Worker,
    /// One of the prefetch threads, which wait side by side.
    Prefetch,
}

/// The wall-clock time that lookups have cost, and that their results save.
struct Waits {
    waited_us: AtomicU64,
    saved_us: AtomicU64,
    /// The threads that wait side by side: workers, prefetch threads.
    workers: u64,
    prefetchers: u64,
    /// How much longer than building the lookups may take.
    wasted_wait_limit: Duration,
}

impl Waits {
    /// Charges a wait, for a hit as for a miss. Waits on several threads overlap, so each counts for its share.
    fn charge(&self, lane: Lane, waited: Duration) {
        let threads = if lane == Lane::Worker { self.workers } else { self.prefetchers };
        self.waited_us.fetch_add(waited.as_micros() as u64 / threads, Relaxed);
    }

    fn credit_of(&self, worth: Duration) -> u64 {
        worth.min(MAX_CREDIT).as_micros() as u64 / self.workers
    }

    fn is_slower_than_building(&self) -> bool {
        let wasted = self.waited_us.load(Relaxed).saturating_sub(self.saved_us.load(Relaxed));
        wasted > self.wasted_wait_limit.as_micros() as u64
    }
}

/// A server with its circuit breakers and counters.
pub(crate) struct Tier {
    remote: Box<dyn Remote>,
    limits: RemoteLimits,
    reading: CircuitBreaker,
    writing: CircuitBreaker,
    waits: Waits,
    /// Records that the server does not have: nobody asks twice in one run.
    absent: Mutex<HashSet<Hash>>,
    pub(super) damaged: DamagedObjects,
    too_large: Mutex<(u64, Option<Name>)>,
    pub(crate) bytes_down: AtomicU64,
    pub(crate) bytes_up: AtomicU64,
}

impl Tier {
    pub(crate) fn new(remote: Box<dyn Remote>, limits: RemoteLimits) -> Tier {
        let workers = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        Tier {
            remote,
            limits,
            reading: CircuitBreaker::new(limits.timeout),
            writing: CircuitBreaker::new(limits.timeout),
            waits: Waits {
                waited_us: AtomicU64::new(0),
                saved_us: AtomicU64::new(0),
                workers,
                prefetchers: limits.connections.max(1) as u64,
                wasted_wait_limit: 2 * limits.timeout,
            },
            absent: Mutex::default(),
            damaged: DamagedObjects::default(),
            too_large: Mutex::default(),
            bytes_down: AtomicU64::new(0),
            bytes_up: AtomicU64::new(0),
        }
    }

    /// Returns the number of lookups that may be in flight beside those of the workers; 0 when the server is not used.
    pub(crate) fn prefetchers(&self) -> usize {
        if self.reading.is_open() { 0 } else { self.limits.connections }
    }

    /// Returns whether a blob may be transferred.
    pub(crate) fn admits(&self, blob: Blob) -> bool {
        blob.len <= self.limits.max_blob
    }

    /// Looks a record up. `check` parses it, or says why it cannot be the record of this key.
    pub(crate) fn record<T>(
        &self,
        key: Hash,
        lane: Lane,
        check: impl FnOnce(Vec<u8>) -> Result<T, &'static str>,
    ) -> Option<T> {
        let absent = || self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        if absent().contains(&key) {
            return None;
        }
        let name = Name::Record(key);
        let found = self.wait(lane, || {
            let bytes = match self.remote.get(name, LONGEST_RECORD, Duration::ZERO) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(None),
                Err(Fault::Damaged(_)) => return Ok(self.damage(name)),
                Err(fault) => return Err(fault),
            };
            self.bytes_down.fetch_add(bytes.len() as u64, Relaxed);
            match check(bytes) {
                Ok(record) => Ok(Some(self.sound(record))),
                Err(_) => Ok(self.damage(name)),
            }
        });
        if found.is_none() {
            absent().insert(key);
        }
        found
    }

    /// Gets several small blobs, all of them or none, with their bytes checked.
    pub(crate) fn blobs(&self, blobs: &[Blob], worth: Duration, lane: Lane) -> Option<Vec<Vec<u8>>> {
        self.wait(lane, || {
            let all = match self.remote.get_blobs(blobs, worth) {
                Ok(all) => all,
                Err(Fault::Damaged(_)) => return Ok(self.find_damaged(blobs, worth)),
                Err(fault) => return Err(fault),
            };
            let Some(all) = all.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
            self.bytes_down.fetch_add(all.iter().map(|bytes| bytes.len() as u64).sum(), Relaxed);
            if all.len() != blobs.len() {
                return Err(Fault::Garbled("its response has another number of blobs than the request"));
            }
            let wrong = blobs.iter().zip(&all).filter(|(blob, bytes)| **blob != Blob::of(bytes));
            let wrong: Vec<Blob> = wrong.map(|(blob, _)| *blob).collect();
            match wrong.is_empty() {
                true => Ok(Some(self.sound(all))),
                false => {
                    wrong.into_iter().for_each(|blob| _ = self.damage::<()>(Name::Blob(blob)));
                    Ok(None)
                }
            }
        })
    }

    /// Finds out which of several blobs is damaged, one request each.
    fn find_damaged<T>(&self, blobs: &[Blob], worth: Duration) -> Option<T> {
        for blob in blobs {
            if let Err(Fault::Damaged(_)) = self.remote.get(Name::Blob(*blob), blob.len, worth) {
                self.damage::<()>(Name::Blob(*blob));
            }
        }
        None
    }

    /// Streams a blob into a writer. `check` says whether what was written is the blob.
    pub(crate) fn stream<W: Write>(
        &self,
        blob: Blob,
        worth: Duration,
        lane: Lane,
        into: &mut W,
        is_sound: impl FnOnce(&mut W) -> bool,
    ) -> Option<()> {
        let name = Name::Blob(blob);
        self.wait(lane, || {
            let mut counted = Counted { into, bytes: &self.bytes_down };
            match self.remote.get_to(blob, &mut counted, worth) {
                Ok(true) if is_sound(counted.into) => {
                    self.damaged.count_sound();
                    Ok(Some(()))
                }
                Ok(true) | Err(Fault::Damaged(_)) => Ok(self.damage(name)),
                Ok(false) => Ok(None),
                Err(fault) => Err(fault),
            }
        })
    }

    /// Waits for a lookup and charges the time, unless the server is not used any more.
    fn wait<T>(&self, lane: Lane, lookup: impl FnOnce() -> Result<Option<T>, Fault>) -> Option<T> {
        if self.reading.is_open() {
            return None;
        }
        let start = Instant::now();
        let result = lookup();
        let waited = start.elapsed();
        self.waits.charge(lane, waited);
        if self.waits.is_slower_than_building() {
            self.reading.open(Fault::SlowerThanBuilding);
        }
        match result {
            Ok(found) => {
                self.reading.record_success();
                found
            }
            // The disk of this machine says nothing about the server.
            Err(Fault::Disk(_)) => None,
            Err(fault) => {
                self.reading.record_failure(fault, waited);
                None
            }
        }
    }

    /// Credits the work that a result saves, before its blobs are fetched.
    pub(crate) fn credit(&self, worth: Duration) {
        self.waits.saved_us.fetch_add(self.waits.credit_of(worth), Relaxed);
    }

    /// Takes a credit back: the result could not be fetched.
    pub(crate) fn revoke_credit(&self, worth: Duration) {
        self.waits.saved_us.fetch_sub(self.waits.credit_of(worth), Relaxed);
    }

    fn sound<T>(&self, object: T) -> T {
        self.damaged.count_sound();
        object
    }

    /// Notes a damaged object; it is a miss.
    fn damage<T>(&self, name: Name) -> Option<T> {
        if self.damaged.add(name) {
            self.reading.open(Fault::Damaged("most of its objects are damaged"));
        }
        None
    }

    /// Runs a request of an upload, unless uploads have stopped.
    pub(crate) fn write<T>(
        &self,
        name: Name,
        request: impl FnOnce(&dyn Remote) -> Result<T, Fault>,
    ) -> Option<T> {
        if self.writing.is_open() {
            return None;
        }
        let start = Instant::now();
        match request(&*self.remote) {
            Ok(done) => {
                self.writing.record_success();
                Some(done)
            }
            // One object that the server does not take says nothing about the next one.
            Err(Fault::TooLarge) => {
                let mut too_large = self.too_large.lock().unwrap_or_else(PoisonError::into_inner);
                too_large.0 += 1;
                too_large.1.get_or_insert(name);
                None
            }
            Err(Fault::Disk(_) | Fault::Damaged(_)) => None,
            Err(fault) => {
                self.writing.record_failure(fault, start.elapsed());
                None
            }
        }
    }

    pub(crate) fn is_writable(&self) -> bool {
        !self.writing.is_open()
    }

    /// Stops uploads because no time is left.
    pub(crate) fn give_up_writing(&self) {
        self.writing.open(Fault::Slow);
    }

    /// Returns what there is to say about the server: one warning of each kind, however often it happened.
    pub(crate) fn warnings(&self, writes: bool) -> Vec<Diag> {
        let server = self.remote.name();
        let mut warnings = Vec::new();
        if let Some(fault) = self.reading.cause().or_else(|| self.writing.cause()) {
            warnings.push(
                Diag::new(Code::CacheServer, format!("{server} was not used any more: {fault}"))
                    .hint("its results are built here; see to the server"),
            );
        }
        warnings.extend(self.damaged.warning(&server, writes));
        let too_large = *self.too_large.lock().unwrap_or_else(PoisonError::into_inner);
        if let (count, Some(name)) = too_large {
            let message = format!("{server} refused {count} uploads as too large, first {name}");
            warnings.push(
                Diag::new(Code::CacheUploadTooLarge, message)
                    .hint("raise the limit of the server (nginx: client_max_body_size), or set KILN_CACHE_MAX_BLOB below it"),
            );
        }
        warnings
    }
}

/// Counts what is written.
struct Counted<'a, W> {
    into: &'a mut W,
    bytes: &'a AtomicU64,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.into.write(bytes)?;
        self.bytes.fetch_add(n as u64, Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits() -> Waits {
        Waits {
            waited_us: AtomicU64::new(0),
            saved_us: AtomicU64::new(0),
            workers: 2,
            prefetchers: 16,
            wasted_wait_limit: Duration::from_secs(2),
        }
    }

    #[test]
    fn waits_for_hits_are_charged_against_the_work_that_they_save() {
        let ms = Duration::from_millis;
        // Three requests of 0.9 s for each result of 0.1 s on workers: 1.35 s against 0.05 s of wall-clock time.
        let slow = waits();
        for _ in 0..2 {
            slow.saved_us.fetch_add(slow.credit_of(ms(100)), Relaxed);
            (0..3).for_each(|_| slow.charge(Lane::Worker, ms(900)));
        }
        assert!(slow.is_slower_than_building());
        // The same requests side by side for results of 0.5 s: 0.17 s against 0.25 s.
        let fast = waits();
        for _ in 0..1000 {
            fast.saved_us.fetch_add(fast.credit_of(ms(500)), Relaxed);
            (0..3).for_each(|_| fast.charge(Lane::Prefetch, ms(900)));
            assert!(!fast.is_slower_than_building());
        }
    }

    #[test]
    fn waiting_without_end_is_noticed_without_any_failure() {
        let waits = waits();
        waits.charge(Lane::Worker, Duration::from_millis(3_999));
        assert!(!waits.is_slower_than_building());
        waits.charge(Lane::Worker, Duration::from_millis(3));
        assert!(waits.is_slower_than_building());
    }

    /// A server that knows nothing and takes its time to say so.
    struct SlowMiss(Duration);

    impl Remote for SlowMiss {
        fn get(&self, _: Name, _: u64, _: Duration) -> Result<Option<Vec<u8>>, Fault> {
            std::thread::sleep(self.0);
            Ok(None)
        }
        fn has(&self, _: Name) -> Result<bool, Fault> {
            Ok(false)
        }
        fn put(&self, _: Name, _: &[u8]) -> Result<(), Fault> {
            Ok(())
        }
        fn name(&self) -> String {
            "slow".to_owned()
        }
    }

    #[test]
    fn a_server_that_only_costs_time_is_given_up() {
        let limits = RemoteLimits { timeout: Duration::from_millis(10), ..RemoteLimits::default() };
        let tier = Tier::new(Box::new(SlowMiss(Duration::from_millis(1))), limits);
        let lookup = |n: u32| tier.record(Hash::of(&n.to_le_bytes()), Lane::Worker, |_| Ok(()));
        for n in 0..5_000 {
            assert!(lookup(n).is_none());
            if tier.prefetchers() == 0 {
                assert_eq!(tier.warnings(false).len(), 1);
                return;
            }
        }
        panic!("lookups were waited for without end");
    }
}
