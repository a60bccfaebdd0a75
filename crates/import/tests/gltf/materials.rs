//! Materials: factors, textures, extensions.

use crate::model::Model;
use kiln_import::Code;
use kiln_ir::{AlphaMode, ImageId, Material, Slot};
use serde_json::{Value, json};

/// A triangle of one material, with three images that textures 0 to 2 use.
fn model(material: Value) -> Model {
    let mut model = Model::triangle();
    for _ in 0..3 {
        let image = model.push("images", json!({"uri": "data:image/png;base64,AAAA"}));
        model.push("textures", json!({"source": image}));
    }
    model.push("materials", material);
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    model
}

fn material(json: Value) -> Material {
    model(json).scene().materials[0].clone()
}

#[test]
fn materials_have_the_specified_defaults() {
    let found = material(json!({}));
    assert_eq!(found, Material::default());
    assert_eq!(
        (found.base_color_factor, found.metallic_factor, found.roughness_factor),
        ([1.0; 4], 1.0, 1.0)
    );
    assert_eq!(
        (found.alpha_mode, found.alpha_cutoff, found.emissive_factor),
        (AlphaMode::Opaque, 0.5, [0.0; 3])
    );
}

#[test]
fn imports_all_material_properties() {
    let found = material(json!({
        "name": "Paint",
        "pbrMetallicRoughness": {
            "baseColorFactor": [0.1, 0.2, 0.3, 0.4],
            "metallicFactor": 0.5,
            "roughnessFactor": 0.6,
            "baseColorTexture": {"index": 2},
            "metallicRoughnessTexture": {"index": 1},
        },
        "normalTexture": {"index": 0, "scale": 0.7},
        "occlusionTexture": {"index": 1, "strength": 0.8},
        "emissiveTexture": {"index": 0},
        "emissiveFactor": [0.9, 0.8, 0.7],
        "alphaMode": "MASK",
        "alphaCutoff": 0.25,
        "doubleSided": true,
    }));
    let wanted = Material {
        name: "Paint".to_owned(),
        base_color_factor: [0.1, 0.2, 0.3, 0.4],
        emissive_factor: [0.9, 0.8, 0.7],
        metallic_factor: 0.5,
        roughness_factor: 0.6,
        normal_scale: 0.7,
        occlusion_strength: 0.8,
        alpha_mode: AlphaMode::Mask,
        alpha_cutoff: 0.25,
        double_sided: true,
        textures: [2, 1, 0, 1, 0].map(|i| Some(ImageId(i))),
        ..Material::default()
    };
    assert_eq!(found, wanted);
    assert_eq!(material(json!({"alphaMode": "BLEND"})).alpha_mode, AlphaMode::Blend);
}

#[test]
fn folds_emissive_strength_into_the_factor() {
    let model = model(json!({
        "emissiveFactor": [1.0, 0.5, 0.0],
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 8.0}},
    }));
    assert_eq!(model.scene().materials[0].emissive_factor, [8.0, 4.0, 0.0]);
    assert!(model.warnings().is_empty());
}

#[test]
fn warns_once_about_unsupported_material_extensions() {
    let lossy = json!({
        "name": "Velvet",
        "extensions": {
            "KHR_materials_unlit": {},
            "KHR_materials_sheen": {"sheenColorTexture": {"index": 99}},
            "KHR_materials_emissive_strength": {},
        },
    });
    let mut model = model(lossy.clone());
    model.push("materials", lossy);
    let found = model.import().unwrap();
    let [warning] = found.warnings.as_slice() else {
        panic!("only the material that is used: {:?}", found.warnings)
    };
    assert_eq!(
        (warning.code.as_str(), warning.at.as_deref().unwrap_or_default()),
        ("gltf-material", "/materials/0")
    );
    // The JSON library that makes the file sorts names.
    assert_eq!(
        warning.message,
        "material \"Velvet\": extensions that are not supported are ignored: KHR_materials_sheen, KHR_materials_unlit"
    );
    assert_eq!(found.value.materials[0].unsupported, ["KHR_materials_sheen", "KHR_materials_unlit"]);
}

#[test]
fn uses_images_of_extensions_without_a_core_image() {
    let check = |texture: Value, wanted: Option<ImageId>| {
        let mut model = model(json!({"emissiveTexture": {"index": 0}}));
        model.json["textures"][0] = texture;
        assert_eq!(
            model.scene().materials[0].texture(Slot::Emissive),
            wanted,
            "{:#}",
            model.json["textures"]
        );
        model.warnings()
    };
    let basis = json!({"KHR_texture_basisu": {"source": 1}});
    assert!(check(json!({"extensions": basis}), Some(ImageId(1))).is_empty());
    assert!(check(json!({"source": 2, "extensions": basis}), Some(ImageId(2))).is_empty());
    assert!(check(json!({"extensions": {"EXT_texture_webp": {"source": 2}}}), Some(ImageId(2))).is_empty());
    assert_eq!(check(json!({"extensions": {"EXT_texture_avif": {"source": 2}}}), None), ["gltf-texture"]);
    assert_eq!(check(json!({}), None), ["gltf-texture"]);
}

#[test]
fn names_sampler_settings_that_materials_do_not_have() {
    let mut model = model(json!({"emissiveTexture": {"index": 0}}));
    model.json["textures"][0]["sampler"] = json!(0);
    for (sampler, lost) in [
        (json!({"wrapS": 10497, "magFilter": 9729, "minFilter": 9987}), None),
        (json!({"wrapS": 33071}), Some("wrap mode CLAMP_TO_EDGE")),
        (json!({"wrapT": 33648}), Some("wrap mode MIRRORED_REPEAT")),
        (json!({"magFilter": 9728}), Some("nearest filtering")),
        (json!({"minFilter": 9986}), Some("nearest filtering")),
    ] {
        model.json["samplers"] = json!([sampler]);
        let warnings = model.import().unwrap().warnings;
        let wanted = lost.map(|lost| format!("unsupported content is ignored: {lost}"));
        let found = warnings.iter().find(|w| w.code == Code::GltfDataIgnored).map(|w| w.message.clone());
        assert_eq!(found, wanted, "{sampler}");
    }
}

#[test]
fn warns_once_per_model_about_material_extensions() {
    let mut model = model(json!({"extensions": {"KHR_materials_sheen": {}, "KHR_materials_unlit": {}}}));
    model.push("materials", json!({"extensions": {"KHR_materials_sheen": {}}}));
    model.push("materials", json!({}));
    let primitive = model.json["meshes"][0]["primitives"][0].clone();
    for material in [1, 2] {
        let mut primitive = primitive.clone();
        primitive["material"] = json!(material);
        model.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(primitive);
    }
    let warnings = model.import().unwrap().warnings;
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!((warning.code, warning.at.as_deref()), (Code::GltfMaterial, Some("/materials/0")));
    assert_eq!(
        warning.message,
        "2 materials use extensions that are not supported and are ignored: KHR_materials_sheen (2), \
         KHR_materials_unlit (1)"
    );
}
