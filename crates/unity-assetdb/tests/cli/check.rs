//! `check`: severities, baseline, ignore file, duplicate GUIDs.

use crate::project::{Project, guid};
use std::fs;

/// A sample without findings.
fn clean() -> Project {
    let project = Project::sample();
    project.write("Assets/Art.meta", &format!("guid: {}\nfolderAsset: yes\n", guid(60)));
    let run = project.run(&["check"]);
    assert_eq!((run.code, &*run.out), (0, ""), "{}", run.err);
    project
}

/// A scene with an instance of `Pole.prefab` and an override of an object that the prefab does not have.
fn leftover(project: &Project) {
    let scene = format!(
        "%YAML 1.1\n--- !u!1001 &7\nPrefabInstance:\n  m_Modification:\n    m_Modifications:\n    \
         - target: {{fileID: 999, guid: {0}, type: 3}}\n      propertyPath: m_Color\n      \
         objectReference: {{fileID: 2100000, guid: {1}, type: 2}}\n  \
         m_SourcePrefab: {{fileID: 100100000, guid: {0}, type: 3}}\n",
        guid(2),
        guid(97)
    );
    project.asset("Assets/Leftover.unity", 61, "DefaultImporter:\n", &scene);
}

#[test]
fn leftover_overrides_are_warnings() {
    let project = clean();
    leftover(&project);
    let run = project.run(&["check"]);
    assert_eq!(run.code, 0, "warnings alone succeed: {}", run.out);
    assert!(run.out.starts_with("warning[unity-leftover-override]: Assets/Leftover.unity:6: the file overrides 1 object that Assets/Pole.prefab does not contain"), "{}", run.out);
    // The value that the leftover override would assign is ignored with it.
    assert!(!run.out.contains("error["), "{}", run.out);
    assert_eq!(project.run(&["check", "--strict"]).code, 1);
    let rows = project.run(&["broken"]).out;
    assert!(rows.lines().all(|row| row.ends_with("\tleftover-override")), "{rows}");
}

#[test]
fn missing_prefab_of_an_instance_is_one_error() {
    let project = clean();
    leftover(&project);
    for end in ["", ".meta"] {
        fs::remove_file(project.root().join(format!("Assets/Pole.prefab{end}"))).unwrap();
    }
    let run = project.run(&["check"]);
    assert_eq!(run.code, 1);
    let errors: Vec<_> = run.out.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(errors.len(), 2, "one for each scene: {}", run.out);
    assert!(errors[0].starts_with("error[unity-broken-guid]: Assets/Leftover.unity:9:"), "{}", run.out);
    assert!(!run.out.contains("unity-leftover-override"), "{}", run.out);
}

/// An object behind a base prefab that is a Git LFS pointer, or in a package that is not installed, may exist.
#[test]
fn objects_behind_unreadable_bases_are_unknown() {
    let project = clean();
    let variant = format!(
        "%YAML 1.1\n--- !u!1001 &7\nPrefabInstance:\n  m_SourcePrefab: {{fileID: 100100000, guid: {}, type: 3}}\n",
        guid(71)
    );
    project.asset("Assets/Variant.prefab", 70, "PrefabImporter:\n", &variant);
    let pointer = "version https://git-lfs.github.com/spec/v1\n";
    project.asset("Assets/Base.prefab", 71, "PrefabImporter:\n", pointer);
    let user = format!(
        "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  a: {{fileID: 1234, guid: {}, type: 3}}\n",
        guid(70)
    );
    project.asset("Assets/User.asset", 72, "NativeFormatImporter:\n", &user);
    let run = project.run(&["check"]);
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("warning[unity-unknown-object]: Assets/User.asset:4:"), "{}", run.out);
    project.write("Assets/Base.prefab", "%YAML 1.1\n--- !u!1 &5\nGameObject:\n  m_Name: Base\n");
    let run = project.run(&["check"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("error[unity-broken-object]: Assets/User.asset:4:"), "{}", run.out);
}

