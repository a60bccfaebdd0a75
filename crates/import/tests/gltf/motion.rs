//! Skins and animations.

use crate::model::{I16, Model};
use kiln_ir::{Animation, Interpolation, Matrix, NodeId, Property, SkinId};
use serde_json::{Value, json};

#[test]
fn imports_skins_with_inverse_bind_matrices() {
    let mut model = Model::triangle();
    model.push("nodes", json!({"children": [2]}));
    model.push("nodes", json!({}));
    let values: Vec<f32> = (0..48).map(|v| v as f32).collect();
    let matrices = model.floats("MAT4", &values);
    model.push("skins", json!({"joints": [2, 1], "inverseBindMatrices": matrices, "name": "bones"}));
    model.push("skins", json!({"joints": [1]}));
    model.json["nodes"][0]["skin"] = json!(0);
    let scene = model.scene();
    assert_eq!(scene.nodes[0].skin, Some(SkinId(0)));
    let skin = &scene.skins[0];
    assert_eq!((skin.name.as_str(), skin.joints.as_slice()), ("bones", &[NodeId(2), NodeId(1)][..]));
    assert_eq!(skin.inverse_bind.len(), 2, "more matrices than joints are allowed");
    assert_eq!(skin.inverse_bind[1][0], 16.0);
    assert_eq!(scene.skins[1].inverse_bind, [Matrix::IDENTITY.to_columns()]);
}

/// The animations of a node with one channel.
fn animated(change: impl FnOnce(&mut Model) -> Value) -> Model {
    let mut model = Model::triangle();
    let sampler = change(&mut model);
    let path = sampler["path"].clone();
    model.push(
        "animations",
        json!({"samplers": [sampler], "channels": [{"sampler": 0, "target": {"node": 0, "path": path}}]}),
    );
    model
}

fn animation(model: &Model) -> Animation {
    model.scene().animations[0].clone()
}

#[test]
fn imports_channels_of_every_property_and_interpolation() {
    for (path, property, kind, numbers) in [
        ("translation", Property::Translation, "VEC3", 3),
        ("rotation", Property::Rotation, "VEC4", 4),
        ("scale", Property::Scale, "VEC3", 3),
    ] {
        for (name, interpolation, values_per_key) in [
            ("STEP", Interpolation::Step, 1),
            ("LINEAR", Interpolation::Linear, 1),
            ("CUBICSPLINE", Interpolation::CubicSpline, 3),
        ] {
            let mut values: Vec<f32> = (0..2 * values_per_key * numbers).map(|v| v as f32).collect();
            if path == "rotation" {
                // Tangents may have any length.
                let keys = values.chunks_exact_mut(4).skip(values_per_key / 2).step_by(values_per_key);
                keys.for_each(|key| key.copy_from_slice(&[0.0, 0.6, 0.0, 0.8]));
            }
            let model = animated(|model| {
                let input = model.floats("SCALAR", &[0.5, 2.0]);
                let output = model.floats(kind, &values);
                json!({"input": input, "output": output, "interpolation": name, "path": path})
            });
            let found = &animation(&model).channels[0];
            assert_eq!(
                (found.node, found.property, found.interpolation),
                (NodeId(0), property, interpolation)
            );
            assert_eq!((&found.times, &found.values), (&vec![0.5, 2.0], &values));
            assert!(model.warnings().is_empty());
        }
    }
}

#[test]
fn default_interpolation_is_linear_and_rotations_may_be_normalized() {
    let model = animated(|model| {
        let input = model.floats("SCALAR", &[1.0]);
        let bytes: Vec<u8> = [0i16, -32767, 0, 16384].iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = model.view(&bytes);
        let output = model.accessor(view, I16, "VEC4", 1);
        model.json["accessors"][output]["normalized"] = json!(true);
        json!({"input": input, "output": output, "path": "rotation"})
    });
    let found = &animation(&model).channels[0];
    assert_eq!(found.interpolation, Interpolation::Linear);
    assert_eq!(found.values, [0.0, -1.0, 0.0, 16384.0 / 32767.0]);
}

#[test]
fn sorts_keyframes() {
    let model = animated(|model| {
        let input = model.floats("SCALAR", &[1.0, 0.0, 1.0]);
        let output = model.floats("VEC3", &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
        json!({"input": input, "output": output, "path": "scale"})
    });
    let found = &animation(&model).channels[0];
    assert_eq!(found.times, [0.0, 1.0, 1.0]);
    assert_eq!(found.values, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0]);
    assert_eq!(model.warnings(), ["gltf-keyframe-order"]);
}

#[test]
fn warns_about_unsupported_channels() {
    let mut model = animated(|model| {
        let input = model.floats("SCALAR", &[0.0]);
        let output = model.floats("VEC3", &[1.0, 2.0, 3.0]);
        json!({"input": input, "output": output, "path": "scale"})
    });
    let pointer = |text: &str| json!({"sampler": 0, "target": {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": text}}}});
    model.json["animations"][0]["channels"] = json!([
        {"sampler": 9, "target": {"node": 0, "path": "weights"}},
        {"sampler": 0, "target": {"path": "translation"}},
        pointer("/nodes/0/translation"),
        pointer("/nodes/7/translation"),
        pointer("/materials/0/alphaCutoff"),
    ]);
    let found = model.import().unwrap();
    let channels = &found.value.animations[0].channels;
    assert_eq!(channels.len(), 1);
    assert_eq!((channels[0].node, channels[0].property), (NodeId(0), Property::Translation));
    let message = "unsupported content is ignored: animated morph weights, animated properties of \"materials\", animated properties of \"nodes\", animation channels without a node";
    assert_eq!(found.warnings[0].message, message);
}
