//! Meshes of a file: a primitive for each material, with a vertex for each face vertex. Duplicates are welded later.
//!
//! FBX assigns materials to the nodes that draw a mesh, so a mesh that is drawn with other materials is another mesh here.

use std::collections::BTreeMap;

use kiln_diagnostics::{Code, Diag};
use kiln_ir::{MaterialId, Mesh, MeshId, Primitive, SkinId};

use super::material::{Mapping, MaterialImport};
use super::nodes::{self, vec3};
use super::{Budget, Notes};
use crate::polygon::Triangulator;

/// The maximum number of bone influences of a vertex.
const MAX_INFLUENCES: usize = 4;

/// Reads the drawn meshes; returns them and the mesh of each node.
pub(super) fn read(
    model: &ufbx::Scene,
    materials: &[MaterialImport],
    skins: &[Option<SkinId>],
    budget: &mut Budget,
    notes: &mut Notes,
) -> Result<(Vec<Mesh>, Vec<Option<MeshId>>), Diag> {
    let mut meshes = Vec::new();
    let mut known: BTreeMap<(u32, Vec<u32>), Option<MeshId>> = BTreeMap::new();
    let mut placed = Vec::with_capacity(model.nodes.count);
    for node in &model.nodes {
        let Some(source) = &node.mesh else {
            placed.push(None);
            continue;
        };
        let material_ids: Vec<u32> = node.materials.iter().map(|m| m.element.typed_id).collect();
        let key = (source.element.typed_id, material_ids);
        if let Some(id) = known.get(&key) {
            placed.push(*id);
            continue;
        }
        let mut reader =
            Reader { source, skin: nodes::skin(source, skins).is_some(), materials, budget, notes };
        let primitives = reader.primitives(&key.1)?;
        // Counted once, however often the mesh is drawn.
        if known.keys().all(|(mesh, _)| *mesh != key.0) {
            reader.notes.no_triangles +=
                source.num_empty_faces + source.num_point_faces + source.num_line_faces;
        }
        let id = (!primitives.is_empty()).then_some(MeshId(meshes.len() as u32));
        if id.is_some() {
            let name = match &*source.element.name {
                "" => node.element.name.to_string(),
                name => name.to_owned(),
            };
            meshes.push(Mesh { name, primitives, ..Mesh::default() });
        }
        known.insert(key, id);
        placed.push(id);
    }
    Ok((meshes, placed))
}

struct Reader<'a> {
    source: &'a ufbx::Mesh,
    skin: bool,
    materials: &'a [MaterialImport],
    budget: &'a mut Budget,
    notes: &'a mut Notes,
}

