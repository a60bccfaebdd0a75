//! Endurance: thousands of small edits, each followed by a run, or seen by one watch that never ends. Memory,
//! descriptors and what lies on the disk stay where they were, and the end is what a clean run gives.

use super::case::{Case, NotRun, random};
use super::files::{self, Files};
use super::measured::measure;
use super::sample::Sample;
use super::tool;
use super::watch::Watch;
use super::{Row, Setup};
use crate::random::Random;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// This row.
pub const ROW: Row = Row { name: "soak", what: "small edits without end", unit: "edits", cases };

/// How often a run is looked at.
const LOOKS: usize = 40;

/// What a journal may grow by before it is written anew.
const JOURNAL: u64 = 128 << 10;

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let (edits, seed) = (setup.of(80, 10_000), setup.seed);
    let mut cases = Vec::new();
    for sample in Sample::all(&setup.tools, &setup.room) {
        let name = sample.name;
        cases.push(Case::counted(name, move |dir| plain(&sample, edits, &mut random(seed, name), dir)));
    }
    let sample = Sample::all(&setup.tools, &setup.room).swap_remove(0);
    let name = "assetc watch";
    cases.push(Case::counted(name, move |dir| watched(&sample, edits, &mut random(seed, name), dir)));
    Ok(cases)
}

/// Sources that are edited one at a time: each becomes what it is in the other state. A file and its `.meta` are one.
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

    /// Edits one of them; its path.
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

/// What was seen at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    memory_kb: u64,
    descriptors: u64,
    files: u64,
    bytes: u64,
}

/// How many files there are below a directory, and how large, without sources.
fn on_disk(sample: &Sample, dir: &Path) -> (u64, u64) {
    let mut all = files::tree(dir);
    all.retain(|path, _| !sample.is_source(path));
    (all.len() as u64, all.values().map(|bytes| bytes.len() as u64).sum())
}

/// The most of each figure.
fn most(looks: &[Look]) -> Look {
    looks.iter().fold(Look::default(), |most, look| Look {
        memory_kb: most.memory_kb.max(look.memory_kb),
        descriptors: most.descriptors.max(look.descriptors),
        files: most.files.max(look.files),
        bytes: most.bytes.max(look.bytes),
    })
}

/// Asserts that the last quarter has no more of anything than the second one, and says what both had. The first quarter
/// is there to meet every content once.
fn is_flat(name: &str, edits: usize, looks: &[Look]) {
    let quarter = looks.len() / 4;
    let (early, late) = (most(&looks[quarter..2 * quarter]), most(&looks[3 * quarter..]));
    let _ =
        writeln!(std::io::stderr(), "soak {name}, {edits} edits: second quarter {early:?}, last {late:?}");
    // Which thread takes which asset decides how much an allocator keeps; a leak of a page for each edit is more.
    assert!(late.memory_kb <= early.memory_kb + early.memory_kb / 10 + 1024, "memory grows: {looks:?}");
    assert!(late.descriptors <= early.descriptors, "descriptors are lost: {looks:?}");
    // The two states need not take the same room, and a journal is written anew when it has grown for a while.
    assert!(late.files <= early.files + 2, "files are left behind: {looks:?}");
    assert!(late.bytes <= early.bytes + early.bytes / 50 + JOURNAL, "the disk fills: {looks:?}");
}

/// Edits, each followed by a run of its own, with a store of results.
fn plain(sample: &Sample, edits: usize, random: &mut Random, dir: &Path) -> usize {
    let (dir, store) = (&dir.join("p"), dir.join("store"));
    let with_store = |mut command: Command| {
        command.env("KILN_CACHE", "on").env("KILN_CACHE_DIR", &store);
        command
    };
    let mut edited = Edited::new(sample, dir);
    let mut looks = Vec::new();
    for n in 1..=edits {
        edited.edit(random);
        if n % (edits / LOOKS) != 0 {
            tool::run(with_store(sample.command(dir))).expect(0);
            continue;
        }
        let (ran, memory_kb, _) = measure(&with_store(sample.command(dir)), dir);
        ran.expect(0);
        let ((files, bytes), kept) = (on_disk(sample, dir), on_disk(sample, &store));
        looks.push(Look { memory_kb, descriptors: 0, files: files + kept.0, bytes: bytes + kept.1 });
    }
    is_flat(sample.name, edits, &looks);
    sample.put(dir, 1);
    sample.recovers(dir, 1);
    edits
}

/// Edits under a watch, each waited for.
fn watched(sample: &Sample, edits: usize, random: &mut Random, dir: &Path) -> usize {
    let dir = &dir.join("p");
    let mut edited = Edited::new(sample, dir);
    let watch = Watch::start(sample, dir);
    let first = watch.build();
    assert!(first.contains("\"ok\":true"), "{first}");
    let mut looks = Vec::new();
    for n in 1..=edits {
        let path = edited.edit(random);
        let built = watch.build();
        assert!(built.contains("\"ok\":true"), "after an edit of {path}: {built}");
        if n % (edits / LOOKS) == 0 {
            let (files, bytes) = on_disk(sample, dir);
            let (memory_kb, descriptors) = watch.holds();
            looks.push(Look { memory_kb, descriptors, files, bytes });
        }
    }
    is_flat("assetc watch", edits, &looks);
    let said = watch.said();
    assert!(!said.contains("panicked"), "{said}");
    drop(watch);
    sample.put(dir, 1);
    sample.recovers(dir, 1);
    edits
}
