//! Publishes the artifacts of finished actions in batches, and records them in the journal.
//!
//! The journal has the name of an artifact before the artifact first appears, and the record of the action after its artifacts
//! are in place. So a killed process leaves no file that the next run does not know.

use super::{Event, Events, Outcome, State, append};
use crate::action::Action;
use crate::artifact::{Artifact, Metadata, PlacedArtifact};
use crate::fs::Stamp;
use crate::hash::Hash;
use crate::journal::Journal;
use crate::publish::unwritable;
use crate::record::{Input, Output, Record};
use crate::run::conflict;
use crate::shared_results::WorkKey;
use crate::sink::{Candidate, Sink};
use crate::stale::RebuildReason;
use crate::store::Access;
use crate::{Code, Diag, RelPath};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of artifacts at which a batch is published.
/// Every artifact that waits has an open file; systems without `syncfs` gain nothing from large batches.
const BATCH_FILES: usize = if cfg!(target_os = "linux") { 256 } else { 64 };
/// The number of artifacts at which the thread that adds one publishes the batch itself, because the publishing thread is
/// still busy with the batch before: a limit for open files.
const MAX_BATCH_FILES: usize = 2 * BATCH_FILES;
/// The age of its oldest action at which a batch is published.
const BATCH_AGE: Duration = Duration::from_millis(500);
/// The interval at which the publishing thread checks the age of the batch.
const BATCH_CHECK: Duration = Duration::from_millis(100);

/// The length in bytes of the longest file name that common file systems allow.
const LONGEST_NAME: usize = 255;

/// An action that has succeeded and waits to be published.
pub(super) struct Finished<M> {
    pub(super) index: usize,
    pub(super) why: RebuildReason,
    pub(super) fetched: bool,
    pub(super) artifacts: Vec<Artifact<M>>,
    pub(super) record: Record<'static>,
}

/// An artifact that is being published.
struct Placement<M> {
    name: RelPath,
    metadata: M,
    hash: Hash,
    work: Option<WorkKey>,
    /// The stamp of the existing file, if it already has the same content and is kept.
    adopted: Option<Stamp>,
}

/// An action whose artifacts are being published.
type Placing<M> = (Finished<M>, Vec<Placement<M>>);

/// An action whose artifacts are published.
type Placed<M> = (Finished<M>, Outcome<M>);

/// Actions that wait to be published.
pub(super) struct Batch<M> {
    finished: Vec<Finished<M>>,
    artifacts: usize,
    since: Option<Instant>,
}

impl<M> Default for Batch<M> {
    fn default() -> Self {
        Batch { finished: vec![], artifacts: 0, since: None }
    }
}

/// Publishes the artifacts of all actions of a run.
pub(super) struct Publisher<'a, A: Action> {
    pub(super) sink: &'a dyn Sink,
    pub(super) actions: &'a [A],
    events: &'a dyn Events,
    journal: Mutex<&'a mut Journal>,
    batch: Mutex<Batch<A::Metadata>>,
    signal: PublishSignal,
    /// The artifact names and actions by slot, of this run and of actions that are up to date.
    owners: Mutex<HashMap<String, (RelPath, usize)>>,
    outcomes: Mutex<BTreeMap<usize, Outcome<A::Metadata>>>,
}

/// The result of claiming artifact names.
pub(super) enum Claim {
    /// The action owns all names.
    Granted,
    /// Another action owns one of the names.
    Disputed(usize),
}

