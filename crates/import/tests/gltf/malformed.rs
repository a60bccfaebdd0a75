//! Files with one defect each: the diagnostic has the code and the place.

use crate::imported::import;
use crate::model::{F32, Model, U8};
use kiln_import::Code;
use serde_json::{Value, json};

/// A model with everything: two meshes, sparse, skin, animation, material with texture, instances.
pub(crate) fn everything() -> Model {
    let mut model = Model::triangle();
    let uv = model.floats("VEC2", &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let joints = model.view(&[0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let joints = model.accessor(joints, U8, "VEC4", 3);
    let weights = model.floats("VEC4", &[1.0, 0.0, 0.0, 0.0].repeat(3));
    let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
    attributes["TEXCOORD_0"] = json!(uv);
    attributes["JOINTS_0"] = json!(joints);
    attributes["WEIGHTS_0"] = json!(weights);
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    let identity = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let matrices = model.floats("MAT4", &identity.repeat(2));
    model.push("nodes", json!({"name": "joint", "children": [2], "translation": [1.0, 2.0, 3.0]}));
    model.push("nodes", json!({"matrix": identity}));
    model.json["scenes"][0]["nodes"] = json!([0, 1]);
    model.push("skins", json!({"joints": [1, 2], "inverseBindMatrices": matrices}));
    model.json["nodes"][0]["skin"] = json!(0);
    let times = model.floats("SCALAR", &[0.0, 1.0]);
    let moves = model.floats("VEC3", &[0.0; 6]);
    let normals = model.floats("VEC3", &[0.0, 0.0, 1.0].repeat(3));
    model.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(normals);
    model.push(
        "animations",
        json!({
            "samplers": [{"input": times, "output": moves}],
            "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}],
        }),
    );
    let view = model.view(b"an image");
    let image = model.push("images", json!({"bufferView": view, "mimeType": "image/png"}));
    model.push("samplers", json!({}));
    model.push("textures", json!({"source": image, "sampler": 0}));
    model.push("materials", json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}));
    let places = model.view(&[2]);
    let values = model.view(&[0.0f32, 1.0, 0.0].map(f32::to_le_bytes).concat());
    model.json["accessors"][0]["sparse"] = json!({
        "count": 1,
        "indices": {"bufferView": places, "componentType": U8},
        "values": {"bufferView": values},
    });
    model.json["buffers"] = json!([{"byteLength": model.data.len()}]);
    model
}

/// Sets a value of the model with everything.
fn with(pointer: &str, value: Value) -> Model {
    let mut model = everything();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match model.json.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")) {
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        object => object[key] = value,
    }
    model
}

#[test]
fn valid_model_is_accepted() {
    let found = everything().import().unwrap();
    assert_eq!(found.warnings, []);
    assert_eq!((found.value.skins.len(), found.value.animations.len(), found.value.images.len()), (1, 1, 1));
}

#[test]
fn rejects_references_out_of_range() {
    for pointer in [
        "/scenes/0/nodes/0",
        "/nodes/1/children/0",
        "/nodes/0/mesh",
        "/nodes/0/skin",
        "/meshes/0/primitives/0/indices",
        "/meshes/0/primitives/0/material",
        "/meshes/0/primitives/0/attributes/POSITION",
        "/meshes/0/primitives/0/attributes/JOINTS_0",
        "/accessors/0/bufferView",
        "/accessors/0/sparse/indices/bufferView",
        "/accessors/0/sparse/values/bufferView",
        "/bufferViews/0/buffer",
        "/skins/0/joints/1",
        "/skins/0/inverseBindMatrices",
        "/animations/0/channels/0/sampler",
        "/animations/0/channels/0/target/node",
        "/animations/0/samplers/0/input",
        "/animations/0/samplers/0/output",
        "/materials/0/pbrMetallicRoughness/baseColorTexture/index",
        "/textures/0/source",
        "/textures/0/sampler",
        "/images/0/bufferView",
    ] {
        with(pointer, json!(99)).rejected("gltf-reference", pointer);
        with(pointer, json!(-1)).rejected("gltf-value", pointer);
        with(pointer, json!(0.5)).rejected("gltf-value", pointer);
        with(pointer, json!(1e300)).rejected("gltf-value", pointer);
        with(pointer, json!("0")).rejected("gltf-value", pointer);
    }
    with("/scene", json!(5)).rejected("gltf-reference", "/scene");
}

