//! Tests of the LOD chain: targets, errors, borders and attributes.

use super::*;
use crate::samples::{Random, Sample, flat_fans, mirrored_sheet, soup, sphere};
use crate::vector::{add, length, scale, unit};
use proptest::prelude::*;
use std::collections::HashMap;

fn levels(sample: &Sample, ratios: &[f32], error: f32) -> Vec<Lod> {
    let surface = LodSource {
        positions: &sample.positions,
        normals: Some(&sample.normals),
        uvs: Some(&sample.uvs),
        skin: None,
        deadline: None,
        positions_suffice: false,
    };
    let triangles = Triangles::new(&sample.indices, sample.positions.len()).unwrap();
    chain(triangles, &surface, ratios, error, &|indices| indices.to_vec())
}

/// Checks that each LOD is valid and smaller than the last one that is not empty.
fn check(sample: &Sample, levels: &[Lod]) {
    let (mut count, mut error) = (sample.indices.len(), 0.0);
    for level in levels.iter().filter(|level| !level.indices.is_empty()) {
        assert!(Triangles::new(&level.indices, sample.positions.len()).is_ok());
        assert!(level.indices.len() < count && level.error >= error);
        (count, error) = (level.indices.len(), level.error);
    }
}

#[test]
fn sphere_reaches_every_lod() {
    let sample = sphere(64, 32);
    let levels = levels(&sample, &halves(3), 0.05);
    check(&sample, &levels);
    for (level, lod) in levels.iter().enumerate() {
        let target = (sample.indices.len() / 3) >> (level + 1);
        assert!(lod.indices.len() / 3 <= target + target / 10, "level {level}: {}", lod.indices.len() / 3);
        assert!(lod.error > 0.0 && lod.error <= 0.05 * 2.0);
        // Vertices are not moved, so no triangle is far below the surface.
        for triangle in lod.indices.as_chunks::<3>().0 {
            let middle: f32 = (0..3)
                .map(|axis| triangle.iter().map(|&v| sample.positions[v as usize][axis]).sum::<f32>() / 3.0)
                .map(|c| c * c)
                .sum::<f32>();
            assert!(middle.sqrt() > 0.9);
        }
    }
}

/// Returns the number of edges that have more triangles on one side than on the other, by position.
fn open_edges(sample: &Sample, indices: &[u32]) -> usize {
    let mut edges = HashMap::new();
    let key = |v: u32| sample.positions[v as usize].map(|c| (c + 0.0).to_bits());
    for t in indices.as_chunks::<3>().0 {
        for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
            *edges.entry((key(a), key(b))).or_insert(0) += 1;
            *edges.entry((key(b), key(a))).or_insert(0) -= 1;
        }
    }
    edges.values().filter(|&&surplus| surplus > 0).count()
}

#[test]
fn uv_seams_stay_closed() {
    // The sphere's seam: u = 0 and u = 1 at the same positions.
    let sample = sphere(64, 32);
    assert_eq!(open_edges(&sample, &sample.indices), 0);
    for level in levels(&sample, &halves(3), 0.05) {
        assert!(!level.indices.is_empty());
        assert_eq!(open_edges(&sample, &level.indices), 0);
        // No triangle spans the seam: its u would jump.
        for t in level.indices.as_chunks::<3>().0 {
            let u = t.map(|v| sample.uvs[v as usize][0]);
            let spread =
                u.iter().fold(f32::MIN, |m, &x| m.max(x)) - u.iter().fold(f32::MAX, |m, &x| m.min(x));
            assert!(spread < 0.6, "{u:?}");
        }
    }
}

