//! FBX models with the executable: compiled with the feature `fbx`, and a warning without it.

use crate::project::Project;

const RIG: &[u8] = include_bytes!("../../../import/tests/data/fbx/rig.fbx");

fn project() -> Project {
    let project = Project::new();
    project.write("assets/rig.FBX", RIG);
    project
}

#[cfg(feature = "fbx")]
#[test]
fn fbx_compiles_mesh_materials_and_animation() {
    let p = project();
    assert_eq!(p.build(), (1, 0));
    let files: Vec<String> = p.tree("runtime").into_keys().collect();
    assert_eq!(files, ["assets.hman", "rig.hanim", "rig.hmat", "rig.hmesh"]);
    p.run(&["check"]).expect(0);
    let info = p.run(&["info", "--json"]).expect(0).stdout;
    assert!(info.contains("rig.hmesh"), "{info}");
    assert_eq!(p.build(), (0, 1));
    p.write("assets/rig.FBX", &RIG[..RIG.len() / 2]);
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[fbx-") && ran.stderr.contains("rig.FBX"), "{}", ran.stderr);
}

#[cfg(not(feature = "fbx"))]
#[test]
fn without_fbx_feature_warns_and_skips() {
    let p = project();
    let ran = p.run(&[]).expect(0);
    assert!(ran.stdout.contains("0 assets: 0 built, 0 cached, 0 failed"), "{}", ran.stdout);
    assert!(ran.stderr.contains("warning[fbx-feature]: rig.FBX"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--features fbx"), "{}", ran.stderr);
    assert_eq!(p.tree("runtime").into_keys().filter(|file| file.starts_with("rig")).count(), 0);
    // Every build repeats the warning.
    let ran = p.run(&[]).expect(0);
    assert!(ran.stderr.contains("warning[fbx-feature]"), "{}", ran.stderr);
    let ran = p.run(&["explain", "rig.FBX"]).expect(2);
    assert!(ran.stderr.contains("error[not-a-source]: rig.FBX"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--features fbx"), "{}", ran.stderr);
    // A model that was exported from the FBX has no conflict with it.
    p.write("assets/rig.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    let ran = p.run(&["--json"]).expect(0).json();
    assert_eq!((&ran["built"], &ran["problems"][0]["code"]), (&1.into(), &"fbx-feature".into()));
}
