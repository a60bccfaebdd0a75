//! The shared cache: a server that stores cache entries for many machines. And [remote execution](RemoteExecution): a server
//! that runs actions.
//!
//! [`Remote`] is the interface of a server; the crate `kiln-remote-cache` implements it. `tier.rs` adds the state of one run:
//! circuit breakers, damaged objects and the time spent on lookups. Everything that comes from a server is verified before
//! it is used.

mod address;
mod breaker;
mod execution;
mod limits;
mod rejected;
mod tier;
mod upload;
mod worker;

pub use address::{Address, BadAddress, Scheme};
pub use execution::{
    Command, CommandFile, ExecutionFigures, ExecutionLimits, ExecutionServer, FileContent, Program, REQUEST,
    RESULT, RemoteExecution, SOURCES,
};
pub use limits::{RemoteLimits, STALL_DEADLINE};
pub(crate) use rejected::RejectedObjects;
pub(crate) use tier::{Lane, Tier};
pub(crate) use upload::{Job, Source, Uploads};
pub use worker::{bad_request, run_request};

use crate::Hash;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

/// The use of a cache server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Results are read from the server.
    Read,
    /// Results are read from the server and uploaded to it.
    Write,
}

/// A content-addressed object: its SHA-256 digest and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blob {
    /// The digest of the content.
    pub hash: Hash,
    /// The length in bytes.
    pub len: u64,
}

impl Blob {
    /// Computes the digest and length of bytes.
    pub fn of(bytes: &[u8]) -> Blob {
        Blob { hash: Hash::of(bytes), len: bytes.len() as u64 }
    }
}

/// The name of an object on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A record of the action cache, by key.
    Record(Hash),
    /// A blob of the content-addressable storage.
    Blob(Blob),
}

impl Name {
    /// Returns the directory of the object: `ac` or `cas`.
    pub fn kind(self) -> &'static str {
        match self {
            Name::Record(_) => "ac",
            Name::Blob(_) => "cas",
        }
    }

    /// Returns the key or digest.
    pub fn hash(self) -> Hash {
        match self {
            Name::Record(hash) | Name::Blob(Blob { hash, .. }) => hash,
        }
    }
}

/// Formats as `ac/<key>` or `cas/<digest>`, the path of the HTTP cache protocol.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind(), self.hash())
    }
}

