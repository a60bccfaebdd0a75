//! Byte layout of written meshes, and reading them back.

use super::*;

#[test]
fn static_mesh_has_documented_layout() {
    let bytes = write(&static_mesh().parts()).unwrap();
    assert_eq!(bytes[..16], *b"HMSH\x02\0\0\0\x0c\0\0\0\0\0\0\0");
    assert_eq!(bytes[16..32], [0; 16]);
    assert_eq!(
        tags(&bytes),
        ["DESC", "BNDS", "VTXS", "IDXS", "MLET", "MLVR", "MLTR", "MLBN", "MTRL", "SUBM", "LODI", "LODT"]
    );
    // Sizes computed by hand: 5 vertices, 9 indices of 2 bytes, 2 meshlets with 4 + 3 vertices and 3
    // triangles.
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
    // The second submesh: three indices after six, one meshlet after one, no material.
    let sub = chunk_at(&bytes, b"SUBM") + 64;
    let numbers: Vec<_> = (0..6).map(|i| u32_at(&bytes, sub + 4 * i)).collect();
    assert_eq!(numbers, [6, 3, 1, 1, u32::MAX, 0]);
    // LOD 1 has one triangle of the first submesh; LOD 2 and the second submesh have none.
    let lods = chunk_at(&bytes, b"LODT");
    let numbers: Vec<_> = (0..10).map(|i| u32_at(&bytes, lods + 4 * i)).collect();
    assert_eq!(numbers, [2, 2, 0, 3, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn skinned_mesh_adds_skin_and_skeleton_chunks() {
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
    let bytes = write(&Mesh::build(&MeshSpec { submeshes: one, joints: vec![], ..spec() }).parts()).unwrap();
    let view = HmeshView::read(&bytes).unwrap();
    assert!(view.materials().is_empty() && view.lod_indices().is_empty());
    assert_eq!(view.lod_count(), 2);
    assert!(tags(&bytes).contains(&"MTRL".to_owned()));
    assert_eq!(chunk_at(&bytes, b"LODI"), chunk_at(&bytes, b"LODT"), "an empty chunk shares its offset");
    let none = Mesh::build(&MeshSpec { lod_count: 0, ..spec() });
    assert_eq!(tags(&write(&none.parts()).unwrap()).last().unwrap(), "SKEL", "no levels, no table of them");
}

#[test]
fn index_width_follows_vertex_count() {
    for (count, width) in [(65535, 2), (65536, 4)] {
        let mut mesh = static_mesh();
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
fn mesh_round_trips() {
    for mesh in [sample(), static_mesh()] {
        let bytes = write(&mesh.parts()).unwrap();
        let again = Mesh::of(&HmeshView::read(&bytes).unwrap());
        assert_eq!(format!("{again:?}"), format!("{mesh:?}"));
    }
}

#[test]
fn accessors_return_ranges_of_submeshes_and_lods() {
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
fn ignores_unknown_chunks() {
    let good = write(&static_mesh().parts()).unwrap();
    let mut bytes = good.clone();
    // Without materials MTRL is optional, so its table row can be replaced.
    let one = vec![(vec![[0, 1, 2]], false)];
    let plain = write(&Mesh::build(&MeshSpec { submeshes: one, joints: vec![], ..spec() }).parts()).unwrap();
    let entry = 32 + 24 * 8;
    let mut other = plain.clone();
    other[entry..entry + 4].copy_from_slice(b"XTRA");
    other[entry + 4] = 9;
    verify(&other).unwrap();
    assert!(HmeshView::read(&other).unwrap().materials().is_empty());
    bytes[entry..entry + 4].copy_from_slice(b"XTRA");
    assert_eq!(verify(&bytes), Err(Error::Missing { chunk: "MTRL" }));
}

#[test]
fn accepts_wide_indices_of_small_mesh() {
    // Valid, although Kiln does not write it: four-byte indices for few vertices. The index chunk is moved to
    // the end.
    let mesh = static_mesh();
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
    // The old location is now a gap, which accessors ignore and `verify` rejects.
    let at_of_meshlets = 32 + 24 * 4 + 8;
    let expected =
        Error::Mismatch { at: at_of_meshlets, field: "offset", found: old as u64 + 32, expected: old as u64 };
    assert_eq!(view.verify(), Err(expected));
}
