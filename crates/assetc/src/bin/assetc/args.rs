//! The arguments of `assetc`.

use super::audience::{Address, address};
use super::report::ReportArgs;
use clap::{Args, Parser, Subcommand};
use kiln_cli::limits::LimitArgs;
use kiln_cli::manual::Manual;
use kiln_cli::voice::Flags;
use kiln_engine::Shard;
use std::path::PathBuf;

/// Compile source art into GPU-ready runtime files: incrementally, in parallel, deterministically.
///
/// Without a command, everything under the input directory of the nearest assetc.yml (default: assets) that changed
/// is compiled into the output directory (default: runtime).
#[derive(Debug, Parser)]
#[command(name = "assetc", version, max_term_width = 100)]
#[command(mut_arg("verbose", |verbose| verbose.help(VERBOSE)))]
#[command(
    after_help = "Exit codes: 0 fine; 1 an asset failed or a runtime file is damaged; 2 usage, configuration or environment."
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) build: BuildArgs,
}

const VERBOSE: &str = "Say why each asset was built, and all there is to say about each file";

/// What every command takes.
#[derive(Args, Debug)]
pub(super) struct Common {
    /// Do as if started in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(super) directory: Option<PathBuf>,
    /// Output directory; overrides the configuration and the preset
    #[arg(short, long, value_name = "DIR", global = true)]
    pub(super) output: Option<PathBuf>,
    /// Use this preset of assetc.yml
    #[arg(long, value_name = "NAME", global = true)]
    pub(super) preset: Option<String>,
    /// Trust the project for this run: its programs, servers and directories outside it (as KILN_TRUST=1 does)
    #[arg(long, global = true)]
    pub(super) trust: bool,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// What a build takes.
#[derive(Args, Debug, Default)]
pub(super) struct BuildArgs {
    /// How many threads to use [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// List the presets of assetc.yml and exit
    #[arg(long)]
    pub(super) list_presets: bool,
    /// Read every output again and check it
    #[arg(long)]
    pub(super) verify: bool,
    /// Build everything, whatever the cache and the store of results say
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Bundle the output into one <output>.hpack
    #[arg(long)]
    pub(super) pack: bool,
    /// Replace files at the paths of outputs that no earlier build wrote; links are never replaced
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Build one part of several for the shared cache, such as 1/4: neither manifest nor pack is written
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Shard>,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

impl BuildArgs {
    /// These flags together with those that stood in front of the command.
    pub(super) fn and(self, outer: BuildArgs) -> BuildArgs {
        BuildArgs {
            jobs: self.jobs.or(outer.jobs),
            list_presets: self.list_presets || outer.list_presets,
            verify: self.verify || outer.verify,
            no_cache: self.no_cache || outer.no_cache,
            pack: self.pack || outer.pack,
            overwrite: self.overwrite || outer.overwrite,
            shard: self.shard.or(outer.shard),
            limits: self.limits.and(outer.limits),
        }
    }

    /// The first of its flags that was given and that `watch` does not take.
    pub(super) fn given_beyond_watch(&self) -> Option<&'static str> {
        let taken =
            BuildArgs { jobs: None, pack: false, overwrite: false, limits: LimitArgs::default(), ..*self };
        taken.given()
    }

    /// The first of its flags that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.jobs.is_some(), "--jobs"),
            (self.list_presets, "--list-presets"),
            (self.verify, "--verify"),
            (self.no_cache, "--no-cache"),
            (self.pack, "--pack"),
            (self.overwrite, "--overwrite"),
            (self.shard.is_some(), "--shard"),
        ];
        let flag = flags.into_iter().find(|(given, _)| *given).map(|(_, name)| name);
        flag.or_else(|| self.limits.given())
    }
}

/// What a watch takes.
#[derive(Args, Debug)]
#[command(after_help = "Ctrl-C ends it with exit code 0, whatever the last build gave.")]
pub(super) struct WatchArgs {
    /// How many threads to use [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// Bundle the output into one <output>.hpack after every build
    #[arg(long)]
    pub(super) pack: bool,
    /// Replace files at the paths of outputs that no earlier build wrote; links are never replaced
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Tell programs that connect here which runtime files changed: a port of this machine, or the path of a socket
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(super) notify: Option<Address>,
    /// Look this often for changes that the system did not tell of
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = interval)]
    pub(super) interval: f64,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

impl WatchArgs {
    /// These flags together with those that stood in front of the command.
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
    seconds.ok_or_else(|| "expected seconds, from 0.1 to 86400".to_owned())
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Compile what changed (what happens without a command, too)
    Build(BuildArgs),
    /// Compile what changed, again and again, until Ctrl-C
    Watch(WatchArgs),
    /// Write a starter assetc.yml here
    Init,
    /// Show what is in the output directory, or in a directory or pack
    Info {
        /// A directory or a .hpack [default: the output directory]
        path: Option<PathBuf>,
    },
    /// Check that the output directory, or a directory or pack, is whole
    Check {
        /// A directory or a .hpack [default: the output directory]
        path: Option<PathBuf>,
    },
    /// Write one HTML page about the output directory, or a directory or pack: sizes, pictures, meshes, what grew
    Report(ReportArgs),
    /// Look at packs
    #[command(subcommand)]
    Pack(PackCommand),
    /// Look after the store of results that builds share
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Remove what builds wrote to the output, and nothing else
    Clean,
    /// Trust this project: let builds use the programs, servers and outside directories that its assetc.yml names
    Trust(TrustArgs),
    /// Tell everything about one source: recipe, settings and where they come from, what it read, whether it is stale
    Explain {
        /// A source file or folder
        source: PathBuf,
    },
    /// Show what depends on what: which sources read which files and became which runtime files
    Graph {
        /// Only what this source, input or output has to do with
        path: Option<String>,
    },
    #[command(flatten)]
    Manual(Manual),
    /// Compile the shaders that come in on standard input; not for people
    #[command(name = SERVE_SHADERS, hide = true)]
    ServeShaders {
        /// How many bytes of memory it may map
        #[arg(default_value_t = u64::MAX)]
        memory: u64,
    },
}

/// The command that the program starts itself with to compile shaders in a process of its own.
pub(super) const SERVE_SHADERS: &str = "serve-shaders";

#[derive(Debug, Subcommand)]
pub(super) enum CacheCommand {
    /// Show where it is and what it holds
    Stats,
    /// Remove what was not used for longest until it is small enough
    Gc {
        /// How much may stay, such as 500 MB [default: the configured limit, 20 GB]
        #[arg(long, value_name = "SIZE")]
        max_size: Option<String>,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

/// What `assetc trust` takes.
#[derive(Args, Debug)]
#[command(
    after_help = "Trust is recorded in the user's configuration directory and ends when one of these settings changes."
)]
pub(super) struct TrustArgs {
    /// List the trusted projects
    #[arg(long, conflicts_with = "revoke")]
    pub(super) list: bool,
    /// Trust this project no longer
    #[arg(long)]
    pub(super) revoke: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum PackCommand {
    /// Show the layout of a pack, what kinds of files are in it, and every entry
    Info {
        /// The pack [default: <output>.hpack]
        file: Option<PathBuf>,
    },
}
