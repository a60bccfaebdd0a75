//! The `pak report` command: the HTML report of `assetc` about the assets of a pak, with their sizes in the file.

mod runtime_files;

use super::open;
use kiln_cli::progress::Verbosity;
use kiln_cli::publish::write_page;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Code, Diag, Json};
use kiln_report::{Files, Options, PreviousReport, PreviousReportError, Report};
use runtime_files::RuntimeFiles;
use std::path::{Path, PathBuf};

/// The arguments of `pak report`.
#[derive(clap::Args, Debug)]
pub(super) struct ReportArgs {
    /// Path of the pak
    pak: PathBuf,
    /// Path of the report [default: <PAK>.report.html without the extension of the pak]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file that is not a report; symbolic links are never replaced
    #[arg(long)]
    overwrite: bool,
    /// Compare with an earlier report
    #[arg(long, value_name = "HTML")]
    since: Option<PathBuf>,
    /// Largest width and height of embedded images, in texels
    #[arg(long, value_name = "N", default_value = "512", value_parser = clap::value_parser!(u32).range(16..=4096))]
    max_texture: u32,
    /// Approximate size limit of embedded images and meshes, in megabytes
    #[arg(long, value_name = "MB", default_value = "64", value_parser = clap::value_parser!(u64).range(1..=1024))]
    max_size: u64,
}

pub(super) fn report(reporter: &Reporter, args: &ReportArgs) -> Result<u8, Diag> {
    let pak = open(&args.pak)?;
    let out = args.out.clone().unwrap_or_else(|| args.pak.with_extension("report.html"));
    let since = args.since.as_deref().map(read_since).transpose()?;
    let runtime = RuntimeFiles::new(&pak);
    let title = args.pak.display().to_string();
    let read = |path: &str| runtime.read(path);
    let files = Files { title: &title, list: runtime.list(), read: &read, problems: &[] };
    let options =
        Options::default().max_texture(args.max_texture).max_bytes(args.max_size << 20).since(since);
    let report = kiln_report::report(&files, &options);
    let is_report = |page: &str| !matches!(PreviousReport::read(page), Err(PreviousReportError::NoData));
    write_page(&out, report.html.as_bytes(), args.overwrite, &is_report)?;
    if reporter.json {
        let result = Json::object([
            ("written", out.display().to_string().into()),
            ("bytes", report.html.len().into()),
            ("assets", report.files.into()),
            ("size", report.size.into()),
            ("broken", report.broken.into()),
            ("notes", Json::list(report.notes.iter().map(String::as_str))),
        ]);
        reporter.print_json(result);
    } else if reporter.verbosity > Verbosity::Quiet {
        summary(reporter, &report, &out);
    }
    Ok(if report.broken == 0 { OK } else { FAILED })
}

fn read_since(path: &Path) -> Result<PreviousReport, Diag> {
    let refused = |message: String| {
        let hint = "give the path of a report that `pak report` wrote";
        Diag::new(Code::ReportSince, message).path(path.display()).hint(hint)
    };
    let html =
        std::fs::read_to_string(path).map_err(|e| refused(format!("cannot read the earlier report: {e}")))?;
    PreviousReport::read(&html).map_err(|e| refused(e.to_string()))
}

fn summary(reporter: &Reporter, report: &Report, out: &Path) {
    let mut to = reporter.out();
    let assets = render::count(report.files, "asset", "assets");
    to.line(&format!("{assets}, {} -> {}", render::size(report.size), out.display()));
    if let Some(change) = report.change {
        let (added, changed, removed) = (change.added, change.changed, change.removed);
        let before = render::size(change.size_before);
        to.line(&format!("{before} before: {added} new, {changed} changed, {removed} removed"));
    }
    report.notes.iter().for_each(|note| to.line(note));
    if report.broken > 0 {
        let broken = render::count(report.broken, "asset is", "assets are");
        to.line(&to.style.error(&format!("{broken} damaged")));
    }
}
