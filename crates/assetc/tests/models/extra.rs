//! Vertex colours, further UV sets, morph targets and nodes of compiled models, compared with an evaluation of the
//! source that shares no code with the compiler.

use crate::model::Model;
use crate::project::Compiled;
use crate::shapes::direction;
use kiln_format::hmesh::{ChunkId, Colors};
use serde_json::{Value, json};

/// The corners of a grid of n × n quads that share no vertices.
fn grid(n: u32) -> Vec<[f32; 3]> {
    let corner = |x: u32, y: u32| [x as f32, y as f32, ((x * 7 + y * 3) % 5) as f32 * 0.125];
    let quad = |i: u32| {
        let (x, y) = (i % n, i / n);
        let [a, b, c, d] = [corner(x, y), corner(x + 1, y), corner(x, y + 1), corner(x + 1, y + 1)];
        [a, b, d, a, d, c]
    };
    (0..n * n).flat_map(quad).collect()
}

fn normal([x, y, _]: [f32; 3]) -> [f32; 3] {
    normalized([x * 0.1 - 0.4, y * 0.1 - 0.4, 1.0])
}

fn normalized(v: [f32; 3]) -> [f32; 3] {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    v.map(|x| x / length)
}

fn plus(a: [f32; 3], weight: f32, b: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|axis| a[axis] + weight * b[axis])
}

#[track_caller]
fn near(found: [f32; 3], wanted: [f32; 3], tolerance: f32) {
    let far = found.iter().zip(wanted).any(|(found, wanted)| (found - wanted).abs() > tolerance);
    assert!(!far, "{found:?} is not {wanted:?}");
}

/// The displacements of position and normal by target: a twist of all vertices, and a bump of few.
fn delta(target: usize, [x, y, z]: [f32; 3]) -> [[f32; 3]; 2] {
    match target {
        0 => [[-y * 0.5, x * 0.5, 0.25], [0.2, -0.1, 0.0]],
        _ if x < 3.0 => [[0.0, 0.0, 1.0 + z], [0.0, 0.5, 0.0]],
        _ => [[0.0; 3]; 2],
    }
}

/// A primitive of the grid with all attributes.
fn primitive(model: &mut Model, n: u32, morphs: bool) -> Value {
    let points = grid(n);
    let positions = model.floats("VEC3", points.as_flattened());
    let normals = model.floats("VEC3", &points.iter().flat_map(|p| normal(*p)).collect::<Vec<_>>());
    let uv = |f: fn([f32; 3]) -> [f32; 2]| points.iter().flat_map(|p| f(*p)).collect::<Vec<_>>();
    let uvs = [uv(|[x, y, _]| [x, y]), uv(|[x, y, _]| [y, x]), uv(|[x, _, z]| [z, x])];
    let colors: Vec<f32> = points.iter().flat_map(|p| color(*p)).collect();
    let colors = model.floats("VEC4", &colors);
    let [uv0, uv1, uv2] = uvs.map(|uvs| model.floats("VEC2", &uvs));
    let attributes = json!({"POSITION": positions, "NORMAL": normals, "TEXCOORD_0": uv0, "TEXCOORD_1": uv1,
        "TEXCOORD_2": uv2, "COLOR_0": colors});
    let mut primitive = json!({"attributes": attributes});
    if morphs {
        let mut targets = Vec::new();
        for target in 0..2 {
            let list =
                |part: usize| points.iter().flat_map(|p| delta(target, *p)[part]).collect::<Vec<f32>>();
            let (moved, turned) = (model.floats("VEC3", &list(0)), model.floats("VEC3", &list(1)));
            targets.push(json!({"POSITION": moved, "NORMAL": turned}));
        }
        primitive["targets"] = json!(targets);
    }
    primitive
}

fn color([x, y, _]: [f32; 3]) -> [f32; 4] {
    [x / 255.0, y / 255.0, 1.0, 128.0 / 255.0]
}

/// Finds the point of the source for a vertex by its first UVs, which are unique.
fn source([u, v]: [f32; 2], n: u32) -> [f32; 3] {
    grid(n).into_iter().find(|p| [p[0], p[1]] == [u, v]).expect("a vertex of the source")
}

