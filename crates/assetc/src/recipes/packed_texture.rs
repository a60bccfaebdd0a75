//! `*.tex`: a texture description in YAML to a `.ktx2` whose channels come from several images.

use super::ktx::{self, weigh};
use super::packing::description::{self, Channel};
use super::packing::{Packing, mode_of, resolve};
use crate::artifact::FileArtifact;
use crate::config::Settings;
use crate::recipe::{Recipe, Suffix, suffix};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};

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

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        let description =
            sources.fs.peek(source, ktx::HEAD).ok().and_then(|head| description::parse(&head).ok());
        let images = description.iter().flat_map(|description| &description.channels);
        let paths = images.filter_map(|channel| match channel {
            Channel::Image(image) => resolve(source, &image.path, Code::ChannelImage).ok(),
            Channel::Constant(_) => None,
        });
        let mut paths: Vec<RelPath> = paths.collect();
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
