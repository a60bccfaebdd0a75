//! Properties of the whole mesh pipeline.

use super::*;
use crate::order::tests::multiset;
use crate::samples::{Sample, mirrored_sheet, soup, sphere};
use crate::vector::{dot, face, scale, unit64};
use crate::{Triangles, octahedral};
use proptest::prelude::*;

fn input(sample: &Sample) -> MeshInput<'_> {
    MeshInput {
        indices: Cow::Borrowed(&sample.indices),
        positions: Cow::Borrowed(&sample.positions),
        normals: Some(Cow::Borrowed(&sample.normals)),
        uvs: Some(Cow::Borrowed(&sample.uvs)),
        ..MeshInput::default()
    }
}

type Corner = ([u32; 3], [i16; 2], [u32; 2]);

/// Returns triangles by the attributes of their corners, winding kept: positions, packed normals, UVs.
fn source(input: &MeshInput<'_>) -> Vec<[Corner; 3]> {
    let bits = |x: f32| (x + 0.0).to_bits();
    multiset(Triangles::new(&input.indices, input.positions.len()).unwrap().iter().map(|t| {
        t.map(|v| {
            let v = v as usize;
            let normal = octahedral::encode(input.normals.as_ref().unwrap()[v]);
            (input.positions[v].map(bits), normal, input.uvs.as_ref().map_or([0, 0], |uvs| uvs[v].map(bits)))
        })
    }))
}

fn result(output: &MeshOutput, indices: impl Iterator<Item = [u32; 3]>) -> Vec<[Corner; 3]> {
    multiset(indices.map(|t| {
        t.map(|v| {
            let vertex = output.vertices[v as usize];
            (vertex.position.map(f32::to_bits), vertex.normal, vertex.uv.map(f32::to_bits))
        })
    }))
}

fn triples(indices: &[u32]) -> impl Iterator<Item = [u32; 3]> {
    indices.as_chunks::<3>().0.iter().copied()
}

/// Checks the invariants of any output.
fn assert_valid(output: &MeshOutput) {
    let count = output.vertices.len();
    for indices in [&output.indices].into_iter().chain(output.lods.iter().map(|lod| &lod.indices)) {
        assert!(Triangles::new(indices, count).is_ok());
    }
    for vertex in &output.vertices {
        let p = vertex.position;
        assert!(p.iter().all(|x| x.is_finite()));
        assert!((0..3).all(|a| output.bounds.min[a] <= p[a] && p[a] <= output.bounds.max[a]));
        let apart = |a: usize| f64::from(p[a]) - f64::from(output.bounds.center[a]);
        let square: f64 = (0..3).map(|a| apart(a) * apart(a)).sum();
        assert!(square.sqrt() <= f64::from(output.bounds.radius));
    }
    let lists = output.meshlets.meshlets.iter().flat_map(|m| {
        let vertices = &output.meshlets.vertices[m.vertex_offset as usize..][..m.vertex_count as usize];
        let triangles = &output.meshlets.triangles[m.triangle_offset as usize..][..m.triangle_count as usize];
        triangles.iter().map(|t| t.map(|local| vertices[usize::from(local)]))
    });
    if !output.meshlets.meshlets.is_empty() {
        assert_eq!(multiset(lists), multiset(triples(&output.indices)));
    }
    assert!(output.skin.is_empty() || output.skin.len() == count);
}

#[test]
fn keeps_every_triangle() {
    let all = MeshOptions::default();
    let plain = MeshOptions {
        optimize: false,
        meshlets: false,
        lods: LodRule::Ratios(vec![]),
        ..MeshOptions::default()
    };
    for sample in [sphere(24, 12), mirrored_sheet(8), soup(3, 40, 100)] {
        for settings in [&all, &plain] {
            let output = process(input(&sample), settings).unwrap();
            assert_valid(&output);
            assert_eq!(result(&output, triples(&output.indices)), source(&input(&sample)));
            assert!(output.has_tangents);
            assert_eq!(output.lods.len(), settings.lods.ratios(0).len());
            assert_eq!(output.meshlets.meshlets.is_empty(), !settings.meshlets);
        }
    }
}

