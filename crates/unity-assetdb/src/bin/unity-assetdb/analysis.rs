//! Queries about the whole project: unused assets, broken references, checks; and the filters `annotate` and `diff`.

use super::rows::Rows;
use super::{Failure, Session};
use ::unity_assetdb::guid::Guid;
use ::unity_assetdb::index::IndexError;
use ::unity_assetdb::query::annotate::{annotate as annotate_line, short_type};
use ::unity_assetdb::query::broken::broken as find_broken;
use ::unity_assetdb::query::check::check as find_all;
use ::unity_assetdb::query::diff::{Change, diff as compare};
use ::unity_assetdb::query::inner::Inner;
use ::unity_assetdb::query::packages::packages;
use ::unity_assetdb::query::unused::unused as find_unused;
use ::unity_assetdb::store::{self, AssetDb, AssetEntry, AssetType};
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::{Code, Diag, Severity};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

pub(super) fn unused(session: &Session) -> Result<u8, Failure> {
    let (_, index) = session.index()?;
    let mut rows = Rows::new(&["path", "type", "note"]);
    for each in find_unused(&index)? {
        rows.push(vec![each.hint, short_type(&index, &each.entry.type_name()?)?, each.by_name.to_owned()]);
    }
    rows.print(&mut session.reporter.out(), session.reporter.json);
    session.reporter.note(&format!(
        "{}; assets that code loads by path or name are not recognized as used",
        render::count(rows.len(), "unused asset", "unused assets")
    ));
    Ok(if rows.len() == 0 { OK } else { FAILED })
}

pub(super) fn broken(session: &Session) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    let packages = packages(&root, &index);
    let mut rows = Rows::new(&["path", "line", "guid", "fileID", "target", "certain"]);
    let mut certain = 0;
    for each in find_broken(&index, &root, &packages)? {
        let hint = each.source.hint()?;
        let path = if each.reference.in_meta { format!("{hint}.meta") } else { hint };
        let target = each.target.map(|target| target.hint()).transpose()?.unwrap_or_default();
        let sure = if each.may_be_in_missing_package { "no" } else { "yes" };
        certain += usize::from(!each.may_be_in_missing_package);
        let (guid, file_id) = (Guid(each.reference.guid).to_string(), each.reference.file_id.to_string());
        rows.push(vec![path, each.reference.line.to_string(), guid, file_id, target, sure.to_owned()]);
    }
    rows.print(&mut session.reporter.out(), session.reporter.json);
    if rows.len() > certain {
        let some = packages.missing.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        session.reporter.note(&format!(
            "{} may point into packages that are not on this machine: {some}",
            render::count(rows.len() - certain, "reference", "references")
        ));
    }
    Ok(if rows.len() == 0 { OK } else { FAILED })
}

/// Reports the findings. All of them fail the check but those that are allowed and those that are uncertain; the latter
/// fail it if they are denied.
pub(super) fn check(session: &Session) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    let (mut errors, mut warnings, mut failures) = (0, 0, 0);
    let mut out = session.reporter.out();
    for diag in &find_all(&index, &root)? {
        match session.reporter.say_result(&mut out, diag) {
            Some(Severity::Error) => errors += 1,
            Some(Severity::Warning) => warnings += 1,
            None => continue,
        }
        failures += usize::from(diag.code != Code::UnityUnknownGuid);
    }
    drop(out);
    let count = |n, what: &str| render::count(n, what, &format!("{what}s"));
    session.reporter.note(&format!("{}, {}", count(errors, "error"), count(warnings, "warning")));
    Ok(if failures == 0 { OK } else { FAILED })
}

pub(super) fn annotate(session: &Session, file: Option<&Path>) -> Result<u8, Failure> {
    let unreadable = |path: &Path, error: io::Error| {
        Diag::new(Code::UnityInput, format!("cannot read the file: {error}")).path(path.display())
    };
    let mut input: Box<dyn BufRead> = match file {
        Some(path) => Box::new(BufReader::new(File::open(path).map_err(|error| unreadable(path, error))?)),
        None => Box::new(io::stdin().lock()),
    };
    let mut out = session.reporter.out();
    let (mut root, mut index) = session.index()?;
    let mut inner = Inner::new(&index, &root);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(file.unwrap_or(Path::new("-")), error))? == 0 {
            return Ok(OK);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        let annotated = match annotate_line(&index, &mut inner, text) {
            // Input cannot be read twice, so a damaged state is replaced here and not by running the command again.
            Err(IndexError::Unusable(_)) if session.rebuild() => {
                (root, index) = session.index()?;
                inner = Inner::new(&index, &root);
                annotate_line(&index, &mut inner, text)?
            }
            annotated => annotated?,
        };
        out.line(&annotated);
    }
}

pub(super) fn diff(session: &Session, old: &Path, new: &Path) -> Result<u8, Failure> {
    let read = |path: &Path| {
        store::read(path).map_err(|error| Diag::new(Code::UnityInput, error.to_string()).path(path.display()))
    };
    let (old, new) = (read(old)?, read(new)?);
    let mut rows = Rows::new(&["change", "guid", "old", "new"]);
    for change in compare(&old, &new) {
        let hint = |entry: &AssetEntry| entry.hint.to_string();
        let (what, guid, before, after) = match change {
            Change::Added(entry) => ("added", entry.guid, String::new(), hint(entry)),
            Change::Removed(entry) => ("removed", entry.guid, hint(entry), String::new()),
            Change::Moved(a, b) => ("moved", a.guid, hint(a), hint(b)),
            Change::Renamed(a, b) => ("renamed", a.guid, hint(a), hint(b)),
            Change::Retyped(a, b) => ("retyped", a.guid, kind(&old, a), kind(&new, b)),
        };
        rows.push(vec![what.to_owned(), Guid(guid).to_string(), before, after]);
    }
    rows.print(&mut session.reporter.out(), session.reporter.json);
    Ok(if rows.len() == 0 { OK } else { FAILED })
}

fn kind(db: &AssetDb, entry: &AssetEntry) -> String {
    match entry.asset_type {
        AssetType::Native(class) => ::unity_assetdb::class_id::class_name(class).into_owned(),
        script => format!(
            "Script:{}",
            db.script_guid(script).map(|guid| Guid(guid).to_string()).unwrap_or_default()
        ),
    }
}