#[test]
fn colors_and_uv_sets_follow_their_vertices() {
    let mut model = Model::new();
    let mesh = primitive(&mut model, 8, false);
    model.mesh(json!([mesh]));
    let compiled = Compiled::with(&model, "mesh: {lods: 2}");
    assert!(compiled.codes().is_empty(), "{:?}", compiled.warnings);
    let view = compiled.mesh();
    assert_eq!(view.desc().vertex_count, 81, "equal vertices are welded");
    let Some(Colors::Rgba8(colors)) = view.colors() else { panic!("8 bits suffice") };
    assert_eq!(view.uv_set_count(), 3);
    for (index, vertex) in view.vertices().iter().enumerate() {
        let [x, y, z] = source(vertex.uv, 8);
        assert_eq!(colors.get(index), Some([x as u8, y as u8, 255, 128]));
        assert_eq!(view.uv_set(1).unwrap().get(index), Some([y, x]));
        assert_eq!(view.uv_set(2).unwrap().get(index), Some([z, x]));
    }
    assert!(view.morph_targets().is_empty() && view.nodes().is_empty());
}

#[test]
fn vertices_of_parts_without_colors_are_white() {
    let mut model = Model::triangle();
    let colored = primitive(&mut model, 2, false);
    model.mesh(json!([colored]));
    let plain = primitive(&mut model, 2, false);
    let positions = plain["attributes"]["POSITION"].clone();
    model.mesh(json!([{"attributes": {"POSITION": positions}}]));
    let compiled = Compiled::new(&model);
    let view = compiled.mesh();
    let colors = view.colors().unwrap();
    let submeshes: Vec<_> = view.submeshes().iter().collect();
    for (number, submesh) in submeshes.iter().enumerate() {
        for index in view.submesh_indices(submesh).iter() {
            let found = colors.get(index as usize).unwrap();
            let uv1 = view.uv_set(1).unwrap().get(index as usize).unwrap();
            match number {
                1 => assert_eq!(found[3], 128.0 / 255.0),
                _ => assert_eq!((found, uv1), ([1.0; 4], [0.0; 2])),
            }
        }
    }
}

/// A model whose node turns, mirrors and scales the mesh: the columns of its matrix.
const MATRIX: [[f32; 3]; 3] = [[0.0, 2.0, 0.0], [-0.5, 0.0, 0.25], [0.0, 0.0, -1.5]];

fn linear(v: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|row| (0..3).map(|column| MATRIX[column][row] * v[column]).sum())
}

/// The inverse transpose, up to a factor: by the cross products of the columns, with the sign of the determinant.
fn turned(v: [f32; 3]) -> [f32; 3] {
    let cross = |a: [f32; 3], b: [f32; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let [a, b, c] = MATRIX;
    let columns = [cross(b, c), cross(c, a), cross(a, b)];
    let sign = columns[0].iter().zip(a).map(|(x, y)| x * y).sum::<f32>().signum();
    normalized(std::array::from_fn(|row| (0..3).map(|column| sign * columns[column][row] * v[column]).sum()))
}

#[test]
fn morph_targets_blend_as_in_the_source() {
    let mut model = Model::new();
    let mesh = primitive(&mut model, 8, true);
    let plain = primitive(&mut model, 2, false);
    model.mesh(json!([plain]));
    let node = model.mesh(json!([mesh]));
    model.json["meshes"][1]["weights"] = json!([0.5, 0.0]);
    model.json["meshes"][1]["extras"] = json!({"targetNames": ["twist", "bump"]});
    let [a, b, c] = MATRIX;
    model.json["nodes"][node]["matrix"] =
        json!([a[0], a[1], a[2], 0.0, b[0], b[1], b[2], 0.0, c[0], c[1], c[2], 0.0, 10.0, 20.0, 30.0, 1.0]);
    let compiled = Compiled::new(&model);
    let view = compiled.mesh();
    let sets: Vec<_> = view.morph_sets().iter().collect();
    assert_eq!(sets.len(), 1);
    assert_eq!((sets[0].first_submesh, sets[0].submesh_count, sets[0].target_count), (1, 1, 2));
    let targets: Vec<_> = (0..2).map(|target| view.morph(target).unwrap()).collect();
    assert_eq!([targets[0].name, targets[1].name], ["twist", "bump"]);
    assert_eq!([targets[0].weight, targets[1].weight], [0.5, 0.0]);
    assert_eq!([targets[0].deltas.len(), targets[1].deltas.len()], [81, 27], "only vertices that move");
    for weights in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, -0.25], [2.0, 0.75]] {
        let first = view.submeshes().get(1).unwrap();
        let mut indices: Vec<u32> = view.submesh_indices(&first).iter().collect();
        indices.sort_unstable();
        indices.dedup();
        for index in indices {
            let vertex = view.vertices().get(index as usize).unwrap();
            let point = source(vertex.uv, 8);
            let (mut position, mut direction) = (vertex.position, direction(vertex.normal).map(|v| v as f32));
            let (mut wanted, mut facing) = (point, normal(point));
            for (number, weight) in weights.into_iter().enumerate() {
                let [moved, bent] = delta(number, point);
                (wanted, facing) = (plus(wanted, weight, moved), plus(facing, weight, bent));
                let target = &targets[number];
                let Some(row) = target.deltas.iter().position(|delta| delta.vertex == index) else {
                    continue;
                };
                let (moved, bent) =
                    (target.deltas.get(row).unwrap().position, target.normals.get(row).unwrap());
                (position, direction) = (plus(position, weight, moved), plus(direction, weight, bent));
            }
            near(position, plus(linear(wanted), 1.0, [10.0, 20.0, 30.0]), 1e-4);
            near(normalized(direction), turned(facing), 1e-3);
        }
    }
    let tags: Vec<String> =
        view.chunks().map(|(tag, _)| String::from_utf8_lossy(&tag).into_owned()).collect();
    assert!(!tags.contains(&ChunkId::MorphTangents.name().to_owned()), "{tags:?}");
}

