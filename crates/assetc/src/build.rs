//! The main loop: walk, plan, run the actions whose result is out of date, link, pack.

use crate::artifact::FileMetadata;
use crate::config::{Manifest, Resolver, Roots};
use crate::link::{ManifestSink, rows};
use crate::output::{JOURNAL, LINK, PACK, at_root, journal_path};
use crate::pack::{self, PackSink, Packed};
use crate::plan::{Planned, Versions, plan};
use crate::tools::Tools;
use kiln_engine::fs::Log;
use kiln_engine::{
    Code, Diag, DirectorySink, Event, Events, Fs, Journal, Limits, Outcome, Plan, Real, RelPath, Severity,
    Shard, SourceTree, State, Store, run,
};
use kiln_format::by_path;
use rayon::prelude::*;
use std::io;

/// What to build and how.
pub struct Request<'a> {
    /// Where from and where to.
    pub roots: &'a Roots,
    /// With which settings.
    pub resolver: &'a Resolver,
    /// With which programs beside Kiln.
    pub tools: &'a Tools,
    /// On how many threads.
    pub jobs: usize,
    /// Whether everything is built, whatever the journal says.
    pub force: bool,
    /// Whether every output is read again and checked.
    pub verify: bool,
    /// Whether outputs, manifest and pack replace regular files at their paths that no recorded build wrote.
    pub overwrite: bool,
    /// What the manifest lists.
    pub manifest: Manifest,
    /// Whether the output is bundled afterwards.
    pub pack: bool,
    /// Where results are looked for and put beyond this output.
    pub store: Option<&'a Store>,
    /// The part of the sources that is built, if not all: then neither manifest nor pack is written, and the outputs of
    /// other sources stay as they are.
    pub shard: Option<Shard>,
    /// Limits on each source.
    pub limits: Limits,
    /// Who watches.
    pub events: &'a dyn Events,
}

/// One source and how it fared.
#[derive(Debug)]
pub struct Asset {
    /// The file or directory, relative to the input.
    pub source: RelPath,
    /// What kind of source it is; empty when it could not be cooked at all.
    pub kind: &'static str,
    /// How it fared.
    pub state: State,
    /// What was said about it.
    pub warnings: Vec<Diag>,
}

/// What a build did.
#[derive(Debug, Default)]
pub struct Report {
    /// Every source, by path.
    pub assets: Vec<Asset>,
    /// What is wrong with the trees or with the results as a whole.
    pub problems: Vec<Diag>,
    /// How many refs the manifest holds, if it is up to date.
    pub refs: Option<usize>,
    /// The pack, if one was asked for and none failed.
    pub packed: Option<Packed>,
}

impl Report {
    /// How many sources were built.
    pub fn built(&self) -> usize {
        self.assets.iter().filter(|a| matches!(a.state, State::Built(_))).count()
    }

    /// How many sources had their result in the store.
    pub fn fetched(&self) -> usize {
        self.assets.iter().filter(|a| matches!(a.state, State::Fetched(_))).count()
    }

    /// How many sources needed nothing.
    pub fn fresh(&self) -> usize {
        self.assets.iter().filter(|a| a.state == State::Fresh).count()
    }

    /// How many sources failed.
    pub fn failed(&self) -> usize {
        self.assets.iter().filter(|a| matches!(a.state, State::Failed(_))).count()
    }

    /// Whether everything is as it should be.
    pub fn is_ok(&self) -> bool {
        self.failed() == 0 && self.problems.iter().all(|p| p.severity() < Severity::Error)
    }
}

