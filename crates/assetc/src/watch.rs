//! `assetc watch`: rebuilds whenever sources, configuration or outputs change. `docs/guide/watch.md` describes the command.
//!
//! File events do not decide what is built. An event wakes the loop, which takes a snapshot of both trees
//! and runs an ordinary incremental build if it differs from the last one; polling does the same when no event came. A
//! lost event therefore costs time and nothing else, and a burst of any size is one build. A failed source is built
//! again when something has changed, and not before.

mod file_events;
mod options;
mod snapshot;
mod wake_signal;

pub use file_events::{FileEvents, PlatformEvents, WatchedDirectory};
pub use options::{DebounceConfig, Watch};
pub use wake_signal::{WakeSignal, Wakeup};

use crate::build::{BuildReport, Request, build};
use crate::config::{Config, FILE_NAME, Roots};
use crate::digests::DIGEST_FILE;
use crate::runtime::read_records;
use kiln_engine::{Code, Diag, Event, Events, Hash, LintPolicy, Stamp, State};
use snapshot::Snapshot;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The idle time after a poll, as a multiple of the time that the poll took: polling is busy for 1 % of the time at most.
const POLL_IDLE_FACTOR: u32 = 100;

/// One build of a watch and its result.
#[derive(Debug)]
#[non_exhaustive]
pub struct BuildCycle {
    /// The number of the build, from 1. An [unchanged](BuildCycle::is_unchanged) cycle has the number of the one before.
    pub number: u64,
    /// True if nothing was built and the result is that of the cycle before.
    pub is_unchanged: bool,
    /// True if the build succeeded and the one before failed.
    pub recovered: bool,
    /// The directories; `None` if the configuration is invalid.
    pub roots: Option<Roots>,
    /// The levels of warnings that the configuration sets.
    pub lints: LintPolicy,
    /// Warnings about the configuration and about the watch itself, each reported once.
    pub warnings: Vec<Diag>,
    /// The report of the build, or the error that prevented it.
    pub outcome: Result<BuildReport, Diag>,
    /// The runtime files that are new or have different bytes, relative to the output, sorted.
    pub changed: Vec<String>,
    /// The runtime files that were removed, relative to the output, sorted.
    pub removed: Vec<String>,
    /// The wall time of the build.
    pub duration: Duration,
}

impl BuildCycle {
    /// Returns whether the build ran and nothing failed.
    pub fn is_ok(&self) -> bool {
        self.outcome.as_ref().is_ok_and(BuildReport::is_ok)
    }

    /// Returns all errors, and the warnings about the trees as a whole, each with the source or file it is about.
    pub fn errors(&self) -> Vec<(&str, &Diag)> {
        match &self.outcome {
            Err(diag) => vec![(diag.path.as_deref().unwrap_or_default(), diag)],
            Ok(report) => {
                let failed = report.assets.iter().filter_map(|asset| match &asset.state {
                    State::Failed(diag) => Some((asset.source.as_str(), &**diag)),
                    _ => None,
                });
                report
                    .problems
                    .iter()
                    .map(|diag| (diag.path.as_deref().unwrap_or_default(), diag))
                    .chain(failed)
                    .collect()
            }
        }
    }
}

/// The state that one cycle leaves for the next.
#[derive(Default)]
struct WatchState {
    snapshot: Option<Snapshot>,
    /// True if an equal snapshot means that there is nothing to build.
    is_stable: bool,
    number: u64,
    failed: bool,
    errors: Vec<Diag>,
    /// The output directory and the files in it, each with the hash of its bytes.
    files: Option<(PathBuf, Files)>,
    input: Option<PathBuf>,
}

type Files = BTreeMap<String, Hash>;

/// Forwards build events, and cancels the build in flight when the watch is stopped.
struct CancellableEvents<'a> {
    wake: &'a WakeSignal,
    events: &'a dyn Events,
}

impl Events for CancellableEvents<'_> {
    fn on(&self, event: Event<'_>) {
        self.events.on(event);
    }

    fn is_cancelled(&self) -> bool {
        self.wake.is_stopped()
    }
}

