//! Damage: outputs, journals, manifests, packs and databases that something else truncated, flipped, zeroed, overwrote or
//! deleted. Nothing panics, checks find it, and the next run mends it.

use super::case::{Case, NotRun, random};
use super::files;
use super::sample::Sample;
use super::tool::{self, Ran};
use super::{Row, Setup};
use crate::random::Random;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// This row.
pub const ROW: Row = Row {
    name: "damage",
    what: "outputs, journals, packs and databases that were damaged",
    unit: "damaged",
    cases,
};

/// Longer than the clocks of file systems tick, so that a change shows in the stamp.
const TICK: Duration = Duration::from_millis(12);

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let samples: Vec<Arc<Sample>> =
        Sample::all(&setup.tools, &setup.room).into_iter().map(Arc::new).collect();
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

/// Changes bytes in one of the ways in which files are damaged; they are others afterwards.
pub fn hurt(bytes: &mut Vec<u8>, random: &mut Random) -> &'static str {
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

/// Damages one file, looks at it with everything that looks, and lets a plain run mend it.
fn once(sample: &Sample, random: &mut Random, dir: &Path) {
    std::thread::sleep(TICK);
    let names: Vec<&String> = sample.wanted[1].keys().collect();
    let path = random.pick(&names).as_str();
    let full = dir.join(path);
    let mut bytes = fs::read(&full).unwrap();
    let gone = random.one_in(6);
    let how = if gone { "removed" } else { hurt(&mut bytes, random) };
    if gone {
        fs::remove_file(&full).unwrap();
    } else {
        fs::write(&full, &bytes).unwrap();
    }
    let story = format!("{how} {path}");
    match sample.name {
        "assetc" => look_assetc(sample, path, gone, &story, dir),
        "pak" => look_pak(sample, path, &story, dir),
        _ => look_unity(sample, &story, dir),
    }
    let verify = sample.name == "assetc" && random.one_in(2);
    let mut args = sample.args.clone();
    args.extend(verify.then_some("--verify"));
    let ran = tool::run(tool::command(&sample.program, dir, &args)).calm();
    assert!(ran.code() == 0, "{story}: {ran:#?}");
    let differ = files::differences(&sample.outputs(dir), &sample.wanted[1]);
    assert!(differ.is_empty(), "{story}: not mended: {differ:?}\n{ran:#?}");
}

fn look(sample: &Sample, args: &[&str], dir: &Path) -> Ran {
    tool::run(tool::command(&sample.program, dir, args)).calm()
}

fn look_assetc(sample: &Sample, path: &str, gone: bool, story: &str, dir: &Path) {
    let checked = look(sample, &["check"], dir);
    look(sample, &["info"], dir);
    look(sample, &["explain", "both.png"], dir);
    look(sample, &["graph"], dir);
    if let Some(output) = path.strip_prefix("runtime/").filter(|output| *output != ".assetc-cache") {
        let code = if gone { "check-missing" } else { "check-changed" };
        let told = |line: &str| line.contains(output) && line.contains(code);
        assert!(
            checked.code() == 1 && checked.stdout.lines().any(told),
            "{story}: {code} not told: {checked:#?}"
        );
    } else if path == "runtime.hpack" {
        look(sample, &["check", path], dir);
        look(sample, &["info", path, "-v"], dir);
        look(sample, &["pack", "info", path], dir);
    }
}

fn look_pak(sample: &Sample, path: &str, story: &str, dir: &Path) {
    if path != "out/a.pak" {
        return;
    }
    let verified = look(sample, &["verify", path], dir);
    assert!(verified.code() != 0, "{story}: verify found nothing: {verified:#?}");
    look(sample, &["list", path], dir);
    look(sample, &["info", path, "art/red"], dir);
    look(sample, &["extract", path, "extracted"], dir);
    let _ = fs::remove_dir_all(dir.join("extracted"));
}

fn look_unity(sample: &Sample, story: &str, dir: &Path) {
    for args in [
        &["list", "--no-refresh"][..],
        &["uses", "Assets/Art/Flag.png", "--no-refresh"],
        &["check", "--no-refresh"],
    ] {
        let ran = look(sample, args, dir);
        assert!(
            ran.code() == 0 || !ran.stderr.is_empty(),
            "{story}: {args:?} fails without a word: {ran:#?}"
        );
    }
}
