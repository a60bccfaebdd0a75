//! What turns one kind of source into runtime files.

use crate::artifact::{FileArtifact, TextureReference};
use crate::config::Settings;
use crate::tools::{Tool, Tools};
use kiln_engine::{ActionContext, Diag, RelPath, SourceTree, Tree};
use kiln_format::hman::Colorspace;
use kiln_texture::Mode;

/// One kind of source.
pub trait Recipe: Sync {
    /// What the kind is called, in listings and in cache keys.
    fn name(&self) -> &'static str;

    /// The sections of `assetc.yml` that it obeys.
    fn sections(&self) -> &'static [&'static str];

    /// Raised when the same source and settings come out differently than before: rebuilds this kind only.
    fn version(&self) -> u32;

    /// Whether a file, or a directory as a whole, is a source of this kind, by the end of its name.
    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool;

    /// The path of the main output, or of the directory that holds all of them.
    fn output(&self, source: &RelPath) -> Option<RelPath>;

    /// The memory that it takes, roughly.
    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64;

    /// The programs that have a part in what comes out of a source, in a fixed order; what they are is part of its
    /// fingerprint.
    fn tools(&self, _: &RelPath, _: &Settings, _: &Tree, _: &Tools) -> Vec<Tool> {
        vec![]
    }

    /// Starts what it is going to need and takes long to start.
    fn prepare(&self, _: &RelPath, _: &Settings, _: SourceTree<'_>, _: &Tools) {}

    /// Returns whether `source` can have the artifact `output`; cache entries that have any other are not used.
    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        self.output(source).as_ref() == Some(output)
    }

    /// Returns whether its outputs are copies of their sources.
    fn copies(&self) -> bool {
        false
    }

    /// Returns how all textures that it writes are to be read, if that does not depend on the source.
    fn colorspace(&self) -> Option<Colorspace> {
        None
    }

    /// Returns whether the manifest lists the textures that it writes.
    fn lists_textures(&self) -> bool {
        false
    }

    /// Returns whether an artifact can refer to a texture because the action read `input`, which is a source of its own.
    fn refers_to(&self, _input: &RelPath, _texture: &TextureReference) -> bool {
        false
    }

    /// Makes the runtime files of the source of the action.
    ///
    /// # Errors
    /// If the source cannot be compiled; the message says why.
    fn run(
        &self,
        cx: &mut ActionContext<'_>,
        settings: &Settings,
        tools: &Tools,
    ) -> Result<Vec<FileArtifact>, Diag>;
}

/// What the last dots of a name say, whatever their case: `wall.n.png` is a `png` of the mode that `n` stands for.
pub struct Suffix<'a> {
    /// The path up to the last dot.
    pub stem: &'a str,
    /// What follows it, as it is written.
    pub ext: &'a str,
    /// What the part before it says of the texels.
    pub mode: Mode,
}

impl Suffix<'_> {
    /// Whether the extension is one of these.
    pub fn is(&self, extensions: &[&str]) -> bool {
        extensions.iter().any(|ext| self.ext.eq_ignore_ascii_case(ext))
    }
}

/// Takes a path apart; `None` when its name has no extension, or nothing before it.
pub(crate) fn suffix(path: &RelPath) -> Option<Suffix<'_>> {
    let name = path.file_name();
    let (before, ext) = name.rsplit_once('.').filter(|(before, _)| !before.is_empty())?;
    let marker = before.rsplit_once('.').map_or("", |(_, marker)| marker);
    let is = |markers: &[&str]| markers.iter().any(|m| marker.eq_ignore_ascii_case(m));
    let mode = match () {
        () if is(&["n"]) => Mode::Normal,
        () if is(&["ao", "h", "r"]) => Mode::Grayscale,
        () => Mode::Color,
    };
    Some(Suffix { stem: &path.as_str()[..path.as_str().len() - ext.len() - 1], ext, mode })
}
