//! Materials and textures: rows, references, modes, conflicts, the manifest.

use crate::model::Model;
use crate::project::{Compiled, Project, failure};
use crate::shapes::{image, png, quad};
use basisu::{DecodeFlags, TargetFormat, Transcoder};
use kiln_engine::Code;
use kiln_format::hmat::{AlphaMode, GpuMaterial};
use ktx2::TransferFunction;
use serde_json::{Value, json};

/// FNV-1a with 64 bits of a string in ASCII lower case.
fn fnv(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.to_ascii_lowercase().bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A model with these images, a texture for each, and a quad of each material.
fn model(images: &[Vec<u8>], materials: &[Value]) -> Model {
    let mut model = Model::new();
    for encoded in images {
        let source = image(&mut model, encoded);
        model.push("textures", json!({"source": source}));
    }
    let mut primitives = Vec::new();
    for (index, material) in materials.iter().enumerate() {
        model.push("materials", material.clone());
        let mut primitive = quad(&mut model);
        primitive["material"] = json!(index);
        primitives.push(primitive);
    }
    model.mesh(json!(primitives));
    model
}

fn base(texture: usize) -> Value {
    json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": texture}}})
}

fn reference(name: &str) -> u64 {
    fnv(&format!("models/chair/{name}"))
}

/// Decodes a texture; returns whether it is sRGB, and its texels.
fn decoded(compiled: &Compiled, name: &str) -> (bool, Vec<[u8; 4]>) {
    let bytes = compiled.project.out(&format!("models/Chair/{name}.ktx2"));
    let reader = ktx2::Reader::new(&bytes).unwrap();
    let transfer = reader.basic_dfd().unwrap().transfer_function;
    let transcoder = Transcoder::new(&bytes).unwrap();
    let texels = transcoder.transcode_image(0, 0, 0, TargetFormat::Rgba32, DecodeFlags::NONE).unwrap();
    (transfer == Some(TransferFunction::SRGB), texels.as_chunks::<4>().0.to_vec())
}

#[test]
fn missing_properties_have_documented_defaults() {
    let compiled = Compiled::new(&model(&[], &[json!({})]));
    let bytes = compiled.project.out("models/Chair.hmat");
    assert_eq!(bytes.len(), 16 + 96);
    assert_eq!(&bytes[..16], b"HMAT\x01\0\0\0\x01\0\0\0\0\0\0\0");
    let floats: Vec<f32> =
        bytes[16..64].as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    // Base colour, emissive, metallic, roughness, normal scale, occlusion strength, alpha cutoff.
    assert_eq!(floats, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.5]);
    assert_eq!(bytes[64..], [0; 48]);
    assert_eq!(compiled.project.outputs(), ["assets.hman", "models/Chair.hmat", "models/Chair.hmesh"]);
}

#[test]
fn material_fields_are_in_the_row() {
    let full = json!({
        "pbrMetallicRoughness": {
            "baseColorFactor": [0.1, 0.2, 0.3, 0.4], "metallicFactor": 0.25, "roughnessFactor": 0.75,
            "baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 1},
        },
        "normalTexture": {"index": 2, "scale": 0.5}, "occlusionTexture": {"index": 3, "strength": 0.125},
        "emissiveTexture": {"index": 4}, "emissiveFactor": [0.5, 0.25, 1.0],
        "alphaMode": "MASK", "alphaCutoff": 0.75, "doubleSided": true,
    });
    let images: Vec<_> = (0..5).map(|seed| png(4, seed)).collect();
    let compiled = Compiled::new(&model(&images, &[full, json!({"alphaMode": "BLEND"})]));
    let rows = compiled.materials();
    let expected = GpuMaterial {
        base_color_factor: [0.1, 0.2, 0.3, 0.4],
        emissive_factor: [0.5, 0.25, 1.0],
        metallic_factor: 0.25,
        roughness_factor: 0.75,
        normal_scale: 0.5,
        occlusion_strength: 0.125,
        alpha_cutoff: 0.75,
        flags: 0b011,
        pad: 0,
        base_color_tex: reference("tex_0"),
        metallic_roughness_tex: reference("tex_1"),
        normal_tex: reference("tex_2"),
        occlusion_tex: reference("tex_3"),
        emissive_tex: reference("tex_4"),
    };
    assert_eq!(rows[0], expected);
    assert_eq!((rows[1].flags, rows[1].alpha_mode()), (0b100, AlphaMode::Blend));
    assert!(compiled.codes().is_empty(), "{:?}", compiled.warnings);
}

