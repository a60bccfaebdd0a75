//! Queries about one asset or one name.

use super::rows::Rows;
use super::{Failure, Session};
use ::unity_assetdb::class_id::class_name;
use ::unity_assetdb::guid::{self, Guid};
use ::unity_assetdb::index::{Entry, Index, IndexError, Resolved};
use ::unity_assetdb::query::annotate::short_type;
use ::unity_assetdb::query::inner::{Inner, Target, TargetStatus};
use ::unity_assetdb::query::suggest::suggest;
use ::unity_assetdb::store::AssetType;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::Code;
use std::path::Path;

const ASSET: &[&str] = &["guid", "name", "type", "path"];
const OBJECT: &[&str] = &["guid", "fileID", "name", "type", "path"];

/// The row of an asset.
fn row(index: &Index, entry: &Entry<'_>) -> Result<Vec<String>, IndexError> {
    let kind = short_type(index, &entry.type_name()?)?;
    Ok(vec![Guid(entry.guid()).to_string(), entry.name()?.to_owned(), kind, entry.hint()?])
}

/// The row of an asset or of something inside it.
fn object_row(index: &Index, resolved: &Resolved<'_>) -> Result<Vec<String>, IndexError> {
    let entry = resolved.entry();
    let (file_id, name, kind) = match resolved {
        Resolved::Sub(_, sub) => (sub.file_id, sub.name.to_owned(), class_name(sub.class_id).into_owned()),
        _ => (entry.main_file_id(), entry.name()?.to_owned(), short_type(index, &entry.type_name()?)?),
    };
    Ok(vec![Guid(entry.guid()).to_string(), file_id.to_string(), name, kind, entry.hint()?])
}

