//! `.hmesh` files as models: a mesh for each submesh, with the vertices of the file unpacked to Bevy's attributes.

use crate::LoadError;
use bevy_asset::io::Reader;
use bevy_asset::{Asset, AssetLoader, Handle, LoadContext, RenderAssetUsages};
use bevy_mesh::{Indices, Mesh, PrimitiveTopology};
use bevy_reflect::TypePath;
use kiln_format::hmesh::{self, GpuVertex, HmeshView, SubMesh};

/// A model: its parts, each with one material.
#[derive(Asset, TypePath)]
pub struct Model {
    /// The parts in the order of the file.
    #[dependency]
    pub parts: Vec<Part>,
}

/// A part of a model.
#[derive(bevy_asset::VisitAssetDependencies)]
pub struct Part {
    /// The geometry; it is the labelled asset `part0` and so on.
    #[dependency]
    pub mesh: Handle<Mesh>,
    /// The slot of its material, in the `.hmat` file of the same name.
    pub material: u32,
}

/// The loader of `.hmesh` files.
#[derive(TypePath)]
pub struct ModelLoader;

impl AssetLoader for ModelLoader {
    type Asset = Model;
    type Settings = ();
    type Error = LoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        load: &mut LoadContext<'_>,
    ) -> Result<Model, LoadError> {
        let mut file = Vec::new();
        reader.read_to_end(&mut file).await?;
        let file = hmesh::decoded(&file)?;
        let view = HmeshView::read(&file)?;
        view.verify()?;
        let mut parts = Vec::new();
        for (number, submesh) in view.submeshes().iter().enumerate() {
            let mesh = mesh(&view, &submesh);
            let mesh = load.add_labeled_asset(format!("part{number}"), mesh);
            parts.push(Part { mesh, material: submesh.material_slot });
        }
        Ok(Model { parts })
    }

    fn extensions(&self) -> &[&str] {
        &["hmesh"]
    }
}

/// Unpacks a submesh: its own vertices, and indices that count from the first of them.
fn mesh(view: &HmeshView<'_>, submesh: &SubMesh) -> Mesh {
    let indices: Vec<u32> = view.submesh_indices(submesh).iter().collect();
    let used = indices.iter().min().zip(indices.iter().max());
    let (first, last) = used.map_or((0, 0), |(first, last)| (*first, *last));
    let count = if indices.is_empty() { 0 } else { last - first + 1 };
    let vertices: Vec<GpuVertex> = view
        .vertices()
        .range(submesh.base_vertex + first, count)
        .into_iter()
        .flat_map(|part| part.iter())
        .collect();
    let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
    let positions: Vec<[f32; 3]> = vertices.iter().map(|vertex| vertex.position).collect();
    let normals: Vec<[f32; 3]> = vertices.iter().map(|vertex| unpack(vertex.normal)).collect();
    let uvs: Vec<[f32; 2]> = vertices.iter().map(|vertex| vertex.uv).collect();
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, positions);
    mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, normals);
    mesh.insert_attribute(Mesh::ATTRIBUTE_UV_0, uvs);
    if view.has_tangents() {
        let tangent = |vertex: &GpuVertex| {
            let [x, y, z] = unpack(vertex.tangent);
            [x, y, z, if vertex.tangent[0] & 1 == 0 { 1.0 } else { -1.0 }]
        };
        mesh.insert_attribute(
            Mesh::ATTRIBUTE_TANGENT,
            vertices.iter().map(tangent).collect::<Vec<[f32; 4]>>(),
        );
    }
    mesh.insert_indices(Indices::U32(indices.into_iter().map(|index| index - first).collect()));
    mesh
}

/// Unpacks an octahedral-encoded unit vector.
fn unpack(packed: [i16; 2]) -> [f32; 3] {
    let [x, y] = packed.map(|value| (f32::from(value) / 32767.0).max(-1.0));
    let z = 1.0 - x.abs() - y.abs();
    let fold = |value: f32, other: f32| (1.0 - other.abs()).copysign(value);
    let [x, y] = if z < 0.0 { [fold(x, y), fold(y, x)] } else { [x, y] };
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}
