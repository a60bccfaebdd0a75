//! Tangents as MikkTSpace defines them, with the handedness of glTF.
//!
//! Morten Mikkelsen, *Simulation of Wrinkled Surfaces Revisited* (2008), and the convention of its reference
//! implementation: corners with equal position, normal and UVs that are connected by edges, and whose UVs are
//! not mirrored between them, share one tangent: the average of their faces' tangents, each projected on the
//! plane of the normal and weighted by the angle of its corner there. The reference recurses as deep as a fan
//! is wide; this implementation processes vertex by vertex, in parallel, in near-linear time for any input.
//!
//! Kiln's own code instead of `meshopt::generate_tangents`, because it takes less CPU time (8.0 ms instead of
//! 9.2 ms for a sphere of 65,536 triangles, 127 ms instead of 192 ms for 1,048,576, on one thread; `own_code`
//! in `bench/mesh`), runs on all threads, and returns a tangent for each vertex with the few vertices to
//! split, whereas the other returns one for each corner, and the mesh has to be welded again.
//! `bevy_mikktspace`, the exact form, is the reference of its tests.
//!
//! `tangent[3]` is **minus** the sign that the reference reports, because glTF's UVs start at the top left:
//! `cross(normal, tangent.xyz) * tangent.w` points up in the texture.
//!
//! Where UVs are degenerate:
//! - a face without area in the texture contributes nothing, and its corners take the tangent of an adjacent
//!   face;
//! - a triangle with two coincident corners is invisible, and takes the tangents of its vertices;
//! - a vertex without any usable face gets a unit vector perpendicular to its normal, with handedness 1.
//!
//! Tangents at one vertex can differ (where the texture is mirrored, for example): then the vertex is split.

mod fan;

use crate::Triangles;
use crate::vector::{Vec3, flatten, length, scale, sub, unit};
use crate::weld::{Attribute, firsts};
use fan::Fan;
use rayon::prelude::*;

/// Generates tangents for `triangles`.
///
/// Vertices with equal position, normal and UVs may be split or shared: the result at each corner is the
/// same. Normals must be unit vectors. Every attribute has an element for each vertex.
pub(crate) fn make(
    triangles: Triangles<'_>,
    positions: &[[f32; 3]],
    normals: &[[f32; 3]],
    uvs: &[[f32; 2]],
) -> GeneratedTangents {
    let keys = [Attribute::F3(positions), Attribute::F3(normals), Attribute::F2(uvs)];
    let firsts = firsts(triangles.vertex_count(), &keys);
    // In a welded mesh every vertex is unique; then the mapping to the first equal vertex is not needed.
    if firsts.iter().enumerate().all(|(at, &first)| at as u32 == first) {
        drop(firsts);
        return make_welded(triangles, positions, normals, uvs);
    }
    let joined: Vec<u32> = triangles.indices().iter().map(|&index| firsts[index as usize]).collect();
    let topology = Triangles::trusted(&joined, triangles.vertex_count());
    TangentMesh { topology, named: triangles.indices(), positions, normals, uvs }.generate()
}

/// Generates tangents as [`make`] does, for vertices that are known to differ in position, normal or UVs.
pub(crate) fn make_welded(
    triangles: Triangles<'_>,
    positions: &[[f32; 3]],
    normals: &[[f32; 3]],
    uvs: &[[f32; 2]],
) -> GeneratedTangents {
    TangentMesh { topology: triangles, named: triangles.indices(), positions, normals, uvs }.generate()
}

/// A tangent for every vertex, the vertices that were split, and the corners of the split vertices.
#[derive(Default)]
pub(crate) struct GeneratedTangents {
    /// One tangent per vertex: the original vertices, then the added ones.
    pub(crate) tangents: Vec<[f32; 4]>,
    /// For each added vertex the one that it copies.
    pub(crate) added: Vec<u32>,
    /// Corners and their new vertices.
    moved: Vec<(u32, u32)>,
}

impl GeneratedTangents {
    /// Redirects the corners of `indices` to their new vertices.
    pub(crate) fn rename(&self, indices: &mut [u32]) {
        self.moved.iter().for_each(|&(corner, vertex)| indices[corner as usize] = vertex);
    }

    /// Numbers the vertices that a block adds.
    fn link(&mut self, block: Block) {
        let base = self.tangents.len() as u32;
        for (vertex, tangent) in block.first {
            self.tangents[vertex as usize] = tangent;
        }
        for (vertex, tangent) in block.added {
            self.added.push(vertex);
            self.tangents.push(tangent);
        }
        self.moved.extend(block.moved.into_iter().map(|(corner, which)| (corner, base + which)));
    }
}

/// Triangles or vertices per unit of parallel work.
const BLOCK: usize = 2048;

/// Units whose results are in memory at a time.
const BATCH: usize = 64;

