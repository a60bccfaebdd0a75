//! A server of results that lies: whoever can write to it can add, so that its records are right in their checksums.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::cooking::build_twice;
use crate::halves;
use kiln_engine::Store;
use kiln_engine::mem::Mem;
use kiln_engine::remote::{Fault, Name, Policy, Remote};
use kiln_engine::store::seal_record;
use tempfile::TempDir;

/// What its blobs hold.
const BLOB: &[u8] = b"a result";

/// Answers the first question for a record with `sets`, and all others with `answer`.
struct Liar {
    sets: Vec<u8>,
    answer: Vec<u8>,
    asked: AtomicBool,
}

impl Remote for Liar {
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
        "a liar".to_owned()
    }
}

/// The sets of paths that a server has for a question, and after a line of `%%` its answer: a build comes to an end, and
/// the next one finds its journal.
pub(crate) fn store(bytes: &[u8]) {
    build_from_cache(bytes);
}

/// Builds twice with such a server; returns how many results came from it.
fn build_from_cache(bytes: &[u8]) -> u64 {
    let (sets, answer) = halves(bytes);
    let answer = answer.unwrap_or_default().to_vec();
    let liar = Liar { sets: sets.to_vec(), answer, asked: AtomicBool::new(false) };
    let dir = TempDir::new().expect("a temporary folder");
    let store = Store::open(dir.path(), "kiln").expect("a writable folder");
    let store = store.with_remote(Box::new(liar), Policy::Read);
    build_twice(&Mem::new(), Some(&store));
    store.figures().from_server
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed in an old layout would exercise nothing but the check of the version.
    #[test]
    fn seed_is_in_the_current_layout() {
        assert_eq!(build_from_cache(include_bytes!("../corpus/store/good")), 1);
    }
}
