//! Materials: factors, textures, extensions.

use crate::model::Model;
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
        transmission_factor: 0.0,
        transmission_texture: None,
        unsupported: vec![],
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
fn converts_specular_glossiness_without_metallic_roughness() {
    let glossy = json!({"KHR_materials_pbrSpecularGlossiness": {
        "diffuseFactor": [0.5, 0.25, 0.125, 1.0],
        "diffuseTexture": {"index": 1},
        "glossinessFactor": 0.75,
    }});
    let found = material(json!({"extensions": glossy}));
    assert_eq!(found.base_color_factor, [0.5, 0.25, 0.125, 1.0]);
    assert_eq!((found.metallic_factor, found.roughness_factor), (0.0, 0.25));
    assert_eq!(found.texture(Slot::BaseColor), Some(ImageId(1)));
    let found = material(json!({"extensions": glossy, "pbrMetallicRoughness": {"metallicFactor": 0.5}}));
    assert_eq!((found.metallic_factor, found.texture(Slot::BaseColor)), (0.5, None));
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
fn warns_about_wrap_modes_when_uvs_leave_the_texture() {
    let mut model = model(json!({"emissiveTexture": {"index": 0}}));
    model.push("samplers", json!({"wrapS": 33071}));
    model.json["textures"][0]["sampler"] = json!(0);
    for (largest, lost) in [(1.0, false), (1.5, true)] {
        let uv = model.floats("VEC2", &[0.0, 0.0, largest, 0.0, 0.0, 1.0]);
        model.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"] = json!(uv);
        let warnings = model.import().unwrap().warnings;
        assert_eq!(
            warnings.iter().any(|w| w.message == "unsupported content is ignored: texture wrapping"),
            lost,
            "{warnings:?}"
        );
    }
}
