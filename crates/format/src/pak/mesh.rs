//! The payload of a mesh: a header, tables, strings, then all vertices and all indices, each aligned for use
//! in place, then the streams of primitives that have any.
//!
//! Rejected are ranges out of bounds, vertex and joint indices out of range, and bounds that are not finite.
//! A renderer can upload the arrays to a GPU unchanged.

#[cfg(feature = "tools")]
pub use super::mesh_streams::Stream;
use super::mesh_streams::Streams;
pub use super::mesh_streams::{MorphAttributes, StreamLayout, StreamRecord, StreamView};
use super::{Role, Sections, VertexType, text::TextRange, text::Texts};
use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// The header of the payload: the sizes of its arrays, and the bounds.
    pub struct MeshHead {
        /// Number of primitives.
        pub primitives: u32,
        /// Number of LODs of all primitives.
        pub lods: u32,
        /// Number of joints of the skin.
        pub joints: u32,
        /// Number of materials; their names follow the joints.
        pub materials: u32,
        /// Number of meshlets of all primitives.
        pub meshlets: u32,
        /// Number of vertex indices of all meshlets.
        pub meshlet_vertices: u32,
        /// Number of triangles of all meshlets.
        pub meshlet_triangles: u32,
        /// Size of all strings in bytes.
        pub text_len: u32,
        /// Size of all vertices in bytes.
        pub vertex_bytes: u64,
        /// Size of all indices in bytes.
        pub index_bytes: u64,
        /// Bounding box (minimum, maximum), centre and radius of the bounding sphere.
        pub bounds: [f32; 10],
    }
}

pod! {
    /// A primitive: triangles with one material.
    pub struct PrimitiveRecord {
        /// Byte offset of its vertices in the vertex section.
        pub vertex_offset: u64,
        /// Number of vertices.
        pub vertex_count: u32,
        /// The vertex attributes; see [`VertexType`].
        pub vertex_type: u16,
        /// Index of the material in the mesh.
        pub material: u16,
        /// The role of the primitive; see [`Role`].
        pub role: u8,
        /// Size of an index in bytes: 1, 2 or 4.
        pub index_size: u8,
        /// Number of streams: vertex colours, then morph targets.
        pub streams: u16,
        /// Index of the first LOD, which is the full primitive; coarser ones follow.
        pub first_lod: u32,
        /// Number of LODs.
        pub lods: u32,
        /// Index of the first meshlet.
        pub first_meshlet: u32,
        /// Number of meshlets.
        pub meshlets: u32,
        /// Index of the first stream: the number of streams of the primitives before.
        pub first_stream: u32,
        /// Bounding box (minimum, maximum), centre and radius of the bounding sphere.
        pub bounds: [f32; 10],
    }
}

pod! {
    /// The triangles of one LOD.
    pub struct LodRecord {
        /// Byte offset of its indices in the index section.
        pub index_offset: u64,
        /// Number of indices.
        pub index_count: u32,
        /// Upper bound on the geometric error: the distance to the surface of the full primitive.
        pub error: f32,
    }
}

pod! {
    /// A joint of the skin.
    pub struct JointRecord {
        /// The inverse bind matrix: from mesh space to joint space, column-major.
        pub inverse_bind: [f32; 16],
        /// Index of the parent joint; a root is its own parent.
        pub parent: u32,
        /// The name of the joint.
        pub name: TextRange,
    }
}

pod! {
    /// A meshlet: a cluster of triangles with its culling bounds.
    pub struct MeshletRecord {
        /// Index of its first entry in the meshlet vertices.
        pub vertex_offset: u32,
        /// Number of vertices.
        pub vertex_count: u32,
        /// Index of its first triangle.
        pub triangle_offset: u32,
        /// Number of triangles.
        pub triangle_count: u32,
        /// The centre of the bounding sphere.
        pub center: [f32; 3],
        /// The radius of the bounding sphere.
        pub radius: f32,
        /// The axis of the normal cone.
        pub cone_axis: [f32; 3],
        /// The cutoff of the normal cone.
        pub cone_cutoff: f32,
    }
}

