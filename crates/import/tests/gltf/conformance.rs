//! Files that violate the specification and can be read all the same, and valid files that were once rejected.
//! What is expected of each is the verdict of the Khronos glTF validator on the same file.

use crate::imported::import;
use crate::malformed::everything;
use crate::model::{F32, Model, U8, U16, U32, base64};
use kiln_import::{Code, Diag, Severity};
use serde_json::json;

/// The only warning of a model, which has this code and names this place.
#[track_caller]
fn warns(model: &Model, code: &str, at: &str) -> Diag {
    let mut warnings = model.import().unwrap_or_else(|error| panic!("{error}")).warnings;
    // Custom attributes and cameras are valid, and lost.
    warnings.retain(|warning| warning.code != Code::GltfDataIgnored);
    let [warning] = warnings.as_slice() else { panic!("{code} is expected alone: {warnings:#?}") };
    assert_eq!((warning.code.as_str(), warning.at.as_deref().unwrap_or_default()), (code, at), "{warning}");
    assert_eq!(warning.severity(), Severity::Warning);
    assert!(warning.hint.is_some(), "{warning}");
    warning.clone()
}

fn attributes(model: &mut Model) -> &mut serde_json::Value {
    &mut model.json["meshes"][0]["primitives"][0]["attributes"]
}

/// A triangle whose vertices carry joints of this type.
fn skinned(component: u32, joints: &[u8]) -> Model {
    let mut model = everything();
    let view = model.view(joints);
    attributes(&mut model)["JOINTS_0"] = json!(model.json["accessors"].as_array().unwrap().len());
    model.accessor(view, component, "VEC4", 3);
    model.json["buffers"][0]["byteLength"] = json!(model.data.len());
    model
}

#[test]
fn reports_unsigned_int_attributes() {
    let mut model = Model::triangle();
    let custom = model.view(&[0; 36]);
    let custom = model.accessor(custom, U32, "VEC3", 3);
    attributes(&mut model)["_CUSTOM_ATTR"] = json!(custom);
    let place = "/meshes/0/primitives/0/attributes/_CUSTOM_ATTR";
    let warning = warns(&model, "gltf-attribute-type", place);
    assert!(warning.message.contains("occurrences: 1"), "{warning}");
    // Joints are read in any width.
    let joints: Vec<u8> =
        [0u32, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0].iter().flat_map(|j| j.to_le_bytes()).collect();
    let wide = skinned(U32, &joints);
    warns(&wide, "gltf-attribute-type", "/meshes/0/primitives/0/attributes/JOINTS_0");
    assert_eq!(wide.primitive().joints, everything().primitive().joints);
    let joints: Vec<u8> =
        [0u16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0].iter().flat_map(|j| j.to_le_bytes()).collect();
    assert_eq!(skinned(U16, &joints).import().unwrap().warnings, []);
}

#[test]
fn reports_positions_without_bounds_once() {
    let place = "/meshes/0/primitives/0/attributes/POSITION";
    let good = Model::triangle();
    for bound in ["min", "max"] {
        let mut model = good.clone();
        model.json["accessors"][0].as_object_mut().unwrap().remove(bound).unwrap();
        warns(&model, "gltf-position-bounds", place);
        model.json["accessors"][0][bound] = json!([0.0, 1.0]);
        warns(&model, "gltf-position-bounds", place);
        assert_eq!(model.primitive(), good.primitive());
        let primitive = model.json["meshes"][0]["primitives"][0].clone();
        model.json["meshes"][0]["primitives"] = json!(vec![primitive; 3]);
        let warning = warns(&model, "gltf-position-bounds", place);
        assert!(warning.message.contains("occurrences: 3"), "{warning}");
    }
}

#[test]
fn reports_unpaired_joints_and_weights() {
    let good = everything();
    for (name, source) in [("JOINTS_1", "JOINTS_0"), ("WEIGHTS_1", "WEIGHTS_0")] {
        let mut model = good.clone();
        let both = attributes(&mut model);
        both[name] = both[source].clone();
        warns(&model, "gltf-joint-sets", &format!("/meshes/0/primitives/0/attributes/{name}"));
        assert_eq!(model.primitive(), good.primitive());
    }
    let mut model = good.clone();
    let both = attributes(&mut model);
    both["JOINTS_1"] = both["JOINTS_0"].clone();
    both["WEIGHTS_1"] = both["WEIGHTS_0"].clone();
    assert_eq!(model.import().unwrap().warnings, []);
}

