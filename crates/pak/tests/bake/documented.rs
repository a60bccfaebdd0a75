//! The examples of the specification of `pak` 0.7, verbatim.

use crate::project::{Model, Project};
use pak::Pak;
use serde_json::json;

const CONTENT: &str = "
[content]
compression = 'snap'

[[content.group]]
assets = [
    'bitmap/**/*.png',
    'font/**/*.toml',
    'mesh/**/*.toml',
    'sound/**/*.ogg',
    'music/*.mp3',
    'ui/*.png',
]
";

#[test]
fn specification_examples_bake() {
    let project = Project::new();
    project.put("pak.toml", CONTENT);
    project.png("bitmap/deep/er/a.png", 1, 3, &[1, 2, 3]);
    project.png("ui/b.png", 1, 1, &[4]);
    project.png("font/letters.png", 1, 4, &[1, 2, 3, 4]);
    project.put("font/blocky-letters.fon", "page id=0 file=\"letters.png\"\n");
    project.put("font/f.toml", "[bitmap-font]\nsrc = 'blocky-letters.fon'\n");
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "mesh/some_file.gltf");
    project.put("mesh/m.toml", "[mesh]\nsrc = 'some_file.gltf'\n");
    project.put("mesh/some_file.toml", "[mesh]\n");
    project.put("sound/x/s.ogg", "sound");
    project.put("music/m.mp3", "music");
    let pak = project.open();
    let keys = [
        "bitmap/deep/er/a.png",
        "font/f",
        "mesh/m",
        "mesh/some_file",
        "music/m.mp3",
        "sound/x/s.ogg",
        "ui/b.png",
    ];
    assert_eq!(pak.keys().collect::<Vec<_>>(), keys);
    assert_eq!(pak.mesh_id("mesh/m"), pak.mesh_id("mesh/some_file"));
    assert_eq!(pak.read_bitmap_font("font/f").unwrap().pages().next().unwrap().pixels(), [1, 2, 3, 4]);
    assert_eq!(*pak.read_blob("sound/x/s.ogg").unwrap(), *b"sound");
}

const SCENE: &str = "
[scene]

[[scene.ref]]
id = 'EnemySpawn'
rotation = [0.0, 0.0, 0.0, 1.0]
translation = [-1.0, 0.1, -6.0]
tags = [
    'bot',
]
data.type = 'monster3'

[[scene.ref]]
id = 'red-door'
rotation = [0.0, 0.0, 0.0, 1.0]
translation = [-0.9, 0.0, -12.0]
tags = [
    'door',
]
data.require = 'red-key'
data.joins = 'a,b'

[[scene.ref]]
mesh = '../kaykit/dungeon/floor_tile_large_grates.toml'
materials = [
    '../kaykit/dungeon/texture.toml',
]
rotation = [0.0, 0.0, -0.0, 1.0]
translation = [0.0, 0.0, -0.0]

[[scene.ref]]
mesh = '../kaykit/dungeon/floor_tile_large.toml'
materials = [
    '../kaykit/dungeon/texture.toml',
]
rotation = [0.0, 0.0, -0.0, 1.0]
translation = [6.0, 0.0, -2.0]

[[scene.geometry]]
id = 'a'
indices = [
    2, 0, 1,
    1, 3, 4,
    9, 11, 8,
    1, 4, 9,
    5, 2, 1,
    12, 10, 6,
    6, 5, 1,
    6, 1, 9,
    13, 14, 12,
    12, 6, 9,
    8, 13, 12,
    9, 8, 12,
]
vertices = [
    -8.399999618530273, 0.0, 7.400000095367432,
    6.400000095367432, 0.0, 7.400000095367432,
    -8.399999618530273, 0.0, -7.400000095367432,
    6.400000095367432, 0.0, -7.400000095367432,
    1.0, 0.0, -7.400000095367432,
    -3.0, 0.0, -7.400000095367432,
    -2.4000000953674316, 0.0, -8.0,
    1.0, 0.0, -7.400000095367432,
    -0.09999996423721313, 0.0, -11.40000057220459,
    0.3999999761581421, 0.0, -8.0,
    -2.4000000953674316, 0.0, -11.40000057220459,
    0.3999999761581421, 0.0, -11.40000057220459,
    -1.9000000953674316, 0.0, -11.40000057220459,
    -0.09999996423721313, 0.0, -12.0,
    -1.9000000953674316, 0.0, -12.0,
]
rotation = [0.0, 0.0, -0.0, 1.0]
translation = [1.0, 0.10000000149011612, -0.0]
tags = [
    'nav-mesh',
]

[[scene.ref]]
id = 'Camera'
rotation = [0.06613656878471375, -0.8706687092781067, 0.4718790054321289, 0.12203358113765717]
translation = [-19.0, 61.0, -53.0]
tags = [
    'camera',
]
data.type = 'persp'
data.z-near = 1.0
data.z-far = 200.0
data.fov-y = 0.349344402551651
";

#[test]
fn specification_scene_bakes() {
    let project = Project::new();
    project.put("scene/s.toml", SCENE);
    for (name, side) in [("floor_tile_large", 1), ("floor_tile_large_grates", 2)] {
        let mut model = Model::new();
        let mesh = model.grid("m", side);
        model.node(json!({"mesh": mesh}), None);
        model.write(&project, &format!("kaykit/dungeon/{name}.gltf"));
        project.put(&format!("kaykit/dungeon/{name}.toml"), "[mesh]\n");
    }
    project.png("kaykit/dungeon/my-texture.png", 1, 3, &[1, 2, 3]);
    project.put("kaykit/dungeon/texture.toml", "[material]\ncolor = 'my-texture.png'\n");
    project.content("snap", "['scene/*.toml']");
    let pak = project.open();
    let scene = pak.read_scene("scene/s").unwrap();
    let refs: Vec<_> = scene.refs().collect();
    let ids: Vec<_> = refs.iter().map(|r| r.id()).collect();
    assert_eq!(ids, [Some("EnemySpawn"), Some("red-door"), None, None, Some("Camera")]);
    assert_eq!(refs[2].mesh(), pak.mesh_id("kaykit/dungeon/floor_tile_large_grates"));
    assert_eq!(refs[3].mesh(), pak.mesh_id("kaykit/dungeon/floor_tile_large"));
    assert_eq!(refs[3].materials(), [pak.material_id("kaykit/dungeon/texture").unwrap()]);
    assert_eq!(refs[3].translation(), [6.0, 0.0, -2.0]);
    assert_eq!(refs[1].data("joins").unwrap().as_str(), Some("a,b"));
    assert_eq!(refs[4].rotation()[1], -0.870_668_7);
    assert_eq!(refs[4].data("fov-y").unwrap().as_f32(), Some(0.349_344_4));
    let geometry = scene.geometries().next().unwrap();
    assert_eq!(geometry.id(), Some("a"));
    assert_eq!((geometry.index_buf().triangle_count(), geometry.vertices().len()), (12, 15));
    assert_eq!(geometry.vertices()[14], [-1.900_000_1, 0.0, -12.0]);
    assert!(geometry.has_tag("nav-mesh"));
}

#[test]
fn documented_content_file_bakes_in_an_empty_project() {
    let project = Project::new();
    project.put("pak.toml", CONTENT);
    let warnings = project.bake().unwrap().warnings;
    assert_eq!(warnings.len(), 6, "one for each pattern: {warnings:?}");
    assert_eq!(pak::PakBuf::open(project.path("out/a.pak")).unwrap().keys().count(), 0);
}