#[test]
fn each_drawn_mesh_has_its_own_weights() {
    let mut model = Model::new();
    let (first, second) = (primitive(&mut model, 2, true), primitive(&mut model, 3, true));
    model.mesh(json!([first, second]));
    model.json["meshes"][0]["weights"] = json!([0.25, 0.75]);
    model.push("nodes", json!({"mesh": 0, "weights": [1.0, 0.0], "translation": [0, 0, 9]}));
    model.json["scenes"][0]["nodes"] = json!([0, 1]);
    let compiled = Compiled::new(&model);
    let view = compiled.mesh();
    let sets: Vec<_> = view.morph_sets().iter().map(|set| (set.first_submesh, set.submesh_count)).collect();
    assert_eq!(sets, [(0, 2), (2, 2)]);
    let weights: Vec<f32> = view.morph_targets().iter().map(|target| target.weight).collect();
    assert_eq!(weights, [0.25, 0.75, 1.0, 0.0]);
    // Without merge, the mesh occurs once, with the weights of the first node that draws it.
    let compiled = Compiled::with(&model, "mesh: {merge: false}");
    assert_eq!(compiled.mesh().morph_sets().len(), 1);
}

#[test]
fn animated_weights_are_named_as_a_loss() {
    let mut model = Model::new();
    let mesh = primitive(&mut model, 2, true);
    let node = model.mesh(json!([mesh]));
    let (times, values) =
        (model.floats("SCALAR", &[0.0, 1.0]), model.floats("SCALAR", &[0.0, 0.0, 1.0, 1.0]));
    let channel = json!({"sampler": 0, "target": {"node": node, "path": "weights"}});
    let sampler = json!({"input": times, "output": values});
    model.push("animations", json!({"samplers": [sampler], "channels": [channel]}));
    let compiled = Compiled::new(&model);
    assert_eq!(compiled.codes(), ["gltf-data-ignored"], "{:?}", compiled.warnings);
    assert!(compiled.warnings[0].message.contains("morph target weights"));
}

#[test]
fn nodes_keep_names_hierarchy_and_submeshes_without_merge() {
    let mut model = Model::triangle();
    model.json["nodes"][0]["name"] = json!("left");
    model.json["nodes"][0]["translation"] = json!([1, 2, 3]);
    let scale = json!([1, 2, 0.5]);
    model.push("nodes", json!({"mesh": 0, "name": "right", "rotation": [0, 0.6, 0, 0.8], "scale": scale}));
    model.push("nodes", json!({"children": [1], "name": "ünder"}));
    model.push("nodes", json!({"name": "not drawn"}));
    model.push("nodes", json!({"children": [2, 0]}));
    model.json["scenes"][0]["nodes"] = json!([4]);
    let second = model.json["meshes"][0].clone();
    model.push("meshes", second);
    model.push("nodes", json!({"mesh": 1, "name": "other"}));
    model.json["scenes"][0]["nodes"] = json!([4, 5]);
    let compiled = Compiled::with(&model, "mesh: {merge: false}");
    let view = compiled.mesh();
    let nodes: Vec<_> = view.nodes().iter().collect();
    let rows: Vec<_> = nodes
        .iter()
        .map(|node| (view.node_name(node), node.parent, node.first_submesh, node.submesh_count))
        .collect();
    let wanted =
        [("", -1, 0, 0), ("ünder", 0, 0, 0), ("right", 1, 0, 1), ("left", 0, 0, 1), ("other", -1, 1, 1)];
    assert_eq!(rows, wanted);
    assert_eq!(nodes[3].translation, [1.0, 2.0, 3.0]);
    assert_eq!((nodes[2].rotation, nodes[2].scale), ([0.0, 0.6, 0.0, 0.8], [1.0, 2.0, 0.5]));
    assert!(Compiled::new(&model).mesh().nodes().is_empty(), "merged meshes are in world space");
}
