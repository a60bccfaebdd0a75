//! Simplifying a large mesh piece by piece: in parallel, and in memory for the pieces at hand.
//!
//! The simplifier counts in single precision over the box around what it is given, so the pieces of a dense mesh come
//! out nearer to the surface than the whole would.

use super::attributes::Attributes;
use super::budget::{Costs, share};
use super::{Goal, LodSource, Simplifier};
use crate::order::adapter;
use crate::partition::{Local, MOST, Pieces};
use crate::weld::gather;
use meshopt::{SimplifyOptions, SimplifyVertex};
use rayon::prelude::*;

/// As [`Simplifier::run`].
pub(super) fn simplify(
    whole: &Simplifier<'_>,
    surface: &LodSource<'_>,
    from: &[u32],
    goal: &Goal<'_>,
) -> (Vec<u32>, f32) {
    let (triangles, _) = from.as_chunks::<3>();
    let pieces = Pieces::cut(triangles, whole.positions, MOST, goal.turn);
    let cut = Cut { whole, surface, triangles, shared: shared(whole, triangles, &pieces), pieces };
    let costs: Vec<Costs> = (0..cut.pieces.len()).into_par_iter().map(|at| cut.costs(at)).collect();
    let targets = share(&costs, goal.target / 3);
    let simplified: Vec<(Vec<u32>, f32)> =
        targets.par_iter().enumerate().map(|(at, &target)| cut.simplify(at, target, goal)).collect();
    let error = simplified.iter().fold(0.0f32, |most, (_, error)| most.max(*error));
    let mut indices = Vec::with_capacity(simplified.iter().map(|(part, _)| part.len()).sum());
    simplified.into_iter().for_each(|(part, _)| indices.extend(part));
    (indices, error)
}

/// A mesh in pieces.
struct Cut<'a> {
    whole: &'a Simplifier<'a>,
    surface: &'a LodSource<'a>,
    triangles: &'a [[u32; 3]],
    pieces: Pieces,
    /// Of each place, whether it is in several pieces.
    shared: Vec<bool>,
}

fn shared(whole: &Simplifier<'_>, triangles: &[[u32; 3]], pieces: &Pieces) -> Vec<bool> {
    const NONE: u16 = u16::MAX;
    let mut owners = vec![NONE; whole.places.len()];
    let mut shared = vec![false; whole.places.len()];
    for piece in 0..pieces.len() {
        for &triangle in pieces.piece(piece) {
            for vertex in triangles[triangle as usize] {
                let place = whole.places[vertex as usize] as usize;
                if owners[place] == NONE {
                    owners[place] = piece as u16;
                }
                shared[place] |= owners[place] != piece as u16;
            }
        }
    }
    shared
}

impl Cut<'_> {
    fn local(&self, piece: usize) -> Local {
        Local::new(self.triangles, self.pieces.piece(piece), self.whole.positions.len())
    }

    fn is_shared(&self, vertex: u32) -> bool {
        self.shared[self.whole.places[vertex as usize] as usize]
    }

    fn costs(&self, piece: usize) -> Costs {
        Costs::of(&self.local(piece), self.whole.positions, self.whole.extent, |vertex| {
            self.is_shared(vertex)
        })
    }

    fn simplify(&self, piece: usize, target: usize, goal: &Goal<'_>) -> (Vec<u32>, f32) {
        let local = self.local(piece);
        let positions = gather(self.whole.positions, &local.vertices);
        let vertices = adapter(&positions);
        let mark = |&vertex: &u32| {
            let mark = goal.marks.map_or(SimplifyVertex::None, |marks| marks[vertex as usize]);
            if self.is_shared(vertex) { mark | SimplifyVertex::Lock } else { mark }
        };
        let marks: Vec<SimplifyVertex> = local.vertices.iter().map(mark).collect();
        let all = local.vertices.iter().map(|&vertex| vertex as usize);
        let Attributes { values, mut weights } = Attributes::gather(self.surface, all, self.whole.uv_weight);
        // Weights are against the extent of what is simplified; in each piece they have to mean the same.
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
            // A piece has no vertices but its own.
            goal.options - SimplifyOptions::Sparse,
            Some(&mut error),
        );
        indices.iter_mut().for_each(|index| *index = local.vertices[*index as usize]);
        indices.shrink_to_fit();
        (indices, error)
    }
}
