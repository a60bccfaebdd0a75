//! The failures of the last build, recorded in the journal so that `check` does not call outputs good whose sources no
//! longer compile.

use crate::build::BuildReport;
use crate::output::FAILURES;
use kiln_engine::record::Record;
use kiln_engine::{Code, Diag, Journal, Records, Severity};
use std::collections::HashSet;
use std::io;

/// Records the sources that failed and the errors about the trees; removes the record if there are none. A build of some
/// of the sources replaces the failures of these sources only.
///
/// # Errors
///
/// If the journal cannot be written.
pub(crate) fn record(journal: &mut Journal, report: &BuildReport, is_whole: bool) -> io::Result<()> {
    let earlier = recorded(journal.records());
    let built: HashSet<&str> = report.assets.iter().map(|asset| asset.source.as_str()).collect();
    let is_of_other =
        |diag: &&Diag| !is_whole && diag.path.as_deref().is_some_and(|path| !built.contains(path));
    let mut failures: Vec<Diag> = earlier.iter().filter(is_of_other).cloned().collect();
    let errors = report.errors().filter(|(_, error)| error.code != Code::Cancelled);
    failures.extend(errors.map(|(source, error)| {
        let message = match error.path.as_deref().filter(|path| *path != source.as_str()) {
            Some(path) => format!("{path}: {}", error.message),
            None => error.message.clone(),
        };
        Diag::new(error.code, message).path(source)
    }));
    failures.extend(report.problems.iter().filter(|problem| problem.severity() >= Severity::Error).cloned());
    if failures == earlier {
        return Ok(());
    }
    let record = Record { warnings: failures, ..Record::default() };
    journal.append(&[(FAILURES, (!record.warnings.is_empty()).then_some(&record))])
}

/// Returns the failures of the last build, each with its source as path.
fn recorded(records: &Records) -> Vec<Diag> {
    records.get(FAILURES).map(|record| record.warnings).unwrap_or_default()
}

/// Returns one problem for each failure of the last build.
pub(crate) fn problems(records: &Records) -> impl Iterator<Item = Diag> {
    recorded(records).into_iter().map(|failure| {
        let message = match failure.code {
            Code::Cancelled => {
                "the last build was interrupted, so outputs are missing or from an earlier build".to_owned()
            }
            _ => format!(
                "the last build failed here, so outputs are missing or from an earlier build: {}",
                failure.message
            ),
        };
        let mut problem = Diag::new(Code::CheckBuildFailed, message);
        problem.path = failure.path;
        problem.hint(match failure.code {
            Code::Cancelled => "run the build again",
            _ => "correct the source and run the build again",
        })
    })
}