/// A primitive, borrowed from its payload.
#[derive(Clone, Copy, Debug)]
pub struct PrimitiveView<'a> {
    /// The record of the primitive.
    pub record: PrimitiveRecord,
    /// The vertex attributes.
    pub vertex_type: VertexType,
    /// The role of the primitive.
    pub role: Role,
    /// Start and end of its vertices in the payload, in bytes.
    pub vertices: (usize, usize),
    /// The LODs, finest first.
    pub lods: Array<'a, LodRecord>,
    /// The meshlets of the primitive.
    pub meshlets: Array<'a, MeshletRecord>,
}

/// A checked mesh, borrowed from its payload.
#[derive(Clone, Copy, Debug)]
pub struct MeshView<'a> {
    head: MeshHead,
    primitives: Array<'a, PrimitiveRecord>,
    lods: Array<'a, LodRecord>,
    joints: Array<'a, JointRecord>,
    materials: Array<'a, TextRange>,
    meshlets: Array<'a, MeshletRecord>,
    meshlet_vertices: Array<'a, u32>,
    meshlet_triangles: Array<'a, [u8; 3]>,
    texts: Texts<'a>,
    vertices: &'a [u8],
    vertices_at: usize,
    indices: &'a [u8],
    indices_at: usize,
    streams: Streams<'a>,
}

