//! The main loop of every tool: skip what is up to date, run the other actions in parallel, publish their artifacts,
//! record them in the journal.
//!
//! Actions run in one thread pool that they may also use inside; they start largest first, as many at a time as the
//! memory budget admits. Finished actions are published in batches: artifacts flushed together, renamed, and only then
//! recorded, so that a kill at any moment costs the actions in flight and nothing else.

mod prefetch;
mod publisher;
mod scheduler;

use crate::action::Action;
use crate::artifact::{Metadata, PlacedArtifact};
use crate::inputs::SourceTree;
use crate::journal::{Journal, Records};
use crate::record::{Output, Record};
use crate::shared_results::{Placed, SharedResults};
use crate::sink::Sink;
use crate::stale::{Verdict, Why, judge};
use crate::store::Store;
use crate::{Code, Diag, Limits, RelPath};
use rayon::prelude::*;
use scheduler::Scheduler;
use std::collections::HashSet;
use std::time::Duration;

/// What happens during a run, for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// Another process holds the output; the run goes on when it lets go.
    Waiting,
    /// The sources are judged.
    Judged {
        /// How many there are.
        total: usize,
        /// How many actions are going to run.
        stale: usize,
    },
    /// An action begins.
    Started {
        /// Its source.
        source: &'a RelPath,
    },
    /// An action has ended.
    Finished {
        /// Its source.
        source: &'a RelPath,
        /// The reason why it ran.
        why: &'a Why,
        /// Whether its result was in the cache.
        fetched: bool,
        /// What went wrong, if anything.
        error: Option<&'a Diag>,
        /// How long it took.
        took: Duration,
    },
}

/// Takes events, from any thread.
pub trait Events: Sync {
    /// Something happened.
    fn on(&self, event: Event<'_>);
    /// Whether nobody wants the rest: actions in flight are finished and recorded, no other begins, and the run ends
    /// with the error `stopped`.
    fn is_over(&self) -> bool {
        false
    }
}

/// For runs that nobody watches.
impl Events for () {
    fn on(&self, _event: Event<'_>) {}
}

/// How a source fared.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    /// Its artifacts were up to date.
    Fresh,
    /// Its action ran.
    Built(Why),
    /// Its action would have run, but the result was in the cache.
    Fetched(Why),
    /// Its action failed; the old artifacts are as they were.
    Failed(Box<Diag>),
}

/// The outcome of one action.
#[derive(Debug)]
pub struct Outcome<M> {
    /// How it fared.
    pub state: State,
    /// Its artifacts, from this run or the last; none if it failed.
    pub artifacts: Vec<PlacedArtifact<M>>,
    /// Its warnings, from this run or the last.
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
    /// The pool for actions and for the work inside them.
    pub pool: &'a rayon::ThreadPool,
    /// Whether every action runs, whatever is recorded.
    pub force: bool,
    /// Whether artifacts are read again and compared with what was written, whatever their stamps say.
    pub verify: bool,
    /// Whether artifacts of sources that are gone are removed. Not when part of the source tree could not be read: what
    /// is there but unreadable is not gone.
    pub prune: bool,
    /// The cache that results are looked for in before an action runs (unless `force` is set), and put into afterwards.
    pub store: Option<&'a Store>,
    /// Limits on each action. Actions in flight share the memory by their own estimate; one that needs more runs alone.
    pub limits: Limits,
    /// Receives what happens.
    pub events: &'a dyn Events,
}

impl<'a> Plan<'a> {
    /// An incremental run that removes the artifacts of sources that are gone, without a cache, with the default limits.
    pub fn new(pool: &'a rayon::ThreadPool) -> Plan<'a> {
        let limits = Limits::default();
        Plan { pool, force: false, verify: false, prune: true, store: None, limits, events: &() }
    }
}

/// Brings the artifacts of all actions up to date and removes those whose source is gone. Names of the journal that
/// `keep` holds belong to the tool and are left alone. The result has one entry for each action, in their order.
///
/// # Errors
/// `journal-unwritable`, or `stopped` if [`Events::is_over`] ended the run. What an action fails with is in its outcome.
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
    // Orphans are only looked for when there are more records than actions and tools account for.
    let new = |judged: &&Judged<_>| matches!(judged, Judged::Stale(Why::New, _));
    let known = actions.len() - verdicts.iter().filter(new).count()
        + keep.iter().filter(|name| records.contains(name)).count();
    if plan.prune && known < records.len() {
        forget_orphans(sink, journal, actions, keep)?;
    }

