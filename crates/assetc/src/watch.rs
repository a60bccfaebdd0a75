//! `assetc watch`: the output follows its sources. `docs/watch.md` is its document.
//!
//! An event never says what to build. It wakes the loop, which looks at both trees and runs the ordinary build if they
//! are not what they were; a sweep does the same when no event came. So an event that is lost costs time and nothing
//! else, and a burst of any size is one build. What failed is tried again when anything changed, and not before.

mod bell;
mod hints;
mod look;

pub use bell::{Bell, Woken};
pub use hints::{Hints, Listener, Place};

use crate::build::{Report, Request, build};
use crate::config::{Config, FILE_NAME, Roots};
use crate::runtime::read_records;
use crate::tools::Tools;
use kiln_engine::{Code, Diag, Event, Events, Hash, Limits, Stamp, State, Store};
use look::Look;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A sweep takes at most this part of the time.
const BUSY: u32 = 100;

/// When the loop looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// After a hint, once there was no other for this long, …
    pub quiet: Duration,
    /// … or for this long there was no end to them.
    pub most: Duration,
    /// Without a hint, after this long; later in a tree so large that looking would take a hundredth of that.
    pub sweep: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        let ms = Duration::from_millis;
        Pace { quiet: ms(50), most: ms(500), sweep: ms(2000) }
    }
}

/// What to watch and how to build it.
pub struct Watch<'a> {
    /// Where the search for `assetc.yml` begins; absolute.
    pub start: &'a Path,
    /// The preset, if not the one that the file names.
    pub preset: Option<&'a str>,
    /// The output directory, if not the one that the file names; absolute.
    pub output: Option<&'a Path>,
    /// A directory that is never taken for an output.
    pub home: Option<&'a Path>,
    /// Whether the user trusts a project.
    pub is_trusted: &'a dyn Fn(&Config) -> bool,
    /// The programs beside Kiln under a configuration.
    pub tools: &'a dyn Fn(&Config) -> Tools,
    /// On how many threads.
    pub jobs: usize,
    /// Whether the output is bundled after every build, whatever the configuration says.
    pub pack: bool,
    /// Whether builds replace regular files at the paths of outputs that no recorded build wrote.
    pub overwrite: bool,
    /// Where results are looked for and put beyond the output.
    pub store: Option<&'a Store>,
    /// Limits on each source.
    pub limits: Limits,
    /// When to look.
    pub pace: Pace,
    /// Who watches the builds.
    pub events: &'a dyn Events,
}

/// A build and what came of it.
#[derive(Debug)]
pub struct Turn {
    /// Its number, from one. Builds that are [quiet](Turn::quiet) have the number of the one before.
    pub number: u64,
    /// Whether nothing was done and all stands as it stood after the turn before.
    pub quiet: bool,
    /// Whether all is well, and was not after the turn before.
    pub mended: bool,
    /// The directories, unless the configuration is wrong.
    pub roots: Option<Roots>,
    /// What is odd about the configuration or the watch itself; said once.
    pub warnings: Vec<Diag>,
    /// What the build did, or why there was none.
    pub outcome: Result<Report, Diag>,
    /// The runtime files that are new or have other bytes, relative to the output, sorted.
    pub changed: Vec<String>,
    /// The runtime files that are gone, relative to the output, sorted.
    pub removed: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl Turn {
    /// Whether everything is as it should be.
    pub fn is_ok(&self) -> bool {
        self.outcome.as_ref().is_ok_and(Report::is_ok)
    }

    /// Everything that went wrong or deserves a look in the trees as a whole, each with the source or file it is about.
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

/// What is remembered from one turn to the next.
#[derive(Default)]
struct Memory {
    look: Option<Look>,
    /// Whether the look is all there is to know: an equal one means that there is nothing to do.
    sure: bool,
    number: u64,
    failed: bool,
    errors: Vec<Diag>,
    /// The output and the files in it, with the hash of their bytes.
    files: Option<(PathBuf, Files)>,
    input: Option<PathBuf>,
}

type Files = BTreeMap<String, Hash>;

/// Passes on what happens, and ends a build that is under way when the watch is to end.
struct Ears<'a> {
    bell: &'a Bell,
    events: &'a dyn Events,
}

impl Events for Ears<'_> {
    fn on(&self, event: Event<'_>) {
        self.events.on(event);
    }

    fn is_over(&self) -> bool {
        self.bell.is_stopped()
    }
}