impl<'a> MeshView<'a> {
    /// Checks the payload of a mesh.
    ///
    /// # Errors
    ///
    /// [`Error`] if the payload is truncated, has trailing bytes or holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let needed = MeshHead::SIZE as u64;
        let short = Error::Truncated { at: 0, field: "head", needed, len: bytes.len() as u64 };
        let head = MeshHead::get(bytes).ok_or(short)?;
        let mut sections = Sections::new(bytes, MeshHead::SIZE);
        let primitives: Array<'a, PrimitiveRecord> = sections.take(head.primitives, "primitives")?;
        let lods = sections.take(head.lods, "levels of detail")?;
        let joints = sections.take(head.joints, "joints")?;
        let materials = sections.take(head.materials, "materials")?;
        let meshlets = sections.take(head.meshlets, "meshlets")?;
        let meshlet_vertices = sections.take(head.meshlet_vertices, "meshlet vertices")?;
        let meshlet_triangles = sections.take(head.meshlet_triangles, "meshlet triangles")?;
        let texts = Texts::read(sections.bytes(head.text_len.into(), "names")?)?;
        sections.align();
        let vertices_at = sections.at as usize;
        let vertices = sections.bytes(head.vertex_bytes, "vertices")?;
        sections.align();
        let indices_at = sections.at as usize;
        let indices = sections.bytes(head.index_bytes, "indices")?;
        let sizes = primitives.iter().map(|primitive| (primitive.streams.into(), primitive.vertex_count));
        let streams = Streams::read(&mut sections, texts, sizes)?;
        sections.finish()?;
        let view = MeshView {
            head,
            primitives,
            lods,
            joints,
            materials,
            meshlets,
            meshlet_vertices,
            meshlet_triangles,
            texts,
            vertices,
            vertices_at,
            indices,
            indices_at,
            streams,
        };
        view.check()?;
        Ok(view)
    }

    fn check(&self) -> Result<(), Error> {
        self.texts.check(self.materials)?;
        let invalid = |field, why| Err(Error::Fault { at: 0, field, why });
        if !self.head.bounds.iter().all(|v| v.is_finite()) {
            return invalid("bounds", "are not finite");
        }
        for joint in self.joints {
            let known = joint.parent < self.head.joints && self.texts.get(joint.name).is_some();
            if !known || !joint.inverse_bind.iter().all(|v| v.is_finite()) {
                return invalid("joint", "has an invalid parent, name or inverse bind matrix");
            }
        }
        let mut first_stream = 0;
        for (index, record) in self.primitives.iter().enumerate() {
            let at = (MeshHead::SIZE + index * PrimitiveRecord::SIZE) as u64;
            let fault = |why| Error::Fault { at, field: "primitive", why };
            if record.first_stream != first_stream {
                return Err(fault("has streams that are not contiguous with the preceding ones"));
            }
            first_stream += u32::from(record.streams);
            self.check_primitive(&record).map_err(fault)?;
        }
        Ok(())
    }

    fn check_primitive(&self, record: &PrimitiveRecord) -> Result<(), &'static str> {
        if !record.bounds.iter().all(|v| v.is_finite()) {
            return Err("has bounds that are not finite");
        }
        if u32::from(record.material) >= self.head.materials.max(1) {
            return Err("has a material index out of range");
        }
        let primitive = self.primitive(record).ok_or("has vertices, LODs or meshlets out of bounds")?;
        if primitive.lods.is_empty() {
            return Err("has no triangles");
        }
        for lod in primitive.lods {
            let range = self.lod_range(record, &lod).ok_or("has indices out of bounds")?;
            let indices = &self.indices[range.0 - self.indices_at..range.1 - self.indices_at];
            let below = match record.index_size {
                1 => indices.iter().all(|&index| u32::from(index) < record.vertex_count),
                2 => largest::<2>(indices) < record.vertex_count,
                _ => largest::<4>(indices) < record.vertex_count,
            };
            if !lod.index_count.is_multiple_of(3) || !lod.error.is_finite() || !below {
                return Err("has indices out of range, or an index count that is not a multiple of 3");
            }
        }
        if primitive.vertex_type.contains(VertexType::JOINTS_WEIGHTS) {
            self.check_joints(&primitive)?;
        }
        for meshlet in primitive.meshlets {
            let vertices = self.meshlet_vertices.range(meshlet.vertex_offset, meshlet.vertex_count);
            let triangles = self.meshlet_triangles.range(meshlet.triangle_offset, meshlet.triangle_count);
            let (Some(vertices), Some(triangles)) = (vertices, triangles) else {
                return Err("has meshlets with a range out of bounds");
            };
            let corner = |corner: &u8| u32::from(*corner) < meshlet.vertex_count;
            if !vertices.iter().all(|vertex| vertex < record.vertex_count)
                || !triangles.iter().all(|triangle| triangle.iter().all(corner))
            {
                return Err("has meshlets with a vertex index out of range");
            }
        }
        Ok(())
    }

    /// Checks that the joint indices of vertices are in range.
    fn check_joints(&self, primitive: &PrimitiveView<'_>) -> Result<(), &'static str> {
        let (stride, at) = (primitive.vertex_type.stride(), primitive.vertex_type.joints_offset());
        let wide = primitive.vertex_type.contains(VertexType::JOINTS16_WEIGHTS);
        let (start, end) = (primitive.vertices.0 - self.vertices_at, primitive.vertices.1 - self.vertices_at);
        for vertex in self.vertices[start..end].chunks_exact(stride) {
            let most = match wide {
                true => <[u16; 4]>::get(&vertex[at..]).unwrap_or_default().into_iter().max().unwrap_or(0),
                false => vertex[at..at + 4].iter().copied().max().unwrap_or(0).into(),
            };
            if u32::from(most) >= self.head.joints {
                return Err("has a joint index that is out of range");
            }
        }
        Ok(())
    }

    fn primitive(&self, record: &PrimitiveRecord) -> Option<PrimitiveView<'a>> {
        let vertex_type = VertexType::from_bits(record.vertex_type)?;
        let role = Role::from_number(record.role)?;
        let size = u64::from(record.vertex_count).checked_mul(vertex_type.stride() as u64)?;
        let end = record.vertex_offset.checked_add(size).filter(|end| *end <= self.vertices.len() as u64)?;
        let vertices = (self.vertices_at + record.vertex_offset as usize, self.vertices_at + end as usize);
        if !matches!(record.index_size, 1 | 2 | 4) || !record.vertex_offset.is_multiple_of(4) {
            return None;
        }
        Some(PrimitiveView {
            record: *record,
            vertex_type,
            role,
            vertices,
            lods: self.lods.range(record.first_lod, record.lods)?,
            meshlets: self.meshlets.range(record.first_meshlet, record.meshlets)?,
        })
    }

    /// Returns start and end of a LOD's indices in the payload, in bytes.
    pub fn lod_range(&self, primitive: &PrimitiveRecord, lod: &LodRecord) -> Option<(usize, usize)> {
        let size = u64::from(lod.index_count) * u64::from(primitive.index_size);
        let end = lod.index_offset.checked_add(size).filter(|end| *end <= self.indices.len() as u64)?;
        let aligned = lod.index_offset.is_multiple_of(primitive.index_size.into());
        aligned.then_some((self.indices_at + lod.index_offset as usize, self.indices_at + end as usize))
    }

    /// Returns the primitives in file order.
    pub fn primitives(&self) -> impl Iterator<Item = PrimitiveView<'a>> + use<'a> {
        let view = *self;
        self.primitives.iter().filter_map(move |record| view.primitive(&record))
    }

    /// Returns the streams of a primitive: vertex colours, then morph targets.
    pub fn streams(&self, primitive: &PrimitiveRecord) -> impl Iterator<Item = StreamView<'a>> + use<'a> {
        let PrimitiveRecord { first_stream, streams, vertex_count, .. } = *primitive;
        self.streams.range(self.texts, first_stream, streams.into(), vertex_count)
    }

    /// Returns the joints of the skin with their names.
    pub fn joints(&self) -> impl Iterator<Item = (&'a str, JointRecord)> + use<'a> {
        let texts = self.texts;
        self.joints.iter().map(move |joint| (texts.get(joint.name).unwrap_or_default(), joint))
    }

    /// Returns the names of the materials.
    pub fn materials(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let texts = self.texts;
        self.materials.iter().map(move |name| texts.get(name).unwrap_or_default())
    }

    /// Returns the vertex indices of all meshlets.
    pub fn meshlet_vertices(&self) -> Array<'a, u32> {
        self.meshlet_vertices
    }

    /// Returns the triangles of all meshlets, as meshlet-local vertex indices.
    pub fn meshlet_triangles(&self) -> Array<'a, [u8; 3]> {
        self.meshlet_triangles
    }

    /// Returns bounding box (minimum, maximum), centre and radius of the bounding sphere.
    pub fn bounds(&self) -> [f32; 10] {
        self.head.bounds
    }
}

