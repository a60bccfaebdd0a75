//! Kills: SIGKILL before each system call of a small project, and at random times there and on the showcase. No partial
//! file is ever visible, no process survives, and the next run equals a clean one and leaves no temporary files.

use super::case::{Case, NotRun, random};
use super::files::{self, Files};
use super::sample::Sample;
use super::tool::{self, Tools};
use super::trace::{self, Point, traced};
use super::{Setup, Suite};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The `kills` suite.
pub const SUITE: Suite =
    Suite { name: "kills", summary: "SIGKILL at system calls and at random times", unit: "kills", cases };

/// The system calls that change the file system, and those that open the files they change.
const CALLS: [&str; 20] = [
    "open",
    "openat",
    "creat",
    "write",
    "pwrite64",
    "writev",
    "rename",
    "renameat",
    "renameat2",
    "fsync",
    "fdatasync",
    "syncfs",
    "unlink",
    "unlinkat",
    "rmdir",
    "truncate",
    "ftruncate",
    "mkdir",
    "mkdirat",
    "flock",
];

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    trace::available()?;
    let mut cases = Vec::new();
    for sample in Sample::all(&setup.tools, &setup.work_dir) {
        let sample = Arc::new(sample);
        for edit in [false, true] {
            let points = kill_points(&sample, edit, &setup.work_dir.join("survey"));
            let step = setup.of(points.len().div_ceil(12), 1);
            let offset = setup.seed as usize % step;
            for point in points.into_iter().skip(offset).step_by(step) {
                let name = format!("{} {} {}", sample.name, if edit { "edit" } else { "cold" }, point.name());
                let sample = Arc::clone(&sample);
                cases.push(Case::counted(name, move |dir| kill_at_call(&sample, edit, &point, dir)));
            }
        }
        for n in 0..setup.of(3, 280) {
            let (name, sample) = (format!("{} at random time {n}", sample.name), Arc::clone(&sample));
            let seed = setup.seed;
            cases
                .push(Case::counted(name.clone(), move |dir| kill_at_random_time(&sample, &name, seed, dir)));
        }
    }
    if let Some(art) = setup.showcase.as_ref().filter(|_| !setup.short) {
        let showcase = Arc::new(Showcase::new(art, &setup.tools, &setup.work_dir));
        for n in 0..40 {
            let (name, showcase, seed) = (format!("showcase {n}"), Arc::clone(&showcase), setup.seed);
            cases.push(Case::counted(name.clone(), move |dir| showcase.killed(&name, seed, dir)));
        }
    }
    Ok(cases)
}

/// Prepares a directory in which a run has work to do: no output yet, or the output of another state.
fn prepare(sample: &Sample, edit: bool, dir: &Path) {
    if edit {
        sample.put(dir, 0);
        sample.run(dir).expect(0);
    }
    sample.put(dir, 1);
}

fn kill_points(sample: &Sample, edit: bool, dir: &Path) -> Vec<Point> {
    prepare(sample, edit, dir);
    let log = dir.with_extension("log");
    let points = trace::points(&sample.command(dir), &log, &CALLS);
    files::remove(dir);
    points
}

/// Kills a run before one system call; returns 0 if the run ended without making it.
fn kill_at_call(sample: &Sample, edit: bool, point: &Point, dir: &Path) -> usize {
    let log = dir.join("log");
    let dir = &dir.join("p");
    prepare(sample, edit, dir);
    let inject = format!("{}:signal=SIGKILL:when={}", point.call, point.when);
    let ran = tool::run(traced(&sample.command(dir), &log, point.threads, &CALLS, Some(&inject)));
    let killed = ran.status.signal() == Some(9) || ran.code() == 137;
    assert!(killed || ran.status.success(), "neither killed nor successful: {ran:?}");
    sample.assert_no_partial_files(dir);
    check_recovery(sample, dir, point.when.is_multiple_of(2));
    usize::from(killed)
}

