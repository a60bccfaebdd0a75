//! Planning: turns a source tree into actions, each with a recipe, resolved settings and a fingerprint.

use crate::artifact::{FileArtifact, FileMetadata};
use crate::cache_check;
use crate::config::{Resolved, Resolver, Settings, SourceSelection};
use crate::recipe::{Recipe, suffix};
use crate::recipes::{recipe_for, unread_warning};
use crate::remote_action::RemoteConfig;
use crate::size_target::SizeStep;
use crate::tools::{Tool, Tools};
use kiln_engine::run::conflict;
use kiln_engine::{
    Action, ActionContext, CacheEntry, Code, Diag, Inputs, Limits, Rejected, RelPath, SourceTree, Tree,
};
use kiln_format::{Format, by_path};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The action of one source: its recipe with resolved settings.
pub struct PlannedAsset<'t> {
    /// The file or directory, relative to the input.
    pub(crate) source: RelPath,
    /// The recipe that compiles the source.
    pub(crate) recipe: &'static dyn Recipe,
    /// The settings of the source, each with the layer that set it.
    pub(crate) resolved: Resolved,
    tools: &'t Tools,
    fingerprint: Arc<str>,
    /// The configuration for a worker of a server; `None` if the source is compiled on this machine only.
    remote_config: Option<RemoteConfig>,
}

impl<'t> PlannedAsset<'t> {
    /// Returns the external programs of the build.
    pub(crate) fn tools(&self) -> &'t Tools {
        self.tools
    }

    /// Sets the step of a size target, which becomes a part of the fingerprint. A worker of a server sees one source, and
    /// cannot distribute the bytes of a target, so the source is compiled on this machine.
    pub(crate) fn set_size_step(&mut self, step: SizeStep) {
        self.remote_config = None;
        Arc::make_mut(&mut self.resolved.settings).size_step = Some(step);
        self.fingerprint = format!("{}{step}", self.fingerprint).into();
    }
}

impl Action for PlannedAsset<'_> {
    type Metadata = FileMetadata;

    fn source(&self) -> &RelPath {
        &self.source
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn magic(&self, output: &RelPath) -> Option<&'static [u8]> {
        // A copy can have any content, whatever its extension.
        if self.recipe.info().copies { None } else { by_path(output.as_str()).map(Format::magic) }
    }

    fn weight(&self, sources: SourceTree<'_>) -> u64 {
        self.recipe.weight(&self.source, &self.resolved.settings, sources)
    }

    fn prepare(&self, sources: SourceTree<'_>) {
        self.recipe.prepare(&self.source, &self.resolved.settings, sources, self.tools);
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<FileArtifact>, Diag> {
        self.recipe.run(cx, &self.resolved.settings, self.tools)
    }

    fn remote_request(&self, limits: &Limits) -> Option<Vec<u8>> {
        Some(self.remote_config.as_ref()?.request(&self.source, &self.fingerprint, limits))
    }

    fn scan_inputs(&self, inputs: &mut Inputs<'_>) {
        // These formats are read as a whole, which takes about as long as compiling them.
        if suffix(&self.source).is_some_and(|suffix| !suffix.is(&["obj", "fbx"])) {
            let _ = self.recipe.find_images(&self.source, &self.resolved.settings, inputs);
        }
    }

    fn check_cached(&self, entry: &mut CacheEntry<'_, FileMetadata>) -> Result<(), Rejected> {
        cache_check::check(self.recipe, &self.source, &self.resolved.settings, entry)
    }
}

/// The actions of a source tree.
pub struct Planned<'t> {
    /// The actions, sorted by source.
    pub assets: Vec<PlannedAsset<'t>>,
    /// Sources that are not compiled because another source writes the same output, each with the error.
    pub conflicts: Vec<(RelPath, Diag)>,
    /// Files that `exclude` leaves out.
    pub excluded: Vec<RelPath>,
    /// Files that no recipe compiles, without hidden ones. An asset may still read them, such as the `.bin` of a glTF.
    pub unclaimed: Vec<RelPath>,
    /// Warnings about globs of the configuration that match nothing.
    pub unmatched: Vec<Diag>,
    /// The external programs whose versions are in fingerprints.
    pub(crate) tools: Vec<Tool>,
    /// Files that are skipped with a warning: this build of `assetc` lacks the feature that reads them, or another source
    /// with the same output has precedence.
    pub unread: Vec<(RelPath, Diag)>,
}

