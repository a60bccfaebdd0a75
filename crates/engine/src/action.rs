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
use crate::{Diag, RelPath};
use std::time::Instant;

/// One unit of work.
pub trait Action: Sync {
    /// What is known of its artifacts.
    type Metadata: Metadata;

    /// The file or directory that it is about; its name in the journal.
    fn source(&self) -> &RelPath;

    /// Recipe, version and resolved settings: lines of `key=value` text that decide, with the bytes read, what comes out.
    /// No paths and no names of machines: equal fingerprints and inputs are equal everywhere.
    fn fingerprint(&self) -> &str;

    /// The first bytes of every file of the format of an artifact; `None` when the format has none. A file that starts
    /// with them may be replaced although no journal records it.
    fn magic(&self, _artifact: &RelPath) -> Option<&'static [u8]> {
        None
    }

    /// An estimate of the memory it needs, for scheduling only.
    fn weight(&self, sources: SourceTree<'_>) -> u64;

    /// Called for every action that is going to run before any of them does, so that what takes long to start can be
    /// started. Returns at once.
    fn prepare(&self, _: SourceTree<'_>) {}

    /// Runs it.
    ///
    /// # Errors
    /// If there is no result. The artifacts of an earlier run stay as they are.
    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<Self::Metadata>>, Diag>;

    /// Checks a cache entry before it stands in for a run. Whoever can write to a shared cache can store anything under a
    /// key, so that nothing in it is believed before this has accepted it.
    ///
    /// # Errors
    /// If no run of this action could have come to it. Then the entry is dropped, and the action runs.
    fn check_cached(&self, _: &mut CacheEntry<'_, Self::Metadata>) -> Result<(), Rejected> {
        Ok(())
    }
}

/// All that a running action may touch: its inputs, the sink that stages its artifacts, results that actions share, and
/// warnings.
pub struct ActionContext<'a> {
    source: &'a RelPath,
    /// The sources, and the record of what was read.
    pub inputs: Inputs<'a>,
    sink: &'a dyn Sink,
    shared: &'a SharedResults,
    cache: Option<&'a Store>,
    /// Whether results of others may be taken from the cache, and not only put into it.
    uses_cached: bool,
    pub(crate) warnings: Vec<Diag>,
}

impl<'a> ActionContext<'a> {
    pub(crate) fn new(
        source: &'a RelPath,
        inputs: Inputs<'a>,
        sink: &'a dyn Sink,
        shared: &'a SharedResults,
        (cache, uses_cached): (Option<&'a Store>, bool),
    ) -> ActionContext<'a> {
        ActionContext { source, inputs, sink, shared, cache, uses_cached, warnings: vec![] }
    }

    /// The file or directory that the action is about.
    pub fn source(&self) -> &'a RelPath {
        self.source
    }

    /// Makes an artifact of these bytes. It gets its name when the whole action has succeeded.
    ///
    /// # Errors
    /// `unwritable` if the sink cannot stage it.
    pub fn artifact<M>(&self, name: &RelPath, metadata: M, bytes: &[u8]) -> Result<Artifact<M>, Diag> {
        self.stage(name, metadata, bytes, Blob::of(bytes), None)
    }

    /// Makes an artifact that is the result of work which others may ask for too; returns it with the warnings about it.
    /// `make` depends on nothing but what `key` was made from; it is not called when somebody's result for this key is at
    /// hand. `accept` says whether cached bytes can be such a result: they may be anybody's.
    ///
    /// # Errors
    /// What `make` fails with, or `unwritable` if the sink cannot stage it.
    pub fn shared_artifact<M>(
        &self,
        name: &RelPath,
        metadata: M,
        key: WorkKey,
        accept: impl FnOnce(&[u8]) -> bool,
        make: impl FnOnce() -> Result<SharedResult, Diag>,
    ) -> Result<(Artifact<M>, Vec<Diag>), Diag> {
        let make = || {
            let cached = self.cache.filter(|_| self.uses_cached);
            if let Some(found) = cached.and_then(|cache| cache.find_work(key, accept)) {
                return Ok(found);
            }
            let start = Instant::now();
            let made = make()?;
            self.cache.inspect(|cache| cache.remember_work(key, &made, start.elapsed()));
            Ok(made)
        };
        let result = self.shared.get(key, name, |placed| self.sink.read(placed), make)?;
        // A later run would not know of the warnings, so it does the work again.
        let work = result.warnings.is_empty().then_some(key);
        let artifact = self.stage(name, metadata, &result.bytes, result.blob, work)?;
        Ok((artifact, result.warnings.clone()))
    }

    fn stage<M>(
        &self,
        name: &RelPath,
        metadata: M,
        bytes: &[u8],
        blob: Blob,
        work: Option<WorkKey>,
    ) -> Result<Artifact<M>, Diag> {
        let staged = self.sink.stage(blob, &mut |file| file.write_all(bytes));
        let staged = staged.map_err(|e| unwritable(name, &e))?;
        self.cache.inspect(|cache| cache.put_blob(blob, bytes));
        Ok(Artifact { name: name.clone(), metadata, content: Content { staged, blob, work } })
    }

    /// Warns about the source, now and whenever its cached result is used.
    pub fn warn(&mut self, warning: Diag) {
        self.warnings.push(warning.or_path(self.source));
    }

    /// Returns whether there was this warning already, whatever its hint.
    pub fn has_warned(&self, warning: &Diag) -> bool {
        let same = |known: &Diag| {
            (&known.code, &known.at, &known.message) == (&warning.code, &warning.at, &warning.message)
        };
        self.warnings.iter().any(same)
    }
}
