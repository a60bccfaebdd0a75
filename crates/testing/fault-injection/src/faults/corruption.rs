//! Corruption: outputs, journals, manifests, packs and databases that are truncated, bit-flipped, zeroed, overwritten or
//! deleted. No tool panics, checks detect the corruption, and the next run recovers.

use super::case::{Case, NotRun, random};
use super::files;
use super::sample::Sample;
use super::tool::{self, Ran};
use super::{Setup, Suite};
use crate::random::Random;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The `corruption` suite.
pub const SUITE: Suite = Suite {
    name: "corruption",
    summary: "truncated, flipped, zeroed, overwritten and deleted outputs, journals, packs and databases",
    unit: "corrupted files",
    cases,
};

/// Longer than the timestamp granularity of file systems, so that a change alters the file stamp.
const TICK: Duration = Duration::from_millis(12);

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let samples: Vec<Arc<Sample>> =
        Sample::all(&setup.tools, &setup.work_dir).into_iter().map(Arc::new).collect();
    let (each, rounds) = setup.of((10, 9), (25, 210));
    let cases = (0..rounds).map(|n| {
        let sample = Arc::clone(&samples[n % samples.len()]);
        let (name, seed) = (format!("{} {n}", sample.name), setup.seed);
        Case::counted(name.clone(), move |dir| {
            let random = &mut random(seed, &name);
            sample.put(dir, 1);
            sample.run(dir).expect(0);
            (0..each).for_each(|_| once(&sample, random, dir));
            each
        })
    });
    Ok(cases.collect())
}

/// Corrupts bytes in a random way; they always differ afterwards. Returns the kind of corruption.
pub fn corrupt(bytes: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let before = bytes.clone();
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(40)).min(bytes.len());
    let how = match random.below(7) {
        0 => {
            bytes.truncate(at);
            "truncated"
        }
        1 | 2 if !bytes.is_empty() => {
            bytes[at] ^= 1 << random.below(8);
            "flipped"
        }
        3 => {
            bytes[at..end].fill(0);
            "zeroed"
        }
        4 => {
            bytes.drain(at..end);
            "shortened"
        }
        5 => {
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.next() as u8);
            "overwritten"
        }
        _ => {
            bytes.extend((0..1 + random.below(20)).map(|_| random.next() as u8));
            "extended"
        }
    };
    if *bytes == before {
        bytes.push(0x80);
    }
    how
}

/// Corrupts one file, runs every read-only command, and asserts that the next run recovers.
fn once(sample: &Sample, random: &mut Random, dir: &Path) {
    std::thread::sleep(TICK);
    let names: Vec<&String> = sample.expected[1].keys().collect();
    let path = random.pick(&names).as_str();
    let full = dir.join(path);
    let mut bytes = fs::read(&full).unwrap();
    let gone = random.one_in(6);
    let how = if gone { "removed" } else { corrupt(&mut bytes, random) };
    if gone {
        fs::remove_file(&full).unwrap();
    } else {
        fs::write(&full, &bytes).unwrap();
    }
    let log = format!("{how} {path}");
    match sample.name {
        "assetc" => inspect_assetc(sample, path, gone, &log, dir),
        "pak" => inspect_pak(sample, path, &log, dir),
        _ => inspect_unity(sample, &log, dir),
    }
    let verify = sample.name == "assetc" && random.one_in(2);
    let mut args = sample.args.clone();
    args.extend(verify.then_some("--verify"));
    let ran = tool::run(tool::command(&sample.program, dir, &args)).assert_no_crash();
    assert!(ran.code() == 0, "{log}: {ran:#?}");
    let differ = files::differences(&sample.outputs(dir), &sample.expected[1]);
    assert!(differ.is_empty(), "{log}: not recovered: {differ:?}\n{ran:#?}");
}

fn inspect(sample: &Sample, args: &[&str], dir: &Path) -> Ran {
    tool::run(tool::command(&sample.program, dir, args)).assert_no_crash()
}

fn inspect_assetc(sample: &Sample, path: &str, gone: bool, log: &str, dir: &Path) {
    let checked = inspect(sample, &["check"], dir);
    inspect(sample, &["info"], dir);
    inspect(sample, &["explain", "both.png"], dir);
    inspect(sample, &["graph"], dir);
    if let Some(output) = path.strip_prefix("runtime/").filter(|output| *output != ".assetc-cache") {
        let code = if gone { "check-missing" } else { "check-modified" };
        let is_reported = |line: &str| line.contains(output) && line.contains(code);
        assert!(
            checked.code() == 1 && checked.stdout.lines().any(is_reported),
            "{log}: {code} is not reported: {checked:#?}"
        );
    } else if path == "runtime.hpack" {
        inspect(sample, &["check", path], dir);
        inspect(sample, &["info", path, "-v"], dir);
        inspect(sample, &["pack", "info", path], dir);
    }
}

fn inspect_pak(sample: &Sample, path: &str, log: &str, dir: &Path) {
    if path != "out/a.pak" {
        return;
    }
    let verified = inspect(sample, &["verify", path], dir);
    assert!(verified.code() != 0, "{log}: verify did not detect it: {verified:#?}");
    inspect(sample, &["list", path], dir);
    inspect(sample, &["info", path, "art/red"], dir);
    inspect(sample, &["extract", path, "extracted"], dir);
    let _ = fs::remove_dir_all(dir.join("extracted"));
}

fn inspect_unity(sample: &Sample, log: &str, dir: &Path) {
    for args in [
        &["list", "--no-refresh"][..],
        &["uses", "Assets/Art/Flag.png", "--no-refresh"],
        &["check", "--no-refresh"],
    ] {
        let ran = inspect(sample, args, dir);
        assert!(
            ran.code() == 0 || !ran.stderr.is_empty(),
            "{log}: {args:?} fails without a message: {ran:#?}"
        );
    }
}
