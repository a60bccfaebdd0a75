//! The main loop: walk, plan, run the actions whose result is out of date, link, pack.

use crate::artifact::FileMetadata;
use crate::budget::{self, Budget};
use crate::checkpoint;
use crate::config::{Manifest, OnFailure, PackCompression, Resolver, Roots};
use crate::content;
use crate::digests;
use crate::explain::no_source;
use crate::failures;
use crate::link::{self, ManifestSink, rows};
use crate::output::{JOURNAL, RESERVED, at_root, journal_path};
use crate::pack::{self, PackSink, Packed};
use crate::plan::{Planned, Versions, plan};
use crate::size_target;
use crate::skipped;
use crate::standalone::{self, Duplicates, Ran};
use crate::tools::Tools;
use kiln_engine::fs::Log;
use kiln_engine::remote::RemoteExecution;
use kiln_engine::{
    Code, Diag, DirectorySink, Event, Events, Fs, Journal, Limits, Outcome, PlacedArtifact, Plan, Real,
    Records, RelPath, Severity, Shard, SourceTree, State, Store, Tree, cancelled, windows_name_fault,
};
use kiln_format::by_path;
use rayon::prelude::*;
use std::collections::HashSet;
use std::io;

/// The resolved parameters of one build.
pub(crate) struct Request<'a> {
    /// The input and output directories.
    pub(crate) roots: &'a Roots,
    /// The settings of each source.
    pub(crate) resolver: &'a Resolver,
    /// External programs and shader workers.
    pub(crate) tools: &'a Tools,
    /// The number of threads.
    pub(crate) jobs: usize,
    /// Ignores the journal and the cache, and builds every source.
    pub(crate) force: bool,
    /// Reads every output again and validates it.
    pub(crate) verify: bool,
    /// Replaces regular files at the paths of outputs, manifest and pack that no recorded build wrote.
    pub(crate) overwrite: bool,
    /// The files that the manifest lists.
    pub(crate) manifest: Manifest,
    /// The treatment of the manifest by a build with failures.
    pub(crate) manifest_on_failure: OnFailure,
    /// Writes a pack after the build.
    pub(crate) pack: bool,
    /// Packs files of the output directory that no build wrote.
    pub(crate) pack_unowned: bool,
    /// The compression of the files in the pack.
    pub(crate) pack_compress: PackCompression,
    /// The build cache that other outputs and machines share.
    pub(crate) cache: Option<&'a Store>,
    /// The server that compiles sources.
    pub(crate) remote: Option<&'a RemoteExecution>,
    /// The shard of the sources to build, if not all: then neither manifest nor pack is written, and the outputs of
    /// other sources stay as they are.
    pub(crate) shard: Option<Shard>,
    /// The sources and folders to build, if not all. Outputs and manifest entries of other sources stay as they are.
    pub(crate) only: Option<&'a [RelPath]>,
    /// Limits on the size of the output.
    pub(crate) budgets: &'a [Budget],
    /// Leaves sources out of the report that are up to date and have no warnings, and lists of unused files, if nothing is
    /// out of date.
    pub(crate) brief: bool,
    /// Limits on each source.
    pub(crate) limits: Limits,
    /// The receiver of build events.
    pub(crate) events: &'a dyn Events,
}

/// The result of one source in a build.
#[derive(Debug)]
#[non_exhaustive]
pub struct AssetReport {
    /// The file or directory, relative to the input.
    pub source: RelPath,
    /// The name of the recipe; empty when the source was refused before a recipe ran.
    pub kind: &'static str,
    /// Built, fetched from the cache, up to date, or failed.
    pub state: State,
    /// The files that the source compiles to, relative to the output; none if it failed.
    pub outputs: Vec<RelPath>,
    /// The warnings about the source, also those of the build that its cached result comes from.
    pub warnings: Vec<Diag>,
}

