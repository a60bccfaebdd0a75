//! Textures to PNG, EXR, or KTX2 without supercompression.

use super::ExtractedFile;
use kiln_engine::{Code, Diag, Limits};
use kiln_format::ktx2::{self, Desc, Ktx2View, Supercompression, Transfer};
use kiln_ir::srgb::{from_linear, to_linear};
use kiln_texture::{DecodedImage, DecodedTexels, decode_level, inflate_level};
use std::io::Cursor;

/// The image format of an extracted texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextureFormat {
    /// PNG with 8 bits per channel, or 16 for R16, RG16 and RGBA16; RGBA16F is clamped to 0–1 and gets the sRGB transfer
    /// function.
    Png,
    /// OpenEXR with half floats; 8-bit texels are divided by 255, 16-bit texels by 65535, and sRGB texels become linear.
    Exr,
}

/// Decodes one mip level of a texture to image files: one for a 2D texture, one per face, layer or slice for others.
///
/// # Errors
///
/// `check-corrupt` if the texture is damaged or has no such mip level, `memory-limit` if it is too large.
pub fn images(
    bytes: &[u8],
    level: u32,
    format: Option<TextureFormat>,
    limits: &Limits,
) -> Result<Vec<ExtractedFile>, Diag> {
    let view = Ktx2View::read(bytes).map_err(corrupt)?;
    let images = decode_level(&view, level, limits.max_memory).map_err(corrupt)?;
    let shape = view.shape();
    let srgb = view.transfer() == Transfer::Srgb;
    let names = (0..images.len()).map(|index| {
        let faces = shape.face_count as usize;
        let face = ["px", "nx", "py", "ny", "pz", "nz"].get(index % faces).filter(|_| faces == 6);
        let face = face.map(|face| format!("_{face}")).unwrap_or_default();
        let layer = match (shape.layer_count, shape.depth) {
            (0, 0) => String::new(),
            (0, _) => format!("_slice{index}"),
            _ => format!("_layer{}", index / faces),
        };
        format!("{layer}{face}")
    });
    let names: Vec<String> = names.collect();
    let file = |(image, name): (DecodedImage, String)| -> Result<ExtractedFile, Diag> {
        let half = matches!(image.texels, DecodedTexels::Rgba16F(_));
        let format = format.unwrap_or(if half { TextureFormat::Exr } else { TextureFormat::Png });
        Ok(match format {
            TextureFormat::Png => ExtractedFile { suffix: name + ".png", bytes: png(image, srgb)? },
            TextureFormat::Exr => ExtractedFile { suffix: name + ".exr", bytes: exr(image, srgb)? },
        })
    };
    images.into_iter().zip(names).map(file).collect()
}

/// Writes a texture again without supercompression: mip levels as the GPU reads them.
///
/// # Errors
///
/// `check-corrupt` if the texture is damaged, `memory-limit` if it is too large.
pub fn without_supercompression(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, Diag> {
    let view = Ktx2View::read(bytes).map_err(corrupt)?;
    let levels = (0..view.level_count()).map(|level| inflate_level(&view, level, limits.max_memory));
    let levels = levels.collect::<Result<Vec<_>, _>>().map_err(corrupt)?;
    let writer = view.value("KTXwriter").and_then(|value| value.strip_suffix(b"\0"));
    let desc = Desc {
        shape: view.shape(),
        payload: view.payload(),
        transfer: view.transfer(),
        supercompression: Supercompression::None,
        writer: writer.and_then(|writer| std::str::from_utf8(writer).ok()).unwrap_or_default(),
        oriented: view.value("KTXorientation").is_some(),
    };
    let levels: Vec<&[u8]> = levels.iter().map(Vec::as_slice).collect();
    ktx2::write(&desc, &levels).map_err(corrupt)
}

fn corrupt(error: impl std::fmt::Display) -> Diag {
    Diag::new(Code::CheckCorrupt, error.to_string())
}

fn png(image: DecodedImage, srgb: bool) -> Result<Vec<u8>, Diag> {
    let (samples, depth, srgb) = match image.texels {
        DecodedTexels::Rgba8(texels) => (texels.into_flattened(), png::BitDepth::Eight, srgb),
        DecodedTexels::Rgba16(texels) => {
            let samples = texels.as_flattened().iter().flat_map(|value| value.to_be_bytes()).collect();
            (samples, png::BitDepth::Sixteen, srgb)
        }
        DecodedTexels::Rgba16F(texels) => {
            let byte = |value: f64| (value * 255.0 + 0.5) as u8;
            let texel = |texel: [u16; 4]| {
                let [r, g, b, a] = texel.map(|bits| half::f16::from_bits(bits).to_f64().clamp(0.0, 1.0));
                [byte(from_linear(r)), byte(from_linear(g)), byte(from_linear(b)), byte(a)]
            };
            (texels.into_iter().flat_map(texel).collect(), png::BitDepth::Eight, true)
        }
        _ => return Err(corrupt("the texels cannot be written as PNG")),
    };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.width, image.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(depth);
    if srgb {
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    }
    let write = || encoder.write_header()?.write_image_data(&samples);
    let written: Result<(), png::EncodingError> = write();
    written.map_err(corrupt)?;
    Ok(bytes)
}

fn exr(image: DecodedImage, srgb: bool) -> Result<Vec<u8>, Diag> {
    use exr::prelude::{Image, SpecificChannels, Vec2, WritableImage};
    use half::f16;
    let size = (image.width as usize, image.height as usize);
    let texels: Vec<[f16; 4]> = match image.texels {
        DecodedTexels::Rgba16F(texels) => texels.into_iter().map(|texel| texel.map(f16::from_bits)).collect(),
        DecodedTexels::Rgba8(texels) => {
            let unorm = |value: u8| f64::from(value) / 255.0;
            let color = |value: u8| f16::from_f64(if srgb { to_linear(unorm(value)) } else { unorm(value) });
            let texel = |[r, g, b, a]: [u8; 4]| [color(r), color(g), color(b), f16::from_f64(unorm(a))];
            texels.into_iter().map(texel).collect()
        }
        // No 16-bit format has the sRGB transfer function.
        DecodedTexels::Rgba16(texels) => {
            let unorm = |value: u16| f16::from_f64(f64::from(value) / 65535.0);
            texels.into_iter().map(|texel| texel.map(unorm)).collect()
        }
        _ => return Err(corrupt("the texels cannot be written as EXR")),
    };
    let channels = SpecificChannels::rgba(|at: Vec2<usize>| {
        let [r, g, b, a] = texels[at.y() * size.0 + at.x()];
        (r, g, b, a)
    });
    let mut bytes = Cursor::new(Vec::new());
    Image::from_channels(size, channels).write().to_buffered(&mut bytes).map_err(corrupt)?;
    Ok(bytes.into_inner())
}
