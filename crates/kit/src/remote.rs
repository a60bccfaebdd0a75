//! A server that keeps results for many machines.
//!
//! [`Remote`] is what the store asks of one; [`Http`] is the one that is always built in. Around it stands a fuse for
//! each direction: a server that is dead, slow, full or wrong is left alone for the rest of the run, after a second or
//! so and with one warning. Whatever comes from it is checked by its reader before it is used.

mod address;
mod http;
mod patience;
mod upload;
mod wire;

pub use address::{Address, BadAddress};
pub use http::{Credentials, Http};
pub(crate) use upload::{Job, Source, Uploads};

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

/// The name of something on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A record, by its key.
    Record(Hash),
    /// Bytes, by their SHA-256.
    Blob(Hash),
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
            Name::Record(hash) | Name::Blob(hash) => hash,
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
    /// It refuses, or has trouble of its own.
    Status(u16),
    /// It does not keep to the protocol.
    Garbled(&'static str),
    /// It has something else than what it should have.
    Wrong(&'static str),
}

impl Fault {
    /// Whether it would be the same the next time.
    fn stays(&self) -> bool {
        match self {
            Fault::Unreachable(_) | Fault::Garbled(_) | Fault::Wrong(_) => true,
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
            Fault::Garbled(what) | Fault::Wrong(what) => f.write_str(what),
        }
    }
}

/// A server that keeps records and blobs.
pub trait Remote: Send + Sync {
    /// What it has under a name, if that has no more than `limit` bytes. It is worth waiting about `worth` for it.
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault>;
    /// Whether it has something under a name.
    fn has(&self, name: Name) -> Result<bool, Fault>;
    /// Gives it something to keep.
    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault>;
    /// What messages call it.
    fn name(&self) -> String;
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

    /// Gets something for a cook. `check` takes what came, or says what is wrong with it.
    pub(crate) fn get<T>(
        &self,
        name: Name,
        limit: u64,
        worth: Duration,
        check: impl FnOnce(Vec<u8>) -> Result<T, &'static str>,
    ) -> Option<T> {
        let start = Instant::now();
        let got = self.reading.attempt(|| {
            let Some(bytes) = self.remote.get(name, limit, worth)? else { return Ok(None) };
            self.bytes_down.fetch_add(bytes.len() as u64, Relaxed);
            check(bytes).map(Some).map_err(Fault::Wrong)
        });
        let got = got.flatten();
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
        let broken = || Fault::Broken(String::new());
        assert!(!blows(&[(broken(), 1)]) && !blows(&[(Fault::Status(500), 1), (broken(), 1)]));
        assert!(blows(&[(broken(), 1), (broken(), 1), (Fault::Status(503), 1)]));
        assert!(blows(&[(Fault::Slow, 1000)]));
    }
}
