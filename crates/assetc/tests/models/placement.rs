//! Transforms: nodes, mirrors, instances and scenes.

use crate::model::Model;
use crate::project::{Compiled, Project};
use crate::shapes::{assert_frames, quad};
use serde_json::json;

/// Returns the minimum corner of the bounds of each submesh.
fn corners(compiled: &Compiled) -> Vec<[f32; 3]> {
    compiled.mesh().submeshes().iter().map(|submesh| submesh.bounds.aabb_min).collect()
}

#[test]
fn mirrored_nodes_keep_winding_and_uvs() {
    for (authored, scale) in [
        (false, [1.0, 1.0, 1.0]),
        (false, [-1.0, 1.0, 1.0]),
        (true, [1.0, -2.0, 1.0]),
        (true, [-1.0, -3.0, -0.5]),
        (true, [-1.0, -1.0, 1.0]),
    ] {
        let mut model = Model::new();
        let mut primitive = quad(&mut model);
        if authored {
            primitive["attributes"]["TANGENT"] = json!(model.floats("VEC4", &[1.0, 0.0, 0.0, 1.0].repeat(4)));
        }
        let node = model.mesh(json!([primitive]));
        model.json["nodes"][node]["scale"] = json!(scale);
        let compiled = Compiled::new(&model);
        assert!(compiled.mesh().has_tangents());
        let triangles = compiled.triangles(0);
        assert_eq!(triangles.len(), 2);
        compiled.corners(0).iter().for_each(assert_frames);
        // A face towards +z still faces +z or, mirrored, -z.
        let normal = crate::shapes::direction(triangles[0][0].normal);
        assert_eq!(normal[2] > 0.0, scale[2] > 0.0);
    }
}

#[test]
fn two_mirrors_cancel() {
    let mut model = Model::new();
    let primitive = quad(&mut model);
    let node = model.mesh(json!([primitive]));
    model.json["nodes"][node]["scale"] = json!([-1, 1, 1]);
    let above = model.push("nodes", json!({"scale": [1, 1, -1], "children": [node]}));
    model.json["scenes"][0]["nodes"] = json!([above]);
    let compiled = Compiled::new(&model);
    compiled.corners(0).iter().for_each(assert_frames);
    assert!(crate::shapes::direction(compiled.triangles(0)[0][0].normal)[2] < 0.0);
}

/// One mesh at two nodes, one of which is the child of a translated node.
fn twice() -> Model {
    let mut model = Model::triangle();
    model.json["nodes"][0]["translation"] = json!([1, 0, 0]);
    model.push("nodes", json!({"mesh": 0, "translation": [0, 5, 0]}));
    model.push("nodes", json!({"children": [1], "translation": [0, 0, 7]}));
    model.json["scenes"][0]["nodes"] = json!([2, 0]);
    model
}

#[test]
fn merge_places_instances_in_node_order() {
    let compiled = Compiled::new(&twice());
    assert_eq!(corners(&compiled), [[0.0, 5.0, 7.0], [1.0, 0.0, 0.0]]);
}

#[test]
fn without_merge_each_mesh_occurs_once() {
    let compiled = Compiled::with(&twice(), "mesh: {merge: false}");
    assert_eq!(corners(&compiled), [[0.0; 3]]);
    // Also a mesh whose node mirrors it.
    let mut model = Model::new();
    let primitive = quad(&mut model);
    let node = model.mesh(json!([primitive]));
    model.json["nodes"][node]["scale"] = json!([-1, 1, 1]);
    let compiled = Compiled::with(&model, "mesh: {merge: false}");
    compiled.corners(0).iter().for_each(assert_frames);
    assert_eq!(corners(&compiled), [[0.0; 3]]);
}

#[test]
fn instances_are_relative_to_their_node() {
    let mut model = Model::triangle();
    let at = model.floats("VEC3", &[0.0, 0.0, 0.0, 10.0, 0.0, 0.0, 20.0, 0.0, 0.0]);
    let scales = model.floats("VEC3", &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, -1.0, 1.0, 1.0]);
    model.json["nodes"][0]["translation"] = json!([0, 3, 0]);
    model.json["nodes"][0]["extensions"] =
        json!({"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": at, "SCALE": scales}}});
    model.json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
    let compiled = Compiled::new(&model);
    assert_eq!(corners(&compiled), [[0.0, 3.0, 0.0], [10.0, 3.0, 0.0], [19.0, 3.0, 0.0]]);
    let widths: Vec<f32> = (compiled.mesh().submeshes().iter())
        .map(|submesh| submesh.bounds.aabb_max[0] - submesh.bounds.aabb_min[0])
        .collect();
    assert_eq!(widths, [1.0, 2.0, 1.0]);
    assert_eq!(corners(&Compiled::with(&model, "mesh: {merge: false}")), [[0.0; 3]]);
}

#[test]
fn compiles_only_the_default_scene() {
    let mut model = Model::triangle();
    model.push("nodes", json!({"mesh": 0, "translation": [50, 0, 0]}));
    model.push("scenes", json!({"nodes": [1]}));
    let compiled = Compiled::new(&model);
    assert_eq!((corners(&compiled), compiled.codes()), (vec![[0.0; 3]], vec!["gltf-scenes"]));
    model.json["scene"] = json!(1);
    assert_eq!(corners(&Compiled::new(&model)), [[50.0, 0.0, 0.0]]);
}

#[test]
fn model_without_triangles_is_a_warning() {
    let mut points = Model::triangle();
    points.json["meshes"][0]["primitives"][0]["mode"] = json!(0);
    for (model, expected) in
        [(points, vec!["gltf-no-triangles", "mesh-empty"]), (Model::new(), vec!["mesh-empty"])]
    {
        let project = Project::with(&[("dots.glb", &model.glb())]);
        let report = project.built();
        let codes: Vec<&str> =
            report.assets[0].warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, expected);
        assert_eq!(project.outputs(), ["assets.hman"]);
    }
}

#[test]
fn keeps_degenerate_triangles() {
    // A degenerate triangle with collinear vertices, beside a regular one.
    let mut model = Model::new();
    let positions = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0]);
    let indices = model.shorts(&[0, 1, 2, 0, 1, 3]);
    model.mesh(json!([{"attributes": {"POSITION": positions}, "indices": indices}]));
    let compiled = Compiled::new(&model);
    assert_eq!(compiled.triangles(0).len(), 2);
}
