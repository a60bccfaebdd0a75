//! `build PATH…`, `--dry-run` and `--depfile`.

use crate::project::{Project, test_image};
use std::process::Command;

fn project() -> Project {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/ui/b.png", test_image(8, 8, 2));
    p.write("assets/ui/c.png", test_image(8, 8, 3)).write("assetc.yml", "manifest: all\n");
    p
}

fn manifest_entries(p: &Project) -> u64 {
    let json = p.run(&["info", "--json", "runtime/assets.hman"]).expect(0).json();
    json["totals"]["hman"]["entries"].as_u64().unwrap()
}

#[test]
fn builds_selected_sources_and_keeps_all_others() {
    let p = project();
    p.run(&[]).expect(0);
    assert_eq!(manifest_entries(&p), 3);
    let before = p.tree("runtime");
    for source in ["a.png", "ui/b.png", "ui/c.png"] {
        p.write(&format!("assets/{source}"), test_image(8, 8, 9));
    }
    p.write("assets/ui/new.png", test_image(4, 4, 1)).write("assets/other.png", test_image(4, 4, 2));
    p.remove("assets/a.png");

    let json = p.run(&["build", "--json", "assets/ui"]).expect(0).json();
    assert_eq!((&json["built"], &json["failed"]), (&3.into(), &0.into()));
    let after = p.tree("runtime");
    assert_eq!(after["a.ktx2"], before["a.ktx2"], "the output of a source that was not selected stays");
    assert!(!after.contains_key("other.ktx2") && after.contains_key("ui/new.ktx2"));
    assert_ne!(after["ui/b.ktx2"], before["ui/b.ktx2"]);
    assert_eq!(manifest_entries(&p), 4, "the manifest keeps the entries of other sources");
    p.run(&["check"]).expect(0);

    // A path relative to the input directory, and a whole build afterwards.
    p.run(&["build", "other.png"]).expect(0);
    assert!(p.exists("runtime/other.ktx2") && p.exists("runtime/a.ktx2"));
    p.run(&["build", "assets"]).expect(0);
    assert!(!p.exists("runtime/a.ktx2"));
    let partial = p.tree("runtime");
    p.run(&["-o", "clean"]).expect(0);
    assert_eq!(partial, p.tree("clean"));
    let ran = p.run(&["build", "assets/missing.png"]).expect(2);
    assert!(ran.stderr.contains("file-missing"), "{ran:?}");
}

#[test]
fn dry_run_lists_actions_and_writes_nothing() {
    let p = project();
    let ran = p.run(&["--dry-run"]).expect(0);
    assert!(ran.stdout.contains("would build ui/b.png (new)\n"), "{ran:?}");
    assert!(ran.stdout.ends_with("3 to build, 0 cached, 0 files to remove -> runtime\n"), "{ran:?}");
    assert!(!p.exists("runtime"));

    p.run(&[]).expect(0);
    p.write("assets/ui/b.png", test_image(8, 8, 7)).remove("assets/a.png");
    let (before, journal) = (p.tree("runtime"), p.read("runtime/.assetc-cache"));
    let ran = p.run(&["build", "--dry-run", "--depfile", "x.d"]).expect(0);
    assert_eq!(
        ran.stdout,
        "would build ui/b.png (ui/b.png changed)\nwould remove a.ktx2\n\
         dry run, nothing was written: 1 to build, 1 cached, 1 file to remove -> runtime\n"
    );
    let json = p.run(&["--dry-run", "--json", "--no-cache"]).expect(0).json();
    assert_eq!(json["build"].as_array().unwrap().len(), 2);
    assert_eq!(json["build"][0]["why"], "forced");
    assert_eq!(json["remove"], serde_json::json!(["a.ktx2"]));
    assert_eq!((p.tree("runtime"), p.read("runtime/.assetc-cache")), (before, journal));
    assert!(!p.exists("x.d"));
}

#[test]
fn make_rebuilds_with_the_depfile() {
    let p = Project::new();
    p.write("assets/two words.png", test_image(8, 8, 1)).write("assets/sub/a$b.png", test_image(8, 8, 2));
    p.write("assets/m.obj", "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl x\nf 1 2 3\n");
    p.write("assets/m.mtl", "newmtl x\nKd 0 1 0\n");
    p.run(&["--depfile", "out.d"]).expect(0);
    let text = String::from_utf8(p.read("out.d")).unwrap();
    assert!(text.starts_with("runtime/assets.hman: \\\n"), "{text}");
    for name in ["  assets/two\\ words.png\n", "assets/sub/a$$b.png", "assets/m.mtl", "  assets/sub \\\n"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    if Command::new("make").arg("--version").output().is_err() {
        return;
    }
    let makefile = format!(
        "out.stamp:\n\t@{} -q --depfile out.d --depfile-target out.stamp && touch out.stamp && echo ran\n-include out.d\n",
        crate::project::ASSETC
    );
    p.write("Makefile", makefile);
    let make = || {
        let mut command = Command::new("make");
        command.current_dir(p.root()).env("KILN_CACHE", "off").env("KILN_CONFIG_DIR", p.path("none"));
        let output = command.arg("out.stamp").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().contains("ran\n")
    };
    let later = || std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(make(), "the first run builds");
    assert!(!make(), "nothing changed");
    for change in ["assets/two words.png", "assets/sub/a$b.png"] {
        later();
        p.write(change, test_image(8, 8, 9));
        assert!(make(), "{change}");
        assert!(!make());
    }
    later();
    p.write("assets/m.mtl", "newmtl x\nKd 1 0 0\n");
    assert!(make(), "a file that a source reads");
    later();
    p.write("assets/sub/new.png", test_image(4, 4, 1));
    assert!(make(), "a new source");
    later();
    p.remove("assets/sub/new.png");
    assert!(make(), "a deleted source");
    assert!(!make());
}