#[test]
fn reports_primitive_restart_indices() {
    for (component, restart, bytes) in [(U8, 255, vec![0, 1, 255]), (U16, 65535, vec![0, 0, 1, 0, 255, 255])]
    {
        let build = |vertices: usize, bytes: &[u8]| {
            let mut model = Model::new();
            let mut positions = vec![0.0; vertices * 3];
            positions[3] = 1.0;
            positions[vertices * 3 - 1] = 1.0;
            let positions = model.floats("VEC3", &positions);
            let indices = model.view(bytes);
            let indices = model.accessor(indices, component, "SCALAR", 3);
            model.mesh(json!([{"attributes": {"POSITION": positions}, "indices": indices}]));
            model
        };
        let model = build(restart + 1, &bytes);
        warns(&model, "gltf-primitive-restart", "/meshes/0/primitives/0/indices");
        assert_eq!(model.primitive().positions[2], [0.0, 0.0, 1.0]);
        // The value of a narrower type is a vertex like any other, and beyond the vertices it is none.
        build(restart, &bytes).rejected("gltf-index", "/meshes/0/primitives/0/indices");
    }
    let mut model = Model::new();
    let positions = model.floats("VEC3", &[0.0; 256 * 3]);
    let indices = model.shorts(&[0, 1, 255]);
    model.mesh(json!([{"attributes": {"POSITION": positions}, "indices": indices}]));
    assert_eq!(model.import().unwrap().warnings, []);
}

#[test]
fn reports_skins_on_meshes_without_joints() {
    let mut model = everything();
    let names = attributes(&mut model).as_object_mut().unwrap();
    names.retain(|name, _| name != "JOINTS_0" && name != "WEIGHTS_0");
    warns(&model, "gltf-skin-without-joints", "/nodes/0/skin");
    assert_eq!(model.primitive().joints, [[0u16; 4]; 0]);
    // A node that the scene does not reach is not read.
    model.json["scenes"][0]["nodes"] = json!([1]);
    assert_eq!(model.import().unwrap().warnings, []);
    // One primitive of two is enough.
    let mut model = everything();
    let mut primitive = model.json["meshes"][0]["primitives"][0].clone();
    primitive["attributes"]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| name != "JOINTS_0" && name != "WEIGHTS_0");
    model.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(primitive);
    warns(&model, "gltf-skin-without-joints", "/nodes/0/skin");
    // Joints without weights skin nothing.
    let mut model = everything();
    attributes(&mut model).as_object_mut().unwrap().remove("WEIGHTS_0");
    assert_eq!(model.warnings(), ["gltf-joint-sets", "gltf-skin-without-joints"]);
    // A skin without a mesh skins nothing.
    let mut model = everything();
    model.json["nodes"][1]["skin"] = json!(0);
    assert_eq!(model.import().unwrap().warnings, []);
}

#[test]
fn reports_unknown_attribute_names() {
    let named = |names: &[&str]| {
        let mut model = Model::triangle();
        let uv = model.floats("VEC2", &[0.0; 6]);
        for name in names {
            attributes(&mut model)[*name] = json!(uv);
        }
        model
    };
    for name in ["WRONG", "TEXCOORD", "TEXCOORD_01", "TEXCOORD_1", "COLOR_A"] {
        let found = named(&[name]).import().unwrap().warnings;
        let warning = found.iter().find(|warning| warning.code == Code::GltfAttributeName);
        let at = format!("/meshes/0/primitives/0/attributes/{name}");
        assert_eq!(
            warning.map(|warning| warning.at.as_deref().unwrap_or_default()),
            Some(at.as_str()),
            "{name}: {found:#?}"
        );
    }
    // A custom attribute is valid, and lost.
    let good = named(&["TEXCOORD_0", "TEXCOORD_1", "_WRONG", "EXT_other:THING"]);
    assert_eq!(good.warnings(), ["gltf-data-ignored"]);
    // A set of joints after a gap is not read.
    let mut model = everything();
    let both = attributes(&mut model);
    both["JOINTS_2"] = both["JOINTS_0"].clone();
    both["WEIGHTS_2"] = both["WEIGHTS_0"].clone();
    warns(&model, "gltf-attribute-name", "/meshes/0/primitives/0/attributes/JOINTS_2");
    assert_eq!(model.primitive(), everything().primitive());
    // A name that refers to nothing is an error, kept or not.
    let mut model = Model::triangle();
    attributes(&mut model)["COLOR_0"] = json!(99);
    model.rejected("gltf-reference", "/meshes/0/primitives/0/attributes/COLOR_0");
}

#[test]
fn reports_matrix_beside_trs() {
    let mut model = Model::triangle();
    let identity: [u8; 16] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
    model.json["nodes"][0]["matrix"] = json!(identity);
    assert_eq!(model.import().unwrap().warnings, []);
    let wanted = model.scene();
    for (name, value) in
        [("translation", json!([1, 2, 3])), ("rotation", json!([0, 0, 0, 1])), ("scale", json!([2, 2, 2]))]
    {
        let mut model = model.clone();
        model.json["nodes"][0][name] = value;
        warns(&model, "gltf-double-transform", "/nodes/0/matrix");
        assert_eq!(model.scene(), wanted);
    }
}

