//! Files that `embed:` names: copied as they are, to the same path, into the tree and into the pack.

use crate::artifact::{FileArtifact, FileMetadata};
use crate::config::Settings;
use crate::link::MANIFEST;
use crate::recipe::{Recipe, Suffix};
use crate::stored;
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};

/// A file that is not compiled.
pub(crate) struct Embed;

impl Recipe for Embed {
    fn name(&self) -> &'static str {
        "embed"
    }

    fn sections(&self) -> &'static [&'static str] {
        &[]
    }

    fn version(&self) -> u32 {
        1
    }

    /// No name makes a file one of these: the configuration does.
    fn claims(&self, _: bool, _: &Suffix<'_>) -> bool {
        false
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        Some(source.clone())
    }

    fn copies(&self) -> bool {
        true
    }

    fn weight(&self, source: &RelPath, _: &Settings, sources: SourceTree<'_>) -> u64 {
        sources.len(source)
    }

    fn run(&self, cx: &mut ActionContext<'_>, _: &Settings, _: &Tools) -> Result<Vec<FileArtifact>, Diag> {
        let source = cx.source();
        if source.as_str().eq_ignore_ascii_case(MANIFEST) {
            return Err(Diag::new(Code::EmbedReserved, "the build writes a file of this name itself")
                .hint("rename it, or leave it out of `embed`"));
        }
        let bytes = cx.inputs.read(source)?;
        let metadata = match stored::colorspace(source, &bytes) {
            Some(colorspace) => FileMetadata::texture(source, colorspace),
            None => FileMetadata::of(source),
        };
        Ok(vec![cx.artifact(source, metadata, &bytes)?])
    }
}