#[test]
fn streams_equal_unpacked_vertices() {
    let sample = mirrored_sheet(12);
    let packed = process(input(&sample), &MeshOptions::default()).unwrap();
    let uv1: Vec<[f32; 2]> = sample.uvs.iter().map(|&[u, v]| [v, u]).collect();
    let with_uv1 = MeshInput { uv1: Some(Cow::Borrowed(&uv1)), ..input(&sample) };
    let output = process_streams(with_uv1, &MeshOptions::default()).unwrap();
    assert_eq!(
        (&output.indices, &output.meshlets, &output.lods),
        (&packed.indices, &packed.meshlets, &packed.lods)
    );
    assert_eq!((output.bounds, output.has_tangents), (packed.bounds, true));
    let streams = &output.vertices;
    for (at, vertex) in packed.vertices.iter().enumerate() {
        assert_eq!((vertex.position, vertex.uv), (streams.positions[at], streams.uvs[at]));
        assert_eq!(vertex.normal, octahedral::encode(streams.normals[at]));
        assert_eq!(vertex.tangent, octahedral::encode_tangent(streams.tangents[at]));
        assert_eq!(streams.uv1[at], [vertex.uv[1], vertex.uv[0]]);
    }
}

#[test]
fn options_drop_attributes() {
    let sample = mirrored_sheet(8);
    let mut options = MeshOptions { tangents: TangentMode::None, ..MeshOptions::default() };
    let output = process_streams(input(&sample), &options).unwrap();
    assert!(output.vertices.tangents.is_empty() && !output.has_tangents && output.notes.is_empty());
    options.normals = false;
    options.tangents = TangentMode::Auto;
    let output = process_streams(input(&sample), &options).unwrap();
    assert!(output.vertices.normals.is_empty() && !output.has_tangents && output.notes.is_empty());
    assert_valid(&process(input(&sample), &options).unwrap());
    // All or none of the authored tangents.
    let mut authored = vec![[1.0, 0.0, 0.0, -1.0]; sample.positions.len()];
    options = MeshOptions { tangents: TangentMode::KeepIfAllUsable, ..MeshOptions::default() };
    let with = |authored: &[[f32; 4]]| {
        let input = MeshInput { tangents: Some(Cow::Borrowed(authored)), ..input(&sample) };
        process_streams(input, &options).unwrap().vertices.tangents
    };
    assert!(with(&authored).iter().all(|tangent| *tangent == [1.0, 0.0, 0.0, -1.0]));
    authored[7] = [0.0; 4];
    assert!(with(&authored).iter().any(|tangent| tangent[3] == 1.0));
}

#[test]
fn shadow_geometry_keeps_triangles_and_merges_vertices() {
    let sample = sphere(48, 24);
    let options = MeshOptions { shadow: true, ..MeshOptions::default() };
    let output = process_streams(input(&sample), &options).unwrap();
    let shadow = output.shadow.unwrap();
    // The seam and the poles.
    assert!(shadow.positions.len() + 48 < output.vertices.positions.len());
    let places = |positions: &[[f32; 3]], indices: &[u32]| {
        multiset(triples(indices).map(|t| t.map(|v| positions[v as usize].map(f32::to_bits))))
    };
    let main = &output.vertices.positions;
    assert_eq!(places(main, &output.indices), places(&shadow.positions, &shadow.indices));
    assert_eq!(shadow.lods.len(), output.lods.len());
    for (lod, of_shadow) in output.lods.iter().zip(&shadow.lods) {
        assert_eq!(places(main, &lod.indices), places(&shadow.positions, &of_shadow.indices));
    }
}

#[test]
fn simplifies_to_the_index_type() {
    let sample = sphere(48, 24);
    let reduced = |max_index| {
        let options = MeshOptions { max_index: Some(max_index), ..MeshOptions::default() };
        process(input(&sample), &options)
    };
    let output = reduced(255).unwrap();
    assert_valid(&output);
    assert!((128..=256).contains(&output.vertices.len()), "{}", output.vertices.len());
    assert_eq!(reduced(100_000).unwrap(), process(input(&sample), &MeshOptions::default()).unwrap());
    assert!(matches!(reduced(1).unwrap_err(), Error::IndexType { most: 2, .. }));
}

