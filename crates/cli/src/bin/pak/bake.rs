//! `pak bake`.

use super::{FAILED, OK, Session};
use ::pak::bake::{Bake, BakeError, Baked};
use kiln_cli::json::Json;
use kiln_cli::progress::{Progress, Verbosity};
use kiln_cli::render;
use kiln_kit::Diag;
use std::path::PathBuf;
use std::time::Instant;

/// What was asked for.
pub(super) struct Args {
    pub(super) toml: PathBuf,
    pub(super) pak: PathBuf,
    pub(super) dir: Option<PathBuf>,
    pub(super) cache: Option<PathBuf>,
    pub(super) jobs: Option<u16>,
    pub(super) no_cache: bool,
}

pub(super) fn bake(session: &Session, args: &Args) -> Result<u8, Diag> {
    let start = Instant::now();
    let progress = Progress::new(session.verbosity, session.color);
    let mut bake = Bake::new(&*args.toml, &*args.pak).force(args.no_cache).events(&progress);
    if let Some(dir) = &args.dir {
        bake = bake.dir(&**dir);
    }
    if let Some(cache) = &args.cache {
        bake = bake.cache(&**cache);
    }
    if let Some(jobs) = args.jobs {
        bake = bake.jobs(jobs.into());
    }
    let result = bake.run();
    progress.clear();
    match result {
        Ok(baked) => {
            baked.warnings.iter().for_each(|warning| session.say(warning));
            if session.json {
                session.out().line(&told(&baked).to_string());
            } else if session.verbosity > Verbosity::Quiet {
                summary(session, args, &baked, start);
            }
            Ok(OK)
        }
        Err(error) => failed(session, args, &error),
    }
}

fn failed(session: &Session, args: &Args, error: &BakeError) -> Result<u8, Diag> {
    error.problems.iter().for_each(|problem| session.say(problem));
    if session.json {
        let problems = Json::list(error.problems.iter().map(render::diag_json));
        session.out().line(&Json::object([("ok", false.into()), ("problems", problems)]).to_string());
    } else if session.verbosity > Verbosity::Quiet && args.pak.exists() {
        session.out().line(&format!("{} was left as it was", args.pak.display()));
    }
    Ok(FAILED)
}

fn summary(session: &Session, args: &Args, baked: &Baked, start: Instant) {
    let mut out = session.out();
    let state = if baked.unchanged { "unchanged" } else { "written" };
    let line = format!(
        "{}: {} baked, {} cached; {} {state}: {}, {} {}",
        render::count(baked.assets.len(), "asset", "assets"),
        baked.built(),
        baked.assets.len() - baked.built(),
        args.pak.display(),
        render::count(baked.keys, "key", "keys"),
        render::size(baked.file_len),
        out.style.faint(&format!("({})", render::time(start.elapsed()))),
    );
    out.line(&line);
}

fn told(baked: &Baked) -> Json {
    let asset = |asset: &::pak::bake::BakedAsset| {
        let why = asset.why.as_ref().map_or(Json::Null, |why| why.to_string().into());
        Json::object([("name", asset.name.as_str().into()), ("why", why)])
    };
    Json::object([
        ("ok", true.into()),
        ("unchanged", baked.unchanged.into()),
        ("keys", baked.keys.into()),
        ("bytes", baked.file_len.into()),
        ("built", baked.built().into()),
        ("warnings", Json::list(baked.warnings.iter().map(render::diag_json))),
        ("assets", Json::list(baked.assets.iter().map(asset))),
    ])
}
