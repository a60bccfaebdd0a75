//! `.hmesh`: geometry, ready to be copied to a GPU: vertices, indices, meshlets, reduced levels, a skin.
//!
//! Implements `docs/formats/hmesh.md`. Chunks that we do not know are passed over. Refused are chunks that are there
//! twice, sizes that disagree with the counts, submeshes and levels that do not cover their indices one after
//! another, and skeletons that are not trees; by [`verify`](HmeshView::verify) also whatever an index, a range or a
//! bound gets wrong, numbers that are not finite, and bytes that belong to nothing.
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

mod records;
mod tables;
mod verify;
mod view;
#[cfg(feature = "tools")]
mod write;

pub use self::records::*;
pub use self::view::{HmeshView, Indices};
#[cfg(feature = "tools")]
pub use self::write::{MESHLET_MAX_TRIS, MESHLET_MAX_VERTS, Parts, write};

use crate::chunks::Kind;
use crate::hpack::PackKind;
use crate::{Error, Format, table::sealed::Sealed};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, chunks, hmat::HmatView, paths, refs};

/// The first bytes of a mesh.
pub const MAGIC: [u8; 4] = *b"HMSH";
/// The only version there is.
pub const VERSION: u32 = 2;

const FORMAT: Kind = Kind { format: "hmesh", magic: MAGIC, version: VERSION, version_text: "2" };

/// The row of the format table.
#[derive(Clone, Copy, Debug)]
pub struct HMesh;

impl Sealed for HMesh {}

impl Format for HMesh {
    fn name(&self) -> &'static str {
        "hmesh"
    }

    fn ext(&self) -> &'static str {
        "hmesh"
    }

    fn magic(&self) -> &'static [u8] {
        &MAGIC
    }

    fn title(&self) -> &'static str {
        "meshes"
    }

    fn pack_kind(&self) -> PackKind {
        PackKind::Mesh
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
            "v{VERSION} | {} verts, {} tris, {} idx@{}B | {} meshlets, {} submeshes, {} mats | stride {}B \
             | tangents {}",
            desc.vertex_count,
            desc.index_count / 3,
            desc.index_count,
            desc.index_width,
            desc.meshlet_count,
            desc.submesh_count,
            desc.material_count,
            desc.vertex_stride,
            if view.has_tangents() { "yes" } else { "no" },
        )?;
        let [x, y, z] = [0, 1, 2].map(|axis| bounds.aabb_max[axis] - bounds.aabb_min[axis]);
        write!(out, " | aabb {x:.2}x{y:.2}x{z:.2}, r={:.2}", bounds.sphere_radius)?;
        match view.joints().len() {
            0 => {}
            joints if view.skin().is_empty() => write!(out, " | skeleton ({joints} joints)")?,
            joints => write!(out, " | skinned ({joints} joints)")?,
        }
        match view.lod_count() {
            0 => {}
            lods => write!(out, " | +{lods} LODs")?,
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HmeshView::read(bytes)?;
        let desc = view.desc();
        each("version", Fact::Number(VERSION.into()));
        each("verts", Fact::Total(desc.vertex_count.into()));
        each("tris", Fact::Total(u64::from(desc.index_count) / 3));
        each("idx", Fact::Total(desc.index_count.into()));
        each("meshlets", Fact::Total(desc.meshlet_count.into()));
        each("submeshes", Fact::Total(desc.submesh_count.into()));
        each("mats", Fact::Total(desc.material_count.into()));
        each("index_width", Fact::Number(desc.index_width.into()));
        each("vertex_stride", Fact::Number(desc.vertex_stride.into()));
        each("tangents", Fact::Number(view.has_tangents().into()));
        each("skinned", Fact::Number((!view.skin().is_empty()).into()));
        each("joints", Fact::Number(view.joints().len() as u64));
        each("lods", Fact::Number(view.lod_count().into()));
        each("lod_idx", Fact::Number(view.lod_indices().len() as u64));
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
        Ok(())
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
            ]
        }
    }

    #[cfg(feature = "tools")]
    fn cross(
        &self,
        path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let materials = HmeshView::read(bytes)?.desc().material_count as usize;
        let table = paths::beside(path, "hmat");
        let Some(found) = at.bytes(&table) else {
            if materials > 0 {
                bad(Problem {
                    code: kiln_diagnostics::Code::MeshWithoutMaterials,
                    message: alloc::format!("{materials} materials but no companion {table}"),
                    hint: "build again: the table was deleted, or the mesh is from another build",
                });
            }
            return Ok(());
        };
        // A table that cannot be read is reported under its own name.
        if let Ok(rows) = HmatView::read(&found).map(|view| view.materials().len())
            && rows != materials
        {
            bad(Problem {
                code: kiln_diagnostics::Code::MeshMaterialCount,
                message: alloc::format!("{materials} materials, but {rows} rows in its companion {table}"),
                hint: "build again: mesh and table are from different builds",
            });
        }
        Ok(())
    }
}
