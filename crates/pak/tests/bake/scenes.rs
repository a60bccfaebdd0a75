//! Baked scenes: the example of the specification, references, geometry, tags and user data; animations.

use crate::project::{Model, Project};
use pak::Pak;
use pak::anim::{Interpolation, Outputs};
use serde_json::json;

#[test]
fn transforms_tags_and_nested_data_round_trip() {
    let project = Project::new();
    project.put(
        "art/s.toml",
        r#"
[scene]

[[scene.ref]]
id = 'EnemySpawn'
rotation = [0.0, 0.0, 0.0, 1.0]
translation = [-1, 0.1, -6.0]
tags = [' Bot ', 'bot', 'Armed']
data.type = 'monster3'
data.z-near = 1.0
data.count = 3000000000
data.list = [1, [true, 'x'], { deep = { er = 0.5 } }]

[[scene.ref]]
rotation = [0, 90, 0]
scale = 2

[[scene.geometry]]
id = 'a'
indices = [2, 0, 1, 1, 3, 2]
vertices = [0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1]
translation = [1.0, 0.10000000149011612, -0.0]
tags = ['nav-mesh']
"#,
    );
    let pak = project.open();
    let scene = pak.read_scene("art/s").unwrap();
    let refs: Vec<_> = scene.refs().collect();
    assert_eq!(refs.len(), 2);
    assert_eq!((refs[0].id(), refs[1].id()), (Some("EnemySpawn"), None));
    assert_eq!(refs[0].translation(), [-1.0, 0.1, -6.0]);
    assert_eq!(refs[0].tags().collect::<Vec<_>>(), ["armed", "bot"]);
    assert!(refs[0].has_tag("BOT") && !refs[0].has_tag("bo"));
    assert_eq!((refs[1].scale(), refs[0].scale()), ([2.0; 3], [1.0; 3]));
    let half = std::f32::consts::FRAC_1_SQRT_2;
    assert!((refs[1].rotation()[1] - half).abs() < 1e-6 && (refs[1].rotation()[3] - half).abs() < 1e-6);
    assert_eq!(refs[0].data("type").unwrap().as_str(), Some("monster3"));
    assert_eq!(refs[0].data("z-near").unwrap().as_f32(), Some(1.0));
    let count = refs[0].data("count").unwrap();
    assert_eq!((count.as_i64(), count.as_i32()), (Some(3_000_000_000), None));
    let list: Vec<_> = refs[0].data("list").unwrap().as_iter().unwrap().collect();
    assert_eq!(list[0].as_i32(), Some(1));
    let inner: Vec<_> = list[1].as_iter().unwrap().collect();
    assert_eq!((inner[0].as_bool(), inner[1].as_str()), (Some(true), Some("x")));
    assert_eq!(list[2].get("deep").unwrap().get("er").unwrap().as_f64(), Some(0.5));
    assert!(refs[0].data("none").is_none() && refs[0].all_data().count() == 4);

    let geometry = scene.geometries().next().unwrap();
    assert_eq!(geometry.index_buf().as_u32(), [2, 0, 1, 1, 3, 2]);
    assert_eq!(geometry.vertices()[3], [1.0, 0.0, 1.0]);
    assert_eq!(geometry.vertex_data().len(), 48);
    assert!(geometry.has_tag("nav-mesh"));
    assert_eq!(geometry.translation()[1], 0.1);
}

#[test]
fn rejects_invalid_geometry() {
    let project = Project::new();
    for (indices, vertices, expected) in [
        (
            "[0, 1, 3]",
            "[0,0,0, 1,0,0, 0,1,0]",
            "indices[2]: index 3 is out of range: the number of vertices is 3",
        ),
        ("[0, 1]", "[0,0,0, 1,0,0, 0,1,0]", "the number of indices is 2, expected a positive multiple of 3"),
        ("[0, 1, 1]", "[0,0,0, 1,0,0, 0]", "the number of coordinates is 7, expected a multiple of 3"),
        ("[0, 1, -1]", "[0,0,0, 1,0,0]", "expected an integer of at least 0, found the integer -1"),
    ] {
        let text = format!("[scene]\n[[scene.geometry]]\nindices = {indices}\nvertices = {vertices}\n");
        project.put("art/s.toml", text);
        let error = project.error();
        assert!(error.contains(expected) && error.contains("art/s.toml:"), "{error}");
    }
}

#[test]
fn supports_seventy_thousand_strings() {
    let project = Project::new();
    let refs: String = (0..70_000).map(|n| format!("[[scene.ref]]\nid = 'r{n}'\n")).collect();
    project.put("art/s.toml", format!("[scene]\n{refs}"));
    let scene = project.open().read_scene("art/s").unwrap();
    assert_eq!(scene.refs().len(), 70_000);
    assert_eq!(scene.refs().last().unwrap().id(), Some("r69999"));
}

