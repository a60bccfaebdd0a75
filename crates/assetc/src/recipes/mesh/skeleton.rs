//! The skeleton of a model: its first skin or all skins, with the transforms of intermediate nodes folded into the joints.
//!
//! Of several skins the joints follow one another. A node that is a joint of two skins is two joints, because each skin
//! has an inverse bind matrix of its own; both have the same pose and the same animations.
//!
//! A `SKEL` chunk has joints only, while in a source any node can be the parent of a joint: an armature that rotates the
//! model upright, a group that scales it. The transform of such nodes is folded into the joint below them, into its bind
//! pose and into every key of its animations, so that poses are those of the source.

use crate::config::Skins;
use kiln_engine::{Code, Diag};
use kiln_format::hmesh::{GpuJoint, NO_PARENT};
use kiln_ir::{Matrix, NodeId, Scene, SkinId, Trs, Valid, normalize, rotate};
use std::collections::HashMap;

/// The largest deviation of a folded transform from a rotation with uniform scale that does not count as a shear.
/// Rounding in sources reaches about 1e-6.
const SHEAR: f64 = 1e-4;

/// The number of joints that joint indices can address.
const MAX_JOINTS: usize = 1 << 16;

/// The joints of a skeleton, and the transforms between its space and that of the scene.
pub(crate) struct Skeleton {
    /// The joints of the skins, in the order of the joint indices in vertices.
    pub(crate) joints: Vec<GpuJoint>,
    /// True if a folded transform has a shear, so that poses are approximated.
    pub(crate) sheared: bool,
    folds: Vec<Fold>,
    /// The joints of each node, in ascending order, at most one for each skin.
    by_node: HashMap<NodeId, Vec<u32>>,
    /// The index of the first joint of each skin.
    first_joints: Vec<u16>,
    /// For each joint, the transform from the space of the mesh to that of the scene in the bind pose.
    poses: Vec<Matrix>,
}

impl Skeleton {
    /// Builds the skeleton of a scene, if it has a skin.
    ///
    /// # Errors
    ///
    /// `mesh-too-large` when all skins together have more joints than joint indices can address.
    pub(crate) fn of(scene: &Valid<Scene>, skins: Skins) -> Result<Option<Skeleton>, Diag> {
        let skins = match skins {
            Skins::First => scene.skins.get(..1).unwrap_or_default(),
            Skins::All => scene.skins.as_slice(),
        };
        let count: usize = skins.iter().map(|skin| skin.joints.len()).sum();
        if count > MAX_JOINTS {
            let message = format!("the skins have {count} joints, and a mesh has at most {MAX_JOINTS}");
            return Err(Diag::new(Code::MeshTooLarge, message).hint("set mesh.skins to first"));
        }
        if count == 0 {
            return Ok(None);
        }
        let (parents, worlds) = (scene.parents(), scene.worlds());
        let mut first_joints = Vec::with_capacity(skins.len());
        let mut by_node: HashMap<NodeId, Vec<u32>> = HashMap::with_capacity(count);
        let mut next = 0;
        for skin in skins {
            first_joints.push(next as u16);
            for node in &skin.joints {
                let joints = by_node.entry(*node).or_default();
                // A skin may list a node twice; the first joint stands for it.
                if joints.last().is_none_or(|last| *last < u32::from(first_joints[first_joints.len() - 1])) {
                    joints.push(next);
                }
                next += 1;
            }
        }
        let mut skeleton = Skeleton {
            joints: Vec::with_capacity(count),
            sheared: false,
            folds: Vec::with_capacity(count),
            by_node,
            first_joints,
            poses: (0..skins.len()).flat_map(|skin| poses(scene, SkinId(skin as u32), &worlds)).collect(),
        };
        for (skin, first_joint) in skins.iter().zip(skeleton.first_joints.clone()) {
            for (node, inverse_bind) in skin.joints.iter().zip(&skin.inverse_bind) {
                skeleton.add(scene, &parents, *node, inverse_bind, first_joint.into());
            }
        }
        skeleton.sheared = skeleton.folds.iter().any(|fold| fold.similarity.is_none());
        Ok(Some(skeleton))
    }

    /// Adds the joint of a node to the skin that starts at `first_joint`, which is the last.
    fn add(
        &mut self,
        scene: &Valid<Scene>,
        parents: &[Option<NodeId>],
        node: NodeId,
        inverse_bind: &[f32; 16],
        first_joint: u32,
    ) {
        let mut above = Matrix::IDENTITY;
        let mut at = parents[node.0 as usize];
        let parent = loop {
            let Some(id) = at else { break NO_PARENT };
            if let Some(joints) = self.by_node.get(&id) {
                // The joint of the same skin, or else of any: all joints of a node have the same pose.
                let own = joints.iter().find(|joint| **joint >= first_joint).or(joints.first());
                break own.map_or(NO_PARENT, |joint| *joint as i32);
            }
            above = scene.nodes[id.0 as usize].transform.matrix() * above;
            at = parents[id.0 as usize];
        };
        let fold = Fold::new(above, scene.nodes[node.0 as usize].transform.trs());
        let bind = fold.rest();
        self.joints.push(GpuJoint {
            inverse_bind: *inverse_bind,
            bind_t: bind.translation,
            bind_r: bind.rotation,
            bind_s: bind.scale,
            parent,
            pad: 0,
        });
        self.folds.push(fold);
    }

