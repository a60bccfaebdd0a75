//! `assetc check`.

use super::Session;
use super::inspect::{Target, each_target, heading, targets};
use ::assetc::CheckReport;
use kiln_cli::diagnostics::MessageFormat;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::FAILED;
use kiln_cli::terminal::Out;
use kiln_engine::{Code, Diag, Json, Severity};
use std::path::{Path, PathBuf};

pub(super) fn check(session: &Session, paths: Vec<PathBuf>) -> Result<u8, Diag> {
    let targets = targets(session, paths)?;
    let base = match &targets[..] {
        [Target { shown: None, path, .. }] => path,
        _ => &session.dir,
    };
    session.reporter.diagnostics.set_path_bases(&[base]);
    let mut all = CheckReport::default();
    let unreadable = each_target(session, &targets, |target| {
        let checked = ::assetc::check(&target.path, &|| session.waiting())?;
        all.append(checked, |path| target.name(path));
        Ok(())
    })?;
    let is_ok = !all.problems.iter().any(|problem| is_failure(session, problem));
    if session.reporter.json {
        session.reporter.print_json(checked_json(session, &all, is_ok));
    } else {
        print_checked(session, &mut session.reporter.summary(), &all, &heading(session, &targets));
    }
    if session.reporter.diagnostics.format() != MessageFormat::Human {
        all.problems.iter().for_each(|problem| session.report(problem));
    }
    Ok(if is_ok { unreadable } else { FAILED.max(unreadable) })
}

/// Returns whether a problem fails the check: an error, a warning that is denied, or a file that cannot be checked.
fn is_failure(session: &Session, problem: &Diag) -> bool {
    match session.reporter.diagnostics.severity(problem.code) {
        Some(Severity::Error) => true,
        Some(Severity::Warning) => {
            matches!(problem.code, Code::SymlinkIgnored | Code::PathNotPortable | Code::PathNotUtf8)
        }
        None => false,
    }
}

fn print_checked(session: &Session, out: &mut Out, checked: &CheckReport, shown: &str) {
    if session.reporter.verbosity > Verbosity::Quiet {
        out.line(&format!("Checking {shown}"));
    }
    let human = session.reporter.diagnostics.format() == MessageFormat::Human;
    let mut failures = 0;
    for problem in &checked.problems {
        let is_allowed = session.reporter.diagnostics.severity(problem.code).is_none();
        let is_failed = is_failure(session, problem);
        if is_allowed || !is_failed && session.reporter.verbosity == Verbosity::Quiet {
            continue;
        }
        failures += usize::from(is_failed);
        let word = if is_failed { out.style.error("FAIL") } else { out.style.warning("WARN") };
        let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let path = problem.path.as_deref().unwrap_or_default();
        let line = format!(
            "  {word} {}: {} [{}]{hint}",
            render::printable(&session.shown(Path::new(path))),
            render::printable(&problem.message),
            problem.code
        );
        if human {
            out.line(&line);
        }
    }
    if failures > 0 {
        out.line(&out.style.error(&format!("{} found", render::count(failures, "problem", "problems"))));
    } else if session.reporter.verbosity > Verbosity::Quiet {
        let counts = checked.counts.iter().map(|(one, many, n)| render::count(*n, one, many));
        let counts: Vec<String> = counts.collect();
        let counts = if counts.is_empty() { "no runtime files".to_owned() } else { counts.join(", ") };
        let compared = match checked.compared {
            0 => "no journal to compare with".to_owned(),
            n => {
                let with = if checked.by_digests { "assets.sha256" } else { "the journal" };
                format!("{} {with}", render::count(n, "file matches", "files match"))
            }
        };
        out.line(&format!("{}: {}; {compared}", out.style.good("integrity OK"), counts));
    }
}

fn checked_json(session: &Session, checked: &CheckReport, is_ok: bool) -> Json {
    let counts = checked.counts.iter().map(|(_, many, n)| ((*many).to_owned(), Json::from(*n))).collect();
    Json::object([
        ("ok", is_ok.into()),
        ("problems", session.reporter.diags_json(&checked.problems)),
        ("files", Json::Object(counts)),
        ("compared", checked.compared.into()),
    ])
}
