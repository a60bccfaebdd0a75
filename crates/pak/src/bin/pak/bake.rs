//! The `pak bake` command.

use super::args::RUN_ACTION;
use ::pak::bake::{Bake, BakeError, Baked};
use kiln_cli::interrupt::{self, InterruptibleEvents};
use kiln_cli::json_events::{JsonEvents, milliseconds};
use kiln_cli::limits::LimitArgs;
use kiln_cli::progress::{Progress, Verbosity};
use kiln_cli::remote_execution::{self, RemoteExecutionArgs};
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_cli::store::Sources;
use kiln_cli::timings::Recorder;
use kiln_cli::{render, store, user};
use kiln_engine::remote::RemoteExecution;
use kiln_engine::{Code, Diag, Json, Shard, Store};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The arguments of `pak bake`.
pub(super) struct Args {
    pub(super) toml: PathBuf,
    pub(super) pak: PathBuf,
    pub(super) dir: Option<PathBuf>,
    pub(super) cache: Option<PathBuf>,
    pub(super) jobs: Option<u16>,
    pub(super) no_cache: bool,
    pub(super) overwrite: bool,
    pub(super) shard: Option<Shard>,
    pub(super) remote: RemoteExecutionArgs,
    pub(super) limits: LimitArgs,
}

pub(super) fn bake(reporter: &Reporter, args: &Args) -> Result<u8, Diag> {
    interrupt::handle("the pak was not changed; results in the build cache are kept");
    let start = Instant::now();
    let root = args.dir.as_deref().or_else(|| args.toml.parent()).unwrap_or(Path::new(""));
    reporter.diagnostics.set_path_bases(&[root]);
    // A bake has no project file: the environment and the user configuration locate the cache.
    let user = user::load_config(&kiln_cli::environment::env)?;
    user.warnings().iter().for_each(|warning| reporter.say(warning));
    let place = store::place(Sources { user: &user, project: None }, &kiln_cli::environment::env)?;
    let kept = place.as_ref().and_then(|place| match place.open("pak") {
        Ok(kept) => Some(kept),
        Err(warning) => {
            reporter.say(&warning);
            None
        }
    });
    let remote = args.remote.open(RUN_ACTION, &kiln_cli::environment::env)?;
    let progress = Progress::new(reporter.verbosity, reporter.color);
    let json_events = JsonEvents::new(&progress, reporter.json_lines);
    let recorder = Recorder::new(&json_events);
    let events = InterruptibleEvents::new(&recorder);
    let mut bake = Bake::new(&*args.toml, &*args.pak).force(args.no_cache);
    bake = bake.overwrite(args.overwrite).events(&events);
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
    if let Some(remote) = &remote {
        bake = bake.remote_execution(remote);
    }
    if let Some(shard) = args.shard {
        kept.as_ref().ok_or_else(|| store::shard_needs_cache(shard))?;
        bake = bake.shard(shard);
    }
    let result = bake.run();
    progress.clear();
    if let (Some(kept), Some(place)) = (&kept, &place) {
        let part_took = args.shard.map(|_| start.elapsed());
        place.finish(kept, part_took).iter().for_each(|warning| reporter.say(warning));
    }
    remote.iter().filter_map(RemoteExecution::warning).for_each(|warning| reporter.say(&warning));
    match result {
        Ok(baked) => {
            reporter.say_grouped(&baked.warnings);
            if reporter.json {
                reporter.print_json(report_json(
                    reporter,
                    &baked,
                    (kept.as_ref(), remote.as_ref()),
                    start.elapsed(),
                    &recorder,
                ));
            } else if reporter.verbosity > Verbosity::Quiet {
                summary(reporter, args, &baked, start);
                if let Some(line) = kept.as_ref().and_then(|kept| store::line(&kept.figures())) {
                    reporter.summary().line(&line);
                }
                if let Some(remote) = &remote {
                    reporter.summary().line(&remote_execution::line(&remote.figures()));
                }
            }
            Ok(OK)
        }
        Err(error) => failed(reporter, args, &error),
    }
}

fn failed(reporter: &Reporter, args: &Args, error: &BakeError) -> Result<u8, Diag> {
    reporter.say_grouped(&error.problems);
    if reporter.json {
        let problems = reporter.diags_json(&error.problems);
        reporter.print_json(Json::object([("ok", false.into()), ("problems", problems)]));
    } else if reporter.verbosity > Verbosity::Quiet && args.pak.exists() {
        reporter.summary().line(&format!("{} was not changed", args.pak.display()));
    }
    let is_cancelled = error.problems.iter().any(|problem| problem.code == Code::Cancelled);
    Ok(interrupt::exit_code().filter(|_| is_cancelled).unwrap_or(FAILED))
}

fn summary(reporter: &Reporter, args: &Args, baked: &Baked, start: Instant) {
    let mut out = reporter.summary();
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

/// Returns the report of a bake as JSON.
fn report_json(
    reporter: &Reporter,
    baked: &Baked,
    (kept, remote): (Option<&Store>, Option<&RemoteExecution>),
    total: Duration,
    recorder: &Recorder<'_>,
) -> Json {
    let durations = recorder.durations();
    let asset = |asset: &::pak::bake::BakedAsset| {
        let reason = asset.reason.as_ref().map_or(Json::Null, |reason| reason.to_string().into());
        Json::object([
            ("name", asset.name.as_str().into()),
            ("why", reason),
            ("fetched", asset.fetched.into()),
            ("duration_ms", durations.get(asset.name.as_str()).copied().map(milliseconds).into()),
        ])
    };
    Json::object([
        ("ok", (reporter.diagnostics.denied() == 0).into()),
        ("unchanged", baked.unchanged.into()),
        ("keys", baked.keys.into()),
        ("bytes", baked.file_len.into()),
        ("duration_ms", milliseconds(total)),
        ("built", baked.built().into()),
        ("fetched", baked.fetched().into()),
        ("store", kept.map(|kept| store::json(&kept.figures())).into()),
        ("remote_execution", remote.map(|remote| remote_execution::json(&remote.figures())).into()),
        ("warnings", reporter.diags_json(&baked.warnings)),
        ("assets", Json::list(baked.assets.iter().map(asset))),
    ])
}
