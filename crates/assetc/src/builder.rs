//! The builder for one build of a project: the entry point for programs that use the library.

use crate::build::{BuildReport, Request, build};
use crate::config::{Config, Roots};
use crate::dry_run::{DryRun, dry_run};
use crate::tools::Tools;
use kiln_engine::remote::RemoteExecution;
use kiln_engine::{Diag, Events, Limits, RelPath, Shard, Store};
use std::path::Path;

/// One incremental build of a project, configured step by step and started with [`run`](Build::run).
///
/// Every option has a default: the preset and directories of the configuration, one thread per core, no external
/// programs, no cache beside the output, and no progress events.
///
/// ```no_run
/// use assetc::{Build, config::Config};
/// use std::path::Path;
///
/// # fn main() -> Result<(), assetc::Diag> {
/// let config = Config::discover(Path::new("/home/me/game"))?;
/// let report = Build::new(&config).preset(Some("mobile")).pack(true).run()?;
/// println!("{} built, {} up to date, {} failed", report.built(), report.fresh(), report.failed());
/// for (source, error) in report.errors() {
///     eprintln!("{source}: {error}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Build<'a> {
    config: &'a Config,
    preset: Option<&'a str>,
    output: Option<&'a Path>,
    home: Option<&'a Path>,
    tools: Option<&'a Tools>,
    jobs: usize,
    force: bool,
    verify: bool,
    overwrite: bool,
    pack: bool,
    cache: Option<&'a Store>,
    remote: Option<&'a RemoteExecution>,
    shard: Option<Shard>,
    only: Option<&'a [RelPath]>,
    brief: bool,
    limits: Limits,
    events: &'a dyn Events,
}

impl<'a> Build<'a> {
    /// Prepares a build of the project of a configuration.
    pub fn new(config: &'a Config) -> Build<'a> {
        Build {
            config,
            preset: None,
            output: None,
            home: None,
            tools: None,
            jobs: available_cores(),
            force: false,
            verify: false,
            overwrite: false,
            pack: false,
            cache: None,
            remote: None,
            shard: None,
            only: None,
            brief: false,
            limits: Limits::default(),
            events: &(),
        }
    }

    /// Selects a preset; `None` selects the one that the configuration names, if any.
    #[must_use]
    pub fn preset(self, preset: Option<&'a str>) -> Build<'a> {
        Build { preset, ..self }
    }

    /// Sets the output directory, absolute; `None` takes that of the preset or of the configuration.
    #[must_use]
    pub fn output(self, output: Option<&'a Path>) -> Build<'a> {
        Build { output, ..self }
    }

    /// Sets the home directory of the user, which is refused as an output.
    #[must_use]
    pub fn home(self, home: Option<&'a Path>) -> Build<'a> {
        Build { home, ..self }
    }

    /// Sets the external programs and the shader workers. Without them, shaders are compiled in this process.
    #[must_use]
    pub fn tools(self, tools: &'a Tools) -> Build<'a> {
        Build { tools: Some(tools), ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Build<'a> {
        Build { jobs, ..self }
    }

    /// Ignores the journal and the cache, and builds every source.
    #[must_use]
    pub fn force(self, force: bool) -> Build<'a> {
        Build { force, ..self }
    }

    /// Reads every output again and validates its structure.
    #[must_use]
    pub fn verify(self, verify: bool) -> Build<'a> {
        Build { verify, ..self }
    }

    /// Replaces regular files at the paths of outputs, manifest and pack that no recorded build wrote.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Build<'a> {
        Build { overwrite, ..self }
    }

    /// Writes a pack, also if the configuration does not ask for one.
    #[must_use]
    pub fn pack(self, pack: bool) -> Build<'a> {
        Build { pack, ..self }
    }

    /// Sets the build cache that other outputs and machines share.
    #[must_use]
    pub fn cache(self, cache: Option<&'a Store>) -> Build<'a> {
        Build { cache, ..self }
    }

    /// Sets the server that compiles sources, beside the threads of this machine. Its workers run
    /// [`run_action`](crate::run_action).
    #[must_use]
    pub fn remote_execution(self, remote: Option<&'a RemoteExecution>) -> Build<'a> {
        Build { remote, ..self }
    }

    /// Builds one shard of the sources. Neither manifest nor pack is written, and outputs of other sources stay.
    #[must_use]
    pub fn shard(self, shard: Option<Shard>) -> Build<'a> {
        Build { shard, ..self }
    }

    /// Builds these sources, and those in these folders, only; paths are relative to the input. Outputs and manifest
    /// entries of all other sources stay as they are. `None` builds all.
    #[must_use]
    pub fn only(self, only: Option<&'a [RelPath]>) -> Build<'a> {
        Build { only, ..self }
    }

    /// Sets whether the report of a build that has nothing to do leaves out the sources without warnings and the lists of
    /// unused files; their numbers are in it. Such a build then costs little more than comparing timestamps.
    #[must_use]
    pub fn brief(self, brief: bool) -> Build<'a> {
        Build { brief, ..self }
    }

    /// Sets the limits on pixels, memory and time of each source.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Build<'a> {
        Build { limits, ..self }
    }

    /// Sets the receiver of build events, for progress and cancellation.
    #[must_use]
    pub fn events(self, events: &'a dyn Events) -> Build<'a> {
        Build { events, ..self }
    }

    /// Brings the output up to date with its sources.
    ///
    /// A source that cannot be compiled is no error here: it is [in the report](BuildReport::errors), and all other
    /// sources are built.
    ///
    /// # Errors
    ///
    /// The preset is unknown, a path of [`only`](Build::only) is not a source, a directory is missing or unsafe as an output, the configuration is not
    /// [trusted](Config::trust) and names a directory outside the project, the output cannot be written, or the build
    /// was cancelled.
    pub fn run(&self) -> Result<BuildReport, Diag> {
        self.with_request(build)
    }

    /// Determines what [`run`](Build::run) would build and remove, and writes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Build::run) that concern the configuration and the directories.
    pub fn dry_run(&self) -> Result<DryRun, Diag> {
        self.with_request(dry_run)
    }

    fn with_request<T>(&self, run: impl Fn(&Request<'_>) -> Result<T, Diag>) -> Result<T, Diag> {
        let preset = self.config.select_preset(self.preset)?;
        let roots = Roots::locate(self.config, preset, self.output)?;
        roots.check_output(self.home)?;
        let no_tools = Tools::default();
        run(&Request {
            roots: &roots,
            resolver: &self.config.resolver(preset),
            tools: self.tools.unwrap_or(&no_tools),
            jobs: self.jobs,
            force: self.force,
            verify: self.verify,
            overwrite: self.overwrite,
            manifest: self.config.manifest(),
            manifest_on_failure: self.config.manifest_on_failure(),
            pack_unowned: self.config.pack_unowned(),
            pack_compress: self.config.pack_compress(),
            pack: self.pack || self.config.pack(),
            cache: self.cache,
            remote: self.remote,
            shard: self.shard,
            only: self.only,
            budgets: self.config.budgets(),
            brief: self.brief,
            limits: self.limits,
            events: self.events,
        })
    }
}

/// Returns the number of cores that the process may use, at least 1.
pub(crate) fn available_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
