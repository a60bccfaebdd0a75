//! The main loop of every tool: skip what is unchanged, cook the rest in parallel, remember.
//!
//! Cooks run in one thread pool that they may also use inside; they start largest first, as many at a time as
//! the memory budget admits. Finished cooks are published in batches: outputs flushed together, renamed, and
//! only then remembered, so that a kill at any moment costs the cooks in flight and nothing else.

mod kitchen;
mod memory;
mod prefetch;

use crate::cache::{Cache, Records};
use crate::cook::Cook;
use crate::ownership::is_recorded;
use crate::record::{Output, Record};
use crate::share::{Kept, Works};
use crate::stale::{Hints, Verdict, Why, World, judge};
use crate::store::{Rejected, Store, StoredResult};
use crate::{Code, Diag, Limits, RelPath};
use kitchen::Kitchen;
pub(crate) use memory::Memory;
pub use memory::Reservation;
use rayon::prelude::*;
use std::collections::HashSet;
use std::time::Duration;

/// One source to cook.
pub trait Task: Sync {
    /// The file or directory.
    fn source(&self) -> &RelPath;
    /// Recipe, version and resolved settings: lines of `key=value` text that decide, with the bytes read, what
    /// comes out. No paths and no names of machines: equal fingerprints and inputs are equal everywhere.
    fn fingerprint(&self) -> &str;
    /// The first bytes of every file of the format of an output; `None` when the format has none. A file that starts with
    /// them may be replaced although no journal records it.
    fn magic(&self, _output: &RelPath) -> Option<&'static [u8]> {
        None
    }
    /// An estimate of the memory the cook needs, for scheduling only.
    fn weight(&self, world: World<'_>) -> u64;
    /// Told of every source that is going to be cooked before any of them is, so that what takes long to start can be
    /// started. Returns at once.
    fn prepare(&self, _: World<'_>) {}
    /// Cooks, and returns what the tool wants back when the result is used again.
    fn cook(&self, cx: &mut Cook<'_>) -> Result<Vec<u8>, Diag>;
    /// Checks a stored result before it stands in for a cook, and takes what was [kept](Cook::keep). Whoever can write to
    /// a shared cache can store anything under a key, so that nothing in it is true before this has looked at it.
    ///
    /// # Errors
    ///
    /// If no cook of this source could have come to it. Then it is dropped from the cache, and the source is cooked.
    fn restore(&self, _: &mut StoredResult<'_>) -> Result<(), Rejected> {
        Ok(())
    }
}

/// What happens during a run, for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// Another process holds the output; the run goes on when it lets go.
    Waiting,
    /// The sources are judged.
    Judged {
        /// How many there are.
        total: usize,
        /// How many are going to be cooked.
        stale: usize,
    },
    /// A cook begins.
    Started {
        /// Its source.
        source: &'a RelPath,
    },
    /// A cook has ended.
    Finished {
        /// Its source.
        source: &'a RelPath,
        /// Why it was cooked.
        why: &'a Why,
        /// Whether its result was in the store.
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
    /// Whether nobody wants the rest: cooks in flight are finished and remembered, no other begins, and the run ends
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
    /// Its outputs were right already.
    Fresh,
    /// It was cooked.
    Built(Why),
    /// It would have been cooked, but the result was in the store.
    Fetched(Why),
    /// It was not; the old outputs are as they were.
    Failed(Box<Diag>),
}

/// What a run says of one source.
#[derive(Debug)]
pub struct Done {
    /// How it fared.
    pub state: State,
    /// What its cook returned, now or when it last ran.
    pub payload: Vec<u8>,
    /// What its cook warned of, now or when it last ran.
    pub warnings: Vec<Diag>,
}

/// How a run is to be done.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The pool for cooks and for the work inside them.
    pub pool: &'a rayon::ThreadPool,
    /// Whether everything is cooked, whatever is remembered.
    pub force: bool,
    /// Whether outputs are read again and compared with what was written, whatever their stamps say.
    pub verify: bool,
    /// Whether outputs of sources that are gone are removed. Not when part of the source tree could not be
    /// read: what is there but unreadable is not gone.
    pub prune: bool,
    /// Whether outputs replace regular files at their paths that no journal records.
    pub overwrite: bool,
    /// Where results are looked for before anything is cooked (unless `force` is set), and put afterwards.
    pub store: Option<&'a Store>,
    /// Limits on each source. Cooks in flight share the memory by their own estimate; one that needs more runs alone.
    pub limits: Limits,
    /// Who watches.
    pub events: &'a dyn Events,
}

/// Brings the outputs of all tasks up to date and removes those whose source is gone. Names of the journal that
/// `keep` holds belong to the tool and are left alone. The result has one entry a task, in their order.
pub fn run<T: Task>(
    world: World<'_>,
    cache: &mut Cache,
    tasks: &[T],
    keep: &[&str],
    plan: Plan<'_>,
) -> Result<Vec<Done>, Diag> {
    let records = cache.records();
    let verdicts = plan.pool.install(|| verdicts(world, records, tasks, plan));
    // Orphans are only looked for when there are more records than tasks and tools account for.
    let new = |judged: &&Judged| matches!(judged, Judged::Stale(Why::New, _));
    let known = tasks.len() - verdicts.iter().filter(new).count()
        + keep.iter().filter(|name| records.contains(name)).count();
    if plan.prune && known < records.len() {
        forget_orphans(world, cache, tasks, keep)?;
    }

    let mut done: Vec<Done> = Vec::with_capacity(tasks.len());
    let mut stale: Vec<(u64, usize, Why)> = Vec::new();
    let mut moved: Vec<(String, Record<'static>)> = Vec::new();
    for (index, judged) in verdicts.into_iter().enumerate() {
        match judged {
            Judged::Fresh(fresh, record) => {
                moved.extend(record.map(|record| (tasks[index].source().to_string(), *record)));
                done.push(fresh);
            }
            Judged::Stale(why, weight) => {
                stale.push((weight, index, why));
                let lost = Diag::new(Code::CookLost, "its cook did not report");
                done.push(Done { state: State::Failed(lost.into()), payload: vec![], warnings: vec![] });
            }
        }
    }
    let changes: Vec<_> = moved.iter().map(|(name, record)| (name.as_str(), Some(record))).collect();
    cache.append(&changes).map_err(|e| journal(&cache.name(), &e))?;
    plan.events.on(Event::Judged { total: tasks.len(), stale: stale.len() });

    stale.iter().for_each(|(_, index, _)| tasks[*index].prepare(world));
    stale.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| tasks[a.1].source().cmp(tasks[b.1].source())));
    let works = if stale.is_empty() || plan.force { Works::default() } else { left(cache.records()) };
    let kitchen = Kitchen::new(world, cache, tasks, works, plan);
    kitchen.cook_all(stale);
    for (index, result) in kitchen.into_results() {
        done[index] = result;
    }
    cache.compact().map_err(|e| journal(&cache.name(), &e))?;
    if plan.events.is_over() {
        return Err(Diag::new(Code::Stopped, "it was told to end before everything was built"));
    }
    Ok(done)
}

