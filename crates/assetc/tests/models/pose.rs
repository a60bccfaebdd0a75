//! Two independent evaluations of a skinned model, without code of the compiler: one of the source, as glTF 2.0 defines it,
//! and one of the compiled `.hmesh` and `.hanim`, as an engine would do it.

use crate::model::{F32, Model, U8, U16, U32, numbers};
use crate::shapes::Vec3;
use kiln_format::hanim::{HanimView, Interp, Keys};
use kiln_format::hmesh::HmeshView;
use serde_json::Value;
use std::collections::BTreeMap;

/// A matrix of four columns.
pub(crate) type Mat = [[f64; 4]; 4];

const IDENTITY: Mat =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

pub(crate) fn mul(a: &Mat, b: &Mat) -> Mat {
    let mut product = [[0.0; 4]; 4];
    for (column, out) in b.iter().zip(&mut product) {
        for row in 0..4 {
            out[row] = (0..4).map(|k| a[k][row] * column[k]).sum();
        }
    }
    product
}

pub(crate) fn apply(m: &Mat, [x, y, z]: Vec3) -> Vec3 {
    [0, 1, 2].map(|r| m[0][r] * x + m[1][r] * y + m[2][r] * z + m[3][r])
}

/// Composes a translation, a rotation (a quaternion `x y z w`) and a scale, which is applied first.
pub(crate) fn trs(t: &[f64], q: &[f64], s: &[f64]) -> Mat {
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let [x, y, z, w] = [0, 1, 2, 3].map(|i| q[i] / length);
    let turn = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)],
        [2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)],
        [2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    let column = |c: usize| [turn[c][0] * s[c], turn[c][1] * s[c], turn[c][2] * s[c], 0.0];
    [column(0), column(1), column(2), [t[0], t[1], t[2], 1.0]]
}

fn slerp(a: &[f64], b: &[f64], t: f64) -> Vec<f64> {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let sign = dot.signum();
    let angle = libm::acos(dot.abs().min(1.0));
    if angle < 1e-7 {
        return a.to_vec();
    }
    let part = |t: f64| libm::sin(t * angle) / libm::sin(angle);
    let (x, y) = (part(1.0 - t), sign * part(t));
    a.iter().zip(b).map(|(a, b)| a * x + b * y).collect()
}

fn lerp(a: &[f64], b: &[f64], t: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + (b - a) * t).collect()
}

/// Normalises the four largest weights; without any, returns joint 0.
fn strongest(mut influences: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    influences.retain(|pull| pull.1 > 0.0);
    influences.sort_by(|a, b| b.1.total_cmp(&a.1));
    influences.truncate(4);
    let sum: f64 = influences.iter().map(|pull| pull.1).sum();
    if influences.is_empty() {
        vec![(0, 1.0)]
    } else {
        influences.iter().map(|pull| (pull.0, pull.1 / sum)).collect()
    }
}

fn blend(influences: &[(usize, f64)], matrices: &[Mat], position: Vec3) -> Vec3 {
    influences.iter().fold([0.0; 3], |sum, (joint, weight)| {
        let moved = apply(&matrices[*joint], position);
        [0, 1, 2].map(|i| sum[i] + weight * moved[i])
    })
}

/// The evaluation of cubic splines.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Splines {
    /// Evaluates the spline.
    Follow,
    /// Interpolates linearly between the keys.
    Straight,
}

/// An animation, a time in seconds, and the evaluation of splines.
pub(crate) type Moment = Option<(usize, f64, Splines)>;

/// The evaluator of a source model.
pub(crate) struct Source<'a>(pub(crate) &'a Model);

