//! What a model draws, part by part: which primitive, where, and what moves it.

use super::skeleton::{self, Skeleton};
use kiln_engine::{Diag, Limits};
use kiln_ir::{Draw, DrawnSize, Matrix, MeshId, NodeId, Primitive, Scene, SkinId, Valid};
use std::collections::BTreeSet;

/// One primitive in one place: a submesh.
pub(crate) struct Part {
    /// Its triangles, if they are its own: in a pose that the source does not have them in, or drawn nowhere else.
    pub(crate) own: Option<Primitive>,
    /// From the primitive's space to the file's.
    pub(crate) place: Option<Matrix>,
    /// Whether it is mirrored where it is drawn in the end, after its joints have moved it: then its triangles are
    /// wound the other way, so that they face outwards there.
    pub(crate) mirrored: bool,
    /// What moves it.
    pub(crate) motion: Motion,
    /// Its mesh in the source, and its number there.
    pub(crate) origin: (MeshId, usize),
}

/// What moves a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// Nothing.
    Static,
    /// One joint.
    Joint(u32),
    /// The joints that its vertices name.
    Skin,
}

/// All parts of a scene, in the order in which it draws them.
pub(crate) struct Parts {
    pub(crate) parts: Vec<Part>,
    /// Skins beside the first that hold drawn meshes: those are in their bind pose.
    pub(crate) other_skins: usize,
}

/// Finds what a scene draws. With `merge`, static meshes are placed as their nodes say; without it each is there
/// once, as it is in the source.
///
/// # Errors
/// `memory-limit` when processing what is drawn would take more memory than the limits admit.
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
    check_size(scene, kept(), limits)?;
    let draws: Vec<Draw> = kept().collect();
    let skinned = draws.iter().any(|draw| is_skinned(scene, draw));
    let (parents, worlds) = (scene.parents(), scene.worlds());
    let context = Context { scene, skeleton: skeleton.filter(|_| skinned), merge, parents, worlds };
    let mut parts = Vec::new();
    let mut others = BTreeSet::new();
    for draw in &draws {
        others.extend(draw.skin.filter(|skin| skin.0 > 0 && is_skinned(scene, draw)));
        for (index, primitive) in scene.meshes[draw.mesh.0 as usize].primitives.iter().enumerate() {
            parts.push(context.part(draw, primitive, (draw.mesh, index)));
        }
    }
    Ok(Parts { parts, other_skins: others.len() })
}

/// Whether a skin holds what is drawn: the node has one and vertices name its joints.
fn is_skinned(scene: &Scene, draw: &Draw) -> bool {
    let primitives = &scene.meshes[draw.mesh.0 as usize].primitives;
    draw.skin.is_some() && primitives.iter().any(|primitive| !primitive.joints.is_empty())
}

/// Instances cost nothing in a source and a copy each in the output.
fn check_size(scene: &Valid<Scene>, draws: impl Iterator<Item = Draw>, limits: &Limits) -> Result<(), Diag> {
    let DrawnSize { instances, primitives, vertices, corners } = scene.drawn_size(draws);
    let matrices = instances.saturating_mul(size_of::<Draw>() as u64);
    let needed = kiln_mesh::working_set(primitives, vertices, corners).saturating_add(matrices);
    let triangles = corners / 3;
    let what = format!("{triangles} triangles of {vertices} vertices, drawn as {instances} instances,");
    limits.check_memory(needed, what)
}

struct Context<'a> {
    scene: &'a Valid<Scene>,
    /// Only if something that is drawn hangs on a skin.
    skeleton: Option<&'a Skeleton>,
    merge: bool,
    parents: Vec<Option<NodeId>>,
    worlds: Vec<Matrix>,
}

impl Context<'_> {
    fn part(&self, draw: &Draw, primitive: &Primitive, origin: (MeshId, usize)) -> Part {
        let world = self.merge.then_some(draw.world);
        let part = |place: Option<Matrix>, motion| Part {
            own: None,
            place,
            mirrored: world.is_some_and(|world| world.determinant() < 0.0),
            motion,
            origin,
        };
        let Some(skeleton) = self.skeleton else { return part(world, Motion::Static) };
        match draw.skin.filter(|_| !primitive.joints.is_empty()) {
            Some(SkinId(0)) => {
                Part { mirrored: mirrors(primitive, skeleton.poses()), ..part(None, Motion::Skin) }
            }
            Some(other) => {
                let poses = skeleton::poses(self.scene, other, &self.worlds);
                Part {
                    own: Some(posed(primitive, &poses)),
                    mirrored: mirrors(primitive, &poses),
                    ..part(skeleton.undo(0), Motion::Joint(0))
                }
            }
            None => {
                let joint = skeleton.carrier(draw.node, &self.parents);
                let undo = skeleton.undo(joint).unwrap_or(Matrix::IDENTITY);
                part(world.map(|world| undo * world), Motion::Joint(joint))
            }
        }
    }
}

/// Whether the joints of a primitive mirror it, by weight.
fn mirrors(primitive: &Primitive, poses: &[Matrix]) -> bool {
    let mirrored: Vec<bool> = poses.iter().map(|pose| pose.determinant() < 0.0).collect();
    if !mirrored.contains(&true) {
        return false;
    }
    let pulls = primitive.joints.as_flattened().iter().zip(primitive.weights.as_flattened());
    let sum = |sum: f64, (joint, weight): (&u16, &f32)| {
        let sign = if mirrored[usize::from(*joint)] { -1.0 } else { 1.0 };
        sum + sign * f64::from(*weight)
    };
    pulls.fold(0.0, sum) < 0.0
}

/// A primitive in a pose of its skin.
fn posed(primitive: &Primitive, poses: &[Matrix]) -> Primitive {
    let mut posed = primitive.clone();
    for vertex in 0..primitive.positions.len() {
        let blend = blend(primitive.joints[vertex], primitive.weights[vertex], poses);
        posed.positions[vertex] = blend.point(primitive.positions[vertex]);
        if let Some(normal) = posed.normals.get_mut(vertex) {
            *normal = unit(blend.for_normals().vector(*normal));
        }
        if let Some([x, y, z, _]) = posed.tangents.get_mut(vertex) {
            [*x, *y, *z] = unit(blend.vector([*x, *y, *z]));
        }
    }
    posed
}

/// The mean of the joints' matrices, by weight.
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

fn unit(vector: [f32; 3]) -> [f32; 3] {
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    if length > 0.0 { vector.map(|v| v / length) } else { vector }
}
