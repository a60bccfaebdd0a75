//! Bombs: small files that promise or unpack to enormous ones, nest without end or repeat themselves. They are refused
//! within seconds, and the peak of memory stays within 256 MB of what a harmless project takes. Small files that are
//! legal and large are admitted near their decoded size, or refused by lower limits.

mod legal;
mod makers;

use super::case::{Case, NotRun};
use super::files;
use super::measured::measure;
use super::sample::{Sample, triangle};
use super::tool::{self, Ran};
use super::{Row, Setup};
use makers::Bomb;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// This row.
pub const ROW: Row =
    Row { name: "bombs", what: "files that promise, unpack to or nest too much", unit: "bombs", cases };

/// How much more than a harmless project a bomb may take.
const MARGIN_KB: u64 = 256 << 10;

/// No more time of the processor is spent unless it is the bomb that is worked for.
const SOON: Duration = Duration::from_secs(30);

/// Runs a tool; what it gave, and its peak of memory in KB.
fn peak(program: &Path, dir: &Path, args: &[&str]) -> (Ran, u64) {
    let (ran, peak, time) = measure(&tool::command(program, dir, args), dir);
    assert!(time < SOON, "{args:?}: took {time:?}: {ran:#?}");
    (ran, peak)
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
    let legal = legal::cases(&setup.tools.assetc).into_iter().enumerate();
    let wanted = |n: usize| !setup.short || (n + setup.seed as usize).is_multiple_of(4);
    cases.extend(legal.filter(|(n, _)| wanted(*n)).map(|(_, case)| case));
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
