//! The rows of the database: assets, their types and their sub-assets.

use crate::project::{Project, guid, named, number, subs};
use std::fs;
use unity_assetdb::store::AssetType::{Native, Script};

const PREFAB: &str = "%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: Root\n--- !u!4 &101\nTransform:\n  m_Father: {fileID: 0}\n";

#[test]
fn script_indices_match_sorted_scripts() {
    let project = Project::new();
    // The first asset has the script with the largest GUID: indices shift when others are added.
    project.object("Assets/A.asset", 1, 9).object("Assets/B.asset", 2, 8).object("Assets/C.asset", 3, 7);
    project.object("Assets/D.asset", 4, 9);
    project.bake();
    let db = project.db();
    assert_eq!(db.script_types, [number(7), number(8), number(9)]);
    let script = |hint: &str| db.script_of(named(&db, hint).asset_type).unwrap();
    assert_eq!(script("Assets/A.asset"), number(9));
    assert_eq!(script("Assets/B.asset"), number(8));
    assert_eq!(script("Assets/C.asset"), number(7));
    assert_eq!(named(&db, "Assets/D.asset").asset_type, Script(2));
}

#[test]
fn main_object_decides_the_type() {
    let project = Project::new();
    let doc = |class: u32, id: i64, name: &str| format!("--- !u!{class} &{id}\nX:\n  m_Name: {name}\n");
    let native = "NativeFormatImporter:\n  mainObjectFileID: 0\n";
    // A material whose first document is version data of the render pipeline.
    let mat = format!(
        "%YAML 1.1\n--- !u!114 &-55\nMonoBehaviour:\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: \n{}",
        guid(9),
        doc(21, 2_100_000, "M")
    );
    project.asset("Assets/M.mat", 1, native, mat);
    // A controller that starts with a transition.
    let controller = format!("%YAML 1.1\n{}{}", doc(1101, -7, ""), doc(91, 9_100_000, "C"));
    project.asset("Assets/C.controller", 2, native, controller);
    // The .meta names a main object that is neither the first nor has the canonical fileID.
    let font = format!(
        "%YAML 1.1\n{}{}{}",
        doc(28, 2_800_000, "Atlas"),
        doc(21, 2_100_000, "Material"),
        doc(128, 555, "F")
    );
    project.asset("Assets/F.asset", 3, "NativeFormatImporter:\n  mainObjectFileID: 555\n", font);
    // Neither the .meta nor a canonical fileID decides: the first document that is no placeholder.
    project.asset(
        "Assets/P.asset",
        4,
        native,
        format!("--- !u!74 &1 stripped\nX:\n  m_Name: no\n{}{}", doc(43, 7, "P"), doc(74, 8, "Q")),
    );
    project.bake();
    let db = project.db();
    let kind = |hint: &str| named(&db, hint).asset_type;
    assert_eq!(kind("Assets/M.mat"), Native(21));
    assert_eq!(kind("Assets/C.controller"), Native(91));
    assert_eq!(kind("Assets/F.asset"), Native(128));
    assert_eq!(kind("Assets/P.asset"), Native(43));
    // The main object is not listed among the sub-assets.
    assert!(subs(named(&db, "Assets/M.mat")).is_empty());
    assert!(subs(named(&db, "Assets/C.controller")).is_empty());
    assert_eq!(subs(named(&db, "Assets/F.asset")), [("Material", 21, 2_100_000), ("Atlas", 28, 2_800_000)]);
    assert_eq!(subs(named(&db, "Assets/P.asset")), [("Q", 74, 8)]);
}

#[test]
fn every_file_with_a_meta_has_a_row() {
    let project = Project::new();
    let rows = [
        ("Assets/a.fbx", "ModelImporter:\n", 1),
        ("Assets/b.dll", "PluginImporter:\n", 1029),
        ("Assets/c.shadergraph", "ScriptedImporter:\n", 48),
        ("Assets/d.compute", "ComputeShaderImporter:\n", 72),
        ("Assets/e.UXML", "ScriptedImporter:\n", 114),
        ("Assets/f.what", "", 1029),
        ("Assets/G.PNG", "TextureImporter:\n  textureShape: 2\n", 89),
        ("Assets/h.mask", "NativeFormatImporter:\n", 319),
        ("Assets/i.renderTexture", "NativeFormatImporter:\n", 84),
        ("Assets/j.cs", "", 115),
        ("Assets/k.txt", "DefaultImporter:\n", 1029),
        ("Assets/l.asmdef", "AssemblyDefinitionImporter:\n", 1_152_215_463),
        ("Assets/m.asmref", "AssemblyDefinitionReferenceImporter:\n", 662_584_278),
        ("Assets/n.mixer", "NativeFormatImporter:\n", 241),
        ("Assets/o.unity", "DefaultImporter:\n", 1032),
        ("Packages/com.x/p.prefab", "PrefabImporter:\n", 1001),
    ];
    for (n, (path, body, _)) in rows.iter().enumerate() {
        project.asset(path, n as u128 + 1, body, "");
    }
    // A binary asset: the .meta states the main object.
    project.asset(
        "Assets/T.asset",
        100,
        "NativeFormatImporter:\n  mainObjectFileID: 15600000\n",
        b"\0\0\0\x16binary",
    );
    let report = project.bake();
    let db = project.db();
    assert_eq!(report.entries, rows.len() + 1);
    for (path, _, class) in rows {
        assert_eq!(named(&db, path).asset_type, Native(class), "{path}");
    }
    assert_eq!(named(&db, "Assets/T.asset").asset_type, Native(156));
    assert!(db.entries.is_sorted_by_key(|entry| entry.guid));
}

