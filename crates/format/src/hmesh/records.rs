//! The chunk tags of a mesh, and the records in the chunks.

use crate::chunks::chunk_ids;
use crate::pod::pod;

/// The [`SubMesh::material_slot`] of a submesh without a material.
pub const NO_MATERIAL: u32 = u32::MAX;

/// The bit of [`MeshDesc::flags`] of a mesh with tangents.
pub const HAS_TANGENTS: u8 = 1;

/// The [`GpuJoint::parent`] of a root joint.
pub const NO_PARENT: i32 = -1;

chunk_ids! {
    /// A single [`MeshDesc`]: counts and strides.
    Desc "DESC",
    /// A single [`MeshBounds`]: the bounds of all vertices.
    Bounds "BNDS",
    /// An array of [`GpuVertex`].
    Vertices "VTXS",
    /// An array of vertex indices, `u16` or `u32` according to [`MeshDesc::index_width`].
    Indices "IDXS",
    /// An array of [`Meshlet`].
    Meshlets "MLET",
    /// An array of `u32`: the vertex indices of all meshlets.
    MeshletVertices "MLVR",
    /// An array of three bytes per triangle: meshlet-local vertex indices.
    MeshletTriangles "MLTR",
    /// One [`MeshletBounds`] per meshlet.
    MeshletBounds "MLBN",
    /// An array of `u64`: the hashes of the materials' asset references.
    Materials "MTRL",
    /// An array of [`SubMesh`].
    SubMeshes "SUBM",
    /// One [`GpuSkinVertex`] per vertex; absent from static meshes.
    Skin "SKIN",
    /// An array of [`GpuJoint`]; absent from meshes without a skeleton.
    Skeleton "SKEL",
    /// An array of `u32`: the indices of all LODs.
    LodIndices "LODI",
    /// A [`LodTableHeader`], then a [`MeshLod`] for each LOD of each submesh.
    LodTable "LODT",
    /// An array of [`ClusterGroup`](super::ClusterGroup); absent from meshes without cluster LODs.
    ClusterGroups "CLGR",
    /// An array of [`Cluster`](super::Cluster).
    Clusters "CLST",
    /// An array of [`ClusterPage`](super::ClusterPage).
    ClusterPageTable "CLPT",
    /// The bytes of all pages: the geometry of clusters.
    ClusterPages "CLPG",
    /// One vertex colour per vertex, in one of the formats of [`Colors`](super::Colors); absent without colours.
    Colors "COLR",
    /// The UV sets after the first, one after the other: `[f32; 2]` per vertex; absent with one set.
    UvSets "UVST",
    /// An array of [`MorphSet`]; absent without morph targets.
    MorphSets "MSET",
    /// An array of [`MorphTarget`].
    MorphTargets "MTGT",
    /// An array of [`MorphDelta`]: the vertices that morph targets move.
    MorphDeltas "MDLT",
    /// `[f32; 3]` per delta: the displacements of normals; absent if no normal changes.
    MorphNormals "MDNR",
    /// `[f32; 3]` per delta: the displacements of tangents; absent if no tangent changes.
    MorphTangents "MDTN",
    /// An array of [`MeshNode`]; absent where the transforms of nodes are applied to the vertices.
    Nodes "NODE",
    /// The names of morph targets and nodes, in UTF-8.
    Names "NAME",
}

pod! {
    /// The counts and strides of a mesh, which determine the sizes of the other chunks.
    #[derive(Eq, Default)]
    pub struct MeshDesc {
        /// Number of vertices in `VTXS`.
        pub vertex_count: u32,
        /// Number of indices in `IDXS`.
        pub index_count: u32,
        /// Number of meshlets in `MLET` and `MLBN`.
        pub meshlet_count: u32,
        /// Number of submeshes in `SUBM`, at least one.
        pub submesh_count: u32,
        /// Number of materials in `MTRL`.
        pub material_count: u32,
        /// Size of a vertex in bytes.
        pub vertex_stride: u16,
        /// Size of an index in bytes: 2 or 4.
        pub index_width: u8,
        /// [`HAS_TANGENTS`] or 0.
        pub flags: u8,
        /// Upper bound on the vertices of a meshlet.
        pub meshlet_max_verts: u32,
        /// Upper bound on the triangles of a meshlet.
        pub meshlet_max_tris: u32,
    }
}