/// Returns the largest of little-endian numbers of `N` bytes; written for auto-vectorisation, because meshes
/// have many indices.
fn largest<const N: usize>(bytes: &[u8]) -> u32 {
    let mut lanes = [0u32; 8];
    let (groups, rest) = bytes.as_chunks::<N>().0.as_chunks::<8>();
    let value = |bytes: &[u8; N]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
    for group in groups {
        for (lane, bytes) in lanes.iter_mut().zip(group) {
            *lane = (*lane).max(value(bytes));
        }
    }
    rest.iter().map(value).chain(lanes).max().unwrap_or(0)
}

/// A primitive to be written.
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
pub struct Primitive {
    /// The vertex attributes.
    pub vertex_type: VertexType,
    /// The interleaved vertices.
    pub vertices: alloc::vec::Vec<u8>,
    /// The indices of each LOD with its geometric error, the full primitive first.
    pub lods: alloc::vec::Vec<(alloc::vec::Vec<u32>, f32)>,
    /// Index of the material in the mesh.
    pub material: u16,
    /// The role of the primitive.
    pub role: Role,
    /// Bounding box (minimum, maximum), centre and radius of the bounding sphere.
    pub bounds: [f32; 10],
    /// The meshlets; their offsets are relative to the two lists below.
    pub meshlets: alloc::vec::Vec<MeshletRecord>,
    /// The vertex indices of the meshlets.
    pub meshlet_vertices: alloc::vec::Vec<u32>,
    /// The triangles of the meshlets, as meshlet-local vertex indices.
    pub meshlet_triangles: alloc::vec::Vec<[u8; 3]>,
    /// The streams: vertex colours, then morph targets.
    pub streams: alloc::vec::Vec<Stream>,
}

/// A mesh to be written.
#[cfg(feature = "tools")]
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// The primitives in order; a shadow primitive follows its main primitive.
    pub primitives: alloc::vec::Vec<Primitive>,
    /// Name, parent (a root is its own parent) and inverse bind matrix of each joint.
    pub joints: alloc::vec::Vec<(alloc::string::String, u32, [f32; 16])>,
    /// The names of the materials.
    pub materials: alloc::vec::Vec<alloc::string::String>,
    /// Bounding box (minimum, maximum), centre and radius of the bounding sphere.
    pub bounds: [f32; 10],
}

