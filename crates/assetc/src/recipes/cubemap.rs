//! `*.env/`: six square images to one cubemap, `.env.ktx2`.

use super::folder;
use super::ktx::{self, texture_settings};
use crate::config::Settings;
use crate::recipe::{Compiled, Recipe, RecipeInfo};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};
use kiln_format::hman::Colorspace;
use kiln_import::faces;
use kiln_ir::Image;
use kiln_texture::Mode;

/// The recipe for a folder of six cubemap faces.
pub(crate) struct Cubemap;

impl Recipe for Cubemap {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "cubemap",
            sections: &["texture"],
            version: ktx::VERSION,
            folders: &["env"],
            colorspace: Some(Colorspace::Srgb),
            reads_other_files: true,
            is_texture: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        RelPath::new(format!("{source}.ktx2")).ok()
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        folder::weight(source, true, settings, sources)
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let faces = folder::read(cx, true, settings, faces::cube_faces)?;
        faces::cube_side(&folder::sizes(&faces))?;
        let images: Vec<Image> = faces.into_iter().map(|(_, image)| image).collect();
        let images: [Image; 6] =
            images.try_into().map_err(|_| Diag::new(Code::CubemapFaceMissing, "a cubemap has six faces"))?;
        let mut wanted = kiln_texture::Settings {
            deadline: cx.inputs.deadline(),
            ..texture_settings(settings, Mode::Color)?
        };
        let encode =
            |wanted: &kiln_texture::Settings| kiln_texture::encode_cube(images.clone(), Mode::Color, wanted);
        let limits = *cx.inputs.limits();
        let size = (images[0].width(), images[0].height());
        let missed = ktx::reach_quality(settings, Mode::Color, &mut wanted, size, &limits, encode)?;
        missed.into_iter().for_each(|warning| cx.warn(warning));
        let encoded = kiln_texture::encode_cube(images, Mode::Color, &wanted);
        Ok(vec![ktx::artifact(cx, self.output(cx.source()), encoded)?])
    }
}
