//! The baker: turns a content file and the sources it lists into one pak.
//!
//! [`Bake`] is the builder with all options; [`PakBuf::bake`] is the short form. Descriptions are parsed into a plan,
//! assets that changed are baked in parallel by the incremental build engine that all of Kiln's tools share, and the file
//! is written last and renamed into place: after a failure the old pak is unchanged.

mod bake_paths;
mod build_script;
mod compression;
mod content;
mod delta;
mod dev_pak;
mod earlier_pak;
mod gltf_materials;
mod link;
mod merge;
mod mesh_slots;
mod payload;
mod plan;
mod remote_action;
mod schema;
mod sink;
mod sources;
mod staging;
mod toml_document;
mod up_to_date;

pub use build_script::build_script;
pub use delta::{PatchFile, make_patch};
pub use dev_pak::{DevPak, Loose, WatchEvent};
pub use merge::merge;
pub use remote_action::run_action;
pub use schema::json_schema;
pub use sources::SourceAnimation;

use crate::PakBuf;
use bake_paths::BakePaths;
use kiln_engine::remote::RemoteExecution;
use kiln_engine::{
    Code, Diag, Event, Events, Fs, Inputs, Journal, Limits, Plan as Run, Real, RebuildReason, RelPath,
    Severity, Shard, SourceTree, State, Store as Shared, Tree, cancelled, run,
};
use payload::NodeAction;
use plan::{MissingFiles, Plan, Recipe};
use sink::PakSink;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The error of a failed bake: all diagnostics, in order.
#[derive(Debug)]
#[non_exhaustive]
pub struct BakeError {
    /// The diagnostics, of which at least one is an error. Each has a code to match on.
    pub problems: Vec<Diag>,
}

impl fmt::Display for BakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if number > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for BakeError {}

impl From<Diag> for BakeError {
    fn from(diag: Diag) -> BakeError {
        BakeError { problems: vec![diag] }
    }
}

/// The result of one asset of a bake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BakedAsset {
    /// The file that describes the asset, and the place in it.
    pub name: String,
    /// The reason for baking the asset; `None` if it was up to date.
    pub reason: Option<RebuildReason>,
    /// True if the asset came from the build cache instead of being baked.
    pub fetched: bool,
}

/// The report of a successful bake.
#[derive(Debug)]
#[non_exhaustive]
pub struct Baked {
    /// The assets that are baked from files, sorted by name.
    pub assets: Vec<BakedAsset>,
    /// The warnings of the bake.
    pub warnings: Vec<Diag>,
    /// The number of keys in the pak.
    pub keys: usize,
    /// The length of the pak in bytes.
    pub file_len: u64,
    /// True if the existing file was up to date and therefore not written.
    pub unchanged: bool,
}

impl Baked {
    /// Returns the number of assets that were baked.
    pub fn built(&self) -> usize {
        self.assets.iter().filter(|asset| asset.reason.is_some() && !asset.fetched).count()
    }

    /// Returns the number of assets that came from the build cache.
    pub fn fetched(&self) -> usize {
        self.assets.iter().filter(|asset| asset.fetched).count()
    }
}

/// A bake with its options, as a builder.
///
/// ```no_run
/// let baked = pak::bake::Bake::new("game_art.toml", "game_art.pak").jobs(4).run()?;
/// println!("{} assets baked, {} keys", baked.built(), baked.keys);
/// # Ok::<(), pak::bake::BakeError>(())
/// ```
pub struct Bake<'a> {
    src: PathBuf,
    dst: PathBuf,
    dir: Option<PathBuf>,
    cache: Option<PathBuf>,
    jobs: usize,
    force: bool,
    overwrite: bool,
    store: Option<&'a Shared>,
    remote: Option<&'a RemoteExecution>,
    shard: Option<Shard>,
    limits: Limits,
    events: &'a dyn Events,
}

