//! Skinned models, evaluated from the source and from the compiled files.

use crate::model::{Model, U8, U16};
use crate::pose::{self, Mat, Source, Splines, apply, assert_near, mul, trs};
use crate::project::Compiled;
use crate::shapes::{Corner, Vec3, assert_frames, quad, sub, unit};
use kiln_engine::Code;
use kiln_format::hanim::{HanimView, Interp};
use serde_json::{Value, json};

/// Keeps the triangle order of the source, so that triangles can be compared one by one.
const SETTINGS: &str = "mesh: {optimize: false, lods: false}";

/// The tolerance relative to the extent: rounding to `f32` along a chain of joints.
const CLOSE: f64 = 1e-5;

/// Pseudo-random numbers from -1 to 1.
struct Chance(u32);

impl Chance {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    fn list(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }

    fn quaternion(&mut self) -> Vec<f32> {
        let q = self.list(4);
        let length = q.iter().map(|v| v * v).sum::<f32>().sqrt();
        q.iter().map(|v| v / length).collect()
    }
}

/// The nodes of [`rig`].
const ARMATURE: usize = 0;
const HIP: usize = 1;
const BETWEEN: usize = 2;
const KNEE: usize = 3;
const FOOT: usize = 4;
const BODY: usize = 5;

/// An armature, a joint, an intermediate node, a joint, a joint; and a body that is skinned to the three joints, in another
/// order.
fn rig() -> Model {
    let mut chance = Chance(7);
    let mut model = Model::new();
    let skin = skinned(&mut model, &mut chance, 3);
    model.mesh(json!([skin]));
    let mut node = |children: &[usize]| json!({"translation": chance.list(3), "rotation": chance.quaternion(), "children": children});
    let nodes = [node(&[HIP, BODY]), node(&[BETWEEN]), node(&[KNEE]), node(&[FOOT]), node(&[])];
    // The transform of the node of a skinned mesh is ignored.
    let body = json!({"mesh": 0, "skin": 0, "translation": [100, 200, 300], "scale": [5, 5, 5]});
    model.json["nodes"] = json!(nodes.into_iter().chain([body]).collect::<Vec<_>>());
    for node in [ARMATURE, HIP, BETWEEN, KNEE, FOOT] {
        if model.json["nodes"][node]["children"] == json!([]) {
            model.json["nodes"][node].as_object_mut().unwrap().remove("children");
        }
    }
    model.json["nodes"][KNEE]["scale"] = json!([1.5, 0.75, 1.25]);
    model.json["scenes"] = json!([{"nodes": [ARMATURE]}]);
    let inverse: Vec<f32> = (0..3).flat_map(|_| affine(&mut chance)).collect();
    let inverse = model.floats("MAT4", &inverse);
    model.push("skins", json!({"joints": [FOOT, HIP, KNEE], "inverseBindMatrices": inverse}));
    model
}

/// A matrix with rotation, translation and uniform scale.
fn affine(chance: &mut Chance) -> Vec<f32> {
    let wide = |list: Vec<f32>| -> Vec<f64> { list.into_iter().map(f64::from).collect() };
    let (t, q) = (wide(chance.list(3)), wide(chance.quaternion()));
    let s = 1.0 + 0.5 * f64::from(chance.next());
    trs(&t, &q, &[s; 3]).as_flattened().iter().map(|v| *v as f32).collect()
}

const VERTICES: usize = 12;

/// Triangles whose vertices are skinned to up to four of the first `joints` joints, with `u16` indices and `f32` weights.
fn skinned(model: &mut Model, chance: &mut Chance, joints: u16) -> Value {
    let positions = chance.list(3 * VERTICES);
    let numbers: Vec<u16> = (0..4 * VERTICES)
        .map(|_| ((chance.next() + 1.0) / 2.0 * f32::from(joints)) as u16 % joints)
        .collect();
    // The weights are not normalised, and one vertex has none.
    let weights: Vec<f32> =
        (0..4 * VERTICES).map(|n| if n / 4 == 5 { 0.0 } else { chance.next().max(0.0) }).collect();
    let positions = model.floats("VEC3", &positions);
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let view = model.view(&bytes);
    let numbers = model.accessor(view, U16, "VEC4", VERTICES);
    let weights = model.floats("VEC4", &weights);
    let attributes = json!({"POSITION": positions, "JOINTS_0": numbers, "WEIGHTS_0": weights});
    json!({"attributes": attributes, "indices": indices(model)})
}

