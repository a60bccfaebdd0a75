//! Converts the parts of a model to the arrays of a `.hmesh`.
//!
//! Parts are processed in parallel and appended in the order of the source, so the bytes do not depend on scheduling.

use super::cluster_lods::ClusterLods;
use super::extra::Extra;
use super::parts::{DrawnMesh, Motion, Part};
use super::skeleton::Skeleton;
use crate::config::{self, MeshCompress, Settings};
use kiln_engine::{Code, Diag, Limits, counted};
use kiln_format::hmesh::{
    self, GpuSkinVertex, GpuVertex, MeshBounds, MeshLod, Meshlet, MeshletBounds, NO_MATERIAL, SubMesh,
};
use kiln_ir::{Material, MaterialId, Matrix, Mesh, MorphTarget, Scene};
use kiln_mesh::{
    Bounds, InfluenceSet, Influences, LodRule, MeshInput, MeshOptions, MeshOutput, MorphInput, Note,
    TangentMode, Transform, Vertex, VertexCodec,
};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

/// The arrays of a mesh file.
#[derive(Default)]
pub(crate) struct Geometry {
    /// The materials of the slots, in order of first use.
    pub(crate) slots: Vec<MaterialId>,
    /// Warnings about vertex data that was repaired or dropped.
    pub(crate) warnings: Vec<Diag>,
    vertices: Vec<GpuVertex>,
    skin: Vec<GpuSkinVertex>,
    indices: Vec<u32>,
    meshlets: Vec<Meshlet>,
    meshlet_vertices: Vec<u32>,
    meshlet_triangles: Vec<[u8; 3]>,
    meshlet_bounds: Vec<MeshletBounds>,
    submeshes: Vec<SubMesh>,
    lods: Vec<MeshLod>,
    lod_indices: Vec<u32>,
    has_tangents: bool,
    clusters: Option<ClusterLods>,
    /// The first vertex of each submesh, and whether its normals were created from its faces.
    sources: Vec<(u32, bool)>,
    extra: Extra,
}

impl Geometry {
    /// Processes the parts of a model and frees its meshes along the way; `None` when the parts have no triangles.
    pub(crate) fn of(
        parts: Vec<Part>,
        mut meshes: Vec<Mesh>,
        drawn: &[DrawnMesh],
        materials: &[Material],
        wanted: &MeshOptions,
        with_clusters: bool,
        limits: &Limits,
    ) -> Result<Option<Geometry>, Diag> {
        let source = |part: &Part| &meshes[part.origin.0.0 as usize].primitives[part.origin.1];
        let sources: Vec<_> =
            parts.iter().map(|part| (source(part).material, part.motion, part.drawn)).collect();
        let skinned = parts.iter().any(|part| part.motion != Motion::Static);
        let parts = take_unshared_primitives(parts, &mut meshes);
        let outputs: Vec<MeshOutput> = parts
            .into_par_iter()
            .map(|part| process(part, &meshes, wanted, limits))
            .collect::<Result<_, _>>()?;
        drop(meshes);
        let mut geometry = Geometry { extra: Extra::new(drawn.len()), ..Geometry::default() };
        let mut notes = Notes::default();
        for ((material, motion, drawn_mesh), mut output) in sources.into_iter().zip(outputs) {
            let has_normal_map =
                material.is_some_and(|id| materials[id.0 as usize].texture(kiln_ir::Slot::Normal).is_some());
            output.notes.iter().for_each(|note| notes.add(note, has_normal_map));
            if !output.indices.is_empty() {
                let (first_vertex, submesh) = (geometry.vertices.len(), geometry.submeshes.len());
                let extra = std::mem::take(&mut output.extra);
                geometry.extra.append(extra, first_vertex, submesh, drawn_mesh, &drawn[drawn_mesh]);
                geometry.append(output, material, skinned.then_some(motion))?;
            }
        }
        geometry.warnings = notes.warnings();
        if with_clusters {
            geometry.clusters = Some(ClusterLods::of(&geometry, limits, wanted.deadline)?);
        }
        Ok((!geometry.submeshes.is_empty()).then_some(geometry))
    }

