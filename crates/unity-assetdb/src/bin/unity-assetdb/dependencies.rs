//! `deps`: the references of an asset, or of all assets of a folder.

use super::lookup::{Answer, Assets, assets};
use super::rows::{Cell, RowStream, Rows, STREAM_ROWS};
use super::{Failure, Session};
use ::unity_assetdb::index::{Entry, Index, IndexError};
use ::unity_assetdb::query::inner::Inner;
use kiln_cli::reporter::OK;
use std::path::Path;

const COLUMNS: &[&str] = &["guid", "fileID", "line", "name", "type", "path", "inMeta"];

/// Prints the references while they are resolved: those of a large folder are hundreds of thousands.
pub(super) fn deps(session: &Session, text: &str) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    let entries = match assets(&index, &root, text)? {
        Assets::Found(entries) => entries,
        Assets::Unanswered(answer) => return Ok(answer.print(session)),
    };
    let count = entries.iter().map(Entry::reference_count).sum::<Result<usize, _>>()?;
    if count >= STREAM_ROWS {
        // Rows that were printed cannot be taken back, so that damage is found before the first one.
        index.verify()?;
    }
    let mut rows = RowStream::new(COLUMNS, session.reporter.out(), session.reporter.json);
    for_each_reference(&index, &root, &entries, |row| rows.push(row))?;
    if rows.finish() == 0 {
        session.reporter.note(&none(text));
    }
    Ok(OK)
}

/// Returns the references as rows.
pub(super) fn deps_rows(index: &Index, root: &Path, text: &str) -> Result<Answer, Failure> {
    let entries = match assets(index, root, text)? {
        Assets::Found(entries) => entries,
        Assets::Unanswered(answer) => return Ok(answer),
    };
    let mut rows = Rows::new(COLUMNS);
    for_each_reference(index, root, &entries, |row| rows.push(row))?;
    let notes = if rows.len() == 0 { vec![none(text)] } else { Vec::new() };
    Ok(Answer { rows, notes, code: OK })
}

fn none(text: &str) -> String {
    format!("{text} refers to no other asset")
}

/// Passes each reference of the assets on as a row.
fn for_each_reference(
    index: &Index,
    root: &Path,
    entries: &[Entry<'_>],
    mut push: impl FnMut(&[Cell<'_>]),
) -> Result<(), IndexError> {
    let mut inner = Inner::new(index, root);
    for entry in entries {
        inner.for_each_target(entry, |reference, target| {
            let kind = if target.type_name.is_empty() { "unknown" } else { &target.type_name };
            push(&[
                Cell::Guid(reference.guid),
                Cell::FileId(reference.file_id),
                reference.line.into(),
                Cell::optional(&target.name),
                kind.into(),
                Cell::optional(&target.path),
                reference.in_meta.into(),
            ]);
        })?;
    }
    Ok(())
}
