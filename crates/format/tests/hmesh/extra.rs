//! The optional chunks: vertex colours, UV sets, morph targets and nodes.

use super::*;

/// A mesh with all optional content: vertex colours of 16 bits, two further UV sets, morph targets, nodes.
fn decorated() -> Mesh {
    sample().with_extra(0b1111_1010)
}

#[test]
fn files_without_optional_content_are_unchanged() {
    let plain = write(&sample().parts()).unwrap();
    assert_eq!(write(&sample().with_extra(0).parts()).unwrap(), plain);
    assert_eq!(tags(&plain).last().map(String::as_str), Some("LODT"));
    // A reader that does not know the new chunks sees the same mesh.
    let mut bytes = write(&decorated().parts()).unwrap();
    let count = u32_at(&bytes, 8) as usize;
    for entry in 0..count {
        let at = 32 + 24 * entry;
        if ["COLR", "UVST", "MSET", "MTGT", "MDLT", "MDNR", "MDTN", "NODE", "NAME"]
            .contains(&std::str::from_utf8(&bytes[at..at + 4]).unwrap())
        {
            bytes[at] = b'?';
        }
    }
    let view = HmeshView::read(&bytes).unwrap();
    assert_eq!(write(&Mesh::of(&view).parts()).unwrap(), plain);
}

#[test]
fn reads_what_it_wrote() {
    let bytes = write(&decorated().parts()).unwrap();
    let all = [
        "DESC", "BNDS", "VTXS", "IDXS", "MLET", "MLVR", "MLTR", "MLBN", "MTRL", "SUBM", "SKIN", "SKEL",
        "LODI", "LODT", "COLR", "UVST", "MSET", "MTGT", "MDLT", "MDNR", "MDTN", "NODE", "NAME",
    ];
    assert_eq!(tags(&bytes), all);
    let view = HmeshView::read(&bytes).unwrap();
    let colors = view.colors().unwrap();
    assert_eq!(colors.stride(), 8);
    assert_eq!(colors.get(1), Some([37.0 * 200.0 / 65535.0, 0.0, 1.0, 1.0 / 65535.0]));
    assert_eq!(colors.get(5), None);
    assert_eq!(view.uv_set_count(), 3);
    assert_eq!(view.uv_set(2).unwrap().get(4), Some([9.0, 0.5]));
    assert!(view.uv_set(0).is_none() && view.uv_set(3).is_none());
    let morph = view.morph(1).unwrap();
    assert_eq!((morph.name, morph.weight, morph.deltas.len()), ("Grün", 0.25, 3));
    assert_eq!(morph.deltas.get(2), Some(MorphDelta { vertex: 4, position: [0.5, 4.0, -1.0] }));
    assert_eq!(morph.normals.get(2), Some([0.0, 0.25, 1.0]));
    assert_eq!(morph.tangents.get(2), Some([1.0, 0.0, -0.5]));
    assert!(view.morph(2).is_none());
    let node = view.nodes().get(2).unwrap();
    assert_eq!(
        (view.node_name(&node), node.parent, node.first_submesh, node.submesh_count),
        ("head", 0, 1, 1)
    );
    let mut text = String::new();
    HMesh.describe(&bytes, &mut text).unwrap();
    assert!(text.ends_with(" | vertex colours (8 B) | 3 UV sets | 2 morph targets | 3 nodes"), "{text}");
    text.clear();
    HMesh.dump(&bytes, &mut text).unwrap();
    assert!(
        text.contains("morph target 1 \"Grün\" weight 0.25 3 vertices") && text.contains("node 2 \"head\""),
        "{text}"
    );
}