#[test]
fn partitioned_simplification_leaves_no_cracks() {
    let sample = sphere(400, 200);
    assert!(sample.indices.len() / 3 > MAX_PART_TRIANGLES);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| levels(&sample, &halves(2), 0.05))
    };
    let levels = on(1);
    assert_eq!(levels, on(3));
    check(&sample, &levels);
    for (level, lod) in levels.iter().enumerate() {
        let target = (sample.indices.len() / 3) >> (level + 1);
        assert!((target * 99 / 100..=target).contains(&(lod.indices.len() / 3)));
        assert_eq!(open_edges(&sample, &lod.indices), 0);
    }
}

#[test]
fn flat_shaded_meshes_get_lods() {
    // Every corner its own vertex, with the normal of its face: no two triangles share a vertex.
    let smooth = sphere(48, 24);
    let triangles = Triangles::new(&smooth.indices, smooth.positions.len()).unwrap();
    let faces = crate::normals::flat(triangles, &smooth.positions);
    let gather = |all: &[Vec3]| smooth.indices.iter().map(|&i| all[i as usize]).collect::<Vec<_>>();
    let flat = Sample {
        positions: gather(&smooth.positions),
        normals: faces.iter().flat_map(|&n| [n; 3]).collect(),
        uvs: vec![[0.0; 2]; smooth.indices.len()],
        indices: (0..smooth.indices.len() as u32).collect(),
    };
    let levels = levels(&flat, &halves(1), 0.05);
    check(&flat, &levels);
    assert!(!levels[0].indices.is_empty());
    assert_eq!(open_edges(&flat, &levels[0].indices), 0);
}

#[test]
fn attributes_prevent_collapses() {
    // A flat sheet: without attributes it collapses to almost nothing; with a strip that differs, the
    // strip stays.
    let mut sample = mirrored_sheet(32);
    sample.positions.iter_mut().for_each(|p| p[2] = 0.0);
    let inside = |p: &Vec3| (0.25..0.3).contains(&p[0]);
    let strip = |p: &Vec3| if inside(p) { 1.0 } else { 0.0 };
    let weights = |p: &Vec3| [1.0 - strip(p), strip(p), 0.0, 0.0];
    let skin: Vec<_> =
        sample.positions.iter().map(|p| Influences { joints: [0, 1, 0, 0], weights: weights(p) }).collect();
    let normals: Vec<_> = sample.positions.iter().map(|p| [0.0, strip(p), 1.0 - strip(p)]).collect();
    let uvs: Vec<_> = sample.positions.iter().map(|p| [p[0], p[1] + strip(p)]).collect();
    let triangles = Triangles::new(&sample.indices, sample.positions.len()).unwrap();
    let count = |normals, uvs, skin| {
        let surface = LodSource {
            positions: &sample.positions,
            normals,
            uvs,
            skin,
            deadline: None,
            positions_suffice: false,
        };
        let level = chain(triangles, &surface, &[0.01], 0.01, &|i| i.to_vec()).remove(0);
        level.indices.iter().filter(|&&v| inside(&sample.positions[v as usize])).count()
    };
    assert!(count(None, None, None) < 20);
    assert!(count(Some(&normals), None, None) > 20);
    assert!(count(None, Some(&uvs), None) > 20);
    assert!(count(None, None, Some(&skin)) > 20);
}

#[test]
fn attributes_are_ignored_in_dense_smooth_meshes_only() {
    let rough = |sample: &Sample, skin: Option<&[Influences]>| {
        let surface = LodSource {
            positions: &sample.positions,
            normals: Some(&sample.normals),
            uvs: Some(&sample.uvs),
            skin,
            deadline: None,
            positions_suffice: false,
        };
        let triangles = Triangles::new(&sample.indices, sample.positions.len()).unwrap();
        !Simplifier::new(triangles, &surface, DEFAULT_ERROR)
            .unwrap()
            .with_noticeable_attributes(&sample.indices)
            .is_plain()
    };
    assert!(rough(&sphere(64, 32), None) && rough(&mirrored_sheet(16), None));
    let mut dense = sphere(400, 200);
    assert!(!rough(&dense, None));
    // One joint above, another below: the weight jumps along the equator.
    let half = |p: &Vec3| Influences { joints: [u16::from(p[1] > 0.0), 0, 0, 0], ..Influences::RIGID };
    let skin: Vec<Influences> = dense.positions.iter().map(half).collect();
    assert!(rough(&dense, Some(&skin)));
    for normal in &mut dense.normals[20_000..20_020] {
        *normal = [0.0, 1.0, 0.0];
    }
    assert!(!rough(&dense, None));
    for normal in dense.normals.iter_mut().step_by(50) {
        *normal = [0.0, 1.0, 0.0];
    }
    assert!(rough(&dense, None));
}

