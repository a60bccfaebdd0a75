//! Converts the YAML nodes of an `assetc.yml` to a [`Config`].
//!
//! An invalid value is an error, an unknown key a warning. The value of an unknown key is ignored.

use std::path::Path;

use kiln_engine::glob::GlobError;
use kiln_engine::{Code, Diag};

use super::resolve::{Layers, Rule};
use super::settings::{KEYS, Overlay, SECTIONS};
use super::source_globs::SourceGlob;
use super::{Config, Manifest, OnFailure, PackCompression, Preset};
use crate::budget::{self, Budget};
use kiln_config::nodes::{bad, boolean, entries, text, unknown_key};
use kiln_config::user::TOOLS;
use kiln_config::yaml::{self, At, Entry, Node, Scalar, Value, excerpt};
use kiln_engine::nearest;
use kiln_engine::store::settings::parse_size;

/// The keys of the top level, in the order of the documentation.
pub(super) const TOP: &[&str] = &[
    "input",
    "output",
    "pack",
    "pack_unowned",
    "pack_compress",
    "preset",
    "manifest",
    "manifest_on_failure",
    "exclude",
    "embed",
    "budget",
    "lints",
    "tools",
    "cache",
    "default",
    "presets",
];

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
                "pack" => config.pack = boolean(entry)?,
                "pack_unowned" => config.pack_unowned = boolean(entry)?,
                "pack_compress" => config.pack_compress = pack_compression(entry)?,
                "preset" => config.preset = Some(text(entry, place, "the name of a preset")?),
                "manifest" => config.manifest = manifest(entry)?,
                "manifest_on_failure" => config.manifest_on_failure = on_failure(entry)?,
                "exclude" => config.exclude = self.globs(entry, place, SourceGlob::exclude)?,
                "embed" => config.embed = self.globs(entry, place, SourceGlob::new)?,
                "budget" => {
                    for limit in entries(&entry.node, place)? {
                        config.budgets.extend(self.budget(limit)?);
                    }
                }
                "lints" => config.lints = super::lints::read(&entry.node)?,
                "tools" => {
                    for tool in entries(&entry.node, place)? {
                        if TOOLS.contains(&tool.key.as_str()) {
                            let place = format!("tools.{}", tool.key);
                            config.tools.push((tool.key.clone(), text(tool, &place, "a path")?));
                        } else {
                            self.unknown(tool, place, TOOLS.iter().copied());
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

    /// Reads one limit of `budget:`; an unknown kind is a warning.
    fn budget(&mut self, entry: &Entry) -> Result<Option<Budget>, Diag> {
        if !budget::kinds().any(|kind| kind == entry.key) {
            self.unknown(entry, "budget", budget::kinds());
            return Ok(None);
        }
        let size = match &entry.node.value {
            Value::Scalar(scalar) => parse_size(&scalar.text),
            _ => None,
        };
        let accepts = "a size such as `200 MB`";
        let max_bytes = size.ok_or_else(|| bad(&entry.node, &format!("budget.{}", entry.key), accepts))?;
        Ok(Some(Budget { kind: entry.key.clone(), max_bytes }))
    }

    fn default(&mut self, node: &Node) -> Result<Layers, Diag> {
        let mut layers = Layers::default();
        for entry in entries(node, "default")? {
            if !self.layer(entry, "default", &mut layers)? {
                match entry.key.as_str() {
                    "output" => {
                        let hint = "move 'output' to the top level or into a preset";
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
            let message = format!("'{}' is not a valid preset name", excerpt(name));
            let hint = "use a name without control characters";
            return Err(Diag::new(Code::ConfigBadValue, message).at(entry.at).hint(hint));
        }
        let place = format!("presets.{}", excerpt(name));
        let mut preset =
            Preset { name: name.clone(), output: None, exclude: Vec::new(), layers: Layers::default() };
        for entry in entries(&entry.node, &place)? {
            if !self.layer(entry, &place, &mut preset.layers)? {
                match entry.key.as_str() {
                    "output" => {
                        preset.output = Some(text(entry, &format!("{place}.output"), "a path")?);
                    }
                    "exclude" => {
                        let place = format!("{place}.exclude");
                        preset.exclude = self.globs(entry, &place, SourceGlob::exclude)?;
                    }
                    _ => {
                        let known = SECTIONS.iter().copied().chain(["rules", "output", "exclude"]);
                        self.unknown(entry, &place, known);
                    }
                }
            }
        }
        Ok(preset)
    }

    /// Reads an entry that `default` and presets share: a section or `rules`; returns `false` for any other entry.
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
            _ => return Err(bad(node, place, "a list of rules, each with a 'match'")),
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
            let hint = "add a glob of source paths, such as match: \"ui/*\"";
            self.warn(Diag::new(Code::ConfigRuleWithoutMatch, message).at(node.at).hint(hint));
            return Ok(None);
        };
        let glob =
            SourceGlob::new(&pattern.text, &format!("{place}.match"), pattern.at).map_err(|error| {
                Diag::new(Code::ConfigBadValue, format!("{place}.match is not a valid glob: {error}"))
                    .at(pattern.at)
            })?;
        glob.double_star().into_iter().for_each(|warning| self.warn(warning));
        Ok(Some(Rule { index, line: node.at.line, glob, overlay }))
    }

    /// Reads a section such as `texture`; returns `false` if the entry is not a section.
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
                _ if KEYS[key].takes_lists => {
                    list_text(&entry.node).is_some_and(|scalar| overlay.set(key, &scalar))
                }
                _ => false,
            };
            if !accepted {
                return Err(bad(&entry.node, &format!("{place}.{}", entry.key), &KEYS[key].accepts()));
            }
        }
        Ok(true)
    }

    /// Warns about an unknown key in `place`, which is empty for the top level.
    pub(super) fn unknown<'k>(
        &mut self,
        entry: &Entry,
        place: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let key = entry.key.as_str();
        let elsewhere: Vec<&str> = KEYS.iter().filter(|k| k.name == key).map(|k| k.section).collect();
        let layered = || nearest(key, SECTIONS.iter().copied().chain(["rules"]));
        let hint = match nearest(key, known.clone()) {
            _ if key == "limits" => {
                "a project cannot set limits: set them in the user's config.yml, or with --max-pixels, --max-memory and --time-limit".into()
            }
            Some(near) => format!("did you mean '{near}'?"),
            _ if TOP.contains(&key) => format!("move '{key}' to the top level"),
            _ if !elsewhere.is_empty() => format!("move '{key}' under '{}:'", elsewhere.join(":' or '")),
            _ if place.is_empty() && (key == "rules" || SECTIONS.contains(&key)) => {
                format!("move '{key}' under 'default:'")
            }
            _ => match layered().filter(|_| place.is_empty()) {
                Some(near) => format!("did you mean '{near}' under 'default:'?"),
                None => format!("expected one of: {}", known.collect::<Vec<_>>().join(", ")),
            },
        };
        self.warn(unknown_key(entry, place).hint(hint));
    }

    /// Reads one glob or a list of globs; `new` compiles each.
    fn globs(
        &mut self,
        entry: &Entry,
        place: &str,
        new: fn(&str, &str, At) -> Result<SourceGlob, GlobError>,
    ) -> Result<Vec<SourceGlob>, Diag> {
        let one = |node: &Node| match &node.value {
            Value::Scalar(scalar) if !scalar.is_null() => {
                new(&scalar.text, place, node.at).map_err(|error| {
                    let message = format!("{place} contains an invalid glob: {error}");
                    Diag::new(Code::ConfigBadValue, message).at(node.at)
                })
            }
            _ => Err(bad(node, place, "globs of source paths")),
        };
        let globs: Vec<SourceGlob> = match &entry.node.value {
            Value::Seq(items) => items.iter().map(one).collect::<Result<_, _>>()?,
            Value::Scalar(scalar) if scalar.is_null() => vec![],
            _ => vec![one(&entry.node)?],
        };
        globs.iter().filter_map(SourceGlob::double_star).for_each(|warning| self.warn(warning));
        Ok(globs)
    }

    pub(super) fn warn(&mut self, warning: Diag) {
        self.warnings.push(warning.path(self.name));
    }
}