#[test]
fn lock_border_and_halve_down_to_are_applied() {
    let sample = mirrored_sheet(32);
    let options = MeshOptions {
        lods: LodRule::HalveDownTo(500),
        lock_border: true,
        optimize: false,
        ..MeshOptions::default()
    };
    let output = process_streams(input(&sample), &options).unwrap();
    // 2048 triangles: 1024 and 512.
    assert_eq!(output.lods.len(), 2);
    let at_border = |p: &[f32; 3]| p[..2].iter().any(|&c| c == 0.0 || c == 1.0);
    for lod in &output.lods {
        let mut left: Vec<[u32; 3]> = lod
            .indices
            .iter()
            .map(|&v| output.vertices.positions[v as usize])
            .filter(at_border)
            .map(|p| p.map(f32::to_bits))
            .collect();
        left.sort_unstable();
        left.dedup();
        assert_eq!(left.len(), 128);
    }
}

#[test]
fn result_does_not_depend_on_thread_count() {
    let sample = sphere(400, 200);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| process(input(&sample), &MeshOptions::default())).unwrap()
    };
    let one = run(1);
    assert!(one == run(2) && one == run(5));
}

#[test]
fn flat_normals_without_normals_and_no_tangents_without_uvs() {
    let sample = sphere(12, 6);
    let output =
        process(MeshInput { normals: None, uvs: None, ..input(&sample) }, &MeshOptions::default()).unwrap();
    assert_valid(&output);
    assert_eq!(output.notes, [Note::FlatNormals, Note::NoTangents]);
    assert!(!output.has_tangents && output.vertices.iter().all(|v| v.tangent == [0, 0] && v.uv == [0.0; 2]));
    for t in triples(&output.indices) {
        let [a, b, c] = t.map(|v| output.vertices[v as usize]);
        let face = unit64(face(a.position, b.position, c.position));
        assert!([a, b, c].iter().all(|v| v.normal == octahedral::encode(face)));
    }
}

#[test]
fn tangent_modes_handle_authored_tangents() {
    let sample = mirrored_sheet(8);
    let made = process(input(&sample), &MeshOptions::default()).unwrap();
    // Kept: one direction everywhere.
    let authored = vec![[1.0, 0.0, 0.0, -1.0]; sample.positions.len()];
    let with = MeshInput { tangents: Some(Cow::Borrowed(&authored)), ..input(&sample) };
    let output = process(with.clone(), &MeshOptions::default()).unwrap();
    assert!(output.notes.is_empty());
    assert!(output.vertices.iter().all(|v| v.tangent == octahedral::encode_tangent(authored[0])));
    // Generated again on request.
    let generate = MeshOptions { tangents: TangentMode::Generate, ..MeshOptions::default() };
    assert_eq!(process(with.clone(), &generate).unwrap(), made);
    // Different at every corner: they would prevent all welding.
    let apart = Sample {
        positions: sample.indices.iter().map(|&i| sample.positions[i as usize]).collect(),
        normals: sample.indices.iter().map(|&i| sample.normals[i as usize]).collect(),
        uvs: sample.indices.iter().map(|&i| sample.uvs[i as usize]).collect(),
        indices: (0..sample.indices.len() as u32).collect(),
    };
    let wild: Vec<[f32; 4]> = (0..apart.indices.len()).map(|i| [1.0, i as f32 * 1e-3, 0.0, 1.0]).collect();
    let with = MeshInput { tangents: Some(Cow::Borrowed(&wild)), ..input(&apart) };
    let output = process(with.clone(), &MeshOptions::default()).unwrap();
    assert_eq!(output.notes, [Note::TangentsPreventedWelding { with: 384, without: 81 }]);
    assert_eq!(output.vertices, made.vertices);
    let keep = MeshOptions { tangents: TangentMode::Keep, ..MeshOptions::default() };
    assert_eq!(process(with.clone(), &keep).unwrap().vertices.len(), 384);
    // Invalid tangents.
    let broken = vec![[f32::NAN, 0.0, 0.0, 1.0]; sample.positions.len()];
    let with = MeshInput { tangents: Some(Cow::Borrowed(&broken)), ..input(&sample) };
    let output = process(with.clone(), &MeshOptions::default()).unwrap();
    assert_eq!(output.notes, [Note::UnusableTangents(81)]);
    assert_eq!(output.vertices, made.vertices);
    let output = process(MeshInput { uvs: None, ..with }, &keep).unwrap();
    assert!(output.has_tangents && output.vertices.iter().all(|v| v.tangent != [0, 0]));
}

