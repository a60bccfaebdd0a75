//! A server of results that lies: whoever can write to it can add, so that its records are right in their checksums.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::cooking::build_twice;
use crate::halves;
use kiln_kit::mem::Mem;
use kiln_kit::remote::{Fault, Name, Policy, Remote};
use kiln_kit::{Hash, Store};
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
            Name::Record(key) if self.asked.swap(true, Relaxed) => sealed(key, &self.answer),
            Name::Record(key) => sealed(key, &self.sets),
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

/// A record as the store writes it: the fifth field of a message, with a hash over the key and the rest.
fn sealed(key: Hash, body: &[u8]) -> Vec<u8> {
    let sum = Hash::of_fields([b"kiln store 3".as_slice(), &key.0, body]);
    let mut message = vec![5 << 3 | 2];
    let mut len = sum.0.len() + body.len();
    while len >= 0x80 {
        message.push(len as u8 | 0x80);
        len >>= 7;
    }
    message.push(len as u8);
    [message.as_slice(), &sum.0, body].concat()
}

/// The sets of paths that a server has for a question, and after a line of `%%` its answer: a build comes to an end, and
/// the next one finds its journal.
pub(crate) fn store(bytes: &[u8]) {
    let (sets, answer) = halves(bytes);
    let answer = answer.unwrap_or_default().to_vec();
    let liar = Liar { sets: sets.to_vec(), answer, asked: AtomicBool::new(false) };
    let dir = TempDir::new().expect("a temporary folder");
    let store = Store::open(dir.path(), "kiln").expect("a writable folder");
    let store = store.with_remote(Box::new(liar), Policy::Read);
    build_twice(&Mem::new(), Some(&store));
}
