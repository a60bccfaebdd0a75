//! The main loop of every tool: skip what is unchanged, cook the rest in parallel, remember.
//!
//! Cooks run in one thread pool that they may also use inside; they start largest first, as many at a time as
//! the memory budget admits. Finished cooks are published in batches: outputs flushed together, renamed, and
//! only then remembered, so that a kill at any moment costs the cooks in flight and nothing else.

use crate::cache::{Cache, Records};
use crate::cook::{Cook, Emitted, unwritable};
use crate::fs::Stamp;
use crate::hash::Hash;
use crate::record::{Output, Record};
use crate::share::{Kept, WorkKey, Works, help_or_rest};
use crate::stale::{Hints, Verdict, Why, World, judge};
use crate::store::{Looks, Store};
use crate::{Diag, RelPath};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The memory that cooks in flight may take by their own estimate; one that needs more runs alone.
pub const BUDGET: u64 = 1536 << 20;

/// A batch is published when it has this many files, …
const BATCH_FILES: usize = 64;
/// … or when its oldest cook has waited this long.
const BATCH_AGE: Duration = Duration::from_millis(500);

/// One source to cook.
pub trait Task: Sync {
    /// The file or directory.
    fn source(&self) -> &RelPath;
    /// Recipe, version and resolved settings: lines of `key=value` text that decide, with the bytes read, what
    /// comes out. No paths and no names of machines: equal fingerprints and inputs are equal everywhere.
    fn fingerprint(&self) -> &str;
    /// An estimate of the memory the cook needs, for scheduling only.
    fn weight(&self, world: World<'_>) -> u64;
    /// Told of every source that is going to be cooked before any of them is, so that what takes long to start can be
    /// started. Returns at once.
    fn prepare(&self, _: World<'_>) {}
    /// Cooks, and returns what the tool wants back when the result is used again.
    fn cook(&self, cx: &mut Cook<'_>) -> Result<Vec<u8>, Diag>;
    /// Takes what a cook returned and [kept](Cook::keep), when its stored result stands in for another one.
    fn restore(&self, _payload: &[u8], _kept: Vec<u8>) -> Result<(), Diag> {
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
    /// Where results are looked for before anything is cooked (unless `force` is set), and put afterwards.
    pub store: Option<&'a Store>,
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
                let lost = Diag::error("cook-lost", "its cook did not report");
                done.push(Done { state: State::Failed(lost.into()), payload: vec![], warnings: vec![] });
            }
        }
    }
    let changes: Vec<_> = moved.iter().map(|(name, record)| (name.as_str(), Some(record))).collect();
    cache.append(&changes).map_err(|e| journal(&e))?;
    plan.events.on(Event::Judged { total: tasks.len(), stale: stale.len() });

    stale.iter().for_each(|(_, index, _)| tasks[*index].prepare(world));
    stale.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| tasks[a.1].source().cmp(tasks[b.1].source())));
    let works = if stale.is_empty() || plan.force { Works::default() } else { left(cache.records()) };
    let kitchen = Kitchen::new(world, cache, tasks, works, plan);
    kitchen.cook_all(stale);
    for (index, result) in kitchen.into_results() {
        done[index] = result;
    }
    cache.compact().map_err(|e| journal(&e))?;
    if plan.events.is_over() {
        return Err(Diag::error("stopped", "it was told to end before everything was built"));
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
    cache.append(&changes).map_err(|e| journal(&e))
}

/// Removes an output. One that was announced, and never known to be in place, has to be what it was meant to be:
/// something else there was not written by us.
fn remove(world: World<'_>, output: &Output<'_>) -> Result<(), Diag> {
    let Ok(path) = RelPath::new(&*output.path) else { return Ok(()) };
    let ours = || world.out.read(&path).is_ok_and(|bytes| Hash::of(&bytes) == output.hash);
    if output.stamp == Stamp::NONE && !ours() {
        return Ok(());
    }
    world
        .out
        .remove(&path)
        .map_err(|e| Diag::error("unwritable", format!("cannot remove it: {e}")).path(&path))
}