/// The importer of a package makes objects that no file lists, and its prefab has another fileID than 100100000.
#[test]
fn objects_of_variants_of_package_imports_are_unknown() {
    let project = clean();
    for (file, base) in [("Assets/Hero.psb", 70), ("Assets/Prop.glb", 72)] {
        project.asset(file, base, "ScriptedImporter:\n", "8BPS");
        let variant = format!(
            "%YAML 1.1\n--- !u!1001 &77\nPrefabInstance:\n  m_SourcePrefab: {{fileID: 4843985084834002234, guid: {}, type: 3}}\n",
            guid(base)
        );
        project.asset(&format!("{file}Variant.prefab"), base + 1, "PrefabImporter:\n", &variant);
        let user = format!(
            "%YAML 1.1\n--- !u!114 &1\nMonoBehaviour:\n  a: {{fileID: {}, guid: {}, type: 3}}\n",
            555 ^ 77,
            guid(base + 1)
        );
        project.asset(&format!("{file}User.asset"), base + 100, "NativeFormatImporter:\n", &user);
    }
    let run = project.run(&["check"]);
    assert_eq!(run.code, 0, "{}", run.out);
    for file in ["Hero.psb", "Prop.glb"] {
        let expected = format!(
            "warning[unity-unknown-object]: Assets/{file}User.asset:4: the file refers to the object {} in Assets/{file}Variant.prefab, whose base prefab or model cannot be read",
            555 ^ 77
        );
        assert!(run.out.contains(&expected), "{}", run.out);
    }
}

#[test]
fn plugin_folders_have_no_inner_meta() {
    let project = clean();
    for (n, end) in ["framework", "bundle", "androidlib"].iter().enumerate() {
        let folder = format!("Assets/Native.{end}");
        project
            .write(&format!("{folder}.meta"), &format!("guid: {}\nfolderAsset: yes\n", guid(80 + n as u128)));
        project.write(&format!("{folder}/Contents/library.bin"), "");
    }
    let run = project.run(&["check"]);
    assert_eq!((run.code, &*run.out), (0, ""), "{}", run.err);
    project.write("Assets/loose.bin", "");
    assert!(project.run(&["check"]).out.contains("unity-missing-meta"));
}

#[test]
fn byte_order_marks_are_one_finding() {
    let project = clean();
    for n in 0..5 {
        project.write(&format!("Assets/m{n}.txt"), "");
        project.write(&format!("Assets/m{n}.txt.meta"), &format!("\u{feff}guid: {}\n", guid(90 + n)));
    }
    let run = project.run(&["check"]);
    assert_eq!(run.out.matches("unity-bom").count(), 1, "{}", run.out);
    assert!(run.out.contains("Assets/m0.txt.meta:1: 5 files start with a byte order mark"), "{}", run.out);
}

#[test]
fn unusable_meta_files_are_errors() {
    let project = clean();
    for (name, text) in [
        ("empty", String::new()),
        ("short", "guid: 1234\n".to_owned()),
        ("zero", format!("guid: {}\n", "0".repeat(32))),
        ("upper", format!("guid: {}\n", guid(95).to_uppercase())),
        ("builtin", "guid: 0000000000000000e000000000000000\n".to_owned()),
        ("conflict", format!("<<<<<<< HEAD\nguid: {}\n=======\nguid: {}\n>>>>>>> x\n", guid(93), guid(94))),
    ] {
        project.write(&format!("Assets/{name}.txt"), "");
        project.write(&format!("Assets/{name}.txt.meta"), &text);
    }
    assert_eq!(project.run(&["bake"]).code, 0, "a bake goes on");
    let run = project.run(&["check"]);
    assert_eq!(run.code, 1);
    for (name, code) in [
        ("empty", "unity-unusable-meta"),
        ("short", "unity-invalid-guid"),
        ("zero", "unity-invalid-guid"),
        ("upper", "unity-invalid-guid"),
        ("builtin", "unity-invalid-guid"),
        ("conflict", "unity-unmerged-file"),
    ] {
        assert!(run.out.contains(&format!("error[{code}]: Assets/{name}.txt.meta")), "{name}: {}", run.out);
    }
}

#[test]
fn baseline_hides_known_findings() {
    let project = clean();
    project.write("Assets/loose.bin", "");
    leftover(&project);
    let missing = project.run(&["check", "--strict", "--baseline", "base.txt"]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("--update-baseline"), "{}", missing.err);
    let wrote = project.run(&["check", "--baseline", "base.txt", "--update-baseline"]);
    assert_eq!((wrote.code, &*wrote.out), (0, ""), "{}", wrote.err);
    assert!(wrote.err.contains("wrote 2 findings"), "{}", wrote.err);
    let text = fs::read_to_string(project.root().join("Assets/base.txt")).unwrap();
    assert!(text.contains("\nunity-missing-meta\tAssets/loose.bin\t\n"), "{text}");
    fs::rename(project.root().join("Assets/base.txt"), project.root().join("base.txt")).unwrap();
    let known = project.run(&["check", "--strict", "--baseline", "../base.txt"]);
    assert_eq!((known.code, &*known.out), (0, ""), "{}", known.err);
    assert!(known.err.contains("0 errors, 0 warnings; 2 in the baseline"), "{}", known.err);
    project.write("Assets/other.bin", "");
    fs::remove_file(project.root().join("Assets/loose.bin")).unwrap();
    let new = project.run(&["check", "--strict", "--baseline", "../base.txt"]);
    assert_eq!(new.code, 1);
    assert!(new.out.contains("Assets/other.bin") && new.out.matches("[unity-").count() == 1, "{}", new.out);
    assert!(new.err.contains("1 finding of the baseline no longer found"), "{}", new.err);
    project.write("base.txt", "not a baseline\n");
    let bad = project.run(&["check", "--baseline", "../base.txt"]);
    assert_eq!(bad.code, 2);
    assert!(bad.err.contains("error[unity-baseline]: ../base.txt:1:"), "{}", bad.err);
}