fn indices(model: &mut Model) -> usize {
    let indices: Vec<u16> = (0..VERTICES as u16 - 2).flat_map(|n| [n, n + 1, n + 2]).collect();
    model.shorts(&indices)
}

/// Triangles without a skin.
fn rigid(model: &mut Model, chance: &mut Chance) -> Value {
    let positions = chance.list(3 * VERTICES);
    let positions = model.floats("VEC3", &positions);
    json!({"attributes": {"POSITION": positions}, "indices": indices(model)})
}

/// Node, path, interpolation, times, values.
type Channel<'a> = (usize, &'a str, &'a str, &'a [f32], &'a [f32]);

/// Adds an animation with these channels.
fn animate(model: &mut Model, channels: &[Channel<'_>]) {
    let mut samplers = Vec::new();
    let mut targets = Vec::new();
    for (n, (node, path, way, times, values)) in channels.iter().enumerate() {
        let input = model.floats("SCALAR", times);
        let output = model.floats(if *path == "rotation" { "VEC4" } else { "VEC3" }, values);
        samplers.push(json!({"input": input, "output": output, "interpolation": way}));
        targets.push(json!({"sampler": n, "target": {"node": node, "path": path}}));
    }
    model.push("animations", json!({"samplers": samplers, "channels": targets}));
}

/// The rig with every property of every joint animated, with step and linear interpolation.
fn moving() -> Model {
    let mut model = rig();
    let mut chance = Chance(99);
    let turns: Vec<f32> = (0..4).flat_map(|_| chance.quaternion()).collect();
    // Quaternions with a negative dot product, as they occur in files.
    let back: Vec<f32> =
        turns[..4].iter().chain(&turns[4..8].iter().map(|v| -v).collect::<Vec<_>>()).copied().collect();
    let (moves, sizes) = (chance.list(9), chance.list(6).iter().map(|v| v + 2.0).collect::<Vec<_>>());
    animate(
        &mut model,
        &[
            (HIP, "rotation", "LINEAR", &[0.0, 0.3, 0.9, 2.0], &turns),
            (HIP, "translation", "LINEAR", &[0.25, 0.5, 1.5], &moves),
            (KNEE, "rotation", "LINEAR", &[0.0, 1.0], &back),
            (KNEE, "scale", "LINEAR", &[0.5, 1.0], &sizes),
            (FOOT, "translation", "STEP", &[0.0, 0.7, 1.1], &moves),
            (FOOT, "rotation", "STEP", &[0.1, 0.2, 0.6, 1.9], &turns),
        ],
    );
    model
}

/// Evaluates source and output in the bind pose and throughout an animation, and compares every vertex.
#[track_caller]
fn assert_same(model: &Model, settings: &str, splines: Splines, share: f64) -> Compiled {
    assert_same_with(model, &format!("{SETTINGS}{settings}"), splines, share)
}

/// As [`assert_same`], with all settings.
#[track_caller]
fn assert_same_with(model: &Model, settings: &str, splines: Splines, share: f64) -> Compiled {
    let compiled = Compiled::with(model, settings);
    let mesh = compiled.mesh();
    let source = Source(model);
    let check = |wanted: Vec<Vec<[Vec3; 3]>>, joints: &[Mat], what: &str| {
        let found = pose::triangles(&mesh, joints);
        assert_eq!(found.len(), wanted.len());
        for (wanted, found) in wanted.iter().zip(&found) {
            assert_near(found, wanted, share, what);
        }
    };
    check(source.triangles(None), &pose::joints(&mesh, None), "at rest");
    if model.json.get("animations").is_none() {
        return compiled;
    }
    let bytes = compiled.project.out("models/Chair.hanim");
    let clips = HanimView::read(&bytes).unwrap();
    let animations = model.json["animations"].as_array().unwrap().len();
    assert_eq!(clips.len(), animations);
    for clip in 0..animations {
        for step in 0..=47 {
            // Between the keys, and after the end.
            let time = f64::from(step) * 0.0501;
            let joints = pose::joints(&mesh, Some((&clips, clip, time)));
            check(source.triangles(Some((clip, time, splines))), &joints, &format!("clip {clip} at {time}"));
        }
    }
    compiled
}

#[test]
fn folds_intermediate_nodes_into_joints() {
    let compiled = assert_same(&moving(), "", Splines::Follow, CLOSE);
    let mesh = compiled.mesh();
    let parents: Vec<i32> = mesh.joints().iter().map(|joint| joint.parent).collect();
    assert_eq!(parents, [2, -1, 1], "in the order of the skin");
    assert_eq!(compiled.codes(), ["mesh-zero-weights"]);
    let bytes = compiled.project.out("models/Chair.hanim");
    let clip = HanimView::read(&bytes).unwrap().clips().next().unwrap();
    assert_eq!((clip.name, clip.duration), ("anim_0", 2.0));
    let reported: Vec<(u32, Interp, usize)> =
        clip.channels().map(|channel| (channel.joint, channel.interp, channel.keys.len())).collect();
    let (step, linear) = (Interp::Step, Interp::Linear);
    assert_eq!(
        reported,
        [(1, linear, 4), (1, linear, 3), (2, linear, 2), (2, linear, 2), (0, step, 3), (0, step, 4)]
    );
}

#[test]
fn armature_may_rotate_scale_and_mirror() {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    for armature in [
        json!({"rotation": [-half, 0.0, 0.0, half], "scale": [100, 100, 100]}),
        json!({"rotation": [-half, 0.0, 0.0, half], "scale": [0.01, 0.01, 0.01], "translation": [1, 2, 3]}),
        json!({"scale": [-2, -2, -2]}),
        json!({"scale": [-1, 1, 1], "rotation": [0.5, 0.5, 0.5, 0.5]}),
        json!({"matrix": [0, 0, 2, 0, 2, 0, 0, 0, 0, -2, 0, 0, 4, 5, 6, 1]}),
    ] {
        for node in [ARMATURE, BETWEEN] {
            let mut model = moving();
            let children = model.json["nodes"][node]["children"].clone();
            model.json["nodes"][node] = armature.clone();
            model.json["nodes"][node]["children"] = children;
            let compiled = assert_same(&model, "", Splines::Follow, CLOSE);
            assert_eq!(compiled.codes(), ["mesh-zero-weights"], "{armature}");
        }
    }
}

#[test]
fn non_uniform_scale_above_unrotated_joint_is_exact_in_bind_pose() {
    let mut model = rig();
    model.json["nodes"][HIP].as_object_mut().unwrap().remove("rotation");
    model.json["nodes"][ARMATURE]["scale"] = json!([1.0, 2.0, 3.0]);
    let compiled = assert_same(&model, "", Splines::Follow, CLOSE);
    assert_eq!(compiled.codes(), ["skeleton-shear", "mesh-zero-weights"]);
}

#[test]
fn missing_inverse_bind_matrices_are_identity() {
    let mut model = moving();
    model.json["skins"][0].as_object_mut().unwrap().remove("inverseBindMatrices");
    assert_same(&model, "", Splines::Follow, CLOSE);
}

#[test]
fn joints_may_have_matrices_and_several_roots() {
    let mut model = rig();
    let matrix = trs(&[1.0, 2.0, 3.0], &[0.5, -0.5, 0.5, 0.5], &[-2.0, 1.0, 0.5]);
    let children = model.json["nodes"][KNEE]["children"].clone();
    model.json["nodes"][KNEE] = json!({"matrix": matrix.as_flattened(), "children": children});
    assert_same(&model, "", Splines::Follow, CLOSE);

    // The foot is a root beside the armature, and the knee is below a node that is in no scene.
    let mut model = moving();
    model.json["nodes"][KNEE].as_object_mut().unwrap().remove("children");
    model.json["nodes"][BETWEEN].as_object_mut().unwrap().remove("children");
    let above = model.push("nodes", json!({"translation": [0, 9, 0], "children": [KNEE]}));
    model.json["scenes"][0]["nodes"] = json!([ARMATURE, FOOT]);
    let compiled = assert_same(&model, "", Splines::Follow, CLOSE);
    assert_eq!(compiled.mesh().joints().iter().map(|joint| joint.parent).collect::<Vec<_>>(), [-1; 3]);
    assert_eq!(above, 6);
}

#[test]
fn reads_byte_joints_and_normalised_weights() {
    for (component, size) in [(U8, 1), (U16, 2)] {
        let mut model = moving();
        let mut chance = Chance(3);
        let bytes = |values: Vec<u16>| -> Vec<u8> {
            values.iter().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect()
        };
        let joints: Vec<u16> = (0..4 * VERTICES as u16).map(|n| (n * 7 + n / 4) % 3).collect();
        let most = if size == 1 { 255.0 } else { 65535.0 };
        let weights: Vec<u16> = chance.list(4 * VERTICES).iter().map(|v| (v.abs() * most) as u16).collect();
        let view = model.view(&bytes(joints));
        let joints = model.accessor(view, component, "VEC4", VERTICES);
        let view = model.view(&bytes(weights));
        let weights = model.accessor(view, component, "VEC4", VERTICES);
        model.json["accessors"][weights]["normalized"] = json!(true);
        let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
        attributes["JOINTS_0"] = json!(joints);
        attributes["WEIGHTS_0"] = json!(weights);
        let compiled = assert_same(&model, "", Splines::Follow, CLOSE);
        assert!(compiled.codes().is_empty());
    }
}

#[test]
fn keeps_four_strongest_influences() {
    // A chain of eight joints, and vertices that are skinned to all of them.
    let mut model = rig();
    let mut chance = Chance(11);
    for n in 0..5 {
        let above = if n == 0 { FOOT } else { 5 + n };
        let node =
            model.push("nodes", json!({"translation": chance.list(3), "rotation": chance.quaternion()}));
        model.json["nodes"][above]["children"] = json!([node]);
    }
    model.json["skins"] = json!([{"joints": [FOOT, HIP, KNEE, 6, 7, 8, 9, 10]}]);
    for set in 0..2u16 {
        let numbers: Vec<u8> =
            (0..VERTICES).flat_map(|_| (0..4).flat_map(|n| (4 * set + n).to_le_bytes())).collect();
        let view = model.view(&numbers);
        let joints = model.accessor(view, U16, "VEC4", VERTICES);
        let weights: Vec<f32> = chance.list(4 * VERTICES).iter().map(|v| v.abs() + 0.01).collect();
        let weights = model.floats("VEC4", &weights);
        let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
        attributes[format!("JOINTS_{set}")] = json!(joints);
        attributes[format!("WEIGHTS_{set}")] = json!(weights);
    }
    let compiled = assert_same(&model, "", Splines::Follow, CLOSE);
    assert_eq!(compiled.codes(), ["gltf-influences"]);
    assert!(compiled.mesh().skin().iter().any(|vertex| vertex.joints.iter().any(|joint| *joint > 3)));
}

/// Adds a mesh with a skin of its own to [`moving`].
fn two_skins(joints: &[usize]) -> Model {
    let mut model = moving();
    let mut chance = Chance(21);
    let primitive = skinned(&mut model, &mut chance, joints.len() as u16);
    let mesh = model.push("meshes", json!({"primitives": [primitive]}));
    let inverse: Vec<f32> = (0..joints.len()).flat_map(|_| affine(&mut chance)).collect();
    let inverse = model.floats("MAT4", &inverse);
    model.push("skins", json!({"joints": joints, "inverseBindMatrices": inverse}));
    let second = model.push("nodes", json!({"mesh": mesh, "skin": 1, "translation": [9, 9, 9]}));
    model.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(second));
    model
}

