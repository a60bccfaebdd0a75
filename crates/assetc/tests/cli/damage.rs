//! Fault injection by seeded mutation of outputs, journal, packs, sources and configuration: damage is detected and
//! repaired, and never causes a panic.

use crate::packs::unpack;
use crate::project::{Project, Ran, test_image};
use kiln_fault_injection::random::Random;
use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Longer than the timestamp granularity of file systems, so that a change shows in the stamp.
const TICK: Duration = Duration::from_millis(12);

/// A project with one of everything, built and packed.
fn project() -> Project {
    let p = Project::new();
    p.write("assetc.yml", "default: {rules: [{match: \"ui/*\", texture: {compress: false}}]}\n");
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/sub/b.n.png", test_image(5, 3, 2));
    p.write("assets/c.r.png", test_image(4, 4, 3)).write("assets/ui/d.png", test_image(6, 2, 4));
    p.write("assets/e.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)));
    p.write("assets/f.array/1.png", test_image(4, 4, 5)).write("assets/f.array/2.png", test_image(4, 4, 6));
    p.run(&["-q", "--pack"]).expect(0);
    p
}

/// Damages a file in one of several ways; returns the name of the mutation.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let before = bytes.clone();
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(40)).min(bytes.len());
    let how = match random.below(6) {
        0 => {
            bytes.truncate(at);
            "truncated"
        }
        1 => {
            bytes[at] ^= 1 << random.below(8);
            "flipped"
        }
        2 => {
            bytes[at..end].fill(0);
            "zeroed"
        }
        3 => {
            bytes.extend((0..1 + random.below(20)).map(|_| random.next() as u8));
            "extended"
        }
        4 => {
            bytes.drain(at..end);
            "shortened"
        }
        _ => {
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.next() as u8);
            "overwritten"
        }
    };
    if *bytes == before {
        bytes[at] ^= 0x80;
    }
    how
}

/// Asserts the exit code of a run and that it did not panic.
#[track_caller]
fn assert_no_panic(ran: &Ran, most: i32, context: &str) {
    assert!((0..=most).contains(&ran.code), "{context}: {ran:?}");
    for word in ["panicked", "internal", "overflow"] {
        assert!(!ran.stderr.contains(word) && !ran.stdout.contains(word), "{context}: {ran:?}");
    }
}

#[test]
fn detects_and_rebuilds_damaged_outputs() {
    let p = project();
    let good = p.tree("runtime");
    let names: Vec<&String> = good.keys().collect();
    for seed in 0..120 {
        let random = &mut Random::new(seed);
        let mut context = format!("seed {seed}:");
        let mut damaged: BTreeMap<&str, bool> = BTreeMap::new();
        sleep(TICK);
        for _ in 0..1 + random.below(3) {
            let name = random.pick(&names).as_str();
            let path = format!("runtime/{name}");
            if damaged.contains_key(name) {
                continue;
            }
            let is_removed = random.one_in(5);
            if is_removed {
                p.remove(&path);
                context += &format!(" removed {name}");
            } else {
                let mut bytes = p.read(&path);
                context += &format!(" {} {name}", damage(&mut bytes, random));
                p.write(&path, bytes);
            }
            damaged.insert(name, is_removed);
        }
        let orphan = random.one_in(4);
        if orphan {
            p.write("runtime/sub/stray.ktx2", &good["a.ktx2"]);
        }

        let ran = p.run(&["check"]).expect(1);
        assert_no_panic(&ran, 1, &context);
        for (name, is_removed) in &damaged {
            let code = if *is_removed { "[check-missing]" } else { "[check-modified]" };
            let reported = |line: &str| line.starts_with(&format!("  FAIL {name}: ")) && line.contains(code);
            assert!(ran.stdout.lines().any(reported), "{context}: {name} {code}: {}", ran.stdout);
        }
        let reported = ran.stdout.contains("FAIL sub/stray.ktx2: no source of the project writes this file");
        assert_eq!(reported, orphan, "{context}: {}", ran.stdout);
        assert_no_panic(&p.run(&["info"]), 1, &context);

        let how: &[&str] = if seed % 2 == 0 { &["-q"] } else { &["-q", "--verify"] };
        let ran = p.run(how).expect(0);
        assert_no_panic(&ran, 0, &context);
        if orphan {
            assert_eq!(p.read("runtime/sub/stray.ktx2"), good["a.ktx2"], "{context}: foreign files are kept");
            p.remove("runtime/sub/stray.ktx2");
        }
        assert!(p.tree("runtime") == good, "{context}: {how:?} did not repair it");
    }
    p.run(&["check"]).expect(0);
}

