//! The paths that a build script gives to Cargo, and the script itself in a process of its own.

use crate::project::Project;
use pak::bake::{Bake, build_script};
use std::path::Path;

/// Returns the paths of a bake relative to the project.
fn paths(project: &Project, out: &str) -> Vec<String> {
    let bake = Bake::new(project.path("pak.toml"), project.path(out).join("pak.pak"));
    let paths = bake.rerun_if_changed(&project.path(out)).unwrap();
    let relative =
        |path: &Path| path.strip_prefix(project.dir.path()).unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| relative(path)).collect()
}

#[test]
fn watches_sources_the_folders_of_patterns_and_the_pak() {
    let project = Project::new();
    project.content("none", "['bitmap/**/*.png', 'mesh/a/*.toml', 'later/*.ogg', 'one.bin']");
    project.png("bitmap/x/a.png", 1, 1, &[1]);
    project.put("mesh/a/b.toml", "[material]\ncolor = '/bitmap/other.png'\n");
    project.put("target/build/out/file", "");
    project.put("one.bin", "1");
    let found = paths(&project, "target/build/out");
    let expected = [
        "bitmap",
        "bitmap/other.png",
        "bitmap/x/a.png",
        "mesh",
        "mesh/a",
        "mesh/a/b.toml",
        "one.bin",
        "pak.toml",
        "target/build/out/pak.pak",
    ];
    // `later` does not exist, so its parent counts: the root, without the folder that contains the output.
    assert_eq!(found, expected);
    assert!(!paths(&project, "elsewhere").contains(&"target/build".to_owned()));
}

/// Runs `build_script` in a child process, as Cargo does, since it reads the environment and prints.
#[test]
fn build_script_bakes_into_out_dir_and_prints_for_cargo() {
    if let Some(content) = std::env::var_os("KILN_TEST_BUILD_SCRIPT") {
        build_script(content).unwrap();
        return;
    }
    let project = Project::new();
    project.content("none", "['bitmap/*.png', 'none/*.ogg']");
    project.png("bitmap/a.png", 1, 1, &[1]);
    project.put("target/out/x", "");
    let run = |out: Option<&str>| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let test = "build_script::build_script_bakes_into_out_dir_and_prints_for_cargo";
        child.args(["--exact", test, "--nocapture"]).env_remove("OUT_DIR");
        child.env("KILN_TEST_BUILD_SCRIPT", project.path("pak.toml"));
        if let Some(out) = out {
            child.env("OUT_DIR", project.path(out));
        }
        child.output().unwrap()
    };
    for new in ["a.png", "b.png"] {
        project.png(&format!("bitmap/{new}"), 1, 1, &[2]);
        let output = run(Some("target/out"));
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let line = |path: &str| format!("cargo::rerun-if-changed={}\n", project.path(path).display());
        for path in ["bitmap", "pak.toml", "target/out/pak.pak", &format!("bitmap/{new}")] {
            assert!(text.contains(&line(path)), "{path}: {text}");
        }
        assert!(text.contains("cargo::warning=warning[pak-no-match]"), "{text}");
        let pak = pak::PakBuf::open(project.path("target/out/pak.pak")).unwrap();
        assert!(pak.keys().any(|key| key == format!("bitmap/{new}")));
    }
    let failed = run(None);
    assert!(
        !failed.status.success() && String::from_utf8_lossy(&failed.stderr).contains("OUT_DIR is not set")
    );
}