impl Watch<'_> {
    /// Builds, and builds again whenever something changed, until the bell says stop or `told` breaks. Every turn is
    /// told, also the quiet ones, but for the one that the end cuts short.
    pub fn run(
        &self,
        bell: &Bell,
        hints: &mut dyn Hints,
        told: &mut dyn FnMut(&Turn) -> ControlFlow<()>,
    ) -> Result<(), Diag> {
        // Looks are taken on as many threads as builds.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.jobs).build();
        let pool =
            pool.map_err(|e| Diag::new(Code::Threads, format!("cannot start {} threads: {e}", self.jobs)))?;
        let mut memory = Memory::default();
        let mut sweep = self.pace.sweep;
        loop {
            let start = Instant::now();
            let turn = self.turn(&mut memory, bell, hints, &pool);
            if bell.is_stopped() {
                return Ok(());
            }
            if turn.as_ref().is_none_or(|turn| turn.quiet) {
                sweep = self.pace.sweep.max(start.elapsed() * BUSY);
            }
            if let Some(turn) = turn
                && told(&turn).is_break()
            {
                return Ok(());
            }
            let woken = match bell.wait(sweep) {
                Woken::Hint => bell.settle(self.pace.quiet, self.pace.most),
                woken => woken,
            };
            if woken == Woken::Stop {
                return Ok(());
            }
        }
    }

    /// Looks, and builds unless everything is what it was.
    fn turn(
        &self,
        memory: &mut Memory,
        bell: &Bell,
        hints: &mut dyn Hints,
        pool: &rayon::ThreadPool,
    ) -> Option<Turn> {
        let start = Instant::now();
        // In this order: what changes after it was looked at is seen by the next look, and a build sees no less than
        // the look before it.
        let mut look = Look::at_config(self.start);
        let project = self.project();
        let roots = project.as_ref().ok().map(|(_, roots)| roots);
        memory.input = roots.map(|roots| roots.input.clone()).or(memory.input.take());
        let mut warnings = hints.follow(&self.places(memory.input.as_deref()));
        if let Some(roots) = roots {
            pool.install(|| look.at_trees(roots));
        }
        let sure = look.is_sure();
        let again = memory.look.as_ref() == Some(&look);
        if again && memory.sure && warnings.is_empty() {
            return None;
        }
        if let Ok((config, _)) = &project
            && memory.look.as_ref().is_none_or(|before| !before.same_config(&look))
        {
            warnings.extend(config.warnings().iter().cloned().chain(config.ignored_tools()));
        }

        if let Some(roots) = roots
            && memory.files.as_ref().is_none_or(|(output, _)| *output != roots.output)
        {
            memory.files = Some((roots.output.clone(), self.files(roots).unwrap_or_default()));
        }
        let roots = roots.cloned();
        // A look that only makes sure is not worth a word.
        let events = Ears { bell, events: if again { &() } else { self.events } };
        let outcome = project.and_then(|(config, roots)| self.build(&config, &roots, &events));
        let (mut changed, mut removed) = (vec![], vec![]);
        if let (Some(roots), Some((_, before))) = (&roots, &mut memory.files)
            && let Ok(after) = self.files(roots)
        {
            (changed, removed) = differences(before, &after);
            *before = after;
        }
        let mut turn = Turn {
            number: memory.number,
            quiet: false,
            mended: false,
            roots,
            warnings,
            outcome,
            changed,
            removed,
            took: start.elapsed(),
        };
        let errors: Vec<Diag> = turn.errors().into_iter().map(|(_, diag)| diag.clone()).collect();
        let idle = turn.outcome.as_ref().map_or(true, |report| {
            report.built() + report.fetched() == 0
                && report.packed.as_ref().is_none_or(|packed| packed.unchanged)
        });
        turn.quiet = memory.number > 0
            && idle
            && errors == memory.errors
            && [turn.changed.len(), turn.removed.len(), turn.warnings.len()] == [0; 3];
        turn.number += u64::from(!turn.quiet);
        turn.mended = memory.failed && turn.is_ok();
        *memory = Memory {
            look: Some(look),
            // What a build changed is looked at once more: someone else may have been at it meanwhile.
            sure: sure && turn.quiet,
            number: turn.number,
            failed: !turn.is_ok(),
            errors,
            files: memory.files.take(),
            input: memory.input.take(),
        };
        Some(turn)
    }

    fn project(&self) -> Result<(Config, Roots), Diag> {
        let mut config = Config::discover(self.start)?;
        if (self.is_trusted)(&config) {
            config.trust();
        }
        let roots = Roots::locate(&config, config.select_preset(self.preset)?, self.output)?;
        Ok((config, roots))
    }

    fn build(&self, config: &Config, roots: &Roots, events: &dyn Events) -> Result<Report, Diag> {
        roots.check_output(self.home)?;
        build(&Request {
            roots,
            resolver: &config.resolver(config.select_preset(self.preset)?),
            tools: &(self.tools)(config),
            jobs: self.jobs,
            force: false,
            verify: false,
            manifest: config.manifest(),
            pack: self.pack || config.pack(),
            overwrite: self.overwrite,
            store: self.store,
            shard: None,
            limits: self.limits,
            events,
        })
    }

    /// The input; where it would appear again if it went away; and where `assetc.yml` is or might appear.
    fn places(&self, input: Option<&Path>) -> Vec<Place> {
        let config = Config::find(self.start).unwrap_or_else(|| self.start.join(FILE_NAME));
        let above = [config.parent(), input.and_then(Path::parent), Some(self.start)];
        let mut places: Vec<Place> =
            input.map(|path| Place { path: path.to_owned(), deep: true }).into_iter().collect();
        for path in above.into_iter().flatten() {
            if places.iter().all(|place| place.path != path && !(place.deep && path.starts_with(&place.path)))
            {
                places.push(Place { path: path.to_owned(), deep: false });
            }
        }
        places
    }

    /// What the journal says is in the output.
    fn files(&self, roots: &Roots) -> Result<Files, Diag> {
        if !roots.output.is_dir() {
            return Ok(Files::new());
        }
        let records = read_records(&roots.output, &|| self.events.on(Event::Waiting))?;
        let outputs =
            records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs);
        // What is only announced is not there yet.
        let outputs = outputs.filter(|output| output.stamp != Stamp::NONE);
        Ok(outputs.map(|output| (output.path.into_owned(), output.hash)).collect())
    }
}