/// The result of a build.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct BuildReport {
    /// Every source, sorted by path. The report of a [brief](crate::Build::brief) build that had nothing to do has only those
    /// with warnings.
    pub assets: Vec<AssetReport>,
    /// Errors and warnings about the trees, and about the outputs as a whole.
    pub problems: Vec<Diag>,
    /// Files that neither a recipe compiles nor an asset reads, sorted by path; hidden files are not listed.
    pub skipped: Vec<RelPath>,
    /// Files that `exclude` leaves out, sorted by path.
    pub excluded: Vec<RelPath>,
    /// Images that `texture.standalone: unreferenced` leaves out because other sources contain them, sorted by path.
    pub contained: Vec<RelPath>,
    /// Images that other sources contain, and that are compiled on their own, too.
    pub duplicates: Duplicates,
    /// The number of references in the manifest; `None` if it was not brought up to date.
    pub refs: Option<usize>,
    /// The pack, if one was requested and no source failed.
    pub packed: Option<Packed>,
    /// True if a pack was requested and was not written because of a failure.
    pub pack_withheld: bool,
    /// True if the output and the manifest have files of earlier builds whose source failed.
    pub has_kept_outputs: bool,
    /// The numbers of what a brief report does not list.
    pub(crate) unlisted: Unlisted,
}

/// The numbers of sources and files that a brief report does not list.
#[derive(Debug, Default)]
pub(crate) struct Unlisted {
    /// Sources that are up to date.
    pub(crate) fresh: usize,
    /// Skipped files by extension.
    pub(crate) skipped: Vec<(String, usize)>,
}

impl BuildReport {
    /// Returns the number of sources.
    pub fn total(&self) -> usize {
        self.assets.len() + self.unlisted.fresh
    }

    /// Returns the number of sources that were built.
    pub fn built(&self) -> usize {
        self.assets.iter().filter(|a| matches!(a.state, State::Built(_))).count()
    }

    /// Returns the number of sources whose result was a cache hit.
    pub fn fetched(&self) -> usize {
        self.assets.iter().filter(|a| matches!(a.state, State::Fetched(_))).count()
    }

    /// Returns the number of sources whose outputs were up to date.
    pub fn fresh(&self) -> usize {
        self.assets.iter().filter(|a| a.state == State::Fresh).count() + self.unlisted.fresh
    }

    /// Returns the number of sources that failed.
    pub fn failed(&self) -> usize {
        self.assets.iter().filter(|a| matches!(a.state, State::Failed(_))).count()
    }

    /// Returns the number of skipped files by extension, the most frequent first. An extension is in lower case and has
    /// its dot; it is empty for names without one.
    pub fn skipped_by_extension(&self) -> Vec<(String, usize)> {
        match self.unlisted.skipped.is_empty() {
            true => skipped::by_extension(&self.skipped),
            false => self.unlisted.skipped.clone(),
        }
    }

    /// Returns whether no source failed and no problem is an error.
    pub fn is_ok(&self) -> bool {
        self.failed() == 0 && self.problems.iter().all(|p| p.severity() < Severity::Error)
    }

    /// Returns the sources that failed, each with its error.
    pub fn errors(&self) -> impl Iterator<Item = (&RelPath, &Diag)> {
        self.assets.iter().filter_map(|asset| match &asset.state {
            State::Failed(diag) => Some((&asset.source, &**diag)),
            _ => None,
        })
    }
}

impl Request<'_> {
    /// Returns whether all sources are built.
    pub(crate) fn is_whole(&self) -> bool {
        self.shard.is_none() && self.only.is_none()
    }

    /// Removes the sources from a plan that are not to be built.
    ///
    /// # Errors
    ///
    /// `not-a-source` or `file-missing` if a path to build selects no source.
    pub(crate) fn select(&self, planned: &mut Planned<'_>, tree: &Tree) -> Result<(), Diag> {
        let names = |source: &RelPath, path: &RelPath| {
            // A file of a folder that is one source selects the folder.
            source == path || source.is_under(path) || path.is_under(source)
        };
        for path in self.only.unwrap_or_default() {
            let mut sources = planned.sources();
            if !sources.any(|source| names(source, path)) {
                return Err(no_source(tree, path, planned.assets.iter().map(|asset| &asset.source)));
            }
        }
        let selected = |source: &RelPath| {
            self.shard.is_none_or(|shard| shard.has(source))
                && self.only.is_none_or(|only| only.iter().any(|path| names(source, path)))
        };
        if !self.is_whole() {
            planned.assets.retain(|asset| selected(&asset.source));
            planned.conflicts.retain(|(source, _)| selected(source));
            planned.unread.retain(|(source, _)| selected(source));
            planned.unclaimed.retain(&selected);
            planned.excluded.retain(&selected);
        }
        Ok(())
    }
}