#[test]
fn only_referenced_folders_have_rows() {
    let project = Project::new();
    project.asset("Assets/Icons/a.png", 1, "", "").asset("Assets/Other/Icons/b.png", 2, "", "");
    let folder = |n| format!("guid: {}\nfolderAsset: yes\nDefaultImporter:\n", guid(n));
    project
        .write("Assets/Icons.meta", folder(10))
        .write("Assets/Other.meta", folder(11))
        .write("Assets/Other/Icons.meta", folder(12));
    let atlas = format!(
        "--- !u!687078895 &4343727234628468602\nSpriteAtlas:\n  m_Name: A\n  packables:\n  - {{fileID: 102900000, guid: {}, type: 3}}\n  - {{fileID: 102900000, guid: {}, type: 3}}\n",
        guid(10),
        guid(12)
    );
    project.asset("Assets/A.spriteatlas", 3, "NativeFormatImporter:\n", atlas);
    project.bake();
    let db = project.db();
    assert_eq!(db.entries.len(), 5);
    assert_eq!(named(&db, "Assets/Icons").asset_type, Native(1029));
    // Folders are not in the name pool: both keep their names.
    assert_eq!(&*named(&db, "Assets/Icons").name, "Icons");
    assert_eq!(&*named(&db, "Assets/Other/Icons").name, "Icons");
    // The index has all folders.
    assert!(project.index().find_by_hint("Assets/Other").unwrap().is_some());
}

#[test]
fn implicit_sprite_subasset_synthesis() {
    let project = Project::new();
    project.asset("Assets/Flag.png", 1, "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n", "");
    project.bake();
    assert_eq!(subs(named(&project.db(), "Assets/Flag.png")), [("Flag", 213, 21_300_000)]);
}

#[test]
fn sprite_sheets_list_every_sprite() {
    let project = Project::new();
    let sheet = "TextureImporter:\n  spriteMode: 2\n  textureType: 8\n  spriteSheet:\n    sprites:\n    - name: a\n      physicsShape:\n      - - {x: 0, y: 0}\n      internalID: 5\n    - name: b\n      bones:\n      - name: bone\n      internalID: -6\n    internalID: 0\n    nameFileIdTable:\n      a: 5\n      b: -6\n";
    project.asset("Assets/S.png", 1, sheet, "");
    let old = "TextureImporter:\n  fileIDToRecycleName:\n    21300000: o_0\n    21300002: o_1\n  spriteMode: 2\n  textureType: 8\n  spriteSheet:\n    sprites:\n    - name: o_0\n    - name: o_1\n";
    project.asset("Assets/O.png", 2, old, "");
    let stale = "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n  spriteSheet:\n    sprites:\n    - name: stale\n      internalID: 5\n";
    project.asset("Assets/T.png", 3, stale, "");
    project.bake();
    let db = project.db();
    assert_eq!(subs(named(&db, "Assets/S.png")), [("b", 213, -6), ("a", 213, 5)]);
    assert_eq!(subs(named(&db, "Assets/O.png")), [("o_0", 213, 21_300_000), ("o_1", 213, 21_300_002)]);
    assert_eq!(subs(named(&db, "Assets/T.png")), [("stale", 213, 5), ("T", 213, 21_300_000)]);
}

#[test]
fn decodes_escaped_names() {
    let project = Project::new();
    let text = "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: main\n--- !u!74 &1\nAnimationClip:\n  m_Name: 'it''s #1'\n--- !u!74 &2\nAnimationClip:\n  m_Name: \"\\u30C6\\u30B9\\u30C8\"\n--- !u!74 &3\nAnimationClip:\n  m_Name: a long name that Unity\n    folds\n";
    project.asset("Assets/A.asset", 1, "NativeFormatImporter:\n", text.replace('\n', "\r\n"));
    project.bake();
    let expected = [("it's #1", 74, 1), ("テスト", 74, 2), ("a long name that Unity folds", 74, 3)];
    assert_eq!(subs(named(&project.db(), "Assets/A.asset")), expected);
}

