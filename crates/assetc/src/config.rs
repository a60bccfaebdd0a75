//! The configuration of a project, `assetc.yml`: directories, presets, rules and settings. `docs/reference/config/assetc-yml.md`
//! documents the file.
//!
//! A [`Config`] is read once. [`Config::select_preset`] selects the preset, [`Config::resolver`] resolves the settings of
//! each source and the layer that set each of them, and [`Roots`] has the directories. Until the user
//! [trusts](Config::trust) a project, its configuration can name neither programs nor directories outside the project.
//! Invalid YAML and values that a key does not accept are errors with line and column; an unknown key is a warning with a
//! spelling suggestion.

mod cache;
mod canonical;
mod init;
mod lints;
mod parse;
mod resolve;
mod roots;
mod schema;
mod settings;
mod source_globs;
mod source_roles;
pub mod trust;
mod values;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::budget::Budget;
use kiln_engine::store::settings::CacheSettings;
use kiln_engine::{Code, Diag, LintPolicy, nearest};

pub use init::{InitReport, STARTER, init};
pub use resolve::{Layer, Resolved, Resolver, SettingRow};
pub use roots::Roots;
pub(crate) use schema::json_schema;
pub use settings::{
    AnimationSettings, EnvironmentSettings, FontSettings, KEYS, Key, LutSettings, MeshSettings, SECTIONS,
    Settings, ShaderSettings, TextureSettings,
};
pub use source_globs::SourceSelection;
pub use source_roles::SourceRoles;
pub(crate) use values::is_variant_name;
pub use values::{
    AlphaCutoff, Bounded, ByteSize, ChannelMap, Characters, Conflict, Cubic, Defines, Depth, DistanceField,
    GltfCompress, GltfTextures, GpuTarget, IncludeDirs, Index, Lambda, LodCount, LutDepth, MeshCompress,
    MeshFormat, MinScale, Mips, Optimize, Pixels, Precompressed, Quality, QualitySetting, RelativeError,
    Skins, Standalone, Suffixes, Supercompress, Tangents, Target, TexelFormat, TextureKind, Variant,
    Variants, Wrap,
};

use kiln_config::nodes::Text;
use kiln_config::yaml::At;
use kiln_config::{file, yaml};
use resolve::Layers;
use source_globs::SourceGlob;

/// The file name of the configuration.
pub const FILE_NAME: &str = "assetc.yml";
/// The other usual extension of YAML, which is not read.
const MISSPELT_FILE_NAME: &str = "assetc.yaml";
const DEFAULT_INPUT: &str = "assets";
const DEFAULT_OUTPUT: &str = "runtime";

/// The configuration of one project.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the file in diagnostics; empty if there is none.
    name: String,
    /// The path of the file, if there is one.
    file: Option<PathBuf>,
    /// The directory that `input` and `output` are relative to.
    project: PathBuf,
    input: Option<Text>,
    output: Option<Text>,
    pack: bool,
    pack_unowned: bool,
    pack_compress: PackCompression,
    preset: Option<Text>,
    manifest: Manifest,
    exclude: Vec<SourceGlob>,
    embed: Vec<SourceGlob>,
    budgets: Vec<Budget>,
    manifest_on_failure: OnFailure,
    /// Paths of external programs, by name.
    tools: Vec<(String, Text)>,
    lints: LintPolicy,
    cache: CacheSettings,
    /// The positions of the keys of `cache:`.
    cache_places: Vec<(String, At)>,
    /// True if the user trusts the project.
    trusted: bool,
    /// True if the file or its directory belongs to another user.
    foreign: bool,
    /// True if every user may write to the directory of the file.
    in_shared_dir: bool,
    base: Layers,
    presets: Vec<Preset>,
    warnings: Vec<Diag>,
    /// The text of the file; `None` if a setting was changed since.
    text: Option<Arc<str>>,
}

/// A named set of settings that overlays `default`.
#[derive(Clone, Debug)]
pub struct Preset {
    name: String,
    output: Option<Text>,
    exclude: Vec<SourceGlob>,
    layers: Layers,
}

impl Preset {
    /// Returns the name, as `--preset` takes it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The files that the manifest lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Manifest {
    /// The textures that materials refer to.
    Textures,
    /// Every file that the build writes.
    All,
}

/// The compression of the files in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackCompression {
    /// Every file is stored as it is, and used in place.
    None,
    /// Files that shrink are Zstandard frames.
    Zstd,
}

