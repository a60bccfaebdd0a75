//! The main loop of every tool: checks which actions are up to date, runs the others in parallel, publishes their artifacts and
//! records them in the journal.
//!
//! Actions run in one thread pool that they may also use inside; they start largest first, as many at a time as the
//! memory budget admits. Finished actions are published in batches: artifacts flushed together, renamed, and only then
//! recorded, so that a killed process loses the actions in flight and nothing else.

mod prefetch;
mod publisher;
mod queue;
mod remote;
mod scheduler;

use crate::action::Action;
use crate::artifact::{Metadata, PlacedArtifact};
use crate::inputs::SourceTree;
use crate::journal::{Journal, Records};
use crate::record::{Output, Record};
use crate::remote::RemoteExecution;
use crate::shared_results::{Placed, SharedResults};
use crate::sink::Sink;
use crate::stale::{RebuildReason, Verdict, judge};
use crate::store::Store;
use crate::{Code, Diag, Limits, RelPath, counted};
use rayon::prelude::*;
use scheduler::Scheduler;
use std::collections::HashSet;
use std::time::Duration;

/// An event of a run, for progress output.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Another process holds the lock of the output; the run waits for it.
    Waiting,
    /// All actions were checked.
    Judged {
        /// The number of actions.
        total: usize,
        /// The number of actions that are out of date.
        stale: usize,
    },
    /// An action started.
    Started {
        /// The source of the action.
        source: &'a RelPath,
    },
    /// An action finished.
    Finished {
        /// The source of the action.
        source: &'a RelPath,
        /// The reason to run it.
        why: &'a RebuildReason,
        /// True if the result came from the cache.
        fetched: bool,
        /// The error, if the action failed.
        error: Option<&'a Diag>,
        /// The duration.
        took: Duration,
        /// Details for verbose output.
        notes: &'a [String],
    },
    /// Actions that had finished without an error are published and recorded, or have failed to be. Sent after
    /// [`Finished`](Event::Finished), for one or several actions at once.
    Published {
        /// The number of actions.
        count: usize,
    },
}