fn journal(error: &std::io::Error) -> Diag {
    Diag::error("journal-unwritable", format!("cannot write the journal: {error}"))
}

/// A cook that has succeeded and waits to be published.
struct Ready {
    index: usize,
    why: Why,
    fetched: bool,
    emitted: Vec<Emitted>,
    record: Record<'static>,
}

/// A file that a cook wrote, while it is put in place.
struct Wrote {
    path: RelPath,
    hash: Hash,
    work: Option<WorkKey>,
}

/// The cooks that are to come: weight, task and reason.
type Queue = Peekable<std::vec::IntoIter<(u64, usize, Why)>>;

#[derive(Default)]
struct Batch {
    ready: Vec<Ready>,
    files: usize,
    since: Option<Instant>,
}

/// Everything that cooks in flight share.
struct Kitchen<'a, T> {
    world: World<'a>,
    tasks: &'a [T],
    cache: Mutex<&'a mut Cache>,
    batch: Mutex<Batch>,
    /// Which source wrote which path in this run, or (unless it is stale itself) in an earlier one.
    owners: Mutex<HashMap<RelPath, usize>>,
    results: Mutex<BTreeMap<usize, Done>>,
    /// Weight and number of the cooks in flight.
    flight: Mutex<(u64, usize)>,
    landed: Condvar,
    works: Works,
    looks: Looks<'a>,
    plan: Plan<'a>,
}

