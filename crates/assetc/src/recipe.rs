//! The recipe trait: a recipe compiles one kind of source to runtime files.

use crate::artifact::{FileArtifact, TextureReference};
use crate::config::Settings;
use crate::tools::{Tool, Tools};
use kiln_engine::{ActionContext, Diag, RelPath, SourceFiles, SourceTree, Tree};
use kiln_format::hman::Colorspace;
use kiln_texture::Mode;

/// The result of compiling a source: its runtime files.
pub(crate) type Compiled = Result<Vec<FileArtifact>, Diag>;

/// The constant properties of a recipe.
pub(crate) struct RecipeInfo {
    /// The name of the kind in listings and cache keys.
    pub(crate) name: &'static str,
    /// The sections of `assetc.yml` that the recipe uses. Their values are part of the fingerprint.
    pub(crate) sections: &'static [&'static str],
    /// The version of the recipe. A new version rebuilds the sources of this recipe only; it is needed when the same source
    /// and settings give different bytes than before.
    pub(crate) version: u32,
    /// The extensions of the files that are sources of the recipe.
    pub(crate) files: &'static [&'static str],
    /// The extensions of the directories that are sources of the recipe, each as a whole.
    pub(crate) folders: &'static [&'static str],
    /// The extension of the main output.
    pub(crate) output: &'static str,
    /// The colour space of all textures of the recipe, if it does not depend on the source.
    pub(crate) colorspace: Option<Colorspace>,
    /// Set if the result depends on the settings of other sources ([`Settings::roles`]).
    pub(crate) depends_on_roles: bool,
    /// Set if actions read files besides the source itself.
    pub(crate) reads_other_files: bool,
    /// Set if the source is an image that other sources can contain.
    pub(crate) is_image: bool,
    /// Set if the source is compiled to a texture and nothing else, so that a size target applies to it.
    pub(crate) is_texture: bool,
    /// Set if outputs can contain images that are sources of their own.
    pub(crate) contains_images: bool,
    /// Set if outputs are copies of their sources.
    pub(crate) copies: bool,
    /// Set if the manifest lists the textures of the recipe.
    pub(crate) lists_textures: bool,
}

impl RecipeInfo {
    /// A recipe that claims no name and has none of the optional properties.
    pub(crate) const DEFAULT: RecipeInfo = RecipeInfo {
        name: "",
        sections: &[],
        version: 0,
        files: &[],
        folders: &[],
        output: "",
        colorspace: None,
        depends_on_roles: false,
        reads_other_files: false,
        is_image: false,
        is_texture: false,
        contains_images: false,
        copies: false,
        lists_textures: false,
    };
}

/// The compiler of one kind of source.
pub(crate) trait Recipe: Sync {
    /// Returns the constant properties.
    fn info(&self) -> RecipeInfo;

    /// Returns whether a file, or a directory as a whole, is a source of this recipe, by the suffix of its name.
    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        let RecipeInfo { files, folders, .. } = self.info();
        suffix.is(if is_file { files } else { folders })
    }

    /// Returns the recipe that compiles the source with these settings, if it is another one.
    fn with_settings(&self, _source: &RelPath, _settings: &Settings) -> Option<&'static dyn Recipe> {
        None
    }

    /// Returns the path of the main output, or of the directory of all outputs; `None` if the name leaves no stem.
    fn output(&self, source: &RelPath) -> Option<RelPath> {
        RelPath::new(format!("{}.{}", suffix(source)?.stem, self.info().output)).ok()
    }

    /// Estimates the peak memory of the action in bytes, for admission.
    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64;

    /// Lists the external programs that take part in the compilation, in a fixed order. Their versions are part of the
    /// fingerprint.
    fn tools(&self, _: &RelPath, _: &Settings, _: &Tree, _: &Tools) -> Vec<Tool> {
        vec![]
    }

    /// Starts processes that the action needs and that take long to start.
    fn prepare(&self, _: &RelPath, _: &Settings, _: SourceTree<'_>, _: &Tools) {}

    /// Returns whether `source` can have the artifact `output`. A cache entry with any other artifact is rejected.
    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        self.output(source).as_ref() == Some(output)
    }

    /// Reads the source as far as it takes to find the images that its outputs contain: those that are read through `files`.
    /// Returns the textures of other sources that the outputs refer to instead.
    ///
    /// # Errors
    ///
    /// The source cannot be compiled.
    fn find_images(
        &self,
        _: &RelPath,
        _: &Settings,
        _files: &mut dyn SourceFiles,
    ) -> Result<Vec<RelPath>, Diag> {
        Ok(vec![])
    }

    /// Returns whether the source is left out, with a warning, if another one has the same output: a layered document
    /// often lies beside the image that was exported from it.
    fn yields_to_others(&self, _source: &RelPath) -> bool {
        false
    }

    /// Returns whether an artifact can refer to a texture because the action read `input`, which is a source of its own.
    fn refers_to(&self, _input: &RelPath, _texture: &TextureReference, _: &Settings) -> bool {
        false
    }

    /// Compiles the source of the action to runtime files.
    ///
    /// # Errors
    ///
    /// The source cannot be compiled.
    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, tools: &Tools) -> Compiled;
}

/// The extension of a name and the marker before it, in any case: `wall.n.png` is a `png` with the marker of normal maps.
pub(crate) struct Suffix<'a> {
    /// The path up to the last dot.
    pub(crate) stem: &'a str,
    /// The extension after the last dot, in its original case.
    pub(crate) ext: &'a str,
    /// The texture mode of the marker before the extension.
    pub(crate) mode: Mode,
}

impl Suffix<'_> {
    /// Returns whether the extension is one of these, ignoring case.
    pub(crate) fn is(&self, extensions: &[&str]) -> bool {
        extensions.iter().any(|ext| self.ext.eq_ignore_ascii_case(ext))
    }
}

/// Splits a path into stem, extension and mode; `None` when its name has no extension or no stem.
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
