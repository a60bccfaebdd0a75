//! Tests of cluster hierarchies: random cuts, monotone errors, limits.

use super::*;
use crate::order::tests::multiset;
use crate::samples::{Random, Sample, flat_fans, mirrored_sheet, soup, sphere};
use crate::vector::Vec3;
use std::collections::{BTreeMap, BTreeSet};

fn source(sample: &Sample) -> ClusterSource<'_> {
    ClusterSource {
        indices: &sample.indices,
        positions: &sample.positions,
        normals: Some(&sample.normals),
        uvs: Some(&sample.uvs),
        ..ClusterSource::default()
    }
}

/// Returns the group and the triangles of each cluster, as vertex indices of the mesh.
fn expand(hierarchy: &ClusterHierarchy) -> Vec<(usize, Vec<[u32; 3]>)> {
    let groups = hierarchy.groups.iter().enumerate();
    let groups = groups.flat_map(|(number, group)| (0..group.cluster_count).map(move |_| number));
    let (mut vertices, mut triangles) = (&*hierarchy.vertices, &*hierarchy.triangles);
    let one = |(group, cluster): (usize, &Cluster)| {
        let (own, rest) = vertices.split_at(cluster.vertex_count.into());
        vertices = rest;
        let (corners, rest) = triangles.split_at(cluster.triangle_count.into());
        triangles = rest;
        (group, corners.iter().map(|t| t.map(|corner| own[usize::from(corner)])).collect())
    };
    groups.zip(&hierarchy.clusters).map(one).collect()
}

/// Returns for each group whether it is replaced by coarser clusters, in a random cut: any set of groups such that all
/// groups below one of them are in it.
fn random_cut(hierarchy: &ClusterHierarchy, random: &mut Random) -> Vec<bool> {
    let share = random.below(101);
    let mut replaced: Vec<bool> = Vec::new();
    let mut clusters = hierarchy.clusters.iter();
    for group in &hierarchy.groups {
        let own = clusters.by_ref().take(group.cluster_count as usize);
        let blocked = own.filter(|c| c.refined.is_some_and(|refined| !replaced[refined as usize])).count();
        replaced.push(blocked == 0 && group.error < ROOT_ERROR && random.below(100) < share);
    }
    replaced
}

/// Returns the triangles of a cut.
fn drawn(hierarchy: &ClusterHierarchy, replaced: &[bool]) -> Vec<[u32; 3]> {
    let clusters = expand(hierarchy).into_iter().zip(&hierarchy.clusters);
    let is_drawn = |group: usize, cluster: &Cluster| {
        !replaced[group] && cluster.refined.is_none_or(|refined| replaced[refined as usize])
    };
    clusters.filter(|((group, _), cluster)| is_drawn(*group, cluster)).flat_map(|((_, t), _)| t).collect()
}

/// Returns the edges that have not as many triangles on one side as on the other, by position. Triangles without area
/// because two corners coincide have no sides.
fn open_edges(triangles: &[[u32; 3]], places: &[u32]) -> BTreeSet<[u32; 2]> {
    let mut balance: BTreeMap<[u32; 2], i32> = BTreeMap::new();
    for triangle in triangles {
        let [a, b, c] = triangle.map(|corner| places[corner as usize]);
        if a == b || b == c || c == a {
            continue;
        }
        for [a, b] in [[a, b], [b, c], [c, a]] {
            *balance.entry([a.min(b), a.max(b)]).or_default() += if a < b { 1 } else { -1 };
        }
    }
    balance.into_iter().filter(|(_, sum)| *sum != 0).map(|(edge, _)| edge).collect()
}

/// Checks limits and monotony, and returns the number of root clusters.
fn check(sample: &Sample, hierarchy: &ClusterHierarchy) -> usize {
    let clusters = expand(hierarchy);
    let mut refined_to = BTreeSet::new();
    for ((group, triangles), cluster) in clusters.iter().zip(&hierarchy.clusters) {
        assert!((1..=64).contains(&cluster.vertex_count) && (1..=124).contains(&cluster.triangle_count));
        let own = &hierarchy.groups[*group];
        let distance = |a: Vec3, b: Vec3| {
            (0..3).map(|i| (f64::from(a[i]) - f64::from(b[i])).powi(2)).sum::<f64>().sqrt()
        };
        for &vertex in triangles.iter().flatten() {
            let position = sample.positions[vertex as usize];
            assert!(distance(position, own.center) <= own.radius.into());
            assert!(
                distance(position, cluster.bounds.center) <= f64::from(cluster.bounds.radius) * 1.000_001
            );
        }
        let Some(refined) = cluster.refined else {
            assert_eq!(own.depth, 0);
            continue;
        };
        refined_to.insert(refined);
        let below = &hierarchy.groups[refined as usize];
        assert!((refined as usize) < *group && below.depth + 1 == own.depth);
        assert!(below.error <= own.error);
        assert!(distance(below.center, own.center) + f64::from(below.radius) <= own.radius.into());
    }
    // Exactly the groups that are not roots are replaced by something.
    let inner = |&(_, group): &(u32, &ClusterGroup)| group.error < ROOT_ERROR;
    assert!((0..).zip(&hierarchy.groups).filter(inner).map(|(number, _)| number).eq(refined_to));
    // The clusters at depth 0 are the source.
    let leaves = clusters.iter().zip(&hierarchy.clusters).filter(|(_, c)| c.refined.is_none());
    let leaves = multiset(leaves.flat_map(|((_, t), _)| t.iter().copied()));
    assert_eq!(leaves, multiset(sample.indices.as_chunks::<3>().0.iter().copied()));
    hierarchy.groups.iter().filter(|g| g.error == ROOT_ERROR).map(|g| g.cluster_count as usize).sum()
}

