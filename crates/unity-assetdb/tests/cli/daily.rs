//! Arguments as people type them, recursive queries, `why`, `list --type`, annotated diffs, the JSON Schema of results.

use crate::json_schema;
use crate::project::{Project, cells, guid};
use serde_json::Value;
use std::process::Command;

#[test]
fn assets_are_named_in_every_way() {
    let project = Project::sample();
    let expected = project.run(&["uses", "Assets/Art/Flag.png"]).out;
    assert!(!expected.is_empty());
    let reference = format!("{{fileID: 21300000, guid: {}, type: 3}}", guid(1));
    let hyphens = format!("{}-{}", &guid(1)[..8], &guid(1)[8..]);
    for asset in [
        "Flag",
        "flag",
        "Art/Flag.png",
        &guid(1),
        &hyphens,
        &reference,
        "Assets/Pole.prefab:8",
        "Pole.prefab:8",
    ] {
        let run = project.run(&["uses", asset]);
        assert_eq!((run.code, &run.out), (0, &expected), "{asset}: {}", run.err);
    }
    let resolved = project.run(&["resolve", &reference]);
    assert_eq!(resolved.out, project.run(&["resolve", &guid(1), "21300000"]).out);
    assert_eq!(project.run(&["resolve", "Assets/Pole.prefab:8"]).out, resolved.out);
    assert_eq!(project.run(&["guid", "Flag"]).out, project.run(&["path", &guid(1)]).out);
    // The whole texture, or one fileID of it.
    assert_eq!(project.run(&["uses", &format!("{{fileID: 2800000, guid: {}, type: 3}}", guid(1))]).code, 1);
    for (missing, suggestion) in [
        ("Flog", "did you mean: Flag"),
        ("Assets/Pole.prefab:1", "no reference found on line 1 of Assets/Pole.prefab"),
        ("Assets/None.prefab:1", "no asset found"),
        ("Assets/Nothing", "no asset found"),
    ] {
        let run = project.run(&["uses", missing]);
        assert_eq!(run.code, 1, "{missing}");
        assert!(run.err.contains(suggestion), "{missing}: {}", run.err);
    }
}

/// Assets of one type and one name: neither keeps the name, and people still type it.
#[test]
fn contested_names_list_their_candidates() {
    let project = Project::sample();
    let text = "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: Wood\n";
    project.asset("Assets/New/Wood.mat", 10, "NativeFormatImporter:\n", text);
    project.asset("Assets/Old/Wood.mat", 11, "NativeFormatImporter:\n", text);
    for name in ["Wood", "wood", "Wood.mat", "WOOD.MAT"] {
        let run = project.run(&["uses", name]);
        assert_eq!(run.code, 1, "{name}: {}", run.err);
        let paths: Vec<_> = cells(&run.out).iter().map(|row| row[4].to_owned()).collect();
        assert_eq!(paths, ["Assets/New/Wood.mat", "Assets/Old/Wood.mat"], "{name}: {}", run.err);
    }
    assert_eq!(project.run(&["guid", "Wood^Old"]).code, 0);
    // The name of a file, where only one has it.
    let run = project.run(&["guid", "Pole.prefab"]);
    assert!(run.code == 0 && run.out.contains("Assets/Pole.prefab"), "{}{}", run.out, run.err);
    for missing in ["Woo", "Wood.ma", "Wood.jpg", ".mat", "^", "Wood^"] {
        assert_eq!(project.run(&["guid", missing]).out, "", "{missing}");
    }
}

#[test]
fn ambiguous_names_list_their_candidates() {
    let project = Project::sample();
    project.asset(
        "Assets/Flag.mat",
        10,
        "NativeFormatImporter:\n",
        "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: Flag\n",
    );
    let run = project.run(&["uses", "Flag"]);
    assert_eq!(run.code, 1);
    let paths: Vec<_> = cells(&run.out).iter().map(|row| row[4].to_owned()).collect();
    assert!(
        paths.contains(&"Assets/Flag.mat".to_owned()) && paths.contains(&"Assets/Art/Flag.png".to_owned()),
        "{}",
        run.out
    );
    assert!(run.err.contains("objects are named Flag"), "{}", run.err);
}

#[test]
fn folders_stand_for_their_assets() {
    let project = Project::sample();
    project.write("Assets/Art.meta", &format!("guid: {}\nfolderAsset: yes\n", guid(60)));
    for folder in ["Assets/Art", "Assets/Art/", "Art"] {
        let run = project.run(&["uses", folder]);
        assert_eq!(
            (run.code, &*run.out),
            (0, "Assets/Pole.prefab\t8\t1\t21300000\tFlag\n"),
            "{folder}: {}",
            run.err
        );
    }
    let deps = project.run(&["deps", "Assets"]);
    assert_eq!(cells(&deps.out).len(), 3, "{}", deps.out);
}

