//! The main loop, told once: walk, plan, cook what changed, link, pack.

use crate::config::{Manifest, Resolver, Roots};
use crate::link::{MANIFEST, Row, complete, decode_rows, encode_rows, manifest};
use crate::pack::{self, Packed};
use crate::plan::{Planned, Versions, plan};
use crate::tools::Tools;
use kiln_format::{Format, by_path};
use kiln_kit::fs::Log;
use kiln_kit::ownership::{Replace, admit};
use kiln_kit::record::{Output, Record};
use kiln_kit::{
    Cache, Code, Diag, Done, Event, Events, Fs, Hash, Limits, Plan, Real, Records, RelPath, Severity, Shard,
    State, Store, Tree, World, run,
};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io;

/// The journal in the output: which file came from what, and the lock of the build that owns it.
pub const JOURNAL: &str = ".assetc-cache";

/// The journal's name for the manifest. No source can have it: paths of sources do not start with a slash.
pub(crate) const LINK: &str = "//manifest";
/// The journal's name for the pack.
pub(crate) const PACK: &str = "//pack";

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
    let (cache, (src_tree, out_tree)) = pool.install(|| {
        rayon::join(|| Cache::load(log), || rayon::join(|| src.walk(None), || out.walk(Some(JOURNAL))))
    });
    let mut cache = cache.map_err(|e| at_root(Code::Unwritable, &roots.output.join(JOURNAL), &e))?;
    let src_tree = src_tree.map_err(|e| at_root(Code::Unreadable, &roots.input, &e))?;
    let out_tree = out_tree.map_err(|e| at_root(Code::Unreadable, &roots.output, &e))?;
    let world = World { src: &src, src_tree: &src_tree, out: &out, out_tree: &out_tree };

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
        pool: &pool,
        force: request.force,
        verify: request.verify,
        prune: complete && request.shard.is_none(),
        overwrite: request.overwrite,
        store: request.store,
        limits: request.limits,
        events: request.events,
    };
    let done = run(world, &mut cache, &planned.assets, &keep, how).map_err(|diag| diag.or_path(JOURNAL))?;

    let rows = rows(&done);
    let mut report = report(planned, done, src_tree.problems.clone());
    if request.verify {
        let records = cache.records();
        let problems = pool.install(|| verify(&out, records, &report.assets));
        report.problems.extend(problems);
    }
    if report.is_ok() && request.shard.is_none() {
        let outputs = match request.manifest {
            Manifest::Textures => vec![],
            Manifest::All => outputs(cache.records(), &report.assets),
        };
        report.refs = Some(link(&out, &out_tree, &mut cache, rows, &outputs, request)?);
        if request.pack {
            report.packed = Some(pack::pack(request, &out, &mut cache)?);
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

pub(crate) fn journal_path() -> RelPath {
    RelPath::new(JOURNAL).expect("a plain name")
}

/// An error about a directory that the user named.
pub(crate) fn at_root(code: Code, path: &std::path::Path, error: &io::Error) -> Diag {
    let what = if code == Code::Unreadable { "read" } else { "write" };
    Diag::new(code, format!("cannot {what} it: {error}")).path(path.display())
}

fn rows(done: &[Done]) -> Vec<Row> {
    done.iter().filter_map(|done| decode_rows(&done.payload)).flatten().collect()
}

fn report(planned: Planned<'_>, done: Vec<Done>, mut problems: Vec<Diag>) -> Report {
    problems.extend(planned.unread.into_iter().map(|(_, warning)| warning));
    let cooked = planned.assets.into_iter().zip(done).map(|(asset, done)| Asset {
        source: asset.source,
        kind: asset.recipe.name(),
        state: done.state,
        warnings: done.warnings,
    });
    let refused = planned.conflicts.into_iter().map(|(source, diag)| Asset {
        source,
        kind: "",
        state: State::Failed(diag.into()),
        warnings: vec![],
    });
    let mut assets: Vec<Asset> = cooked.chain(refused).collect();
    assets.sort_by(|a, b| a.source.cmp(&b.source));
    Report { assets, problems, refs: None, packed: None }
}

/// What the sources wrote, each with the hash of its bytes.
fn outputs(records: &Records, assets: &[Asset]) -> Vec<(RelPath, Hash)> {
    let records = assets.iter().filter_map(|asset| records.get(asset.source.as_str()));
    let outputs = records.flat_map(|record| record.outputs);
    outputs.filter_map(|output| Some((RelPath::new(&*output.path).ok()?, output.hash))).collect()
}

/// Writes the manifest of these rows and outputs unless it is there already; returns how many refs it holds.
fn link(
    out: &dyn Fs,
    out_tree: &Tree,
    cache: &mut Cache,
    mut rows: Vec<Row>,
    outputs: &[(RelPath, Hash)],
    request: &Request<'_>,
) -> Result<usize, Diag> {
    let path = RelPath::new(MANIFEST).expect("a plain name");
    // Nothing else has a part in what it says, so that no output is looked at while these are the same.
    let listed = encode_rows(&rows);
    let written = outputs.iter().flat_map(|(path, hash)| [path.as_str().as_bytes(), &hash.0[..]]);
    let key = Hash::of_fields(std::iter::once(&listed[..]).chain(written)).to_string();
    let paths = rows.iter().map(|row| &row.path).chain(outputs.iter().map(|(path, _)| path));
    let refs = paths.collect::<BTreeSet<_>>().len();
    let is_there = |record: &Record<'_>| match record.outputs.as_slice() {
        [output] => record.fingerprint == key && out_tree.stamp(MANIFEST) == Some(output.stamp),
        _ => false,
    };
    let is_there = cache.records().get(LINK).as_ref().is_some_and(is_there);
    if is_there && !request.verify {
        return Ok(refs);
    }
    let owned = || cache.records().get(LINK).is_some_and(|r| r.outputs.iter().any(|o| o.path == MANIFEST));
    let magic = by_path(MANIFEST).map(Format::magic);
    admit(out, &path, None, Replace { overwrite: request.overwrite, magic, owned: &owned })?;
    complete(&mut rows, out, outputs.iter().map(|(path, _)| path))?;
    let bytes = manifest(&rows)?;
    if !is_there || out.read(&path).ok().as_ref() != Some(&bytes) {
        let unwritable =
            |e: io::Error| Diag::new(Code::Unwritable, format!("cannot write it: {e}")).path(MANIFEST);
        let staged = out.stage(&mut |file| file.write_all(&bytes)).map_err(unwritable)?;
        let stamp = out.publish(vec![(staged, path)]).into_iter().next();
        let stamp = stamp.unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map_err(unwritable)?;
        let output = Output { path: MANIFEST.into(), stamp, hash: Hash::of(&bytes), work: None };
        let record = Record { fingerprint: key.into(), outputs: vec![output], ..Record::default() };
        cache.append(&[(LINK, Some(&record))]).map_err(unwritable)?;
    }
    Ok(refs)
}

/// Reads every output of the sources that did not fail and checks its structure.
fn verify(out: &dyn Fs, records: &Records, assets: &[Asset]) -> Vec<Diag> {
    let sound = assets.iter().filter(|asset| !matches!(asset.state, State::Failed(_)));
    let outputs = sound.filter_map(|asset| records.get(asset.source.as_str()));
    let paths: Vec<String> = outputs.flat_map(|r| r.outputs).map(|o| o.path.into_owned()).collect();
    let bad = |path: &String| {
        let broken = |why: String| {
            Some(Diag::new(Code::Verify, why).path(path).hint("this is a defect of Kiln: please report it"))
        };
        let format = by_path(path)?;
        match out.read(&RelPath::new(path.as_str()).ok()?) {
            Ok(bytes) => format.verify(&bytes).err().and_then(|e| broken(e.to_string())),
            Err(e) => broken(format!("cannot read it: {e}")),
        }
    };
    paths.par_iter().filter_map(bad).collect()
}
