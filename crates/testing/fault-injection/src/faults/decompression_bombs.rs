//! Decompression bombs and resource limits: small files with huge declared or decompressed sizes, deep nesting or alias
//! expansion. They are rejected within seconds, and peak memory stays within 256 MB of that of a normal project. Small
//! valid files that decode to large ones take about their decoded size, or are rejected by lower limits.

mod generators;
mod valid_files;

use super::case::{Case, NotRun};
use super::files;
use super::resource_usage::measure;
use super::sample::{Sample, triangle};
use super::tool::{self, Ran};
use super::{Setup, Suite};
use generators::Bomb;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The `decompression-bombs` suite.
pub const SUITE: Suite = Suite {
    name: "decompression-bombs",
    summary: "decompression bombs, huge declared sizes, deep nesting, resource limits",
    unit: "bombs",
    cases,
};

/// The peak memory that a bomb may take beyond that of a normal project, in KB.
const MARGIN_KB: u64 = 256 << 10;

/// The limit of the CPU time. Only a tool that processes the bomb takes longer.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Runs a tool; returns its result and its peak memory in KB.
fn peak(program: &Path, dir: &Path, args: &[&str]) -> (Ran, u64) {
    let (ran, peak, time) = measure(&tool::command(program, dir, args), dir);
    assert!(time < TIME_LIMIT, "{args:?}: took {time:?}: {ran:#?}");
    (ran, peak)
}

/// The peak memory of normal projects, in KB.
struct Base {
    samples: Vec<Sample>,
    peaks: Vec<u64>,
}

impl Base {
    fn new(setup: &Setup) -> Base {
        let samples = Sample::all(&setup.tools, &setup.work_dir);
        let measure = |sample: &Sample| {
            let dir = setup.work_dir.join(format!("base-{}", sample.name));
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
    for (n, bomb) in generators::all().into_iter().enumerate() {
        if setup.short && !(n + setup.seed as usize).is_multiple_of(4) {
            continue;
        }
        let base = Arc::clone(&base);
        cases.push(Case::new(bomb.name.clone(), move |dir| run_bomb(&bomb, &base, dir)));
    }
    let valid = valid_files::cases(&setup.tools.assetc).into_iter().enumerate();
    let selected = |n: usize| !setup.short || (n + setup.seed as usize).is_multiple_of(4);
    cases.extend(valid.filter(|(n, _)| selected(*n)).map(|(_, case)| case));
    Ok(cases)
}

fn run_bomb(bomb: &Bomb, base: &Base, dir: &Path) {
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
            "{args:?}: {} MB, a normal project takes {} MB: {ran:#?}",
            peak >> 10,
            usual >> 10
        );
        assert!(!bomb.rejected || ran.code() != 0, "{args:?}: not rejected: {ran:#?}");
    }
}