/// A receiver of events, called from any thread.
pub trait Events: Sync {
    /// Receives an event.
    fn on(&self, event: Event<'_>);
    /// Returns whether the run is cancelled: actions in flight are finished and recorded, no other starts, and the others
    /// fail with the error `cancelled`.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Ignores all events.
impl Events for () {
    fn on(&self, _event: Event<'_>) {}
}

/// The state of an action after a run.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    /// The action was up to date.
    Fresh,
    /// The action ran.
    Built(RebuildReason),
    /// The action was out of date, and the result came from the cache.
    Fetched(RebuildReason),
    /// The action failed; the old artifacts are kept.
    Failed(Box<Diag>),
}

/// The outcome of one action.
#[derive(Debug)]
pub struct Outcome<M> {
    /// The state of the action.
    pub state: State,
    /// The artifacts, from this run or an earlier one; none if the action failed.
    pub artifacts: Vec<PlacedArtifact<M>>,
    /// The warnings, from this run or an earlier one.
    pub warnings: Vec<Diag>,
}

impl<M> Outcome<M> {
    fn failed(error: Diag, warnings: Vec<Diag>) -> Outcome<M> {
        Outcome { state: State::Failed(error.into()), artifacts: vec![], warnings }
    }
}

/// The options of a run.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The thread pool for actions and for the parallel work inside them.
    pub pool: &'a rayon::ThreadPool,
    /// True if every action runs, even if it is up to date.
    pub force: bool,
    /// True if the content of artifacts is compared with the journal, even if their stamps are unchanged.
    pub verify: bool,
    /// True if artifacts of deleted sources are removed. Must be false if a part of the source tree could not be read: an
    /// unreadable source is not deleted.
    pub prune: bool,
    /// The cache: looked up before an action runs (unless `force` is set), and filled afterwards.
    pub store: Option<&'a Store>,
    /// The server that runs actions, besides the pool.
    pub remote: Option<&'a RemoteExecution>,
    /// True if actions start in the order of the list, for a sink that writes artifacts in that order. Otherwise those that
    /// need the most memory start first.
    pub in_order: bool,
    /// Limits on each action. Actions in flight share the memory by estimate; an action that needs more runs alone.
    pub limits: Limits,
    /// The receiver of events.
    pub events: &'a dyn Events,
}

impl<'a> Plan<'a> {
    /// Makes the options of an incremental run that removes the artifacts of deleted sources, without a cache, with the
    /// default limits.
    pub fn new(pool: &'a rayon::ThreadPool) -> Plan<'a> {
        let limits = Limits::default();
        Plan {
            pool,
            force: false,
            verify: false,
            prune: true,
            store: None,
            remote: None,
            in_order: false,
            limits,
            events: &(),
        }
    }
}

/// Brings the artifacts of all actions up to date and removes those of deleted sources. Records of the journal whose names are
/// in `keep` belong to the tool and are not changed. Returns one outcome for each action, in order.
///
/// # Errors
/// `journal-unwritable`. The error of an action is in its outcome; that of an action that did not start because
/// [`Events::is_cancelled`] was true is `cancelled` (see [`cancelled`]).
pub fn run<A: Action>(
    sources: SourceTree<'_>,
    sink: &dyn Sink,
    journal: &mut Journal,
    actions: &[A],
    keep: &[&str],
    plan: Plan<'_>,
) -> Result<Vec<Outcome<A::Metadata>>, Diag> {
    let records = journal.records();
    let verdicts = plan.pool.install(|| verdicts(sources, sink, records, actions, plan));
    // Orphans exist only if there are more records than actions and records of the tool.
    let new = |judged: &&Judged<_>| matches!(judged, Judged::Stale(RebuildReason::New, _));
    let known = actions.len() - verdicts.iter().filter(new).count()
        + keep.iter().filter(|name| records.contains(name)).count();
    if plan.prune && known < records.len() {
        remove_orphans(sink, journal, actions, keep)?;
    }

    let mut outcomes = Vec::with_capacity(actions.len());
    let mut stale: Vec<(u64, usize, RebuildReason)> = Vec::new();
    let mut restamped: Vec<(String, Record<'static>)> = Vec::new();
    for (index, judged) in verdicts.into_iter().enumerate() {
        match judged {
            Judged::Fresh(fresh, record) => {
                restamped.extend(record.map(|record| (actions[index].source().to_string(), *record)));
                outcomes.push(fresh);
            }
            Judged::Stale(why, weight) => {
                stale.push((weight, index, why));
                outcomes.push(Outcome::failed(
                    Diag::new(Code::ActionLost, "the action ended without a result"),
                    vec![],
                ));
            }
        }
    }
    let changes: Vec<_> = restamped.iter().map(|(name, record)| (name.as_str(), Some(record))).collect();
    append(journal, &changes)?;
    plan.events.on(Event::Judged { total: actions.len(), stale: stale.len() });

    stale.iter().for_each(|(_, index, _)| actions[*index].prepare(sources));
    if !plan.in_order {
        stale.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| actions[a.1].source().cmp(actions[b.1].source())));
    }
    let shared = match stale.is_empty() || plan.force {
        true => SharedResults::default(),
        false => earlier_results(journal.records()),
    };
    let scheduler = Scheduler::new(sources, sink, journal, actions, shared, plan);
    scheduler.run_all(stale, &outcomes);
    for (index, outcome) in scheduler.into_outcomes() {
        outcomes[index] = outcome;
    }
    if plan.events.is_cancelled() {
        let is_lost = |state: &State| matches!(state, State::Failed(error) if error.code == Code::ActionLost);
        for outcome in outcomes.iter_mut().filter(|outcome| is_lost(&outcome.state)) {
            let error = Diag::new(Code::Cancelled, "the run was cancelled before the action started");
            outcome.state = State::Failed(error.into());
        }
    }
    journal.compact().map_err(|e| unwritable(journal, &e))?;
    Ok(outcomes)
}

/// Returns the error `cancelled` if the run was cancelled before all actions had run, with the numbers of actions that were
/// finished and that are left.
pub fn cancelled<M>(outcomes: &[Outcome<M>]) -> Option<Diag> {
    let is_left = |o: &&Outcome<M>| matches!(&o.state, State::Failed(error) if error.code == Code::Cancelled);
    let is_done = |o: &&Outcome<M>| matches!(o.state, State::Built(_) | State::Fetched(_));
    let (done, left) = (outcomes.iter().filter(is_done).count(), outcomes.iter().filter(is_left).count());
    let done = counted(done, "asset", "assets");
    let message = format!("interrupted: {done} built and kept, {left} left");
    (left > 0).then(|| Diag::new(Code::Cancelled, message).hint("run the command again to build the others"))
}

/// Returns the record of a link step if it is up to date: its fingerprint and inputs are unchanged, and `find` finds its
/// output. The record is updated if stamps changed.
///
/// # Errors
/// `journal-unwritable` if the updated record cannot be written.
pub fn up_to_date(
    sources: SourceTree<'_>,
    journal: &mut Journal,
    name: &str,
    fingerprint: &str,
    find: impl FnMut(&Output<'_>) -> Result<crate::Stamp, RebuildReason>,
) -> Result<Option<Record<'static>>, Diag> {
    let Some(record) = journal.records().get(name).map(Record::into_owned) else { return Ok(None) };
    match judge(sources, fingerprint, record.clone(), &mut 0, find) {
        Verdict::Stale(_) => Ok(None),
        Verdict::Fresh(None) => Ok(Some(record)),
        Verdict::Fresh(Some(moved)) => {
            append(journal, &[(name, Some(&moved))])?;
            Ok(Some(moved))
        }
    }
}

/// Collects the results of shared work that earlier runs published.
fn earlier_results(records: &Records) -> SharedResults {
    let outputs = records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs);
    SharedResults::new(outputs.filter_map(|output| {
        let path = RelPath::new(&*output.path).ok()?;
        Some((output.work?, Placed { path, hash: output.hash }))
    }))
}

