//! Cluster LODs of a mesh (`mesh.clusters`): the hierarchies of all submeshes as the input of the `.hmesh` writer.
//!
//! Submeshes are processed in parallel and appended in order. Vertices at positions that several submeshes share are
//! locked, so that no crack opens between two materials.

use super::geometry::{Geometry, SubmeshSource, meshlet_bounds};
use kiln_engine::{Code, Diag, Limits};
use kiln_format::hmesh::{ClusterPart, ClusterParts, GpuSkinVertex, GroupPart, NO_GROUP};
use kiln_mesh::clusters::{ClusterHierarchy, ClusterSource, build, shared_positions};
use kiln_mesh::{Influences, octahedral};
use rayon::prelude::*;
use std::time::Instant;

/// The hierarchies of all submeshes.
#[derive(Default)]
pub(super) struct ClusterLods {
    groups: Vec<GroupPart>,
    clusters: Vec<ClusterPart>,
    vertices: Vec<u32>,
    triangles: Vec<[u8; 3]>,
}

impl ClusterLods {
    /// Builds the hierarchies of all submeshes.
    ///
    /// # Errors
    ///
    /// The diagnostic of a deadline that has passed, or `mesh-too-large`.
    pub(super) fn of(geometry: &Geometry, limits: &Limits, deadline: Option<Instant>) -> Result<Self, Diag> {
        let sources: Vec<SubmeshSource<'_>> = geometry.submesh_sources().collect();
        let positions: Vec<Vec<[f32; 3]>> =
            sources.iter().map(|source| source.vertices.iter().map(|v| v.position).collect()).collect();
        let slices: Vec<&[[f32; 3]]> = positions.iter().map(Vec::as_slice).collect();
        let shared = shared_positions(&slices);
        let inputs = sources.par_iter().zip(&positions).zip(&shared);
        let build = |((source, positions), locked): ((&SubmeshSource<'_>, &Vec<_>), &Vec<bool>)| {
            limits.check_time(deadline)?;
            Ok(hierarchy(source, positions, locked))
        };
        let hierarchies: Vec<ClusterHierarchy> = inputs.map(build).collect::<Result<_, Diag>>()?;
        limits.check_time(deadline)?;
        let mut all = Self::default();
        for (submesh, (source, hierarchy)) in (0..).zip(sources.iter().zip(hierarchies)) {
            all.append(submesh, source.base, hierarchy)?;
        }
        Ok(all)
    }

    fn append(&mut self, submesh: u32, base: u32, hierarchy: ClusterHierarchy) -> Result<(), Diag> {
        let too_large =
            |_| Diag::new(Code::MeshTooLarge, "the mesh has more than 4294967295 groups of clusters");
        let first_group = u32::try_from(self.groups.len()).map_err(too_large)?;
        u32::try_from(self.groups.len() + hierarchy.groups.len()).map_err(too_large)?;
        self.groups.extend(hierarchy.groups.iter().map(|group| GroupPart {
            center: group.center,
            radius: group.radius,
            error: group.error,
            submesh,
            depth: group.depth,
            cluster_count: group.cluster_count,
        }));
        self.clusters.extend(hierarchy.clusters.iter().map(|cluster| ClusterPart {
            bounds: meshlet_bounds(&cluster.bounds),
            refined: cluster.refined.map_or(NO_GROUP, |refined| first_group + refined),
            vertex_count: cluster.vertex_count,
            triangle_count: cluster.triangle_count,
        }));
        self.vertices.extend(hierarchy.vertices.into_iter().map(|vertex| vertex + base));
        self.triangles.extend(hierarchy.triangles);
        Ok(())
    }

    /// Returns the input of the writer.
    pub(super) fn parts(&self) -> ClusterParts<'_> {
        ClusterParts {
            groups: &self.groups,
            clusters: &self.clusters,
            vertices: &self.vertices,
            triangles: &self.triangles,
        }
    }
}

fn hierarchy(source: &SubmeshSource<'_>, positions: &[[f32; 3]], locked: &[bool]) -> ClusterHierarchy {
    let indices: Vec<u32> = source.indices.iter().map(|&index| index - source.base).collect();
    let normals: Vec<[f32; 3]> = source.vertices.iter().map(|v| octahedral::decode(v.normal)).collect();
    let uvs: Vec<[f32; 2]> = source.vertices.iter().map(|v| v.uv).collect();
    let influences = |skin: &GpuSkinVertex| Influences { joints: skin.joints, weights: skin.weights };
    let skin: Vec<Influences> = source.skin.iter().map(influences).collect();
    build(&ClusterSource {
        indices: &indices,
        positions,
        // Normals of faces are not the author's, and would keep every edge.
        normals: (!source.flat_normals).then_some(&normals),
        uvs: Some(&uvs),
        skin: (!skin.is_empty()).then_some(&skin),
        locked,
    })
}