pod! {
    /// Axis-aligned bounding box and bounding sphere.
    #[derive(Default)]
    pub struct MeshBounds {
        /// The minimum corner of the box.
        pub aabb_min: [f32; 3],
        /// The maximum corner of the box.
        pub aabb_max: [f32; 3],
        /// The centre of the sphere.
        pub sphere_center: [f32; 3],
        /// The radius of the sphere.
        pub sphere_radius: f32,
    }
}

pod! {
    /// The vertex format: 28 bytes.
    #[derive(Default)]
    pub struct GpuVertex {
        /// The position in mesh space.
        pub position: [f32; 3],
        /// The normal, octahedral-encoded, as `R16G16_SNORM`.
        pub normal: [i16; 2],
        /// The tangent, octahedral-encoded, with the handedness in the least significant bit of x; as
        /// `R16G16_SINT`.
        pub tangent: [i16; 2],
        /// The UV coordinates; the origin is the top left corner.
        pub uv: [f32; 2],
    }
}

pod! {
    /// A cluster of adjacent triangles of a submesh.
    #[derive(Eq, Default)]
    pub struct Meshlet {
        /// Index of the first vertex in `MLVR`.
        pub vertex_offset: u32,
        /// Number of vertices.
        pub vertex_count: u32,
        /// Index of the first triangle in `MLTR`, in triangles, not bytes.
        pub triangle_offset: u32,
        /// Number of triangles.
        pub triangle_count: u32,
    }
}

pod! {
    /// Bounding sphere and normal cone of a meshlet, for culling.
    #[derive(Default)]
    pub struct MeshletBounds {
        /// The centre of the bounding sphere.
        pub center: [f32; 3],
        /// The radius of the bounding sphere.
        pub radius: f32,
        /// The axis of the normal cone.
        pub cone_axis: [f32; 3],
        /// Cutoff of the normal cone: the meshlet is back-facing if the dot product of view direction and
        /// axis is at least this value. 1 disables the test.
        pub cone_cutoff: f32,
    }
}

pod! {
    /// The part of a mesh that is drawn with one material.
    #[derive(Default)]
    pub struct SubMesh {
        /// First index in `IDXS`.
        pub first_index: u32,
        /// Number of indices.
        pub index_count: u32,
        /// First meshlet in `MLET`.
        pub first_meshlet: u32,
        /// Number of meshlets.
        pub meshlet_count: u32,
        /// The row in `MTRL` and in the companion `.hmat`, or [`NO_MATERIAL`].
        pub material_slot: u32,
        /// Always 0: indices count from the first vertex of the mesh.
        pub base_vertex: u32,
        /// The bounds of the vertices of this submesh.
        pub bounds: MeshBounds,
    }
}

pod! {
    /// The bone influences of a vertex.
    #[derive(Default)]
    pub struct GpuSkinVertex {
        /// Joint indices into `SKEL`.
        pub joints: [u16; 4],
        /// Joint weights; they sum to 1.
        pub weights: [f32; 4],
    }
}

pod! {
    /// A joint of the skeleton.
    #[derive(Default)]
    pub struct GpuJoint {
        /// The inverse bind matrix: from mesh space to joint space, column-major.
        pub inverse_bind: [f32; 16],
        /// Translation in the bind pose, relative to the parent.
        pub bind_t: [f32; 3],
        /// Rotation in the bind pose: a quaternion x, y, z, w.
        pub bind_r: [f32; 4],
        /// Scale in the bind pose.
        pub bind_s: [f32; 3],
        /// Index of the parent in `SKEL`, or [`NO_PARENT`]. A parent may come after its children.
        pub parent: i32,
        /// Padding; zero in every valid file.
        pub pad: u32,
    }
}

pod! {
    /// The header of the LOD table `LODT`.
    #[derive(Eq, Default)]
    pub struct LodTableHeader {
        /// Number of LODs per submesh, not counting the full mesh.
        pub lod_count: u32,
        /// Number of submeshes, as in [`MeshDesc`].
        pub submesh_count: u32,
    }
}

