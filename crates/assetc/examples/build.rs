//! Builds a project from a program: `cargo run -p assetc --example build -- examples/showcase`.
//!
//! The first argument is the directory of the project, the second one, if any, a preset. Progress goes to standard error,
//! and the exit code is 1 if a source failed.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example program")]

use assetc::config::Config;
use assetc::{Build, Diag, Event, Events};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Prints the sources that are built. Events arrive on any thread of the pool.
struct Progress;

impl Events for Progress {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Waiting => eprintln!("waiting for another build of this project"),
            Event::Started { source } => eprintln!("building {source}"),
            _ => {}
        }
    }
}

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let project = PathBuf::from(args.next().unwrap_or_else(|| ".".into()));
    let preset = args.next().map(|preset| preset.to_string_lossy().into_owned());
    match build(&project, preset.as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Runs one build and prints its result; returns whether every source succeeded.
fn build(project: &Path, preset: Option<&str>) -> Result<bool, Diag> {
    // Paths of a configuration are absolute; a directory that does not exist is reported by the build.
    let project = std::path::absolute(project).unwrap_or_else(|_| project.to_path_buf());
    let config = Config::discover(&project)?;
    config.warnings().iter().for_each(|warning| eprintln!("{warning}"));

    let report = Build::new(&config).preset(preset).pack(true).events(&Progress).run()?;

    report.problems.iter().for_each(|problem| eprintln!("{problem}"));
    for (source, error) in report.errors() {
        eprintln!("{source}: {error}");
    }
    println!("{} built, {} up to date, {} failed", report.built(), report.fresh(), report.failed());
    if let Some(pack) = &report.packed {
        println!("{} files in {}", pack.files, pack.path.display());
    }
    Ok(report.is_ok())
}