/// Encodes the payload of a mesh.
///
/// # Errors
///
/// [`Error::TooLarge`] if a count exceeds its field, otherwise the errors of [`MeshView::read`].
#[cfg(feature = "tools")]
pub fn write(mesh: &Mesh) -> Result<alloc::vec::Vec<u8>, Error> {
    use crate::pod::as_bytes;
    use alloc::vec::Vec;
    let number = |n: usize| crate::count_u32("mesh", n);
    let mut texts = super::text::TextWriter::default();
    let (mut records, mut lods, mut meshlets): (Vec<PrimitiveRecord>, Vec<LodRecord>, Vec<MeshletRecord>) =
        Default::default();
    let (mut meshlet_vertices, mut meshlet_triangles) = (Vec::new(), Vec::new());
    let vertex_total: usize = mesh.primitives.iter().map(|p| p.vertices.len().next_multiple_of(16)).sum();
    let mut indices: Vec<u8> = Vec::new();
    let (mut vertex_at, mut first_stream) = (0usize, 0usize);
    for primitive in &mesh.primitives {
        let vertex_count = primitive.vertices.len() / primitive.vertex_type.stride();
        let index_size = match vertex_count {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        for stream in &primitive.streams {
            let (found, expected) =
                (stream.elements.len() as u64, (vertex_count * stream.layout.stride()) as u64);
            if found != expected {
                return Err(Error::Mismatch { at: 0, field: "stream", found, expected });
            }
        }
        let first_lod = number(lods.len())?;
        for (triangles, error) in &primitive.lods {
            indices.resize(indices.len().next_multiple_of(4), 0);
            let index_offset = indices.len() as u64;
            match index_size {
                1 => indices.extend(triangles.iter().map(|&index| index as u8)),
                2 => triangles
                    .iter()
                    .for_each(|&index| indices.extend_from_slice(&(index as u16).to_le_bytes())),
                _ => indices.extend_from_slice(as_bytes(triangles)),
            }
            lods.push(LodRecord { index_offset, index_count: number(triangles.len())?, error: *error });
        }
        records.push(PrimitiveRecord {
            vertex_offset: vertex_at as u64,
            vertex_count: number(vertex_count)?,
            vertex_type: primitive.vertex_type.bits(),
            material: primitive.material,
            role: primitive.role as u8,
            index_size,
            streams: primitive.streams.len().try_into().map_err(|_| Error::TooLarge {
                field: "streams",
                found: primitive.streams.len() as u64,
                max: u16::MAX.into(),
            })?,
            first_lod,
            lods: number(primitive.lods.len())?,
            first_meshlet: number(meshlets.len())?,
            meshlets: number(primitive.meshlets.len())?,
            first_stream: number(first_stream)?,
            bounds: primitive.bounds,
        });
        first_stream += primitive.streams.len();
        let (vertex_base, triangle_base) =
            (number(meshlet_vertices.len())?, number(meshlet_triangles.len())?);
        meshlets.extend(primitive.meshlets.iter().map(|meshlet| MeshletRecord {
            vertex_offset: meshlet.vertex_offset + vertex_base,
            triangle_offset: meshlet.triangle_offset + triangle_base,
            ..*meshlet
        }));
        meshlet_vertices.extend_from_slice(&primitive.meshlet_vertices);
        meshlet_triangles.extend_from_slice(&primitive.meshlet_triangles);
        vertex_at += primitive.vertices.len().next_multiple_of(16);
    }
    let mut joints = Vec::new();
    for (name, parent, inverse_bind) in &mesh.joints {
        joints.push(JointRecord { inverse_bind: *inverse_bind, parent: *parent, name: texts.put(name)? });
    }
    let materials = mesh.materials.iter().map(|name| texts.put(name)).collect::<Result<Vec<_>, _>>()?;
    let streams = || mesh.primitives.iter().flat_map(|primitive| &primitive.streams);
    let stream_records = super::mesh_streams::records(streams(), &mut texts)?;
    let head = MeshHead {
        primitives: number(records.len())?,
        lods: number(lods.len())?,
        joints: number(joints.len())?,
        materials: number(materials.len())?,
        meshlets: number(meshlets.len())?,
        meshlet_vertices: number(meshlet_vertices.len())?,
        meshlet_triangles: number(meshlet_triangles.len())?,
        text_len: texts.len(),
        vertex_bytes: vertex_total as u64,
        index_bytes: indices.len() as u64,
        bounds: mesh.bounds,
    };
    let mut out = Vec::with_capacity(vertex_total + indices.len() + 4096);
    Le::put(head, &mut out);
    for part in [
        as_bytes(&records),
        as_bytes(&lods),
        as_bytes(&joints),
        as_bytes(&materials),
        as_bytes(&meshlets),
        as_bytes(&meshlet_vertices),
        as_bytes(&meshlet_triangles),
        texts.bytes(),
    ] {
        out.extend_from_slice(part);
    }
    for primitive in &mesh.primitives {
        out.resize(out.len().next_multiple_of(16), 0);
        out.extend_from_slice(&primitive.vertices);
    }
    out.resize(out.len().next_multiple_of(16), 0);
    out.extend_from_slice(&indices);
    super::mesh_streams::write(&stream_records, streams(), &mut out);
    MeshView::read(&out)?;
    Ok(out)
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::vec;

    fn triangle(vertex_count: usize, indices: alloc::vec::Vec<u32>) -> Mesh {
        let primitive = Primitive {
            vertex_type: VertexType::POSITION,
            vertices: vec![0; vertex_count * 12],
            lods: vec![(indices, 0.0)],
            material: 0,
            role: Role::Main,
            bounds: [0.0; 10],
            meshlets: vec![],
            meshlet_vertices: vec![],
            meshlet_triangles: vec![],
            streams: vec![],
        };
        Mesh { primitives: vec![primitive], ..Mesh::default() }
    }

    #[test]
    fn uses_smallest_index_width() {
        for (vertices, size) in [(3, 1), (256, 1), (257, 2), (65536, 2), (65537, 4)] {
            let last = vertices as u32 - 1;
            let bytes = write(&triangle(vertices, vec![0, 1, last])).unwrap();
            let view = MeshView::read(&bytes).unwrap();
            let primitive = view.primitives().next().unwrap();
            assert_eq!(primitive.record.index_size, size);
            let lod = primitive.lods.get(0).unwrap();
            let (start, end) = view.lod_range(&primitive.record, &lod).unwrap();
            assert_eq!(&bytes[end - usize::from(size)..end], &last.to_le_bytes()[..usize::from(size)]);
            assert_eq!((primitive.vertices.0 % 16, start % 4), (0, 0));
        }
    }

    #[test]
    fn rejects_indices_out_of_range() {
        assert!(write(&triangle(3, vec![0, 1, 3])).is_err());
        assert!(write(&triangle(300, vec![0, 1, 300])).is_err());
        assert!(write(&triangle(70000, vec![0, 1, 70000])).is_err());
        assert!(write(&triangle(3, vec![0, 1])).is_err());
        assert!(
            write(&Mesh { joints: vec![("a".into(), 1, [0.0; 16])], ..triangle(3, vec![0, 1, 2]) }).is_err()
        );
        let mut skinned = triangle(3, vec![0, 1, 2]);
        skinned.primitives[0].vertex_type = VertexType::JOINTS_WEIGHTS;
        skinned.primitives[0].vertices = vec![0; 60];
        assert!(write(&skinned).is_err(), "there is no joint");
        skinned.joints = vec![("a".into(), 0, [0.0; 16])];
        assert!(write(&skinned).is_ok());
        skinned.primitives[0].vertices[12] = 1;
        assert!(write(&skinned).is_err(), "there is no second joint");
    }

    #[test]
    fn rejects_truncated_mesh() {
        let bytes = write(&triangle(3, vec![0, 1, 2])).unwrap();
        for len in 0..bytes.len() {
            assert!(MeshView::read(&bytes[..len]).is_err());
        }
    }
}
