//! Soak test: thousands of small edits, each followed by a run, or built by one long-running watch. Memory, open
//! descriptors and disk usage stay flat, and the final output equals that of a clean run.

use super::case::{Case, NotRun, random};
use super::files::{self, Files};
use super::resource_usage::measure;
use super::sample::Sample;
use super::tool;
use super::watch::Watch;
use super::{Setup, Suite};
use crate::random::Random;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The `soak` suite.
pub const SUITE: Suite = Suite {
    name: "soak",
    summary: "thousands of small edits: memory, descriptors and disk usage stay flat",
    unit: "edits",
    cases,
};

/// The number of resource measurements per case.
const MEASUREMENTS: usize = 40;

/// The number of bytes by which a journal may grow before it is compacted.
const JOURNAL: u64 = 128 << 10;

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let (edits, seed) = (setup.of(80, 10_000), setup.seed);
    let mut cases = Vec::new();
    for sample in Sample::all(&setup.tools, &setup.work_dir) {
        let name = sample.name;
        cases.push(Case::counted(name, move |dir| plain(&sample, edits, &mut random(seed, name), dir)));
    }
    let sample = Sample::all(&setup.tools, &setup.work_dir).swap_remove(0);
    let name = "assetc watch";
    cases.push(Case::counted(name, move |dir| watched(&sample, edits, &mut random(seed, name), dir)));
    Ok(cases)
}

/// Sources that are edited one at a time by switching them to the other state. A file and its `.meta` are one edit.
struct Edited<'a> {
    sample: &'a Sample,
    dir: &'a Path,
    paths: Vec<&'a String>,
    state: Vec<usize>,
}

impl<'a> Edited<'a> {
    fn new(sample: &'a Sample, dir: &'a Path) -> Edited<'a> {
        let [first, second] = &sample.states;
        let differs = |path: &&String| first.get(*path) != second.get(*path) && !path.ends_with(".meta");
        let mut paths: Vec<_> = first.keys().chain(second.keys()).filter(differs).collect();
        paths.sort();
        paths.dedup();
        sample.put(dir, 0);
        Edited { sample, dir, state: vec![0; paths.len()], paths }
    }

    /// Edits one source and returns its path.
    fn edit(&mut self, random: &mut Random) -> &'a str {
        let at = random.below(self.paths.len());
        let (state, path) = (1 - self.state[at], self.paths[at]);
        let part = |state: usize| -> Files {
            let meta = format!("{path}.meta");
            let both = [path, &meta].into_iter();
            both.filter_map(|path| Some((path.clone(), self.sample.states[state].get(path)?.clone())))
                .collect()
        };
        files::put(self.dir, &part(1 - state), &part(state));
        self.state[at] = state;
        path
    }
}

/// Resource usage at one point in time.
#[derive(Clone, Copy, Debug, Default)]
struct Measurement {
    memory_kb: u64,
    descriptors: u64,
    files: u64,
    bytes: u64,
}

/// Returns the number of files below a directory and their total size, without sources.
fn on_disk(sample: &Sample, dir: &Path) -> (u64, u64) {
    let mut all = files::tree(dir);
    all.retain(|path, _| !sample.is_source(path));
    (all.len() as u64, all.values().map(|bytes| bytes.len() as u64).sum())
}

/// Returns the maximum of each figure.
fn most(measurements: &[Measurement]) -> Measurement {
    measurements.iter().fold(Measurement::default(), |most, measurement| Measurement {
        memory_kb: most.memory_kb.max(measurement.memory_kb),
        descriptors: most.descriptors.max(measurement.descriptors),
        files: most.files.max(measurement.files),
        bytes: most.bytes.max(measurement.bytes),
    })
}

/// Asserts that the last quarter uses no more resources than the second one, and prints both. The first quarter warms
/// up: every content occurs once.
fn is_flat(name: &str, edits: usize, measurements: &[Measurement]) {
    let quarter = measurements.len() / 4;
    let (early, late) = (most(&measurements[quarter..2 * quarter]), most(&measurements[3 * quarter..]));
    let _ =
        writeln!(std::io::stderr(), "soak {name}, {edits} edits: second quarter {early:?}, last {late:?}");
    // The allocator's footprint depends on the scheduling; a leak of one page per edit exceeds this tolerance.
    assert!(
        late.memory_kb <= early.memory_kb + early.memory_kb / 10 + 1024,
        "memory grows: {measurements:?}"
    );
    assert!(late.descriptors <= early.descriptors, "descriptors leak: {measurements:?}");
    // The two states may differ in size, and a journal grows until it is compacted.
    assert!(late.files <= early.files + 2, "files are left behind: {measurements:?}");
    assert!(late.bytes <= early.bytes + early.bytes / 50 + JOURNAL, "disk usage grows: {measurements:?}");
}

/// Edits, each followed by a run with a build cache.
fn plain(sample: &Sample, edits: usize, random: &mut Random, dir: &Path) -> usize {
    let (dir, store) = (&dir.join("p"), dir.join("store"));
    let with_store = |mut command: Command| {
        command.env("KILN_CACHE", "on").env("KILN_CACHE_DIR", &store);
        command
    };
    let mut edited = Edited::new(sample, dir);
    let mut measurements = Vec::new();
    for n in 1..=edits {
        edited.edit(random);
        if n % (edits / MEASUREMENTS) != 0 {
            tool::run(with_store(sample.command(dir))).expect(0);
            continue;
        }
        let (ran, memory_kb, _) = measure(&with_store(sample.command(dir)), dir);
        ran.expect(0);
        let ((files, bytes), kept) = (on_disk(sample, dir), on_disk(sample, &store));
        measurements.push(Measurement {
            memory_kb,
            descriptors: 0,
            files: files + kept.0,
            bytes: bytes + kept.1,
        });
    }
    is_flat(sample.name, edits, &measurements);
    sample.put(dir, 1);
    sample.assert_recovers(dir, 1);
    edits
}

/// Edits under a watch, waiting for the build of each.
fn watched(sample: &Sample, edits: usize, random: &mut Random, dir: &Path) -> usize {
    let dir = &dir.join("p");
    let mut edited = Edited::new(sample, dir);
    let watch = Watch::start(sample, dir);
    let first = watch.build();
    assert!(first.contains("\"ok\":true"), "{first}");
    let mut measurements = Vec::new();
    for n in 1..=edits {
        let path = edited.edit(random);
        let built = watch.build();
        assert!(built.contains("\"ok\":true"), "after an edit of {path}: {built}");
        if n % (edits / MEASUREMENTS) == 0 {
            let (files, bytes) = on_disk(sample, dir);
            let (memory_kb, descriptors) = watch.resource_usage();
            measurements.push(Measurement { memory_kb, descriptors, files, bytes });
        }
    }
    is_flat("assetc watch", edits, &measurements);
    let output = watch.output();
    assert!(!output.contains("panicked"), "{output}");
    drop(watch);
    sample.put(dir, 1);
    sample.assert_recovers(dir, 1);
    edits
}
