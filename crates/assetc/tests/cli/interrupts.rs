//! `SIGINT` and `SIGTERM` at many moments of a build: the exit code names the signal, no temporary file is left, finished
//! assets are kept, and the next build equals a clean build.
#![cfg(unix)]

use crate::project::{Project, png, test_image};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const SIGNALS: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];

fn send(child: &Child, signal: &str) {
    Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).output().unwrap();
}

fn spawn(p: &Project, args: &[&str]) -> Child {
    p.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns temporary files in the output directory and beside it.
fn leftovers(p: &Project) -> Vec<String> {
    let mut names = Vec::new();
    for dir in ["", "runtime"] {
        let Ok(listing) = fs::read_dir(p.path(dir)) else { continue };
        names.extend(listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
    }
    names.retain(|name| name.starts_with(".kiln"));
    names
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn interrupted_builds_keep_finished_assets_and_leave_no_temporary_files() {
    const ASSETS: usize = 120;
    let p = Project::new();
    for n in 0..ASSETS {
        p.write(&format!("assets/{n}.png"), test_image(48, 48, n as u32));
    }
    let start = Instant::now();
    p.run(&["-q", "--pack"]).expect(0);
    let whole = start.elapsed();
    let (runtime, pack): (BTreeMap<_, _>, _) = (p.tree("runtime"), p.read("runtime.hpack"));

    let (mut interrupted, mut moments) = (0, 0);
    for moment in 0..24 {
        let (signal, code) = SIGNALS[moment % 2];
        for output in ["runtime", "runtime.hpack"] {
            // A signal before the handler was installed leaves none.
            if p.exists(output) {
                p.remove(output);
            }
        }
        let child = spawn(&p, &["--pack"]);
        std::thread::sleep(whole.mul_f64(moment as f64 / 24.0));
        send(&child, signal);
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let stderr = text(&stderr);
        // Before the handler is installed, the signal ends the process.
        let Some(exit) = status.code() else { continue };
        assert!(leftovers(&p).is_empty(), "{signal} at {moment}: {:?}", leftovers(&p));
        moments += 1;
        if exit == 0 {
            assert!(p.tree("runtime") == runtime && p.read("runtime.hpack") == pack, "{moment}: {stderr}");
            p.run(&["-q"]).expect(0);
            continue;
        }
        assert_eq!(exit, code, "{signal} at {moment}: {stderr}");
        assert!(stderr.contains("interrupted: "), "{stderr}");
        for (path, bytes) in p.tree("runtime").iter().filter(|(path, _)| *path != "assets.hman") {
            assert!(runtime.get(path) == Some(bytes), "{path} is incomplete");
        }
        let kept: Option<usize> =
            stderr.split("interrupted: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        if p.exists("runtime/.assetc-cache") && kept.is_some() {
            interrupted += 1;
            let checked = p.run(&["check"]).expect(1);
            assert!(checked.stdout.contains("the last build was interrupted"), "{checked:?}");
            assert_eq!(checked.stdout.matches("FAIL").count(), 1, "the manifest is consistent: {checked:?}");
        }
        let (built, cached) = p.build();
        assert_eq!(built + cached, ASSETS);
        if let Some(kept) = kept {
            assert_eq!(cached, kept, "{stderr}");
        }
        assert!(p.tree("runtime") == runtime, "{signal} at {moment}");
        p.run(&["-q", "check"]).expect(0);
        p.run(&["-q", "--pack"]).expect(0);
    }
    assert!(interrupted > 0, "{interrupted} of {moments} builds were interrupted");
}

/// Writes a source whose encoding takes seconds.
fn write_long_action(p: &Project) {
    static LARGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let noise: Vec<u8> =
            (0..2048u32 * 2048 * 3).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        png(2048, 2048, png::ColorType::Rgb, &noise)
    });
    p.write("assetc.yml", "default:\n  texture:\n    quality: high\n");
    p.write("assets/large.png", &*LARGE);
}

/// Assets that finished while a long action runs are published before that action ends, so that dropping it loses nothing
/// else.
#[test]
fn finished_assets_are_published_while_a_long_action_runs() {
    let p = Project::new();
    write_long_action(&p);
    for n in 0..5 {
        p.write(&format!("assets/{n}.png"), test_image(8, 8, n));
    }
    let child = spawn(&p, &["-j", "2"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while (0..5).any(|n| !p.exists(&format!("runtime/{n}.ktx2"))) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!p.exists("runtime/large.ktx2"), "the long action has ended");
    send(&child, "INT");
    std::thread::sleep(Duration::from_millis(50));
    send(&child, "INT");
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(130), "{}", text(&stderr));
    assert!(!p.exists("runtime/large.ktx2") && leftovers(&p).is_empty(), "{:?}", leftovers(&p));
    p.write("assets/large.png", test_image(8, 8, 5));
    assert_eq!(p.build(), (1, 5), "{}", text(&stderr));
}

/// A second signal, like the end of the grace period, drops the action in flight.
#[test]
fn second_interrupt_drops_the_action_in_flight() {
    let p = Project::new();
    write_long_action(&p);
    for (signal, code) in SIGNALS {
        let child = spawn(&p, &["-j", "1"]);
        while !p.exists("runtime/.assetc-cache") {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        send(&child, signal);
        std::thread::sleep(Duration::from_millis(50));
        send(&child, signal);
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(code), "{}", text(&stderr));
        assert!(text(&stderr).contains("interrupted: finished assets are kept"), "{}", text(&stderr));
        assert!(leftovers(&p).is_empty(), "{:?}", leftovers(&p));
        assert!(!p.exists("runtime/large.ktx2"));
    }
}

/// A result that the build has reported is kept, even if the second signal comes before its batch is due.
#[test]
fn second_interrupt_keeps_assets_that_are_reported_as_finished() {
    for (signal, code) in SIGNALS {
        let p = Project::new();
        write_long_action(&p);
        for n in 0..5 {
            p.write(&format!("assets/{n}.png"), test_image(8, 8, n));
        }
        let mut child = spawn(&p, &["-j", "2", "--json=lines"]);
        let events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let finished = events.filter(|line| line.contains(r#""event":"finished""#)).take(5);
        assert!(
            finished.filter(|line| !line.contains("large.png")).count() == 5,
            "the long action has ended"
        );
        send(&child, signal);
        // Two signals at once would be one.
        std::thread::sleep(Duration::from_millis(20));
        send(&child, signal);
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(code), "{}", text(&stderr));
        assert!(!p.exists("runtime/large.ktx2") && leftovers(&p).is_empty(), "{:?}", leftovers(&p));
        p.write("assets/large.png", test_image(8, 8, 5));
        assert_eq!(p.build(), (1, 5), "{}", text(&stderr));
    }
}