#[test]
fn all_skins_move_as_in_the_source() {
    // Joints that both skins have, and a joint of the second skin below an intermediate node and a joint of the first.
    for joints in [&[KNEE, HIP][..], &[BETWEEN, FOOT], &[FOOT]] {
        let model = two_skins(joints);
        let settings = "mesh: {optimize: false, lods: false, skins: all}";
        let compiled = assert_same_with(&model, settings, Splines::Follow, CLOSE);
        assert_eq!(compiled.mesh().joints().len(), 3 + joints.len());
        assert_eq!(compiled.codes(), ["mesh-zero-weights"], "{:?}", compiled.warnings);
    }
    // A skin that no mesh uses is written, too.
    let mut model = moving();
    model.push("skins", json!({"joints": [ARMATURE, BETWEEN]}));
    let settings = "mesh: {optimize: false, lods: false, skins: all}";
    let compiled = assert_same_with(&model, settings, Splines::Follow, CLOSE);
    assert_eq!(compiled.mesh().joints().len(), 5);
}

#[test]
fn other_skins_stay_in_their_bind_pose() {
    let model = two_skins(&[KNEE, HIP]);
    let compiled = Compiled::with(&model, SETTINGS);
    assert!(compiled.codes().contains(&"gltf-second-skin"), "{:?}", compiled.warnings);
    let view = compiled.mesh();
    let source = Source(&model);
    let rest = source.triangles(None);
    let found = pose::triangles(&view, &pose::joints(&view, None));
    for (found, wanted) in found.iter().zip(&rest) {
        assert_near(found, wanted, CLOSE, "at rest");
    }
    assert_eq!(found.len(), 2);

    // During the animation it moves with joint 0.
    let moment = Some((0, 0.8, Splines::Follow));
    let bytes = compiled.project.out("models/Chair.hanim");
    let clips = HanimView::read(&bytes).unwrap();
    let found = pose::triangles(&view, &pose::joints(&view, Some((&clips, 0, 0.8))));
    assert_near(&found[0], &source.triangles(moment)[0], CLOSE, "the first skin moves");
    let carried = mul(&source.skin(0, moment)[0], &inverted(&source.skin(0, None)[0]));
    let wanted: Vec<_> =
        rest[1].iter().map(|corners| corners.map(|corner| apply(&carried, corner))).collect();
    assert_near(&found[1], &wanted, CLOSE, "the second is carried");
}