impl Source<'_> {
    /// Reads the elements of an accessor.
    pub(crate) fn elements(&self, accessor: &Value) -> Vec<Vec<f64>> {
        let accessor = &self.0.json["accessors"][accessor.as_u64().unwrap() as usize];
        let view = &self.0.json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let start = view["byteOffset"].as_u64().unwrap() as usize;
        let (kind, width) =
            (accessor["componentType"].as_u64().unwrap() as u32, numbers(accessor["type"].as_str().unwrap()));
        let fraction = accessor["normalized"] == Value::Bool(true);
        let (size, most) = match kind {
            U8 => (1, 255.0),
            U16 => (2, 65535.0),
            F32 | U32 => (4, 1.0),
            other => panic!("{other}"),
        };
        let number = |i: usize| {
            let bytes = &self.0.data[start + i * size..][..size];
            let value = match kind {
                U8 => f64::from(bytes[0]),
                U16 => f64::from(u16::from_le_bytes(bytes.try_into().unwrap())),
                U32 => f64::from(u32::from_le_bytes(bytes.try_into().unwrap())),
                _ => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
            };
            if fraction { value / most } else { value }
        };
        let count = accessor["count"].as_u64().unwrap() as usize;
        (0..count).map(|e| (0..width).map(|c| number(e * width + c)).collect()).collect()
    }

    /// Evaluates an animation at a time: values by node and path.
    pub(crate) fn overrides(&self, moment: Moment) -> BTreeMap<(usize, String), Vec<f64>> {
        let Some((animation, time, splines)) = moment else { return BTreeMap::new() };
        let animation = &self.0.json["animations"][animation];
        let channels = animation["channels"].as_array().unwrap();
        let value = |channel: &Value| {
            let sampler = &animation["samplers"][channel["sampler"].as_u64().unwrap() as usize];
            let path = channel["target"]["path"].as_str().unwrap().to_owned();
            let value = self.sample(sampler, path == "rotation", time, splines);
            ((channel["target"]["node"].as_u64().unwrap() as usize, path), value)
        };
        channels.iter().map(value).collect()
    }

    /// Evaluates a sampler at a time (glTF 2.0, appendix C).
    fn sample(&self, sampler: &Value, rotation: bool, time: f64, splines: Splines) -> Vec<f64> {
        let times: Vec<f64> = self.elements(&sampler["input"]).iter().map(|t| t[0]).collect();
        let mut values = self.elements(&sampler["output"]);
        let way = sampler["interpolation"].as_str().unwrap_or("LINEAR");
        let cubic = way == "CUBICSPLINE";
        if values[0].len() == 1 {
            // Morph target weights: as many scalars for each value as there are targets.
            let targets = values.len() / times.len() / if cubic { 3 } else { 1 };
            values = values.concat().chunks_exact(targets).map(<[f64]>::to_vec).collect();
        }
        let value = |key: usize| if cubic { &values[3 * key + 1] } else { &values[key] };
        let (first, last) = (times[0], times[times.len() - 1]);
        if time <= first {
            return value(0).clone();
        }
        if time >= last {
            return value(times.len() - 1).clone();
        }
        let key = times.iter().rposition(|t| *t <= time).unwrap();
        let span = times[key + 1] - times[key];
        let t = (time - times[key]) / span;
        let (a, b) = (value(key), value(key + 1));
        if way == "STEP" {
            return a.clone();
        }
        if cubic && splines == Splines::Follow {
            let (out, into) = (&values[3 * key + 2], &values[3 * key + 3]);
            let (t2, t3) = (t * t, t * t * t);
            let part = |i: usize| {
                (2.0 * t3 - 3.0 * t2 + 1.0) * a[i]
                    + span * (t3 - 2.0 * t2 + t) * out[i]
                    + (-2.0 * t3 + 3.0 * t2) * b[i]
                    + span * (t3 - t2) * into[i]
            };
            return (0..a.len()).map(part).collect();
        }
        if rotation { slerp(a, b, t) } else { lerp(a, b, t) }
    }

    /// Computes the world matrix of each node.
    pub(crate) fn worlds(&self, moment: Moment) -> Vec<Mat> {
        let nodes = self.0.json["nodes"].as_array().unwrap();
        let overrides = self.overrides(moment);
        let local = |n: usize| {
            if let Some(matrix) = nodes[n]["matrix"].as_array() {
                let values: Vec<f64> = matrix.iter().map(|v| v.as_f64().unwrap()).collect();
                return [0, 1, 2, 3].map(|c| [0, 1, 2, 3].map(|r| values[4 * c + r]));
            }
            let part = |path: &str, default: &[f64]| {
                let stated =
                    || Some(nodes[n][path].as_array()?.iter().map(|v| v.as_f64().unwrap()).collect());
                let moved = overrides.get(&(n, path.to_owned())).cloned();
                moved.or_else(stated).unwrap_or_else(|| default.to_vec())
            };
            let turn = part("rotation", &[0.0, 0.0, 0.0, 1.0]);
            trs(&part("translation", &[0.0; 3]), &turn, &part("scale", &[1.0; 3]))
        };
        let parent = |n: usize| {
            let holds =
                |node: &Value| node["children"].as_array().is_some_and(|list| list.contains(&n.into()));
            nodes.iter().position(holds)
        };
        let world = |n: usize| {
            let (mut world, mut at) = (local(n), parent(n));
            while let Some(above) = at {
                world = mul(&local(above), &world);
                at = parent(above);
            }
            world
        };
        (0..nodes.len()).map(world).collect()
    }

    /// Computes the joint matrices of a skin, from the space of the mesh to that of the scene.
    pub(crate) fn skin(&self, skin: usize, moment: Moment) -> Vec<Mat> {
        let skin = &self.0.json["skins"][skin];
        let worlds = self.worlds(moment);
        let inverse = skin.get("inverseBindMatrices").map(|accessor| self.elements(accessor));
        let joints = skin["joints"].as_array().unwrap().iter().enumerate();
        let matrix = |(n, node): (usize, &Value)| {
            let inverse = inverse
                .as_ref()
                .map_or(IDENTITY, |list| [0, 1, 2, 3].map(|c| [0, 1, 2, 3].map(|r| list[n][4 * c + r])));
            mul(&worlds[node.as_u64().unwrap() as usize], &inverse)
        };
        joints.map(matrix).collect()
    }

    /// Lists the nodes of the first scene, parents before children.
    fn drawn(&self) -> Vec<usize> {
        fn visit(nodes: &Value, list: &Value, found: &mut Vec<usize>) {
            for node in list.as_array().into_iter().flatten() {
                let node = node.as_u64().unwrap() as usize;
                found.push(node);
                visit(nodes, &nodes[node]["children"], found);
            }
        }
        let mut found = Vec::new();
        visit(&self.0.json["nodes"], &self.0.json["scenes"][0]["nodes"], &mut found);
        found.retain(|node| self.0.json["nodes"][*node].get("mesh").is_some());
        found
    }

    /// Returns the triangles of every drawn primitive in world space at a time.
    pub(crate) fn triangles(&self, moment: Moment) -> Vec<Vec<[Vec3; 3]>> {
        let mut parts = Vec::new();
        let worlds = self.worlds(moment);
        for node in self.drawn() {
            let stated = &self.0.json["nodes"][node];
            let mesh = &self.0.json["meshes"][stated["mesh"].as_u64().unwrap() as usize];
            let skin = stated["skin"].as_u64().map(|skin| self.skin(skin as usize, moment));
            for primitive in mesh["primitives"].as_array().unwrap() {
                let attributes = &primitive["attributes"];
                let positions: Vec<Vec3> =
                    self.elements(&attributes["POSITION"]).iter().map(|p| [p[0], p[1], p[2]]).collect();
                let influences = self.influences(attributes);
                let place = |vertex: usize| match &skin {
                    Some(matrices) if !influences.is_empty() => {
                        blend(&influences[vertex], matrices, positions[vertex])
                    }
                    _ => apply(&worlds[node], positions[vertex]),
                };
                let indices: Vec<usize> =
                    self.elements(&primitive["indices"]).iter().map(|i| i[0] as usize).collect();
                let triangles = indices.as_chunks::<3>().0.iter().map(|corners| corners.map(place)).collect();
                parts.push(triangles);
            }
        }
        parts
    }

    /// Returns the joint influences of each vertex, of all attribute sets.
    fn influences(&self, attributes: &Value) -> Vec<Vec<(usize, f64)>> {
        let mut all: Vec<Vec<(usize, f64)>> = Vec::new();
        for set in 0.. {
            let Some(joints) = attributes.get(format!("JOINTS_{set}")) else { break };
            let (joints, weights) =
                (self.elements(joints), self.elements(&attributes[format!("WEIGHTS_{set}")]));
            all.resize(joints.len(), Vec::new());
            for ((influences, joints), weights) in all.iter_mut().zip(joints).zip(weights) {
                influences
                    .extend(joints.iter().zip(weights).map(|(joint, weight)| (*joint as usize, weight)));
            }
        }
        all.into_iter().map(strongest).collect()
    }
}

