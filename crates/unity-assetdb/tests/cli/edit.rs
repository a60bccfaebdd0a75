//! `replace` and `mv`: only references change, nothing is lost.

use crate::project::{Project, guid};
use std::fs;

fn repository() -> Project {
    let project = Project::sample();
    project.asset("Assets/Flag2.png", 10, "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n", "");
    project.asset(
        "Assets/Red.mat",
        11,
        "NativeFormatImporter:\n",
        "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: Red\n",
    );
    project.init();
    project
}

fn read(project: &Project, path: &str) -> String {
    fs::read_to_string(project.root().join(path)).unwrap()
}

#[test]
fn replace_rewrites_references_only() {
    let project = repository();
    let before = read(&project, "Assets/Pole.prefab");
    let dry = project.run(&["replace", "Flag", "Assets/Flag2.png", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.err);
    let line = |n: u128| format!("  m_Sprite: {{fileID: 21300000, guid: {}, type: 3}}", guid(n));
    let diff = format!(
        "--- a/Assets/Pole.prefab\n+++ b/Assets/Pole.prefab\n@@ -8 +8 @@\n-{}\n+{}\n",
        line(1),
        line(10)
    );
    assert_eq!(dry.out, diff);
    assert_eq!(read(&project, "Assets/Pole.prefab"), before, "a dry run writes nothing");
    let run = project.run(&["replace", "Flag", "Assets/Flag2.png"]);
    assert_eq!((run.code, &*run.out), (0, "Assets/Pole.prefab\t1\n"), "{}", run.err);
    assert_eq!(read(&project, "Assets/Pole.prefab"), before.replace(&guid(1), &guid(10)));
    assert_eq!(project.git(&["diff", "--numstat"]), "1\t1\tAssets/Pole.prefab\n");
    assert_eq!(project.run(&["replace", "Flag", "Assets/Flag2.png"]).code, 1, "nothing is left to replace");
}

/// An object of another type has another fileID and another kind of reference.
#[test]
fn replace_maps_main_objects() {
    let project = repository();
    project.run(&[
        "replace",
        &format!("{}:21300000", guid(1)),
        &format!("{{fileID: 2100000, guid: {}, type: 2}}", guid(11)),
    ]);
    let expected = format!("m_Sprite: {{fileID: 2100000, guid: {}, type: 2}}", guid(11));
    assert!(
        read(&project, "Assets/Pole.prefab").contains(&expected),
        "{}",
        read(&project, "Assets/Pole.prefab")
    );
    // An object inside the old prefab that the new asset does not have is kept and reported.
    project.commit("one");
    let run = project.run(&["replace", "Assets/Pole.prefab", "Assets/Red.mat"]);
    assert!(
        run.err
            .contains("Assets/Main.unity:6: kept, because the new asset has no object with the fileID 101"),
        "{}",
        run.err
    );
}

#[test]
fn uncommitted_files_are_refused() {
    let project = repository();
    let text = read(&project, "Assets/Pole.prefab") + "# edited\n";
    project.write("Assets/Pole.prefab", &text);
    for args in [&["replace", "Flag", "Assets/Flag2.png"][..], &["mv", "Assets/Pole.prefab", "Assets/Art"]] {
        let run = project.run(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.out);
        assert!(run.err.contains("unity-dirty") && run.err.contains("Assets/Pole.prefab"), "{}", run.err);
        assert_eq!(read(&project, "Assets/Pole.prefab"), text);
    }
    assert_eq!(project.run(&["replace", "Flag", "Assets/Flag2.png", "--force"]).code, 0);
    // Without a repository nothing could be undone.
    let loose = Project::sample();
    assert_eq!(loose.run(&["mv", "Assets/Pole.prefab", "Assets/Art"]).code, 2);
    assert_eq!(loose.run(&["mv", "Assets/Pole.prefab", "Assets/Art", "--force"]).code, 0);
}

#[test]
fn mv_takes_the_meta_along() {
    let project = repository();
    let moved =
        "Assets/Pole.prefab\tAssets/Art/Mast.prefab\nAssets/Pole.prefab.meta\tAssets/Art/Mast.prefab.meta\n";
    let dry = project.run(&["mv", "Pole", "Assets/Art/Mast.prefab", "--dry-run"]);
    assert_eq!((dry.code, &*dry.out), (0, moved), "{}", dry.err);
    assert!(project.root().join("Assets/Pole.prefab").exists());
    let run = project.run(&["mv", "Pole", "Assets/Art/Mast.prefab"]);
    assert_eq!((run.code, &*run.out), (0, moved), "{}", run.err);
    assert!(project.run(&["path", &guid(2)]).out.ends_with("\tAssets/Art/Mast.prefab\n"));
    assert_eq!(project.run(&["broken"]).code, 0);
    for (to, why) in [
        ("Assets/Flag2.png", "exists"),
        ("Assets/No/Such/x.prefab", "does not exist"),
        ("../outside.prefab", "expected a path below Assets"),
        ("Assets/../../x", "expected a path below Assets"),
        ("Assets/.hidden", "expected a path below Assets"),
        ("Assets/x.meta", "expected a path below Assets"),
    ] {
        let run = project.run(&["mv", "--force", "Mast", to]);
        assert_eq!(run.code, 2, "{to}: {}", run.out);
        assert!(run.err.contains(why), "{to}: {}", run.err);
    }
}

/// As for a lookup: 1 and similar names, or the number of candidates.
#[test]
fn edits_of_unknown_or_ambiguous_assets_are_explained() {
    let project = repository();
    fs::create_dir(project.root().join("Assets/UI")).unwrap();
    project.asset(
        "Assets/UI/Red.mat",
        12,
        "NativeFormatImporter:\n",
        "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n",
    );
    for (args, expected) in [
        (["replace", "Flg", "Assets/Flag2.png"], "did you mean: Flag"),
        (["replace", "Red", "Assets/Flag2.png"], "2 objects are named Red"),
        (["mv", "Flg", "Assets/Other.png"], "did you mean: Flag"),
        (["mv", "Red", "Assets/Other.mat"], "2 objects are named Red"),
    ] {
        let run = project.run(&args);
        assert_eq!((run.code, &*run.out), (1, ""), "{args:?}: {}", run.err);
        assert!(run.err.contains(expected), "{args:?}: {}", run.err);
    }
}