/// Returns the asset at a path, relative to the project or to the current directory.
fn at_path<'a>(index: &'a Index, root: &Path, path: &str) -> Result<Option<Entry<'a>>, IndexError> {
    let given = path.replace('\\', "/");
    let given = given.trim_end_matches('/');
    let given = given.strip_suffix(".meta").unwrap_or(given);
    let plain = given.strip_prefix("./").unwrap_or(given);
    if let Some(entry) = index.find_by_hint(plain)? {
        return Ok(Some(entry));
    }
    let here = std::path::absolute(given).ok();
    // The asset itself may be a link: only its directory is canonicalized.
    let real =
        here.as_ref().and_then(|path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)));
    for path in [here.as_ref(), real.as_ref()].into_iter().flatten() {
        if let Some(hint) = path.strip_prefix(root).ok().and_then(Path::to_str)
            && let Some(entry) = index.find_by_hint(&hint.replace('\\', "/"))?
        {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Reports that nothing was found, with suggestions.
fn not_found(session: &Session, index: &Index, what: &str, wanted: &str) -> Result<u8, Failure> {
    let near = suggest(index, wanted)?;
    session.reporter.note(&format!("no {what} found: {wanted}"));
    if !near.is_empty() {
        session.reporter.note(&format!("did you mean: {}", near.join(", ")));
    }
    Ok(FAILED)
}

fn print(session: &Session, rows: &Rows) -> u8 {
    rows.print(&mut session.reporter.out(), session.reporter.json);
    if rows.len() > 0 { OK } else { FAILED }
}

pub(super) fn guid(session: &Session, path: &str) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    let Some(entry) = at_path(&index, &root, path)? else {
        return not_found(session, &index, "asset", path);
    };
    let mut rows = Rows::new(ASSET);
    rows.push(row(&index, &entry)?);
    Ok(print(session, &rows))
}

pub(super) fn path(session: &Session, text: &str) -> Result<u8, Failure> {
    let guid = parse(text)?;
    let (_, index) = session.index()?;
    let Some(entry) = index.find_by_guid(guid)? else {
        session.reporter.note(&format!("no asset has the GUID {}", Guid(guid)));
        return Ok(FAILED);
    };
    let mut rows = Rows::new(ASSET);
    rows.push(row(&index, &entry)?);
    Ok(print(session, &rows))
}

fn parse(text: &str) -> Result<u128, Failure> {
    guid::parse_loose(text).ok_or_else(|| {
        let message = format!("expected a GUID of 32 hexadecimal digits, found {text:?}");
        kiln_engine::Diag::new(Code::Usage, message).into()
    })
}

pub(super) fn resolve(session: &Session, text: &str, file_id: Option<i64>) -> Result<u8, Failure> {
    let guid = parse(text)?;
    let (root, index) = session.index()?;
    let file_id = file_id.unwrap_or(0);
    let mut rows = Rows::new(OBJECT);
    let target = Inner::new(&index, &root).target(guid, file_id)?;
    match target.status {
        TargetStatus::UnknownGuid => session.reporter.note(&format!("no asset has the GUID {}", Guid(guid))),
        TargetStatus::NoSuchObject | TargetStatus::Opaque => {
            let message = format!("{}: fileID {file_id}: {}", target.path, target.status.describe());
            session.reporter.note(&message);
        }
        TargetStatus::UnknownBuiltIn => session.reporter.note(target.status.describe()),
        _ => {
            let shown = match index.resolve(guid, file_id)? {
                Some(Resolved::Asset(entry)) => entry.main_file_id(),
                _ => file_id,
            };
            rows.push(vec![
                Guid(guid).to_string(),
                shown.to_string(),
                target.name,
                target.type_name,
                target.path,
            ]);
        }
    }
    Ok(print(session, &rows))
}

pub(super) fn find(session: &Session, pattern: &str) -> Result<u8, Failure> {
    let (_, index) = session.index()?;
    let matches = matcher(pattern);
    let mut rows = Vec::new();
    for entry in index.entries() {
        let entry = entry?;
        if entry.is_settings() {
            continue;
        }
        if matches(entry.name()?) {
            rows.push(object_row(&index, &Resolved::Asset(entry))?);
        }
        for sub in entry.subs()? {
            if matches(sub.name) {
                rows.push(object_row(&index, &Resolved::Sub(entry, sub))?);
            }
        }
    }
    if rows.is_empty() {
        return not_found(session, &index, "matching name", pattern);
    }
    rows.sort_by(|a, b| (&a[2], &a[4], &a[1]).cmp(&(&b[2], &b[4], &b[1])));
    let mut table = Rows::new(OBJECT);
    rows.into_iter().for_each(|row| table.push(row));
    Ok(print(session, &table))
}

/// Returns a test for names: a substring, or a glob for the whole name; case is ignored.
fn matcher(pattern: &str) -> impl Fn(&str) -> bool {
    let pattern = pattern.to_lowercase();
    let glob = pattern.contains(['*', '?']);
    move |name: &str| {
        let name = name.to_lowercase();
        if glob { matches_glob(&pattern, &name) } else { name.contains(&pattern) }
    }
}

/// Matches a glob: `*` is any string, `?` any character. Backtracks to the last `*` only, so that the time is at most the
/// product of the lengths.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, t) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

pub(super) fn list(session: &Session, kind: Option<&str>) -> Result<u8, Failure> {
    let (_, index) = session.index()?;
    let mut rows = Vec::new();
    for entry in index.entries() {
        let entry = entry?;
        if !entry.is_listed() {
            continue;
        }
        let row = row(&index, &entry)?;
        let is = |kind: &str| {
            let number = match entry.asset_type() {
                AssetType::Native(class) => class.to_string(),
                AssetType::Script(_) => String::new(),
            };
            let full = entry.type_name().unwrap_or_default();
            kind == number || kind.eq_ignore_ascii_case(&row[2]) || kind.eq_ignore_ascii_case(&full)
        };
        if kind.is_none_or(is) {
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| a[3].cmp(&b[3]));
    let mut table = Rows::new(ASSET);
    rows.into_iter().for_each(|row| table.push(row));
    Ok(print(session, &table))
}

/// Returns the GUID of an asset that is given as a GUID or a path.
fn subject(index: &Index, root: &Path, text: &str) -> Result<Option<u128>, IndexError> {
    match guid::parse_loose(text) {
        Some(guid) => Ok(Some(guid)),
        None => Ok(at_path(index, root, text)?.map(|entry| entry.guid())),
    }
}

pub(super) fn uses(session: &Session, asset: &str) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    let Some(guid) = subject(&index, &root, asset)? else {
        return not_found(session, &index, "asset", asset);
    };
    let mut found = Vec::new();
    for (source, reference) in index.uses(guid)? {
        let hint = source.hint()?;
        let path = if reference.in_meta { format!("{hint}.meta") } else { hint };
        let object = match index.resolve(guid, reference.file_id)? {
            Some(resolved) => resolved.name()?.to_owned(),
            None => String::new(),
        };
        found.push((path, reference.line, reference.count, reference.file_id, object));
    }
    found.sort();
    let mut rows = Rows::new(&["path", "line", "count", "fileID", "object"]);
    for (path, line, count, file_id, object) in found {
        rows.push(vec![path, line.to_string(), count.to_string(), file_id.to_string(), object]);
    }
    if rows.len() == 0 {
        session.reporter.note(&format!("no asset refers to {asset}"));
    }
    Ok(print(session, &rows))
}

pub(super) fn deps(session: &Session, asset: &str) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    let guid = subject(&index, &root, asset)?;
    let Some(entry) = guid.map(|guid| index.find_by_guid(guid)).transpose()?.flatten() else {
        return not_found(session, &index, "asset", asset);
    };
    let mut inner = Inner::new(&index, &root);
    let mut rows = Rows::new(&["guid", "fileID", "line", "name", "type", "path"]);
    for each in entry.references()? {
        let Target { name, type_name, path, .. } = inner.target(each.guid, each.file_id)?;
        let kind = if type_name.is_empty() { "unknown".to_owned() } else { type_name };
        let line = if each.in_meta { format!("{} (.meta)", each.line) } else { each.line.to_string() };
        rows.push(vec![Guid(each.guid).to_string(), each.file_id.to_string(), line, name, kind, path]);
    }
    if rows.len() == 0 {
        session.reporter.note(&format!("{asset} refers to no other asset"));
    }
    rows.print(&mut session.reporter.out(), session.reporter.json);
    Ok(OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_substrings_and_globs() {
        let check = |pattern: &str, name: &str, expected| {
            assert_eq!(matcher(pattern)(name), expected, "{pattern} {name}")
        };
        check("flag", "TX_FlagBig", true);
        check("TX_*_Main", "tx_flagbig_main", true);
        check("TX_*_Main", "tx_flagbig_maine", false);
        check("?lag", "Flag", true);
        check("*", "", true);
        check("?", "", false);
        check("*a*b", "xaxbxab", true);
        check(&"*a".repeat(30), &"a".repeat(29), false);
    }
}
