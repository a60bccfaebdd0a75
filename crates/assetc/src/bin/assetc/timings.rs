//! `assetc build --timings`: an HTML page with the duration of each asset.

use super::Session;
use super::report::{page_beside, write_page};
use ::assetc::config::Roots;
use kiln_cli::progress::Verbosity;
use kiln_cli::timings::{PAGE_HEAD, Timing, page};
use kiln_engine::Diag;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the default path of the page: `runtime.timings.html` for `runtime`.
pub(super) fn beside(output: &Path) -> PathBuf {
    page_beside(output, ".timings.html")
}

/// Writes the page. An existing file is replaced only if it is such a page, or with `overwrite`.
pub(super) fn write(
    session: &Session,
    file: &Path,
    roots: &Roots,
    timings: &[Timing],
    total: Duration,
    overwrite: bool,
) -> Result<(), Diag> {
    let html = page(&session.shown(&roots.output), timings, total);
    write_page(file, html.as_bytes(), overwrite, &|page| page.starts_with(PAGE_HEAD))?;
    if !session.reporter.json && session.reporter.verbosity > Verbosity::Quiet {
        session.reporter.summary().line(&format!("timings -> {}", session.shown(file)));
    }
    Ok(())
}
