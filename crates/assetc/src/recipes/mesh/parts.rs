//! The parts of a model: each drawn primitive with its transform and the joints that move it.

use super::skeleton::{self, Skeleton};
use kiln_engine::{Diag, Limits};
use kiln_ir::{Draw, DrawnSize, Matrix, Mesh, MeshId, NodeId, Primitive, Scene, SkinId, Valid};
use std::collections::BTreeSet;

/// One instance of a primitive: a submesh.
pub(crate) struct Part {
    /// The primitive, if the part owns it: it was moved to another pose, or is drawn only once.
    pub(crate) own: Option<Primitive>,
    /// The transform from the space of the primitive to that of the file.
    pub(crate) transform: Option<Matrix>,
    /// True if the part is mirrored in its final pose, after its joints have moved it. Its triangles are then wound the
    /// other way, so that they face outwards.
    pub(crate) mirrored: bool,
    /// The joints that move the part.
    pub(crate) motion: Motion,
    /// The mesh of the source, and the index of the primitive in it.
    pub(crate) origin: (MeshId, usize),
    /// The index of the drawn mesh in [`Parts::drawn`].
    pub(crate) drawn: usize,
}

/// The joints that move a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// The part does not move.
    Static,
    /// The part moves rigidly with one joint.
    Joint(u32),
    /// The vertices have joint indices and weights.
    Skin {
        /// The index of the skin's first joint in the skeleton.
        first_joint: u16,
    },
}

/// All parts of a scene, in draw order.
pub(crate) struct Parts {
    pub(crate) parts: Vec<Part>,
    /// The number of skins with drawn meshes that are not in the skeleton, and stay in their bind pose.
    pub(crate) other_skins: usize,
    /// The drawn meshes, in draw order.
    pub(crate) drawn: Vec<DrawnMesh>,
}

/// A mesh as a node draws it: the submeshes of its primitives follow one another.
pub(crate) struct DrawnMesh {
    /// The node.
    pub(crate) node: NodeId,
    /// The mesh.
    pub(crate) mesh: MeshId,
    /// The name of each morph target, empty where it has none.
    pub(crate) morph_names: Vec<String>,
    /// The weight of each morph target at this node.
    pub(crate) morph_weights: Vec<f32>,
}

impl DrawnMesh {
    fn new(scene: &Scene, draw: &Draw) -> DrawnMesh {
        let (node, mesh) = (&scene.nodes[draw.node.0 as usize], &scene.meshes[draw.mesh.0 as usize]);
        let weights = if node.morph_weights.is_empty() { &mesh.morph_weights } else { &node.morph_weights };
        let mut morph_names = mesh.morph_names.clone();
        morph_names.resize(weights.len(), String::new());
        DrawnMesh { node: draw.node, mesh: draw.mesh, morph_names, morph_weights: weights.clone() }
    }
}

/// Collects the drawn primitives of a scene. With `merge`, static meshes are transformed to world space, once per
/// instance; without it each mesh occurs once, in its own space.
///
/// # Errors
///
/// `memory-limit` when processing the instances would exceed the memory limit.
pub(crate) fn parts(
    scene: &Valid<Scene>,
    skeleton: Option<&Skeleton>,
    merge: bool,
    limits: &Limits,
) -> Result<Parts, Diag> {
    let kept = || {
        let mut seen = BTreeSet::new();
        scene.draws().filter(move |draw| merge || is_skinned(scene, draw) || seen.insert(draw.mesh))
    };
    check_size(scene, kept, limits)?;
    let draws: Vec<Draw> = kept().collect();
    let skinned = draws.iter().any(|draw| is_skinned(scene, draw));
    let (parents, worlds) = (scene.parents(), scene.worlds());
    let context = Context { scene, skeleton: skeleton.filter(|_| skinned), merge, parents, worlds };
    let mut parts = Vec::new();
    let mut others = BTreeSet::new();
    for (drawn, draw) in draws.iter().enumerate() {
        let is_other = |skin: &SkinId| skeleton.is_some_and(|it| it.first_joint(*skin).is_none());
        others.extend(draw.skin.filter(|skin| is_other(skin) && is_skinned(scene, draw)));
        for (index, primitive) in scene.meshes[draw.mesh.0 as usize].primitives.iter().enumerate() {
            parts.push(context.part(drawn, draw, primitive, (draw.mesh, index)));
        }
    }
    let drawn = draws.iter().map(|draw| DrawnMesh::new(scene, draw)).collect();
    Ok(Parts { parts, other_skins: others.len(), drawn })
}

/// Returns whether a draw is skinned: the node has a skin, and vertices have joint indices.
fn is_skinned(scene: &Scene, draw: &Draw) -> bool {
    let primitives = &scene.meshes[draw.mesh.0 as usize].primitives;
    draw.skin.is_some() && primitives.iter().any(|primitive| !primitive.joints.is_empty())
}

/// Checks the memory of all instances: an instance takes no space in a source and a copy in the output.
fn check_size<D: Iterator<Item = Draw>>(
    scene: &Valid<Scene>,
    draws: impl Fn() -> D,
    limits: &Limits,
) -> Result<(), Diag> {
    let extra: Vec<u64> = scene.meshes.iter().map(extra_bytes).collect();
    let extra = draws().fold(0u64, |sum, draw| sum.saturating_add(extra[draw.mesh.0 as usize]));
    let DrawnSize { instances, primitives, vertices, corners } = scene.drawn_size(draws());
    let matrices = instances.saturating_mul(size_of::<Draw>() as u64);
    let needed =
        kiln_mesh::working_set(primitives, vertices, corners).saturating_add(matrices).saturating_add(extra);
    let triangles = corners / 3;
    let what = format!("{triangles} triangles of {vertices} vertices, drawn as {instances} instances,");
    limits.check_memory(needed, what)
}

