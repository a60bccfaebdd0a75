//! `assetc build`, `assetc --list-presets` and `assetc clean`.

use super::args::RUN_ACTION;
use super::explain::source_path;
use super::{BuildArgs, Session, depfile, dry_run, stats, timings};
use ::assetc::config::Roots;
use ::assetc::{AssetReport, Build, BuildReport, Duplicates, MANIFEST};
use kiln_cli::interrupt::{self, InterruptibleEvents};
use kiln_cli::json_events::{JsonEvents, milliseconds};
use kiln_cli::progress::{Progress, Verbosity};
use kiln_cli::remote_execution;
use kiln_cli::reporter::{FAILED, OK};
use kiln_cli::store::Sources;
use kiln_cli::timings::Recorder;
use kiln_cli::{render, store};
use kiln_engine::remote::RemoteExecution;
use kiln_engine::{Diag, Json, RelPath, Severity, Shard, State, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(super) fn build(session: &Session, args: &BuildArgs, paths: &[PathBuf]) -> Result<u8, Diag> {
    if args.list_presets {
        return list_presets(session);
    }
    interrupt::handle("finished assets are kept; run the build again to continue");
    let start = Instant::now();
    let (config, roots) = session.project()?;
    let home = std::env::home_dir();
    roots.check_output(home.as_deref())?;
    let selected = selected(session, &roots, paths)?;
    let preset = session.preset(&config)?;
    if session.reporter.verbosity == Verbosity::Verbose {
        let name = |file: &Path| session.shown(file);
        session.reporter.note(&format!("config: {}", config.file().map_or_else(|| "none".to_owned(), name)));
        session.reporter.note(&format!("preset: {}", preset.map_or("none", |preset| preset.name())));
    }
    let user = session.user()?;
    let tools = session.tools(&config, &user);
    config.ignored_tools().iter().for_each(|warning| session.report(warning));
    let place = store::place(
        Sources { user: &user, project: Some(config.project_cache()) },
        &kiln_cli::environment::env,
    )?;
    place.iter().flat_map(|place| &place.warnings).for_each(|warning| session.report(warning));
    let cache = place.as_ref().and_then(|place| match place.open("assetc") {
        Ok(cache) => Some(cache),
        Err(warning) => {
            session.report(&warning);
            None
        }
    });
    if let (Some(shard), None) = (args.shard, &cache) {
        return Err(store::shard_needs_cache(shard));
    }
    let remote = args.remote.open(RUN_ACTION, &kiln_cli::environment::env)?;
    let progress = Progress::new(session.reporter.verbosity, session.reporter.color);
    let limits = args.limits.over(*user.limits());
    let json_events = JsonEvents::new(&progress, session.reporter.json_lines);
    let recorder = Recorder::new(&json_events);
    let events = InterruptibleEvents::new(&recorder);
    let mut build = Build::new(&config)
        .preset(session.preset.as_deref())
        .output(session.output.as_deref())
        .home(home.as_deref())
        .tools(&tools)
        .force(args.no_cache)
        .verify(args.verify)
        .overwrite(args.overwrite)
        .pack(args.pack)
        .cache(cache.as_ref())
        .remote_execution(remote.as_ref())
        .shard(args.shard)
        .only(selected.as_deref())
        .brief(is_brief(session, args))
        .limits(limits)
        .events(&events);
    if let Some(jobs) = args.jobs {
        build = build.jobs(jobs.into());
    }
    if args.dry_run {
        progress.clear();
        return dry_run::print(session, &build.dry_run()?, &roots);
    }
    let result = build.run();
    progress.clear();
    let report = result?;

    if let (Some(cache), Some(place)) = (&cache, &place) {
        let shard_duration = args.shard.map(|_| start.elapsed());
        place.finish(cache, shard_duration).iter().for_each(|warning| session.report(warning));
    }
    remote.iter().filter_map(RemoteExecution::warning).for_each(|warning| session.report(&warning));
    if session.reporter.verbosity == Verbosity::Verbose {
        let unused = [
            ("skipped", &report.skipped),
            ("excluded", &report.excluded),
            ("not standalone", &report.contained),
        ];
        for (word, path) in unused.iter().flat_map(|(word, paths)| paths.iter().map(move |path| (word, path)))
        {
            session.reporter.note(&format!("{word}: {path}"));
        }
    }
    report_diagnostics(session, &report);
    let stats = match args.stats {
        true => {
            let resolver = config.resolver(preset);
            let build = (&resolver, &tools);
            Some(::assetc::stats::stats(build, &roots, &report.assets, &limits, &|| session.waiting())?)
        }
        false => None,
    };
    let times = recorder.durations();
    if let Some(page) = &args.timings {
        let page = match page {
            Some(page) => session.dir.join(page),
            None => timings::beside(&roots.output),
        };
        timings::write(session, &page, &roots, &recorder.timings(), start.elapsed(), args.overwrite)?;
    }
    if session.reporter.json {
        let timed = Timed { durations: &times, total: start.elapsed() };
        let mut json = report_json(session, &report, &roots, (cache.as_ref(), remote.as_ref()), &timed);
        if let (Some(stats), Json::Object(members)) = (&stats, &mut json) {
            members.push(("stats".to_owned(), stats::json(stats, &times)));
        }
        session.reporter.print_json(json);
    } else if session.reporter.verbosity > Verbosity::Quiet {
        summary(session, &report, &roots, args.shard, start.elapsed());
        if let Some(line) = cache.as_ref().and_then(|cache| store::line(&cache.figures())) {
            session.reporter.summary().line(&line);
        }
        if let Some(remote) = &remote {
            session.reporter.summary().line(&remote_execution::line(&remote.figures()));
        }
        if let Some(stats) = &stats {
            stats::print(session, stats, &times);
        }
    }
    if let Some(file) = args.depfile.as_ref().filter(|_| report.is_ok()) {
        let pack = report.packed.as_ref().map(|packed| packed.path.as_path());
        depfile::write(session, &config, &roots, pack, file, args.depfile_target.as_deref())?;
    }
    Ok(if report.is_ok() { OK } else { FAILED })
}

/// Returns whether nothing lists the sources that are up to date, or the files that are not used.
fn is_brief(session: &Session, args: &BuildArgs) -> bool {
    let is_listed = session.reporter.json || session.reporter.verbosity == Verbosity::Verbose;
    !is_listed && !args.stats && args.timings.is_none()
}

/// Returns the sources and folders to build, relative to the input; `None` for all.
fn selected(session: &Session, roots: &Roots, paths: &[PathBuf]) -> Result<Option<Vec<RelPath>>, Diag> {
    let input = std::fs::canonicalize(&roots.input).ok();
    let is_input =
        |path: &PathBuf| input.is_some() && std::fs::canonicalize(session.dir.join(path)).ok() == input;
    if paths.is_empty() || paths.iter().any(is_input) {
        return Ok(None);
    }
    paths.iter().map(|path| source_path(session, &roots.input, path)).collect::<Result<_, _>>().map(Some)
}

/// Reports the diagnostics of a build: problems, warnings and errors. Warnings about sources that were up to date were
/// reported by the build that compiled them, so they are only counted by the [summary], unless they are denied.
pub(super) fn report_diagnostics(session: &Session, report: &BuildReport) {
    let diagnostics = &session.reporter.diagnostics;
    let repeats = session.reporter.repeats_cached_warnings();
    let shown = |diag: &Diag| session.with_shown_path(diag);
    let warnings = report.assets.iter().flat_map(|asset| {
        let is_new = asset.state != State::Fresh;
        let is_reported =
            move |diag: &&Diag| is_new || repeats || diagnostics.severity(diag.code) == Some(Severity::Error);
        asset.warnings.iter().filter(is_reported)
    });
    let errors = report.errors().map(|(_, error)| error);
    let all: Vec<Diag> = report.problems.iter().chain(warnings).chain(errors).map(shown).collect();
    session.reporter.say_grouped(&all);
}

/// Returns the number of warnings about sources that were up to date, without those that are allowed or denied.
fn cached_warnings(session: &Session, report: &BuildReport) -> usize {
    let fresh = report.assets.iter().filter(|asset| asset.state == State::Fresh);
    let is_warning =
        |diag: &&Diag| session.reporter.diagnostics.severity(diag.code) == Some(Severity::Warning);
    fresh.flat_map(|asset| &asset.warnings).filter(is_warning).count()
}

/// Prints the summary of a build.
pub(super) fn summary(
    session: &Session,
    report: &BuildReport,
    roots: &Roots,
    shard: Option<Shard>,
    took: Duration,
) {
    let mut out = session.reporter.summary();
    let output = session.shown(&roots.output);
    if report.total() == 0 {
        let input = session.shown(&roots.input);
        out.line(&format!(
            "no sources found in {input}: add images, models, shaders or fonts and run assetc again"
        ));
    }
    let failed = match report.failed() {
        0 => "0 failed".to_owned(),
        n => out.style.error(&format!("{n} failed")),
    };
    let fetched = match report.fetched() {
        0 => String::new(),
        n => format!("{n} fetched, "),
    };
    let warnings = match cached_warnings(session, report) {
        n if n > 0 && !session.reporter.repeats_cached_warnings() => {
            let them = if n == 1 { "it" } else { "them" };
            format!(", {} (-v shows {them})", render::count(n, "cached warning", "cached warnings"))
        }
        _ => String::new(),
    };
    let denied = match session.reporter.diagnostics.denied() {
        0 => String::new(),
        n => format!(", {}", out.style.error(&render::count(n, "denied warning", "denied warnings"))),
    };
    let line = format!(
        "{}{}: {} built, {fetched}{} cached, {failed}{denied}{warnings} -> {output} {}{}",
        shard.map(|shard| format!("shard {shard}: ")).unwrap_or_default(),
        render::count(report.total(), "asset", "assets"),
        report.built(),
        report.fresh(),
        out.style.faint(&format!("({})", render::time(took))),
        skipped(report) + &duplicates(session, report),
    );
    out.line(&line);
    if let Some(refs) = report.refs.filter(|_| session.reporter.verbosity == Verbosity::Verbose) {
        let manifest = session.shown(&roots.output.join(MANIFEST));
        out.line(&format!("{} -> {manifest}", render::count(refs, "reference", "references")));
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
        let kept = report.has_kept_outputs.then_some("failed sources keep the outputs of their last build");
        let outdated = match (report.refs, report.pack_withheld) {
            (Some(_), true) => Some("the pack was not updated"),
            (Some(_), false) => None,
            (None, true) => Some("the manifest and the pack were not updated"),
            (None, false) => Some("the manifest was not updated"),
        };
        let parts: Vec<&str> = kept.into_iter().chain(outdated).collect();
        if !parts.is_empty() {
            out.line(&parts.join("; "));
        }
    }
}

/// The number of extensions of skipped files that the summary lists.
const LISTED_EXTENSIONS: usize = 6;

/// Formats the number of skipped files and their most frequent extensions: `; skipped 3 files: 2 .psd, 1 .wav`.
fn skipped(report: &BuildReport) -> String {
    let counts = report.skipped_by_extension();
    if counts.is_empty() {
        return String::new();
    }
    let one = |(extension, count): &(String, usize)| match extension.as_str() {
        "" => format!("{count} without extension"),
        extension => format!("{count} {}", render::printable(extension)),
    };
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let mut listed: Vec<String> = counts.iter().take(LISTED_EXTENSIONS).map(one).collect();
    let others: usize = counts.iter().skip(LISTED_EXTENSIONS).map(|(_, count)| count).sum();
    if others > 0 {
        listed.push(format!("{others} others"));
    }
    format!("; skipped {}: {}", render::count(total, "file", "files"), listed.join(", "))
}

/// Formats the number and size of images that are compiled on their own although other sources contain them. A build that
/// compiled nothing repeats it in verbose output only.
fn duplicates(session: &Session, report: &BuildReport) -> String {
    let Duplicates { images, bytes, .. } = report.duplicates;
    let is_idle = report.built() + report.fetched() == 0;
    match images {
        0 => String::new(),
        _ if is_idle && session.reporter.verbosity < Verbosity::Verbose => String::new(),
        _ => format!(
            "; {} of models or materials shipped twice: {} (texture.standalone)",
            render::count(images, "image", "images"),
            render::size(bytes)
        ),
    }
}

/// The times of a build.
struct Timed<'a> {
    durations: &'a BTreeMap<String, Duration>,
    total: Duration,
}