#[test]
fn recovers_from_damaged_journal() {
    let p = project();
    let good = p.tree("runtime");
    let journal = p.read("runtime/.assetc-cache");
    let mut found = 0;
    for seed in 0..100 {
        let random = &mut Random::new(seed);
        let mut bytes = journal.clone();
        let context = format!("seed {seed}: {}", damage(&mut bytes, random));
        p.write("runtime/.assetc-cache", &bytes);
        let ran = p.run(&["check"]);
        assert_no_panic(&ran, 1, &context);
        found += ran.code;
        assert_no_panic(&p.run(&["explain", "a.png"]), 0, &context);
        let ran = p.run(&["-q"]).expect(0);
        assert_no_panic(&ran, 0, &context);
        assert!(p.tree("runtime") == good, "{context}");
        p.run(&["check"]).expect(0);
    }
    // Only a truncation between two records, of which the later ones are redundant, is not detected.
    assert!(found >= 95, "{found} of 100 noticed");

    for bytes in [&b""[..], b"KILNJRNL", &[0; 4096], b"HCAC\x01\0\0\0\0\0\0\0\0\0\0\0"] {
        p.write("runtime/.assetc-cache", bytes);
        let ran = p.run(&["check"]).expect(1);
        assert!(
            ran.stdout.contains("  FAIL .assetc-cache: ") && ran.stdout.contains("[check-journal]"),
            "{ran:?}"
        );
        assert_eq!(p.build(), (6, 0));
        assert!(p.tree("runtime") == good);
    }
    p.run(&["-q", "--pack"]).expect(0);
    p.remove("runtime/.assetc-cache");
    let ran = p.run(&["check"]).expect(0);
    assert!(ran.stdout.contains("match assets.sha256"), "{ran:?}");
    p.remove("runtime/assets.sha256");
    let ran = p.run(&["check"]).expect(0);
    assert!(ran.stdout.contains("no journal to compare with"), "{ran:?}");
}

#[test]
fn detects_damaged_packs() {
    let p = project();
    let good = p.read("runtime.hpack");
    let head = unpack(&good).unwrap()[0].offset;
    let check = |bytes: Vec<u8>, context: &str| {
        let broken = unpack(&bytes).err();
        p.write("x.hpack", bytes);
        let ran = p.run(&["check", "x.hpack"]);
        assert_no_panic(&ran, 1, context);
        if let Some(why) = broken {
            assert_eq!(ran.code, 1, "{context}: {why} was not found: {ran:?}");
        }
    };
    // Every byte of the header, the table of contents and the padding after them.
    for at in 0..head {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        check(bytes, &format!("byte {at}"));
    }
    for seed in 0..150 {
        let random = &mut Random::new(seed);
        let mut bytes = good.clone();
        let context = format!("seed {seed}: {}", damage(&mut bytes, random));
        check(bytes, &context);
        if seed % 3 == 0 {
            assert_no_panic(&p.run(&["pack", "info", "x.hpack"]), 1, &context);
            assert_no_panic(&p.run(&["info", "x.hpack", "-v"]), 1, &context);
        }
    }
    for end in [0, 3, 4, 23, 24, 25, head - 1, head, good.len() - 1] {
        check(good[..end].to_vec(), &format!("cut at {end}"));
    }
}

#[test]
fn detects_nonzero_padding_in_packs() {
    let p = project();
    let good = p.read("runtime.hpack");
    let files = unpack(&good).unwrap();
    let ends = files.iter().map(|file| file.offset + file.bytes.len());
    let gaps = ends.zip(files.iter().skip(1)).flat_map(|(end, next)| end..next.offset);
    let mut count = 0;
    for at in gaps {
        let mut bytes = good.clone();
        bytes[at] = 1;
        p.write("x.hpack", bytes);
        let ran = p.run(&["check", "x.hpack"]).expect(1);
        let reported = format!("  FAIL x.hpack: the padding byte at offset {at} is not zero");
        assert!(ran.stdout.contains(&reported), "{ran:?}");
        count += 1;
    }
    assert!(count > 5);
}

