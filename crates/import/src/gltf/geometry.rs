//! Meshes: the triangles of primitives, with what their vertices carry (glTF 2.0, 3.7.2).
//!
//! Triangle lists, strips and fans become lists; points and lines are passed over with a warning. Vertices that no
//! triangle uses are dropped, because exporters share one list of vertices among many primitives. Refused are
//! indices beyond the vertices, attributes of different lengths, and numbers of indices that are not triangles.

use std::collections::BTreeSet;

use kiln_ir::{MaterialId, Mesh, Primitive};
use kiln_kit::Diag;

use super::accessor::Accessor;
use super::at::At;
use super::buffers::Buffers;
use super::document::Document;
use super::draco::Draco;
use super::material::Surface;

/// The most sets of joints that are looked at: more than any exporter writes.
const MOST_SETS: usize = 8;

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
        let draco = match at.extension("KHR_draco_mesh_compression") {
            Some(extension) => {
                let data = self.buffers.view(extension.need("bufferView")?)?.bytes;
                Some(Draco::decode(extension, data, self.buffers.left())?)
            }
            None => None,
        };
        let mut vertices = Vertices::new(attributes, draco, self.document, self.buffers)?;
        let count = vertices.count;
        let mut indices = match &vertices.draco {
            // Triangles one by one, whatever the mode: a strip is what they were before, and may be again.
            Some(draco) => draco.indices(),
            None => mode.triangles(self.indices(at, &vertices)?, at)?,
        };
        if indices.is_empty() {
            return Ok(None);
        }
        if let Some(place) = indices.iter().position(|&index| index as usize >= count) {
            let message =
                format!("triangle {} uses vertex {}, and there are {count}", place / 3, indices[place]);
            return Err(at.get("indices").unwrap_or(at).fault("gltf-index", message));
        }
        vertices.only = select(&mut indices, count);

        let mut surface = None;
        if let Some(reference) = at.get("material") {
            let (id, _) = reference.refer(self.document.materials, "material")?;
            surface = Some((MaterialId(id), &self.surfaces[id as usize]));
        }
        let positions = vertices.read::<3>("POSITION")?.unwrap_or_default();
        let normals = vertices.read::<3>("NORMAL")?.unwrap_or_default();
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
                .fault("gltf-not-finite", "transformed, they are not all finite"));
        }
        let outside = |v: &f32| !(-EDGE_SLACK..=1.0 + EDGE_SLACK).contains(v);
        if surface.is_some_and(|(_, surface)| surface.clamps) && uv0.iter().flatten().any(outside) {
            self.notes.lost.insert("texture wrapping".to_owned());
        }
        let (joints, weights) = self.influences(&vertices)?;
        self.note_lost(at, attributes, set);
        let material = surface.map(|(id, _)| id);
        self.notes.used.extend(material);
        Ok(Some(Primitive { positions, normals, uv0, tangents, joints, weights, indices, material }))
    }

    /// The vertices in the order that they are drawn.
    fn indices(&self, at: At<'a>, vertices: &Vertices<'_, 'a>) -> Result<Vec<u32>, Diag> {
        match at.get("indices") {
            Some(reference) => {
                let accessor = Accessor::new(reference, self.document.accessors, self.buffers)?;
                Ok(accessor.uints::<1>(None)?.into_flattened())
            }
            None => {
                self.buffers.spend(vertices.count.saturating_mul(size_of::<u32>()), at)?;
                match u32::try_from(vertices.count) {
                    Ok(count) => Ok((0..count).collect()),
                    Err(_) => Err(at.fault("gltf-too-large", "there are too many vertices to be numbered")),
                }
            }
        }
    }

    /// The four joints that pull each vertex most, and how much they do.
    fn influences(&mut self, vertices: &Vertices<'_, 'a>) -> Result<Influences, Diag> {
        let mut joints: Vec<[u16; 4]> = Vec::new();
        let mut weights: Vec<[f32; 4]> = Vec::new();
        for set in 0..MOST_SETS {
            let (joints_name, weights_name) = (format!("JOINTS_{set}"), format!("WEIGHTS_{set}"));
            let names = vertices.attributes;
            let (Some(joints_at), Some(_)) = (names.get(&joints_name), names.get(&weights_name)) else {
                break;
            };
            let more_joints = vertices.read_joints(&joints_name)?;
            let mut more_weights = vertices.read::<4>(&weights_name)?.unwrap_or_default();
            more_weights.iter_mut().flatten().for_each(|weight| *weight = weight.max(0.0));
            if set == 0 {
                (joints, weights) = (more_joints, more_weights);
                continue;
            }
            let mut reduced = 0;
            for (place, (more_joints, more_weights)) in more_joints.into_iter().zip(more_weights).enumerate()
            {
                let all = joints[place]
                    .into_iter()
                    .chain(more_joints)
                    .zip(weights[place].into_iter().chain(more_weights));
                let mut pulls: Vec<(u16, f32)> = all.filter(|(_, weight)| *weight > 0.0).collect();
                reduced += usize::from(pulls.len() > 4);
                // A stable sort: of equal weights, the one that the source has first stays.
                pulls.sort_by(|a, b| b.1.total_cmp(&a.1));
                pulls.resize(pulls.len().max(4), (0, 0.0));
                joints[place] = [0, 1, 2, 3].map(|i| pulls[i].0);
                weights[place] = [0, 1, 2, 3].map(|i| pulls[i].1);
            }
            if reduced > 0 {
                note(&mut self.notes.influences, reduced, joints_at);
            }
        }
        for (joints, weights) in joints.iter_mut().zip(&weights) {
            for (joint, weight) in joints.iter_mut().zip(weights) {
                if *weight == 0.0 {
                    *joint = 0;
                }
            }
        }
        Ok((joints, weights))
    }

    fn note_lost(&mut self, at: At<'a>, attributes: At<'a>, used_set: &str) {
        let is_set = |name: &str| name.starts_with("TEXCOORD_") && name != used_set;
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

/// Four joints for each vertex, and four weights.
type Influences = (Vec<[u16; 4]>, Vec<[f32; 4]>);

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
                Err(at.get("indices").unwrap_or(at).fault("gltf-index", message))
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

/// Where the attributes of a primitive come from, and which of their elements are needed.
struct Vertices<'b, 'a> {
    attributes: At<'a>,
    draco: Option<Draco<'a>>,
    document: &'b Document<'a>,
    buffers: &'b Buffers<'a>,
    /// How many vertices there are.
    count: usize,
    /// The numbers of those that triangles use, ascending, or `None` for all.
    only: Option<Vec<u32>>,
}

impl<'b, 'a> Vertices<'b, 'a> {
    fn new(
        attributes: At<'a>,
        draco: Option<Draco<'a>>,
        document: &'b Document<'a>,
        buffers: &'b Buffers<'a>,
    ) -> Result<Vertices<'b, 'a>, Diag> {
        let count = match &draco {
            Some(draco) => draco.count(),
            None => Accessor::new(attributes.need("POSITION")?, document.accessors, buffers)?.count(),
        };
        Ok(Vertices { attributes, draco, document, buffers, count, only: None })
    }

    /// An attribute as floats, if there is one.
    fn read<const N: usize>(&self, name: &str) -> Result<Option<Vec<[f32; N]>>, Diag> {
        let Some(reference) = self.attributes.get(name) else { return Ok(None) };
        let accessor = Accessor::new(reference, self.document.accessors, self.buffers)?;
        if let Some(draco) = self.draco.as_ref().filter(|draco| draco.has(name)) {
            self.buffers.spend(self.count.saturating_mul(size_of::<[f32; N]>()), reference)?;
            let values = draco.floats(name, accessor.is_normalized())?;
            return Ok(Some(match &self.only {
                Some(only) => only.iter().map(|&index| values[index as usize]).collect(),
                None => values,
            }));
        }
        self.check_count(reference, &accessor)?;
        accessor.floats(self.only.as_deref()).map(Some)
    }

    /// An attribute that names joints.
    fn read_joints(&self, name: &str) -> Result<Vec<[u16; 4]>, Diag> {
        let reference = self.attributes.need(name)?;
        let joints: Vec<[u32; 4]> = if self.draco.as_ref().is_some_and(|draco| draco.has(name)) {
            let values = self.read::<4>(name)?.unwrap_or_default();
            values.into_iter().map(|v| v.map(|joint| joint as u32)).collect()
        } else {
            let accessor = Accessor::new(reference, self.document.accessors, self.buffers)?;
            self.check_count(reference, &accessor)?;
            accessor.uints(self.only.as_deref())?
        };
        let too_large = || reference.fault("gltf-accessor", "the number of a joint is too large");
        let narrow = |joint: u32| u16::try_from(joint).map_err(|_| too_large());
        joints.into_iter().map(|[a, b, c, d]| Ok([narrow(a)?, narrow(b)?, narrow(c)?, narrow(d)?])).collect()
    }

    fn check_count(&self, reference: At<'a>, accessor: &Accessor<'_, 'a>) -> Result<(), Diag> {
        if accessor.count() == self.count {
            return Ok(());
        }
        let message = format!("the attribute has {} elements for {} positions", accessor.count(), self.count);
        Err(reference.fault("gltf-accessor", message))
    }
}

/// The numbers of the vertices that triangles use, ascending, unless all are; the triangles are changed to count
/// among them. The cost is that of the triangles, however many vertices there are.
fn select(indices: &mut [u32], count: usize) -> Option<Vec<u32>> {
    if count / 4 > indices.len() {
        let mut only = indices.to_vec();
        only.sort_unstable();
        only.dedup();
        for index in indices {
            // Every one of them is there.
            *index = only.binary_search(index).unwrap_or_default() as u32;
        }
        return Some(only);
    }
    let mut used = vec![false; count];
    for &index in &*indices {
        used[index as usize] = true;
    }
    if used.iter().all(|used| *used) {
        return None;
    }
    let only: Vec<u32> = (0..count as u32).filter(|&index| used[index as usize]).collect();
    let mut places = vec![0; count];
    for (place, &index) in only.iter().enumerate() {
        places[index as usize] = place as u32;
    }
    for index in indices {
        *index = places[*index as usize];
    }
    Some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_vertices_are_left_out_in_either_way() {
        for count in [8, 8000] {
            let mut indices = [5, 1, 7, 7, 1, 2];
            assert_eq!(select(&mut indices, count), Some(vec![1, 2, 5, 7]));
            assert_eq!(indices, [2, 0, 3, 3, 0, 1]);
        }
        let mut indices = [2, 0, 1];
        assert_eq!(select(&mut indices, 3), None);
        assert_eq!(indices, [2, 0, 1]);
    }
}
