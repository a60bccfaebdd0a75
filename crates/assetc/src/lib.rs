//! Kiln's asset compiler as a library: compiles a tree of source assets (images, HDR environment maps, glTF, OBJ and FBX
//! models, materials, fonts, shaders, colour lookup tables) to GPU-ready runtime files, incrementally, in parallel and
//! deterministically.
//!
//! # Concepts
//!
//! A **source** is a file, or a folder that is compiled as a whole, below the input directory. The suffix of its name
//! selects the **recipe** that compiles it: `wall.n.png` is a normal map, `sky.env.hdr` an environment map,
//! `water.shader/` a folder of shader stages. [`config::Config`] is the `assetc.yml` of a project; it resolves the
//! settings of each source from defaults, presets and rules.
//!
//! A [`Build`] plans one action per source, skips those whose outputs are up to date according to the **journal** in the
//! output directory, runs the others on a thread pool, and writes the **manifest** ([`MANIFEST`]) and, if requested, a
//! **pack** of all files. A source that fails does not stop the others. Output bytes do not depend on the number of
//! threads or on the location of the project.
//!
//! [`watch::Watch`] repeats builds whenever something changes. [`info::info`], [`check()`], [`explain()`], [`graph()`],
//! [`pack::pack_info`] and [`clean()`] inspect or remove the result. Errors and warnings are [`Diag`] values with a
//! [`Code`] to match on.
//!
//! The library prints nothing, and reads no environment variables and no files that it is not given: the executable of
//! the same name is its command line.
//!
//! # Example
//!
//! ```
//! use assetc::{Build, Code, config::Config};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let project = tempfile::tempdir()?;
//! std::fs::create_dir(project.path().join("assets"))?;
//! std::fs::write(project.path().join("assets/warm.lut.cube"), "LUT_3D_SIZE 2\n0 0.5 1\n")?;
//! std::fs::write(project.path().join("assets/readme.txt"), "copied")?;
//! std::fs::write(project.path().join("assetc.yml"), "embed: \"*.txt\"\n")?;
//!
//! let config = Config::discover(project.path())?;
//! let report = Build::new(&config).jobs(2).run()?;
//! assert_eq!((report.built(), report.failed()), (1, 1));
//! // The lookup table has one of eight entries.
//! let (source, error) = report.errors().next().expect("one source failed");
//! assert_eq!((source.as_str(), error.code), ("warm.lut.cube", Code::CubeCount));
//! assert!(project.path().join("runtime/readme.txt").exists());
//!
//! // The second build finds the copy up to date.
//! assert_eq!(Build::new(&config).run()?.fresh(), 1);
//! # Ok(())
//! # }
//! ```

mod artifact;
pub mod budget;
mod build;
mod builder;
mod cache_check;
mod check;
mod checkpoint;
mod clean;
pub mod config;
mod content;
pub mod convert;
pub mod depfile;
mod digests;
mod dry_run;
mod explain;
pub mod extract;
mod failures;
mod graph;
pub mod info;
mod link;
mod output;
pub mod pack;
#[doc(hidden)]
pub mod plan;
mod recipe;
mod recipes;
mod remote_action;
mod runtime;
pub mod schema;
mod size_target;
mod skipped;
mod standalone;
pub mod stats;
mod texture_format;
mod texture_role;
pub mod tools;
pub mod watch;

pub use build::{AssetReport, BuildReport};
pub use builder::Build;
pub use check::{CheckReport, check};
pub use clean::{CleanReport, clean};
pub use digests::DIGEST_FILE;
pub use dry_run::DryRun;
pub use explain::{Explanation, explain};
pub use graph::{Graph, GraphNode, graph};
pub use kiln_engine::{
    Code, Diag, Event, Events, Limits, RebuildReason, RelPath, Severity, Shard, State, Store,
    remote::RemoteExecution,
};
pub use link::MANIFEST;
pub use remote_action::run_action;
pub use runtime::{RuntimeFiles, file_format};
pub use standalone::Duplicates;