#[test]
fn slots_select_mode_and_manifest_colour_space() {
    let slots = json!({
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 1}},
        "occlusionTexture": {"index": 1}, "normalTexture": {"index": 2}, "emissiveTexture": {"index": 3},
    });
    let images: Vec<_> = (0..5).map(|seed| png(4, seed)).collect();
    let compiled = Compiled::new(&model(&images, &[slots]));
    let row = compiled.materials()[0];
    assert_eq!(row.occlusion_tex, row.metallic_roughness_tex, "packed as one image");

    let mut expected: Vec<_> = [("tex_0", true), ("tex_1", false), ("tex_2", false), ("tex_3", true)]
        .map(|(name, srgb)| (reference(name), srgb, format!("models/Chair/{name}.ktx2")))
        .into();
    expected.sort();
    assert_eq!(compiled.manifest(), expected);
    assert!(
        !compiled.project.outputs().contains(&"models/Chair/tex_4.ktx2".to_owned()),
        "the image is unused"
    );
    assert_eq!(compiled.project.outputs().len(), 3 + 4);

    for (name, srgb) in [("tex_0", true), ("tex_1", false), ("tex_2", false), ("tex_3", true)] {
        let (found, texels) = decoded(&compiled, name);
        assert_eq!(found, srgb, "{name}");
        let seed = name.as_bytes()[4] - b'0';
        for (i, [r, g, b, a]) in texels.into_iter().enumerate() {
            let near =
                |found: u8, wanted: u8| assert!(found.abs_diff(wanted) <= 3, "{name}: {r} {g} {b} {a}");
            near(r, 3 * i as u8 + seed);
            near(g, 100 + seed);
            // Only a normal map drops unused channels.
            near(b, if name == "tex_2" { 0 } else { 200 - seed });
            near(a, if name == "tex_2" { 255 } else { 128 });
        }
    }
}

#[test]
fn shared_image_is_one_texture() {
    let mut model = model(
        &[png(4, 0), png(4, 0)],
        &[base(0), base(1), base(2), json!({"emissiveTexture": {"index": 2}})],
    );
    // A third texture with the first image, as with another sampler.
    model.push("textures", json!({"source": 0}));
    let compiled = Compiled::new(&model);
    let used: Vec<u64> = compiled.materials().iter().map(|row| row.base_color_tex).collect();
    assert_eq!(used, [reference("tex_0"), reference("tex_1"), reference("tex_0"), 0]);
    assert_eq!(compiled.materials()[3].emissive_tex, reference("tex_0"));
    // Two images with equal content become two equal textures.
    let texture = |name: &str| compiled.project.out(&format!("models/Chair/{name}.ktx2"));
    assert_eq!(texture("tex_0"), texture("tex_1"));
    assert_eq!(compiled.manifest().len(), 2);
}

#[test]
fn unused_materials_are_not_compiled() {
    let mut model = model(&[png(4, 0), png(4, 1)], &[base(0), base(1)]);
    model.json["meshes"][0]["primitives"].as_array_mut().unwrap().remove(0);
    let compiled = Compiled::new(&model);
    assert_eq!(compiled.materials().len(), 1);
    assert_eq!(compiled.materials()[0].base_color_tex, reference("tex_1"));
    assert_eq!(compiled.manifest().len(), 1);
}