#[test]
fn reports_versions_without_minor_version() {
    for version in ["2", "2.", "2.x", "2.0.1"] {
        let mut model = Model::triangle();
        model.json["asset"]["version"] = json!(version);
        warns(&model, "gltf-version-form", "/asset/version");
        assert_eq!(model.scene(), Model::triangle().scene());
    }
}

#[test]
fn reports_required_extensions_not_listed_as_used() {
    let mut model = Model::triangle();
    let names = ["KHR_materials_unlit", "KHR_mesh_quantization", "KHR_lights_punctual"];
    model.json["extensionsRequired"] = json!(names);
    model.json["extensionsUsed"] = json!(names[..1]);
    let warning = warns(&model, "gltf-extension-unlisted", "/extensionsRequired/1");
    assert!(warning.message.contains("occurrences: 2"), "{warning}");
    model.json["extensionsUsed"] = json!(names);
    assert_eq!(model.import().unwrap().warnings, []);
}

#[test]
fn reports_wrong_accessor_bounds() {
    let good = Model::triangle();
    for (bound, value) in
        [("min", json!([0, 0, -1])), ("max", json!([1, 1, 0.001])), ("max", json!([1, 0.999, 0]))]
    {
        let mut model = good.clone();
        model.json["accessors"][0][bound] = value;
        warns(&model, "gltf-accessor-bounds", &format!("/accessors/0/{bound}"));
        assert_eq!(model.primitive(), good.primitive());
        // An accessor that nothing reads is not looked at.
        model.push("scenes", json!({"nodes": []}));
        model.json["scene"] = json!(1);
        assert_eq!(model.warnings(), ["gltf-scenes"]);
    }
    // Decimals are compared as the floats that they stand for.
    let mut model = Model::new();
    let positions = model.floats("VEC3", &[0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1e-7]);
    model.mesh(json!([{"attributes": {"POSITION": positions}}]));
    model.json["accessors"][positions]["max"] = json!([1.0, 1.0, 0.0000001]);
    assert_eq!(model.import().unwrap().warnings, []);
    // Indices and normalized integers are compared as they are stored.
    let mut model = good.clone();
    model.json["accessors"][1]["max"] = json!([2]);
    assert_eq!(model.import().unwrap().warnings, []);
    model.json["accessors"][1]["min"] = json!([1]);
    warns(&model, "gltf-accessor-bounds", "/accessors/1/min");
    let mut model = good.clone();
    let uv = model.view(&[0, 0, 255, 0, 0, 255, 0, 7]);
    let uv = model.accessor(uv, U8, "VEC2", 3);
    model.json["accessors"][uv]["normalized"] = json!(true);
    model.json["accessors"][uv]["max"] = json!([255, 255]);
    attributes(&mut model)["TEXCOORD_0"] = json!(uv);
    assert_eq!(model.import().unwrap().warnings, []);
    // Elements that are replaced do not count, those in their place do.
    let mut model = everything();
    model.json["accessors"][0]["max"] = json!([1, 2, 0]);
    warns(&model, "gltf-accessor-bounds", "/accessors/0/max");
    let view = &model.json["bufferViews"][model.json["bufferViews"].as_array().unwrap().len() - 1];
    let at = view["byteOffset"].as_u64().unwrap() as usize + 4;
    model.data[at..at + 4].copy_from_slice(&2.0f32.to_le_bytes());
    assert_eq!(model.import().unwrap().warnings, []);
}

#[test]
fn reports_animation_times_without_bounds() {
    for bound in ["min", "max"] {
        let mut model = everything();
        let input = model.json["animations"][0]["samplers"][0]["input"].as_u64().unwrap() as usize;
        model.json["accessors"][input].as_object_mut().unwrap().remove(bound).unwrap();
        warns(&model, "gltf-animation-bounds", "/animations/0/samplers/0/input");
        assert_eq!(model.scene(), everything().scene());
    }
}

