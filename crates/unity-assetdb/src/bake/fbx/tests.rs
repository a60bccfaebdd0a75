//! FBX files made here, binary and text, and broken ones.

use super::*;
use crate::bake::import_plan::ModelFormat;
use crate::bake::model;
use std::io::Write as _;

fn read_bytes(bytes: &[u8]) -> Result<Model, ModelError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    model::read(&file, file.metadata().unwrap().len(), ModelFormat::Fbx)
}

fn property(value: &[u8], kind: u8) -> Vec<u8> {
    let mut bytes = vec![kind];
    if kind == b'S' {
        bytes.extend((value.len() as u32).to_le_bytes());
    }
    bytes.extend(value);
    bytes
}

fn number(value: i64) -> Vec<u8> {
    property(&value.to_le_bytes(), b'L')
}

fn name(value: &str) -> Vec<u8> {
    property(value.as_bytes(), b'S')
}

/// A record whose place in the file is known.
fn node(
    at: usize,
    wide: bool,
    key: &str,
    properties: &[Vec<u8>],
    children: &dyn Fn(usize) -> Vec<u8>,
) -> Vec<u8> {
    let width = if wide { 8 } else { 4 };
    let size: usize = properties.iter().map(Vec::len).sum();
    let start = at + 3 * width + 1 + key.len() + size;
    let inside = children(start);
    let end = start + inside.len();
    let mut bytes = Vec::new();
    for value in [end, properties.len(), size] {
        bytes.extend(&(value as u64).to_le_bytes()[..width]);
    }
    bytes.push(key.len() as u8);
    bytes.extend(key.as_bytes());
    bytes.extend(properties.concat());
    bytes.extend(inside);
    bytes
}

fn list(at: usize, wide: bool, items: &[(&str, Vec<Vec<u8>>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, properties) in items {
        let next = node(at + bytes.len(), wide, key, properties, &|_| vec![0; 40]);
        bytes.extend(next);
    }
    bytes.extend(vec![0; if wide { 25 } else { 13 }]);
    bytes
}

/// A body with a skin on an armature, one material, one take.
fn sample(wide: bool) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(b"\x1a\x00");
    bytes.extend(if wide { 7700u32 } else { 7400 }.to_le_bytes());
    let object = |id: i64, title: &str, class: &str, kind: &str| {
        vec![number(id), name(&format!("{title}\0\u{1}{class}")), name(kind)]
    };
    let objects = vec![
        ("Geometry", object(1, "Cube.001", "Geometry", "Mesh")),
        ("Model", object(12, "Bone", "Model", "LimbNode")),
        ("Model", object(10, "Body", "Model", "Mesh")),
        ("Model", object(11, "Armature", "Model", "Null")),
        ("Material", object(20, "Suit", "Material", "")),
        ("Deformer", object(30, "Skin", "Deformer", "Skin")),
        ("AnimationStack", object(40, "Armature|Run", "AnimStack", "")),
    ];
    let link = |child: i64, parent: i64| ("C", vec![name("OO"), number(child), number(parent)]);
    let links = vec![link(10, 0), link(11, 0), link(12, 11), link(1, 10), link(30, 1), link(20, 10)];
    let takes = vec![("Take", vec![name("Armature|Run")])];
    for (key, items) in
        [("GlobalSettings", vec![]), ("Objects", objects), ("Connections", links), ("Takes", takes)]
    {
        let next = node(bytes.len(), wide, key, &[], &|at| list(at, wide, &items));
        bytes.extend(next);
    }
    bytes.extend(vec![0; 25]);
    bytes
}

fn expected() -> Model {
    let node = |name: &str, parent, mesh| Node { name: name.into(), parent, mesh };
    Model {
        nodes: vec![
            node("Body", None, Mesh::Skinned),
            node("Armature", None, Mesh::None),
            node("Bone", Some(1), Mesh::None),
        ],
        materials: vec!["Suit".into()],
        clips: vec!["Armature|Run".into()],
    }
}

