//! LODs (levels of detail): simplification by edge collapse over the same vertices.
//!
//! Each LOD is simplified from the previous one, by collapsing edges in the order of the error: to the
//! surface, and to its attributes (normals, UVs, joint weights) where they change noticeably from one vertex
//! to the next. UV seams stay closed and stay seams. Where splits of the normal alone would leave nothing to
//! collapse (a flat-shaded mesh, for example), an LOD that missed its target is tried once more with those
//! splits passable. A mesh whose source has no normals, or whose attributes would stall the LOD, is then simplified by
//! its positions, from the full mesh and within the same error.
//!
//! In that second attempt a fan around one position would take quadratic time: for each edge and in each pass
//! the simplifier sums the attribute errors of all vertices at the position. So high-valence positions are
//! locked (see [`HighValencePositions`]), and a mesh that consists mostly of them gets no second attempt.
//!
//! A large mesh is simplified in parts with the vertices between them locked; the next LOD is partitioned
//! elsewhere.
//!
//! An LOD that is not clearly smaller than the previous one has stalled: it is empty, and the next one starts
//! from the last that was not.

mod attributes;
mod border;
mod budget;
mod high_valence_positions;
mod partitioned;

use crate::Triangles;
use crate::order::adapter;
use crate::partition::MAX_PART_TRIANGLES;
use crate::process::has_passed;
use crate::skin::Influences;
use crate::vector::Vec3;
use crate::weld::{Attribute, firsts};
pub(crate) use attributes::{Attributes, uv_weight};
use attributes::{NORMAL_WEIGHT, SKIN_WEIGHT, project_weights};
pub(crate) use border::chain_inside_border;
pub(crate) use high_valence_positions::HighValencePositions;
use meshopt::{SimplifyOptions, SimplifyVertex};
use rayon::prelude::*;
use std::borrow::Cow;
use std::time::Instant;

/// A mesh to simplify: an element per vertex in each attribute that is present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LodSource<'a> {
    /// Vertex positions, scaled to about one.
    pub(crate) positions: &'a [[f32; 3]],
    /// Unit normals; kept by a moderate weight.
    pub(crate) normals: Option<&'a [[f32; 3]]>,
    /// UVs: seams are kept, and sliding along the surface counts as error.
    pub(crate) uvs: Option<&'a [[f32; 2]]>,
    /// Bone influences: merging vertices that move differently counts as error.
    pub(crate) skin: Option<&'a [Influences]>,
    /// The instant after which no further LOD is made.
    pub(crate) deadline: Option<Instant>,
    /// Simplifies by the positions alone where the attributes keep an LOD from its target: the normals are not the
    /// author's, so the shape is what is left of the source.
    pub(crate) positions_suffice: bool,
}

impl LodSource<'_> {
    /// Returns true if the mesh has positions only.
    fn is_plain(&self) -> bool {
        self.normals.is_none() && self.uvs.is_none() && self.skin.is_none()
    }
}

/// A level of detail (LOD).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lod {
    /// Vertex indices of its triangles; empty if the LOD stalled.
    pub indices: Vec<u32>,
    /// The maximum distance of its surface from the full mesh, in the units of the positions. Attribute
    /// errors count towards it.
    pub error: f32,
}

/// The default maximum error of an LOD, relative to the mesh's extent.
pub(crate) const DEFAULT_ERROR: f32 = 0.05;

/// The minimum share of the triangles of the previous LOD that an LOD must remove.
const MIN_REDUCTION: f32 = 0.05;
/// The share that it may keep, in twentieths.
const STALLED_AT_TWENTIETHS: usize = 19;

/// The share of the allowed error by which attributes may change along one edge without being weighted.
const NOTICEABLE_CHANGE: f32 = 0.01;
/// One of this many edges may change more.
const EDGES_PER_EXCEPTION: usize = 1000;

/// Triangles per unit of parallel work.
const BLOCK: usize = 8192;

/// Returns the ratios for `count` LODs, each half the previous one.
pub(crate) fn halves(count: usize) -> Vec<f32> {
    (1..=count.min(32) as i32).map(|level| 0.5f32.powi(level)).collect()
}

