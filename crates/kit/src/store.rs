//! Results of cooks, kept beyond one output tree: what was cooked once, in whatever checkout, branch or preset, is
//! copied and not cooked again.
//!
//! A cook is a pure function of its fingerprint and of what it saw, so its result can stand in for it wherever both are
//! the same ([`action`] says how that is found). The store is a help and never an authority: whatever is in it is
//! checked when it is used, and what is missing, damaged or cannot be written costs time and nothing else.

mod action;
mod local;
mod look;
mod sweep;

pub(crate) use action::Blob;
pub(crate) use look::Looks;
pub use sweep::{Stats, Swept};

use crate::cook::Cook;
use crate::record::Seen;
use crate::share::{Made, WorkKey};
use crate::{Diag, Hash, RelPath};
use action::{Answer, SETS, Set, StoredOutput, answer_key, question, read_sets, work_key, write_sets};
use local::{Kind, Local};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A store, as one run of a tool uses it.
pub struct Store {
    local: Local,
    build: String,
    tally: Tally,
    trouble: Mutex<Option<Diag>>,
}

/// What a store did for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How many results were looked for.
    pub asked: u64,
    /// How many of them were there.
    pub found: u64,
    /// How many pieces of shared work were there, for sources whose own result was not.
    pub works: u64,
    /// Bytes that were taken from the store.
    pub bytes_out: u64,
    /// Bytes that were put into it.
    pub bytes_in: u64,
    /// How long the cooks and the work took that were not done again.
    pub saved: Duration,
}

#[derive(Default)]
struct Tally {
    asked: AtomicU64,
    found: AtomicU64,
    works: AtomicU64,
    bytes_out: AtomicU64,
    bytes_in: AtomicU64,
    saved_ms: AtomicU64,
}

/// A stored result that fits what is there now.
pub(crate) struct Found {
    pub(crate) answer: Answer,
    pub(crate) seen: BTreeMap<RelPath, Seen>,
    /// The bytes of each output, then what was kept.
    pub(crate) files: Vec<File>,
}

impl Found {
    /// What the cook kept beside its outputs.
    pub(crate) fn kept(&mut self) -> Option<io::Result<Vec<u8>>> {
        self.answer.kept?;
        let mut bytes = Vec::new();
        let file = self.files.last_mut()?;
        Some(file.read_to_end(&mut bytes).map(|_| bytes))
    }
}

impl Store {
    /// Opens the store in a directory, making it if need be. `build` names the program and its version: results of
    /// another one are not used.
    pub fn open(dir: &Path, build: impl Into<String>) -> io::Result<Store> {
        let local = Local::open(dir)?;
        Ok(Store { local, build: build.into(), tally: Tally::default(), trouble: Mutex::default() })
    }

    /// What it holds.
    pub fn stats(&self) -> Stats {
        sweep::stats(&self.local)
    }

    /// Removes what was not used for longest until no more than `max_bytes` are left; or only says what would go.
    pub fn sweep(&self, max_bytes: u64, dry_run: bool) -> Swept {
        sweep::sweep(&self.local, max_bytes, dry_run)
    }

    /// The same at the end of a build, once a day.
    pub fn sweep_if_due(&self, max_bytes: u64) {
        if self.tally.bytes_in.load(Relaxed) > 0 && sweep::is_due(&self.local) {
            self.sweep(max_bytes, false);
        }
    }

    /// What it did so far.
    pub fn figures(&self) -> Figures {
        let tally = &self.tally;
        Figures {
            asked: tally.asked.load(Relaxed),
            found: tally.found.load(Relaxed),
            works: tally.works.load(Relaxed),
            bytes_out: tally.bytes_out.load(Relaxed),
            bytes_in: tally.bytes_in.load(Relaxed),
            saved: Duration::from_millis(tally.saved_ms.load(Relaxed)),
        }
    }

    /// What is wrong with it, if anything: one warning, however often it happened.
    pub fn trouble(&self) -> Option<Diag> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The result of a cook, if one is there that saw what is there now.
    pub(crate) fn find(&self, looks: &Looks<'_>, fingerprint: &str, source: &RelPath) -> Option<Found> {
        self.tally.asked.fetch_add(1, Relaxed);
        let question = question(&self.build, fingerprint, source, looks.source(source).ok()?);
        let sets = self.sets(question);
        sets.iter().find_map(|set| {
            let see = |(path, ask): &(RelPath, _)| Some((path.clone(), looks.at(path, *ask).ok()?));
            let seen: BTreeMap<RelPath, Seen> = set.0.iter().map(see).collect::<Option<_>>()?;
            let (answer, files) = self.answer(answer_key(question, pairs(&seen)))?;
            Some(Found { answer, seen, files })
        })
    }