#[test]
fn damaged_sources_fail_alone() {
    let showcase = format!("{}/../../examples/showcase/assets", env!("CARGO_MANIFEST_DIR"));
    let take = |name: &str| fs::read(format!("{showcase}/{name}")).unwrap();
    let sources = [
        ("png", take("ui/icons.png")),
        ("png", test_image(9, 7, 1)),
        ("jpg", take("textures/planks.ao.jpg")[..].to_vec()),
        ("tga", take("decals/hazard.tga")),
        ("bmp", take("textures/uv_grid.bmp")),
        ("lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)).into_bytes()),
    ];
    for seed in 0..8 {
        let random = &mut Random::new(seed);
        let p = Project::new();
        p.write("assetc.yml", "default: {texture: {mips: 2, quality: fast, max_size: 64}}\n");
        p.write("assets/fine.png", test_image(4, 4, 1));
        for n in 0..50 {
            let (ext, mut bytes) = random.pick(&sources).clone();
            (0..1 + random.below(3)).for_each(|_| _ = damage(&mut bytes, random));
            p.write(&format!("assets/{n}.{ext}"), bytes);
        }
        let ran = p.run(&[]);
        assert_no_panic(&ran, 1, &format!("seed {seed}"));
        assert!(ran.stdout.starts_with("51 assets: "), "seed {seed}: {ran:?}");
        assert!(p.exists("runtime/fine.ktx2"), "seed {seed}");
        // All outputs are valid, whatever the source.
        let checked = p.run(&["check"]);
        assert!(!checked.stdout.contains("check-corrupt"), "seed {seed}: {checked:?}");
    }
}

#[test]
fn damaged_configuration_is_an_error() {
    let text = "input: assets\noutput: runtime\npack: false\npreset: x\ndefault:\n  texture: {mips: 3, quality: fast}\n  rules:\n    - match: \"ui/*\"\n      texture:\n        compress: false\npresets:\n  x: &x\n    output: runtime/x\n  y: *x\n";
    let p = Project::new();
    for seed in 0..150 {
        let random = &mut Random::new(seed);
        let mut bytes = text.as_bytes().to_vec();
        let context = format!("seed {seed}: {}", damage(&mut bytes, random));
        p.write("assetc.yml", bytes);
        assert_no_panic(&p.run(&["--list-presets"]), 2, &context);
    }
}

#[test]
fn reports_directories_in_place_of_files() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1)).write("assets/b.png", test_image(4, 4, 2));
    // A non-empty directory at the path of an output file.
    p.write("runtime/a.ktx2/mine.txt", "mine");
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[unwritable]: a.ktx2: the output cannot be written: "), "{ran:?}");
    assert!(p.exists("runtime/b.ktx2") && p.exists("runtime/a.ktx2/mine.txt"));
    p.remove("runtime/a.ktx2/mine.txt");
    p.run(&["-q"]).expect(0);
    p.run(&["check"]).expect(0);
    // A directory in place of the journal, of the manifest, of the pack.
    p.remove("runtime/.assetc-cache").write("runtime/.assetc-cache/x", "");
    let ran = p.run(&[]).expect(2);
    assert!(ran.stderr.contains(".assetc-cache: cannot write this file or directory: "), "{ran:?}");
    assert_no_panic(&p.run(&["check"]), 2, "a directory for a journal");
    p.remove("runtime/.assetc-cache").remove("runtime/assets.hman").write("runtime/assets.hman/x", "");
    let ran = p.run(&[]).expect(2);
    assert!(ran.stderr.contains("error[unwritable]: assets.hman: "), "{ran:?}");
    p.remove("runtime/assets.hman").write("runtime.hpack/x", "");
    let ran = p.run(&["--pack"]).expect(2);
    assert!(ran.stderr.contains("error[unwritable]: runtime.hpack: "), "{ran:?}");
    p.remove("runtime.hpack").run(&["-q", "--pack"]).expect(0);
    p.run(&["check"]).expect(0);
}