/// Returns the memory of a mesh's vertex colours, further UV sets and morph targets: before and after a stage, and in the
/// file.
fn extra_bytes(mesh: &Mesh) -> u64 {
    let primitive = |primitive: &Primitive| {
        let uvs = primitive.further_uvs.iter().map(|set| set.len() * 8).sum::<usize>();
        let deltas = |target: &kiln_ir::MorphTarget| {
            12 * (target.positions.len() + target.normals.len() + target.tangents.len())
        };
        let morphs = primitive.morph_targets.iter().map(deltas).sum::<usize>();
        (primitive.colors.len() * 16 + primitive.uv1.len() * 8 + uvs + morphs) as u64 * 3
    };
    mesh.primitives.iter().map(primitive).fold(0, u64::saturating_add)
}

struct Context<'a> {
    scene: &'a Valid<Scene>,
    /// The skeleton, if a drawn mesh is skinned.
    skeleton: Option<&'a Skeleton>,
    merge: bool,
    parents: Vec<Option<NodeId>>,
    worlds: Vec<Matrix>,
}

impl Context<'_> {
    fn part(&self, drawn: usize, draw: &Draw, primitive: &Primitive, origin: (MeshId, usize)) -> Part {
        let world = self.merge.then_some(draw.world);
        let part = |transform: Option<Matrix>, motion| Part {
            own: None,
            transform,
            mirrored: world.is_some_and(|world| world.determinant() < 0.0),
            motion,
            origin,
            drawn,
        };
        let Some(skeleton) = self.skeleton else { return part(world, Motion::Static) };
        let skin = draw.skin.filter(|_| !primitive.joints.is_empty());
        match skin.map(|skin| (skin, skeleton.first_joint(skin))) {
            Some((skin, Some(first_joint))) => Part {
                mirrored: mirrors(primitive, skeleton.poses(skin)),
                ..part(None, Motion::Skin { first_joint })
            },
            Some((other, None)) => {
                let poses = skeleton::poses(self.scene, other, &self.worlds);
                Part {
                    own: Some(posed(primitive, &poses)),
                    mirrored: mirrors(primitive, &poses),
                    ..part(skeleton.inverse_pose(0), Motion::Joint(0))
                }
            }
            None => {
                let joint = skeleton.carrier(draw.node, &self.parents);
                let inverse = skeleton.inverse_pose(joint).unwrap_or(Matrix::IDENTITY);
                part(world.map(|world| inverse * world), Motion::Joint(joint))
            }
        }
    }
}

/// Returns whether the joints of a primitive mirror it, by the sum of their weights.
fn mirrors(primitive: &Primitive, poses: &[Matrix]) -> bool {
    let mirrored: Vec<bool> = poses.iter().map(|pose| pose.determinant() < 0.0).collect();
    if !mirrored.contains(&true) {
        return false;
    }
    let influences = primitive.joints.as_flattened().iter().zip(primitive.weights.as_flattened());
    let sum = |sum: f64, (joint, weight): (&u16, &f32)| {
        let sign = if mirrored[usize::from(*joint)] { -1.0 } else { 1.0 };
        sum + sign * f64::from(*weight)
    };
    influences.fold(0.0, sum) < 0.0
}

/// Applies a pose of its skin to a primitive.
fn posed(primitive: &Primitive, poses: &[Matrix]) -> Primitive {
    let mut posed = primitive.clone();
    for vertex in 0..primitive.positions.len() {
        let blend = blend(primitive.joints[vertex], primitive.weights[vertex], poses);
        posed.positions[vertex] = blend.point(primitive.positions[vertex]);
        let normals = blend.normal_matrix();
        let mut lengths = [1.0; 2];
        if let Some(normal) = posed.normals.get_mut(vertex) {
            let turned = normals.vector(*normal);
            lengths[0] = length(turned);
            *normal = unit(turned);
        }
        if let Some([x, y, z, _]) = posed.tangents.get_mut(vertex) {
            let turned = blend.vector([*x, *y, *z]);
            lengths[1] = length(turned);
            [*x, *y, *z] = unit(turned);
        }
        // The blend of the displacements has to point where the pose sends the blended normal.
        let relative =
            |delta: [f32; 3], length: f32| if length > 0.0 { delta.map(|v| v / length) } else { delta };
        for target in &mut posed.morph_targets {
            if let Some(delta) = target.positions.get_mut(vertex) {
                *delta = blend.vector(*delta);
            }
            if let Some(delta) = target.normals.get_mut(vertex) {
                *delta = relative(normals.vector(*delta), lengths[0]);
            }
            if let Some(delta) = target.tangents.get_mut(vertex) {
                *delta = relative(blend.vector(*delta), lengths[1]);
            }
        }
    }
    posed
}

/// Blends the joint matrices by weight (linear blend skinning).
fn blend(joints: [u16; 4], weights: [f32; 4], poses: &[Matrix]) -> Matrix {
    let sum: f64 = weights.iter().copied().map(f64::from).sum();
    if sum <= 0.0 {
        return poses[0];
    }
    let mut blended = [[0.0; 4]; 4];
    for (joint, weight) in joints.into_iter().zip(weights) {
        for (to, from) in
            blended.as_flattened_mut().iter_mut().zip(poses[usize::from(joint)].0.as_flattened())
        {
            *to += f64::from(weight) / sum * from;
        }
    }
    Matrix(blended)
}

fn length(vector: [f32; 3]) -> f32 {
    vector.iter().map(|v| v * v).sum::<f32>().sqrt()
}

fn unit(vector: [f32; 3]) -> [f32; 3] {
    let length = length(vector);
    if length > 0.0 { vector.map(|v| v / length) } else { vector }
}
