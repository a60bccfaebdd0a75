//! The tree of an `assetc.yml` into a [`Config`]: which keys stand where, and what is said about the others.
//!
//! A wrong value is an error, a key that nobody reads a warning. Nothing under such a key is looked at.

use std::path::Path;

use kiln_engine::glob::{Dialect, Glob};
use kiln_engine::{Code, Diag};

use super::resolve::{Layers, Rule};
use super::settings::{KEYS, Overlay, SECTIONS};
use super::{Config, Manifest, Preset};
use crate::tools::Tool;
use kiln_config::nodes::{bad, entries, text, truth, unknown_key};
use kiln_config::yaml::{self, Entry, Node, Value, excerpt};
use kiln_engine::nearest;

/// The keys of the top level.
pub(super) const TOP: &[&str] =
    &["input", "output", "pack", "preset", "manifest", "embed", "tools", "cache", "default", "presets"];

pub(super) fn parse(text: &str, name: &str) -> Result<Config, Diag> {
    let mut reader = Reader { name, warnings: Vec::new() };
    let mut config = Config { name: name.into(), ..Config::built_in(Path::new("")) };
    if let Some(root) = yaml::parse(text)? {
        reader.top(&root, &mut config)?;
    }
    config.warnings = reader.warnings;
    Ok(config)
}

pub(super) struct Reader<'a> {
    pub(super) name: &'a str,
    pub(super) warnings: Vec<Diag>,
}

