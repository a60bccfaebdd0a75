//! The byte layout of `.hmesh`, with a reader of its own.

use crate::model::{Model, U16};
use crate::project::Compiled;
use crate::shapes::{grid, quad};
use kiln_format::hmesh::NO_MATERIAL;
use serde_json::json;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Returns name, offset and size of every chunk, and asserts the invariants of all files.
#[track_caller]
fn chunks(bytes: &[u8]) -> Vec<(String, usize, usize)> {
    assert_eq!(&bytes[..4], b"HMSH");
    assert_eq!(u32_at(bytes, 4), 2);
    assert_eq!(bytes[12..32], [0; 20]);
    let count = u32_at(bytes, 8) as usize;
    let mut end = 32 + 24 * count;
    let chunks: Vec<_> = (0..count)
        .map(|n| {
            let at = 32 + 24 * n;
            let name = String::from_utf8(bytes[at..at + 4].to_vec()).unwrap();
            assert_eq!(u32_at(bytes, at + 4), 0, "flags of {name}");
            (name, u64_at(bytes, at + 8) as usize, u64_at(bytes, at + 16) as usize)
        })
        .collect();
    for (name, offset, size) in &chunks {
        assert_eq!(*offset, end.next_multiple_of(16), "{name}");
        assert!(bytes[end..*offset].iter().all(|byte| *byte == 0), "padding before {name}");
        end = offset + size;
    }
    assert_eq!(end, bytes.len(), "nothing follows the last chunk");
    chunks
}

fn size_of(chunks: &[(String, usize, usize)], name: &str) -> usize {
    chunks.iter().find(|chunk| chunk.0 == name).unwrap_or_else(|| panic!("no {name}")).2
}

#[test]
fn static_mesh_has_12_chunks_in_order() {
    let compiled = Compiled::new(&Model::triangle());
    let found = chunks(compiled.bytes());
    let names: Vec<&str> = found.iter().map(|chunk| chunk.0.as_str()).collect();
    assert_eq!(
        names,
        ["DESC", "BNDS", "VTXS", "IDXS", "MLET", "MLVR", "MLTR", "MLBN", "MTRL", "SUBM", "LODI", "LODT"]
    );
    assert_eq!(found[0].1, 320);
    let sizes: Vec<usize> = found.iter().map(|chunk| chunk.2).collect();
    // One triangle cannot be simplified: two empty LODs without indices.
    assert_eq!(sizes, [32, 40, 3 * 28, 3 * 2, 16, 3 * 4, 3, 32, 0, 64, 0, 8 + 2 * 8]);
    let desc = &compiled.bytes()[320..352];
    let numbers: Vec<u32> = [0, 4, 8, 12, 16, 24, 28].map(|at| u32_at(desc, at)).into();
    assert_eq!(numbers, [3, 3, 1, 1, 0, 64, 124]);
    // Stride, index width, and no tangents, because there are no UVs.
    assert_eq!(desc[20..24], [28, 0, 2, 0]);
    let table = found[11].1;
    assert_eq!((u32_at(compiled.bytes(), table), u32_at(compiled.bytes(), table + 4)), (2, 1));
    assert_eq!(compiled.bytes()[table + 8..], [0; 16]);
    assert_eq!(compiled.project.outputs(), ["assets.hman", "models/Chair.hmesh"], "no material, no table");
    assert_eq!(compiled.mesh().submeshes().get(0).unwrap().material_slot, NO_MATERIAL);
}

#[test]
fn skinned_mesh_has_14_chunks() {
    let mut model = Model::triangle();
    let view = model.view(&[0; 24]);
    let joints = model.accessor(view, U16, "VEC4", 3);
    let weights = model.floats("VEC4", &[1.0, 0.0, 0.0, 0.0].repeat(3));
    let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
    attributes["JOINTS_0"] = json!(joints);
    attributes["WEIGHTS_0"] = json!(weights);
    model.push("nodes", json!({"name": "bone"}));
    model.push("skins", json!({"joints": [1]}));
    let skeleton_only = Compiled::new(&model);
    let found = chunks(skeleton_only.bytes());
    assert_eq!((found.len(), found[0].1), (13, 352), "a skeleton without a skinned mesh");
    assert_eq!(found[10].0, "SKEL");

    model.json["nodes"][0]["skin"] = json!(0);
    let compiled = Compiled::new(&model);
    let found = chunks(compiled.bytes());
    let names: Vec<&str> = found[8..].iter().map(|chunk| chunk.0.as_str()).collect();
    assert_eq!(names, ["MTRL", "SUBM", "SKIN", "SKEL", "LODI", "LODT"]);
    assert_eq!((found.len(), found[0].1), (14, 368));
    assert_eq!((size_of(&found, "SKIN"), size_of(&found, "SKEL")), (3 * 24, 112));
}