#[test]
fn mirrored_nodes_keep_front_faces() {
    let sample = sphere(16, 8);
    let mut matrix = [0.0; 16];
    (matrix[0], matrix[5], matrix[10], matrix[15], matrix[13]) = (-2.0, 1.0, 3.0, 1.0, 10.0);
    let transform = Transform::new(&matrix);
    let output =
        process(MeshInput { transform: Some(&transform), ..input(&sample) }, &MeshOptions::default())
            .unwrap();
    assert_valid(&output);
    let plain = process(input(&sample), &MeshOptions::default()).unwrap();
    for t in triples(&output.indices) {
        let corners = t.map(|v| output.vertices[v as usize]);
        let face = unit64(face(corners[0].position, corners[1].position, corners[2].position));
        if face == [0.0; 3] {
            continue;
        }
        for corner in corners {
            assert!(dot(face, octahedral::decode(corner.normal)) > 0.3);
            let outward = [corner.position[0], corner.position[1] - 10.0, corner.position[2]];
            assert!(dot(face, outward) > 0.0);
        }
    }
    // The UVs run the other way around. (The two vertices at the poles that only degenerate triangles use
    // have no UVs to derive a tangent from.)
    let left = |output: &MeshOutput| output.vertices.iter().filter(|v| v.tangent[0] & 1 == 1).count();
    assert_eq!((left(&plain), left(&output)), (plain.vertices.len() - 2, 2));
    // Transformed beyond f32, the mesh is rejected.
    matrix[0] = 1e300;
    let far = Transform::new(&matrix);
    let error =
        process(MeshInput { transform: Some(&far), ..input(&sample) }, &MeshOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NotFinite { .. }));
}

#[test]
fn welds_by_bone_influence_and_shares_tangents() {
    let sample = mirrored_sheet(8);
    let count = sample.positions.len();
    let joints: Vec<[u16; 4]> = (0..count).map(|i| [(i % 3) as u16, 9, 0, 0]).collect();
    let weights = vec![[3.0, 1.0, 0.0, 0.0]; count];
    let sets = [InfluenceSet { joints: &joints, weights: &weights }];
    let output = process(MeshInput { skin: &sets, ..input(&sample) }, &MeshOptions::default()).unwrap();
    assert_valid(&output);
    assert_eq!(output.skin.len(), output.vertices.len());
    assert!(output.skin.iter().all(|s| s.weights == [0.75, 0.25, 0.0, 0.0] && s.joints[1] == 9));
    assert_eq!(result(&output, triples(&output.indices)), source(&input(&sample)));
}

