//! Names where several assets claim one.

use crate::project::{Project, guid, named};
use unity_assetdb::bake::BakeError;

fn name(project: &Project, hint: &str) -> String {
    named(&project.db(), hint).name.to_string()
}

#[test]
fn nobody_wins_a_contested_name() {
    let project = Project::new();
    project.asset("Assets/Editor/Dependencies.txt", 1, "", "").asset(
        "Assets/review/Editor/Dependencies.txt",
        2,
        "",
        "",
    );
    project.asset("Assets/Alone.txt", 3, "", "").asset("Assets/Foo.png", 4, "", "").asset(
        "Assets/Foo.prefab",
        5,
        "",
        "",
    );
    project.bake();
    // `Editor` is an end of both directories, so the first needs one more.
    assert_eq!(name(&project, "Assets/Editor/Dependencies.txt"), "Dependencies^Assets/Editor");
    assert_eq!(name(&project, "Assets/review/Editor/Dependencies.txt"), "Dependencies^review/Editor");
    assert_eq!(name(&project, "Assets/Alone.txt"), "Alone");
    // Of two types: no contest.
    assert_eq!(name(&project, "Assets/Foo.png"), "Foo");
    assert_eq!(name(&project, "Assets/Foo.prefab"), "Foo");
}

#[test]
fn a_directory_that_is_an_end_of_another_is_named_whole() {
    let project = Project::new();
    project.asset("Assets/X/f.txt", 1, "", "").asset("Packages/p/Assets/X/f.txt", 2, "", "");
    project.bake();
    assert_eq!(name(&project, "Assets/X/f.txt"), "f^Assets/X");
    assert_eq!(name(&project, "Packages/p/Assets/X/f.txt"), "f^p/Assets/X");
}

#[test]
fn an_unrelated_asset_moves_no_name() {
    let project = Project::new();
    project.asset("Assets/A/X/Foo.txt", 2, "", "").asset("Assets/B/X/Foo.txt", 3, "", "");
    project.bake();
    let before = name(&project, "Assets/A/X/Foo.txt");
    assert_eq!(before, "Foo^A/X");
    project.asset("Assets/0/X/Foo.txt", 1, "", "").asset("Assets/0/X/Bar.txt", 9, "", "");
    project.bake();
    assert_eq!(name(&project, "Assets/A/X/Foo.txt"), before, "in 0.2.0 the newcomer takes a name over");
    assert_eq!(name(&project, "Assets/0/X/Foo.txt"), "Foo^0/X");
}

#[test]
fn names_that_nobody_contests_are_reserved() {
    let project = Project::new();
    project.asset("Assets/D/Foo.txt", 1, "", "").asset("Assets/E/Foo.txt", 2, "", "");
    project.asset("Assets/Foo^D.txt", 3, "", "");
    project.bake();
    assert_eq!(name(&project, "Assets/Foo^D.txt"), "Foo^D");
    assert_eq!(name(&project, "Assets/D/Foo.txt"), "Foo^Assets/D");
    assert_eq!(name(&project, "Assets/E/Foo.txt"), "Foo^E");
}

#[test]
fn one_directory_is_separated_by_extension_and_file() {
    let mut project = Project::new();
    project.asset("Assets/LeakyPen/main.png", 1, "TextureImporter:\n", "").asset(
        "Assets/LeakyPen/main.psd",
        2,
        "TextureImporter:\n",
        "",
    );
    let profile = |n| {
        format!(
            "--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: P{n}\n--- !u!74 &5\nAnimationClip:\n  m_Name: Bloom\n"
        )
    };
    project.asset("Assets/Profiles/LowQuality.asset", 3, "NativeFormatImporter:\n", profile(1));
    project.asset("Assets/Profiles/High.asset", 4, "NativeFormatImporter:\n", profile(2));
    project.bake();
    assert_eq!(name(&project, "Assets/LeakyPen/main.png"), "main.png^LeakyPen");
    assert_eq!(name(&project, "Assets/LeakyPen/main.psd"), "main.psd^LeakyPen");
    let db = project.db();
    assert_eq!(
        &*named(&db, "Assets/Profiles/LowQuality.asset").sub_assets[0].name,
        "Bloom@LowQuality.asset^Profiles"
    );
    assert_eq!(&*named(&db, "Assets/Profiles/High.asset").sub_assets[0].name, "Bloom@High.asset^Profiles");
    // To the letter of the document there is no such step: all of it fails at once, and the old files stay.
    project.extra.strict_names = true;
    let Err(BakeError::Names(found)) = project.try_bake() else { panic!("a failure") };
    let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["Bloom", "main"]);
    let paths: Vec<&str> = found[1].1.iter().map(|(_, path)| &**path).collect();
    assert_eq!(paths, ["Assets/LeakyPen/main.png", "Assets/LeakyPen/main.psd"]);
    assert_eq!(project.db(), db);
}

