//! Resolves the layers of a configuration to the settings of one source, each with the layer that set it.
//!
//! The layers, from least to most specific: built-in defaults, `default:`, the preset, the rules of `default:` in file
//! order, the rules of the preset in file order. A layer overrides only the keys that it sets.

use std::fmt;
use std::sync::Arc;

use super::settings::{KEYS, Key, Overlay, Settings};
use super::source_globs::SourceGlob;
use super::source_roles::SourceRoles;

/// The settings and rules of `default:` or of one preset.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub(super) overlay: Overlay,
    pub(super) rules: Vec<Rule>,
}

/// Settings for the sources that a glob matches.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The index in the list of rules, from 0.
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) glob: SourceGlob,
    pub(super) overlay: Overlay,
}

/// The layer of the configuration that set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layer {
    /// The built-in default: no layer of the file set the value.
    BuiltIn,
    /// The layer `default:` of the file.
    Default,
    /// The preset of this name.
    Preset(Arc<str>),
    /// A rule of `default:`.
    DefaultRule {
        /// The index in the list of rules, from 0.
        index: usize,
        /// The glob of the rule's `match`.
        pattern: Arc<str>,
        /// The line of the rule in the file, from 1.
        line: usize,
    },
    /// A rule of a preset.
    PresetRule {
        /// The name of the preset.
        preset: Arc<str>,
        /// The index in the list of rules, from 0.
        index: usize,
        /// The glob of the rule's `match`.
        pattern: Arc<str>,
        /// The line of the rule in the file, from 1.
        line: usize,
    },
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::BuiltIn => f.write_str("built in"),
            Layer::Default => f.write_str("default"),
            Layer::Preset(name) => write!(f, "presets.{name}"),
            Layer::DefaultRule { index, pattern, line } => {
                write!(f, "default.rules[{index}] (match {pattern:?}, line {line})")
            }
            Layer::PresetRule { preset, index, pattern, line } => {
                write!(f, "presets.{preset}.rules[{index}] (match {pattern:?}, line {line})")
            }
        }
    }
}

/// Resolves the settings of each source under one preset. The layers below the rules are merged once.
#[derive(Clone, Debug)]
pub struct Resolver {
    pub(super) base: Resolved,
    pub(super) rules: Vec<(Rule, Layer)>,
    pub(super) exclude: Vec<SourceGlob>,
    pub(super) embed: Vec<SourceGlob>,
    /// The name of the configuration file in diagnostics.
    pub(super) file: String,
    /// The text of the configuration file and the name of the preset, from which another machine makes an equal resolver.
    pub(crate) text: Option<Arc<str>>,
    pub(crate) preset: Option<Arc<str>>,
}

impl Resolver {
    pub(super) fn new(base: &Layers, preset: Option<(&str, &Layers)>) -> Resolver {
        let mut settings = Settings::default();
        let mut origins = vec![Layer::BuiltIn; KEYS.len()];
        base.overlay.apply(&mut settings, |key| origins[key] = Layer::Default);
        let mut rules: Vec<(Rule, Layer)> = Vec::new();
        for rule in &base.rules {
            let pattern = rule.glob.glob.pattern().into();
            let layer = Layer::DefaultRule { index: rule.index, pattern, line: rule.line };
            rules.push((rule.clone(), layer));
        }
        if let Some((name, layers)) = preset {
            let name: Arc<str> = name.into();
            layers.overlay.apply(&mut settings, |key| origins[key] = Layer::Preset(name.clone()));
            for rule in &layers.rules {
                let (preset, pattern) = (name.clone(), rule.glob.glob.pattern().into());
                let layer = Layer::PresetRule { preset, index: rule.index, pattern, line: rule.line };
                rules.push((rule.clone(), layer));
            }
        }
        Resolver {
            base: Resolved { settings: settings.into(), origins: origins.into() },
            rules,
            exclude: Vec::new(),
            embed: Vec::new(),
            file: String::new(),
            text: None,
            preset: None,
        }
    }

    /// Attaches the [`SourceRoles`] of this configuration to the settings of every source.
    pub(super) fn with_roles(mut self) -> Resolver {
        let roles = SourceRoles::of(&self);
        Arc::make_mut(&mut self.base.settings).roles = roles;
        self
    }

    /// Returns whether a file matches `embed:` and is copied without changes.
    pub fn embeds(&self, path: &str) -> bool {
        self.embed.iter().any(|glob| glob.glob.matches(path))
    }

    /// Returns the glob of `exclude:` that leaves out a file or directory, or a directory above it: `exclude "wip/*"`.
    pub fn excluded_by(&self, path: &str) -> Option<String> {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let mut paths = above.chain([path]);
        paths
            .find_map(|path| self.exclude.iter().find(|glob| glob.glob.matches(path)))
            .map(SourceGlob::describe)
    }

    /// Resolves the settings of a source, given its path below the input; for a directory that is one source, the path
    /// of the directory. Sources that no rule matches share one value.
    pub fn resolve(&self, path: &str) -> Resolved {
        self.resolve_with(path, |_| {})
    }

    /// Resolves the settings of a source; calls `on_match` with the index of each rule that matches.
    pub(super) fn resolve_with(&self, path: &str, mut on_match: impl FnMut(usize)) -> Resolved {
        let matches = |(_, (rule, _)): &(usize, &(Rule, Layer))| rule.glob.glob.matches(path);
        let mut matching = self.rules.iter().enumerate().filter(matches).peekable();
        if matching.peek().is_none() {
            return self.base.clone();
        }
        let mut settings = Settings::clone(&self.base.settings);
        let mut origins = self.base.origins.to_vec();
        for (index, (rule, layer)) in matching {
            on_match(index);
            rule.overlay.apply(&mut settings, |key| origins[key] = layer.clone());
        }
        Resolved { settings: settings.into(), origins: origins.into() }
    }
}

/// The settings of a source, each with the layer that set it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// The values of all settings.
    pub settings: Arc<Settings>,
    /// The layer of each key, in the order of [`KEYS`].
    origins: Arc<[Layer]>,
}

/// One setting of a source, for display.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SettingRow<'a> {
    /// The section and name of the setting.
    pub key: &'static Key,
    /// The value in the syntax of `assetc.yml`.
    pub value: String,
    /// The layer that set the value.
    pub layer: &'a Layer,
}

impl Resolved {
    /// Returns the layer that set a setting; `None` if there is no such setting.
    pub(crate) fn layer(&self, section: &str, name: &str) -> Option<&Layer> {
        self.rows(&[section]).find(|row| row.key.name == name).map(|row| row.layer)
    }

    /// Returns the settings of these sections with their layers, in the order of [`KEYS`].
    pub fn rows<'a>(&'a self, sections: &[&str]) -> impl Iterator<Item = SettingRow<'a>> {
        KEYS.iter()
            .zip(self.origins.iter())
            .filter(move |(key, _)| sections.contains(&key.section))
            .map(|(key, layer)| SettingRow { key, value: key.show(&self.settings), layer })
    }
}