#[test]
fn recursive_queries_have_depths_and_sizes() {
    let project = Project::sample();
    let uses = project.run(&["uses", "Flag", "--recursive"]);
    assert_eq!(
        uses.out,
        "Assets/Pole.prefab\tPrefab\t1\tAssets/Art/Flag.png\nAssets/Main.unity\tSceneAsset\t2\tAssets/Pole.prefab\nProjectSettings/EditorBuildSettings.asset\tDefaultAsset\t3\tAssets/Main.unity\n"
    );
    project.write("Assets/Art/Flag.png", "12345");
    let deps = project.run(&["deps", "Main", "--recursive", "--size"]);
    let rows = cells(&deps.out);
    assert_eq!(rows[1], ["Assets/Art/Flag.png", "Texture2D", "2", "Assets/Pole.prefab", "5"]);
    assert!(deps.err.starts_with("2 assets, ") && deps.err.contains(" bytes of Main itself"), "{}", deps.err);
    assert_eq!(project.run(&["uses", "-r", "Assets/Art/Unused.mat"]).code, 1);
}

#[test]
fn why_shows_the_shortest_chain_from_a_root() {
    let project = Project::sample();
    let why = project.run(&["why", "Flag"]);
    assert_eq!(why.code, 0, "{}", why.err);
    assert_eq!(
        why.out,
        "ProjectSettings/EditorBuildSettings.asset\tDefaultAsset\t7\tno\tproject settings\nAssets/Main.unity\tSceneAsset\t6\tno\t\nAssets/Pole.prefab\tPrefab\t8\tno\t\nAssets/Art/Flag.png\tTexture2D\t\tno\t\n"
    );
    let none = project.run(&["why", "Assets/Art/Unused.mat"]);
    assert_eq!((none.code, &*none.out), (1, ""));
    assert!(none.err.contains("no root of the build reaches Assets/Art/Unused.mat"), "{}", none.err);
    let root = project.run(&["why", "Assets/Code.cs"]);
    assert_eq!(root.out, "Assets/Code.cs\tMonoScript\t\tno\tcode\n");
    // A shorter chain wins.
    project.asset("Assets/Resources/Direct.prefab", 30, "PrefabImporter:\n", &format!("%YAML 1.1\n--- !u!212 &1\nSpriteRenderer:\n  m_Sprite: {{fileID: 21300000, guid: {}, type: 3}}\n", guid(1)));
    assert!(
        project
            .run(&["why", "Flag"])
            .out
            .starts_with("Assets/Resources/Direct.prefab\tPrefab\t4\tno\tfolder Resources\n")
    );
}

#[test]
fn list_finds_sub_assets_and_suggests_types() {
    let project = Project::sample();
    let sprites = project.run(&["list", "--type", "Sprite"]);
    assert_eq!(sprites.out, format!("{}\t21300000\tFlag\tSprite\tAssets/Art/Flag.png\n", guid(1)));
    assert_eq!(project.run(&["list", "--type", "213"]).out, sprites.out);
    let unknown = project.run(&["list", "--type", "Sprit"]);
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.err.contains("no type is named Sprit") && unknown.err.contains("did you mean: Sprite"),
        "{}",
        unknown.err
    );
    let none = project.run(&["list", "--type", "Mesh"]);
    assert!(none.code == 1 && none.err.contains("no asset has the type Mesh"), "{}", none.err);
}

/// The script of `TMP_FontAsset`, whose package is not on disk, is in the table of known scripts.
#[test]
fn types_of_known_scripts_are_named_like_those_of_the_project() {
    let project = Project::sample();
    let text = "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  \
        m_Script: {fileID: 11500000, guid: 71c1514a6bd24e1e882cebbe1904ce04, type: 3}\n  m_Name: Sans\n";
    project.asset("Assets/Sans.asset", 10, "NativeFormatImporter:\n", text);
    for command in
        [&["guid", "Sans"][..], &["resolve", "Sans"], &["list"], &["list", "--type", "tmp_fontasset"]]
    {
        let run = project.run(command);
        let row = run.out.lines().find(|line| line.contains("Sans")).unwrap_or_default();
        assert!(row.split('\t').any(|cell| cell == "TMP_FontAsset"), "{command:?}: {}{}", run.out, run.err);
    }
    let all = project.run(&["list", "--type", "Script:71c1514a6bd24e1e882cebbe1904ce04"]);
    assert_eq!(all.out, project.run(&["list", "--type", "TMP_FontAsset"]).out);
    assert!(project.run(&["list", "--type", "TMP_FontAset"]).err.contains("did you mean: TMP_FontAsset"));
    let unknown = "0f0e0d0c0b0a09080706050403020100";
    project.asset(
        "Assets/Other.asset",
        11,
        "NativeFormatImporter:\n",
        &text.replace("71c1514a6bd24e1e882cebbe1904ce04", unknown),
    );
    let rows = project.run(&["list", "--type", &format!("Script:{unknown}")]).out;
    assert_eq!(rows.matches("Assets/Other.asset").count(), 1, "{rows}");
}

