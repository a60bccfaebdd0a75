//! `assetc cache`: statistics and eviction of the build cache.

use super::Session;
use super::args::CacheCommand;
use kiln_cli::progress::Verbosity;
use kiln_cli::reporter::OK;
use kiln_cli::store::Sources;
use kiln_cli::{render, store};
use kiln_engine::store::settings::parse_size;
use kiln_engine::{Code, Diag, Json};
use std::time::SystemTime;

pub(super) fn cache(session: &Session, command: &CacheCommand) -> Result<u8, Diag> {
    let config = session.config()?;
    let user = session.user()?;
    let Some(place) = store::place(
        Sources { user: &user, project: Some(config.project_cache()) },
        &kiln_cli::environment::env,
    )?
    else {
        return Err(Diag::new(Code::CacheDisabled, "the build cache is disabled or has no directory")
            .hint("set KILN_CACHE_DIR to a directory"));
    };
    place.warnings.iter().for_each(|warning| session.report(warning));
    let cache = place.open("assetc")?;
    let dir = place.dir.display().to_string();
    match command {
        CacheCommand::Stats => {
            let stats = cache.stats();
            let idle = stats.oldest.and_then(|at| SystemTime::now().duration_since(at).ok());
            if session.reporter.json {
                let members = Json::object([
                    ("dir", dir.into()),
                    ("records", stats.records.into()),
                    ("blobs", stats.blobs.into()),
                    ("bytes", stats.bytes.into()),
                    ("max_bytes", place.max_size.into()),
                    ("oldest_use_s", idle.map(|idle| idle.as_secs()).into()),
                ]);
                session.reporter.print_json(members);
                return Ok(OK);
            }
            let mut out = session.reporter.out();
            out.line(&format!(
                "{dir}: {}, {}, {} of {}",
                render::count(stats.records, "record", "records"),
                render::count(stats.blobs, "file", "files"),
                render::size(stats.bytes),
                render::size(place.max_size),
            ));
            if let Some(idle) = idle {
                let days = (idle.as_secs() / 86_400) as usize;
                let days = render::count(days, "day", "days");
                out.line(&format!("the least recently used entry was used {days} ago"));
            }
        }
        CacheCommand::Gc { max_size, dry_run } => {
            let max = match max_size {
                Some(text) => parse_size(text).ok_or_else(|| {
                    Diag::new(Code::Usage, format!("--max-size must be a size such as 500 MB, got '{text}'"))
                })?,
                None => place.max_size,
            };
            let swept = cache.sweep(max, *dry_run);
            if session.reporter.json {
                let members = Json::object([
                    ("dir", dir.into()),
                    ("removed", swept.removed.into()),
                    ("freed", swept.freed.into()),
                    ("left", swept.left.into()),
                    ("dry_run", (*dry_run).into()),
                ]);
                session.reporter.print_json(members);
            } else if session.reporter.verbosity > Verbosity::Quiet {
                let verb = if *dry_run { "would remove" } else { "removed" };
                let (files, freed) =
                    (render::count(swept.removed, "file", "files"), render::size(swept.freed));
                let left = render::size(swept.left);
                session.reporter.out().line(&format!("{dir}: {verb} {files}, {freed}; {left} left"));
            }
        }
    }
    Ok(OK)
}
