//! `review`: a branch in Unity's terms.

use crate::project::{Project, guid};
use serde_json::Value;

/// A branch that renames, adds, removes, moves and breaks objects.
fn branch() -> Project {
    let project = Project::sample();
    project.write("Assets/Art.meta", &format!("guid: {}\nfolderAsset: yes\n", guid(60)));
    project.asset("Assets/Red.mat", 6, "NativeFormatImporter:\n", "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: Red\n  m_Colors:\n  - _Color: {r: 1, g: 0, b: 0}\n");
    project.init().branch("work");
    let prefab = format!(
        "%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: Mast\n  m_Layer: 5\n--- !u!212 &101\nSpriteRenderer:\n  \
         m_GameObject: {{fileID: 100}}\n  m_Sprite: {{fileID: 2100000, guid: {}, type: 2}}\n--- !u!1 &200\nGameObject:\n  m_Name: Rope\n",
        guid(6)
    );
    project.write("Assets/Pole.prefab", &prefab);
    project.git(&["mv", "Assets/Art/Flag.png", "Assets/Banner.png"]);
    project.git(&["mv", "Assets/Art/Flag.png.meta", "Assets/Banner.png.meta"]);
    project.remove("Assets/Art/Unused.mat").remove("Assets/Art/Unused.mat.meta");
    project.asset("Assets/New.txt", 7, "TextScriptImporter:\n", "new");
    project.write("Assets/Code.cs", "class Code { int x; }\n");
    let scene = format!(
        "%YAML 1.1\n--- !u!114 &9\nMonoBehaviour:\n  a: {{fileID: 11400000, guid: {}, type: 2}}\n",
        guid(4)
    );
    project.asset("Assets/Broken.unity", 8, "DefaultImporter:\n", &scene);
    project.commit("work");
    project
}

#[test]
fn summarizes_objects_values_and_problems() {
    let run = branch().run(&["review", "main..work"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let expected = "\
Added:
  Assets/Broken.unity
  Assets/New.txt
Removed:
  Assets/Art/Unused.mat
Moved or renamed:
  Assets/Art/Flag.png → Assets/Banner.png
Other files changed:
  Assets/Code.cs
Assets/Pole.prefab:
  added GameObject Rope
  renamed GameObject Mast (was Pole)
    m_Layer: + 5
  changed SpriteRenderer of Mast
    m_Sprite: Banner (Sprite) Assets/Banner.png → Red (Material) Assets/Red.mat
New problems:
";
    assert!(run.out.starts_with(expected), "{}", run.out);
    let problems = &run.out[expected.len()..];
    assert_eq!(problems.lines().count(), 1, "{problems}");
    assert!(problems.contains("error[unity-removed-asset]: Assets/Broken.unity:4:"), "{problems}");
}

#[test]
fn writes_markdown_and_json() {
    let project = branch();
    let markdown = project.run(&["review", "main", "--format", "markdown"]).out;
    assert!(markdown.starts_with("## Unity changes\n\n### 1 new problem\n"), "{markdown}");
    assert!(
        markdown.contains("- renamed **GameObject Mast (was Pole)**\n  - m\\_Layer: + 5\n"),
        "{markdown}"
    );
    let json = project.run(&["review", "main..HEAD", "--json"]).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["moved"][0]["new"], "Assets/Banner.png");
    assert_eq!(json["files"][0]["objects"][1]["oldName"], "Pole");
    assert_eq!(json["problems"][0]["code"], "unity-removed-asset");
    let clean = project.run(&["review", "work..work"]);
    assert_eq!((clean.code, &*clean.out), (0, "no asset changed\n"));
    for range in ["..work", "--all..x", "nowhere..work"] {
        assert_eq!(project.run(&["review", "--", range]).code, 2, "{range}");
    }
}

/// A removed asset is shown by its old path, and one with another GUID is neither added nor removed.
#[test]
fn shows_removed_targets_and_changed_guids() {
    let project = Project::sample();
    let material = "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: x\n";
    project.asset("Assets/Red.mat", 20, "NativeFormatImporter:\n", material);
    project.asset("Assets/Blue.mat", 21, "NativeFormatImporter:\n", material);
    let scene = |n: u128| {
        format!(
            "%YAML 1.1\n--- !u!114 &9\nMonoBehaviour:\n  a: {{fileID: 2100000, guid: {}, type: 2}}\n",
            guid(n)
        )
    };
    project.asset("Assets/Main.unity", 22, "DefaultImporter:\n", &scene(20));
    project.init().branch("work");
    project.remove("Assets/Red.mat").remove("Assets/Red.mat.meta");
    project.write("Assets/Main.unity", &scene(1));
    project.write(
        "Assets/Blue.mat.meta",
        &format!("fileFormatVersion: 2\nguid: {}\nNativeFormatImporter:\n", guid(23)),
    );
    project.commit("work");
    let run = project.run(&["review", "main..work"]);
    let expected = format!(
        "\
Removed:
  Assets/Red.mat
Assets/Blue.mat.meta:
  changed import settings
    guid: {} → {}
Assets/Main.unity:
  changed MonoBehaviour
    a: Assets/Red.mat (removed) → ",
        guid(21),
        guid(23)
    );
    assert!(run.out.starts_with(&expected), "{}", run.out);
}

/// A `.meta` without its file is a problem and no new asset; one of a new file or folder is.
#[test]
fn orphan_meta_is_not_added() {
    let project = Project::sample();
    project.init().branch("work");
    project.write("Assets/Gone.png.meta", &format!("guid: {}\nTextureImporter:\n", guid(40)));
    project.asset("Assets/Sub/Here.txt", 41, "TextScriptImporter:\n", "here");
    project.write("Assets/Sub.meta", &format!("guid: {}\nfolderAsset: yes\nDefaultImporter:\n", guid(42)));
    project.commit("work");
    let run = project.run(&["review", "main..work"]);
    let (summary, problems) = run.out.split_once("New problems:\n").unwrap_or((&run.out, ""));
    assert_eq!(summary, "Added:\n  Assets/Sub\n  Assets/Sub/Here.txt\n", "{}", run.out);
    assert!(problems.contains("unity-orphan-meta"), "{}", run.out);
    assert_eq!(problems.lines().filter(|line| line.contains("]:")).count(), 1, "{}", run.out);
}