#[test]
fn random_cuts_of_closed_meshes_have_no_open_edge() {
    for (sample, with_normals) in [(sphere(96, 48), true), (sphere(200, 100), true), (sphere(96, 48), false)]
    {
        let all = source(&sample);
        let hierarchy = build(&ClusterSource { normals: all.normals.filter(|_| with_normals), ..all });
        assert!(check(&sample, &hierarchy) <= 4);
        let places = firsts(sample.positions.len(), &[Attribute::F3(&sample.positions)]);
        assert!(open_edges(sample.indices.as_chunks::<3>().0, &places).is_empty());
        let mut random = Random(5);
        for _ in 0..40 {
            let cut = drawn(&hierarchy, &random_cut(&hierarchy, &mut random));
            let open = open_edges(&cut, &places);
            assert!(open.is_empty(), "{} triangles: {open:?}", cut.len());
        }
    }
}

#[test]
fn random_cuts_of_a_height_field_cover_it_once() {
    // All coordinates in the plane are multiples of 1/128, so that areas are exact.
    let sample = mirrored_sheet(128);
    let hierarchy = build(&source(&sample));
    assert!(check(&sample, &hierarchy) <= 4);
    let mut random = Random(9);
    let places = firsts(sample.positions.len(), &[Attribute::F3(&sample.positions)]);
    for _ in 0..60 {
        let cut = drawn(&hierarchy, &random_cut(&hierarchy, &mut random));
        let area = |triangle: &[u32; 3]| {
            let [a, b, c] = triangle.map(|vertex| sample.positions[vertex as usize].map(f64::from));
            ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2.0
        };
        let signed: f64 = cut.iter().map(area).sum();
        let covered: f64 = cut.iter().map(|triangle| area(triangle).abs()).sum();
        assert_eq!((signed, covered), (1.0, 1.0), "{} triangles", cut.len());
        // Open edges are parts of the border of the sheet.
        for edge in open_edges(&cut, &places) {
            let [a, b] = edge.map(|vertex| sample.positions[vertex as usize]);
            let on_border = |axis: usize| a[axis] == b[axis] && (a[axis] == 0.0 || a[axis] == 1.0);
            assert!(on_border(0) || on_border(1), "{a:?} {b:?}");
        }
    }
}

/// Returns the triangles of a sheet on one side of its middle column, as a mesh.
fn half_sheet(sheet: &Sample, left: bool) -> Sample {
    let is_here = |t: &&[u32; 3]| {
        let sum: f32 = t.iter().map(|&v| sheet.positions[v as usize][0]).sum();
        (sum < 1.5) == left
    };
    let mut indices: Vec<u32> =
        sheet.indices.as_chunks::<3>().0.iter().filter(is_here).flatten().copied().collect();
    let sources = crate::order::vertex_fetch(&mut indices, sheet.positions.len());
    let pick = |from: &[Vec3]| sources.iter().map(|&v| from[v as usize]).collect::<Vec<_>>();
    let uvs = sources.iter().map(|&v| sheet.uvs[v as usize]).collect();
    Sample { positions: pick(&sheet.positions), normals: pick(&sheet.normals), uvs, indices }
}

#[test]
fn locked_vertices_stay_between_two_meshes() {
    let sheet = mirrored_sheet(96);
    let halves = [half_sheet(&sheet, true), half_sheet(&sheet, false)];
    let shared = shared_positions(&[&halves[0].positions, &halves[1].positions]);
    let (mut all, mut random) = (Vec::new(), Random(3));
    for (sample, locked) in halves.iter().zip(&shared) {
        assert_eq!(locked.iter().filter(|&&locked| locked).count(), 97);
        let hierarchy = build(&ClusterSource { locked, ..source(sample) });
        check(sample, &hierarchy);
        let cut = drawn(&hierarchy, &random_cut(&hierarchy, &mut random));
        all.extend(cut.into_iter().map(|t| t.map(|v| sample.positions[v as usize])));
    }
    let corners: Vec<Vec3> = all.into_flattened();
    let places = firsts(corners.len(), &[Attribute::F3(&corners)]);
    let triangles: Vec<u32> = (0..corners.len() as u32).collect();
    for edge in open_edges(triangles.as_chunks::<3>().0, &places) {
        let [a, b] = edge.map(|vertex| corners[vertex as usize]);
        assert!(a[0] != 0.5 || b[0] != 0.5, "{a:?} {b:?}");
    }
}

#[test]
fn unusual_meshes_have_valid_hierarchies() {
    for sample in [soup(1, 300, 3000), soup(2, 20, 2000), flat_fans(3, 700), sphere(3, 2)] {
        let hierarchy = build(&source(&sample));
        check(&sample, &hierarchy);
        // Huge and tiny meshes have the same hierarchy.
        for scale in [2.0f32.powi(100), 2.0f32.powi(-100)] {
            let positions: Vec<Vec3> = sample.positions.iter().map(|p| p.map(|x| x * scale)).collect();
            let scaled = build(&ClusterSource { positions: &positions, ..source(&sample) });
            assert_eq!(scaled.groups.len(), hierarchy.groups.len());
            assert!(scaled.groups.iter().all(|group| group.radius.is_finite() && group.error.is_finite()));
        }
    }
    assert_eq!(build(&ClusterSource::default()), ClusterHierarchy::default());
    let point =
        ClusterSource { indices: &[0, 0, 0, 0, 1, 1], positions: &[[1.0; 3]; 2], ..Default::default() };
    assert_eq!(build(&point).groups.len(), 1);
}
