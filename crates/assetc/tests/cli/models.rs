//! Models through the executable: what they depend on, what is left of them, and what goes wrong.

use crate::model::Model;
use crate::project::{Project, picture};
use serde_json::json;

/// A textured square whose numbers are in one file and whose picture is in another.
fn model() -> Model {
    let mut model = Model::new();
    model.push("images", json!({"uri": "wood.png"}));
    model.push("textures", json!({"source": 0}));
    model.push("materials", json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}));
    let positions = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    let uvs = model.floats("VEC2", &[0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    let indices = model.shorts(&[0, 1, 2, 0, 2, 3]);
    let attributes = json!({"POSITION": positions, "TEXCOORD_0": uvs});
    model.mesh(json!([{"attributes": attributes, "indices": indices, "material": 0}]));
    model
}

/// A project with that model, another one beside it, and the picture.
fn project() -> Project {
    let p = Project::new();
    p.write("assets/models/chair.gltf", model().text(Some("chair%20data.bin")))
        .write("assets/models/chair data.bin", &model().data)
        .write("assets/models/wood.png", picture(8, 8, 1))
        .write("assets/box.glb", Model::triangle().glb());
    p
}

const OUTPUTS: [&str; 6] = [
    "assets.hman",
    "box.hmesh",
    "models/chair.hmat",
    "models/chair.hmesh",
    "models/chair/tex_0.ktx2",
    "models/wood.ktx2",
];

fn outputs(p: &Project) -> Vec<String> {
    p.tree("runtime").into_keys().collect()
}

#[test]
fn a_model_is_compiled_checked_shown_and_packed() {
    let p = project();
    p.run(&["--pack", "--verify"]).expect(0);
    assert_eq!(outputs(&p), OUTPUTS);
    p.run(&["check"]).expect(0);
    let info = p.run(&["info"]).expect(0).stdout;
    assert!(info.contains("4 verts, 2 tris, 6 idx@2B"), "{info}");
    assert!(info.contains("1 materials | tex: base 1"), "{info}");
    let packed = p.run(&["pack", "info"]).expect(0).stdout;
    for output in OUTPUTS {
        assert!(packed.contains(output), "{packed}");
    }
    assert_eq!(p.read("runtime/models/wood.ktx2"), p.read("runtime/models/chair/tex_0.ktx2"));
}

#[test]
fn every_file_of_a_model_is_a_dependency() {
    let p = project();
    assert_eq!(p.build(), (3, 0));
    assert_eq!(p.build(), (0, 3));
    let before = p.tree("runtime");

    // A vertex moves.
    let mut moved = model();
    moved.data[..4].copy_from_slice(&(-1.0f32).to_le_bytes());
    p.write("assets/models/chair data.bin", &moved.data);
    assert_eq!(p.build(), (1, 2));
    let after = p.tree("runtime");
    let changed: Vec<&str> = OUTPUTS.into_iter().filter(|path| before[*path] != after[*path]).collect();
    assert_eq!(changed, ["models/chair.hmesh"]);

    // The picture changes: it is a source of its own as well.
    p.write("assets/models/wood.png", picture(8, 8, 2));
    assert_eq!(p.build(), (2, 1));
    let last = p.tree("runtime");
    let changed: Vec<&str> = OUTPUTS.into_iter().filter(|path| last[*path] != after[*path]).collect();
    assert_eq!(changed, ["models/chair/tex_0.ktx2", "models/wood.ktx2"]);
    assert_eq!(p.build(), (0, 3));
}

#[test]
fn an_output_that_is_gone_or_damaged_is_made_again() {
    let p = project();
    p.build();
    let whole = p.tree("runtime");
    for output in OUTPUTS {
        p.remove(&format!("runtime/{output}"));
        p.build();
        assert_eq!(p.tree("runtime"), whole, "{output}");
        p.write(&format!("runtime/{output}"), b"damaged");
        p.build();
        assert_eq!(p.tree("runtime"), whole, "{output}");
    }
}

#[test]
fn a_model_that_is_gone_leaves_nothing() {
    let p = project();
    p.build();
    p.remove("assets/models/chair.gltf");
    assert_eq!(p.build(), (0, 2));
    assert_eq!(outputs(&p), ["assets.hman", "box.hmesh", "models/wood.ktx2"]);
    p.run(&["check"]).expect(0);
    assert!(!p.exists("runtime/models/chair"), "nor an empty directory");
}

#[test]
fn a_model_that_needs_less_leaves_nothing_of_what_it_needed() {
    let p = project();
    p.build();
    let mut bare = model();
    bare.json["meshes"][0]["primitives"][0].as_object_mut().unwrap().remove("material");
    p.write("assets/models/chair.gltf", bare.text(Some("chair%20data.bin")));
    assert_eq!(p.build(), (1, 2));
    assert_eq!(outputs(&p), ["assets.hman", "box.hmesh", "models/chair.hmesh", "models/wood.ktx2"]);
    p.run(&["check"]).expect(0);
}

#[test]
fn a_missing_file_is_named_and_its_arrival_noticed() {
    let p = project();
    p.remove("assets/models/chair data.bin");
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[file-missing]: models/chair.gltf:/buffers/0/uri:"), "{}", ran.stderr);
    assert!(ran.stderr.contains("models/chair data.bin"), "{}", ran.stderr);
    assert!(p.exists("runtime/box.hmesh"), "others are built");
    assert!(!p.exists("runtime/assets.hman"), "but nothing is linked");
    p.write("assets/models/chair data.bin", &model().data);
    assert_eq!(p.build(), (1, 2));
    assert_eq!(outputs(&p), OUTPUTS);
}

#[test]
fn a_broken_model_keeps_its_old_outputs_until_it_is_mended() {
    let p = project();
    p.build();
    let whole = p.tree("runtime");
    let mut broken = model();
    broken.json["accessors"][2]["byteOffset"] = json!(1_000_000);
    p.write("assets/models/chair.gltf", broken.text(Some("chair%20data.bin")));
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[gltf-accessor]: models/chair.gltf:/accessors/2"), "{}", ran.stderr);
    assert_eq!(p.tree("runtime"), whole);
    p.write("assets/models/chair.gltf", model().text(Some("chair%20data.bin")));
    p.build();
    assert_eq!(p.build(), (0, 3));
    assert_eq!(p.tree("runtime"), whole);
}

#[test]
fn warnings_are_said_again_by_later_builds() {
    let mut scenes = Model::triangle();
    scenes.push("scenes", json!({"nodes": []}));
    let p = Project::new();
    p.write("assets/a.glb", scenes.glb());
    for _ in 0..2 {
        let ran = p.run(&[]).expect(0);
        assert!(ran.stderr.contains("warning[gltf-scenes]: a.glb:/scenes:"), "{}", ran.stderr);
    }
}

#[test]
fn settings_rebuild_the_models_they_are_about() {
    let p = project();
    p.build();
    p.write("assetc.yml", "default:\n  rules:\n    - match: \"models/*\"\n      mesh: {lods: 4}\n");
    assert_eq!(p.build(), (1, 2));
    p.write("assetc.yml", "default:\n  animation: {cubic: resample}\n");
    assert_eq!(p.build(), (2, 1), "models obey it, pictures do not");
    p.write("assetc.yml", "default:\n  texture: {compress: false}\n");
    assert_eq!(p.build(), (3, 0));
}

#[test]
fn the_number_of_threads_does_not_show() {
    let build = |jobs: &str| {
        let p = project();
        for n in 0..6 {
            p.write(&format!("assets/models/{n}.gltf"), model().text(Some("chair%20data.bin")));
        }
        p.run(&["-j", jobs]).expect(0);
        p.tree("runtime")
    };
    assert_eq!(build("1"), build("8"));
}

#[cfg(unix)]
#[test]
fn pipes_devices_and_links_are_not_read() {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};
    let p = Project::new();
    p.write("assets/a.glb", Model::triangle().glb());
    p.write("secret.bin", &model().data);
    symlink("/dev/zero", p.path("assets/zero.bin")).unwrap();
    symlink(p.path("secret.bin"), p.path("assets/link.bin")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(p.path("assets/pipe.bin")).status();
    assert!(made.is_ok_and(|status| status.success()));
    for name in ["zero", "link", "pipe"] {
        p.write(&format!("assets/{name}.gltf"), model().text(Some(&format!("{name}.bin"))));
    }
    let mut child = p.command(&["-q"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it waits for what will never come");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let ran = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    for name in ["zero", "link", "pipe"] {
        assert!(
            stderr.lines().any(|line| line.starts_with("error[") && line.contains(&format!("{name}."))),
            "{stderr}"
        );
        assert!(!p.exists(&format!("runtime/{name}.hmesh")));
    }
    assert!(p.exists("runtime/a.hmesh"));
}

#[test]
fn a_model_that_violates_the_specification_is_built_with_a_warning() {
    let p = Project::new();
    let mut model = Model::triangle();
    model.json["accessors"][0].as_object_mut().unwrap().remove("min");
    p.write("assets/a.glb", model.glb());
    let said = p.run(&[]).expect(0).stderr;
    assert!(
        said.contains("warning[gltf-position-bounds]: a.glb:/meshes/0/primitives/0/attributes/POSITION: "),
        "{said}"
    );
    assert!(said.contains("hint: export the model again"), "{said}");
    // What is read is the same as with the bounds.
    let built = p.read("runtime/a.hmesh");
    p.write("assets/a.glb", Model::triangle().glb());
    assert!(!p.run(&[]).expect(0).stderr.contains("warning"));
    assert_eq!(p.read("runtime/a.hmesh"), built);
}

#[test]
fn a_buffer_that_nothing_uses_may_be_absent() {
    let p = Project::new();
    let mut model = Model::triangle();
    model.json["buffers"] =
        json!([{"byteLength": model.data.len()}, {"byteLength": 16, "uri": "absent.bin"}]);
    p.write("assets/a.gltf", model.text(Some("a.bin"))).write("assets/a.bin", &model.data);
    assert!(!p.run(&[]).expect(0).stderr.contains("absent.bin"));
    // Once something uses it, the build says what is missing, and is right again when it comes.
    model.json["bufferViews"][1]["buffer"] = json!(1);
    model.json["bufferViews"][1]["byteOffset"] = json!(0);
    p.write("assets/a.gltf", model.text(Some("a.bin")));
    let said = p.run(&[]).expect(1).stderr;
    assert!(said.contains("error[file-missing]: a.gltf:/buffers/1/uri: "), "{said}");
    p.write("assets/absent.bin", [0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    p.run(&["--verify"]).expect(0);
}
