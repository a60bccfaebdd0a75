//! Cache entries of actions, and their keys.
//!
//! The dependencies of an action are known only after it ran, so a lookup has two steps. The **weak key** hashes what is known
//! beforehand: the program, the fingerprint, the source and its content. Its record has the **path sets** that earlier runs
//! accessed. A path set together with the current content of its paths gives the **strong key**, whose record is the cached
//! result: artifacts and warnings. Results never change; path sets are only added.
//!
//! Anyone with write access to a shared cache can write any record, so records that no action could have written are rejected:
//! hidden or duplicate names, errors in place of warnings, unknown codes. `seal.rs` is the envelope.

use super::seal::{BadRecord, FORMAT, Seal};
use crate::artifact::{Metadata, PlacedArtifact};
use crate::cache_entry::Rejected;
use crate::fold::folded;
use crate::hash::Hash;
use crate::record::{Seen, get_diags, put_diags};
use crate::remote::Blob;
use crate::shared_results::WorkKey;
use crate::wire::{Reader, Writer};
use crate::{Diag, RelPath, Severity};
use std::collections::HashSet;

/// The largest number of path sets of a weak key.
pub(crate) const MAX_PATH_SETS: usize = 8;

/// The longest accepted blob, in bytes: outputs are held in memory.
pub(crate) const LONGEST_BLOB: u64 = 4 << 30;

/// The largest accepted duration of an action, in milliseconds: the duration limits the time that a download may take.
const MAX_DURATION_MS: u64 = 60 * 60 * 1000;

/// The kind of access to a path: the content of a file, or a directory listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Access {
    Content,
    Listing,
}

/// The paths that an action accessed, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathSet(pub(crate) Vec<(RelPath, Access)>);

/// An artifact of a cached result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredOutput {
    pub(crate) path: RelPath,
    /// The serialized [`crate::Metadata`].
    pub(crate) metadata: Vec<u8>,
    pub(crate) blob: Blob,
}

/// The cached result of an action, or of shared work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CachedResult {
    pub(crate) outputs: Vec<StoredOutput>,
    pub(crate) warnings: Vec<Diag>,
    /// The duration of the action, in milliseconds.
    pub(crate) took_ms: u64,
}

/// Returns the weak key of an action.
pub(crate) fn weak_key(build: &str, fingerprint: &str, source: &RelPath, seen: Option<Seen>) -> Hash {
    let seen = seen.map(state).unwrap_or_default();
    // The tags are part of the key: changing them invalidates every cache.
    let fields: [&[u8]; 6] =
        [FORMAT, b"question", build.as_bytes(), fingerprint.as_bytes(), source.as_str().as_bytes(), &seen];
    Hash::of_fields(fields)
}

/// Returns the strong key of an action, given the state of the paths that it accesses.
pub(crate) fn strong_key<'a>(weak_key: Hash, seen: impl IntoIterator<Item = (&'a RelPath, Seen)>) -> Hash {
    let mut fields: Vec<Vec<u8>> = vec![FORMAT.to_vec(), b"answer".to_vec(), weak_key.0.to_vec()];
    for (path, seen) in seen {
        fields.push(path.as_str().as_bytes().to_vec());
        fields.push(state(seen));
    }
    Hash::of_fields(fields.iter().map(Vec::as_slice))
}

/// Returns the key of the record of a shared result.
pub(crate) fn work_key(build: &str, key: WorkKey) -> Hash {
    Hash::of_fields([FORMAT, b"work", build.as_bytes(), &key.0])
}

/// Serializes the state of a path for a key, without stamps, which differ between machines.
pub(super) fn state(seen: Seen) -> Vec<u8> {
    match seen {
        Seen::File { hash, .. } => [b"f", hash.0.as_slice()].concat(),
        Seen::Absent => b"-".to_vec(),
        Seen::Listing(hash) => [b"l", hash.0.as_slice()].concat(),
    }
}

impl Access {
    /// Returns the kind of access that saw this state.
    pub(crate) fn of(seen: Seen) -> Access {
        if matches!(seen, Seen::Listing(_)) { Access::Listing } else { Access::Content }
    }
}

