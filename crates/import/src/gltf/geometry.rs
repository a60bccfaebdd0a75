//! Meshes: the triangles of primitives and their vertex attributes (glTF 2.0, 3.7.2).
//!
//! Triangle strips and fans become triangle lists; points, lines and primitives with too few vertices for a triangle are
//! ignored with a warning. Rejects indices out of range, and triangle lists with an incomplete triangle after others.

use std::collections::BTreeSet;

use kiln_diagnostics::{Code, Diag};
use kiln_ir::{MaterialId, Mesh, Primitive};

use super::accessor::Accessor;
use super::buffers::Buffers;
use super::conformance::Violations;
use super::document::Document;
use super::draco::Draco;
use super::material::MaterialImport;
use super::value::Value;
use super::vertices::{Influences, Vertices, select};
use super::{Options, morph};

/// Findings about the geometry that deserve one warning each for the whole document.
#[derive(Default)]
pub(super) struct Notes {
    /// The number of primitives without triangles, and the place of the first.
    pub(super) no_triangles: Option<(usize, String)>,
    /// The number of primitives of triangles with fewer than three vertices, and the place of the first.
    pub(super) too_few_vertices: Option<(usize, String)>,
    /// The number of primitives that lack the UV set of their material, and the place of the first.
    pub(super) missing_uvs: Option<(usize, String)>,
    /// Attributes and other content that is not supported.
    pub(super) unsupported: BTreeSet<String>,
    /// The number of animation channels with keyframes out of order, and the place of the first.
    pub(super) unsorted: Option<(usize, String)>,
    /// The number of vertices with more than four bone influences, and the place of the first.
    pub(super) influences: Option<(usize, String)>,
    /// Violations of the specification that do not prevent the import.
    pub(super) violations: Violations,
    /// The materials of drawn primitives.
    pub(super) used: BTreeSet<MaterialId>,
}

/// The maximum number of UV sets that are read: as many as Vulkan guarantees for half of the vertex attributes.
const MAX_UV_SETS: usize = 8;

/// Reads meshes of a document.
pub(super) struct Geometry<'b, 'a> {
    pub(super) document: &'b Document<'a>,
    pub(super) buffers: &'b Buffers<'a>,
    pub(super) materials: &'b [MaterialImport],
    pub(super) options: &'b Options<'b>,
    pub(super) notes: Notes,
}

