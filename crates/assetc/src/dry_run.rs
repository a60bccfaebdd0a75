//! `--dry-run`: determines what a build would compile and remove, without writing anything.

use crate::build::Request;
use crate::output::{JOURNAL, RESERVED, at_root};
use crate::plan::{PlannedAsset, Versions, plan};
use crate::runtime::read_records;
use crate::size_target;
use crate::standalone::{self, ContainedImages, is_conditional};
use kiln_engine::stale::{Verdict, judge};
use kiln_engine::{
    Action, Code, Diag, DirectorySink, Event, Fs, Real, RebuildReason, Records, RelPath, Severity, Sink,
    SourceTree,
};
use std::collections::HashSet;

/// The actions that a build would take.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct DryRun {
    /// The sources that are out of date, sorted by path, each with the reason.
    pub build: Vec<(RelPath, RebuildReason)>,
    /// The number of sources whose outputs are up to date.
    pub fresh: usize,
    /// The outputs of deleted sources, relative to the output directory, sorted.
    pub remove: Vec<String>,
    /// Errors and warnings that are known before the build: sources with the same output, unreadable directories.
    pub problems: Vec<Diag>,
}

/// Determines what a build of this request would do.
pub(crate) fn dry_run(request: &Request<'_>) -> Result<DryRun, Diag> {
    let roots = request.roots;
    roots.check_input()?;
    let fault = |e| roots.input_fault(&e);
    let src = Real::open(&roots.input).map_err(fault)?;
    let src_tree = src.walk(None).map_err(fault)?;
    let mut planned = plan(&src_tree, request.resolver, request.tools, Versions::Asked);
    size_target::recall(&mut planned, &roots.output);
    let containers = standalone::containers(&planned.assets);
    request.select(&mut planned, &src_tree)?;
    let mut found = DryRun { problems: src_tree.problems.clone(), ..DryRun::default() };
    found.problems.extend(planned.unread.iter().chain(&planned.conflicts).map(|(_, diag)| diag.clone()));
    let sources = SourceTree { fs: &src, tree: &src_tree };
    if !roots.output.is_dir() {
        let scan = (sources, &request.limits);
        let contained = ContainedImages::find(&containers, &Records::default(), scan, |_| true);
        let assets = planned.assets.into_iter();
        let assets = assets.filter(|asset| !is_conditional(asset) || contained.container(asset).is_none());
        found.build = assets.map(|asset| (asset.source, RebuildReason::New)).collect();
        return Ok(found);
    }
    let records = read_records(&roots.output, &|| request.events.on(Event::Waiting))?;
    let fault = |e| at_root(Code::Unreadable, &roots.output, &e);
    let out = Real::open(&roots.output).map_err(fault)?;
    let out_tree = out.walk(Some(JOURNAL)).map_err(fault)?;
    let sink = DirectorySink::new(&out, &out_tree);
    let (mut input_hint, mut output_hint) = (0, 0);
    let mut reason = |asset: &PlannedAsset<'_>| match records.get(asset.source.as_str()) {
        None => Some(RebuildReason::New),
        Some(_) if request.force => Some(RebuildReason::Forced),
        Some(record) => {
            let find = |output: &_| sink.find(output, request.verify, &mut output_hint);
            match judge(sources, asset.fingerprint(), record, &mut input_hint, find) {
                Verdict::Fresh(_) => None,
                Verdict::Stale(why) => Some(why),
            }
        }
    };
    // Sources that are out of date may contain other images than in the last build.
    let due =
        planned.assets.iter().filter(|asset| asset.recipe.info().contains_images && reason(asset).is_some());
    let due: HashSet<&str> = due.map(|asset| asset.source.as_str()).collect();
    let is_scanned = |source: &RelPath| due.contains(source.as_str()) || !records.contains(source.as_str());
    let contained = ContainedImages::find(&containers, &records, (sources, &request.limits), is_scanned);
    planned.assets.retain(|asset| !is_conditional(asset) || contained.container(asset).is_none());
    for asset in &planned.assets {
        let why = reason(asset);
        match why {
            Some(why) => found.build.push((asset.source.clone(), why)),
            None => found.fresh += 1,
        }
    }
    let complete = src_tree.problems.iter().all(|problem| problem.severity() < Severity::Error);
    if complete && request.is_whole() {
        found.remove = orphans(&records, &planned.sources().map(RelPath::as_str).collect());
    }
    Ok(found)
}

/// Returns the recorded outputs of sources that no longer exist, without those that another source writes.
fn orphans(records: &Records, sources: &HashSet<&str>) -> Vec<String> {
    let outputs = |name: &&str| records.get(name).map(|record| record.outputs).unwrap_or_default();
    let (kept, gone): (Vec<&str>, Vec<&str>) =
        records.names().into_iter().partition(|name| sources.contains(name) || RESERVED.contains(name));
    let live: HashSet<String> =
        kept.iter().flat_map(outputs).map(|output| output.path.into_owned()).collect();
    let removed = gone.iter().flat_map(outputs).map(|output| output.path.into_owned());
    let mut removed: Vec<String> = removed.filter(|path| !live.contains(path)).collect();
    removed.sort();
    removed
}