#[test]
fn rejects_invalid_meshes_and_accepts_empty_ones() {
    let output = process(MeshInput::default(), &MeshOptions::default()).unwrap();
    assert_eq!((output.notes, output.bounds, output.lods.len()), (vec![Note::NoTriangles], Bounds::EMPTY, 2));
    let sample = soup(1, 10, 5);
    let fails = |input: MeshInput<'_>| process(input.clone(), &MeshOptions::default()).unwrap_err();
    let normals = [[0.0; 3]; 9];
    assert_eq!(
        fails(MeshInput { normals: Some(Cow::Borrowed(&normals)), ..input(&sample) }),
        Error::Length { attribute: "normals", found: 9, expected: 10 }
    );
    assert!(matches!(
        fails(MeshInput { indices: Cow::Borrowed(&[0, 1, 10]), ..input(&sample) }),
        Error::IndexOutOfRange { .. }
    ));
    for bad in [f32::NAN, f32::INFINITY, -3e38] {
        let mut positions = sample.positions.clone();
        positions[4][1] = bad;
        assert_eq!(
            fails(MeshInput { positions: Cow::Borrowed(&positions), ..input(&sample) }),
            Error::NotFinite { attribute: "positions", vertex: 4 }
        );
    }
    let mut normals = sample.normals.clone();
    normals[sample.indices[0] as usize] = [f32::NAN; 3];
    let output = process(
        MeshInput { normals: Some(Cow::Borrowed(&normals)), ..input(&sample) },
        &MeshOptions::default(),
    )
    .unwrap();
    assert_eq!(output.notes, [Note::RepairedNormals(1)]);
}

