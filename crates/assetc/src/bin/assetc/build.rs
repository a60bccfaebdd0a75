//! `assetc`, `assetc --list-presets` and `assetc clean`.

use super::{BuildArgs, Session};
use ::assetc::build::{Asset, Report, Request};
use ::assetc::config::Roots;
use ::assetc::link::MANIFEST;
use kiln_cli::progress::{Progress, Verbosity};
use kiln_cli::store::Sources;
use kiln_cli::voice::{FAILED, OK};
use kiln_cli::{render, store};
use kiln_engine::{Diag, Json, Shard, State, Store};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) fn build(session: &Session, args: &BuildArgs) -> Result<u8, Diag> {
    if args.list_presets {
        return list_presets(session);
    }
    let start = Instant::now();
    let (config, roots) = session.project()?;
    let home = std::env::home_dir();
    roots.check_output(home.as_deref())?;
    let preset = session.preset(&config)?;
    let resolver = config.resolver(preset);
    if session.voice.verbosity == Verbosity::Verbose {
        let name = |file: &Path| session.shown(file);
        session.voice.note(&format!("config: {}", config.file().map_or_else(|| "none".to_owned(), name)));
        session.voice.note(&format!("preset: {}", preset.map_or("none", |preset| preset.name())));
    }
    let user = session.user()?;
    let tools = session.tools(&config, &user);
    config.ignored_tools().iter().for_each(|warning| session.say(warning));
    let place = store::place(
        Sources { user: &user, project: Some(config.project_cache()) },
        &kiln_cli::environment::env,
    )?;
    place.iter().flat_map(|place| &place.warnings).for_each(|warning| session.say(warning));
    let kept = place.as_ref().and_then(|place| match place.open("assetc") {
        Ok(kept) => Some(kept),
        Err(warning) => {
            session.say(&warning);
            None
        }
    });
    if let (Some(shard), None) = (args.shard, &kept) {
        return Err(store::shard_needs_store(shard));
    }
    let progress = Progress::new(session.voice.verbosity, session.voice.color);
    let request = Request {
        roots: &roots,
        resolver: &resolver,
        tools: &tools,
        jobs: args.jobs.map_or_else(cores, usize::from),
        force: args.no_cache,
        verify: args.verify,
        overwrite: args.overwrite,
        manifest: config.manifest(),
        pack: args.pack || config.pack(),
        store: kept.as_ref(),
        shard: args.shard,
        limits: args.limits.over(*user.limits()),
        events: &progress,
    };
    let result = ::assetc::build::build(&request);
    progress.clear();
    let report = result?;

    if let (Some(kept), Some(place)) = (&kept, &place) {
        let part_took = args.shard.map(|_| start.elapsed());
        place.finish(kept, part_took).iter().for_each(|warning| session.say(warning));
    }
    say_all(session, &report, |_| true);
    if session.voice.json {
        session.voice.out().line(&report_json(&report, &roots, kept.as_ref()).to_string());
    } else if session.voice.verbosity > Verbosity::Quiet {
        summary(session, &report, &roots, args.shard, start.elapsed());
        if let Some(line) = kept.as_ref().and_then(|kept| store::line(&kept.figures())) {
            session.voice.out().line(&line);
        }
    }
    Ok(if report.is_ok() { OK } else { FAILED })
}