impl Reader<'_> {
    fn top(&mut self, root: &Node, config: &mut Config) -> Result<(), Diag> {
        for entry in entries(root, "the file")? {
            let place = entry.key.as_str();
            match place {
                "input" => config.input = Some(text(entry, place, "a path")?),
                "output" => config.output = Some(text(entry, place, "a path")?),
                "pack" => config.pack = truth(entry)?,
                "preset" => config.preset = Some(text(entry, place, "the name of a preset")?),
                "manifest" => config.manifest = manifest(entry)?,
                "embed" => config.embed = globs(entry)?,
                "tools" => {
                    for tool in entries(&entry.node, place)? {
                        match Tool::ALL.iter().find(|known| known.name() == tool.key) {
                            Some(known) => {
                                let place = format!("tools.{}", known.name());
                                config.tools.push((tool.key.clone(), text(tool, &place, "a path")?));
                            }
                            None => self.unknown(tool, place, Tool::ALL.iter().map(|known| known.name())),
                        }
                    }
                }
                "cache" => super::cache::read(self, &entry.node, config)?,
                "default" => config.base = self.default(&entry.node)?,
                "presets" => {
                    for preset in entries(&entry.node, place)? {
                        config.presets.push(self.preset(preset)?);
                    }
                }
                _ => self.unknown(entry, "", TOP.iter().copied()),
            }
        }
        Ok(())
    }

    fn default(&mut self, node: &Node) -> Result<Layers, Diag> {
        let mut layers = Layers::default();
        for entry in entries(node, "default")? {
            if !self.layer(entry, "default", &mut layers)? {
                match entry.key.as_str() {
                    "output" => {
                        let hint = "'output' is read at the top level and in presets";
                        let warning = Diag::new(Code::ConfigIgnoredKey, "'output' in default is ignored");
                        self.warn(warning.at(entry.at).hint(hint));
                    }
                    _ => self.unknown(entry, "default", SECTIONS.iter().copied().chain(["rules"])),
                }
            }
        }
        Ok(layers)
    }

    fn preset(&mut self, entry: &Entry) -> Result<Preset, Diag> {
        let name = &entry.key;
        if name.is_empty() || name.chars().any(char::is_control) {
            let message = format!("'{}' cannot be the name of a preset", excerpt(name));
            return Err(Diag::new(Code::ConfigBadValue, message).at(entry.at).hint("use a plain word"));
        }
        let place = format!("presets.{}", excerpt(name));
        let mut preset = Preset { name: name.clone(), output: None, layers: Layers::default() };
        for entry in entries(&entry.node, &place)? {
            if !self.layer(entry, &place, &mut preset.layers)? {
                match entry.key.as_str() {
                    "output" => {
                        preset.output = Some(text(entry, &format!("{place}.output"), "a path")?);
                    }
                    _ => {
                        let known = SECTIONS.iter().copied().chain(["rules", "output"]);
                        self.unknown(entry, &place, known);
                    }
                }
            }
        }
        Ok(preset)
    }

    /// What `default` and a preset have in common; `false` if this entry is not part of it.
    fn layer(&mut self, entry: &Entry, place: &str, layers: &mut Layers) -> Result<bool, Diag> {
        if entry.key == "rules" {
            layers.rules = self.rules(&entry.node, &format!("{place}.rules"))?;
            return Ok(true);
        }
        self.section(entry, place, &mut layers.overlay)
    }

    fn rules(&mut self, node: &Node, place: &str) -> Result<Vec<Rule>, Diag> {
        let items = match &node.value {
            Value::Seq(items) => items.as_slice(),
            Value::Scalar(scalar) if scalar.is_null() => &[],
            _ => return Err(bad(node, place, "a list of rules, each with its 'match'")),
        };
        let mut rules = Vec::new();
        for (index, item) in items.iter().enumerate() {
            rules.extend(self.rule(index, item, &format!("{place}[{index}]"))?);
        }
        Ok(rules)
    }

    fn rule(&mut self, index: usize, node: &Node, place: &str) -> Result<Option<Rule>, Diag> {
        let mut overlay = Overlay::default();
        let mut pattern = None;
        for entry in entries(node, place)? {
            match entry.key.as_str() {
                "match" => pattern = Some(text(entry, &format!("{place}.match"), "a glob")?),
                _ if self.section(entry, place, &mut overlay)? => {}
                _ => self.unknown(entry, place, SECTIONS.iter().copied().chain(["match"])),
            }
        }
        let Some(pattern) = pattern else {
            let message = format!("{place} has no 'match' and is skipped");
            let hint = "give it a glob over source paths: match: \"ui/*\"";
            self.warn(Diag::new(Code::ConfigRuleWithoutMatch, message).at(node.at).hint(hint));
            return Ok(None);
        };
        let glob = Glob::new(&pattern.text, Dialect::Assetc).map_err(|error| {
            Diag::new(Code::ConfigBadValue, format!("{place}.match is not a glob: {error}")).at(pattern.at)
        })?;
        Ok(Some(Rule { index, line: node.at.line, glob, overlay }))
    }

    /// Reads a section such as `texture`; `false` if this entry is none.
    fn section(&mut self, section: &Entry, place: &str, overlay: &mut Overlay) -> Result<bool, Diag> {
        if !SECTIONS.contains(&section.key.as_str()) {
            return Ok(false);
        }
        let place = format!("{place}.{}", section.key);
        for entry in entries(&section.node, &place)? {
            let known = |key: &super::Key| key.section == section.key;
            let Some(key) = KEYS.iter().position(|key| known(key) && key.name == entry.key) else {
                self.unknown(entry, &place, KEYS.iter().filter(|key| known(key)).map(|key| key.name));
                continue;
            };
            let accepted = match &entry.node.value {
                Value::Scalar(scalar) => overlay.set(key, scalar),
                _ => false,
            };
            if !accepted {
                return Err(bad(&entry.node, &format!("{place}.{}", entry.key), &KEYS[key].accepts()));
            }
        }
        Ok(true)
    }

    /// Warns of a key that nobody reads in `place`, which is empty for the top level.
    pub(super) fn unknown<'k>(
        &mut self,
        entry: &Entry,
        place: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let key = entry.key.as_str();
        let elsewhere = KEYS.iter().find(|k| k.name == key || k.section == key);
        let layered = || nearest(key, SECTIONS.iter().copied().chain(["rules"]));
        let hint = match (nearest(key, known.clone()), elsewhere) {
            _ if key == "limits" => {
                "limits are the user's: set them in the user's own config.yml, or with --max-pixels, --max-memory and --time-limit".into()
            }
            (Some(near), _) => format!("did you mean '{near}'?"),
            _ if TOP.contains(&key) => format!("'{key}' is read at the top level"),
            (_, Some(found)) if found.name == key => format!("it belongs under '{}:'", found.section),
            _ if place.is_empty() && (key == "rules" || SECTIONS.contains(&key)) => {
                "it belongs under 'default:'".into()
            }
            _ => match layered().filter(|_| place.is_empty()) {
                Some(near) => format!("did you mean '{near}'? It belongs under 'default:'"),
                None => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
            },
        };
        self.warn(unknown_key(entry, place).hint(hint));
    }

    pub(super) fn warn(&mut self, warning: Diag) {
        self.warnings.push(warning.path(self.name));
    }
}

fn manifest(entry: &Entry) -> Result<Manifest, Diag> {
    match &entry.node.value {
        Value::Scalar(scalar) if scalar.text == "textures" => Ok(Manifest::Textures),
        Value::Scalar(scalar) if scalar.text == "all" => Ok(Manifest::All),
        _ => Err(bad(&entry.node, &entry.key, "`textures`, `all`")),
    }
}

/// One glob or a list of them.
fn globs(entry: &Entry) -> Result<Vec<Glob>, Diag> {
    let one = |node: &Node| match &node.value {
        Value::Scalar(scalar) if !scalar.is_null() => {
            Glob::new(&scalar.text, Dialect::Assetc).map_err(|error| {
                let message = format!("{} has what is not a glob: {error}", entry.key);
                Diag::new(Code::ConfigBadValue, message).at(node.at)
            })
        }
        _ => Err(bad(node, &entry.key, "globs over source paths")),
    };
    match &entry.node.value {
        Value::Seq(items) => items.iter().map(one).collect(),
        Value::Scalar(scalar) if scalar.is_null() => Ok(vec![]),
        _ => one(&entry.node).map(|glob| vec![glob]),
    }
}
