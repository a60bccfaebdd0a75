//! Builds that have nothing to do compare timestamps with the checkpoint of the last such build, and find every change.
#![cfg(target_os = "linux")]

use crate::project::{Project, test_image};
use std::time::Duration;

/// Waits until no timestamp is so recent that a second change could have the same one.
fn settle() {
    std::thread::sleep(Duration::from_millis(45));
}

/// A project of two images, a file that is skipped, and a material with a warning; built, and built again until there is a
/// checkpoint.
fn built(config: &str) -> Project {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/sub/b.png", test_image(8, 8, 2));
    p.write("assets/rock_normal.png", test_image(8, 8, 3)).write("assets/notes.wav", "");
    p.write("assetc.yml", config);
    p.run(&[]).expect(0);
    idle(&p);
    p
}

/// Builds twice with nothing to do: the first of them writes a checkpoint.
fn idle(p: &Project) {
    settle();
    p.run(&[]).expect(0);
    p.run(&[]).expect(0);
}

/// Flips a bit in the first record of the journal, which a build that reads records finds and one that does not, does not.
fn damage_records(p: &Project) {
    let mut journal = p.read("runtime/.assetc-cache");
    journal[40] ^= 1;
    p.write("runtime/.assetc-cache", journal);
}

/// Returns the line of the summary without its time.
fn summary(stdout: &str) -> String {
    let line = stdout.lines().next().unwrap_or_default();
    let (before, after) = line.rsplit_once(" (").unwrap_or((line, ""));
    format!("{before}{}", after.split_once(')').map_or("", |(_, rest)| rest))
}

#[test]
fn idle_build_reads_no_records_and_prints_the_same() {
    for config in ["", "pack: true\n"] {
        let p = built(config);
        let reference = p.run(&["-v"]).expect(0);
        damage_records(&p);
        let ran = p.run(&[]).expect(0);
        let line = "3 assets: 0 built, 3 cached, 0 failed, 1 cached warning (-v shows it) -> runtime; skipped 1 file: 1 .wav";
        assert_eq!(summary(&ran.stdout), line);
        assert_eq!(summary(&reference.stdout), line.replace(", 1 cached warning (-v shows it)", ""));
        // The warning is still denied, and printed where all are.
        let denied = p.run(&["--deny", "texture-role"]).expect(1);
        assert!(denied.stderr.contains("error[texture-role]: rock_normal.png"), "{denied:?}");
        assert_eq!(p.run(&["-q"]).expect(0).stdout, "");
        // A build that lists all sources reads the records, and finds the damage.
        assert_ne!(p.build(), (0, 3), "the damage was found");
    }
}

#[test]
fn every_change_after_a_checkpoint_is_found() {
    type Edit = fn(&Project);
    let edits: &[(&str, &str, Edit)] = &[
        ("changed source", "1 built, 2 cached", |p| _ = p.write("assets/a.png", test_image(8, 8, 9))),
        ("new source", "1 built, 3 cached", |p| _ = p.write("assets/sub/c.png", test_image(8, 8, 9))),
        ("removed source", "0 built, 2 cached", |p| _ = p.remove("assets/sub/b.png")),
        ("removed output", "1 built, 2 cached", |p| _ = p.remove("runtime/a.ktx2")),
        ("modified output", "1 built, 2 cached", |p| _ = p.write("runtime/sub/b.ktx2", "x")),
        ("removed manifest", "0 built, 3 cached", |p| _ = p.remove("runtime/assets.hman")),
        ("setting", "3 built, 0 cached", |p| {
            _ = p.write("assetc.yml", "default: {texture: {mips: false}}\n")
        }),
        ("excluded", "0 built, 2 cached", |p| _ = p.write("assetc.yml", "exclude: [\"sub/*\"]\n")),
        ("budget", "0 built, 3 cached", |p| _ = p.write("assetc.yml", "budget: {total: 1 KB}\n")),
        ("pack", "0 built, 3 cached", |p| _ = p.write("assetc.yml", "pack: true\n")),
    ];
    for (what, counts, edit) in edits {
        let p = built("");
        edit(&p);
        let ran = p.run(&[]);
        assert!(ran.stdout.contains(counts), "{what}: {ran:?}");
        assert_eq!(ran.code, i32::from(*what == "budget"), "{what}");
        // A clean build of the same sources has the same files.
        let incremental = p.tree("runtime");
        p.run(&["-q", "--no-cache", "-o", "clean"]);
        assert!(p.tree("clean") == incremental, "{what}");
        assert_eq!(p.exists("runtime.hpack"), *what == "pack");
    }
}

#[test]
fn removed_or_modified_pack_is_written_again() {
    let p = built("pack: true\n");
    let pack = p.read("runtime.hpack");
    p.remove("runtime.hpack").run(&[]).expect(0);
    assert_eq!(p.read("runtime.hpack"), pack);
    idle(&p);
    p.write("runtime.hpack", "x").run(&["--overwrite"]).expect(0);
    assert_eq!(p.read("runtime.hpack"), pack);
    idle(&p);
    let ran = p.run(&[]).expect(0);
    assert!(ran.stdout.contains("unchanged 5 files -> runtime.hpack"), "{ran:?}");
}
