//! Welding, GPU order and LODs of vertices in the formats of a file, whatever their attributes are.
//!
//! For writers that keep all attributes of their source: a vertex is a number of words in each stream, and two vertices
//! are equal if all their words are. Rejects indices out of range, and streams that are too short.

use crate::order;
use crate::process::LodRule;
use crate::simplify::{self, Lod, LodSource};
use crate::weld::{self, Attribute};
use crate::{Error, Triangles};
use std::time::Instant;

/// An attribute in the format of a file.
#[derive(Clone, Copy, Debug)]
pub struct PackedStream<'a> {
    /// The vertices.
    pub words: &'a [u32],
    /// The number of words of a vertex; at least one.
    pub stride: usize,
}

/// Triangles over welded vertices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeldedMesh {
    /// Vertex indices, three per triangle: the triangles of the source with their winding.
    pub indices: Vec<u32>,
    /// For each vertex the vertex of the source that it is a copy of.
    pub sources: Vec<u32>,
}

/// Merges equal vertices and removes unused ones. With `optimize`, triangles and vertices are ordered for the
/// post-transform vertex cache, overdraw and vertex fetch; otherwise vertices are in the order of their first use.
///
/// # Errors
/// [`Error`] if the indices are invalid, or an attribute has fewer vertices than `positions`.
pub fn weld(
    indices: &[u32],
    positions: &[[f32; 3]],
    streams: &[PackedStream<'_>],
    optimize: bool,
) -> Result<WeldedMesh, Error> {
    let count = positions.len();
    let triangles = Triangles::new(indices, count)?;
    for stream in streams {
        let found = stream.words.len().checked_div(stream.stride).unwrap_or(0);
        if found < count {
            return Err(Error::Length { attribute: "packed stream", found, expected: count });
        }
    }
    let keys: Vec<Attribute<'_>> = streams.iter().map(|s| Attribute::Words(s.words, s.stride)).collect();
    let welded = weld::weld(triangles, &keys);
    if !optimize || welded.indices.is_empty() {
        return Ok(WeldedMesh { indices: welded.indices, sources: welded.sources });
    }
    let positions = weld::gather(positions, &welded.sources);
    let indices = order::vertex_cache(Triangles::trusted(&welded.indices, positions.len()));
    let cached = Triangles::trusted(&indices, positions.len());
    let mut indices = order::overdraw(cached, &positions, order::OVERDRAW_THRESHOLD);
    let fetched = order::vertex_fetch(&mut indices, positions.len());
    Ok(WeldedMesh { indices, sources: weld::gather(&welded.sources, &fetched) })
}

/// The attributes that the simplification of a mesh respects.
#[derive(Clone, Copy, Debug)]
pub struct LodSurface<'a> {
    /// Vertex positions in any unit.
    pub positions: &'a [[f32; 3]],
    /// Unit normals.
    pub normals: Option<&'a [[f32; 3]]>,
    /// UVs, whose seams are kept.
    pub uvs: Option<&'a [[f32; 2]]>,
    /// The instant after which no further LOD is made.
    pub deadline: Option<Instant>,
}