#[test]
fn reads_binary_fbx_with_32_and_64_bit_offsets() {
    assert_eq!(read_bytes(&sample(false)), Ok(expected()));
    assert_eq!(read_bytes(&sample(true)), Ok(expected()));
}

#[test]
fn reads_ascii_fbx() {
    let text = "; FBX 7.3.0 project file\nFBXHeaderExtension:  {\n\tFBXHeaderVersion: 1003\n}\nObjects:  {\n\
        \tGeometry: 1, \"Geometry::\", \"Mesh\" {\n\t\tVertices: *3 {\n\t\t\ta: 1,2,3\n\t\t}\n\t}\n\
        \tModel: 12, \"Model::Bone\", \"LimbNode\" {\n\t}\n\tModel: 10, \"Model::Body\", \"Mesh\" {\n\t\tModel: \"no\"\n\t}\n\
        \tModel: 11, \"Model::Armature\", \"Null\" {\n\t}\n\tMaterial: 20, \"Material::Suit\", \"\" {\n\t}\n\
        \tDeformer: 30, \"Deformer::\", \"Skin\" {\n\t}\n\
        }\nConnections:  {\n\t;Model::Body, Model::RootNode\n\tC: \"OO\",10,0\n\tC: \"OO\",11,0\n\tC: \"OO\",12,11\n\tC: \"OO\",1,10\n\tC: \"OO\",30,1\n\
        }\nTakes:  {\n\tCurrent: \"\"\n\tTake: \"Armature|Run\" {\n\t}\n}\n";
    assert_eq!(read_bytes(text.as_bytes()), Ok(expected()));
    assert_eq!(read_bytes(text.replace('\n', "\r\n").as_bytes()), Ok(expected()));
}

#[test]
fn reads_fbx_6_by_object_name() {
    let text = "; FBX 6.1.0 project file\nObjects:  {\n\tModel: \"Model::Body\", \"Mesh\" {\n\t}\n\tModel: \"Model::Leg\", \"Mesh\" {\n\t}\n\
        \tMaterial: \"Material::Suit\", \"\" {\n\t}\n}\nConnections:  {\n\tConnect: \"OO\", \"Model::Body\", \"Model::Scene\"\n\
        \tConnect: \"OO\", \"Model::Leg\", \"Model::Body\"\n}\n";
    let model = read_bytes(text.as_bytes()).unwrap();
    let names: Vec<_> = model.nodes.iter().map(|node| (&*node.name, node.parent, node.mesh)).collect();
    assert_eq!(names, [("Body", None, Mesh::Rigid), ("Leg", Some(0), Mesh::Rigid)]);
    assert_eq!(model.materials, ["Suit"]);
}

#[test]
fn ignores_cyclic_hierarchies() {
    let text = "; FBX\nObjects:  {\n\tModel: 1, \"Model::A\", \"Null\" {\n\t}\n\tModel: 2, \"Model::B\", \"Null\" {\n\t}\n\
        \tModel: 3, \"Model::C\", \"Null\" {\n\t}\n}\nConnections:  {\n\tC: \"OO\",1,2\n\tC: \"OO\",2,1\n\tC: \"OO\",3,0\n}\n";
    let model = read_bytes(text.as_bytes()).unwrap();
    assert_eq!(model.nodes.len(), 1);
}

#[test]
fn rejects_or_partially_reads_damaged_fbx() {
    assert_eq!(read_bytes(b""), Err(ModelError::Empty));
    assert_eq!(read_bytes(b"version https://git-lfs.github.com/spec/v1\noid"), Err(ModelError::LfsPointer));
    assert!(matches!(read_bytes(b"\x00\x01\x02 what is this"), Err(ModelError::Damaged(_))));
    for wide in [false, true] {
        let good = sample(wide);
        for end in 0..good.len() {
            let _ = read_bytes(&good[..end]);
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x80;
            let _ = read_bytes(&bad);
        }
    }
}
