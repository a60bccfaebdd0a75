//! The result of an action that a worker of a server ran: written by the worker, read and verified by the run.
//!
//! The inputs of an action are known only after it ran. So the result has every path that the action accessed, with the state
//! in which the worker saw it. Where a state differs from that of the local source, the worker did not have an input: the
//! result is not used, and the action is sent again with it. Otherwise the record belongs to exactly the local inputs, because
//! its key is made from them.
//!
//! After the record follow the contents of the artifacts, one after the other.

use super::action::{Access, CachedResult, StoredOutput, state, strong_key};
use super::seal::Seal;
use super::{InputHashes, pairs};
use crate::action::{Action, ActionContext};
use crate::artifact::{Artifact, Content, Metadata};
use crate::cache_entry::{CacheEntry, Contents, Rejected};
use crate::fs::{Fill, Staged, Stamp};
use crate::inputs::{Inputs, SourceTree};
use crate::journal::Records;
use crate::record::{Output, Seen};
use crate::remote::Blob;
use crate::shared_results::SharedResults;
use crate::sink::{Candidate, Sink};
use crate::stale::RebuildReason;
use crate::wire::{Reader, Writer};
use crate::{Diag, Hash, Limits, RelPath};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// The first bytes of a result; the version changes with its layout.
const MAGIC: &[u8] = b"kiln remote result 1\n";

/// Runs an action on a worker, and returns the serialized result. `inputs` has the accesses that were needed to make the action
/// from the request, which a run on another machine needs, too. Errors are a part of the result: the run that sent the request
/// decides whether they are due to missing inputs.
pub fn run_action<A: Action>(
    action: Result<&A, Diag>,
    sources: SourceTree<'_>,
    request: &[u8],
    inputs: &Inputs<'_>,
    limits: Limits,
) -> Vec<u8> {
    let mut seen = inputs.seen.clone();
    let outcome = action.and_then(|action| {
        let (sink, shared, start) = (MemorySink, SharedResults::default(), Instant::now());
        let inputs = Inputs::new(sources).limited(limits);
        let mut cx = ActionContext::new(action.source(), inputs, &sink, &shared, (None, false));
        let artifacts = action.run(&mut cx);
        seen.extend(std::mem::take(&mut cx.inputs.seen));
        Ok((artifacts?, cx.warnings, start.elapsed()))
    });
    let (record, contents, error) = match outcome {
        Ok((artifacts, warnings, took)) => {
            let (mut outputs, mut contents) = (Vec::new(), Vec::new());
            for Artifact { name, metadata, content } in artifacts {
                let bytes: Vec<u8> = content.staged.into_inner().unwrap_or_default();
                let blob = Blob::of(&bytes);
                outputs.push(StoredOutput { path: name, metadata: metadata.encode(), blob });
                contents.push(bytes);
            }
            let result = CachedResult { outputs, warnings, took_ms: took.as_millis() as u64 };
            let key = strong_key(Hash::of(request), pairs(&seen));
            (result.write(&Seal::default(), key), contents, String::new())
        }
        Err(error) => (vec![], vec![], error.to_string()),
    };
    let mut w = Writer::new();
    w.raw(MAGIC);
    w.count(seen.len());
    for (path, seen) in &seen {
        w.text(path.as_str());
        w.u8((Access::of(*seen) == Access::Listing).into());
        w.bytes(&state(*seen));
    }
    w.bytes(&record);
    w.text(&error);
    contents.iter().for_each(|bytes| w.raw(bytes));
    w.finish()
}

/// The answer of a worker.
pub(crate) enum RemoteAnswer {
    /// The result of the action with the local inputs.
    Result(RemoteResult),
    /// Inputs that the worker did not have, or had in another state.
    Missing(Vec<(RelPath, Access)>),
    /// The action failed on the worker.
    Failed,
}

/// The verified result of an action that a worker ran.
pub(crate) struct RemoteResult {
    pub(crate) result: CachedResult,
    pub(crate) seen: BTreeMap<RelPath, Seen>,
    contents: Vec<Vec<u8>>,
}

