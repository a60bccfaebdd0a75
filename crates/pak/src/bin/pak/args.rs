//! The command-line arguments of `pak`.

use super::extract::ExtractArgs;
use super::report::ReportArgs;
use clap::{Parser, Subcommand};
use kiln_cli::limits::LimitArgs;
use kiln_cli::manual::Manual;
use kiln_cli::remote_execution::RemoteExecutionArgs;
use kiln_cli::reporter::Flags;
use kiln_engine::Shard;
use std::path::PathBuf;

/// Bake assets described in TOML into a pak file, and inspect pak files.
#[derive(Debug, Parser)]
#[command(name = "pak", version, max_term_width = 100)]
#[command(mut_arg("verbose", |verbose| verbose.help("Show why each asset was baked")))]
#[command(
    after_help = "Exit codes: 0 success; 1 an asset failed, a pak is damaged or two paks differ; 2 usage, configuration or environment error."
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// The internal command with which a server of remote execution starts this program.
pub(super) const RUN_ACTION: &str = "run-action";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Bake the assets that a content file lists into a pak
    Bake {
        /// Path of the content file
        toml: PathBuf,
        /// Path of the pak to write
        pak: PathBuf,
        /// Root directory of patterns, paths and keys [default: the directory of the content file]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Directory of the bake journal [default: the directory of the pak]
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// Number of threads [default: one per core]
        #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        jobs: Option<u16>,
        /// Ignore the journal and bake every asset
        #[arg(long)]
        no_cache: bool,
        /// Replace a file at the output path that is not a pak and that no earlier bake wrote; symbolic links are never replaced
        #[arg(long)]
        overwrite: bool,
        /// Bake one shard of the assets into the shared cache, such as 1/4; no pak is written
        #[arg(long, value_name = "I/N")]
        shard: Option<Shard>,
        #[command(flatten)]
        remote: RemoteExecutionArgs,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Run the action of a request file in the working directory, as a worker of remote execution (internal)
    #[command(name = RUN_ACTION, hide = true)]
    RunAction,
    /// Bake again when sources change, and print the keys that differ
    Watch {
        /// Path of the content file
        toml: PathBuf,
        /// Path of the pak to write
        pak: PathBuf,
        /// Root directory of patterns, paths and keys [default: the directory of the content file]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Polling interval in milliseconds
        #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..))]
        poll_ms: u32,
    },
    /// List the keys of a pak with kind, sizes and codec
    List {
        /// Path of the pak
        pak: PathBuf,
        /// List assets without keys as well, and the sizes by kind
        #[arg(long)]
        all: bool,
        /// Read each asset and show its format, dimensions and counts
        #[arg(short, long)]
        long: bool,
    },
    /// Show details of one asset: format, dimensions, mip levels, vertex layout, compression and sizes
    #[command(visible_alias = "inspect")]
    Info {
        /// Path of the pak
        pak: PathBuf,
        /// Key of the asset, or the name that `list --all` shows
        key: String,
    },
    /// Extract assets as files: blobs unchanged, images as PNG or KTX2, meshes as GLB, the rest as JSON
    Extract(ExtractArgs),
    /// Write an HTML report of the assets: images, meshes, sizes, and growth since an earlier report
    Report(ReportArgs),
    /// Verify all checksums of a pak, and that every asset can be read
    Verify {
        /// Path of the pak
        pak: PathBuf,
        /// Verify the signature file <PAK>.sig with this public key as well
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Create a key pair for signatures: the secret key and, with the extension .pub, the public key
    Keygen {
        /// Path of the secret key
        key: PathBuf,
    },
    /// Sign a pak: write the signature file <PAK>.sig
    Sign {
        /// Path of the pak
        pak: PathBuf,
        /// Path of the secret key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Write a delta patch that turns one pak into another
    Patch {
        /// Path of the old pak
        old: PathBuf,
        /// Path of the new pak
        new: PathBuf,
        /// Path of the patch to write
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
        /// Replace a file at the output path that is not a pak; symbolic links are never replaced
        #[arg(long)]
        overwrite: bool,
    },
    /// Apply a delta patch to a pak: write the new pak
    Apply {
        /// Path of the old pak
        old: PathBuf,
        /// Path of the patch
        patch: PathBuf,
        /// Path of the pak to write
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
        /// Replace a file at the output path that is not a pak; symbolic links are never replaced
        #[arg(long)]
        overwrite: bool,
    },
    /// Merge paks into one; assets of later paks override those of earlier ones
    Merge {
        /// Paths of the paks
        #[arg(required = true)]
        paks: Vec<PathBuf>,
        /// Path of the pak to write
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
        /// Replace a file at the output path that is not a pak; symbolic links are never replaced
        #[arg(long)]
        overwrite: bool,
    },
    /// Add the assets of other paks to a pak; they override those with the same keys
    Append {
        /// Path of the pak to extend
        pak: PathBuf,
        /// Paths of the paks to add
        #[arg(required = true)]
        more: Vec<PathBuf>,
    },
    /// Compare two paks: show changed keys
    Diff {
        /// Path of the old pak
        old: PathBuf,
        /// Path of the new pak
        new: PathBuf,
        /// Show the size of a patch as well, which takes as long as `pak patch`
        #[arg(long)]
        patch_size: bool,
    },
    /// Print the keys, one per line or as Rust constants
    Keys {
        /// Path of the pak
        pak: PathBuf,
        /// Print a Rust module of constants
        #[arg(long)]
        rust: bool,
    },
    /// Print the JSON Schema of content files and descriptions, for editors and validators
    Schema,
    #[command(flatten)]
    Manual(Manual),
}