    fn append(
        &mut self,
        output: MeshOutput,
        material: Option<MaterialId>,
        motion: Option<Motion>,
    ) -> Result<(), Diag> {
        let too_large =
            |_| Diag::new(Code::MeshTooLarge, "the mesh has more than 4294967295 vertices or indices");
        let count = |len: usize| u32::try_from(len).map_err(too_large);
        let base = count(self.vertices.len())?;
        count(self.vertices.len() + output.vertices.len())?;
        let slot = material.map_or(NO_MATERIAL, |material| self.slot(material));
        self.sources.push((base, output.notes.contains(&Note::FlatNormals)));
        self.submeshes.push(SubMesh {
            first_index: count(self.indices.len())?,
            index_count: count(output.indices.len())?,
            first_meshlet: count(self.meshlets.len())?,
            meshlet_count: count(output.meshlets.meshlets.len())?,
            material_slot: slot,
            base_vertex: 0,
            bounds: mesh_bounds(&output.bounds),
        });
        self.has_tangents |= output.has_tangents;
        if let Some(motion) = motion {
            let rigid = |joint: u32| Influences { joints: [joint as u16, 0, 0, 0], ..Influences::RIGID };
            match motion {
                Motion::Skin { first_joint } => self.skin.extend(output.skin.iter().map(|influences| {
                    let vertex = skin_vertex(influences);
                    GpuSkinVertex { joints: vertex.joints.map(|joint| joint + first_joint), ..vertex }
                })),
                Motion::Static => self.skin.extend(output.vertices.iter().map(|_| skin_vertex(&rigid(0)))),
                Motion::Joint(joint) => {
                    self.skin.extend(output.vertices.iter().map(|_| skin_vertex(&rigid(joint))));
                }
            }
        }
        extend(&mut self.vertices, output.vertices.into_iter().map(vertex).collect());
        let global = |index: u32| index + base;
        extend(&mut self.indices, output.indices.into_iter().map(global).collect());
        let (first_vertex, first_triangle) =
            (count(self.meshlet_vertices.len())?, count(self.meshlet_triangles.len())?);
        self.meshlets.extend(output.meshlets.meshlets.iter().map(|m| Meshlet {
            vertex_offset: m.vertex_offset + first_vertex,
            vertex_count: m.vertex_count,
            triangle_offset: m.triangle_offset + first_triangle,
            triangle_count: m.triangle_count,
        }));
        extend(&mut self.meshlet_vertices, output.meshlets.vertices.into_iter().map(global).collect());
        extend(&mut self.meshlet_triangles, output.meshlets.triangles);
        self.meshlet_bounds.extend(output.meshlets.bounds.iter().map(meshlet_bounds));
        self.lod_indices.reserve_exact(output.lods.iter().map(|lod| lod.indices.len()).sum());
        for lod in output.lods {
            let stalled = lod.indices.is_empty();
            let first_index = if stalled { 0 } else { count(self.lod_indices.len())? };
            self.lods.push(MeshLod { first_index, index_count: count(lod.indices.len())? });
            self.lod_indices.extend(lod.indices.into_iter().map(global));
        }
        Ok(())
    }

    fn slot(&mut self, material: MaterialId) -> u32 {
        let known = self.slots.iter().position(|slot| *slot == material);
        known.unwrap_or_else(|| {
            self.slots.push(material);
            self.slots.len() - 1
        }) as u32
    }

