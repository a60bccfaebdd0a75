//! The arguments of `unity-assetdb`.

use clap::{Args, Parser, Subcommand};
use kiln_cli::diagnostics::DiagnosticArgs;
use kiln_cli::manual::Manual;
use kiln_cli::terminal::Color;
use std::path::PathBuf;

/// Index the assets and references of a Unity project, without the editor
///
/// Queries refresh the index first, which takes a fraction of a second.
#[derive(Debug, Parser)]
#[command(name = "unity-assetdb", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 success; 1 nothing found, or problems found; 2 usage or environment error.\n\
    Results are printed as a table on a terminal and as tab-separated values otherwise."
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) common: Common,
}

/// The options that all commands share.
#[derive(Args, Debug)]
pub(super) struct Common {
    /// Use the Unity project in DIR [default: the nearest one at or above the current directory]
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) project: Option<PathBuf>,
    /// Keep the index in DIR [default: <project>/Library/unity-assetdb]
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) out_dir: Option<PathBuf>,
    /// Do not refresh the index before the query
    #[arg(long, global = true)]
    pub(super) no_refresh: bool,
    /// Print one JSON object per line
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Print nothing but errors
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Use colors: auto, always or never
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", global = true)]
    pub(super) color: Color,
    #[command(flatten)]
    pub(super) diagnostics: DiagnosticArgs,
}

/// The options of `bake`.
#[derive(Args, Debug)]
pub(super) struct BakeArgs {
    /// Replace each of these characters in names with _
    #[arg(long, value_name = "CHARS")]
    pub(super) scrub_chars: Option<String>,
    /// Fail if no parent directory distinguishes two names, instead of adding extensions
    #[arg(long)]
    pub(super) strict_names: bool,
    /// Ignore the state of the last bake and read all files
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Run on N threads [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create or update the index
    Bake(BakeArgs),
    /// Print the GUID of an asset
    Guid {
        /// Path of the asset, relative to the project or to the current directory
        path: String,
    },
    /// Print the path of an asset
    Path {
        /// GUID of the asset
        guid: String,
    },
    /// Resolve a reference to the asset or object it points to
    Resolve {
        /// GUID of the asset
        guid: String,
        /// fileID of the object inside the asset
        #[arg(allow_hyphen_values = true)]
        file_id: Option<i64>,
    },
    /// Find assets and sub-assets by name
    Find {
        /// Substring of the name, or a pattern with * and ?; case is ignored
        pattern: String,
    },
    /// List all assets, or those of one type
    List {
        /// List only assets of this type: a class (Sprite), a class ID (213), the name of a script, or Script:GUID
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
    },
    /// List the references to an asset, with file and line
    Uses {
        /// GUID or path of the asset
        asset: String,
    },
    /// List the references of an asset to others
    Deps {
        /// GUID or path of the asset
        asset: String,
    },
    /// List assets that are unreachable from the settings, scenes in the build, Resources, Addressables and code
    Unused,
    /// List references to missing assets or objects
    Broken,
    /// Check the project for problems, such as before a commit or in CI
    ///
    /// References that may point into packages that are not on this machine fail the check with --strict only.
    Check,
    /// Replace references in a text with names and paths
    Annotate {
        /// File to read [default: standard input]
        file: Option<PathBuf>,
    },
    /// Compare two databases: assets added, removed, moved, renamed or of another type
    Diff {
        /// The old asset-db.bin
        old: PathBuf,
        /// The new asset-db.bin
        new: PathBuf,
    },
    #[command(flatten)]
    Manual(Manual),
}