impl Watch<'_> {
    /// Builds once, and again whenever something changed, until `wake` is stopped or `on_cycle` breaks. `on_cycle`
    /// receives every cycle, unchanged ones included, except one that is cancelled by the stop.
    ///
    /// # Errors
    ///
    /// `threads` if the thread pool cannot be started. A failed build and an invalid configuration are no errors of the
    /// watch: they are in the [outcome](BuildCycle::outcome) of their cycle.
    pub fn run(
        &self,
        wake: &WakeSignal,
        file_events: &mut dyn FileEvents,
        on_cycle: &mut dyn FnMut(&BuildCycle) -> ControlFlow<()>,
    ) -> Result<(), Diag> {
        // Snapshots are taken on as many threads as builds.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.jobs).build();
        let pool =
            pool.map_err(|e| Diag::new(Code::Threads, format!("cannot start {} threads: {e}", self.jobs)))?;
        let mut state = WatchState::default();
        let mut poll_interval = self.debounce.poll_interval;
        loop {
            let start = Instant::now();
            let cycle = self.cycle(&mut state, wake, file_events, &pool);
            if wake.is_stopped() {
                return Ok(());
            }
            if cycle.as_ref().is_none_or(|cycle| cycle.is_unchanged) {
                poll_interval = self.debounce.poll_interval.max(start.elapsed() * POLL_IDLE_FACTOR);
            }
            if let Some(cycle) = cycle
                && on_cycle(&cycle).is_break()
            {
                return Ok(());
            }
            let wakeup = match wake.wait(poll_interval) {
                Wakeup::Notified => wake.debounce(self.debounce.quiet_period, self.debounce.max_delay),
                wakeup => wakeup,
            };
            if wakeup == Wakeup::Stop {
                return Ok(());
            }
        }
    }

    /// Takes a snapshot, and builds unless it equals the last one.
    fn cycle(
        &self,
        state: &mut WatchState,
        wake: &WakeSignal,
        file_events: &mut dyn FileEvents,
        pool: &rayon::ThreadPool,
    ) -> Option<BuildCycle> {
        let start = Instant::now();
        // In this order: a change after its part of the snapshot was taken is seen by the next snapshot, and a build
        // sees no less than the snapshot before it.
        let mut snapshot = Snapshot::of_config(self.start);
        let project = self.project();
        let roots = project.as_ref().ok().map(|(_, roots)| roots);
        state.input = roots.map(|roots| roots.input.clone()).or(state.input.take());
        let mut warnings = file_events.watch_directories(&self.directories(state.input.as_deref()));
        if let Some(roots) = roots {
            pool.install(|| snapshot.add_trees(roots));
        }
        let is_stable = snapshot.is_stable();
        let is_same = state.snapshot.as_ref() == Some(&snapshot);
        if is_same && state.is_stable && warnings.is_empty() {
            return None;
        }
        if let Ok((config, _)) = &project
            && state.snapshot.as_ref().is_none_or(|before| !before.same_config(&snapshot))
        {
            warnings.extend(config.warnings().iter().cloned().chain(config.ignored_tools()));
        }

        if let Some(roots) = roots
            && state.files.as_ref().is_none_or(|(output, _)| *output != roots.output)
        {
            state.files = Some((roots.output.clone(), self.files(roots).unwrap_or_default()));
        }
        let roots = roots.cloned();
        let lints = project.as_ref().map(|(config, _)| config.lints().clone()).unwrap_or_default();
        // A build that only confirms an unchanged snapshot reports no progress.
        let events = CancellableEvents { wake, events: if is_same { &() } else { self.events } };
        let outcome = project.and_then(|(config, roots)| self.build(&config, &roots, &events));
        let (mut changed, mut removed) = (vec![], vec![]);
        if let (Some(roots), Some((_, before))) = (&roots, &mut state.files)
            && let Ok(after) = self.files(roots)
        {
            (changed, removed) = differences(before, &after);
            *before = after;
        }
        let mut cycle = BuildCycle {
            number: state.number,
            is_unchanged: false,
            recovered: false,
            roots,
            lints,
            warnings,
            outcome,
            changed,
            removed,
            duration: start.elapsed(),
        };
        let errors: Vec<Diag> = cycle.errors().into_iter().map(|(_, diag)| diag.clone()).collect();
        let is_idle = cycle.outcome.as_ref().map_or(true, |report| {
            report.built() + report.fetched() == 0
                && report.packed.as_ref().is_none_or(|packed| packed.unchanged)
        });
        cycle.is_unchanged = state.number > 0
            && is_idle
            && errors == state.errors
            && [cycle.changed.len(), cycle.removed.len(), cycle.warnings.len()] == [0; 3];
        cycle.number += u64::from(!cycle.is_unchanged);
        cycle.recovered = state.failed && cycle.is_ok();
        *state = WatchState {
            snapshot: Some(snapshot),
            // After a build that changed something another snapshot is taken: another process may have written as well.
            is_stable: is_stable && cycle.is_unchanged,
            number: cycle.number,
            failed: !cycle.is_ok(),
            errors,
            files: state.files.take(),
            input: state.input.take(),
        };
        Some(cycle)
    }

    fn project(&self) -> Result<(Config, Roots), Diag> {
        let mut config = Config::discover(self.start)?;
        if (self.is_trusted)(&config) {
            config.trust();
        }
        let roots = Roots::locate(&config, config.select_preset(self.preset)?, self.output)?;
        Ok((config, roots))
    }

    fn build(&self, config: &Config, roots: &Roots, events: &dyn Events) -> Result<BuildReport, Diag> {
        roots.check_output(self.home)?;
        build(&Request {
            remote: None,
            roots,
            resolver: &config.resolver(config.select_preset(self.preset)?),
            tools: &(self.tools)(config),
            jobs: self.jobs,
            force: false,
            verify: false,
            manifest: config.manifest(),
            manifest_on_failure: config.manifest_on_failure(),
            pack_unowned: config.pack_unowned(),
            pack_compress: config.pack_compress(),
            pack: self.pack || config.pack(),
            overwrite: self.overwrite,
            cache: self.cache,
            shard: None,
            only: None,
            brief: false,
            budgets: config.budgets(),
            limits: self.limits,
            events,
        })
    }

    /// Lists the input directory, its parent, where it would appear again, and the directories where `assetc.yml` is
    /// or may appear.
    fn directories(&self, input: Option<&Path>) -> Vec<WatchedDirectory> {
        let config = Config::find(self.start).unwrap_or_else(|| self.start.join(FILE_NAME));
        let above = [config.parent(), input.and_then(Path::parent), Some(self.start)];
        let mut directories: Vec<WatchedDirectory> = input
            .map(|path| WatchedDirectory { path: path.to_owned(), recursive: true })
            .into_iter()
            .collect();
        let covers = |known: &WatchedDirectory, path: &Path| {
            known.path == path || known.recursive && path.starts_with(&known.path)
        };
        for path in above.into_iter().flatten() {
            if !directories.iter().any(|known| covers(known, path)) {
                directories.push(WatchedDirectory { path: path.to_owned(), recursive: false });
            }
        }
        directories
    }

    /// Reads the files of the output from the journal.
    fn files(&self, roots: &Roots) -> Result<Files, Diag> {
        if !roots.output.is_dir() {
            return Ok(Files::new());
        }
        let records = read_records(&roots.output, &|| self.events.on(Event::Waiting))?;
        let outputs =
            records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs);
        // An output without a stamp is recorded as intended and not in place yet.
        let outputs = outputs.filter(|output| output.stamp != Stamp::NONE);
        // A game does not load the digests.
        let outputs = outputs.filter(|output| output.path != DIGEST_FILE);
        Ok(outputs.map(|output| (output.path.into_owned(), output.hash)).collect())
    }
}

/// Compares two states of an output; returns the paths that are new or differ, and those that were removed.
fn differences(before: &Files, after: &Files) -> (Vec<String>, Vec<String>) {
    let changed = after.iter().filter(|(path, hash)| before.get(*path) != Some(*hash));
    let removed = before.keys().filter(|path| !after.contains_key(*path));
    (changed.map(|(path, _)| path.clone()).collect(), removed.cloned().collect())
}

#[cfg(test)]
mod tests;
