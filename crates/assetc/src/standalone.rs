//! `texture.standalone`: whether an image that a model, a material or a texture description contains is compiled as a
//! source of its own, too.
//!
//! The journal has the files that each source has read, so the images of a source that is up to date follow from its record.
//! A source that is out of date is compiled before the images that it may contain; where it is not compiled, as in a dry run
//! or in another shard, it is read for its references.

use crate::artifact::FileMetadata;
use crate::config::{Settings, Standalone};
use crate::output::RESERVED;
use crate::plan::{Planned, PlannedAsset};
use crate::recipe::Recipe;
use crate::recipes::recipe_for;
use kiln_engine::record::Seen;
use kiln_engine::run::{conflict, is_stale};
use kiln_engine::{
    Code, Diag, Event, Events, Journal, Limits, Outcome, PlacedArtifact, Plan, Records, RelPath, Sink,
    SourceFiles, SourceTree,
};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Images that are compiled both as a part of other sources and on their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Duplicates {
    /// The number of images.
    pub images: usize,
    /// The total size of their own textures in bytes.
    pub bytes: u64,
}

/// A source that can contain images.
#[derive(Clone)]
pub(crate) struct Container {
    source: RelPath,
    recipe: &'static dyn Recipe,
    settings: Arc<Settings>,
}

/// Returns the sources that can contain images.
pub(crate) fn containers(assets: &[PlannedAsset<'_>]) -> Vec<Container> {
    let containers = assets.iter().filter(|asset| asset.recipe.info().contains_images);
    let container = |asset: &PlannedAsset<'_>| Container {
        source: asset.source.clone(),
        recipe: asset.recipe,
        settings: asset.resolved.settings.clone(),
    };
    containers.map(container).collect()
}

/// The images that one source contains.
struct Contents {
    images: Vec<String>,
    /// The outputs of images that the source refers to, instead of containing the image.
    references: Vec<RelPath>,
}

impl Container {
    /// Returns the images that the last build of the source has read.
    fn recorded(&self, records: &Records) -> Option<Contents> {
        let record = records.get(self.source.as_str())?;
        let read = record.inputs.iter().filter(|input| matches!(input.seen, Seen::File { .. }));
        let images = read.map(|input| input.path.to_string()).collect();
        let artifacts = PlacedArtifact::<FileMetadata>::recorded(&record).into_iter();
        let references = artifacts.flat_map(|artifact| artifact.metadata.references);
        Some(Contents { images, references: references.map(|reference| reference.path).collect() })
    }

    /// Reads the source for the images that a build would read; `None` if it cannot be compiled.
    fn scanned(&self, sources: SourceTree<'_>, limits: &Limits) -> Option<Contents> {
        let mut files = ImageScan { sources, limits: *limits, images: BTreeSet::new() };
        let references = self.recipe.find_images(&self.source, &self.settings, &mut files).ok()?;
        Some(Contents { images: files.images.into_iter().collect(), references })
    }
}

/// Most bytes of an image that are read to find out that it is there.
const IMAGE_HEAD: usize = 4096;

/// Source files of which images are recorded and not read.
struct ImageScan<'a> {
    sources: SourceTree<'a>,
    limits: Limits,
    images: BTreeSet<String>,
}

