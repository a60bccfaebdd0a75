//! Meshes: the triangles of primitives, with what their vertices carry (glTF 2.0, 3.7.2).
//!
//! Triangle lists, strips and fans become lists; points and lines are passed over with a warning. Refused are indices
//! beyond the vertices, and numbers of indices that are not triangles.

use std::collections::BTreeSet;

use kiln_engine::{Code, Diag};
use kiln_ir::{MaterialId, Mesh, Primitive};

use super::accessor::Accessor;
use super::at::At;
use super::buffers::Buffers;
use super::conformance::Violations;
use super::document::Document;
use super::draco::Draco;
use super::material::Surface;
use super::vertices::{Influences, Vertices, select};

/// How far beyond the edge of a texture coordinates may be before it matters what is there.
const EDGE_SLACK: f32 = 1e-3;

/// What turned up in the geometry that deserves a warning, once for the whole document.
#[derive(Default)]
pub(super) struct Notes {
    /// Primitives without triangles: how many, and where the first is.
    pub(super) no_triangles: Option<(usize, String)>,
    /// Primitives that lack the texture coordinates which their material uses.
    pub(super) no_coordinates: Option<(usize, String)>,
    /// Attributes and other things that are not kept.
    pub(super) lost: BTreeSet<String>,
    /// Channels of animations whose keys are out of order: how many, and where the first is.
    pub(super) unsorted: Option<(usize, String)>,
    /// Vertices that more than four joints pull: how many, and where the first is.
    pub(super) influences: Option<(usize, String)>,
    /// Violations of the specification that do not keep anything from being read.
    pub(super) violations: Violations,
    /// Materials that something is made of.
    pub(super) used: BTreeSet<MaterialId>,
}

/// Reads meshes of a document.
pub(super) struct Geometry<'b, 'a> {
    pub(super) document: &'b Document<'a>,
    pub(super) buffers: &'b Buffers<'a>,
    pub(super) surfaces: &'b [Surface],
    pub(super) notes: Notes,
}