impl Planned<'_> {
    /// Returns all sources: those that are compiled, refused and skipped.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &RelPath> {
        let refused = self.conflicts.iter().chain(&self.unread).map(|(source, _)| source);
        self.assets.iter().map(|asset| &asset.source).chain(refused)
    }
}

/// The origin of the program versions in fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// Each program that a source needs is run once to print its version.
    Asked,
    /// No program is run: a placeholder is used as the version of each program that was found.
    Unasked,
}

/// The placeholder for the version of a program that was not run.
pub(crate) const UNASKED: &str = "?";

/// Plans the sources of a tree. Files in a directory that is itself a source belong to that source, and single ones can be
/// excluded from it; what is below an excluded directory is excluded.
pub fn plan<'t>(tree: &Tree, resolver: &Resolver, tools: &'t Tools, versions: Versions) -> Planned<'t> {
    let mut claimed: HashSet<&str> = HashSet::new();
    let mut assets: Vec<PlannedAsset<'t>> = Vec::with_capacity(tree.entries().len());
    let mut excluded_dirs: HashSet<&str> = HashSet::new();
    let (mut excluded, mut unclaimed, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    let mut selection = SourceSelection::new(resolver);
    let mut fingerprints = Fingerprints::default();
    let mut used_tools = Vec::new();
    for entry in tree.entries() {
        if !claimed.is_empty() && ancestors(entry.path.as_str()).any(|dir| claimed.contains(dir)) {
            continue;
        }
        let below_excluded = || ancestors(entry.path.as_str()).any(|dir| excluded_dirs.contains(dir));
        if selection.excludes(entry.path.as_str()) || !excluded_dirs.is_empty() && below_excluded() {
            match entry.file {
                Some(_) => excluded.push(entry.path.clone()),
                None => _ = excluded_dirs.insert(entry.path.as_str()),
            }
            continue;
        }
        let embed = selection.embeds(entry.path.as_str());
        let Some(recipe) = recipe_for(entry, embed) else {
            match unread_warning(entry) {
                Some(warning) => unread.push((entry.path.clone(), warning)),
                None if entry.file.is_some() && !entry.path.is_hidden() => unclaimed.push(entry.path.clone()),
                None => {}
            }
            continue;
        };
        let mut left_out = String::new();
        if entry.file.is_none() {
            claimed.insert(entry.path.as_str());
            for inner in tree.below(&entry.path) {
                if selection.excludes(inner.path.as_str()) && inner.file.is_some() {
                    excluded.push(inner.path.clone());
                    left_out +=
                        &format!("exclude={}\n", &inner.path.as_str()[entry.path.as_str().len() + 1..]);
                }
            }
        }
        let resolved = selection.resolve(entry.path.as_str());
        let recipe = recipe.with_settings(&entry.path, &resolved.settings).unwrap_or(recipe);
        let mut fingerprint = fingerprints.of(recipe, &resolved);
        if !left_out.is_empty() {
            fingerprint = (fingerprint.to_string() + &left_out).into();
        }
        let used = recipe.tools(&entry.path, &resolved.settings, tree, tools);
        if !used.is_empty() {
            let version = |tool: Tool| match versions {
                Versions::Unasked if tools.get(tool).is_some() => UNASKED,
                _ => tools.version(tool),
            };
            for tool in &used {
                if !used_tools.contains(tool) {
                    used_tools.push(*tool);
                }
            }
            let line = |tool: &Tool| format!("tool.{}={}\n", tool.name(), version(*tool));
            fingerprint = (fingerprint.to_string() + &used.iter().map(line).collect::<String>()).into();
        }
        // A worker has no other programs, and copying a file takes longer there than here.
        let is_local = !used.is_empty() || recipe.info().copies;
        let remote_config = if is_local { None } else { RemoteConfig::of(resolver) };
        let source = entry.path.clone();
        assets.push(PlannedAsset { source, recipe, resolved, tools, fingerprint, remote_config });
    }

    let writers = assets.iter().enumerate().filter_map(|(index, asset)| {
        let output = asset.recipe.output(&asset.source)?;
        Some(Writer { folded: kiln_engine::folded(&output), output, index })
    });
    let mut writers: Vec<Writer> = writers.collect();
    writers.sort();
    let shadowed = remove_shadowed(&assets, &mut writers);
    let mut conflicts = conflicts(&assets, &writers);
    let mut kept = Vec::with_capacity(assets.len() - conflicts.len());
    let mut refused = Vec::with_capacity(conflicts.len());
    for (index, asset) in assets.into_iter().enumerate() {
        match conflicts.remove(&index) {
            Some(diag) => refused.push((asset.source, diag)),
            None => match shadowed.get(&index) {
                Some(warning) => unread.push((asset.source, warning.clone())),
                None => kept.push(asset),
            },
        }
    }
    let unmatched = selection.unmatched();
    Planned { assets: kept, conflicts: refused, excluded, unclaimed, unmatched, tools: used_tools, unread }
}

