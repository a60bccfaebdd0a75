//! Names of references: objects of prefab instances with their overrides, packages, built-in resources, scripts, and the
//! objects that importers make.

use crate::project::{Project, cells, guid};
use std::fs;

/// Returns the name and the type that `resolve` gives, or its message.
fn resolve(project: &Project, guid: &str, id: i64) -> String {
    let run = project.run(&["resolve", guid, "--", &id.to_string()]);
    match cells(&run.out).first() {
        Some(row) => format!("{} ({})", row[2], row[3]),
        None => run.err.trim().to_owned(),
    }
}

/// A prefab instance that renames an object of its prefab.
fn instance(id: i64, prefab: u128, object: i64, name: &str) -> String {
    let prefab = guid(prefab);
    format!(
        "--- !u!1001 &{id}\nPrefabInstance:\n  m_Modification:\n    m_Modifications:\n    - target: {{fileID: {object}, guid: {prefab},\n        \
         type: 3}}\n      propertyPath: m_Name\n      value: {name}\n      objectReference: {{fileID: 0}}\n  \
         m_SourcePrefab: {{fileID: 100100000, guid: {prefab}, type: 3}}\n"
    )
}

fn yaml(text: &str) -> String {
    format!("%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n{text}")
}

#[test]
fn outermost_override_of_a_name_counts() {
    let project = Project::new();
    project.asset("Assets/Pickupable.cs", 9, "MonoImporter:\n", "");
    let base = format!(
        "--- !u!1 &100\nGameObject:\n  m_Name: Base\n--- !u!1 &200\nGameObject:\n  m_Name: Child\n--- !u!4 &101\nTransform:\n  \
         m_GameObject: {{fileID: 100}}\n--- !u!114 &102\nMonoBehaviour:\n  m_GameObject: {{fileID: 100}}\n  \
         m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n",
        guid(9)
    );
    project.asset("Assets/Base.prefab", 1, "PrefabImporter:\n", &yaml(&base));
    project.asset("Assets/Variant.prefab", 2, "PrefabImporter:\n", &yaml(&instance(7000, 1, 100, "Variant")));
    let outer = instance(90_000, 2, 100 ^ 7000, "'Outer: one'");
    // A second instance of the variant keeps its name, and a component is added to the first one.
    let plain = instance(80_000, 2, 1, "unrelated");
    let added = format!(
        "--- !u!1 &55 stripped\nGameObject:\n  m_CorrespondingSourceObject: {{fileID: {}, guid: {}, type: 3}}\n  \
         m_PrefabInstance: {{fileID: 90000}}\n--- !u!65 &66\nBoxCollider:\n  m_GameObject: {{fileID: 55}}\n",
        100 ^ 7000,
        guid(2)
    );
    project.asset("Assets/Main.unity", 3, "DefaultImporter:\n", &yaml(&format!("{outer}{plain}{added}")));
    let name = |n: u128, id: i64| resolve(&project, &guid(n), id);
    assert_eq!(name(1, 102), "Base (MonoBehaviour: Pickupable)");
    assert_eq!(name(2, 101 ^ 7000), "Variant (Transform)");
    assert_eq!(name(2, 102 ^ 7000), "Variant (MonoBehaviour: Pickupable)");
    assert_eq!(name(2, 200 ^ 7000), "Child (GameObject)");
    assert_eq!(name(3, 101 ^ 7000 ^ 90_000), "Outer: one (Transform)");
    assert_eq!(name(3, 101 ^ 7000 ^ 80_000), "Variant (Transform)");
    assert_eq!(name(3, 66), "Outer: one (BoxCollider)");
    assert_eq!(name(3, 12), "Assets/Main.unity: fileID 12: no such object");
}

