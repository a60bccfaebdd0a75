//! The baker: a content file and its sources into one pak.
//!
//! [`Bake`] says what and how; [`PakBuf::bake`] is the short way. Descriptions are read into a plan, assets that
//! changed are baked in parallel through the engine that all of Kiln's tools share, and the file is written at the end
//! under a temporary name: after a failure the old one is as it was.

mod bake_paths;
mod compress;
mod content;
mod cook;
mod document;
mod earlier_pak;
mod gltf;
mod link;
mod loose;
mod plan;
mod sink;
mod sources;
mod staging;
mod whole;

pub use loose::Loose;
pub use sources::SourceAnimation;

use crate::PakBuf;
use bake_paths::BakePaths;
use cook::NodeAction;
use kiln_engine::{
    Code, Diag, Event, Events, Fs, Inputs, Journal, Limits, Plan as Run, Real, RelPath, Severity, Shard,
    SourceTree, State, Store as Shared, Tree, Why, run,
};
use plan::{Plan, Recipe};
use sink::PakSink;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Why there is no new pak: every finding, in order.
#[derive(Debug)]
pub struct BakeError {
    /// At least one is an error.
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

/// One asset of a bake and how it fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BakedAsset {
    /// The file that describes it, and where in it.
    pub name: String,
    /// Why it was baked; `None` when it was as it should be.
    pub why: Option<Why>,
    /// Whether it was in the shared store and only had to be copied.
    pub fetched: bool,
}

/// What a bake did.
#[derive(Debug)]
pub struct Baked {
    /// The assets that are baked from files, by name.
    pub assets: Vec<BakedAsset>,
    /// What deserves a look.
    pub warnings: Vec<Diag>,
    /// How many keys the pak has.
    pub keys: usize,
    /// Its length.
    pub file_len: u64,
    /// Whether the file that was there was right already, and was left alone.
    pub unchanged: bool,
}

impl Baked {
    /// How many assets were baked.
    pub fn built(&self) -> usize {
        self.assets.iter().filter(|asset| asset.why.is_some() && !asset.fetched).count()
    }

    /// How many assets came from the shared store.
    pub fn fetched(&self) -> usize {
        self.assets.iter().filter(|asset| asset.fetched).count()
    }
}

/// What to bake, and how.
pub struct Bake<'a> {
    src: PathBuf,
    dst: PathBuf,
    dir: Option<PathBuf>,
    cache: Option<PathBuf>,
    jobs: usize,
    force: bool,
    overwrite: bool,
    store: Option<&'a Shared>,
    shard: Option<Shard>,
    limits: Limits,
    events: &'a dyn Events,
}

