//! The `bake` command, and the refresh before a query.

use super::args::BakeArgs;
use super::{Failure, Session};
use ::unity_assetdb::bake::{
    BakeError, BakeOptions, Extra, NameSanitizer, bake_with, refresh as refresh_index,
};
use ::unity_assetdb::index::Index;
use ::unity_assetdb::query::check::grouped;
use ::unity_assetdb::query::duplicates::duplicate_guid;
use ::unity_assetdb::store::StoreError;
use kiln_cli::interrupt;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, FATAL, OK};
use kiln_engine::{Code, Diag, Json};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The shortest interval between two updates of the progress line.
const REDRAW: Duration = Duration::from_millis(80);

pub(super) fn bake(session: &Session, args: &BakeArgs) -> Result<u8, Failure> {
    interrupt::handle("the index of the last bake was not changed");
    let root = session.root()?;
    let out_dir = session.out_dir(&root);
    let timing = std::env::var_os("UNITY_ASSETDB_TIMING").is_some();
    let verbose = std::env::var_os("UNITY_ASSETDB_VERBOSE").is_some();
    let quiet = session.reporter.verbosity == Verbosity::Quiet;
    let scrub = args.scrub_chars.clone().unwrap_or_default();
    let options = BakeOptions {
        project_root: root.clone(),
        out_dir: out_dir.clone(),
        name_sanitizer: sanitizer(&scrub),
        // Diagnostics are in the report.
        on_warn: None,
        on_progress: Some(Box::new(move |line| {
            if !quiet {
                let _ = writeln!(io::stderr(), "{}{}", clear_progress(), render::printable(line));
            }
        })),
        verbose_timing: timing,
        verbose_collisions: verbose,
    };
    let extra = Extra::default()
        .strict_names(args.strict_names)
        .no_cache(args.no_cache)
        .inside_project(session.out_dir.is_none())
        .jobs(args.jobs.map(usize::from))
        .note(scrub)
        .on_walk((!quiet && io::stderr().is_terminal()).then(progress_line))
        .on_note(move |line| {
            if !quiet {
                let _ = writeln!(io::stderr(), "{}", render::printable(line));
            }
        })
        .on_wait(|| {
            let _ = writeln!(io::stderr(), "waiting for another bake of this output directory to finish");
        });
    let report = bake_with(&options, &extra).map_err(|error| failure(&root, error))?;
    for diag in grouped(report.warnings.clone()) {
        session.reporter.say(&diag);
    }
    if session.reporter.json {
        let warnings = session.reporter.diags_json(&report.warnings);
        let result = Json::object([
            ("entries", report.entries.into()),
            ("walked", report.walked.into()),
            ("hit", report.hit.into()),
            ("parsed", report.parsed.into()),
            ("wrote", report.wrote.into()),
            ("database", out_dir.join("asset-db.bin").display().to_string().into()),
            ("warnings", warnings),
        ]);
        session.reporter.print_json(result);
    }
    Ok(OK)
}

/// Brings the index up to date with the options of the last bake, and opens it.
pub(super) fn refresh(session: &Session, root: &Path, out_dir: &Path) -> Result<Index, Failure> {
    let draw = session.reporter.verbosity > Verbosity::Quiet && io::stderr().is_terminal();
    let extra = Extra::default()
        .inside_project(session.out_dir.is_none())
        .no_cache(session.rebuild.get())
        .on_walk(draw.then(progress_line));
    let index = refresh_index(root, out_dir, extra, &sanitizer);
    if draw {
        let _ = write!(io::stderr(), "{}", clear_progress());
    }
    index.map_err(|error| failure(root, error))
}

/// Replaces characters by `_`.
fn sanitizer(chars: &str) -> Option<NameSanitizer> {
    let chars: Vec<char> = chars.chars().collect();
    if chars.is_empty() {
        return None;
    }
    Some(Box::new(move |name| name.contains(&*chars).then(|| name.replace(&*chars, "_"))))
}

/// The escape sequence that clears the progress line; empty if standard error is no terminal.
fn clear_progress() -> &'static str {
    if io::stderr().is_terminal() { "\r\x1b[K" } else { "" }
}

fn progress_line() -> Box<dyn Fn(usize) + Send + Sync> {
    let drawn = Mutex::new(Instant::now());
    Box::new(move |walked| {
        if let Ok(mut drawn) = drawn.try_lock()
            && drawn.elapsed() >= REDRAW
        {
            *drawn = Instant::now();
            let _ = write!(io::stderr(), "\r\x1b[K{walked} assets");
        }
    })
}

/// Converts the error of a bake to diagnostics: one for each duplicate GUID and each ambiguous name.
fn failure(root: &Path, error: BakeError) -> Failure {
    match error {
        BakeError::Duplicates(found) => {
            let diag = |(guid, paths): (u128, Vec<String>)| duplicate_guid(root, guid, &paths);
            Failure::new(found.into_iter().map(diag).collect(), FAILED)
        }
        BakeError::Names(found) => {
            let diag = |(name, claimants): (String, Vec<(u128, String)>)| {
                let paths: Vec<&str> = claimants.iter().map(|(_, path)| &**path).collect();
                let message = format!(
                    "{} assets are named {name:?} and neither directories nor extensions distinguish them: {}",
                    paths.len(),
                    paths.join(", ")
                );
                Diag::new(Code::UnityAmbiguousName, message).hint("rename one of them")
            };
            Failure::new(found.into_iter().map(diag).collect(), FAILED)
        }
        BakeError::Objects(found) => Failure::new(found, FAILED),
        BakeError::Output(diag) => Failure::new(vec![*diag], FATAL),
        BakeError::Walk(error) => Diag::new(Code::UnityProject, error.to_string()).into(),
        BakeError::Store(StoreError::Io(error)) => {
            let diag = Diag::new(Code::UnityBake, format!("cannot update the index: {error}"));
            let hint = "pass --out-dir DIR to keep the index in another directory, or --no-refresh to query the last one";
            Failure::new(vec![diag.hint(hint)], FATAL)
        }
        error => Failure::new(vec![Diag::new(Code::UnityBake, error.to_string())], FATAL),
    }
}