/// Kills a run after a random part of its usual time.
fn kill_at_random_time(sample: &Sample, name: &str, seed: u64, dir: &Path) -> usize {
    let random = &mut random(seed, name);
    let edit = random.one_in(2);
    prepare(sample, edit, dir);
    let usual = Instant::now();
    sample.run(dir).expect(0);
    let usual = usual.elapsed();
    files::remove(dir);
    prepare(sample, edit, dir);
    let killed = run_and_kill(&mut sample.command(dir), usual.mul_f64(random.below(1000) as f64 / 1000.0));
    sample.assert_no_partial_files(dir);
    check_recovery(sample, dir, random.one_in(2));
    usize::from(killed)
}

/// Starts a command and kills it after a delay; returns whether it was still running then.
fn run_and_kill(command: &mut Command, after: Duration) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = tool::spawn(command);
    std::thread::sleep(after);
    let running = child.try_wait().unwrap().is_none();
    if running {
        // Kills the process only: its children have to exit by themselves.
        child.kill().unwrap();
    }
    child.wait().unwrap();
    running
}

/// Asserts recovery after a kill. The sources may change once more before the next run, so that outputs of the killed
/// run are known to the journal only.
fn check_recovery(sample: &Sample, dir: &Path, change: bool) {
    let leftovers = tool::leftovers(dir);
    assert!(leftovers.is_empty(), "still running: {leftovers:?}");
    let state = usize::from(!change);
    sample.put(dir, state);
    sample.assert_recovers(dir, state);
}

/// A build of the showcase, killed repeatedly until one run completes.
struct Showcase {
    sources: Files,
    expected: Files,
    took: Duration,
    assetc: std::path::PathBuf,
}

impl Showcase {
    fn new(art: &Path, tools: &Tools, work_dir: &Path) -> Showcase {
        let mut sources = Files::new();
        for (path, bytes) in files::tree(&art.join("assets")) {
            // GLSL shaders need a compiler that is a feature of the tool.
            if !path.starts_with("shaders/") || path.starts_with("shaders/sky.shader/") {
                sources.insert(format!("assets/{path}"), bytes);
            }
        }
        let config = "default: {texture: {max_size: 64, quality: fast}}\n";
        sources.insert("assetc.yml".into(), config.into());
        let dir = work_dir.join("showcase");
        files::put(&dir, &Files::new(), &sources);
        let ran = tool::run(tool::command(&tools.assetc, &dir, &["--pack"])).expect(0);
        let mut expected = files::tree(&dir.join("runtime"));
        expected.remove(".assetc-cache");
        files::remove(&dir);
        Showcase { sources, expected, took: ran.took, assetc: tools.assetc.clone() }
    }

    fn killed(&self, name: &str, seed: u64, dir: &Path) -> usize {
        let random = &mut random(seed, name);
        files::put(dir, &Files::new(), &self.sources);
        let mut kills = 0;
        let mut part = 0.05;
        for _ in 0..20 {
            let after = self.took.mul_f64(part * random.below(1000) as f64 / 1000.0);
            if !run_and_kill(&mut tool::command(&self.assetc, dir, &["--pack"]), after) {
                break;
            }
            kills += 1;
            part = f64::min(part * 1.3, 1.0);
            for (path, bytes) in files::tree(&dir.join("runtime")) {
                let hidden = path.starts_with(".kiln-") || path == ".assetc-cache";
                assert!(hidden || self.expected.get(&path) == Some(&bytes), "{path} is partially written");
            }
            let leftovers = tool::leftovers(dir);
            assert!(leftovers.is_empty(), "still running: {leftovers:?}");
        }
        tool::run(tool::command(&self.assetc, dir, &["--pack"])).expect(0);
        let mut found = files::tree(&dir.join("runtime"));
        found.remove(".assetc-cache");
        let differ = files::differences(&found, &self.expected);
        assert!(differ.is_empty(), "differs from a clean run: {differ:?}");
        tool::run(tool::command(&self.assetc, dir, &["check"])).expect(0);
        kills
    }
}
