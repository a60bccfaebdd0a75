//! The writer of meshes.
//!
//! Rejects what [`HmeshView::verify`] rejects, so every written mesh is readable and valid.

use alloc::vec::Vec;

use super::FORMAT;
use super::clusters::{ClusterChunks, ClusterParts};
use super::extra::Colors;
use super::records::*;
use super::view::HmeshView;
use crate::pod::as_bytes;
use crate::{Error, chunks, count_u32};

/// Default upper bound on the vertices of a meshlet; a common limit of mesh shaders.
pub const MESHLET_MAX_VERTS: u32 = 64;
/// Default upper bound on the triangles of a meshlet: 126 would fit, 124 is a multiple of 4.
pub const MESHLET_MAX_TRIS: u32 = 124;

/// The input of [`write()`]. Counts, widths and flags are derived from it.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The bounds of all vertices.
    pub bounds: MeshBounds,
    /// The vertices of all submeshes.
    pub vertices: &'a [GpuVertex],
    /// Set if the vertices have tangents; otherwise all tangents must be 0.
    pub has_tangents: bool,
    /// The vertex indices of all submeshes.
    pub indices: &'a [u32],
    /// The meshlets of all submeshes.
    pub meshlets: &'a [Meshlet],
    /// The vertex indices of all meshlets.
    pub meshlet_vertices: &'a [u32],
    /// The triangles of all meshlets, as meshlet-local vertex indices.
    pub meshlet_triangles: &'a [[u8; 3]],
    /// The bounds of each meshlet.
    pub meshlet_bounds: &'a [MeshletBounds],
    /// Upper bound on the vertices of a meshlet: usually [`MESHLET_MAX_VERTS`].
    pub meshlet_max_verts: u32,
    /// Upper bound on the triangles of a meshlet: usually [`MESHLET_MAX_TRIS`].
    pub meshlet_max_tris: u32,
    /// The hashes of the materials' asset references, by slot.
    pub materials: &'a [u64],
    /// The submeshes, at least one.
    pub submeshes: &'a [SubMesh],
    /// The bone influences of each vertex; empty for a static mesh.
    pub skin: &'a [GpuSkinVertex],
    /// The joints of the skeleton; empty if there is none.
    pub joints: &'a [GpuJoint],
    /// Number of LODs per submesh; with 0 no LOD table is written.
    pub lod_count: u32,
    /// The LODs, grouped by submesh.
    pub lods: &'a [MeshLod],
    /// The indices of all LODs.
    pub lod_indices: &'a [u32],
    /// The hierarchy of clusters, if there is one.
    pub clusters: Option<ClusterParts<'a>>,
    /// The colour of each vertex; `None` without vertex colours.
    pub colors: Option<Colors<'a>>,
    /// The UV sets after the first, one after the other, each with a value for every vertex.
    pub uv_sets: &'a [[f32; 2]],
    /// The submeshes with morph targets; empty if there are none.
    pub morph_sets: &'a [MorphSet],
    /// The morph targets of all sets.
    pub morph_targets: &'a [MorphTarget],
    /// The vertices that morph targets move.
    pub morph_deltas: &'a [MorphDelta],
    /// The displacement of the normal for each delta; empty if no normal changes.
    pub morph_normals: &'a [[f32; 3]],
    /// The displacement of the tangent for each delta; empty if no tangent changes.
    pub morph_tangents: &'a [[f32; 3]],
    /// The nodes of the source; empty where their transforms are applied to the vertices.
    pub nodes: &'a [MeshNode],
    /// The names of morph targets and nodes.
    pub names: &'a str,
}

impl Default for Parts<'_> {
    /// Returns an empty mesh to start from.
    fn default() -> Self {
        Parts {
            bounds: MeshBounds::default(),
            vertices: &[],
            has_tangents: false,
            indices: &[],
            meshlets: &[],
            meshlet_vertices: &[],
            meshlet_triangles: &[],
            meshlet_bounds: &[],
            meshlet_max_verts: MESHLET_MAX_VERTS,
            meshlet_max_tris: MESHLET_MAX_TRIS,
            materials: &[],
            submeshes: &[],
            skin: &[],
            joints: &[],
            lod_count: 0,
            lods: &[],
            lod_indices: &[],
            clusters: None,
            colors: None,
            uv_sets: &[],
            morph_sets: &[],
            morph_targets: &[],
            morph_deltas: &[],
            morph_normals: &[],
            morph_tangents: &[],
            nodes: &[],
            names: "",
        }
    }
}

