//! Materials of generated glTF files, compared with an independent evaluation; material slots; warnings.

use crate::gltf_evaluation::{Texels, compare};
use crate::project::{Model, Project};
use pak::{Pak, PakBuf};
use serde_json::{Value, json};

/// A generator of pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    /// Returns a factor; 0 and 1 are as frequent as any other.
    fn factor(&mut self) -> f64 {
        match self.next(4) {
            0 => 1.0,
            1 => 0.0,
            _ => self.next(1000) as f64 / 999.0,
        }
    }
}

/// Writes a PNG with random texels, and returns them as RGBA from 0 to 1.
fn image(random: &mut Random, project: &Project, name: &str) -> Texels {
    let channels = [1, 2, 3, 4][random.next(4) as usize];
    let deep = random.next(4) == 0;
    let (width, height) = ([4, 8][random.next(2) as usize], 4);
    let count = (width * height) as usize * channels;
    let samples: Vec<u16> =
        (0..count).map(|_| if deep { random.next(65536) } else { random.next(256) } as u16).collect();
    let max = if deep { 65535.0 } else { 255.0 };
    let bytes: Vec<u8> = match deep {
        true => samples.iter().flat_map(|v| v.to_be_bytes()).collect(),
        false => samples.iter().map(|v| *v as u8).collect(),
    };
    let depth = if deep { png::BitDepth::Sixteen } else { png::BitDepth::Eight };
    project.put(name, crate::project::png(width, channels, depth, &bytes));
    let rgba = samples.chunks_exact(channels).map(|texel| {
        let v: Vec<f64> = texel.iter().map(|v| f64::from(*v) / max).collect();
        match *v.as_slice() {
            [v] => [v, v, v, 1.0],
            [v, a] => [v, v, v, a],
            [r, g, b] => [r, g, b, 1.0],
            _ => [v[0], v[1], v[2], v[3]],
        }
    });
    Texels { width, height, rgba: rgba.collect() }
}

fn random_material(random: &mut Random, images: u64) -> Value {
    let texture = |random: &mut Random| match random.next(3) {
        0 => Value::Null,
        _ => json!({"index": random.next(images)}),
    };
    let mode = ["OPAQUE", "MASK", "BLEND"][random.next(3) as usize];
    let mut material = json!({
        "pbrMetallicRoughness": {
            "baseColorFactor": [random.factor(), random.factor(), random.factor(), random.factor()],
            "metallicFactor": random.factor(),
            "roughnessFactor": random.factor(),
        },
        "emissiveFactor": [random.factor(), random.factor(), random.factor()],
        "doubleSided": random.next(2) == 0,
        "alphaMode": mode,
        "alphaCutoff": random.factor(),
        "extensions": {
            "KHR_materials_emissive_strength": {"emissiveStrength": random.next(40) as f64 / 8.0},
            "KHR_materials_transmission": {"transmissionFactor": random.factor()},
        },
    });
    let places = [
        "/pbrMetallicRoughness/baseColorTexture",
        "/pbrMetallicRoughness/metallicRoughnessTexture",
        "/normalTexture",
        "/occlusionTexture",
        "/emissiveTexture",
        "/extensions/KHR_materials_transmission/transmissionTexture",
    ];
    for place in places {
        let mut info = texture(random);
        if info.is_null() {
            continue;
        }
        match place {
            "/normalTexture" => info["scale"] = json!(random.next(20) as f64 / 10.0),
            "/occlusionTexture" => info["strength"] = json!(random.factor()),
            _ => {}
        }
        let (parent, name) = place.rsplit_once('/').unwrap();
        material.pointer_mut(parent).unwrap()[name] = info;
    }
    material
}

#[test]
fn random_materials_equal_an_independent_evaluation() {
    let mut random = Random(0x5eed_1234_5678_9abc);
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    let images: Vec<Texels> =
        (0..12).map(|n| image(&mut random, &project, &format!("art/{n}.png"))).collect();
    model.json["images"] = (0..12).map(|n| json!({"uri": format!("{n}.png")})).collect();
    model.json["textures"] = (0..12).map(|n| json!({"source": n})).collect();
    let count = 60;
    model.json["materials"] = (0..count).map(|_| random_material(&mut random, 12)).collect();
    let document = model.json.clone();
    model.write(&project, "art/m.gltf");
    let list: Vec<String> = (0..count).map(|n| format!("'m.gltf#{n}'")).collect();
    project.put("art/s.toml", format!("[scene]\n[[scene.ref]]\nmaterials = [{}]\n", list.join(", ")));
    project.content("none", "['art/*.toml']");
    let pak = project.open();
    let materials = materials(&pak, 0);
    assert_eq!(materials.len(), count);
    let decode = |index: usize| images.get(index).cloned();
    let mut compared = 0;
    for (number, info) in materials.iter().enumerate() {
        match compare(&document, Some(number), &decode, &pak, info) {
            Ok(values) => compared += values,
            Err(error) => panic!("material {number}: {error}: {}", document["materials"][number]),
        }
    }
    assert!(compared > 10_000, "{compared}");
}

fn materials(pak: &PakBuf, reference: usize) -> Vec<pak::MaterialInfo> {
    let scene = pak.read_scene("art/s").unwrap();
    let list: Vec<_> = scene.refs().nth(reference).unwrap().materials().to_vec();
    list.into_iter().map(|id| pak.read_material_id(id).unwrap()).collect()
}