#[test]
fn tiny_and_huge_meshes_are_processed_equally() {
    let sample = sphere(32, 16);
    let plain = process(input(&sample), &MeshOptions::default()).unwrap();
    for exponent in [-60, -20, 20, 60, 100] {
        let by = f32::from_bits(((exponent + 127) as u32) << 23);
        let scaled = Sample {
            positions: sample.positions.iter().map(|&p| scale(p, by)).collect(),
            normals: sample.normals.clone(),
            uvs: sample.uvs.clone(),
            indices: sample.indices.clone(),
        };
        let output = process(input(&scaled), &MeshOptions::default()).unwrap();
        assert_valid(&output);
        assert_eq!((&output.indices, &output.meshlets.meshlets), (&plain.indices, &plain.meshlets.meshlets));
        assert!(output.vertices.iter().zip(&plain.vertices).all(|(a, b)| {
            a.position == scale(b.position, by) && (a.normal, a.tangent) == (b.normal, b.tangent)
        }));
        for (a, b) in output.lods.iter().zip(&plain.lods) {
            assert_eq!(a.indices.len(), b.indices.len());
            assert!((a.error / (b.error * by) - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn large_fans_finish_in_linear_time() {
    // A fan of 100,000 around one vertex, then 100,000 degenerate triangles on it.
    let count = 100_000u32;
    let mut positions = vec![[0.0, 0.0, 1.0]];
    positions.extend((0..=count).map(|i| [libm::cosf(i as f32), libm::sinf(i as f32), 0.0]));
    let mut indices: Vec<u32> = (0..count).flat_map(|i| [0, i + 1, i + 2]).collect();
    indices.extend(std::iter::repeat_n(0, 300_000));
    let uvs = vec![[0.5, 0.5]; positions.len()];
    let normals = vec![[0.0, 0.0, 1.0]; positions.len()];
    let input = MeshInput {
        indices: Cow::Borrowed(&indices),
        positions: Cow::Borrowed(&positions),
        normals: Some(Cow::Borrowed(&normals)),
        uvs: Some(Cow::Borrowed(&uvs)),
        ..MeshInput::default()
    };
    let output = process(input.clone(), &MeshOptions::default()).unwrap();
    assert_valid(&output);
    assert_eq!(result(&output, triples(&output.indices)), source(&input));
}

proptest! {
    #[test]
    fn triangle_soups_keep_every_triangle(seed: u64, vertices in 3u32..60, triangles in 0u32..200, extra in 0usize..4) {
        let mut sample = soup(seed, vertices, triangles);
        // Duplicates of vertices and of triangles, and a degenerate one.
        for i in 0..extra {
            sample.positions.push(sample.positions[i % 3]);
            sample.normals.push(sample.normals[i % 3]);
            sample.uvs.push(sample.uvs[i % 3]);
            sample.indices.extend([vertices + i as u32, 1, 2, 0, 1, 1]);
        }
        let output = process(input(&sample), &MeshOptions::default()).unwrap();
        assert_valid(&output);
        prop_assert_eq!(result(&output, triples(&output.indices)), source(&input(&sample)));
    }

    /// For any node matrix: every triangle faces the way its transformed normals do, as before.
    #[test]
    fn transformed_soups_face_their_normals(seed: u64, m in prop::array::uniform9(-2.0f64..2.0)) {
        let mut sample = soup(seed, 30, 60);
        // Each triangle has its own vertices, with the normal of its face.
        sample.positions = sample.indices.iter().map(|&i| sample.positions[i as usize]).collect();
        sample.uvs = sample.indices.iter().map(|&i| sample.uvs[i as usize]).collect();
        sample.indices = (0..sample.positions.len() as u32).collect();
        let columns = [[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]];
        let across = |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        let determinant: f64 = (0..3).map(|i| columns[0][i] * across(columns[1], columns[2])[i]).sum();
        prop_assume!(determinant.abs() > 0.1);
        let matrix = [m[0], m[1], m[2], 0.0, m[3], m[4], m[5], 0.0, m[6], m[7], m[8], 0.0, 3.0, 2.0, 1.0, 1.0];
        let transform = Transform::new(&matrix);
        let flat = MeshInput { normals: None, transform: Some(&transform), ..input(&sample) };
        let output = process(flat, &MeshOptions::default()).unwrap();
        assert_valid(&output);
        prop_assert_eq!(output.indices.len(), sample.indices.len());
        for t in triples(&output.indices) {
            let corners = t.map(|v| output.vertices[v as usize]);
            let face = face(corners[0].position, corners[1].position, corners[2].position);
            // Slivers turn with the rounding of their corners.
            if face.iter().map(|x| x * x).sum::<f64>() > 1e-6 {
                for corner in corners {
                    prop_assert!(dot(unit64(face), octahedral::decode(corner.normal)) > 0.99);
                }
            }
        }
    }
}

/// Returns the number of triangles of each LOD, and checks that normals face as their triangles do.
fn flat_lods(sample: &Sample, uvs: bool, options: &MeshOptions) -> Vec<usize> {
    let given = input(sample);
    let given = MeshInput { normals: None, uvs: given.uvs.filter(|_| uvs), ..given };
    let output = process(given, options).unwrap();
    assert_valid(&output);
    let mut counts = Vec::new();
    for lod in &output.lods {
        for triangle in triples(&lod.indices) {
            let corners = triangle.map(|v| output.vertices[v as usize]);
            let [a, b, c] = corners.map(|corner| corner.position);
            let normal = unit64(face(a, b, c));
            for corner in corners {
                assert!(dot(octahedral::decode(corner.normal), normal) > 0.5, "{triangle:?}");
            }
        }
        counts.push(lod.indices.len() / 3);
    }
    counts
}

#[test]
fn lods_without_normals_are_those_of_the_positions() {
    for (sample, uvs) in [(sphere(24, 12), false), (sphere(24, 12), true), (mirrored_sheet(16), false)] {
        let full = sample.indices.len() / 3;
        let counts = flat_lods(&sample, uvs, &MeshOptions::default());
        for (level, count) in counts.iter().enumerate() {
            let target = full >> (level + 1);
            assert!(*count > 0 && *count <= target + target / 10, "{counts:?} of {full}");
        }
    }
    // As many as the simplification of the same mesh without any normals reaches.
    let sample = sphere(24, 12);
    let plain = MeshOptions { normals: false, ..MeshOptions::default() };
    let given = MeshInput { normals: None, uvs: None, ..input(&sample) };
    let output = process(given, &plain).unwrap();
    let wanted: Vec<usize> = output.lods.iter().map(|lod| lod.indices.len() / 3).collect();
    assert_eq!(flat_lods(&sample, false, &MeshOptions::default()), wanted);
}

#[test]
fn flat_fans_without_normals_stay_within_linear_time() {
    let sample = crate::samples::flat_fans(1, 20_000);
    let given = MeshInput { normals: None, uvs: None, ..input(&sample) };
    assert_valid(&process(given, &MeshOptions::default()).unwrap());
}
