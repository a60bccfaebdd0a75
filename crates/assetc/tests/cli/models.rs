//! Models with the executable: dependencies, removal of outputs, and errors.

use crate::model::Model;
use crate::project::{Project, test_image};
use serde_json::json;

/// A textured quad whose buffer is in one file and whose image is in another.
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

/// A project with that model, another one beside it, and the image.
fn project() -> Project {
    let p = Project::new();
    p.write("assets/models/chair.gltf", model().text(Some("chair%20data.bin")))
        .write("assets/models/chair data.bin", &model().data)
        .write("assets/models/wood.png", test_image(8, 8, 1))
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

/// The code and message of each warning about the first asset of a build.
fn warnings(p: &Project) -> Vec<String> {
    let ran = p.run(&["--json"]).expect(0).json();
    let text = |warning: &serde_json::Value, key: &str| warning[key].as_str().unwrap().to_owned();
    let warnings = ran["assets"][0]["warnings"].as_array().unwrap();
    warnings.iter().map(|w| format!("{}: {}", text(w, "code"), text(w, "message"))).collect()
}

#[test]
fn losses_are_named_once_per_model_also_from_the_cache() {
    let p = Project::new();
    let mut lossy = Model::triangle();
    lossy.json["nodes"][0]["camera"] = json!(0);
    lossy.json["nodes"][0]["extras"] = json!({"tag": "door"});
    lossy.push("nodes", json!({"extensions": {"KHR_lights_punctual": {"light": 0}}}));
    lossy.push("skins", json!({"joints": [1]}));
    lossy.push("skins", json!({"joints": [1]}));
    let heat = lossy.floats("VEC2", &[0.0; 6]);
    lossy.json["meshes"][0]["primitives"][0]["attributes"]["_HEAT"] = json!(heat);
    let edge = lossy.floats("VEC3", &[0.0; 6]);
    let primitives = lossy.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    primitives.push(json!({"attributes": {"POSITION": edge}}));
    for _ in 0..3 {
        let material = lossy.push("materials", json!({"extensions": {"KHR_materials_sheen": {}}}));
        let mut primitive = lossy.json["meshes"][0]["primitives"][0].clone();
        primitive["material"] = json!(material);
        lossy.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(primitive);
    }
    p.write("assets/lossy.glb", lossy.glb());
    let found = warnings(&p);
    for part in [
        "lights (KHR_lights_punctual)",
        "cameras",
        "extras (nodes)",
        "_HEAT",
        "gltf-too-few-vertices",
        "3 materials use extensions that are not supported and are ignored: KHR_materials_sheen (3)",
        "skin after the first is used by no drawn mesh",
    ] {
        assert_eq!(found.iter().filter(|warning| warning.contains(part)).count(), 1, "{part}: {found:#?}");
    }
    let codes: std::collections::BTreeSet<&str> =
        found.iter().map(|p| p.split(':').next().unwrap()).collect();
    assert_eq!(codes.len(), found.len(), "one for each kind of loss: {found:#?}");
    // The same from the journal, and from the cache.
    assert_eq!(warnings(&p), found);
    std::fs::remove_dir_all(p.path("runtime")).unwrap();
    assert_eq!(warnings(&p), found);
}

/// A sphere of so many segments and rings without normals, as a GLB.
fn sphere_without_normals(segments: u16, rings: u16) -> Vec<u8> {
    let mut model = Model::new();
    let mut positions = Vec::new();
    for ring in 0..=rings {
        let angle = std::f32::consts::PI * f32::from(ring) / f32::from(rings);
        let (y, r) = (libm::sinf(angle), libm::cosf(angle));
        for segment in 0..segments {
            let angle = std::f32::consts::TAU * f32::from(segment) / f32::from(segments);
            positions.extend([libm::cosf(angle) * y, r, libm::sinf(angle) * y]);
        }
    }
    let at = |ring: u16, segment: u16| ring * segments + segment % segments;
    let quads = (0..rings).flat_map(|ring| (0..segments).map(move |segment| (ring, segment)));
    let indices: Vec<u16> = quads
        .flat_map(|(r, s)| {
            [at(r, s), at(r, s + 1), at(r + 1, s), at(r, s + 1), at(r + 1, s + 1), at(r + 1, s)]
        })
        .collect();
    let positions = model.floats("VEC3", &positions);
    let indices = model.shorts(&indices);
    model.mesh(json!([{"attributes": {"POSITION": positions}, "indices": indices}]));
    model.glb()
}

#[test]
fn lods_of_a_model_without_normals_reach_their_targets_and_stalled_ones_are_reported() {
    let p = Project::new();
    p.write("assets/ball.glb", sphere_without_normals(32, 16))
        .write("assets/box.glb", Model::triangle().glb());
    let ran = p.run(&["-v"]).expect(0);
    let note = "LOD 1: simplification stalled for 1 of 1 submesh, and the previous LOD is used there";
    assert_eq!(ran.stderr.matches(note).count(), 1, "{}", ran.stderr);
    let info = p.run(&["info"]).expect(0).stdout;
    assert!(info.contains("2 LODs (stalled: LOD 1 for 1 submesh, LOD 2 for 1 submesh)"), "{info}");
    let json = p.run(&["info", "--json"]).expect(0).json();
    let files = json["files"].as_array().unwrap();
    let facts = |path: &str| &files.iter().find(|f| f["path"] == path).unwrap()["facts"];
    let (ball, triangles) = (facts("ball.hmesh"), 32 * 16 * 2);
    assert_eq!((&ball["stalled_lods"], &facts("box.hmesh")["stalled_lods"]), (&0.into(), &2.into()));
    // A half and a quarter of the triangles, of which those at the poles are degenerate.
    let indices = ball["lod_indices"].as_u64().unwrap();
    assert!(indices <= triangles * 3 * 3 / 4 && indices > triangles, "{indices}");
}

#[test]
fn specular_glossiness_textures_become_metallic_roughness() {
    let p = Project::new();
    let mut glossy = model();
    glossy.push("images", json!({"uri": "shine.png"}));
    glossy.push("textures", json!({"source": 1}));
    glossy.json["materials"][0] = json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": {
        "diffuseTexture": {"index": 0}, "specularGlossinessTexture": {"index": 1},
    }}});
    p.write("assets/chair.gltf", glossy.text(Some("chair.bin")))
        .write("assets/chair.bin", &glossy.data)
        .write("assets/wood.png", test_image(8, 8, 1))
        .write("assets/shine.png", test_image(4, 4, 2));
    let ran = p.run(&[]).expect(0);
    assert!(ran.stderr.contains("gltf-specular-glossiness"), "{}", ran.stderr);
    let textures: Vec<String> = outputs(&p).into_iter().filter(|path| path.starts_with("chair/")).collect();
    assert_eq!(textures, ["chair/tex_2.ktx2", "chair/tex_3.ktx2"]);
    p.run(&["check"]).expect(0);
    // Both images are inputs of the model.
    p.write("assets/shine.png", test_image(4, 4, 3));
    assert_eq!(p.build(), (2, 1));
}