#[test]
fn rejects_values_of_the_wrong_type() {
    for (pointer, value) in [
        ("/nodes/1/translation", json!([1, 2])),
        ("/nodes/1/name", json!(3)),
        ("/nodes/2/matrix", json!(vec![0; 15])),
        ("/nodes/1/rotation", json!("x")),
        ("/materials/0/alphaMode", json!("DITHER")),
        ("/materials/0/doubleSided", json!(1)),
        ("/materials/0/emissiveFactor", json!([0, 0, 0, 0])),
        ("/meshes/0/primitives/0/mode", json!(7)),
        ("/meshes/0/primitives/0/attributes", json!([])),
        ("/meshes/0/primitives", json!({})),
        ("/accessors/0/type", json!("VEC9")),
        ("/accessors/0/componentType", json!(5124)),
        ("/accessors/0/count", json!(-3)),
        ("/accessors/0/normalized", json!("yes")),
        ("/accessors/0/sparse/count", json!(4)),
        ("/bufferViews/0/byteLength", json!(1.5)),
        ("/buffers/0/byteLength", json!("long")),
        ("/animations/0/samplers/0/interpolation", json!("SMOOTH")),
        ("/animations/0/channels/0/target/path", json!("colour")),
        ("/nodes", json!({})),
        ("/meshes", json!("none")),
        ("/extensionsRequired", json!("KHR_x")),
    ] {
        with(pointer, value).rejected("gltf-value", pointer);
    }
    with("/nodes/1/translation", json!([1, 2, 1e39])).rejected("gltf-value", "/nodes/1/translation/2");
    with("/nodes/2/matrix/3", json!(1)).rejected("gltf-value", "/nodes/2/matrix");
}

#[test]
fn rejects_missing_members() {
    for pointer in [
        "/asset",
        "/asset/version",
        "/accessors/0/count",
        "/accessors/0/componentType",
        "/accessors/0/type",
        "/accessors/0/sparse/count",
        "/accessors/0/sparse/indices",
        "/accessors/0/sparse/values/bufferView",
        "/bufferViews/0/buffer",
        "/bufferViews/0/byteLength",
        "/buffers/0/byteLength",
        "/meshes/0/primitives/0/attributes",
        "/materials/0/pbrMetallicRoughness/baseColorTexture/index",
        "/animations/0/channels/0/target",
        "/animations/0/channels/0/target/path",
        "/animations/0/samplers/0/input",
    ] {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let mut model = everything();
        model.json.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key).unwrap();
        model.rejected("gltf-value", pointer);
    }
    with("/images/0/bufferView", Value::Null).rejected("gltf-value", "/images/0");
}

#[test]
fn rejects_elements_outside_of_their_view() {
    let accessor = "gltf-accessor";
    with("/accessors/1/count", json!(300)).rejected(accessor, "/accessors/1");
    with("/accessors/1/count", json!(1u64 << 52)).rejected(accessor, "/accessors/1");
    with("/accessors/1/byteOffset", json!(2)).rejected(accessor, "/accessors/1");
    with("/accessors/1/byteOffset", json!((1u64 << 53) - 1)).rejected(accessor, "/accessors/1");
    with("/bufferViews/0/byteStride", json!(100)).rejected(accessor, "/accessors/0");
    with("/bufferViews/0/byteStride", json!(8)).rejected(accessor, "/accessors/0");
    with("/bufferViews/0/byteStride", json!((1u64 << 53) - 1)).rejected(accessor, "/accessors/0");
    with("/accessors/0/sparse/indices/byteOffset", json!(1))
        .rejected(accessor, "/accessors/0/sparse/indices");
    with("/accessors/0/sparse/values/byteOffset", json!(1)).rejected(accessor, "/accessors/0/sparse/values");
    let buffer = "gltf-buffer";
    with("/bufferViews/0/byteOffset", json!(1 << 20)).rejected(buffer, "/bufferViews/0");
    with("/bufferViews/0/byteLength", json!((1u64 << 53) - 1)).rejected(buffer, "/bufferViews/0");
    with("/buffers/0/byteLength", json!(1 << 20)).rejected(buffer, "/buffers/0");
    let mut model = everything();
    model.data.truncate(model.data.len() - 8);
    model.rejected(buffer, "/buffers/0");
}

#[test]
fn rejects_elements_of_the_wrong_type_or_count() {
    let accessor = "gltf-accessor";
    with("/accessors/0/type", json!("VEC2")).rejected(accessor, "/accessors/0");
    with("/accessors/1/componentType", json!(5122)).rejected(accessor, "/accessors/1");
    let attributes = "/meshes/0/primitives/0/attributes";
    with(&format!("{attributes}/TEXCOORD_0"), json!(1)).rejected(accessor, "/accessors/1");
    with("/accessors/2/count", json!(2)).rejected(accessor, &format!("{attributes}/TEXCOORD_0"));
    with("/accessors/3/count", json!(2)).rejected(accessor, &format!("{attributes}/JOINTS_0"));
    with("/accessors/5/count", json!(1)).rejected(accessor, "/skins/0/inverseBindMatrices");
    with("/accessors/7/count", json!(1)).rejected(accessor, "/accessors/7");
    with("/animations/0/samplers/0/interpolation", json!("CUBICSPLINE")).rejected(accessor, "/accessors/7");
    with("/accessors/6/count", json!(0)).rejected(accessor, "/accessors/6");
}

