//! The arguments of `unity-assetdb`.

use clap::{Args, Parser, Subcommand, ValueEnum};
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

/// The options of `unused`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct UnusedArgs {
    /// Print the size of each asset in bytes, and the total
    #[arg(long)]
    pub(super) size: bool,
    /// Print only paths, of assets that are certainly unused and of their .meta files, for a script that deletes them
    #[arg(long, conflicts_with = "size")]
    pub(super) delete_list: bool,
    /// Treat scenes that are disabled in the build settings as used
    #[arg(long)]
    pub(super) all_scenes: bool,
    /// Go on if the references of a used scene or prefab cannot be read
    #[arg(long)]
    pub(super) allow_unreadable: bool,
}

/// The options of `review`.
#[derive(Args, Debug)]
pub(super) struct ReviewArgs {
    /// Revisions of Git: BASE..HEAD, or BASE for BASE..HEAD with the current HEAD
    pub(super) range: String,
    /// Set the format of the summary
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(super) format: ReviewFormat,
}

/// The format of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReviewFormat {
    /// Text for a terminal
    Text,
    /// Markdown for a comment on a pull request
    Markdown,
    /// One JSON object
    Json,
}

/// The options of commands that change the project.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct EditArgs {
    /// Show the changes without writing them
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Change files that have uncommitted changes, or are in no Git repository
    #[arg(long)]
    pub(super) force: bool,
}

/// The options of `check`.
#[derive(Args, Debug, Default)]
pub(super) struct CheckArgs {
    /// Report only problems that the current branch and the working tree introduced since they left REF
    #[arg(long, value_name = "REF")]
    pub(super) changed_since: Option<String>,
    /// Do not report the findings in FILE
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Write all findings to the baseline and succeed
    #[arg(long, requires = "baseline")]
    pub(super) update_baseline: bool,
    /// Ignore findings by code and path as FILE says [default: .unity-assetdb-ignore in the project]
    #[arg(long, value_name = "FILE")]
    pub(super) ignore_file: Option<PathBuf>,
    /// Do not look up missing GUIDs in the history of the Git repository
    #[arg(long)]
    pub(super) no_history: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create or update the index
    Bake(BakeArgs),
    /// Print the GUID of an asset
    Guid {
        /// Path, name, reference or GUID of the asset
        asset: String,
    },
    /// Print the path of an asset
    Path {
        /// GUID, name, reference or path of the asset
        asset: String,
    },
    /// Resolve a reference to the asset or object it points to
    Resolve {
        /// GUID of the asset, a whole {fileID: …, guid: …} reference, FILE:LINE of one, a path or a name
        asset: String,
        /// fileID of the object inside the asset
        #[arg(allow_hyphen_values = true, value_parser = file_id)]
        file_id: Option<i64>,
    },
    /// Find assets and sub-assets by name
    Find {
        /// Substring of the name, or a pattern with * and ?; case is ignored
        pattern: String,
    },
    /// List all assets, or the assets and sub-assets of one type
    List {
        /// List only objects of this type: a class (Sprite), a class ID (213), the name of a script, or Script:GUID
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
    },
    /// List the references to an asset, with file and line
    Uses {
        /// GUID, path, name, folder, {fileID: …, guid: …} reference or FILE:LINE
        asset: String,
        /// List all assets that depend on it, directly or not
        #[arg(long, short)]
        recursive: bool,
    },
    /// List the references of an asset to others
    Deps {
        /// GUID, path, name, folder, {fileID: …, guid: …} reference or FILE:LINE
        asset: String,
        /// List all assets that it depends on, directly or not
        #[arg(long, short)]
        recursive: bool,
        /// Print the size of each asset in bytes, and the total
        #[arg(long, requires = "recursive")]
        size: bool,
    },
    /// Show the shortest chain of references from a root of the build to an asset
    Why {
        /// GUID, path, name, {fileID: …, guid: …} reference or FILE:LINE
        asset: String,
        /// Treat scenes that are disabled in the build settings as roots
        #[arg(long)]
        all_scenes: bool,
    },
    /// List assets that are unreachable from the settings, scenes in the build, Resources, Addressables and code
    Unused(UnusedArgs),
    /// List references to missing assets or objects
    Broken,
    /// Check the project for problems, such as before a commit or in CI
    ///
    /// Errors fail the check, warnings only with --strict or --deny.
    Check(CheckArgs),
    /// Replace references in a text with names and paths
    Annotate {
        /// File to read, or - for standard input [default: -]
        file: Option<PathBuf>,
    },
    /// Compare two databases: assets added, removed, moved, renamed or of another type
    Diff {
        /// The old asset-db.bin
        old: PathBuf,
        /// The new asset-db.bin
        new: PathBuf,
    },
    /// Summarize the changes of a branch: assets, objects and values, with names in place of GUIDs
    ///
    /// Compares HEAD with the commit at which it left BASE, and lists problems that the branch introduces.
    Review(ReviewArgs),
    /// Rewrite all references to one asset so that they point to another
    Replace {
        /// The asset or object that references point to: path, name, GUID, GUID:fileID or {fileID: …, guid: …}
        old: String,
        /// The asset or object that they should point to
        new: String,
        #[command(flatten)]
        edit: EditArgs,
    },
    /// Move or rename an asset or folder together with its .meta
    Mv {
        /// Path, name or GUID of the asset
        from: String,
        /// The new path, or an existing folder
        to: String,
        #[command(flatten)]
        edit: EditArgs,
    },
    /// Answer questions of AI assistants: a Model Context Protocol server on standard input and output
    Mcp {
        /// Offer the tools that change the project: replace and mv
        #[arg(long)]
        allow_writes: bool,
    },
    /// Answer questions of editors: a Language Server Protocol server on standard input and output
    Lsp,
    /// Keep the index up to date while files change, for queries with --no-refresh
    #[command(visible_alias = "serve")]
    Watch,
    #[command(flatten)]
    Manual(Manual),
}

fn file_id(text: &str) -> Result<i64, &'static str> {
    text.trim().parse().map_err(|_| "a fileID is a whole number of 64 bits, such as 21300000")
}
