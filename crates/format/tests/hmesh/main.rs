//! Tests of `.hmesh`: byte layout, validation and inspection.

mod bounds;
mod clusters;
mod compressed;
mod encode;
mod extra;
mod inspect;
mod layout;
mod meshes;
mod meshlets;
mod reject;

use kiln_format::hmesh::*;
use kiln_format::{Error, Format};
use meshes::{Mesh, MeshSpec};

/// Describes a quad of two triangles and a third triangle without a material; skinned, with LODs.
fn spec() -> MeshSpec {
    MeshSpec {
        positions: vec![[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -3.0]],
        submeshes: vec![(vec![[0, 1, 2], [0, 2, 3]], true), (vec![[0, 3, 4]], false)],
        has_tangents: true,
        has_meshlets: true,
        joints: vec![0, 0, 1],
        lod_count: 2,
    }
}

fn sample() -> Mesh {
    Mesh::build(&spec())
}

fn static_mesh() -> Mesh {
    Mesh::build(&MeshSpec { joints: vec![], ..spec() })
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

/// Returns the byte offset of a chunk's payload, read from the chunk table.
fn chunk_at(bytes: &[u8], tag: &[u8; 4]) -> usize {
    let entries = bytes[32..].chunks_exact(24).take(u32_at(bytes, 8) as usize);
    let entry = entries.into_iter().find(|entry| entry[..4] == *tag).unwrap();
    u32_at(entry, 8) as usize
}

/// Applies `change` to a valid mesh, writes it and returns the error message.
fn write_error(change: impl FnOnce(&mut Mesh)) -> String {
    let mut mesh = sample();
    change(&mut mesh);
    write(&mesh.parts()).unwrap_err().to_string()
}