/// Returns the artifacts that the journal records for sources outside a plan.
fn recorded_artifacts(records: &Records, planned: &Planned<'_>) -> Vec<PlacedArtifact<FileMetadata>> {
    let selected: HashSet<&str> = planned.sources().map(RelPath::as_str).chain(RESERVED).collect();
    let others = records.names().into_iter().filter(|name| !selected.contains(name));
    others.filter_map(|name| records.get(name)).flat_map(|record| PlacedArtifact::recorded(&record)).collect()
}

/// Brings an output up to date with its sources.
pub(crate) fn build(request: &Request<'_>) -> Result<BuildReport, Diag> {
    let roots = request.roots;
    roots.check_input()?;
    let src = Real::open(&roots.input).map_err(|e| roots.input_fault(&e))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(request.jobs)
        .thread_name(|n| format!("kiln-{n}"))
        .build()
        .map_err(|e| Diag::new(Code::Threads, format!("cannot start {} threads: {e}", request.jobs)))?;

    // Locked before the trees are walked; loaded while they are.
    let (out, mut log) = lock_output(roots, &|| request.events.on(Event::Waiting))?;
    pack::sweep(roots);
    if let Some(report) = pool.install(|| checkpoint::read(request, &src, &out, &mut *log)) {
        request.events.on(Event::Judged { total: report.total(), stale: 0 });
        return Ok(report);
    }
    let walked_ns = src.now_ns();
    let (journal, (src_tree, out_tree)) = pool.install(|| {
        rayon::join(|| Journal::load(log), || rayon::join(|| src.walk(None), || out.walk(Some(JOURNAL))))
    });
    let mut journal = journal.map_err(|e| at_root(Code::Unwritable, &roots.output.join(JOURNAL), &e))?;
    let src_tree = src_tree.map_err(|e| roots.input_fault(&e))?;
    let out_tree = out_tree.map_err(|e| at_root(Code::Unreadable, &roots.output, &e))?;

    let mut planned = plan(&src_tree, request.resolver, request.tools, Versions::Asked);
    let complete = src_tree.problems.iter().all(|p| p.severity() < Severity::Error);
    let sources = SourceTree { fs: &src, tree: &src_tree };
    let run_plan = Plan {
        force: request.force,
        verify: request.verify,
        prune: complete,
        store: request.cache,
        remote: request.remote,
        limits: request.limits,
        events: request.events,
        ..Plan::new(&pool)
    };
    // The share of a texture depends on all of them, also in a build of some.
    let unreachable = size_target::distribute(&mut planned, sources, &roots.output, run_plan)?;
    let containers = standalone::containers(&planned.assets);
    let used_tools = std::mem::take(&mut planned.tools);
    request.select(&mut planned, &src_tree)?;
    let run_plan = Plan { prune: complete && request.is_whole(), ..run_plan };
    let sink = DirectorySink::new(&out, &out_tree).overwriting(request.overwrite);
    let Ran { outcomes, contained, duplicates } =
        standalone::run(sources, &sink, &mut journal, &mut planned, &containers, run_plan)
            .map_err(|diag| diag.or_path(JOURNAL))?;

    let cancelled = cancelled(&outcomes);
    let artifacts = outcomes.iter().flat_map(|outcome| &outcome.artifacts);
    let others = match request.only {
        Some(_) => recorded_artifacts(journal.records(), &planned),
        None => vec![],
    };
    let mut rows = rows(artifacts.chain(&others), request.manifest);
    // A copy of its source is what it should be, whatever its format.
    let compiled = planned.assets.iter().zip(&outcomes).filter(|(asset, _)| !asset.recipe.info().copies);
    let names = compiled.filter(|_| request.verify).flat_map(|(_, outcome)| &outcome.artifacts);
    let names = names.map(|artifact| &artifact.name).collect::<Vec<_>>();
    let broken = pool.install(|| verify(&out, &names));
    let skipped =
        skipped::skipped(std::mem::take(&mut planned.unclaimed), &planned.assets, journal.records());
    if !complete {
        // A glob may match what could not be read.
        planned.unmatched.clear();
    }
    let mut report = report(planned, outcomes, src_tree.problems.clone());
    report.skipped = skipped;
    (report.contained, report.duplicates) = (contained, duplicates);
    report.problems.extend(broken);
    report.problems.extend(unreachable);
    if request.shard.is_none() {
        report.problems.extend(budget::exceeded(request.budgets, journal.records(), &out));
    }
    let cancelled = cancelled.or_else(|| {
        let message = "interrupted: all assets are built and kept; the pack was not written";
        let is_left = request.pack && report.is_ok() && request.shard.is_none();
        (is_left && request.events.is_cancelled()).then(|| Diag::new(Code::Cancelled, message))
    });
    report.problems.extend(cancelled.clone());
    if request.shard.is_none() {
        let (verify, overwrite) = (request.verify, request.overwrite);
        let manifest = ManifestSink { out: &out, tree: &out_tree, verify, overwrite };
        let (unowned_files, compression) = (request.pack_unowned, request.pack_compress);
        let pack = PackSink { roots, out: &out, verify, overwrite, unowned: unowned_files, compression };
        if report.is_ok() {
            report.refs = Some(manifest.write(&rows, &mut journal)?);
            if request.pack {
                match pool.install(|| pack.write(&mut journal)) {
                    Ok(packed) => {
                        report.problems.extend(packed.unowned.iter().map(unowned));
                        report.packed = Some(packed);
                    }
                    // A file that cannot be packed is a finding like a failed source.
                    Err(error) if error.code == Code::Pack => report.problems.push(error),
                    Err(error) => return Err(error),
                }
            }
        } else if request.manifest_on_failure == OnFailure::Update {
            let kept = kept_artifacts(&journal, &report, &out);
            report.has_kept_outputs = !kept.is_empty();
            link::extend(&mut rows, kept.iter(), request.manifest);
            match manifest.write(&rows, &mut journal) {
                Ok(refs) => report.refs = Some(refs),
                Err(error) => report.problems.push(error),
            }
        }
    }
    report.pack_withheld = request.pack && request.shard.is_none() && report.packed.is_none();
    if report.packed.is_none() && request.shard.is_none() {
        digests::remove_outdated(&out, &mut journal)
            .map_err(|e| at_root(Code::Unwritable, &roots.output, &e))?;
    }
    failures::record(&mut journal, &report, request.is_whole())
        .map_err(|e| at_root(Code::JournalUnwritable, &roots.output.join(JOURNAL), &e))?;
    if cancelled.is_none() {
        let walked = checkpoint::Walked { at_ns: walked_ns, sources: &src_tree, outputs: &out_tree };
        checkpoint::write(request, &walked, &used_tools, &report, &mut journal);
    }
    cancelled.map_or(Ok(report), Err)
}