/// A model with four meshes: red, without material, blue, red; and an unused material first.
fn slots_model() -> Model {
    let mut model = Model::new();
    for (name, material) in [("a", Some(1)), ("b", None), ("c", Some(2)), ("d", Some(1))] {
        let mesh = model.triangle(name);
        if let Some(material) = material {
            model.json["meshes"][mesh]["primitives"][0]["material"] = json!(material);
        }
        model.node(json!({"mesh": mesh}), None);
    }
    let color = |r, g, b| json!({"pbrMetallicRoughness": {"baseColorFactor": [r, g, b, 1]}});
    model.json["materials"] = json!([color(0, 1, 0), color(1, 0, 0), color(0, 0, 1)]);
    model
}

#[test]
fn materials_of_a_file_are_those_of_the_mesh_slots() {
    let project = Project::new();
    slots_model().write(&project, "art/m.gltf");
    project.put("art/d.toml", "[mesh]\nsrc = 'm.gltf'\nname = 'c'\n");
    project.put(
        "art/s.toml",
        "[scene]\n[[scene.ref]]\nmesh = 'm.gltf'\nmaterials = ['m.gltf']\n\
         [[scene.ref]]\nmesh = 'd.toml'\nmaterials = ['m.gltf']\n",
    );
    project.content("none", "['art/*.toml', 'art/*.gltf']");
    let pak = project.open();
    let mesh = pak.read_mesh("art/m.gltf").unwrap();
    let colors: Vec<_> = materials(&pak, 0)
        .iter()
        .map(|info| pak.read_bitmap_id(info.color).unwrap().pixels().to_vec())
        .collect();
    let drawn: Vec<_> =
        mesh.primitives().iter().map(|p| colors[usize::from(p.material())].as_slice()).collect();
    let (red, white, blue) = ([255, 0, 0, 255], [255; 4], [0, 0, 255, 255]);
    assert_eq!(drawn, [&red[..], &white, &blue, &red]);
    assert_eq!((mesh.materials().len(), colors.len()), (3, 3), "one material for each slot");
    let only = materials(&pak, 1);
    assert_eq!(only.len(), 1, "the slots of the named mesh");
    assert_eq!(pak.read_bitmap_id(only[0].color).unwrap().pixels(), blue);
}

#[test]
fn missing_materials_of_a_reference_are_reported_and_filled() {
    let project = Project::new();
    slots_model().write(&project, "art/m.gltf");
    project.put("art/red.toml", "[material]\ncolor = '#f00'\n");
    let scene = |materials: &str| {
        project
            .put("art/s.toml", format!("[scene]\n[[scene.ref]]\nmesh = 'm.gltf'\nmaterials = {materials}\n"));
        project.bake().unwrap().warnings
    };
    project.content("none", "['art/*.toml']");
    for _ in 0..2 {
        let warnings = scene("['red.toml']");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let warning = warnings[0].to_string();
        assert!(warning.contains("warning[pak-materials]: art/s.toml:4:13"), "{warning}");
        assert!(warning.contains("art/m.gltf has 3 material slots, and 1 material is listed"), "{warning}");
    }
    let pak = PakBuf::open(project.path("out/a.pak")).unwrap();
    let colors: Vec<_> = materials(&pak, 0)
        .iter()
        .map(|info| pak.read_bitmap_id(info.color).unwrap().pixels().to_vec())
        .collect();
    let default = [0x8c, 0x57, 0x38, 0xff];
    assert_eq!(colors, [vec![255, 0, 0, 255], default.to_vec(), default.to_vec()]);
    assert_eq!(scene("['red.toml', 'red.toml', 'red.toml']"), []);
    assert_eq!(scene("[]"), [], "a game may choose the materials itself");
}

#[test]
fn material_losses_are_reported_where_materials_are_used() {
    let project = Project::new();
    let mut model = slots_model();
    for material in model.json["materials"].as_array_mut().unwrap() {
        material["extensions"] = json!({"KHR_materials_sheen": {}, "KHR_materials_transmission": {}});
    }
    model.write(&project, "art/m.gltf");
    project.content("none", "['art/*.gltf']");
    assert_eq!(project.bake().unwrap().warnings, [], "a mesh has no materials");
    project.content("none", "['art/*.gltf', 'art/*.toml']");
    project.put("art/s.toml", "[scene]\n[[scene.ref]]\nmaterials = ['m.gltf#0', 'm.gltf#2', 'm.gltf#0']\n");
    for _ in 0..2 {
        let warnings: Vec<String> =
            project.bake().unwrap().warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        for (warning, place) in warnings.iter().zip(["/materials/0", "/materials/2"]) {
            assert!(warning.contains("warning[gltf-material]: art/m.gltf") && warning.contains(place));
            assert!(
                warning.contains("KHR_materials_sheen") && !warning.contains("transmission"),
                "{warning}"
            );
        }
    }
}

/// The textures of one material with different UVs concern those who use the material.
#[test]
fn uv_conflicts_of_a_material_are_reported_once_by_its_user() {
    let project = Project::new();
    let mut model = slots_model();
    project.png("art/a.png", 1, 1, &[1, 2, 3]);
    model.json["images"] = json!([{"uri": "a.png"}]);
    model.json["textures"] = json!([{"source": 0}]);
    model.json["materials"][1]["pbrMetallicRoughness"] = json!({"baseColorTexture": {"index": 0}});
    model.json["materials"][1]["occlusionTexture"] = json!({"index": 0, "texCoord": 1});
    model.write(&project, "art/m.gltf");
    let conflicts = || {
        let warnings = project.bake().unwrap().warnings;
        let about_uvs: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        about_uvs.into_iter().filter(|text| text.contains("use other UVs than base colour")).count()
    };
    project.content("none", "['art/*.gltf']");
    assert_eq!(conflicts(), 0, "a mesh has no materials");
    project.content("none", "['art/*.gltf', 'art/*.toml']");
    project.put("art/s.toml", "[scene]\n[[scene.ref]]\nmesh = 'm.gltf'\nmaterials = ['m.gltf']\n");
    assert_eq!(conflicts(), 1);
}
