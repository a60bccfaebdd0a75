//! Checks of the small tables of a mesh: submeshes, LODs and joints. They run on every read, so that ranges
//! can be followed and the skeleton can be walked.

use core::mem::offset_of;

use super::records::*;
use super::view::HmeshView;
use crate::Error;
use crate::bytes::Le;
use crate::error::{below, equal};

/// Checks that submeshes cover the indices and the meshlets contiguously.
pub(super) fn check_submeshes(view: &HmeshView<'_>) -> Result<(), Error> {
    let desc = view.desc();
    let (mut indices, mut meshlets) = (0u64, 0u64);
    for (i, sub) in view.submeshes().iter().enumerate() {
        let start = view.at(ChunkId::SubMeshes) + (i * SubMesh::SIZE) as u64;
        let at = |offset: usize| start + offset as u64;
        equal(at(offset_of!(SubMesh, first_index)), "first_index", sub.first_index, indices)?;
        whole_triangles(at(offset_of!(SubMesh, index_count)), sub.index_count)?;
        equal(at(offset_of!(SubMesh, first_meshlet)), "first_meshlet", sub.first_meshlet, meshlets)?;
        equal(at(offset_of!(SubMesh, base_vertex)), "base_vertex", sub.base_vertex, 0u32)?;
        if sub.material_slot != NO_MATERIAL {
            let at = at(offset_of!(SubMesh, material_slot));
            below(at, "material_slot", sub.material_slot, desc.material_count)?;
        }
        indices += u64::from(sub.index_count);
        meshlets += u64::from(sub.meshlet_count);
    }
    let at = |offset: usize| view.at(ChunkId::Desc) + offset as u64;
    equal(at(offset_of!(MeshDesc, index_count)), "index_count", desc.index_count, indices)?;
    equal(at(offset_of!(MeshDesc, meshlet_count)), "meshlet_count", desc.meshlet_count, meshlets)
}

/// Checks that LODs cover their indices contiguously. Returns the number of LODs per submesh.
pub(super) fn check_lods(view: &HmeshView<'_>) -> Result<u32, Error> {
    if !view.has(ChunkId::LodTable) {
        view.must_be(ChunkId::LodIndices, 0)?;
        return Ok(0);
    }
    let header = LodTableHeader::get(view.payload(ChunkId::LodTable)).unwrap_or_default();
    let rows = u64::from(header.lod_count) * u64::from(view.desc().submesh_count);
    let size = rows.saturating_mul(MeshLod::SIZE as u64).saturating_add(LodTableHeader::SIZE as u64);
    view.must_be(ChunkId::LodTable, size)?;
    let start = view.at(ChunkId::LodTable);
    let at = start + offset_of!(LodTableHeader, submesh_count) as u64;
    equal(at, "submesh_count", header.submesh_count, view.desc().submesh_count)?;

    let mut indices = 0u64;
    for (i, lod) in view.lods().iter().enumerate() {
        let at = start + (LodTableHeader::SIZE + i * MeshLod::SIZE) as u64;
        let expected = if lod.index_count == 0 { 0 } else { indices };
        equal(at, "first_index", lod.first_index, expected)?;
        whole_triangles(at + offset_of!(MeshLod, index_count) as u64, lod.index_count)?;
        indices += u64::from(lod.index_count);
    }
    view.must_be(ChunkId::LodIndices, indices * size_of::<u32>() as u64)?;
    Ok(header.lod_count)
}

fn whole_triangles(at: u64, count: u32) -> Result<(), Error> {
    let bad = Error::Value { at, field: "index_count", found: count.into(), expected: "a multiple of 3" };
    if count.is_multiple_of(3) { Ok(()) } else { Err(bad) }
}

/// Upper bound on joints: joint indices of vertices have 16 bits.
const MAX_JOINTS: usize = 1 << 16;

/// Checks that the joint hierarchy has no cycles. glTF lists joints in any order, so a parent may come after
/// its children.
pub(super) fn check_joints(view: &HmeshView<'_>) -> Result<(), Error> {
    let joints = view.joints();
    let start = view.at(ChunkId::Skeleton);
    if view.has(ChunkId::Skeleton) && !(1..=MAX_JOINTS).contains(&joints.len()) {
        let found = joints.len() as u64;
        return Err(Error::Value { at: start, field: "joints", found, expected: "1 to 65536" });
    }
    let at = |i: usize| start + (i * GpuJoint::SIZE + offset_of!(GpuJoint, parent)) as u64;
    for (i, joint) in joints.iter().enumerate() {
        if joint.parent != NO_PARENT {
            below(at(i), "parent", joint.parent as u32, joints.len() as u64)?;
        }
    }
    let parent = |i: usize| joints.get(i).and_then(|joint| usize::try_from(joint.parent).ok());
    // One bit per joint that is known to reach a root, so that each joint is visited at most twice.
    let mut rooted = [0u64; MAX_JOINTS / 64];
    for i in 0..joints.len() {
        let mut steps = 0;
        let mut next = Some(i);
        while let Some(joint) = next.filter(|j| rooted[j / 64] >> (j % 64) & 1 == 0) {
            if steps == joints.len() {
                let why = "forms a cycle in the joint hierarchy";
                return Err(Error::Fault { at: at(joint), field: "parent", why });
            }
            steps += 1;
            next = parent(joint);
        }
        let mut next = Some(i);
        while let Some(joint) = next.filter(|j| rooted[j / 64] >> (j % 64) & 1 == 0) {
            rooted[joint / 64] |= 1 << (joint % 64);
            next = parent(joint);
        }
    }
    Ok(())
}
