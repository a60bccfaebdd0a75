//! LODs of a mesh whose source has no normals.
//!
//! Flat normals make every corner of a face a vertex of its own, and no edge could collapse without mixing the normals
//! of two faces. These normals are not the author's: they follow from the faces. So such a mesh is simplified as if its
//! vertices were welded without normals, and each corner of an LOD then takes, of the vertices at its place, the one
//! whose normal is nearest to that of the new face.

use super::work_mesh::WorkMesh;
use crate::vector::{Vec3, cross, dot, sub};
use crate::weld::{Attribute, firsts};
use rayon::prelude::*;

/// The number of vertices at one place that are compared: a fan of thousands of faces has one for each.
const MAX_CANDIDATES: usize = 64;

/// The number of corners at one place up to which its vertices are welded. The simplifier visits all triangles around a
/// vertex for each of its edges.
const MAX_CORNERS: u32 = 1024;

/// The vertices of a mesh by their place: equal but for normals and tangents.
pub(super) struct Places {
    /// For each vertex the first one at its place.
    first: Vec<u32>,
    /// The vertices, grouped by place.
    grouped: Vec<u32>,
    /// The start and end of each group, by the first vertex at the place; empty for all other vertices.
    ranges: Vec<(u32, u32)>,
}

impl Places {
    pub(super) fn of(mesh: &WorkMesh<'_>) -> Places {
        let joints: Vec<_> = mesh.skin.iter().flatten().map(|skin| skin.joints).collect();
        let weights: Vec<_> = mesh.skin.iter().flatten().map(|skin| skin.weights).collect();
        let mut keys = vec![Attribute::F3(&mesh.positions)];
        keys.extend(mesh.uvs.iter().chain(&mesh.uv1).map(|uvs| Attribute::F2(uvs)));
        if mesh.skin.is_some() {
            keys.extend([Attribute::U4(&joints), Attribute::F4(&weights)]);
        }
        keys.extend(mesh.extra.keys(false));
        let count = mesh.positions.len();
        let first = firsts(count, &keys);
        let mut ranges = vec![(0u32, 0u32); count];
        first.iter().for_each(|&first| ranges[first as usize].1 += 1);
        let mut start = 0;
        for (begin, end) in &mut ranges {
            let len = *end;
            (*begin, *end) = (start, start);
            start += len;
        }
        let mut grouped = vec![0; count];
        for (vertex, &first) in first.iter().enumerate() {
            let (_, end) = &mut ranges[first as usize];
            grouped[*end as usize] = vertex as u32;
            *end += 1;
        }
        Places { first, grouped, ranges }
    }

    /// Returns the triangles with the first vertex at each place, unless too many triangles meet there.
    pub(super) fn welded(&self, indices: &[u32]) -> Vec<u32> {
        let mut corners = vec![0u32; self.first.len()];
        indices.iter().for_each(|&index| corners[self.first[index as usize] as usize] += 1);
        let weld = |&index: &u32| {
            let first = self.first[index as usize];
            if corners[first as usize] <= MAX_CORNERS { first } else { index }
        };
        indices.iter().map(weld).collect()
    }

    /// Replaces each vertex of triangles by the one at its place whose normal is nearest to that of the face.
    pub(super) fn shaded(&self, indices: &[u32], positions: &[Vec3], normals: &[Vec3]) -> Vec<u32> {
        let corner = |vertex: u32, face: Vec3| {
            let (start, end) = self.ranges[self.first[vertex as usize] as usize];
            let group = &self.grouped[start as usize..end as usize];
            let candidates = group.iter().step_by(group.len().div_ceil(MAX_CANDIDATES).max(1));
            let nearness = |vertex: u32| dot(normals[vertex as usize], face);
            // Of equally near ones the first, so that the result is the same everywhere.
            let nearer =
                |best: u32, &other: &u32| if nearness(other) > nearness(best) { other } else { best };
            candidates.fold(group.first().copied().unwrap_or(vertex), nearer)
        };
        let triangle = |&[a, b, c]: &[u32; 3]| {
            let [p, q, r] = [a, b, c].map(|vertex| positions[vertex as usize]);
            let face = cross(sub(q, p), sub(r, p));
            [corner(a, face), corner(b, face), corner(c, face)]
        };
        let triangles: Vec<[u32; 3]> = indices.as_chunks::<3>().0.par_iter().map(triangle).collect();
        triangles.into_flattened()
    }
}