#[test]
fn resolve_follows_the_lookup_rules() {
    let project = Project::sample();
    project.asset("Assets/Plain.png", 11, "TextureImporter:\n  textureType: 0\n", "");
    let name = |asset: u128, id: &str| {
        let run = project.run(&["resolve", &guid(asset), id]);
        cells(&run.out).first().map(|row| format!("{} {}", row[1], row[3])).unwrap_or_default()
    };
    assert_eq!(name(1, "21300000"), "21300000 Sprite", "1. the sub-asset with exactly this fileID");
    assert_eq!(name(4, "2100000"), "2100000 Material", "2. the canonical fileID of the type of the asset");
    assert_eq!(
        name(11, "21300000"),
        "2800000 Texture2D",
        "3. the texture for the fileID of a sprite that it does not have"
    );
    assert_eq!(name(4, "21300000"), "", "3. holds for textures only");
}

#[test]
fn annotate_joins_wrapped_references() {
    let project = Project::sample();
    let text = format!(
        "-  m_Sprite: {{fileID: 21300000, guid: {0},\n-    type: 3}}\n+  m_Sprite: {{fileID: 21300000,\n+    guid: {0}, type: 3}}\n  a: {{fileID: 101, guid: {1},\n    type: 3}}\n",
        guid(1),
        guid(2)
    );
    let run = project.pipe(&["annotate"], &text);
    assert_eq!(project.pipe(&["annotate", "-"], &text).out, run.out, "the usual name of standard input");
    let flag = "m_Sprite: {Flag (Sprite) Assets/Art/Flag.png}";
    assert_eq!(run.out, format!("-  {flag}\n+  {flag}\n  a: {{Pole (SpriteRenderer) Assets/Pole.prefab}}\n"));
}

/// The two lines of configuration in the documentation.
#[test]
fn git_shows_names_in_diffs() {
    let project = Project::sample();
    project.write(".gitattributes", "*.prefab diff=unity\n");
    project.init();
    let text = std::fs::read_to_string(project.root().join("Assets/Pole.prefab")).unwrap();
    project.write("Assets/Pole.prefab", &text.replace("21300000", "2800000"));
    let exe = env!("CARGO_BIN_EXE_unity-assetdb");
    let diff = Command::new("git")
        .args(["-c", &format!("diff.unity.textconv='{exe}' annotate"), "diff"])
        .current_dir(project.root())
        .output()
        .unwrap();
    let diff = String::from_utf8(diff.stdout).unwrap();
    assert!(diff.contains("-  m_Sprite: {Flag (Sprite) Assets/Art/Flag.png}\n+  m_Sprite: {Flag (Texture2D) Assets/Art/Flag.png}\n"), "{diff}");
}

/// Every row of every query is valid under the published schema.
#[test]
fn json_matches_the_published_schema() {
    let project = Project::sample();
    project.write("Packages/manifest.json", "{\"dependencies\": {\"com.far\": \"1.0\"}}");
    let text =
        format!("--- !u!114 &11400000\nMonoBehaviour:\n  a: {{fileID: 1, guid: {}, type: 2}}\n", guid(98));
    project.asset("Assets/Holes.asset", 50, "NativeFormatImporter:\n", &text);
    project.init();
    project
        .write("Assets/Pole.prefab", "%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: Mast\n")
        .commit("rename");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/unity-assetdb.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let main = guid(2);
    let queries: [(&str, &[&str]); 14] = [
        ("asset", &["guid", "Flag"]),
        ("object", &["resolve", &main]),
        ("object", &["find", "*"]),
        ("asset", &["list"]),
        ("object", &["list", "--type", "Sprite"]),
        ("use", &["uses", &main]),
        ("reached", &["uses", "--recursive", &main]),
        ("dependency", &["deps", "Main"]),
        ("reached", &["deps", "--recursive", "--size", "Main"]),
        ("step", &["why", "Main"]),
        ("unused", &["unused", "--size"]),
        ("broken", &["broken"]),
        ("diagnostic", &["check"]),
        ("review", &["review", "HEAD~1..HEAD"]),
    ];
    for (definition, args) in queries {
        let run = project.run(&[args, &["--json"]].concat());
        assert!(run.code < 2 && !run.out.is_empty(), "{args:?}: {}", run.err);
        let mut schema = schema.clone();
        schema["$ref"] = format!("#/$defs/{definition}").into();
        for line in run.out.lines() {
            json_schema::assert_valid(&schema, &serde_json::from_str(line).unwrap());
        }
    }
}
