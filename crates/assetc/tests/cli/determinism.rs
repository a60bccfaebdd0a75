//! Determinism: the same sources give the same bytes, for any number of threads, in any directory, at any time, with or
//! without a journal.

use crate::project::{Project, test_image};
use kiln_fault_injection::random::Random;
use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, SystemTime};

/// A project with every kind of source, rules, and images large enough to be worked on by several threads.
fn varied() -> Project {
    let p = Project::new();
    let faces = |dir: &str, names: &[&str], side: u32| {
        for (n, name) in names.iter().enumerate() {
            p.write(&format!("assets/{dir}/{name}.png"), test_image(side, side, n as u32));
        }
    };
    for n in 0..12u32 {
        let suffix = ["", ".n", ".ao", ".r", ".h", ""][n as usize % 6];
        let dir = ["", "ui/", "deep/er/"][n as usize % 3];
        p.write(&format!("assets/{dir}t{n}{suffix}.png"), test_image(5 + 9 * n, 3 + 7 * n, n));
    }
    p.write("assets/large.png", test_image(300, 200, 99));
    faces("sky.env", &["px", "nx", "py", "ny", "pz", "nz"], 16);
    faces("ground.array", &["0", "1", "2"], 24);
    faces("ground.n.array", &["a", "b"], 24);
    let mut table = "TITLE \"warm\"\nLUT_3D_SIZE 4\n".to_owned();
    (0..64).for_each(|n| table += &format!("{} {} {}\n", n % 4, n / 4 % 4, n / 16));
    p.write("assets/grade/warm.lut.cube", table);
    p.write("assetc.yml", "default:\n  rules:\n    - {match: 'ui/*', texture: {compress: false, mips: 2}}\n");
    p
}

type Built = (BTreeMap<String, Vec<u8>>, Vec<u8>);

fn built(p: &Project, args: &[&str]) -> Built {
    p.run(&[&["--pack", "-q"], args].concat()).expect(0);
    (p.tree("runtime"), p.read("runtime.hpack"))
}

#[track_caller]
fn same(one: &Built, other: &Built, what: &str) {
    let names = |built: &Built| built.0.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(one), names(other), "{what}");
    for (path, bytes) in &one.0 {
        assert!(other.0[path] == *bytes, "{what}: {path} differs");
    }
    assert!(one.1 == other.1, "{what}: the packs differ");
}

/// Copies a project, writing its files in another order and with other modification times.
fn copy(p: &Project, seed: u64) -> Project {
    let (copy, mut random) = (Project::new(), Random::new(seed));
    let mut files: Vec<_> = p.tree("assets").into_iter().collect();
    while !files.is_empty() {
        let (path, bytes) = files.swap_remove(random.below(files.len()));
        let path = format!("assets/{path}");
        copy.write(&path, bytes);
        let ago = Duration::from_secs(random.next() % 1_000_000_000);
        let file = File::options().append(true).open(copy.path(&path)).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
    }
    copy.write("assetc.yml", p.read("assetc.yml"));
    copy
}

#[test]
fn bytes_depend_only_on_the_sources() {
    let p = varied();
    let first = built(&p, &["-j1"]);
    assert!(first.0.len() == 12 + 1 + 1 + 2 + 1 + 1, "{:?}", first.0.keys());
    assert!(first.0.contains_key("assets.hman"));

    same(&first, &built(&p, &[]), "a second run");
    same(&first, &built(&p, &["-j8", "--no-cache"]), "everything again on 8 threads");
    for jobs in ["-j2", "-j8", "-j3"] {
        p.remove("runtime").remove("runtime.hpack");
        same(&first, &built(&p, &[jobs]), jobs);
    }
    for seed in [1, 2] {
        let copy = copy(&p, seed);
        same(&first, &built(&copy, &["-j2"]), "another directory, order and time");
    }
}

/// Locale, time zone and home directory do not affect any file.
#[test]
fn environment_does_not_affect_bytes() {
    let (p, q) = (varied(), varied());
    let first = built(&p, &[]);
    let mut command = q.command(&["--pack", "-q", "-C", "assets/ui", "-o", "../../runtime"]);
    let variables =
        [("LC_ALL", "tr_TR.UTF-8"), ("LANG", "de_DE"), ("TZ", "Asia/Kathmandu"), ("HOME", "/nowhere")];
    let output = command.envs(variables).env("SOURCE_DATE_EPOCH", "12345").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    same(&first, &(q.tree("runtime"), q.read("runtime.hpack")), "another environment");
}

/// The bytes do not depend on the sequence of edits that led to a state.
#[test]
fn incremental_build_equals_clean_build() {
    let p = varied();
    let first = built(&p, &[]);
    p.write("assetc.yml", "default: {texture: {compress: false, supercompress: none}}\n");
    p.write("assets/more.png", test_image(9, 9, 9)).remove("assets/sky.env").remove("assets/large.png");
    let second = built(&p, &["-j2"]);
    assert!(first != second);
    let original = varied();
    for path in ["assetc.yml", "assets/sky.env", "assets/large.png", "assets/more.png"] {
        if p.exists(path) {
            p.remove(path);
        }
    }
    for (path, bytes) in original.tree("assets") {
        p.write(&format!("assets/{path}"), bytes);
    }
    p.write("assetc.yml", original.read("assetc.yml"));
    same(&first, &built(&p, &["-j2"]), "changed and restored");
}

/// A copy of a project, output and journal included, has nothing to build.
#[test]
fn moved_project_is_up_to_date() {
    let p = varied();
    let first = built(&p, &[]);
    let moved = p.root().join("moved");
    std::fs::create_dir(&moved).unwrap();
    for name in ["assets", "assetc.yml", "runtime", "runtime.hpack"] {
        std::fs::rename(p.path(name), moved.join(name)).unwrap();
    }
    let ran = p.run(&["-C", "moved", "--pack"]).expect(0);
    assert!(ran.stdout.contains("0 built, 17 cached"), "{}", ran.stdout);
    same(&first, &(p.tree("moved/runtime"), p.read("moved/runtime.hpack")), "moved");
}

/// Packing at once what was built a moment ago is remembered, too.
#[test]
fn does_not_rewrite_unchanged_pack() {
    let p = varied();
    let ran = p.run(&["--pack"]).expect(0);
    assert!(ran.stdout.contains("packed "), "{}", ran.stdout);
    for _ in 0..3 {
        let ran = p.run(&["--pack"]).expect(0);
        assert!(ran.stdout.contains("unchanged "), "{}", ran.stdout);
        p.write("runtime/theirs.txt", "other");
        let ran = p.run(&["--pack"]).expect(0);
        assert!(ran.stdout.contains("packed "), "{}", ran.stdout);
    }
}