impl PathSet {
    /// Returns the path set of recorded accesses.
    pub(crate) fn of<'a>(seen: impl IntoIterator<Item = (&'a RelPath, Seen)>) -> PathSet {
        PathSet(seen.into_iter().map(|(path, seen)| (path.clone(), Access::of(seen))).collect())
    }
}

/// Serializes path sets as a record.
pub(crate) fn write_path_sets(seal: &Seal, key: Hash, sets: &[PathSet]) -> Vec<u8> {
    let mut w = Writer::new();
    w.count(sets.len());
    for set in sets {
        w.count(set.0.len());
        for (path, access) in &set.0 {
            w.text(path.as_str());
            w.u8(matches!(access, Access::Listing).into());
        }
    }
    seal.seal(key, &w.finish(), &[])
}

/// Deserializes and verifies a record of path sets.
pub(crate) fn read_path_sets(seal: &Seal, key: Hash, record: &[u8]) -> Result<Vec<PathSet>, BadRecord> {
    let body = seal.unseal(key, record)?;
    get_path_sets(&mut Reader::new(body)).ok_or(BadRecord::Damaged)
}

fn get_path_sets(r: &mut Reader<'_>) -> Option<Vec<PathSet>> {
    // Each set costs a lookup on the server, so no more are accepted than are written.
    let count = Some(r.count()?).filter(|count| *count <= MAX_PATH_SETS)?;
    let mut sets = Vec::new();
    for _ in 0..count {
        let paths = r.count()?;
        let mut set = Vec::new();
        for _ in 0..paths {
            let path = RelPath::new(r.text()?).ok()?;
            let access = [Access::Content, Access::Listing].get(usize::from(r.u8()?)).copied()?;
            set.push((path, access));
        }
        sets.push(PathSet(set));
    }
    r.is_empty().then_some(sets)
}

