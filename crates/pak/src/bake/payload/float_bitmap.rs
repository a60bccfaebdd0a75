//! Float bitmap payloads: HDR images (Radiance, OpenEXR), and other images with `depth = 'f32'`. Integer depths clamp
//! values to 0..1.

use super::super::plan::bitmap::{BitmapSpec, ImageUse, is_float};
use super::source_image::read;
use super::{memory, write_error};
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::pak::bitmap::{BitmapShape, write};
use kiln_format::pak::{Encoding, Sample};
use kiln_import::hdr;
use kiln_ir::Texels;
use kiln_texture::levels_f32;

/// Bakes the payload of a bitmap whose texels or source texels are floats.
pub(super) fn bake(cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<Vec<u8>, Diag> {
    let (width, height, texels, alpha) = if is_float(&spec.src) {
        let bytes = cx.inputs.read(&spec.src.path)?;
        let named = |diag: Diag| diag.path(&spec.src);
        memory::check(&bytes, "", spec, cx.inputs.limits()).map_err(named)?;
        let found = hdr::import(&bytes, cx.inputs.limits()).map_err(named)?;
        found.warnings.into_iter().for_each(|warning| cx.warn(named(warning)));
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
