//! Files that match `embed:`: copied without changes to the same path of the output and of the pack.

use crate::artifact::FileMetadata;
use crate::cache_check;
use crate::config::Settings;
use crate::digests::DIGEST_FILE;
use crate::link::MANIFEST;
use crate::recipe::{Compiled, Recipe, RecipeInfo};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};

/// The recipe for a file that is copied and not compiled.
pub(crate) struct Embed;

impl Recipe for Embed {
    /// The recipe claims no name: the configuration selects the files.
    fn info(&self) -> RecipeInfo {
        RecipeInfo { name: "embed", version: 1, copies: true, ..RecipeInfo::DEFAULT }
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        Some(source.clone())
    }

    fn weight(&self, source: &RelPath, _: &Settings, sources: SourceTree<'_>) -> u64 {
        sources.len(source)
    }

    fn run(&self, cx: &mut ActionContext<'_>, _: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        if [MANIFEST, DIGEST_FILE].iter().any(|name| source.as_str().eq_ignore_ascii_case(name)) {
            return Err(Diag::new(
                Code::EmbedReserved,
                "the file name is reserved for the manifest or the digests of the build",
            )
            .hint("rename the file, or exclude it from `embed`"));
        }
        let bytes = cx.inputs.read(source)?;
        let metadata = match cache_check::colorspace(source, &bytes) {
            Some(colorspace) => FileMetadata::texture(source, colorspace),
            None => FileMetadata::of(source),
        };
        Ok(vec![cx.artifact(source, metadata, &bytes)?])
    }
}
