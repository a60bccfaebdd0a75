//! Cooks what is stale: as many sources at a time as memory admits, and publishes what came out in batches.

use super::prefetch::Prefetch;
use super::{Done, Event, Memory, Plan, State, Task, conflict, journal, remove};
use crate::cache::Cache;
use crate::cook::{Cook, Emitted, unwritable};
use crate::fold::{fold, folded};
use crate::fs::Stamp;
use crate::hash::Hash;
use crate::ownership::{Admission, OwnedPaths, Replace, admit, is_recorded};
use crate::record::{Output, Record};
use crate::share::{WorkKey, Works};
use crate::stale::{Why, World};
use crate::store::{Looks, Store};
use crate::{Code, Diag, RelPath};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A batch is published when it has this many files, …
const BATCH_FILES: usize = 64;
/// … or when its oldest cook has waited this long.
const BATCH_AGE: Duration = Duration::from_millis(500);

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
    /// The stamp of the file at the path, when that file has the bytes already and stays.
    adopted: Option<Stamp>,
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
pub(super) struct Kitchen<'a, T> {
    world: World<'a>,
    tasks: &'a [T],
    cache: Mutex<&'a mut Cache>,
    batch: Mutex<Batch>,
    /// Which source wrote which path in this run, or (unless it is stale itself) in an earlier one, by
    /// [folded](RelPath::folded) path.
    owners: Mutex<HashMap<String, (RelPath, usize)>>,
    /// Sources that were cooked in this run, and not taken from a cache or left as an earlier run left them.
    cooked: Mutex<HashSet<usize>>,
    /// Sources that claim an output of another one while one of the two was not cooked in this run.
    disputed: Mutex<BTreeSet<usize>>,
    /// True if disputes are being settled: nothing is published before all of their cooks have ended.
    settling: AtomicBool,
    /// The outputs of the journal, collected when a file is in the way that the record of its own source does not have.
    owned: OnceLock<OwnedPaths>,
    results: Mutex<BTreeMap<usize, Done>>,
    memory: Memory,
    works: Works,
    looks: Looks<'a>,
    plan: Plan<'a>,
}