impl SourceFiles for ImageScan<'_> {
    fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        let Some(entry) = self.sources.tree.get(path.as_str()).filter(|entry| entry.file.is_some()) else {
            return Ok(None);
        };
        let is_image = recipe_for(entry, false).is_some_and(|recipe| recipe.info().is_image);
        let read = match is_image {
            true => self.sources.fs.peek(path, IMAGE_HEAD),
            false => {
                self.limits.check_memory(self.sources.len(path), "the bytes of the file")?;
                self.sources.fs.read(path)
            }
        };
        if is_image {
            self.images.insert(path.to_string());
        }
        read.map(Some).map_err(|e| Diag::new(Code::Unreadable, e.to_string()).path(path))
    }

    fn list(&mut self, dir: &RelPath) -> Result<Vec<RelPath>, Diag> {
        let files = self.sources.tree.children(dir).filter(|entry| entry.file.is_some());
        Ok(files.map(|entry| entry.path.clone()).collect())
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// An image that another source contains.
struct ContainedImage {
    /// The first source that contains it.
    container: RelPath,
    /// True if one of the sources that contain it is a model or a material, and not a texture itself.
    is_of_model: bool,
}

/// The images that other sources contain.
pub(crate) struct ContainedImages {
    images: BTreeMap<String, ContainedImage>,
    /// The outputs of images that materials refer to.
    referenced: HashSet<RelPath>,
}

impl ContainedImages {
    /// Finds the images of all containers: from the record of the last build or, where `is_scanned` says so and the source
    /// is valid, or there is no record, by reading the source.
    pub(crate) fn find(
        containers: &[Container],
        records: &Records,
        (sources, limits): (SourceTree<'_>, &Limits),
        is_scanned: impl Fn(&RelPath) -> bool + Sync,
    ) -> ContainedImages {
        let contents = |container: &Container| {
            let recorded = || container.recorded(records);
            match is_scanned(&container.source) {
                true => container.scanned(sources, limits).or_else(recorded),
                false => recorded(),
            }
        };
        let contents: Vec<Option<Contents>> = containers.par_iter().map(contents).collect();
        let mut found = ContainedImages { images: BTreeMap::new(), referenced: HashSet::new() };
        for (container, contents) in containers.iter().zip(contents) {
            let Some(Contents { images, references }) = contents else { continue };
            let output = container.recipe.output(&container.source);
            let is_of_model = output.is_none_or(|output| !output.as_str().ends_with(".ktx2"));
            for image in images.into_iter().filter(|image| image != container.source.as_str()) {
                let new = || ContainedImage { container: container.source.clone(), is_of_model };
                found.images.entry(image).or_insert_with(new).is_of_model |= is_of_model;
            }
            found.referenced.extend(references);
        }
        found
    }

    /// Returns the image of an asset, if another source contains it and nothing needs the texture of its own.
    fn get(&self, asset: &PlannedAsset<'_>) -> Option<&ContainedImage> {
        let image = self.images.get(asset.source.as_str()).filter(|_| asset.recipe.info().is_image)?;
        let output = asset.recipe.output(&asset.source);
        output.is_none_or(|output| !self.referenced.contains(&output)).then_some(image)
    }

    /// Returns the source that contains the image of an asset, if nothing needs the texture of its own.
    pub(crate) fn container(&self, asset: &PlannedAsset<'_>) -> Option<&RelPath> {
        self.get(asset).map(|image| &image.container)
    }

    /// Returns the number and size of the images of models that a build compiles twice.
    fn duplicates(&self, assets: &[PlannedAsset<'_>], records: &Records) -> Duplicates {
        if self.images.is_empty() {
            return Duplicates::default();
        }
        let twice = assets.iter().filter(|asset| self.get(asset).is_some_and(|image| image.is_of_model));
        let own = twice.filter_map(|asset| records.get(asset.source.as_str()));
        own.fold(Duplicates::default(), |sum, record| Duplicates {
            images: sum.images + 1,
            bytes: sum.bytes + record.outputs.iter().map(|output| output.stamp.len).sum::<u64>(),
        })
    }
}

/// Returns whether an asset is compiled only if no other source contains it.
pub(crate) fn is_conditional(asset: &PlannedAsset<'_>) -> bool {
    asset.recipe.info().is_image && asset.resolved.settings.texture.standalone == Standalone::Unreferenced
}

/// The result of running the actions of a plan.
pub(crate) struct Ran {
    /// The outcomes of the assets of the plan, in order.
    pub(crate) outcomes: Vec<Outcome<FileMetadata>>,
    /// The images that were left out, sorted by path. They are no longer in the plan.
    pub(crate) contained: Vec<RelPath>,
    /// The images that are compiled twice.
    pub(crate) duplicates: Duplicates,
}

/// Runs the actions of a plan without the images that other sources contain. Outputs of images that are left out are removed
/// like those of deleted sources.
///
/// If a source that can contain images is out of date, all other actions run after it, because only its result says what it
/// contains: first the actions that run in any case, then the images that turned out to be in no other source.
pub(crate) fn run(
    sources: SourceTree<'_>,
    sink: &dyn Sink,
    journal: &mut Journal,
    planned: &mut Planned<'_>,
    containers: &[Container],
    plan: Plan<'_>,
) -> Result<Ran, Diag> {
    let mut conditional = take_conditional(&mut planned.assets);
    let scan = (sources, &plan.limits);
    let mut outcomes = Vec::new();
    let mut contained = Vec::new();
    if !conditional.is_empty() {
        let records = journal.records();
        let is_due = |asset: &PlannedAsset<'_>| is_stale(sources, sink, records, asset, plan);
        let is_due_container =
            |asset: &&PlannedAsset<'_>| asset.recipe.info().contains_images && is_due(asset);
        let due = || planned.assets.par_iter().filter(is_due_container).map(|asset| asset.source.as_str());
        let due: HashSet<&str> = plan.pool.install(|| due().collect());
        let is_scanned =
            |source: &RelPath| due.contains(source.as_str()) || !records.contains(source.as_str());
        let expected = plan.pool.install(|| ContainedImages::find(containers, records, scan, is_scanned));
        if due.is_empty() {
            take_contained(&mut conditional, &expected, &mut contained);
            let outputs = containers.iter().filter_map(|container| {
                let outputs =
                    PlacedArtifact::<FileMetadata>::recorded(&records.get(container.source.as_str())?);
                Some((container.source.clone(), outputs))
            });
            let outputs: Vec<_> = outputs.collect();
            let written = outputs.iter().flat_map(|(source, artifacts)| {
                artifacts.iter().map(move |artifact| (source, &artifact.name))
            });
            planned.conflicts.extend(take_conflicts(&mut conditional, written));
            planned.assets.append(&mut conditional);
        } else {
            let later = conditional.par_iter().filter(|asset| expected.container(asset).is_none());
            let later =
                plan.pool.install(|| later.map(|asset| usize::from(is_due(asset))).collect::<Vec<_>>());
            let events = CountedOnce { events: plan.events, later: Some((later.len(), later.iter().sum())) };
            let step = Plan { prune: false, events: &events, ..plan };
            outcomes = kiln_engine::run(sources, sink, journal, &planned.assets, &RESERVED, step)?;
        }
    }
    let found;
    if outcomes.is_empty() {
        let keep: Vec<&str> = RESERVED.into_iter().chain(conflicting(planned)).collect();
        outcomes = kiln_engine::run(sources, sink, journal, &planned.assets, &keep, plan)?;
        let records = journal.records();
        found = plan.pool.install(|| ContainedImages::find(containers, records, scan, |_| false));
    } else {
        let records = journal.records();
        let here: HashSet<&str> = planned.assets.iter().map(|asset| asset.source.as_str()).collect();
        // Sources of other shards are not compiled here.
        let is_scanned =
            |source: &RelPath| !here.contains(source.as_str()) && !records.contains(source.as_str());
        found = plan.pool.install(|| ContainedImages::find(containers, records, scan, is_scanned));
        take_contained(&mut conditional, &found, &mut contained);
        let written = planned.assets.iter().zip(&outcomes).flat_map(|(asset, outcome)| {
            outcome.artifacts.iter().map(|artifact| (&asset.source, &artifact.name))
        });
        planned.conflicts.extend(take_conflicts(&mut conditional, written));
        let done = planned.assets.iter().map(|asset| asset.source.as_str());
        let keep: Vec<&str> = RESERVED.into_iter().chain(conflicting(planned)).chain(done).collect();
        let events = CountedOnce { events: plan.events, later: None };
        let step = Plan { events: &events, ..plan };
        outcomes.extend(kiln_engine::run(sources, sink, journal, &conditional, &keep, step)?);
        planned.assets.append(&mut conditional);
    }
    let duplicates = found.duplicates(&planned.assets, journal.records());
    Ok(Ran { outcomes, contained, duplicates })
}

/// Removes the assets that are compiled only if no other source contains them, and returns them. Without any, which is the
/// default, the list is not copied.
fn take_conditional<'t>(assets: &mut Vec<PlannedAsset<'t>>) -> Vec<PlannedAsset<'t>> {
    if !assets.iter().any(is_conditional) {
        return Vec::new();
    }
    let (conditional, first) = std::mem::take(assets).into_iter().partition(is_conditional);
    *assets = first;
    conditional
}

/// Returns the sources that are refused because of a conflict; their outputs stay.
fn conflicting<'a>(planned: &'a Planned<'_>) -> impl Iterator<Item = &'a str> {
    planned.conflicts.iter().map(|(source, _)| source.as_str())
}

/// Moves the assets out of `conditional` that other sources contain.
fn take_contained(
    conditional: &mut Vec<PlannedAsset<'_>>,
    images: &ContainedImages,
    contained: &mut Vec<RelPath>,
) {
    conditional.retain(|asset| {
        let is_contained = images.container(asset).is_some();
        contained.extend(is_contained.then(|| asset.source.clone()));
        !is_contained
    });
}

/// Forwards the events of two runs that are one for the user: the number of actions is reported once.
struct CountedOnce<'a> {
    events: &'a dyn Events,
    /// The number of actions of the second run, and of those that are out of date; `None` in the second run.
    later: Option<(usize, usize)>,
}

