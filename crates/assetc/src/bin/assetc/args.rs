//! The command-line arguments of `assetc`.

use super::convert::ConvertArgs;
use super::extract::ExtractArgs;
use super::notify_server::{Address, parse_address};
use super::report::ReportArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use kiln_cli::limits::LimitArgs;
use kiln_cli::manual::Manual;
use kiln_cli::remote_execution::RemoteExecutionArgs;
use kiln_cli::reporter::Flags;
use kiln_engine::Shard;
use std::path::PathBuf;

/// Compile source assets to GPU-ready runtime files
///
/// Without a command, assetc runs an incremental build: it compiles the sources below the input directory (default:
/// assets) that are out of date to the output directory (default: runtime). Both directories are relative to the
/// nearest assetc.yml.
#[derive(Debug, Parser)]
#[command(name = "assetc", version, max_term_width = 100)]
#[command(mut_arg("verbose", |verbose| verbose.help(VERBOSE)))]
#[command(
    after_help = "Exit codes:\n  0  Success\n  1  An asset failed to build, or a runtime file is damaged\n  2  Usage, configuration or environment error"
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) build: BuildArgs,
}

const VERBOSE: &str = "Print the reason for each rebuild, and details of each file";

/// The arguments of every command.
#[derive(Args, Debug)]
pub(super) struct Common {
    /// Run as if started in DIR
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(super) directory: Option<PathBuf>,
    /// Set the output directory; overrides assetc.yml and its preset
    #[arg(short, long, value_name = "DIR", global = true)]
    pub(super) output: Option<PathBuf>,
    /// Select a preset of assetc.yml
    #[arg(long, value_name = "NAME", global = true)]
    pub(super) preset: Option<String>,
    /// Trust the project for this run: allow its programs, servers and outside directories [env: KILN_TRUST=1]
    #[arg(long, global = true)]
    pub(super) trust: bool,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// The arguments of a build.
#[derive(Args, Debug, Default)]
pub(super) struct BuildArgs {
    /// Number of threads [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// List the presets of assetc.yml and exit
    #[arg(long)]
    pub(super) list_presets: bool,
    /// Read back and validate every output
    #[arg(long)]
    pub(super) verify: bool,
    /// Ignore the cache and rebuild every source
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Bundle the output directory into one <output>.hpack
    #[arg(long)]
    pub(super) pack: bool,
    /// Replace files that no earlier build wrote; symbolic links are never replaced
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Build one shard for a shared cache, such as 1/4; writes neither manifest nor pack
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Shard>,
    /// Print source size, disk size, GPU memory, encode error and time of each asset
    #[arg(long)]
    pub(super) stats: bool,
    /// List what would be built and removed, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Write the inputs of the build as dependencies of the manifest or pack, for make and ninja
    #[arg(long, value_name = "FILE")]
    pub(super) depfile: Option<PathBuf>,
    /// Set the target in the depfile, such as a stamp file
    #[arg(long, value_name = "NAME", requires = "depfile")]
    pub(super) depfile_target: Option<String>,
    /// Write an HTML page with the duration of each asset [default: <output>.timings.html]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(super) timings: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(super) remote: RemoteExecutionArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

/// The arguments of `assetc build`.
#[derive(Args, Debug)]
pub(super) struct BuildCommand {
    /// Sources or folders to build; everything else stays as it is [default: all]
    pub(super) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) args: BuildArgs,
}

impl BuildArgs {
    /// Merges these flags with those before the name of the command.
    pub(super) fn and(self, outer: BuildArgs) -> BuildArgs {
        BuildArgs {
            jobs: self.jobs.or(outer.jobs),
            list_presets: self.list_presets || outer.list_presets,
            verify: self.verify || outer.verify,
            no_cache: self.no_cache || outer.no_cache,
            pack: self.pack || outer.pack,
            overwrite: self.overwrite || outer.overwrite,
            shard: self.shard.or(outer.shard),
            stats: self.stats || outer.stats,
            dry_run: self.dry_run || outer.dry_run,
            depfile: self.depfile.or(outer.depfile),
            depfile_target: self.depfile_target.or(outer.depfile_target),
            timings: self.timings.or(outer.timings),
            remote: self.remote.and(outer.remote),
            limits: self.limits.and(outer.limits),
        }
    }

    /// Returns the first flag that was given and that `watch` does not accept.
    pub(super) fn given_beyond_watch(&self) -> Option<&'static str> {
        self.given_flags().find(|flag| !["--jobs", "--pack", "--overwrite"].contains(flag))
    }

    /// Returns the first flag that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        self.given_flags().next().or_else(|| self.limits.given())
    }

    /// Returns the flags that were given, without limits.
    fn given_flags(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            (self.jobs.is_some(), "--jobs"),
            (self.list_presets, "--list-presets"),
            (self.verify, "--verify"),
            (self.no_cache, "--no-cache"),
            (self.pack, "--pack"),
            (self.overwrite, "--overwrite"),
            (self.shard.is_some(), "--shard"),
            (self.stats, "--stats"),
            (self.dry_run, "--dry-run"),
            (self.depfile.is_some(), "--depfile"),
            (self.timings.is_some(), "--timings"),
            (self.remote.is_given(), "--remote-execution"),
        ];
        flags.into_iter().filter(|(given, _)| *given).map(|(_, name)| name)
    }
}