enum Judged<M> {
    Fresh(Outcome<M>, Option<Box<Record<'static>>>),
    Stale(RebuildReason, u64),
}

fn verdicts<A: Action>(
    sources: SourceTree<'_>,
    sink: &dyn Sink,
    records: &Records,
    actions: &[A],
    plan: Plan<'_>,
) -> Vec<Judged<A::Metadata>> {
    let judge_one = |hints: &mut Hints, action: &A| judge_one(sources, sink, records, action, plan, hints);
    actions.par_iter().map_init(Hints::default, judge_one).collect()
}

/// The indices after the last input and output that were found, for fast lookups in sorted order.
#[derive(Default)]
struct Hints {
    input: usize,
    output: usize,
}

fn judge_one<A: Action>(
    sources: SourceTree<'_>,
    sink: &dyn Sink,
    records: &Records,
    action: &A,
    plan: Plan<'_>,
    hints: &mut Hints,
) -> Judged<A::Metadata> {
    let stale = |why| Judged::Stale(why, action.weight(sources));
    let Some(record) = records.get(action.source().as_str()) else { return stale(RebuildReason::New) };
    if plan.force {
        return stale(RebuildReason::Forced);
    }
    // Only another version of the tool writes metadata that cannot be read, and it has another fingerprint.
    let artifacts = placed(&record.outputs);
    let warnings = record.warnings.clone();
    let find = |output: &Output<'_>| sink.find(output, plan.verify, &mut hints.output);
    match judge(sources, action.fingerprint(), record, &mut hints.input, find) {
        Verdict::Fresh(moved) => match artifacts {
            None => stale(RebuildReason::New),
            Some(artifacts) => {
                let moved = moved.map(|record| Box::new(record.into_owned()));
                Judged::Fresh(Outcome { state: State::Fresh, artifacts, warnings }, moved)
            }
        },
        Verdict::Stale(why) => stale(why),
    }
}

/// Returns the artifacts of recorded outputs, in a list without spare memory: there is one for each source; `None` if the
/// metadata of one cannot be read.
fn placed<M: Metadata>(outputs: &[Output<'_>]) -> Option<Vec<PlacedArtifact<M>>> {
    let mut placed = Vec::with_capacity(outputs.len());
    for output in outputs {
        placed.push(PlacedArtifact::of(output)?);
    }
    Some(placed)
}

/// Returns whether [`run`] would run an action.
pub fn is_stale<A: Action>(
    sources: SourceTree<'_>,
    sink: &dyn Sink,
    records: &Records,
    action: &A,
    plan: Plan<'_>,
) -> bool {
    matches!(judge_one(sources, sink, records, action, plan, &mut Hints::default()), Judged::Stale(..))
}

/// Removes the artifacts of deleted sources, unless another source has an artifact of the same name.
fn remove_orphans<A: Action>(
    sink: &dyn Sink,
    journal: &mut Journal,
    actions: &[A],
    keep: &[&str],
) -> Result<(), Diag> {
    let wanted: HashSet<&str> =
        actions.iter().map(|a| a.source().as_str()).chain(keep.iter().copied()).collect();
    let records = journal.records();
    let (kept, gone): (Vec<&str>, Vec<&str>) =
        records.names().into_iter().partition(|name| wanted.contains(name));
    if gone.is_empty() {
        return Ok(());
    }
    let outputs = |name: &&str| records.get(name).map(|r| r.outputs).unwrap_or_default();
    let live: HashSet<String> = kept.iter().flat_map(outputs).map(|o| o.path.into_owned()).collect();
    for output in gone.iter().flat_map(outputs).filter(|o| !live.contains(&*o.path)) {
        sink.remove(&output)?;
    }
    let names: Vec<String> = gone.into_iter().map(str::to_owned).collect();
    let changes: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
    append(journal, &changes)
}

fn append(journal: &mut Journal, changes: &[(&str, Option<&Record<'_>>)]) -> Result<(), Diag> {
    journal.append(changes).map_err(|e| unwritable(journal, &e))
}

fn unwritable(journal: &Journal, error: &std::io::Error) -> Diag {
    Diag::new(Code::JournalUnwritable, format!("the journal cannot be written: {error}")).path(journal.name())
}

/// Returns the error about two sources that write the same path, or paths that some file system treats as equal, where the
/// last writer would win. Names that differ only in Unicode normalization look equal and are escaped.
pub fn conflict((source, output): (&RelPath, &RelPath), (other, same): (&RelPath, &RelPath)) -> Diag {
    let message = match output == same {
        true => format!("{source} and {other} both write {output}"),
        false => {
            let case_only = output.as_str().to_lowercase() == same.as_str().to_lowercase();
            let name = |path: &RelPath| match case_only {
                true => path.to_string(),
                false => path.as_str().escape_default().to_string(),
            };
            format!(
                "{source} and {other} write {} and {}, which are one file on many systems",
                name(output),
                name(same)
            )
        }
    };
    Diag::new(Code::OutputConflict, message).path(source).hint("rename one of them")
}