fn report_json(
    session: &Session,
    report: &BuildReport,
    roots: &Roots,
    (cache, remote): (Option<&Store>, Option<&RemoteExecution>),
    timed: &Timed<'_>,
) -> Json {
    let output = |path: &RelPath| {
        let size = std::fs::metadata(roots.output.join(path.as_str())).ok().map(|meta| meta.len());
        Json::object([("path", path.as_str().into()), ("size", size.into())])
    };
    let asset = |asset: &AssetReport| {
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
            ("duration_ms", timed.durations.get(asset.source.as_str()).copied().map(milliseconds).into()),
            ("outputs", Json::list(asset.outputs.iter().map(output))),
            ("warnings", session.reporter.diags_json(&asset.warnings)),
            ("error", error),
        ])
    };
    let paths = |paths: &[RelPath]| Json::list(paths.iter().map(RelPath::as_str));
    let path = |path: &Path| Json::from(path.display().to_string());
    Json::object([
        ("ok", (report.is_ok() && session.reporter.diagnostics.denied() == 0).into()),
        ("output", path(&roots.output)),
        ("duration_ms", milliseconds(timed.total)),
        ("built", report.built().into()),
        ("fetched", report.fetched().into()),
        ("cached", report.fresh().into()),
        ("failed", report.failed().into()),
        ("refs", report.refs.into()),
        ("pack", report.packed.as_ref().map_or(Json::Null, |packed| path(&packed.path))),
        ("store", cache.map(|cache| store::json(&cache.figures())).into()),
        ("remote_execution", remote.map(|remote| remote_execution::json(&remote.figures())).into()),
        ("problems", session.reporter.diags_json(&report.problems)),
        ("skipped", paths(&report.skipped)),
        ("excluded", paths(&report.excluded)),
        ("contained", paths(&report.contained)),
        (
            "duplicates",
            Json::object([
                ("images", report.duplicates.images.into()),
                ("bytes", report.duplicates.bytes.into()),
            ]),
        ),
        ("assets", Json::list(report.assets.iter().map(asset))),
    ])
}

