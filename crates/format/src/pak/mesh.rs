//! The payload of a mesh: a head, tables, texts, then all vertices and all indices, each aligned for use in place.
//!
//! Refused are ranges that are not there, indices that name no vertex, joints that name no joint, and bounds that are
//! not finite: a renderer can hand the arrays to a GPU as they are.

use super::{Role, Sections, VertexType, text::TextRange, text::Texts};
use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// How much there is, and what is around it.
    pub struct MeshHead {
        /// Primitives.
        pub primitives: u32,
        /// Levels of detail of all primitives.
        pub lods: u32,
        /// Joints of the skin.
        pub joints: u32,
        /// Materials, whose names follow the joints.
        pub materials: u32,
        /// Meshlets of all primitives.
        pub meshlets: u32,
        /// Vertices named by meshlets.
        pub meshlet_vertices: u32,
        /// Triangles of meshlets.
        pub meshlet_triangles: u32,
        /// Bytes of all texts.
        pub text_len: u32,
        /// Bytes of all vertices.
        pub vertex_bytes: u64,
        /// Bytes of all indices.
        pub index_bytes: u64,
        /// The box, the sphere's centre and its radius.
        pub bounds: [f32; 10],
    }
}

pod! {
    /// Triangles of one material.
    pub struct PrimitiveRecord {
        /// Where its vertices start among all.
        pub vertex_offset: u64,
        /// How many.
        pub vertex_count: u32,
        /// Their attributes: see [`VertexType`].
        pub vertex_type: u16,
        /// Which of the mesh's materials.
        pub material: u16,
        /// What it is for: see [`Role`].
        pub role: u8,
        /// Bytes of an index: 1, 2 or 4.
        pub index_size: u8,
        /// Zero.
        pub reserved: u16,
        /// Its first level of detail, which is the whole; coarser ones follow.
        pub first_lod: u32,
        /// How many levels.
        pub lods: u32,
        /// Its first meshlet.
        pub first_meshlet: u32,
        /// How many.
        pub meshlets: u32,
        /// Zero.
        pub reserved2: u32,
        /// The box, the sphere's centre and its radius.
        pub bounds: [f32; 10],
    }
}

pod! {
    /// The triangles of one level of detail.
    pub struct LodRecord {
        /// Where its indices start among all.
        pub index_offset: u64,
        /// How many.
        pub index_count: u32,
        /// How far its surface is from the whole, at most.
        pub error: f32,
    }
}

pod! {
    /// A joint of the skin.
    pub struct JointRecord {
        /// From the mesh into its space, column by column.
        pub inverse_bind: [f32; 16],
        /// The joint it hangs on; itself when it hangs on none.
        pub parent: u32,
        /// Its name.
        pub name: TextRange,
    }
}

pod! {
    /// A cluster of triangles.
    pub struct MeshletRecord {
        /// Its first entry among the meshlets' vertices.
        pub vertex_offset: u32,
        /// How many.
        pub vertex_count: u32,
        /// Its first triangle.
        pub triangle_offset: u32,
        /// How many.
        pub triangle_count: u32,
        /// The centre of a sphere around it.
        pub center: [f32; 3],
        /// Its radius.
        pub radius: f32,
        /// The direction its triangles face.
        pub cone_axis: [f32; 3],
        /// How widely they differ from it.
        pub cone_cutoff: f32,
    }
}

/// A primitive where it lies.
#[derive(Clone, Copy, Debug)]
pub struct PrimitiveView<'a> {
    /// Its numbers.
    pub record: PrimitiveRecord,
    /// Its attributes.
    pub vertex_type: VertexType,
    /// What it is for.
    pub role: Role,
    /// Where in the payload its vertices are.
    pub vertices: (usize, usize),
    /// Its levels of detail.
    pub lods: Array<'a, LodRecord>,
    /// Its meshlets.
    pub meshlets: Array<'a, MeshletRecord>,
}

/// A mesh as it lies in its payload.
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
}

