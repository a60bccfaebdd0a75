//! Files that something else damaged: outputs, the journal, packs, sources and the configuration, by seeded
//! mutation. Damage is found and mended, and never ends in a panic.

use crate::packs::unpack;
use crate::project::{Project, Ran, picture};
use kiln_fault_injection::random::Random;
use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Longer than the clocks of file systems tick, so that a change shows in the stamp.
const TICK: Duration = Duration::from_millis(12);

/// A project with one of everything, built and packed.
fn project() -> Project {
    let p = Project::new();
    p.write("assetc.yml", "default: {rules: [{match: \"ui/*\", texture: {compress: false}}]}\n");
    p.write("assets/a.png", picture(8, 8, 1)).write("assets/sub/b.n.png", picture(5, 3, 2));
    p.write("assets/c.r.png", picture(4, 4, 3)).write("assets/ui/d.png", picture(6, 2, 4));
    p.write("assets/e.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)));
    p.write("assets/f.array/1.png", picture(4, 4, 5)).write("assets/f.array/2.png", picture(4, 4, 6));
    p.run(&["-q", "--pack"]).expect(0);
    p
}

/// Changes a file in one of the ways in which files are damaged.
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

/// What holds for every run, whatever it met.
#[track_caller]
fn calm(ran: &Ran, most: i32, story: &str) {
    assert!((0..=most).contains(&ran.code), "{story}: {ran:?}");
    for word in ["panicked", "internal", "overflow"] {
        assert!(!ran.stderr.contains(word) && !ran.stdout.contains(word), "{story}: {ran:?}");
    }
}

#[test]
fn damaged_outputs_are_found_and_mended() {
    let p = project();
    let good = p.tree("runtime");
    let names: Vec<&String> = good.keys().collect();
    for seed in 0..120 {
        let random = &mut Random::new(seed);
        let mut story = format!("seed {seed}:");
        let mut hurt: BTreeMap<&str, bool> = BTreeMap::new();
        sleep(TICK);
        for _ in 0..1 + random.below(3) {
            let name = random.pick(&names).as_str();
            let path = format!("runtime/{name}");
            if hurt.contains_key(name) {
                continue;
            }
            let gone = random.one_in(5);
            if gone {
                p.remove(&path);
                story += &format!(" removed {name}");
            } else {
                let mut bytes = p.read(&path);
                story += &format!(" {} {name}", damage(&mut bytes, random));
                p.write(&path, bytes);
            }
            hurt.insert(name, gone);
        }
        let orphan = random.one_in(4);
        if orphan {
            p.write("runtime/sub/stray.ktx2", &good["a.ktx2"]);
        }

        let ran = p.run(&["check"]).expect(1);
        calm(&ran, 1, &story);
        for (name, gone) in &hurt {
            let code = if *gone { "[check-missing]" } else { "[check-changed]" };
            let told = |line: &str| line.starts_with(&format!("  FAIL {name}: ")) && line.contains(code);
            assert!(ran.stdout.lines().any(told), "{story}: {name} {code}: {}", ran.stdout);
        }
        let told = ran.stdout.contains("FAIL sub/stray.ktx2: nothing in the project writes it");
        assert_eq!(told, orphan, "{story}: {}", ran.stdout);
        calm(&p.run(&["info"]), 1, &story);

        let how: &[&str] = if seed % 2 == 0 { &["-q"] } else { &["-q", "--verify"] };
        let ran = p.run(how).expect(0);
        calm(&ran, 0, &story);
        if orphan {
            assert_eq!(p.read("runtime/sub/stray.ktx2"), good["a.ktx2"], "{story}: not ours to touch");
            p.remove("runtime/sub/stray.ktx2");
        }
        assert!(p.tree("runtime") == good, "{story}: {how:?} did not mend it");
    }
    p.run(&["check"]).expect(0);
}

#[test]
fn a_damaged_journal_costs_time_and_nothing_else() {
    let p = project();
    let good = p.tree("runtime");
    let journal = p.read("runtime/.assetc-cache");
    let mut found = 0;
    for seed in 0..100 {
        let random = &mut Random::new(seed);
        let mut bytes = journal.clone();
        let story = format!("seed {seed}: {}", damage(&mut bytes, random));
        p.write("runtime/.assetc-cache", &bytes);
        let ran = p.run(&["check"]);
        calm(&ran, 1, &story);
        found += ran.code;
        calm(&p.run(&["explain", "a.png"]), 0, &story);
        let ran = p.run(&["-q"]).expect(0);
        calm(&ran, 0, &story);
        assert!(p.tree("runtime") == good, "{story}");
        p.run(&["check"]).expect(0);
    }
    // Only a cut between two records, of which the later ones did not matter, goes unnoticed.
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
    p.remove("runtime/.assetc-cache");
    let ran = p.run(&["check"]).expect(0);
    assert!(ran.stdout.contains("no journal to compare with"), "{ran:?}");
}

#[test]
fn damaged_packs_are_found() {
    let p = project();
    let good = p.read("runtime.hpack");
    let head = unpack(&good).unwrap()[0].offset;
    let check = |bytes: Vec<u8>, story: &str| {
        let broken = unpack(&bytes).err();
        p.write("x.hpack", bytes);
        let ran = p.run(&["check", "x.hpack"]);
        calm(&ran, 1, story);
        if let Some(why) = broken {
            assert_eq!(ran.code, 1, "{story}: {why} was not found: {ran:?}");
        }
    };
    // Every byte of header and table, and of the padding behind them.
    for at in 0..head {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        check(bytes, &format!("byte {at}"));
    }
    for seed in 0..150 {
        let random = &mut Random::new(seed);
        let mut bytes = good.clone();
        let story = format!("seed {seed}: {}", damage(&mut bytes, random));
        check(bytes, &story);
        if seed % 3 == 0 {
            calm(&p.run(&["pack", "info", "x.hpack"]), 1, &story);
            calm(&p.run(&["info", "x.hpack", "-v"]), 1, &story);
        }
    }
    for end in [0, 3, 4, 23, 24, 25, head - 1, head, good.len() - 1] {
        check(good[..end].to_vec(), &format!("cut at {end}"));
    }
}

#[test]
fn padding_that_is_not_zero_is_found_in_a_pack() {
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
        let told = format!("  FAIL x.hpack: the byte at {at} lies between two files and is not zero");
        assert!(ran.stdout.contains(&told), "{ran:?}");
        count += 1;
    }
    assert!(count > 5);
}