#[test]
fn model_is_compiled_checked_and_packed() {
    let p = project();
    p.run(&["--pack", "--verify"]).expect(0);
    assert_eq!(outputs(&p), OUTPUTS);
    p.run(&["check"]).expect(0);
    let info = p.run(&["info"]).expect(0).stdout;
    assert!(info.contains("4 vertices, 2 triangles, 6 indices of 2 B"), "{info}");
    assert!(info.contains("1 material | textures: base 1"), "{info}");
    let packed = p.run(&["pack", "info"]).expect(0).stdout;
    for output in OUTPUTS {
        assert!(packed.contains(output), "{packed}");
    }
    assert_eq!(p.read("runtime/models/wood.ktx2"), p.read("runtime/models/chair/tex_0.ktx2"));
}

#[test]
fn rebuilds_when_any_file_of_a_model_changes() {
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

    // The image changes: it is a source of its own as well.
    p.write("assets/models/wood.png", test_image(8, 8, 2));
    assert_eq!(p.build(), (2, 1));
    let last = p.tree("runtime");
    let changed: Vec<&str> = OUTPUTS.into_iter().filter(|path| last[*path] != after[*path]).collect();
    assert_eq!(changed, ["models/chair/tex_0.ktx2", "models/wood.ktx2"]);
    assert_eq!(p.build(), (0, 3));
}

