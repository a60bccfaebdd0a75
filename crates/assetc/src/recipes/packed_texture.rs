//! `*.tex`: a texture description in YAML to a `.ktx2` whose channels come from several images.

use super::ktx::{self, weigh};
use super::packing::{Packing, description, image_paths, mode_of, read_images};
use crate::config::Settings;
use crate::recipe::{Compiled, Recipe, RecipeInfo};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Diag, RelPath, SourceFiles, SourceTree};

/// The recipe for a texture description.
pub(crate) struct PackedTexture;

impl Recipe for PackedTexture {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "packed-texture",
            sections: &["texture"],
            version: ktx::VERSION,
            files: &["tex"],
            output: "ktx2",
            reads_other_files: true,
            contains_images: true,
            is_texture: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn find_images(
        &self,
        source: &RelPath,
        _: &Settings,
        files: &mut dyn SourceFiles,
    ) -> Result<Vec<RelPath>, Diag> {
        let description = description::parse(&files.read(source)?)?;
        read_images(source, &description, files).map(|()| vec![])
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        let description =
            sources.fs.peek(source, ktx::HEAD).ok().and_then(|head| description::parse(&head).ok());
        let paths = description.iter().flat_map(|description| image_paths(source, description));
        let mut paths: Vec<RelPath> = paths.filter_map(Result::ok).collect();
        paths.sort();
        paths.dedup();
        weigh(&paths.iter().collect::<Vec<_>>(), false, settings, sources)
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let description = description::parse(&cx.inputs.read(source)?)?;
        let output = self.output(source).ok_or_else(ktx::nameless)?;
        let (packing, images) = Packing::read(cx, source, &description)?;
        Ok(vec![packing.artifact(cx, &images, &output, mode_of(&description, settings), settings)?])
    }
}
