//! A server that keeps results for many machines.
//!
//! [`Remote`] is what the store asks of one; [`Http`] and [`Redis`] are always built in. Around it stands a fuse for each
//! direction: a server that is dead, slow, full or wrong is left alone for the rest of the run, after a second or
//! so and with one warning. Whatever comes from it is checked by its reader before it is used.

mod address;
mod client;
mod credentials;
mod http;
mod patience;
mod pool;
mod redis;
mod upload;
mod wire;

pub use address::{Address, BadAddress, Scheme};
pub use client::{Client, Request, Response};
pub use credentials::Credentials;
pub use http::Http;
pub use patience::Patience;
pub use redis::Redis;
pub(crate) use upload::{Job, Source, Uploads};

use crate::store::LONGEST_RECORD;
use crate::{Diag, Hash};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a server is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Results are taken from it.
    Read,
    /// And put there.
    Write,
}

/// Bytes that are kept under their SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blob {
    /// The hash of the bytes.
    pub hash: Hash,
    /// How many they are.
    pub len: u64,
}

impl Blob {
    /// The blob that some bytes are.
    pub fn of(bytes: &[u8]) -> Blob {
        Blob { hash: Hash::of(bytes), len: bytes.len() as u64 }
    }
}

/// The name of something on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A record, by its key.
    Record(Hash),
    /// Bytes.
    Blob(Blob),
}

impl Name {
    /// Where such things are.
    pub fn kind(self) -> &'static str {
        match self {
            Name::Record(_) => "ac",
            Name::Blob(_) => "cas",
        }
    }

    /// The key or digest.
    pub fn hash(self) -> Hash {
        match self {
            Name::Record(hash) | Name::Blob(Blob { hash, .. }) => hash,
        }
    }
}