impl<'a, T: Task> Kitchen<'a, T> {
    fn new(
        world: World<'a>,
        cache: &'a mut Cache,
        tasks: &'a [T],
        works: Works,
        plan: Plan<'a>,
    ) -> Kitchen<'a, T> {
        Kitchen {
            world,
            tasks,
            cache: Mutex::new(cache),
            batch: Mutex::default(),
            owners: Mutex::default(),
            results: Mutex::default(),
            flight: Mutex::default(),
            landed: Condvar::new(),
            works,
            looks: Looks::new(world),
            plan,
        }
    }

    /// Every thread of the pool takes one cook after the other. Cooks are not jobs of the pool: a thread that waits
    /// for a part of its own cook may then help another cook with a part, but never starts a whole one on top, which
    /// would hold its memory, and whatever others wait for, until that one is done.
    fn cook_all(&self, stale: Vec<(u64, usize, Why)>) {
        if stale.is_empty() {
            return;
        }
        self.claim_fresh(&stale);
        let queue = Mutex::new(stale.into_iter().peekable());
        self.plan.pool.broadcast(|_| {
            while let Some((weight, index, why)) = self.next(&queue) {
                self.cook(index, why);
                let mut flight = lock(&self.flight);
                *flight = (flight.0 - weight, flight.1 - 1);
                drop(flight);
                self.landed.notify_all();
            }
        });
        self.plan.pool.install(|| self.publish(std::mem::take(&mut *lock(&self.batch))));
    }

    /// The next cook, as soon as there is memory for it.
    fn next(&self, queue: &Mutex<Queue>) -> Option<(u64, usize, Why)> {
        while !self.plan.events.is_over() {
            let mut queue = lock(queue);
            let weight = queue.peek()?.0;
            let mut flight = lock(&self.flight);
            if flight.1 == 0 || flight.0.saturating_add(weight) <= BUDGET {
                *flight = (flight.0.saturating_add(weight), flight.1 + 1);
                return queue.next();
            }
            drop((queue, flight));
            help_or_rest(&self.landed, || lock(&self.flight));
        }
        None
    }

    /// Outputs of sources that are not cooked again are taken, too.
    fn claim_fresh(&self, stale: &[(u64, usize, Why)]) {
        let stale: HashSet<usize> = stale.iter().map(|(_, index, _)| *index).collect();
        let (cache, mut owners) = (lock(&self.cache), lock(&self.owners));
        for (index, task) in self.tasks.iter().enumerate().filter(|(index, _)| !stale.contains(index)) {
            let Some(record) = cache.records().get(task.source().as_str()) else { continue };
            owners.extend(record.outputs.iter().filter_map(|o| Some((RelPath::new(&*o.path).ok()?, index))));
        }
    }

    fn cook(&self, index: usize, why: Why) {
        let (task, Plan { events, store, .. }) = (&self.tasks[index], self.plan);
        let source = task.source();
        let start = Instant::now();
        events.on(Event::Started { source });
        let mut cx = Cook::new(source, self.world.src, self.world.src_tree, self.world.out)
            .sharing(&self.works)
            .storing(store, !self.plan.force);
        let mut fetched = false;
        let result = catch_unwind(AssertUnwindSafe(|| match self.fetch(task, &mut cx) {
            Some(payload) => {
                fetched = true;
                Ok(payload)
            }
            None => task.cook(&mut cx),
        }));
        let result = result.unwrap_or_else(|panic| Err(panicked(&*panic)));
        let result = result.and_then(|payload| self.claim(index, &cx.emitted).map(|()| payload));
        let (error, took) = (result.as_ref().err().map(|e| located(e.clone(), source)), start.elapsed());
        events.on(Event::Finished { source, why: &why, fetched, error: error.as_ref(), took });
        match (result, error) {
            (Ok(payload), _) => {
                if let Some(store) = store.filter(|_| !fetched) {
                    store.remember(&self.looks, task.fingerprint(), &cx, &payload, took);
                }
                let record = Record {
                    fingerprint: task.fingerprint().to_owned().into(),
                    why: why.to_string().into(),
                    inputs: cx.inputs(),
                    outputs: vec![],
                    payload: payload.into(),
                    warnings: cx.warnings,
                };
                self.hand_over(Ready { index, why, fetched, emitted: cx.emitted, record });
            }
            (Err(error), located) => self.fail(index, located.unwrap_or(error), cx.warnings),
        }
    }

    /// Takes a result from the store, if it has the one that a cook would come to; returns its payload.
    fn fetch(&self, task: &T, cx: &mut Cook<'_>) -> Option<Vec<u8>> {
        let store = self.plan.store.filter(|_| !self.plan.force)?;
        let mut found = store.find(&self.looks, task.fingerprint(), task.source())?;
        if let Some(kept) = found.kept() {
            task.restore(&found.answer.payload, kept.ok()?).ok()?;
        }
        cx.take_over(&mut found).ok()?;
        store.count(&found);
        Some(found.answer.payload)
    }

    /// Takes the paths that a cook writes; when another source has one of them already, both fail.
    fn claim(&self, index: usize, emitted: &[Emitted]) -> Result<(), Diag> {
        let mut owners = lock(&self.owners);
        for output in emitted {
            let other = match owners.get(&output.path) {
                Some(other) if *other != index => *other,
                _ => continue,
            };
            let (here, there) = (self.tasks[index].source(), self.tasks[other].source());
            // The other one keeps its record, and so its old output, until one of the two is renamed.
            self.fail(other, conflict(there, here, &output.path), vec![]);
            return Err(conflict(here, there, &output.path));
        }
        owners.extend(emitted.iter().map(|output| (output.path.clone(), index)));
        Ok(())
    }

    fn hand_over(&self, ready: Ready) {
        let mut batch = lock(&self.batch);
        batch.files += ready.emitted.len();
        batch.ready.push(ready);
        let since = *batch.since.get_or_insert_with(Instant::now);
        if batch.files >= BATCH_FILES || since.elapsed() >= BATCH_AGE {
            let batch = {
                let full = std::mem::take(&mut *batch);
                drop(batch);
                full
            };
            self.publish(batch);
        }
    }

    /// Puts outputs in place, then remembers them; what a source no longer writes is removed in between.
    fn publish(&self, batch: Batch) {
        let mut files = Vec::with_capacity(batch.files);
        let mut cooks = Vec::with_capacity(batch.ready.len());
        for mut ready in batch.ready {
            let emitted = std::mem::take(&mut ready.emitted);
            let outputs: Vec<_> = emitted
                .iter()
                .map(|e| Wrote { path: e.path.clone(), hash: e.blob.hash, work: e.work })
                .collect();
            files.extend(emitted.into_iter().map(|e| (e.staged, e.path)));
            cooks.push((ready, outputs));
        }
        if let Err(error) = self.announce(&cooks) {
            cooks.into_iter().for_each(|(ready, _)| self.fail(ready.index, error.clone(), vec![]));
            return;
        }
        let mut stamps = self.world.out.publish(files).into_iter();
        let mut published = Vec::with_capacity(cooks.len());
        for (mut ready, outputs) in cooks {
            let mut failed = None;
            for (Wrote { path, hash, work }, stamp) in outputs.into_iter().zip(&mut stamps) {
                match stamp {
                    Ok(stamp) => {
                        ready.record.outputs.push(Output { path: path.to_string().into(), stamp, hash, work })
                    }
                    Err(e) => failed = Some(unwritable(&path, &e)),
                }
            }
            match failed {
                None => published.push(ready),
                Some(error) => self.fail(ready.index, error, vec![]),
            }
        }
        let error = self.remember(&published).err();
        for ready in published {
            match &error {
                None => self.finish(ready),
                Some(error) => self.fail(ready.index, error.clone(), vec![]),
            }
        }
    }

    /// Before a path is written for the first time the journal hears of it: should the run be killed and the source
    /// go before the next one, its output would belong to nobody. Such a record has no fingerprint and is stale.
    fn announce(&self, cooks: &[(Ready, Vec<Wrote>)]) -> Result<(), Diag> {
        let mut cache = lock(&self.cache);
        let mut claims: Vec<(&str, Record<'static>)> = Vec::new();
        for (ready, outputs) in cooks {
            let name = self.tasks[ready.index].source().as_str();
            let mut known = cache.records().get(name).map(|old| old.into_owned().outputs).unwrap_or_default();
            let before = known.len();
            for Wrote { path, hash, .. } in outputs {
                if known.iter().all(|o| o.path != path.as_str()) {
                    let path = path.to_string().into();
                    known.push(Output { path, stamp: Stamp::NONE, hash: *hash, work: None });
                }
            }
            if known.len() > before {
                claims.push((name, Record { outputs: known, ..Record::default() }));
            }
        }
        let changes: Vec<_> = claims.iter().map(|(name, record)| (*name, Some(record))).collect();
        cache.append(&changes).map_err(|e| journal(&e))
    }

    fn remember(&self, published: &[Ready]) -> Result<(), Diag> {
        let name = |ready: &Ready| self.tasks[ready.index].source().as_str();
        let mut cache = lock(&self.cache);
        for ready in published {
            let Some(old) = cache.records().get(name(ready)) else { continue };
            let owners = lock(&self.owners);
            for output in old.outputs.iter().filter(|o| !owners.contains_key(&*o.path)) {
                remove(self.world, output)?;
            }
        }
        let changes: Vec<_> = published.iter().map(|ready| (name(ready), Some(&ready.record))).collect();
        cache.append(&changes).map_err(|e| journal(&e))
    }

    fn finish(&self, ready: Ready) {
        let Record { payload, warnings, .. } = ready.record;
        let state = if ready.fetched { State::Fetched(ready.why) } else { State::Built(ready.why) };
        let done = Done { state, payload: payload.into_owned(), warnings };
        // A conflict found meanwhile has the last word.
        lock(&self.results).entry(ready.index).or_insert(done);
    }

    fn fail(&self, index: usize, error: Diag, warnings: Vec<Diag>) {
        lock(&self.results)
            .insert(index, Done { state: State::Failed(error.into()), payload: vec![], warnings });
    }

    fn into_results(self) -> BTreeMap<usize, Done> {
        self.results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two sources that write one path.
pub fn conflict(source: &RelPath, other: &RelPath, output: &RelPath) -> Diag {
    Diag::error("output-conflict", format!("{source} and {other} both write {output}"))
        .path(source)
        .hint("rename one of them")
}

fn located(mut error: Diag, source: &RelPath) -> Diag {
    if error.path.is_empty() {
        error.path = source.to_string();
    }
    error
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Diag {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Diag::error("cook-panicked", format!("the cook panicked: {}", text.unwrap_or("no message")))
        .hint("this is a defect of Kiln: please report it with the file")
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