    /// Returns the submeshes as sources of cluster LODs: their vertices and indices, and whether their normals were
    /// created from their faces.
    pub(super) fn submesh_sources(&self) -> impl Iterator<Item = SubmeshSource<'_>> {
        let ends = self.sources.iter().skip(1).map(|&(base, _)| base as usize).chain([self.vertices.len()]);
        self.submeshes.iter().zip(&self.sources).zip(ends).map(|((submesh, &(base, flat_normals)), end)| {
            let (first, range) = (submesh.first_index as usize, base as usize..end);
            SubmeshSource {
                base,
                indices: &self.indices[first..first + submesh.index_count as usize],
                skin: self.skin.get(range.clone()).unwrap_or_default(),
                vertices: &self.vertices[range],
                flat_normals,
            }
        })
    }

    /// Returns a note for each LOD that stalled for some submeshes, which then reuse the LOD before it.
    pub(crate) fn stalled_lods(&self) -> Vec<String> {
        let submeshes = self.submeshes.len();
        let lod_count = self.lods.len() / submeshes.max(1);
        let stalled = |lod: usize| {
            let rows = self.lods.iter().skip(lod).step_by(lod_count);
            rows.filter(|row| row.index_count == 0).count()
        };
        let note = |lod: usize| match stalled(lod) {
            0 => None,
            count => Some(format!(
                "LOD {}: simplification stalled for {count} of {}, and the previous LOD is used there",
                lod + 1,
                counted(submeshes, "submesh", "submeshes")
            )),
        };
        (0..lod_count).filter_map(note).collect()
    }

    /// Returns the submeshes of each node of a scene without merged nodes: the first, and their number.
    pub(crate) fn node_submeshes(&self, scene: &Scene, drawn: &[DrawnMesh]) -> Vec<(u32, u32)> {
        self.extra.node_submeshes(scene, drawn)
    }

    /// Serialises the `.hmesh`, with the hashes of its materials by slot.
    ///
    /// With `compress`, its large chunks are encoded. `nodes` is the scene of a mesh that keeps its hierarchy of nodes, with its drawn meshes.
    pub(crate) fn write(
        mut self,
        materials: &[u64],
        skeleton: Option<&Skeleton>,
        nodes: Option<(&Scene, &[DrawnMesh])>,
        compress: MeshCompress,
    ) -> Result<Vec<u8>, Diag> {
        let bounds = kiln_mesh::bounds::bounds(self.vertices.iter().map(|v| v.position));
        let lod_count = (self.lods.len() / self.submeshes.len().max(1)) as u32;
        let extra = std::mem::take(&mut self.extra).finish(self.vertices.len(), nodes)?;
        let parts = hmesh::Parts {
            bounds: mesh_bounds(&bounds),
            vertices: &self.vertices,
            has_tangents: self.has_tangents,
            indices: &self.indices,
            meshlets: &self.meshlets,
            meshlet_vertices: &self.meshlet_vertices,
            meshlet_triangles: &self.meshlet_triangles,
            meshlet_bounds: &self.meshlet_bounds,
            materials,
            submeshes: &self.submeshes,
            skin: &self.skin,
            joints: skeleton.map_or(&[], |skeleton| &skeleton.joints),
            lod_count,
            lods: &self.lods,
            lod_indices: &self.lod_indices,
            clusters: self.clusters.as_ref().map(ClusterLods::parts),
            ..hmesh::Parts::default()
        };
        let file = hmesh::write(&extra.parts(parts));
        let file = match compress {
            MeshCompress::None => file,
            MeshCompress::Meshopt => file.and_then(|file| hmesh::write_compressed(&file, encode)),
        };
        file.map_err(|error| Diag::new(Code::Mesh, error.to_string()))
    }
}

/// Encodes a stream of a compressed mesh.
fn encode(stream: hmesh::Stream<'_>) -> Option<Vec<u8>> {
    match stream {
        hmesh::Stream::Vertices { bytes, stride } => {
            kiln_mesh::encode_vertices(bytes, stride, VertexCodec::V1)
        }
        hmesh::Stream::Triangles(indices) => kiln_mesh::encode_triangles(indices),
        hmesh::Stream::Indices(indices) => kiln_mesh::encode_indices(indices),
    }
}

/// The arrays of one submesh.
pub(super) struct SubmeshSource<'a> {
    /// The index of its first vertex.
    pub(super) base: u32,
    /// Its indices, which count from the first vertex of the mesh.
    pub(super) indices: &'a [u32],
    pub(super) vertices: &'a [GpuVertex],
    /// One entry per vertex if the mesh is skinned, else empty.
    pub(super) skin: &'a [GpuSkinVertex],
    pub(super) flat_normals: bool,
}

/// Moves each primitive that is drawn once into its part, so that it is freed when it has been processed.
fn take_unshared_primitives(mut parts: Vec<Part>, meshes: &mut [Mesh]) -> Vec<Part> {
    let mut uses = BTreeMap::new();
    parts.iter().for_each(|part| *uses.entry(part.origin).or_insert(0) += 1);
    for part in parts.iter_mut().filter(|part| part.own.is_none() && uses[&part.origin] == 1) {
        let primitive = &mut meshes[part.origin.0.0 as usize].primitives[part.origin.1];
        part.own = Some(std::mem::take(primitive));
    }
    parts
}

