//! Names that several assets claim.

use crate::project::{Project, guid, named};
use unity_assetdb::bake::BakeError;

fn name(project: &Project, hint: &str) -> String {
    named(&project.db(), hint).name.to_string()
}

#[test]
fn every_claimant_of_a_name_is_renamed() {
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
    // `Editor` is a suffix of both directories, so the first needs one more component.
    assert_eq!(name(&project, "Assets/Editor/Dependencies.txt"), "Dependencies^Assets/Editor");
    assert_eq!(name(&project, "Assets/review/Editor/Dependencies.txt"), "Dependencies^review/Editor");
    assert_eq!(name(&project, "Assets/Alone.txt"), "Alone");
    // Assets of different types do not conflict.
    assert_eq!(name(&project, "Assets/Foo.png"), "Foo");
    assert_eq!(name(&project, "Assets/Foo.prefab"), "Foo");
}

#[test]
fn directory_that_is_a_suffix_of_another_is_spelled_out() {
    let project = Project::new();
    project.asset("Assets/X/f.txt", 1, "", "").asset("Packages/p/Assets/X/f.txt", 2, "", "");
    project.bake();
    assert_eq!(name(&project, "Assets/X/f.txt"), "f^Assets/X");
    assert_eq!(name(&project, "Packages/p/Assets/X/f.txt"), "f^p/Assets/X");
}

#[test]
fn unrelated_asset_changes_no_name() {
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
fn uncontested_names_are_reserved() {
    let project = Project::new();
    project.asset("Assets/D/Foo.txt", 1, "", "").asset("Assets/E/Foo.txt", 2, "", "");
    project.asset("Assets/Foo^D.txt", 3, "", "");
    project.bake();
    assert_eq!(name(&project, "Assets/Foo^D.txt"), "Foo^D");
    assert_eq!(name(&project, "Assets/D/Foo.txt"), "Foo^Assets/D");
    assert_eq!(name(&project, "Assets/E/Foo.txt"), "Foo^E");
}

#[test]
fn extension_and_file_distinguish_names_in_one_directory() {
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
    // The specification has no such step: with strict names the bake fails with all names, and the old files are kept.
    project.extra.strict_names = true;
    let Err(BakeError::Names(found)) = project.try_bake() else { panic!("a failure") };
    let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["Bloom", "main"]);
    let paths: Vec<&str> = found[1].1.iter().map(|(_, path)| &**path).collect();
    assert_eq!(paths, ["Assets/LeakyPen/main.png", "Assets/LeakyPen/main.psd"]);
    assert_eq!(project.db(), db);
}

#[test]
fn scoped_names_are_not_global() {
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
fn sprite_names_are_global() {
    let project = Project::new();
    let body = "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n";
    project.asset("Assets/A/Icon.png", 1, body, "").asset("Assets/B/Icon.png", 2, body, "");
    // Two sprites of one sheet may share a name.
    let sheet = "TextureImporter:\n  spriteMode: 2\n  textureType: 8\n  spriteSheet:\n    sprites:\n    - name: Tile\n      internalID: 5\n    - name: Tile\n      internalID: 6\n";
    project.asset("Assets/Sheet.png", 3, sheet, "");
    project.bake();
    let db = project.db();
    assert_eq!(&*named(&db, "Assets/A/Icon.png").sub_assets[0].name, "Icon^A");
    assert_eq!(&*named(&db, "Assets/A/Icon.png").name, "Icon^A");
    assert!(named(&db, "Assets/Sheet.png").sub_assets.iter().all(|sub| &*sub.name == "Tile"));
}

#[test]
fn sanitized_names_are_made_unique() {
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
    let messages = project.messages();
    assert!(
        messages.contains(
            &"warning: asset Assets/D/a#b.png name `a#b` contains ref-reserved char; renamed to `a_b`"
                .to_owned()
        ),
        "{messages:?}"
    );
    // In one directory, with one extension: nothing distinguishes them.
    project.asset("Assets/D/a_b.png", 4, "", "");
    let error = project.try_bake().unwrap_err();
    let BakeError::Names(found) = &error else { panic!("{error}") };
    assert_eq!(found.len(), 1);
    assert!(error.to_string().contains("Assets/D/a#b.png and Assets/D/a_b.png"), "{error}");
}

#[test]
fn duplicate_guids_list_every_path_and_keep_the_old_files() {
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
