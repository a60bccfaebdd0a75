//! LODs with locked border edges, so that neighbouring meshes still fit.

use super::{Lod, LodSource, STALLED_AT_TWENTIETHS};
use crate::Triangles;
use crate::order::adapter;
use crate::process::has_passed;
use meshopt::SimplifyOptions;

/// Makes LODs as [`chain`](super::chain) does, by the positions alone, and never collapses a border edge. The
/// first LOD that stalls is the last: it and all after it are empty.
pub(crate) fn chain_inside_border(
    triangles: Triangles<'_>,
    source: &LodSource<'_>,
    ratios: &[f32],
    error: f32,
    finish: &(impl Fn(&[u32]) -> Vec<u32> + Sync),
) -> Vec<Lod> {
    triangles.expect("positions", source.positions);
    let mut levels = vec![Lod::default(); ratios.len()];
    let vertices = adapter(&source.positions[..triangles.vertex_count()]);
    let extent = meshopt::simplify_scale(&vertices);
    let options = SimplifyOptions::LockBorder | SimplifyOptions::ErrorAbsolute;
    let (mut from, mut so_far) = (triangles.indices().to_vec(), 0.0);
    for (level, ratio) in levels.iter_mut().zip(ratios) {
        if has_passed(source.deadline) {
            break;
        }
        let allowed = error.min(1.0) * extent - so_far;
        let target = ((triangles.len() as f64 * f64::from(*ratio)) as usize).max(1) * 3;
        let mut added = 0.0;
        let target = target.min(from.len());
        let made = meshopt::simplify(&from, &vertices, target, allowed.max(0.0), options, Some(&mut added));
        if made.len() < 3 || made.len() * 20 > from.len() * STALLED_AT_TWENTIETHS {
            break;
        }
        so_far += added;
        // The next LOD is simplified from the order that this one has in the result.
        from = finish(&made);
        *level = Lod { indices: from.clone(), error: so_far };
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::super::halves;
    use super::*;
    use crate::samples::mirrored_sheet;

    #[test]
    fn border_vertices_are_kept() {
        let sample = mirrored_sheet(32);
        let count = sample.positions.len();
        let triangles = Triangles::new(&sample.indices, count).unwrap();
        let source = LodSource {
            positions: &sample.positions,
            normals: None,
            uvs: None,
            skin: None,
            deadline: None,
            positions_suffice: false,
        };
        let levels = chain_inside_border(triangles, &source, &halves(3), 0.05, &|level| level.to_vec());
        let mut before = triangles.len();
        for level in &levels {
            assert!(level.indices.len() / 3 <= before / 2 + before / 10 && !level.indices.is_empty());
            before = level.indices.len() / 3;
            let at_border = |p: &[f32; 3]| p[..2].iter().any(|&c| c == 0.0 || c == 1.0);
            for (vertex, position) in sample.positions.iter().enumerate().filter(|(_, p)| at_border(p)) {
                assert!(level.indices.contains(&(vertex as u32)), "{position:?}");
            }
        }
    }
}