#[test]
fn reports_rotations_and_normals_not_of_unit_length() {
    let mut model = Model::triangle();
    for (rotation, expected) in
        [([0.0, 0.0, 0.0, 1.007], false), ([0.0, 0.0, 0.0, 1.008], true), ([0.0, 0.0, 1.0, 1.0], true)]
    {
        model.json["nodes"][0]["rotation"] = json!(rotation);
        match expected {
            true => drop(warns(&model, "gltf-rotation-length", "/nodes/0/rotation")),
            false => assert_eq!(model.import().unwrap().warnings, []),
        }
    }
    // Of an animation, as many as there are.
    let mut model = everything();
    let rotations = model.floats("VEC4", &[0.0, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0]);
    model.json["buffers"][0]["byteLength"] = json!(model.data.len());
    model.json["animations"][0]["samplers"][0]["output"] = json!(rotations);
    model.json["animations"][0]["channels"][0]["target"]["path"] = json!("rotation");
    let warning = warns(&model, "gltf-rotation-length", "/animations/0/samplers/0/output");
    assert!(warning.message.contains("occurrences: 2"), "{warning}");

    let mut model = Model::triangle();
    let normals = model.floats("VEC3", &[0.0, 0.0, 1.006, 0.0, 0.0, 1.007, 0.5, 0.0, 0.0]);
    attributes(&mut model)["NORMAL"] = json!(normals);
    let warning = warns(&model, "gltf-normal-length", "/meshes/0/primitives/0/attributes/NORMAL");
    assert!(warning.message.contains("occurrences: 2"), "{warning}");
    assert_eq!(model.primitive().normals[2], [0.5, 0.0, 0.0]);
}

#[test]
fn reports_sheared_and_animated_matrices() {
    let mut model = Model::triangle();
    // A rotation by 0.6 and 0.8, and a scale that mirrors.
    let fine = [1.2, 1.6, 0.0, 0.0, -2.4, 1.8, 0.0, 0.0, 0.0, 0.0, -9.0, 0.0, 5.0, 6.0, 7.0, 1.0];
    model.json["nodes"][0]["matrix"] = json!(fine);
    assert_eq!(model.import().unwrap().warnings, []);
    for (index, value) in [(4, 2.4), (8, 0.1), (10, 0.0)] {
        let mut sheared = fine;
        sheared[index] = value;
        model.json["nodes"][0]["matrix"] = json!(sheared);
        warns(&model, "gltf-matrix-shear", "/nodes/0/matrix");
    }
    let mut model = everything();
    model.json["animations"][0]["channels"][0]["target"]["node"] = json!(2);
    warns(&model, "gltf-animated-matrix", "/nodes/2/matrix");
}

#[test]
fn accepts_later_minor_versions_if_min_version_allows() {
    let mut model = Model::triangle();
    for (version, least) in [("2.1", "2.0"), ("2.0", "2.0"), ("2.7", "1.0")] {
        model.json["asset"] = json!({"version": version, "minVersion": least});
        assert_eq!(model.import().unwrap().warnings, [], "{version} {least}");
    }
    for (least, code) in [("2.1", "gltf-version"), ("3.0", "gltf-version"), ("later", "gltf-value")] {
        model.json["asset"] = json!({"version": "3.0", "minVersion": least});
        model.json["asset"]["version"] = json!("2.1");
        model.rejected(code, "/asset/minVersion");
    }
}

#[test]
fn unused_buffers_need_no_data() {
    let model = Model::triangle();
    let wanted = model.import().unwrap();
    let inline = format!("data:application/octet-stream;base64,{}", base64(&model.data));
    let unused = [
        json!({"byteLength": 16}),
        json!({"byteLength": 16, "uri": "absent.bin"}),
        json!({"byteLength": 16, "uri": "data:application/octet-stream;base64,AA=="}),
        json!({"byteLength": 16, "uri": "../outside.bin"}),
    ];
    for buffer in unused {
        let mut model = model.clone();
        model.json["buffers"] = json!([{"byteLength": model.data.len()}, buffer]);
        // A view alone is no use either.
        model.push("bufferViews", json!({"buffer": 1, "byteLength": 16}));
        let file = |model: &Model| [("m.gltf", model.text(Some(&inline)).into_bytes())];
        assert_eq!(import("m.gltf", &file(&model)).unwrap(), wanted, "{buffer}");
        assert_eq!(model.import().unwrap(), wanted, "{buffer}");
        model.json["accessors"][1] =
            json!({"bufferView": 2, "componentType": U16, "type": "SCALAR", "count": 3});
        let error = import("m.gltf", &file(&model)).unwrap_err();
        assert!(error.at.as_deref().is_some_and(|at| at.starts_with("/buffers/1")), "{error}");
    }
    let mut model = model.clone();
    model.json["buffers"] = json!([{"byteLength": model.data.len()}, {"uri": "absent.bin"}]);
    model.rejected("gltf-value", "/buffers/1/byteLength");
}

#[test]
fn a_valid_model_has_no_warnings() {
    let mut model = everything();
    let colors = model.view(&[255; 12]);
    let colors = model.accessor(colors, U8, "VEC4", 3);
    assert_eq!(model.json["accessors"][0]["componentType"], F32);
    model.json["accessors"][colors]["normalized"] = json!(true);
    model.json["buffers"][0]["byteLength"] = json!(model.data.len());
    assert_eq!(model.import().unwrap().warnings, []);
    // Valid, and lost.
    attributes(&mut model)["_TINT"] = json!(colors);
    assert_eq!(model.warnings(), ["gltf-data-ignored"]);
}
