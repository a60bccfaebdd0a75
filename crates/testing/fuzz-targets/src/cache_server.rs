//! The target for an untrusted cache server: an attacker computes checksums, so that forged records have valid ones.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::in_memory_build::build_twice;
use crate::split_input;
use kiln_engine::Store;
use kiln_engine::mem::Mem;
use kiln_engine::remote::{Fault, Name, Policy, Remote};
use kiln_engine::store::seal_record;
use tempfile::TempDir;

/// The content of every blob of the server.
const BLOB: &[u8] = b"a result";

/// A server that answers the first request for a record with `sets`, and all others with `answer`.
struct ForgingServer {
    sets: Vec<u8>,
    answer: Vec<u8>,
    asked: AtomicBool,
}

impl Remote for ForgingServer {
    fn get(&self, name: Name, limit: u64, _: Duration) -> Result<Option<Vec<u8>>, Fault> {
        let bytes = match name {
            Name::Blob(_) => BLOB.to_vec(),
            Name::Record(key) if self.asked.swap(true, Relaxed) => seal_record(key, &self.answer),
            Name::Record(key) => seal_record(key, &self.sets),
        };
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limit))
    }

    fn has(&self, _: Name) -> Result<bool, Fault> {
        Ok(true)
    }

    fn put(&self, _: Name, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    fn name(&self) -> String {
        "a forging server".to_owned()
    }
}

/// Builds with forged records: the input sets of a lookup, and after a line of `%%` the result. The build has to
/// terminate, and the next one to find its journal.
pub(crate) fn cache_server(bytes: &[u8]) {
    build_from_cache(bytes);
}

/// Builds twice with the forging server; returns the number of results that came from it.
fn build_from_cache(bytes: &[u8]) -> u64 {
    let (sets, answer) = split_input(bytes);
    let answer = answer.unwrap_or_default().to_vec();
    let server = ForgingServer { sets: sets.to_vec(), answer, asked: AtomicBool::new(false) };
    let dir = TempDir::new().expect("a temporary directory");
    let store = Store::open(dir.path(), "kiln").expect("a writable directory");
    let store = store.with_remote(Box::new(server), Policy::Read);
    build_twice(&Mem::new(), Some(&store));
    store.figures().from_server
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed in an old layout would exercise the version check only.
    #[test]
    fn seed_is_in_the_current_layout() {
        assert_eq!(build_from_cache(include_bytes!("../corpus/cache-server/good")), 1);
    }
}
