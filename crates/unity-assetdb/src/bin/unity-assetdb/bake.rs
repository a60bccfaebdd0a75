//! `bake`, and the refresh before a question.

use super::args::BakeArgs;
use super::{Failure, Session};
use ::unity_assetdb::bake::{BakeError, BakeOptions, Extra, NameSanitizer, bake_with};
use ::unity_assetdb::guid::Guid;
use ::unity_assetdb::index::Index;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::voice::{FAILED, OK, TROUBLE};
use kiln_engine::{Code, Diag, Json};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often progress is drawn at the most.
const REDRAW: Duration = Duration::from_millis(80);

pub(super) fn bake(session: &Session, args: &BakeArgs) -> Result<u8, Failure> {
    let root = session.root()?;
    let out_dir = session.out_dir(&root);
    let timing = std::env::var_os("UNITY_ASSETDB_TIMING").is_some();
    let verbose = std::env::var_os("UNITY_ASSETDB_VERBOSE").is_some();
    let quiet = session.voice.verbosity == Verbosity::Quiet;
    let scrub = args.scrub_chars.clone().unwrap_or_default();
    let options = BakeOptions {
        project_root: root.clone(),
        out_dir: out_dir.clone(),
        name_sanitizer: sanitizer(&scrub),
        // Diagnostics are in the report.
        on_warn: None,
        on_progress: Some(Box::new(move |line| {
            if !quiet {
                let _ = writeln!(io::stderr(), "{}{}", erase(), render::printable(line));
            }
        })),
        verbose_timing: timing,
        verbose_collisions: verbose,
    };
    let extra = Extra {
        strict_names: args.strict_names,
        no_cache: args.no_cache,
        inside_project: session.out_dir.is_none(),
        jobs: args.jobs.map(usize::from),
        note: scrub,
        on_walk: (!quiet && io::stderr().is_terminal()).then(progress),
        on_note: Some(Box::new(move |line| {
            if !quiet {
                let _ = writeln!(io::stderr(), "{}", render::printable(line));
            }
        })),
        on_wait: Some(Box::new(|| {
            let _ = writeln!(io::stderr(), "waiting for another bake of this output to end");
        })),
    };
    let report = bake_with(&options, &extra).map_err(failure)?;
    for diag in &report.warnings {
        session.voice.say(diag);
    }
    if session.voice.json {
        let warnings = Json::list(report.warnings.iter().map(render::diag_json));
        let result = Json::object([
            ("entries", report.entries.into()),
            ("walked", report.walked.into()),
            ("hit", report.hit.into()),
            ("parsed", report.parsed.into()),
            ("wrote", report.wrote.into()),
            ("database", out_dir.join("asset-db.bin").display().to_string().into()),
            ("warnings", warnings),
        ]);
        session.voice.out().line(&result.to_string());
    }
    Ok(if args.strict && !report.warnings.is_empty() { FAILED } else { OK })
}

/// Brings the index up to date, with the options of the last bake.
pub(super) fn refresh(session: &Session, root: &Path, out_dir: &Path) -> Result<(), Failure> {
    let (scrub, strict_names) = match Index::open(out_dir) {
        Ok(index) => (index.note().unwrap_or_default().to_owned(), index.has_strict_names()),
        Err(_) => (String::new(), false),
    };
    let options = BakeOptions {
        project_root: root.to_owned(),
        out_dir: out_dir.to_owned(),
        name_sanitizer: sanitizer(&scrub),
        on_warn: None,
        on_progress: None,
        verbose_timing: false,
        verbose_collisions: false,
    };
    let draw = session.voice.verbosity > Verbosity::Quiet && io::stderr().is_terminal();
    let inside_project = session.out_dir.is_none();
    let on_walk = draw.then(progress);
    let extra = Extra { strict_names, inside_project, note: scrub, on_walk, ..Extra::default() };
    let done = bake_with(&options, &extra);
    if draw {
        let _ = write!(io::stderr(), "{}", erase());
    }
    done.map(drop).map_err(failure)
}

/// Replaces characters by `_`.
fn sanitizer(chars: &str) -> Option<NameSanitizer> {
    let chars: Vec<char> = chars.chars().collect();
    if chars.is_empty() {
        return None;
    }
    Some(Box::new(move |name| name.contains(&*chars).then(|| name.replace(&*chars, "_"))))
}

/// Takes the line of progress away, where there may be one.
fn erase() -> &'static str {
    if io::stderr().is_terminal() { "\r\x1b[K" } else { "" }
}

fn progress() -> Box<dyn Fn(usize) + Send + Sync> {
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

/// What is said of a bake that failed: every duplicate and every clash of names on its own.
fn failure(error: BakeError) -> Failure {
    match error {
        BakeError::Duplicates(found) => {
            let diag = |(guid, paths): (u128, Vec<String>)| {
                let message =
                    format!("{} assets have the guid {}: {}", paths.len(), Guid(guid), paths.join(", "));
                Diag::new(Code::UnityDuplicateGuid, message)
                    .path(&paths[0])
                    .hint("give all but one of them a new .meta")
            };
            Failure { diags: found.into_iter().map(diag).collect(), code: FAILED }
        }
        BakeError::Names(found) => {
            let diag = |(name, claimants): (String, Vec<(u128, String)>)| {
                let paths: Vec<&str> = claimants.iter().map(|(_, path)| &**path).collect();
                let message = format!(
                    "nothing tells {} assets named {name:?} apart: {}",
                    paths.len(),
                    paths.join(", ")
                );
                Diag::new(Code::UnityAmbiguousName, message).hint("rename one of them")
            };
            Failure { diags: found.into_iter().map(diag).collect(), code: FAILED }
        }
        BakeError::Output(diag) => Failure { diags: vec![*diag], code: TROUBLE },
        BakeError::Walk(error) => Diag::new(Code::UnityProject, error.to_string()).into(),
        error => {
            let code = TROUBLE;
            Failure { diags: vec![Diag::new(Code::UnityBake, error.to_string())], code }
        }
    }
}