#[test]
fn ignore_file_hides_by_code_and_glob() {
    let project = clean();
    project.write("Assets/Third Party.meta", &format!("guid: {}\nfolderAsset: yes\n", guid(62)));
    project.write("Assets/Third Party/loose.bin", "").write("Assets/loose.bin", "");
    project.write(".unity-assetdb-ignore", "# imported\nunity-missing-meta Assets/Third Party/**\n");
    let run = project.run(&["check"]);
    assert!(!run.out.contains("Third Party") && run.out.contains("Assets/loose.bin"), "{}", run.out);
    assert!(run.err.contains("0 errors, 1 warning; 1 ignored"), "{}", run.err);
    project.write("other-ignore", "unity-missing-mata **\n");
    let bad = project.run(&["check", "--ignore-file", "../other-ignore"]);
    assert_eq!(bad.code, 2);
    assert!(
        bad.err.contains("../other-ignore:1: unknown code") && bad.err.contains("unity-missing-meta"),
        "{}",
        bad.err
    );
}

#[test]
fn queries_go_on_with_duplicate_guids() {
    let project = clean();
    assert_eq!(project.run(&["bake"]).code, 0);
    let (db, state) = ("Library/unity-assetdb/asset-db.bin", "Library/unity-assetdb/asset-db.cache.bin");
    let read = |path: &str| fs::read(project.root().join(path)).unwrap();
    let (old_db, old_state) = (read(db), read(state));
    // A copy of the flag with its .meta, and a new asset.
    for end in ["", ".meta"] {
        let from = project.root().join(format!("Assets/Art/Flag.png{end}"));
        fs::copy(from, project.root().join(format!("Assets/Copy.png{end}"))).unwrap();
    }
    project.asset("Assets/New.txt", 30, "", "");
    let bake = project.run(&["bake"]);
    assert_eq!(bake.code, 1);
    let places = "Assets/Art/Flag.png.meta:2, Assets/Copy.png.meta:2";
    assert!(bake.err.contains(places), "{}", bake.err);
    assert_eq!((read(db), read(state)), (old_db.clone(), old_state), "the old files stay");
    let query = project.run(&["guid", "Assets/New.txt"]);
    assert_eq!(query.code, 0, "{}", query.err);
    assert!(
        query.err.contains("warning[unity-duplicate-guid]") && query.err.contains(places),
        "{}",
        query.err
    );
    assert_eq!(read(db), old_db, "only the state is refreshed");
    let resolved = project.run(&["resolve", &guid(1), "21300000"]);
    let paths: Vec<_> = resolved.out.lines().map(|row| row.rsplit('\t').next().unwrap()).collect();
    assert_eq!(paths, ["Assets/Copy.png", "Assets/Art/Flag.png"]);
    let check = project.run(&["check"]);
    assert_eq!(check.code, 1);
    assert_eq!(check.out.matches("error[").count(), 1, "{}", check.out);
    assert!(check.out.contains("error[unity-duplicate-guid]: Assets/Art/Flag.png.meta:2:"), "{}", check.out);
    assert!(!check.err.contains("duplicate"), "reported once: {}", check.err);
    assert_eq!(project.run(&["bake"]).code, 1, "a bake after a query fails as well");
    assert_eq!(project.run(&["bake", "--no-cache"]).code, 1);
    for end in ["", ".meta"] {
        fs::remove_file(project.root().join(format!("Assets/Copy.png{end}"))).unwrap();
    }
    let fixed = project.run(&["bake"]);
    assert_eq!(fixed.code, 0, "{}", fixed.err);
    assert_ne!(read(db), old_db);
    assert_eq!(project.run(&["check"]).code, 0);
}
