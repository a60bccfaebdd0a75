//! `assetc.yml`: what to compile, where to, and with which settings. `docs/config/assetc-yml.md` is its document.
//!
//! A [`Config`] is read once. [`Config::select_preset`] picks the preset, [`Config::resolver`] then tells the
//! settings of each source and which layer each came from, and [`Roots`] tells the directories. A project is not
//! [trusted](Config::trust) until the user says so: it names no programs, and no directories outside. A file that is
//! not YAML, or gives a key a value it does not accept, is an error with line and column; a key nobody knows is
//! a warning with the likely spelling.

mod cache;
mod init;
mod parse;
mod resolve;
mod roots;
mod settings;
pub mod trust;
mod values;

use std::path::{Path, PathBuf};

use kiln_engine::glob::Glob;
use kiln_engine::store::settings::CacheSettings;
use kiln_engine::{Code, Diag};

pub use init::{STARTER, init};
pub use kiln_engine::nearest;
pub use resolve::{Layer, Resolved, Resolver, Row};
pub use roots::Roots;
pub use settings::{
    AnimationSettings, EnvironmentSettings, FontSettings, KEYS, Key, LutSettings, MeshSettings, SECTIONS,
    Settings, ShaderSettings, TextureSettings,
};
pub use values::{
    BlockFormat, Bounded, Characters, Conflict, Cubic, CutOff, Defines, Field, Index, Lambda, Lods, LutDepth,
    Mips, Optimize, Pixels, Quality, Share, Supercompress, Tangents, Target,
};

use kiln_config::nodes::Text;
use kiln_config::yaml::At;
use kiln_config::{file, yaml};
use resolve::Layers;

/// The name of the file.
pub const FILE_NAME: &str = "assetc.yml";
const DEFAULT_INPUT: &str = "assets";
const DEFAULT_OUTPUT: &str = "runtime";

/// A project's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file as messages call it; empty if there is none.
    name: String,
    /// The file itself, if there is one.
    file: Option<PathBuf>,
    /// What `input` and `output` are relative to.
    project: PathBuf,
    input: Option<Text>,
    output: Option<Text>,
    pack: bool,
    preset: Option<Text>,
    manifest: Manifest,
    embed: Vec<Glob>,
    /// Programs, by name.
    tools: Vec<(String, Text)>,
    cache: CacheSettings,
    /// The places of the keys of `cache:`.
    cache_places: Vec<(String, At)>,
    /// Whether the user trusts the project.
    trusted: bool,
    /// Whether the file or its directory belongs to another user.
    foreign: bool,
    /// Whether everyone may put files into the directory of the file.
    in_shared_dir: bool,
    base: Layers,
    presets: Vec<Preset>,
    warnings: Vec<Diag>,
}

/// A named set of settings that overlays `default`.
#[derive(Clone, Debug)]
pub struct Preset {
    name: String,
    output: Option<Text>,
    layers: Layers,
}

impl Preset {
    /// What `--preset` calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What the manifest lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// The textures that materials refer to.
    Textures,
    /// Every file that the build writes.
    All,
}

impl Config {
    /// The defaults, for a project without a file.
    pub fn built_in(project: &Path) -> Config {
        Config {
            name: String::new(),
            file: None,
            project: project.to_path_buf(),
            input: None,
            output: None,
            pack: false,
            preset: None,
            manifest: Manifest::Textures,
            embed: Vec::new(),
            tools: Vec::new(),
            cache: CacheSettings::default(),
            cache_places: Vec::new(),
            trusted: false,
            foreign: false,
            in_shared_dir: false,
            base: Layers::default(),
            presets: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The nearest `assetc.yml`, in `start` or a directory above it. `start` is absolute.
    pub fn find(start: &Path) -> Option<PathBuf> {
        use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        let there = |file: &PathBuf| match std::fs::metadata(file) {
            Ok(meta) => meta.is_file(),
            // What cannot be looked at is not absent: to build without it would be to build something else. Only
            // directories further up may well belong to others.
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory | PermissionDenied),
        };
        start.ancestors().map(|dir| dir.join(FILE_NAME)).find(there)
    }

    /// Finds and loads the nearest `assetc.yml`; without one, the defaults with `start` as the project. Messages
    /// call the file by its path from `start`.
    pub fn discover(start: &Path) -> Result<Config, Diag> {
        let Some(file) = Config::find(start) else { return Ok(Config::built_in(start)) };
        let above = start.components().count().saturating_sub(file.components().count() - 1);
        Config::load(&file, &("../".repeat(above) + FILE_NAME))
    }

    /// Loads a file, which messages call `name`.
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

    /// Reads the text of a file, which messages call `name`. Its project is the empty path.
    pub fn parse(text: &str, name: &str) -> Result<Config, Diag> {
        parse::parse(text, name).map_err(|diag| diag.path(name))
    }

    /// The file it was loaded from.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The directory that `input` and `output` are relative to.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// `input`, as written.
    pub fn input(&self) -> &str {
        self.input.as_ref().map_or(DEFAULT_INPUT, |input| &input.text)
    }

    /// `output` of the preset or else of the project, as written.
    pub fn output<'a>(&'a self, preset: Option<&'a Preset>) -> &'a str {
        self.output_text(preset).map_or(DEFAULT_OUTPUT, |output| &output.text)
    }

    fn output_text<'a>(&'a self, preset: Option<&'a Preset>) -> Option<&'a Text> {
        preset.and_then(|preset| preset.output.as_ref()).or(self.output.as_ref())
    }

    /// Whether every build ends with a pack.
    pub fn pack(&self) -> bool {
        self.pack
    }

    /// What the manifest lists.
    pub fn manifest(&self) -> Manifest {
        self.manifest
    }

    /// The path of a program beside Kiln, if the file names it and the project is trusted.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        let named = self.tools.iter().find(|(tool, _)| self.trusted && tool == name);
        named.map(|(_, path)| self.project.join(&path.text))
    }

    /// The settings of the cache, which take effect as far as the project [is trusted](Config::is_trusted).
    pub fn cache(&self) -> &CacheSettings {
        &self.cache
    }

    /// The presets, in file order.
    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    /// What deserves a look but stops nothing, in file order.
    pub fn warnings(&self) -> &[Diag] {
        &self.warnings
    }

    /// The preset of this name, or without a name the one that `preset:` names, if it does.
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
            [] => "none is defined".into(),
            names => format!("available: {}", names.join(", ")),
        };
        let hint = match nearest(name, names) {
            Some(near) => format!("did you mean '{near}'?"),
            None => String::new(),
        };
        let message = format!("unknown preset '{}'; {listed}", yaml::excerpt(name));
        Err(Diag::new(Code::UnknownPreset, message).path(&self.name).at(at).hint(hint))
    }

    /// What tells the settings of each source, under this preset.
    pub fn resolver(&self, preset: Option<&Preset>) -> Resolver {
        let preset = preset.map(|preset| (preset.name(), &preset.layers));
        Resolver::new(&self.base, preset, self.embed.clone())
    }
}

#[cfg(test)]
mod tests;
