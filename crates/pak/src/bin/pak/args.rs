//! The arguments of `pak`.

use clap::{Parser, Subcommand};
use kiln_cli::limits::LimitArgs;
use kiln_cli::manual::Manual;
use kiln_cli::voice::Flags;
use kiln_engine::Shard;
use std::path::PathBuf;

/// Bake assets described in TOML into one file, and look into such files.
#[derive(Debug, Parser)]
#[command(name = "pak", version, max_term_width = 100)]
#[command(mut_arg("verbose", |verbose| verbose.help("Say why each asset was baked")))]
#[command(
    after_help = "Exit codes: 0 fine; 1 an asset failed, a file is damaged or two differ; 2 usage, configuration or environment."
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) flags: Flags,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Bake what a content file lists into a pak
    Bake {
        /// The content file
        toml: PathBuf,
        /// The pak to write
        pak: PathBuf,
        /// The root of patterns, paths and keys [default: the folder of the content file]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// The folder that remembers what was baked [default: that of the pak]
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// How many threads to use [default: one per core]
        #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        jobs: Option<u16>,
        /// Bake everything, whatever is remembered
        #[arg(long)]
        no_cache: bool,
        /// Replace a file at the path of the pak that is no pak and that no earlier bake wrote; a link is never replaced
        #[arg(long)]
        overwrite: bool,
        /// Bake one part of several for the shared cache, such as 1/4: no pak is written
        #[arg(long, value_name = "I/N")]
        shard: Option<Shard>,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// List the keys of a pak: kind, sizes and codec
    List {
        /// The pak
        pak: PathBuf,
    },
    /// Tell everything about one asset
    Info {
        /// The pak
        pak: PathBuf,
        /// The asset's key
        key: String,
    },
    /// Write assets out as files: blobs as they are, the others as their payload
    Extract {
        /// The pak
        pak: PathBuf,
        /// The folder to write to
        dir: PathBuf,
        /// Only these keys [default: all]
        keys: Vec<String>,
    },
    /// Check every byte of a pak, and that every asset can be read
    Verify {
        /// The pak
        pak: PathBuf,
    },
    /// Say which keys differ, and how many bytes a patch has to carry
    Diff {
        /// The pak before
        old: PathBuf,
        /// The pak after
        new: PathBuf,
    },
    /// Print the keys, one a line, or as constants
    Keys {
        /// The pak
        pak: PathBuf,
        /// As a Rust module of constants
        #[arg(long)]
        rust: bool,
    },
    #[command(flatten)]
    Manual(Manual),
}