/// Makes one LOD per entry of `ratios`: that share of the full number of triangles, within `error` relative
/// to the mesh's extent. `finish` post-processes the triangles of each LOD (to order them, for instance) in
/// parallel with the simplification of the next LOD; it must return the same triangles.
///
/// An LOD has at most as many triangles as its ratio asks, or as many as the error or the topology forced it
/// to keep, and always fewer than the previous LOD; otherwise it is empty.
///
/// # Panics
///
/// Panics if an attribute has fewer elements than there are vertices.
pub(crate) fn chain(
    triangles: Triangles<'_>,
    surface: &LodSource<'_>,
    ratios: &[f32],
    error: f32,
    finish: &(impl Fn(&[u32]) -> Vec<u32> + Sync),
) -> Vec<Lod> {
    let mut levels = vec![Lod::default(); ratios.len()];
    let error = if error.is_finite() { error.clamp(0.0, 1.0) } else { DEFAULT_ERROR };
    if triangles.len() < 2 || ratios.is_empty() {
        return levels;
    }
    if let Some(simplifier) = Simplifier::new(triangles, surface, error) {
        simplifier.simplify_chain(triangles.indices(), triangles.len(), 0.0, ratios, &mut levels, finish);
    }
    levels
}

/// The target of one LOD.
struct Goal<'a> {
    /// The number of indices.
    target: usize,
    /// The error that the LOD may add.
    allowed: f32,
    options: SimplifyOptions,
    /// Locks and protections of vertices.
    marks: Option<&'a [SimplifyVertex]>,
    /// A number that differs from LOD to LOD.
    turn: usize,
}

/// The outcome of simplifying one LOD.
enum Attempt {
    /// Its triangles, and its error against the full mesh.
    Level(Vec<u32>, f32),
    /// Hardly fewer triangles than before.
    Stalled,
    /// No edge at all could be collapsed; then none can for an LOD with fewer triangles either.
    Stuck,
}

struct Simplifier<'a> {
    /// The indices of the full mesh.
    full: &'a [u32],
    surface: &'a LodSource<'a>,
    positions: &'a [Vec3],
    /// For each vertex the first vertex at the same position.
    places: Vec<u32>,
    /// The longest side of the bounding box.
    extent: f32,
    /// The maximum error, in the units of the positions.
    limit: f32,
    uv_weight: f32,
    high_valence_positions: HighValencePositions,
}

impl<'a> Simplifier<'a> {
    fn new(triangles: Triangles<'a>, surface: &'a LodSource<'a>, error: f32) -> Option<Self> {
        let count = triangles.vertex_count();
        triangles.expect("positions", surface.positions);
        triangles.expect("normals", surface.normals.unwrap_or(surface.positions));
        surface.uvs.inspect(|uvs| triangles.expect("uvs", uvs));
        surface.skin.inspect(|skin| triangles.expect("skin", skin));
        let positions = &surface.positions[..count];
        let places = firsts(count, &[Attribute::F3(positions)]);
        let high_valence_positions = HighValencePositions::of(triangles, &places);
        let extent = meshopt::simplify_scale(&adapter(positions));
        if !(extent > 0.0 && extent.is_finite()) {
            return None;
        }
        let uv_weight = surface.uvs.map_or(0.0, |uvs| uv_weight(triangles, positions, uvs, extent));
        Some(Self {
            full: triangles.indices(),
            surface,
            positions,
            places,
            extent,
            limit: error * extent,
            uv_weight,
            high_valence_positions,
        })
    }

    /// Simplifies `from` to the first of `ratios`, then the result to the rest.
    fn simplify_chain(
        &self,
        from: &[u32],
        full: usize,
        so_far: f32,
        ratios: &[f32],
        levels: &mut [Lod],
        finish: &(impl Fn(&[u32]) -> Vec<u32> + Sync),
    ) {
        let ([ratio, ratios @ ..], [level, levels @ ..]) = (ratios, levels) else { return };
        if has_passed(self.surface.deadline) {
            return;
        }
        let (indices, error) = match self.level(from, full, *ratio, so_far, ratios.len()) {
            Attempt::Level(indices, error) => (indices, error),
            Attempt::Stalled => return self.simplify_chain(from, full, so_far, ratios, levels, finish),
            Attempt::Stuck => return,
        };
        // The next LOD first: it takes longest, and a free thread picks up the other.
        let ((), finished) = rayon::join(
            || self.simplify_chain(&indices, full, error, ratios, levels, finish),
            || finish(&indices),
        );
        *level = Lod { indices: finished, error };
    }

