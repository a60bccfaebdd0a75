//! Meshes and bitmaps of paks: payloads that the [source](crate::archive) reads by key.

use crate::{LoadError, Model, Part};
use bevy_asset::io::Reader;
use bevy_asset::{AssetLoader, LoadContext, RenderAssetUsages};
use bevy_image::Image;
use bevy_mesh::{Indices, Mesh, PrimitiveTopology};
use bevy_reflect::TypePath;
use kiln_format::pak::bitmap::BitmapView;
use kiln_format::pak::mesh::MeshView;
use kiln_format::pak::{Color, Encoding, Role, Sample, VertexSemantic};
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

/// The loader of `KEY.mesh`.
#[derive(TypePath)]
pub struct PakMeshLoader;

/// The loader of `KEY.bitmap`.
#[derive(TypePath)]
pub struct PakBitmapLoader;

impl AssetLoader for PakMeshLoader {
    type Asset = Model;
    type Settings = ();
    type Error = LoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        load: &mut LoadContext<'_>,
    ) -> Result<Model, LoadError> {
        let mut payload = Vec::new();
        reader.read_to_end(&mut payload).await?;
        let mut parts = Vec::new();
        for (number, (mesh, material)) in meshes(&payload)?.into_iter().enumerate() {
            let mesh = load.add_labeled_asset(format!("part{number}"), mesh);
            parts.push(Part { mesh, material });
        }
        Ok(Model { parts })
    }

    fn extensions(&self) -> &[&str] {
        &["mesh"]
    }
}

/// Makes a mesh of each primitive that is drawn, with its material slot.
fn meshes(payload: &[u8]) -> Result<Vec<(Mesh, u32)>, LoadError> {
    let view = MeshView::read(payload)?;
    let mut meshes = Vec::new();
    for primitive in view.primitives().filter(|primitive| primitive.role != Role::Shadow) {
        let (start, end) = primitive.vertices;
        let (vertices, stride) = (&payload[start..end], primitive.vertex_type.stride());
        let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
        for attribute in primitive.vertex_type.attributes() {
            let at = attribute.offset;
            match attribute.semantic {
                VertexSemantic::Position => {
                    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, floats::<3>(vertices, stride, at));
                }
                VertexSemantic::Normal => {
                    mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, floats::<3>(vertices, stride, at));
                }
                VertexSemantic::TexCoord0 => {
                    mesh.insert_attribute(Mesh::ATTRIBUTE_UV_0, floats::<2>(vertices, stride, at));
                }
                VertexSemantic::TexCoord1 => {
                    mesh.insert_attribute(Mesh::ATTRIBUTE_UV_1, floats::<2>(vertices, stride, at));
                }
                VertexSemantic::Tangent => {
                    mesh.insert_attribute(Mesh::ATTRIBUTE_TANGENT, floats::<4>(vertices, stride, at));
                }
                // A skin needs a rig, which is beyond this example.
                _ => {}
            }
        }
        let lod = primitive.lods.get(0).and_then(|lod| view.lod_range(&primitive.record, &lod));
        let (start, end) = lod.ok_or_else(|| LoadError::Unsupported("a primitive without indices".into()))?;
        let indices = payload[start..end].chunks_exact(primitive.record.index_size.into());
        let index = |bytes: &[u8]| bytes.iter().rev().fold(0, |index, byte| index << 8 | u32::from(*byte));
        mesh.insert_indices(Indices::U32(indices.map(index).collect()));
        meshes.push((mesh, primitive.record.material.into()));
    }
    Ok(meshes)
}

/// Returns an attribute of all vertices.
fn floats<const N: usize>(vertices: &[u8], stride: usize, offset: usize) -> Vec<[f32; N]> {
    let one = |vertex: &[u8]| {
        let mut values = [0.0; N];
        for (value, bytes) in values.iter_mut().zip(vertex[offset..].as_chunks::<4>().0) {
            *value = f32::from_le_bytes(*bytes);
        }
        values
    };
    vertices.chunks_exact(stride).map(one).collect()
}

impl AssetLoader for PakBitmapLoader {
    type Asset = Image;
    type Settings = ();
    type Error = LoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        _: &mut LoadContext<'_>,
    ) -> Result<Image, LoadError> {
        let mut payload = Vec::new();
        reader.read_to_end(&mut payload).await?;
        bitmap(&payload)
    }

    fn extensions(&self) -> &[&str] {
        &["bitmap"]
    }
}

/// Makes an image of a bitmap with 8 bits per channel, as RGBA with all mip levels.
fn bitmap(payload: &[u8]) -> Result<Image, LoadError> {
    let view = BitmapView::read(payload)?;
    let shape = view.shape();
    if shape.encoding != Encoding::Raw || shape.sample != Sample::U8 {
        let what = format!("{:?} samples encoded as {:?}", shape.sample, shape.encoding);
        return Err(LoadError::Unsupported(what));
    }
    let mut data = Vec::new();
    for level in 0..shape.levels {
        let texels = view.range(level).and_then(|range| payload.get(range)).unwrap_or_default();
        for texel in texels.chunks_exact(shape.channels.into()) {
            let mut rgba = [0, 0, 0, 255];
            rgba[..texel.len()].copy_from_slice(texel);
            data.extend(rgba);
        }
    }
    let format = match shape.color {
        Color::Srgb => TextureFormat::Rgba8UnormSrgb,
        Color::Linear => TextureFormat::Rgba8Unorm,
    };
    let size = Extent3d { width: shape.width, height: shape.height, depth_or_array_layers: 1 };
    let mut image = Image::new_uninit(size, TextureDimension::D2, format, RenderAssetUsages::default());
    image.texture_descriptor.mip_level_count = shape.levels.into();
    image.data = Some(data);
    Ok(image)
}
