//! `*.array/`: images of one size, in natural order of their names, to the layers of one `.arr.ktx2`.
//!
//! The marker before `.array` selects the texture mode, as it does for single images: `rock.n.array/` holds normal maps.

use super::folder;
use super::ktx::{self, colorspace, texture_settings};
use crate::config::Settings;
use crate::recipe::{Compiled, Recipe, RecipeInfo, Suffix, suffix};
use crate::texture_format::check_alpha;
use crate::texture_role::mode_of;
use crate::tools::Tools;
use kiln_engine::{ActionContext, RelPath, SourceTree};
use kiln_import::faces;
use kiln_texture::Mode;

/// Leaves room for versions of the layer order within one version of the texture pipeline.
const VERSIONS_PER_PIPELINE: u32 = 100;

/// The recipe for a folder of array layers in one texture mode.
pub(crate) struct Array(pub(crate) Mode);

impl Recipe for Array {
    fn info(&self) -> RecipeInfo {
        let name = match self.0 {
            Mode::Normal => "normal-array",
            Mode::Grayscale => "grayscale-array",
            Mode::LinearColor => "linear-array",
            Mode::Color => "array",
        };
        RecipeInfo {
            name,
            sections: &["texture"],
            version: VERSIONS_PER_PIPELINE * ktx::VERSION + 1,
            folders: &["array"],
            output: "arr.ktx2",
            colorspace: Some(colorspace(self.0)),
            reads_other_files: true,
            is_texture: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        !is_file && suffix.is(&["array"]) && suffix.mode == self.0
    }

    fn with_settings(&self, source: &RelPath, settings: &Settings) -> Option<&'static dyn Recipe> {
        static MODES: [Array; 4] =
            [Array(Mode::Color), Array(Mode::LinearColor), Array(Mode::Normal), Array(Mode::Grayscale)];
        let mode = mode_of(&suffix(source)?, settings);
        MODES.iter().find(|recipe| recipe.0 == mode).map(|recipe| recipe as &dyn Recipe)
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        folder::weight(source, false, settings, sources)
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let layers = folder::read(cx, false, settings, faces::layers)?;
        faces::layer_size(&folder::sizes(&layers))?;
        let mut wanted =
            kiln_texture::Settings { deadline: cx.inputs.deadline(), ..texture_settings(settings, self.0)? };
        let mut images = Vec::with_capacity(layers.len());
        let (mut reduced, mut lost) = (None, None);
        for (name, image) in layers {
            let image = ktx::rearranged(image, self.0, settings, true);
            reduced = reduced
                .or_else(|| ktx::choose_depth(&image, self.0, settings, &mut wanted).map(|w| (name, w)));
            lost = lost.or_else(|| {
                check_alpha(&image, wanted.compress.then_some(wanted.format), self.0).map(|w| (name, w))
            });
            images.push(image);
        }
        for (name, warning) in reduced.into_iter().chain(lost) {
            cx.warn(warning.at(name));
        }
        let encode =
            |wanted: &kiln_texture::Settings| kiln_texture::encode_array(images.clone(), self.0, wanted);
        let limits = *cx.inputs.limits();
        let size = images.first().map_or((1, 1), |image| (image.width(), image.height()));
        let missed = ktx::reach_quality(settings, self.0, &mut wanted, size, &limits, encode)?;
        missed.into_iter().for_each(|warning| cx.warn(warning));
        let encoded = kiln_texture::encode_array(images, self.0, &wanted);
        Ok(vec![ktx::artifact(cx, self.output(cx.source()), encoded)?])
    }
}