    /// Simplifies to one LOD.
    fn level(&self, from: &[u32], full: usize, ratio: f32, so_far: f32, turn: usize) -> Attempt {
        let target = ((full as f64 * f64::from(ratio)) as usize).max(1) * 3;
        let allowed = (self.limit - so_far).max(0.0);
        if !(ratio > 0.0 && ratio < 1.0) || target >= from.len() {
            return Attempt::Stalled;
        }
        let surface = self.with_noticeable_attributes(from);
        // Errors are absolute, so that they mean the same for an LOD made from a subset of the vertices.
        let mut options = SimplifyOptions::ErrorAbsolute;
        if from.len() < full * 3 {
            options |= SimplifyOptions::Sparse;
        }
        let goal = Goal { target, allowed, options, marks: None, turn };
        let (mut indices, mut error) = self.run(&surface, from, &goal);
        // Missed by more than a tenth: splits of normals may block collapses.
        let missed = indices.len() > target + target / 10;
        if missed && self.high_valence_positions != HighValencePositions::Extreme {
            let options = options | SimplifyOptions::Permissive;
            let marks = self.protected();
            let again = self.run(self.surface, from, &Goal { options, marks: Some(&marks), ..goal });
            if again.0.len() < indices.len() {
                (indices, error) = again;
            }
        }
        let mut total = so_far + error;
        let enough = (from.len() as f32 * (1.0 - MIN_REDUCTION)) as usize;
        for options in self.by_positions() {
            let is_reached = match self.surface.positions_suffice {
                true => indices.len() <= target + target / 10,
                false => indices.len() <= enough,
            };
            if is_reached {
                break;
            }
            let plain = LodSource { normals: None, uvs: None, skin: None, ..*self.surface };
            let goal = Goal { target, allowed: self.limit, options, marks: None, turn };
            let (by_positions, error) = self.run(&plain, self.full, &goal);
            if (3..indices.len()).contains(&by_positions.len()) {
                (indices, total) = (by_positions, error.max(so_far));
            }
        }
        if indices.len() >= 3 && indices.len() <= enough {
            Attempt::Level(indices, total)
        } else if missed && indices.len() == from.len() {
            Attempt::Stuck
        } else {
            Attempt::Stalled
        }
    }

    /// Returns the options of attempts by the positions alone, which follow where attributes keep an LOD from its
    /// target: first along seams, then with small components removed, at last across seams. High-valence positions
    /// would take quadratic time.
    fn by_positions(&self) -> impl Iterator<Item = SimplifyOptions> + use<> {
        let along_seams = SimplifyOptions::ErrorAbsolute;
        let pruned = along_seams | SimplifyOptions::Prune;
        let is_ordinary = self.high_valence_positions == HighValencePositions::Positions(Vec::new());
        let last = [pruned, pruned | SimplifyOptions::Permissive];
        let first = self.surface.positions_suffice.then_some(along_seams);
        first.into_iter().chain(last.into_iter().filter(move |_| is_ordinary))
    }

