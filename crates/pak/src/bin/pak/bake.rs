//! `pak bake`.

use ::pak::bake::{Bake, BakeError, Baked};
use kiln_cli::limits::LimitArgs;
use kiln_cli::progress::{Progress, Verbosity};
use kiln_cli::store::Sources;
use kiln_cli::voice::{FAILED, OK, Voice};
use kiln_cli::{render, store, user};
use kiln_engine::{Diag, Json, Shard, Store};
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
    pub(super) overwrite: bool,
    pub(super) shard: Option<Shard>,
    pub(super) limits: LimitArgs,
}

pub(super) fn bake(voice: &Voice, args: &Args) -> Result<u8, Diag> {
    let start = Instant::now();
    // Baking has no project file: the environment and the user's configuration say where the cache is.
    let user = user::load_config(&kiln_cli::environment::env)?;
    user.warnings().iter().for_each(|warning| voice.say(warning));
    let place = store::place(Sources { user: &user, project: None }, &kiln_cli::environment::env)?;
    let kept = place.as_ref().and_then(|place| match place.open("pak") {
        Ok(kept) => Some(kept),
        Err(warning) => {
            voice.say(&warning);
            None
        }
    });
    let progress = Progress::new(voice.verbosity, voice.color);
    let mut bake = Bake::new(&*args.toml, &*args.pak).force(args.no_cache);
    bake = bake.overwrite(args.overwrite).events(&progress);
    bake = bake.limits(args.limits.over(*user.limits()));
    if let Some(dir) = &args.dir {
        bake = bake.dir(&**dir);
    }
    if let Some(cache) = &args.cache {
        bake = bake.cache(&**cache);
    }
    if let Some(jobs) = args.jobs {
        bake = bake.jobs(jobs.into());
    }
    if let Some(kept) = &kept {
        bake = bake.store(kept);
    }
    if let Some(shard) = args.shard {
        kept.as_ref().ok_or_else(|| store::shard_needs_store(shard))?;
        bake = bake.shard(shard);
    }
    let result = bake.run();
    progress.clear();
    if let (Some(kept), Some(place)) = (&kept, &place) {
        let part_took = args.shard.map(|_| start.elapsed());
        place.finish(kept, part_took).iter().for_each(|warning| voice.say(warning));
    }
    match result {
        Ok(baked) => {
            baked.warnings.iter().for_each(|warning| voice.say(warning));
            if voice.json {
                voice.out().line(&told(&baked, kept.as_ref()).to_string());
            } else if voice.verbosity > Verbosity::Quiet {
                summary(voice, args, &baked, start);
                if let Some(line) = kept.as_ref().and_then(|kept| store::line(&kept.figures())) {
                    voice.out().line(&line);
                }
            }
            Ok(OK)
        }
        Err(error) => failed(voice, args, &error),
    }
}

fn failed(voice: &Voice, args: &Args, error: &BakeError) -> Result<u8, Diag> {
    error.problems.iter().for_each(|problem| voice.say(problem));
    if voice.json {
        let problems = Json::list(error.problems.iter().map(render::diag_json));
        voice.out().line(&Json::object([("ok", false.into()), ("problems", problems)]).to_string());
    } else if voice.verbosity > Verbosity::Quiet && args.pak.exists() {
        voice.out().line(&format!("{} was left as it was", args.pak.display()));
    }
    Ok(FAILED)
}

fn summary(voice: &Voice, args: &Args, baked: &Baked, start: Instant) {
    let mut out = voice.out();
    let state = if baked.unchanged { "unchanged" } else { "written" };
    let fetched = match baked.fetched() {
        0 => String::new(),
        n => format!("{n} fetched, "),
    };
    let assets = format!(
        "{}: {} baked, {fetched}{} cached",
        render::count(baked.assets.len(), "asset", "assets"),
        baked.built(),
        baked.assets.len() - baked.built() - baked.fetched(),
    );
    let took = out.style.faint(&format!("({})", render::time(start.elapsed())));
    out.line(&match args.shard {
        Some(shard) => format!("shard {shard}: {assets} {took}"),
        None => format!(
            "{assets}; {} {state}: {}, {} {took}",
            args.pak.display(),
            render::count(baked.keys, "key", "keys"),
            render::size(baked.file_len),
        ),
    });
}

fn told(baked: &Baked, kept: Option<&Store>) -> Json {
    let asset = |asset: &::pak::bake::BakedAsset| {
        let why = asset.why.as_ref().map_or(Json::Null, |why| why.to_string().into());
        Json::object([("name", asset.name.as_str().into()), ("why", why), ("fetched", asset.fetched.into())])
    };
    Json::object([
        ("ok", true.into()),
        ("unchanged", baked.unchanged.into()),
        ("keys", baked.keys.into()),
        ("bytes", baked.file_len.into()),
        ("built", baked.built().into()),
        ("fetched", baked.fetched().into()),
        ("store", kept.map(|kept| store::json(&kept.figures())).into()),
        ("warnings", Json::list(baked.warnings.iter().map(render::diag_json))),
        ("assets", Json::list(baked.assets.iter().map(asset))),
    ])
}