    /// Returns the joints of a node; several if it is a joint of several skins.
    pub(crate) fn joints_of(&self, node: NodeId) -> &[u32] {
        self.by_node.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the index of the first joint of a skin; `None` if the skin is not in the skeleton.
    pub(crate) fn first_joint(&self, skin: SkinId) -> Option<u16> {
        self.first_joints.get(skin.0 as usize).copied()
    }

    /// Returns the folded transform of a joint.
    pub(crate) fn fold(&self, joint: u32) -> &Fold {
        &self.folds[joint as usize]
    }

    /// Returns the joint that a node moves with: the node itself or its nearest ancestor, else the first joint.
    pub(crate) fn carrier(&self, node: NodeId, parents: &[Option<NodeId>]) -> u32 {
        let above = std::iter::successors(Some(node), |id| parents[id.0 as usize]);
        above.filter_map(|id| self.joints_of(id).first().copied()).next().unwrap_or(0)
    }

    /// Returns for each joint of a skin, and of the skins after it, the transform from the space of the mesh to that of the
    /// scene in the bind pose.
    pub(crate) fn poses(&self, skin: SkinId) -> &[Matrix] {
        self.first_joint(skin).map_or(&[], |first| &self.poses[usize::from(first)..])
    }

    /// Returns the inverse of the bind pose of a joint: the joint moves a vertex that was transformed by it back to its
    /// place in the scene. `None` when the pose is singular.
    pub(crate) fn inverse_pose(&self, joint: u32) -> Option<Matrix> {
        self.poses[joint as usize].inverse()
    }
}

/// Computes for each joint of a skin the transform from the space of the mesh to that of the scene in the bind pose.
pub(crate) fn poses(scene: &Valid<Scene>, skin: SkinId, worlds: &[Matrix]) -> Vec<Matrix> {
    let skin = &scene.skins[skin.0 as usize];
    let pose =
        |(node, inverse): (&NodeId, &[f32; 16])| worlds[node.0 as usize] * Matrix::from_columns(inverse);
    skin.joints.iter().zip(&skin.inverse_bind).map(pose).collect()
}

/// The transform of the nodes between a joint and its parent joint, or the root of the scene.
pub(crate) struct Fold {
    above: Matrix,
    /// The rotation and the uniform scale, which is negative if the transform mirrors; `None` when it has a shear.
    similarity: Option<([f64; 4], f64)>,
    /// The local transform of the joint, without the fold.
    local: Trs,
}

impl Fold {
    fn new(above: Matrix, local: Trs) -> Fold {
        Fold { above, similarity: similarity(&above), local }
    }

    fn rest(&self) -> Trs {
        Trs {
            translation: self.translation(self.local.translation),
            rotation: self.rotation(self.local.rotation),
            scale: self.scale(self.local.scale),
        }
    }

    /// Folds a translation of the joint.
    pub(crate) fn translation(&self, value: [f32; 3]) -> [f32; 3] {
        self.above.point(value)
    }

    /// Folds a rotation of the joint.
    pub(crate) fn rotation(&self, value: [f32; 4]) -> [f32; 4] {
        let value = normalize(value.map(f64::from));
        match self.similarity {
            Some((rotation, _)) => normalize(rotate(rotation, value)).map(|v| v as f32),
            None => self.sheared(Trs { rotation: value.map(|v| v as f32), ..self.local }).rotation,
        }
    }

    /// Folds a scale of the joint.
    pub(crate) fn scale(&self, value: [f32; 3]) -> [f32; 3] {
        match self.similarity {
            Some((_, scale)) => value.map(|v| (f64::from(v) * scale) as f32),
            None => self.sheared(Trs { scale: value, ..self.local }).scale,
        }
    }

