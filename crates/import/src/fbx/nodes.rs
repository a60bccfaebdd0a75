//! Nodes and skins of a file.
//!
//! The root node of the library is omitted: it is the identity. Helper nodes that the library adds, where one FBX node
//! needs two, are included.

use kiln_diagnostics::{Code, Diag};
use kiln_ir::{MeshId, Node, NodeId, Skin, SkinId, Transform, Trs};

use super::Notes;

/// Returns the id of a node: its index without the root, which is the first.
pub(super) fn id(node: &ufbx::Node) -> Option<NodeId> {
    node.element.typed_id.checked_sub(1).map(NodeId)
}

/// Returns the children of the root node.
pub(super) fn roots(model: &ufbx::Scene) -> Vec<NodeId> {
    model.root_node.children.iter().filter_map(|child| id(child)).collect()
}

/// Reads the nodes; `placed` has the mesh of each node, `skins` the skin of each deformer.
pub(super) fn read(model: &ufbx::Scene, placed: &[Option<MeshId>], skins: &[Option<SkinId>]) -> Vec<Node> {
    let nodes = model.nodes.iter().zip(placed).skip(1);
    let read = |(node, mesh): (&ufbx::Ref<ufbx::Node>, &Option<MeshId>)| Node {
        name: node.element.name.to_string(),
        transform: Transform::Trs(trs(&node.local_transform)),
        children: node.children.iter().filter_map(|child| id(child)).collect(),
        mesh: *mesh,
        skin: node.mesh.as_ref().filter(|_| mesh.is_some()).and_then(|mesh| skin(mesh, skins)),
        ..Node::default()
    };
    nodes.map(read).collect()
}

/// Returns the skin of a mesh.
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

/// Reads the skins, with the id of each deformer's skin. A deformer without joints has none.
pub(super) fn skins(
    model: &ufbx::Scene,
    notes: &mut Notes,
) -> Result<(Vec<Skin>, Vec<Option<SkinId>>), Diag> {
    let (mut skins, mut ids) = (Vec::new(), Vec::with_capacity(model.skin_deformers.count));
    for deformer in &model.skin_deformers {
        let mut skin = Skin { name: deformer.element.name.to_string(), ..Skin::default() };
        for cluster in &deformer.clusters {
            // Weights refer to clusters by index, so that none may be omitted.
            let joint = cluster.bone_node.as_ref().and_then(|node| id(node));
            let joint = joint.ok_or_else(|| {
                Diag::new(
                    Code::FbxModel,
                    format!("a joint of the skin {} is not a node", crate::excerpt(&skin.name)),
                )
                .hint("the file is damaged: export it again")
            })?;
            skin.joints.push(joint);
            skin.inverse_bind.push(columns(&cluster.geometry_to_bone));
        }
        let has_dual = deformer.skinning_method == ufbx::SkinningMethod::DualQuaternion
            || deformer.skinning_method == ufbx::SkinningMethod::BlendedDqLinear;
        notes.note_unsupported(has_dual, "dual-quaternion skinning, imported as linear");
        ids.push((!skin.joints.is_empty()).then_some(SkinId(skins.len() as u32)));
        if !skin.joints.is_empty() {
            skins.push(skin);
        }
    }
    notes.note_unsupported(
        model.meshes.iter().any(|mesh| mesh.skin_deformers.count > 1),
        "skins of a mesh beyond the first",
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