#[test]
fn prefabs_list_embedded_assets_without_hierarchy() {
    let project = Project::new();
    project.asset(
        "Assets/P.prefab",
        1,
        "PrefabImporter:\n",
        format!("{PREFAB}--- !u!74 &7400000\nAnimationClip:\n  m_Name: Spin\n"),
    );
    project.bake();
    let db = project.db();
    assert_eq!(named(&db, "Assets/P.prefab").asset_type, Native(1001));
    assert_eq!(subs(named(&db, "Assets/P.prefab")), [("Spin", 74, 7_400_000)]);
}

#[test]
fn reads_models_without_a_name_table() {
    let project = Project::new();
    let fbx = "; FBX 7.3.0 project file\nObjects:  {\n\tModel: 1, \"Model::Tree.001\", \"Mesh\" {\n\t}\n\tMaterial: 2, \"Material::Leaves\", \"\" {\n\t}\n}\nConnections:  {\n\tC: \"OO\",1,0\n}\n";
    project.asset("Assets/Tree.fbx", 1, "ModelImporter:\n  internalIDToNameTable: []\n", fbx);
    let table = "ModelImporter:\n  fileIDToRecycleName:\n    100000: //RootNode\n    4300000: Old\n  animations:\n    clipAnimations:\n    - name: Walk\n      internalID: 0\n";
    project.asset("Assets/Old.fbx", 2, table, fbx);
    project.bake();
    let db = project.db();
    // The fileID of a mesh of this name in a real project.
    assert!(subs(named(&db, "Assets/Tree.fbx")).contains(&("Tree.001", 43, 7_560_277_172_612_512_602)));
    let old = subs(named(&db, "Assets/Old.fbx"));
    assert!(old.contains(&("Old", 43, 4_300_000)) && old.contains(&("Old", 1, 100_000)));
    assert!(old.iter().any(|(name, class, _)| (*name, *class) == ("Walk", 74)));
    assert!(
        !old.iter().any(|(name, ..)| *name == "Tree.001"),
        "the table lists all objects, so the model is not read"
    );
}

#[test]
fn skips_hidden_names_and_ignores_gitignore() {
    let project = Project::new();
    for (n, path) in [".hidden/a.txt", "Samples~/a.txt", "cvs/a.txt", "CVS/a.txt", "x.tmp", "Deep/.git/a.txt"]
        .iter()
        .enumerate()
    {
        project.asset(&format!("Assets/{path}"), n as u128 + 1, "", "");
    }
    project.write("Assets/.gitignore", "*\n").asset("Assets/ignored.txt", 50, "", "");
    project.asset("Library/a.txt", 51, "", "").asset("Temp/a.txt", 52, "", "");
    project.asset("Assets/a/b/c/d/e/f/g/h/i/j/k/l/deep.txt", 53, "", "");
    project.bake();
    let db = project.db();
    let hints: Vec<&str> = db.entries.iter().map(|entry| &*entry.hint).collect();
    assert_eq!(hints, ["Assets/ignored.txt", "Assets/a/b/c/d/e/f/g/h/i/j/k/l/deep.txt"]);
}

#[cfg(unix)]
#[test]
fn follows_linked_folders_without_cycles() {
    use std::os::unix::fs::symlink;
    let project = Project::new();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("far.txt"), "").unwrap();
    fs::write(other.path().join("far.txt.meta"), format!("guid: {}\n", guid(1))).unwrap();
    symlink(other.path(), project.root().join("Assets/Link")).unwrap();
    symlink(project.root().join("Assets"), other.path().join("Loop")).unwrap();
    symlink("nowhere", project.root().join("Assets/dangling.txt")).unwrap();
    project.bake();
    let db = project.db();
    assert_eq!(db.entries.len(), 1);
    assert_eq!(&*db.entries[0].hint, "Assets/Link/far.txt");
    assert!(!project.bake().wrote);
}

#[test]
fn empty_project_has_an_empty_database() {
    let project = Project::new();
    assert_eq!(project.bake().entries, 0);
    assert!(project.db().entries.is_empty());
    assert!(project.index().is_empty());
}

#[test]
fn output_does_not_depend_on_thread_count() {
    let mut project = Project::new();
    for n in 1..200u128 {
        project.object(&format!("Assets/{}/{}.asset", n % 17, n % 5), n, 200 + n % 7);
    }
    let mut seen = Vec::new();
    for jobs in [1, 4] {
        project.extra.jobs = Some(jobs);
        project.extra.no_cache = true;
        let _ = fs::remove_dir_all(project.out());
        project.extra.strict_names = false;
        project.bake();
        seen.push(fs::read(project.out().join("asset-db.bin")).unwrap());
    }
    assert_eq!(seen[0], seen[1]);
}
