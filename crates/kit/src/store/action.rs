//! What the store remembers of cooks, and under which keys.
//!
//! A cook finds out what it depends on while it runs, so its result is found in two steps. The **question** is what
//! is known beforehand: the program, the fingerprint, the source and its content. Under it stand the sets of paths that
//! cooks of it looked at. With what lies at those paths now, a set makes the key of an **answer**: what the cook wrote,
//! returned and said. Answers never change; sets are only added to.
//!
//! A record travels as an `ActionResult` of the Remote Execution API, because servers that know this message check it,
//! and keep the blobs it names for as long as it lives. What counts for us is in its `stdout_raw`, behind a hash over
//! the key and the rest: a record that is damaged, or that belongs to another key, is none.

use crate::hash::Hash;
use crate::record::{Seen, get_diags, put_diags};
use crate::remote::Blob;
use crate::share::WorkKey;
use crate::wire::{Reader, Writer};
use crate::{Diag, RelPath};
use std::collections::HashSet;

/// Raised when records are laid out anew.
const FORMAT: &[u8] = b"kiln store 1";

/// How many sets of paths are kept for a question.
pub(crate) const SETS: usize = 8;

/// The longest record that is believed.
pub(crate) const LONGEST_RECORD: u64 = 16 << 20;

/// The longest blob that is believed: outputs are held in memory.
pub(crate) const LONGEST_BLOB: u64 = 4 << 30;

/// What a cook asked of a path: the content of a file, or the names in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ask {
    Content,
    Names,
}

/// The paths that a cook looked at, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(pub(crate) Vec<(RelPath, Ask)>);

/// One output of a cook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredOutput {
    pub(crate) path: RelPath,
    pub(crate) blob: Blob,
    pub(crate) work: Option<WorkKey>,
}

/// All that a cook, or a piece of shared work, came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) outputs: Vec<StoredOutput>,
    /// Content that goes elsewhere than to an output of its own.
    pub(crate) kept: Option<Blob>,
    pub(crate) payload: Vec<u8>,
    pub(crate) warnings: Vec<Diag>,
    /// How long it took, in milliseconds.
    pub(crate) took_ms: u64,
}

/// The key of a question.
pub(crate) fn question(build: &str, fingerprint: &str, source: &RelPath, seen: Option<Seen>) -> Hash {
    let seen = seen.map(state).unwrap_or_default();
    let fields: [&[u8]; 6] =
        [FORMAT, b"question", build.as_bytes(), fingerprint.as_bytes(), source.as_str().as_bytes(), &seen];
    Hash::of_fields(fields)
}

/// The key of the answer to a question, when this is what the cook sees.
pub(crate) fn answer_key<'a>(question: Hash, seen: impl IntoIterator<Item = (&'a RelPath, Seen)>) -> Hash {
    let mut fields: Vec<Vec<u8>> = vec![FORMAT.to_vec(), b"answer".to_vec(), question.0.to_vec()];
    for (path, seen) in seen {
        fields.push(path.as_str().as_bytes().to_vec());
        fields.push(state(seen));
    }
    Hash::of_fields(fields.iter().map(Vec::as_slice))
}

/// The key of shared work.
pub(crate) fn work_key(build: &str, key: WorkKey) -> Hash {
    Hash::of_fields([FORMAT, b"work", build.as_bytes(), &key.0])
}

/// What was seen, without what is true on one machine only.
fn state(seen: Seen) -> Vec<u8> {
    match seen {
        Seen::File { hash, .. } => [b"f", hash.0.as_slice()].concat(),
        Seen::Absent => b"-".to_vec(),
        Seen::Listing(hash) => [b"l", hash.0.as_slice()].concat(),
    }
}

impl Set {
    /// The paths of what a cook saw.
    pub(crate) fn of<'a>(seen: impl IntoIterator<Item = (&'a RelPath, Seen)>) -> Set {
        let ask = |seen| if matches!(seen, Seen::Listing(_)) { Ask::Names } else { Ask::Content };
        Set(seen.into_iter().map(|(path, seen)| (path.clone(), ask(seen))).collect())
    }
}

/// The sets of a question as a record.
pub(crate) fn write_sets(key: Hash, sets: &[Set]) -> Vec<u8> {
    let mut w = Writer::new();
    w.count(sets.len());
    for set in sets {
        w.count(set.0.len());
        for (path, ask) in &set.0 {
            w.text(path.as_str());
            w.u8(matches!(ask, Ask::Names).into());
        }
    }
    seal(key, &w.finish(), &[])
}

