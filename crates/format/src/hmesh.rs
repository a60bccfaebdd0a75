//! `.hmesh`: GPU-ready geometry: vertices, indices, meshlets, LODs, a skin and its skeleton, and where a source has
//! them vertex colours, further UV sets, morph targets and nodes.
//!
//! Implements `docs/reference/formats/hmesh.md`. Unknown chunks are ignored. [`HmeshView::read`] rejects duplicate
//! chunks, sizes that are inconsistent with the counts, submeshes and LODs that do not cover their indices
//! contiguously, and skeletons with cycles. [`HmeshView::verify`] also rejects indices and ranges that are
//! out of range, wrong bounds, numbers that are not finite, and unaccounted bytes.
//!
//! ```
//! use kiln_format::hmesh::HmeshView;
//!
//! /// What to upload, and what to draw: index range and material slot of each part.
//! fn load(file: &[u8]) -> Result<(&[u8], &[u8], Vec<(u32, u32, u32)>), kiln_format::Error> {
//!     let mesh = HmeshView::read(file)?;
//!     let draws = mesh.submeshes().iter().map(|sub| (sub.first_index, sub.index_count, sub.material_slot));
//!     Ok((mesh.vertices().bytes(), mesh.indices().bytes(), draws.collect()))
//! }
//! # assert!(load(b"HMSH").is_err());
//! ```

mod clusters;
mod extra;
mod records;
mod tables;
mod verify;
mod view;
#[cfg(feature = "tools")]
mod write;

pub use self::clusters::{
    Cluster, ClusterGeometry, ClusterGroup, ClusterHierarchy, ClusterPage, CutView, MAX_PAGE_SIZE, NO_GROUP,
    ROOT_ERROR,
};
#[cfg(feature = "tools")]
pub use self::clusters::{ClusterPart, ClusterParts, GroupPart};
pub use self::extra::{Colors, Morph};
pub use self::records::*;
pub use self::view::{HmeshView, Indices};
#[cfg(feature = "tools")]
pub use self::write::{MESHLET_MAX_TRIS, MESHLET_MAX_VERTS, Parts, write};

use crate::chunks::Kind;
use crate::hpack::PackKind;
use crate::{Error, Format, table::FormatId};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, chunks, error::Count, hmat::HmatView, paths, refs};

/// The magic number of meshes.
pub const MAGIC: [u8; 4] = *b"HMSH";
/// The only supported version.
pub const VERSION: u32 = 2;

const FORMAT: Kind = Kind { format: "hmesh", magic: MAGIC, version: VERSION, version_text: "2" };

/// The entry of this format in [`FORMATS`](crate::FORMATS).
#[derive(Clone, Copy, Debug)]
pub struct HMesh;