#[test]
fn model_roots_are_named_after_the_file() {
    let project = Project::new();
    let nodes = ["Bench_LOD0", "Bench_LOD1"]
        .iter()
        .zip(1..)
        .map(|(name, n)| format!("\tModel: {n}, \"Model::{name}\", \"Mesh\" {{\n\t}}\n"));
    let links = "Connections:  {\n\tC: \"OO\",1,0\n\tC: \"OO\",2,0\n}\n";
    let fbx = format!("; FBX 7.3.0 project file\nObjects:  {{\n{}}}\n{links}", nodes.collect::<String>());
    let importer = "ModelImporter:\n  meshes:\n    fileIdsGeneration: 2\n  animationType: 3\n";
    project.asset("Assets/Bench.fbx", 1, importer, &fbx);
    // The fileIDs of a real project: the root's Transform is negative, and its sign is lost in the instance.
    let (transform, lod_group, instance_id) =
        (-8_679_921_383_154_817_045, 4_742_473_837_712_756_890, 1_916_942_201_734_408_485);
    let prefab = instance(instance_id, 1, 919_132_149_155_446_097, "Park bench");
    project.asset("Assets/Bench01.prefab", 2, "PrefabImporter:\n", &yaml(&prefab));
    assert_eq!(resolve(&project, &guid(1), transform), "Bench (Transform)");
    assert_eq!(resolve(&project, &guid(1), lod_group), "Bench (LODGroup)");
    assert_eq!(resolve(&project, &guid(1), 9_000_000), "BenchAvatar (Avatar)");
    assert_eq!(resolve(&project, &guid(2), 2_094_422_023_557_664_462), "Park bench (Transform)");
    assert_eq!(resolve(&project, &guid(2), lod_group ^ instance_id), "Park bench (LODGroup)");
    // A model that is not on disk still has a root.
    project.write("Assets/Bench.fbx", "version https://git-lfs.github.com/spec/v1\n");
    assert_eq!(resolve(&project, &guid(2), 2_094_422_023_557_664_462), "Park bench (Transform)");
    assert_eq!(resolve(&project, &guid(2), 5), "Assets/Bench01.prefab: fileID 5: objects cannot be read");
}

#[test]
fn products_of_importers_have_names() {
    let project = Project::new();
    let actions = r#"{"maps": [{"name": "Player", "actions": [{"name": "Jump", "id": "2e4337b6-e969-4032-bcd5-51c930a6e077"}]}]}"#;
    project.asset("Assets/Input.inputactions", 1, "ScriptedImporter:\n", actions);
    project.asset(
        "Assets/Smoke.vfx",
        2,
        "VisualEffectImporter:\n",
        &yaml("--- !u!114 &114\nMonoBehaviour:\n  m_Name: VFXGraph\n"),
    );
    project.asset("Assets/Font.ttf", 3, "TrueTypeFontImporter:\n", "");
    project.asset("Assets/Water.shadergraph", 4, "ScriptedImporter:\n", "{}");
    let name = |n: u128, id: i64| resolve(&project, &guid(n), id);
    // The xxHash64 of `Type:MonoBehaviour->2e4337b6-e969-4032-bcd5-51c930a6e0770`.
    assert_eq!(name(1, JUMP), "Player/Jump (MonoBehaviour)");
    assert_eq!(name(1, -944_628_639_613_478_452), "Input (MonoBehaviour)");
    assert_eq!(name(2, 8_926_484_042_661_614_526), "Smoke (VisualEffectAsset)");
    assert_eq!(name(3, 2_100_000), "Font Material (Material)");
    assert_eq!(name(4, -6_465_566_751_694_194_690), "Water (Shader)");
}

const JUMP: i64 = -273_270_698_691_252_620;

#[test]
fn packages_are_resolved_through_a_side_index() {
    let project = Project::new();
    let package = "Library/PackageCache/com.unity.ugui@1.0.0/Runtime/Image.cs";
    project.asset(package, 20, "MonoImporter:\n", "");
    project.asset("Assets/Local/Tool.cs", 21, "MonoImporter:\n", "");
    fs::create_dir_all(project.root().join("Elsewhere")).unwrap();
    project.asset("Elsewhere/Tool.cs", 22, "MonoImporter:\n", "");
    project.write(
        "Packages/manifest.json",
        r#"{"dependencies": {"com.tool": "file:../Elsewhere", "com.gone": "1.0.0"}}"#,
    );
    let prefab = format!(
        "--- !u!1 &1\nGameObject:\n  m_Name: Icon\n--- !u!114 &2\nMonoBehaviour:\n  m_GameObject: {{fileID: 1}}\n  \
         m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n--- !u!114 &3\nMonoBehaviour:\n  m_GameObject: {{fileID: 1}}\n  \
         m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: \n  m_EditorClassIdentifier: Gone.Assembly::Gone.Widget\n",
        guid(20),
        guid(30)
    );
    project.asset("Assets/Icon.prefab", 1, "PrefabImporter:\n", &yaml(&prefab));
    let database = |project: &Project| {
        let dir = project.root().join("Library/unity-assetdb");
        ["asset-db.bin", "asset-db.cache.bin"].map(|name| fs::read(dir.join(name)).unwrap())
    };
    assert_eq!(project.run(&["bake"]).code, 0);
    let before = database(&project);
    assert!(!project.root().join("Library/unity-assetdb/packages").exists(), "a bake does not build it");
    assert_eq!(resolve(&project, &guid(1), 2), "Icon (MonoBehaviour: Image)");
    let row = project.run(&["resolve", &guid(20), "11500000"]).out;
    assert_eq!(cells(&row)[0][2..], ["Image", "MonoScript", package]);
    assert_eq!(cells(&project.run(&["resolve", &guid(22)]).out)[0][4], "Elsewhere/Tool.cs");
    assert!(project.root().join("Library/unity-assetdb/packages").is_dir());
    fs::remove_dir_all(project.root().join("Library/unity-assetdb/packages")).unwrap();
    assert_eq!(resolve(&project, &guid(20), 11_500_000), "Image (MonoScript)");
    assert_eq!(database(&project), before, "the database does not list packages");
    // A script whose package is not on disk is named by the documents that use it.
    assert_eq!(resolve(&project, &guid(1), 3), "Icon (MonoBehaviour: Widget)");
    assert_eq!(resolve(&project, &guid(30), 11_500_000), "Widget (MonoScript)");
    assert!(resolve(&project, &guid(31), 11_500_000).starts_with("no asset has the GUID"));
}