impl CachedResult {
    /// Iterates over the blobs of the artifacts.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = Blob> {
        self.outputs.iter().map(|output| output.blob)
    }

    /// Returns the artifacts with their metadata.
    ///
    /// # Errors
    /// If the metadata of an artifact is damaged.
    pub(crate) fn artifacts<M: Metadata>(&self) -> Result<Vec<PlacedArtifact<M>>, Rejected> {
        let artifact = |output: &StoredOutput| {
            let metadata = M::decode(&output.metadata)
                .ok_or_else(|| Rejected(format!("the metadata of {} is damaged", output.path)))?;
            Ok(PlacedArtifact { name: output.path.clone(), hash: output.blob.hash, metadata })
        };
        self.outputs.iter().map(artifact).collect()
    }

    /// Returns whether two results are equal apart from their durations.
    pub(crate) fn is_same(&self, other: &CachedResult) -> bool {
        self.outputs == other.outputs && self.warnings == other.warnings
    }

    /// Serializes the result as a record.
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

    /// Deserializes and verifies a record.
    pub(crate) fn read(seal: &Seal, key: Hash, record: &[u8]) -> Result<CachedResult, BadRecord> {
        let body = seal.unseal(key, record)?;
        CachedResult::get(Reader::new(body)).ok_or(BadRecord::Damaged)
    }

    fn get(mut r: Reader<'_>) -> Option<CachedResult> {
        let count = r.count()?;
        let (mut outputs, mut names) = (Vec::new(), HashSet::new());
        for _ in 0..count {
            let (path, metadata) = (RelPath::new(r.text()?).ok()?, r.bytes()?.to_vec());
            let blob = Blob { hash: Hash(r.array()?), len: r.u64()? };
            // No action has duplicate or hidden artifact names; the journal is a hidden file.
            if path.is_hidden() || !names.insert(folded(&path)) || blob.len > LONGEST_BLOB {
                return None;
            }
            outputs.push(StoredOutput { path, metadata, blob });
        }
        let warnings = get_diags(&mut r)?;
        if !warnings.iter().all(|diag| diag.severity() == Severity::Warning) {
            return None;
        }
        let took_ms = r.u64()?.min(MAX_DURATION_MS);
        let result = CachedResult { outputs, warnings, took_ms };
        r.is_empty().then_some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    fn result() -> CachedResult {
        let blob = |text: &str| Blob { hash: Hash::of(text.as_bytes()), len: 300 };
        CachedResult {
            outputs: vec![
                StoredOutput { path: path("a.ktx2"), metadata: b"sRGB".to_vec(), blob: blob("a") },
                StoredOutput { path: path("b/c"), metadata: vec![], blob: blob("b") },
            ],
            warnings: vec![Diag::new(Code::SymlinkIgnored, "very").path("a.png").at("3").hint("correct it")],
            took_ms: 1234,
        }
    }

    const SEAL: &Seal = &Seal(None);

    #[test]
    fn round_trips_results_and_path_sets() {
        let (key, other) = (Hash::of(b"key"), Hash::of(b"other"));
        let sets = vec![
            PathSet(vec![(path("a"), Access::Content), (path("dir"), Access::Listing)]),
            PathSet::default(),
        ];
        let records = [result().write(SEAL, key), write_path_sets(SEAL, key, &sets)];
        let read = |key, bytes: &[u8]| {
            let result = CachedResult::read(SEAL, key, bytes);
            result.is_ok() || read_path_sets(SEAL, key, bytes).is_ok()
        };
        assert_eq!(CachedResult::read(SEAL, key, &records[0]), Ok(result()));
        assert_eq!(read_path_sets(SEAL, key, &records[1]), Ok(sets));
        for record in &records {
            assert!(!read(other, record));
            for at in 0..record.len() {
                assert!(!read(key, &record[..at]), "{at}");
            }
        }
        // The list of files is for servers; everything else is covered by the hash.
        let (start, whole) = (records[0].len() - 100, CachedResult::read(SEAL, key, &records[0]));
        for at in start..records[0].len() {
            let mut flipped = records[0].clone();
            flipped[at] ^= 4;
            assert!(
                CachedResult::read(SEAL, key, &flipped).is_err()
                    || CachedResult::read(SEAL, key, &flipped) == whole,
                "{at}"
            );
        }
    }

    #[test]
    fn rejects_records_that_no_action_writes() {
        let key = Hash::of(b"key");
        let read_back = |result: &CachedResult| CachedResult::read(SEAL, key, &result.write(SEAL, key));
        for bad in [["a", ".journal"], ["a", "b/.c/d"], ["a", "a"], ["a/b", "A/B"]] {
            let blob = Blob { hash: Hash::of(b"x"), len: 1 };
            let outputs = bad.map(|name| StoredOutput { path: path(name), metadata: vec![], blob }).to_vec();
            let result = CachedResult { outputs, ..CachedResult::default() };
            assert_eq!(read_back(&result), Err(BadRecord::Damaged), "{bad:?}");
        }
        let error = Diag::new(Code::Unreadable, "a warning that fails the build");
        let result = CachedResult { warnings: vec![error], ..CachedResult::default() };
        assert_eq!(read_back(&result), Err(BadRecord::Damaged), "{:?}", result.warnings);
        let endless = CachedResult { took_ms: u64::MAX, ..CachedResult::default() };
        assert_eq!(read_back(&endless).unwrap().took_ms, MAX_DURATION_MS);
        let sets = vec![PathSet::default(); MAX_PATH_SETS + 1];
        assert_eq!(
            read_path_sets(SEAL, key, &write_path_sets(SEAL, key, &sets[..MAX_PATH_SETS])),
            Ok(sets[..MAX_PATH_SETS].to_vec())
        );
        assert_eq!(read_path_sets(SEAL, key, &write_path_sets(SEAL, key, &sets)), Err(BadRecord::Damaged));
    }

    #[test]
    fn keys_depend_on_content_and_not_on_stamps() {
        let file = |mtime_ns, text: &[u8]| Seen::File {
            stamp: crate::Stamp { mtime_ns, changed_ns: 0, len: 1 },
            racy: mtime_ns == 1,
            hash: Hash::of(text),
        };
        let access = |seen| weak_key("kiln 1", "recipe 1", &path("a"), seen);
        assert_eq!(access(Some(file(1, b"x"))), access(Some(file(2, b"x"))));
        let all = [Some(file(1, b"x")), Some(file(1, b"y")), Some(Seen::Absent), None];
        let keys: std::collections::BTreeSet<Hash> = all.into_iter().map(access).collect();
        assert_eq!(keys.len(), 4);
        let (a, b) = (path("a"), path("b"));
        assert_ne!(
            strong_key(access(None), [(&a, Seen::Absent)]),
            strong_key(access(None), [(&b, Seen::Absent)])
        );
    }
}
