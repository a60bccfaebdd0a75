//! Files at the paths of the index before a bake writes there.

use kiln_fault_injection::test_dir::TestDir;
use std::fs;

const UNITY: &str = env!("CARGO_BIN_EXE_unity-assetdb");

fn unity_project() -> TestDir {
    let room = TestDir::create();
    room.write("ProjectSettings/ProjectVersion.txt", "m_EditorVersion: 6000.0.1f1\n")
        .write("Assets/Flag.png", "")
        .write("Assets/Flag.png.meta", "guid: 8f57b4a070f7b43bbb3925467e6752ab\n");
    room
}

#[test]
fn replaces_only_files_of_an_index() {
    let dir = "Library/unity-assetdb";
    for name in ["asset-db.bin", "asset-db.cache.bin"] {
        let room = unity_project();
        room.write(&format!("{dir}/{name}"), "mine");
        for args in [&["bake"][..], &["list"]] {
            room.run(UNITY, args).refused(2, "output-not-owned", &[name, "--out-dir"]);
            assert_eq!(room.read(&format!("{dir}/{name}")), b"mine");
        }
        // In the directory of an index a file of this name is a damaged one.
        let room = unity_project();
        room.run(UNITY, &["bake"]).expect(0);
        let whole = room.read(&format!("{dir}/asset-db.bin"));
        room.write(&format!("{dir}/{name}"), "damaged").run(UNITY, &["bake"]).expect(0);
        assert!(room.read(&format!("{dir}/asset-db.bin")) == whole);
    }
}

#[test]
#[cfg(unix)]
fn does_not_write_through_links() {
    let dir = "Library/unity-assetdb";
    for name in ["asset-db.bin", "asset-db.cache.bin"] {
        let room = unity_project();
        room.run(UNITY, &["bake"]).expect(0);
        let whole = room.read(&format!("{dir}/{name}"));
        fs::rename(room.path(&format!("{dir}/{name}")), room.path("../theirs")).unwrap();
        room.link("../../../theirs", &format!("{dir}/{name}"));
        room.write("Assets/New.txt", "")
            .write("Assets/New.txt.meta", "guid: 8f57b4a070f7b43bbb3925467e6752ac\n");
        room.run(UNITY, &["bake"]).refused(2, "output-not-regular", &[name]);
        assert!(fs::read(room.path("../theirs")).unwrap() == whole && room.is_link(&format!("{dir}/{name}")));
    }
    for (path, target) in [("Library", "../elsewhere"), (dir, "../../elsewhere"), ("Library", "../nowhere")] {
        let room = unity_project();
        fs::create_dir(room.path("../elsewhere")).unwrap();
        room.link(target, path);
        for args in [&["bake"][..], &["list"]] {
            room.run(UNITY, args).refused(2, "unity-output-outside", &["--out-dir"]);
        }
        assert_eq!(fs::read_dir(room.path("../elsewhere")).unwrap().count(), 0);
        assert!(!room.path("../nowhere").exists());
        // A directory that the user names may be anywhere.
        room.run(UNITY, &["bake", "--out-dir", "../elsewhere"]).expect(0);
        assert!(room.path("../elsewhere/asset-db.bin").is_file());
    }
    // A link inside the project leads nowhere else.
    let room = unity_project();
    fs::create_dir(room.path("Cache")).unwrap();
    room.link("Cache", "Library").run(UNITY, &["bake"]).expect(0);
    assert!(room.path("Cache/unity-assetdb/asset-db.bin").is_file());
}
