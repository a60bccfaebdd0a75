//! Cache entries of actions, and their keys.
//!
//! An action finds out what it depends on while it runs, so its result is found in two steps. The **question** is what
//! is known beforehand: the program, the fingerprint, the source and its content. Under it stand the sets of paths that
//! runs of it looked at. With what is at those paths now, a set makes the key of an **answer**: the artifacts and
//! warnings. Answers never change; sets are only added to.
//!
//! Whoever can write to a shared cache can write any record, so what no action returns is refused here: hidden names,
//! one path twice, errors in the place of warnings, codes that are none. `seal.rs` is the envelope.

use super::seal::{BadRecord, FORMAT, Seal};
use crate::fold::folded;
use crate::hash::Hash;
use crate::record::{Seen, get_diags, put_diags};
use crate::remote::Blob;
use crate::shared_results::WorkKey;
use crate::wire::{Reader, Writer};
use crate::{Diag, RelPath, Severity};
use std::collections::HashSet;

/// How many sets of paths are kept for a question.
pub(crate) const SETS: usize = 8;

/// The longest blob that is believed: outputs are held in memory.
pub(crate) const LONGEST_BLOB: u64 = 4 << 30;

/// The longest time that a cook is believed to have taken, in milliseconds: it decides how long a server is waited for.
const LONGEST_COOK_MS: u64 = 60 * 60 * 1000;

/// What a cook asked of a path: the content of a file, or the names in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ask {
    Content,
    Names,
}

/// The paths that a cook looked at, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(pub(crate) Vec<(RelPath, Ask)>);

/// One artifact of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredOutput {
    pub(crate) path: RelPath,
    /// What the tool knows of it, as [`crate::Metadata`] writes it.
    pub(crate) metadata: Vec<u8>,
    pub(crate) blob: Blob,
}

/// The result of an action, or of a piece of shared work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) outputs: Vec<StoredOutput>,
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
pub(crate) fn write_sets(seal: &Seal, key: Hash, sets: &[Set]) -> Vec<u8> {
    let mut w = Writer::new();
    w.count(sets.len());
    for set in sets {
        w.count(set.0.len());
        for (path, ask) in &set.0 {
            w.text(path.as_str());
            w.u8(matches!(ask, Ask::Names).into());
        }
    }
    seal.seal(key, &w.finish(), &[])
}

/// Reads the sets of a question.
pub(crate) fn read_sets(seal: &Seal, key: Hash, record: &[u8]) -> Result<Vec<Set>, BadRecord> {
    let body = seal.unseal(key, record)?;
    get_sets(&mut Reader::new(body)).ok_or(BadRecord::Damaged)
}