/// Computes the joint matrices of a compiled model at a time of a clip, from the space of the mesh to that of the scene.
pub(crate) fn joints(mesh: &HmeshView<'_>, clip: Option<(&HanimView<'_>, usize, f64)>) -> Vec<Mat> {
    let wide = |list: &[f32]| -> Vec<f64> { list.iter().copied().map(f64::from).collect() };
    let mut parts: Vec<[Vec<f64>; 3]> =
        mesh.joints().iter().map(|j| [wide(&j.bind_t), wide(&j.bind_r), wide(&j.bind_s)]).collect();
    if let Some((view, clip, time)) = clip {
        for channel in view.clips().nth(clip).unwrap().channels() {
            let (part, keys): (usize, Vec<(f64, Vec<f64>)>) = match channel.keys {
                Keys::Translation(keys) => {
                    (0, keys.iter().map(|k| (k.time.into(), wide(&k.value))).collect())
                }
                Keys::Rotation(keys) => (1, keys.iter().map(|k| (k.time.into(), wide(&k.value))).collect()),
                Keys::Scale(keys) => (2, keys.iter().map(|k| (k.time.into(), wide(&k.value))).collect()),
            };
            let after = keys.iter().position(|key| key.0 > time);
            let value = match after {
                Some(0) => keys[0].1.clone(),
                None => keys[keys.len() - 1].1.clone(),
                Some(n) if channel.interp == Interp::Step => keys[n - 1].1.clone(),
                Some(n) => {
                    let (from, to) = (&keys[n - 1], &keys[n]);
                    let t = (time - from.0) / (to.0 - from.0);
                    if part == 1 { slerp(&from.1, &to.1, t) } else { lerp(&from.1, &to.1, t) }
                }
            };
            parts[channel.joint as usize][part] = value;
        }
    }
    let world = |n: usize| {
        let local = |n: usize| trs(&parts[n][0], &parts[n][1], &parts[n][2]);
        let (mut world, mut at) = (local(n), mesh.joints().get(n).unwrap().parent);
        while at >= 0 {
            world = mul(&local(at as usize), &world);
            at = mesh.joints().get(at as usize).unwrap().parent;
        }
        let inverse = mesh.joints().get(n).unwrap().inverse_bind;
        mul(&world, &[0, 1, 2, 3].map(|c| [0, 1, 2, 3].map(|r| inverse[4 * c + r].into())))
    };
    (0..parts.len()).map(world).collect()
}