fn process(part: Part, meshes: &[Mesh], options: &MeshOptions, limits: &Limits) -> Result<MeshOutput, Diag> {
    let (mesh, index) = part.origin;
    let (joints, weights);
    let input = match part.own {
        Some(p) => {
            let count = p.positions.len();
            (joints, weights) = (Cow::Owned(p.joints), Cow::Owned(p.weights));
            MeshInput {
                indices: p.indices.into(),
                positions: p.positions.into(),
                normals: non_empty(p.normals.into()),
                uvs: non_empty(p.uv0.into()),
                tangents: non_empty(p.tangents.into()),
                uv1: non_empty(p.uv1.into()),
                further_uvs: p.further_uvs.into_iter().map(|set| padded(set.into(), count)).collect(),
                colors: non_empty(p.colors.into()),
                morph_targets: p.morph_targets.into_iter().map(owned_morph).collect(),
                ..MeshInput::default()
            }
        }
        None => {
            let p = &meshes[mesh.0 as usize].primitives[index];
            let count = p.positions.len();
            (joints, weights) = (Cow::Borrowed(&*p.joints), Cow::Borrowed(&*p.weights));
            MeshInput {
                indices: (&p.indices).into(),
                positions: (&p.positions).into(),
                normals: non_empty((&p.normals).into()),
                uvs: non_empty((&p.uv0).into()),
                tangents: non_empty((&p.tangents).into()),
                uv1: non_empty((&p.uv1).into()),
                further_uvs: p.further_uvs.iter().map(|set| padded(set.into(), count)).collect(),
                colors: non_empty((&p.colors).into()),
                morph_targets: p.morph_targets.iter().map(borrowed_morph).collect(),
                ..MeshInput::default()
            }
        }
    };
    let skin = [InfluenceSet { joints: &joints, weights: &weights }];
    let transform = (part.transform.is_some() || part.mirrored).then(|| {
        let matrix = part.transform.unwrap_or(Matrix::IDENTITY);
        let columns = matrix.0.as_flattened();
        Transform::new(&std::array::from_fn(|i| columns[i])).turning(part.mirrored)
    });
    let skin: &[InfluenceSet<'_>] = if matches!(part.motion, Motion::Skin { .. }) { &skin } else { &[] };
    kiln_mesh::process(MeshInput { skin, transform: transform.as_ref(), ..input }, options).map_err(|error| {
        match error {
            kiln_mesh::Error::Deadline => limits.out_of_time(),
            error => {
                Diag::new(Code::Mesh, error.to_string()).at(format!("/meshes/{}/primitives/{index}", mesh.0))
            }
        }
    })
}

fn owned_morph(target: MorphTarget) -> MorphInput<'static> {
    MorphInput {
        positions: non_empty(target.positions.into()),
        normals: non_empty(target.normals.into()),
        tangents: non_empty(target.tangents.into()),
    }
}

fn borrowed_morph(target: &MorphTarget) -> MorphInput<'_> {
    MorphInput {
        positions: non_empty((&target.positions).into()),
        normals: non_empty((&target.normals).into()),
        tangents: non_empty((&target.tangents).into()),
    }
}