#[test]
fn noise_in_all_attributes_does_not_stall_lods() {
    let mut sample = sphere(64, 32);
    let mut random = Random(11);
    for (normal, uv) in sample.normals.iter_mut().zip(&mut sample.uvs) {
        *normal = unit(std::array::from_fn(|_| random.signed()));
        *uv = std::array::from_fn(|_| random.signed());
    }
    let lods = levels(&sample, &halves(3), 0.05);
    check(&sample, &lods);
    let full = sample.indices.len() / 3;
    for (lod, level) in lods.iter().zip(1..) {
        let triangles = lod.indices.len() / 3;
        assert!(triangles > 0 && triangles <= (full >> level) * 5 / 4, "LOD {level}: {triangles} of {full}");
        assert!(lod.error <= 0.05 * 2.0, "{}", lod.error);
        // The vertices stay on the sphere, so the distance of a face is that of its middle.
        for corners in lod.indices.as_chunks::<3>().0 {
            let [a, b, c] = corners.map(|corner| sample.positions[corner as usize]);
            let middle = scale(add(add(a, b), c), 1.0 / 3.0);
            assert!(length(middle) > 1.0 - 0.05 * 2.0 * 1.5, "{middle:?}");
        }
    }
}

#[test]
fn stalled_lods_are_empty() {
    let tetrahedron = Sample {
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        normals: vec![[0.0, 0.0, 1.0]; 4],
        uvs: vec![[0.0; 2]; 4],
        indices: vec![0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3],
    };
    for level in levels(&tetrahedron, &halves(2), 0.01) {
        assert_eq!(level, Lod::default());
    }
    let one = Sample { indices: vec![0, 1, 2], ..tetrahedron };
    assert_eq!(levels(&one, &halves(1), 0.05), [Lod::default()]);
    let sample = sphere(16, 8);
    for ratio in [0.0, 1.0, 2.0, -1.0, f32::NAN] {
        assert_eq!(levels(&sample, &[ratio], 0.05), [Lod::default()]);
    }
    // No error allowed; and an LOD that stalled does not stop the next.
    assert_eq!(levels(&sample, &[0.5], 0.0), [Lod::default()]);
    let uneven = levels(&sphere(32, 16), &[0.5, 0.49, 0.25], 0.2);
    assert!(!uneven[0].indices.is_empty() && uneven[1].indices.is_empty() && !uneven[2].indices.is_empty());
}

#[test]
fn cones_get_lods_around_their_apex() {
    for (fans, sides) in [(1, 200), (3, 1000), (1, 2500)] {
        let sample = flat_fans(fans, sides);
        let levels = levels(&sample, &halves(2), 0.05);
        check(&sample, &levels);
        for level in levels {
            assert!(!level.indices.is_empty(), "{fans} fans of {sides}");
            let apexes = level.indices.iter().filter(|&&v| sample.positions[v as usize][2] == 1.0);
            assert_eq!(apexes.count(), level.indices.len() / 3);
        }
    }
}

proptest! {
    #[test]
    fn triangle_soups_give_valid_lods(seed: u64, vertices in 3u32..60, triangles in 1u32..300) {
        let sample = soup(seed, vertices, triangles);
        check(&sample, &levels(&sample, &halves(3), 0.3));
    }
}
