//! Mesh assets: zero-copy vertices and indices, levels of detail (LOD), shadow geometry, skin, meshlets and bounds.

use crate::{BlobId, Bytes, IndexBuffer, Mat4, Vec3};
use kiln_format::pak::mesh::{MeshView, MeshletRecord, PrimitiveView};

pub use crate::vertex_streams::{MorphTarget, VertexColors};
pub use kiln_format::pak::{Role, VertexAttribute, VertexFormat, VertexSemantic, VertexType};

/// An axis-aligned bounding box and a bounding sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The minimum corner of the box.
    pub min: Vec3,
    /// The maximum corner of the box.
    pub max: Vec3,
    /// The center of the sphere.
    pub center: Vec3,
    /// The radius of the bounding sphere.
    pub radius: f32,
}

impl Bounds {
    /// Returns the box around points and the sphere around that box; zeros if there are none.
    fn of(points: impl Iterator<Item = Vec3>) -> Bounds {
        let mut box_of: Option<(Vec3, Vec3)> = None;
        for point in points {
            let (min, max) = box_of.get_or_insert((point, point));
            for axis in 0..3 {
                (min[axis], max[axis]) = (min[axis].min(point[axis]), max[axis].max(point[axis]));
            }
        }
        let (min, max) = box_of.unwrap_or_default();
        let center = std::array::from_fn(|axis| (min[axis] + max[axis]) / 2.0);
        let radius = (0..3).map(|axis| (max[axis] - center[axis]).powi(2)).sum::<f32>().sqrt();
        Bounds { min, max, center, radius }
    }

    fn new([a, b, c, d, e, f, g, h, i, radius]: [f32; 10]) -> Bounds {
        Bounds { min: [a, b, c], max: [d, e, f], center: [g, h, i], radius }
    }
}

/// A mesh: a list of primitives with one material each.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    primitives: Vec<Primitive>,
    skin: Option<Skin>,
    data: Option<BlobId>,
    materials: Vec<String>,
    bounds: Bounds,
}

impl Mesh {
    pub(crate) fn from_payload(view: &MeshView<'_>, bytes: &Bytes, data: Option<BlobId>) -> Mesh {
        let joint = |(name, record): (&str, kiln_format::pak::mesh::JointRecord)| Joint {
            inverse_bind: record.inverse_bind,
            name: name.to_owned(),
            parent_index: record.parent as usize,
        };
        let joints: Vec<Joint> = view.joints().map(joint).collect();
        Mesh {
            primitives: view.primitives().map(|p| Primitive::from_payload(&p, view, bytes)).collect(),
            skin: (!joints.is_empty()).then_some(Skin { joints }),
            data,
            materials: view.materials().map(str::to_owned).collect(),
            bounds: Bounds::new(view.bounds()),
        }
    }

    /// Creates a mesh of primitives, with an optional skin. Its bounds are the union of those of the primitives.
    pub fn new(primitives: Vec<Primitive>, skin: Option<Skin>) -> Mesh {
        let corners = primitives.iter().flat_map(|primitive| [primitive.bounds.min, primitive.bounds.max]);
        let bounds = Bounds::of(corners);
        Mesh { primitives, skin, data: None, materials: Vec::new(), bounds }
    }

    /// Sets the blob of the mesh.
    pub fn set_data(&mut self, id: BlobId) {
        self.data = Some(id);
    }

    /// Returns the primitives. Shadow geometry directly follows the primitive it belongs to.
    pub fn primitives(&self) -> &[Primitive] {
        &self.primitives
    }

    /// Returns the skin, if the mesh is skinned.
    pub fn skin(&self) -> Option<&Skin> {
        self.skin.as_ref()
    }

    /// Returns the blob that the description attached with `data`.
    pub fn data(&self) -> Option<BlobId> {
        self.data
    }

    /// Returns the material names, indexed by [`Primitive::material`].
    pub fn materials(&self) -> &[String] {
        &self.materials
    }

    /// Returns the bounding box and bounding sphere.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(crate) fn rebase(&mut self, blobs: impl FnOnce(usize) -> usize) {
        self.data = self.data.map(|id| BlobId(blobs(id.0)));
    }
}

/// Indexed triangles with one vertex layout and one material.
#[derive(Clone, Debug, PartialEq)]
pub struct Primitive {
    vertices: Bytes,
    vertex_type: VertexType,
    vertex_count: usize,
    lods: Vec<IndexBuffer>,
    lod_errors: Vec<f32>,
    material: u16,
    role: Role,
    bounds: Bounds,
    meshlets: Vec<Meshlet>,
    colors: Vec<VertexColors>,
    morph_targets: Vec<MorphTarget>,
}

impl Primitive {
    fn from_payload(part: &PrimitiveView<'_>, view: &MeshView<'_>, bytes: &Bytes) -> Primitive {
        let lods = part.lods.iter().filter_map(|lod| {
            let (start, end) = view.lod_range(&part.record, &lod)?;
            Some(IndexBuffer::stored(bytes.slice(start..end), part.record.index_size))
        });
        let meshlet = |record: MeshletRecord| {
            let vertices = view.meshlet_vertices().range(record.vertex_offset, record.vertex_count);
            let triangles = view.meshlet_triangles().range(record.triangle_offset, record.triangle_count);
            Meshlet {
                vertices: vertices.unwrap_or_default().iter().collect(),
                triangles: triangles.unwrap_or_default().iter().collect(),
                center: record.center,
                radius: record.radius,
                cone_axis: record.cone_axis,
                cone_cutoff: record.cone_cutoff,
            }
        };
        let (colors, morph_targets) = crate::vertex_streams::read(view.streams(&part.record), bytes);
        Primitive {
            vertices: bytes.slice(part.vertices.0..part.vertices.1),
            vertex_type: part.vertex_type,
            vertex_count: part.record.vertex_count as usize,
            lods: lods.collect(),
            lod_errors: part.lods.iter().map(|lod| lod.error).collect(),
            material: part.record.material,
            role: part.role,
            bounds: Bounds::new(part.record.bounds),
            meshlets: part.meshlets.iter().map(meshlet).collect(),
            colors,
            morph_targets,
        }
    }

