//! Meshes: vertices and indices where they lie, levels of detail, shadows, skin, meshlets and bounds.

use crate::{BlobId, Bytes, IndexBuffer, Mat4, Vec3};
use kiln_format::pak::mesh::{MeshView, MeshletRecord, PrimitiveView};

pub use kiln_format::pak::{Role, VertexType};

/// A box and a sphere around something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The corner with the smallest coordinates.
    pub min: Vec3,
    /// The corner with the largest.
    pub max: Vec3,
    /// The centre of the sphere.
    pub center: Vec3,
    /// Its radius.
    pub radius: f32,
}

impl Bounds {
    fn new([a, b, c, d, e, f, g, h, i, radius]: [f32; 10]) -> Bounds {
        Bounds { min: [a, b, c], max: [d, e, f], center: [g, h, i], radius }
    }
}

/// A shape in parts that each have one material.
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

    /// The parts. A shadow follows the part that throws it.
    pub fn primitives(&self) -> &[Primitive] {
        &self.primitives
    }

    /// What it hangs on.
    pub fn skin(&self) -> Option<&Skin> {
        self.skin.as_ref()
    }

    /// The blob that was given with it.
    pub fn data(&self) -> Option<BlobId> {
        self.data
    }

    /// The names of its materials, in the order that [`Primitive::material`] counts them.
    pub fn materials(&self) -> &[String] {
        &self.materials
    }

    /// What is around it.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(crate) fn rebase(&mut self, blobs: impl FnOnce(usize) -> usize) {
        self.data = self.data.map(|id| BlobId(blobs(id.0)));
    }
}

/// Triangles of one material.
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
        }
    }

    /// The levels of detail over the same vertices, the whole first.
    pub fn lods(&self) -> &[IndexBuffer] {
        &self.lods
    }

    /// How far each level's surface is from the whole, at most, in the units of the positions.
    pub fn lod_errors(&self) -> &[f32] {
        &self.lod_errors
    }

    /// Which of the mesh's materials.
    pub fn material(&self) -> u16 {
        self.material
    }

    /// What it is for.
    pub fn role(&self) -> Role {
        self.role
    }

    /// How many vertices there are.
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// The vertices, interleaved: [`VertexType`] says how. They are aligned to sixteen bytes.
    pub fn vertex_data(&self) -> &[u8] {
        &self.vertices
    }

    /// Their attributes.
    pub fn vertex_type(&self) -> VertexType {
        self.vertex_type
    }

    /// What is around it.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Its clusters, if they were asked for.
    pub fn meshlets(&self) -> &[Meshlet] {
        &self.meshlets
    }
}

/// A cluster of triangles.
#[derive(Clone, Debug, PartialEq)]
pub struct Meshlet {
    /// Vertices of the primitive.
    pub vertices: Vec<u32>,
    /// Corners, as places in `vertices`.
    pub triangles: Vec<[u8; 3]>,
    /// The centre of a sphere around it.
    pub center: Vec3,
    /// Its radius.
    pub radius: f32,
    /// The direction its triangles face, on the whole.
    pub cone_axis: Vec3,
    /// None faces `camera` if `dot(center - camera, cone_axis) >= cone_cutoff * length(center - camera) + radius`.
    pub cone_cutoff: f32,
}

/// What a mesh hangs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    joints: Vec<Joint>,
}

impl Skin {
    /// The joints, in the order that vertices name them.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }
}

/// A joint of a skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// From the mesh into the joint's space in the bind pose.
    pub inverse_bind: Mat4,
    /// Its name, which animations use.
    pub name: String,
    /// The joint it hangs on; itself when it hangs on none.
    pub parent_index: usize,
}