impl<'a> Geometry<'_, 'a> {
    /// Reads a mesh with all its primitives that have triangles.
    pub(super) fn mesh(&mut self, at: Value<'a>) -> Result<Mesh, Diag> {
        let mut mesh = Mesh { name: at.string_or_empty("name")?.to_owned(), ..Mesh::default() };
        for primitive in at.list("primitives")?.iter() {
            match self.primitive(primitive)? {
                Some(primitive) => mesh.primitives.push(primitive),
                None if is_triangles(primitive) => note(&mut self.notes.too_few_vertices, 1, primitive),
                None => note(&mut self.notes.no_triangles, 1, primitive),
            }
        }
        if self.options.morph_targets {
            morph::complete(&mut mesh, at)?;
        }
        if self.options.scene_data {
            mesh.extras = at.extras();
        }
        Ok(mesh)
    }

    /// Notes the materials of the primitives of a mesh, which is not decoded.
    pub(super) fn note_materials(&mut self, at: Value<'a>) -> Result<(), Diag> {
        for primitive in at.list("primitives")?.iter().filter(|primitive| is_triangles(*primitive)) {
            if let Some(reference) = primitive.get("material") {
                let (id, _) = reference.resolve(self.document.materials, "material")?;
                self.notes.used.insert(MaterialId(id));
            }
        }
        Ok(())
    }

    fn primitive(&mut self, at: Value<'a>) -> Result<Option<Primitive>, Diag> {
        let Some(mode) = Mode::new(at)? else { return Ok(None) };
        let attributes = at.required("attributes")?.object()?;
        if attributes.get("POSITION").is_none() {
            return Ok(None);
        }
        self.notes.violations.check_attributes(attributes, self.document.accessors)?;
        let draco = match at.extension("KHR_draco_mesh_compression") {
            Some(extension) => {
                let data = self.buffers.view(extension.required("bufferView")?)?.bytes;
                Some(Draco::decode(extension, data, self.buffers.left())?)
            }
            None => None,
        };
        let mut vertices = Vertices::new(attributes, draco, self.document.accessors, self.buffers)?;
        let count = vertices.count;
        let mut indices = match &vertices.draco {
            // Draco stores a triangle list, whatever the mode.
            Some(draco) => {
                self.buffers.charge(draco.triangles().saturating_mul(size_of::<[u32; 3]>()), at)?;
                draco.indices()
            }
            None => mode.triangles(self.indices(at, &vertices)?, at)?,
        };
        if indices.is_empty() {
            return Ok(None);
        }
        if let Some(place) = indices.iter().position(|&index| index as usize >= count) {
            let message = format!(
                "triangle {} has the index {}, which is out of range: the primitive has {}",
                place / 3,
                indices[place],
                crate::counted(count, "vertex", "vertices")
            );
            return Err(at.get("indices").unwrap_or(at).error(Code::GltfIndex, message));
        }
        vertices.only = select(&mut indices, count);

        let mut imported = None;
        if let Some(reference) = at.get("material") {
            let (id, _) = reference.resolve(self.document.materials, "material")?;
            imported = Some((MaterialId(id), &self.materials[id as usize]));
        }
        let positions = vertices.read::<3>("POSITION")?.unwrap_or_default();
        let normals = vertices.read::<3>("NORMAL")?.unwrap_or_default();
        if let Some(reference) = attributes.get("NORMAL") {
            self.notes.violations.check_normals(&normals, reference);
        }
        // Tangents without normals are ignored (3.7.2.1).
        let tangents = if normals.is_empty() { None } else { vertices.read::<4>("TANGENT")? };
        let mut tangents = tangents.unwrap_or_default();
        for tangent in &mut tangents {
            tangent[3] = if tangent[3] < 0.0 { -1.0 } else { 1.0 };
        }
        let mapping = imported.filter(|_| !self.options.raw_uvs);
        let mapping = mapping.map(|(_, material)| material.mapping).unwrap_or_default();
        let wanted_set = format!("TEXCOORD_{}", mapping.set);
        let set = if attributes.get(&wanted_set).is_some() { wanted_set.as_str() } else { "TEXCOORD_0" };
        if set != wanted_set {
            note(&mut self.notes.missing_uvs, 1, at);
        }
        let mut uv0 = vertices.read::<2>(set)?.unwrap_or_default();
        mapping.apply(&mut uv0);
        if !uv0.iter().flatten().all(|v| v.is_finite()) {
            return Err(attributes
                .required(set)?
                .error(Code::GltfNotFinite, "a UV is not finite after KHR_texture_transform"));
        }
        let Influences { joints, weights, reduced } = vertices.influences()?;
        if reduced > 0 {
            note(&mut self.notes.influences, reduced, at);
        }
        // The UV sets that the material does not use, unchanged.
        let others = self.other_uv_sets(attributes, set);
        let mut uv_sets = Vec::with_capacity(others.len());
        for name in &others {
            uv_sets.push(vertices.read::<2>(name)?.unwrap_or_default());
        }
        let mut uv_sets = uv_sets.into_iter();
        let (uv1, further_uvs) = (uv_sets.next().unwrap_or_default(), uv_sets.collect());
        let colors = if self.options.vertex_colors { vertices.colors("COLOR_0")? } else { Vec::new() };
        let mut morph_targets = Vec::new();
        if self.options.morph_targets {
            for target in at.list("targets")?.iter() {
                morph_targets.push(vertices.morph_target(target.object()?)?);
            }
        }
        self.note_lost(at, attributes, set, &others);
        let material = imported.map(|(id, _)| id);
        self.notes.used.extend(material);
        Ok(Some(Primitive {
            positions,
            normals,
            uv0,
            uv1,
            further_uvs,
            colors,
            tangents,
            joints,
            weights,
            morph_targets,
            indices,
            material,
        }))
    }

    /// Returns the names of the UV sets that are read beside that of the material: all others up to the last one that the
    /// primitive has, or one where the caller asks for no more.
    fn other_uv_sets(&self, attributes: Value<'a>, own: &str) -> Vec<String> {
        if !self.options.uv_sets {
            return vec![if own == "TEXCOORD_1" { "TEXCOORD_0" } else { "TEXCOORD_1" }.to_owned()];
        }
        let name = |number: usize| format!("TEXCOORD_{number}");
        let last = (0..MAX_UV_SETS).rev().find(|&number| attributes.get(&name(number)).is_some());
        (0..=last.unwrap_or(0)).map(name).filter(|name| name != own).collect()
    }

    /// Reads the indices of a primitive; without an accessor, all vertices in order.
    fn indices(&mut self, at: Value<'a>, vertices: &Vertices<'_, 'a>) -> Result<Vec<u32>, Diag> {
        match at.get("indices") {
            Some(reference) => {
                let accessor = Accessor::new(reference, self.document.accessors, self.buffers)?;
                let indices = accessor.uints(None)?;
                self.notes.violations.check_indices(&indices, accessor.restart_index(), reference);
                Ok(indices.into_flattened())
            }
            None => {
                self.buffers.charge(vertices.count.saturating_mul(size_of::<u32>()), at)?;
                match u32::try_from(vertices.count) {
                    Ok(count) => Ok((0..count).collect()),
                    Err(_) => Err(at
                        .error(Code::GltfTooLarge, "the primitive has too many vertices for 32-bit indices")),
                }
            }
        }
    }

    fn note_lost(&mut self, at: Value<'a>, attributes: Value<'a>, set: &str, others: &[String]) {
        let is_set = |name: &str| {
            name.starts_with("TEXCOORD_") && name != set && !others.iter().any(|other| other == name)
        };
        let is_color =
            |name: &str| name.starts_with("COLOR_") && !(self.options.vertex_colors && name == "COLOR_0");
        let is_lost = |name: &&str| is_color(name) || name.starts_with('_') || is_set(name);
        let unsupported = attributes.names().filter(is_lost);
        self.notes.unsupported.extend(unsupported.map(str::to_owned));
        let Ok(targets) = at.list("targets") else { return };
        if targets.len() > 0 && !self.options.morph_targets {
            self.notes.unsupported.insert("morph targets".to_owned());
        } else {
            let is_lost = |name: &&str| !["POSITION", "NORMAL", "TANGENT"].contains(name);
            let lost = targets.iter().flat_map(|target| target.names().filter(is_lost).collect::<Vec<_>>());
            self.notes.unsupported.extend(lost.map(|name| format!("{name} of morph targets")));
        }
    }
}

