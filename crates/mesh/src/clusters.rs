//! Cluster LODs: a hierarchy of clusters for continuous level of detail.
//!
//! The source triangles are divided into clusters, neighbouring clusters are collected into groups, the triangles of
//! each group are simplified to about half with the vertices between groups locked, and divided into clusters again;
//! and so on, until one cluster is left or nothing can be simplified. The algorithm is meshoptimizer's `clusterlod`
//! (after Karis, "Nanite: A Deep Dive", 2021), without its sloppy simplification, which would open cracks.
//!
//! What a group was and the clusters that it became have the same border, so any choice between them is free of cracks.
//! Error and sphere of a group are at least those of the groups below it, so that a threshold selects such a choice.

#[cfg(test)]
mod tests;

use crate::Triangles;
use crate::bounds::enclosing_radius;
use crate::meshlets::{self, MAX_TRIANGLES, MAX_VERTICES, MeshletBounds};
use crate::order::adapter;
use crate::process::Unit;
use crate::simplify::{Attributes, HighValencePositions, LodSource, uv_weight};
use crate::skin::Influences;
use crate::weld::{Attribute, firsts};
use meshopt::{ClodConfig, ClodMesh, SimplifyVertex};
use std::borrow::Cow;

/// The [`ClusterGroup::error`] of a group that no coarser clusters replace.
pub const ROOT_ERROR: f32 = f32::MAX;

/// The number of clusters that a group should have; at most a third more.
const GROUP_CLUSTERS: usize = 16;

/// The share by which a sphere is enlarged, so that it contains others whatever the rounding of a reader.
const SPHERE_MARGIN: f64 = 1e-6;

/// A mesh to build clusters of: an element per vertex in each attribute that is present.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterSource<'a> {
    /// Vertex indices, three per triangle; they have to be in range.
    pub indices: &'a [u32],
    /// Vertex positions.
    pub positions: &'a [[f32; 3]],
    /// Unit normals whose change counts as error.
    pub normals: Option<&'a [[f32; 3]]>,
    /// UVs: seams are kept, and sliding along the surface counts as error.
    pub uvs: Option<&'a [[f32; 2]]>,
    /// Bone influences: merging vertices that move differently counts as error.
    pub skin: Option<&'a [Influences]>,
    /// For each vertex, true if it has to stay in all clusters, as between two meshes; empty for none.
    pub locked: &'a [bool],
}

/// Clusters that are replaced by coarser ones together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterGroup {
    /// The centre of the sphere that the error is projected from.
    pub center: [f32; 3],
    /// The radius of the sphere; it contains the vertices of the clusters and the spheres of the groups below.
    pub radius: f32,
    /// The error of drawing the coarser clusters in its place; [`ROOT_ERROR`] if there are none.
    pub error: f32,
    /// The number of simplifications between its triangles and those of the source.
    pub depth: u32,
    /// The number of its clusters.
    pub cluster_count: u32,
}

/// A cluster of at most 64 vertices and 124 triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// The bounding sphere and the normal cone, for culling.
    pub bounds: MeshletBounds,
    /// The group that it is a simplification of; `None` for a cluster of source triangles.
    pub refined: Option<u32>,
    /// The number of its vertices.
    pub vertex_count: u16,
    /// The number of its triangles.
    pub triangle_count: u16,
}

/// A hierarchy of clusters: clusters in the order of their groups, vertices and triangles in the order of their
/// clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterHierarchy {
    /// The groups, from the finest to the coarsest: a cluster refines to a group before its own.
    pub groups: Vec<ClusterGroup>,
    /// The clusters of all groups.
    pub clusters: Vec<Cluster>,
    /// The vertex indices of all clusters.
    pub vertices: Vec<u32>,
    /// The triangles of all clusters, as indices into the vertices of the cluster.
    pub triangles: Vec<[u8; 3]>,
}

/// Builds the hierarchy of clusters of a mesh.
///
/// # Panics
///
/// Panics if an index is out of range, or an attribute has another length than the positions.
pub fn build(source: &ClusterSource<'_>) -> ClusterHierarchy {
    let count = source.positions.len();
    let triangles = Triangles::new(source.indices, count).expect("indices in range");
    if triangles.len() == 0 {
        return ClusterHierarchy::default();
    }
    let unit = Unit::of(source.positions);
    let mut near = Cow::Borrowed(source.positions);
    if unit.0 != 1.0 {
        unit.shrink(near.to_mut());
    }
    let surface = LodSource {
        positions: &near,
        normals: source.normals,
        uvs: source.uvs,
        skin: source.skin,
        deadline: None,
        positions_suffice: false,
    };
    let vertices = adapter(&near);
    let extent = meshopt::simplify_scale(&vertices);
    let uv_weight = source.uvs.map_or(0.0, |uvs| uv_weight(triangles, &near, uvs, extent));
    let Attributes { values, weights } = Attributes::gather(&surface, 0..count, uv_weight);
    // Across a split of the normal alone edges may collapse; at splits of UVs and joint weights nothing may.
    let first_protected = if source.normals.is_some() { 3 } else { 0 };
    let protected = (first_protected..weights.len()).fold(0u32, |mask, attribute| mask | 1 << attribute);
    let lock = |&locked: &bool| if locked { SimplifyVertex::Lock } else { SimplifyVertex::None };
    let locks: Vec<SimplifyVertex> = source.locked.iter().map(lock).collect();
    let mesh = ClodMesh {
        vertex_attributes: &values,
        vertex_attributes_stride: weights.len() * size_of::<f32>(),
        vertex_lock: (!locks.is_empty()).then_some(&locks),
        attribute_weights: &weights,
        attribute_protect_mask: protected,
        ..ClodMesh::new(triangles.indices(), &vertices)
    };
    let mut hierarchy = ClusterHierarchy::default();
    meshopt::clod_build(config(triangles, &near), &mesh, |group, clusters| {
        hierarchy.add(&group, clusters, &near);
        hierarchy.groups.len() as i32 - 1
    });
    hierarchy.scale(unit);
    hierarchy
}

