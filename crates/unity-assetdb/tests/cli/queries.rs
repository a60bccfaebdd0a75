//! Queries: rows, exit codes, suggestions.

use crate::project::{Project, cells, guid};
use std::fs;

#[test]
fn looks_up_guid_and_path() {
    let project = Project::sample();
    let flag = format!("{}\tFlag\tTexture2D\tAssets/Art/Flag.png\n", guid(1));
    assert_eq!(project.run(&["guid", "Assets/Art/Flag.png"]).out, flag);
    assert_eq!(project.run(&["guid", "Art/Flag.png"]).out, flag, "relative to the current directory");
    assert_eq!(project.run(&["guid", "Art/Flag.png.meta"]).out, flag);
    let absolute = project.root().canonicalize().unwrap().join("Assets/Art/Flag.png");
    assert_eq!(project.run(&["guid", absolute.to_str().unwrap()]).out, flag);
    assert_eq!(project.run(&["path", &guid(1).to_uppercase()]).out, flag);
    let miss = project.run(&["guid", "Assets/Art/Flog.png"]);
    assert_eq!((miss.code, &*miss.out), (1, ""));
    assert!(miss.err.contains("did you mean: Assets/Art/Flag.png"), "{}", miss.err);
    assert_eq!(project.run(&["path", &guid(99)]).code, 1);
    let json = project.run(&["path", &guid(1), "--json"]).out;
    assert_eq!(
        json,
        format!(
            "{{\"guid\":\"{}\",\"name\":\"Flag\",\"type\":\"Texture2D\",\"path\":\"Assets/Art/Flag.png\"}}\n",
            guid(1)
        )
    );
}

#[test]
fn resolves_by_every_rule() {
    let project = Project::sample();
    let name = |n: u128, id: &str| {
        let run = project.run(&["resolve", &guid(n), id]);
        cells(&run.out)
            .first()
            .map(|row| format!("{} {}", row[2], row[3]))
            .unwrap_or_else(|| format!("exit {}", run.code))
    };
    assert_eq!(name(1, "21300000"), "Flag Sprite");
    assert_eq!(name(1, "2800000"), "Flag Texture2D");
    assert_eq!(name(2, "100100000"), "Pole Prefab");
    assert_eq!(name(2, "100"), "Pole GameObject");
    assert_eq!(name(2, "101"), "Pole SpriteRenderer");
    // An object of the prefab's instance in the scene.
    assert_eq!(name(3, &(101 ^ 7).to_string()), "Pole SpriteRenderer");
    assert_eq!(name(2, "-5"), "exit 1");
    assert_eq!(name(99, "0"), "exit 1");
}

#[test]
fn finds_and_lists_assets() {
    let project = Project::sample();
    let found = project.run(&["find", "flag"]);
    let found: Vec<_> = cells(&found.out).iter().map(|row| row[3].to_owned()).collect();
    assert_eq!(found, ["Sprite", "Texture2D"]);
    assert_eq!(cells(&project.run(&["find", "?ole"]).out).len(), 1);
    let miss = project.run(&["find", "Pola"]);
    assert_eq!(miss.code, 1);
    assert!(miss.err.contains("did you mean: Pole"), "{}", miss.err);
    assert_eq!(cells(&project.run(&["list"]).out).len(), 5);
    let prefabs = project.run(&["list", "--type", "prefab"]);
    assert_eq!(cells(&prefabs.out)[0][4], "Assets/Pole.prefab");
    assert_eq!(project.run(&["list", "--type", "1001"]).out, prefabs.out);
    assert_eq!(project.run(&["list", "--type", "Mesh"]).code, 1);
}

#[test]
fn lists_uses_and_dependencies() {
    let project = Project::sample();
    let uses = project.run(&["uses", "Assets/Art/Flag.png"]);
    assert_eq!(uses.out, "Assets/Pole.prefab\t8\t1\t21300000\tFlag\n");
    let of_scene = project.run(&["uses", &guid(3)]);
    assert_eq!(of_scene.out, "ProjectSettings/EditorBuildSettings.asset\t7\t1\t0\tMain\n");
    let unused = project.run(&["uses", "Assets/Art/Unused.mat"]);
    assert_eq!((unused.code, &*unused.out), (1, ""));
    let deps = project.run(&["deps", "Assets/Main.unity"]);
    let deps = cells(&deps.out)
        .iter()
        .map(|row| format!("{}:{} {} {}", row[2], row[1], row[3], row[4]))
        .collect::<Vec<_>>();
    assert_eq!(deps, ["6:101 Pole SpriteRenderer", "8:100100000 Pole Prefab"]);
}

#[test]
fn queries_refresh_the_index() {
    let project = Project::sample();
    assert_eq!(project.run(&["guid", "Assets/New.txt"]).code, 1);
    project.asset("Assets/New.txt", 30, "", "");
    assert_eq!(project.run(&["guid", "Assets/New.txt"]).code, 0);
    fs::remove_file(project.root().join("Assets/New.txt")).unwrap();
    assert_eq!(project.run(&["guid", "Assets/New.txt", "--no-refresh"]).code, 0, "without a refresh");
    assert_eq!(project.run(&["guid", "Assets/New.txt"]).code, 1);
}