struct TangentMesh<'a> {
    /// Indices in which equal vertices are merged.
    topology: Triangles<'a>,
    /// The original indices: the vertex that a corner is written to.
    named: &'a [u32],
    positions: &'a [Vec3],
    normals: &'a [Vec3],
    uvs: &'a [[f32; 2]],
}

/// The classification of a face by its UVs.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Two corners of the triangle coincide.
    Collapsed,
    /// No area in the texture: compatible with any neighbour.
    NoUvArea,
    /// Not mirrored (orientation preserving, in the reference's terms).
    Preserving,
    Mirrored,
}

/// The direction of increasing u of a face.
#[derive(Clone, Copy)]
struct Face {
    tangent: Vec3,
    kind: Kind,
}

/// The result for a block of vertices.
#[derive(Default)]
struct Block {
    /// The tangent of each vertex.
    first: Vec<(u32, [f32; 4])>,
    /// Further tangents: the copied vertex and the tangent.
    added: Vec<(u32, [f32; 4])>,
    /// Corners of an added vertex: the corner and the index in `added`.
    moved: Vec<(u32, u32)>,
}

impl TangentMesh<'_> {
    fn generate(&self) -> GeneratedTangents {
        let count = self.topology.vertex_count();
        let (faces, (offsets, corners)) = rayon::join(|| self.faces(), || corners_by_vertex(self.topology));
        let mut made = GeneratedTangents { tangents: vec![[0.0; 4]; count], ..GeneratedTangents::default() };
        let units = count.div_ceil(BLOCK);
        for batch in (0..units).step_by(BATCH) {
            let build = |unit: usize| {
                let mut out = Block::default();
                let mut fan = Fan::default();
                for vertex in unit * BLOCK..((unit + 1) * BLOCK).min(count) {
                    let around = &corners[offsets[vertex] as usize..offsets[vertex + 1] as usize];
                    if !around.is_empty() {
                        fan.build(self, &faces, vertex, around);
                        fan.write(self.named, around, &mut out);
                    }
                }
                out
            };
            let blocks: Vec<Block> = (batch..(batch + BATCH).min(units)).into_par_iter().map(build).collect();
            blocks.into_iter().for_each(|block| made.link(block));
        }
        made
    }

    fn faces(&self) -> Vec<Face> {
        let (triangles, _) = self.topology.indices().as_chunks::<3>();
        triangles.par_iter().with_min_len(BLOCK).map(|&triangle| self.face(triangle)).collect()
    }

    fn face(&self, triangle: [u32; 3]) -> Face {
        let [p0, p1, p2] = triangle.map(|vertex| self.positions[vertex as usize]);
        if p0 == p1 || p1 == p2 || p2 == p0 {
            return Face { tangent: [0.0; 3], kind: Kind::Collapsed };
        }
        let [t0, t1, t2] = triangle.map(|vertex| self.uvs[vertex as usize]);
        let (d1, d2) = (sub(p1, p0), sub(p2, p0));
        let (t1, t2) = ([t1[0] - t0[0], t1[1] - t0[1]], [t2[0] - t0[0], t2[1] - t0[1]]);
        let area = t1[0] * t2[1] - t1[1] * t2[0];
        // Directions of increasing u and v, times the area.
        let s = sub(scale(d1, t2[1]), scale(d2, t1[1]));
        let t = sub(scale(d2, t1[0]), scale(d1, t2[0]));
        let some = |x: f32| x.abs() > f32::MIN_POSITIVE;
        if !some(area) || !some(length(s) / area.abs()) || !some(length(t) / area.abs()) {
            return Face { tangent: [0.0; 3], kind: Kind::NoUvArea };
        }
        let (sign, kind) = if area > 0.0 { (1.0, Kind::Preserving) } else { (-1.0, Kind::Mirrored) };
        Face { tangent: scale(unit(s), sign), kind }
    }
}

/// Returns for each vertex its corners, ascending: all in one list, and the start of each vertex's range.
fn corners_by_vertex(triangles: Triangles<'_>) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0u32; triangles.vertex_count() + 2];
    for &vertex in triangles.indices() {
        offsets[vertex as usize + 2] += 1;
    }
    for at in 2..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    // Filled through the entry after the vertex's own, which ends up at the start of its range.
    let mut corners = vec![0u32; triangles.indices().len()];
    for (corner, &vertex) in triangles.indices().iter().enumerate() {
        let end = &mut offsets[vertex as usize + 1];
        corners[*end as usize] = corner as u32;
        *end += 1;
    }
    offsets.pop();
    (offsets, corners)
}