/// What went wrong with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no talking to it.
    Unreachable(String),
    /// It keeps one waiting.
    Slow,
    /// The connection broke.
    Broken(String),
    /// It refuses, or has trouble of its own, by a status of HTTP.
    Status(u16),
    /// The same in words.
    Refused(String),
    /// It does not keep to the protocol.
    Garbled(&'static str),
    /// It has something else than what it should have.
    Wrong(&'static str),
}

impl Fault {
    /// Whether it would be the same the next time.
    fn stays(&self) -> bool {
        match self {
            Fault::Unreachable(_) | Fault::Refused(_) | Fault::Garbled(_) | Fault::Wrong(_) => true,
            Fault::Status(status) => !(500..600).contains(status) || *status == 507,
            Fault::Slow | Fault::Broken(_) => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unreachable(why) => write!(f, "it cannot be reached: {why}"),
            Fault::Slow => f.write_str("it does not answer in time"),
            Fault::Broken(why) => write!(f, "the connection broke: {why}"),
            Fault::Status(status @ (401 | 403)) => write!(f, "it refuses: status {status}"),
            Fault::Status(status) => write!(f, "it answers with status {status}"),
            Fault::Refused(why) => write!(f, "it refuses: {why}"),
            Fault::Garbled(what) | Fault::Wrong(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Fault {}

/// A server that keeps records and blobs.
pub trait Remote: Send + Sync {
    /// What it has under a name, if that has no more than `limit` bytes. It is worth waiting about `worth` for it.
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault>;
    /// Whether it has something under a name.
    fn has(&self, name: Name) -> Result<bool, Fault>;
    /// Gives it something to keep.
    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault>;
    /// Several blobs, in their order; a few small ones, or one. A server that can give them at once does.
    fn get_blobs(&self, blobs: &[Blob], worth: Duration) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        blobs.iter().map(|blob| self.get(Name::Blob(*blob), blob.len, worth)).collect()
    }
    /// Those of several blobs that it does not have.
    fn missing(&self, blobs: &[Blob]) -> Result<Vec<Blob>, Fault> {
        let mut missing = Vec::new();
        for blob in blobs {
            if !self.has(Name::Blob(*blob))? {
                missing.push(*blob);
            }
        }
        Ok(missing)
    }
    /// Gives it several blobs to keep; a few small ones, or one.
    fn put_blobs(&self, blobs: &[(Blob, Vec<u8>)]) -> Result<(), Fault> {
        blobs.iter().try_for_each(|(blob, bytes)| self.put(Name::Blob(*blob), bytes))
    }
    /// What messages call it.
    fn name(&self) -> String;
}

/// Blobs that have no more bytes than this together travel together.
const TOGETHER: u64 = 2 << 20;

/// A longer one does not travel: it is held in memory on its way, on the word of a server.
pub(crate) const LONGEST_TRAVELLER: u64 = 1 << 30;

/// Cuts a list of blobs into those that travel together.
pub(crate) fn batches(blobs: &[Blob]) -> Vec<&[Blob]> {
    let (mut batches, mut start, mut total) = (Vec::new(), 0, 0u64);
    for (at, blob) in blobs.iter().enumerate() {
        total = total.saturating_add(blob.len);
        if total > TOGETHER && at > start {
            batches.push(&blobs[start..at]);
            (start, total) = (at, blob.len);
        }
    }
    batches.extend((start < blobs.len()).then(|| &blobs[start..]));
    batches
}

/// So much time may be lost to faults, …
const LOST: Duration = Duration::from_millis(700);
/// … or so many of them seen, before a server is left alone.
const FAULTS: u32 = 3;
/// So much waiting on each thread may be in vain: what is found makes up for what is not.
const IN_VAIN: Duration = Duration::from_secs(2);

/// Stops the use of a server in one direction.
#[derive(Default)]
struct Fuse(Mutex<Use>);

#[derive(Default)]
struct Use {
    lost: Duration,
    faults: u32,
    blown: Option<Fault>,
}

impl Fuse {
    fn lock(&self) -> MutexGuard<'_, Use> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_blown(&self) -> bool {
        self.lock().blown.is_some()
    }

    /// Does something, unless the fuse is blown.
    fn attempt<T>(&self, what: impl FnOnce() -> Result<T, Fault>) -> Option<T> {
        if self.is_blown() {
            return None;
        }
        let start = Instant::now();
        what().map_err(|fault| self.suffer(fault, start.elapsed())).ok()
    }

    fn suffer(&self, fault: Fault, took: Duration) {
        let mut state = self.lock();
        state.lost += took;
        state.faults += 1;
        if fault.stays() || state.lost >= LOST || state.faults >= FAULTS {
            state.blown.get_or_insert(fault);
        }
    }
}

/// A server with its fuses and figures.
pub(crate) struct Tier {
    remote: Box<dyn Remote>,
    reading: Fuse,
    writing: Fuse,
    /// Milliseconds that cooks have waited for it in vain, and those that it saved them.
    waited_ms: AtomicU64,
    saved_ms: AtomicU64,
    pub(crate) bytes_down: AtomicU64,
    pub(crate) bytes_up: AtomicU64,
}

impl Tier {
    pub(crate) fn new(remote: Box<dyn Remote>) -> Tier {
        Tier {
            remote,
            reading: Fuse::default(),
            writing: Fuse::default(),
            waited_ms: AtomicU64::new(0),
            saved_ms: AtomicU64::new(0),
            bytes_down: AtomicU64::new(0),
            bytes_up: AtomicU64::new(0),
        }
    }

    /// Gets a record for a cook. `check` takes what came, or says what is wrong with it.
    pub(crate) fn record<T>(
        &self,
        key: Hash,
        check: impl FnOnce(Vec<u8>) -> Result<T, &'static str>,
    ) -> Option<T> {
        self.wait(|| {
            let record = self.remote.get(Name::Record(key), LONGEST_RECORD, Duration::ZERO)?;
            let Some(bytes) = record else { return Ok(None) };
            self.bytes_down.fetch_add(bytes.len() as u64, Relaxed);
            check(bytes).map(Some).map_err(Fault::Wrong)
        })
    }

    /// Gets blobs for a cook, all of them or none; they are what they should be.
    pub(crate) fn blobs(&self, blobs: &[Blob], worth: Duration) -> Option<Vec<Vec<u8>>> {
        if blobs.iter().any(|blob| blob.len > LONGEST_TRAVELLER) {
            return None;
        }
        self.wait(|| {
            let Some(all) = self.remote.get_blobs(blobs, worth)?.into_iter().collect::<Option<Vec<_>>>()
            else {
                return Ok(None);
            };
            self.bytes_down.fetch_add(all.iter().map(|bytes| bytes.len() as u64).sum(), Relaxed);
            let right = all.len() == blobs.len()
                && blobs.iter().zip(&all).all(|(blob, bytes)| *blob == Blob::of(bytes));
            if right { Ok(Some(all)) } else { Err(Fault::Wrong("it has other bytes than it should have")) }
        })
    }

    /// Waits for something, unless that has been in vain too often.
    fn wait<T>(&self, what: impl FnOnce() -> Result<Option<T>, Fault>) -> Option<T> {
        let start = Instant::now();
        let got = self.reading.attempt(what).flatten();
        if got.is_none() {
            let waited = start.elapsed().as_millis() as u64;
            let waited = self.waited_ms.fetch_add(waited, Relaxed) + waited;
            let in_vain = waited.saturating_sub(self.saved_ms.load(Relaxed));
            let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
            if in_vain > IN_VAIN.as_millis() as u64 * threads {
                self.reading.lock().blown.get_or_insert(Fault::Slow);
            }
        }
        got
    }

    /// Notes what something that came from it was worth.
    pub(crate) fn saved(&self, worth_ms: u64) {
        self.saved_ms.fetch_add(worth_ms, Relaxed);
    }

    /// Does something on the way to it.
    pub(crate) fn write<T>(&self, what: impl FnOnce(&dyn Remote) -> Result<T, Fault>) -> Option<T> {
        self.writing.attempt(|| what(&*self.remote))
    }

    pub(crate) fn is_writable(&self) -> bool {
        !self.writing.is_blown()
    }

    /// Stops writing because there is no time left.
    pub(crate) fn give_up_writing(&self) {
        self.writing.lock().blown.get_or_insert(Fault::Slow);
    }

    /// What is said of a server that was left alone: one warning, whatever happened.
    pub(crate) fn trouble(&self) -> Option<Diag> {
        let blown = |fuse: &Fuse| fuse.lock().blown.clone();
        let fault = blown(&self.reading).or_else(|| blown(&self.writing))?;
        let message = format!("{} was not used any more: {fault}", self.remote.name());
        Some(
            Diag::warning("cache-server", message)
                .hint("what it would have had is built here; see to the server"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fuse_blows_at_once_when_trying_again_is_of_no_use() {
        let blows = |faults: &[(Fault, u64)]| {
            let fuse = Fuse::default();
            for (fault, ms) in faults {
                fuse.suffer(fault.clone(), Duration::from_millis(*ms));
            }
            fuse.is_blown()
        };
        for fault in
            [Fault::Unreachable(String::new()), Fault::Status(403), Fault::Status(507), Fault::Wrong("")]
        {
            assert!(blows(&[(fault, 0)]));
        }
        assert!(blows(&[(Fault::Refused(String::new()), 0)]));
        let broken = || Fault::Broken(String::new());
        assert!(!blows(&[(broken(), 1)]) && !blows(&[(Fault::Status(500), 1), (broken(), 1)]));
        assert!(blows(&[(broken(), 1), (broken(), 1), (Fault::Status(503), 1)]));
        assert!(blows(&[(Fault::Slow, 1000)]));
    }

    #[test]
    fn small_blobs_travel_together_and_none_is_left_behind() {
        let blob = |len: u64| Blob { hash: Hash::of(&len.to_le_bytes()), len };
        let sizes = |lens: &[u64]| {
            let blobs: Vec<Blob> = lens.iter().map(|len| blob(*len)).collect();
            let batches = batches(&blobs);
            assert_eq!(batches.concat(), blobs);
            batches.iter().map(|batch| batch.len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[]), [] as [usize; 0]);
        assert_eq!(sizes(&[5, 5, 5]), [3]);
        assert_eq!(sizes(&[TOGETHER, 1, TOGETHER - 1, 1]), [1, 2, 1]);
        assert_eq!(sizes(&[TOGETHER + 1, TOGETHER + 2, u64::MAX, u64::MAX, 0]), [1, 1, 1, 1, 1]);
    }
}
