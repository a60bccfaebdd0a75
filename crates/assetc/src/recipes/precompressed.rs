//! `*.ktx2` and `*.dds`: textures in the format of the GPU, validated and passed through to `.ktx2`.
//!
//! A `.ktx2` is copied byte by byte, a `.dds` keeps its texels and changes its container. With `texture.precompressed:
//! reencode` the base level is decoded and compiled like an image.

use super::ktx::{self, memory_settings, weigh};
use crate::artifact::FileMetadata;
use crate::config::{Precompressed as Handling, Settings};
use crate::content;
use crate::recipe::{Compiled, Recipe, RecipeInfo, suffix};
use crate::texture_role::mode_of;
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};
use kiln_format::Format;
use kiln_format::ktx2::{self, Ktx2, Payload};
use kiln_import::dds::{Dds, DdsFormat};
use kiln_texture::{Extent, Mode};

/// The recipe for a texture that is in the format of the GPU already.
pub(crate) struct Precompressed;

impl Recipe for Precompressed {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "precompressed",
            sections: &["texture"],
            version: ktx::VERSION,
            files: &["ktx2", "dds"],
            output: "ktx2",
            is_image: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn yields_to_others(&self, _: &RelPath) -> bool {
        true
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        match settings.texture.precompressed {
            Handling::Keep => sources.len(source).saturating_mul(3),
            Handling::Reencode => weigh(&[source], false, settings, sources),
        }
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let bytes = cx.inputs.read(source)?;
        let output = self.output(source).ok_or_else(ktx::nameless)?;
        let mode = suffix(source).map_or(Mode::Color, |suffix| mode_of(&suffix, settings));
        if settings.texture.precompressed == Handling::Reencode {
            let image = ktx::EncodedImage::file(cx, source, bytes);
            let (texture, warnings) = ktx::image_artifact(cx, &output, image, mode, settings)?;
            warnings.into_iter().for_each(|warning| cx.warn(warning));
            // The colour space depends on the mode only, as it does for images.
            return Ok(vec![texture]);
        }
        if bytes.starts_with(b"DDS ") {
            let dds = Dds::read(&bytes, cx.inputs.limits())?;
            cx.inputs.limits().check_memory((bytes.len() as u64).saturating_mul(3), "the mip levels")?;
            let encoded = convert(&dds, mode, &memory_settings(settings));
            return Ok(vec![ktx::artifact(cx, Some(output), encoded)?]);
        }
        match Ktx2.verify(&bytes).and_then(|()| ktx2::transfer(&bytes)) {
            Ok(transfer) => {
                content::decode_frames(&Ktx2, &bytes).map_err(|why| damaged(&why))?;
                Ok(vec![cx.artifact(&output, FileMetadata::texture(&output, transfer), &bytes)?])
            }
            // Textures of models are often in formats that only their importer reads.
            Err(error) if is_complete_ktx2(&bytes) => {
                let message = format!("the texture is not passed through, and nothing is written: {error}");
                let hint =
                    "set texture.precompressed to reencode, copy the file with `embed`, or `exclude` it";
                cx.warn(Diag::new(Code::TextureForeign, message).hint(hint));
                Ok(vec![])
            }
            Err(error) => Err(damaged(&error.to_string())),
        }
    }
}

fn damaged(why: &str) -> Diag {
    Diag::new(Code::TexturePassthrough, format!("the texture is damaged: {why}"))
        .hint("export or download it again")
}

/// Returns whether a file has the header of KTX 2.0 and contains the mip levels that its index states.
fn is_complete_ktx2(bytes: &[u8]) -> bool {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let Some(levels) = number(40).map(|number| number as u32) else { return false };
    let is_inside = |level: u32| {
        let entry = 80 + 24 * level as usize;
        let end =
            number(entry).zip(number(entry + 8)).and_then(|(offset, length)| offset.checked_add(length));
        end.is_some_and(|end| end <= bytes.len() as u64)
    };
    bytes.starts_with(&ktx2::IDENTIFIER) && levels <= 32 && (0..levels.max(1)).all(is_inside)
}

/// Converts the container of a DDS texture. Texels with bit masks become RGBA8.
fn convert(
    dds: &Dds<'_>,
    mode: Mode,
    settings: &kiln_texture::Settings,
) -> Result<kiln_texture::Encoded, kiln_texture::Error> {
    let payload = match dds.format {
        DdsFormat::Bc1 => Payload::Bc1,
        DdsFormat::Bc3 => Payload::Bc3,
        DdsFormat::Bc4 => Payload::Bc4,
        DdsFormat::Bc5 => Payload::Bc5,
        DdsFormat::Bc7 => Payload::Bc7,
        DdsFormat::R16 => Payload::R16,
        DdsFormat::Rg16 => Payload::Rg16,
        DdsFormat::Rgba16 => Payload::Rgba16,
        DdsFormat::Rgba16F => Payload::Rgba16F,
        _ => Payload::Rgba8,
    };
    // Headers without a DXGI format do not state the transfer function.
    let srgb = dds.srgb.unwrap_or(mode == Mode::Color) && !payload.is_linear_only();
    let level = |level| -> Vec<u8> { dds.level(level).iter().flat_map(|texels| dds.rgba8(texels)).collect() };
    let extent = Extent {
        width: dds.width,
        height: dds.height,
        depth: dds.depth,
        layers: dds.layers,
        faces: dds.faces,
    };
    kiln_texture::wrap_levels(extent, payload, srgb, (0..dds.levels).map(level).collect(), settings)
}
