//! The output of `assetc build --dry-run`.

use super::Session;
use ::assetc::DryRun;
use ::assetc::config::Roots;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::OK;
use kiln_engine::{Diag, Json};

/// Prints what a build would do.
pub(super) fn print(session: &Session, found: &DryRun, roots: &Roots) -> Result<u8, Diag> {
    found.problems.iter().for_each(|problem| session.report(problem));
    if session.reporter.json {
        let build = found.build.iter().map(|(source, why)| {
            Json::object([("source", source.as_str().into()), ("why", why.to_string().into())])
        });
        let json = Json::object([
            ("dry_run", true.into()),
            ("output", roots.output.display().to_string().into()),
            ("build", Json::list(build)),
            ("cached", found.fresh.into()),
            ("remove", Json::list(found.remove.iter().map(String::as_str))),
            ("problems", session.reporter.diags_json(&found.problems)),
        ]);
        session.reporter.print_json(json);
        return Ok(OK);
    }
    let mut out = session.reporter.out();
    for (source, why) in &found.build {
        out.line(&format!(
            "would build {} ({})",
            render::printable(source.as_str()),
            render::printable(&why.to_string())
        ));
    }
    for path in &found.remove {
        out.line(&format!("would remove {}", render::printable(path)));
    }
    if session.reporter.verbosity > Verbosity::Quiet {
        out.line(&format!(
            "dry run, nothing was written: {} to build, {} cached, {} to remove -> {}",
            found.build.len(),
            found.fresh,
            render::count(found.remove.len(), "file", "files"),
            session.shown(&roots.output),
        ));
    }
    Ok(OK)
}
