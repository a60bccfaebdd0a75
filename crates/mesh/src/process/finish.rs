//! The last stages: LODs and meshlets in parallel, packing of vertices, shadow geometry.

use super::flat_lods::Places;
use super::work_mesh::{BLOCK, Unit, WorkMesh};
use super::{MeshOptions, MeshOutput, Note, Stage, Timed, Vertex};
use crate::bounds::{Bounds, bounds};
use crate::meshlets::{self, Meshlets};
use crate::simplify::{self, Lod, LodSource};
use crate::skin::Influences;
use crate::vector::Vec3;
use crate::weld::{self, Attribute};
use crate::{Triangles, octahedral, order};
use rayon::prelude::*;

/// Vertices as a structure of arrays; an attribute that is not present is empty.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VertexStreams {
    /// Positions in the units of the source.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals, one per vertex.
    pub normals: Vec<[f32; 3]>,
    /// The first UV set.
    pub uvs: Vec<[f32; 2]>,
    /// The second UV set.
    pub uv1: Vec<[f32; 2]>,
    /// Tangents with glTF's handedness last.
    pub tangents: Vec<[f32; 4]>,
}

/// Position-only geometry for depth passes and shadow maps: the same triangles over fewer vertices, because
/// vertices that differ only in normals, UVs, colours and tangents are merged. Vertices with different bone
/// influences, or different displacements of morph targets, are not.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ShadowGeometry {
    /// Positions in the units of the source.
    pub positions: Vec<[f32; 3]>,
    /// Bone influences, one entry per position if the mesh has a skin, else empty.
    pub skin: Vec<Influences>,
    /// Vertex indices of the triangles of the mesh.
    pub indices: Vec<u32>,
    /// The LODs of the mesh, with the same errors.
    pub lods: Vec<Lod>,
}