/// An image as colour, as data twice, and as normals.
fn conflicting() -> Model {
    let data = json!({"pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 0}}});
    let occlusion = json!({"occlusionTexture": {"index": 0}});
    model(&[png(4, 0)], &[base(0), data, occlusion, json!({"normalTexture": {"index": 0}}), base(0)])
}

#[test]
fn conflict_first_uses_mode_of_first_slot() {
    let compiled = Compiled::new(&conflicting());
    let rows = compiled.materials();
    let first = reference("tex_0");
    assert_eq!(rows[0].base_color_tex, first);
    assert_eq!(rows[1].metallic_roughness_tex, first);
    assert_eq!(rows[2].occlusion_tex, first);
    assert_eq!(rows[3].normal_tex, first);
    assert_eq!(compiled.manifest(), [(first, true, "models/Chair/tex_0.ktx2".to_owned())]);
    // Data twice is one conflict; normals are another.
    assert_eq!(compiled.codes(), ["texture-conflict", "texture-conflict"]);
    let [data, normal] = [0, 1].map(|n| &compiled.warnings[n]);
    assert_eq!(data.at.as_deref(), Some("/images/0"));
    assert!(data.message.contains("color") && data.message.contains("linear"), "{data}");
    assert!(normal.message.contains("color") && normal.message.contains("normal"), "{normal}");
    assert!(data.hint.as_deref().is_some_and(|hint| hint.contains("texture.conflict")));
    assert!(decoded(&compiled, "tex_0").0);
}

#[test]
fn first_use_follows_slot_order() {
    let slot = |name: &str| json!({name: {"index": 0}});
    let all = [
        ("metallicRoughnessTexture", "linear"),
        ("normalTexture", "normal"),
        ("occlusionTexture", "linear"),
        ("emissiveTexture", "color"),
    ];
    for (first, (name, mode)) in all.iter().enumerate() {
        let mut material = json!({});
        for (name, _) in &all[first..] {
            match *name {
                "metallicRoughnessTexture" => material["pbrMetallicRoughness"] = slot(name),
                name => material[name] = json!({"index": 0}),
            }
        }
        let compiled = Compiled::new(&model(&[png(4, 0)], &[material]));
        let (srgb, texels) = decoded(&compiled, "tex_0");
        assert_eq!(srgb, *mode == "color", "{name}");
        assert_eq!(texels[0][2] < 10, *mode == "normal", "{name}");
    }
}

#[test]
fn conflict_split_writes_one_texture_per_mode() {
    let compiled = Compiled::with(&conflicting(), "texture: {conflict: split}");
    let rows = compiled.materials();
    assert_eq!(rows[0].base_color_tex, reference("tex_0"));
    assert_eq!(rows[1].metallic_roughness_tex, reference("tex_0_linear"));
    assert_eq!(rows[2].occlusion_tex, reference("tex_0_linear"));
    assert_eq!(rows[3].normal_tex, reference("tex_0_normal"));
    assert_eq!(rows[4].base_color_tex, reference("tex_0"));
    assert!(compiled.codes().is_empty());
    let names = ["tex_0", "tex_0_linear", "tex_0_normal"];
    let textures = names.map(|name| decoded(&compiled, name));
    assert_eq!(textures.each_ref().map(|texture| texture.0), [true, false, false]);
    assert!(textures[1].1.iter().all(|texel| texel[2] > 190), "data keeps its blue");
    assert!(textures[2].1.iter().all(|texel| texel[2] < 10), "normals do not");
    let mut listed: Vec<String> = compiled.manifest().into_iter().map(|entry| entry.2).collect();
    listed.sort();
    assert_eq!(listed, names.map(|name| format!("models/Chair/{name}.ktx2")));
}

#[test]
fn orm_image_is_not_a_conflict() {
    let orm = json!({
        "pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 0}}, "occlusionTexture": {"index": 0},
    });
    assert!(Compiled::new(&model(&[png(4, 0)], &[orm])).codes().is_empty());
}

#[test]
fn model_textures_use_the_settings_of_the_model() {
    let compiled =
        Compiled::with(&model(&[png(8, 0)], &[base(0)]), "texture: {compress: false, max_size: 4}");
    let bytes = compiled.project.out("models/Chair/tex_0.ktx2");
    let header = ktx2::Reader::new(&bytes).unwrap().header();
    assert_eq!(header.format, Some(ktx2::Format::R8G8B8A8_SRGB));
    assert_eq!((header.pixel_width, header.level_count), (4, 3));
}

#[test]
fn rejects_sources_with_the_same_output() {
    let glb = model(&[png(4, 0)], &[base(0)]).glb();
    let project =
        Project::with(&[("a.glb", &glb), ("a.GLTF", &Model::new().text(None).into_bytes()), ("b.glb", &glb)]);
    let report = project.build();
    for (source, other) in [("a.glb", "a.GLTF"), ("a.GLTF", "a.glb")] {
        let diag = failure(&report, source);
        assert_eq!(diag.code, Code::OutputConflict);
        assert!(diag.message.contains(other), "{diag}");
    }
    assert_eq!(report.built(), 1);

    // A source whose output is the path of a texture of the model.
    let project = Project::with(&[("a.glb", &glb), ("a/tex_0.png", &png(4, 9))]);
    let report = project.build();
    assert!(!report.is_ok(), "{report:?}");
    let states: String = report.assets.iter().map(|asset| format!("{:?}", asset.state)).collect();
    assert!(
        states.contains("OutputConflict") && states.contains("a/tex_0.png") && states.contains("a.glb"),
        "{states}"
    );
}

#[test]
fn rejects_models_that_differ_only_in_case() {
    let glb = model(&[png(4, 0)], &[base(0)]).glb();
    let project = Project::with(&[("Chair.glb", &glb), ("chair.glb", &glb)]);
    if !project.path("assets/chair.glb").exists()
        || std::fs::read_dir(project.path("assets")).unwrap().count() < 2
    {
        return;
    }
    let report = project.build();
    for (source, other) in [("Chair.glb", "chair.glb"), ("chair.glb", "Chair.glb")] {
        let diag = failure(&report, source);
        assert_eq!(diag.code, Code::OutputConflict);
        assert!(diag.message.contains(other) && diag.message.contains("Chair.hmesh"), "{diag}");
    }
}