#[test]
fn what_belongs_to_its_parent_is_not_in_the_pool() {
    let project = Project::new();
    let text = "--- !u!91 &9100000\nAnimatorController:\n  m_Name: C\n--- !u!1102 &5\nAnimatorState:\n  m_Name: Idle\n";
    project.asset("Assets/A/C.controller", 1, "NativeFormatImporter:\n", text);
    project.asset("Assets/A/D.controller", 2, "NativeFormatImporter:\n", text);
    project.bake();
    let db = project.db();
    for entry in &db.entries {
        assert_eq!(&*entry.sub_assets[0].name, "Idle", "{}", entry.hint);
    }
}

#[test]
fn sprites_join_the_pool() {
    let project = Project::new();
    let body = "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n";
    project.asset("Assets/A/Icon.png", 1, body, "").asset("Assets/B/Icon.png", 2, body, "");
    // Two sprites of one sheet may share a name.
    let sheet = "TextureImporter:\n  spriteMode: 2\n  textureType: 8\n  spriteSheet:\n    sprites:\n    - name: twin\n      internalID: 5\n    - name: twin\n      internalID: 6\n";
    project.asset("Assets/Sheet.png", 3, sheet, "");
    project.bake();
    let db = project.db();
    assert_eq!(&*named(&db, "Assets/A/Icon.png").sub_assets[0].name, "Icon^A");
    assert_eq!(&*named(&db, "Assets/A/Icon.png").name, "Icon^A");
    assert!(named(&db, "Assets/Sheet.png").sub_assets.iter().all(|sub| &*sub.name == "twin"));
}

#[test]
fn a_sanitizer_that_merges_names_is_caught() {
    let mut project = Project::new();
    project.scrub = Some("#|");
    project.asset("Assets/D/a#b.png", 1, "", "").asset("Assets/E/a|b.png", 2, "", "").asset(
        "Assets/c.png",
        3,
        "",
        "",
    );
    project.bake();
    assert_eq!(name(&project, "Assets/D/a#b.png"), "a_b^D");
    let said = project.said();
    assert!(
        said.contains(
            &"warning: asset Assets/D/a#b.png name `a#b` contains ref-reserved char; renamed to `a_b`"
                .to_owned()
        ),
        "{said:?}"
    );
    // In one directory, with one extension: nothing separates them.
    project.asset("Assets/D/a_b.png", 4, "", "");
    let error = project.try_bake().unwrap_err();
    let BakeError::Names(found) = &error else { panic!("{error}") };
    assert_eq!(found.len(), 1);
    assert!(error.to_string().contains("Assets/D/a#b.png and Assets/D/a_b.png"), "{error}");
}

#[test]
fn duplicate_guids_fail_with_every_path_and_keep_the_old_files() {
    let project = Project::new();
    project.asset("Assets/a.txt", 1, "", "").bake();
    let before = project.db();
    project.asset("Assets/b.txt", 1, "", "").asset("Assets/c.txt", 2, "", "").asset(
        "Assets/d.txt",
        2,
        "",
        "",
    );
    let error = project.try_bake().unwrap_err().to_string();
    let expected = format!(
        "duplicate top-level GUID: {} in Assets/a.txt and Assets/b.txt\nduplicate top-level GUID: {} in Assets/c.txt and Assets/d.txt",
        guid(1),
        guid(2)
    );
    assert_eq!(error, expected);
    assert_eq!(project.db(), before);
}