impl<'a> Bake<'a> {
    /// Configures a bake of the content file `src` into the pak `dst`.
    pub fn new(src: impl Into<PathBuf>, dst: impl Into<PathBuf>) -> Bake<'a> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Bake {
            src: src.into(),
            dst: dst.into(),
            dir: None,
            cache: None,
            jobs,
            force: false,
            overwrite: false,
            store: None,
            remote: None,
            shard: None,
            limits: Limits::default(),
            events: &(),
        }
    }

    /// Sets the root directory of patterns, `/…` paths and keys. Default: the directory of the content file.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Sets the directory of the bake journal. Default: the directory of the pak.
    pub fn cache(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache = Some(dir.into());
        self
    }

    /// Sets the number of threads. The output bytes do not depend on it. Default: one per core.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Ignores the journal and bakes every asset.
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Allows replacing a regular file at the path of the pak that is neither a pak nor recorded in the journal.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets the build cache that results are read from and written to.
    pub fn store(mut self, store: &'a Shared) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the server that bakes assets, beside the threads of this machine. Its workers run [`run_action`].
    pub fn remote_execution(mut self, remote: &'a RemoteExecution) -> Self {
        self.remote = Some(remote);
        self
    }

    /// Bakes one shard of the assets into the build cache; no pak is written.
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = Some(shard);
        self
    }

    /// Sets the resource limits of each asset.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the limits for planning, which has no deadline: it reads the descriptions of all assets.
    fn plan_limits(&self) -> Limits {
        Limits { max_time: None, ..self.limits }
    }

    /// Sets the receiver of progress events.
    pub fn events(mut self, events: &'a dyn Events) -> Self {
        self.events = events;
        self
    }

    fn root(&self) -> PathBuf {
        let folder = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        self.dir.clone().unwrap_or_else(|| folder(&self.src))
    }

    fn sources(&self) -> Result<(Real, Tree), Diag> {
        let root = self.root();
        let src =
            Real::open(&root).map_err(|e| path_error(Code::Unreadable, &root, "read the directory", &e))?;
        let tree =
            src.walk(None).map_err(|e| path_error(Code::Unreadable, &root, "read the directory", &e))?;
        Ok((src, tree))
    }

    /// Reads the content file.
    fn read_content_file(&self) -> Result<String, Diag> {
        let read = || {
            let mut file = crate::source::open(&self.src)?;
            let (mut text, len) = (Vec::new(), file.metadata()?.len());
            file.read_to_end(&mut text)?;
            // A truncated content file would be a valid file with fewer assets.
            let whole = text.len() as u64 >= len;
            whole.then_some(text).ok_or_else(|| {
                std::io::Error::other("unexpected end of file; it was modified while it was being read")
            })
        };
        let text =
            read().map_err(|e| path_error(Code::Unreadable, &self.src, "read the content file", &e))?;
        String::from_utf8(text)
            .map_err(|_| Diag::new(Code::Unreadable, "the file is not valid UTF-8").path(self.src.display()))
    }

    /// Returns a predicate for files that are never assets: the content file, the pak and its journal.
    fn own(&self, src: &Real) -> impl Fn(&RelPath) -> bool {
        let paths = [&self.src, &self.dst].into_iter();
        let mine: Vec<PathBuf> = paths.filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        let (journal, root) = (self.journal_name(), src.root().to_path_buf());
        move |path| path.file_name().starts_with(&journal) || mine.contains(&path.below(&root))
    }

    fn plan(
        &self,
        text: &str,
        inputs: &mut Inputs<'_>,
        src: &Real,
        tree: &Tree,
        missing_files: MissingFiles,
    ) -> Result<Plan, BakeError> {
        let name = self.src.display().to_string();
        plan::plan(name, text, inputs, tree, &self.own(src), missing_files)
            .map_err(|problems| BakeError { problems })
    }

    /// Returns the file name of the journal: that of the pak, with a leading dot and `.cache`.
    fn journal_name(&self) -> String {
        let name =
            self.dst.file_name().map_or_else(|| "pak".to_owned(), |name| name.to_string_lossy().into_owned());
        format!(".{name}.cache")
    }

    /// Bakes the assets that changed and writes the pak.
    ///
    /// # Errors
    /// [`BakeError`] with every diagnostic if a source cannot be read or baked, a description is invalid, or the pak
    /// cannot be written. The pak of an earlier bake is unchanged then.
    pub fn run(&self) -> Result<Baked, BakeError> {
        let (src, tree) = self.sources()?;
        let (warnings, errors): (Vec<Diag>, Vec<Diag>) =
            tree.problems.iter().cloned().partition(|problem| problem.severity() < Severity::Error);
        if !errors.is_empty() {
            return Err(BakeError { problems: errors });
        }
        let paths = BakePaths::new(self)?;
        let mut journal = paths.open(&|| self.events.on(Event::Waiting))?;
        if self.shard.is_none() {
            // Checked before anything is baked, and again when the pak is renamed into place.
            paths.admit(&journal, self.overwrite)?;
        }
        let text = self.read_content_file()?;
        let fingerprint = up_to_date::fingerprint(&text, &tree, &self.own(&src));
        let sources = SourceTree { fs: &src, tree: &tree };
        if !self.force
            && self.shard.is_none()
            && let Some(mut baked) = up_to_date::unchanged(sources, &paths, &mut journal, &fingerprint)?
        {
            paths.remove_partial();
            baked.warnings.extend(warnings);
            return Ok(baked);
        }
        let mut inputs = Inputs::new(sources).limited(self.plan_limits());
        let plan = self.plan(&text, &mut inputs, &src, &tree, MissingFiles::Reject)?;
        let mut baked = self.bake(&plan, sources, &paths, &mut journal)?;
        if self.shard.is_none() {
            let record = up_to_date::record(&fingerprint, &inputs, &plan, &journal, &paths, &baked);
            paths.remember(&mut journal, record)?;
        }
        baked.warnings.extend(warnings);
        Ok(baked)
    }

    /// Bakes the assets that changed, and writes the pak.
    fn bake(
        &self,
        plan: &Plan,
        sources: SourceTree<'_>,
        paths: &BakePaths,
        journal: &mut Journal,
    ) -> Result<Baked, BakeError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs)
            .thread_name(|n| format!("kiln-{n}"))
            .build()
            .map_err(|e| Diag::new(Code::Threads, format!("cannot start {} threads: {e}", self.jobs)))?;
        let mine = |node: &plan::Node| {
            is_action(&node.recipe) && self.shard.is_none_or(|shard| shard.has(&node.name))
        };
        let order = link::payload_order(plan);
        let mut nodes: Vec<usize> = (0..plan.nodes.len()).filter(|n| mine(&plan.nodes[*n])).collect();
        nodes.sort_by_key(|n| order.get(&plan.nodes[*n].name));
        let actions: Vec<_> = nodes.iter().map(|n| NodeAction(&plan.nodes[*n])).collect();
        let sink = PakSink::new(paths, journal, self.force, self.limits.max_memory, || order);
        let mut payloads =
            pool.install(|| link::plan_payloads(plan, &|node, payload| sink.stage_payload(node, payload)))?;
        let how = Run {
            force: self.force,
            prune: self.shard.is_none(),
            store: self.store,
            remote: self.remote,
            in_order: true,
            limits: self.limits,
            events: self.events,
            ..Run::new(&pool)
        };
        let outcomes = run(sources, &sink, journal, &actions, &[LINK], how)?;
        let cancelled = cancelled(&outcomes);

        let (mut assets, mut warnings, mut errors) = (Vec::new(), plan.warnings.clone(), Vec::new());
        let mut outcomes: Vec<_> = nodes.into_iter().zip(outcomes).collect();
        outcomes.sort_by_key(|(n, _)| *n);
        for (n, outcome) in outcomes {
            let node = &plan.nodes[n];
            warnings.extend(outcome.warnings);
            payloads[n] = outcome.artifacts.first().map(Into::into);
            let (reason, fetched) = match outcome.state {
                State::Fresh => (None, false),
                State::Built(reason) => (Some(reason), false),
                State::Fetched(reason) => (Some(reason), true),
                State::Failed(error) => {
                    errors.extend(Some(*error).filter(|error| error.code != Code::Cancelled));
                    continue;
                }
            };
            assets.push(BakedAsset { name: node.name.to_string(), reason, fetched });
        }
        assets.sort_by(|a, b| a.name.cmp(&b.name));
        errors.extend(cancelled);
        if !errors.is_empty() {
            sink.write_partial(plan, &payloads);
            warnings.extend(errors);
            return Err(BakeError { problems: warnings });
        }
        if self.shard.is_some() {
            return Ok(Baked { assets, warnings, keys: 0, file_len: 0, unchanged: true });
        }
        sink.check_equal_entries(&payloads)
            .map_err(|e| path_error(Code::Unwritable, &paths.pak, "write the pak", &e))?;
        let layout = link::layout(plan, &payloads)?;
        let unchanged = sink.write(&layout, journal, self.overwrite)?;
        Ok(Baked { assets, warnings, keys: plan.keys.len(), file_len: layout.file_len(), unchanged })
    }
}

