//! Messages that explain what went wrong and what to do: files that are not in the index, directories that cannot be used.

use crate::project::{Project, guid};

/// Runs a command and checks its exit code and a part of what it prints on standard error.
fn check(project: &Project, args: &[&str], code: i32, text: &str) {
    let run = project.run(args);
    assert!(run.code == code && run.err.contains(text), "{args:?}: {} {}", run.code, run.err);
}

#[test]
fn files_without_an_entry_have_a_reason() {
    let project = Project::sample();
    project
        .write("Assets/Art/Lone.txt", "")
        .write("Assets/Art/Cut.png", "")
        .write("Assets/Art/Cut.png.meta", "fileFormatVersion: 2\ngui")
        .write("Assets/.hidden/a.txt", "")
        .write("README.md", "");
    for (asset, reason) in [
        ("Assets/Art/Lone.txt", "Assets/Art/Lone.txt is no asset yet: it has no .meta"),
        ("Art/Lone.txt", "Assets/Art/Lone.txt is no asset yet: it has no .meta"),
        ("Assets/Art", "Assets/Art is no asset yet: it has no .meta"),
        (
            "Assets/Art/Cut.png",
            "Assets/Art/Cut.png has no entry: Assets/Art/Cut.png.meta: missing or malformed",
        ),
        ("cut", "Assets/Art/Cut.png has no entry: Assets/Art/Cut.png.meta: missing or malformed"),
        ("Assets/.hidden/a.txt", "Unity ignores files and folders named .hidden"),
        ("README.md", "README.md is no asset: it is neither in Assets nor in Packages"),
        ("Assets", "Assets is a root folder of the project"),
    ] {
        check(&project, &["guid", asset], 1, reason);
        if asset != "README.md" {
            check(&project, &["mv", asset, "Assets/New.txt", "--dry-run"], 1, reason);
        }
    }
    check(&project, &["guid", "Code", "--no-refresh"], 0, "");
    project.asset("Assets/Late.txt", 30, "", "");
    check(
        &project,
        &["guid", "Assets/Late.txt", "--no-refresh"],
        1,
        "which is older; run unity-assetdb bake",
    );
    check(&project, &["uses", " "], 2, "expected an asset, found an empty argument");
    check(&project, &["resolve", "Flag", "12x"], 2, "a fileID is a whole number");
}

#[test]
fn directories_that_cannot_be_used_are_named() {
    let project = Project::sample();
    check(&project, &["guid", "Flag", "--project", "/no/such/place"], 2, "/no/such/place does not exist");
    project.write("file", "");
    let file = project.root().join("file").display().to_string();
    for args in [["guid", "Flag", "--out-dir", &file], ["guid", "Flag", "--out-dir", &format!("{file}/in")]] {
        check(&project, &args, 2, "cannot update the index: cannot create the directory");
        check(&project, &args, 2, "pass --out-dir DIR");
    }
    check(&project, &["diff", &file, &file], 2, "compare two versions of asset-db.bin");
    check(&project, &["review", "HEAD~1..HEAD"], 2, "the project is in no Git repository");
    check(&project, &["replace", "Unused", "Flag", "--force"], 1, "no file refers to the old asset");
}

#[test]
fn byte_order_marks_are_one_warning_of_a_bake() {
    let project = Project::new();
    for n in 0..3 {
        let meta = format!("\u{feff}fileFormatVersion: 2\nguid: {}\n", guid(n));
        project.write(&format!("Assets/{n}.txt"), "").write(&format!("Assets/{n}.txt.meta"), &meta);
    }
    let run = project.run(&["bake"]);
    assert_eq!(run.err.matches("warning[unity-bom]").count(), 1, "{}", run.err);
    assert!(run.err.contains("Assets/0.txt.meta:1: 3 files start with a byte order mark"), "{}", run.err);
    // The report for programs has all of them.
    assert_eq!(project.run(&["bake", "--json"]).out.matches("unity-bom").count(), 3);
    assert_eq!(project.run(&["bake", "--strict"]).code, 1);
}

#[test]
#[cfg(unix)]
fn unreadable_files_have_a_hint() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::sample();
    let path = project.root().join("Assets/Pole.prefab");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser reads everything.
    if std::fs::read(&path).is_err() {
        check(&project, &["bake"], 0, "give the user who runs this permission to read it");
    }
}
