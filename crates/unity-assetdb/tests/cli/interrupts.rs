//! `SIGINT` and `SIGTERM` during a bake: the exit code names the signal, the index is the old or the new one, and no
//! temporary file is left.

use crate::project::Project;
use std::process::{Command, Stdio};
use std::time::Instant;

#[test]
fn interrupted_bakes_leave_the_old_index_and_no_temporary_files() {
    let project = Project::new();
    for n in 0..3000 {
        project.asset(&format!("Assets/{}/{n}.prefab", n % 40), n, "PrefabImporter:\n", "%YAML 1.1\n");
    }
    let index = project.root().join("Library/unity-assetdb");
    assert_eq!(project.run(&["bake"]).code, 0);
    let old = std::fs::read(index.join("asset-db.bin")).unwrap();
    project.asset("Assets/new.prefab", 4000, "PrefabImporter:\n", "%YAML 1.1\n");
    let start = Instant::now();
    assert_eq!(project.run(&["bake", "--no-cache"]).code, 0);
    let whole = start.elapsed();
    let new = std::fs::read(index.join("asset-db.bin")).unwrap();
    assert!(old != new);
    let mut interrupted = 0;
    for moment in 0..20 {
        let (signal, code) = [("INT", 130), ("TERM", 143)][moment % 2];
        let mut command = project.command(&["bake", "--no-cache"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(moment as f64 / 20.0));
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).output().unwrap();
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        // Before the handler is installed, the signal ends the process.
        let Some(exit) = ended.status.code() else { continue };
        let listing = std::fs::read_dir(&index).unwrap();
        let names: Vec<_> = listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(!names.iter().any(|name| name.starts_with(".kiln")), "{signal} at {moment}: {names:?}");
        assert!(std::fs::read(index.join("asset-db.bin")).unwrap() == new);
        if exit != 0 {
            assert_eq!(exit, code, "{err}");
            assert!(err.contains("interrupted: the index of the last bake was not changed"), "{err}");
            interrupted += 1;
        }
    }
    assert!(interrupted > 1, "{interrupted} bakes were interrupted");
    assert_eq!(project.run(&["bake"]).code, 0);
    assert_eq!(project.run(&["check"]).code, 0);
}
