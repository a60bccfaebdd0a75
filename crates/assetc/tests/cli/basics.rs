//! The basic sequence: build, build again, change one source, break one source.

use crate::project::{Project, test_image};

#[test]
fn builds_incrementally() {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/sub/b.n.png", test_image(4, 4, 2));
    assert_eq!(p.build(), (2, 0));
    let names: Vec<String> = p.tree("runtime").into_keys().collect();
    assert_eq!(names, ["a.ktx2", "assets.hman", "sub/b.n.ktx2"]);
    assert_eq!(p.build(), (0, 2));

    p.write("assets/a.png", test_image(8, 8, 3));
    assert_eq!(p.build(), (1, 1));

    p.write("assets/sub/b.n.png", b"not an image");
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[image-unknown]: sub/b.n.png"), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 failed"), "{}", ran.stdout);

    p.remove("assets/sub");
    assert_eq!(p.build(), (0, 1));
    assert!(!p.exists("runtime/sub"));
    p.run(&["check"]).expect(0);
}

#[test]
fn prints_its_version() {
    let p = Project::new();
    let line = p.run(&["--version"]).expect(0).stdout;
    assert!(line.starts_with(concat!("assetc ", env!("CARGO_PKG_VERSION"))), "{line}");
    let json: serde_json::Value =
        serde_json::from_str(&p.run(&["--version", "--json"]).expect(0).stdout).unwrap();
    assert_eq!((&json["name"], &json["version"]), (&"assetc".into(), &env!("CARGO_PKG_VERSION").into()));
}
