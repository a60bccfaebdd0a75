//! Bombs: small files that promise or unpack to enormous ones, nest without end or repeat themselves. They are refused
//! within seconds, and the peak of memory stays within 256 MB of what a harmless project takes.
//!
//! The peak is what the kernel counted for the process, asked for by a copy of this executable that starts nothing else.

mod makers;

use super::case::{Case, NotRun};
use super::files;
use super::sample::{Sample, triangle};
use super::tool::{self, Ran};
use super::{Row, Setup};
use makers::Bomb;
use nix::sys::time::TimeValLike;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

/// This row.
pub const ROW: Row =
    Row { name: "bombs", what: "files that promise, unpack to or nest too much", unit: "bombs", cases };

/// The command of this executable that runs another and writes down what it took.
pub const MEASURED: &str = "measured";

/// How much more than a harmless project a bomb may take.
const MARGIN_KB: u64 = 256 << 10;

/// No more time of the processor is spent unless it is the bomb that is worked for.
const SOON: Duration = Duration::from_secs(30);

/// Runs a command and writes its peak of memory, in KB, and its time, in ms, to a file: `measured FILE PROGRAM ARGS…`.
pub fn measured(mut args: impl Iterator<Item = String>) -> ExitCode {
    let (Some(file), Some(program)) = (args.next(), args.next()) else { return ExitCode::from(2) };
    let status = Command::new(program).args(args).status();
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    let (peak, time) = usage.map_or((i64::MAX, i64::MAX), |usage| {
        (usage.max_rss(), usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds())
    });
    if std::fs::write(file, format!("{peak} {time}")).is_err() {
        return ExitCode::from(2);
    }
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(255))
}

/// Runs a tool; what it gave, and its peak of memory in KB.
fn peak(program: &Path, dir: &Path, args: &[&str]) -> (Ran, u64) {
    let (ran, peak, time) = measure(&tool::command(program, dir, args), dir);
    assert!(time < SOON, "{args:?}: took {time:?}: {ran:#?}");
    (ran, peak)
}

/// Runs a command that works in a directory; what it gave, its peak of memory in KB, and its time of the processor.
pub fn measure(command: &Command, dir: &Path) -> (Ran, u64, Duration) {
    let file = dir.with_extension("peak");
    let mut outer = Command::new(std::env::current_exe().unwrap());
    outer.arg(MEASURED).arg(&file).arg(command.get_program()).args(command.get_args()).current_dir(dir);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let ran = tool::run(outer).calm();
    let text = std::fs::read_to_string(&file).unwrap();
    let (peak, time) = text.split_once(' ').unwrap();
    (ran, peak.parse().unwrap(), Duration::from_millis(time.parse().unwrap()))
}

/// What harmless projects take.
struct Base {
    samples: Vec<Sample>,
    peaks: Vec<u64>,
}

impl Base {
    fn new(setup: &Setup) -> Base {
        let samples = Sample::all(&setup.tools, &setup.room);
        let measure = |sample: &Sample| {
            let dir = setup.room.join(format!("base-{}", sample.name));
            sample.put(&dir, 0);
            let plain: Vec<&str> =
                sample.args.iter().copied().filter(|arg| !["-j", "1"].contains(arg)).collect();
            let (ran, peak) = peak(&sample.program, &dir, &plain);
            ran.expect(0);
            files::remove(&dir);
            peak
        };
        let peaks = samples.iter().map(measure).collect();
        Base { samples, peaks }
    }

    fn of(&self, name: &str) -> (&Sample, u64) {
        let at = self.samples.iter().position(|sample| sample.name == name).expect("one of the tools");
        (&self.samples[at], self.peaks[at])
    }
}

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let base = Arc::new(Base::new(setup));
    let mut cases = Vec::new();
    for (n, bomb) in makers::all().into_iter().enumerate() {
        if setup.short && !(n + setup.seed as usize).is_multiple_of(4) {
            continue;
        }
        let base = Arc::clone(&base);
        cases.push(Case::new(bomb.name.clone(), move |dir| set_off(&bomb, &base, dir)));
    }
    Ok(cases)
}

fn set_off(bomb: &Bomb, base: &Base, dir: &Path) {
    let dir = &dir.join("p");
    let (sample, usual) = base.of(bomb.tool);
    std::fs::create_dir_all(dir.join("assets")).unwrap();
    let (model, buffer) = triangle("tri.bin", "tri.png");
    if bomb.tool == "unity" {
        sample.put(dir, 0);
    } else {
        files::write(&dir.join("tri.gltf"), model);
        files::write(&dir.join("tri.bin"), buffer);
    }
    for (path, bytes) in (bomb.files)() {
        files::write(&dir.join(path), bytes);
    }
    for args in &bomb.runs {
        let (ran, peak) = peak(&sample.program, dir, args);
        assert!(
            peak < usual + MARGIN_KB,
            "{args:?}: {} MB, a harmless project takes {} MB: {ran:#?}",
            peak >> 10,
            usual >> 10
        );
        assert!(!bomb.refused || ran.code() != 0, "{args:?}: not refused: {ran:#?}");
    }
}
