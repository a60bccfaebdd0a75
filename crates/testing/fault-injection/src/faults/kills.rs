//! Kills: at system calls of a small project, one by one, and at random times there and on the showcase. No half-written
//! file is ever seen, nothing runs on, and the next plain run equals a clean one and leaves nothing behind.

use super::case::{Case, NotRun, random};
use super::files::{self, Files};
use super::sample::Sample;
use super::tool::{self, Tools};
use super::trace::{self, Point, traced};
use super::{Row, Setup};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// This row.
pub const ROW: Row =
    Row { name: "kills", what: "SIGKILL at system calls and at random times", unit: "kills", cases };

/// The calls that change what others see, and those that open what they change.
const CALLS: [&str; 19] = [
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
    for sample in Sample::all(&setup.tools, &setup.room) {
        let sample = Arc::new(sample);
        for edit in [false, true] {
            let points = survey(&sample, edit, &setup.room.join("survey"));
            let step = setup.of(points.len().div_ceil(12), 1);
            let offset = setup.seed as usize % step;
            for point in points.into_iter().skip(offset).step_by(step) {
                let name = format!("{} {} {}", sample.name, if edit { "edit" } else { "cold" }, point.name());
                let sample = Arc::clone(&sample);
                cases.push(Case::counted(name, move |dir| at_call(&sample, edit, &point, dir)));
            }
        }
        for n in 0..setup.of(3, 280) {
            let (name, sample) = (format!("{} at some time {n}", sample.name), Arc::clone(&sample));
            let seed = setup.seed;
            cases.push(Case::counted(name.clone(), move |dir| at_some_time(&sample, &name, seed, dir)));
        }
    }
    if let Some(art) = setup.showcase.as_ref().filter(|_| !setup.short) {
        let showcase = Arc::new(Showcase::new(art, &setup.tools, &setup.room));
        for n in 0..40 {
            let (name, showcase, seed) = (format!("showcase {n}"), Arc::clone(&showcase), setup.seed);
            cases.push(Case::counted(name.clone(), move |dir| showcase.killed(&name, seed, dir)));
        }
    }
    Ok(cases)
}

/// Brings a directory to where a run has something to do: nothing is built yet, or another state is.
fn prepare(sample: &Sample, edit: bool, dir: &Path) {
    if edit {
        sample.put(dir, 0);
        sample.run(dir).expect(0);
    }
    sample.put(dir, 1);
}

fn survey(sample: &Sample, edit: bool, dir: &Path) -> Vec<Point> {
    prepare(sample, edit, dir);
    let log = dir.with_extension("log");
    let points = trace::points(&sample.command(dir), &log, &CALLS);
    files::remove(dir);
    points
}

/// Kills before one call; 0 when the run ended without making it.
fn at_call(sample: &Sample, edit: bool, point: &Point, dir: &Path) -> usize {
    let log = dir.join("log");
    let dir = &dir.join("p");
    prepare(sample, edit, dir);
    let inject = format!("{}:signal=SIGKILL:when={}", point.call, point.when);
    let ran = tool::run(traced(&sample.command(dir), &log, point.threads, &CALLS, Some(&inject)));
    let struck = ran.status.signal() == Some(9) || ran.code() == 137;
    assert!(struck || ran.status.success(), "neither killed nor fine: {ran:?}");
    sample.is_whole(dir);
    aftermath(sample, dir, point.when.is_multiple_of(2));
    usize::from(struck)
}

/// Kills a run after a part of the time that it takes.
fn at_some_time(sample: &Sample, name: &str, seed: u64, dir: &Path) -> usize {
    let random = &mut random(seed, name);
    let edit = random.one_in(2);
    prepare(sample, edit, dir);
    let usual = Instant::now();
    sample.run(dir).expect(0);
    let usual = usual.elapsed();
    files::remove(dir);
    prepare(sample, edit, dir);
    let struck = struck(&mut sample.command(dir), usual.mul_f64(random.below(1000) as f64 / 1000.0));
    sample.is_whole(dir);
    aftermath(sample, dir, random.one_in(2));
    usize::from(struck)
}

/// Starts a command and kills it; whether it still ran then.
fn struck(command: &mut Command, after: Duration) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = tool::spawn(command);
    std::thread::sleep(after);
    let running = child.try_wait().unwrap().is_none();
    if running {
        // The process alone: what it started has to end by itself.
        child.kill().unwrap();
    }
    child.wait().unwrap();
    running
}

/// What holds after a kill. The sources may change once more before the next run: what the killed one had written then
/// belongs to nobody but the journal.
fn aftermath(sample: &Sample, dir: &Path, change: bool) {
    let strays = tool::strays(dir);
    assert!(strays.is_empty(), "still running: {strays:?}");
    let state = usize::from(!change);
    sample.put(dir, state);
    sample.recovers(dir, state);
}

/// A build of real art, killed again and again until one gets through.
struct Showcase {
    sources: Files,
    wanted: Files,
    took: Duration,
    assetc: std::path::PathBuf,
}

impl Showcase {
    fn new(art: &Path, tools: &Tools, room: &Path) -> Showcase {
        let mut sources = Files::new();
        for (path, bytes) in files::tree(&art.join("assets")) {
            // Shaders in GLSL need a compiler that not every build of the tool has.
            if !path.starts_with("shaders/") || path.starts_with("shaders/sky.shader/") {
                sources.insert(format!("assets/{path}"), bytes);
            }
        }
        let config = "default: {texture: {max_size: 64, quality: fast}}\n";
        sources.insert("assetc.yml".into(), config.into());
        let dir = room.join("showcase");
        files::put(&dir, &Files::new(), &sources);
        let ran = tool::run(tool::command(&tools.assetc, &dir, &["--pack"])).expect(0);
        let mut wanted = files::tree(&dir.join("runtime"));
        wanted.remove(".assetc-cache");
        files::remove(&dir);
        Showcase { sources, wanted, took: ran.took, assetc: tools.assetc.clone() }
    }

    fn killed(&self, name: &str, seed: u64, dir: &Path) -> usize {
        let random = &mut random(seed, name);
        files::put(dir, &Files::new(), &self.sources);
        let mut kills = 0;
        let mut part = 0.05;
        for _ in 0..20 {
            let after = self.took.mul_f64(part * random.below(1000) as f64 / 1000.0);
            if !struck(&mut tool::command(&self.assetc, dir, &["--pack"]), after) {
                break;
            }
            kills += 1;
            part = f64::min(part * 1.3, 1.0);
            for (path, bytes) in files::tree(&dir.join("runtime")) {
                let hidden = path.starts_with(".kiln-") || path == ".assetc-cache";
                assert!(hidden || self.wanted.get(&path) == Some(&bytes), "{path} is half-written");
            }
            let strays = tool::strays(dir);
            assert!(strays.is_empty(), "still running: {strays:?}");
        }
        tool::run(tool::command(&self.assetc, dir, &["--pack"])).expect(0);
        let mut found = files::tree(&dir.join("runtime"));
        found.remove(".assetc-cache");
        let differ = files::differences(&found, &self.wanted);
        assert!(differ.is_empty(), "not what a clean run gives: {differ:?}");
        tool::run(tool::command(&self.assetc, dir, &["check"])).expect(0);
        kills
    }
}