/// The journal key of the pak itself. No asset can have it, because paths do not start with a slash.
const LINK: &str = "//pak";

/// Returns `true` if a recipe reads files, and is therefore an action of the engine.
fn is_action(recipe: &Recipe) -> bool {
    matches!(
        recipe,
        Recipe::Blob(_)
            | Recipe::Sound(_)
            | Recipe::Bitmap(_)
            | Recipe::Params(_)
            | Recipe::Mesh(..)
            | Recipe::Animation(_)
    )
}

/// Creates a diagnostic about a path that the user named. `operation` completes "cannot …".
fn path_error(code: Code, path: &Path, operation: &str, error: &std::io::Error) -> Diag {
    Diag::new(code, format!("cannot {operation}: {error}")).path(path.display())
}

impl PakBuf {
    /// Bakes the content file `src` into the pak `dst`, with paths relative to the directory of `src`.
    ///
    /// # Errors
    /// As for [`Bake::run`].
    pub fn bake(src: impl AsRef<Path>, dst: impl AsRef<Path>) -> Result<(), BakeError> {
        Bake::new(src.as_ref(), dst.as_ref()).run().map(|_| ())
    }

    /// Bakes the content file `src` into the pak `dst`, with paths relative to `dir`.
    ///
    /// # Errors
    /// As for [`Bake::run`].
    pub fn bake_with_dir(
        src: impl AsRef<Path>,
        dst: impl AsRef<Path>,
        dir: impl AsRef<Path>,
    ) -> Result<(), BakeError> {
        Bake::new(src.as_ref(), dst.as_ref()).dir(dir.as_ref()).run().map(|_| ())
    }
}