#[test]
fn documented_bytes_of_every_record() {
    let bytes = write(&decorated().parts()).unwrap();
    let chunk = |tag: &[u8; 4], size: usize| bytes[chunk_at(&bytes, tag)..][..size].to_vec();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let float = |value: f32| value.to_bits();
    assert_eq!(chunk(b"MSET", 16), words(&[0, 1, 0, 2]));
    assert_eq!(chunk(b"MTGT", 40), words(&[0, 0, float(0.25), 0, 5, 0, 5, float(0.25), 5, 3]));
    assert_eq!(chunk(b"MDLT", 32)[16..], words(&[1, float(0.5), float(1.0), float(-1.0)]));
    let node = [6, 4, u32::MAX, 0, 0, float(1.0), float(2.0), float(3.0), 0, float(0.6), 0, float(0.8)];
    assert_eq!(chunk(b"NODE", 48), words(&node));
    assert_eq!(chunk(b"COLR", 8), [0, 0, 0, 0, 255, 255, 1, 0]);
    assert_eq!(chunk(b"NAME", 10), "Grün head".as_bytes());
}

#[test]
fn writer_rejects_invalid_optional_content() {
    const NAN: f32 = f32::NAN;
    type Change = fn(&mut Mesh);
    let cases: &[(&str, Change)] = &[
        ("size of COLR", |m| m.colors16.truncate(4)),
        ("color at byte", |m| {
            m.colors16.clear();
            m.colors32 = vec![[NAN; 4]; 5];
        }),
        ("size of UVST", |m| m.uv_sets.truncate(9)),
        ("uv at byte", |m| m.uv_sets[7][1] = NAN),
        ("submesh_count", |m| m.morph_sets[0].submesh_count = 3),
        ("submesh_count", |m| m.morph_sets[0].submesh_count = 0),
        ("submesh_count", |m| m.morph_sets[0].first_submesh = u32::MAX),
        ("first_target", |m| m.morph_sets[0].first_target = 1),
        ("target_count", |m| m.morph_sets[0].target_count = 0),
        ("size of MTGT", |m| m.morph_sets[0].target_count = u32::MAX),
        ("size of MTGT", |m| m.morph_sets.clear()),
        ("out of order", |m| {
            let set = MorphSet { first_target: 2, ..m.morph_sets[0] };
            m.morph_sets.push(set);
        }),
        ("name", |m| m.morph_targets[1].name_size = 100),
        ("name", |m| m.morph_targets[1].name_offset = u32::MAX),
        ("not UTF-8", |m| m.morph_targets[1].name_size = 3),
        ("weight at byte", |m| m.morph_targets[1].weight = NAN),
        ("first_delta", |m| m.morph_targets[1].first_delta = 0),
        ("delta_count", |m| m.morph_targets[1].delta_count = u32::MAX),
        ("size of MDLT", |m| m.morph_targets[1].delta_count = 2),
        ("vertex at byte", |m| m.morph_deltas[7].vertex = 5),
        ("out of order", |m| m.morph_deltas[6].vertex = 0),
        ("position at byte", |m| m.morph_deltas[6].position[2] = NAN),
        ("size of MDNR", |m| m.morph_normals.truncate(3)),
        ("size of MDTN", |m| m.morph_tangents.push([0.0; 3])),
        ("normal at byte", |m| m.morph_normals[3][0] = NAN),
        ("tangent at byte", |m| m.morph_tangents[3][0] = NAN),
        ("parent", |m| m.nodes[1].parent = 1),
        ("parent", |m| m.nodes[1].parent = -2),
        ("submesh_count", |m| m.nodes[1].submesh_count = 3),
        ("name", |m| m.nodes[1].name_size = 5),
        ("rotation", |m| m.nodes[2].rotation[1] = NAN),
        ("translation", |m| m.nodes[2].translation[1] = NAN),
        ("scale", |m| m.nodes[2].scale[1] = f32::INFINITY),
    ];
    for (i, (words, change)) in cases.iter().enumerate() {
        let mut mesh = decorated();
        change(&mut mesh);
        let found = write(&mesh.parts()).expect_err(words).to_string();
        assert!(found.contains(words), "case {i}: {found:?} does not contain {words:?}");
    }
}
