//! Builds in which a source fails: the manifest describes the output as it is, the pack waits, and `check` names the
//! failed sources.

use crate::project::{Project, test_image};
use kiln_format::hman::HmanView;

/// Returns the paths that the manifest lists.
fn listed(p: &Project) -> Vec<String> {
    let bytes = p.read("runtime/assets.hman");
    let mut paths: Vec<String> =
        HmanView::read(&bytes).unwrap().entries().map(|entry| entry.path.to_owned()).collect();
    paths.sort();
    paths
}

const BRICK: &str = "textures:\n  base_color: wall.png\n";
const STONE: &str = "textures:\n  base_color: rock.png\n";

/// Two materials with a texture each, built once with a pack.
fn built() -> Project {
    let p = Project::new();
    p.write("assets/brick.mat", BRICK).write("assets/wall.png", test_image(4, 4, 1));
    p.write("assets/stone.mat", STONE).write("assets/rock.png", test_image(4, 4, 2));
    p.run(&["-q", "--pack"]).expect(0);
    p.run(&["-q", "check"]).expect(0);
    p
}

#[test]
fn failed_source_does_not_freeze_the_manifest() {
    let p = built();
    let (pack, before) = (p.read("runtime.hpack"), listed(&p));
    // One material gets another texture, the other one fails.
    p.write("assets/brick.mat", BRICK.replace("wall", "tiles"))
        .write("assets/tiles.png", test_image(4, 4, 3));
    p.write("assets/stone.mat", "materials: 7\n");
    let ran = p.run(&["--pack"]).expect(1);
    assert!(ran.stdout.contains("keep the outputs of their last build; the pack was not updated"), "{ran:?}");
    assert_eq!(p.read("runtime.hpack"), pack);
    assert_ne!(listed(&p), before);
    assert_eq!(
        listed(&p).iter().filter(|path| path.starts_with("rock") || path.starts_with("tiles")).count(),
        2
    );

    // The healthy material resolves; the only problem is the failed source.
    let json = p.run(&["check", "--json"]).expect(1).json();
    let problems = json["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0]["code"], "check-build-failed");
    assert_eq!(problems[0]["path"], "stone.mat");

    // The same failure again appends nothing to the journal.
    std::thread::sleep(std::time::Duration::from_millis(50));
    p.run(&["-q"]).expect(1);
    let journal = p.read("runtime/.assetc-cache").len();
    p.run(&["-q"]).expect(1);
    assert_eq!(p.read("runtime/.assetc-cache").len(), journal);

    p.write("assets/stone.mat", STONE).run(&["-q", "--pack"]).expect(0);
    p.run(&["-q", "check"]).expect(0);
    p.run(&["-q", "check", "runtime.hpack"]).expect(0);
    assert_ne!(p.read("runtime.hpack"), pack);
}

#[test]
fn failed_build_names_only_what_it_left_as_it_was() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1)).write("assets/b.png", "broken");
    let last_line = |args: &[&str]| p.run(args).expect(1).stdout.lines().last().unwrap_or("").to_owned();
    assert!(last_line(&[]).contains(", 1 failed -> runtime"), "there is no earlier build");
    assert_eq!(last_line(&["--pack"]), "the pack was not updated");
    p.write("assets/b.png", test_image(4, 4, 2)).run(&["-q"]).expect(0);
    p.write("assets/b.png", "broken");
    let kept = "failed sources keep the outputs of their last build";
    assert_eq!(last_line(&[]), kept);
    assert_eq!(last_line(&["--pack"]), format!("{kept}; the pack was not updated"));
    p.write("assetc.yml", "pack: true\n");
    assert_eq!(last_line(&[]), format!("{kept}; the pack was not updated"));
    p.write("assetc.yml", "manifest_on_failure: keep\n");
    assert_eq!(last_line(&[]), "the manifest was not updated");
    assert_eq!(last_line(&["--pack"]), "the manifest and the pack were not updated");

    // Nothing failed but the budget: nothing was left as it was.
    p.write("assetc.yml", "budget: { total: 1 B }\n").remove("assets/b.png");
    assert!(last_line(&[]).contains(", 0 failed -> runtime"));
    assert_eq!(last_line(&["--pack"]), "the pack was not updated");
}

#[test]
fn failed_source_without_outputs_has_no_rows() {
    let p = Project::new();
    p.write("assetc.yml", "manifest: all\n");
    p.write("assets/a.png", test_image(4, 4, 1)).write("assets/b.png", "broken");
    p.run(&["-q"]).expect(1);
    assert_eq!(listed(&p), ["a.ktx2"]);
    // An output that was deleted has no row either, until its source compiles again.
    p.write("assets/b.png", test_image(4, 4, 2)).run(&["-q"]).expect(0);
    p.remove("runtime/b.ktx2").write("assets/b.png", "broken").run(&["-q"]).expect(1);
    assert_eq!(listed(&p), ["a.ktx2"]);
}

#[test]
fn unreadable_and_conflicting_sources_keep_their_rows() {
    let p = Project::new();
    p.write("assetc.yml", "manifest: all\n");
    p.write("assets/a.png", test_image(4, 4, 1))
        .write("assets/b.png", test_image(4, 4, 2))
        .run(&["-q"])
        .expect(0);
    p.write("assets/a.jpg", "").write("assets/c.png", test_image(4, 4, 3)).run(&["-q"]).expect(1);
    assert_eq!(listed(&p), ["a.ktx2", "b.ktx2", "c.ktx2"]);
    p.remove("assets/a.jpg").run(&["-q"]).expect(0);
    p.run(&["-q", "check"]).expect(0);
}

#[test]
fn check_reports_failures_of_every_shard() {
    let p = Project::new();
    (0..8).for_each(|n| _ = p.write(&format!("assets/{n}.png"), "broken"));
    let failures = |p: &Project| {
        let json = p.run(&["check", "--json"]).json();
        json["problems"].as_array().unwrap().iter().filter(|p| p["code"] == "check-build-failed").count()
    };
    let cache = p.path("cache");
    let shard = |part: &str, code: i32| {
        let mut command = p.command(&["-q", "--shard", part]);
        let ran = command.env_remove("KILN_CACHE").env("KILN_CACHE_DIR", &cache).output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{ran:?}");
    };
    shard("1/2", 1);
    let first = failures(&p);
    shard("2/2", 1);
    assert_eq!(failures(&p), 8);
    (0..8).for_each(|n| _ = p.write(&format!("assets/{n}.png"), test_image(4, 4, n)));
    shard("2/2", 0);
    assert_eq!(failures(&p), first);
    shard("1/2", 0);
    assert_eq!(failures(&p), 0);
}