/// Says everything that a build found: problems, the warnings of these assets, errors.
pub(super) fn say_all(session: &Session, report: &Report, warned: impl Fn(&Asset) -> bool) {
    report.problems.iter().for_each(|problem| session.say(problem));
    for asset in report.assets.iter().filter(|asset| warned(asset)) {
        asset.warnings.iter().for_each(|warning| session.say(warning));
    }
    for asset in &report.assets {
        if let State::Failed(error) = &asset.state {
            session.say(error);
        }
    }
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(super) fn summary(
    session: &Session,
    report: &Report,
    roots: &Roots,
    shard: Option<Shard>,
    took: Duration,
) {
    let mut out = session.voice.out();
    let output = session.shown(&roots.output);
    if report.assets.is_empty() {
        out.line(&format!("nothing to compile under {}", session.shown(&roots.input)));
    }
    let failed = match report.failed() {
        0 => "0 failed".to_owned(),
        n => out.style.error(&format!("{n} failed")),
    };
    let fetched = match report.fetched() {
        0 => String::new(),
        n => format!("{n} fetched, "),
    };
    let line = format!(
        "{}{}: {} built, {fetched}{} cached, {failed} -> {output} {}",
        shard.map(|shard| format!("shard {shard}: ")).unwrap_or_default(),
        render::count(report.assets.len(), "asset", "assets"),
        report.built(),
        report.fresh(),
        out.style.faint(&format!("({})", render::time(took))),
    );
    out.line(&line);
    if let Some(refs) = report.refs.filter(|_| session.voice.verbosity == Verbosity::Verbose) {
        let manifest = session.shown(&roots.output.join(MANIFEST));
        out.line(&format!("{} -> {manifest}", render::count(refs, "ref", "refs")));
    }
    if let Some(packed) = &report.packed {
        let word = if packed.unchanged { "unchanged" } else { "packed" };
        out.line(&format!(
            "{word} {} -> {}",
            render::count(packed.files, "file", "files"),
            session.shown(&packed.path)
        ));
    }
    if !report.is_ok() && shard.is_none() {
        out.line("the manifest and the pack were left as they were");
    }
}

fn report_json(report: &Report, roots: &Roots, kept: Option<&Store>) -> Json {
    let asset = |asset: &Asset| {
        let (state, why, error) = match &asset.state {
            State::Fresh => ("cached", Json::Null, Json::Null),
            State::Built(why) => ("built", why.to_string().into(), Json::Null),
            State::Fetched(why) => ("fetched", why.to_string().into(), Json::Null),
            State::Failed(error) => ("failed", Json::Null, render::diag_json(error)),
        };
        Json::object([
            ("source", asset.source.as_str().into()),
            ("kind", asset.kind.into()),
            ("state", state.into()),
            ("why", why),
            ("warnings", Json::list(asset.warnings.iter().map(render::diag_json))),
            ("error", error),
        ])
    };
    let path = |path: &Path| Json::from(path.display().to_string());
    Json::object([
        ("ok", report.is_ok().into()),
        ("output", path(&roots.output)),
        ("built", report.built().into()),
        ("fetched", report.fetched().into()),
        ("cached", report.fresh().into()),
        ("failed", report.failed().into()),
        ("refs", report.refs.into()),
        ("pack", report.packed.as_ref().map_or(Json::Null, |packed| path(&packed.path))),
        ("store", kept.map(|kept| store::json(&kept.figures())).into()),
        ("problems", Json::list(report.problems.iter().map(render::diag_json))),
        ("assets", Json::list(report.assets.iter().map(asset))),
    ])
}

fn list_presets(session: &Session) -> Result<u8, Diag> {
    let config = session.config()?;
    let chosen = config.select_preset(None)?.map(|preset| preset.name().to_owned());
    let mut out = session.voice.out();
    if session.voice.json {
        let names = Json::list(config.presets().iter().map(|preset| preset.name()));
        out.line(&Json::object([("presets", names), ("default", chosen.into())]).to_string());
        return Ok(OK);
    }
    for preset in config.presets() {
        // Plain names: scripts loop over them.
        let default =
            session.voice.verbosity == Verbosity::Verbose && chosen.as_deref() == Some(preset.name());
        out.line(&format!("{}{}", preset.name(), if default { " (default)" } else { "" }));
    }
    if config.presets().is_empty() {
        session.voice.note("no presets are defined");
    }
    Ok(OK)
}

pub(super) fn clean(session: &Session) -> Result<u8, Diag> {
    let (_, roots) = session.project()?;
    let cleaned = ::assetc::clean::clean(&roots, &|| session.waiting())?;
    cleaned.kept.iter().for_each(|kept| session.say(kept));
    if session.voice.json {
        let kept = Json::list(cleaned.kept.iter().filter_map(|kept| kept.path.as_deref()));
        session
            .voice
            .out()
            .line(&Json::object([("removed", cleaned.removed.into()), ("kept", kept)]).to_string());
    } else if session.voice.verbosity > Verbosity::Quiet {
        let output = session.shown(&roots.output);
        session.voice.out().line(&match cleaned.removed {
            0 => format!("nothing to remove: no build wrote to {output}"),
            n => format!("removed {} from {output}", render::count(n, "file", "files")),
        });
    }
    Ok(OK)
}