/// Reads the sets of a question.
pub(crate) fn read_sets(key: Hash, record: &[u8]) -> Option<Vec<Set>> {
    let body = unseal(key, record)?;
    let mut r = Reader::new(body);
    let count = r.count()?;
    let mut sets = Vec::new();
    for _ in 0..count {
        let paths = r.count()?;
        let mut set = Vec::new();
        for _ in 0..paths {
            let path = RelPath::new(r.text()?).ok()?;
            let ask = [Ask::Content, Ask::Names].get(usize::from(r.u8()?)).copied()?;
            set.push((path, ask));
        }
        sets.push(Set(set));
    }
    r.is_empty().then_some(sets)
}

impl Answer {
    /// Every blob it needs.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = Blob> {
        self.outputs.iter().map(|output| output.blob).chain(self.kept)
    }

    /// The answer as a record.
    pub(crate) fn write(&self, key: Hash) -> Vec<u8> {
        let mut w = Writer::new();
        let put_blob = |w: &mut Writer, blob: &Blob| {
            w.raw(&blob.hash.0);
            w.u64(blob.len);
        };
        w.count(self.outputs.len());
        for output in &self.outputs {
            w.text(output.path.as_str());
            put_blob(&mut w, &output.blob);
            w.u8(output.work.is_some().into());
            w.raw(output.work.as_ref().map_or(&[], |work| work.0.as_slice()));
        }
        w.u8(self.kept.is_some().into());
        self.kept.iter().for_each(|blob| put_blob(&mut w, blob));
        w.bytes(&self.payload);
        put_diags(&mut w, &self.warnings);
        w.u64(self.took_ms);
        let named = self.outputs.iter().map(|output| (output.path.as_str(), output.blob));
        let files: Vec<(&str, Blob)> = named.chain(self.kept.map(|blob| ("kept", blob))).collect();
        seal(key, &w.finish(), &files)
    }

    /// Reads an answer.
    pub(crate) fn read(key: Hash, record: &[u8]) -> Option<Answer> {
        let mut r = Reader::new(unseal(key, record)?);
        let get_blob = |r: &mut Reader<'_>| {
            let blob = Blob { hash: Hash(r.array()?), len: r.u64()? };
            (blob.len <= LONGEST_BLOB).then_some(blob)
        };
        let count = r.count()?;
        let (mut outputs, mut names) = (Vec::new(), HashSet::new());
        for _ in 0..count {
            let (path, blob) = (RelPath::new(r.text()?).ok()?, get_blob(&mut r)?);
            // No cook writes a path twice, nor a hidden one: the journal has such a name.
            if path.is_hidden() || !names.insert(path.folded()) {
                return None;
            }
            let work = match r.u8()? {
                0 => None,
                1 => Some(WorkKey(r.array()?)),
                _ => return None,
            };
            outputs.push(StoredOutput { path, blob, work });
        }
        let kept = match r.u8()? {
            0 => None,
            1 => Some(get_blob(&mut r)?),
            _ => return None,
        };
        let (payload, warnings) = (r.bytes()?.to_vec(), get_diags(&mut r)?);
        let answer = Answer { outputs, kept, payload, warnings, took_ms: r.u64()? };
        r.is_empty().then_some(answer)
    }
}

/// Wraps a body as an `ActionResult` with these files.
fn seal(key: Hash, body: &[u8], files: &[(&str, Blob)]) -> Vec<u8> {
    let mut message = Vec::new();
    for (path, blob) in files {
        let mut digest = Vec::new();
        put_field(&mut digest, 1, blob.hash.to_string().as_bytes());
        put_varint(&mut digest, 2 << 3);
        put_varint(&mut digest, blob.len);
        let mut file = Vec::new();
        put_field(&mut file, 1, path.as_bytes());
        put_field(&mut file, 2, &digest);
        put_field(&mut message, 2, &file);
    }
    let raw = [check(key, body).0.as_slice(), body].concat();
    put_field(&mut message, 5, &raw);
    message
}

/// The body of a record, if it was written under this key and is whole.
fn unseal(key: Hash, mut message: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    while !message.is_empty() {
        let tag = take_varint(&mut message)?;
        match tag & 7 {
            0 => _ = take_varint(&mut message)?,
            2 => {
                let len = usize::try_from(take_varint(&mut message)?).ok()?;
                let (bytes, rest) = message.split_at_checked(len)?;
                message = rest;
                if tag >> 3 == 5 {
                    found = Some(bytes);
                }
            }
            _ => return None,
        }
    }
    let (sum, body) = found?.split_first_chunk::<32>()?;
    (check(key, body).0 == *sum).then_some(body)
}

