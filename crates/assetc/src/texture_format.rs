//! The texel format of a texture: `texture.format`, or that of `texture.target` for the kind of the image.

use crate::config::{TexelFormat, TextureSettings};
use kiln_engine::{Code, Diag};
use kiln_ir::{HdrImage, Image};
use kiln_texture::{BlockChoice, BlockFormat, Mode, Quality};

/// Returns the choice of the block format; `None` for uncompressed texels.
fn choice(texture: &TextureSettings) -> Option<BlockChoice> {
    match texture.format {
        _ if !texture.compress => None,
        TexelFormat::Raw => None,
        TexelFormat::Auto => Some(BlockChoice::Target(texture.target)),
        TexelFormat::Blocks(format) => Some(BlockChoice::Format(format)),
    }
}

/// Returns the block format of an image in a mode; `None` for uncompressed texels.
///
/// # Errors
///
/// `texture-format` if the format cannot hold such an image.
pub(crate) fn block_format(texture: &TextureSettings, mode: Mode) -> Result<Option<BlockFormat>, Diag> {
    let Some(choice) = choice(texture) else { return Ok(None) };
    let format = choice.block_format(mode);
    if format.holds(mode) { Ok(Some(format)) } else { Err(unsuitable(format, mode)) }
}

/// Returns the effort of BC6H for HDR images; `None` if they are stored as RGBA16F, which is what all formats for images
/// with 8 bits leave them.
pub(crate) fn hdr_format(texture: &TextureSettings) -> Option<Quality> {
    choice(texture).filter(|choice| choice.is_bc6h()).map(|_| texture.quality.effort())
}

fn unsuitable(format: BlockFormat, mode: Mode) -> Diag {
    let (image, better) = match mode {
        Mode::Color => ("an sRGB colour image", "bc7"),
        Mode::LinearColor => ("an image of four linear channels", "bc7"),
        Mode::Normal => ("a normal map", "bc5"),
        Mode::Grayscale => ("a map of one channel", "bc4"),
    };
    let (name, holds) = (format.name(), format.content());
    Diag::new(Code::TextureFormat, format!("texture.format is {name}, which holds {holds}; this is {image}")).hint(
        format!("set texture.target to desktop instead, which chooses by the kind of the image, or texture.format to {better} in a rule"),
    )
}

/// Returns the warning about alpha that a format drops.
pub(crate) fn check_alpha(image: &Image, format: Option<BlockFormat>, mode: Mode) -> Option<Diag> {
    let is_colour = matches!(mode, Mode::Color | Mode::LinearColor);
    format.filter(|format| is_colour && format.rounds_alpha(image)).map(|_| {
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
    use crate::config::GpuTarget;

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
        let etc2 = with(GpuTarget::Desktop, TexelFormat::Blocks(BlockFormat::Etc2));
        assert_eq!(
            block_format(&etc2, Mode::Normal).unwrap(),
            Some(BlockFormat::Etc2),
            "format overrides target"
        );
    }

    #[test]
    fn formats_that_cannot_hold_the_image_are_errors() {
        for (format, mode, better) in [
            (TexelFormat::Blocks(BlockFormat::Bc6h), Mode::Color, "texture.format to bc7"),
            (TexelFormat::Blocks(BlockFormat::Bc5), Mode::Color, "texture.format to bc7"),
            (TexelFormat::Blocks(BlockFormat::Bc4), Mode::Normal, "texture.format to bc5"),
            (TexelFormat::Blocks(BlockFormat::Bc1), Mode::Normal, "texture.format to bc5"),
            (TexelFormat::Blocks(BlockFormat::Bc5), Mode::Grayscale, "texture.format to bc4"),
        ] {
            let diag = block_format(&with(GpuTarget::Universal, format), mode).unwrap_err();
            assert_eq!(diag.code, Code::TextureFormat);
            assert!(diag.to_string().contains(better), "{diag}");
        }
    }
}