    /// Counts a result that was used.
    pub(crate) fn count(&self, found: &Found) {
        self.tally.found.fetch_add(1, Relaxed);
        self.note_use(&found.answer);
    }

    /// Remembers what a cook came to, unless something that it read has changed since.
    pub(crate) fn remember(
        &self,
        looks: &Looks<'_>,
        fingerprint: &str,
        cook: &Cook<'_>,
        payload: &[u8],
        took: Duration,
    ) {
        if !pairs(&cook.seen).all(|(path, seen)| looks.is_still(path, seen)) {
            return;
        }
        let source = cook.source();
        let Ok(seen) = cook.seen.get(source).map_or_else(|| looks.source(source), |seen| Ok(Some(*seen)))
        else {
            return;
        };
        let question = question(&self.build, fingerprint, source, seen);
        let outputs = cook.emitted.iter().map(|emitted| StoredOutput {
            path: emitted.path.clone(),
            blob: emitted.blob,
            work: emitted.work,
        });
        let answer = Answer {
            outputs: outputs.collect(),
            kept: cook.kept,
            payload: payload.to_vec(),
            warnings: cook.warnings.clone(),
            took_ms: took.as_millis() as u64,
        };
        let key = answer_key(question, pairs(&cook.seen));
        self.put(Kind::Record, key, &answer.write(key));
        let set = Set::of(pairs(&cook.seen));
        let mut sets = self.sets(question);
        if !sets.contains(&set) {
            sets.insert(0, set);
            sets.truncate(SETS);
            self.put(Kind::Record, question, &write_sets(question, &sets));
        }
    }

    /// The result of shared work.
    pub(crate) fn find_work(&self, key: WorkKey) -> Option<Made> {
        let (answer, mut files) = self.answer(work_key(&self.build, key))?;
        let mut bytes = Vec::new();
        files.pop()?.read_to_end(&mut bytes).ok()?;
        self.tally.works.fetch_add(1, Relaxed);
        self.note_use(&answer);
        Some(Made { bytes, warnings: answer.warnings })
    }

    /// Remembers the result of shared work.
    pub(crate) fn remember_work(&self, key: WorkKey, made: &Made, took: Duration) {
        let blob = Blob { hash: Hash::of(&made.bytes), len: made.bytes.len() as u64 };
        self.put_blob(blob, &made.bytes);
        let answer = Answer {
            kept: Some(blob),
            warnings: made.warnings.clone(),
            took_ms: took.as_millis() as u64,
            ..Answer::default()
        };
        let key = work_key(&self.build, key);
        self.put(Kind::Record, key, &answer.write(key));
    }

    /// Keeps bytes for the records to come.
    pub(crate) fn put_blob(&self, blob: Blob, bytes: &[u8]) {
        if !self.local.has(blob) {
            self.put(Kind::Blob, blob.hash, bytes);
        }
    }

    fn sets(&self, question: Hash) -> Vec<Set> {
        self.local.record(question).and_then(|record| read_sets(question, &record)).unwrap_or_default()
    }

    /// An answer with all of its bytes.
    fn answer(&self, key: Hash) -> Option<(Answer, Vec<File>)> {
        let answer = Answer::read(key, &self.local.record(key)?)?;
        let files = answer.blobs().map(|blob| self.local.blob(blob)).collect::<Option<_>>()?;
        Some((answer, files))
    }

    fn note_use(&self, answer: &Answer) {
        self.tally.bytes_out.fetch_add(answer.blobs().map(|blob| blob.len).sum(), Relaxed);
        self.tally.saved_ms.fetch_add(answer.took_ms, Relaxed);
    }

    fn put(&self, kind: Kind, hash: Hash, bytes: &[u8]) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.is_some() {
            return;
        }
        drop(trouble);
        match self.local.put(kind, hash, bytes) {
            Ok(()) => _ = self.tally.bytes_in.fetch_add(bytes.len() as u64, Relaxed),
            Err(error) => {
                trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                trouble.get_or_insert_with(|| unwritable(self.local.root(), &error));
            }
        }
    }
}

/// What is said of a store that cannot be used.
pub fn unwritable(dir: &Path, error: &io::Error) -> Diag {
    Diag::warning("store-unwritable", format!("results are not kept: {error}"))
        .path(dir.display())
        .hint("see to its permissions and to free space, or name another directory in KILN_CACHE_DIR")
}

fn pairs(seen: &BTreeMap<RelPath, Seen>) -> impl Iterator<Item = (&RelPath, Seen)> {
    seen.iter().map(|(path, seen)| (path, *seen))
}
