//! Concurrent processes on one output directory: builds wait for each other, inspections see finished builds, and nothing
//! deadlocks.

use crate::project::{Project, Ran, test_image};
use kiln_engine::{Real, Records, RelPath};
use std::any::Any;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

/// The timeout of each run, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the executable several times concurrently; returns the results in order.
fn at_once(project: &Project, runs: &[&[&str]]) -> Vec<Ran> {
    let (done, finished) = mpsc::channel();
    for (index, args) in runs.iter().enumerate() {
        let (mut command, done) = (project.command(args), done.clone());
        std::thread::spawn(move || done.send((index, command.output().unwrap())));
    }
    let mut all = BTreeMap::new();
    while all.len() < runs.len() {
        let (index, output) = finished.recv_timeout(TIMEOUT).expect("no run hangs");
        all.insert(index, Ran::from(output));
    }
    all.into_values().collect()
}

fn number(ran: &Ran, name: &str) -> usize {
    let (_, rest) = ran.stdout.split_once(&format!("\"{name}\":")).unwrap();
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

/// Writes twenty images that depend on `seed`.
fn write_images(project: &Project, seed: u32) {
    for n in 0..20 {
        project.write(
            &format!("assets/{}{n}.png", ["", "sub/"][n as usize % 2]),
            test_image(8, 8 + n, n + seed),
        );
    }
}

/// Returns the files and the pack of a clean build.
fn clean_build(project: &Project, args: &[&str]) -> (BTreeMap<String, Vec<u8>>, Vec<u8>) {
    let clean = Project::new();
    for (path, bytes) in project.tree("assets") {
        clean.write(&format!("assets/{path}"), bytes);
    }
    if project.exists("assetc.yml") {
        clean.write("assetc.yml", project.read("assetc.yml"));
    }
    clean.run(&[&["--pack", "-o", "clean"], args].concat()).expect(0);
    (clean.tree("clean"), clean.read("clean.hpack"))
}

fn builds_share_the_work(builders: usize) {
    let project = Project::new();
    for round in 0..4 {
        write_images(&project, round / 2 * 100);
        if round == 2 {
            project.remove("runtime");
        }
        let runs: Vec<&[&str]> = vec![&["--json"]; builders];
        let ran: Vec<Ran> = at_once(&project, &runs).into_iter().map(|ran| ran.expect(0)).collect();
        let built: usize = ran.iter().map(|ran| number(ran, "built")).sum();
        let cached: usize = ran.iter().map(|ran| number(ran, "cached")).sum();
        assert_eq!(built, if round % 2 == 0 { 20 } else { 0 }, "each image is compiled once");
        assert_eq!(built + cached, 20 * builders);
        assert!(project.tree("runtime") == clean_build(&project, &[]).0);
        project.run(&["check"]).expect(0);
    }
}

#[test]
fn two_concurrent_builds_share_the_work() {
    builds_share_the_work(2);
}

#[test]
fn eight_concurrent_builds_share_the_work() {
    builds_share_the_work(8);
}

/// Builds with different settings on the same output run one after the other, and the last one determines the result.
#[test]
fn concurrent_builds_with_different_settings_do_not_mix() {
    let project = Project::new();
    write_images(&project, 0);
    project
        .write("assetc.yml", "presets: {raw: {texture: {compress: false}}, one: {texture: {mips: false}}}\n");
    let presets = ["raw", "one"].map(|name| clean_build(&project, &["--preset", name]));
    assert!(presets[0] != presets[1]);
    for _ in 0..3 {
        let run = |name| ["--pack", "--preset", name];
        let ran = at_once(&project, &[&run("raw"), &run("one"), &run("raw"), &run("one")]);
        ran.into_iter().for_each(|ran| drop(ran.expect(0)));
        let found = (project.tree("runtime"), project.read("runtime.hpack"));
        assert!(presets.contains(&found), "two settings in one output");
    }
}

/// Inspections during a build see complete files, and `check` sees a finished build.
#[test]
fn inspection_during_a_build_sees_finished_builds() {
    let project = Project::new();
    for round in 0..6 {
        write_images(&project, round * 100);
        if round % 2 == 1 {
            project.remove("assets/0.png");
        }
        if round == 0 {
            project.run(&["--pack"]).expect(0);
            write_images(&project, 1000);
        }
        let runs: [&[&str]; 8] = [
            &["check"],
            &["--pack"],
            &["pack", "info"],
            &["check", "runtime.hpack"],
            &["check"],
            &["explain", "assets/2.png"],
            &["check"],
            &["info", "runtime.hpack"],
        ];
        for (ran, args) in at_once(&project, &runs).into_iter().zip(runs) {
            assert_eq!(ran.code, 0, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        }
        assert!(project.tree("runtime") == clean_build(&project, &[]).0);
    }
}

/// Outputs inside each other are built concurrently.
#[test]
fn nested_outputs_build_concurrently() {
    let project = Project::new();
    project.write(
        "assetc.yml",
        "presets:\n  desktop: {}\n  mobile: {output: runtime/mobile, texture: {max_size: 4}}\n",
    );
    let presets = [["--pack", "--preset", "desktop"], ["--pack", "--preset", "mobile"]];
    for round in 0..6 {
        if round % 2 == 0 && project.exists("runtime") {
            project.remove("runtime");
        }
        write_images(&project, round * 100);
        let runs: [&[&str]; 4] = [&presets[0], &presets[1], &presets[1], &presets[0]];
        at_once(&project, &runs).into_iter().for_each(|ran| drop(ran.expect(0)));
        let (mobile, mobile_pack) = clean_build(&project, &presets[1][1..]);
        let (desktop, desktop_pack) = clean_build(&project, &presets[0][1..]);
        assert!(project.tree("runtime/mobile") == mobile);
        assert!(project.read("runtime/mobile.hpack") == mobile_pack);
        let mut outer = project.tree("runtime");
        outer.retain(|path, _| !path.starts_with("mobile"));
        assert!(outer == desktop);
        assert!(project.read("runtime.hpack") == desktop_pack);
    }
}

#[test]
fn concurrent_builds_and_cleans_succeed() {
    let project = Project::new();
    write_images(&project, 0);
    let expected = clean_build(&project, &[]).0;
    for _ in 0..12 {
        let runs: [&[&str]; 6] = [&["clean"], &["-q"], &["clean"], &["-q"], &["clean"], &["-q"]];
        for (ran, args) in at_once(&project, &runs).into_iter().zip(runs) {
            assert_eq!(ran.code, 0, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        }
        project.run(&[]).expect(0);
        assert!(project.tree("runtime") == expected);
    }
    project.run(&["clean"]).expect(0);
    assert!(!project.exists("runtime"));
}

/// A process that finds the output locked reports it and waits: any command for a build, and a build for inspections.
#[test]
fn reports_waiting_for_the_lock() {
    let project = Project::new();
    write_images(&project, 0);
    project.run(&[]).expect(0);
    let built = || -> Box<dyn Any> {
        let journal = File::options().append(true).open(project.path("runtime/.assetc-cache")).unwrap();
        journal.lock().unwrap();
        Box::new(journal)
    };
    let inspected = || -> Box<dyn Any> {
        let real = Real::open(&project.path("runtime")).unwrap();
        Box::new(Records::read(&real, &RelPath::new(".assetc-cache").unwrap(), &|| ()).unwrap())
    };
    type Hold<'a> = &'a dyn Fn() -> Box<dyn Any>;
    let cases: [(&str, Hold<'_>); 6] = [
        ("build", &built),
        ("build", &inspected),
        ("check", &built),
        ("info", &built),
        ("clean", &inspected),
        ("build", &built),
    ];
    for (command, take) in cases {
        if command == "build" {
            project.write("assets/0.png", test_image(4, 4, 7)).run(&[]).expect(0);
        }
        let taken = take();
        let mut child =
            project.command(&[command]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with("waiting for "), "{command}: {line}");
        std::thread::sleep(Duration::from_millis(50));
        assert!(child.try_wait().unwrap().is_none(), "{command} did not wait");
        drop(taken);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{command}");
    }
}
