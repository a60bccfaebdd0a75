//! From layers to the settings of one source, and which layer each came from.
//!
//! Least to most specific: built-in defaults, `default:`, the preset, the rules of `default:` in file order, the
//! rules of the preset in file order. Each overrides only what it sets.

use std::fmt;
use std::sync::Arc;

use kiln_engine::glob::Glob;

use super::settings::{KEYS, Key, Overlay, Settings};

/// What `default:` or one preset sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub(super) overlay: Overlay,
    pub(super) rules: Vec<Rule>,
}

/// Settings for the sources that a glob matches.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// Its place in the list, counted from 0.
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) glob: Glob,
    pub(super) overlay: Overlay,
}

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Nobody set it.
    BuiltIn,
    /// `default:`.
    Default,
    /// This preset.
    Preset(Arc<str>),
    /// A rule of `default:`.
    DefaultRule {
        /// Its place in the list, counted from 0.
        index: usize,
        /// Its `match`.
        pattern: Arc<str>,
        /// Its line in the file.
        line: usize,
    },
    /// A rule of a preset.
    PresetRule {
        /// The preset.
        preset: Arc<str>,
        /// Its place in the list, counted from 0.
        index: usize,
        /// Its `match`.
        pattern: Arc<str>,
        /// Its line in the file.
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

/// Tells the settings of each source. The layers below the rules are laid over each other once.
#[derive(Clone, Debug)]
pub struct Resolver {
    base: Resolved,
    rules: Vec<(Rule, Layer)>,
    embed: Vec<Glob>,
}

impl Resolver {
    pub(super) fn new(base: &Layers, preset: Option<(&str, &Layers)>, embed: Vec<Glob>) -> Resolver {
        let mut settings = Settings::default();
        let mut origins = vec![Layer::BuiltIn; KEYS.len()];
        base.overlay.apply(&mut settings, |key| origins[key] = Layer::Default);
        let mut rules: Vec<(Rule, Layer)> = Vec::new();
        for rule in &base.rules {
            let pattern = rule.glob.pattern().into();
            let layer = Layer::DefaultRule { index: rule.index, pattern, line: rule.line };
            rules.push((rule.clone(), layer));
        }
        if let Some((name, layers)) = preset {
            let name: Arc<str> = name.into();
            layers.overlay.apply(&mut settings, |key| origins[key] = Layer::Preset(name.clone()));
            for rule in &layers.rules {
                let (preset, pattern) = (name.clone(), rule.glob.pattern().into());
                let layer = Layer::PresetRule { preset, index: rule.index, pattern, line: rule.line };
                rules.push((rule.clone(), layer));
            }
        }
        Resolver { base: Resolved { settings: settings.into(), origins: origins.into() }, rules, embed }
    }

    /// Whether a file is copied as it is.
    pub fn embeds(&self, path: &str) -> bool {
        self.embed.iter().any(|glob| glob.matches(path))
    }

    /// The settings of a source, given its path below the input; for a directory that is one source, the path of
    /// the directory. Sources that no rule matches share one value.
    pub fn resolve(&self, path: &str) -> Resolved {
        let mut matching = self.rules.iter().filter(|(rule, _)| rule.glob.matches(path)).peekable();
        if matching.peek().is_none() {
            return self.base.clone();
        }
        let mut settings = Settings::clone(&self.base.settings);
        let mut origins = self.base.origins.to_vec();
        for (rule, layer) in matching {
            rule.overlay.apply(&mut settings, |key| origins[key] = layer.clone());
        }
        Resolved { settings: settings.into(), origins: origins.into() }
    }
}

/// The settings of a source, and which layer each came from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What holds.
    pub settings: Arc<Settings>,
    /// By key, in the order of [`KEYS`].
    origins: Arc<[Layer]>,
}

/// One setting of a source, for people.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Which setting.
    pub key: &'static Key,
    /// Its value, as `assetc.yml` would write it.
    pub value: String,
    /// Who set it.
    pub layer: &'a Layer,
}

impl Resolved {
    /// The settings of these sections with their origins, in the order of [`KEYS`].
    pub fn rows<'a>(&'a self, sections: &[&str]) -> impl Iterator<Item = Row<'a>> {
        KEYS.iter()
            .zip(self.origins.iter())
            .filter(move |(key, _)| sections.contains(&key.section))
            .map(|(key, layer)| Row { key, value: key.show(&self.settings), layer })
    }
}
