//! The texel format of a texture: `texture.format`, or that of `texture.target` for the kind of the image.

use crate::config::{GpuTarget, TexelFormat, TextureSettings};
use kiln_engine::{Code, Diag};
use kiln_ir::{HdrImage, Image, Texels};
use kiln_texture::{BlockFormat, Mode, Quality};

/// Returns the block format of an image in a mode; `None` for uncompressed texels.
///
/// # Errors
///
/// `texture-format` if the format cannot hold such an image.
pub(crate) fn block_format(texture: &TextureSettings, mode: Mode) -> Result<Option<BlockFormat>, Diag> {
    if !texture.compress {
        return Ok(None);
    }
    let is_colour = matches!(mode, Mode::Color | Mode::LinearColor);
    let format = match texture.format {
        TexelFormat::Auto => match (texture.target, mode) {
            (GpuTarget::Universal, _) => BlockFormat::Uastc,
            (GpuTarget::Mobile, _) => BlockFormat::Astc4x4,
            (GpuTarget::Desktop, Mode::Normal) => BlockFormat::Bc5,
            (GpuTarget::Desktop, Mode::Grayscale) => BlockFormat::Bc4,
            (GpuTarget::Desktop, Mode::Color | Mode::LinearColor) => BlockFormat::Bc7,
        },
        TexelFormat::Raw => return Ok(None),
        TexelFormat::Uastc => BlockFormat::Uastc,
        TexelFormat::Astc4x4 => BlockFormat::Astc4x4,
        TexelFormat::Bc7 => BlockFormat::Bc7,
        TexelFormat::Etc2 => BlockFormat::Etc2,
        TexelFormat::Bc1 if is_colour => BlockFormat::Bc1,
        TexelFormat::Bc3 if is_colour => BlockFormat::Bc3,
        TexelFormat::Bc4 if mode == Mode::Grayscale => BlockFormat::Bc4,
        TexelFormat::Bc5 if mode == Mode::Normal => BlockFormat::Bc5,
        format => return Err(unsuitable(format, mode)),
    };
    Ok(Some(format))
}

/// Returns the effort of BC6H for HDR images; `None` if they are stored as RGBA16F, which is what all formats for images
/// with 8 bits leave them.
pub(crate) fn hdr_format(texture: &TextureSettings) -> Option<Quality> {
    let is_bc6h = match texture.format {
        TexelFormat::Auto => texture.target == GpuTarget::Desktop,
        format => format == TexelFormat::Bc6h,
    };
    (is_bc6h && texture.compress).then(|| texture.quality.effort())
}

fn unsuitable(format: TexelFormat, mode: Mode) -> Diag {
    let (holds, name) = match format {
        TexelFormat::Bc1 => ("colours with 5 and 6 bits", "bc1"),
        TexelFormat::Bc3 => ("colours with 5 and 6 bits", "bc3"),
        TexelFormat::Bc4 => ("one channel", "bc4"),
        TexelFormat::Bc5 => ("the two channels of a normal map", "bc5"),
        _ => ("HDR images (.hdr, .exr)", "bc6h"),
    };
    let (image, better) = match mode {
        Mode::Color => ("an sRGB colour image", "bc7"),
        Mode::LinearColor => ("an image of four linear channels", "bc7"),
        Mode::Normal => ("a normal map", "bc5"),
        Mode::Grayscale => ("a map of one channel", "bc4"),
    };
    Diag::new(Code::TextureFormat, format!("texture.format is {name}, which holds {holds}; this is {image}")).hint(
        format!("set texture.target to desktop instead, which chooses by the kind of the image, or texture.format to {better} in a rule"),
    )
}

/// Returns the warning about alpha that a format drops.
pub(crate) fn check_alpha(image: &Image, format: Option<BlockFormat>, mode: Mode) -> Option<Diag> {
    if format != Some(BlockFormat::Bc1) || !matches!(mode, Mode::Color | Mode::LinearColor) {
        return None;
    }
    let is_partial = match image.texels() {
        Texels::Rgba8(v) => v.as_chunks::<4>().0.iter().any(|texel| !matches!(texel[3], 0 | u8::MAX)),
        Texels::Rgba16(v) => v.as_chunks::<4>().0.iter().any(|texel| !matches!(texel[3], 0 | u16::MAX)),
    };
    is_partial.then(|| {
        Diag::new(Code::TextureAlpha, "the image has alpha between 0 and 1, and BC1 stores one bit of it")
            .hint("set texture.format to bc3 or bc7 in a rule")
    })
}

/// Returns the warning about the alpha of an HDR image, which BC6H drops.
pub(crate) fn check_hdr_alpha(image: &HdrImage) -> Option<Diag> {
    image.texels().iter().any(|texel| texel[3] != 1.0).then(|| {
        Diag::new(Code::TextureAlpha, "the image has alpha, and BC6H stores none")
            .hint("set texture.format to raw in a rule to keep RGBA16F")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(target: GpuTarget, format: TexelFormat) -> TextureSettings {
        TextureSettings { target, format, ..TextureSettings::default() }
    }

    #[test]
    fn target_chooses_by_the_kind_of_the_image() {
        let modes = [Mode::Color, Mode::LinearColor, Mode::Normal, Mode::Grayscale];
        for (target, formats, hdr) in [
            (GpuTarget::Universal, [BlockFormat::Uastc; 4], false),
            (GpuTarget::Mobile, [BlockFormat::Astc4x4; 4], false),
            (
                GpuTarget::Desktop,
                [BlockFormat::Bc7, BlockFormat::Bc7, BlockFormat::Bc5, BlockFormat::Bc4],
                true,
            ),
        ] {
            let settings = with(target, TexelFormat::Auto);
            assert_eq!(modes.map(|mode| block_format(&settings, mode).unwrap()), formats.map(Some));
            assert_eq!(hdr_format(&settings).is_some(), hdr);
            let raw = TextureSettings { compress: false, ..settings };
            assert_eq!((block_format(&raw, Mode::Color).unwrap(), hdr_format(&raw)), (None, None));
        }
        let etc2 = with(GpuTarget::Desktop, TexelFormat::Etc2);
        assert_eq!(
            block_format(&etc2, Mode::Normal).unwrap(),
            Some(BlockFormat::Etc2),
            "format overrides target"
        );
    }

    #[test]
    fn formats_that_cannot_hold_the_image_are_errors() {
        for (format, mode, better) in [
            (TexelFormat::Bc6h, Mode::Color, "texture.format to bc7"),
            (TexelFormat::Bc5, Mode::Color, "texture.format to bc7"),
            (TexelFormat::Bc4, Mode::Normal, "texture.format to bc5"),
            (TexelFormat::Bc1, Mode::Normal, "texture.format to bc5"),
            (TexelFormat::Bc5, Mode::Grayscale, "texture.format to bc4"),
        ] {
            let diag = block_format(&with(GpuTarget::Universal, format), mode).unwrap_err();
            assert_eq!(diag.code, Code::TextureFormat);
            assert!(diag.to_string().contains(better), "{diag}");
        }
    }
}
