//! Images to `.ktx2`: `*.png` colour, `*.n.png` normal maps, `*.ao.png`, `*.h.png` and `*.r.png` greyscale, and the same
//! markers for the other image formats.

use super::ktx::{self, colorspace, mode_name, weigh};
use crate::config::{Settings, TextureKind};
use crate::recipe::{Compiled, Recipe, RecipeInfo, Suffix, suffix};
use crate::texture_role::{check_name, mode_of};
use crate::tools::Tools;
use kiln_engine::{ActionContext, RelPath, SourceTree};
use kiln_import::image::{AUTHORING_EXTENSIONS, IMAGE_EXTENSIONS};
use kiln_texture::Mode;

/// The size in bytes up to which a file is admitted with an estimate that does not depend on its header.
const TINY_FILE: u64 = 1 << 10;

/// The recipe for an image in one texture mode.
pub(crate) struct Texture(pub(crate) Mode);

impl Recipe for Texture {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: mode_name(self.0),
            sections: &["texture"],
            version: ktx::VERSION,
            files: IMAGE_EXTENSIONS,
            output: "ktx2",
            is_image: true,
            colorspace: Some(colorspace(self.0)),
            is_texture: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        is_file && suffix.mode == self.0 && suffix.is(IMAGE_EXTENSIONS)
    }

    fn with_settings(&self, source: &RelPath, settings: &Settings) -> Option<&'static dyn Recipe> {
        static MODES: [Texture; 4] = [
            Texture(Mode::Color),
            Texture(Mode::LinearColor),
            Texture(Mode::Normal),
            Texture(Mode::Grayscale),
        ];
        let mode = mode_of(&suffix(source)?, settings);
        MODES.iter().find(|recipe| recipe.0 == mode).map(|recipe| recipe as &dyn Recipe)
    }

    fn yields_to_others(&self, source: &RelPath) -> bool {
        suffix(source).is_some_and(|suffix| suffix.is(AUTHORING_EXTENSIONS))
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        match sources.len(source) {
            len @ 1..=TINY_FILE => ktx::weigh_tiny(len, settings),
            _ => weigh(&[source], false, settings, sources),
        }
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let bytes = cx.inputs.read(source)?;
        let output = self.output(source).ok_or_else(ktx::nameless)?;
        let name_warning = check_name(source, self.0, settings);
        let mut image = ktx::EncodedImage::file(cx, source, bytes).standalone();
        if name_warning.is_none() && self.0 == Mode::Color && settings.texture.kind == TextureKind::Auto {
            image = image.checked_for_normals();
        }
        let (texture, warnings) = ktx::image_artifact(cx, &output, image, self.0, settings)?;
        name_warning.into_iter().for_each(|warning| cx.warn(warning));
        warnings.into_iter().for_each(|warning| cx.warn(warning));
        Ok(vec![texture])
    }
}
