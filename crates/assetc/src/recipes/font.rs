//! `*.ttf`, `*.otf`: a font to a `.hfont` of metrics and kerning, and beside it the SDF or MSDF atlas of its glyphs, a
//! `.ktx2`.

use super::ktx;
use crate::artifact::FileMetadata;
use crate::config::{self, Settings};
use crate::recipe::{Compiled, Recipe, RecipeInfo, suffix};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};
use kiln_format::hman::Colorspace;
use kiln_format::{hfont, refs};
use kiln_ir::{Image, Texels};
use kiln_texture::{Mips, Mode};

/// The recipe for a font.
pub(crate) struct Font;

impl Recipe for Font {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "font",
            sections: &["font"],
            version: ktx::VERSION,
            files: &["ttf", "otf"],
            output: "hfont",
            colorspace: Some(Colorspace::Linear),
            lists_textures: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        ["hfont", "ktx2"].iter().any(|extension| beside(source, extension).as_ref() == Some(output))
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        // A glyph takes about a square em of the atlas and some hundred bytes of the file; few fonts are compiled whole.
        let file = sources.len(source);
        let cell = u64::from(settings.font.size.get() + 2 * settings.font.spread.get());
        file * 2 + (file / 100).min(1000) * cell * cell * 4
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let (Some(output), Some(atlas)) = (self.output(source), beside(source, "ktx2")) else {
            return Err(ktx::nameless());
        };
        let settings = kiln_font::Settings {
            size: settings.font.size.get(),
            spread: settings.font.spread.get(),
            multi_channel: settings.font.field == config::DistanceField::Msdf,
            charset: settings.font.charset.0.clone(),
        };
        let font = kiln_font::compile(&cx.inputs.read(source)?, &settings)?;
        let hash = refs::hash_runtime_path(atlas.as_str());
        let bytes = write(&font, hash, settings.multi_channel)?;
        let table = cx.artifact(&output, FileMetadata::of(&output), &bytes)?;
        let kiln_font::Atlas { width, height, rgba } = font.atlas;
        let image = Image::new(width, height, Texels::Rgba8(rgba)).ok_or_else(|| {
            Diag::new(Code::Font, "the glyph atlas has fewer texels than its size requires")
        })?;
        // Uncompressed, because block compression distorts distances; without mipmaps, which would blend neighbouring
        // glyphs.
        let raw = kiln_texture::Settings { compress: false, mips: Mips::Count(1), ..Default::default() };
        let encoded = kiln_texture::encode_2d(image, Mode::LinearColor, &raw);
        let mut atlas = ktx::artifact(cx, Some(atlas), encoded)?;
        atlas.metadata = atlas.metadata.listed();
        for warning in font.warnings {
            cx.warn(warning);
        }
        Ok(vec![table, atlas])
    }
}

fn beside(source: &RelPath, extension: &str) -> Option<RelPath> {
    RelPath::new(format!("{}.{extension}", suffix(source)?.stem)).ok()
}

fn write(font: &kiln_font::Font, atlas_tex: u64, multi_channel: bool) -> Result<Vec<u8>, Diag> {
    let fault = |error: String| Diag::new(Code::Font, error);
    let side = |side: u32| {
        u16::try_from(side).map_err(|_| fault(format!("the atlas side of {side} texels exceeds 65535")))
    };
    let metrics = hfont::Metrics {
        atlas_tex,
        ascent: font.ascent,
        descent: font.descent,
        line_gap: font.line_gap,
        distance_range: font.distance_range,
        edge_value: kiln_font::EDGE_VALUE,
        atlas_width: side(font.atlas.width)?,
        atlas_height: side(font.atlas.height)?,
        multi_channel,
    };
    let glyph = |glyph: &kiln_font::Glyph| {
        let kiln_font::Glyph { codepoint, advance, plane, uv } = *glyph;
        hfont::Glyph { codepoint, advance, plane, uv }
    };
    let pair = |pair: &kiln_font::Pair| {
        let kiln_font::Pair { left, right, advance } = *pair;
        hfont::Pair { left, right, advance }
    };
    let glyphs: Vec<_> = font.glyphs.iter().map(glyph).collect();
    let pairs: Vec<_> = font.kerning.iter().map(pair).collect();
    hfont::write(&metrics, &glyphs, &pairs).map_err(|error| fault(error.to_string()))
}
