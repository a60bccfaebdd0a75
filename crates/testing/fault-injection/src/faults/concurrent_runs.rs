//! Concurrent runs: several builds of one output at once, with read-only commands beside them. All terminate, none sees a
//! partial output, and the final output equals that of a single run.

use super::case::{Case, NotRun, random};
use super::files;
use super::sample::Sample;
use super::tool::{self, Ran};
use super::watch::Watch;
use super::{Setup, Suite};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The `concurrent-runs` suite.
pub const SUITE: Suite = Suite {
    name: "concurrent-runs",
    summary: "two and eight concurrent builds, read-only commands, presets and a watch",
    unit: "rounds",
    cases,
};

/// The number of concurrent builds, and whether read-only commands run beside them.
const CONFIGURATIONS: [(usize, bool); 5] = [(2, false), (8, false), (1, true), (2, true), (8, true)];

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let mut cases = Vec::new();
    let samples: Vec<Arc<Sample>> =
        Sample::all(&setup.tools, &setup.work_dir).into_iter().map(Arc::new).collect();
    let presets = Arc::new(Presets::new(&setup.tools.assetc, &setup.work_dir));
    let rounds = setup.of(15, 230);
    for n in 0..rounds {
        let sample = Arc::clone(&samples[n % samples.len()]);
        let (builders, with_readers) = CONFIGURATIONS[n / samples.len() % CONFIGURATIONS.len()];
        let readers = if with_readers { " with readers" } else { "" };
        let name = format!("{} {n}: {builders} builds{readers}", sample.name);
        let seed = setup.seed;
        cases.push(Case::new(name.clone(), move |dir| {
            concurrent(&sample, builders, with_readers, seed, &name, dir)
        }));
        if n % 10 == 0 {
            let presets = Arc::clone(&presets);
            cases.push(Case::new(format!("two presets {n}"), move |dir| presets.run_concurrently(dir)));
            let sample = Arc::clone(&samples[0]);
            cases.push(Case::new(format!("watch and builds {n}"), move |dir| {
                builds_beside_a_watch(&sample, dir)
            }));
        }
    }
    Ok(cases)
}

/// Runs commands concurrently, and waits for all of them.
fn run_concurrently(runs: Vec<(PathBuf, Vec<&'static str>)>, dir: &Path) -> Vec<Ran> {
    std::thread::scope(|scope| {
        let start = |(program, args): (PathBuf, Vec<&'static str>)| {
            scope.spawn(move || tool::run(tool::command(program, dir, &args)))
        };
        let threads: Vec<_> = runs.into_iter().map(start).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Returns the read-only commands of a tool, which accept any complete output.
fn read_only_commands(sample: &Sample) -> Vec<Vec<&'static str>> {
    match sample.name {
        "assetc" => vec![
            vec!["info"],
            vec!["check"],
            vec!["check", "runtime.hpack"],
            vec!["pack", "info"],
            vec!["graph"],
            vec!["explain", "both.png"],
            vec!["report", "--out", "../report.html"],
        ],
        "pak" => vec![vec!["verify", "out/a.pak"], vec!["list", "out/a.pak"], vec!["keys", "out/a.pak"]],
        _ => vec![vec!["list"], vec!["find", "Pole"], vec!["list", "--no-refresh"], vec!["broken"]],
    }
}

fn concurrent(sample: &Sample, builders: usize, with_readers: bool, seed: u64, name: &str, dir: &Path) {
    // `assetc report` writes beside the project.
    let dir = &dir.join("p");
    let random = &mut random(seed, name);
    // Read-only commands need an output.
    let warm = with_readers || random.one_in(2);
    if warm {
        sample.put(dir, 0);
        sample.run(dir).expect(0);
    }
    sample.put(dir, 1);
    let mut plain = sample.args.clone();
    if random.one_in(2) {
        // Uses every core: the samples set one thread.
        plain.retain(|arg| !["-j", "1"].contains(arg));
    }
    let mut runs = vec![(sample.program.clone(), plain); builders];
    if with_readers {
        let commands = read_only_commands(sample);
        for _ in 0..6 {
            let at = random.below(runs.len() + 1);
            runs.insert(at, (sample.program.clone(), random.pick(&commands).clone()));
        }
    }
    let args: Vec<_> = runs.iter().map(|(_, args)| args.clone()).collect();
    for (ran, args) in run_concurrently(runs, dir).into_iter().zip(args) {
        let ran = ran.assert_no_crash();
        let checks_old = args.first() == Some(&"check") && ran.code() == 1;
        // Sources were edited: a check before the first build reports an output that is out of date.
        let fine = ran.code() == 0 || (checks_old && !ran.output().contains("check-corrupt"));
        assert!(fine, "{args:?}: {ran:#?}");
    }
    sample.assert_equals_clean_run(dir, 1);
    tool::run(tool::command(&sample.program, dir, &sample.check)).expect(0);
    sample.assert_recovers(dir, 1);
}

/// Runs a watch and builds of the same project while it is edited; each builds what the other has not built yet.
fn builds_beside_a_watch(sample: &Sample, dir: &Path) {
    let dir = &dir.join("p");
    sample.put(dir, 0);
    let watch = Watch::start(sample, dir);
    watch.build();
    for state in [1, 0, 1] {
        sample.put(dir, state);
        for ran in run_concurrently(vec![(sample.program.clone(), sample.args.clone()); 2], dir) {
            ran.expect(0);
        }
        sample.assert_equals_clean_run(dir, state);
    }
    assert!(!watch.output().contains("panicked"), "{}", watch.output());
    drop(watch);
    sample.assert_recovers(dir, 1);
}

/// Two presets of one project with different output directories.
struct Presets {
    assetc: PathBuf,
    sources: files::Files,
    expected: files::Files,
}

const CONFIG: &str = "output: runtime\npresets:\n  big:\n    output: runtime/big\n  small:\n    output: runtime/small\n    texture: {max_size: 2}\n";

impl Presets {
    fn new(assetc: &Path, work_dir: &Path) -> Presets {
        let random = &mut crate::random::Random::new(5);
        let mut sources = files::Files::new();
        sources.insert("assetc.yml".into(), CONFIG.into());
        for n in 0..12 {
            sources.insert(format!("assets/{n}.png"), crate::file_contents::random_image(random, 8, 8));
        }
        let dir = work_dir.join("presets");
        files::put(&dir, &files::Files::new(), &sources);
        for preset in ["big", "small"] {
            tool::run(tool::command(assetc, &dir, &["--preset", preset])).expect(0);
        }
        let expected = results(&dir);
        files::remove(&dir);
        Presets { assetc: assetc.to_path_buf(), sources, expected }
    }

    fn run_concurrently(&self, dir: &Path) {
        files::put(dir, &files::Files::new(), &self.sources);
        let run = |preset| (self.assetc.clone(), vec!["--preset", preset]);
        for ran in run_concurrently(vec![run("big"), run("small"), run("big"), run("small")], dir) {
            ran.expect(0);
        }
        let differ = files::differences(&results(dir), &self.expected);
        assert!(differ.is_empty(), "{differ:?}");
        for preset in ["big", "small"] {
            tool::run(tool::command(&self.assetc, dir, &["check", "--preset", preset])).expect(0);
        }
    }
}

fn results(dir: &Path) -> files::Files {
    let mut found = files::tree(&dir.join("runtime"));
    found.retain(|path, _| !path.ends_with(".assetc-cache"));
    found
}
