//! GPU order of triangles and vertices: post-transform vertex cache, overdraw, vertex fetch.
//!
//! Triangles are ordered first for the post-transform vertex cache, then, within a threshold of that gain,
//! for less overdraw; vertices are ordered for vertex fetch. The set of triangles and their winding do not
//! change. The vertex cache and overdraw orders are meshoptimizer's.

use crate::vector::Vec3;
use crate::{Triangles, high_valence};
use meshopt::{VertexDataAdapter, typed_to_bytes};

/// The part of the vertex cache's gain that the overdraw order may lose: 5 %.
pub(crate) const OVERDRAW_THRESHOLD: f32 = 1.05;

/// Orders triangles for the post-transform vertex cache, so that fewer vertices are transformed twice.
///
/// The algorithm visits every remaining triangle around the vertices in the cache repeatedly. So it gets a mesh
/// whose high-valence vertices are split, and the copies are merged again in its result: any valence takes
/// near-linear time. Where nearly all corners are at such vertices, as in triangles between a few points, the
/// cache is full of them, and they are split further.
pub(crate) fn vertex_cache(triangles: Triangles<'_>) -> Vec<u32> {
    /// The mean valence of corners above which vertices are split further; that of a fan is a third of
    /// [`high_valence::MAX_VALENCE`].
    const DENSE_MEAN_VALENCE: u64 = high_valence::MAX_VALENCE as u64 / 2;
    /// The valence after that split.
    const DENSE_VALENCE: u32 = 64;
    let count = triangles.vertex_count();
    let mut valences = vec![0u32; count];
    triangles.indices().iter().for_each(|&index| valences[index as usize] += 1);
    let limited = valences
        .iter()
        .map(|&valence| u64::from(valence) * u64::from(valence.min(high_valence::MAX_VALENCE)));
    let limit = match limited.sum::<u64>() > DENSE_MEAN_VALENCE * triangles.indices().len() as u64 {
        true => DENSE_VALENCE,
        false => high_valence::MAX_VALENCE,
    };
    if valences.iter().all(|&valence| valence <= limit) {
        return meshopt::optimize_vertex_cache(triangles.indices(), count);
    }
    let mut split = triangles.indices().to_vec();
    let copies = high_valence::split_above(&mut split, count, limit);
    let mut ordered = meshopt::optimize_vertex_cache(&split, count + copies.len());
    for index in &mut ordered {
        *index = (*index as usize).checked_sub(count).map_or(*index, |copy| copies[copy]);
    }
    ordered
}

/// Orders triangles that are in [`vertex_cache`] order for less overdraw, so that fewer pixels are shaded
/// twice.
///
/// # Panics
///
/// Panics if there are fewer positions than vertices.
pub(crate) fn overdraw(triangles: Triangles<'_>, positions: &[[f32; 3]], threshold: f32) -> Vec<u32> {
    triangles.expect("positions", positions);
    let mut indices = triangles.indices().to_vec();
    if !indices.is_empty() {
        meshopt::optimize_overdraw_in_place(&mut indices, &adapter(positions), threshold);
    }
    indices
}

/// Renumbers vertices in the order of their first use in `indices` (vertex fetch order). Returns the old
/// index of each new vertex. Unused vertices are left out.
///
/// # Panics
///
/// Panics if an index is not below `vertex_count`.
pub(crate) fn vertex_fetch(indices: &mut [u32], vertex_count: usize) -> Vec<u32> {
    let mut renamed = vec![u32::MAX; vertex_count];
    let mut sources = Vec::with_capacity(vertex_count.min(indices.len()));
    for index in indices {
        let name = &mut renamed[*index as usize];
        if *name == u32::MAX {
            *name = sources.len() as u32;
            sources.push(*index);
        }
        *index = *name;
    }
    sources
}

