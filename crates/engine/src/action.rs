//! Actions: the unit that is scheduled, cached and recorded. An action reads sources through its [`ActionContext`] and
//! returns [artifacts](Artifact); it may touch nothing else.

use crate::artifact::{Artifact, Content, Metadata};
use crate::cache_entry::{CacheEntry, Rejected};
use crate::inputs::{Inputs, SourceTree};
use crate::publish::unwritable;
use crate::remote::Blob;
use crate::shared_results::{SharedResult, SharedResults, WorkKey};
use crate::sink::Sink;
use crate::store::Store;
use crate::{Diag, Hash, Limits, RelPath};
use std::cell::Cell;
use std::time::Instant;

/// A unit of work: reads sources and returns artifacts. Runs with equal fingerprints and inputs return equal artifacts.
pub trait Action: Sync {
    /// The metadata of its artifacts.
    type Metadata: Metadata;

    /// Returns the source file or directory, which is the name of the action in the journal.
    fn source(&self) -> &RelPath;

    /// Returns the recipe, its version and the resolved settings as lines of `key=value`. Together with the bytes read, the
    /// fingerprint determines the artifacts. It contains no paths and no host names, so that it is equal on every machine.
    fn fingerprint(&self) -> &str;

    /// Returns the magic number of the format of an artifact; `None` if the format has none. A file that starts with it may
    /// be replaced although no journal records it.
    fn magic(&self, _artifact: &RelPath) -> Option<&'static [u8]> {
        None
    }

    /// Estimates the memory that the action needs, in bytes, for scheduling only.
    fn weight(&self, sources: SourceTree<'_>) -> u64;

    /// Starts slow preparations, such as worker processes. Called for every action that is going to run, before any of them
    /// runs; must not block.
    fn prepare(&self, _: SourceTree<'_>) {}

    /// Runs the action.
    ///
    /// # Errors
    /// If there is no result. The artifacts of an earlier run are kept.
    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<Self::Metadata>>, Diag>;

    /// Returns the request from which a worker of a [server](crate::remote::RemoteExecution) makes this action again; `None` if
    /// the action runs on this machine only.
    fn remote_request(&self, _: &Limits) -> Option<Vec<u8>> {
        None
    }

    /// Reads the files that a run is going to read, as far as they are known without running: a cheap scan of references.
    fn scan_inputs(&self, _: &mut Inputs<'_>) {}

    /// Validates a cache entry before it is used in place of a run. Anyone with write access to a shared cache can store any
    /// bytes under a key.
    ///
    /// # Errors
    /// If no run of this action could have returned the entry. The entry is then evicted, and the action runs.
    fn check_cached(&self, _: &mut CacheEntry<'_, Self::Metadata>) -> Result<(), Rejected> {
        Ok(())
    }
}

/// The only interface of a running action to the outside: its inputs, the sink that stages its artifacts, results that
/// actions share, and warnings.
pub struct ActionContext<'a> {
    source: &'a RelPath,
    /// The sources, with a record of every read.
    pub inputs: Inputs<'a>,
    sink: &'a dyn Sink,
    shared: &'a SharedResults,
    cache: Option<&'a Store>,
    /// True if artifacts are identified by the digest of their content, also without a cache.
    needs_digests: bool,
    /// True if results are read from the cache; they are always written to it.
    uses_cached: bool,
    pub(crate) warnings: Vec<Diag>,
    pub(crate) notes: Vec<String>,
}

impl<'a> ActionContext<'a> {
    pub(crate) fn new(
        source: &'a RelPath,
        inputs: Inputs<'a>,
        sink: &'a dyn Sink,
        shared: &'a SharedResults,
        (cache, uses_cached): (Option<&'a Store>, bool),
    ) -> ActionContext<'a> {
        ActionContext {
            source,
            inputs,
            sink,
            shared,
            cache,
            needs_digests: cache.is_some(),
            uses_cached,
            warnings: vec![],
            notes: vec![],
        }
    }

    /// Identifies artifacts by the digest of their content, because other artifacts of the run come from a server.
    pub(crate) fn with_digests(self, needs_digests: bool) -> ActionContext<'a> {
        ActionContext { needs_digests: self.needs_digests || needs_digests, ..self }
    }

    /// Returns the source file or directory of the action.
    pub fn source(&self) -> &'a RelPath {
        self.source
    }

    /// Makes an artifact with these bytes. It is published under its name when the whole action has succeeded.
    ///
    /// # Errors
    /// `unwritable` if the sink cannot stage it.
    pub fn artifact<M>(&self, name: &RelPath, metadata: M, bytes: &[u8]) -> Result<Artifact<M>, Diag> {
        self.stage(name, metadata, bytes, (Blob::of(bytes), None), false)
    }

    /// Makes an artifact like [`artifact`](Self::artifact), from bytes that the sink may keep. `identity` takes the place of
    /// their digest where no cache needs it, in a sink that tells artifacts apart by it.
    ///
    /// # Errors
    /// `unwritable` if the sink cannot stage it.
    pub fn identified_artifact<M>(
        &self,
        name: &RelPath,
        metadata: M,
        bytes: Vec<u8>,
        identity: Hash,
    ) -> Result<Artifact<M>, Diag> {
        let blob = match self.needs_digests {
            true => Blob::of(&bytes),
            false => Blob { hash: identity, len: bytes.len() as u64 },
        };
        self.cache.inspect(|cache| cache.put_blob(blob, &bytes));
        let staged = self.sink.stage_bytes(self.source, blob, bytes).map_err(|e| unwritable(name, &e))?;
        Ok(Artifact { name: name.clone(), metadata, content: Content { staged, blob, work: None } })
    }

    /// Makes an artifact from the result of work that several actions share; returns it with its warnings. `make` must be a
    /// pure function of the fields that `key` was made from; it is not called if a result for this key is known. `accept`
    /// validates the bytes of a cached result.
    ///
    /// # Errors
    /// The error of `make`, or `unwritable` if the sink cannot stage the artifact.
    pub fn shared_artifact<M>(
        &self,
        name: &RelPath,
        metadata: M,
        key: WorkKey,
        accept: impl FnOnce(&[u8]) -> bool,
        make: impl FnOnce() -> Result<SharedResult, Diag>,
    ) -> Result<(Artifact<M>, Vec<Diag>), Diag> {
        // True if the cache has just stored the content, with the record of the shared work.
        let is_cached = Cell::new(false);
        let make = || {
            let cached = self.cache.filter(|_| self.uses_cached);
            if let Some(found) = cached.and_then(|cache| cache.find_shared_result(key, accept)) {
                return Ok(found);
            }
            let start = Instant::now();
            let result = make()?;
            self.cache.inspect(|cache| {
                cache.store_shared_result(key, &result, start.elapsed());
                is_cached.set(true);
            });
            Ok(result)
        };
        let result = self.shared.get(key, name, |placed| self.sink.read(placed), make)?;
        // The journal does not record the warnings of shared work, so a later run has to do the work again.
        let work = result.warnings.is_empty().then_some(key);
        let content = (result.blob, work);
        let artifact = self.stage(name, metadata, &result.bytes, content, is_cached.get())?;
        Ok((artifact, result.warnings.clone()))
    }

    fn stage<M>(
        &self,
        name: &RelPath,
        metadata: M,
        bytes: &[u8],
        (blob, work): (Blob, Option<WorkKey>),
        is_cached: bool,
    ) -> Result<Artifact<M>, Diag> {
        let staged = self.sink.stage(blob, &mut |file| file.write_all(bytes));
        let staged = staged.map_err(|e| unwritable(name, &e))?;
        self.cache.filter(|_| !is_cached).inspect(|cache| cache.put_blob(blob, bytes));
        Ok(Artifact { name: name.clone(), metadata, content: Content { staged, blob, work } })
    }

    /// Adds a warning about the source. It is repeated whenever the cached result is used.
    pub fn warn(&mut self, warning: Diag) {
        self.warnings.push(warning.or_path(self.source));
    }

    /// Adds a detail about this run for verbose output, such as a duration. It is not part of the result, so a cached
    /// result has none.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Returns whether an equal warning, apart from the hint, was added before.
    pub fn has_warned(&self, warning: &Diag) -> bool {
        let same = |known: &Diag| {
            (&known.code, &known.at, &known.message) == (&warning.code, &warning.at, &warning.message)
        };
        self.warnings.iter().any(same)
    }
}
