//! Compressed meshes: round trips with the encoders of meshoptimizer, damaged files, and the rejection by readers of
//! version 2.

use super::encode::encode;
use super::meshes::strip;
use super::*;

fn compressed(mesh: &Mesh) -> (Vec<u8>, Vec<u8>) {
    let file = write(&mesh.parts()).unwrap();
    let compressed = write_compressed(&file, encode).unwrap();
    (file, compressed)
}

/// A mesh that `assetc` wrote, with and without compression.
const WAVES: &[u8] = include_bytes!("../../../testing/fuzz-targets/corpus/hmesh/waves.hmesh");
const WAVES_COMPRESSED: &[u8] =
    include_bytes!("../../../testing/fuzz-targets/corpus/hmesh/waves-compressed.hmesh");

/// Rotates the corners of triangles so that the smallest index is first.
fn canonical(indices: impl Iterator<Item = u32>) -> Vec<[u32; 3]> {
    let indices: Vec<u32> = indices.collect();
    let triangles = indices.as_chunks::<3>().0.iter();
    triangles.map(|&[a, b, c]| [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()).collect()
}

#[test]
fn compressed_mesh_round_trips() {
    for mesh in [strip(), strip().with_extra(0xff), sample(), Mesh { lod_count: 0, ..static_mesh() }] {
        let mesh =
            if mesh.lod_count == 0 { Mesh { lods: vec![], lod_indices: vec![], ..mesh } } else { mesh };
        let (file, compressed) = compressed(&mesh);
        verify(&compressed).unwrap();
        let decoded = decoded(&compressed).unwrap();
        assert_eq!(decoded.len(), file.len());
        let (a, b) = (HmeshView::read(&file).unwrap(), HmeshView::read(&decoded).unwrap());
        assert_eq!(canonical(a.indices().iter()), canonical(b.indices().iter()));
        assert_eq!(canonical(a.lod_indices().iter()), canonical(b.lod_indices().iter()));
        let corners =
            |view: &HmeshView<'_>| canonical(view.meshlet_triangles().iter().flatten().map(u32::from));
        assert_eq!(corners(&a), corners(&b));
        for ((tag, bytes), (other, decoded)) in a.chunks().zip(b.chunks()) {
            let rotated = [*b"IDXS", *b"LODI", *b"MLTR"].contains(&tag);
            assert!(tag == other && (rotated || bytes == decoded), "{}", tag.escape_ascii());
        }
        assert_eq!(write_compressed(&decoded, encode).unwrap(), compressed, "encoding again changes nothing");
    }
}

#[test]
fn large_chunks_are_encoded() {
    let (file, bytes) = compressed(&strip());
    assert!(bytes.len() < file.len() / 2, "{} of {}", bytes.len(), file.len());
    let mesh = CompressedHmesh::read(&bytes).unwrap();
    assert_eq!(mesh.decoded_size(), file.len() as u64);
    let encoded: Vec<String> = mesh.encoded_chunks().map(|c| c.fourcc.escape_ascii().to_string()).collect();
    assert_eq!(encoded, ["VTXS", "IDXS", "MLET", "MLVR", "MLBN", "SKIN", "LODI"]);
    let vertices = mesh.encoded_chunks().next().unwrap();
    assert_eq!((vertices.codec, vertices.count, vertices.stride), (StreamCodec::Vertices, 600, 28));
    // The stream itself is meshoptimizer's.
    let records = meshopt::decode_vertex_buffer::<[u8; 28]>(vertices.stream, 600).unwrap();
    assert_eq!(records.as_flattened(), HmeshView::read(&file).unwrap().vertices().bytes());
}

#[test]
fn triangles_of_meshlets_are_encoded() {
    let encoded = CompressedHmesh::read(WAVES_COMPRESSED).unwrap();
    let triangles = encoded.encoded_chunks().find(|chunk| chunk.fourcc == *b"MLTR").unwrap();
    assert_eq!((triangles.codec, triangles.stride), (StreamCodec::MeshletTriangles, 1));
    let file = decoded(WAVES_COMPRESSED).unwrap();
    let (a, b) = (HmeshView::read(WAVES).unwrap(), HmeshView::read(&file).unwrap());
    let corners = |view: &HmeshView<'_>| canonical(view.meshlet_triangles().iter().flatten().map(u32::from));
    assert_eq!(corners(&a), corners(&b));
    // The stream itself is meshoptimizer's, with indices that count from the first vertex of the first meshlet.
    let count = triangles.count as usize;
    let indices = meshopt::decode_index_buffer::<u32>(triangles.stream, count).unwrap();
    let expected = b.meshlets().iter().flat_map(|meshlet| {
        let part = b.meshlet_triangles().range(meshlet.triangle_offset, meshlet.triangle_count).unwrap();
        part.iter().flatten().map(move |corner| meshlet.vertex_offset + u32::from(corner)).collect::<Vec<_>>()
    });
    assert_eq!(indices, expected.collect::<Vec<u32>>());
}

#[test]
fn in_place_reader_rejects_compressed_mesh() {
    let (_, bytes) = compressed(&strip());
    let error = HmeshView::read(&bytes).unwrap_err();
    assert_eq!(error, Error::Value { at: 4, field: "version", found: 3, expected: "2" });
    assert!(CompressedHmesh::is_compressed(&bytes) && !CompressedHmesh::is_compressed(&bytes[..7]));
    assert!(matches!(CompressedHmesh::read(&write(&sample().parts()).unwrap()), Err(Error::Value { .. })));
}

#[test]
fn inspection_reads_compressed_mesh() {
    let (file, bytes) = compressed(&strip());
    let text = |bytes: &[u8]| {
        let (mut line, mut dump) = (String::new(), String::new());
        HMesh.describe(bytes, &mut line).unwrap();
        HMesh.dump(bytes, &mut dump).unwrap();
        (line, dump)
    };
    let ((plain, _), (line, dump)) = (text(&file), text(&bytes));
    let expected =
        format!("v3{} | meshopt streams, {} B decoded", plain.strip_prefix("v2").unwrap(), file.len());
    assert_eq!(line, expected);
    assert!(dump.starts_with("hmesh v3\nstream VTXS vertices 600 of 28 B in "), "{dump}");
    let mut facts = vec![];
    HMesh.facts(&bytes, &mut |name, fact| facts.push(format!("{name} {fact:?}"))).unwrap();
    assert!(facts.contains(&format!("decoded_bytes Number({})", file.len())), "{facts:?}");
}

#[test]
fn rejects_invalid_encoded_chunks() {
    let good = WAVES_COMPRESSED;
    let row = |tag: &[u8; 4]| (0..).map(|i| 32 + 24 * i).find(|&row| good[row..row + 4] == *tag).unwrap();
    let payload = |tag: &[u8; 4]| u32_at(good, row(tag) + 8) as usize;
    let broken = |at: usize, value: u32| {
        let mut bytes = good.to_vec();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        verify(&bytes).unwrap_err().to_string()
    };
    for (at, value, expected) in [
        (row(b"VTXS") + 4, 5, "flags"),
        (row(b"VTXS") + 4, 4, "flags"),
        (row(b"VTXS") + 4, 3, "stride"),
        (row(b"IDXS") + 4, 0, "size of IDXS"),
        (payload(b"VTXS") + 4, 30, "stride"),
        (payload(b"VTXS") + 4, 32, "meshopt stream"),
        (payload(b"VTXS"), u32_at(good, payload(b"VTXS")) - 1, "meshopt stream"),
        (payload(b"VTXS"), u32::MAX, "decoded size"),
        (payload(b"IDXS"), 4, "count"),
        (payload(b"IDXS"), 3 * u32_at(good, row(b"IDXS") + 16), "decoded size"),
        (payload(b"MLVR"), u32_at(good, row(b"MLVR") + 16), "decoded size"),
        (payload(b"IDXS"), 3, "meshopt stream"),
        (payload(b"MLVR") + 8, 0, "meshopt stream"),
        (payload(b"MLTR") + 4, 3, "stride"),
        (row(b"MLET"), u32::from_le_bytes(*b"OTHR"), "MLET"),
    ] {
        let error = broken(at, value);
        assert!(error.contains(expected), "{error:?} does not name {expected:?}");
    }
    // A second chunk would have the place of the first, which nothing would be written to.
    let mut bytes = good.to_vec();
    let (second, first) = (row(b"LODI"), row(b"MLTR"));
    bytes.copy_within(first..first + 8, second);
    bytes[payload(b"LODI") + 4] = 1;
    let error = verify(&bytes).unwrap_err().to_string();
    assert!(error.ends_with("is the codec of two chunks"), "{error}");
    let mesh = CompressedHmesh::read(good).unwrap();
    assert!(matches!(mesh.decode_into(&mut [0; 8]), Err(Error::Mismatch { field: "buffer length", .. })));
    // An encoder that loses something is found.
    let file = write(&strip().parts()).unwrap();
    let lossy = |stream: Stream<'_>| match stream {
        Stream::Vertices { bytes, stride: 28 } => {
            let mut bytes = bytes.to_vec();
            bytes[0] ^= 1;
            encode(Stream::Vertices { bytes: &bytes, stride: 28 })
        }
        stream => encode(stream),
    };
    assert!(matches!(write_compressed(&file, lossy), Err(Error::Fault { field: "meshopt stream", .. })));
    // Without an encoder all chunks are stored, and the file is still one of version 3.
    assert_eq!(decoded(&write_compressed(&file, |_| None).unwrap()).unwrap(), file);
}

#[test]
fn every_prefix_and_bit_flip_is_an_error_or_a_valid_mesh() {
    let (_, good) = compressed(&strip());
    for len in (0..good.len()).step_by(7) {
        verify(&good[..len]).unwrap_err();
    }
    for at in (0..good.len()).step_by(3) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        let (mut line, verified) = (String::new(), verify(&bytes).is_ok());
        let described = HMesh.describe(&bytes, &mut line).is_ok();
        assert!(described || !verified);
    }
}
