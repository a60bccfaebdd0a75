//! `*.tex`: a texture description in YAML to a `.ktx2` whose channels come from several images.

use super::ktx::{self, weigh};
use super::packing::{Packing, description, image_paths, mode_of, read_images};
use crate::artifact::FileArtifact;
use crate::config::Settings;
use crate::recipe::{Recipe, Suffix, suffix};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Diag, RelPath, SourceFiles, SourceTree};

/// The recipe for a texture description.
pub(crate) struct PackedTexture;

impl Recipe for PackedTexture {
    fn name(&self) -> &'static str {
        "packed-texture"
    }

    fn sections(&self) -> &'static [&'static str] {
        &["texture"]
    }

    fn version(&self) -> u32 {
        ktx::VERSION
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        is_file && suffix.is(&["tex"])
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        RelPath::new(format!("{}.ktx2", suffix(source)?.stem)).ok()
    }

    fn reads_other_files(&self) -> bool {
        true
    }

    fn contains_images(&self) -> bool {
        true
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

    fn run(
        &self,
        cx: &mut ActionContext<'_>,
        settings: &Settings,
        _: &Tools,
    ) -> Result<Vec<FileArtifact>, Diag> {
        let source = cx.source();
        let description = description::parse(&cx.inputs.read(source)?)?;
        let output = self.output(source).ok_or_else(ktx::nameless)?;
        let (packing, images) = Packing::read(cx, source, &description)?;
        Ok(vec![packing.artifact(cx, &images, &output, mode_of(&description, settings), settings)?])
    }
}