/// Returns the warning about a packed file that no source writes.
fn unowned(path: &RelPath) -> Diag {
    Diag::new(Code::PackUnowned, "no source of the project writes this file, and it is packed")
        .path(path)
        .hint("remove the file from the output directory, or set `pack_unowned: false`")
}

/// Returns the warning about a source whose output has a name that Windows cannot use.
fn windows_name_warning(source: &RelPath) -> Option<Diag> {
    let (name, fault) = source.components().find_map(|name| Some((name, windows_name_fault(name)?)))?;
    let message = format!("the output cannot be used on Windows because of the name '{name}': {fault}");
    let diag = Diag::new(Code::WindowsName, message).path(source);
    Some(diag.hint("rename it, or set `lints: { windows-name: allow }` if the game never runs there"))
}

/// Returns the artifacts of earlier builds that are still in the output although their source failed or could not be
/// read.
fn kept_artifacts(
    journal: &Journal,
    report: &BuildReport,
    out: &dyn Fs,
) -> Vec<PlacedArtifact<FileMetadata>> {
    let done = report.assets.iter().filter(|asset| !matches!(asset.state, State::Failed(_)));
    let done: HashSet<&str> = done.map(|asset| asset.source.as_str()).chain(RESERVED).collect();
    let records = journal.records();
    let kept = records.names().into_iter().filter(|name| !done.contains(name));
    let artifacts = kept.filter_map(|name| records.get(name)).flat_map(|r| PlacedArtifact::recorded(&r));
    artifacts.filter(|artifact| out.stamp(&artifact.name).is_ok_and(|stamp| stamp.is_some())).collect()
}

