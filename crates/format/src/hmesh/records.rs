//! What a mesh is made of: the tags of its chunks, and the records in them.

use crate::pod::pod;

/// [`SubMesh::material_slot`] of a submesh without a material.
pub const NO_MATERIAL: u32 = u32::MAX;

/// The bit of [`MeshDesc::flags`] that says that vertices have tangents.
pub const HAS_TANGENTS: u8 = 1;

/// [`GpuJoint::parent`] of a joint without one.
pub const NO_PARENT: i32 = -1;

macro_rules! chunk_ids {
    ($($(#[$doc:meta])* $id:ident $name:literal,)*) => {
        /// The chunks we know, in the order in which they are written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ChunkId {
            $($(#[$doc])* $id,)*
        }

        impl ChunkId {
            /// All of them, in the order in which they are written.
            pub const ALL: [ChunkId; [$($name),*].len()] = [$(ChunkId::$id),*];

            /// Its tag as text.
            pub const fn name(self) -> &'static str {
                [$($name),*][self as usize]
            }

            /// Its tag as it stands in a file.
            pub const fn fourcc(self) -> [u8; 4] {
                [$(*$name.as_bytes().first_chunk().unwrap()),*][self as usize]
            }

            /// What messages call its size.
            pub(crate) const fn size_name(self) -> &'static str {
                [$(concat!("size of ", $name)),*][self as usize]
            }
        }
    };
}

chunk_ids! {
    /// One [`MeshDesc`].
    Desc "DESC",
    /// One [`MeshBounds`].
    Bounds "BNDS",
    /// A [`GpuVertex`] each.
    Vertices "VTXS",
    /// `u16` or `u32` each, as [`MeshDesc::index_width`] says: numbers of vertices.
    Indices "IDXS",
    /// A [`Meshlet`] each.
    Meshlets "MLET",
    /// `u32` each: the numbers of the vertices that meshlets use.
    MeshletVertices "MLVR",
    /// Three bytes each: the corners of a triangle, by their place among the vertices of the meshlet.
    MeshletTriangles "MLTR",
    /// A [`MeshletBounds`] for each meshlet.
    MeshletBounds "MLBN",
    /// `u64` each: the hash of a material's reference.
    Materials "MTRL",
    /// A [`SubMesh`] each.
    SubMeshes "SUBM",
    /// A [`GpuSkinVertex`] for each vertex; absent from static meshes.
    Skin "SKIN",
    /// A [`GpuJoint`] each; absent without a skeleton.
    Skeleton "SKEL",
    /// `u32` each: the indices of reduced levels.
    LodIndices "LODI",
    /// A [`LodTableHeader`], then a [`MeshLod`] for each level of each submesh.
    LodTable "LODT",
}

pod! {
    /// The shape of a mesh: what all other chunks hold how many of.
    #[derive(Eq, Default)]
    pub struct MeshDesc {
        /// Vertices in `VTXS`.
        pub vertex_count: u32,
        /// Indices in `IDXS`.
        pub index_count: u32,
        /// Meshlets in `MLET` and `MLBN`.
        pub meshlet_count: u32,
        /// Submeshes in `SUBM`, at least one.
        pub submesh_count: u32,
        /// Materials in `MTRL`.
        pub material_count: u32,
        /// Bytes of a vertex.
        pub vertex_stride: u16,
        /// Bytes of an index: 2 or 4.
        pub index_width: u8,
        /// [`HAS_TANGENTS`] or 0.
        pub flags: u8,
        /// No meshlet has more vertices.
        pub meshlet_max_verts: u32,
        /// No meshlet has more triangles.
        pub meshlet_max_tris: u32,
    }
}

pod! {
    /// The box and the sphere around vertices.
    #[derive(Default)]
    pub struct MeshBounds {
        /// The least coordinates.
        pub aabb_min: [f32; 3],
        /// The greatest.
        pub aabb_max: [f32; 3],
        /// The centre of the sphere.
        pub sphere_center: [f32; 3],
        /// Its radius.
        pub sphere_radius: f32,
    }
}

pod! {
    /// A vertex.
    #[derive(Default)]
    pub struct GpuVertex {
        /// Where it is.
        pub position: [f32; 3],
        /// Its normal, octahedral, as `R16G16_SNORM`.
        pub normal: [i16; 2],
        /// Its tangent, octahedral, with the handedness in the lowest bit of x; as `R16G16_SINT`.
        pub tangent: [i16; 2],
        /// Its texture coordinates, from the top left.
        pub uv: [f32; 2],
    }
}

pod! {
    /// A few neighbouring triangles of a submesh.
    #[derive(Eq, Default)]
    pub struct Meshlet {
        /// The first of its vertices in `MLVR`.
        pub vertex_offset: u32,
        /// How many it has.
        pub vertex_count: u32,
        /// The first of its triangles in `MLTR`: a number of triangles, not of bytes.
        pub triangle_offset: u32,
        /// How many it has.
        pub triangle_count: u32,
    }
}

pod! {
    /// A sphere around a meshlet, and a cone around its normals.
    #[derive(Default)]
    pub struct MeshletBounds {
        /// The centre of the sphere.
        pub center: [f32; 3],
        /// Its radius.
        pub radius: f32,
        /// Where the triangles face.
        pub cone_axis: [f32; 3],
        /// A view direction whose dot product with the axis is at least this sees no front; 1 means that some
        /// triangle may always be seen.
        pub cone_cutoff: f32,
    }
}

pod! {
    /// What is drawn with one material.
    #[derive(Default)]
    pub struct SubMesh {
        /// Its first index in `IDXS`.
        pub first_index: u32,
        /// How many it has.
        pub index_count: u32,
        /// Its first meshlet in `MLET`.
        pub first_meshlet: u32,
        /// How many it has.
        pub meshlet_count: u32,
        /// Its row in `MTRL` and in the `.hmat` beside the mesh, or [`NO_MATERIAL`].
        pub material_slot: u32,
        /// 0: indices count from the first vertex of the mesh.
        pub base_vertex: u32,
        /// The bounds of its vertices.
        pub bounds: MeshBounds,
    }
}

pod! {
    /// What moves a vertex.
    #[derive(Default)]
    pub struct GpuSkinVertex {
        /// Joints in `SKEL`.
        pub joints: [u16; 4],
        /// How much each of them counts; they add up to 1.
        pub weights: [f32; 4],
    }
}

pod! {
    /// A joint of the skeleton.
    #[derive(Default)]
    pub struct GpuJoint {
        /// From the space of the mesh to that of the joint in the bind pose, column by column.
        pub inverse_bind: [f32; 16],
        /// Its translation in the bind pose, relative to its parent.
        pub bind_t: [f32; 3],
        /// Its rotation: a quaternion x, y, z, w.
        pub bind_r: [f32; 4],
        /// Its scale.
        pub bind_s: [f32; 3],
        /// Its parent in `SKEL`, or [`NO_PARENT`]. A parent need not come before its children.
        pub parent: i32,
        /// 0.
        pub pad: u32,
    }
}

pod! {
    /// The start of `LODT`.
    #[derive(Eq, Default)]
    pub struct LodTableHeader {
        /// Reduced levels of each submesh.
        pub lod_count: u32,
        /// Submeshes, as in [`MeshDesc`].
        pub submesh_count: u32,
    }
}

pod! {
    /// One reduced level of one submesh. Without indices it stands for the level before it.
    #[derive(Eq, Default)]
    pub struct MeshLod {
        /// Its first index in `LODI`.
        pub first_index: u32,
        /// How many it has.
        pub index_count: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_as_documented() {
        let tags = [
            0x43534544, 0x53444e42, 0x53585456, 0x53584449, 0x54454c4d, 0x52564c4d, 0x52544c4d, 0x4e424c4d,
            0x4c52544d, 0x4d425553, 0x4e494b53, 0x4c454b53, 0x49444f4c, 0x54444f4c,
        ];
        assert_eq!(ChunkId::ALL.map(|id| u32::from_le_bytes(id.fourcc())), tags);
        for id in ChunkId::ALL {
            assert_eq!(id.name().as_bytes(), id.fourcc());
            assert_eq!(id.size_name(), std::format!("size of {}", id.name()));
        }
    }

    #[test]
    fn sizes_are_as_documented() {
        assert_eq!([MeshDesc::SIZE, MeshBounds::SIZE, GpuVertex::SIZE, Meshlet::SIZE], [32, 40, 28, 16]);
        assert_eq!([MeshletBounds::SIZE, SubMesh::SIZE, GpuSkinVertex::SIZE], [32, 64, 24]);
        assert_eq!([GpuJoint::SIZE, LodTableHeader::SIZE, MeshLod::SIZE], [112, 8, 8]);
    }
}
