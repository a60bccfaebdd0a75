//! The [`Format`] implementation of meshes: `info`, `check` and dumps, for which compressed meshes are decoded first.

#[cfg(feature = "tools")]
use super::{
    COMPRESSED_VERSION, ChunkId, Cluster, ClusterGroup, ClusterPage, EncodedChunk, GpuJoint, GpuSkinVertex,
    GpuVertex, LodTableHeader, MeshBounds, MeshDesc, MeshLod, MeshNode, Meshlet, MeshletBounds, MorphDelta,
    MorphSet, MorphTarget, SubMesh, VERSION, compressed, decoded, extra,
};
use super::{CompressedHmesh, HmeshView, MAGIC};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, chunks, error::Count, refs};

format_entry!(
    HMesh,
    FormatId { name: "hmesh", magic: &MAGIC, title: "meshes", noun: "mesh", kind: PackKind::Mesh }
);

impl Format for HMesh {
    /// Without the feature `tools`, of a compressed mesh only the chunk table is checked: there is no memory to decode
    /// the streams to.
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        if !CompressedHmesh::is_compressed(bytes) {
            return HmeshView::read(bytes)?.verify();
        }
        let mesh = CompressedHmesh::read(bytes)?;
        mesh.verify_padding()?;
        #[cfg(feature = "tools")]
        HmeshView::read(&mesh.decode()?)?.verify()?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let file = decoded(bytes)?;
        let view = HmeshView::read(&file)?;
        let desc = view.desc();
        let bounds = view.bounds();
        let version = version(bytes);
        write!(
            out,
            "v{version} | {}, {}, {} of {} B | {}, {}, {} | stride {} B | tangents {}",
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
        // Two decimals, and more where a small model would have none that is not zero.
        let (mut decimals, mut largest) = (2, x.max(y).max(z));
        while largest > 0.0 && largest < 0.1 && decimals < 9 {
            (decimals, largest) = (decimals + 1, largest * 10.0);
        }
        write!(
            out,
            " | AABB {x:.decimals$}x{y:.decimals$}x{z:.decimals$}, radius {:.decimals$}",
            bounds.sphere_radius
        )?;
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
        if version == COMPRESSED_VERSION {
            write!(out, " | meshopt streams, {} B decoded", file.len())?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let file = decoded(bytes)?;
        let view = HmeshView::read(&file)?;
        let desc = view.desc();
        each("version", Fact::Number(version(bytes).into()));
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
        if version(bytes) == COMPRESSED_VERSION {
            each("decoded_bytes", Fact::Number(file.len() as u64));
        }
        each(crate::GPU_BYTES, Fact::Total(buffers.iter().sum::<usize>() as u64));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let file = decoded(bytes)?;
        let view = HmeshView::read(&file)?;
        let desc = view.desc();
        writeln!(out, "hmesh v{}", version(bytes))?;
        if version(bytes) == COMPRESSED_VERSION {
            for EncodedChunk { fourcc, codec, count, stride, stream } in
                CompressedHmesh::read(bytes)?.encoded_chunks()
            {
                let (tag, codec, len) = (fourcc.escape_ascii(), codec.name(), stream.len());
                writeln!(out, "stream {tag} {codec} {count} of {stride} B in {len} B")?;
            }
        }
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
                compressed::LAYOUT,
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
        let materials = u64::from(HmeshView::read(&decoded(bytes)?)?.desc().material_count);
        let counted = Count(materials, "material", "materials");
        let (table, rows) = at.companion(path, "hmat", crate::hmat::row_count);
        match rows {
            Ok(None) if materials > 0 => bad(Problem {
                code: kiln_diagnostics::Code::MeshWithoutMaterials,
                message: alloc::format!(
                    "the mesh has {counted}, but the companion material table {table} does not exist"
                ),
                hint: "run the build again: the material table was deleted, or the mesh is from another build",
            }),
            Ok(Some(rows)) if rows as u64 != materials => bad(Problem {
                code: kiln_diagnostics::Code::MeshMaterialCount,
                message: alloc::format!(
                    "the mesh has {counted}, but the companion material table {table} has {}",
                    Count(rows as u64, "row", "rows")
                ),
                hint: "run the build again: the mesh and its material table are from different builds",
            }),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the version of a valid file.
#[cfg(feature = "tools")]
fn version(bytes: &[u8]) -> u32 {
    if CompressedHmesh::is_compressed(bytes) { COMPRESSED_VERSION } else { VERSION }
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