/// Makes LODs over the vertices of a mesh, in GPU order. An LOD that stalled is empty.
///
/// # Errors
/// [`Error`] if the indices are invalid, or an attribute has fewer vertices than there are positions.
pub fn lods(indices: &[u32], surface: LodSurface<'_>, rule: &LodRule, error: f32) -> Result<Vec<Lod>, Error> {
    let count = surface.positions.len();
    let triangles = Triangles::new(indices, count)?;
    for found in [surface.normals.map(<[_]>::len), surface.uvs.map(<[_]>::len)].into_iter().flatten() {
        if found < count {
            return Err(Error::Length { attribute: "LOD surface", found, expected: count });
        }
    }
    let extent = surface.positions.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
    if !(extent > 0.0 && extent.is_finite()) {
        return Ok(vec![Lod::default(); rule.ratios(triangles.len()).len()]);
    }
    let positions: Vec<[f32; 3]> = surface.positions.iter().map(|p| p.map(|x| x / extent)).collect();
    let source = LodSource {
        positions: &positions,
        normals: surface.normals,
        uvs: surface.uvs,
        skin: None,
        deadline: surface.deadline,
        positions_suffice: surface.normals.is_none(),
    };
    let finish = |level: &[u32]| order::vertex_cache(Triangles::trusted(level, count));
    let mut made = simplify::chain(triangles, &source, &rule.ratios(triangles.len()), error, &finish);
    made.iter_mut().for_each(|lod| lod.error *= extent);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::multiset;

    /// Returns a grid of quads whose corners are vertices of their own.
    fn grid(side: u32) -> (Vec<u32>, Vec<[f32; 3]>) {
        let corners = [[0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 1]];
        let quads = (0..side * side).map(|i| [i % side, i / side]);
        let positions: Vec<[f32; 3]> =
            quads.flat_map(|[x, y]| corners.map(|[a, b]| [(x + a) as f32, (y + b) as f32, 0.0])).collect();
        ((0..positions.len() as u32).collect(), positions)
    }

    fn words(positions: &[[f32; 3]]) -> Vec<u32> {
        positions.iter().flatten().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn welds_equal_vertices_and_keeps_triangles() {
        let (indices, positions) = grid(9);
        let words = words(&positions);
        let at = |i: u32| positions[i as usize].map(|x| x as u32);
        for optimize in [false, true] {
            let stream = PackedStream { words: &words, stride: 3 };
            let welded = weld(&indices, &positions, &[stream], optimize).unwrap();
            assert_eq!(welded.sources.len(), 100);
            let drawn = welded.indices.as_chunks::<3>().0.iter();
            let drawn = multiset(drawn.map(|t| t.map(|i| at(welded.sources[i as usize]))));
            assert_eq!(drawn, multiset(indices.as_chunks::<3>().0.iter().map(|t| t.map(at))));
        }
    }

    #[test]
    fn vertices_that_differ_in_any_stream_stay_apart() {
        let (indices, positions) = grid(2);
        let words = words(&positions);
        let ids: Vec<u32> = (0..positions.len() as u32).collect();
        let streams = [PackedStream { words: &words, stride: 3 }, PackedStream { words: &ids, stride: 1 }];
        assert_eq!(weld(&indices, &positions, &streams, true).unwrap().sources.len(), positions.len());
    }

    #[test]
    fn rejects_short_streams_and_indices_out_of_range() {
        let (indices, positions) = grid(2);
        let short = [PackedStream { words: &[0; 3], stride: 1 }];
        assert!(matches!(weld(&indices, &positions, &short, true), Err(Error::Length { .. })));
        assert!(matches!(weld(&[0, 1, 99], &positions, &[], true), Err(Error::IndexOutOfRange { .. })));
        assert!(matches!(weld(&[0, 1], &positions, &[], true), Err(Error::IndexCount(2))));
        let surface = LodSurface { positions: &positions, normals: None, uvs: Some(&[]), deadline: None };
        assert!(lods(&indices, surface, &LodRule::halves(1), 0.1).is_err());
    }

    #[test]
    fn lods_of_a_plane_are_smaller() {
        let (indices, positions) = grid(16);
        let stream = words(&positions);
        let welded = weld(&indices, &positions, &[PackedStream { words: &stream, stride: 3 }], true).unwrap();
        let positions: Vec<[f32; 3]> = welded.sources.iter().map(|&i| positions[i as usize]).collect();
        let surface = LodSurface { positions: &positions, normals: None, uvs: None, deadline: None };
        let made = lods(&welded.indices, surface, &LodRule::halves(2), 0.1).unwrap();
        assert!(made[0].indices.len() <= welded.indices.len() / 2, "{}", made[0].indices.len());
        assert!(made[1].indices.len() <= welded.indices.len() / 4);
    }
}