impl<'a> MeshView<'a> {
    /// Checks a payload.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let needed = MeshHead::SIZE as u64;
        let short = Error::Truncated { at: 0, field: "head", needed, len: bytes.len() as u64 };
        let head = MeshHead::get(bytes).ok_or(short)?;
        let mut sections = Sections::new(bytes, MeshHead::SIZE);
        let primitives = sections.take(head.primitives, "primitives")?;
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
        };
        view.check()?;
        Ok(view)
    }

    fn check(&self) -> Result<(), Error> {
        self.texts.check(self.materials)?;
        let unsound = |field, why| Err(Error::Fault { at: 0, field, why });
        if !self.head.bounds.iter().all(|v| v.is_finite()) {
            return unsound("bounds", "are not finite");
        }
        for joint in self.joints {
            let known = joint.parent < self.head.joints && self.texts.get(joint.name).is_some();
            if !known || !joint.inverse_bind.iter().all(|v| v.is_finite()) {
                return unsound("joint", "has a parent, a name or a matrix that there is not");
            }
        }
        for (index, record) in self.primitives.iter().enumerate() {
            self.check_primitive(&record).map_err(|why| Error::Fault {
                at: (MeshHead::SIZE + index * PrimitiveRecord::SIZE) as u64,
                field: "primitive",
                why,
            })?;
        }
        Ok(())
    }

    fn check_primitive(&self, record: &PrimitiveRecord) -> Result<(), &'static str> {
        if record.reserved != 0 || record.reserved2 != 0 || !record.bounds.iter().all(|v| v.is_finite()) {
            return Err("has bounds that are not finite, or reserved bytes that are not zero");
        }
        if u32::from(record.material) >= self.head.materials.max(1) {
            return Err("has a material that there is not");
        }
        let primitive =
            self.primitive(record).ok_or("has vertices, levels or meshlets that are not there")?;
        if primitive.lods.is_empty() {
            return Err("has no triangles");
        }
        for lod in primitive.lods {
            let range = self.lod_range(record, &lod).ok_or("has indices that are not there")?;
            let indices = &self.indices[range.0 - self.indices_at..range.1 - self.indices_at];
            let below = match record.index_size {
                1 => indices.iter().all(|&index| u32::from(index) < record.vertex_count),
                2 => largest::<2>(indices) < record.vertex_count,
                _ => largest::<4>(indices) < record.vertex_count,
            };
            if !lod.index_count.is_multiple_of(3) || !lod.error.is_finite() || !below {
                return Err("has indices that name no vertex, or that are no triangles");
            }
        }
        if primitive.vertex_type.contains(VertexType::JOINTS_WEIGHTS) {
            self.check_joints(&primitive)?;
        }
        for meshlet in primitive.meshlets {
            let vertices = self.meshlet_vertices.range(meshlet.vertex_offset, meshlet.vertex_count);
            let triangles = self.meshlet_triangles.range(meshlet.triangle_offset, meshlet.triangle_count);
            let (Some(vertices), Some(triangles)) = (vertices, triangles) else {
                return Err("has meshlets whose parts are not there");
            };
            let corner = |corner: &u8| u32::from(*corner) < meshlet.vertex_count;
            if !vertices.iter().all(|vertex| vertex < record.vertex_count)
                || !triangles.iter().all(|triangle| triangle.iter().all(corner))
            {
                return Err("has meshlets that name no vertex");
            }
        }
        Ok(())
    }

    /// Vertices hang on joints of the skin.
    fn check_joints(&self, primitive: &PrimitiveView<'_>) -> Result<(), &'static str> {
        let (stride, at) = (primitive.vertex_type.stride(), primitive.vertex_type.joints_offset() as usize);
        let wide = primitive.vertex_type.contains(VertexType::JOINTS16_WEIGHTS);
        let (start, end) = (primitive.vertices.0 - self.vertices_at, primitive.vertices.1 - self.vertices_at);
        for vertex in self.vertices[start..end].chunks_exact(stride as usize) {
            let most = match wide {
                true => <[u16; 4]>::get(&vertex[at..]).unwrap_or_default().into_iter().max().unwrap_or(0),
                false => vertex[at..at + 4].iter().copied().max().unwrap_or(0).into(),
            };
            if u32::from(most) >= self.head.joints {
                return Err("hangs on a joint that there is not");
            }
        }
        Ok(())
    }

    fn primitive(&self, record: &PrimitiveRecord) -> Option<PrimitiveView<'a>> {
        let vertex_type = VertexType::from_bits(record.vertex_type)?;
        let role = *Role::ALL.get(usize::from(record.role))?;
        let size = u64::from(record.vertex_count).checked_mul(vertex_type.stride().into())?;
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

    /// Where in the payload the indices of a level are.
    pub fn lod_range(&self, primitive: &PrimitiveRecord, lod: &LodRecord) -> Option<(usize, usize)> {
        let size = u64::from(lod.index_count) * u64::from(primitive.index_size);
        let end = lod.index_offset.checked_add(size).filter(|end| *end <= self.indices.len() as u64)?;
        let aligned = lod.index_offset.is_multiple_of(primitive.index_size.into());
        aligned.then_some((self.indices_at + lod.index_offset as usize, self.indices_at + end as usize))
    }

    /// The primitives, in order.
    pub fn primitives(&self) -> impl Iterator<Item = PrimitiveView<'a>> + use<'a> {
        let view = *self;
        self.primitives.iter().filter_map(move |record| view.primitive(&record))
    }

    /// The joints of the skin.
    pub fn joints(&self) -> impl Iterator<Item = (&'a str, JointRecord)> + use<'a> {
        let texts = self.texts;
        self.joints.iter().map(move |joint| (texts.get(joint.name).unwrap_or_default(), joint))
    }

    /// The names of the materials.
    pub fn materials(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let texts = self.texts;
        self.materials.iter().map(move |name| texts.get(name).unwrap_or_default())
    }

    /// The vertices that meshlets name.
    pub fn meshlet_vertices(&self) -> Array<'a, u32> {
        self.meshlet_vertices
    }

    /// The corners of meshlets' triangles.
    pub fn meshlet_triangles(&self) -> Array<'a, [u8; 3]> {
        self.meshlet_triangles
    }

    /// The box, the sphere's centre and its radius.
    pub fn bounds(&self) -> [f32; 10] {
        self.head.bounds
    }
}

