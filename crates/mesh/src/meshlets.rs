//! Meshlets: small clusters of triangles with their own vertex lists, for mesh shaders and cluster culling.
//!
//! Every triangle is in exactly one meshlet and keeps its winding.

mod builder;
mod candidates;
mod kd_tree;

use crate::bounds::enclosing_radius;
use crate::order::adapter;
use crate::{Triangles, high_valence};
use builder::{Limits, grow};
use meshopt::VertexDataAdapter;

/// The maximum number of vertices of a meshlet.
pub(crate) const MAX_VERTICES: usize = 64;
/// The maximum number of triangles of a meshlet.
pub(crate) const MAX_TRIANGLES: usize = 124;
/// The weight of a narrow normal cone against a small bounding sphere: 0 optimises only the sphere, 1 only
/// the cone.
pub(crate) const CONE_WEIGHT: f32 = 0.25;

/// The ranges of a meshlet in the lists of [`Meshlets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meshlet {
    /// Index of its first entry in `vertices`.
    pub vertex_offset: u32,
    /// The number of its vertices.
    pub vertex_count: u32,
    /// Index of its first entry in `triangles`.
    pub triangle_offset: u32,
    /// The number of its triangles.
    pub triangle_count: u32,
}

/// The culling data of a meshlet: bounding sphere and normal cone.
///
/// All of its triangles face away from `camera` (backface culling) if
/// `dot(center - camera, cone_axis) >= cone_cutoff * length(center - camera) + radius`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshletBounds {
    /// The centre of the bounding sphere.
    pub center: [f32; 3],
    /// The radius of the bounding sphere.
    pub radius: f32,
    /// The axis of the normal cone: the average direction of its triangles.
    pub cone_axis: [f32; 3],
    /// The cutoff of the normal cone; 1 if the meshlet cannot be culled from any direction.
    pub cone_cutoff: f32,
}

/// The meshlets of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meshlets {
    /// The ranges of the meshlets; they are consecutive without gaps.
    pub meshlets: Vec<Meshlet>,
    /// Vertex indices of the mesh.
    pub vertices: Vec<u32>,
    /// Triangle corners, as local indices into the meshlet's range of `vertices`.
    pub triangles: Vec<[u8; 3]>,
    /// The culling data, one entry per meshlet.
    pub bounds: Vec<MeshletBounds>,
}

/// Builds meshlets. Triangles in post-transform vertex cache order give better meshlets.
///
/// The time is near-linear in the number of triangles if no vertex has more than
/// [`high_valence::MAX_VALENCE`] corners; debug builds assert that.
///
/// # Panics
///
/// Panics if there are fewer positions than vertices.
pub(crate) fn build(triangles: Triangles<'_>, positions: &[[f32; 3]]) -> Meshlets {
    triangles.expect("positions", positions);
    debug_assert!(
        !high_valence::is_any(triangles.indices(), triangles.vertex_count()),
        "high-valence vertices must be split first"
    );
    let positions = &positions[..triangles.vertex_count()];
    let (triangles, _) = triangles.indices().as_chunks::<3>();
    let limits = Limits { vertices: MAX_VERTICES, triangles: MAX_TRIANGLES, cone_weight: CONE_WEIGHT };
    let clusters = grow(triangles, positions, limits);

    let mut result = Meshlets::default();
    result.meshlets.reserve_exact(clusters.ends.len());
    result.bounds.reserve_exact(clusters.ends.len());
    result.triangles.reserve_exact(triangles.len());
    let vertices = adapter(positions);
    let (mut names, mut start) = (vec![u8::MAX; positions.len()], 0);
    for &end in &clusters.ends {
        let (vertex_offset, triangle_offset) = (result.vertices.len(), result.triangles.len());
        for &triangle in &clusters.triangles[start as usize..end as usize] {
            result.triangles.push(triangles[triangle as usize].map(|vertex| {
                let name = &mut names[vertex as usize];
                if *name == u8::MAX {
                    *name = (result.vertices.len() - vertex_offset) as u8;
                    result.vertices.push(vertex);
                }
                *name
            }));
        }
        start = end;
        let own = &mut result.vertices[vertex_offset..];
        own.iter().for_each(|&vertex| names[vertex as usize] = u8::MAX);
        let corners = result.triangles[triangle_offset..].as_flattened_mut();
        meshopt::optimize_meshlet_level(own, corners, 0);
        result.bounds.push(bounds(own, corners, positions, &vertices));
        result.meshlets.push(Meshlet {
            vertex_offset: vertex_offset as u32,
            vertex_count: own.len() as u32,
            triangle_offset: triangle_offset as u32,
            triangle_count: (corners.len() / 3) as u32,
        });
    }
    result
}