/// The inverse of an affine matrix, by elimination.
fn inverted(m: &Mat) -> Mat {
    let mut rows: Vec<[f64; 8]> = (0..4)
        .map(|r| std::array::from_fn(|c| if c < 4 { m[c][r] } else { f64::from(u8::from(c - 4 == r)) }))
        .collect();
    for pivot in 0..4 {
        let best = (pivot..4).max_by(|a, b| rows[*a][pivot].abs().total_cmp(&rows[*b][pivot].abs())).unwrap();
        rows.swap(pivot, best);
        let scale = rows[pivot][pivot];
        rows[pivot].iter_mut().for_each(|v| *v /= scale);
        let row = rows[pivot];
        for (r, other) in rows.iter_mut().enumerate().filter(|(r, _)| *r != pivot) {
            assert_ne!(r, pivot);
            let factor = other[pivot];
            other.iter_mut().zip(row).for_each(|(v, p)| *v -= factor * p);
        }
    }
    std::array::from_fn(|c| std::array::from_fn(|r| rows[r][4 + c]))
}

#[test]
fn mesh_below_joint_moves_with_it() {
    let mut model = moving();
    let mut chance = Chance(31);
    let primitive = rigid(&mut model, &mut chance);
    let mesh = model.push("meshes", json!({"primitives": [primitive]}));
    // A sword at a mirrored node below the foot that is not a joint, and a hat at the hip joint.
    let sword = model.push("nodes", json!({"mesh": mesh, "scale": [-1, 2, 1], "translation": [1, 0, 0]}));
    let hand = model.push("nodes", json!({"rotation": chance.quaternion(), "children": [sword]}));
    model.json["nodes"][FOOT]["children"] = json!([hand]);
    model.json["nodes"][HIP]["mesh"] = json!(mesh);
    let compiled = assert_same(&model, "", Splines::Follow, CLOSE);
    let joints: Vec<u16> = compiled
        .mesh()
        .submeshes()
        .iter()
        .map(|submesh| {
            let first = compiled.mesh().submesh_indices(&submesh).get(0).unwrap();
            compiled.mesh().skin().get(first as usize).unwrap().joints[0]
        })
        .collect();
    assert_eq!((joints[0], joints[1]), (1, 0), "the hat, then the sword");
}