impl WorkMesh<'_> {
    /// Builds everything that depends on the final order, and the output.
    pub(super) fn finish<V>(
        mut self,
        options: &MeshOptions,
        unit: Unit,
        timed: &Timed<'_>,
        notes: Vec<Note>,
        pack: impl FnOnce(&mut Self, Unit) -> (V, Bounds),
    ) -> MeshOutput<V> {
        let (mut lods, mut meshlets) = rayon::join(
            || timed.run(Stage::Lods, || self.lods(options, timed)),
            || {
                timed.run(Stage::Meshlets, || match options.meshlets {
                    true => meshlets::build(self.triangles(), &self.positions),
                    false => Meshlets::default(),
                })
            },
        );
        if unit.0 != 1.0 {
            for meshlet in &mut meshlets.bounds {
                meshlet.center = unit.grow(meshlet.center);
                meshlet.radius *= unit.0;
            }
            lods.iter_mut().for_each(|lod| lod.error *= unit.0);
        }
        let shadow = options.shadow.then(|| self.shadow(&lods, options.optimize, unit));
        let (vertices, bounds) = timed.run(Stage::Pack, || pack(&mut self, unit));
        let has_tangents = self.packed.is_some() || self.tangents.is_some();
        let extra = self.extra_attributes();
        MeshOutput {
            vertices,
            skin: self.skin.unwrap_or_default(),
            extra,
            indices: self.indices.into_owned(),
            meshlets,
            lods,
            shadow,
            bounds,
            has_tangents,
            notes,
        }
    }

    fn lods(&self, options: &MeshOptions, timed: &Timed<'_>) -> Vec<Lod> {
        let count = self.positions.len();
        let finish = |indices: &[u32]| match options.optimize {
            true => timed.run(Stage::LodOrder, || order::vertex_cache(Triangles::trusted(indices, count))),
            false => indices.to_vec(),
        };
        let ratios = options.lods.ratios(self.indices.len() / 3);
        if self.flat_normals && !ratios.is_empty() {
            let places = Places::of(self);
            let welded = places.welded(&self.indices);
            let triangles = Triangles::trusted(&welded, count);
            let mut lods = self.simplified(triangles, None, &ratios, options, &<[u32]>::to_vec);
            for lod in &mut lods {
                lod.indices = finish(&places.shaded(&lod.indices, &self.positions, &self.normals));
            }
            return lods;
        }
        let normals = Some(&*self.normals).filter(|normals| !normals.is_empty());
        self.simplified(self.triangles(), normals, &ratios, options, &finish)
    }

    fn simplified(
        &self,
        triangles: Triangles<'_>,
        normals: Option<&[Vec3]>,
        ratios: &[f32],
        options: &MeshOptions,
        finish: &(impl Fn(&[u32]) -> Vec<u32> + Sync),
    ) -> Vec<Lod> {
        let source = LodSource {
            positions: &self.positions,
            normals,
            uvs: self.uvs.as_deref(),
            skin: self.skin.as_deref(),
            deadline: options.deadline,
            positions_suffice: self.flat_normals,
        };
        match options.lock_border {
            true => simplify::chain_inside_border(triangles, &source, ratios, options.lod_error, finish),
            false => simplify::chain(triangles, &source, ratios, options.lod_error, finish),
        }
    }

    /// Packs the vertices of an `.hmesh`.
    pub(super) fn pack(&mut self, unit: Unit) -> (Vec<Vertex>, Bounds) {
        let vertex = |at: usize| Vertex {
            position: unit.grow(self.positions[at]),
            normal: self.normals.get(at).map_or([0, 0], |&normal| octahedral::encode(normal)),
            tangent: self.packed.as_ref().map_or([0, 0], |all| all[at]),
            uv: self.uvs.as_ref().map_or([0.0; 2], |all| all[at]),
        };
        let vertices: Vec<Vertex> =
            (0..self.positions.len()).into_par_iter().with_min_len(BLOCK).map(vertex).collect();
        let around = bounds(vertices.iter().map(|vertex| vertex.position));
        (vertices, around)
    }

    /// Returns the vertices without packing, an array for each attribute.
    pub(super) fn streams(&mut self, unit: Unit) -> (VertexStreams, Bounds) {
        let streams = VertexStreams {
            positions: self.source_positions(unit),
            normals: std::mem::take(&mut self.normals).into_owned(),
            uvs: self.uvs.take().unwrap_or_default().into_owned(),
            uv1: self.uv1.take().unwrap_or_default().into_owned(),
            tangents: self.tangents.as_deref().unwrap_or_default().to_vec(),
        };
        let around = bounds(streams.positions.iter().copied());
        (streams, around)
    }

    /// Returns the positions in the units of the source.
    fn source_positions(&self, unit: Unit) -> Vec<Vec3> {
        match unit.0 == 1.0 {
            true => self.positions.to_vec(),
            false => self.positions.iter().map(|&position| unit.grow(position)).collect(),
        }
    }

    fn shadow(&self, lods: &[Lod], optimize: bool, unit: Unit) -> ShadowGeometry {
        let joints: Vec<_> = self.skin.iter().flatten().map(|s| s.joints).collect();
        let weights: Vec<_> = self.skin.iter().flatten().map(|s| s.weights).collect();
        let mut keys = vec![Attribute::F3(&self.positions)];
        if self.skin.is_some() {
            keys.extend([Attribute::U4(&joints), Attribute::F4(&weights)]);
        }
        keys.extend(self.extra.position_keys());
        let mut welded = weld::weld(self.triangles(), &keys);
        // Every vertex of an LOD is a vertex of the mesh.
        let mut renamed = vec![0; self.positions.len()];
        for (old, new) in self.indices.iter().zip(&welded.indices) {
            renamed[*old as usize] = *new;
        }
        let coarser = |lod: &Lod| Lod {
            indices: lod.indices.iter().map(|&index| renamed[index as usize]).collect(),
            error: lod.error,
        };
        let mut lods: Vec<Lod> = lods.iter().map(coarser).collect();
        if optimize {
            let count = welded.sources.len();
            let all = std::iter::once(&mut welded.indices).chain(lods.iter_mut().map(|lod| &mut lod.indices));
            for indices in all {
                // Positions shared by several vertices are one vertex now, which may have high valence again.
                *indices = order::vertex_cache(Triangles::trusted(indices, count));
            }
            let order = order::vertex_fetch(&mut welded.indices, count);
            let mut places = vec![0; count];
            for (new, &old) in order.iter().enumerate() {
                places[old as usize] = new as u32;
            }
            let indices = lods.iter_mut().flat_map(|lod| &mut lod.indices);
            indices.for_each(|index| *index = places[*index as usize]);
            welded.sources = weld::gather(&welded.sources, &order);
        }
        ShadowGeometry {
            positions: weld::gather(&self.source_positions(unit), &welded.sources),
            skin: self.skin.as_ref().map(|skin| weld::gather(skin, &welded.sources)).unwrap_or_default(),
            indices: welded.indices,
            lods,
        }
    }
}