/// The paths that are new or differ, and those that are gone.
fn differences(before: &Files, after: &Files) -> (Vec<String>, Vec<String>) {
    let changed = after.iter().filter(|(path, hash)| before.get(*path) != Some(*hash));
    let removed = before.keys().filter(|path| !after.contains_key(*path));
    (changed.map(|(path, _)| path.clone()).collect(), removed.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_config::user::UserConfig;
    use std::fs;

    /// A project of files that are copied.
    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Project {
            let project = Project(tempfile::tempdir().unwrap());
            project.write("assetc.yml", "embed: \"**\"\n").write("assets/a", "1")
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn write(self, path: &str, text: &str) -> Project {
            self.put(path, text);
            self
        }

        fn put(&self, path: &str, text: &str) {
            fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
            fs::write(self.path(path), text).unwrap();
        }

        /// Watches without a single event, hands every turn to `told`, and ends when that says so.
        fn watch(&self, bell: &Bell, told: &mut dyn FnMut(&Turn) -> ControlFlow<()>) {
            self.settings().run(bell, &mut (), told).unwrap();
        }

        /// Looks again and again, without waiting and without a single event, until `told` breaks.
        fn look(&self, told: &mut dyn FnMut(&Turn) -> ControlFlow<()>) {
            let (watch, mut memory, bell) = (self.settings(), Memory::default(), Bell::default());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            while watch.turn(&mut memory, &bell, &mut (), &pool).is_none_or(|turn| told(&turn).is_continue())
            {
            }
        }

        fn settings(&self) -> Watch<'_> {
            Watch {
                start: self.0.path(),
                preset: None,
                output: None,
                home: None,
                is_trusted: &|_| false,
                tools: &|config: &Config| Tools::find(config, &UserConfig::default(), &[], PathBuf::new()),
                jobs: 2,
                pack: false,
                overwrite: false,
                store: None,
                limits: Limits::default(),
                pace: Pace { sweep: Duration::from_millis(5), ..Pace::default() },
                events: &(),
            }
        }
    }

    /// The paths, without the manifest, which changes with them.
    fn names(paths: &[String]) -> Vec<&str> {
        paths.iter().map(String::as_str).filter(|path| *path != "assets.hman").collect()
    }

    #[test]
    fn without_a_single_event_every_change_is_found() {
        let project = Project::new();
        project.put("runtime/other", "not ours");
        let mut steps = vec![];
        project.look(&mut |turn| {
            if turn.quiet {
                return ControlFlow::Continue(());
            }
            let codes: Vec<_> = turn.errors().iter().map(|(_, diag)| diag.code.as_str()).collect();
            let (changed, removed) = (names(&turn.changed).join(" "), names(&turn.removed).join(" "));
            steps.push(format!("{}: {changed}; {removed}; {}", turn.number, codes.join(" ")));
            match turn.number {
                1 => project.put("assets/b/c", "1"),
                2 => project.put("assets/a", "2"),
                3 => fs::rename(project.path("assets/b"), project.path("assets/d")).unwrap(),
                4 => fs::remove_file(project.path("assets/a")).unwrap(),
                5 => project.put("assetc.yml", "embed: [\n"),
                6 => project.put("assetc.yml", "embed: \"**\"\ninput: art\n"),
                7 => project.put("art/e", "1"),
                8 => fs::remove_file(project.path("runtime/e")).unwrap(),
                _ => return ControlFlow::Break(()),
            }
            ControlFlow::Continue(())
        });
        let wanted = [
            "1: a; ; ",
            "2: b/c; ; ",
            "3: a; ; ",
            "4: d/c; b/c; ",
            "5: ; a; ",
            "6: ; ; config-syntax",
            "7: ; ; input-missing",
            "8: e; d/c; ",
            // It was written again; a game has nothing to load again.
            "9: ; ; ",
        ];
        assert_eq!(steps, wanted);
        assert_eq!(fs::read(project.path("runtime/e")).unwrap(), b"1");
        assert!(project.path("runtime/other").exists());
    }

    #[test]
    fn what_failed_is_tried_again_when_something_changed_and_not_before() {
        let project = Project::new().write("assetc.yml", "").write("assets/a.png", "no picture");
        let mut loud = vec![];
        let mut quiet = 0;
        project.look(&mut |turn| {
            if turn.quiet {
                quiet += 1;
                if quiet == 1 {
                    project.put("assets/b.png", "no picture");
                }
                return ControlFlow::Continue(());
            }
            let failed: Vec<&str> = turn.errors().into_iter().map(|(source, _)| source).collect();
            loud.push((turn.number, failed.join(" "), turn.mended));
            match turn.number {
                2 => {
                    fs::remove_file(project.path("assets/a.png")).unwrap();
                    fs::remove_file(project.path("assets/b.png")).unwrap();
                }
                3 => return ControlFlow::Break(()),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        let wanted = [(1, "a.png", false), (2, "a.png b.png", false), (3, "", true)];
        assert_eq!(loud, wanted.map(|(number, failed, mended)| (number, failed.to_owned(), mended)));
    }

    #[test]
    fn at_rest_there_is_a_look_and_no_build() {
        let project = Project::new().write("assetc.yml", "").write("assets/a.png", "no picture");
        let watch = project.settings();
        let (mut memory, bell) = (Memory::default(), Bell::default());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let mut turn = || watch.turn(&mut memory, &bell, &mut (), &pool);
        assert!(!turn().unwrap().quiet);
        // Files that were just written may change without their stamps telling; until then builds make sure.
        while let Some(turn) = turn() {
            assert!(turn.quiet && !turn.is_ok() && turn.number == 1);
        }
        assert!((0..100).all(|_| turn().is_none()));
        project.put("assets/a.png", "no picture either");
        assert!(turn().is_some());
    }

    #[test]
    fn the_end_cuts_a_build_short() {
        let project = Project::new();
        let bell = Bell::default();
        bell.stop();
        project.watch(&bell, &mut |turn| panic!("{turn:?}"));
        assert!(!project.path("runtime/a").exists());
    }

    #[test]
    fn a_sweep_comes_without_a_hint() {
        let project = Project::new();
        project.watch(&Bell::default(), &mut |turn| match (turn.number, turn.quiet) {
            (1, true) => {
                project.put("assets/b", "1");
                ControlFlow::Continue(())
            }
            (1, false) => ControlFlow::Continue(()),
            _ => {
                assert_eq!(names(&turn.changed), ["b"]);
                ControlFlow::Break(())
            }
        });
    }

    #[test]
    fn a_burst_of_hints_is_one_turn() {
        let project = Project::new();
        let bell = Bell::default();
        let mut loud = 0;
        project.watch(&bell, &mut |turn| {
            loud += u32::from(!turn.quiet);
            if turn.number == 1 && !turn.quiet {
                (0..500).for_each(|n| project.put(&format!("assets/n{n}"), "1"));
                (0..20_000).for_each(|_| bell.hint());
            }
            match names(&turn.changed).len() {
                500 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        assert_eq!(loud, 2);
    }
}
