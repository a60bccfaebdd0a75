//! `unused`: roots, unreadable files, assets that code may load.

use crate::project::{Project, cells, guid};

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";

fn paths(project: &Project, args: &[&str]) -> Vec<String> {
    let run = project.run(args);
    assert!(run.code < 2, "{}", run.err);
    cells(&run.out).iter().map(|row| row[0].to_owned()).collect()
}

#[test]
fn unreadable_roots_are_an_error() {
    let project = Project::sample();
    assert_eq!(paths(&project, &["unused"]), ["Assets/Art/Unused.mat"]);
    project.write("Assets/Main.unity", POINTER);
    let run = project.run(&["unused"]);
    assert_eq!((run.code, &*run.out), (2, ""), "{}", run.err);
    assert!(
        run.err.contains("error[unity-unreadable-root]: Assets/Main.unity: the file is a Git LFS pointer"),
        "{}",
        run.err
    );
    assert!(run.err.contains("git lfs pull"), "{}", run.err);
    let forced = paths(&project, &["unused", "--allow-unreadable"]);
    assert_eq!(forced, ["Assets/Art/Flag.png", "Assets/Art/Unused.mat", "Assets/Pole.prefab"]);
    // A prefab that the scene reaches, in binary.
    let project = Project::sample();
    project.write("Assets/Pole.prefab", "\0\0\0\0binary");
    let run = project.run(&["unused"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("Assets/Pole.prefab: the file is in binary serialization"), "{}", run.err);
    // A pointer without references of its own, and one that nothing uses, hide nothing.
    let project = Project::sample();
    project.write("Assets/Art/Flag.png", POINTER).write("Assets/Art/Unused.mat", POINTER);
    assert_eq!(paths(&project, &["unused"]), ["Assets/Art/Unused.mat"]);
}

#[test]
fn disabled_scenes_are_no_roots() {
    let project = Project::sample();
    project.asset("Assets/Off.unity", 41, "DefaultImporter:\n", "%YAML 1.1\n");
    let scenes = |enabled: u8| {
        format!(
            "%YAML 1.1\n--- !u!1045 &1\nEditorBuildSettings:\n  m_Scenes:\n  - enabled: 1\n    path: Assets/Main.unity\n    \
             guid: {}\n  - enabled: {enabled}\n    path: Assets/Off.unity\n    guid: {}\n",
            guid(3),
            guid(41)
        )
    };
    project.write("ProjectSettings/EditorBuildSettings.asset", &scenes(0));
    assert_eq!(paths(&project, &["unused"]), ["Assets/Art/Unused.mat", "Assets/Off.unity"]);
    assert!(project.run(&["unused"]).out.contains("disabled in the build settings"));
    assert_eq!(paths(&project, &["unused", "--all-scenes"]), ["Assets/Art/Unused.mat"]);
    project.write("ProjectSettings/EditorBuildSettings.asset", &scenes(1));
    assert_eq!(paths(&project, &["unused"]), ["Assets/Art/Unused.mat"]);
}

#[test]
fn names_in_code_are_uncertain() {
    let project = Project::sample();
    project.asset("Assets/Loader.cs", 42, "MonoImporter:\n", "class L { string a = \"Art/Unused\"; }\n");
    project.asset(
        "Assets/Other.mat",
        43,
        "NativeFormatImporter:\n",
        "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n",
    );
    let run = project.run(&["unused"]);
    let rows = cells(&run.out);
    assert_eq!(
        rows[0][..4],
        ["Assets/Art/Unused.mat", "Material", "no", "maybe: Assets/Loader.cs:1 has its name as a string"]
    );
    assert_eq!(rows[1][..3], ["Assets/Other.mat", "Material", "yes"]);
    assert!(run.err.contains("2 unused assets, 1 of them may be used"), "{}", run.err);
    let list = project.run(&["unused", "--delete-list"]);
    assert_eq!((list.code, &*list.out), (1, "Assets/Other.mat\nAssets/Other.mat.meta\n"));
    let sized = project.run(&["unused", "--size", "--json"]);
    assert!(
        sized.out.lines().nth(1).unwrap().ends_with("\"certain\":true,\"note\":null,\"bytes\":39}"),
        "{}",
        sized.out
    );
    assert!(sized.err.contains(" bytes)"), "{}", sized.err);
}

/// A GUID in code is no reference, because only the code knows its effect, and it is no reason to delete the asset.
#[test]
fn guids_in_code_are_uncertain() {
    let project = Project::sample();
    assert_eq!(paths(&project, &["unused", "--delete-list"]).len(), 2);
    let unused = project.run(&["guid", "Assets/Art/Unused.mat"]);
    let code = format!("class L {{\n  const string Id = \"{}\";\n}}\n", cells(&unused.out)[0][0]);
    project.asset("Assets/Loader.cs", 42, "MonoImporter:\n", &code);
    let run = project.run(&["unused"]);
    let expected =
        ["Assets/Art/Unused.mat", "Material", "no", "maybe: Assets/Loader.cs:2 has its GUID as a string"];
    assert_eq!(cells(&run.out)[0][..4], expected);
    assert_eq!(project.run(&["unused", "--delete-list"]).out, "");
    assert_eq!(project.run(&["uses", "Assets/Art/Unused.mat"]).out, "");
}

#[test]
fn input_actions_with_a_generated_class_are_used() {
    let project = Project::sample();
    let meta = |flag: u8| format!("ScriptedImporter:\n  generateWrapperCode: {flag}\n");
    project.asset("Assets/Used.inputactions", 44, &meta(1), "{}");
    project.asset("Assets/Unused.inputactions", 45, &meta(0), "{}");
    assert_eq!(paths(&project, &["unused"]), ["Assets/Art/Unused.mat", "Assets/Unused.inputactions"]);
}

#[test]
fn neighbours_of_used_binary_assets_are_uncertain() {
    let project = Project::sample();
    let scene = std::fs::read_to_string(project.root().join("Assets/Main.unity")).unwrap();
    let light = format!(
        "--- !u!157 &4\nLightmapSettings:\n  m_LightingDataAsset: {{fileID: 112000000, guid: {}, type: 2}}\n",
        guid(46)
    );
    project.write("Assets/Main.unity", &(scene + &light));
    project.asset(
        "Assets/Main/LightingData.asset",
        46,
        "NativeFormatImporter:\n  mainObjectFileID: 112000000\n",
        "\0\0\0\0",
    );
    project.asset("Assets/Main/Lightmap-0.exr", 47, "TextureImporter:\n", "");
    let run = project.run(&["unused"]);
    let rows = cells(&run.out);
    assert_eq!(rows[1][0], "Assets/Main/Lightmap-0.exr");
    assert_eq!(rows[1][3], "maybe: the binary asset Assets/Main/LightingData.asset may refer to it");
}