#[test]
fn damaged_sources_fail_alone_and_without_panic() {
    let showcase = format!("{}/../../examples/showcase/assets", env!("CARGO_MANIFEST_DIR"));
    let take = |name: &str| fs::read(format!("{showcase}/{name}")).unwrap();
    let sources = [
        ("png", take("ui/icons.png")),
        ("png", picture(9, 7, 1)),
        ("jpg", take("textures/planks.ao.jpg")[..].to_vec()),
        ("tga", take("decals/hazard.tga")),
        ("bmp", take("textures/uv_grid.bmp")),
        ("lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)).into_bytes()),
    ];
    for seed in 0..8 {
        let random = &mut Random::new(seed);
        let p = Project::new();
        p.write("assetc.yml", "default: {texture: {mips: 2, quality: fast, max_size: 64}}\n");
        p.write("assets/fine.png", picture(4, 4, 1));
        for n in 0..50 {
            let (ext, mut bytes) = random.pick(&sources).clone();
            (0..1 + random.below(3)).for_each(|_| _ = damage(&mut bytes, random));
            p.write(&format!("assets/{n}.{ext}"), bytes);
        }
        let ran = p.run(&[]);
        calm(&ran, 1, &format!("seed {seed}"));
        assert!(ran.stdout.starts_with("51 assets: "), "seed {seed}: {ran:?}");
        assert!(p.exists("runtime/fine.ktx2"), "seed {seed}");
        // What was built is whole, whatever it was built from.
        let checked = p.run(&["check"]);
        assert!(!checked.stdout.contains("check-broken"), "seed {seed}: {checked:?}");
    }
}

#[test]
fn a_damaged_configuration_is_told_and_no_more() {
    let text = "input: assets\noutput: runtime\npack: false\npreset: x\ndefault:\n  texture: {mips: 3, quality: fast}\n  rules:\n    - match: \"ui/*\"\n      texture:\n        compress: false\npresets:\n  x: &x\n    output: runtime/x\n  y: *x\n";
    let p = Project::new();
    for seed in 0..150 {
        let random = &mut Random::new(seed);
        let mut bytes = text.as_bytes().to_vec();
        let story = format!("seed {seed}: {}", damage(&mut bytes, random));
        p.write("assetc.yml", bytes);
        calm(&p.run(&["--list-presets"]), 2, &story);
    }
}

#[test]
fn odd_things_in_the_way_are_named() {
    let p = Project::new();
    p.write("assets/a.png", picture(4, 4, 1)).write("assets/b.png", picture(4, 4, 2));
    // A directory with something in it where a file has to go.
    p.write("runtime/a.ktx2/mine.txt", "mine");
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[unwritable]: a.ktx2: cannot write it: "), "{ran:?}");
    assert!(p.exists("runtime/b.ktx2") && p.exists("runtime/a.ktx2/mine.txt"));
    p.remove("runtime/a.ktx2/mine.txt");
    p.run(&["-q"]).expect(0);
    p.run(&["check"]).expect(0);
    // A directory in place of the journal, of the manifest, of the pack.
    p.remove("runtime/.assetc-cache").write("runtime/.assetc-cache/x", "");
    let ran = p.run(&[]).expect(2);
    assert!(ran.stderr.contains(".assetc-cache: cannot write it: "), "{ran:?}");
    calm(&p.run(&["check"]), 2, "a directory for a journal");
    p.remove("runtime/.assetc-cache").remove("runtime/assets.hman").write("runtime/assets.hman/x", "");
    let ran = p.run(&[]).expect(2);
    assert!(ran.stderr.contains("error[unwritable]: assets.hman: "), "{ran:?}");
    p.remove("runtime/assets.hman").write("runtime.hpack/x", "");
    let ran = p.run(&["--pack"]).expect(2);
    assert!(ran.stderr.contains("error[unwritable]: runtime.hpack: "), "{ran:?}");
    p.remove("runtime.hpack").run(&["-q", "--pack"]).expect(0);
    p.run(&["check"]).expect(0);
}
