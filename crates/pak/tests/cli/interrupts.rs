//! `SIGINT` and `SIGTERM` during a bake: the exit code names the signal, the old pak and finished payloads are kept, and no
//! temporary file is left.

use crate::Project;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

#[test]
fn interrupted_bakes_keep_finished_payloads_and_leave_no_temporary_files() {
    let project = Project::new();
    let mut seed = 1u32;
    for n in 0..24 {
        let noise = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8 & 0x3f
        });
        project.put(&format!("art/{n}.bin"), noise.take(400_000).collect::<Vec<u8>>());
    }
    let bake = ["bake", "pak.toml", "game.pak"];
    let start = Instant::now();
    project.stdout_of(&bake);
    let whole = start.elapsed();
    let expected = std::fs::read(project.path("game.pak")).unwrap();
    let names = || {
        let listing = std::fs::read_dir(project.0.path()).unwrap();
        listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let mut interrupted = 0;
    for moment in 0..16 {
        let (signal, code) = [("INT", 130), ("TERM", 143)][moment % 2];
        for name in names().iter().filter(|name| name.contains("game.pak")) {
            std::fs::remove_file(project.path(name)).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_pak"));
        command.args(bake).current_dir(project.0.path()).env("KILN_CACHE", "off");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(moment as f64 / 16.0));
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).output().unwrap();
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&stderr);
        // Before the handler is installed, the signal ends the process.
        let Some(exit) = status.code() else { continue };
        assert!(!names().iter().any(|name| name.starts_with(".kiln")), "{signal} at {moment}: {:?}", names());
        if exit == 0 {
            assert!(std::fs::read(project.path("game.pak")).unwrap() == expected);
            continue;
        }
        assert_eq!(exit, code, "{signal} at {moment}: {stderr}");
        assert!(stderr.contains("interrupted: ") && !project.path("game.pak").exists(), "{stderr}");
        let kept: Option<usize> =
            stderr.split("interrupted: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let summary = project.stdout_of(&bake);
        if let Some(kept) = kept {
            interrupted += 1;
            assert!(summary.contains(&format!(" {kept} cached")), "{stderr}{summary}");
        }
        assert!(std::fs::read(project.path("game.pak")).unwrap() == expected);
    }
    assert!(interrupted > 1, "{interrupted} bakes were interrupted");
}