#[test]
fn unskinned_mesh_keeps_its_place_in_bind_pose() {
    let mut model = rig();
    let mut chance = Chance(41);
    let primitive = rigid(&mut model, &mut chance);
    let mesh = model.push("meshes", json!({"primitives": [primitive]}));
    let ground = model.push("nodes", json!({"mesh": mesh, "scale": [1, 2, -1], "translation": [0, -5, 0]}));
    model.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(ground));
    assert_same(&model, "", Splines::Follow, CLOSE);
}

/// The rig with cubic splines of every property.
fn curved() -> Model {
    let mut model = rig();
    let mut chance = Chance(5);
    let mut triples = |width: usize, keys: usize| -> Vec<f32> {
        (0..keys)
            .flat_map(|_| {
                let tangent: Vec<f32> = chance.list(width).iter().map(|v| v * 2.0).collect();
                let value = if width == 4 {
                    chance.quaternion()
                } else {
                    chance.list(3).iter().map(|v| v + 2.0).collect()
                };
                [tangent.clone(), value, tangent].concat()
            })
            .collect()
    };
    let (turns, moves, sizes) = (triples(4, 3), triples(3, 3), triples(3, 2));
    animate(
        &mut model,
        &[
            (HIP, "rotation", "CUBICSPLINE", &[0.0, 0.5, 1.5], &turns),
            (KNEE, "translation", "CUBICSPLINE", &[0.2, 1.0, 2.0], &moves),
            (FOOT, "scale", "CUBICSPLINE", &[0.0, 2.0], &sizes),
        ],
    );
    model
}