    let mut outcomes = Vec::with_capacity(actions.len());
    let mut stale: Vec<(u64, usize, Why)> = Vec::new();
    let mut moved: Vec<(String, Record<'static>)> = Vec::new();
    for (index, judged) in verdicts.into_iter().enumerate() {
        match judged {
            Judged::Fresh(fresh, record) => {
                moved.extend(record.map(|record| (actions[index].source().to_string(), *record)));
                outcomes.push(fresh);
            }
            Judged::Stale(why, weight) => {
                stale.push((weight, index, why));
                outcomes.push(Outcome::failed(Diag::new(Code::CookLost, "its cook did not report"), vec![]));
            }
        }
    }
    let changes: Vec<_> = moved.iter().map(|(name, record)| (name.as_str(), Some(record))).collect();
    append(journal, &changes)?;
    plan.events.on(Event::Judged { total: actions.len(), stale: stale.len() });

    stale.iter().for_each(|(_, index, _)| actions[*index].prepare(sources));
    stale.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| actions[a.1].source().cmp(actions[b.1].source())));
    let shared = match stale.is_empty() || plan.force {
        true => SharedResults::default(),
        false => earlier_results(journal.records()),
    };
    let scheduler = Scheduler::new(sources, sink, journal, actions, shared, plan);
    scheduler.run_all(stale);
    for (index, outcome) in scheduler.into_outcomes() {
        outcomes[index] = outcome;
    }
    journal.compact().map_err(|e| unwritable(journal, &e))?;
    if plan.events.is_over() {
        return Err(Diag::new(Code::Stopped, "it was told to end before everything was built"));
    }
    Ok(outcomes)
}

/// Returns the record of a link step if it is up to date: its fingerprint and inputs are unchanged, and `find` finds its
/// output. The record is written again if stamps moved.
///
/// # Errors
/// `journal-unwritable`.
pub fn up_to_date(
    sources: SourceTree<'_>,
    journal: &mut Journal,
    name: &str,
    fingerprint: &str,
    find: impl FnMut(&Output<'_>) -> Result<crate::Stamp, Why>,
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

/// The results of shared work that earlier runs left in the sink.
fn earlier_results(records: &Records) -> SharedResults {
    let outputs = records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs);
    SharedResults::new(outputs.filter_map(|output| {
        let path = RelPath::new(&*output.path).ok()?;
        Some((output.work?, Placed { path, hash: output.hash }))
    }))
}

enum Judged<M> {
    Fresh(Outcome<M>, Option<Box<Record<'static>>>),
    Stale(Why, u64),
}

fn verdicts<A: Action>(
    sources: SourceTree<'_>,
    sink: &dyn Sink,
    records: &Records,
    actions: &[A],
    plan: Plan<'_>,
) -> Vec<Judged<A::Metadata>> {
    let judge_one = |(src, out): &mut (usize, usize), action: &A| {
        let stale = |why| Judged::Stale(why, action.weight(sources));
        let Some(record) = records.get(action.source().as_str()) else { return stale(Why::New) };
        if plan.force {
            return stale(Why::Forced);
        }
        // Metadata that cannot be read is that of another version of the tool, which has another fingerprint.
        let artifacts = record.outputs.iter().map(placed).collect::<Option<Vec<_>>>();
        let warnings = record.warnings.clone();
        let find = |output: &Output<'_>| sink.find(output, plan.verify, out);
        match judge(sources, action.fingerprint(), record, src, find) {
            Verdict::Fresh(moved) => match artifacts {
                None => stale(Why::New),
                Some(artifacts) => {
                    let moved = moved.map(|record| Box::new(record.into_owned()));
                    Judged::Fresh(Outcome { state: State::Fresh, artifacts, warnings }, moved)
                }
            },
            Verdict::Stale(why) => stale(why),
        }
    };
    actions.par_iter().map_init(Default::default, judge_one).collect()
}

fn placed<M: Metadata>(output: &Output<'_>) -> Option<PlacedArtifact<M>> {
    let (name, metadata) = (RelPath::new(&*output.path).ok()?, M::decode(&output.metadata)?);
    Some(PlacedArtifact { name, hash: output.hash, metadata })
}

/// Removes the artifacts of sources that are no longer there, unless a source that is there has one of the same name.
fn forget_orphans<A: Action>(
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
    Diag::new(Code::JournalUnwritable, format!("cannot write the journal: {error}")).path(journal.name())
}

/// Reports a source that writes the path that another one writes, or one that some file system takes for the same,
/// where the later of them would win. Names that differ in Unicode normalization only look alike and are escaped.
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
