//! Simplification of a large mesh part by part: in parallel, with memory for the parts in progress.
//!
//! The simplifier computes in single precision relative to the bounding box of its input, so the parts of a
//! dense mesh end up nearer to the surface than the whole mesh would.

use super::attributes::Attributes;
use super::budget::{Costs, share};
use super::{Goal, LodSource, Simplifier};
use crate::order::adapter;
use crate::partition::{MAX_PART_TRIANGLES, MeshPartition, SubMesh};
use crate::weld::gather;
use meshopt::{SimplifyOptions, SimplifyVertex};
use rayon::prelude::*;

/// Simplifies as [`Simplifier::run`] does.
pub(super) fn simplify(
    whole: &Simplifier<'_>,
    surface: &LodSource<'_>,
    from: &[u32],
    goal: &Goal<'_>,
) -> (Vec<u32>, f32) {
    let (triangles, _) = from.as_chunks::<3>();
    let parts = MeshPartition::cut(triangles, whole.positions, MAX_PART_TRIANGLES, goal.turn);
    let mesh = PartitionedMesh { whole, surface, triangles, shared: shared(whole, triangles, &parts), parts };
    let costs: Vec<Costs> = (0..mesh.parts.len()).into_par_iter().map(|at| mesh.costs(at)).collect();
    let targets = share(&costs, goal.target / 3);
    let simplified: Vec<(Vec<u32>, f32)> =
        targets.par_iter().enumerate().map(|(at, &target)| mesh.simplify(at, target, goal)).collect();
    let error = simplified.iter().fold(0.0f32, |most, (_, error)| most.max(*error));
    let mut indices = Vec::with_capacity(simplified.iter().map(|(part, _)| part.len()).sum());
    simplified.into_iter().for_each(|(part, _)| indices.extend(part));
    (indices, error)
}

/// A partitioned mesh.
struct PartitionedMesh<'a> {
    whole: &'a Simplifier<'a>,
    surface: &'a LodSource<'a>,
    triangles: &'a [[u32; 3]],
    parts: MeshPartition,
    /// For each position, true if it is in several parts.
    shared: Vec<bool>,
}

fn shared(whole: &Simplifier<'_>, triangles: &[[u32; 3]], parts: &MeshPartition) -> Vec<bool> {
    const NONE: u16 = u16::MAX;
    let mut owners = vec![NONE; whole.places.len()];
    let mut shared = vec![false; whole.places.len()];
    for part in 0..parts.len() {
        for &triangle in parts.part(part) {
            for vertex in triangles[triangle as usize] {
                let place = whole.places[vertex as usize] as usize;
                if owners[place] == NONE {
                    owners[place] = part as u16;
                }
                shared[place] |= owners[place] != part as u16;
            }
        }
    }
    shared
}

impl PartitionedMesh<'_> {
    fn local(&self, part: usize) -> SubMesh {
        SubMesh::new(self.triangles, self.parts.part(part), self.whole.positions.len())
    }

    fn is_shared(&self, vertex: u32) -> bool {
        self.shared[self.whole.places[vertex as usize] as usize]
    }

    fn costs(&self, part: usize) -> Costs {
        Costs::of(&self.local(part), self.whole.positions, self.whole.extent, |vertex| self.is_shared(vertex))
    }

    fn simplify(&self, part: usize, target: usize, goal: &Goal<'_>) -> (Vec<u32>, f32) {
        let local = self.local(part);
        let positions = gather(self.whole.positions, &local.vertices);
        let vertices = adapter(&positions);
        let mark = |&vertex: &u32| {
            let mark = goal.marks.map_or(SimplifyVertex::None, |marks| marks[vertex as usize]);
            if self.is_shared(vertex) { mark | SimplifyVertex::Lock } else { mark }
        };
        let marks: Vec<SimplifyVertex> = local.vertices.iter().map(mark).collect();
        let all = local.vertices.iter().map(|&vertex| vertex as usize);
        let Attributes { values, mut weights } = Attributes::gather(self.surface, all, self.whole.uv_weight);
        // Weights are relative to the extent of the input; in each part they have to mean the same.
        let smaller = self.whole.extent / meshopt::simplify_scale(&vertices).max(f32::MIN_POSITIVE);
        weights.iter_mut().for_each(|weight| *weight = (*weight * smaller).min(f32::MAX));
        let mut error = 0.0;
        let mut indices = meshopt::simplify_with_attributes_and_locks(
            &local.indices,
            &vertices,
            &values,
            &weights,
            weights.len() * size_of::<f32>(),
            &marks,
            target.min(local.indices.len() / 3) * 3,
            goal.allowed,
            // A part has only its own vertices.
            goal.options - SimplifyOptions::Sparse,
            Some(&mut error),
        );
        indices.iter_mut().for_each(|index| *index = local.vertices[*index as usize]);
        indices.shrink_to_fit();
        (indices, error)
    }
}