impl<'a> Bake<'a> {
    /// Bakes what the content file `src` lists into `dst`.
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
            shard: None,
            limits: Limits::default(),
            events: &(),
        }
    }

    /// The root that patterns, `/…` paths and keys are relative to, in place of the folder of the content file.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// The folder that remembers what was baked, in place of that of the output.
    pub fn cache(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache = Some(dir.into());
        self
    }

    /// On how many threads. The bytes do not depend on it.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Bakes everything, whatever is remembered.
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Replaces a regular file at the path of the pak that is neither a pak nor recorded by the journal.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Where results are looked for and put beyond this pak.
    pub fn store(mut self, store: &'a Shared) -> Self {
        self.store = Some(store);
        self
    }

    /// Bakes only this part of the assets, for the store alone: no pak is written.
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = Some(shard);
        self
    }

    /// Limits on each asset, in place of the default ones.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The limits on what is read to make a plan, which has no deadline: its time is that of all descriptions.
    fn plan_limits(&self) -> Limits {
        Limits { max_time: None, ..self.limits }
    }

    /// Who is told what happens.
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
        let src = Real::open(&root).map_err(|e| path_error(Code::Unreadable, &root, "read", &e))?;
        let tree = src.walk(None).map_err(|e| path_error(Code::Unreadable, &root, "read", &e))?;
        Ok((src, tree))
    }

    /// The text of the content file.
    fn text(&self) -> Result<String, Diag> {
        let read = || {
            let mut file = crate::source::open(&self.src)?;
            let (mut text, len) = (Vec::new(), file.metadata()?.len());
            file.read_to_end(&mut text)?;
            // Half of the list is another list.
            let whole = text.len() as u64 >= len;
            whole.then_some(text).ok_or_else(|| std::io::Error::other("it ends before its end"))
        };
        let text = read().map_err(|e| path_error(Code::Unreadable, &self.src, "read", &e))?;
        String::from_utf8(text)
            .map_err(|_| Diag::new(Code::Unreadable, "it is not UTF-8").path(self.src.display()))
    }

    /// Tells files that are never assets: the content file, the output, and what is remembered of it.
    fn own(&self, src: &Real) -> impl Fn(&RelPath) -> bool {
        let paths = [&self.src, &self.dst].into_iter();
        let mine: Vec<PathBuf> = paths.filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        let (journal, root) = (self.journal_name(), src.root().to_path_buf());
        move |path| path.file_name().starts_with(&journal) || mine.contains(&path.below(&root))
    }

    fn plan(&self, text: &str, inputs: &mut Inputs<'_>, src: &Real, tree: &Tree) -> Result<Plan, BakeError> {
        let name = self.src.display().to_string();
        plan::plan(name, text, inputs, tree, &self.own(src)).map_err(|problems| BakeError { problems })
    }

    /// The name of the journal: that of the output, hidden.
    fn journal_name(&self) -> String {
        let name =
            self.dst.file_name().map_or_else(|| "pak".to_owned(), |name| name.to_string_lossy().into_owned());
        format!(".{name}.cache")
    }

    /// Bakes.
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
            // Before anything is baked, and again when the pak is placed.
            paths.admit(&journal, self.overwrite)?;
        }
        let text = self.text()?;
        let fingerprint = whole::fingerprint(&text, &tree, &self.own(&src));
        let sources = SourceTree { fs: &src, tree: &tree };
        if !self.force
            && self.shard.is_none()
            && let Some(mut baked) = whole::unchanged(sources, &paths, &mut journal, &fingerprint)?
        {
            paths.remove_partial();
            baked.warnings.extend(warnings);
            return Ok(baked);
        }
        let mut inputs = Inputs::new(sources).limited(self.plan_limits());
        let plan = self.plan(&text, &mut inputs, &src, &tree)?;
        let mut baked = self.bake(&plan, sources, &paths, &mut journal)?;
        if self.shard.is_none() {
            let record = whole::record(&fingerprint, &inputs, &plan, &journal, &paths, &baked);
            paths.remember(&mut journal, record)?;
        }
        baked.warnings.extend(warnings);
        Ok(baked)
    }

    /// Bakes what changed, and writes the pak.
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
        let actions: Vec<_> = plan.nodes.iter().filter(|node| mine(node)).map(NodeAction).collect();
        let sink = PakSink::new(paths, journal, self.force);
        let how = Run {
            force: self.force,
            prune: self.shard.is_none(),
            store: self.store,
            limits: self.limits,
            events: self.events,
            ..Run::new(&pool)
        };
        let outcomes = run(sources, &sink, journal, &actions, &[LINK], how)?;

        let mut payloads = pool.install(|| link::immediate(plan, &sink))?;
        let (mut assets, mut warnings, mut errors) = (Vec::new(), plan.warnings.clone(), Vec::new());
        let nodes = payloads.iter_mut().zip(&plan.nodes).filter(|(_, node)| mine(node));
        for ((payload, node), outcome) in nodes.zip(outcomes) {
            warnings.extend(outcome.warnings);
            *payload = outcome.artifacts.first().map(Into::into);
            let (why, fetched) = match outcome.state {
                State::Fresh => (None, false),
                State::Built(why) => (Some(why), false),
                State::Fetched(why) => (Some(why), true),
                State::Failed(error) => {
                    errors.push(*error);
                    continue;
                }
            };
            assets.push(BakedAsset { name: node.name.to_string(), why, fetched });
        }
        assets.sort_by(|a, b| a.name.cmp(&b.name));
        if !errors.is_empty() {
            sink.write_partial(plan, &payloads);
            warnings.extend(errors);
            return Err(BakeError { problems: warnings });
        }
        if self.shard.is_some() {
            return Ok(Baked { assets, warnings, keys: 0, file_len: 0, unchanged: true });
        }
        let layout = link::layout(plan, &payloads)?;
        let unchanged = sink.write(&layout, journal, self.overwrite)?;
        Ok(Baked { assets, warnings, keys: plan.keys.len(), file_len: layout.file_len(), unchanged })
    }
}

/// The journal's name for the pak. No asset can have it: paths do not start with a slash.
const LINK: &str = "//pak";

/// Returns whether a recipe reads files, and so is an action.
fn is_action(recipe: &Recipe) -> bool {
    matches!(
        recipe,
        Recipe::Blob(_) | Recipe::Bitmap(_) | Recipe::Params(_) | Recipe::Mesh(..) | Recipe::Animation(_)
    )
}

/// An error about a path that the user named.
fn path_error(code: Code, path: &Path, what: &str, error: &std::io::Error) -> Diag {
    Diag::new(code, format!("cannot {what} it: {error}")).path(path.display())
}

impl PakBuf {
    /// Bakes what the content file `src` lists into `dst`, relative to the folder of `src`.
    pub fn bake(src: impl AsRef<Path>, dst: impl AsRef<Path>) -> Result<(), BakeError> {
        Bake::new(src.as_ref(), dst.as_ref()).run().map(|_| ())
    }

    /// Bakes what the content file `src` lists into `dst`, relative to `dir`.
    pub fn bake_with_dir(
        src: impl AsRef<Path>,
        dst: impl AsRef<Path>,
        dir: impl AsRef<Path>,
    ) -> Result<(), BakeError> {
        Bake::new(src.as_ref(), dst.as_ref()).dir(dir.as_ref()).run().map(|_| ())
    }
}
