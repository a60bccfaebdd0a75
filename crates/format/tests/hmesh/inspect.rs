//! The `Format` methods of meshes: cross-file checks, descriptions, facts and dumps.

use super::*;
use kiln_format::hmat::{self, GpuMaterial};
use kiln_format::{Fact, Lookup};
use std::borrow::Cow;

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
fn check_references_compares_material_table() {
    let problems = |mesh: &Mesh, table: Option<Vec<u8>>| {
        let bytes = write(&mesh.parts()).unwrap();
        let mut found = vec![];
        HMesh
            .check_references("models/q.hmesh", &bytes, &Table(table), &mut |p| {
                found.push((p.code.as_str(), p.message))
            })
            .unwrap();
        found
    };
    let rows = |count| Some(hmat::write(&vec![GpuMaterial::default(); count]).unwrap());
    let two = Mesh::build(&MeshSpec { submeshes: vec![(vec![[0, 1, 2]], true), (vec![], true)], ..spec() });
    assert_eq!(problems(&two, rows(2)), []);
    let message =
        "the mesh has 2 materials, but the companion material table models/q.hmat does not exist".to_owned();
    assert_eq!(problems(&two, None), [("mesh-without-materials", message)]);
    assert_eq!(problems(&two, rows(3))[0].0, "mesh-material-count");
    assert_eq!(
        problems(&two, Some(b"HMAT".to_vec())),
        [],
        "an unreadable table is reported for the table itself"
    );
    let none = Mesh::build(&MeshSpec { submeshes: vec![(vec![[0, 1, 2]], false)], ..spec() });
    assert_eq!(problems(&none, None), []);
    assert_eq!(problems(&none, rows(1))[0].0, "mesh-material-count");
}

#[test]
fn describe_facts_and_dump_match_document() {
    let text = |mesh: &Mesh| {
        let mut text = String::new();
        HMesh.describe(&write(&mesh.parts()).unwrap(), &mut text).unwrap();
        text
    };
    assert_eq!(
        text(&sample()),
        "v2 | 5 vertices, 3 triangles, 9 indices of 2 B | 2 meshlets, 2 submeshes, 1 material | stride 28 B \
         | tangents yes | AABB 2.00x1.00x3.00, radius 1.87 | skinned (3 joints) \
         | 2 LODs (stalled: LOD 1 for 1 submesh, LOD 2 for 2 submeshes)"
    );
    let plain = Mesh::build(&MeshSpec { joints: vec![], lod_count: 0, has_tangents: false, ..spec() });
    assert!(text(&plain).ends_with("| tangents no | AABB 2.00x1.00x3.00, radius 1.87"), "{}", text(&plain));
    let mut bones = sample();
    bones.skin.clear();
    assert!(text(&bones).contains("| skeleton (3 joints) | 2 LODs (stalled"));

    let bytes = write(&sample().parts()).unwrap();
    let mut totals = vec![];
    HMesh
        .facts(&bytes, &mut |name, fact| {
            if let Fact::Total(n) = fact {
                totals.push((name, n));
            }
        })
        .unwrap();
    let expected = [
        ("vertices", 5),
        ("triangles", 3),
        ("indices", 9),
        ("meshlets", 2),
        ("submeshes", 2),
        ("materials", 1),
        // VTXS, SKIN, IDXS, LODI and the four chunks of meshlets.
        ("gpu_bytes", 140 + 120 + 18 + 12 + 32 + 28 + 9 + 64),
    ];
    assert_eq!(totals, expected);
    let mut dump = String::new();
    HMesh.dump(&bytes, &mut dump).unwrap();
    for part in
        ["chunk VTXS 140 B fnv ", "material 0 0x1111000000000001\n", "  lod 1 3 indices\n", "joint 2 "]
    {
        assert!(dump.contains(part), "{dump}");
    }
}