/// The treatment of the manifest by a build in which a source failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// The manifest is written and describes the output as it is: a failed source keeps the rows of its last build.
    Update,
    /// The manifest of the last build without failures stays.
    Keep,
}

impl Config {
    /// Returns the built-in defaults, for a project without a configuration file.
    pub fn built_in(project: &Path) -> Config {
        Config {
            name: String::new(),
            file: None,
            project: project.to_path_buf(),
            input: None,
            output: None,
            pack: false,
            pack_unowned: true,
            pack_compress: PackCompression::None,
            preset: None,
            manifest: Manifest::Textures,
            exclude: Vec::new(),
            manifest_on_failure: OnFailure::Update,
            embed: Vec::new(),
            budgets: Vec::new(),
            tools: Vec::new(),
            lints: LintPolicy::default(),
            cache: CacheSettings::default(),
            cache_places: Vec::new(),
            trusted: false,
            foreign: false,
            in_shared_dir: false,
            base: Layers::default(),
            presets: Vec::new(),
            warnings: Vec::new(),
            text: Some("".into()),
        }
    }

    /// Finds the nearest `assetc.yml`, in `start` or a directory above it. `start` is absolute.
    pub fn find(start: &Path) -> Option<PathBuf> {
        use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        let exists = |file: &PathBuf| match std::fs::metadata(file) {
            Ok(meta) => meta.is_file(),
            // A file whose metadata cannot be read is not absent: a build without it would be a different build.
            // Directories further up may belong to other users, so missing permissions count as absent.
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory | PermissionDenied),
        };
        start.ancestors().map(|dir| dir.join(FILE_NAME)).find(exists)
    }

    /// Finds and loads the nearest `assetc.yml`; without one, returns the defaults with `start` as the project.
    /// Diagnostics name the file by its path relative to `start`.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Config::load).
    pub fn discover(start: &Path) -> Result<Config, Diag> {
        let file = Config::find(start);
        let depth = |dir: &Path| start.components().count().saturating_sub(dir.components().count());
        let top = file.as_deref().and_then(Path::parent);
        let mut config = match (&file, top) {
            (Some(file), Some(top)) => Config::load(file, &("../".repeat(depth(top)) + FILE_NAME))?,
            _ => Config::built_in(start),
        };
        let searched = start.ancestors().take_while(|dir| top.is_none_or(|top| dir.starts_with(top)));
        for dir in searched.filter(|dir| dir.join(MISSPELT_FILE_NAME).is_file()) {
            let message = format!("the file is not read: the configuration file is named {FILE_NAME}");
            let stray = Diag::new(Code::ConfigStrayFile, message)
                .path("../".repeat(depth(dir)) + MISSPELT_FILE_NAME)
                .hint(format!("rename the file to {FILE_NAME}, or merge it into that file"));
            config.warnings.push(stray);
        }
        Ok(config)
    }

    /// Loads a file; `name` is its name in diagnostics.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is too large, is not valid UTF-8 or YAML, or has a value that its key does not accept.
    pub fn load(file: &Path, name: &str) -> Result<Config, Diag> {
        let text = file::read_text(file, name)?;
        let mut config = Config::parse(&text, name)?;
        config.project = file.parent().unwrap_or(Path::new("")).to_path_buf();
        let owners = [std::fs::metadata(file), std::fs::metadata(&config.project)];
        config.foreign = owners.iter().flatten().any(file::is_foreign);
        config.in_shared_dir = owners[1].as_ref().is_ok_and(|meta| file::has_mode(meta, 0o002));
        config.file = Some(file.to_path_buf());
        Ok(config)
    }

    /// Parses a configuration; `name` is the name of its file in diagnostics. The project is the empty path.
    ///
    /// # Errors
    ///
    /// The text is not valid YAML, or has a value that its key does not accept.
    pub fn parse(text: &str, name: &str) -> Result<Config, Diag> {
        let config = parse::parse(text, name).map_err(|diag| diag.path(name))?;
        Ok(Config { text: Some(text.into()), ..config })
    }

    /// Sets a setting of [`KEYS`] by its index, in the syntax of the file, as the layer `default:` would.
    ///
    /// # Errors
    ///
    /// The accepted values, if the setting does not accept this one.
    pub fn set(&mut self, key: usize, value: &str) -> Result<(), String> {
        let accepts = KEYS.get(key).map_or_else(|| "an existing setting".to_owned(), Key::accepts);
        let scalar = yaml::Scalar { text: value.to_owned(), plain: true };
        let accepted = key < KEYS.len() && self.base.overlay.set(key, &scalar);
        self.text = None;
        accepted.then_some(()).ok_or(accepts)
    }

    /// Returns the file that the configuration was loaded from.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the directory that `input` and `output` are relative to.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Returns `input` as it is written in the file, or the default.
    pub fn input(&self) -> &str {
        self.input.as_ref().map_or(DEFAULT_INPUT, |input| &input.text)
    }

    /// Returns `output` of the preset, or else of the project, as it is written in the file, or the default.
    pub fn output<'a>(&'a self, preset: Option<&'a Preset>) -> &'a str {
        self.output_text(preset).map_or(DEFAULT_OUTPUT, |output| &output.text)
    }

    fn output_text<'a>(&'a self, preset: Option<&'a Preset>) -> Option<&'a Text> {
        preset.and_then(|preset| preset.output.as_ref()).or(self.output.as_ref())
    }

    /// Returns whether every build writes a pack.
    pub fn pack(&self) -> bool {
        self.pack
    }

    /// Returns whether a pack holds files of the output directory that no build wrote.
    pub fn pack_unowned(&self) -> bool {
        self.pack_unowned
    }

    /// Returns the compression of the files in a pack.
    pub fn pack_compress(&self) -> PackCompression {
        self.pack_compress
    }

    /// Returns which files the manifest lists.
    pub fn manifest(&self) -> Manifest {
        self.manifest
    }

    /// Returns the limits on the size of the output.
    pub fn budgets(&self) -> &[Budget] {
        &self.budgets
    }

    /// Returns the treatment of the manifest by a build with failures.
    pub fn manifest_on_failure(&self) -> OnFailure {
        self.manifest_on_failure
    }

    /// Returns the path of an external program, if the file names it and the project is trusted.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        let named = self.tools.iter().find(|(tool, _)| self.trusted && tool == name);
        named.map(|(_, path)| self.project.join(&path.text))
    }

    /// Returns the levels of warnings.
    pub fn lints(&self) -> &LintPolicy {
        &self.lints
    }

    /// Returns the settings of the cache. Some take effect only if the project [is trusted](Config::is_trusted).
    pub fn cache(&self) -> &CacheSettings {
        &self.cache
    }

    /// Returns the presets, in file order.
    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    /// Returns the warnings about unknown and ignored keys, in file order.
    pub fn warnings(&self) -> &[Diag] {
        &self.warnings
    }

    /// Returns the preset of this name; without a name, the one that `preset:` names, if any.
    ///
    /// # Errors
    ///
    /// `unknown-preset` if no preset has the name.
    pub fn select_preset(&self, name: Option<&str>) -> Result<Option<&Preset>, Diag> {
        let (name, at) = match (name, &self.preset) {
            (Some(name), _) => (name, String::new()),
            (None, Some(preset)) => (preset.text.as_str(), preset.at.to_string()),
            (None, None) => return Ok(None),
        };
        if let Some(preset) = self.presets.iter().find(|preset| preset.name == name) {
            return Ok(Some(preset));
        }
        let names: Vec<&str> = self.presets.iter().map(Preset::name).collect();
        let listed = match names.as_slice() {
            [] => "no presets are defined".into(),
            names => format!("available: {}", names.join(", ")),
        };
        let hint = match nearest(name, names) {
            Some(near) => format!("did you mean '{near}'?"),
            None => String::new(),
        };
        let message = format!("unknown preset '{}'; {listed}", yaml::excerpt(name));
        Err(Diag::new(Code::UnknownPreset, message).path(&self.name).at(at).hint(hint))
    }

    /// Returns the resolver of settings under a preset.
    pub fn resolver(&self, preset: Option<&Preset>) -> Resolver {
        let layers = preset.map(|preset| (preset.name(), &preset.layers));
        let own = preset.iter().flat_map(|preset| &preset.exclude);
        let resolver = Resolver {
            file: self.name.clone(),
            exclude: self.exclude.iter().chain(own).cloned().collect(),
            embed: self.embed.clone(),
            text: self.text.clone(),
            preset: preset.map(|preset| preset.name().into()),
            ..Resolver::new(&self.base, layers)
        };
        resolver.with_roles()
    }
}

#[cfg(test)]
mod tests;
