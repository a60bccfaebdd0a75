//! Invalid meshes that the writer and `verify` reject, and the errors they report.

use super::*;

#[test]
fn writer_rejects_invalid_meshes() {
    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;
    type Change = fn(&mut Mesh);
    let cases: &[(&str, Change)] = &[
        ("submesh_count", |m| m.submeshes.clear()),
        ("position at byte", |m| m.vertices[2].position[1] = NAN),
        ("uv at byte", |m| m.vertices[2].uv[0] = INF),
        ("outside the bounds", |m| m.vertices[2].position[1] = 1.1),
        ("the mesh has no tangents", |m| m.has_tangents = false),
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
        ("outside the bounds of the mesh", |m| m.submeshes[0].bounds.aabb_max[1] = 2.0),
        ("outside the bounds of the mesh", |m| m.submeshes[1].bounds.aabb_min[1] = -1.0),
        ("all vertices of the submesh", |m| m.submeshes[0].bounds.aabb_max[1] = 0.5),
        ("all vertices of the submesh", |m| m.submeshes[0].bounds.sphere_radius = 0.5),
        ("sphere_center", |m| m.submeshes[0].bounds.sphere_center[2] = NAN),
        ("vertex_offset", |m| m.meshlets[1].vertex_offset = 0),
        ("triangle_offset", |m| m.meshlets[1].triangle_offset = 0),
        ("vertex_count", |m| m.meshlets[1].vertex_count = 65),
        ("triangle_count", |m| m.meshlets[1].triangle_count = 125),
        ("out of the bounds of its chunks", |m| m.meshlets[1].vertex_count = 4),
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
        ("sum to 1", |m| m.skin[4].weights[3] = 0.1),
        ("negative", |m| m.skin[4].weights = [1.5, -0.5, 0.0, 0.0]),
        ("weights", |m| m.skin[4].weights[0] = NAN),
        ("cycle in the joint hierarchy", |m| m.joints[2].parent = 0),
        ("cycle in the joint hierarchy", |m| m.joints[1].parent = 1),
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
        let found = write_error(change);
        assert!(found.contains(words), "case {i}: {found:?} does not contain {words:?}");
    }
}

#[test]
fn rejects_invalid_headers_and_tables() {
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
    // A duplicate tag: a second vertex chunk in the place of the indices.
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
fn long_joint_chains_take_linear_time() {
    let mut mesh = sample();
    // The parent of each joint is the next one: the longest possible chain.
    mesh.joints = vec![mesh.joints[0]; 65536];
    let last = mesh.joints.len() - 1;
    mesh.joints.iter_mut().enumerate().for_each(|(i, joint)| joint.parent = i as i32 + 1);
    mesh.joints[last].parent = NO_PARENT;
    let bytes = write(&mesh.parts()).unwrap();
    assert_eq!(HmeshView::read(&bytes).unwrap().joints().len(), 65536);
    mesh.joints[last].parent = 0;
    assert!(write(&mesh.parts()).unwrap_err().to_string().contains("cycle in the joint hierarchy"));
    mesh.joints[last].parent = NO_PARENT;
    mesh.joints.push(mesh.joints[last]);
    assert!(matches!(write(&mesh.parts()), Err(Error::Value { field: "joints", found: 65537, .. })));
}

#[test]
fn errors_report_byte_offset_of_field() {
    let good = write(&sample().parts()).unwrap();
    let at = |tag: &[u8; 4], offset: usize| (chunk_at(&good, tag) + offset, &good);
    let nan = f32::NAN.to_le_bytes();
    let far = 50.0f32.to_le_bytes();
    // Chunk, offset in the chunk, replacement bytes, and the expected byte offset in the error.
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
fn weights_sum_to_one_within_tolerance() {
    let write_with = |change: f32| {
        let mut mesh = sample();
        mesh.skin[2].weights[0] += change;
        write(&mesh.parts())
    };
    for change in [0.0, 0.0009, -0.0009] {
        assert!(write_with(change).is_ok(), "{change}");
    }
    for change in [0.0015, -0.0015] {
        assert!(write_with(change).unwrap_err().to_string().contains("sum to 1"), "{change}");
    }
}