#[test]
fn unused_starts_from_the_build_roots() {
    let project = Project::sample();
    project.asset("Assets/Resources/Loaded.mat", 40, "NativeFormatImporter:\n", "");
    project.asset("Assets/Spare.unity", 41, "DefaultImporter:\n", "");
    let run = project.run(&["unused"]);
    assert_eq!(run.code, 1);
    let rows = cells(&run.out);
    assert_eq!(
        rows.iter().map(|row| row[0]).collect::<Vec<_>>(),
        ["Assets/Art/Unused.mat", "Assets/Spare.unity"]
    );
    assert!(rows[1][3].contains("by its name"), "the note says that code may load it by name");
    assert!(run.err.contains("names that code computes are not recognized"));
}

#[test]
fn reports_broken_references() {
    let project = Project::sample();
    assert_eq!(project.run(&["broken"]).code, 0);
    let clean = project.run(&["check"]);
    // Folders of the sample have no .meta.
    assert_eq!((clean.code, clean.out.matches("unity-missing-meta").count()), (0, 1), "{}", clean.out);
    project.write("Assets/Art.meta", &format!("guid: {}\nfolderAsset: yes\n", guid(60)));
    let clean = project.run(&["check"]);
    assert_eq!((clean.code, &*clean.out), (0, ""), "{}", clean.err);
    let text = format!(
        "--- !u!114 &11400000\nMonoBehaviour:\n  a: {{fileID: 11400000, guid: {}, type: 2}}\n  b: {{fileID: 999, guid: {}, type: 2}}\n",
        guid(98),
        guid(2)
    );
    project.asset("Assets/Holes.asset", 50, "NativeFormatImporter:\n", &text);
    let broken = project.run(&["broken"]);
    assert_eq!(broken.code, 1);
    let rows = cells(&broken.out);
    assert_eq!(rows[0], ["Assets/Holes.asset", "3", &guid(98), "11400000", "", "yes", "missing-asset"]);
    assert_eq!(
        rows[1],
        ["Assets/Holes.asset", "4", &guid(2), "999", "Assets/Pole.prefab", "yes", "missing-object"]
    );
    // A GUID that may be in a missing package is no certain finding.
    project.write("Packages/manifest.json", "{\"dependencies\": {\"com.far\": \"1.0\"}}");
    let unsure = project.run(&["broken"]);
    assert_eq!(cells(&unsure.out)[0][5], "no");
    assert!(unsure.err.contains("com.far"), "{}", unsure.err);
    project.write("Assets/orphan.txt.meta", &format!("guid: {}\n", guid(70)));
    project
        .asset("Assets/made-up.txt", 0, "", "")
        .write("Assets/made-up.txt.meta", &format!("guid: {}\n", "1".repeat(32)));
    project.asset(
        "Assets/lfs.prefab",
        71,
        "PrefabImporter:\n",
        "version https://git-lfs.github.com/spec/v1\n",
    );
    let check = project.run(&["check"]);
    assert_eq!(check.code, 1);
    for code in [
        "unity-orphan-meta",
        "unity-placeholder-guid",
        "unity-lfs-pointer",
        "unity-broken-object",
        "unity-unknown-guid",
    ] {
        assert!(check.out.contains(code), "{code}: {}", check.out);
    }
    let json = project.run(&["check", "--json"]);
    assert_eq!(json.out.lines().count(), check.out.lines().filter(|line| line.contains("[unity-")).count());
    assert!(json.out.lines().all(|line| line.starts_with("{\"severity\":\"")));
}

#[test]
fn annotates_references_in_text() {
    let project = Project::sample();
    let diff = format!(
        "+  m_Sprite: {{fileID: 21300000, guid: {}, type: 3}}\n-  other: {{fileID: 5, guid: {}, type: 3}}\nplain\n",
        guid(1),
        guid(77)
    );
    let run = project.pipe(&["annotate"], &diff);
    assert_eq!(run.code, 0);
    let unknown = diff.lines().nth(1).unwrap();
    assert_eq!(run.out, format!("+  m_Sprite: {{Flag (Sprite) Assets/Art/Flag.png}}\n{unknown}\nplain\n"));
    let file = project.run(&["annotate", "Pole.prefab"]);
    assert!(file.out.contains("m_Sprite: {Flag (Sprite) Assets/Art/Flag.png}"), "{}", file.out);
}