/// A failure of a request to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The connection failed.
    Unreachable(String),
    /// The request stalled beyond its deadline.
    Slow,
    /// Lookups take longer than building.
    SlowerThanBuilding,
    /// The connection was lost.
    Broken(String),
    /// The server responded with an HTTP status that is an error.
    Status(u16),
    /// The server rejected the request with a message.
    Refused(String),
    /// The response violates the protocol.
    Garbled(&'static str),
    /// The content of an object does not match its name.
    Damaged(&'static str),
    /// The server rejected an object as too large.
    TooLarge,
    /// An error of the local disk.
    Disk(String),
    /// The server could not run a command.
    Failed(String),
}

impl Fault {
    /// Returns whether the failure is permanent: the same request would fail again.
    fn is_permanent(&self) -> bool {
        match self {
            Fault::Unreachable(_) | Fault::Refused(_) | Fault::Garbled(_) | Fault::SlowerThanBuilding => true,
            Fault::Status(429) => false,
            Fault::Status(status) => !(500..600).contains(status) || *status == 507,
            Fault::Slow
            | Fault::Broken(_)
            | Fault::Damaged(_)
            | Fault::TooLarge
            | Fault::Disk(_)
            | Fault::Failed(_) => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unreachable(why) => write!(f, "the server is unreachable: {why}"),
            Fault::Slow => f.write_str("the server did not respond in time"),
            Fault::SlowerThanBuilding => f.write_str("lookups take longer than building"),
            Fault::Broken(why) => write!(f, "the connection was lost: {why}"),
            Fault::Status(status @ (401 | 403)) => write!(f, "access denied (HTTP status {status})"),
            Fault::Status(status) => write!(f, "the server responded with HTTP status {status}"),
            Fault::Refused(why) => write!(f, "the server rejected the request: {why}"),
            Fault::Garbled(what) | Fault::Damaged(what) => f.write_str(what),
            Fault::TooLarge => f.write_str("the server does not accept objects of this size"),
            Fault::Disk(why) => write!(f, "the local cache failed: {why}"),
            Fault::Failed(why) => write!(f, "a worker of the server failed: {why}"),
        }
    }
}

impl std::error::Error for Fault {}

/// A server that stores records and blobs. Nothing that it returns is verified; the caller does that.
pub trait Remote: Send + Sync {
    /// Returns an object of at most `limit` bytes; `None` if the server does not have it. `worth` is the build time that the
    /// object saves, which bounds the time of the transfer.
    ///
    /// # Errors
    /// The failure of the request.
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault>;
    /// Returns whether the server has an object.
    ///
    /// # Errors
    /// The failure of the request.
    fn has(&self, name: Name) -> Result<bool, Fault>;
    /// Uploads an object.
    ///
    /// # Errors
    /// The failure of the request.
    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault>;
    /// Returns several small blobs or a single blob, in order, in one request if the protocol has one for that.
    ///
    /// # Errors
    /// The failure of the first request that failed.
    fn get_blobs(&self, blobs: &[Blob], worth: Duration) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        blobs.iter().map(|blob| self.get(Name::Blob(*blob), blob.len, worth)).collect()
    }
    /// Returns the blobs that the server does not have.
    ///
    /// # Errors
    /// The failure of the first request that failed.
    fn missing(&self, blobs: &[Blob]) -> Result<Vec<Blob>, Fault> {
        let mut missing = Vec::new();
        for blob in blobs {
            if !self.has(Name::Blob(*blob))? {
                missing.push(*blob);
            }
        }
        Ok(missing)
    }
    /// Uploads several small blobs or a single blob.
    ///
    /// # Errors
    /// The failure of the first request that failed.
    fn put_blobs(&self, blobs: &[(Blob, Vec<u8>)]) -> Result<(), Fault> {
        blobs.iter().try_for_each(|(blob, bytes)| self.put(Name::Blob(*blob), bytes))
    }
    /// Streams a blob into a writer; returns whether the server has it.
    ///
    /// # Errors
    /// The failure of the request, or [`Fault::Disk`] if the writer fails.
    fn get_to(&self, blob: Blob, into: &mut dyn Write, worth: Duration) -> Result<bool, Fault> {
        let Some(bytes) = self.get(Name::Blob(blob), blob.len, worth)? else { return Ok(false) };
        into.write_all(&bytes).map_err(|e| Fault::Disk(e.to_string()))?;
        Ok(true)
    }
    /// Uploads a blob from a file.
    ///
    /// # Errors
    /// The failure of the request, or [`Fault::Disk`] if the file cannot be read.
    fn put_from(&self, blob: Blob, mut file: &File) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(blob.len).read_to_end(&mut bytes));
        read.map_err(|e| Fault::Disk(e.to_string()))?;
        self.put(Name::Blob(blob), &bytes)
    }
    /// Returns the name of the server for messages.
    fn name(&self) -> String;
}

/// The longest accepted record, in bytes.
pub(crate) const LONGEST_RECORD: u64 = 16 << 20;

/// The largest total size of a batch of blobs, in bytes; a longer blob is streamed by itself.
pub(crate) const BATCH_BYTES: u64 = 2 << 20;

/// Splits a list of blobs into batches.
pub(crate) fn batches(blobs: &[Blob]) -> Vec<&[Blob]> {
    let (mut batches, mut start, mut total) = (Vec::new(), 0, 0u64);
    for (at, blob) in blobs.iter().enumerate() {
        total = total.saturating_add(blob.len);
        if total > BATCH_BYTES && at > start {
            batches.push(&blobs[start..at]);
            (start, total) = (at, blob.len);
        }
    }
    batches.extend((start < blobs.len()).then(|| &blobs[start..]));
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_small_blobs() {
        let blob = |len: u64| Blob { hash: Hash::of(&len.to_le_bytes()), len };
        let sizes = |lens: &[u64]| {
            let blobs: Vec<Blob> = lens.iter().map(|len| blob(*len)).collect();
            let batches = batches(&blobs);
            assert_eq!(batches.concat(), blobs);
            batches.iter().map(|batch| batch.len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[]), [] as [usize; 0]);
        assert_eq!(sizes(&[5, 5, 5]), [3]);
        assert_eq!(sizes(&[BATCH_BYTES, 1, BATCH_BYTES - 1, 1]), [1, 2, 1]);
        assert_eq!(sizes(&[BATCH_BYTES + 1, BATCH_BYTES + 2, u64::MAX, u64::MAX, 0]), [1, 1, 1, 1, 1]);
    }
}