/// Converts a list of scalars, or a map of scalars and lists of them, to the syntax of one scalar: `a, b` and
/// `A=1|2, B=3`. Returns `None` for other nodes.
fn list_text(node: &Node) -> Option<Scalar> {
    let scalar = |node: &Node| match &node.value {
        Value::Scalar(scalar) if !scalar.is_null() => Some(scalar.text.clone()),
        _ => None,
    };
    let values = |node: &Node, separator: &str| match &node.value {
        Value::Seq(items) => Some(items.iter().map(scalar).collect::<Option<Vec<_>>>()?.join(separator)),
        _ => scalar(node),
    };
    let text = match &node.value {
        Value::Map(entries) => {
            let pair = |entry: &Entry| Some(format!("{}={}", entry.key, values(&entry.node, "|")?));
            entries.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", ")
        }
        _ => values(node, ", ")?,
    };
    // Quoted: the text of a list is never a boolean or null.
    Some(Scalar { text, plain: false })
}

fn pack_compression(entry: &Entry) -> Result<PackCompression, Diag> {
    match &entry.node.value {
        Value::Scalar(scalar) if scalar.text == "none" => Ok(PackCompression::None),
        Value::Scalar(scalar) if scalar.text == "zstd" => Ok(PackCompression::Zstd),
        _ => Err(bad(&entry.node, &entry.key, "`none`, `zstd`")),
    }
}

fn manifest(entry: &Entry) -> Result<Manifest, Diag> {
    match &entry.node.value {
        Value::Scalar(scalar) if scalar.text == "textures" => Ok(Manifest::Textures),
        Value::Scalar(scalar) if scalar.text == "all" => Ok(Manifest::All),
        _ => Err(bad(&entry.node, &entry.key, "`textures`, `all`")),
    }
}

fn on_failure(entry: &Entry) -> Result<OnFailure, Diag> {
    match &entry.node.value {
        Value::Scalar(scalar) if scalar.text == "update" => Ok(OnFailure::Update),
        Value::Scalar(scalar) if scalar.text == "keep" => Ok(OnFailure::Keep),
        _ => Err(bad(&entry.node, &entry.key, "`update`, `keep`")),
    }
}