#[test]
fn built_in_resources_have_proven_names() {
    let project = Project::new();
    let extra = "0000000000000000f000000000000000";
    assert_eq!(resolve(&project, "0000000000000000e000000000000000", 10202), "Cube (Mesh)");
    assert_eq!(resolve(&project, extra, 10905), "UISprite (Sprite)");
    assert_eq!(resolve(&project, extra, 4242), "built-in, unknown name");
    let line = format!(
        "m_Mesh: {{fileID: 10202, guid: 0000000000000000e000000000000000, type: 0}} {{fileID: 4242, guid: {extra}, type: 0}}\n"
    );
    assert_eq!(
        project.pipe(&["annotate"], &line).out,
        "m_Mesh: {Cube (Mesh) built-in} {built-in, unknown name}\n"
    );
}

#[test]
fn references_after_any_key_are_found() {
    let project = Project::new();
    project.asset("Assets/Target.png", 1, "TextureImporter:\n", "");
    let target = guid(1);
    let asset = format!(
        "--- !u!114 &11400000\nMonoBehaviour:\n  sceneGuid: {target}\n  m_AssetGuid: {target}\n  Guid: {target}\n  \
         m_AddressableAssetSettingsGuid: {target}\n  m_TableData:\n  - m_Id: 1\n    m_Localized: {target}\n  wrapped: {{fileID: 2800000, guid:\n      {target}, type: 3}}\n"
    );
    project.asset("Assets/A.asset", 2, "NativeFormatImporter:\n", &yaml(&asset));
    project.asset(
        "Assets/Graph.shadergraph",
        3,
        "ScriptedImporter:\n",
        &format!("{{\"m_FunctionSource\": \"{target}\"}}"),
    );
    project.asset(
        "Assets/Data.json",
        4,
        "TextScriptImporter:\n",
        &format!("{{\"icon\": {{\"guid\": \"{target}\"}}}}"),
    );
    let uses = project.run(&["uses", "Assets/Target.png"]).out;
    let uses: Vec<Vec<&str>> = cells(&uses).iter().map(|row| row[..4].to_vec()).collect();
    assert_eq!(
        uses,
        [
            ["Assets/A.asset", "5", "5", "0"],
            ["Assets/A.asset", "13", "1", "2800000"],
            ["Assets/Data.json", "1", "1", "0"],
            ["Assets/Graph.shadergraph", "1", "1", "0"]
        ]
    );
}

#[test]
fn duplicate_objects_fail_the_bake_with_both_lines() {
    let project = Project::new();
    let clip = |id: i64, name: &str, rate: u32| {
        format!("--- !u!74 &{id}\nAnimationClip:\n  m_Name: {name}\n  m_SampleRate: {rate}\n")
    };
    let main = "--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: Main\n".to_owned();
    let good = yaml(&format!("{main}{}{}", clip(5, "Walk", 30), clip(6, "Walk", 30)));
    project.asset("Assets/Clips.asset", 1, "NativeFormatImporter:\n", &good);
    assert_eq!(project.run(&["bake"]).code, 0, "the same name with another fileID is fine");
    let database = fs::read(project.root().join("Library/unity-assetdb/asset-db.bin")).unwrap();
    project
        .write("Assets/Clips.asset", &yaml(&format!("{main}{}{}", clip(5, "Walk", 30), clip(5, "Walk", 60))));
    for _ in 0..2 {
        let run = project.run(&["bake"]);
        assert_eq!(run.code, 1, "{}", run.err);
        assert!(
            run.err.contains("lines 6 and 10 have the same AnimationClip \"Walk\" with the fileID 5"),
            "{}",
            run.err
        );
        assert!(run.err.contains("unity-duplicate-object"), "{}", run.err);
        assert_eq!(fs::read(project.root().join("Library/unity-assetdb/asset-db.bin")).unwrap(), database);
    }
    // Queries go on with the first.
    assert_eq!(resolve(&project, &guid(1), 5), "Walk (AnimationClip)");
    assert_eq!(project.run(&["bake"]).code, 1);
    project.write("Assets/Clips.asset", &good);
    assert_eq!(project.run(&["bake"]).code, 0);
}