    /// Approximates a transform with a shear by a rotation and a scale.
    fn sheared(&self, local: Trs) -> Trs {
        (self.above * local.matrix()).decompose()
    }
}

/// Decomposes a similarity transform into rotation and uniform scale.
fn similarity(matrix: &Matrix) -> Option<([f64; 4], f64)> {
    let volume = matrix.determinant();
    let scale = libm::cbrt(volume);
    if scale == 0.0 || !scale.is_finite() {
        return None;
    }
    // A mirroring transform is a rotation with a negative scale on all three axes.
    let column = |c: usize| [0, 1, 2].map(|r| matrix.0[c][r] / scale);
    let columns = [column(0), column(1), column(2)];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    for (i, a) in columns.iter().enumerate() {
        for (j, b) in columns.iter().enumerate().skip(i) {
            let wanted = if i == j { 1.0 } else { 0.0 };
            if (dot(*a, *b) - wanted).abs() > SHEAR {
                return None;
            }
        }
    }
    let wide = |[x, y, z]: [f64; 3]| [x, y, z, 0.0];
    let turn = Matrix([wide(columns[0]), wide(columns[1]), wide(columns[2]), [0.0, 0.0, 0.0, 1.0]]);
    Some((normalize(turn.decompose().rotation.map(f64::from)), scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_ir::{Node, Skin, Transform};

    fn node(trs: Trs, children: &[u32]) -> Node {
        let children = children.iter().copied().map(NodeId).collect();
        Node { transform: Transform::Trs(trs), children, ..Node::default() }
    }

    const TURN: [f32; 4] = [0.5, 0.5, 0.5, 0.5];

    /// A root that scales, a joint, an intermediate node that rotates, a joint.
    fn scene(root: Trs) -> Valid<Scene> {
        let joint = Trs { translation: [1.0, 2.0, 3.0], rotation: TURN, scale: [2.0, 1.0, 0.5] };
        let between = Trs { translation: [0.0, 1.0, 0.0], rotation: [0.0, 0.6, 0.0, 0.8], ..Trs::IDENTITY };
        let scene = Scene {
            nodes: vec![node(root, &[1]), node(joint, &[2]), node(between, &[3]), node(joint, &[])],
            roots: vec![NodeId(0)],
            skins: vec![Skin {
                joints: vec![NodeId(3), NodeId(1)],
                inverse_bind: vec![Matrix::IDENTITY.to_columns(); 2],
                ..Skin::default()
            }],
            ..Scene::default()
        };
        scene.validate().unwrap()
    }

    /// The world transform of each joint, from the compiled joints alone.
    fn evaluate(joints: &[GpuJoint]) -> Vec<Matrix> {
        let local =
            |j: &GpuJoint| Trs { translation: j.bind_t, rotation: j.bind_r, scale: j.bind_s }.matrix();
        let world = |index: usize| {
            let (mut world, mut at) = (local(&joints[index]), joints[index].parent);
            while at != NO_PARENT {
                world = local(&joints[at as usize]) * world;
                at = joints[at as usize].parent;
            }
            world
        };
        (0..joints.len()).map(world).collect()
    }

    fn near(a: &Matrix, b: &Matrix) {
        for (x, y) in a.0.iter().flatten().zip(b.0.iter().flatten()) {
            assert!((x - y).abs() < 1e-5, "{a:?}\n{b:?}");
        }
    }

    #[test]
    fn bind_pose_of_joints_is_that_of_their_nodes() {
        let roots = [
            Trs::IDENTITY,
            Trs { translation: [5.0, 0.0, 1.0], rotation: TURN, scale: [3.0; 3] },
            Trs { scale: [-2.0; 3], ..Trs::IDENTITY },
            Trs { rotation: TURN, scale: [-1.0, 1.0, 1.0], ..Trs::IDENTITY },
        ];
        for root in roots {
            let scene = scene(root);
            let skeleton = Skeleton::of(&scene, Skins::First).unwrap().unwrap();
            assert_eq!(skeleton.joints[0].parent, 1);
            assert_eq!(skeleton.joints[1].parent, NO_PARENT);
            let worlds = scene.worlds();
            let found = evaluate(&skeleton.joints);
            assert!(!skeleton.sheared);
            near(&found[0], &worlds[3]);
            near(&found[1], &worlds[1]);
        }
    }

    #[test]
    fn inverse_pose_is_undone_by_the_joint() {
        let scene = scene(Trs { translation: [5.0, 0.0, 1.0], rotation: TURN, scale: [3.0; 3] });
        let skeleton = Skeleton::of(&scene, Skins::First).unwrap().unwrap();
        let parents = scene.parents();
        assert_eq!(skeleton.carrier(NodeId(2), &parents), 1);
        assert_eq!(skeleton.carrier(NodeId(3), &parents), 0);
        assert_eq!(skeleton.carrier(NodeId(0), &parents), 0);
        let undone = skeleton.inverse_pose(1).unwrap().point([1.0, 2.0, 3.0]);
        let back = scene.worlds()[1].point(undone);
        assert!(back.iter().zip([1.0, 2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-5), "{back:?}");
    }

    #[test]
    fn detects_non_uniform_scale_above_rotated_joints() {
        let scene = scene(Trs { scale: [1.0, 2.0, 1.0], ..Trs::IDENTITY });
        assert!(Skeleton::of(&scene, Skins::First).unwrap().unwrap().sheared);
    }
}