#[test]
fn degrade_interpolates_cubic_splines_linearly() {
    let compiled = assert_same(&curved(), "", Splines::Straight, CLOSE);
    let warning = compiled.warnings.iter().find(|warning| warning.code == Code::AnimationCubic).unwrap();
    assert_eq!(warning.at.as_deref(), Some("/animations/0"));
    assert!(
        warning.message.starts_with("3 ")
            && warning.hint.as_deref().is_some_and(|hint| hint.contains("animation.cubic")),
        "{warning}"
    );
}

#[test]
fn resample_approximates_cubic_splines() {
    let compiled = assert_same(&curved(), ", animation: {cubic: resample}", Splines::Follow, 5e-3);
    assert!(!compiled.codes().contains(&"animation-cubic"));
    // Linear interpolation would exceed the tolerance by far.
    let source = Source(&curved());
    let [curve, line] = [Splines::Follow, Splines::Straight].map(|splines| curved_corner(&source, splines));
    let off = (0..3).map(|i| (curve[i] - line[i]).abs()).fold(0.0, f64::max);
    assert!(off > 0.05, "{off}");
}

fn curved_corner(source: &Source<'_>, splines: Splines) -> [f64; 3] {
    source.triangles(Some((0, 0.8, splines)))[0][0][0]
}

