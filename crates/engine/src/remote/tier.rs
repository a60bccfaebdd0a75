//! The remote tier of the cache: a server with the circuit breakers, damaged objects and wait times of one run.
//!
//! A server that is unreachable, stalled, full or faulty is disabled for the rest of the run, after about a second and with
//! one warning. A damaged object is a cache miss. A server that responds, but so slowly that building is faster, is disabled
//! as well: the time spent on lookups is compared with the build time that the results save.

use super::breaker::CircuitBreaker;
use super::rejected::RejectedObjects;
use super::{Blob, Fault, LONGEST_RECORD, Name, Remote, RemoteLimits};
use crate::{Code, Diag, Hash, counted};
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The largest build time that one result is credited with: the time in a record is not trustworthy.
const MAX_CREDIT: Duration = Duration::from_secs(600);

/// The thread that waits for a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// A worker of the build, which is blocked meanwhile.
    Worker,
    /// One of the prefetch threads, which wait concurrently.
    Prefetch,
}

/// The wall-clock time that lookups have cost, and that their results save.
struct Waits {
    waited_us: AtomicU64,
    saved_us: AtomicU64,
    /// The numbers of threads that wait concurrently.
    workers: u64,
    prefetchers: u64,
    /// The time by which lookups may exceed the build time that they save.
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
    /// Records that the server does not have, so that each is looked up once in a run.
    absent: Mutex<HashSet<Hash>>,
    pub(super) rejected: Arc<RejectedObjects>,
    too_large: Mutex<(u64, Option<Name>)>,
    pub(crate) bytes_down: AtomicU64,
    pub(crate) bytes_up: AtomicU64,
}

impl Tier {
    pub(crate) fn new(remote: Box<dyn Remote>, limits: RemoteLimits, rejected: Arc<RejectedObjects>) -> Tier {
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
            rejected,
            too_large: Mutex::default(),
            bytes_down: AtomicU64::new(0),
            bytes_up: AtomicU64::new(0),
        }
    }

    /// Returns the number of prefetch threads; 0 if the server is disabled.
    pub(crate) fn prefetchers(&self) -> usize {
        if self.reading.is_open() { 0 } else { self.limits.connections }
    }

    /// Returns whether a blob may be transferred.
    pub(crate) fn admits(&self, blob: Blob) -> bool {
        blob.len <= self.limits.max_blob
    }

    /// Looks up a record. `check` parses it, or returns the reason that it is not the record of this key.
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

    /// Downloads several small blobs, all of them or none, and verifies their digests.
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
                return Err(Fault::Garbled("the response has another number of blobs than the request"));
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

    /// Finds the damaged blobs of a batch with one request for each.
    fn find_damaged<T>(&self, blobs: &[Blob], worth: Duration) -> Option<T> {
        for blob in blobs {
            if let Err(Fault::Damaged(_)) = self.remote.get(Name::Blob(*blob), blob.len, worth) {
                self.damage::<()>(Name::Blob(*blob));
            }
        }
        None
    }

    /// Streams a blob into a writer. `is_sound` verifies the written bytes.
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
                    self.rejected.count_sound();
                    Ok(Some(()))
                }
                Ok(true) | Err(Fault::Damaged(_)) => Ok(self.damage(name)),
                Ok(false) => Ok(None),
                Err(fault) => Err(fault),
            }
        })
    }

    /// Runs a lookup and charges its time, unless the server is disabled.
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
            // An error of the local disk is not a failure of the server.
            Err(Fault::Disk(_)) => None,
            Err(fault) => {
                self.reading.record_failure(fault, waited);
                None
            }
        }
    }

    /// Credits the build time that a result saves, before its blobs are downloaded.
    pub(crate) fn credit(&self, worth: Duration) {
        self.waits.saved_us.fetch_add(self.waits.credit_of(worth), Relaxed);
    }

    /// Revokes a credit: the result could not be downloaded.
    pub(crate) fn revoke_credit(&self, worth: Duration) {
        self.waits.saved_us.fetch_sub(self.waits.credit_of(worth), Relaxed);
    }

    fn sound<T>(&self, object: T) -> T {
        self.rejected.count_sound();
        object
    }

    /// Records a damaged object; returns a miss.
    fn damage<T>(&self, name: Name) -> Option<T> {
        if self.rejected.add_damaged(name) {
            self.reading.open(Fault::Damaged("most objects of the server are damaged"));
        }
        None
    }

    /// Runs a request of an upload, unless uploads are disabled.
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
            // A rejected object is no reason to stop uploading others.
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

    /// Disables uploads because the time limit has passed.
    pub(crate) fn give_up_writing(&self) {
        self.writing.open(Fault::Slow);
    }

    /// Returns the warnings about the server: at most one of each kind.
    pub(crate) fn warnings(&self, writes: bool) -> Vec<Diag> {
        let server = self.remote.name();
        let mut warnings = Vec::new();
        if let Some(fault) = self.reading.cause().or_else(|| self.writing.cause()) {
            warnings.push(
                Diag::new(
                    Code::CacheServer,
                    format!("{server} was disabled for the rest of the build: {fault}"),
                )
                .hint("its results are built locally; check the server"),
            );
        }
        warnings.extend(self.rejected.damaged_warning(&server, writes));
        let too_large = *self.too_large.lock().unwrap_or_else(PoisonError::into_inner);
        if let (count, Some(name)) = too_large {
            let uploads = counted(count as usize, "upload", "uploads");
            let message = format!("{server} rejected {uploads} as too large; the first is {name}");
            warnings.push(
                Diag::new(Code::CacheUploadTooLarge, message)
                    .hint("raise the limit of the server (nginx: client_max_body_size), or set KILN_CACHE_MAX_BLOB below it"),
            );
        }
        warnings
    }
}

/// A writer that counts the bytes written.
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
    fn charges_waits_against_the_build_time_that_they_save() {
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
    fn detects_slow_lookups_without_failures() {
        let waits = waits();
        waits.charge(Lane::Worker, Duration::from_millis(3_999));
        assert!(!waits.is_slower_than_building());
        waits.charge(Lane::Worker, Duration::from_millis(3));
        assert!(waits.is_slower_than_building());
    }

    /// An empty server with slow responses.
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
    fn disables_a_server_that_is_slower_than_building() {
        let limits = RemoteLimits { timeout: Duration::from_millis(10), ..RemoteLimits::default() };
        let tier = Tier::new(Box::new(SlowMiss(Duration::from_millis(1))), limits, Arc::default());
        let lookup = |n: u32| tier.record(Hash::of(&n.to_le_bytes()), Lane::Worker, |_| Ok(()));
        for n in 0..5_000 {
            assert!(lookup(n).is_none());
            if tier.prefetchers() == 0 {
                assert_eq!(tier.warnings(false).len(), 1);
                return;
            }
        }
        panic!("the server was never disabled");
    }
}