    /// Creates a primitive of interleaved vertices without index buffers, with bounds around the positions.
    ///
    /// # Panics
    /// If the length of `vertex_buf` is not a multiple of the stride of `vertex_type`.
    pub fn new(material: u16, vertex_buf: &[u8], vertex_type: VertexType) -> Primitive {
        let stride = vertex_type.stride();
        assert!(vertex_buf.len().is_multiple_of(stride.max(1)), "the vertices are not whole");
        let float = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let position = |vertex: &[u8]| [float(vertex), float(&vertex[4..]), float(&vertex[8..])];
        let vertices = vertex_buf.chunks_exact(stride.max(1)).filter(|_| stride >= 12);
        Primitive {
            vertices: Bytes::from_vec(vertex_buf.to_vec()),
            vertex_type,
            vertex_count: vertex_buf.len() / stride.max(1),
            lods: Vec::new(),
            lod_errors: Vec::new(),
            material,
            role: Role::Main,
            bounds: Bounds::of(vertices.map(position)),
            meshlets: Vec::new(),
            colors: Vec::new(),
            morph_targets: Vec::new(),
        }
    }

    /// Appends the index buffer of the next level of detail.
    pub fn push_lod(&mut self, indices: IndexBuffer) {
        self.lods.push(indices);
        self.lod_errors.push(0.0);
    }

    /// Returns the index buffers of all levels of detail, LOD 0 first. They share the vertices.
    pub fn lods(&self) -> &[IndexBuffer] {
        &self.lods
    }

    /// Returns the simplification error of each LOD: the maximum distance from LOD 0, in the units of the positions.
    pub fn lod_errors(&self) -> &[f32] {
        &self.lod_errors
    }

    /// Returns the index into [`Mesh::materials`].
    pub fn material(&self) -> u16 {
        self.material
    }

    /// Returns the role: regular or shadow geometry.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// Returns the interleaved vertices in the layout of [`Primitive::vertex_type`], aligned to 16 bytes.
    pub fn vertex_data(&self) -> &[u8] {
        &self.vertices
    }

    /// Returns the vertex attributes that are present.
    pub fn vertex_type(&self) -> VertexType {
        self.vertex_type
    }

    /// Returns the UVs of each vertex in the second UV set; `None` if it is not present.
    pub fn second_uvs(&self) -> Option<impl ExactSizeIterator<Item = [f32; 2]> + '_> {
        let is_uv1 = |attribute: &VertexAttribute| attribute.semantic == VertexSemantic::TexCoord1;
        let at = self.vertex_type.attributes().find(is_uv1)?.offset;
        let float = |bytes: &[u8]| bytes.first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
        let vertices = self.vertices.chunks_exact(self.vertex_type.stride());
        Some(vertices.map(move |vertex| [float(&vertex[at..]), float(&vertex[at + 4..])]))
    }

    /// Returns the sets of vertex colors; empty if the source has none, or the description set `colors = false`. The LODs
    /// share them, as they share the vertices.
    pub fn colors(&self) -> &[VertexColors] {
        &self.colors
    }

    /// Returns the morph targets; empty if the source has none, or the description set `morphs = false`.
    pub fn morph_targets(&self) -> &[MorphTarget] {
        &self.morph_targets
    }

    /// Returns the bounding box and bounding sphere, without the deltas of morph targets.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns the meshlets; empty unless the description set `meshlets = true`.
    pub fn meshlets(&self) -> &[Meshlet] {
        &self.meshlets
    }
}

/// A meshlet: a small cluster of triangles with culling bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Meshlet {
    /// Indices into the vertices of the primitive.
    pub vertices: Vec<u32>,
    /// The corners of each triangle, as indices into `vertices`.
    pub triangles: Vec<[u8; 3]>,
    /// The center of the bounding sphere.
    pub center: Vec3,
    /// The radius of the bounding sphere.
    pub radius: f32,
    /// The axis of the normal cone.
    pub cone_axis: Vec3,
    /// The cutoff of the normal cone. All triangles are back-facing if
    /// `dot(center - camera, cone_axis) >= cone_cutoff * length(center - camera) + radius`.
    pub cone_cutoff: f32,
}

/// The skin of a mesh: the joints that its vertices are bound to.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    joints: Vec<Joint>,
}

impl Skin {
    /// Creates a skin from its joints.
    pub fn new(joints: Vec<Joint>) -> Skin {
        Skin { joints }
    }

    /// Returns the joints, indexed by the joint indices of the vertices.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }
}

/// A joint of a skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// The inverse bind matrix: from mesh space to joint space in the bind pose.
    pub inverse_bind: Mat4,
    /// The name of the joint, which animation channels use as their target.
    pub name: String,
    /// The index of the parent joint; a root joint is its own parent.
    pub parent_index: usize,
}