/// Brings an output up to date with its sources.
pub fn build(request: &Request<'_>) -> Result<Report, Diag> {
    let roots = request.roots;
    roots.check_input()?;
    let src = Real::open(&roots.input).map_err(|e| at_root(Code::Unreadable, &roots.input, &e))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(request.jobs)
        .thread_name(|n| format!("kiln-{n}"))
        .build()
        .map_err(|e| Diag::new(Code::Threads, format!("cannot start {} threads: {e}", request.jobs)))?;

    // Held before the trees are looked at; loaded while they are.
    let (out, log) = take(roots, &|| request.events.on(Event::Waiting))?;
    pack::sweep(roots);
    let (journal, (src_tree, out_tree)) = pool.install(|| {
        rayon::join(|| Journal::load(log), || rayon::join(|| src.walk(None), || out.walk(Some(JOURNAL))))
    });
    let mut journal = journal.map_err(|e| at_root(Code::Unwritable, &roots.output.join(JOURNAL), &e))?;
    let src_tree = src_tree.map_err(|e| at_root(Code::Unreadable, &roots.input, &e))?;
    let out_tree = out_tree.map_err(|e| at_root(Code::Unreadable, &roots.output, &e))?;

    let mut planned = plan(&src_tree, request.resolver, request.tools, Versions::Asked);
    if let Some(shard) = request.shard {
        planned.assets.retain(|asset| shard.has(&asset.source));
        planned.conflicts.retain(|(source, _)| shard.has(source));
        planned.unread.retain(|(source, _)| shard.has(source));
    }
    let complete = src_tree.problems.iter().all(|p| p.severity() < Severity::Error);
    let keep: Vec<&str> =
        [LINK, PACK].into_iter().chain(planned.conflicts.iter().map(|(s, _)| s.as_str())).collect();
    let how = Plan {
        force: request.force,
        verify: request.verify,
        prune: complete && request.shard.is_none(),
        store: request.store,
        limits: request.limits,
        events: request.events,
        ..Plan::new(&pool)
    };
    let sources = SourceTree { fs: &src, tree: &src_tree };
    let sink = DirectorySink::new(&out, &out_tree).overwriting(request.overwrite);
    let outcomes = run(sources, &sink, &mut journal, &planned.assets, &keep, how)
        .map_err(|diag| diag.or_path(JOURNAL))?;

    let artifacts = outcomes.iter().flat_map(|outcome| &outcome.artifacts);
    let rows = rows(artifacts.clone(), request.manifest);
    let names = artifacts.filter(|_| request.verify).map(|artifact| &artifact.name).collect::<Vec<_>>();
    let broken = pool.install(|| verify(&out, &names));
    let mut report = report(planned, outcomes, src_tree.problems.clone());
    report.problems.extend(broken);
    if report.is_ok() && request.shard.is_none() {
        let (verify, overwrite) = (request.verify, request.overwrite);
        let manifest = ManifestSink { out: &out, tree: &out_tree, verify, overwrite };
        report.refs = Some(manifest.write(&rows, &mut journal)?);
        if request.pack {
            report.packed = Some(PackSink { roots, out: &out, verify, overwrite }.write(&mut journal)?);
        }
    }
    Ok(report)
}

/// Makes the output directory and holds it for this build alone.
fn take(roots: &Roots, waiting: &dyn Fn()) -> Result<(Real, Box<dyn Log>), Diag> {
    let mut tries = 0;
    loop {
        tries += 1;
        std::fs::create_dir_all(&roots.output).map_err(|e| at_root(Code::Unwritable, &roots.output, &e))?;
        let taken = Real::open(&roots.output).and_then(|out| {
            let log = out.open_log(&journal_path(), waiting)?;
            Ok((out, log))
        });
        match taken {
            // A `clean` that we waited for, or that came in between, took the directory with it.
            Err(e) if e.kind() == io::ErrorKind::NotFound && tries < 100 => {}
            taken => return taken.map_err(|e| at_root(Code::Unwritable, &roots.output.join(JOURNAL), &e)),
        }
    }
}

fn report(planned: Planned<'_>, outcomes: Vec<Outcome<FileMetadata>>, mut problems: Vec<Diag>) -> Report {
    problems.extend(planned.unread.into_iter().map(|(_, warning)| warning));
    let built = planned.assets.into_iter().zip(outcomes).map(|(asset, outcome)| Asset {
        source: asset.source,
        kind: asset.recipe.name(),
        state: outcome.state,
        warnings: outcome.warnings,
    });
    let refused = planned.conflicts.into_iter().map(|(source, diag)| Asset {
        source,
        kind: "",
        state: State::Failed(diag.into()),
        warnings: vec![],
    });
    let mut assets: Vec<Asset> = built.chain(refused).collect();
    assets.sort_by(|a, b| a.source.cmp(&b.source));
    Report { assets, problems, refs: None, packed: None }
}

/// Reads artifacts and checks their structure.
fn verify(out: &dyn Fs, names: &[&RelPath]) -> Vec<Diag> {
    let bad = |name: &&RelPath| {
        let broken = |why: String| {
            Some(Diag::new(Code::Verify, why).path(*name).hint("this is a defect of Kiln: please report it"))
        };
        let format = by_path(name.as_str())?;
        match out.read(name) {
            Ok(bytes) => format.verify(&bytes).err().and_then(|e| broken(e.to_string())),
            Err(e) => broken(format!("cannot read it: {e}")),
        }
    };
    names.par_iter().filter_map(bad).collect()
}