/// Returns the bounds of a meshlet with these vertices and triangle corners; `vertices` are the positions.
pub(crate) fn bounds(
    own: &[u32],
    corners: &[u8],
    positions: &[[f32; 3]],
    vertices: &VertexDataAdapter<'_>,
) -> MeshletBounds {
    let bounds =
        meshopt::compute_meshlet_bounds(meshopt::Meshlet { vertices: own, triangles: corners }, vertices);
    // The sphere is computed with rounding; enlarge it where a vertex is outside.
    let inside = own.iter().map(|&vertex| positions[vertex as usize]);
    MeshletBounds {
        center: bounds.center,
        radius: bounds.radius.max(enclosing_radius(bounds.center, inside)),
        cone_axis: bounds.cone_axis,
        cone_cutoff: bounds.cone_cutoff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::multiset;
    use crate::order::vertex_cache;
    use crate::samples::{Random, Sample, mirrored_sheet, soup, sphere};
    use crate::vector::{Vec3, dot, face, length, sub};

    fn built(sample: &Sample) -> Meshlets {
        build(Triangles::new(&sample.indices, sample.positions.len()).unwrap(), &sample.positions)
    }

    /// Returns each meshlet's triangles as vertex indices of the mesh.
    fn expand(meshlets: &Meshlets) -> impl Iterator<Item = (Vec<[u32; 3]>, &MeshletBounds)> {
        meshlets.meshlets.iter().zip(&meshlets.bounds).map(|(meshlet, bounds)| {
            let at = meshlet.vertex_offset as usize;
            let vertices = &meshlets.vertices[at..at + meshlet.vertex_count as usize];
            let at = meshlet.triangle_offset as usize;
            let triangles = &meshlets.triangles[at..at + meshlet.triangle_count as usize];
            (triangles.iter().map(|t| t.map(|local| vertices[usize::from(local)])).collect(), bounds)
        })
    }

    fn check(sample: &Sample) -> Meshlets {
        let meshlets = built(sample);
        // Limits are respected, and ranges have no gaps.
        let (mut vertices, mut triangles) = (0, 0);
        for meshlet in &meshlets.meshlets {
            assert_eq!((meshlet.vertex_offset, meshlet.triangle_offset), (vertices, triangles));
            assert!((1..=64).contains(&meshlet.vertex_count) && (1..=124).contains(&meshlet.triangle_count));
            (vertices, triangles) = (vertices + meshlet.vertex_count, triangles + meshlet.triangle_count);
        }
        assert_eq!(
            (meshlets.vertices.len(), meshlets.triangles.len()),
            (vertices as usize, triangles as usize)
        );
        // Every triangle occurs once, with its winding.
        let all = Triangles::new(&sample.indices, sample.positions.len()).unwrap();
        assert_eq!(multiset(expand(&meshlets).flat_map(|(t, _)| t)), multiset(all.iter()));
        // Every vertex is inside the sphere.
        for (triangles, bounds) in expand(&meshlets) {
            for &vertex in triangles.iter().flatten() {
                assert!(length(sub(sample.positions[vertex as usize], bounds.center)) <= bounds.radius);
            }
        }
        meshlets
    }

    #[test]
    fn builds_spheres_soups_and_single_triangles() {
        check(&sphere(3, 2));
        check(&sphere(64, 32));
        for seed in 0..20 {
            check(&soup(seed, 100, 500));
            check(&soup(seed, 5, 100));
        }
        let one = Sample { indices: vec![2, 1, 0], ..soup(1, 3, 1) };
        assert_eq!(check(&one).meshlets.len(), 1);
        let collapsed = Sample { indices: vec![1, 1, 1, 0, 1, 1], ..soup(1, 3, 1) };
        check(&collapsed);
        assert_eq!(build(Triangles::new(&[], 0).unwrap(), &[]), Meshlets::default());
    }

    #[test]
    fn spheres_are_as_small_as_those_of_meshoptimizer() {
        for mut sample in [sphere(200, 100), mirrored_sheet(150), soup(5, 3000, 1000)] {
            let count = sample.positions.len();
            sample.indices = vertex_cache(Triangles::new(&sample.indices, count).unwrap());
            let ours = check(&sample);
            let vertices = adapter(&sample.positions);
            let standard = meshopt::build_meshlets(&sample.indices, &vertices, 64, 124, 0.25);
            let squares =
                |radii: &mut dyn Iterator<Item = f32>| radii.map(|r| f64::from(r).powi(2)).sum::<f64>();
            let theirs =
                squares(&mut standard.iter().map(|m| meshopt::compute_meshlet_bounds(m, &vertices).radius));
            assert!(squares(&mut ours.bounds.iter().map(|b| b.radius)) <= theirs * 1.001);
            assert!(ours.meshlets.len() <= standard.len() * 103 / 100);
        }
    }

    #[test]
    fn high_valence_triangles_are_ranked_once_per_cluster() {
        // Around one vertex, around both ends of one edge, and all on one point.
        let fan = |count: u32| (0..count).flat_map(|i| [0, 2 + i, 3 + i]).collect::<Vec<u32>>();
        let book = |count: u32| (0..count).flat_map(|i| [0, 1, 2 + i]).collect::<Vec<u32>>();
        let point = |count: u32| vec![0; count as usize * 3];
        let limits = Limits { vertices: MAX_VERTICES, triangles: MAX_TRIANGLES, cone_weight: CONE_WEIGHT };
        let ranked = |indices: &[u32], positions: &[Vec3]| {
            let (triangles, _) = indices.as_chunks::<3>();
            grow(triangles, positions, limits).ranked as f64 / triangles.len() as f64
        };
        for count in [1000, 10_000] {
            let turn = |i: u32| i as f32 / count as f32 * std::f32::consts::TAU;
            let mut positions = vec![[0.0, 0.0, 0.5], [0.0, 0.0, -0.5]];
            positions.extend((0..=count).map(|i| [libm::cosf(turn(i)), libm::sinf(turn(i)), 0.0]));
            for mut indices in [fan(count), book(count), point(count)] {
                let copies = crate::high_valence::split(&mut indices, positions.len());
                let mut positions = positions.clone();
                positions.extend(copies.iter().map(|&vertex| positions[vertex as usize]).collect::<Vec<_>>());
                // A cluster ranks the triangles around a vertex when the vertex joins it, not with each
                // triangle: that would be half of the 1,024.
                let ranked = ranked(&indices, &positions);
                assert!(ranked < 48.0, "{count}: {ranked}");
            }
        }
    }

    #[test]
    fn culled_meshlets_face_away() {
        let mut sample = sphere(96, 48);
        sample.indices = vertex_cache(Triangles::new(&sample.indices, sample.positions.len()).unwrap());
        let meshlets = built(&sample);
        let mut random = Random(7);
        let mut culled = 0;
        for _ in 0..50 {
            let camera: Vec3 = std::array::from_fn(|_| random.signed() * 4.0);
            for (triangles, bounds) in expand(&meshlets) {
                let towards = sub(bounds.center, camera);
                if dot(towards, bounds.cone_axis) < bounds.cone_cutoff * length(towards) + bounds.radius {
                    continue;
                }
                culled += 1;
                for corners in triangles {
                    let [a, b, c] = corners.map(|corner| sample.positions[corner as usize]);
                    let (normal, view) = (face(a, b, c), sub(a, camera).map(f64::from));
                    let facing = normal[0] * view[0] + normal[1] * view[1] + normal[2] * view[2];
                    assert!(facing >= -1e-9, "a culled triangle faces the camera");
                }
            }
        }
        assert!(culled > 50 * meshlets.meshlets.len() / 10);
    }
}
