//! `assetc report`: writes an HTML report of an output directory or a pack.

use super::Session;
use super::inspect::target;
use super::report_tiles::TileFolder;
use ::assetc::RuntimeFiles;
use kiln_cli::progress::Verbosity;
pub(super) use kiln_cli::publish::write_page;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::{Code, Diag, Json};
use kiln_report::{Files, Options, PreviousReport, PreviousReportError, Report};
use std::path::{Path, PathBuf};

/// The arguments of `assetc report`.
#[derive(clap::Args, Debug)]
pub(super) struct ReportArgs {
    /// Output directory or .hpack file [default: the output directory]
    path: Option<PathBuf>,
    /// Path of the report [default: <PATH>.report.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file that is not a report; symbolic links are never replaced
    #[arg(long)]
    overwrite: bool,
    /// Compare with an earlier report
    #[arg(long, value_name = "HTML")]
    since: Option<PathBuf>,
    /// Write textures in a higher resolution to a folder beside the report, which loads them on demand
    #[arg(long)]
    tiles: bool,
    /// Largest width and height of the images in that folder, in texels [default: 1024, less for many textures]
    #[arg(long, value_name = "N", requires = "tiles", value_parser = clap::value_parser!(u32).range(16..=16384))]
    max_tile: Option<u32>,
    /// Largest width and height of embedded images, in texels
    #[arg(long, value_name = "N", default_value = "512", value_parser = clap::value_parser!(u32).range(16..=4096))]
    max_texture: u32,
    /// Approximate size limit of embedded images and meshes, in megabytes
    #[arg(long, value_name = "MB", default_value = "64", value_parser = clap::value_parser!(u64).range(1..=1024))]
    max_size: u64,
}

pub(super) fn report(session: &Session, args: ReportArgs) -> Result<u8, Diag> {
    let path = target(session, args.path)?;
    let out = args.out.map_or_else(|| beside(&path), |out| session.dir.join(out));
    let since = args.since.map(|since| read_since(&session.dir.join(since))).transpose()?;
    let runtime = RuntimeFiles::open(&path, &|| session.waiting())?;
    // An earlier report inside the output is not part of the output, and neither are its tiles.
    let inside =
        |own: &Path| own.strip_prefix(&path).ok().map(|own| own.to_string_lossy().replace('\\', "/"));
    let (page, tiles) = (inside(&out), inside(&TileFolder::beside(&out)).map(|folder| folder + "/"));
    let is_own = |file: &str| {
        page.as_deref() == Some(file) || tiles.as_deref().is_some_and(|folder| file.starts_with(folder))
    };
    let list: Vec<(String, u64)> = runtime
        .files()
        .filter(|(file, _)| !is_own(file))
        .map(|(file, size)| (file.to_owned(), size))
        .collect();
    let described =
        |problem: &Diag| format!("{}: {}", problem.path.as_deref().unwrap_or_default(), problem.message);
    let problems: Vec<String> = runtime.problems.iter().map(described).collect();
    let title = session.shown(&path);
    let files = Files { title: &title, list: &list, read: &|file| runtime.read(file), problems: &problems };
    let options =
        Options::default().max_texture(args.max_texture).max_bytes(args.max_size << 20).since(since);
    let options = options.warnings(runtime.warnings().iter().map(&described).collect());
    let tiles = args.tiles.then(|| TileFolder::open(&out)).transpose()?;
    let (report, written) = match &tiles {
        None => (kiln_report::report(&files, &options), 0),
        Some(tiles) => tiles.report(&files, &options, args.max_tile)?,
    };
    let is_report = |page: &str| !matches!(PreviousReport::read(page), Err(PreviousReportError::NoData));
    write_page(&out, report.html.as_bytes(), args.overwrite, &is_report)?;
    if let Some(tiles) = &tiles {
        tiles.remove_unused(&report);
    }
    runtime.problems.iter().for_each(|problem| session.report(problem));
    if session.reporter.json {
        session.reporter.print_json(report_json(&report, &out, tiles.is_some().then_some(written)));
    } else if session.reporter.verbosity > Verbosity::Quiet {
        summary(session, &report, &out);
        if let Some(tiles) = &tiles {
            let count = render::count(report.tiles.len(), "tile", "tiles");
            session
                .reporter
                .out()
                .line(&format!("{count}, {written} written -> {}", session.shown(tiles.path())));
        }
    }
    Ok(if report.broken == 0 { OK } else { FAILED })
}

/// `runtime/desktop.report.html` for `runtime/desktop` and for `runtime/desktop.hpack`.
fn beside(path: &Path) -> PathBuf {
    page_beside(path, ".report.html")
}

/// Returns the path of a page with this extension beside an output directory or pack.
pub(super) fn page_beside(path: &Path, extension: &str) -> PathBuf {
    let path = if path.is_dir() { path.to_owned() } else { path.with_extension("") };
    // A path such as `..` has no file name to append to.
    let path = if path.file_name().is_none() { path.canonicalize().unwrap_or(path) } else { path };
    let mut name = path.file_name().unwrap_or("output".as_ref()).to_owned();
    name.push(extension);
    path.with_file_name(name)
}

fn read_since(path: &Path) -> Result<PreviousReport, Diag> {
    let refused = |message: String| {
        let hint = "give the path of a report that `assetc report` wrote";
        Diag::new(Code::ReportSince, message).path(path.display()).hint(hint)
    };
    let bytes = std::fs::read(path).map_err(|e| refused(format!("cannot read the earlier report: {e}")))?;
    let html = std::str::from_utf8(&bytes)
        .map_err(|_| refused("the earlier report is not valid UTF-8".to_owned()))?;
    PreviousReport::read(html).map_err(|e| refused(e.to_string()))
}

fn summary(session: &Session, report: &Report, out: &Path) {
    let files = render::count(report.files, "file", "files");
    let mut to = session.reporter.out();
    to.line(&format!("{files}, {} -> {}", render::size(report.size), session.shown(out)));
    if let Some(change) = report.change {
        let (sign, by) = match report.size.checked_sub(change.size_before) {
            Some(more) => ("+", more),
            None => ("-", change.size_before - report.size),
        };
        let (added, changed, removed) = (change.added, change.changed, change.removed);
        to.line(&format!("{sign}{}: {added} new, {changed} changed, {removed} removed", render::size(by)));
    }
    report.notes.iter().for_each(|note| to.line(note));
    if report.broken > 0 {
        let broken = render::count(report.broken, "file is", "files are");
        to.line(&to.style.error(&format!("{broken} damaged")));
    }
}

/// `tiles` is the number of tiles that were written.
fn report_json(report: &Report, out: &Path, tiles: Option<usize>) -> Json {
    let change = report.change.map(|change| {
        Json::object([
            ("size_before", change.size_before.into()),
            ("added", change.added.into()),
            ("removed", change.removed.into()),
            ("changed", change.changed.into()),
        ])
    });
    Json::object([
        ("written", out.display().to_string().into()),
        ("bytes", report.html.len().into()),
        ("files", report.files.into()),
        ("size", report.size.into()),
        ("broken", report.broken.into()),
        ("notes", Json::list(report.notes.iter().map(String::as_str))),
        ("since", change.into()),
        (
            "tiles",
            tiles
                .map(|written| {
                    Json::object([("files", report.tiles.len().into()), ("written", written.into())])
                })
                .into(),
        ),
    ])
}
