//! The scheduler: runs as many actions at a time as memory permits, and takes results from the cache where possible.

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
use crate::stale::RebuildReason;
use crate::store::{InputHashes, Store};
use crate::{Code, Diag};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// The pending actions: memory estimate, index and reason.
type Queue = Peekable<std::vec::IntoIter<(u64, usize, RebuildReason)>>;

/// Runs the actions that are out of date on the threads of the pool.
pub(super) struct Scheduler<'a, A: Action> {
    sources: SourceTree<'a>,
    publisher: Publisher<'a, A>,
    /// Actions whose result was computed in this run.
    ran: Mutex<HashSet<usize>>,
    /// Actions that claim the same artifact name, of which at least one did not run in this run.
    disputed: Mutex<BTreeSet<usize>>,
    /// True while disputes are settled: nothing is published before all disputed actions have finished.
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

    /// Runs all actions: every thread of the pool takes one after the other. Actions are not jobs of the pool: a thread that
    /// waits for parallel work of its action may execute parallel work of another one, but never starts a whole action on top
    /// of its stack, which would hold its memory until that action is finished.
    pub(super) fn run_all(&self, stale: Vec<(u64, usize, RebuildReason)>) {
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
                // Without prefetch threads the workers do all lookups.
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
        let is_cancelled = || self.plan.events.is_cancelled() || store.prefetchers() == 0;
        prefetch.work(is_cancelled, |index| {
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

    /// Runs the actions that claim the same name without the cache: a forged cache entry must not fail a valid action. Actions
    /// that still claim the same name fail. Every round runs an action that did not run before, so the loop terminates.
    fn settle_disputes(&self) {
        self.settling.store(true, Relaxed);
        loop {
            let disputed = std::mem::take(&mut *lock(&self.disputed));
            if disputed.is_empty() || self.plan.events.is_cancelled() {
                return;
            }
            self.publisher.release(&|index| disputed.contains(index));
            // Sequentially, so that each action has all of the memory.
            disputed
                .into_iter()
                .for_each(|index| self.run_one(u64::MAX, index, RebuildReason::Forced, false));
            self.publisher.publish();
        }
    }

    /// Returns the next action as soon as its memory is available; `None` if none is left or the run is cancelled.
    fn next(&self, queue: &Mutex<Queue>) -> Option<(u64, usize, RebuildReason)> {
        while !self.plan.events.is_cancelled() {
            let mut queue = lock(queue);
            if self.memory.admit(queue.peek()?.0) {
                return queue.next();
            }
            drop(queue);
            self.memory.wait();
        }
        None
    }

    /// Runs an action, or takes its result from the cache if `uses_cached` is set and the cache has it.
    fn run_one(&self, weight: u64, index: usize, why: RebuildReason, uses_cached: bool) {
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
        let (error, notes) = (claimed.as_ref().err(), cx.notes.as_slice());
        events.on(Event::Finished { source, why: &why, fetched, error, took, notes });
        match claimed {
            Err(error) => self.publisher.fail(index, error, cx.warnings),
            Ok((_, Claim::Disputed(other))) => lock(&self.disputed).extend([index, other]),
            Ok((artifacts, Claim::Granted)) => {
                if let Some(store) = store.filter(|_| !fetched) {
                    let seen = &cx.inputs.seen;
                    let key = (action.fingerprint(), source);
                    store.store_result(&self.hashes, key, seen, &artifacts, &cx.warnings, took);
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

    /// Takes the result of an action from the cache, if the tool accepts it.
    fn fetch(&self, action: &A, cx: &mut ActionContext<'_>) -> Option<Vec<Artifact<A::Metadata>>> {
        let store = self.plan.store?;
        let mut found = store.find(&self.hashes, action.fingerprint(), action.source())?;
        if let Err(why) = found.entry().and_then(|mut entry| action.check_cached(&mut entry)) {
            store.reject(&found, why);
            return None;
        }
        let artifacts = found.stage(self.publisher.sink).ok()?;
        cx.inputs.seen = std::mem::take(&mut found.seen);
        cx.warnings = found.result.warnings.clone();
        store.count_hit(&mut found);
        Some(artifacts)
    }

    pub(super) fn into_outcomes(self) -> BTreeMap<usize, Outcome<A::Metadata>> {
        self.publisher.into_outcomes()
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Diag {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Diag::new(Code::ActionPanicked, format!("the action panicked: {}", text.unwrap_or("no message")))
        .hint("this is an internal error in Kiln; please report it with the file")
}