fn list_presets(session: &Session) -> Result<u8, Diag> {
    let config = session.config()?;
    let chosen = config.select_preset(None)?.map(|preset| preset.name().to_owned());
    if session.reporter.json {
        let names = Json::list(config.presets().iter().map(|preset| preset.name()));
        session.reporter.print_json(Json::object([("presets", names), ("default", chosen.into())]));
        return Ok(OK);
    }
    let mut out = session.reporter.out();
    for preset in config.presets() {
        // Names only, because scripts iterate over the lines.
        let default =
            session.reporter.verbosity == Verbosity::Verbose && chosen.as_deref() == Some(preset.name());
        out.line(&format!("{}{}", preset.name(), if default { " (default)" } else { "" }));
    }
    if config.presets().is_empty() {
        session.reporter.note("no presets are defined");
    }
    Ok(OK)
}

pub(super) fn clean(session: &Session) -> Result<u8, Diag> {
    let (_, roots) = session.project()?;
    let cleaned = ::assetc::clean(&roots, &|| session.waiting())?;
    cleaned.kept.iter().for_each(|kept| session.report(kept));
    if session.reporter.json {
        let kept = Json::list(cleaned.kept.iter().filter_map(|kept| kept.path.as_deref()));
        session.reporter.print_json(Json::object([("removed", cleaned.removed.into()), ("kept", kept)]));
    } else if session.reporter.verbosity > Verbosity::Quiet {
        let output = session.shown(&roots.output);
        session.reporter.out().line(&match cleaned.removed {
            0 => format!("nothing to remove: {output} has no files of a build"),
            n => format!("removed {} from {output}", render::count(n, "file", "files")),
        });
    }
    Ok(OK)
}