    /// Collapses edges until the goal is reached.
    fn run(&self, surface: &LodSource<'_>, from: &[u32], goal: &Goal<'_>) -> (Vec<u32>, f32) {
        if from.len() / 3 > MAX_PART_TRIANGLES {
            return partitioned::simplify(self, surface, from, goal);
        }
        let vertices = adapter(self.positions);
        let mut error = 0.0;
        if surface.is_plain() && goal.marks.is_none() {
            let indices =
                meshopt::simplify(from, &vertices, goal.target, goal.allowed, goal.options, Some(&mut error));
            return (indices, error);
        }
        let Attributes { values, weights } =
            Attributes::gather(surface, 0..self.positions.len(), self.uv_weight);
        let free = || vec![SimplifyVertex::None; self.positions.len()].into();
        let marks: Cow<'_, [SimplifyVertex]> = goal.marks.map_or_else(free, Cow::Borrowed);
        let indices = meshopt::simplify_with_attributes_and_locks(
            from,
            &vertices,
            &values,
            &weights,
            weights.len() * size_of::<f32>(),
            &marks,
            goal.target,
            goal.allowed,
            goal.options,
            Some(&mut error),
        );
        (indices, error)
    }

    /// Returns the mesh with those attributes that change from vertex to vertex by enough to matter: a skin
    /// along any edge, the rest along more than a few. Where neighbours are so close and so similar that no
    /// edge collapse could do harm, as in scans and other dense meshes, positions suffice, and the LOD takes
    /// half the time and memory.
    fn with_noticeable_attributes(&self, from: &[u32]) -> LodSource<'a> {
        let LodSource { normals, uvs, skin, .. } = *self.surface;
        let normal = |n: &&[Vec3]| {
            self.noticeable_edges(from, NORMAL_WEIGHT, |a, b| squared_distance(n[a], n[b]))
                > from.len() / EDGES_PER_EXCEPTION
        };
        let uv = |uv: &&[[f32; 2]]| {
            self.noticeable_edges(from, self.uv_weight, |a, b| squared_distance(uv[a], uv[b]))
                > from.len() / EDGES_PER_EXCEPTION
        };
        let moves = |skin: &&[Influences]| {
            self.noticeable_edges(from, SKIN_WEIGHT, |a, b| {
                squared_distance(project_weights(&skin[a]), project_weights(&skin[b]))
            }) > 0
        };
        LodSource {
            normals: normals.filter(normal),
            uvs: uvs.filter(uv),
            skin: skin.filter(moves),
            ..*self.surface
        }
    }

    /// Returns the number of edges along which an attribute changes noticeably; `change` is the square of the
    /// change.
    fn noticeable_edges(
        &self,
        from: &[u32],
        weight: f32,
        change: impl Fn(usize, usize) -> f32 + Sync,
    ) -> usize {
        let limit = (self.limit * NOTICEABLE_CHANGE) * (self.limit * NOTICEABLE_CHANGE);
        let rough = |a: u32, b: u32| {
            let (a, b) = (a as usize, b as usize);
            squared_distance(self.positions[a], self.positions[b]) * change(a, b) * (weight * weight) > limit
        };
        let count =
            |&[a, b, c]: &[u32; 3]| [(a, b), (b, c), (c, a)].iter().filter(|e| rough(e.0, e.1)).count();
        from.as_chunks::<3>().0.par_iter().with_min_len(BLOCK).map(count).sum()
    }

    /// Returns the vertices across which nothing may collapse: at UV or skin splits, and at [high-valence
    /// positions](HighValencePositions).
    fn protected(&self) -> Vec<SimplifyVertex> {
        let mut marks = vec![SimplifyVertex::None; self.positions.len()];
        let locked = match &self.high_valence_positions {
            HighValencePositions::Positions(positions) => &**positions,
            HighValencePositions::Extreme => &[],
        };
        for (vertex, &first) in self.places.iter().enumerate() {
            // All vertices at the position: an LOD may have lost the first.
            if !locked.is_empty() && locked.binary_search(&first).is_ok() {
                marks[vertex] = SimplifyVertex::Protect;
            }
            let first = first as usize;
            let uv_differs = self.surface.uvs.is_some_and(|uvs| uvs[vertex] != uvs[first]);
            let skin_differs = self.surface.skin.is_some_and(|skin| skin[vertex] != skin[first]);
            if uv_differs || skin_differs {
                (marks[vertex], marks[first]) = (SimplifyVertex::Protect, SimplifyVertex::Protect);
            }
        }
        marks
    }
}

/// Returns the squared distance between two attribute vectors.
fn squared_distance<const N: usize>(a: [f32; N], b: [f32; N]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests;
