//! Schedules actions: as many at a time as memory admits, each from the cache if its result is there.

use super::prefetch::Prefetch;
use super::publisher::{Claim, Finished, Publisher, lock};
use super::{Event, Outcome, Plan};
use crate::action::{Action, ActionContext};
use crate::artifact::Artifact;
use crate::inputs::{Inputs, SourceTree};
use crate::journal::Journal;
use crate::memory::Memory;
use crate::record::Record;
use crate::shared_results::SharedResults;
use crate::sink::Sink;
use crate::stale::Why;
use crate::store::{InputHashes, Store};
use crate::{Code, Diag};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// The actions that are to come: weight, index and reason.
type Queue = Peekable<std::vec::IntoIter<(u64, usize, Why)>>;

/// What actions in flight share.
pub(super) struct Scheduler<'a, A: Action> {
    sources: SourceTree<'a>,
    publisher: Publisher<'a, A>,
    /// Actions that ran in this run, and whose result was neither taken from a cache nor left by an earlier run.
    ran: Mutex<HashSet<usize>>,
    /// Actions that claim an artifact name of another one while one of the two did not run in this run.
    disputed: Mutex<BTreeSet<usize>>,
    /// True while disputes are settled: nothing is published before all of their actions have ended.
    settling: AtomicBool,
    memory: Memory,
    shared: SharedResults,
    hashes: InputHashes<'a>,
    plan: Plan<'a>,
}

