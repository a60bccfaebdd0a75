//! `texture.size_target`: distributes a number of bytes over the textures for which one layer or rule sets it.
//!
//! The curve of a texture is its size and its error at each step: an RDO lambda and a resolution. Measuring a curve is an
//! action of its own, with a journal in a directory of the output: it depends on its source and settings alone, and is
//! repeated only if they change. From the curves of a group follows the step of each texture (`allocation.rs`), which
//! becomes a part of the texture's settings and so of its fingerprint. So the result is a function of the sources and the
//! configuration, whatever was built before, and a change of one texture rebuilds those whose step it changes.

mod allocation;
mod curve;

use crate::output::{JOURNAL, at_root, journal_path};
use crate::plan::{Planned, PlannedAsset};
use crate::runtime::read_records;
use allocation::{Allocation, allocate};
use curve::{Curve, CurveAction, CurveSink};
use kiln_engine::{
    Code, Diag, Event, Events, Fs, Journal, PlacedArtifact, Plan, Real, SourceTree, State, cancelled, run,
};
use kiln_texture::{Choice, Quality};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The directory of the curves in an output directory. It has a journal of its own, so that a build takes it for the output of
/// another build, and neither packs nor checks it.
const DIRECTORY: &str = ".assetc-curves";

/// The settings of the encoder that a size target chooses for a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SizeStep {
    /// The RDO lambda; 0 without RDO.
    pub(crate) lambda: f32,
    /// The number of times that the resolution is halved.
    pub(crate) halvings: u32,
}

impl SizeStep {
    /// Returns the settings for a texture whose longest side has this many texels.
    pub(crate) fn choice(self, longest: u32, quality: Quality) -> Choice {
        let max_size = (self.halvings > 0).then(|| (longest >> self.halvings).max(1));
        Choice { quality, rdo: Some(self.lambda).filter(|lambda| *lambda > 0.0), max_size }
    }
}

/// The line of a fingerprint.
impl fmt::Display for SizeStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "texture.size_step=lambda {}, {} halvings", self.lambda, self.halvings)
    }
}

/// The textures for which one layer or rule sets a size target.
struct Group {
    target: u64,
    /// Indices of planned assets.
    members: Vec<usize>,
}

/// Returns the groups, by the layer that sets their target.
fn groups(assets: &[PlannedAsset<'_>]) -> BTreeMap<String, Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (index, asset) in assets.iter().enumerate().filter(|(_, asset)| asset.recipe.info().is_texture) {
        let Some(target) = asset.resolved.settings.texture.size_target else { continue };
        let Some(layer) = asset.resolved.layer("texture", "size_target") else { continue };
        let new = || Group { target: target.get(), members: vec![] };
        groups.entry(layer.to_string()).or_insert_with(new).members.push(index);
    }
    groups
}

/// The directory of the curves of an output.
pub(crate) fn directory(output: &Path) -> PathBuf {
    output.join(DIRECTORY)
}

/// Measures the textures with size targets where that is out of date, and sets their steps; returns the warnings about targets
/// that cannot be reached. A texture that cannot be compiled takes no part: the build reports its error.
///
/// # Errors
///
/// I/O errors of the directory of the curves, and `cancelled`.
pub(crate) fn distribute(
    planned: &mut Planned<'_>,
    sources: SourceTree<'_>,
    output: &Path,
    plan: Plan<'_>,
) -> Result<Vec<Diag>, Diag> {
    let groups = groups(&planned.assets);
    if groups.is_empty() {
        return Ok(vec![]);
    }
    let dir = directory(output);
    let fault = |e| at_root(Code::Unwritable, &dir, &e);
    std::fs::create_dir_all(&dir).map_err(fault)?;
    let out = Real::open(&dir).map_err(fault)?;
    let mut journal =
        Journal::open(&out, &journal_path(), &|| plan.events.on(Event::Waiting)).map_err(fault)?;
    let tree = out.walk(None).map_err(fault)?;
    let sink = CurveSink::new(&out, &tree);
    let members: Vec<usize> = groups.values().flat_map(|group| &group.members).copied().collect();
    let actions: Vec<CurveAction<'_, '_>> =
        members.iter().map(|index| CurveAction::new(&planned.assets[*index])).collect();
    let quiet = Quiet(plan.events);
    let outcomes =
        run(sources, &sink, &mut journal, &actions, &[], Plan { verify: false, events: &quiet, ..plan })?;
    if let Some(diag) = cancelled(&outcomes) {
        return Err(diag);
    }
    drop(actions);
    let mut curves: BTreeMap<usize, Curve> = BTreeMap::new();
    for (index, outcome) in members.iter().zip(outcomes) {
        if let (State::Fresh | State::Built(_) | State::Fetched(_), Some(artifact)) =
            (&outcome.state, outcome.artifacts.into_iter().next())
        {
            curves.insert(*index, artifact.metadata);
        }
    }
    Ok(set_steps(planned, &groups, &curves))
}

/// Sets the steps by the curves of the last build, for commands that build nothing. Textures that were never measured keep
/// their settings.
pub(crate) fn recall(planned: &mut Planned<'_>, output: &Path) {
    let groups = groups(&planned.assets);
    let dir = directory(output);
    if groups.is_empty() || !dir.join(JOURNAL).is_file() {
        return;
    }
    let Ok(records) = read_records(&dir, &|| ()) else { return };
    let mut curves = BTreeMap::new();
    for index in groups.values().flat_map(|group| &group.members) {
        let record = records.get(planned.assets[*index].source.as_str());
        let artifacts = record.map(|record| PlacedArtifact::<Curve>::recorded(&record)).unwrap_or_default();
        curves.extend(artifacts.into_iter().next().map(|artifact| (*index, artifact.metadata)));
    }
    set_steps(planned, &groups, &curves);
}

fn set_steps(
    planned: &mut Planned<'_>,
    groups: &BTreeMap<String, Group>,
    curves: &BTreeMap<usize, Curve>,
) -> Vec<Diag> {
    let mut warnings = Vec::new();
    for (layer, group) in groups {
        let members: Vec<(usize, &Curve)> =
            group.members.iter().filter_map(|index| Some((*index, curves.get(index)?))).collect();
        let points: Vec<_> = members.iter().map(|(_, curve)| curve.0.as_slice()).collect();
        let Allocation { chosen, bytes } = allocate(&points, group.target);
        for ((index, curve), chosen) in members.iter().zip(chosen) {
            if let Some(point) = curve.0.get(chosen) {
                planned.assets[*index].set_size_step(point.step);
            }
        }
        if bytes > group.target {
            let message = format!(
                "texture.size_target of {layer} is {} bytes, and its {} textures have at least {bytes}",
                group.target,
                members.len()
            );
            let hint = "raise the target, or allow lower resolutions with texture.min_scale";
            warnings.push(Diag::new(Code::TextureSize, message).hint(hint));
        }
    }
    warnings
}

/// Forwards cancellation only: the progress of a build is that of its assets.
struct Quiet<'a>(&'a dyn Events);

impl Events for Quiet<'_> {
    fn on(&self, _: Event<'_>) {}

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