impl Reader<'_> {
    fn primitives(&mut self, materials: &[u32]) -> Result<Vec<Primitive>, Diag> {
        let mut triangulator = Triangulator::new(self.source.num_indices);
        let mut primitives = Vec::new();
        for part in &self.source.material_parts {
            if part.num_triangles == 0 {
                continue;
            }
            let material = materials.get(part.index as usize).copied();
            let primitive = self.primitive(part, material, &mut triangulator)?;
            if !primitive.indices.is_empty() {
                primitives.push(primitive);
            }
        }
        Ok(primitives)
    }

    fn primitive(
        &mut self,
        part: &ufbx::MeshPart,
        material: Option<u32>,
        triangulator: &mut Triangulator,
    ) -> Result<Primitive, Diag> {
        let source = self.source;
        let imported = material.and_then(|id| self.materials.get(id as usize));
        let mapping = imported.map(|imported| imported.mapping.clone()).unwrap_or_default();
        let (first, second) = sets(source, &mapping);
        let faces = part.face_indices.iter().filter(|&&face| !is_hole(source, face));
        let faces =
            faces.filter_map(|&face| source.faces.get(face as usize)).filter(|face| face.num_indices > 2);
        let corners: usize = faces.clone().map(|face| face.num_indices as usize).sum();
        // The attributes of each face vertex, and the indices of the triangles.
        self.budget
            .charge(corners, size_of::<[f32; 10]>() + size_of::<[f32; 6]>() + size_of::<[u32; 3]>())?;

        let mut primitive = Primitive { material: material.map(MaterialId), ..Primitive::default() };
        let mut points = Vec::new();
        for face in faces {
            let (begin, count) = (face.index_begin as usize, face.num_indices as usize);
            let base = primitive.positions.len() as u32;
            points.clear();
            for corner in begin..begin.saturating_add(count) {
                let position = vec3(at3(&source.vertex_position, corner)?);
                points.push(position);
                primitive.positions.push(position);
                if source.vertex_normal.exists {
                    primitive.normals.push(vec3(at3(&source.vertex_normal, corner)?));
                }
                if let Some(set) = first {
                    primitive.uv0.push(mapping.apply(at2(&set.vertex_uv, corner)?));
                }
                if let Some(set) = second {
                    primitive.uv1.push(Mapping::default().apply(at2(&set.vertex_uv, corner)?));
                }
                if self.skin {
                    let (joints, weights) = self.influences(corner)?;
                    primitive.joints.push(joints);
                    primitive.weights.push(weights);
                }
            }
            self.notes.overlapping += usize::from(!triangulator.triangulate(&points));
            primitive.indices.extend(triangulator.triangles.iter().flatten().map(|corner| base + corner));
        }
        Ok(primitive)
    }

    /// Returns the strongest bone influences of a face vertex.
    fn influences(&mut self, corner: usize) -> Result<([u16; MAX_INFLUENCES], [f32; MAX_INFLUENCES]), Diag> {
        let (mut joints, mut weights) = ([0; MAX_INFLUENCES], [0.0; MAX_INFLUENCES]);
        let Some(skin) = self.source.skin_deformers.first() else { return Ok((joints, weights)) };
        let vertex = *self.source.vertex_indices.get(corner).ok_or_else(index_out_of_range)?;
        // Vertices without influences are in no list.
        let Some(vertex) = skin.vertices.get(vertex as usize) else { return Ok((joints, weights)) };
        let begin = vertex.weight_begin as usize;
        let all = skin
            .weights
            .get(begin..begin.saturating_add(vertex.num_weights as usize))
            .ok_or_else(index_out_of_range)?;
        // The library sorts weights in descending order.
        for (slot, weight) in all.iter().take(MAX_INFLUENCES).enumerate() {
            joints[slot] = u16::try_from(weight.cluster_index).map_err(|_| too_many())?;
            weights[slot] = weight.weight.max(0.0) as f32;
            if weights[slot] == 0.0 {
                joints[slot] = 0;
            }
        }
        let is_first = self.source.vertex_first_index.get(self.source.vertex_indices[corner] as usize)
            == Some(&(corner as u32));
        self.notes.influences += usize::from(is_first && all.len() > MAX_INFLUENCES);
        Ok((joints, weights))
    }
}

fn is_hole(source: &ufbx::Mesh, face: u32) -> bool {
    source.face_hole.get(face as usize).copied().unwrap_or_default()
}

/// Returns the UV set of the textures, and another one.
fn sets<'a>(source: &'a ufbx::Mesh, mapping: &Mapping) -> (Option<&'a ufbx::UvSet>, Option<&'a ufbx::UvSet>) {
    let sets: &[ufbx::UvSet] = &source.uv_sets;
    let first = sets.iter().position(|set| !mapping.set.is_empty() && *set.name == *mapping.set).unwrap_or(0);
    (sets.get(first), sets.iter().enumerate().find(|(index, _)| *index != first).map(|(_, set)| set))
}

fn at3(list: &ufbx::VertexVec3, corner: usize) -> Result<ufbx::Vec3, Diag> {
    list.indices
        .get(corner)
        .and_then(|&index| list.values.get(index as usize))
        .copied()
        .ok_or_else(index_out_of_range)
}

fn at2(list: &ufbx::VertexVec2, corner: usize) -> Result<ufbx::Vec2, Diag> {
    list.indices
        .get(corner)
        .and_then(|&index| list.values.get(index as usize))
        .copied()
        .ok_or_else(index_out_of_range)
}

fn index_out_of_range() -> Diag {
    Diag::new(Code::FbxModel, "an index of a face vertex is out of range")
        .hint("the file is damaged: export it again")
}

fn too_many() -> Diag {
    Diag::new(Code::FbxModel, "a skin has more than 65536 joints")
}