fn get_sets(r: &mut Reader<'_>) -> Option<Vec<Set>> {
    // A set is a lookup on the server: no more are believed than are written.
    let count = Some(r.count()?).filter(|count| *count <= SETS)?;
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
        self.outputs.iter().map(|output| output.blob)
    }

    /// Returns whether a cook came to the same, however long it took.
    pub(crate) fn is_same(&self, other: &Answer) -> bool {
        self.outputs == other.outputs && self.warnings == other.warnings
    }

    /// The answer as a record.
    pub(crate) fn write(&self, seal: &Seal, key: Hash) -> Vec<u8> {
        let mut w = Writer::new();
        w.count(self.outputs.len());
        for output in &self.outputs {
            w.text(output.path.as_str());
            w.bytes(&output.metadata);
            w.raw(&output.blob.hash.0);
            w.u64(output.blob.len);
        }
        put_diags(&mut w, &self.warnings);
        w.u64(self.took_ms);
        let files: Vec<_> = self.outputs.iter().map(|output| (output.path.as_str(), output.blob)).collect();
        seal.seal(key, &w.finish(), &files)
    }

    /// Reads an answer.
    pub(crate) fn read(seal: &Seal, key: Hash, record: &[u8]) -> Result<Answer, BadRecord> {
        let body = seal.unseal(key, record)?;
        Answer::get(Reader::new(body)).ok_or(BadRecord::Damaged)
    }

    fn get(mut r: Reader<'_>) -> Option<Answer> {
        let count = r.count()?;
        let (mut outputs, mut names) = (Vec::new(), HashSet::new());
        for _ in 0..count {
            let (path, metadata) = (RelPath::new(r.text()?).ok()?, r.bytes()?.to_vec());
            let blob = Blob { hash: Hash(r.array()?), len: r.u64()? };
            // No action has two artifacts of one name, nor a hidden one: the journal has such a name.
            if path.is_hidden() || !names.insert(folded(&path)) || blob.len > LONGEST_BLOB {
                return None;
            }
            outputs.push(StoredOutput { path, metadata, blob });
        }
        let warnings = get_diags(&mut r)?;
        if !warnings.iter().all(|diag| diag.severity() == Severity::Warning) {
            return None;
        }
        let took_ms = r.u64()?.min(LONGEST_COOK_MS);
        let answer = Answer { outputs, warnings, took_ms };
        r.is_empty().then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    fn answer() -> Answer {
        let blob = |text: &str| Blob { hash: Hash::of(text.as_bytes()), len: 300 };
        Answer {
            outputs: vec![
                StoredOutput { path: path("a.ktx2"), metadata: b"sRGB".to_vec(), blob: blob("a") },
                StoredOutput { path: path("b/c"), metadata: vec![], blob: blob("b") },
            ],
            warnings: vec![Diag::new(Code::LinkIgnored, "very").path("a.png").at("3").hint("mend it")],
            took_ms: 1234,
        }
    }

    const SEAL: &Seal = &Seal(None);

    #[test]
    fn answers_and_sets_survive_a_round_trip_and_nothing_else_does() {
        let (key, other) = (Hash::of(b"key"), Hash::of(b"other"));
        let sets = vec![Set(vec![(path("a"), Ask::Content), (path("dir"), Ask::Names)]), Set::default()];
        let records = [answer().write(SEAL, key), write_sets(SEAL, key, &sets)];
        let read = |key, bytes: &[u8]| {
            let answer = Answer::read(SEAL, key, bytes);
            answer.is_ok() || read_sets(SEAL, key, bytes).is_ok()
        };
        assert_eq!(Answer::read(SEAL, key, &records[0]), Ok(answer()));
        assert_eq!(read_sets(SEAL, key, &records[1]), Ok(sets));
        for record in &records {
            assert!(!read(other, record));
            for at in 0..record.len() {
                assert!(!read(key, &record[..at]), "{at}");
            }
        }
        // What the message says of files is for servers; all that counts is covered by the hash.
        let (start, whole) = (records[0].len() - 100, Answer::read(SEAL, key, &records[0]));
        for at in start..records[0].len() {
            let mut flipped = records[0].clone();
            flipped[at] ^= 4;
            assert!(
                Answer::read(SEAL, key, &flipped).is_err() || Answer::read(SEAL, key, &flipped) == whole,
                "{at}"
            );
        }
    }

    #[test]
    fn what_no_cook_writes_is_not_believed() {
        let key = Hash::of(b"key");
        let read_back = |answer: &Answer| Answer::read(SEAL, key, &answer.write(SEAL, key));
        for bad in [["a", ".journal"], ["a", "b/.c/d"], ["a", "a"], ["a/b", "A/B"]] {
            let blob = Blob { hash: Hash::of(b"x"), len: 1 };
            let outputs = bad.map(|name| StoredOutput { path: path(name), metadata: vec![], blob }).to_vec();
            let answer = Answer { outputs, ..Answer::default() };
            assert_eq!(read_back(&answer), Err(BadRecord::Damaged), "{bad:?}");
        }
        let error = Diag::new(Code::Unreadable, "a warning that fails the build");
        let answer = Answer { warnings: vec![error], ..Answer::default() };
        assert_eq!(read_back(&answer), Err(BadRecord::Damaged), "{:?}", answer.warnings);
        let endless = Answer { took_ms: u64::MAX, ..Answer::default() };
        assert_eq!(read_back(&endless).unwrap().took_ms, LONGEST_COOK_MS);
        let sets = vec![Set::default(); SETS + 1];
        assert_eq!(read_sets(SEAL, key, &write_sets(SEAL, key, &sets[..SETS])), Ok(sets[..SETS].to_vec()));
        assert_eq!(read_sets(SEAL, key, &write_sets(SEAL, key, &sets)), Err(BadRecord::Damaged));
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
