//! Float bitmap payloads: HDR images (Radiance, OpenEXR), and other images with `depth = 'f32'`. Integer depths clamp
//! values to 0..1. With a block format, HDR images are BC6H or RGBA16F.

use super::super::plan::bitmap::{BitmapSpec, ImageUse, is_float};
use super::bitmap::{encoder_error, ktx2_payload};
use super::source_image::read;
use super::{memory, write_error};
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::pak::bitmap::{BitmapShape, write};
use kiln_format::pak::{Color, Encoding, Sample};
use kiln_import::hdr;
use kiln_ir::{HdrImage, Texels};
use kiln_texture::{BlockChoice, HdrSettings, Quality, encode_hdr, levels_f32};

/// Bakes the payload of a bitmap whose texels or source texels are floats.
pub(super) fn bake(cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<Vec<u8>, Diag> {
    let (width, height, texels, alpha) = if is_float(&spec.src) {
        let bytes = cx.inputs.read(&spec.src.path)?;
        let named = |diag: Diag| diag.path(&spec.src);
        memory::check(&bytes, "", spec, cx.inputs.limits()).map_err(named)?;
        let found = hdr::import(&bytes, cx.inputs.limits()).map_err(named)?;
        found.warnings.into_iter().for_each(|warning| cx.warn(named(warning)));
        if let Some(choice) = spec.blocks {
            return blocks(cx, spec, found.value, choice);
        }
        let (width, height) = (found.value.width(), found.value.height());
        (width, height, found.value.into_texels(), false)
    } else {
        let image = spec.factor.apply(read(cx, spec)?.image, spec.color);
        let (width, height, alpha) = (image.width(), image.height(), image.has_alpha());
        let texels: Vec<[f32; 4]> = match image.texels() {
            Texels::Rgba8(v) => {
                v.as_chunks().0.iter().map(|t: &[u8; 4]| t.map(|v| f32::from(v) / 255.0)).collect()
            }
            Texels::Rgba16(v) => {
                v.as_chunks().0.iter().map(|t: &[u16; 4]| t.map(|v| f32::from(v) / 65535.0)).collect()
            }
        };
        (width, height, texels, alpha)
    };
    cx.inputs.check_deadline()?;
    let levels = levels_f32(width, height, texels, spec.levels.mips(), spec.resize);
    let levels = levels.ok_or_else(|| {
        Diag::new(Code::Texture, "the image has fewer texels than its size requires").path(&spec.src)
    })?;
    let channels: Vec<usize> = match (spec.swizzle.as_slice(), spec.used_as) {
        ([], ImageUse::Value) => vec![0],
        ([], ImageUse::Color) if alpha => vec![0, 1, 2, 3],
        ([], _) => vec![0, 1, 2],
        (swizzle, _) => swizzle.to_vec(),
    };
    let sample = spec.sample.unwrap_or(Sample::F32);
    let put = |value: f32, out: &mut Vec<u8>| match sample {
        Sample::U8 => out.push((value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8),
        Sample::U16 => out.extend(((value.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16).to_le_bytes()),
        Sample::F32 => out.extend(value.to_le_bytes()),
    };
    let level = |texels: &[[f32; 4]]| {
        let mut out = Vec::with_capacity(texels.len() * channels.len() * 4);
        texels.iter().for_each(|texel| channels.iter().for_each(|channel| put(texel[*channel], &mut out)));
        out
    };
    let bytes: Vec<Vec<u8>> = levels.iter().map(|found| level(&found.texels)).collect();
    let shape = BitmapShape {
        width: levels[0].width,
        height: levels[0].height,
        channels: channels.len() as u8,
        sample,
        color: spec.color,
        encoding: Encoding::Raw,
        levels: levels.len() as u8,
    };
    write(&shape, &bytes.iter().map(Vec::as_slice).collect::<Vec<_>>()).map_err(write_error)
}

/// Bakes a KTX2 file of BC6H blocks, or of half floats for GPUs without them.
fn blocks(
    cx: &mut ActionContext<'_>,
    spec: &BitmapSpec,
    image: HdrImage,
    choice: BlockChoice,
) -> Result<Vec<u8>, Diag> {
    let (width, height, mut texels) = (image.width(), image.height(), image.into_texels());
    if !spec.swizzle.is_empty() {
        for texel in &mut texels {
            let old = *texel;
            let missing = [0.0, 0.0, 0.0, 1.0];
            *texel = std::array::from_fn(|n| spec.swizzle.get(n).map_or(missing[n], |c| old[*c]));
        }
    }
    let is_bc6h = choice.is_bc6h();
    if is_bc6h && spec.swizzle.len() == 4 && texels.iter().any(|texel| texel[3] != 1.0) {
        let message = "the image has alpha, and BC6H stores none";
        cx.warn(Diag::new(Code::TextureAlpha, message).path(&spec.src).hint("use mobile to keep RGBA16F"));
    }
    let image = HdrImage::new(width, height, texels);
    let image = image.ok_or_else(|| {
        Diag::new(Code::Texture, "the image has fewer texels than its size requires").path(&spec.src)
    })?;
    let settings = HdrSettings {
        mips: spec.levels.mips(),
        max_size: spec.resize,
        bc6h: is_bc6h.then_some(Quality::Default),
        zstd: false,
        deadline: cx.inputs.deadline(),
    };
    let encoded = encode_hdr(image, &settings).map_err(|error| encoder_error(cx, error))?;
    ktx2_payload(&encoded, encoded.texels.channels(), Sample::F32, Color::Linear)
}