impl Events for CountedOnce<'_> {
    fn on(&self, event: Event<'_>) {
        match (event, self.later) {
            (Event::Judged { total, stale }, Some((more, more_stale))) => {
                self.events.on(Event::Judged { total: total + more, stale: stale + more_stale })
            }
            (Event::Judged { .. }, None) => {}
            (event, _) => self.events.on(event),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.events.is_cancelled()
    }
}

/// Removes the assets from `conditional` whose output another source has written, each with the error: a model wins over an
/// image with the name of one of its textures.
fn take_conflicts<'a>(
    conditional: &mut Vec<PlannedAsset<'_>>,
    written: impl Iterator<Item = (&'a RelPath, &'a RelPath)>,
) -> Vec<(RelPath, Diag)> {
    let written: HashMap<String, (&RelPath, &RelPath)> =
        written.map(|(source, output)| (kiln_engine::folded(output), (source, output))).collect();
    let mut conflicts = Vec::new();
    conditional.retain(|asset| {
        let Some(output) = asset.recipe.output(&asset.source) else { return true };
        let Some(&(source, same)) = written.get(&kiln_engine::folded(&output)) else { return true };
        conflicts.push((asset.source.clone(), conflict((&asset.source, &output), (source, same))));
        false
    });
    conflicts
}