/// Returns the configuration of the builder.
fn config(triangles: Triangles<'_>, positions: &[[f32; 3]]) -> ClodConfig {
    let mut config = meshopt::clod_default_config(MAX_TRIANGLES);
    config.max_vertices = MAX_VERTICES;
    config.partition_size = GROUP_CLUSTERS;
    config.simplify_fallback_sloppy = false;
    // Collapses across splits of normals take quadratic time around high-valence positions.
    let places = firsts(positions.len(), &[Attribute::F3(positions)]);
    let is_ordinary =
        HighValencePositions::of(triangles, &places) == HighValencePositions::Positions(Vec::new());
    config.simplify_permissive = is_ordinary;
    config
}

impl ClusterHierarchy {
    /// Appends a group.
    fn add(
        &mut self,
        group: &meshopt::ClodGroup,
        clusters: &[meshopt::ClodCluster<'_>],
        positions: &[[f32; 3]],
    ) {
        let vertices = adapter(positions);
        let center = group.simplified.center;
        let (mut radius, mut error) = (0.0f64, group.simplified.error);
        for cluster in clusters {
            let (own, corners) = meshopt::clod_local_indices(cluster.indices);
            let refined = usize::try_from(cluster.refined).ok();
            radius = radius.max(match refined.and_then(|refined| self.groups.get(refined)) {
                Some(below) => {
                    error = error.max(below.error);
                    let apart: f64 = (0..3)
                        .map(|axis| f64::from(center[axis]) - f64::from(below.center[axis]))
                        .map(|apart| apart * apart)
                        .sum();
                    apart.sqrt() + f64::from(below.radius)
                }
                None => enclosing_radius(center, own.iter().map(|&v| positions[v as usize])).into(),
            });
            let (triangles, _) = corners.as_chunks::<3>();
            self.clusters.push(Cluster {
                bounds: meshlets::bounds(&own, &corners, positions, &vertices),
                refined: refined.map(|refined| refined as u32),
                vertex_count: own.len() as u16,
                triangle_count: triangles.len() as u16,
            });
            self.triangles.extend_from_slice(triangles);
            self.vertices.extend(own);
        }
        self.groups.push(ClusterGroup {
            center,
            radius: ((radius * (1.0 + SPHERE_MARGIN)) as f32).next_up(),
            error,
            depth: group.depth.max(0) as u32,
            cluster_count: clusters.len() as u32,
        });
    }

    /// Scales all lengths back to the units of the source.
    fn scale(&mut self, unit: Unit) {
        if unit.0 == 1.0 {
            return;
        }
        for group in &mut self.groups {
            group.center = unit.grow(group.center);
            group.radius *= unit.0;
            if group.error != ROOT_ERROR {
                group.error = (group.error * unit.0).min(ROOT_ERROR.next_down());
            }
        }
        for Cluster { bounds, .. } in &mut self.clusters {
            bounds.center = unit.grow(bounds.center);
            bounds.radius *= unit.0;
        }
    }
}

/// Returns for each mesh which of its vertices are at a position of another mesh, so that clusters of both can keep them
/// and no crack opens between the two.
pub fn shared_positions(meshes: &[&[[f32; 3]]]) -> Vec<Vec<bool>> {
    const NONE: u32 = u32::MAX;
    let all = meshes.concat();
    let places = firsts(all.len(), &[Attribute::F3(&all)]);
    let mut owners = vec![NONE; all.len()];
    let mut shared = vec![false; all.len()];
    let mut vertex = 0;
    for (mesh, positions) in (0u32..).zip(meshes) {
        for _ in *positions {
            let place = places[vertex] as usize;
            if owners[place] == NONE {
                owners[place] = mesh;
            }
            shared[place] |= owners[place] != mesh;
            vertex += 1;
        }
    }
    let mut of_all = places.iter().map(|&place| shared[place as usize]);
    meshes.iter().map(|positions| of_all.by_ref().take(positions.len()).collect()).collect()
}
