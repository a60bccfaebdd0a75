//! Meshes byte by byte, and the damage that must be found.

mod meshes;

use std::borrow::Cow;

use kiln_format::hmat::{self, GpuMaterial};
use kiln_format::hmesh::*;
use kiln_format::{Error, Fact, Format, Lookup};
use meshes::{Mesh, Recipe, bounds_of};

/// A square of two triangles, and a third triangle without a material; skinned, with levels.
fn recipe() -> Recipe {
    Recipe {
        positions: vec![[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -3.0]],
        submeshes: vec![(vec![[0, 1, 2], [0, 2, 3]], true), (vec![[0, 3, 4]], false)],
        has_tangents: true,
        has_meshlets: true,
        joints: vec![0, 0, 1],
        lod_count: 2,
    }
}

fn sample() -> Mesh {
    Mesh::cook(&recipe())
}

fn is_static() -> Mesh {
    Mesh::cook(&Recipe { joints: vec![], ..recipe() })
}

fn verify(bytes: &[u8]) -> Result<(), Error> {
    HMesh.verify(bytes)
}

fn tags(bytes: &[u8]) -> Vec<String> {
    let chunks = HmeshView::read(bytes).unwrap().chunks().map(|(tag, _)| tag).collect::<Vec<_>>();
    chunks.into_iter().map(|tag| String::from_utf8(tag.to_vec()).unwrap()).collect()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Where the payload of a chunk is, read off the table.
fn chunk_at(bytes: &[u8], tag: &[u8; 4]) -> usize {
    let entries = bytes[32..].chunks_exact(24).take(u32_at(bytes, 8) as usize);
    let entry = entries.into_iter().find(|entry| entry[..4] == *tag).unwrap();
    u32_at(entry, 8) as usize
}

#[test]
fn a_static_mesh_is_laid_out_as_documented() {
    let bytes = write(&is_static().parts()).unwrap();
    assert_eq!(bytes[..16], *b"HMSH\x02\0\0\0\x0c\0\0\0\0\0\0\0");
    assert_eq!(bytes[16..32], [0; 16]);
    assert_eq!(
        tags(&bytes),
        ["DESC", "BNDS", "VTXS", "IDXS", "MLET", "MLVR", "MLTR", "MLBN", "MTRL", "SUBM", "LODI", "LODT"]
    );
    // Sizes by hand: 5 vertices, 9 indices of 2 bytes, 2 meshlets with 4 + 3 vertices and 3 triangles.
    let sizes = [32u64, 40, 140, 18, 32, 28, 9, 64, 8, 128, 12, 40];
    let mut offset = 320u64;
    for (i, size) in sizes.into_iter().enumerate() {
        let entry = &bytes[32 + 24 * i..][..24];
        assert_eq!(entry[4..8], [0; 4], "flags");
        assert_eq!(entry[8..16], offset.to_le_bytes(), "offset of chunk {i}");
        assert_eq!(entry[16..], size.to_le_bytes(), "size of chunk {i}");
        let end = offset + size;
        offset = end.next_multiple_of(16);
        assert!(bytes[end as usize..].iter().take((offset - end) as usize).all(|&b| b == 0));
        if i == 11 {
            assert_eq!(end, bytes.len() as u64, "nothing follows the last payload");
        }
    }
    let desc = [5u32, 9, 2, 2, 1].map(u32::to_le_bytes).concat();
    assert_eq!(bytes[320..340], desc);
    assert_eq!(bytes[340..344], [28, 0, 2, 1], "stride, index width, flags");
    assert_eq!([u32_at(&bytes, 344), u32_at(&bytes, 348)], [64, 124]);
    // The second vertex.
    let vertex = chunk_at(&bytes, b"VTXS") + 28;
    assert_eq!(bytes[vertex..vertex + 12], [2.0f32, 0.0, 0.0].map(f32::to_le_bytes).concat());
    assert_eq!(bytes[vertex + 12..vertex + 20], [1, 0, 255, 255, 249, 255, 5, 0]);
    // The second submesh: three indices after six, a meshlet after one, no material.
    let sub = chunk_at(&bytes, b"SUBM") + 64;
    let numbers: Vec<_> = (0..6).map(|i| u32_at(&bytes, sub + 4 * i)).collect();
    assert_eq!(numbers, [6, 3, 1, 1, u32::MAX, 0]);
    // One triangle is left of the first submesh in level 1, none in level 2, none of the second submesh.
    let lods = chunk_at(&bytes, b"LODT");
    let numbers: Vec<_> = (0..10).map(|i| u32_at(&bytes, lods + 4 * i)).collect();
    assert_eq!(numbers, [2, 2, 0, 3, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_skinned_mesh_has_two_chunks_more() {
    let bytes = write(&sample().parts()).unwrap();
    assert_eq!(chunk_at(&bytes, b"DESC"), 368);
    assert_eq!(tags(&bytes)[10..], ["SKIN", "SKEL", "LODI", "LODT"]);
    let joint = chunk_at(&bytes, b"SKEL");
    let parents: Vec<_> = (0..3).map(|i| u32_at(&bytes, joint + 112 * i + 104) as i32).collect();
    assert_eq!(parents, [1, 2, -1], "parents may come after their children");
    let skin = chunk_at(&bytes, b"SKIN");
    assert_eq!(bytes[skin..skin + 12], [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x3f]);
}

#[test]
fn empty_chunks_are_written() {
    let one = vec![(vec![[0, 1, 2]], false)];
    let bytes = write(&Mesh::cook(&Recipe { submeshes: one, joints: vec![], ..recipe() }).parts()).unwrap();
    let view = HmeshView::read(&bytes).unwrap();
    assert!(view.materials().is_empty() && view.lod_indices().is_empty());
    assert_eq!(view.lod_count(), 2);
    assert!(tags(&bytes).contains(&"MTRL".to_owned()));
    assert_eq!(chunk_at(&bytes, b"LODI"), chunk_at(&bytes, b"LODT"), "an empty chunk shares its offset");
    let none = Mesh::cook(&Recipe { lod_count: 0, ..recipe() });
    assert_eq!(tags(&write(&none.parts()).unwrap()).last().unwrap(), "SKEL", "no levels, no table of them");
}

#[test]
fn indices_are_as_wide_as_they_must_be() {
    for (count, width) in [(65535, 2), (65536, 4)] {
        let mut mesh = is_static();
        mesh.vertices.resize(count, mesh.vertices[0]);
        mesh.indices[0] = count as u32 - 1;
        mesh.meshlets.clear();
        mesh.meshlet_vertices.clear();
        mesh.meshlet_triangles.clear();
        mesh.meshlet_bounds.clear();
        mesh.submeshes.iter_mut().for_each(|sub| (sub.first_meshlet, sub.meshlet_count) = (0, 0));
        let bytes = write(&mesh.parts()).unwrap();
        let view = HmeshView::read(&bytes).unwrap();
        assert_eq!(view.desc().index_width, width);
        assert_eq!(view.indices().get(0), Some(count as u32 - 1));
        assert_eq!(view.indices().bytes().len(), 9 * usize::from(width));
        mesh.indices[4] = count as u32;
        assert!(matches!(
            write(&mesh.parts()),
            Err(Error::Index { field: "index", .. } | Error::TooLarge { .. })
        ));
        mesh.indices[4] = u32::MAX;
        assert!(write(&mesh.parts()).is_err());
    }
}

#[test]
fn a_mesh_comes_back() {
    for mesh in [sample(), is_static()] {
        let bytes = write(&mesh.parts()).unwrap();
        let again = Mesh::of(&HmeshView::read(&bytes).unwrap());
        assert_eq!(format!("{again:?}"), format!("{mesh:?}"));
    }
}

#[test]
fn parts_of_a_mesh_are_found() {
    let mesh = sample();
    let bytes = write(&mesh.parts()).unwrap();
    let view = HmeshView::read(&bytes).unwrap();
    let sub = view.submeshes().get(1).unwrap();
    assert!(view.submesh_indices(&sub).iter().eq([0, 3, 4]));
    assert_eq!(view.submesh_meshlets(&sub).len(), 1);
    let meshlet = view.submesh_meshlets(&sub).get(0).unwrap();
    let (vertices, triangles) = view.meshlet(&meshlet);
    assert!(vertices.iter().eq([0, 3, 4]));
    assert!(triangles.iter().eq([[1, 2, 0]]));
    assert!(view.lod(0, 0).unwrap().iter().eq([0, 1, 2]));
    assert_eq!((view.lod(0, 1), view.lod(1, 0), view.lod(0, 2), view.lod(2, 0)), (None, None, None, None));
    assert_eq!(view.lod(u32::MAX, u32::MAX), None);
    assert!(view.submesh_indices(&SubMesh { first_index: 7, ..sub }).is_empty());
    assert!(view.meshlet(&Meshlet { vertex_offset: 5, ..meshlet }).0.is_empty());
}

#[test]
fn chunks_we_do_not_know_are_passed_over() {
    let good = write(&is_static().parts()).unwrap();
    let mut bytes = good.clone();
    // Without materials there need be no MTRL, so its place can be taken.
    let one = vec![(vec![[0, 1, 2]], false)];
    let plain = write(&Mesh::cook(&Recipe { submeshes: one, joints: vec![], ..recipe() }).parts()).unwrap();
    let entry = 32 + 24 * 8;
    let mut other = plain.clone();
    other[entry..entry + 4].copy_from_slice(b"XTRA");
    other[entry + 4] = 9;
    verify(&other).unwrap();
    assert!(HmeshView::read(&other).unwrap().materials().is_empty());
    bytes[entry..entry + 4].copy_from_slice(b"XTRA");
    assert_eq!(verify(&bytes), Err(Error::Missing { chunk: "MTRL" }));
}

/// Everything that is wrong with a mesh whose `change` was made before writing, in the words of the check.
fn refused(change: impl FnOnce(&mut Mesh)) -> String {
    let mut mesh = sample();
    change(&mut mesh);
    write(&mesh.parts()).unwrap_err().to_string()
}

#[test]
fn unsound_meshes_are_not_written() {
    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;
    type Change = fn(&mut Mesh);
    let cases: &[(&str, Change)] = &[
        ("submesh_count", |m| m.submeshes.clear()),
        ("position at byte", |m| m.vertices[2].position[1] = NAN),
        ("uv at byte", |m| m.vertices[2].uv[0] = INF),
        ("outside the bounds", |m| m.vertices[2].position[1] = 1.1),
        ("mesh says it has none", |m| m.has_tangents = false),
        ("index at byte", |m| m.indices[4] = 5),
        ("index_count", |m| m.indices.push(0)),
        ("index_count", |m| m.submeshes[1].index_count = 2),
        ("index_count", |m| m.submeshes[1].index_count = u32::MAX),
        ("first_index", |m| m.submeshes[1].first_index = 3),
        ("first_meshlet", |m| m.submeshes[1].first_meshlet = 0),
        ("meshlet_count", |m| m.submeshes[1].meshlet_count = 2),
        ("base_vertex", |m| m.submeshes[1].base_vertex = 1),
        ("material_slot", |m| m.submeshes[1].material_slot = 1),
        ("aabb_max", |m| m.bounds.aabb_max[0] = INF),
        ("aabb_min", |m| m.bounds.aabb_min[0] = 3.0),
        ("sphere_radius", |m| m.bounds.sphere_radius = -1.0),
        ("outside the bounds of the mesh", |m| m.bounds.sphere_radius = 0.5),
        ("outside those of the mesh", |m| m.submeshes[0].bounds.aabb_max[1] = 2.0),
        ("outside those of the mesh", |m| m.submeshes[1].bounds.aabb_min[1] = -1.0),
        ("all vertices of the submesh", |m| m.submeshes[0].bounds.aabb_max[1] = 0.5),
        ("all vertices of the submesh", |m| m.submeshes[0].bounds.sphere_radius = 0.5),
        ("sphere_center", |m| m.submeshes[0].bounds.sphere_center[2] = NAN),
        ("vertex_offset", |m| m.meshlets[1].vertex_offset = 0),
        ("triangle_offset", |m| m.meshlets[1].triangle_offset = 0),
        ("vertex_count", |m| m.meshlets[1].vertex_count = 65),
        ("triangle_count", |m| m.meshlets[1].triangle_count = 125),
        ("beyond its chunks", |m| m.meshlets[1].vertex_count = 4),
        ("size of MLVR", |m| m.meshlet_vertices.push(0)),
        ("size of MLTR", |m| m.meshlet_triangles.push([0; 3])),
        ("size of MLBN", |m| m.meshlet_bounds.truncate(1)),
        ("vertex at byte", |m| m.meshlet_vertices[0] = 5),
        ("corner at byte", |m| m.meshlet_triangles[0][1] = 4),
        ("other triangles", |m| m.meshlet_triangles[0] = m.meshlet_triangles[1]),
        ("other triangles", |m| m.meshlet_triangles[2].reverse()),
        ("other triangles", |m| m.indices.swap(0, 1)),
        ("all triangles of the meshlet", |m| m.meshlet_bounds[0].radius = 0.1),
        ("radius", |m| m.meshlet_bounds[0].radius = -9.0),
        ("center", |m| m.meshlet_bounds[1].center[0] = NAN),
        ("cone_axis", |m| m.meshlet_bounds[1].cone_axis[0] = NAN),
        ("cone_cutoff", |m| m.meshlet_bounds[1].cone_cutoff = INF),
        ("size of SKIN", |m| m.skin.truncate(4)),
        ("SKEL is missing", |m| m.joints.clear()),
        ("joint at byte", |m| m.skin[4].joints[3] = 3),
        ("add up to 1", |m| m.skin[4].weights[3] = 0.1),
        ("negative", |m| m.skin[4].weights = [1.5, -0.5, 0.0, 0.0]),
        ("weights", |m| m.skin[4].weights[0] = NAN),
        ("own ancestor", |m| m.joints[2].parent = 0),
        ("own ancestor", |m| m.joints[1].parent = 1),
        ("parent at byte", |m| m.joints[1].parent = 3),
        ("parent at byte", |m| m.joints[1].parent = -2),
        ("pad at byte", |m| m.joints[1].pad = 1),
        ("inverse_bind", |m| m.joints[1].inverse_bind[15] = NAN),
        ("bind_t", |m| m.joints[1].bind_t[0] = NAN),
        ("bind_r", |m| m.joints[1].bind_r[3] = NAN),
        ("bind_s", |m| m.joints[1].bind_s[2] = INF),
        ("index at byte", |m| m.lod_indices[2] = 5),
        ("size of LODI", |m| m.lod_indices.push(0)),
        ("size of LODT", |m| m.lod_count = 1),
        ("size of LODT", |m| m.lod_count = u32::MAX),
        ("size of LODT", |m| m.lods.push(MeshLod::default())),
        ("a multiple of 3", |m| m.lods[0].index_count = 2),
        ("first_index", |m| m.lods[1].first_index = 3),
        ("size of LODI", |m| m.lods[0].index_count = 6),
        ("size of LODI", |m| m.lods[0].index_count = 0),
    ];
    for (i, (words, change)) in cases.iter().enumerate() {
        let found = refused(change);
        assert!(found.contains(words), "case {i}: {found:?} does not say {words:?}");
    }
}

#[test]
fn headers_and_tables_have_one_right_value() {
    let good = write(&sample().parts()).unwrap();
    let broken = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        verify(&bytes).unwrap_err()
    };
    assert_eq!(broken(3, b'T'), Error::Magic { found: *b"HMST", format: "hmesh" });
    assert_eq!(broken(4, 1), Error::Value { at: 4, field: "version", found: 1, expected: "2" });
    assert_eq!(broken(36, 1), Error::Value { at: 36, field: "flags", found: 1, expected: "0" });
    let desc = chunk_at(&good, b"DESC");
    for (offset, value, field) in [
        (12, 0, "submesh_count"),
        (20, 36, "vertex_stride"),
        (22, 1, "index_width"),
        (23, 3, "flags"),
        (25, 2, "meshlet_max_verts"),
    ] {
        let error = broken(desc + offset, value);
        assert!(matches!(error, Error::Value { field: f, .. } if f == field), "{error}");
    }
    // A tag that is there twice: the second vertex chunk in the place of the indices.
    let mut twice = good.clone();
    twice[32 + 24 * 3..][..4].copy_from_slice(b"VTXS");
    assert!(matches!(verify(&twice), Err(Error::Fault { at: 104, field: "fourcc", .. })));
    for tag in [b"DESC", b"BNDS", b"VTXS", b"IDXS", b"MLET", b"MLBN", b"MTRL", b"SUBM"] {
        let mut bytes = good.clone();
        let entry = bytes[32..].chunks_exact(24).position(|entry| entry[..4] == *tag).unwrap();
        bytes[32 + 24 * entry] = b'?';
        let expected = std::str::from_utf8(tag).unwrap();
        assert!(matches!(verify(&bytes), Err(Error::Missing { chunk }) if chunk == expected), "{expected}");
    }
}

#[test]
fn small_indices_may_be_wide() {
    // Not how we write it, but allowed: indices of four bytes for few vertices. The chunk of the indices goes last.
    let mesh = is_static();
    let good = write(&mesh.parts()).unwrap();
    let entry = 32 + 24 * 3;
    let wide: Vec<u8> = mesh.indices.iter().flat_map(|i| i.to_le_bytes()).collect();
    let old = chunk_at(&good, b"IDXS");
    let mut bytes = good.clone();
    bytes.resize(good.len().next_multiple_of(16), 0);
    let offset = bytes.len() as u64;
    bytes.extend(wide);
    bytes[entry + 8..entry + 16].copy_from_slice(&offset.to_le_bytes());
    bytes[entry + 16..entry + 24].copy_from_slice(&36u64.to_le_bytes());
    bytes[342] = 4;
    let view = HmeshView::read(&bytes).unwrap();
    assert!(view.indices().iter().eq(mesh.indices.iter().copied()));
    // The old place is a gap now, which no accessor minds but `verify` does.
    let at_of_meshlets = 32 + 24 * 4 + 8;
    let expected =
        Error::Mismatch { at: at_of_meshlets, field: "offset", found: old as u64 + 32, expected: old as u64 };
    assert_eq!(view.verify(), Err(expected));
}

#[test]
fn long_chains_of_joints_take_no_longer() {
    let mut mesh = sample();
    // Each joint's parent is the next: the longest walk there is.
    mesh.joints = vec![mesh.joints[0]; 65536];
    let last = mesh.joints.len() - 1;
    mesh.joints.iter_mut().enumerate().for_each(|(i, joint)| joint.parent = i as i32 + 1);
    mesh.joints[last].parent = NO_PARENT;
    let bytes = write(&mesh.parts()).unwrap();
    assert_eq!(HmeshView::read(&bytes).unwrap().joints().len(), 65536);
    mesh.joints[last].parent = 0;
    assert!(write(&mesh.parts()).unwrap_err().to_string().contains("own ancestor"));
    mesh.joints[last].parent = NO_PARENT;
    mesh.joints.push(mesh.joints[last]);
    assert!(matches!(write(&mesh.parts()), Err(Error::Value { field: "joints", found: 65537, .. })));
}

#[test]
fn bounds_far_from_the_origin_hold() {
    // The centre of the sphere is rounded to 1/128 out there.
    let positions: Vec<[f32; 3]> =
        recipe().positions.iter().map(|p| p.map(|x| x * 0.01 + 100_000.0)).collect();
    let mesh = Mesh::cook(&Recipe { positions, ..recipe() });
    write(&mesh.parts()).unwrap();
    let bounds = bounds_of(&[[-1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
    assert_eq!((bounds.sphere_center, bounds.sphere_radius), ([0.0, 2.0, 3.0], 1.0));
}

/// A mesh with one bound too small by so much: of the mesh, of a submesh, of a meshlet; box or sphere.
fn tightened(mesh: &Mesh, bound: usize, by: f32) -> Result<(), String> {
    let mut mesh = mesh.clone();
    match bound {
        0 => mesh.bounds.sphere_radius -= by,
        1 => mesh.submeshes[0].bounds.sphere_radius -= by,
        2 => mesh.meshlet_bounds[0].radius -= by,
        3 => mesh.bounds.aabb_max[0] -= by,
        4 => mesh.bounds.aabb_min[0] += by,
        5 => mesh.submeshes[0].bounds.aabb_max[0] -= by,
        _ => mesh.submeshes[0].bounds.aabb_min[0] += by,
    }
    write(&mesh.parts()).map(drop).map_err(|error| error.to_string())
}

#[test]
fn bounds_may_be_too_small_by_a_rounding_error_only() {
    let moved = |scale: f32, by: f32| {
        let positions =
            recipe().positions.into_iter().map(|p| [p[0] * scale + by, p[1] * scale, p[2] * scale]);
        Mesh::cook(&Recipe { positions: positions.collect(), ..recipe() })
    };
    // A hundred-thousandth of the extent, of 1 at least; for a sphere, of the distance from the origin.
    for (scale, by, of_sphere, of_box) in [
        (1.0, 0.0, 3e-5, 3e-5),
        (0.01, 0.0, 1e-5, 1e-5),
        (100.0, 0.0, 3e-3, 3e-3),
        (1.0, 1000.0, 1e-2, 3e-5),
        (1.0, -1000.0, 1e-2, 3e-5),
    ] {
        let mesh = moved(scale, by);
        write(&mesh.parts()).unwrap();
        for bound in 0..7 {
            let room = if bound < 3 { of_sphere } else { of_box };
            let found = tightened(&mesh, bound, room * 3.0);
            // Coordinates far from the origin are rounded to 6e-5 themselves.
            let found = if bound >= 3 && by != 0.0 { tightened(&mesh, bound, 2e-4) } else { found };
            assert!(found.is_err(), "bound {bound} of a mesh scaled by {scale} at {by}");
            if bound < 3 || by == 0.0 {
                tightened(&mesh, bound, room * 0.3)
                    .unwrap_or_else(|error| panic!("bound {bound}, scaled by {scale} at {by}: {error}"));
            }
        }
    }
}

#[test]
fn meshlets_hold_each_triangle_as_often_as_the_indices() {
    let submesh = |number: usize| {
        let at = chunk_at(&write(&sample().parts()).unwrap(), b"SUBM") + 64 * number;
        format!("submesh at byte {at} holds other triangles")
    };
    // Twice one triangle in the indices, twice another in the meshlets: pairs must not cancel out.
    let error = refused(|m| {
        m.indices.copy_within(0..3, 3);
        m.meshlet_triangles[0] = m.meshlet_triangles[1];
    });
    assert!(error.contains(&submesh(0)), "{error}");
    // The triangle whose hash is zero counts all the same.
    let error = refused(|m| {
        m.indices.extend([0; 3]);
        m.submeshes[1].index_count += 3;
    });
    assert!(error.contains(&submesh(1)), "{error}");
    let error = refused(|m| {
        m.meshlet_triangles.push([0; 3]);
        m.meshlets[1].triangle_count += 1;
    });
    assert!(error.contains(&submesh(1)), "{error}");
}

#[test]
fn faults_are_reported_at_the_byte_of_their_field() {
    let good = write(&sample().parts()).unwrap();
    let at = |tag: &[u8; 4], offset: usize| (chunk_at(&good, tag) + offset, &good);
    let nan = f32::NAN.to_le_bytes();
    let far = 50.0f32.to_le_bytes();
    // Chunk, where in it the bytes go, the bytes, where the fault is reported.
    let cases: [(&[u8; 4], usize, &[u8], usize); 25] = [
        (b"BNDS", 4, &nan, 0),
        (b"BNDS", 20, &nan, 12),
        (b"BNDS", 28, &nan, 24),
        (b"BNDS", 36, &nan, 36),
        (b"VTXS", 2 * 28 + 4, &nan, 2 * 28),
        (b"VTXS", 2 * 28 + 4, &far, 2 * 28),
        (b"VTXS", 3 * 28 + 20, &nan, 3 * 28 + 20),
        (b"SUBM", 64 + 24, &nan, 64 + 24),
        (b"SUBM", 64 + 36, &far, 64 + 24),
        (b"SUBM", 64 + 60, &nan, 64 + 60),
        (b"IDXS", 7 * 2, &[9, 0], 7 * 2),
        (b"MLET", 16, &[9], 16),
        (b"MLET", 16 + 4, &[200], 16 + 4),
        (b"MLET", 16 + 8, &[9], 16 + 8),
        (b"MLET", 16 + 12, &[200], 16 + 12),
        (b"MLVR", 5 * 4, &[9], 5 * 4),
        (b"MLTR", 3 + 2, &[9], 3 + 2),
        (b"MLTR", 2 * 3 + 1, &[9], 2 * 3 + 1),
        (b"MLBN", 32 + 4, &nan, 32),
        (b"MLBN", 32 + 12, &nan, 32 + 12),
        (b"MLBN", 32 + 20, &nan, 32 + 16),
        (b"SKIN", 3 * 24 + 6, &[9], 3 * 24 + 6),
        (b"SKIN", 3 * 24 + 12, &nan, 3 * 24 + 8),
        (b"SKEL", 112 + 108, &[1], 112 + 108),
        (b"LODI", 2 * 4, &[9], 2 * 4),
    ];
    for (tag, offset, value, reported) in cases {
        let mut bytes = good.clone();
        let start = at(tag, offset).0;
        bytes[start..start + value.len()].copy_from_slice(value);
        let error = verify(&bytes).unwrap_err();
        let place = format!("at byte {}", at(tag, reported).0);
        let name = String::from_utf8_lossy(tag);
        assert!(error.to_string().contains(&place), "{name} {offset}: {error} is not {place}");
    }
}

#[test]
fn every_meshlet_of_a_submesh_has_bounds_of_its_own() {
    let triangles = vec![[0, 1, 2], [0, 2, 3], [0, 3, 4]];
    let good = Mesh::cook(&Recipe { submeshes: vec![(triangles, true)], ..recipe() });
    assert_eq!(good.submeshes[0].meshlet_count, 2);
    let bounds_at = chunk_at(&write(&good.parts()).unwrap(), b"MLBN");
    for meshlet in 0..2 {
        let mut mesh = good.clone();
        mesh.meshlet_bounds[meshlet].radius = 0.1;
        let error = write(&mesh.parts()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("sphere at byte {} does not hold", bounds_at + 32 * meshlet)),
            "{error}"
        );
    }
}

#[test]
fn meshlets_may_be_as_large_as_the_mesh_says() {
    let limited = |max: [u32; 2]| {
        let mut mesh = sample();
        mesh.meshlet_max = max;
        write(&mesh.parts()).map(drop).map_err(|error| error.to_string())
    };
    // The first meshlet has four vertices and two triangles.
    assert_eq!(limited([4, 2]), Ok(()));
    assert!(limited([3, 2]).unwrap_err().contains("vertex_count"));
    assert!(limited([4, 1]).unwrap_err().contains("triangle_count"));
}

#[test]
fn weights_add_up_to_one_within_a_thousandth() {
    let write_with = |change: f32| {
        let mut mesh = sample();
        mesh.skin[2].weights[0] += change;
        write(&mesh.parts())
    };
    for change in [0.0, 0.0009, -0.0009] {
        assert!(write_with(change).is_ok(), "{change}");
    }
    for change in [0.0015, -0.0015] {
        assert!(write_with(change).unwrap_err().to_string().contains("add up to 1"), "{change}");
    }
}

#[test]
fn triangles_without_area_need_no_bounds() {
    // Two triangles in a meshlet whose sphere holds the first alone.
    let with = |second: [u32; 3]| {
        let mut positions = recipe().positions;
        positions.push([2.0, 1.0, -2.9]);
        let triangles = vec![[0, 1, 2], second];
        let mut mesh = Mesh::cook(&Recipe { positions, submeshes: vec![(triangles, true)], ..recipe() });
        let around = bounds_of(&[0, 1, 2].map(|i| mesh.vertices[i].position));
        let sphere = &mut mesh.meshlet_bounds[0];
        (sphere.center, sphere.radius) = (around.sphere_center, around.sphere_radius);
        write(&mesh.parts())
    };
    assert!(with([2, 5, 2]).is_ok() && with([5, 2, 2]).is_ok() && with([5, 5, 5]).is_ok());
    let error = with([2, 5, 1]).unwrap_err().to_string();
    assert!(error.contains("all triangles of the meshlet"), "{error}");
}

struct Table(Option<Vec<u8>>);

impl Lookup for Table {
    fn size(&self, path: &str) -> Option<u64> {
        self.bytes(path).map(|bytes| bytes.len() as u64)
    }

    fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        assert_eq!(path, "models/q.hmat");
        self.0.as_deref().map(Cow::Borrowed)
    }
}

#[test]
fn materials_must_be_beside_it() {
    let problems = |mesh: &Mesh, table: Option<Vec<u8>>| {
        let bytes = write(&mesh.parts()).unwrap();
        let mut found = vec![];
        HMesh
            .cross("models/q.hmesh", &bytes, &Table(table), &mut |p| found.push((p.code.as_str(), p.message)))
            .unwrap();
        found
    };
    let rows = |count| Some(hmat::write(&vec![GpuMaterial::default(); count]).unwrap());
    let two = Mesh::cook(&Recipe { submeshes: vec![(vec![[0, 1, 2]], true), (vec![], true)], ..recipe() });
    assert_eq!(problems(&two, rows(2)), []);
    let message = "2 materials but no companion models/q.hmat".to_owned();
    assert_eq!(problems(&two, None), [("mesh-without-materials", message)]);
    assert_eq!(problems(&two, rows(3))[0].0, "mesh-material-count");
    assert_eq!(problems(&two, Some(b"HMAT".to_vec())), [], "a broken table is reported as such");
    let none = Mesh::cook(&Recipe { submeshes: vec![(vec![[0, 1, 2]], false)], ..recipe() });
    assert_eq!(problems(&none, None), []);
    assert_eq!(problems(&none, rows(1))[0].0, "mesh-material-count");
}

#[test]
fn described_as_documented() {
    let text = |mesh: &Mesh| {
        let mut text = String::new();
        HMesh.describe(&write(&mesh.parts()).unwrap(), &mut text).unwrap();
        text
    };
    assert_eq!(
        text(&sample()),
        "v2 | 5 verts, 3 tris, 9 idx@2B | 2 meshlets, 2 submeshes, 1 mats | stride 28B | tangents yes \
         | aabb 2.00x1.00x3.00, r=1.87 | skinned (3 joints) | +2 LODs"
    );
    let plain = Mesh::cook(&Recipe { joints: vec![], lod_count: 0, has_tangents: false, ..recipe() });
    assert!(text(&plain).ends_with("| tangents no | aabb 2.00x1.00x3.00, r=1.87"), "{}", text(&plain));
    let mut bones = sample();
    bones.skin.clear();
    assert!(text(&bones).ends_with("| skeleton (3 joints) | +2 LODs"));

    let bytes = write(&sample().parts()).unwrap();
    let mut totals = vec![];
    HMesh
        .facts(&bytes, &mut |name, fact| {
            if let Fact::Total(n) = fact {
                totals.push((name, n));
            }
        })
        .unwrap();
    let expected = [("verts", 5), ("tris", 3), ("idx", 9), ("meshlets", 2), ("submeshes", 2), ("mats", 1)];
    assert_eq!(totals, expected);
    let mut dump = String::new();
    HMesh.dump(&bytes, &mut dump).unwrap();
    for part in
        ["chunk VTXS 140 B fnv ", "material 0 0x1111000000000001\n", "  lod 1 3 indices\n", "joint 2 "]
    {
        assert!(dump.contains(part), "{dump}");
    }
}
