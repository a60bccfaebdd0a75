//! `assetc report`: writes an HTML report of an output directory or a pack.

use super::Session;
use super::inspect::target;
use ::assetc::RuntimeFiles;
use kiln_cli::progress::Verbosity;
pub(super) use kiln_cli::publish::write_page;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::{Code, Diag, Fs, Json, Real, RelPath};
use kiln_report::{Files, Options, PreviousReport, PreviousReportError, Report, Tiles};
use std::io::{self, Write};
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
    /// Write textures in full resolution to a folder beside the report, which loads them on demand
    #[arg(long)]
    tiles: bool,
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
    // An earlier report inside the output is not part of the output.
    let own = out.strip_prefix(&path).ok().map(|own| own.to_string_lossy().replace('\\', "/"));
    let list: Vec<(String, u64)> = runtime
        .files()
        .filter(|(file, _)| own.as_deref() != Some(file))
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
    let report = match args.tiles {
        false => kiln_report::report(&files, &options),
        true => with_tiles(&files, &options, &out)?,
    };
    let is_report = |page: &str| !matches!(PreviousReport::read(page), Err(PreviousReportError::NoData));
    write_page(&out, report.html.as_bytes(), args.overwrite, &is_report)?;
    runtime.problems.iter().for_each(|problem| session.report(problem));
    if session.reporter.json {
        session.reporter.print_json(report_json(&report, &out));
    } else if session.reporter.verbosity > Verbosity::Quiet {
        summary(session, &report, &out);
    }
    Ok(if report.broken == 0 { OK } else { FAILED })
}

/// Builds a report whose textures in full resolution are in the folder `<report>.tiles`.
fn with_tiles(files: &Files<'_>, options: &Options, out: &Path) -> Result<Report, Diag> {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
    let stem = out.file_stem().unwrap_or(out.as_os_str()).to_string_lossy();
    let folder = format!("{stem}.tiles");
    let path = out.with_file_name(&folder);
    let fault = |e: io::Error| {
        Diag::new(Code::Unwritable, format!("cannot write the tiles of the report: {e}")).path(path.display())
    };
    std::fs::create_dir_all(&path).map_err(fault)?;
    let dir = Real::open(&path).map_err(fault)?;
    let write = |name: &str, bytes: &[u8]| {
        let name = RelPath::new(name).map_err(io::Error::other)?;
        let replace = Replace { overwrite: false, magic: Some(PNG), owned: &|| false };
        admit(&dir, &name, None, replace).map_err(|diag| io::Error::other(diag.message))?;
        let staged = dir.stage(&mut |file: &mut dyn Write| file.write_all(bytes))?;
        dir.publish(vec![(staged, name)]).pop().unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map(drop)
    };
    // A relative URL, with the bytes of the name escaped.
    let url: String = folder
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    let tiles = Tiles { folder: &url, max_side: 4096, write: &write };
    Ok(kiln_report::report_with_tiles(files, options, Some(&tiles)))
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

fn report_json(report: &Report, out: &Path) -> Json {
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
    ])
}