/// Returns a unit vector perpendicular to `normal`: along x, or y where x is too close to the normal.
pub(crate) fn perpendicular(normal: Vec3) -> Vec3 {
    let axis = if normal[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    unit(flatten(axis, normal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Sample, mirrored_sheet, soup, sphere};
    use crate::vector::dot;
    use proptest::prelude::*;

    /// The tangents of the reference per corner, with glTF's handedness; `None` where it has none.
    struct Reference<'a> {
        sample: &'a Sample,
        tangents: Vec<Option<[f32; 4]>>,
    }

    impl Reference<'_> {
        fn vertex(&self, face: usize, corner: usize) -> usize {
            self.sample.indices[face * 3 + corner] as usize
        }
    }

    impl bevy_mikktspace::Geometry for Reference<'_> {
        fn num_faces(&self) -> usize {
            self.sample.indices.len() / 3
        }
        fn num_vertices_of_face(&self, _: usize) -> usize {
            3
        }
        fn position(&self, face: usize, corner: usize) -> [f32; 3] {
            self.sample.positions[self.vertex(face, corner)]
        }
        fn normal(&self, face: usize, corner: usize) -> [f32; 3] {
            self.sample.normals[self.vertex(face, corner)]
        }
        fn tex_coord(&self, face: usize, corner: usize) -> [f32; 2] {
            self.sample.uvs[self.vertex(face, corner)]
        }
        fn set_tangent(&mut self, space: Option<bevy_mikktspace::TangentSpace>, face: usize, corner: usize) {
            self.tangents[face * 3 + corner] = space.map(|space| {
                let [x, y, z, w] = space.tangent_encoded();
                [x, y, z, -w]
            });
        }
    }

    fn reference(sample: &Sample) -> Vec<Option<[f32; 4]>> {
        let mut reference = Reference { sample, tangents: vec![None; sample.indices.len()] };
        bevy_mikktspace::generate_tangents(&mut reference).expect("a mesh that the reference accepts");
        reference.tangents
    }

    /// The tangents, and the triangles over all vertices.
    #[derive(Debug, PartialEq)]
    struct Tangents {
        tangents: Vec<[f32; 4]>,
        added: Vec<u32>,
        indices: Vec<u32>,
    }

    fn made(sample: &Sample) -> Tangents {
        let triangles = Triangles::new(&sample.indices, sample.positions.len()).unwrap();
        let made = make(triangles, &sample.positions, &sample.normals, &sample.uvs);
        let mut indices = sample.indices.clone();
        made.rename(&mut indices);
        Tangents { tangents: made.tangents, added: made.added, indices }
    }

    /// Returns the angle between two directions in degrees.
    fn angle(a: [f32; 4], b: [f32; 4]) -> f64 {
        let wide = |v: [f32; 4]| [v[0], v[1], v[2]].map(f64::from);
        let (a, b) = (wide(a), wide(b));
        let dot: f64 = (0..3).map(|i| a[i] * b[i]).sum();
        let cross: f64 =
            (0..3).map(|i| (a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]).powi(2)).sum();
        libm::atan2(cross.sqrt(), dot).to_degrees()
    }

    /// Checks every corner of a non-degenerate face, and returns the number of corners.
    fn agree(sample: &Sample, tolerance: f64) -> usize {
        let (ours, theirs) = (made(sample), reference(sample));
        let triangles = Triangles::new(&sample.indices, sample.positions.len()).unwrap();
        let mesh = TangentMesh {
            topology: triangles,
            named: &sample.indices,
            positions: &sample.positions,
            normals: &sample.normals,
            uvs: &sample.uvs,
        };
        let mut checked = 0;
        for (at, corners) in triangles.iter().enumerate() {
            if !matches!(mesh.face(corners).kind, Kind::Preserving | Kind::Mirrored) {
                continue;
            }
            for (index, their) in ours.indices[at * 3..].iter().zip(&theirs[at * 3..]).take(3) {
                let our = ours.tangents[*index as usize];
                let their = their.expect("the reference has every valid face");
                assert_eq!(our[3], their[3], "handedness in triangle {at}");
                assert!(angle(our, their) < tolerance, "triangle {at}: {our:?} for {their:?}");
                checked += 1;
            }
        }
        checked
    }

    #[test]
    fn quad_has_gltf_handedness() {
        // Facing +z, u to the right, v down: the bitangent must point up.
        let sample = Sample {
            positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
            normals: vec![[0.0, 0.0, 1.0]; 4],
            uvs: vec![[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
            indices: vec![0, 1, 2, 0, 2, 3],
        };
        let made = made(&sample);
        assert_eq!(made.tangents, [[1.0, 0.0, 0.0, 1.0]; 4]);
        assert!(made.added.is_empty());
        assert_eq!(agree(&sample, 1e-3), 6);
    }

    #[test]
    fn spheres_match_the_reference() {
        assert_eq!(agree(&sphere(48, 24), 0.1), (48 * 24 * 2 - 2 * 48) * 3);
        agree(&sphere(200, 100), 0.1);
    }

    #[test]
    fn mirrored_uvs_split_the_mirror_line() {
        let sample = mirrored_sheet(16);
        assert_eq!(agree(&sample, 0.1), sample.indices.len());
        let made = made(&sample);
        // The middle column, and nothing else.
        assert_eq!(made.added.len(), 17);
        assert!(made.added.iter().all(|vertex| vertex % 17 == 8));
    }

    #[test]
    fn triangle_soups_match_the_reference() {
        // Few triangles per edge, so that the choice among several neighbours does not matter.
        for seed in 0..40 {
            agree(&soup(seed, 300, 200), 0.1);
        }
    }

    #[test]
    fn unwelded_mesh_gives_the_same_tangents() {
        let shared = mirrored_sheet(6);
        let gather = |sample: &Sample| Sample {
            positions: sample.indices.iter().map(|&i| sample.positions[i as usize]).collect(),
            normals: sample.indices.iter().map(|&i| sample.normals[i as usize]).collect(),
            uvs: sample.indices.iter().map(|&i| sample.uvs[i as usize]).collect(),
            indices: (0..sample.indices.len() as u32).collect(),
        };
        let apart = gather(&shared);
        let (a, b) = (made(&shared), made(&apart));
        assert!(b.added.is_empty());
        for corner in 0..shared.indices.len() {
            assert_eq!(a.tangents[a.indices[corner] as usize], b.tangents[b.indices[corner] as usize]);
        }
    }

    #[test]
    fn degenerate_corners_get_tangents() {
        // The second triangle has no area in the texture, the third none in space, the fourth no neighbour.
        let sample = Sample {
            positions: vec![
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [0.0, 1.0, 0.0],
                [1.0, 1.0, 0.0],
                [5.0, 0.0, 0.0],
                [6.0, 0.0, 0.0],
                [5.0, 1.0, 0.0],
            ],
            normals: vec![[0.0, 0.0, 1.0]; 7],
            uvs: vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0; 2], [0.0; 2], [0.0; 2]],
            indices: vec![0, 1, 2, 2, 1, 3, 0, 0, 1, 4, 5, 6],
        };
        let made = made(&sample);
        let at = |corner: usize| made.tangents[made.indices[corner] as usize];
        for corner in 0..12 {
            let [x, y, z, w] = at(corner);
            assert!(w.abs() == 1.0 && (length([x, y, z]) - 1.0).abs() < 1e-6 && z == 0.0);
        }
        assert_eq!([at(3), at(4)], [at(2), at(1)]);
        assert_eq!(at(9), [1.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn large_fan_takes_linear_time() {
        let count = 200_000;
        let mut positions = vec![[0.0, 0.0, 1.0]];
        positions.extend((0..=count).map(|i| {
            let turn = i as f32 / count as f32 * 6.0;
            [libm::cosf(turn), libm::sinf(turn), 0.0]
        }));
        let uvs: Vec<[f32; 2]> = positions.iter().map(|p| [p[0], p[1]]).collect();
        let indices: Vec<u32> = (0..count as u32).flat_map(|i| [0, i + 1, i + 2]).collect();
        let normals = vec![[0.0, 0.0, 1.0]; positions.len()];
        let made = make(Triangles::new(&indices, positions.len()).unwrap(), &positions, &normals, &uvs);
        assert!(made.added.is_empty());
        assert!(angle(made.tangents[0], [1.0, 0.0, 0.0, 0.0]) < 0.1);
        // Degenerate triangles on one point, and unconnected ones that share only it.
        let points = vec![0; 300_000];
        make(Triangles::new(&points, 1).unwrap(), &positions, &normals, &uvs);
        let spread: Vec<u32> = (0..100_000).flat_map(|i| [0, i * 2 + 1, i * 2 + 2]).collect();
        make(Triangles::new(&spread, positions.len()).unwrap(), &positions, &normals, &uvs);
    }

    proptest! {
        /// For any mesh: unit vectors perpendicular to the normal, the same triangles, the same result for
        /// any number of threads.
        #[test]
        fn tangents_are_valid_for_any_mesh(seed: u64, vertices in 3u32..30, triangles in 1u32..200) {
            let sample = soup(seed, vertices, triangles);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            let made = made(&sample);
            prop_assert_eq!(&made, &pool.install(|| self::made(&sample)));
            let source = |index: u32| made.added.get((index as usize).wrapping_sub(vertices as usize)).copied().unwrap_or(index);
            prop_assert!(made.indices.iter().map(|&i| source(i)).eq(sample.indices.iter().copied()));
            for &index in &made.indices {
                let [x, y, z, w] = made.tangents[index as usize];
                let normal = sample.normals[source(index) as usize];
                prop_assert!((length([x, y, z]) - 1.0).abs() < 1e-5 && w.abs() == 1.0);
                prop_assert!(dot([x, y, z], normal).abs() < 1e-3);
            }
        }
    }
}