/// An output and the index of the source that writes it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Writer {
    /// The path as case-insensitive and normalising file systems compare it.
    folded: String,
    output: RelPath,
    index: usize,
}

/// Removes the writers that [yield](Recipe::yields_to_others) to another writer of the same output; returns a warning for
/// each.
fn remove_shadowed(assets: &[PlannedAsset<'_>], writers: &mut Vec<Writer>) -> BTreeMap<usize, Diag> {
    let yields = |index: usize| assets[index].recipe.yields_to_others(&assets[index].source);
    let mut shadowed = BTreeMap::new();
    for group in writers.chunk_by(|a, b| a.folded == b.folded).filter(|group| group.len() > 1) {
        let Some(kept) = group.iter().find(|writer| !yields(writer.index)) else { continue };
        let kept = &assets[kept.index].source;
        for writer in group.iter().filter(|writer| yields(writer.index)) {
            let message = format!("the source is left out, because {kept} also writes {}", writer.output);
            let source = &assets[writer.index].source;
            let hint = format!("exclude: [\"{source}\"] in assetc.yml removes the warning");
            shadowed.insert(writer.index, Diag::new(Code::SourceShadowed, message).path(source).hint(hint));
        }
    }
    writers.retain(|writer| !shadowed.contains_key(&writer.index));
    shadowed
}

/// Finds sources that write the same path, or of which one needs a directory where the other writes a file. All of
/// them are refused: otherwise the order of the build would decide which one wins.
fn conflicts(assets: &[PlannedAsset<'_>], writers: &[Writer]) -> BTreeMap<usize, Diag> {
    let mut found = BTreeMap::new();
    for group in writers.chunk_by(|a, b| a.folded == b.folded).filter(|group| group.len() > 1) {
        for (n, here) in group.iter().enumerate() {
            let there = &group[usize::from(n == 0)];
            let sources = (&assets[here.index].source, &assets[there.index].source);
            let diag = conflict((sources.0, &here.output), (sources.1, &there.output));
            found.insert(here.index, diag.hint(conflict_hint(sources.1)));
        }
    }
    for Writer { folded, output, index: inner } in writers {
        let dirs = ancestors(folded.as_str()).zip(ancestors(output.as_str()));
        // Outputs have extensions and directories rarely do, so few lookups are made.
        for (folded, dir) in dirs.filter(|(folded, _)| folded.contains('.')) {
            let Ok(at) = writers.binary_search_by(|file| file.folded.as_str().cmp(folded)) else { continue };
            let outer = writers[at].index;
            for (index, other) in [(*inner, outer), (outer, *inner)] {
                let sources = (&assets[index].source, &assets[other].source);
                found.entry(index).or_insert_with(|| {
                    let message = format!(
                        "{} and {} both write {dir}, one as a file and one as a directory",
                        sources.0, sources.1
                    );
                    Diag::new(Code::OutputConflict, message).path(sources.0).hint(conflict_hint(sources.1))
                });
            }
        }
    }
    found
}

fn conflict_hint(other: &RelPath) -> String {
    format!("rename one of them, or leave one out: exclude: [\"{other}\"] in assetc.yml")
}

/// Fingerprints by recipe and settings. Sources that no rule matches share their settings, so nearly all of them share
/// one fingerprint per recipe.
#[derive(Default)]
struct Fingerprints(HashMap<Shared, (Arc<Settings>, Arc<str>)>);

/// The name of a recipe and the address of the settings.
type Shared = (&'static str, *const Settings);

impl Fingerprints {
    fn of(&mut self, recipe: &dyn Recipe, resolved: &Resolved) -> Arc<str> {
        let settings = &resolved.settings;
        // The settings are kept alive with the fingerprint, so that no other settings can have their address.
        let entry = self.0.entry((recipe.info().name, Arc::as_ptr(settings))).or_insert_with(|| {
            let roles = if recipe.info().depends_on_roles { settings.roles.digest() } else { String::new() };
            let text = settings.canonical(recipe.info().sections) + &roles;
            (settings.clone(), format!("{} {}\n{text}", recipe.info().name, recipe.info().version).into())
        });
        entry.1.clone()
    }
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use kiln_engine::Fs;
    use kiln_engine::mem::Mem;
    use std::path::Path;

    fn planned(paths: &[&str]) -> (Vec<String>, Vec<String>) {
        let mem = Mem::new();
        paths.iter().for_each(|path| mem.put(path, ""));
        let tools = Tools::default();
        let plan = plan(
            &mem.walk(None).unwrap(),
            &Config::built_in(Path::new("")).resolver(None),
            &tools,
            Versions::Asked,
        );
        let assets = plan.assets.iter().map(|a| format!("{} {}", a.recipe.info().name, a.source)).collect();
        (assets, plan.conflicts.into_iter().map(|(_, diag)| diag.message).collect())
    }

    #[test]
    fn claimed_directory_is_one_source() {
        let (assets, _) =
            planned(&["sky.env/px.png", "sky.env/sub/deep.png", "sky.env-old.png", "a.png", "b.txt"]);
        assert_eq!(assets, ["color a.png", "cubemap sky.env", "color sky.env-old.png"]);
    }

    #[test]
    fn rejects_sources_with_the_same_output() {
        let (assets, conflicts) = planned(&["a.png", "a.jpg", "b.png", "sky.env.png", "sky.env/px.png"]);
        assert_eq!(assets, ["color b.png"]);
        assert_eq!(
            conflicts,
            [
                "a.jpg and a.png both write a.ktx2",
                "a.png and a.jpg both write a.ktx2",
                "sky.env and sky.env.png both write sky.env.ktx2",
                "sky.env.png and sky.env both write sky.env.ktx2",
            ]
        );
    }

    #[test]
    fn rejects_outputs_that_differ_only_in_case() {
        let (assets, conflicts) = planned(&["Wall.png", "wall.png", "Ä.png", "ä.jpg", "A/b.png", "a/c.png"]);
        assert_eq!(assets, ["color A/b.png", "color a/c.png"]);
        assert_eq!(
            conflicts,
            [
                "Wall.png and wall.png write Wall.ktx2 and wall.ktx2, which are one file on many systems",
                "wall.png and Wall.png write wall.ktx2 and Wall.ktx2, which are one file on many systems",
                "Ä.png and ä.jpg write Ä.ktx2 and ä.ktx2, which are one file on many systems",
                "ä.jpg and Ä.png write ä.ktx2 and Ä.ktx2, which are one file on many systems",
            ]
        );
        let (_, conflicts) = planned(&["a.png", "A.KTX2/b.png"]);
        assert_eq!(
            conflicts,
            [
                "A.KTX2/b.png and a.png both write A.KTX2, one as a file and one as a directory",
                "a.png and A.KTX2/b.png both write A.KTX2, one as a file and one as a directory",
            ]
        );
    }

    #[test]
    fn rejects_file_and_directory_of_the_same_name() {
        let (assets, conflicts) =
            planned(&["a.png", "a.ktx2-old.png", "a.ktx2/b/c.png", "b.ktx2.d/c.png", "b.png"]);
        assert_eq!(assets, ["color a.ktx2-old.png", "color b.ktx2.d/c.png", "color b.png"]);
        assert_eq!(
            conflicts,
            [
                "a.ktx2/b/c.png and a.png both write a.ktx2, one as a file and one as a directory",
                "a.png and a.ktx2/b/c.png both write a.ktx2, one as a file and one as a directory",
            ]
        );
    }
}