pod! {
    /// One LOD of one submesh. An empty LOD stands for the preceding one.
    #[derive(Eq, Default)]
    pub struct MeshLod {
        /// First index in `LODI`.
        pub first_index: u32,
        /// Number of indices.
        pub index_count: u32,
    }
}

pod! {
    /// The morph targets of one drawn mesh: submeshes that follow one another and share their weights.
    #[derive(Eq, Default)]
    pub struct MorphSet {
        /// The first submesh.
        pub first_submesh: u32,
        /// Number of submeshes, at least one.
        pub submesh_count: u32,
        /// The first morph target in `MTGT`.
        pub first_target: u32,
        /// Number of morph targets, at least one.
        pub target_count: u32,
    }
}

pod! {
    /// A morph target: the vertices that it moves.
    #[derive(Default)]
    pub struct MorphTarget {
        /// Byte offset of the name in `NAME`.
        pub name_offset: u32,
        /// Length of the name in bytes; 0 for none.
        pub name_size: u32,
        /// The default weight.
        pub weight: f32,
        /// The first vertex that moves, in `MDLT`.
        pub first_delta: u32,
        /// Number of vertices that move.
        pub delta_count: u32,
    }
}

pod! {
    /// A vertex that a morph target moves.
    #[derive(Default)]
    pub struct MorphDelta {
        /// Index of the vertex in `VTXS`.
        pub vertex: u32,
        /// The displacement of its position at weight 1.
        pub position: [f32; 3],
    }
}

pod! {
    /// A node of the source: its name, its place in the hierarchy, and the submeshes that it draws.
    #[derive(Default)]
    pub struct MeshNode {
        /// Byte offset of the name in `NAME`.
        pub name_offset: u32,
        /// Length of the name in bytes; 0 for none.
        pub name_size: u32,
        /// Index of the parent in `NODE`, which comes before its children, or [`NO_PARENT`].
        pub parent: i32,
        /// The first submesh that the node draws.
        pub first_submesh: u32,
        /// Number of submeshes that the node draws. Several nodes may draw the same ones.
        pub submesh_count: u32,
        /// Translation relative to the parent.
        pub translation: [f32; 3],
        /// Rotation relative to the parent: a quaternion x, y, z, w.
        pub rotation: [f32; 4],
        /// Scale relative to the parent.
        pub scale: [f32; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_match_document() {
        let tags = [
            0x43534544, 0x53444e42, 0x53585456, 0x53584449, 0x54454c4d, 0x52564c4d, 0x52544c4d, 0x4e424c4d,
            0x4c52544d, 0x4d425553, 0x4e494b53, 0x4c454b53, 0x49444f4c, 0x54444f4c, 0x52474c43, 0x54534c43,
            0x54504c43, 0x47504c43, 0x524c4f43, 0x54535655, 0x5445534d, 0x5447544d, 0x544c444d, 0x524e444d,
            0x4e54444d, 0x45444f4e, 0x454d414e,
        ];
        assert_eq!(ChunkId::ALL.map(|id| u32::from_le_bytes(id.fourcc())), tags);
        for id in ChunkId::ALL {
            assert_eq!(id.name().as_bytes(), id.fourcc());
            assert_eq!(id.size_name(), std::format!("size of {}", id.name()));
        }
    }

    #[test]
    fn record_sizes_match_document() {
        assert_eq!([MeshDesc::SIZE, MeshBounds::SIZE, GpuVertex::SIZE, Meshlet::SIZE], [32, 40, 28, 16]);
        assert_eq!([MeshletBounds::SIZE, SubMesh::SIZE, GpuSkinVertex::SIZE], [32, 64, 24]);
        assert_eq!([GpuJoint::SIZE, LodTableHeader::SIZE, MeshLod::SIZE], [112, 8, 8]);
        assert_eq!([MorphSet::SIZE, MorphTarget::SIZE, MorphDelta::SIZE, MeshNode::SIZE], [16, 20, 16, 60]);
    }
}
