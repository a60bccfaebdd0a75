//! The arguments of `unity-assetdb`.

use clap::{Args, Parser, Subcommand};
use kiln_cli::manual::Manual;
use kiln_cli::terminal::Color;
use std::path::PathBuf;

/// An index of a Unity project: what is this GUID, and who uses it? No editor needed.
///
/// Questions bring the index up to date first, which takes a fraction of a second.
#[derive(Debug, Parser)]
#[command(name = "unity-assetdb", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 found, or fine; 1 not found, or a problem; 2 usage or environment.\n\
    Results are a table on a terminal and tab-separated elsewhere.")]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What every command takes.
#[derive(Args, Debug)]
pub(super) struct Common {
    /// The project [default: the nearest one at or above the current directory]
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) project: Option<PathBuf>,
    /// Where the index is [default: <project>/Library/unity-assetdb]
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) out_dir: Option<PathBuf>,
    /// Answer from the index as it is
    #[arg(long, global = true)]
    pub(super) no_refresh: bool,
    /// Print one JSON object per line
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Say nothing but errors
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// When to use colour
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", global = true)]
    pub(super) color: Color,
}

/// What a bake takes.
#[derive(Args, Debug)]
pub(super) struct BakeArgs {
    /// Replace each of these characters in names by _
    #[arg(long, value_name = "CHARS")]
    pub(super) scrub_chars: Option<String>,
    /// Fail if anything is odd
    #[arg(long)]
    pub(super) strict: bool,
    /// Fail where no parent directory separates two names, instead of using extensions
    #[arg(long)]
    pub(super) strict_names: bool,
    /// Read everything, whatever the last bake knew
    #[arg(long)]
    pub(super) no_cache: bool,
    /// How many threads to use [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Bring the index up to date
    Bake(BakeArgs),
    /// The GUID of an asset
    Guid {
        /// Its path, relative to the project or to the current directory
        path: String,
    },
    /// The path of an asset
    Path {
        /// Its GUID
        guid: String,
    },
    /// What a reference leads to
    Resolve {
        /// A GUID
        guid: String,
        /// A fileID
        #[arg(allow_hyphen_values = true)]
        file_id: Option<i64>,
    },
    /// Everything whose name contains a text, or matches a pattern with * and ?
    Find {
        /// A text, in any case
        pattern: String,
    },
    /// Every asset
    List {
        /// Only of this type: a class (Sprite), a number (213), a script's name, or Script:GUID
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
    },
    /// Who refers to an asset, with file and line
    Uses {
        /// A GUID or a path
        asset: String,
    },
    /// What an asset refers to
    Deps {
        /// A GUID or a path
        asset: String,
    },
    /// Assets that nothing leads to from the settings, scenes in the build, Resources, Addressables or code
    Unused,
    /// References that lead nowhere
    Broken,
    /// Everything that deserves a look before the project is shared
    Check {
        /// Fail on uncertain findings, too
        #[arg(long)]
        strict: bool,
    },
    /// Put names where a text has references
    Annotate {
        /// A file [default: standard input]
        file: Option<PathBuf>,
    },
    /// What moved, was renamed, added, removed or changed its type between two databases
    Diff {
        /// An asset-db.bin
        old: PathBuf,
        /// Another
        new: PathBuf,
    },
    #[command(flatten)]
    Manual(Manual),
}
