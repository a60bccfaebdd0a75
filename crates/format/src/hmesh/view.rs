//! The zero-copy reader of meshes.
//!
//! [`HmeshView::read`] checks the chunk table, the sizes and the small tables (submeshes, LODs, joints), so
//! its time does not depend on the number of vertices and triangles. [`HmeshView::verify`] checks the
//! vertices and triangles too.

use core::mem::offset_of;

use super::records::*;
use super::{FORMAT, clusters, extra, tables};
use crate::chunks::{self, Chunk, Chunks};
use crate::{Array, Error, Pod, bytes::Le};

/// A mesh with checked tables.
#[derive(Clone, Copy, Debug)]
pub struct HmeshView<'a> {
    pub(super) chunks: Chunks<'a>,
    known: [Option<Chunk<'a>>; ChunkId::ALL.len()],
    desc: MeshDesc,
    bounds: MeshBounds,
    lod_count: u32,
}

impl<'a> HmeshView<'a> {
    /// Checks everything except the contents of the arrays that grow with vertices and triangles.
    ///
    /// # Errors
    ///
    /// [`Error`] if a chunk is missing, duplicate or of the wrong size, or if a table holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let chunks = Chunks::read(bytes, FORMAT)?;
        let mut known = [None; ChunkId::ALL.len()];
        for chunk in chunks.iter() {
            let Some(id) = ChunkId::ALL.into_iter().find(|id| id.fourcc() == chunk.fourcc) else { continue };
            if chunk.flags != 0 {
                let (at, found) = (chunks::flags_at(&chunk), chunk.flags.into());
                return Err(Error::Value { at, field: "flags", found, expected: "0" });
            }
            if known[id as usize].replace(chunk).is_some() {
                let why = "is the tag of a duplicate chunk";
                return Err(Error::Fault { at: chunk.entry_at, field: "fourcc", why });
            }
        }
        let (desc, bounds) = (MeshDesc::default(), MeshBounds::default());
        let mut view = HmeshView { chunks, known, desc, bounds, lod_count: 0 };
        view.desc = view.single(ChunkId::Desc)?;
        view.bounds = view.single(ChunkId::Bounds)?;
        view.check_desc()?;
        view.check_sizes()?;
        tables::check_submeshes(&view)?;
        view.lod_count = tables::check_lods(&view)?;
        tables::check_joints(&view)?;
        clusters::check_clusters(&view)?;
        extra::check(&view)?;
        Ok(view)
    }

    /// Returns the counts and strides.
    pub fn desc(&self) -> MeshDesc {
        self.desc
    }

    /// Returns the bounds of all vertices; of a skinned mesh in its bind pose.
    pub fn bounds(&self) -> MeshBounds {
        self.bounds
    }

    /// Returns whether vertices have tangents.
    pub fn has_tangents(&self) -> bool {
        self.desc.flags & HAS_TANGENTS != 0
    }

    /// Returns the vertices of all submeshes.
    pub fn vertices(&self) -> Array<'a, GpuVertex> {
        self.array(ChunkId::Vertices)
    }

    /// Returns the indices of all submeshes.
    pub fn indices(&self) -> Indices<'a> {
        match self.desc.index_width {
            2 => Indices::U16(self.array(ChunkId::Indices)),
            _ => Indices::U32(self.array(ChunkId::Indices)),
        }
    }

    /// Returns the meshlets of all submeshes.
    pub fn meshlets(&self) -> Array<'a, Meshlet> {
        self.array(ChunkId::Meshlets)
    }

    /// Returns the vertex indices of all meshlets.
    pub fn meshlet_vertices(&self) -> Array<'a, u32> {
        self.array(ChunkId::MeshletVertices)
    }

    /// Returns the triangles of all meshlets, as meshlet-local vertex indices.
    pub fn meshlet_triangles(&self) -> Array<'a, [u8; 3]> {
        self.array(ChunkId::MeshletTriangles)
    }

    /// Returns the bounds of all meshlets.
    pub fn meshlet_bounds(&self) -> Array<'a, MeshletBounds> {
        self.array(ChunkId::MeshletBounds)
    }

    /// Returns the hashes of the materials' asset references, by slot.
    pub fn materials(&self) -> Array<'a, u64> {
        self.array(ChunkId::Materials)
    }

    /// Returns the submeshes in file order.
    pub fn submeshes(&self) -> Array<'a, SubMesh> {
        self.array(ChunkId::SubMeshes)
    }

    /// Returns the bone influences of each vertex; empty unless the mesh is skinned.
    pub fn skin(&self) -> Array<'a, GpuSkinVertex> {
        self.array(ChunkId::Skin)
    }

    /// Returns the joints of the skeleton; empty if there is none.
    pub fn joints(&self) -> Array<'a, GpuJoint> {
        self.array(ChunkId::Skeleton)
    }

    /// Returns the number of LODs per submesh, not counting the full mesh.
    pub fn lod_count(&self) -> u32 {
        self.lod_count
    }

    /// Returns the LODs, grouped by submesh.
    pub fn lods(&self) -> Array<'a, MeshLod> {
        let table = self.payload(ChunkId::LodTable);
        Array::new(table.get(LodTableHeader::SIZE..).unwrap_or_default())
    }

    /// Returns the indices of all LODs.
    pub fn lod_indices(&self) -> Array<'a, u32> {
        self.array(ChunkId::LodIndices)
    }

    /// Returns the indices of a submesh of this mesh.
    pub fn submesh_indices(&self, submesh: &SubMesh) -> Indices<'a> {
        let (start, len) = (submesh.first_index, submesh.index_count);
        match self.indices() {
            Indices::U16(indices) => Indices::U16(indices.range(start, len).unwrap_or_default()),
            Indices::U32(indices) => Indices::U32(indices.range(start, len).unwrap_or_default()),
        }
    }

    /// Returns the meshlets of a submesh of this mesh.
    pub fn submesh_meshlets(&self, submesh: &SubMesh) -> Array<'a, Meshlet> {
        self.meshlets().range(submesh.first_meshlet, submesh.meshlet_count).unwrap_or_default()
    }

    /// Returns the vertices and the triangles of a meshlet; empty if its range is out of bounds, which
    /// [`verify`](Self::verify) rejects.
    pub fn meshlet(&self, meshlet: &Meshlet) -> (Array<'a, u32>, Array<'a, [u8; 3]>) {
        let vertices = self.meshlet_vertices().range(meshlet.vertex_offset, meshlet.vertex_count);
        let triangles = self.meshlet_triangles().range(meshlet.triangle_offset, meshlet.triangle_count);
        (vertices.unwrap_or_default(), triangles.unwrap_or_default())
    }

    /// Returns the indices of LOD `lod` of submesh `submesh`. `None` if there is no such LOD or it is empty:
    /// draw the preceding one. `lod` 0 is the first simplified LOD.
    pub fn lod(&self, submesh: u32, lod: u32) -> Option<Array<'a, u32>> {
        if lod >= self.lod_count || submesh >= self.desc.submesh_count {
            return None;
        }
        let row = (submesh as usize).checked_mul(self.lod_count as usize)?.checked_add(lod as usize)?;
        let MeshLod { first_index, index_count } = self.lods().get(row)?;
        if index_count == 0 {
            return None;
        }
        self.lod_indices().range(first_index, index_count)
    }

    /// Returns all chunks with their tags, including unknown ones, in table order.
    pub fn chunks(&self) -> impl Iterator<Item = ([u8; 4], &'a [u8])> + use<'a> {
        self.chunks.iter().map(|chunk| (chunk.fourcc, chunk.bytes))
    }

    pub(super) fn has(&self, id: ChunkId) -> bool {
        self.known[id as usize].is_some()
    }

    /// Returns the byte offset of a chunk's payload.
    pub(super) fn at(&self, id: ChunkId) -> u64 {
        self.known[id as usize].map_or(0, |chunk| chunk.at)
    }

    pub(super) fn payload(&self, id: ChunkId) -> &'a [u8] {
        self.known[id as usize].map_or(&[], |chunk| chunk.bytes)
    }

    pub(super) fn array<T: Pod>(&self, id: ChunkId) -> Array<'a, T> {
        Array::new(self.payload(id))
    }

    fn single<T: Le>(&self, id: ChunkId) -> Result<T, Error> {
        self.must_have(id)?;
        self.must_be(id, size_of::<T>() as u64)?;
        T::get(self.payload(id)).ok_or(Error::Missing { chunk: id.name() })
    }

    fn must_have(&self, id: ChunkId) -> Result<(), Error> {
        if self.has(id) { Ok(()) } else { Err(Error::Missing { chunk: id.name() }) }
    }

    /// Checks the size of a chunk; a missing chunk has size 0.
    pub(super) fn must_be(&self, id: ChunkId, expected: u64) -> Result<(), Error> {
        let found = self.payload(id).len() as u64;
        match &self.known[id as usize] {
            _ if found == expected => Ok(()),
            None => Err(Error::Missing { chunk: id.name() }),
            Some(chunk) => {
                Err(Error::Mismatch { at: chunks::size_at(chunk), field: id.size_name(), found, expected })
            }
        }
    }

    fn check_desc(&self) -> Result<(), Error> {
        let desc = &self.desc;
        let bad = |offset: usize, field, found: u64, expected| {
            Err(Error::Value { at: self.at(ChunkId::Desc) + offset as u64, field, found, expected })
        };
        if desc.submesh_count == 0 {
            return bad(offset_of!(MeshDesc, submesh_count), "submesh_count", 0, "at least 1");
        }
        if usize::from(desc.vertex_stride) != GpuVertex::SIZE {
            let found = desc.vertex_stride.into();
            return bad(offset_of!(MeshDesc, vertex_stride), "vertex_stride", found, "28");
        }
        if !matches!(desc.index_width, 2 | 4) {
            let found = desc.index_width.into();
            return bad(offset_of!(MeshDesc, index_width), "index_width", found, "2 or 4");
        }
        if desc.flags & !HAS_TANGENTS != 0 {
            return bad(offset_of!(MeshDesc, flags), "flags", desc.flags.into(), "0 or 1");
        }
        // Meshlet-local vertex indices are bytes.
        if desc.meshlet_max_verts > 256 {
            let found = desc.meshlet_max_verts.into();
            return bad(offset_of!(MeshDesc, meshlet_max_verts), "meshlet_max_verts", found, "at most 256");
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), Error> {
        let desc = &self.desc;
        let size = |count: u32, each: usize| u64::from(count) * each as u64;
        let vertices = size(desc.vertex_count, GpuVertex::SIZE);
        for (id, expected) in [
            (ChunkId::Vertices, vertices),
            (ChunkId::Indices, size(desc.index_count, desc.index_width.into())),
            (ChunkId::SubMeshes, size(desc.submesh_count, SubMesh::SIZE)),
        ] {
            self.must_have(id)?;
            self.must_be(id, expected)?;
        }
        for (id, expected) in [
            (ChunkId::Meshlets, size(desc.meshlet_count, Meshlet::SIZE)),
            (ChunkId::MeshletBounds, size(desc.meshlet_count, MeshletBounds::SIZE)),
            (ChunkId::Materials, size(desc.material_count, size_of::<u64>())),
        ] {
            self.must_be(id, expected)?;
        }
        if self.has(ChunkId::Skin) {
            self.must_be(ChunkId::Skin, size(desc.vertex_count, GpuSkinVertex::SIZE))?;
            self.must_have(ChunkId::Skeleton)?;
        }
        // The counts of these are checked elsewhere; here, only that the size is a multiple of the element
        // size.
        for (id, each) in [
            (ChunkId::MeshletVertices, size_of::<u32>()),
            (ChunkId::MeshletTriangles, size_of::<[u8; 3]>()),
            (ChunkId::LodIndices, size_of::<u32>()),
            (ChunkId::Skeleton, GpuJoint::SIZE),
        ] {
            let len = self.payload(id).len();
            self.must_be(id, (len - len % each) as u64)?;
        }
        Ok(())
    }
}

/// Vertex indices in the width of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Indices<'a> {
    /// Indices of two bytes.
    U16(Array<'a, u16>),
    /// Indices of four bytes.
    U32(Array<'a, u32>),
}

impl<'a> Indices<'a> {
    /// Returns the number of indices.
    pub fn len(&self) -> usize {
        match self {
            Indices::U16(indices) => indices.len(),
            Indices::U32(indices) => indices.len(),
        }
    }

    /// Returns whether there are no indices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the index at position `index`.
    pub fn get(&self, index: usize) -> Option<u32> {
        match self {
            Indices::U16(indices) => indices.get(index).map(u32::from),
            Indices::U32(indices) => indices.get(index),
        }
    }

    /// Iterates over the indices, widened to `u32`.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + Clone + use<'a> {
        let indices = *self;
        (0..self.len()).map(move |i| indices.get(i).unwrap_or_default())
    }

    /// Returns the bytes as stored in the file, ready for upload to a GPU.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Indices::U16(indices) => indices.bytes(),
            Indices::U32(indices) => indices.bytes(),
        }
    }
}