#[test]
fn indices_are_32_bit_from_65536_vertices() {
    for (columns, rows, width) in [(255, 257, 2), (256, 256, 4)] {
        let mut model = Model::new();
        let grid = grid(&mut model, columns, rows);
        model.mesh(json!([grid]));
        let compiled = Compiled::with(&model, "mesh: {lods: false}");
        let desc = compiled.mesh().desc();
        assert_eq!((desc.vertex_count, desc.index_width), (columns * rows, width));
        let found = chunks(compiled.bytes());
        let indices = (columns - 1) * (rows - 1) * 6;
        assert_eq!(size_of(&found, "IDXS"), (indices * u32::from(width)) as usize);
        assert!(compiled.mesh().indices().iter().any(|index| index == columns * rows - 1));
        // The triangles of meshlets are those of the mesh.
        assert_eq!(size_of(&found, "MLTR"), indices as usize);
    }
}

#[test]
fn meshlets_have_the_triangles_of_their_submesh() {
    let mut model = Model::new();
    let (one, two) = (grid(&mut model, 20, 20), grid(&mut model, 7, 40));
    model.mesh(json!([one, two]));
    let compiled = Compiled::new(&model);
    let mesh = compiled.mesh();
    for submesh in mesh.submeshes().iter() {
        let indices: Vec<u32> = mesh.submesh_indices(&submesh).iter().collect();
        let turned = |[a, b, c]: [u32; 3]| {
            let least = a.min(b).min(c);
            if least == a {
                [a, b, c]
            } else if least == b {
                [b, c, a]
            } else {
                [c, a, b]
            }
        };
        let mut wanted: Vec<_> = indices.as_chunks::<3>().0.iter().copied().map(turned).collect();
        let mut found = Vec::new();
        for meshlet in mesh.submesh_meshlets(&submesh).iter() {
            let (vertices, triangles) = mesh.meshlet(&meshlet);
            assert!(vertices.len() <= 64 && triangles.len() <= 124);
            let corner = |local: u8| vertices.get(local.into()).unwrap();
            found.extend(triangles.iter().map(|triangle| turned(triangle.map(corner))));
        }
        wanted.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, wanted);
    }
    // LODs have about a half and a quarter of the triangles, exactly so for a plane.
    let lods: Vec<u32> = mesh.lods().iter().map(|lod| lod.index_count).collect();
    let full: Vec<u32> = mesh.submeshes().iter().map(|submesh| submesh.index_count).collect();
    assert_eq!(full, [19 * 19 * 6, 6 * 39 * 6]);
    for (submesh, levels) in full.iter().zip(lods.chunks(2)) {
        assert!(levels[0] <= submesh / 2 && levels[0] > 0, "{lods:?}");
        assert!(levels[1] <= submesh / 4 && levels[1] > 0, "{lods:?}");
    }
}

#[test]
fn material_slots_are_dense_with_documented_hashes() {
    let mut model = Model::new();
    for name in ["Wood", "", "Leather", "Wood"] {
        model.push("materials", if name.is_empty() { json!({}) } else { json!({"name": name}) });
    }
    let mut primitives = Vec::new();
    for material in [Some(2), None, Some(0), Some(2)] {
        let mut primitive = quad(&mut model);
        if let Some(material) = material {
            primitive["material"] = json!(material);
        }
        primitives.push(primitive);
    }
    model.mesh(json!(primitives));
    let compiled = Compiled::new(&model);
    let mesh = compiled.mesh();
    // hash("models/chair/leather"), hash("models/chair/material_0")
    let hashes: Vec<u64> = mesh.materials().iter().collect();
    assert_eq!(hashes, [0x5593b4deb18216f7, 0xbe1ae018fb5f8af0]);
    let slots: Vec<u32> = mesh.submeshes().iter().map(|submesh| submesh.material_slot).collect();
    assert_eq!(slots, [0, NO_MATERIAL, 1, 0]);
    assert_eq!(compiled.materials().len(), 2);
    let first: Vec<u32> = mesh.submeshes().iter().map(|submesh| submesh.first_index).collect();
    assert_eq!(first, [0, 6, 12, 18]);
    assert!(compiled.codes().is_empty(), "{:?}", compiled.warnings);
}

#[test]
fn warns_about_material_reference_conflict() {
    let mut model = Model::new();
    for material in [json!({}), json!({"name": "MATERIAL_0"})] {
        model.push("materials", material);
    }
    let mut primitive = quad(&mut model);
    primitive["material"] = json!(0);
    model.mesh(json!([primitive]));
    assert_eq!(Compiled::new(&model).codes(), ["material-conflict"]);
}

#[test]
fn bounds_are_tight() {
    let mut model = Model::triangle();
    model.json["nodes"][0]["translation"] = json!([10.0, 0.0, -4.0]);
    let compiled = Compiled::new(&model);
    let bounds = compiled.mesh().bounds();
    assert_eq!((bounds.aabb_min, bounds.aabb_max), ([10.0, 0.0, -4.0], [11.0, 1.0, -4.0]));
    assert_eq!(bounds.sphere_center, [10.5, 0.5, -4.0]);
    // Rounded up, so that the sphere contains every vertex.
    let (radius, exact) = (f64::from(bounds.sphere_radius), 0.5f64.sqrt());
    assert!(radius >= exact && radius < exact + 1e-6, "{radius}");
    assert_eq!(compiled.mesh().submeshes().get(0).unwrap().bounds, bounds);
}