impl<'a, A: Action> Scheduler<'a, A> {
    pub(super) fn new(
        sources: SourceTree<'a>,
        sink: &'a dyn Sink,
        journal: &'a mut Journal,
        actions: &'a [A],
        shared: SharedResults,
        plan: Plan<'a>,
    ) -> Scheduler<'a, A> {
        Scheduler {
            sources,
            publisher: Publisher::new(sink, journal, actions),
            ran: Mutex::default(),
            disputed: Mutex::default(),
            settling: AtomicBool::new(false),
            memory: Memory::new(plan.limits.max_memory),
            shared,
            hashes: InputHashes::new(sources, plan.limits),
            plan,
        }
    }

    /// Every thread of the pool takes one action after the other. Actions are not jobs of the pool: a thread that waits for
    /// a part of its own action may then help another one with a part, but never starts a whole one on top, which would
    /// hold its memory, and whatever others wait for, until that one is done.
    pub(super) fn run_all(&self, stale: Vec<(u64, usize, Why)>) {
        if stale.is_empty() {
            return;
        }
        self.publisher.claim_fresh(&stale.iter().map(|(_, index, _)| *index).collect());
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
            self.run_queue(&queue, &prefetch);
            prefetch.cancel();
        });
        self.plan.pool.install(|| {
            self.publisher.publish();
            self.settle_disputes();
        });
    }

    fn action(&self, index: usize) -> &'a A {
        &self.publisher.actions[index]
    }

    fn prefetch(&self, prefetch: &Prefetch) {
        let Some(store) = self.plan.store else { return };
        let is_over = || self.plan.events.is_over() || store.prefetchers() == 0;
        prefetch.work(is_over, |index| {
            let action = self.action(index);
            store.prefetch(&self.hashes, action.fingerprint(), action.source());
        });
    }

    fn run_queue(&self, queue: &Mutex<Queue>, prefetch: &Prefetch) {
        self.plan.pool.broadcast(|_| {
            while let Some((weight, index, why)) = self.next(queue) {
                prefetch.wait_for(index);
                self.run_one(weight, index, why, !self.plan.force);
                self.memory.release(weight);
            }
        });
    }

    /// Runs the actions that claim one name, whatever is cached: a cache entry is no reason to refuse what is right. An
    /// action that still claims a name of another one afterwards is refused. Every round runs an action that did not run
    /// before, so that there is an end.
    fn settle_disputes(&self) {
        self.settling.store(true, Relaxed);
        loop {
            let disputed = std::mem::take(&mut *lock(&self.disputed));
            if disputed.is_empty() || self.plan.events.is_over() {
                return;
            }
            self.publisher.release(&|index| disputed.contains(index));
            // One after the other: there is all memory for each.
            disputed.into_iter().for_each(|index| self.run_one(u64::MAX, index, Why::Forced, false));
            self.publisher.publish();
        }
    }

    /// The next action, as soon as there is memory for it.
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

    /// Runs an action, or takes its result from the cache if it `uses_cached` results and one is there.
    fn run_one(&self, weight: u64, index: usize, why: Why, uses_cached: bool) {
        let (action, Plan { events, store, limits, .. }) = (self.action(index), self.plan);
        let source = action.source();
        let start = Instant::now();
        events.on(Event::Started { source });
        let inputs = Inputs::new(self.sources).limited(limits).admitted(&self.memory, weight);
        let (sink, cache) = (self.publisher.sink, (store, uses_cached));
        let mut cx = ActionContext::new(source, inputs, sink, &self.shared, cache);
        let mut fetched = false;
        let result = catch_unwind(AssertUnwindSafe(|| {
            match uses_cached.then(|| self.fetch(action, &mut cx)).flatten() {
                Some(artifacts) => {
                    fetched = true;
                    Ok(artifacts)
                }
                None => action.run(&mut cx),
            }
        }));
        let result = result.unwrap_or_else(|panic| Err(panicked(&*panic)));
        if !fetched {
            lock(&self.ran).insert(index);
        }
        let claimed = result.and_then(|artifacts| {
            let have_both_run = |other| {
                let ran = lock(&self.ran);
                ran.contains(&index) && ran.contains(&other)
            };
            let claim = self.publisher.claim(index, &artifacts, have_both_run)?;
            Ok((artifacts, claim))
        });
        let claimed = claimed.map_err(|error| error.or_path(source));
        let took = start.elapsed();
        events.on(Event::Finished { source, why: &why, fetched, error: claimed.as_ref().err(), took });
        match claimed {
            Err(error) => self.publisher.fail(index, error, cx.warnings),
            Ok((_, Claim::Disputed(other))) => lock(&self.disputed).extend([index, other]),
            Ok((artifacts, Claim::Granted)) => {
                if let Some(store) = store.filter(|_| !fetched) {
                    let seen = &cx.inputs.seen;
                    let key = (action.fingerprint(), source);
                    store.remember(&self.hashes, key, seen, &artifacts, &cx.warnings, took);
                }
                let record = Record {
                    fingerprint: action.fingerprint().to_owned().into(),
                    why: why.to_string().into(),
                    inputs: cx.inputs.recorded(),
                    warnings: cx.warnings,
                    ..Record::default()
                };
                let finished = Finished { index, why, fetched, artifacts, record };
                self.publisher.enqueue(finished, self.settling.load(Relaxed));
            }
        }
    }

    /// Takes a result from the cache, if there is the one that a run would come to.
    fn fetch(&self, action: &A, cx: &mut ActionContext<'_>) -> Option<Vec<Artifact<A::Metadata>>> {
        let store = self.plan.store?;
        let mut found = store.find(&self.hashes, action.fingerprint(), action.source())?;
        if let Err(why) = found.entry().and_then(|mut entry| action.check_cached(&mut entry)) {
            store.reject(&found, why);
            return None;
        }
        let artifacts = found.stage(self.publisher.sink).ok()?;
        cx.inputs.seen = std::mem::take(&mut found.seen);
        cx.warnings = found.answer.warnings.clone();
        store.count(&mut found);
        Some(artifacts)
    }

    pub(super) fn into_outcomes(self) -> BTreeMap<usize, Outcome<A::Metadata>> {
        self.publisher.into_outcomes()
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Diag {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Diag::new(Code::CookPanicked, format!("the cook panicked: {}", text.unwrap_or("no message")))
        .hint("this is a defect of Kiln: please report it with the file")
}