#[test]
fn style_sheets_refer_by_path() {
    let project = Project::new();
    project.asset("Assets/UI/icon one.png", 1, "TextureImporter:\n", "");
    project.asset("Assets/UI/Common.uss", 2, "ScriptedImporter:\n", "");
    let sheet = "@import url(\"Common.uss\");\n.a { background-image: url('/Assets/UI/icon%20one.png'); }\n";
    project.asset("Assets/UI/Main.uss", 3, "ScriptedImporter:\n", sheet);
    let uses = |path: &str| project.run(&["uses", path]).out;
    assert!(uses("Assets/UI/Common.uss").starts_with("Assets/UI/Main.uss\t1\t1\t0\t"));
    assert!(uses("Assets/UI/icon one.png").starts_with("Assets/UI/Main.uss\t2\t1\t0\t"));
    // The target changes without a change of the style sheet.
    let meta = format!("fileFormatVersion: 2\nguid: {}\nTextureImporter:\n", guid(9));
    project.write("Assets/UI/icon one.png.meta", &meta);
    assert!(uses("Assets/UI/icon one.png").starts_with("Assets/UI/Main.uss\t2\t1\t0\t"));
    assert_eq!(project.run(&["uses", &guid(1)]).code, 1);
    let written = |project: &Project| {
        // Later than the clock tick in which a file counts as racy.
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert_eq!(project.run(&["bake"]).code, 0);
        let state = project.root().join("Library/unity-assetdb/asset-db.cache.bin");
        fs::metadata(state).unwrap().modified().unwrap()
    };
    assert_eq!(written(&project), written(&project), "a bake without changes writes nothing");
}

/// The fileIDs are those that a public project refers to.
#[test]
fn meshes_and_clips_of_gltf_files_have_names() {
    let project = Project::new();
    let importer =
        "ScriptedImporter:\n  script: {fileID: 11500000, guid: 715df9372183c47e389bb6e19fbc3b52, type: 3}\n";
    let json = r#"{"asset": {"version": "2.0"}, "meshes": [{"name": "Plane.001"}], "animations": [{"name": "Push"}]}"#;
    project.asset("Assets/Prop.gltf", 1, importer, json);
    let (mesh, clip) = (6_360_135_341_456_839_332, 3_183_994_717_084_848_310);
    assert_eq!(resolve(&project, &guid(1), mesh), "Plane.001 (Mesh)");
    assert_eq!(resolve(&project, &guid(1), clip), "Push (AnimationClip)");
    // Other objects of the file may exist.
    assert!(resolve(&project, &guid(1), 5).contains("objects cannot be read"));
    // The names are those of the file, and an edit is detected.
    project.write("Assets/Prop.gltf", &json.replace("Plane.001", "Wing"));
    assert!(resolve(&project, &guid(1), mesh).contains("objects cannot be read"));
    // Another importer has other identifiers.
    project.asset("Assets/Prop.gltf", 1, "ScriptedImporter:\n", json);
    assert!(resolve(&project, &guid(1), clip).contains("objects cannot be read"));
}

/// The importer of a package makes objects that no file lists; the variant of its prefab names the root.
#[test]
fn overrides_name_objects_of_package_imports() {
    let project = Project::new();
    for (n, file) in [(1, "Assets/Prop.glb"), (3, "Assets/Hero.psb")] {
        project.asset(file, n, "ScriptedImporter:\n", "8BPS");
        let variant = instance(7000, n, 100, "Prop");
        project.asset(&format!("{file}.prefab"), n + 1, "PrefabImporter:\n", &yaml(&variant));
        assert_eq!(resolve(&project, &guid(n + 1), 100 ^ 7000), "Prop (GameObject)");
    }
}

/// No search of prefabs that contain each other visits one twice on its way.
#[test]
fn prefabs_that_contain_each_other_have_no_more_objects() {
    let project = Project::new();
    for (n, other) in [(1, 2), (2, 1)] {
        let instances: String =
            (1..=4).map(|k| instance(k * 1000, other, 100, "Again")).collect::<Vec<_>>().concat();
        project.asset(&format!("Assets/{n}.prefab"), n, "PrefabImporter:\n", &yaml(&instances));
    }
    let user = format!("--- !u!114 &1\nMonoBehaviour:\n  a: {{fileID: 77, guid: {}, type: 3}}\n", guid(1));
    project.asset("Assets/User.asset", 3, "NativeFormatImporter:\n", &yaml(&user));
    let run = project.run(&["broken"]);
    assert!(run.out.contains("missing-object"), "{} {}", run.out, run.err);
    assert!(!run.err.contains("checked in part"), "{}", run.err);
}
