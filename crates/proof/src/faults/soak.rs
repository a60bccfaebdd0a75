//! Endurance: thousands of small edits, each followed by a run, or seen by one watch that never ends. Memory,
//! descriptors and what lies on the disk stay where they were, and the end is what a clean run gives.

use super::bombs::measure;
use super::case::{Case, NotRun, random};
use super::files::{self, Files};
use super::sample::Sample;
use super::tool::{self, PATIENCE};
use super::{Row, Setup};
use crate::random::Random;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

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
    cases.push(Case::counted(name, move |dir| watch(&sample, edits, &mut random(seed, name), dir)));
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

/// Everything that is no source, journals and the store included.
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
        let ((files, bytes), kept) = (on_disk(sample, dir), files::tree(&store));
        let kept_bytes: u64 = kept.values().map(|bytes| bytes.len() as u64).sum();
        let (files, bytes) = (files + kept.len() as u64, bytes + kept_bytes);
        looks.push(Look { memory_kb, descriptors: 0, files, bytes });
    }
    is_flat(sample.name, edits, &looks);
    sample.put(dir, 1);
    sample.recovers(dir, 1);
    edits
}

/// A watch, ended with this.
struct Watch {
    child: Child,
    builds: Receiver<String>,
    stderr: PathBuf,
}

impl Drop for Watch {
    fn drop(&mut self) {
        tool::end_group(self.child.id());
        let _ = self.child.wait();
    }
}

impl Watch {
    fn start(sample: &Sample, dir: &Path) -> Watch {
        let stderr = dir.with_extension("stderr");
        let mut command = tool::command(&sample.program, dir, &["watch", "--json", "-j", "1"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        command.stderr(fs::File::create(&stderr).unwrap());
        let mut child = tool::spawn(&mut command);
        let (sender, builds) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Watch { child, builds, stderr }
    }

    /// The next build's line.
    fn build(&self) -> String {
        let line = self.builds.recv_timeout(PATIENCE);
        line.unwrap_or_else(|e| panic!("no build: {e}: {}", fs::read_to_string(&self.stderr).unwrap()))
    }

    fn look(&self) -> Look {
        let proc = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(proc.join("status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Look {
            memory_kb: memory.trim().trim_end_matches(" kB").parse().unwrap(),
            descriptors: fs::read_dir(proc.join("fd")).unwrap().count() as u64,
            ..Look::default()
        }
    }
}

/// Edits under a watch, each waited for.
fn watch(sample: &Sample, edits: usize, random: &mut Random, dir: &Path) -> usize {
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
            looks.push(Look { files, bytes, ..watch.look() });
        }
    }
    is_flat("assetc watch", edits, &looks);
    let said = fs::read_to_string(&watch.stderr).unwrap();
    assert!(!said.contains("panicked"), "{said}");
    drop(watch);
    sample.put(dir, 1);
    sample.recovers(dir, 1);
    edits
}
