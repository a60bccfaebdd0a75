//! Runs actions on the workers of a server.
//!
//! A command has the source, the files that an earlier run is recorded to have read, and those that a scan finds. A worker that
//! accesses anything else returns which paths: the action is sent again with them. Actions without a result run locally.

use super::Plan;
use super::publisher::lock;
use super::scheduler::Scheduler;
use crate::action::{Action, ActionContext};
use crate::artifact::Artifact;
use crate::inputs::Inputs;
use crate::record::Seen;
use crate::remote::{Blob, CommandFile, FileContent, RemoteExecution, SOURCES};
use crate::store::{Access, RemoteAnswer, RemoteResult};
use crate::{Hash, RelPath};
use std::collections::{BTreeMap, BTreeSet};

/// The number of commands for one action: each has inputs that the one before did not have.
const MAX_ROUNDS: usize = 5;

/// The paths that an action is known to access.
type Accesses = BTreeSet<(RelPath, Access)>;

impl<A: Action> Scheduler<'_, A> {
    /// Runs an action on a server; `None` if it has to run locally.
    pub(super) fn run_remote(
        &self,
        action: &A,
        cx: &mut ActionContext<'_>,
    ) -> Option<Vec<Artifact<A::Metadata>>> {
        let Plan { remote, store, limits, .. } = self.plan;
        let (remote, request) = (remote?, action.remote_request(&limits)?);
        let mut result = self.remote_result(remote, action, &request)?;
        // A worker could return anything, like whoever can write to a cache.
        let checked = result.entry().and_then(|mut entry| action.check_cached(&mut entry));
        if checked.is_err() {
            remote.reject("the result of a worker is not a possible result of its action");
            return None;
        }
        let keep = |blob: Blob, bytes: &[u8]| {
            if let Some(store) = store.filter(|store| !store.is_signed()) {
                store.put_blob(blob, bytes);
            }
        };
        let artifacts = result.stage(action.source(), self.publisher.sink, keep).ok()?;
        cx.inputs.seen = std::mem::take(&mut result.seen);
        cx.warnings = std::mem::take(&mut result.result.warnings);
        cx.note(format!("executed by {}", remote.name()));
        remote.count_executed();
        Some(artifacts)
    }

    fn remote_result(&self, remote: &RemoteExecution, action: &A, request: &[u8]) -> Option<RemoteResult> {
        let mut accesses = self.known_accesses(remote, action);
        let is_cancelled = || self.plan.events.is_cancelled();
        let read = |path: &RelPath| self.sources.fs.read(path).ok();
        for _ in 0..MAX_ROUNDS {
            if !remote.is_enabled() || is_cancelled() {
                return None;
            }
            let (files, directories) = self.command_files(&accesses)?;
            let bytes = remote.execute(request, files, &directories, &read, &is_cancelled)?;
            let Some(answer) = RemoteAnswer::read(&bytes, request, &self.hashes) else {
                remote.reject("the result of a worker is damaged");
                return None;
            };
            match answer {
                RemoteAnswer::Result(result) => return Some(result),
                RemoteAnswer::Failed => return None,
                RemoteAnswer::Missing(missing) => {
                    let known = accesses.len();
                    accesses.extend(missing);
                    // The worker had all of them: a source was modified meanwhile.
                    if accesses.len() == known {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Returns the paths that an action accesses, as far as they are known: its source, those of its last run, those that the
    /// cache knows for this content of the source, and else those that a scan finds.
    fn known_accesses(&self, remote: &RemoteExecution, action: &A) -> Accesses {
        let source = action.source();
        let mut accesses = Accesses::new();
        match self.sources.tree.get(source.as_str()) {
            Some(entry) if entry.file.is_some() => _ = accesses.insert((source.clone(), Access::Content)),
            Some(_) => {
                accesses.insert((source.clone(), Access::Listing));
                let below = self.sources.tree.below(source);
                accesses.extend(below.iter().map(|entry| match entry.file {
                    Some(_) => (entry.path.clone(), Access::Content),
                    None => (entry.path.clone(), Access::Listing),
                }));
            }
            None => {}
        }
        let recorded = self.publisher.recorded_inputs(source);
        let stored =
            self.plan.store.map(|store| store.known_accesses(&self.hashes, action.fingerprint(), source));
        let stored: Vec<_> = stored.into_iter().flatten().flat_map(|set| set.0).collect();
        if recorded.is_empty() && stored.is_empty() {
            let _one_at_a_time = lock(&remote.reading);
            let mut inputs = Inputs::new(self.sources).limited(self.plan.limits);
            action.scan_inputs(&mut inputs);
            accesses.extend(inputs.seen.iter().map(|(path, seen)| (path.clone(), Access::of(*seen))));
        }
        accesses.extend(recorded);
        accesses.extend(stored);
        accesses
    }

    /// Returns the files and directories of a command; `None` if a source cannot be read.
    fn command_files(&self, accesses: &Accesses) -> Option<(Vec<CommandFile>, Vec<String>)> {
        let below_sources = |path: &RelPath| format!("{SOURCES}/{path}");
        let (mut files, mut directories) = (BTreeMap::new(), vec![SOURCES.to_owned()]);
        let nothing = Blob::of(b"");
        for (path, access) in accesses {
            let (blob, content) = match access {
                Access::Content => match self.hash(path)? {
                    Some((hash, len)) => (Blob { hash, len }, FileContent::Source(path.clone())),
                    None => continue,
                },
                Access::Listing => {
                    if self.sources.tree.get(path.as_str()).is_some_and(|entry| entry.file.is_none()) {
                        directories.push(below_sources(path));
                    }
                    // Names are enough for a listing; an entry that is read has its content by another access.
                    for entry in self.sources.tree.children(path) {
                        match entry.file {
                            None => directories.push(below_sources(&entry.path)),
                            Some(_) => {
                                let empty = (nothing, FileContent::Bytes(vec![]));
                                files.entry(entry.path.clone()).or_insert(empty);
                            }
                        }
                    }
                    continue;
                }
            };
            files.insert(path.clone(), (blob, content));
        }
        let file = |(path, (blob, content))| CommandFile {
            path: below_sources(&path),
            blob,
            is_executable: false,
            content,
        };
        Some((files.into_iter().map(file).collect(), directories))
    }

    /// Returns the digest and length of a source; `Some(None)` if it does not exist, `None` if it cannot be read.
    fn hash(&self, path: &RelPath) -> Option<Option<(Hash, u64)>> {
        // One file at a time is in memory while it is hashed.
        let _one_at_a_time = self.plan.remote.map(|remote| lock(&remote.reading));
        Some(match self.hashes.at(path, Access::Content).ok()? {
            Seen::File { hash, stamp, .. } => Some((hash, stamp.len)),
            _ => None,
        })
    }
}