/// Creates the output directory and locks it for this build.
fn lock_output(roots: &Roots, waiting: &dyn Fn()) -> Result<(Real, Box<dyn Log>), Diag> {
    let mut tries = 0;
    loop {
        tries += 1;
        std::fs::create_dir_all(&roots.output).map_err(|e| at_root(Code::Unwritable, &roots.output, &e))?;
        let locked = Real::open(&roots.output).and_then(|out| {
            let log = out.open_log(&journal_path(), waiting)?;
            Ok((out, log))
        });
        match locked {
            // A `clean` that held the lock, or that ran in between, removed the directory.
            Err(e) if e.kind() == io::ErrorKind::NotFound && tries < 100 => {}
            locked => return locked.map_err(|e| at_root(Code::Unwritable, &roots.output.join(JOURNAL), &e)),
        }
    }
}

fn report(
    planned: Planned<'_>,
    outcomes: Vec<Outcome<FileMetadata>>,
    mut problems: Vec<Diag>,
) -> BuildReport {
    problems.extend(planned.unmatched);
    problems.extend(planned.assets.iter().filter_map(|asset| windows_name_warning(&asset.source)));
    problems.extend(planned.unread.into_iter().map(|(_, warning)| warning));
    let built = planned.assets.into_iter().zip(outcomes).map(|(asset, outcome)| AssetReport {
        source: asset.source,
        kind: asset.recipe.info().name,
        state: outcome.state,
        outputs: outcome.artifacts.into_iter().map(|artifact| artifact.name).collect(),
        warnings: outcome.warnings,
    });
    let refused = planned.conflicts.into_iter().map(|(source, diag)| AssetReport {
        source,
        kind: "",
        state: State::Failed(diag.into()),
        outputs: vec![],
        warnings: vec![],
    });
    let mut assets: Vec<AssetReport> = built.chain(refused).collect();
    assets.sort_by(|a, b| a.source.cmp(&b.source));
    BuildReport { assets, problems, excluded: planned.excluded, ..BuildReport::default() }
}

/// Reads artifacts, validates their structure and decodes them.
fn verify(out: &dyn Fs, names: &[&RelPath]) -> Vec<Diag> {
    let bad = |name: &&RelPath| {
        let broken = |why: String| {
            Some(
                Diag::new(Code::Verify, why)
                    .path(*name)
                    .hint("this is an internal error in Kiln; please report it"),
            )
        };
        let format = by_path(name.as_str())?;
        match out.read(name) {
            Ok(bytes) => content::verify(format, &bytes).err().and_then(broken),
            Err(e) => broken(format!("cannot read the file: {e}")),
        }
    };
    names.par_iter().filter_map(bad).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_about_names_that_windows_cannot_use() {
        let warning = |path: &str| windows_name_warning(&RelPath::new(path).unwrap());
        let found = warning("ui/aux/icon.png").unwrap();
        assert_eq!((found.code, found.path.as_deref()), (Code::WindowsName, Some("ui/aux/icon.png")));
        assert!(found.message.ends_with("because of the name 'aux': 'aux' is a device there"), "{found}");
        assert!(warning("ui/icon.png").is_none());
    }
}