impl<'a> Geometry<'_, 'a> {
    /// A mesh with all its primitives that have triangles.
    pub(super) fn mesh(&mut self, at: At<'a>) -> Result<Mesh, Diag> {
        let mut mesh = Mesh { name: at.text_of("name")?.to_owned(), primitives: Vec::new() };
        for primitive in at.list("primitives")?.iter() {
            match self.primitive(primitive)? {
                Some(primitive) => mesh.primitives.push(primitive),
                None => note(&mut self.notes.no_triangles, 1, primitive),
            }
        }
        Ok(mesh)
    }

    fn primitive(&mut self, at: At<'a>) -> Result<Option<Primitive>, Diag> {
        let Some(mode) = Mode::new(at)? else { return Ok(None) };
        let attributes = at.need("attributes")?.object()?;
        if attributes.get("POSITION").is_none() {
            return Ok(None);
        }
        self.notes.violations.check_attributes(attributes, self.document.accessors)?;
        let draco = match at.extension("KHR_draco_mesh_compression") {
            Some(extension) => {
                let data = self.buffers.view(extension.need("bufferView")?)?.bytes;
                Some(Draco::decode(extension, data, self.buffers.left())?)
            }
            None => None,
        };
        let mut vertices = Vertices::new(attributes, draco, self.document.accessors, self.buffers)?;
        let count = vertices.count;
        let mut indices = match &vertices.draco {
            // Draco has triangles one by one, whatever the mode.
            Some(draco) => {
                self.buffers.spend(draco.triangles().saturating_mul(size_of::<[u32; 3]>()), at)?;
                draco.indices()
            }
            None => mode.triangles(self.indices(at, &vertices)?, at)?,
        };
        if indices.is_empty() {
            return Ok(None);
        }
        if let Some(place) = indices.iter().position(|&index| index as usize >= count) {
            let message =
                format!("triangle {} uses vertex {}, and there are {count}", place / 3, indices[place]);
            return Err(at.get("indices").unwrap_or(at).fault(Code::GltfIndex, message));
        }
        vertices.only = select(&mut indices, count);

        let mut surface = None;
        if let Some(reference) = at.get("material") {
            let (id, _) = reference.refer(self.document.materials, "material")?;
            surface = Some((MaterialId(id), &self.surfaces[id as usize]));
        }
        let positions = vertices.read::<3>("POSITION")?.unwrap_or_default();
        let normals = vertices.read::<3>("NORMAL")?.unwrap_or_default();
        if let Some(reference) = attributes.get("NORMAL") {
            self.notes.violations.check_normals(&normals, reference);
        }
        // Tangents without normals say nothing (3.7.2.1).
        let tangents = if normals.is_empty() { None } else { vertices.read::<4>("TANGENT")? };
        let mut tangents = tangents.unwrap_or_default();
        for tangent in &mut tangents {
            tangent[3] = if tangent[3] < 0.0 { -1.0 } else { 1.0 };
        }
        let mapping = surface.map(|(_, surface)| surface.mapping).unwrap_or_default();
        let wanted_set = format!("TEXCOORD_{}", mapping.set);
        let set = if attributes.get(&wanted_set).is_some() { wanted_set.as_str() } else { "TEXCOORD_0" };
        if set != wanted_set {
            note(&mut self.notes.no_coordinates, 1, at);
        }
        let mut uv0 = vertices.read::<2>(set)?.unwrap_or_default();
        mapping.apply(&mut uv0);
        if !uv0.iter().flatten().all(|v| v.is_finite()) {
            return Err(attributes
                .need(set)?
                .fault(Code::GltfNotFinite, "transformed, they are not all finite"));
        }
        let outside = |v: &f32| !(-EDGE_SLACK..=1.0 + EDGE_SLACK).contains(v);
        if surface.is_some_and(|(_, surface)| surface.clamps) && uv0.iter().flatten().any(outside) {
            self.notes.lost.insert("texture wrapping".to_owned());
        }
        let Influences { joints, weights, reduced } = vertices.influences()?;
        if reduced > 0 {
            note(&mut self.notes.influences, reduced, at);
        }
        // The set beside the one that textures use, as it is.
        let other = if set == "TEXCOORD_1" { "TEXCOORD_0" } else { "TEXCOORD_1" };
        let uv1 = vertices.read::<2>(other)?.unwrap_or_default();
        self.note_lost(at, attributes, [set, other]);
        let material = surface.map(|(id, _)| id);
        self.notes.used.extend(material);
        Ok(Some(Primitive { positions, normals, uv0, uv1, tangents, joints, weights, indices, material }))
    }

    /// The vertices in the order that they are drawn.
    fn indices(&mut self, at: At<'a>, vertices: &Vertices<'_, 'a>) -> Result<Vec<u32>, Diag> {
        match at.get("indices") {
            Some(reference) => {
                let accessor = Accessor::new(reference, self.document.accessors, self.buffers)?;
                let indices = accessor.uints(None)?;
                self.notes.violations.check_indices(&indices, accessor.restart_index(), reference);
                Ok(indices.into_flattened())
            }
            None => {
                self.buffers.spend(vertices.count.saturating_mul(size_of::<u32>()), at)?;
                match u32::try_from(vertices.count) {
                    Ok(count) => Ok((0..count).collect()),
                    Err(_) => Err(at.fault(Code::GltfTooLarge, "there are too many vertices to be numbered")),
                }
            }
        }
    }

    fn note_lost(&mut self, at: At<'a>, attributes: At<'a>, used: [&str; 2]) {
        let is_set = |name: &str| name.starts_with("TEXCOORD_") && !used.contains(&name);
        let lost = attributes.names().filter(|name| name.starts_with("COLOR_") || is_set(name));
        self.notes.lost.extend(lost.map(str::to_owned));
        if at.list("targets").is_ok_and(|targets| targets.len() > 0) {
            self.notes.lost.insert("morph targets".to_owned());
        }
        if at.extension("KHR_materials_variants").is_some() {
            self.notes.lost.insert("KHR_materials_variants".to_owned());
        }
    }
}

fn note(notes: &mut Option<(usize, String)>, count: usize, at: At<'_>) {
    notes.get_or_insert_with(|| (0, at.pointer())).0 += count;
}

/// How vertices make triangles.
enum Mode {
    List,
    Strip,
    Fan,
}

impl Mode {
    /// The mode of a primitive, or `None` for points and lines.
    fn new(at: At<'_>) -> Result<Option<Mode>, Diag> {
        Ok(match at.uint_or("mode", 4)? {
            0..=3 => None,
            4 => Some(Mode::List),
            5 => Some(Mode::Strip),
            6 => Some(Mode::Fan),
            other => return Err(at.need("mode")?.bad(format_args!("{other} is not a mode"))),
        })
    }

    /// Vertices in the order that they are drawn, as triangles one by one.
    fn triangles(&self, indices: Vec<u32>, at: At<'_>) -> Result<Vec<u32>, Diag> {
        let windows = indices.windows(3);
        match self {
            Mode::List if indices.len().is_multiple_of(3) => Ok(indices),
            Mode::List => {
                let message = format!("{} vertices are drawn, which are not triangles", indices.len());
                Err(at.get("indices").unwrap_or(at).fault(Code::GltfIndex, message))
            }
            // Every second triangle of a strip is wound the other way.
            Mode::Strip => Ok(windows
                .enumerate()
                .flat_map(|(i, w)| if i % 2 == 0 { [w[0], w[1], w[2]] } else { [w[0], w[2], w[1]] })
                .collect()),
            Mode::Fan => Ok(indices
                .get(1..)
                .unwrap_or_default()
                .windows(2)
                .flat_map(|w| [w[0], w[1], indices[0]])
                .collect()),
        }
    }
}
