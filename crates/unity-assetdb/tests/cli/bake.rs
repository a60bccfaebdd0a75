//! The `bake` command: messages, exit codes, options.

use crate::project::{Project, finish, guid};
use std::fs;

#[test]
fn bake_reports_on_standard_error() {
    let project = Project::sample();
    let run = project.run(&["bake"]);
    assert_eq!((run.code, &*run.out), (0, ""));
    assert!(run.err.starts_with("baked 5 entries → "), "{}", run.err);
    assert!(project.root().join("Library/unity-assetdb/asset-db.bin").is_file());
    assert!(project.root().join("Library/unity-assetdb/asset-db.cache.bin").is_file());
}

#[test]
fn bake_prints_phase_timings() {
    let project = Project::sample();
    std::thread::sleep(std::time::Duration::from_millis(45));
    let timed = || finish(project.command(&["bake"]).env("UNITY_ASSETDB_TIMING", "1").output().unwrap()).err;
    let cold = timed();
    assert!(cold.starts_with("  walked=5 hit=0 parsed=5 | cache="), "{cold}");
    assert!(
        cold.contains(" walk=") && cold.contains(" build=") && cold.contains(" (wrote) total="),
        "{cold}"
    );
    let warm = timed();
    assert!(
        warm.starts_with("  walked=5 hit=5 parsed=0 | cache=") && warm.contains(" (skipped) total="),
        "{warm}"
    );
}

#[test]
fn bakes_with_project_and_out_dir() {
    let project = Project::sample();
    let out = tempfile::tempdir().unwrap();
    let place = out.path().join("deep/index");
    let root = project.root().to_str().unwrap();
    let run = finish(
        std::process::Command::new(env!("CARGO_BIN_EXE_unity-assetdb"))
            .args(["bake", "--project", root, "--out-dir", place.to_str().unwrap()])
            .current_dir(out.path())
            .output()
            .unwrap(),
    );
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(place.join("asset-db.bin").is_file());
    assert!(!project.root().join("Library").exists(), "nothing is written to the project");
}

#[test]
fn warnings_fail_the_bake_only_with_strict() {
    let project = Project::sample();
    project.write("Assets/bad.txt", "").write("Assets/bad.txt.meta", "fileFormatVersion: 2\nguid: 123\n");
    let run = project.run(&["bake"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("warning[unity-meta-guid]: Assets/bad.txt.meta:2: "), "{}", run.err);
    let strict = project.run(&["bake", "--strict"]);
    assert_eq!(strict.code, 1);
    assert!(strict.err.contains("unity-meta-guid"), "an incremental bake repeats it: {}", strict.err);
    let quiet = project.run(&["bake", "-q"]);
    assert_eq!((quiet.code, &*quiet.err), (0, ""));
}

#[test]
fn duplicate_guids_and_ambiguous_names_fail_with_every_path() {
    let project = Project::sample();
    project.asset("Assets/Copy.cs", 5, "MonoImporter:\n", "");
    let run = project.run(&["bake"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("error[unity-duplicate-guid]"), "{}", run.err);
    assert!(run.err.contains("Assets/Code.cs.meta:2, Assets/Copy.cs.meta:2"), "{}", run.err);
    fs::remove_file(project.root().join("Assets/Copy.cs")).unwrap();
    project.asset("Assets/Art/Flag.psd", 9, "TextureImporter:\n", "");
    assert_eq!(project.run(&["bake"]).code, 0);
    let strict = project.run(&["bake", "--strict-names"]);
    assert_eq!(strict.code, 1);
    assert!(
        strict.err.contains("error[unity-ambiguous-name]")
            && strict.err.contains("Assets/Art/Flag.png, Assets/Art/Flag.psd"),
        "{}",
        strict.err
    );
}

#[test]
fn queries_keep_the_scrubbed_characters() {
    let project = Project::sample();
    project.asset("Assets/a#b.txt", 20, "", "");
    assert!(project.run(&["bake", "--scrub-chars", "#|"]).err.contains("renamed to `a_b`"));
    assert!(project.run(&["path", &guid(20)]).out.contains("\ta_b\t"));
    assert_eq!(project.run(&["bake"]).code, 0);
    assert!(project.run(&["path", &guid(20)]).out.contains("\ta#b\t"));
}

#[test]
fn bake_prints_json() {
    let project = Project::sample();
    let run = project.run(&["bake", "--json", "-q"]);
    assert!(run.out.starts_with("{\"version\":1,\"entries\":5,\"walked\":5,"), "{}", run.out);
    assert!(run.out.contains("\"wrote\":true") && run.out.contains("\"warnings\":[]"), "{}", run.out);
}

#[test]
fn usage_and_environment_errors_exit_with_2() {
    let empty = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_unity-assetdb"));
        finish(command.args(args).current_dir(empty.path()).output().unwrap())
    };
    let nowhere = run(&["bake"]);
    assert_eq!(nowhere.code, 2);
    assert!(
        nowhere.err.contains("no Unity project root found above CWD: needs `Assets/` + `ProjectSettings/`"),
        "{}",
        nowhere.err
    );
    let wrong = run(&["bake", "--project", "."]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("not a Unity project: ")
            && wrong.err.contains("(missing Assets/ or ProjectSettings/)"),
        "{}",
        wrong.err
    );
    assert_eq!(run(&["frobnicate"]).code, 2);
    assert_eq!(run(&["path", "xyz", "--project", "."]).code, 2);
    assert_eq!(run(&["--version"]).code, 0);
    assert!(run(&["completions", "bash"]).out.contains("unity-assetdb"));
    let blocked = Project::sample();
    blocked.write("Library", "a file where a folder has to be");
    let run = blocked.run(&["bake"]);
    assert!(run.code == 2 && run.err.contains("Library/unity-assetdb: "), "{}", run.err);
    let project = Project::sample();
    let missing = project.run(&["path", &guid(1), "--no-refresh"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains("there is no index yet") && missing.err.contains("unity-assetdb bake"),
        "{}",
        missing.err
    );
}

/// Opening a pipe would block forever.
#[test]
#[cfg(unix)]
fn rejects_pipes_at_the_paths_of_its_files() {
    for name in [".asset-db.lock", "asset-db.cache.bin", "asset-db.bin"] {
        let project = Project::sample();
        let dir = project.root().join("Library/unity-assetdb");
        fs::create_dir_all(&dir).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(dir.join(name)).status().unwrap().success());
        let run = project.run(&["bake"]);
        assert!(run.code == 2 && run.err.contains(name), "{name}: {}", run.err);
        assert!(project.run(&["list", "--no-refresh"]).code != -1);
    }
}

/// A bake publishes two files, one after the other. A reader in between waits until the bake ends.
#[test]
fn reader_waits_for_a_bake_between_its_two_renames() {
    let project = Project::sample();
    assert_eq!(project.run(&["bake"]).code, 0);
    let dir = project.root().join("Library/unity-assetdb");
    let lock = fs::File::options().append(true).open(dir.join(".asset-db.lock")).unwrap();
    lock.lock().unwrap();
    let whole = fs::read(dir.join("asset-db.bin")).unwrap();
    fs::write(dir.join("asset-db.bin"), &whole[1..]).unwrap();
    let mut child =
        project.command(&["list", "--no-refresh"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "the reader did not wait");
    fs::write(dir.join("asset-db.bin"), &whole).unwrap();
    drop(lock);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