/// Returns the triangles of every submesh of a compiled model in a pose.
pub(crate) fn triangles(mesh: &HmeshView<'_>, joints: &[Mat]) -> Vec<Vec<[Vec3; 3]>> {
    let place = |vertex: u32| {
        let position = mesh.vertices().get(vertex as usize).unwrap().position.map(f64::from);
        let skin = mesh.skin().get(vertex as usize).unwrap();
        let sum: f32 = skin.weights.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "weights add up to {sum}");
        let influences: Vec<(usize, f64)> = skin
            .joints
            .iter()
            .zip(skin.weights)
            .map(|(joint, weight)| (usize::from(*joint), weight.into()))
            .collect();
        blend(&influences, joints, position)
    };
    let part = |submesh| {
        let indices: Vec<u32> = mesh.submesh_indices(&submesh).iter().collect();
        indices.as_chunks::<3>().0.iter().map(|corners| corners.map(place)).collect()
    };
    mesh.submeshes().iter().map(part).collect()
}

/// Asserts that two lists of triangles are equal up to rotation and winding of their vertices.
#[track_caller]
pub(crate) fn assert_near(found: &[[Vec3; 3]], wanted: &[[Vec3; 3]], share: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let numbers = || wanted.iter().flatten().flatten().copied();
    let extent = numbers().fold(f64::MIN, f64::max) - numbers().fold(f64::MAX, f64::min);
    assert!(extent > 0.0 && extent.is_finite());
    for (n, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        for corner in wanted {
            let off = |other: &Vec3| (0..3).map(|i| (other[i] - corner[i]).abs()).fold(0.0, f64::max);
            let nearest = found.iter().map(off).fold(f64::MAX, f64::min);
            assert!(
                nearest <= share * extent,
                "{what}: triangle {n} is off by {nearest} in {extent}\nfound {found:?}\nwanted {wanted:?}"
            );
        }
    }
}