impl Format for HMesh {
    fn id(&self) -> FormatId {
        FormatId { name: "hmesh", magic: &MAGIC, title: "meshes", kind: PackKind::Mesh }
    }

    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HmeshView::read(bytes)?.verify()
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmeshView::read(bytes)?;
        let desc = view.desc();
        let bounds = view.bounds();
        write!(
            out,
            "v{VERSION} | {}, {}, {} of {} B | {}, {}, {} | stride {} B | tangents {}",
            Count(desc.vertex_count.into(), "vertex", "vertices"),
            Count(u64::from(desc.index_count) / 3, "triangle", "triangles"),
            Count(desc.index_count.into(), "index", "indices"),
            desc.index_width,
            Count(desc.meshlet_count.into(), "meshlet", "meshlets"),
            Count(desc.submesh_count.into(), "submesh", "submeshes"),
            Count(desc.material_count.into(), "material", "materials"),
            desc.vertex_stride,
            if view.has_tangents() { "yes" } else { "no" },
        )?;
        let [x, y, z] = [0, 1, 2].map(|axis| bounds.aabb_max[axis] - bounds.aabb_min[axis]);
        write!(out, " | AABB {x:.2}x{y:.2}x{z:.2}, radius {:.2}", bounds.sphere_radius)?;
        let joints = view.joints().len() as u64;
        if joints > 0 {
            let kind = if view.skin().is_empty() { "skeleton" } else { "skinned" };
            write!(out, " | {kind} ({})", Count(joints, "joint", "joints"))?;
        }
        if view.lod_count() > 0 {
            write!(out, " | {}", Count(view.lod_count().into(), "LOD", "LODs"))?;
            write_stalled(&view, out)?;
        }
        if let Some(hierarchy) = view.clusters() {
            let roots = hierarchy.groups().iter().filter(|group| group.coarse_count == 0);
            let root_clusters: u64 = roots.map(|group| u64::from(group.cluster_count)).sum();
            write!(
                out,
                " | {} ({root_clusters} at the root) in {}",
                Count(hierarchy.clusters().len() as u64, "cluster", "clusters"),
                Count(hierarchy.pages().len() as u64, "page", "pages")
            )?;
        }
        extra::describe(&view, out)?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HmeshView::read(bytes)?;
        let desc = view.desc();
        each("version", Fact::Number(VERSION.into()));
        each("vertices", Fact::Total(desc.vertex_count.into()));
        each("triangles", Fact::Total(u64::from(desc.index_count) / 3));
        each("indices", Fact::Total(desc.index_count.into()));
        each("meshlets", Fact::Total(desc.meshlet_count.into()));
        each("submeshes", Fact::Total(desc.submesh_count.into()));
        each("materials", Fact::Total(desc.material_count.into()));
        each("index_width", Fact::Number(desc.index_width.into()));
        each("vertex_stride", Fact::Number(desc.vertex_stride.into()));
        each("tangents", Fact::Number(view.has_tangents().into()));
        each("skinned", Fact::Number((!view.skin().is_empty()).into()));
        each("joints", Fact::Number(view.joints().len() as u64));
        each("lods", Fact::Number(view.lod_count().into()));
        each("lod_indices", Fact::Number(view.lod_indices().len() as u64));
        each("stalled_lods", Fact::Number((0..view.lod_count()).map(|lod| stalled(&view, lod)).sum()));
        if let Some(hierarchy) = view.clusters() {
            each("clusters", Fact::Number(hierarchy.clusters().len() as u64));
            each("cluster_groups", Fact::Number(hierarchy.groups().len() as u64));
            each("cluster_pages", Fact::Number(hierarchy.pages().len() as u64));
        }
        extra::facts(&view, each);
        let buffers = [
            view.chunk_len(ChunkId::Colors),
            view.chunk_len(ChunkId::UvSets),
            view.chunk_len(ChunkId::MorphDeltas),
            view.chunk_len(ChunkId::MorphNormals),
            view.chunk_len(ChunkId::MorphTangents),
            view.vertices().bytes().len(),
            view.skin().bytes().len(),
            desc.index_count as usize * desc.index_width as usize,
            view.lod_indices().bytes().len(),
            view.meshlets().bytes().len(),
            view.meshlet_vertices().bytes().len(),
            view.meshlet_triangles().bytes().len(),
            view.meshlet_bounds().bytes().len(),
        ];
        each(crate::GPU_BYTES, Fact::Total(buffers.iter().sum::<usize>() as u64));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmeshView::read(bytes)?;
        let desc = view.desc();
        writeln!(out, "hmesh v{VERSION}")?;
        writeln!(out, "{desc:?}")?;
        writeln!(out, "{:?}", view.bounds())?;
        for (fourcc, data) in view.chunks() {
            let (len, hash) = (data.len(), refs::fnv1a_64(data));
            writeln!(out, "chunk {} {len} B fnv {hash:016x}", fourcc.escape_ascii())?;
        }
        for (i, hash) in view.materials().iter().enumerate() {
            writeln!(out, "material {i} {hash:#018x}")?;
        }
        for (i, sub) in view.submeshes().iter().enumerate() {
            writeln!(out, "submesh {i} {sub:?}")?;
            for lod in 0..view.lod_count() {
                let indices = view.lod(i as u32, lod).map_or(0, |indices| indices.len());
                writeln!(out, "  lod {} {indices} indices", lod + 1)?;
            }
        }
        for (i, joint) in view.joints().iter().enumerate() {
            writeln!(out, "joint {i} {joint:?}")?;
        }
        if let Some(hierarchy) = view.clusters() {
            for (i, page) in hierarchy.pages().iter().enumerate() {
                writeln!(out, "page {i} {page:?}")?;
            }
            for (i, group) in hierarchy.groups().iter().enumerate() {
                writeln!(out, "group {i} {group:?}")?;
            }
            for (i, cluster) in hierarchy.clusters().iter().enumerate() {
                writeln!(out, "cluster {i} {cluster:?}")?;
            }
        }
        extra::dump(&view, out)
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        const {
            &[
                chunks::LAYOUTS[0],
                chunks::LAYOUTS[1],
                MeshDesc::LAYOUT,
                MeshBounds::LAYOUT,
                GpuVertex::LAYOUT,
                Meshlet::LAYOUT,
                MeshletBounds::LAYOUT,
                SubMesh::LAYOUT,
                GpuSkinVertex::LAYOUT,
                GpuJoint::LAYOUT,
                LodTableHeader::LAYOUT,
                MeshLod::LAYOUT,
                ClusterGroup::LAYOUT,
                Cluster::LAYOUT,
                ClusterPage::LAYOUT,
                MorphSet::LAYOUT,
                MorphTarget::LAYOUT,
                MorphDelta::LAYOUT,
                MeshNode::LAYOUT,
            ]
        }
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let materials = u64::from(HmeshView::read(bytes)?.desc().material_count);
        let counted = Count(materials, "material", "materials");
        let table = paths::companion(path, "hmat");
        let Some(found) = at.bytes(&table) else {
            if materials > 0 {
                bad(Problem {
                    code: kiln_diagnostics::Code::MeshWithoutMaterials,
                    message: alloc::format!(
                        "the mesh has {counted}, but the companion material table {table} does not exist"
                    ),
                    hint: "run the build again: the material table was deleted, or the mesh is from another build",
                });
            }
            return Ok(());
        };
        // An unreadable material table is reported for the table itself.
        if let Ok(rows) = HmatView::read(&found).map(|view| view.materials().len() as u64)
            && rows != materials
        {
            bad(Problem {
                code: kiln_diagnostics::Code::MeshMaterialCount,
                message: alloc::format!(
                    "the mesh has {counted}, but the companion material table {table} has {}",
                    Count(rows, "row", "rows")
                ),
                hint: "run the build again: the mesh and its material table are from different builds",
            });
        }
        Ok(())
    }
}

/// Returns the number of submeshes for which an LOD stalled: they draw the preceding one.
#[cfg(feature = "tools")]
fn stalled(view: &HmeshView<'_>, lod: u32) -> u64 {
    (0..view.desc().submesh_count).filter(|&submesh| view.lod(submesh, lod).is_none()).count() as u64
}

/// Writes which LODs stalled, and for how many submeshes.
#[cfg(feature = "tools")]
fn write_stalled(view: &HmeshView<'_>, out: &mut dyn core::fmt::Write) -> core::fmt::Result {
    let mut separator = " (stalled: ";
    for lod in 0..view.lod_count() {
        let count = stalled(view, lod);
        if count > 0 {
            write!(out, "{separator}LOD {} for {}", lod + 1, Count(count, "submesh", "submeshes"))?;
            separator = ", ";
        }
    }
    if separator == ", " { out.write_str(")") } else { Ok(()) }
}
