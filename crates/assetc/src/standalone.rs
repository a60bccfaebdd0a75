//! `texture.standalone`: whether an image that a model, a material or a texture description contains is compiled as a
//! source of its own, too.
//!
//! The journal has the files that each source has read, so no file is parsed for references, and they are exact: a build
//! compiles models first, and the images that are left out follow from the records.

use crate::artifact::FileMetadata;
use crate::config::Standalone;
use crate::output::RESERVED;
use crate::plan::{Planned, PlannedAsset};
use kiln_engine::record::Seen;
use kiln_engine::run::conflict;
use kiln_engine::{Diag, Journal, Outcome, PlacedArtifact, Plan, Records, RelPath, Sink, SourceTree};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Images that are compiled both as a part of other sources and on their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Duplicates {
    /// The number of images.
    pub images: usize,
    /// The total size of their own textures in bytes.
    pub bytes: u64,
}

/// The images that other sources contain.
pub(crate) struct ContainedImages {
    /// Each image with the first source that contains it.
    images: BTreeMap<String, RelPath>,
    /// The outputs of images that materials refer to, instead of containing the image.
    referenced: HashSet<RelPath>,
}

impl ContainedImages {
    /// Reads the records of the last build of `containers`, which are sources that can contain images.
    pub(crate) fn recorded<'a>(
        containers: impl IntoIterator<Item = &'a RelPath>,
        records: &Records,
    ) -> ContainedImages {
        let mut found = ContainedImages { images: BTreeMap::new(), referenced: HashSet::new() };
        for source in containers {
            let Some(record) = records.get(source.as_str()) else { continue };
            let read = record.inputs.iter().filter(|input| matches!(input.seen, Seen::File { .. }));
            for path in read.map(|input| &input.path).filter(|path| **path != source.as_str()) {
                found.images.entry(path.to_string()).or_insert_with(|| source.clone());
            }
            let artifacts = PlacedArtifact::<FileMetadata>::recorded(&record).into_iter();
            let references = artifacts.flat_map(|artifact| artifact.metadata.references);
            found.referenced.extend(references.map(|reference| reference.path));
        }
        found
    }

    /// Returns the source that contains the image of an asset, if nothing needs the texture of its own.
    pub(crate) fn container(&self, asset: &PlannedAsset<'_>) -> Option<&RelPath> {
        let container = self.images.get(asset.source.as_str()).filter(|_| asset.recipe.is_image())?;
        let output = asset.recipe.output(&asset.source);
        output.is_none_or(|output| !self.referenced.contains(&output)).then_some(container)
    }

    /// Returns the number and size of the images of a build that are compiled twice.
    pub(crate) fn duplicates(&self, assets: &[PlannedAsset<'_>], records: &Records) -> Duplicates {
        if self.images.is_empty() {
            return Duplicates::default();
        }
        let twice = assets.iter().filter(|asset| self.container(asset).is_some());
        let own = twice.filter_map(|asset| records.get(asset.source.as_str()));
        own.fold(Duplicates::default(), |sum, record| Duplicates {
            images: sum.images + 1,
            bytes: sum.bytes + record.outputs.iter().map(|output| output.stamp.len).sum::<u64>(),
        })
    }
}

/// Returns the sources that can contain images.
pub(crate) fn containers(assets: &[PlannedAsset<'_>]) -> Vec<RelPath> {
    let containers = assets.iter().filter(|asset| asset.recipe.contains_images());
    containers.map(|asset| asset.source.clone()).collect()
}

/// Returns whether an asset is compiled only if no other source contains it.
pub(crate) fn is_conditional(asset: &PlannedAsset<'_>) -> bool {
    asset.recipe.is_image() && asset.resolved.settings.texture.standalone == Standalone::Unreferenced
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

/// Runs the actions of a plan: all that are compiled in any case, and then the images that turned out to be in no other
/// source. Outputs of images that are left out are removed like those of deleted sources.
pub(crate) fn run(
    sources: SourceTree<'_>,
    sink: &dyn Sink,
    journal: &mut Journal,
    planned: &mut Planned<'_>,
    containers: &[RelPath],
    plan: Plan<'_>,
) -> Result<Ran, Diag> {
    let all = std::mem::take(&mut planned.assets);
    let (mut conditional, first): (Vec<_>, Vec<_>) = all.into_iter().partition(is_conditional);
    planned.assets = first;
    let conflicts: Vec<String> = planned.conflicts.iter().map(|(source, _)| source.to_string()).collect();
    let keep: Vec<&str> = RESERVED.into_iter().chain(conflicts.iter().map(String::as_str)).collect();
    let is_only_step = conditional.is_empty();
    let step = Plan { prune: plan.prune && is_only_step, ..plan };
    let mut outcomes = kiln_engine::run(sources, sink, journal, &planned.assets, &keep, step)?;
    let found = ContainedImages::recorded(containers, journal.records());
    let duplicates = found.duplicates(&planned.assets, journal.records());
    if is_only_step {
        return Ok(Ran { outcomes, contained: vec![], duplicates });
    }

    let mut contained = Vec::new();
    conditional.retain(|asset| {
        let is_contained = found.container(asset).is_some();
        contained.extend(is_contained.then(|| asset.source.clone()));
        !is_contained
    });
    let written = planned.assets.iter().zip(&outcomes);
    let written = written.flat_map(|(asset, outcome)| {
        outcome.artifacts.iter().map(|artifact| (&asset.source, &artifact.name))
    });
    planned.conflicts.extend(take_conflicts(&mut conditional, written));
    let done: Vec<String> = planned.sources().map(RelPath::to_string).collect();
    let keep: Vec<&str> = RESERVED.into_iter().chain(done.iter().map(String::as_str)).collect();
    outcomes.extend(kiln_engine::run(sources, sink, journal, &conditional, &keep, plan)?);
    planned.assets.append(&mut conditional);
    Ok(Ran { outcomes, contained, duplicates })
}

/// Removes the assets from `conditional` whose output another source has written, each with the error: a model wins over an
/// image with the name of one of its textures.
pub(crate) fn take_conflicts<'a>(
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