#[test]
fn diff_compares_by_guid() {
    let project = Project::sample();
    project.run(&["bake"]);
    let db = project.root().join("Library/unity-assetdb/asset-db.bin");
    let old = project.root().join("old.bin");
    fs::copy(&db, &old).unwrap();
    for end in ["", ".meta"] {
        fs::rename(
            project.root().join(format!("Assets/Pole.prefab{end}")),
            project.root().join(format!("Assets/Art/Pole.prefab{end}")),
        )
        .unwrap();
    }
    fs::remove_file(project.root().join("Assets/Code.cs")).unwrap();
    project.run(&["bake"]);
    let run = project.run(&["diff", old.to_str().unwrap(), db.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    let moved = format!("moved\t{}\tAssets/Pole.prefab\tAssets/Art/Pole.prefab\n", guid(2));
    let removed = format!("removed\t{}\tAssets/Code.cs\t\n", guid(5));
    assert_eq!(run.out, format!("{moved}{removed}"));
    assert_eq!(project.run(&["diff", db.to_str().unwrap(), db.to_str().unwrap()]).code, 0);
    let foreign = project.run(&["diff", "Main.unity", db.to_str().unwrap()]);
    assert_eq!(foreign.code, 2);
    assert!(foreign.err.contains("asset-db magic mismatch"), "{}", foreign.err);
}

/// A refresh verifies the pages of the state that it reads. A query that meets damage in another page runs again on a
/// rebuilt index.
#[test]
fn queries_recover_from_a_damaged_state() {
    let project = Project::sample();
    for n in 100..500 {
        project.asset(&format!("Assets/Many/a-rather-long-name-{n}.txt"), n, "", "");
    }
    std::thread::sleep(std::time::Duration::from_millis(45));
    assert_eq!(project.run(&["bake"]).code, 0);
    let state = project.root().join("Library/unity-assetdb/asset-db.cache.bin");
    let good = fs::read(&state).unwrap();
    let reference = format!("{{fileID: 21300000, guid: {}, type: 3}}\n", guid(1));
    let queries: [&[&str]; 5] = [
        &["uses", "Assets/Art/Flag.png"],
        &["find", "*flag*"],
        &["deps", "Assets/Main.unity"],
        &["list"],
        &["annotate"],
    ];
    let mut refused = 0;
    for args in queries {
        let run = |more: &[&str]| project.pipe(&[args, more].concat(), &reference);
        let expected = run(&[]);
        assert_eq!(expected.code, 0, "{}", expected.err);
        for at in (600..good.len()).step_by(8 << 10) {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&state, &bad).unwrap();
            let as_it_is = run(&["--no-refresh"]);
            match as_it_is.code {
                0 => assert_eq!(as_it_is.out, expected.out),
                code => {
                    refused += 1;
                    assert_eq!((code, &*as_it_is.out), (2, ""));
                    assert!(as_it_is.err.contains("run unity-assetdb bake"), "{}", as_it_is.err);
                }
            }
            let recovered = run(&[]);
            assert_eq!((recovered.code, recovered.out), (0, expected.out.clone()), "{}", recovered.err);
        }
    }
    assert!(refused > 0);
}

/// Answers of thousands of rows are printed while they are found: they have the rows of smaller queries, in the same order.
#[test]
fn references_of_large_folders_are_those_of_their_assets() {
    let project = Project::sample();
    let references = |from: u128| -> String {
        let line = |n: u128| format!("  - {{fileID: 7, guid: {}, type: 3}}\n", guid(from + n));
        let missing: String = (0..1600).map(line).collect();
        format!(
            "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: x\n  flag: {{fileID: 2800000, guid: {}, type: 3}}\n{missing}",
            guid(1)
        )
    };
    for n in 0..3 {
        let path = format!("Assets/Large/{n}.asset");
        project.asset(&path, 500 + n, "NativeFormatImporter:\n", &references(1000 + 2000 * n));
    }
    let single: String =
        (0..3).map(|n| project.run(&["deps", &format!("Assets/Large/{n}.asset")]).out).collect();
    assert_eq!(single.lines().count(), 3 * 1601);
    let folder = project.run(&["deps", "Assets/Large"]);
    assert_eq!((folder.code, &*folder.err), (0, ""));
    assert!(folder.out == single, "the rows of the folder are those of its assets");
    let json = project.run(&["deps", "Assets/Large", "--json"]).out;
    assert_eq!(json.lines().count(), 3 * 1601);
    // Before its first row, the query finds damage that only the last of them would read.
    let state = project.root().join("Library/unity-assetdb/asset-db.cache.bin");
    let mut bytes = fs::read(&state).unwrap();
    let last = bytes.len() - 4096 * 2;
    bytes[last] ^= 1;
    fs::write(&state, bytes).unwrap();
    let damaged = project.run(&["deps", "Assets/Large", "--no-refresh"]);
    assert_eq!((damaged.code, &*damaged.out), (2, ""), "{}", damaged.err);
    assert!(project.run(&["deps", "Assets/Large"]).out == single, "the index is rebuilt");
    // Of the references to the flag, those from inside its folder are not listed.
    project.asset("Assets/Art/Inside.asset", 600, "NativeFormatImporter:\n", &references(9000));
    let uses = project.run(&["uses", "Assets/Art"]).out;
    let sources: Vec<_> = cells(&uses).iter().map(|row| row[0].to_owned()).collect();
    let expected =
        ["Assets/Large/0.asset", "Assets/Large/1.asset", "Assets/Large/2.asset", "Assets/Pole.prefab"];
    assert_eq!(sources, expected);
}