impl<'a, A: Action> Publisher<'a, A> {
    pub(super) fn new(
        sink: &'a dyn Sink,
        journal: &'a mut Journal,
        actions: &'a [A],
        events: &'a dyn Events,
    ) -> Publisher<'a, A> {
        Publisher {
            sink,
            actions,
            events,
            journal: Mutex::new(journal),
            batch: Mutex::default(),
            signal: PublishSignal::default(),
            owners: Mutex::default(),
            outcomes: Mutex::default(),
        }
    }

    /// Claims the artifact names of the actions that are up to date, of which `outcomes` has the artifacts.
    pub(super) fn claim_fresh(&self, outcomes: &[Outcome<A::Metadata>]) {
        let mut owners = lock(&self.owners);
        for (index, outcome) in outcomes.iter().enumerate() {
            for PlacedArtifact { name, .. } in &outcome.artifacts {
                owners.extend(self.sink.slot(name).map(|slot| (slot, (name.clone(), index))));
            }
        }
    }

    /// Returns the paths that the last run of a source accessed.
    pub(super) fn recorded_inputs(&self, source: &RelPath) -> Vec<(RelPath, Access)> {
        let journal = lock(&self.journal);
        let inputs = journal.records().get(source.as_str()).map(|record| record.inputs).unwrap_or_default();
        let access = |input: &Input<'_>| Some((RelPath::new(&*input.path).ok()?, Access::of(input.seen)));
        inputs.iter().filter_map(access).collect()
    }

    /// Claims the artifact names of an action: all, or none if another action owns one of them. `settles` decides whether that
    /// is an error of both.
    ///
    /// # Errors
    /// `output-conflict` for a hidden or duplicate name, or a conflict that is settled; `unwritable` for a name that is too
    /// long.
    pub(super) fn claim(
        &self,
        index: usize,
        artifacts: &[Artifact<A::Metadata>],
        settles: impl FnOnce(usize) -> bool,
    ) -> Result<Claim, Diag> {
        let source = self.actions[index].source();
        let mut slots: HashMap<String, (RelPath, usize)> = HashMap::new();
        let mut owners = lock(&self.owners);
        let mut taken = None;
        for Artifact { name, .. } in artifacts {
            let Some(slot) = self.sink.slot(name) else { continue };
            if name.is_hidden() {
                let message = format!("the action writes {name}, but hidden files are reserved");
                return Err(Diag::new(Code::OutputConflict, message).path(source));
            }
            // Found before the action is reported as done: its file gets this name when it is published.
            let len = name.file_name().len();
            if len > LONGEST_NAME {
                let message = format!("the file name has {len} bytes, and file systems allow {LONGEST_NAME}");
                return Err(unwritable(name, &io::Error::new(io::ErrorKind::InvalidFilename, message)));
            }
            if let Some((first, other)) = owners.get(&slot).filter(|(_, other)| *other != index) {
                taken.get_or_insert_with(|| (name, first.clone(), *other));
            }
            if let Some((first, _)) = slots.insert(slot, (name.clone(), index)) {
                return Err(
                    Diag::new(Code::OutputConflict, format!("the action writes {first} twice")).path(source)
                );
            }
        }
        if let Some((name, first, other)) = taken {
            if !settles(other) {
                return Ok(Claim::Disputed(other));
            }
            let (here, there) = ((source, name), (self.actions[other].source(), &first));
            // The other action keeps its record and old artifacts until one of the two sources is renamed.
            self.fail(other, conflict(there, here), vec![]);
            return Err(conflict(here, there));
        }
        owners.extend(slots);
        Ok(Claim::Granted)
    }

    /// Releases the names and outcomes of actions that are going to run again.
    pub(super) fn release(&self, disputed: &impl Fn(&usize) -> bool) {
        lock(&self.owners).retain(|_, (_, by)| !disputed(by));
        lock(&self.outcomes).retain(|index, _| !disputed(index));
    }

    /// Adds a finished action to the batch. A batch that is due is published, by the publishing thread if there is one, unless
    /// publishing is `deferred`.
    pub(super) fn enqueue(&self, finished: Finished<A::Metadata>, deferred: bool) {
        let mut batch = lock(&self.batch);
        batch.artifacts += finished.artifacts.len();
        batch.finished.push(finished);
        let since = *batch.since.get_or_insert_with(Instant::now);
        let artifacts = batch.artifacts;
        drop(batch);
        let is_due = artifacts >= BATCH_FILES || since.elapsed() >= BATCH_AGE;
        if is_due && !deferred && (artifacts >= MAX_BATCH_FILES || !self.signal.set_due()) {
            self.publish();
        }
    }

    /// Publishes batches that are due: the body of the publishing thread, which ends when the guard of
    /// [`actions_end`](Self::actions_end) is dropped. So threads that run actions do not wait for the disk, and batches are
    /// published while long actions run. A cancelled run publishes at once, because the process ends after a grace period.
    pub(super) fn publish_due(&self, is_cancelled: impl Fn() -> bool) {
        lock(&self.signal.state).has_thread = true;
        while let Some(is_due) = self.signal.wait(BATCH_CHECK) {
            let is_old = |since: Instant| since.elapsed() >= BATCH_AGE || is_cancelled();
            if is_due || lock(&self.batch).since.is_some_and(is_old) {
                self.publish();
            }
        }
    }

    /// Returns the guard that is dropped when the pool runs no more actions.
    pub(super) fn actions_end(&self) -> ActionsEnd<'_> {
        ActionsEnd(&self.signal)
    }

    /// Publishes the artifacts of the batch, removes artifacts that an action no longer returns, then records the actions.
    pub(super) fn publish(&self) {
        let batch = std::mem::take(&mut *lock(&self.batch));
        let count = batch.finished.len();
        self.publish_batch(batch);
        self.events.on(Event::Published { count });
    }

    fn publish_batch(&self, mut batch: Batch<A::Metadata>) {
        // An action that has failed since, because of a conflict, keeps its old artifacts.
        let failed = lock(&self.outcomes);
        batch.finished.retain(|finished| !failed.contains_key(&finished.index));
        drop(failed);
        let mut staged = Vec::with_capacity(batch.artifacts);
        let mut placing: Vec<Placing<A::Metadata>> = Vec::with_capacity(batch.finished.len());
        for mut finished in batch.finished {
            // Checked before the intent is recorded: a rejected name must not be owned by the next run.
            match self.admit(finished.index, &finished.artifacts) {
                Err(error) => self.fail(finished.index, error, finished.record.warnings),
                Ok(adopted) => {
                    let mut placements = Vec::with_capacity(adopted.len());
                    for (artifact, adopted) in
                        std::mem::take(&mut finished.artifacts).into_iter().zip(adopted)
                    {
                        let Artifact { name, metadata, content } = artifact;
                        if adopted.is_none() {
                            staged.push((content.staged, name.clone()));
                        }
                        let (hash, work) = (content.blob.hash, content.work);
                        placements.push(Placement { name, metadata, hash, work, adopted });
                    }
                    placing.push((finished, placements));
                }
            }
        }
        let ready = self.record_intent(&placing).and_then(|()| self.remove_case_variants(&placing));
        if let Err(error) = ready {
            placing.into_iter().for_each(|(finished, _)| self.fail(finished.index, error.clone(), vec![]));
            return;
        }
        let mut stamps = self.sink.publish(staged).into_iter();
        let placing = placing.into_iter().filter_map(|(finished, placements)| {
            let index = finished.index;
            let placed = self.placed(finished, placements, &mut stamps);
            placed.map_err(|error| self.fail(index, error, vec![])).ok()
        });
        let placed: Vec<Placed<A::Metadata>> = placing.collect();
        let error = self.record(placed.iter().map(|(finished, _)| finished)).err();
        for (finished, outcome) in placed {
            match &error {
                // A conflict found in the meantime takes precedence.
                None => _ = lock(&self.outcomes).entry(finished.index).or_insert(outcome),
                Some(error) => self.fail(finished.index, error.clone(), vec![]),
            }
        }
    }

    /// Completes the record of an action whose artifacts were published, and returns its outcome.
    fn placed(
        &self,
        mut finished: Finished<A::Metadata>,
        placements: Vec<Placement<A::Metadata>>,
        stamps: &mut impl Iterator<Item = io::Result<Stamp>>,
    ) -> Result<Placed<A::Metadata>, Diag> {
        let (mut artifacts, mut failed) = (Vec::with_capacity(placements.len()), None);
        for Placement { name, metadata, hash, work, adopted } in placements {
            let published = || stamps.next().unwrap_or_else(|| Err(io::ErrorKind::Other.into()));
            match adopted.map_or_else(published, Ok) {
                Ok(stamp) => {
                    let (path, bytes) = (name.to_string().into(), metadata.encode().into());
                    finished.record.outputs.push(Output { path, stamp, hash, work, metadata: bytes });
                    artifacts.push(PlacedArtifact { name, hash, metadata });
                }
                Err(e) => failed = Some(unwritable(&name, &e)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let why = finished.why.clone();
        let state = if finished.fetched { State::Fetched(why) } else { State::Built(why) };
        let outcome = Outcome { state, artifacts, warnings: finished.record.warnings.clone() };
        Ok((finished, outcome))
    }

    /// Decides whether the artifacts of an action may take their names.
    fn admit(&self, index: usize, artifacts: &[Artifact<A::Metadata>]) -> Result<Vec<Option<Stamp>>, Diag> {
        let (action, journal) = (&self.actions[index], lock(&self.journal));
        let admit = |Artifact { name, content, .. }: &Artifact<_>| {
            let (source, magic) = (action.source(), action.magic(name));
            self.sink.admit(Candidate { source, name, blob: content.blob, magic }, journal.records())
        };
        artifacts.iter().map(admit).collect()
    }

    /// Records the intent to publish new names: if the run is killed and the source deleted before the next run, the artifact
    /// would have no owner otherwise. Such a record has no fingerprint and is out of date. Until an artifact is known to be in
    /// place, every intended content is kept, because any of them may be on disk.
    fn record_intent(&self, placing: &[Placing<A::Metadata>]) -> Result<(), Diag> {
        let mut journal = lock(&self.journal);
        let mut intents: Vec<(&str, Record<'static>)> = Vec::new();
        for (finished, placements) in placing {
            let name = self.actions[finished.index].source().as_str();
            let mut known = journal.records().get(name).map(|r| r.into_owned().outputs).unwrap_or_default();
            let before = known.len();
            for Placement { name, hash, .. } in
                placements.iter().filter(|p| self.sink.slot(&p.name).is_some())
            {
                let is_known =
                    |o: &Output<'_>| o.path == name.as_str() && (o.stamp != Stamp::NONE || o.hash == *hash);
                if !known.iter().any(is_known) {
                    let (path, metadata) = (name.to_string().into(), Default::default());
                    known.push(Output { path, stamp: Stamp::NONE, hash: *hash, work: None, metadata });
                }
            }
            if known.len() > before {
                intents.push((name, Record { outputs: known, ..Record::default() }));
            }
        }
        let changes: Vec<_> = intents.iter().map(|(name, record)| (*name, Some(record))).collect();
        append(&mut journal, &changes)
    }

    /// Removes old artifacts whose names differ from a new name in case only, before the new name is written: on a
    /// case-insensitive file system, removing them afterwards would remove the new file.
    fn remove_case_variants(&self, placing: &[Placing<A::Metadata>]) -> Result<(), Diag> {
        placing.iter().try_for_each(|(finished, _)| {
            self.remove_old(finished.index, |output, owner| {
                owner.is_some_and(|(name, by)| by == finished.index && name != output)
            })
        })
    }

    /// Removes the recorded artifacts of an action that `unwanted` selects by name and current owner of the slot.
    fn remove_old(
        &self,
        index: usize,
        unwanted: impl Fn(&str, Option<(&str, usize)>) -> bool,
    ) -> Result<(), Diag> {
        let journal = lock(&self.journal);
        let Some(old) = journal.records().get(self.actions[index].source().as_str()) else { return Ok(()) };
        let owners = lock(&self.owners);
        let owner = |name: &str| {
            let slot = self.sink.slot(&RelPath::new(name).ok()?)?;
            owners.get(&slot).map(|(name, by)| (name.as_str(), *by))
        };
        let unwanted = |output: &&Output<'_>| unwanted(&output.path, owner(&output.path));
        old.outputs.iter().filter(unwanted).try_for_each(|output| self.sink.remove(output))
    }

    /// Removes obsolete artifacts and records the actions.
    fn record<'f>(&self, placed: impl Iterator<Item = &'f Finished<A::Metadata>> + Clone) -> Result<(), Diag>
    where
        A::Metadata: 'f,
    {
        for finished in placed.clone() {
            self.remove_old(finished.index, |output, owner| {
                owner.is_none_or(|(name, by)| name != output && by != finished.index)
            })?;
        }
        let name = |index: usize| self.actions[index].source().as_str();
        let changes: Vec<_> = placed.map(|f| (name(f.index), Some(&f.record))).collect();
        append(&mut lock(&self.journal), &changes)
    }

    pub(super) fn fail(&self, index: usize, error: Diag, warnings: Vec<Diag>) {
        lock(&self.outcomes).insert(index, Outcome::failed(error, warnings));
    }

    pub(super) fn into_outcomes(self) -> BTreeMap<usize, Outcome<A::Metadata>> {
        self.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signal that wakes the publishing thread.
#[derive(Default)]
struct PublishSignal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Default)]
struct SignalState {
    has_thread: bool,
    is_due: bool,
    has_ended: bool,
}

impl PublishSignal {
    /// Wakes the publishing thread; returns false if there is none.
    fn set_due(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_due = true;
        self.changed.notify_all();
        state.has_thread && !state.has_ended
    }

    /// Waits until a batch is due, or for a duration. Returns whether one is due; `None` at the end of the actions.
    fn wait(&self, duration: Duration) -> Option<bool> {
        let is_idle = |state: &mut SignalState| !(state.is_due || state.has_ended);
        let waited = self.changed.wait_timeout_while(lock(&self.state), duration, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_due = std::mem::take(&mut state.is_due);
        (!state.has_ended).then_some(is_due)
    }
}

/// Ends the publishing thread on drop, also if an action panics.
pub(super) struct ActionsEnd<'a>(&'a PublishSignal);

impl Drop for ActionsEnd<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).has_ended = true;
        self.0.changed.notify_all();
    }
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
