//! The checkpoint of a build that had nothing to do, so that the next one need not find that out again.
//!
//! Whether a build has anything to do is a function of the sources, the outputs, the pack, the configuration, the versions of
//! external programs and the journal. A build that did nothing records all of them at the end of the journal, with the
//! figures of its summary: trees by their [stamps](kiln_engine::tree_stamps), the configuration by a hash. If none of them
//! changed, the next build returns these figures without planning sources or reading records. If anything changed, or
//! nothing can be said, the build runs as if there were no checkpoint.

use crate::build::{AssetReport, BuildReport, Request, Unlisted};
use crate::output::{JOURNAL, PACK};
use crate::pack::{self, Packed};
use crate::recipes::RECIPES;
use crate::standalone::Duplicates;
use crate::tools::Tool;
use kiln_engine::fs::Log;
use kiln_engine::journal::Checkpoint;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Diag, Fs, Hash, Journal, Real, RelPath, State, Tree, tree_stamps};

/// Returns whether a build may use and write a checkpoint: it is of the whole project, and its report need not list every
/// source.
pub(crate) fn is_applicable(request: &Request<'_>) -> bool {
    request.brief && request.is_whole() && !request.force && !request.verify
}

/// Hashes everything that decides what a build does, except files and external programs.
fn key(request: &Request<'_>) -> Hash {
    let Request { roots, resolver, tools, overwrite, .. } = request;
    let recipes: Vec<String> =
        RECIPES.iter().map(|r| format!("{} {}", r.info().name, r.info().version)).collect();
    let switches = (overwrite, request.manifest, request.manifest_on_failure);
    let pack = (request.pack, request.pack_unowned, request.pack_compress, request.budgets);
    let features = (env!("CARGO_PKG_VERSION"), cfg!(feature = "fbx"));
    // The textual form of the settings has all of them, also those that will be added.
    let text = format!(
        "{features:?} {recipes:?} {roots:?} {switches:?} {pack:?} {:?} {resolver:?}",
        tools.programs()
    );
    Hash::of(text.as_bytes())
}

/// The trees of a build, and the time before they were walked.
pub(crate) struct Walked<'a> {
    pub(crate) at_ns: i64,
    pub(crate) sources: &'a Tree,
    pub(crate) outputs: &'a Tree,
}

/// Writes the checkpoint of a build, if it did nothing and a later change of the trees would show. A checkpoint that cannot be
/// written is not an error: the next build takes longer.
pub(crate) fn write(
    request: &Request<'_>,
    walked: &Walked<'_>,
    used_tools: &[Tool],
    report: &BuildReport,
    journal: &mut Journal,
) {
    let is_idle = report.is_ok() && report.fresh() == report.total() && !journal.is_changed();
    if is_applicable(request)
        && is_idle
        && let Some(content) = encode(request, walked, used_tools, report, journal)
    {
        let _ = journal.write_checkpoint(&content);
    }
}

fn encode(
    request: &Request<'_>,
    walked: &Walked<'_>,
    used_tools: &[Tool],
    report: &BuildReport,
    journal: &Journal,
) -> Option<Vec<u8>> {
    let mut w = Writer::new();
    w.raw(&key(request).0);
    w.count(used_tools.len());
    for tool in used_tools {
        w.text(tool.name());
        w.text(request.tools.version(*tool));
    }
    w.u8(report.packed.is_some().into());
    if let Some(packed) = &report.packed {
        w.bytes(&pack::put_stamp(pack::get_stamp(&journal.records().get(PACK)?.summary)?));
        w.u64(packed.files as u64);
        w.count(packed.unowned.len());
        packed.unowned.iter().for_each(|path| w.text(path.as_str()));
    }
    w.u64(report.refs? as u64);
    w.u64(report.duplicates.images as u64);
    w.u64(report.duplicates.bytes);
    let skipped = report.skipped_by_extension();
    w.count(skipped.len());
    for (extension, count) in &skipped {
        w.text(extension);
        w.u64(*count as u64);
    }
    put_diags(&mut w, &report.problems);
    let listed = || report.assets.iter().filter(|asset| !asset.warnings.is_empty());
    w.u64((report.total() - listed().count()) as u64);
    w.count(listed().count());
    for asset in listed() {
        w.text(asset.source.as_str());
        w.text(asset.kind);
        put_diags(&mut w, &asset.warnings);
    }
    w.bytes(&tree_stamps::record(walked.sources, walked.at_ns, "")?);
    w.bytes(&tree_stamps::record(walked.outputs, walked.at_ns, JOURNAL)?);
    Some(w.finish())
}

/// Returns the report of a build that has nothing to do; `None` if the checkpoint of the journal does not say so.
pub(crate) fn read(request: &Request<'_>, src: &Real, out: &Real, log: &mut dyn Log) -> Option<BuildReport> {
    if !is_applicable(request) {
        return None;
    }
    let checkpoint = Checkpoint::read(log).ok()??;
    let mut r = Reader::new(checkpoint.content());
    if r.array()? != key(request).0 {
        return None;
    }
    for _ in 0..r.count()? {
        let (name, version) = (r.text()?, r.text()?);
        let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name)?;
        if request.tools.version(tool) != version {
            return None;
        }
    }
    let mut report = BuildReport { packed: packed(request, &mut r)?, ..BuildReport::default() };
    report.refs = Some(r.u64()? as usize);
    report.duplicates = Duplicates { images: r.u64()? as usize, bytes: r.u64()? };
    let mut skipped = Vec::new();
    for _ in 0..r.count()? {
        skipped.push((r.text()?.to_owned(), r.u64()? as usize));
    }
    report.problems = diags(&mut r)?;
    report.unlisted = Unlisted { fresh: r.u64()? as usize, skipped };
    for _ in 0..r.count()? {
        let (source, kind) = (RelPath::new(r.text()?).ok()?, r.text()?);
        let kind = RECIPES.iter().find(|recipe| recipe.info().name == kind)?.info().name;
        let warnings = diags(&mut r)?;
        report.assets.push(AssetReport { source, kind, state: State::Fresh, outputs: vec![], warnings });
    }
    let (sources, outputs) = (r.bytes()?, r.bytes()?);
    let is_unchanged =
        r.is_empty() && tree_stamps::is_unchanged(src, sources) && tree_stamps::is_unchanged(out, outputs);
    is_unchanged.then_some(report)
}

/// Reads the pack of a checkpoint: `Some(None)` if there is none, `None` if it is no longer up to date.
fn packed(request: &Request<'_>, r: &mut Reader<'_>) -> Option<Option<Packed>> {
    if r.u8()? == 0 {
        return Some(None);
    }
    let stamp = pack::get_stamp(r.bytes()?)?;
    let (dir, name) = pack::beside(&request.roots.pack).ok()?;
    if dir.stamp(&name).ok()? != Some(stamp) {
        return None;
    }
    let files = r.u64()? as usize;
    let count = r.count()?;
    let unowned = (0..count).map(|_| RelPath::new(r.text()?).ok()).collect::<Option<_>>()?;
    Some(Some(Packed { path: request.roots.pack.clone(), files, unchanged: true, unowned }))
}

fn put_diags(w: &mut Writer, diags: &[Diag]) {
    w.count(diags.len());
    diags.iter().for_each(|diag| w.diag(diag));
}

fn diags(r: &mut Reader<'_>) -> Option<Vec<Diag>> {
    let count = r.count()?;
    (0..count).map(|_| r.diag()).collect()
}