/// Encodes a mesh as an `.hmesh` file.
///
/// # Errors
///
/// [`Error`] if the result would not pass [`HmeshView::verify`], or a count exceeds its field.
pub fn write(parts: &Parts<'_>) -> Result<Vec<u8>, Error> {
    // In 16-bit indices, 65535 is the primitive restart value, so it must not be a vertex index.
    let wide = parts.vertices.len() > usize::from(u16::MAX);
    let desc = MeshDesc {
        vertex_count: count_u32("vertex_count", parts.vertices.len())?,
        index_count: count_u32("index_count", parts.indices.len())?,
        meshlet_count: count_u32("meshlet_count", parts.meshlets.len())?,
        submesh_count: count_u32("submesh_count", parts.submeshes.len())?,
        material_count: count_u32("material_count", parts.materials.len())?,
        vertex_stride: GpuVertex::SIZE as u16,
        index_width: if wide { 4 } else { 2 },
        flags: if parts.has_tangents { HAS_TANGENTS } else { 0 },
        meshlet_max_verts: parts.meshlet_max_verts,
        meshlet_max_tris: parts.meshlet_max_tris,
    };
    let narrow = if wide { Vec::new() } else { narrow(parts.indices, desc.vertex_count)? };
    let lod_header = LodTableHeader { lod_count: parts.lod_count, submesh_count: desc.submesh_count };
    let clusters = parts.clusters.map(|clusters| ClusterChunks::of(&clusters, parts.vertices)).transpose()?;
    let has_clusters = clusters.is_some();
    let clusters = clusters.unwrap_or_default();
    let payloads: [[&[u8]; 2]; ChunkId::ALL.len()] = ChunkId::ALL.map(|id| match id {
        ChunkId::Desc => [as_bytes(core::slice::from_ref(&desc)), &[]],
        ChunkId::Bounds => [as_bytes(core::slice::from_ref(&parts.bounds)), &[]],
        ChunkId::Vertices => [as_bytes(parts.vertices), &[]],
        ChunkId::Indices => [if wide { as_bytes(parts.indices) } else { as_bytes(&narrow) }, &[]],
        ChunkId::Meshlets => [as_bytes(parts.meshlets), &[]],
        ChunkId::MeshletVertices => [as_bytes(parts.meshlet_vertices), &[]],
        ChunkId::MeshletTriangles => [as_bytes(parts.meshlet_triangles), &[]],
        ChunkId::MeshletBounds => [as_bytes(parts.meshlet_bounds), &[]],
        ChunkId::Materials => [as_bytes(parts.materials), &[]],
        ChunkId::SubMeshes => [as_bytes(parts.submeshes), &[]],
        ChunkId::Skin => [as_bytes(parts.skin), &[]],
        ChunkId::Skeleton => [as_bytes(parts.joints), &[]],
        ChunkId::LodIndices => [as_bytes(parts.lod_indices), &[]],
        ChunkId::LodTable => [as_bytes(core::slice::from_ref(&lod_header)), as_bytes(parts.lods)],
        ChunkId::ClusterGroups => [as_bytes(&clusters.groups), &[]],
        ChunkId::Clusters => [as_bytes(&clusters.clusters), &[]],
        ChunkId::ClusterPageTable => [as_bytes(&clusters.pages), &[]],
        ChunkId::ClusterPages => [clusters.data.as_slice(), &[]],
        ChunkId::Colors => [parts.colors.map_or(&[][..], |colors| colors.bytes()), &[]],
        ChunkId::UvSets => [as_bytes(parts.uv_sets), &[]],
        ChunkId::MorphSets => [as_bytes(parts.morph_sets), &[]],
        ChunkId::MorphTargets => [as_bytes(parts.morph_targets), &[]],
        ChunkId::MorphDeltas => [as_bytes(parts.morph_deltas), &[]],
        ChunkId::MorphNormals => [as_bytes(parts.morph_normals), &[]],
        ChunkId::MorphTangents => [as_bytes(parts.morph_tangents), &[]],
        ChunkId::Nodes => [as_bytes(parts.nodes), &[]],
        ChunkId::Names => [parts.names.as_bytes(), &[]],
    });
    // Empty chunks are written too, except for those that are optional.
    let lods = parts.lod_count > 0 || !parts.lods.is_empty() || !parts.lod_indices.is_empty();
    let written = ChunkId::ALL.into_iter().filter(|id| match id {
        ChunkId::Skin => !parts.skin.is_empty(),
        ChunkId::Skeleton => !parts.joints.is_empty(),
        ChunkId::LodIndices | ChunkId::LodTable => lods,
        ChunkId::ClusterGroups | ChunkId::Clusters | ChunkId::ClusterPageTable | ChunkId::ClusterPages => {
            has_clusters
        }
        ChunkId::Colors => parts.colors.is_some(),
        ChunkId::UvSets
        | ChunkId::MorphSets
        | ChunkId::MorphTargets
        | ChunkId::MorphDeltas
        | ChunkId::MorphNormals
        | ChunkId::MorphTangents
        | ChunkId::Nodes
        | ChunkId::Names => !payloads[*id as usize][0].is_empty(),
        _ => true,
    });
    let listed: Vec<([u8; 4], &[&[u8]])> =
        written.map(|id| (id.fourcc(), payloads[id as usize].as_slice())).collect();
    let bytes = chunks::write(FORMAT, &listed)?;
    HmeshView::read(&bytes)?.verify()?;
    Ok(bytes)
}

/// Narrows indices to two bytes each.
fn narrow(indices: &[u32], vertex_count: u32) -> Result<Vec<u16>, Error> {
    let index = |&index: &u32| {
        // An index that fits is left to `verify`, which reports its byte offset.
        let max = u64::from(vertex_count).saturating_sub(1);
        u16::try_from(index).map_err(|_| Error::TooLarge { field: "index", found: index.into(), max })
    };
    indices.iter().map(index).collect()
}
