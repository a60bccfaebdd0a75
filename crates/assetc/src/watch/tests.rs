//! Unit tests of the watch loop: polling, debouncing, recovery and cancellation.

use super::*;
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

    /// Watches without file events, passes every cycle to `on_cycle`, and ends when that breaks.
    fn watch(&self, wake: &WakeSignal, on_cycle: &mut dyn FnMut(&BuildCycle) -> ControlFlow<()>) {
        self.settings().run(wake, &mut (), on_cycle).unwrap();
    }

    /// Runs cycle after cycle, without waiting and without file events, until `on_cycle` breaks.
    fn run_cycles(&self, on_cycle: &mut dyn FnMut(&BuildCycle) -> ControlFlow<()>) {
        let (watch, mut state, wake) = (self.settings(), WatchState::default(), WakeSignal::default());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let mut next = || watch.cycle(&mut state, &wake, &mut (), &pool);
        while next().is_none_or(|cycle| on_cycle(&cycle).is_continue()) {}
    }

    fn settings(&self) -> Watch<'_> {
        Watch::new(self.0.path())
            .jobs(2)
            .debounce(DebounceConfig::default().poll_interval(Duration::from_millis(5)))
    }
}

/// The paths, without the manifest, which changes with them.
fn names(paths: &[String]) -> Vec<&str> {
    paths.iter().map(String::as_str).filter(|path| *path != "assets.hman").collect()
}

#[test]
fn polling_finds_every_change() {
    let project = Project::new();
    project.put("runtime/other", "foreign");
    let mut steps = vec![];
    project.run_cycles(&mut |cycle| {
        if cycle.is_unchanged {
            return ControlFlow::Continue(());
        }
        let codes: Vec<_> = cycle.errors().iter().map(|(_, diag)| diag.code.as_str()).collect();
        let (changed, removed) = (names(&cycle.changed).join(" "), names(&cycle.removed).join(" "));
        steps.push(format!("{}: {changed}; {removed}; {}", cycle.number, codes.join(" ")));
        match cycle.number {
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
        // The output was rebuilt with equal bytes: a game has nothing to reload.
        "9: ; ; ",
    ];
    assert_eq!(steps, wanted);
    assert_eq!(fs::read(project.path("runtime/e")).unwrap(), b"1");
    assert!(project.path("runtime/other").exists());
}

#[test]
fn rebuilds_failed_sources_only_after_a_change() {
    let project = Project::new().write("assetc.yml", "").write("assets/a.png", "not an image");
    let mut reported = vec![];
    let mut unchanged = 0;
    project.run_cycles(&mut |cycle| {
        if cycle.is_unchanged {
            unchanged += 1;
            if unchanged == 1 {
                project.put("assets/b.png", "not an image");
            }
            return ControlFlow::Continue(());
        }
        let failed: Vec<&str> = cycle.errors().into_iter().map(|(source, _)| source).collect();
        reported.push((cycle.number, failed.join(" "), cycle.recovered));
        match cycle.number {
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
    assert_eq!(reported, wanted.map(|(number, failed, recovered)| (number, failed.to_owned(), recovered)));
}

#[test]
fn stable_snapshot_skips_the_build() {
    let project = Project::new().write("assetc.yml", "").write("assets/a.png", "not an image");
    let watch = project.settings();
    let (mut state, wake) = (WatchState::default(), WakeSignal::default());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut cycle = || watch.cycle(&mut state, &wake, &mut (), &pool);
    assert!(!cycle().unwrap().is_unchanged);
    // Files that were just written may change without a new timestamp; until then every snapshot is followed by a build.
    while let Some(cycle) = cycle() {
        assert!(cycle.is_unchanged && !cycle.is_ok() && cycle.number == 1);
    }
    assert!((0..100).all(|_| cycle().is_none()));
    project.put("assets/a.png", "not an image either");
    assert!(cycle().is_some());
}

#[test]
fn stop_cancels_the_build_in_flight() {
    let project = Project::new();
    let wake = WakeSignal::default();
    wake.stop();
    project.watch(&wake, &mut |cycle| panic!("{cycle:?}"));
    assert!(!project.path("runtime/a").exists());
}

#[test]
fn polls_without_notification() {
    let project = Project::new();
    project.watch(&WakeSignal::default(), &mut |cycle| match (cycle.number, cycle.is_unchanged) {
        (1, true) => {
            project.put("assets/b", "1");
            ControlFlow::Continue(())
        }
        (1, false) => ControlFlow::Continue(()),
        _ => {
            assert_eq!(names(&cycle.changed), ["b"]);
            ControlFlow::Break(())
        }
    });
}

#[test]
fn burst_of_notifications_is_one_build() {
    let project = Project::new();
    let wake = WakeSignal::default();
    let mut reported = 0;
    project.watch(&wake, &mut |cycle| {
        reported += u32::from(!cycle.is_unchanged);
        if cycle.number == 1 && !cycle.is_unchanged {
            (0..500).for_each(|n| project.put(&format!("assets/n{n}"), "1"));
            (0..20_000).for_each(|_| wake.notify());
        }
        match names(&cycle.changed).len() {
            500 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!(reported, 2);
}