#[test]
fn rejects_index_out_of_range() {
    let mut model = everything();
    let bad = model.shorts(&[0, 1, 3]);
    model.json["meshes"][0]["primitives"][0]["indices"] = json!(bad);
    model.json["buffers"][0]["byteLength"] = json!(model.data.len());
    let error = model.rejected("gltf-index", "/meshes/0/primitives/0/indices");
    assert!(
        error.message.contains("index 3, which is out of range: the primitive has 3 vertices"),
        "{error}"
    );
    let mut model = everything();
    let incomplete = model.shorts(&[0, 1, 2, 0]);
    model.json["meshes"][0]["primitives"][0]["indices"] = json!(incomplete);
    model.json["buffers"][0]["byteLength"] = json!(model.data.len());
    model.rejected("gltf-index", "/meshes/0/primitives/0/indices");
    let mut model = everything();
    let place = model.json["bufferViews"].as_array().unwrap().len() - 2;
    let at = model.json["bufferViews"][place]["byteOffset"].as_u64().unwrap() as usize;
    model.data[at] = 3;
    model.rejected("gltf-accessor", "/accessors/0/sparse/indices");
}

#[test]
fn rejects_numbers_that_are_not_finite() {
    for (value, accessor, view) in [(f32::NAN, 0, 0), (f32::INFINITY, 2, 2), (f32::NEG_INFINITY, 6, 6)] {
        let mut model = everything();
        model.json["accessors"][0].as_object_mut().unwrap().remove("sparse");
        let at = model.json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize + 4;
        model.data[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let error = model.rejected("gltf-not-finite", &format!("/accessors/{accessor}"));
        assert!(error.message.starts_with("element "), "{error}");
    }
}

#[test]
fn rejects_cyclic_node_graphs() {
    let model = "gltf-model";
    with("/nodes/2/children", json!([1])).rejected(model, "/scenes/0/nodes/1");
    with("/nodes/2/children", json!([2])).rejected(model, "/nodes/2/children");
    with("/nodes/0/children", json!([2])).rejected(model, "/nodes/1/children");
    with("/scenes/0/nodes", json!([0, 0])).rejected(model, "/scenes/0/nodes/1");
    with("/scenes/0/nodes", json!([2])).rejected(model, "/scenes/0/nodes/0");
    let mut ring = with("/nodes/2/children", json!([1]));
    ring.json["scenes"][0]["nodes"] = json!([0]);
    ring.rejected(model, "/nodes");
    let mut deep = Model::triangle();
    for node in 1..2000 {
        deep.push("nodes", json!({"children": [node - 1]}));
    }
    deep.json["scenes"][0]["nodes"] = json!([1999]);
    deep.rejected(model, "/nodes/975");
}

#[test]
fn rejects_joint_index_out_of_range() {
    let error = with("/skins/0/joints", json!([1])).rejected("gltf-model", "/nodes/0/skin");
    assert!(error.message.contains("joint index 1"), "{error}");
    with("/skins/0/joints", json!([])).rejected("gltf-model", "/skins/0/joints");
}

#[test]
fn rejects_unsupported_versions_and_damaged_containers() {
    with("/asset/version", json!("1.0")).rejected("gltf-version", "/asset/version");
    let good = everything().glb();
    for end in [5, 11, 13, 100, good.len() - 1] {
        let error = import("m.glb", &[("m.glb", good[..end].to_vec())]).unwrap_err();
        assert_eq!(error.code, Code::GltfContainer, "{end}");
    }
    let error =
        import("m.gltf", &[("m.gltf", b"{\"asset\": {\"version\": \"2.0\"},\n}".to_vec())]).unwrap_err();
    assert_eq!(
        (
            error.code.as_str(),
            error.at.as_deref().unwrap_or_default(),
            error.path.as_deref().unwrap_or_default()
        ),
        ("gltf-json", "2:1", "m.gltf")
    );
    let error = import("m.gltf", &[("m.gltf", b"not JSON".to_vec())]).unwrap_err();
    assert_eq!(error.code, Code::GltfJson);
}

#[test]
fn counts_alone_allocate_no_memory() {
    // Without a view, nothing says how many elements there can be but the limit.
    let mut model = Model::new();
    let huge = model.push("accessors", json!({"componentType": F32, "type": "VEC3", "count": 1u64 << 40}));
    model.data = vec![0; 4];
    model.mesh(json!([{"attributes": {"POSITION": huge}}]));
    model.rejected("memory-limit", "/meshes/0/primitives/0");
    let index = model.shorts(&[0, 1, 2]);
    model.json["meshes"][0]["primitives"][0]["indices"] = json!(index);
    assert_eq!(model.primitive().positions.len(), 3, "only vertices that are used count");
    // Nor does one accessor that is used often.
    let mut model = Model::triangle();
    model.json["accessors"][0] = json!({"componentType": F32, "type": "VEC3", "count": 3_000_000});
    let primitive = json!({"attributes": {"POSITION": 0}});
    model.json["meshes"][0]["primitives"] = json!(vec![primitive; 1000]);
    let error = model.import().unwrap_err();
    assert_eq!(error.code, Code::MemoryLimit);
}