#[test]
fn inline_assets_have_ids_but_no_keys() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "art/m.gltf");
    project.put(
        "art/s.toml",
        "[scene]\n[[scene.ref]]\nmesh = { src = 'm.gltf', scale = 2 }\nmaterials = [{ color = '#fff' }]\n\
         [[scene.ref]]\nmesh = 'm.gltf'\nmaterials = [{ color = '#fff' }]\n",
    );
    project.content("none", "['art/s.toml']");
    let pak = project.open();
    assert_eq!(pak.keys().collect::<Vec<_>>(), ["art/s"]);
    let scene = pak.read_scene("art/s").unwrap();
    let refs: Vec<_> = scene.refs().collect();
    assert_ne!(refs[0].mesh(), refs[1].mesh());
    assert_eq!(refs[0].materials(), refs[1].materials());
    assert_eq!(pak.read_mesh_id(refs[0].mesh().unwrap()).unwrap().bounds().max, [2.0, 2.0, 0.0]);
}

/// Returns a model with two animated nodes, of which the second has no name.
fn animated() -> Model {
    let mut model = Model::new();
    model.node(json!({"name": "arm"}), None);
    model.node(json!({}), None);
    let times = model.floats("SCALAR", &[0.0, 0.0004, 0.0008, 2.5]);
    let places = model.floats("VEC3", &[0.0; 12]);
    let short = model.floats("SCALAR", &[0.25]);
    // A quantized rotation: normalized 16-bit integers.
    let turns = model.accessor("VEC4", 5122, 1, &[0, 0, 0, 0, 0, 0, 0xff, 0x7f]);
    model.json["accessors"][turns]["normalized"] = json!(true);
    model.json["animations"] = json!([
        {"name": "idle", "channels": [
            {"sampler": 0, "target": {"node": 0, "path": "translation"}},
            {"sampler": 0, "target": {"node": 1, "path": "translation"}},
            {"sampler": 1, "target": {"node": 1, "path": "rotation"}}],
         "samplers": [{"input": times, "output": places, "interpolation": "STEP"}, {"input": short, "output": turns}]},
        {"name": "walk", "channels": [{"sampler": 0, "target": {"node": 0, "path": "scale"}}],
         "samplers": [{"input": times, "output": places}]},
    ]);
    model
}

#[test]
fn animations_keep_keyframes_targets_and_quantized_rotations() {
    let project = Project::new();
    animated().write(&project, "art/a.gltf");
    project.put("art/idle.toml", "[animation]\nsrc = 'a.gltf'\n");
    project.put("art/walk.toml", "[animation]\nsrc = 'a.gltf'\nname = 'walk'\n");
    project.put("art/bare.toml", "[animation]\nsrc = 'a.gltf'\nexclude = ['arm']\n");
    project.content("none", "['art/*.toml']");
    let pak = project.open();
    let idle = pak.read_animation("art/idle").unwrap();
    let targets: Vec<_> = idle.channels().iter().map(|c| c.target()).collect();
    assert_eq!(targets, ["arm", "node 1", "node 1"]);
    assert_eq!(idle.channels()[0].inputs(), [0.0, 0.0004, 0.0008, 2.5]);
    assert_eq!(idle.channels()[0].interpolation(), Interpolation::Step);
    assert_eq!(*idle.channels()[2].outputs(), Outputs::Rotations(vec![[0.0, 0.0, 0.0, 1.0]]));
    assert_eq!(pak.read_animation("art/walk").unwrap().channels().len(), 1);
    assert_eq!(pak.read_animation("art/bare").unwrap().channels().len(), 2);
    project.put("art/walk.toml", "[animation]\nsrc = 'a.gltf'\nname = 'run'\n");
    assert!(
        project.error().contains(
            "the file has no animation \"run\" (the animations of the file are \"idle\", \"walk\")"
        )
    );
}

#[test]
fn negative_keyframe_times_do_not_panic() {
    let project = Project::new();
    let mut model = animated();
    let times = model.floats("SCALAR", &[-1.0, -0.5, 0.0, 1.0]);
    model.json["animations"][0]["samplers"][0]["input"] = json!(times);
    model.write(&project, "art/a.gltf");
    project.put("art/idle.toml", "[animation]\nsrc = 'a.gltf'\n");
    project.content("none", "['art/*.toml']");
    let animation = project.open().read_animation("art/idle").unwrap();
    assert_eq!(animation.channels()[0].inputs(), [-1.0, -0.5, 0.0, 1.0]);
}