impl RemoteAnswer {
    /// Reads an answer and verifies it; `None` if no worker writes it.
    pub(crate) fn read(bytes: &[u8], request: &[u8], hashes: &InputHashes<'_>) -> Option<RemoteAnswer> {
        let mut r = Reader::new(bytes.strip_prefix(MAGIC)?);
        let (mut seen, mut missing) = (BTreeMap::new(), Vec::new());
        for _ in 0..r.count()? {
            let path = RelPath::new(r.text()?).ok()?;
            let access = [Access::Content, Access::Listing].get(usize::from(r.u8()?)).copied()?;
            let there = r.bytes()?;
            match hashes.at(&path, access) {
                Ok(here) if state(here) == there => _ = seen.insert(path, here),
                _ => missing.push((path, access)),
            }
        }
        if !missing.is_empty() {
            return Some(RemoteAnswer::Missing(missing));
        }
        let record = r.bytes()?;
        let _error = r.text()?;
        if record.is_empty() {
            return Some(RemoteAnswer::Failed);
        }
        let key = strong_key(Hash::of(request), pairs(&seen));
        let result = CachedResult::read(&Seal::default(), key, record).ok()?;
        let mut contents = Vec::new();
        for blob in result.blobs() {
            let bytes = r.take(usize::try_from(blob.len).ok()?)?;
            if Blob::of(bytes) != blob {
                return None;
            }
            contents.push(bytes.to_vec());
        }
        r.is_empty().then_some(RemoteAnswer::Result(RemoteResult { result, seen, contents }))
    }
}

impl RemoteResult {
    /// Returns the result as a cache entry, for validation by the tool.
    ///
    /// # Errors
    /// If the metadata of an artifact is damaged.
    pub(crate) fn entry<M: Metadata>(&self) -> Result<CacheEntry<'_, M>, Rejected> {
        let artifacts = self.result.artifacts()?;
        Ok(CacheEntry { artifacts, inputs: &self.seen, contents: Contents::Bytes(&self.contents) })
    }

    /// Moves the artifacts to a sink; all or none. `keep` gets each content first.
    ///
    /// # Errors
    /// If one cannot be staged.
    pub(crate) fn stage<M: Metadata>(
        &mut self,
        source: &RelPath,
        sink: &dyn Sink,
        keep: impl Fn(Blob, &[u8]),
    ) -> io::Result<Vec<Artifact<M>>> {
        let contents = std::mem::take(&mut self.contents);
        let artifacts = self.result.outputs.iter().zip(contents).map(|(output, bytes)| {
            let metadata = M::decode(&output.metadata).ok_or(io::ErrorKind::InvalidData)?;
            keep(output.blob, &bytes);
            let staged = sink.stage_bytes(source, output.blob, bytes)?;
            let content = Content { staged, blob: output.blob, work: None };
            Ok(Artifact { name: output.path.clone(), metadata, content })
        });
        artifacts.collect()
    }
}

/// The sink of a worker: artifacts stay in memory until they are serialized.
struct MemorySink;

impl Sink for MemorySink {
    fn stage(&self, _: Blob, fill: Fill<'_>) -> io::Result<Staged> {
        let mut bytes = Vec::new();
        fill(&mut bytes)?;
        Ok(Staged::new(bytes))
    }

    fn stage_bytes(&self, _: &RelPath, _: Blob, bytes: Vec<u8>) -> io::Result<Staged> {
        Ok(Staged::new(bytes))
    }

    fn slot(&self, _: &RelPath) -> Option<String> {
        None
    }

    fn admit(&self, _: Candidate<'_>, _: &Records) -> Result<Option<Stamp>, Diag> {
        Ok(None)
    }

    fn publish(&self, _: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        vec![]
    }

    fn find(&self, _: &Output<'_>, _: bool, _: &mut usize) -> Result<Stamp, RebuildReason> {
        Err(RebuildReason::New)
    }

    fn read(&self, _: &RelPath) -> Option<Vec<u8>> {
        None
    }

    fn remove(&self, _: &Output<'_>) -> Result<(), Diag> {
        Ok(())
    }
}