fn check(key: Hash, body: &[u8]) -> Hash {
    Hash::of_fields([FORMAT, &key.0, body])
}

fn put_field(message: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(message, number << 3 | 2);
    put_varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn take_varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    fn answer() -> Answer {
        let blob = |text: &str| Blob { hash: Hash::of(text.as_bytes()), len: 300 };
        Answer {
            outputs: vec![
                StoredOutput { path: path("a.ktx2"), blob: blob("a"), work: None },
                StoredOutput { path: path("b/c"), blob: blob("b"), work: Some(WorkKey([7; 16])) },
            ],
            kept: Some(blob("k")),
            payload: b"rows".to_vec(),
            warnings: vec![Diag::warning("odd", "very").path("a.png").at("3").hint("mend it")],
            took_ms: 1234,
        }
    }

    #[test]
    fn answers_and_sets_survive_a_round_trip_and_nothing_else_does() {
        let (key, other) = (Hash::of(b"key"), Hash::of(b"other"));
        let sets = vec![Set(vec![(path("a"), Ask::Content), (path("dir"), Ask::Names)]), Set::default()];
        let records = [answer().write(key), write_sets(key, &sets)];
        let read = |key, bytes: &[u8]| {
            let answer = Answer::read(key, bytes);
            answer.is_some() || read_sets(key, bytes).is_some()
        };
        assert_eq!(Answer::read(key, &records[0]), Some(answer()));
        assert_eq!(read_sets(key, &records[1]), Some(sets));
        for record in &records {
            assert!(!read(other, record));
            for at in 0..record.len() {
                assert!(!read(key, &record[..at]), "{at}");
            }
        }
        // What the message says of files is for servers; all that counts is covered by the hash.
        let (start, whole) = (records[0].len() - 100, Answer::read(key, &records[0]));
        for at in start..records[0].len() {
            let mut flipped = records[0].clone();
            flipped[at] ^= 4;
            assert!(Answer::read(key, &flipped).is_none_or(|read| Some(read) == whole), "{at}");
        }
    }

    #[test]
    fn what_no_cook_writes_is_not_believed() {
        let key = Hash::of(b"key");
        for bad in [["a", ".journal"], ["a", "b/.c/d"], ["a", "a"], ["a/b", "A/B"]] {
            let blob = Blob { hash: Hash::of(b"x"), len: 1 };
            let outputs = bad.map(|name| StoredOutput { path: path(name), blob, work: None }).to_vec();
            let answer = Answer { outputs, ..Answer::default() };
            assert_eq!(Answer::read(key, &answer.write(key)), None, "{bad:?}");
        }
    }

    /// The bytes as `protoc --encode=build.bazel.remote.execution.v2.ActionResult` would lay them out.
    #[test]
    fn a_record_is_an_action_result() {
        let key = Hash::of(b"key");
        let blob = Blob { hash: Hash::of(b"x"), len: 300 };
        let output = StoredOutput { path: path("o"), blob, work: None };
        let record = Answer { outputs: vec![output], ..Answer::default() }.write(key);
        let mut expected = vec![0x12, 3 + 2 + 69, 0x0a, 1, b'o', 0x12, 69, 0x0a, 64];
        expected.extend(blob.hash.to_string().bytes());
        expected.extend([0x10, 0xac, 0x02]);
        assert_eq!(record[..expected.len()], expected);
        assert_eq!(record[expected.len()], 0x2a);
    }

    #[test]
    fn keys_depend_on_content_and_not_on_stamps() {
        let file = |mtime_ns, text: &[u8]| Seen::File {
            stamp: crate::Stamp { mtime_ns, changed_ns: 0, len: 1 },
            racy: mtime_ns == 1,
            hash: Hash::of(text),
        };
        let ask = |seen| question("kiln 1", "recipe 1", &path("a"), seen);
        assert_eq!(ask(Some(file(1, b"x"))), ask(Some(file(2, b"x"))));
        let all = [Some(file(1, b"x")), Some(file(1, b"y")), Some(Seen::Absent), None];
        let keys: std::collections::BTreeSet<Hash> = all.into_iter().map(ask).collect();
        assert_eq!(keys.len(), 4);
        let (a, b) = (path("a"), path("b"));
        assert_ne!(answer_key(ask(None), [(&a, Seen::Absent)]), answer_key(ask(None), [(&b, Seen::Absent)]));
    }
}