/// The results of shared work that earlier runs left in the output.
fn left(records: &Records) -> Works {
    let outputs = records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs);
    Works::new(outputs.filter_map(|output| {
        let path = RelPath::new(&*output.path).ok()?;
        Some((output.work?, Kept { path, hash: output.hash }))
    }))
}

enum Judged {
    Fresh(Done, Option<Box<Record<'static>>>),
    Stale(Why, u64),
}

fn verdicts<T: Task>(world: World<'_>, records: &Records, tasks: &[T], plan: Plan<'_>) -> Vec<Judged> {
    let judge_one = |hints: &mut Hints, task: &T| {
        let stale = |why| Judged::Stale(why, task.weight(world));
        let Some(record) = records.get(task.source().as_str()) else { return stale(Why::New) };
        if plan.force {
            return stale(Why::Forced);
        }
        let payload = record.payload.to_vec();
        let warnings = record.warnings.clone();
        match judge(world, task.fingerprint(), record, plan.verify, hints) {
            Verdict::Fresh(moved) => Judged::Fresh(
                Done { state: State::Fresh, payload, warnings },
                moved.map(|r| Box::new(r.into_owned())),
            ),
            Verdict::Stale(why) => stale(why),
        }
    };
    tasks.par_iter().map_init(Hints::default, judge_one).collect()
}

/// Removes the outputs of sources that are no longer there, unless a source that is there wrote the same path.
fn forget_orphans<T: Task>(
    world: World<'_>,
    cache: &mut Cache,
    tasks: &[T],
    keep: &[&str],
) -> Result<(), Diag> {
    let wanted: HashSet<&str> =
        tasks.iter().map(|t| t.source().as_str()).chain(keep.iter().copied()).collect();
    let records = cache.records();
    let (kept, gone): (Vec<&str>, Vec<&str>) =
        records.names().into_iter().partition(|name| wanted.contains(name));
    if gone.is_empty() {
        return Ok(());
    }
    let outputs = |name: &&str| records.get(name).map(|r| r.outputs).unwrap_or_default();
    let live: HashSet<String> = kept.iter().flat_map(outputs).map(|o| o.path.into_owned()).collect();
    for output in gone.iter().flat_map(outputs).filter(|o| !live.contains(&*o.path)) {
        remove(world, &output)?;
    }
    let names: Vec<String> = gone.into_iter().map(str::to_owned).collect();
    let changes: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
    cache.append(&changes).map_err(|e| journal(&cache.name(), &e))
}

/// Removes an output, if the file there is the output. What is hidden is not, whatever a journal says: it may be the
/// journal.
fn remove(world: World<'_>, output: &Output<'_>) -> Result<(), Diag> {
    let Ok(path) = RelPath::new(&*output.path) else { return Ok(()) };
    if path.is_hidden() || !is_recorded(world.out, output, &path) {
        return Ok(());
    }
    world
        .out
        .remove(&path)
        .map_err(|e| Diag::new(Code::Unwritable, format!("cannot remove it: {e}")).path(&path))
}

fn journal(name: &str, error: &std::io::Error) -> Diag {
    Diag::new(Code::JournalUnwritable, format!("cannot write the journal: {error}")).path(name)
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