#[test]
fn clips_have_names_and_durations() {
    let mut model = moving();
    animate(&mut model, &[(BETWEEN, "translation", "LINEAR", &[0.0], &[1.0, 2.0, 3.0])]);
    animate(&mut model, &[(FOOT, "scale", "STEP", &[0.5], &[1.0, 2.0, 3.0])]);
    model.json["animations"][2]["name"] = json!("Wave");
    let compiled = Compiled::with(&model, SETTINGS);
    let bytes = compiled.project.out("models/Chair.hanim");
    let clips = HanimView::read(&bytes).unwrap();
    let reported: Vec<(&str, f32)> = clips.clips().map(|clip| (clip.name, clip.duration)).collect();
    assert_eq!(reported, [("anim_0", 2.0), ("Wave", 0.5)], "a clip that moves no joint is none");
    assert!(compiled.codes().contains(&"animation-not-joint"));

    let mut still = moving();
    still.json["nodes"][BODY].as_object_mut().unwrap().remove("skin");
    still.json.as_object_mut().unwrap().remove("skins");
    let compiled = Compiled::with(&still, SETTINGS);
    assert_eq!(compiled.project.outputs(), ["assets.hman", "models/Chair.hmesh"], "no skin, no clips");
}

/// A quad that is skinned to the first joint alone.
fn hanging(model: &mut Model) -> Value {
    let mut primitive = quad(model);
    let view = model.view(&[0; 16]);
    primitive["attributes"]["JOINTS_0"] = json!(model.accessor(view, U8, "VEC4", 4));
    primitive["attributes"]["WEIGHTS_0"] = json!(model.floats("VEC4", &[1.0, 0.0, 0.0, 0.0].repeat(4)));
    primitive
}

/// Transforms positions, normals and tangents by the joint matrix and keeps the handedness, as engines do.
fn moved(corner: Corner, by: &Mat) -> Corner {
    let turned = |v: Vec3| unit(sub(apply(by, v), apply(by, [0.0; 3])));
    Corner {
        position: apply(by, corner.position),
        normal: turned(corner.normal),
        tangent: turned(corner.tangent),
        ..corner
    }
}

#[test]
fn mirrored_skin_keeps_winding() {
    for (armature, other) in [
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        ([-1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        ([-2.0, -2.0, -2.0], [-1.0, 1.0, 1.0]),
        ([1.0, 1.0, 1.0], [1.0, -1.0, 1.0]),
    ] {
        let mut model = Model::new();
        let (skin, plain) = (hanging(&mut model), quad(&mut model));
        for primitive in [&skin, &plain] {
            model.push("meshes", json!({"primitives": [primitive]}));
        }
        // A joint and a body below the armature, a sword below the joint, the ground elsewhere, and a second skin.
        model.json["nodes"] = json!([
            {"scale": armature, "children": [1, 2]},
            {"translation": [1, 2, 3], "rotation": [0.0, 0.6, 0.0, 0.8], "children": [3]},
            {"mesh": 0, "skin": 0},
            {"mesh": 1, "scale": [1, 1, -1]},
            {"mesh": 1, "scale": other},
            {"mesh": 0, "skin": 1},
            {"scale": other},
        ]);
        model.json["skins"] = json!([{"joints": [1]}, {"joints": [6]}]);
        model.json["scenes"] = json!([{"nodes": [0, 4, 5, 6]}]);
        let compiled = Compiled::with(&model, SETTINGS);
        let mesh = compiled.mesh();
        let joints = pose::joints(&mesh, None);
        assert_eq!((joints.len(), mesh.submeshes().len()), (1, 4));
        for submesh in 0..4 {
            for corners in compiled.corners(submesh) {
                assert_frames(&corners.map(|corner| moved(corner, &joints[0])));
            }
        }
    }
}