impl<'a, T: Task> Kitchen<'a, T> {
    pub(super) fn new(
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
            cooked: Mutex::default(),
            disputed: Mutex::default(),
            settling: AtomicBool::new(false),
            owned: OnceLock::new(),
            results: Mutex::default(),
            memory: Memory::new(plan.limits.max_memory),
            works,
            looks: Looks::new(world, plan.limits),
            plan,
        }
    }

    /// Every thread of the pool takes one cook after the other. Cooks are not jobs of the pool: a thread that waits
    /// for a part of its own cook may then help another cook with a part, but never starts a whole one on top, which
    /// would hold its memory, and whatever others wait for, until that one is done.
    pub(super) fn cook_all(&self, stale: Vec<(u64, usize, Why)>) {
        if stale.is_empty() {
            return;
        }
        self.claim_fresh(&stale);
        let prefetch = Prefetch::new(stale.iter().map(|(_, index, _)| *index).collect());
        let threads = self.plan.store.filter(|_| !self.plan.force).map_or(0, Store::prefetchers);
        let threads = threads.min(stale.len());
        let queue = Mutex::new(stale.into_iter().peekable());
        std::thread::scope(|scope| {
            for n in 0..threads {
                let thread = std::thread::Builder::new().name(format!("kiln-prefetch-{n}"));
                // Without the thread the workers look everything up themselves.
                let _ = thread.spawn_scoped(scope, || self.prefetch(&prefetch));
            }
            self.cook_queue(&queue, &prefetch);
            prefetch.cancel();
        });
        self.plan.pool.install(|| {
            self.publish(std::mem::take(&mut *lock(&self.batch)));
            self.settle_disputes();
        });
    }

    fn prefetch(&self, prefetch: &Prefetch) {
        let Some(store) = self.plan.store else { return };
        let is_over = || self.plan.events.is_over() || store.prefetchers() == 0;
        prefetch.work(is_over, |index| {
            let task = &self.tasks[index];
            store.prefetch(&self.looks, task.fingerprint(), task.source());
        });
    }

    fn cook_queue(&self, queue: &Mutex<Queue>, prefetch: &Prefetch) {
        self.plan.pool.broadcast(|_| {
            while let Some((weight, index, why)) = self.next(queue) {
                prefetch.wait_for(index);
                self.cook(weight, index, why, !self.plan.force);
                self.memory.release(weight);
            }
        });
    }

    /// Cooks what claimed one output from its sources, whatever is stored: a result of a cache is no reason to refuse
    /// what is right. Whoever still claims an output of another source afterwards is refused. Every round cooks a source
    /// that was not cooked before, so that there is an end.
    fn settle_disputes(&self) {
        self.settling.store(true, Relaxed);
        loop {
            let disputed = std::mem::take(&mut *lock(&self.disputed));
            if disputed.is_empty() || self.plan.events.is_over() {
                return;
            }
            lock(&self.owners).retain(|_, (_, by)| !disputed.contains(by));
            lock(&self.results).retain(|index, _| !disputed.contains(index));
            // One after the other: there is all memory for each.
            disputed.into_iter().for_each(|index| self.cook(u64::MAX, index, Why::Forced, false));
            self.publish(std::mem::take(&mut *lock(&self.batch)));
        }
    }

    /// The next cook, as soon as there is memory for it.
    fn next(&self, queue: &Mutex<Queue>) -> Option<(u64, usize, Why)> {
        while !self.plan.events.is_over() {
            let mut queue = lock(queue);
            if self.memory.admit(queue.peek()?.0) {
                return queue.next();
            }
            drop(queue);
            self.memory.wait();
        }
        None
    }

    /// Outputs of sources that are not cooked again are taken, too.
    fn claim_fresh(&self, stale: &[(u64, usize, Why)]) {
        let stale: HashSet<usize> = stale.iter().map(|(_, index, _)| *index).collect();
        let (cache, mut owners) = (lock(&self.cache), lock(&self.owners));
        for (index, task) in self.tasks.iter().enumerate().filter(|(index, _)| !stale.contains(index)) {
            let Some(record) = cache.records().get(task.source().as_str()) else { continue };
            let paths = record.outputs.iter().filter_map(|o| RelPath::new(&*o.path).ok());
            owners.extend(paths.map(|path| (folded(&path), (path, index))));
        }
    }

    /// Cooks a source, or takes its result from a cache if it `finds` one.
    fn cook(&self, weight: u64, index: usize, why: Why, finds: bool) {
        let (task, Plan { events, store, .. }) = (&self.tasks[index], self.plan);
        let source = task.source();
        let start = Instant::now();
        events.on(Event::Started { source });
        let mut cx = Cook::new(source, self.world.src, self.world.src_tree, self.world.out)
            .limited(self.plan.limits)
            .admitted(&self.memory, weight)
            .sharing(&self.works)
            .storing(store, finds);
        let mut fetched = false;
        let fetch = |cx: &mut Cook<'_>| finds.then(|| self.fetch(task, cx)).flatten();
        let result = catch_unwind(AssertUnwindSafe(|| match fetch(&mut cx) {
            Some(payload) => {
                fetched = true;
                Ok(payload)
            }
            None => task.cook(&mut cx),
        }));
        let result = result.unwrap_or_else(|panic| Err(panicked(&*panic)));
        if !fetched {
            lock(&self.cooked).insert(index);
        }
        let claimed = match &result {
            Ok(_) => self.claim(index, &cx.emitted),
            Err(_) => Ok(true),
        };
        let is_claimed = !matches!(claimed, Ok(false));
        let result = result.and_then(|payload| claimed.map(|_| payload));
        let (error, took) = (result.as_ref().err().map(|e| e.clone().or_path(source)), start.elapsed());
        events.on(Event::Finished { source, why: &why, fetched, error: error.as_ref(), took });
        if !is_claimed {
            return;
        }
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
        let store = self.plan.store?;
        let mut found = store.find(&self.looks, task.fingerprint(), task.source())?;
        if let Err(why) = task.restore(&mut found.stored()) {
            store.reject(&found, why);
            return None;
        }
        cx.take_over(&mut found).ok()?;
        store.count(&mut found);
        Some(found.answer.payload)
    }

    /// Takes the paths that a cook writes. When another source has one of them already, both fail, if both were cooked in
    /// this run. If not, none is taken and both are to be cooked first: then it returns `false`.
    fn claim(&self, index: usize, emitted: &[Emitted]) -> Result<bool, Diag> {
        let mut owners = lock(&self.owners);
        for output in emitted {
            let Some((path, other)) = owners.get(&folded(&output.path)).filter(|(_, other)| *other != index)
            else {
                continue;
            };
            let cooked = lock(&self.cooked);
            if ![index, *other].iter().all(|index| cooked.contains(index)) {
                lock(&self.disputed).extend([index, *other]);
                return Ok(false);
            }
            drop(cooked);
            let here = (self.tasks[index].source(), &output.path);
            let there = (self.tasks[*other].source(), path);
            // The other one keeps its record, and so its old output, until one of the two is renamed.
            self.fail(*other, conflict(there, here), vec![]);
            return Err(conflict(here, there));
        }
        owners.extend(emitted.iter().map(|output| (folded(&output.path), (output.path.clone(), index))));
        Ok(true)
    }

    fn hand_over(&self, ready: Ready) {
        let mut batch = lock(&self.batch);
        batch.files += ready.emitted.len();
        batch.ready.push(ready);
        let since = *batch.since.get_or_insert_with(Instant::now);
        let is_due = batch.files >= BATCH_FILES || since.elapsed() >= BATCH_AGE;
        if is_due && !self.settling.load(Relaxed) {
            let batch = {
                let full = std::mem::take(&mut *batch);
                drop(batch);
                full
            };
            self.publish(batch);
        }
    }

    /// Puts outputs in place, then remembers them; what a source no longer writes is removed in between.
    fn publish(&self, mut batch: Batch) {
        // What failed since, because another source writes the same, leaves the old outputs as they were.
        let failed = lock(&self.results);
        batch.ready.retain(|ready| !failed.contains_key(&ready.index));
        drop(failed);
        let mut files = Vec::with_capacity(batch.files);
        let mut cooks = Vec::with_capacity(batch.ready.len());
        for mut ready in batch.ready {
            let emitted = std::mem::take(&mut ready.emitted);
            // Before the journal has the paths: a path that is refused now must not be owned by the next run.
            let outputs = emitted.iter().map(|emitted| self.admit(ready.index, emitted));
            match outputs.collect::<Result<Vec<Wrote>, Diag>>() {
                Ok(outputs) => {
                    let new = emitted.into_iter().zip(&outputs).filter(|(_, wrote)| wrote.adopted.is_none());
                    files.extend(new.map(|(emitted, _)| (emitted.staged, emitted.path)));
                    cooks.push((ready, outputs));
                }
                Err(error) => self.fail(ready.index, error, ready.record.warnings),
            }
        }
        if let Err(error) = self.announce(&cooks).and_then(|()| self.make_way(&cooks)) {
            cooks.into_iter().for_each(|(ready, _)| self.fail(ready.index, error.clone(), vec![]));
            return;
        }
        let mut stamps = self.world.out.publish(files).into_iter();
        let mut published = Vec::with_capacity(cooks.len());
        for (mut ready, outputs) in cooks {
            let mut failed = None;
            for Wrote { path, hash, work, adopted } in outputs {
                let published = || stamps.next().unwrap_or_else(|| Err(io::ErrorKind::Other.into()));
                match adopted.map_or_else(published, Ok) {
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

    /// Decides whether an output may take its path.
    fn admit(&self, index: usize, emitted: &Emitted) -> Result<Wrote, Diag> {
        let (task, out, path) = (&self.tasks[index], self.world.out, &emitted.path);
        let owned = || {
            let cache = lock(&self.cache);
            let record = cache.records().get(task.source().as_str());
            let outputs = record.as_ref().map(|record| &*record.outputs).unwrap_or_default();
            let own = outputs.iter().any(|o| o.path == path.as_str() && is_recorded(out, o, path));
            own || self.owned.get_or_init(|| OwnedPaths::new(cache.records())).contains(out, path)
        };
        let replace = Replace { overwrite: self.plan.overwrite, magic: task.magic(path), owned: &owned };
        let adopted = match admit(out, path, Some(emitted.blob), replace)? {
            Admission::Write => None,
            Admission::Adopt(stamp) => Some(stamp),
        };
        Ok(Wrote { path: path.clone(), hash: emitted.blob.hash, work: emitted.work, adopted })
    }

    /// Before a path is written for the first time the journal hears of it: should the run be killed and the source
    /// go before the next one, its output would belong to nobody. Such a record has no fingerprint and is stale. While
    /// it is not known that an output is in place, every content that was announced for it is kept: any of them may be.
    fn announce(&self, cooks: &[(Ready, Vec<Wrote>)]) -> Result<(), Diag> {
        let mut cache = lock(&self.cache);
        let mut claims: Vec<(&str, Record<'static>)> = Vec::new();
        for (ready, outputs) in cooks {
            let name = self.tasks[ready.index].source().as_str();
            let mut known = cache.records().get(name).map(|old| old.into_owned().outputs).unwrap_or_default();
            let before = known.len();
            for Wrote { path, hash, .. } in outputs {
                let has =
                    |o: &Output<'_>| o.path == path.as_str() && (o.stamp != Stamp::NONE || o.hash == *hash);
                if !known.iter().any(has) {
                    let path = path.to_string().into();
                    known.push(Output { path, stamp: Stamp::NONE, hash: *hash, work: None });
                }
            }
            if known.len() > before {
                claims.push((name, Record { outputs: known, ..Record::default() }));
            }
        }
        let changes: Vec<_> = claims.iter().map(|(name, record)| (*name, Some(record))).collect();
        cache.append(&changes).map_err(|e| journal(&cache.name(), &e))
    }

    /// What a source wrote under a name that differs in case only goes first: where that is the same file, removing it
    /// afterwards would remove the new one.
    fn make_way(&self, cooks: &[(Ready, Vec<Wrote>)]) -> Result<(), Diag> {
        cooks.iter().try_for_each(|(ready, _)| {
            self.remove_old(ready, |output, owner| {
                owner.is_some_and(|(path, by)| by == ready.index && path != output)
            })
        })
    }

    /// Removes those of the recorded outputs of a source that `unwanted` picks, given who writes them now, in any case.
    fn remove_old(
        &self,
        ready: &Ready,
        unwanted: impl Fn(&str, Option<(&str, usize)>) -> bool,
    ) -> Result<(), Diag> {
        let cache = lock(&self.cache);
        let Some(old) = cache.records().get(self.tasks[ready.index].source().as_str()) else { return Ok(()) };
        let owners = lock(&self.owners);
        let owner = |path: &str| owners.get(&*fold(path)).map(|(path, by)| (path.as_str(), *by));
        old.outputs
            .iter()
            .filter(|output| unwanted(&output.path, owner(&output.path)))
            .try_for_each(|output| remove(self.world, output))
    }

    fn remember(&self, published: &[Ready]) -> Result<(), Diag> {
        let name = |ready: &Ready| self.tasks[ready.index].source().as_str();
        for ready in published {
            self.remove_old(ready, |output, owner| {
                owner.is_none_or(|(path, by)| path != output && by != ready.index)
            })?;
        }
        let mut cache = lock(&self.cache);
        let changes: Vec<_> = published.iter().map(|ready| (name(ready), Some(&ready.record))).collect();
        cache.append(&changes).map_err(|e| journal(&cache.name(), &e))
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

    pub(super) fn into_results(self) -> BTreeMap<usize, Done> {
        self.results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Diag {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Diag::new(Code::CookPanicked, format!("the cook panicked: {}", text.unwrap_or("no message")))
        .hint("this is a defect of Kiln: please report it with the file")
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
