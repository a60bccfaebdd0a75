//! `.ktx2` files as images: UASTC becomes BC7 or RGBA8, everything else is uploaded as it is stored.

use crate::LoadError;
use bevy_asset::io::Reader;
use bevy_asset::{AssetLoader, LoadContext, RenderAssetUsages};
use bevy_image::Image;
use bevy_reflect::TypePath;
use kiln_format::ktx2::{Payload, Transfer};
use kiln_transcode::Target;
use kiln_transcode::ktx2::{Texture, load_level, load_stored_level};
use wgpu_types::{
    Extent3d, TextureDataOrder, TextureDimension, TextureFormat, TextureViewDescriptor, TextureViewDimension,
};

/// The loader of `.ktx2` files.
#[derive(TypePath)]
pub struct TextureLoader {
    /// True if the GPU has BC7.
    pub bc7: bool,
}

impl AssetLoader for TextureLoader {
    type Asset = Image;
    type Settings = ();
    type Error = LoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        _: &mut LoadContext<'_>,
    ) -> Result<Image, LoadError> {
        let mut file = Vec::new();
        reader.read_to_end(&mut file).await?;
        image(&file, self.bc7)
    }

    fn extensions(&self) -> &[&str] {
        &["ktx2"]
    }
}

/// Makes an image of a KTX2 file: 2D, an array, a cubemap or a volume, with all mip levels.
pub fn image(file: &[u8], bc7: bool) -> Result<Image, LoadError> {
    let texture = Texture::read(file)?;
    let view = texture.view();
    let (shape, srgb) = (view.shape(), view.transfer() == Transfer::Srgb);
    // A GPU takes blocks only where the largest mip level is made of whole ones.
    let whole = shape.width.is_multiple_of(4) && shape.height.is_multiple_of(4);
    let (target, format) = match (view.payload(), bc7 && whole && shape.depth == 0) {
        (Payload::Uastc { .. }, true) => (Some(Target::Bc7), TextureFormat::Bc7RgbaUnorm),
        (Payload::Uastc { .. }, false) => (Some(Target::Rgba8), TextureFormat::Rgba8Unorm),
        (stored, _) => (None, stored_format(stored)?),
    };
    let format = if srgb { format.add_srgb_suffix() } else { format };
    let mut data = Vec::new();
    for level in 0..view.level_count() {
        data.extend(match target {
            Some(target) => load_level(file, level, target)?.bytes,
            None => load_stored_level(file, level)?,
        });
    }
    let layers = shape.layer_count.max(1) * shape.face_count;
    let (dimension, deep) = match shape.depth {
        0 => (TextureDimension::D2, layers),
        depth => (TextureDimension::D3, depth),
    };
    let size = Extent3d { width: shape.width, height: shape.height, depth_or_array_layers: deep };
    let mut image = Image::new_uninit(size, dimension, format, RenderAssetUsages::default());
    image.texture_descriptor.mip_level_count = view.level_count();
    // The file has all layers of a mip level together.
    image.data_order = TextureDataOrder::MipMajor;
    image.data = Some(data);
    let seen_as = match (shape.depth, shape.face_count, shape.layer_count) {
        (0, 6, 0) => Some(TextureViewDimension::Cube),
        (0, 6, _) => Some(TextureViewDimension::CubeArray),
        (0, _, 1..) => Some(TextureViewDimension::D2Array),
        _ => None,
    };
    image.texture_view_descriptor =
        seen_as.map(|dimension| TextureViewDescriptor { dimension: Some(dimension), ..Default::default() });
    Ok(image)
}

/// Returns the linear format of texels that a GPU reads as they are stored.
fn stored_format(payload: Payload) -> Result<TextureFormat, LoadError> {
    Ok(match payload {
        Payload::Rgba8 => TextureFormat::Rgba8Unorm,
        Payload::Rgba16F => TextureFormat::Rgba16Float,
        Payload::R16 => TextureFormat::R16Unorm,
        Payload::Rg16 => TextureFormat::Rg16Unorm,
        Payload::Rgba16 => TextureFormat::Rgba16Unorm,
        Payload::Bc1 => TextureFormat::Bc1RgbaUnorm,
        Payload::Bc3 => TextureFormat::Bc3RgbaUnorm,
        Payload::Bc4 => TextureFormat::Bc4RUnorm,
        Payload::Bc5 => TextureFormat::Bc5RgUnorm,
        Payload::Bc6h => TextureFormat::Bc6hRgbUfloat,
        Payload::Bc6hSigned => TextureFormat::Bc6hRgbFloat,
        Payload::Bc7 => TextureFormat::Bc7RgbaUnorm,
        Payload::Etc2Rgb => TextureFormat::Etc2Rgb8Unorm,
        Payload::Etc2Rgba => TextureFormat::Etc2Rgba8Unorm,
        Payload::EacR11 => TextureFormat::EacR11Unorm,
        Payload::EacRg11 => TextureFormat::EacRg11Unorm,
        Payload::Astc4x4 => TextureFormat::Astc {
            block: wgpu_types::AstcBlock::B4x4,
            channel: wgpu_types::AstcChannel::Unorm,
        },
        other => return Err(LoadError::Unsupported(format!("no texture format for {other:?}"))),
    })
}
