//! Exported assets: PNG, KTX2 and GLB files hold what the pak holds, as an independent reader and a second bake see it.

use crate::project::{Model, Project, attribute, png, triangles};
use kiln_format::ktx2::{Ktx2View, Payload, Transfer};
use pak::export::Exporter;
use pak::mesh::Role;
use pak::{Kind, Pak, PakBuf};
use serde_json::{Value, json};

/// Returns the suffix and content of the only file of an asset.
fn export(pak: &PakBuf, key: &str) -> (String, Vec<u8>) {
    let (kind, id) = pak.find(key).unwrap();
    let mut files = Exporter::new(pak).export(kind, id).unwrap();
    assert_eq!(files.len(), 1);
    let file = files.remove(0);
    (file.suffix, file.bytes)
}

/// Returns the JSON and the binary chunk of a GLB file.
fn chunks(glb: &[u8]) -> (Value, Vec<u8>) {
    let number = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&glb[..4], number(4), number(8)), (&b"glTF"[..], 2, glb.len()));
    let json = serde_json::from_slice(&glb[20..20 + number(12)]).unwrap();
    (json, glb[20 + number(12) + 8..].to_vec())
}

#[test]
fn exported_glb_bakes_to_the_same_mesh() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.grid("grid", 20);
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "grid.gltf");
    project.put("art/grid.toml", "[mesh]\nsrc = '/grid.gltf'\nlod = true\nshadow = true\n");
    let pak = project.open();
    let before = pak.read_mesh("art/grid").unwrap();
    let (suffix, glb) = export(&pak, "art/grid");
    assert_eq!(suffix, ".glb");
    let (json, _) = chunks(&glb);
    let lods = before.primitives()[0].lods().len();
    assert!(lods > 1);
    // LOD 0 alone is in the scene; the others and the shadow geometry are nodes beside it.
    assert_eq!(json["scenes"][0]["nodes"], json!([0]));
    assert_eq!(json["nodes"][0]["extensions"]["MSFT_lod"]["ids"].as_array().unwrap().len(), lods - 1);
    assert_eq!(json["nodes"].as_array().unwrap().len(), lods + 1);
    for (node, lod) in json["nodes"].as_array().unwrap().iter().zip(before.primitives()[0].lods()) {
        let primitive = &json["meshes"][node["mesh"].as_u64().unwrap() as usize]["primitives"][0];
        let indices = &json["accessors"][primitive["indices"].as_u64().unwrap() as usize];
        assert_eq!(indices["count"], lod.index_count());
    }
    project.put("again.glb", &glb);
    project.put("art/grid.toml", "[mesh]\nsrc = '/again.glb'\n");
    let again = project.open().read_mesh("art/grid").unwrap();
    let (old, new) = (&before.primitives()[0], &again.primitives()[0]);
    assert_eq!((old.role(), old.vertex_type()), (Role::Main, new.vertex_type()));
    let sorted = |part| {
        let mut all = triangles(part, 0);
        all.sort_unstable();
        all
    };
    assert_eq!(sorted(old), sorted(new));
    let vertices = |part| {
        let mut all: Vec<Vec<u32>> =
            attribute(part, 0, 12).iter().map(|v| v.iter().map(|f| f.to_bits()).collect()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(vertices(old), vertices(new));
}

#[test]
fn exported_skin_keeps_joints_and_bind_pose() {
    let project = Project::new();
    let mut model = Model::new();
    let position = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let joints = model.shorts("VEC4", 3, &[0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
    let weights = model.floats("VEC4", &[0.5, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.25, 0.75, 0.0, 0.0]);
    let matrix = |x: f32| [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -x, 0.0, 0.0, 1.0];
    let binds = model.floats("MAT4", &[matrix(1.0), matrix(3.0)].concat());
    let attributes = json!({"POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights});
    let mesh = model.mesh("body", json!({"attributes": attributes}));
    model.node(json!({"mesh": mesh, "skin": 0}), None);
    let root = model.node(json!({"name": "root", "translation": [1, 0, 0]}), None);
    let tip = model.node(json!({"name": "tip", "translation": [2, 0, 0]}), Some(root));
    model.json["skins"] = json!([{"joints": [root, tip], "inverseBindMatrices": binds}]);
    model.write(&project, "body.gltf");
    project.put("art/body.toml", "[mesh]\nsrc = '/body.gltf'\n");
    let pak = project.open();
    let before = pak.read_mesh("art/body").unwrap();
    let (_, glb) = export(&pak, "art/body");
    let (json, _) = chunks(&glb);
    let translations: Vec<_> =
        [1, 2].map(|node: usize| json["nodes"][node]["matrix"][12].as_f64().unwrap()).into();
    assert_eq!(translations, [1.0, 2.0], "relative to the parent");
    project.put("again.glb", &glb);
    project.put("art/body.toml", "[mesh]\nsrc = '/again.glb'\n");
    let again = project.open().read_mesh("art/body").unwrap();
    assert_eq!(before.skin(), again.skin());
    assert_eq!(before.primitives()[0].vertex_data(), again.primitives()[0].vertex_data());
}

#[test]
fn exported_images_hold_the_texels() {
    let project = Project::new();
    let texels: Vec<u8> = (0..4 * 4 * 3).map(|n| n as u8 * 5).collect();
    project.png("art/rgb.png", 4, 3, &texels);
    project.png("art/gray.png", 4, 1, &texels[..16]);
    let wide: Vec<u8> = (0..4 * 4 * 4 * 2).map(|n| n as u8).collect();
    project.put("art/wide.png", png(4, 4, png::BitDepth::Sixteen, &wide));
    project.put("art/mips.toml", "[bitmap]\nsrc = 'rgb.png'\nmip-levels = true\n");
    project.put("art/float.toml", "[bitmap]\nsrc = 'gray.png'\ndepth = 32\ncolor = 'linear'\n");
    let pak = project.open();
    for (key, color, expected) in [
        ("art/rgb.png", png::ColorType::Rgb, &texels[..]),
        ("art/gray.png", png::ColorType::Grayscale, &texels[..16]),
        ("art/wide.png", png::ColorType::Rgba, &wide[..]),
    ] {
        let (suffix, bytes) = export(&pak, key);
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut out = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut out).unwrap();
        assert_eq!((&*suffix, reader.info().color_type), (".png", color), "{key}");
        assert_eq!(out, expected, "{key}");
    }
    let (suffix, bytes) = export(&pak, "art/mips");
    let view = Ktx2View::read(&bytes).unwrap();
    assert_eq!((&*suffix, view.level_count(), view.payload()), (".ktx2", 3, Payload::Rgba8));
    assert_eq!(view.transfer(), Transfer::Srgb);
    let bitmap = pak.read_bitmap("art/mips").unwrap();
    for level in 0..3 {
        let texels = bitmap.level(level).unwrap().1.chunks_exact(3);
        let rgba: Vec<u8> = texels.flat_map(|texel| [texel[0], texel[1], texel[2], 255]).collect();
        assert_eq!(view.level(level).unwrap().bytes, rgba);
    }
    let (suffix, bytes) = export(&pak, "art/float");
    let view = Ktx2View::read(&bytes).unwrap();
    assert_eq!((&*suffix, view.payload()), (".ktx2", Payload::Rgba16F));
    // The gray value 255 is the float 1.0, in half precision 0x3c00; alpha as well.
    let level = view.level(0).unwrap().bytes;
    assert_eq!(level[6..8], [0, 0x3c]);
}

#[test]
fn exported_json_names_assets_by_key_or_number() {
    let project = Project::new();
    project.put("art/red.toml", "[material]\ncolor = '#f00'\nmetal = 0.5\ndouble-sided = true\n");
    project.put(
        "art/level.toml",
        "[scene]\n[[scene.ref]]\nid = 'a'\nmaterials = ['red.toml']\ntranslation = [1, 2.5, 3]\ntags = ['X']\n\
         data.list = [1, -2, 0.5, 'x', true]\n[[scene.geometry]]\nvertices = [0, 0, 0, 1, 0, 0, 0, 0, 1]\n\
         indices = [0, 2, 1]\n",
    );
    let pak = project.open();
    let json = |key| -> (String, Value) {
        let (suffix, bytes) = export(&pak, key);
        (suffix, serde_json::from_slice(&bytes).unwrap())
    };
    let (suffix, material) = json("art/red");
    assert_eq!((&*suffix, &material["double-sided"]), (".material.json", &json!(true)));
    let color = pak.read_material("art/red").unwrap().color.0;
    assert_eq!(material["color"], format!("unnamed/bitmap-{color}"));
    assert_eq!((&material["normal"], &material["params-used"]), (&Value::Null, &json!(["metal"])));
    let (suffix, scene) = json("art/level");
    assert_eq!(suffix, ".scene.json");
    let reference = &scene["refs"][0];
    assert_eq!(reference["materials"], json!(["art/red"]));
    assert_eq!((&reference["translation"], &reference["tags"]), (&json!([1, 2.5, 3]), &json!(["x"])));
    assert_eq!(reference["data"], json!({"list": [1, -2, 0.5, "x", true]}));
    assert_eq!(scene["geometries"][0]["indices"], json!([0, 2, 1]));
    let unnamed: Vec<_> = pak.assets().filter(|asset| asset.key.is_empty()).collect();
    assert!(unnamed.iter().all(|asset| asset.kind == Kind::Bitmap));
    assert_eq!(unnamed[0].name(), "unnamed/bitmap-0");
}