/// The arguments of a watch.
#[derive(Args, Debug)]
#[command(after_help = "Press Ctrl-C to stop. The exit code is then 0, even if the last build failed.")]
pub(super) struct WatchArgs {
    /// Number of threads [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// Bundle the output directory into one <output>.hpack after every build
    #[arg(long)]
    pub(super) pack: bool,
    /// Replace files that no earlier build wrote; symbolic links are never replaced
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Notify clients of changed runtime files, for hot reload; ADDR is a loopback port or the path of a socket
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(super) notify: Option<Address>,
    /// Set the polling interval for changes without a file system event
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = interval)]
    pub(super) interval: f64,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

impl WatchArgs {
    /// Merges these flags with those before the name of the command.
    pub(super) fn and(self, outer: &BuildArgs) -> WatchArgs {
        WatchArgs {
            jobs: self.jobs.or(outer.jobs),
            pack: self.pack || outer.pack,
            overwrite: self.overwrite || outer.overwrite,
            limits: self.limits.and(outer.limits),
            ..self
        }
    }
}

fn interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 0.1 to 86400".to_owned())
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Compile sources that are out of date (the default command)
    Build(BuildCommand),
    /// Rebuild whenever sources or configuration change
    Watch(WatchArgs),
    /// Create a starter assetc.yml, the input directory and entries in .gitignore
    Init,
    /// Display the contents of output directories, packs and runtime files
    Info {
        /// Output directories, packs and runtime files [default: the output directory]
        paths: Vec<PathBuf>,
    },
    /// Check the integrity of output directories, packs and runtime files
    Check {
        /// Output directories, packs and runtime files [default: the output directory]
        paths: Vec<PathBuf>,
    },
    /// Compile one file without a project: image to .ktx2, model to .hmesh, font to .hfont
    Convert(Box<ConvertArgs>),
    /// Extract a pack to a folder, a texture to PNG, EXR or plain KTX2, a mesh to .glb
    Extract(ExtractArgs),
    /// Write an HTML report of an output directory or pack: sizes, images, meshes and growth
    Report(ReportArgs),
    /// Inspect packs
    #[command(subcommand)]
    Pack(PackCommand),
    /// Manage the build cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Remove the files that builds wrote to the output directory
    Clean,
    /// Trust this project: allow the programs, servers and outside directories that its assetc.yml names
    Trust(TrustArgs),
    /// Show recipe, settings, dependencies and rebuild reason of a source
    Explain {
        /// Source file or folder
        source: PathBuf,
    },
    /// Print the dependency graph of the last build in DOT format
    Graph {
        /// Limit the graph to sources that have, read or write this path
        path: Option<String>,
    },
    /// Print the JSON Schema of a file, for editors and validators
    Schema {
        /// File to print the schema of
        #[arg(value_enum, default_value = "assetc.yml")]
        name: SchemaName,
    },
    #[command(flatten)]
    Manual(Manual),
    /// Run the action of a request file in the working directory, as a worker of remote execution (internal)
    #[command(name = RUN_ACTION, hide = true)]
    RunAction,
    /// Compile shaders from standard input (internal)
    #[command(name = SERVE_SHADERS, hide = true)]
    ServeShaders {
        /// Memory limit in bytes
        #[arg(default_value_t = u64::MAX)]
        memory: u64,
    },
}

/// The files that have a JSON Schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum SchemaName {
    /// The project file
    #[value(name = "assetc.yml")]
    AssetcYml,
    /// Materials
    #[value(name = "mat")]
    Mat,
    /// Texture descriptions
    #[value(name = "tex")]
    Tex,
}

/// The internal command with which a server of remote execution starts this program.
pub(super) const RUN_ACTION: &str = "run-action";

/// The internal command that starts this program as a shader worker.
pub(super) const SERVE_SHADERS: &str = "serve-shaders";

#[derive(Debug, Subcommand)]
pub(super) enum CacheCommand {
    /// Display the location and size of the cache
    Stats,
    /// Evict the least recently used entries until the cache fits its limit
    Gc {
        /// Size limit, such as 500 MB [default: the configured limit, 20 GB]
        #[arg(long, value_name = "SIZE")]
        max_size: Option<String>,
        /// Report what would be evicted, without removing anything
        #[arg(long)]
        dry_run: bool,
    },
}

/// The arguments of `assetc trust`.
#[derive(Args, Debug)]
#[command(
    after_help = "Trust is recorded in the user's configuration directory and ends when one of these settings changes."
)]
pub(super) struct TrustArgs {
    /// List all trusted projects
    #[arg(long, conflicts_with = "revoke")]
    pub(super) list: bool,
    /// Revoke the trust of this project
    #[arg(long)]
    pub(super) revoke: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum PackCommand {
    /// Display the layout, file kinds and entries of a pack
    Info {
        /// Path of the pack [default: <output>.hpack]
        file: Option<PathBuf>,
    },
}
