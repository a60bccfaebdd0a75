//! The scheduler: runs as many actions at a time as memory permits, takes results from the cache where possible, and lets a
//! server run actions beside the pool.

use super::prefetch::Prefetch;
use super::publisher::{Claim, Finished, Publisher, lock};
use super::queue::{Next, Pending, Queue};
use super::{Event, Outcome, Plan};
use crate::action::{Action, ActionContext};
use crate::artifact::Artifact;
use crate::inputs::{Inputs, SourceTree};
use crate::journal::Journal;
use crate::memory::Memory;
use crate::record::Record;
use crate::remote::RemoteExecution;
use crate::shared_results::SharedResults;
use crate::sink::Sink;
use crate::stale::RebuildReason;
use crate::store::{InputHashes, Store};
use crate::{Code, Diag};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// The origin of the result of an action.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The cache, or else a run on this machine.
    CachedOrLocal,
    /// The cache, or else a server.
    CachedOrRemote,
    /// A run on this machine, after the cache had no result and a server returned none.
    Fallback,
    /// A run on this machine without the cache.
    Uncached,
}

/// Runs the actions that are out of date on the threads of the pool.
pub(super) struct Scheduler<'a, A: Action> {
    pub(super) sources: SourceTree<'a>,
    pub(super) publisher: Publisher<'a, A>,
    /// Actions whose result was computed in this run.
    ran: Mutex<HashSet<usize>>,
    /// Actions that claim the same artifact name, of which at least one did not run in this run.
    disputed: Mutex<BTreeSet<usize>>,
    /// True while disputes are settled: nothing is published before all disputed actions have finished.
    settling: AtomicBool,
    memory: Memory,
    shared: SharedResults,
    pub(super) hashes: InputHashes<'a>,
    pub(super) plan: Plan<'a>,
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
            publisher: Publisher::new(sink, journal, actions, plan.events),
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
    /// of its stack, which would hold its memory until that action is finished. `outcomes` has the artifacts of the actions that
    /// are up to date.
    pub(super) fn run_all(&self, stale: Vec<(u64, usize, RebuildReason)>, outcomes: &[Outcome<A::Metadata>]) {
        if stale.is_empty() {
            return;
        }
        self.publisher.claim_fresh(outcomes);
        let prefetch = Prefetch::new(stale.iter().map(|(_, index, _)| *index).collect());
        let threads = self.plan.store.filter(|_| !self.plan.force).map_or(0, Store::prefetchers);
        let threads = threads.min(stale.len());
        let pending = |(weight, index, why)| Pending { weight, index, why, is_fallback: false };
        let is_remote = |index: usize| {
            self.plan.remote.is_some() && self.action(index).remote_request(&self.plan.limits).is_some()
        };
        let queue = Queue::new(stale.into_iter().map(pending), is_remote);
        let remote_threads = self.plan.remote.map_or(0, RemoteExecution::jobs).min(queue.remote_len());
        std::thread::scope(|scope| {
            for n in 0..threads {
                let thread = std::thread::Builder::new().name(format!("kiln-prefetch-{n}"));
                // Without prefetch threads the workers do all lookups.
                let _ = thread.spawn_scoped(scope, || self.prefetch(&prefetch));
            }
            for n in 0..remote_threads {
                let thread = std::thread::Builder::new().name(format!("kiln-remote-{n}"));
                let _ = thread.spawn_scoped(scope, || self.run_remote_queue(&queue, &prefetch));
            }
            let thread = std::thread::Builder::new().name("kiln-publish".to_owned());
            // Without this thread, those that run actions publish.
            let _ = thread.spawn_scoped(scope, || {
                self.publisher.publish_due(|| self.plan.events.is_cancelled());
            });
            let _end = self.publisher.actions_end();
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

    fn run_queue(&self, queue: &Queue, prefetch: &Prefetch) {
        self.plan.pool.broadcast(|_| {
            while let Some(Pending { weight, index, why, is_fallback }) = self.next(queue) {
                prefetch.wait_for(index);
                let attempt = match is_fallback {
                    true => Attempt::Fallback,
                    false if self.plan.force => Attempt::Uncached,
                    false => Attempt::CachedOrLocal,
                };
                self.run_one(weight, index, why, attempt);
                self.memory.release(weight);
            }
        });
    }

    /// Lets a server run actions until none is left or the server is disabled: the body of a thread that waits for results.
    fn run_remote_queue(&self, queue: &Queue, prefetch: &Prefetch) {
        let is_enabled = || self.plan.remote.is_some_and(RemoteExecution::is_enabled);
        while is_enabled() && !self.plan.events.is_cancelled() {
            let Some(Pending { weight, index, why, .. }) = queue.next_remote() else { return };
            prefetch.wait_for(index);
            let fallback = self.run_one(0, index, why, Attempt::CachedOrRemote);
            queue.finish_remote(fallback.map(|why| Pending { weight, index, why, is_fallback: true }));
        }
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
            disputed.into_iter().for_each(|index| {
                _ = self.run_one(u64::MAX, index, RebuildReason::Forced, Attempt::Uncached)
            });
            self.publisher.publish();
        }
    }

    /// Returns the next action as soon as its memory is available; `None` if none is left or the run is cancelled.
    fn next(&self, queue: &Queue) -> Option<Pending> {
        while !self.plan.events.is_cancelled() {
            match queue.next(|weight| self.memory.admit(weight, self.publisher.sink.held_bytes())) {
                Next::Run(pending) => return Some(pending),
                Next::Wait => self.memory.wait(),
                Next::Done => return None,
            }
        }
        None
    }

    /// Runs an action, or takes its result from the cache or from a server. Returns the reason to run it again if neither of
    /// the two has a result, and the pool has to run it.
    fn run_one(
        &self,
        weight: u64,
        index: usize,
        why: RebuildReason,
        attempt: Attempt,
    ) -> Option<RebuildReason> {
        let (action, Plan { events, store, limits, .. }) = (self.action(index), self.plan);
        let source = action.source();
        let start = Instant::now();
        if attempt != Attempt::Fallback {
            events.on(Event::Started { source });
        }
        let uses_cached = attempt != Attempt::Uncached && !self.plan.force;
        let looks_up = uses_cached && attempt != Attempt::Fallback;
        let inputs = Inputs::new(self.sources).limited(limits).admitted(&self.memory, weight);
        let (sink, cache) = (self.publisher.sink, (store, uses_cached));
        let cx = ActionContext::new(source, inputs, sink, &self.shared, cache);
        let mut cx = cx.with_digests(self.plan.remote.is_some());
        let (mut fetched, mut executed) = (false, false);
        let result = catch_unwind(AssertUnwindSafe(|| {
            if let Some(artifacts) = looks_up.then(|| self.fetch(action, &mut cx)).flatten() {
                fetched = true;
                return Some(Ok(artifacts));
            }
            if attempt == Attempt::CachedOrRemote {
                executed = true;
                return self.run_remote(action, &mut cx).map(Ok);
            }
            Some(action.run(&mut cx))
        }));
        let Some(result) = result.unwrap_or_else(|panic| Some(Err(panicked(&*panic)))) else {
            self.plan.remote.inspect(|remote| remote.count_fallback());
            return Some(why);
        };
        if !fetched && !executed {
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
            Ok((_, Claim::Disputed(other))) => {
                // The result is discarded.
                events.on(Event::Published { count: 1 });
                lock(&self.disputed).extend([index, other]);
            }
            Ok((artifacts, Claim::Granted)) => {
                // A result that another machine made is not signed with the key of this one.
                if let Some(store) = store.filter(|store| !(fetched || executed && store.is_signed())) {
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
        None
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
