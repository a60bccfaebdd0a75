//! Nodes and skins of a file.
//!
//! The library's root node is left out: it is where it is. Nodes that it adds, where FBX can say something with one
//! node that takes two here, come with it.

use kiln_engine::{Code, Diag};
use kiln_ir::{MeshId, Node, NodeId, Skin, SkinId, Transform, Trs};

use super::Notes;

/// The number of a node: its own among all, without the root, which is the first.
pub(super) fn id(node: &ufbx::Node) -> Option<NodeId> {
    node.element.typed_id.checked_sub(1).map(NodeId)
}

/// The nodes without a parent but the root.
pub(super) fn roots(model: &ufbx::Scene) -> Vec<NodeId> {
    model.root_node.children.iter().filter_map(|child| id(child)).collect()
}

/// Reads the nodes; `placed` has the mesh of each of the file's, `skins` the skin of each deformer.
pub(super) fn read(model: &ufbx::Scene, placed: &[Option<MeshId>], skins: &[Option<SkinId>]) -> Vec<Node> {
    let nodes = model.nodes.iter().zip(placed).skip(1);
    let read = |(node, mesh): (&ufbx::Ref<ufbx::Node>, &Option<MeshId>)| Node {
        name: node.element.name.to_string(),
        transform: Transform::Trs(trs(&node.local_transform)),
        children: node.children.iter().filter_map(|child| id(child)).collect(),
        mesh: *mesh,
        skin: node.mesh.as_ref().filter(|_| mesh.is_some()).and_then(|mesh| skin(mesh, skins)),
        instances: Vec::new(),
    };
    nodes.map(read).collect()
}

/// The skin that a mesh hangs on.
pub(super) fn skin(mesh: &ufbx::Mesh, skins: &[Option<SkinId>]) -> Option<SkinId> {
    let deformer = mesh.skin_deformers.first()?;
    skins.get(deformer.element.typed_id as usize).copied().flatten()
}

fn trs(transform: &ufbx::Transform) -> Trs {
    Trs {
        translation: vec3(transform.translation),
        rotation: quat(transform.rotation),
        scale: vec3(transform.scale),
    }
}

pub(super) fn vec3(v: ufbx::Vec3) -> [f32; 3] {
    [v.x, v.y, v.z].map(|v| v as f32)
}

pub(super) fn quat(q: ufbx::Quat) -> [f32; 4] {
    [q.x, q.y, q.z, q.w].map(|v| v as f32)
}

/// Reads the skins, with the number of each deformer's. One without joints is none.
pub(super) fn skins(
    model: &ufbx::Scene,
    notes: &mut Notes,
) -> Result<(Vec<Skin>, Vec<Option<SkinId>>), Diag> {
    let (mut skins, mut ids) = (Vec::new(), Vec::with_capacity(model.skin_deformers.count));
    for deformer in &model.skin_deformers {
        let mut skin = Skin { name: deformer.element.name.to_string(), ..Skin::default() };
        for cluster in &deformer.clusters {
            // Weights name clusters by their place, so that none may be left out.
            let joint = cluster.bone_node.as_ref().and_then(|node| id(node));
            let joint = joint.ok_or_else(|| {
                Diag::new(Code::FbxModel, format!("a joint of {:?} is no node", skin.name))
                    .hint("the file is damaged: export it again")
            })?;
            skin.joints.push(joint);
            skin.inverse_bind.push(columns(&cluster.geometry_to_bone));
        }
        let has_dual = deformer.skinning_method == ufbx::SkinningMethod::DualQuaternion
            || deformer.skinning_method == ufbx::SkinningMethod::BlendedDqLinear;
        notes.lose(has_dual, "dual-quaternion skinning, which is linear here");
        ids.push((!skin.joints.is_empty()).then_some(SkinId(skins.len() as u32)));
        if !skin.joints.is_empty() {
            skins.push(skin);
        }
    }
    notes.lose(
        model.meshes.iter().any(|mesh| mesh.skin_deformers.count > 1),
        "skins beside the first of a mesh",
    );
    Ok((skins, ids))
}

fn columns(m: &ufbx::Matrix) -> [f32; 16] {
    let columns = [
        [m.m00, m.m10, m.m20, 0.0],
        [m.m01, m.m11, m.m21, 0.0],
        [m.m02, m.m12, m.m22, 0.0],
        [m.m03, m.m13, m.m23, 1.0],
    ];
    std::array::from_fn(|i| columns[i / 4][i % 4] as f32)
}