/// Returns a UV set, with zeros for a primitive that does not have it.
fn padded(set: Cow<'_, [[f32; 2]]>, count: usize) -> Cow<'_, [[f32; 2]]> {
    if set.is_empty() { vec![[0.0; 2]; count].into() } else { set }
}

/// Returns a list, or `None` if it is empty.
fn non_empty<T: Clone>(list: Cow<'_, [T]>) -> Option<Cow<'_, [T]>> {
    Some(list).filter(|list| !list.is_empty())
}

/// Converts the settings to options of the mesh pipeline.
pub(crate) fn mesh_options(settings: &Settings, deadline: Option<Instant>) -> MeshOptions {
    let mesh = &settings.mesh;
    let mut options = MeshOptions::default();
    options.tangents = match mesh.tangents {
        config::Tangents::Keep => TangentMode::Keep,
        config::Tangents::Generate => TangentMode::Generate,
        config::Tangents::Auto => TangentMode::Auto,
    };
    options.lods = LodRule::halves(mesh.lods.get() as usize);
    options.lod_error = mesh.lod_error.get();
    options.optimize = mesh.optimize;
    options.deadline = deadline;
    options
}

/// Appends a list; the first one is moved instead of copied.
fn extend<T>(to: &mut Vec<T>, from: Vec<T>) {
    if to.is_empty() {
        *to = from;
    } else {
        to.extend(from);
    }
}

fn vertex(v: Vertex) -> GpuVertex {
    GpuVertex { position: v.position, normal: v.normal, tangent: v.tangent, uv: v.uv }
}

fn skin_vertex(influences: &Influences) -> GpuSkinVertex {
    GpuSkinVertex { joints: influences.joints, weights: influences.weights }
}

pub(super) fn meshlet_bounds(b: &kiln_mesh::meshlets::MeshletBounds) -> MeshletBounds {
    MeshletBounds { center: b.center, radius: b.radius, cone_axis: b.cone_axis, cone_cutoff: b.cone_cutoff }
}

fn mesh_bounds(bounds: &Bounds) -> MeshBounds {
    MeshBounds {
        aabb_min: bounds.min,
        aabb_max: bounds.max,
        sphere_center: bounds.center,
        sphere_radius: bounds.radius,
    }
}

/// The repairs of all parts, summed up for one warning per kind.
#[derive(Default)]
struct Notes {
    normals: usize,
    tangents: usize,
    untextured: usize,
    reduced: usize,
    weightless: usize,
    /// Vertices with and without the tangents that prevented welding.
    unwelded: Option<(usize, usize)>,
}

impl Notes {
    fn add(&mut self, note: &Note, has_normal_map: bool) {
        match *note {
            Note::RepairedNormals(count) => self.normals += count,
            Note::UnusableTangents(count) => self.tangents += count,
            Note::ReducedInfluences(count) => self.reduced += count,
            Note::WeightlessVertices(count) => self.weightless += count,
            // Tangents are not needed without a normal map.
            Note::NoTangents => self.untextured += usize::from(has_normal_map),
            Note::TangentsPreventedWelding { with, without } => {
                let (a, b) = self.unwelded.unwrap_or_default();
                self.unwelded = Some((a + with, b + without));
            }
            // A source without normals means flat shading (glTF 2.0). An empty part needs no warning.
            _ => {}
        }
    }

    fn warnings(&self) -> Vec<Diag> {
        let mut warnings: Vec<Diag> = [
            counted_warning(
                Code::MeshNormals,
                self.normals,
                "normal is zero or not finite and was computed from the adjacent faces",
                "normals are zero or not finite and were computed from the adjacent faces",
            ),
            counted_warning(
                Code::MeshTangents,
                self.tangents,
                "tangent is zero or not finite and was generated",
                "tangents are zero or not finite and were generated",
            ),
            counted_warning(
                Code::MeshNoTangents,
                self.untextured,
                "primitive has a normal map but no UVs to generate tangents from",
                "primitives have a normal map but no UVs to generate tangents from",
            ),
            counted_warning(
                Code::MeshInfluences,
                self.reduced,
                "vertex has more than four bone influences and keeps the four strongest",
                "vertices have more than four bone influences and keep the four strongest",
            ),
            counted_warning(
                Code::MeshZeroWeights,
                self.weightless,
                "vertex has no joint weights and is bound to the first joint",
                "vertices have no joint weights and are bound to the first joint",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        if let Some((with, without)) = self.unwelded {
            let message = format!(
                "the tangents of the source prevent vertices from being welded ({with} instead of {without}) and were \
                 generated"
            );
            let hint = "set mesh.tangents to keep to keep the tangents of the source";
            warnings.push(Diag::new(Code::MeshTangentsSplit, message).hint(hint));
        }
        warnings
    }
}

fn counted_warning(code: Code, number: usize, one: &str, many: &str) -> Option<Diag> {
    (number > 0).then(|| Diag::new(code, counted(number, one, many)))
}
