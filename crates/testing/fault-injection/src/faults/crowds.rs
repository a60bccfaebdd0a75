//! Crowds: several runs at one output at once, with others that look at it. Everyone ends, nobody sees half of anything,
//! and what is there in the end is what one run alone gives.

use super::case::{Case, NotRun, random};
use super::files;
use super::sample::Sample;
use super::tool::{self, Ran};
use super::watch::Watch;
use super::{Row, Setup};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// This row.
pub const ROW: Row =
    Row { name: "crowds", what: "two and eight runs at once, and others that look", unit: "rounds", cases };

/// Who comes: how many builders, and who looks on.
const CROWDS: [(usize, bool); 5] = [(2, false), (8, false), (1, true), (2, true), (8, true)];

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let mut cases = Vec::new();
    let samples: Vec<Arc<Sample>> =
        Sample::all(&setup.tools, &setup.room).into_iter().map(Arc::new).collect();
    let presets = Arc::new(Presets::new(&setup.tools.assetc, &setup.room));
    let rounds = setup.of(15, 230);
    for n in 0..rounds {
        let sample = Arc::clone(&samples[n % samples.len()]);
        let (builders, onlookers) = CROWDS[n / samples.len() % CROWDS.len()];
        let looking = if onlookers { " and onlookers" } else { "" };
        let name = format!("{} {n}: {builders} at once{looking}", sample.name);
        let seed = setup.seed;
        cases.push(Case::new(name.clone(), move |dir| crowd(&sample, builders, onlookers, seed, &name, dir)));
        if n % 10 == 0 {
            let presets = Arc::clone(&presets);
            cases.push(Case::new(format!("two presets {n}"), move |dir| presets.at_once(dir)));
            let sample = Arc::clone(&samples[0]);
            cases.push(Case::new(format!("a watch and builds {n}"), move |dir| beside_a_watch(&sample, dir)));
        }
    }
    Ok(cases)
}

/// Runs commands at once, and waits for all of them.
fn at_once(runs: Vec<(PathBuf, Vec<&'static str>)>, dir: &Path) -> Vec<Ran> {
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

/// What looks at an output, and is fine with whatever whole one it finds.
fn onlookers(sample: &Sample) -> Vec<Vec<&'static str>> {
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

fn crowd(sample: &Sample, builders: usize, with_onlookers: bool, seed: u64, name: &str, dir: &Path) {
    // A report is written beside the project.
    let dir = &dir.join("p");
    let random = &mut random(seed, name);
    // Onlookers need something to look at.
    let warm = with_onlookers || random.one_in(2);
    if warm {
        sample.put(dir, 0);
        sample.run(dir).expect(0);
    }
    sample.put(dir, 1);
    let mut plain = sample.args.clone();
    if random.one_in(2) {
        // On every core: the samples ask for one thread.
        plain.retain(|arg| !["-j", "1"].contains(arg));
    }
    let mut runs = vec![(sample.program.clone(), plain); builders];
    if with_onlookers {
        let looks = onlookers(sample);
        for _ in 0..6 {
            let at = random.below(runs.len() + 1);
            runs.insert(at, (sample.program.clone(), random.pick(&looks).clone()));
        }
    }
    let args: Vec<_> = runs.iter().map(|(_, args)| args.clone()).collect();
    for (ran, args) in at_once(runs, dir).into_iter().zip(args) {
        let ran = ran.calm();
        let checks_old = args.first() == Some(&"check") && ran.code() == 1;
        // Sources were edited: an output that is checked before the first build is out of date, and says so.
        let fine = ran.code() == 0 || (checks_old && !ran.said().contains("check-broken"));
        assert!(fine, "{args:?}: {ran:#?}");
    }
    sample.is_clean(dir, 1);
    tool::run(tool::command(&sample.program, dir, &sample.check)).expect(0);
    sample.recovers(dir, 1);
}

/// A watch and builds of the same project, while it is edited: each does what the other has not done yet.
fn beside_a_watch(sample: &Sample, dir: &Path) {
    let dir = &dir.join("p");
    sample.put(dir, 0);
    let watch = Watch::start(sample, dir);
    watch.build();
    for state in [1, 0, 1] {
        sample.put(dir, state);
        for ran in at_once(vec![(sample.program.clone(), sample.args.clone()); 2], dir) {
            ran.expect(0);
        }
        sample.is_clean(dir, state);
    }
    assert!(!watch.said().contains("panicked"), "{}", watch.said());
    drop(watch);
    sample.recovers(dir, 1);
}

/// Two presets of one project, which write to different places.
struct Presets {
    assetc: PathBuf,
    sources: files::Files,
    wanted: files::Files,
}

const CONFIG: &str = "output: runtime\npresets:\n  big:\n    output: runtime/big\n  small:\n    output: runtime/small\n    texture: {max_size: 2}\n";

impl Presets {
    fn new(assetc: &Path, room: &Path) -> Presets {
        let random = &mut crate::random::Random::new(5);
        let mut sources = files::Files::new();
        sources.insert("assetc.yml".into(), CONFIG.into());
        for n in 0..12 {
            sources.insert(format!("assets/{n}.png"), crate::contents::picture(random, 8, 8));
        }
        let dir = room.join("presets");
        files::put(&dir, &files::Files::new(), &sources);
        for preset in ["big", "small"] {
            tool::run(tool::command(assetc, &dir, &["--preset", preset])).expect(0);
        }
        let wanted = results(&dir);
        files::remove(&dir);
        Presets { assetc: assetc.to_path_buf(), sources, wanted }
    }

    fn at_once(&self, dir: &Path) {
        files::put(dir, &files::Files::new(), &self.sources);
        let run = |preset| (self.assetc.clone(), vec!["--preset", preset]);
        for ran in at_once(vec![run("big"), run("small"), run("big"), run("small")], dir) {
            ran.expect(0);
        }
        let differ = files::differences(&results(dir), &self.wanted);
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