#[test]
fn rebuilds_missing_and_damaged_outputs() {
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
fn removed_model_removes_its_outputs() {
    let p = project();
    p.build();
    p.remove("assets/models/chair.gltf");
    assert_eq!(p.build(), (0, 2));
    assert_eq!(outputs(&p), ["assets.hman", "box.hmesh", "models/wood.ktx2"]);
    p.run(&["check"]).expect(0);
    assert!(!p.exists("runtime/models/chair"), "the empty directory is removed, too");
}

#[test]
fn removes_outputs_that_a_model_no_longer_has() {
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
fn rebuilds_when_missing_file_appears() {
    let p = project();
    p.remove("assets/models/chair data.bin");
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[file-missing]: models/chair.gltf:/buffers/0/uri:"), "{}", ran.stderr);
    assert!(ran.stderr.contains("models/chair data.bin"), "{}", ran.stderr);
    assert!(p.exists("runtime/box.hmesh"), "other sources are built");
    assert!(p.exists("runtime/assets.hman"), "the manifest lists the other sources");
    p.write("assets/models/chair data.bin", &model().data);
    assert_eq!(p.build(), (1, 2));
    assert_eq!(outputs(&p), OUTPUTS);
}

#[test]
fn failed_model_keeps_old_outputs_until_fixed() {
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
fn later_builds_repeat_warnings() {
    let mut scenes = Model::triangle();
    scenes.push("scenes", json!({"nodes": []}));
    let p = Project::new();
    p.write("assets/a.glb", scenes.glb());
    for args in [&[][..], &["-v"]] {
        let ran = p.run(args).expect(0);
        assert!(ran.stderr.contains("warning[gltf-scenes]: a.glb:/scenes:"), "{}", ran.stderr);
    }
}

#[test]
fn setting_change_rebuilds_affected_models() {
    let p = project();
    p.build();
    p.write("assetc.yml", "default:\n  rules:\n    - match: \"models/*\"\n      mesh: {lods: 4}\n");
    assert_eq!(p.build(), (1, 2));
    p.write("assetc.yml", "default:\n  animation: {cubic: resample}\n");
    assert_eq!(p.build(), (2, 1), "the setting affects models only");
    p.write("assetc.yml", "default:\n  texture: {compress: false}\n");
    assert_eq!(p.build(), (3, 0));
}

#[test]
fn model_bytes_do_not_depend_on_threads() {
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
fn does_not_read_pipes_devices_and_outside_links() {
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
            panic!("the build blocks on a special file");
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
fn specification_violation_is_a_warning() {
    let p = Project::new();
    let mut model = Model::triangle();
    model.json["accessors"][0].as_object_mut().unwrap().remove("min");
    p.write("assets/a.glb", model.glb());
    let stderr = p.run(&[]).expect(0).stderr;
    assert!(
        stderr.contains("warning[gltf-position-bounds]: a.glb:/meshes/0/primitives/0/attributes/POSITION: "),
        "{stderr}"
    );
    assert!(stderr.contains("hint: export the model again"), "{stderr}");
    // The output equals that of a model with bounds.
    let built = p.read("runtime/a.hmesh");
    p.write("assets/a.glb", Model::triangle().glb());
    assert!(!p.run(&[]).expect(0).stderr.contains("warning"));
    assert_eq!(p.read("runtime/a.hmesh"), built);
}

#[test]
fn unused_buffer_may_be_missing() {
    let p = Project::new();
    let mut model = Model::triangle();
    model.json["buffers"] =
        json!([{"byteLength": model.data.len()}, {"byteLength": 16, "uri": "absent.bin"}]);
    p.write("assets/a.gltf", model.text(Some("a.bin"))).write("assets/a.bin", &model.data);
    assert!(!p.run(&[]).expect(0).stderr.contains("absent.bin"));
    // Once an accessor uses the buffer, it is an error until the file exists.
    model.json["bufferViews"][1]["buffer"] = json!(1);
    model.json["bufferViews"][1]["byteOffset"] = json!(0);
    p.write("assets/a.gltf", model.text(Some("a.bin")));
    let stderr = p.run(&[]).expect(1).stderr;
    assert!(stderr.contains("error[file-missing]: a.gltf:/buffers/1/uri: "), "{stderr}");
    p.write("assets/absent.bin", [0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    p.run(&["--verify"]).expect(0);
}