/// Returns positions in the form that meshoptimizer takes.
pub(crate) fn adapter(positions: &[Vec3]) -> VertexDataAdapter<'_> {
    VertexDataAdapter::new(typed_to_bytes(positions), size_of::<Vec3>(), 0)
        .expect("a slice of positions is whole positions")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns triangles as a multiset: each rotated so that its smallest corner is first (which keeps its
    /// winding), sorted.
    pub(crate) fn multiset<T: Ord + Copy>(triangles: impl Iterator<Item = [T; 3]>) -> Vec<[T; 3]> {
        let mut all: Vec<_> = triangles
            .map(|[a, b, c]| [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap_or([a, b, c]))
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn empty_mesh_and_single_triangle() {
        let none = Triangles::new(&[], 0).unwrap();
        assert!(vertex_cache(none).is_empty() && overdraw(none, &[], OVERDRAW_THRESHOLD).is_empty());
        let one = Triangles::new(&[2, 0, 1], 3).unwrap();
        assert_eq!(multiset(Triangles::new(&vertex_cache(one), 3).unwrap().iter()), [[0, 1, 2]]);
    }

    #[test]
    fn high_valence_vertices_keep_their_triangles() {
        let count = 5000;
        let fan: Vec<u32> = (0..count).flat_map(|i| [0, 1 + i, 2 + i]).collect();
        let triangles = Triangles::new(&fan, count as usize + 2).unwrap();
        let ordered = vertex_cache(triangles);
        let ordered = Triangles::new(&ordered, count as usize + 2).unwrap();
        assert_eq!(multiset(ordered.iter()), multiset(triangles.iter()));
    }

    /// All triangles between fifty vertices: every vertex in the cache has high valence.
    #[test]
    fn triangles_between_few_vertices_are_kept() {
        let corner = |i: u32| (i.wrapping_mul(2_654_435_761) >> 16) % 50;
        let indices: Vec<u32> = (0..60_000).map(corner).collect();
        let triangles = Triangles::new(&indices, 50).unwrap();
        let ordered = vertex_cache(triangles);
        let ordered = Triangles::new(&ordered, 50).unwrap();
        assert_eq!(multiset(ordered.iter()), multiset(triangles.iter()));
    }

    #[test]
    fn vertex_cache_order_reduces_misses() {
        let n = 64;
        let cells = (0..n * n).map(|i| (i * 37) % (n * n));
        let indices: Vec<u32> = cells
            .flat_map(|i| {
                let at = i / n * (n + 1) + i % n;
                [at, at + 1, at + n + 1, at + n + 1, at + 1, at + n + 2]
            })
            .collect();
        let count = ((n + 1) * (n + 1)) as usize;
        let misses = |indices: &[u32]| meshopt::analyze_vertex_cache(indices, count, 16, 0, 0).acmr;
        let ordered = vertex_cache(Triangles::new(&indices, count).unwrap());
        assert!(misses(&indices) > 1.5 && misses(&ordered) < 0.8);
    }

    proptest! {
        #[test]
        fn keeps_triangles_and_winding(
            positions in prop::collection::vec(prop::array::uniform3(-1.0f32..1.0), 1..40),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
        ) {
            let mut indices: Vec<u32> = picks.iter().map(|p| p.index(positions.len()) as u32).collect();
            indices.truncate(indices.len() / 3 * 3);
            let triangles = Triangles::new(&indices, positions.len()).unwrap();
            let cached = vertex_cache(triangles);
            let cached = Triangles::new(&cached, positions.len()).unwrap();
            let mut drawn = overdraw(cached, &positions, OVERDRAW_THRESHOLD);
            let sources = vertex_fetch(&mut drawn, positions.len());
            let back = Triangles::new(&drawn, sources.len()).unwrap().iter().map(|t| t.map(|i| sources[i as usize]));
            prop_assert_eq!(multiset(back), multiset(triangles.iter()));
            // In fetch order each new index is the next.
            let mut next = 0;
            for &index in &drawn {
                prop_assert!(index <= next);
                next += u32::from(index == next);
            }
        }
    }
}
