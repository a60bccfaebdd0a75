//! References and their lookup rules.

use crate::project::{Project, guid, number};
use unity_assetdb::index::Resolved;

#[test]
fn reports_uses_and_dependencies() {
    let project = Project::new();
    project.asset("Assets/T.png", 1, "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n", "");
    let scene = format!(
        "--- !u!1 &1\nGameObject:\n  a: {{fileID: 21300000, guid: {0}, type: 3}}\n  b: {{fileID: 21300000, guid: {0}, type: 3}}\n  c: {{fileID: 5, guid: {1}, type: 3}}\n  d: {{fileID: 10303, guid: 0000000000000000f000000000000000, type: 0}}\n",
        guid(1),
        guid(99)
    );
    project.asset("Assets/S.unity", 2, "DefaultImporter:\n", scene);
    project.asset("Assets/M.fbx", 3, &format!("ModelImporter:\n  externalObjects:\n  - first:\n      name: x\n    second: {{fileID: 2100000, guid: {}, type: 2}}\n", guid(1)), "");
    project.asset(
        "Assets/A.asmdef",
        4,
        "AssemblyDefinitionImporter:\n",
        format!("{{\"references\": [\"GUID:{}\"]}}", guid(1)),
    );
    project.write(
        "ProjectSettings/EditorBuildSettings.asset",
        format!("%YAML 1.1\n--- !u!1045 &1\nX:\n  m_Scenes:\n  - enabled: 1\n    guid: {}\n", guid(2)),
    );
    project.bake();
    let index = project.index();
    let mut uses: Vec<_> = index
        .uses(number(1))
        .unwrap()
        .iter()
        .map(|(entry, reference)| {
            (entry.hint().unwrap(), reference.file_id, reference.line, reference.in_meta, reference.count)
        })
        .collect();
    uses.sort();
    assert_eq!(
        uses,
        [
            ("Assets/A.asmdef".to_owned(), 0, 1, false, 1),
            ("Assets/M.fbx".to_owned(), 2_100_000, 7, true, 1),
            ("Assets/S.unity".to_owned(), 21_300_000, 3, false, 2),
        ]
    );
    let scene = index.find_by_hint("Assets/S.unity").unwrap().unwrap();
    let deps: Vec<_> = scene.references().unwrap().iter().map(|each| (each.guid, each.file_id)).collect();
    assert_eq!(deps, [(number(1), 21_300_000), (number(99), 5)]);
    let of_scene = index.uses(number(2)).unwrap();
    assert_eq!(of_scene[0].0.hint().unwrap(), "ProjectSettings/EditorBuildSettings.asset");
    assert!(of_scene[0].0.is_settings());
    assert_eq!(index.uses(number(99)).unwrap().len(), 1, "of a GUID that is not there");
    assert!(index.uses(number(77)).unwrap().is_empty());
    // Settings have no GUID and are in no database.
    assert_eq!(project.db().entries.len(), 4);
    assert!(index.find_by_guid(0).unwrap().is_none());
}

#[test]
fn resolves_references_by_the_lookup_rules() {
    let project = Project::new();
    project.asset("Assets/T.png", 1, "TextureImporter:\n", "").asset(
        "Assets/P.prefab",
        2,
        "PrefabImporter:\n",
        "--- !u!1 &77\nGameObject:\n  m_Name: Root\n",
    );
    let sheet = "TextureImporter:\n  spriteMode: 2\n  textureType: 8\n  spriteSheet:\n    sprites:\n    - name: a\n      internalID: 5\n";
    project.asset("Assets/S.png", 3, sheet, "").asset("Assets/M.fbx", 4, "ModelImporter:\n", "");
    project.bake();
    let index = project.index();
    let resolve = |n: u128, id: i64| match index.resolve(number(n), id).unwrap() {
        None => "none".to_owned(),
        Some(Resolved::Asset(entry)) => format!("asset {}", entry.name().unwrap()),
        Some(Resolved::Sub(entry, sub)) => format!("{} of {}", sub.name, entry.name().unwrap()),
        Some(Resolved::Inner(entry)) => format!("inside {}", entry.name().unwrap()),
    };
    assert_eq!(resolve(3, 5), "a of S");
    assert_eq!(resolve(1, 2_800_000), "asset T");
    assert_eq!(resolve(1, 21_300_000), "asset T", "the texture answers for its sprite");
    assert_eq!(resolve(2, 100_100_000), "asset P");
    assert_eq!(resolve(2, 77), "inside P");
    assert_eq!(resolve(4, 100_100_000), "asset M");
    assert_eq!(resolve(9, 5), "none");
    assert_eq!(index.find_by_name("a").unwrap().len(), 1);
    assert_eq!(index.find_by_name("unknown").unwrap().len(), 0);
}
