//! A server that keeps cache entries for many machines.
//!
//! [`Remote`] is the interface of a server; the crate `kiln-remote-cache` implements it. `tier.rs` adds what one run needs
//! around it: circuit breakers, damaged objects, and the time that it may cost. The reader checks everything that comes
//! from a server before it is used.

mod address;
mod breaker;
mod damage;
mod limits;
mod tier;
mod upload;

pub use address::{Address, BadAddress, Scheme};
pub use limits::{RemoteLimits, STALL_DEADLINE};
pub(crate) use tier::{Lane, Tier};
pub(crate) use upload::{Job, Source, Uploads};

use crate::Hash;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

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

/// `ac/<key>` or `cas/<digest>`, as in the paths of the HTTP cache protocol.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind(), self.hash())
    }
}

/// A failure of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No connection can be made.
    Unreachable(String),
    /// A request stalled.
    Slow,
    /// Lookups take longer than building does.
    SlowerThanBuilding,
    /// The connection broke.
    Broken(String),
    /// The server refuses the request or fails, by a status of HTTP.
    Status(u16),
    /// The server refuses the request, in words.
    Refused(String),
    /// The server does not keep to the protocol.
    Garbled(&'static str),
    /// An object is not what its name says.
    Damaged(&'static str),
    /// The server does not take an object of this length.
    TooLarge,
    /// The disk of this machine fails.
    Disk(String),
}

impl Fault {
    /// Returns whether the same request would fail again.
    fn is_permanent(&self) -> bool {
        match self {
            Fault::Unreachable(_) | Fault::Refused(_) | Fault::Garbled(_) | Fault::SlowerThanBuilding => true,
            Fault::Status(429) => false,
            Fault::Status(status) => !(500..600).contains(status) || *status == 507,
            Fault::Slow | Fault::Broken(_) | Fault::Damaged(_) | Fault::TooLarge | Fault::Disk(_) => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unreachable(why) => write!(f, "it cannot be reached: {why}"),
            Fault::Slow => f.write_str("it does not answer in time"),
            Fault::SlowerThanBuilding => f.write_str("looking results up takes longer than building them"),
            Fault::Broken(why) => write!(f, "the connection broke: {why}"),
            Fault::Status(status @ (401 | 403)) => write!(f, "it refuses: status {status}"),
            Fault::Status(status) => write!(f, "it answers with status {status}"),
            Fault::Refused(why) => write!(f, "it refuses: {why}"),
            Fault::Garbled(what) | Fault::Damaged(what) => f.write_str(what),
            Fault::TooLarge => f.write_str("it does not take objects of this length"),
            Fault::Disk(why) => write!(f, "the local cache cannot be used: {why}"),
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
    /// Streams a blob into a writer; returns whether the server has it. The bytes are not checked.
    fn get_to(&self, blob: Blob, into: &mut dyn Write, worth: Duration) -> Result<bool, Fault> {
        let Some(bytes) = self.get(Name::Blob(blob), blob.len, worth)? else { return Ok(false) };
        into.write_all(&bytes).map_err(|e| Fault::Disk(e.to_string()))?;
        Ok(true)
    }
    /// Uploads a blob from a file that holds it.
    fn put_from(&self, blob: Blob, mut file: &File) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(blob.len).read_to_end(&mut bytes));
        read.map_err(|e| Fault::Disk(e.to_string()))?;
        self.put(Name::Blob(blob), &bytes)
    }
    /// What messages call it.
    fn name(&self) -> String;
}

/// The longest record that is believed, in bytes.
pub(crate) const LONGEST_RECORD: u64 = 16 << 20;

/// Blobs of no more bytes than this together are transferred in one batch; a longer one is streamed by itself.
pub(crate) const BATCH_BYTES: u64 = 2 << 20;

/// Cuts a list of blobs into batches.
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
    fn small_blobs_are_batched_and_none_is_lost() {
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