fn note(notes: &mut Option<(usize, String)>, count: usize, at: Value<'_>) {
    notes.get_or_insert_with(|| (0, at.pointer())).0 += count;
}

/// Returns `true` if a primitive has a mode of triangles, and positions.
fn is_triangles(primitive: Value<'_>) -> bool {
    let has_positions =
        primitive.get("attributes").is_some_and(|attributes| attributes.get("POSITION").is_some());
    has_positions && matches!(Mode::new(primitive), Ok(Some(_)))
}

/// The topology of a primitive.
enum Mode {
    List,
    Strip,
    Fan,
}

impl Mode {
    /// Reads the mode of a primitive; `None` for points and lines.
    fn new(at: Value<'_>) -> Result<Option<Mode>, Diag> {
        Ok(match at.uint_or("mode", 4)? {
            0..=3 => None,
            4 => Some(Mode::List),
            5 => Some(Mode::Strip),
            6 => Some(Mode::Fan),
            other => {
                return Err(at
                    .required("mode")?
                    .invalid(format_args!("mode must be between 0 and 6, got {other}")));
            }
        })
    }

    /// Converts indices to a triangle list; empty if there are too few for a triangle.
    fn triangles(&self, indices: Vec<u32>, at: Value<'_>) -> Result<Vec<u32>, Diag> {
        let windows = indices.windows(3);
        match self {
            Mode::List if indices.len() < 3 => Ok(Vec::new()),
            Mode::List if indices.len().is_multiple_of(3) => Ok(indices),
            Mode::List => {
                let message = format!(
                    "the number of indices of a triangle list must be a multiple of 3, got {}",
                    indices.len()
                );
                Err(at.get("indices").unwrap_or(at).error(Code::GltfIndex, message))
            }
            // Every second triangle of a strip has the opposite winding.
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