/// The largest of little-endian numbers of `N` bytes; wide lanes, because meshes have many.
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
    /// Attributes of its vertices.
    pub vertex_type: VertexType,
    /// The vertices, interleaved.
    pub vertices: alloc::vec::Vec<u8>,
    /// The triangles of each level with its error, the whole first.
    pub lods: alloc::vec::Vec<(alloc::vec::Vec<u32>, f32)>,
    /// Which of the mesh's materials.
    pub material: u16,
    /// What it is for.
    pub role: Role,
    /// The box, the sphere's centre and its radius.
    pub bounds: [f32; 10],
    /// Its meshlets, whose offsets count from its own lists.
    pub meshlets: alloc::vec::Vec<MeshletRecord>,
    /// The vertices that they name.
    pub meshlet_vertices: alloc::vec::Vec<u32>,
    /// Their triangles.
    pub meshlet_triangles: alloc::vec::Vec<[u8; 3]>,
}

/// A mesh to be written.
#[cfg(feature = "tools")]
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// In order; a shadow follows what throws it.
    pub primitives: alloc::vec::Vec<Primitive>,
    /// Name, parent (itself for a root) and inverse bind matrix.
    pub joints: alloc::vec::Vec<(alloc::string::String, u32, [f32; 16])>,
    /// Names of the materials.
    pub materials: alloc::vec::Vec<alloc::string::String>,
    /// The box, the sphere's centre and its radius.
    pub bounds: [f32; 10],
}

/// The payload of a mesh.
#[cfg(feature = "tools")]
pub fn write(mesh: &Mesh) -> Result<alloc::vec::Vec<u8>, Error> {
    use crate::pod::as_bytes;
    use alloc::vec::Vec;
    let number = |n: usize| {
        u32::try_from(n).map_err(|_| Error::TooLarge { field: "mesh", found: n as u64, max: u32::MAX.into() })
    };
    let mut texts = super::text::TextWriter::default();
    let (mut records, mut lods, mut meshlets): (Vec<PrimitiveRecord>, Vec<LodRecord>, Vec<MeshletRecord>) =
        Default::default();
    let (mut meshlet_vertices, mut meshlet_triangles) = (Vec::new(), Vec::new());
    let vertex_total: usize = mesh.primitives.iter().map(|p| p.vertices.len().next_multiple_of(16)).sum();
    let mut indices: Vec<u8> = Vec::new();
    let mut vertex_at = 0usize;
    for primitive in &mesh.primitives {
        let vertex_count = primitive.vertices.len() / primitive.vertex_type.stride() as usize;
        let index_size = match vertex_count {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
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
            reserved: 0,
            first_lod,
            lods: number(primitive.lods.len())?,
            first_meshlet: number(meshlets.len())?,
            meshlets: number(primitive.meshlets.len())?,
            reserved2: 0,
            bounds: primitive.bounds,
        });
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
        };
        Mesh { primitives: vec![primitive], ..Mesh::default() }
    }

    #[test]
    fn indices_are_as_narrow_as_they_can_be() {
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
    fn indices_name_vertices_and_triangles() {
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
    fn no_prefix_is_a_mesh() {
        let bytes = write(&triangle(3, vec![0, 1, 2])).unwrap();
        for len in 0..bytes.len() {
            assert!(MeshView::read(&bytes[..len]).is_err());
        }
    }
}
