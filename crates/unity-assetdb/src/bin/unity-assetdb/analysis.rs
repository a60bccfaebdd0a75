//! Queries about the whole project: unused assets, broken references, checks; and the filters `annotate` and `diff`.

use super::args::UnusedArgs;
use super::lookup::Answer;
use super::rows::{Cell, RowStream, Rows};
use super::{Failure, Session};
use ::unity_assetdb::guid::Guid;
use ::unity_assetdb::index::{Index, IndexError};
use ::unity_assetdb::query::annotate::{annotate as annotate_line, is_wrapped, join_wrapped};
use ::unity_assetdb::query::broken::{BrokenKind, INCOMPLETE_SEARCH, for_each_broken};
use ::unity_assetdb::query::diff::{Change, diff as compare};
use ::unity_assetdb::query::inner::Inner;
use ::unity_assetdb::query::packages::{Packages, packages};
use ::unity_assetdb::query::type_names::short_type;
use ::unity_assetdb::query::unused::{Unused, UnusedOptions, unused as find_unused};
use ::unity_assetdb::store::{self, AssetDb, AssetEntry, AssetType, StoreError};
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, FATAL, OK};
use kiln_engine::{Code, Diag};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

pub(super) fn unused(session: &Session, args: &UnusedArgs) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    if args.delete_list {
        return delete_list(session, &index, &root, args);
    }
    Ok(unused_rows(&index, &root, args)?.print(session))
}

fn find_readable<'a>(index: &'a Index, root: &Path, args: &UnusedArgs) -> Result<Vec<Unused<'a>>, Failure> {
    let found = find_unused(index, root, UnusedOptions::default().all_scenes(args.all_scenes))?;
    match args.allow_unreadable || found.unreadable.is_empty() {
        true => Ok(found.assets),
        false => Err(Failure::new(found.unreadable, FATAL)),
    }
}

/// Lists the paths of assets that are certainly unused, and of their `.meta` files.
fn delete_list(session: &Session, index: &Index, root: &Path, args: &UnusedArgs) -> Result<u8, Failure> {
    let found = find_readable(index, root, args)?;
    let (certain, kept): (Vec<_>, Vec<_>) = found.iter().partition(|each| each.maybe.is_empty());
    let mut out = session.reporter.out();
    certain.iter().for_each(|each| out.line(&format!("{0}\n{0}.meta", each.hint)));
    if !kept.is_empty() {
        let assets = render::count(kept.len(), "asset that may be used is", "assets that may be used are");
        session.reporter.note(&format!("{assets} not listed"));
    }
    Ok(if certain.is_empty() { OK } else { FAILED })
}

pub(super) fn unused_rows(index: &Index, root: &Path, args: &UnusedArgs) -> Result<Answer, Failure> {
    let columns: &[&str] = match args.size {
        true => &["path", "type", "certain", "note", "bytes"],
        false => &["path", "type", "certain", "note"],
    };
    let mut rows = Rows::new(columns);
    let (mut total, mut uncertain) = (0, 0);
    for each in find_readable(index, root, args)? {
        let kind = short_type(index, &each.entry.type_name()?)?;
        let certain = each.maybe.is_empty();
        uncertain += usize::from(!certain);
        let note = if certain { each.note } else { format!("maybe: {}", each.maybe) };
        let size = match args.size {
            true => std::fs::symlink_metadata(root.join(&each.hint)).map_or(0, |meta| meta.len()),
            false => 0,
        };
        total += size;
        let row = [(&each.hint).into(), (&kind).into(), certain.into(), Cell::optional(&note), size.into()];
        rows.push(&row[..columns.len()]);
    }
    let mut summary = render::count(rows.len(), "unused asset", "unused assets");
    if uncertain > 0 {
        summary += &format!(", {uncertain} of them may be used");
    }
    if args.size {
        summary += &format!(", {} ({total} bytes)", render::size(total));
    }
    Ok(findings(rows, vec![format!("{summary}; names that code computes are not recognized")]))
}

/// Makes an answer that fails if there are rows: each is a problem.
fn findings(rows: Rows, notes: Vec<String>) -> Answer {
    let code = if rows.len() == 0 { OK } else { FAILED };
    Answer { rows, notes, code }
}

const BROKEN: &[&str] = &["path", "line", "guid", "fileID", "target", "certain", "kind"];

/// Prints broken references while they are found: a project may have hundreds of thousands.
pub(super) fn broken(session: &Session) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    // Rows that were printed cannot be taken back, so that damage is found before the first one.
    index.verify()?;
    let packages = packages(&root, &index);
    let mut rows = RowStream::new(BROKEN, session.reporter.out(), session.reporter.json);
    let notes = list_broken(&index, &root, &packages, &mut |row| rows.push(row))?;
    let count = rows.finish();
    notes.iter().for_each(|note| session.reporter.note(note));
    Ok(if count == 0 { OK } else { FAILED })
}

pub(super) fn broken_rows(index: &Index, root: &Path) -> Result<Answer, Failure> {
    let mut rows = Rows::new(BROKEN);
    let notes = list_broken(index, root, &packages(root, index), &mut |row| rows.push(row))?;
    Ok(findings(rows, notes))
}

/// Passes each broken reference on as a row. Returns the remarks about packages that are not on this machine, and about a
/// search that was given up.
fn list_broken(
    index: &Index,
    root: &Path,
    packages: &Packages,
    push: &mut dyn FnMut(&[Cell<'_>]),
) -> Result<Vec<String>, Failure> {
    let mut unknown = 0;
    let is_complete = for_each_broken(index, root, packages, |path, each| {
        let target = each.target.map(|target| target.hint()).transpose()?.unwrap_or_default();
        unknown += usize::from(each.kind == BrokenKind::MissingPackage);
        push(&[
            path.into(),
            each.reference.line.into(),
            Cell::Guid(each.reference.guid),
            Cell::FileId(each.reference.file_id),
            Cell::optional(&target),
            each.kind.is_certain().into(),
            each.kind.as_str().into(),
        ]);
        Ok(())
    })?;
    let mut notes = Vec::new();
    if unknown > 0 {
        let some = packages.missing.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        let references = render::count(unknown, "reference", "references");
        notes.push(format!("{references} may point into packages that are not on this machine: {some}"));
    }
    if !is_complete {
        notes.push(INCOMPLETE_SEARCH.to_owned());
    }
    Ok(notes)
}

pub(super) fn annotate(session: &Session, file: Option<&Path>) -> Result<u8, Failure> {
    let unreadable = |path: &Path, error: io::Error| {
        Diag::new(Code::UnityInput, format!("cannot read the file: {error}")).path(path.display())
    };
    let file = file.filter(|path| *path != Path::new("-"));
    let mut input: Box<dyn BufRead> = match file {
        Some(path) => Box::new(BufReader::new(File::open(path).map_err(|error| unreadable(path, error))?)),
        None => Box::new(io::stdin().lock()),
    };
    let mut out = session.reporter.out();
    let (mut root, mut index) = session.index()?;
    let mut inner = Inner::new(&index, &root);
    let mut next_line = || -> Result<Option<String>, Failure> {
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line);
        let read = read.map_err(|error| unreadable(file.unwrap_or(Path::new("-")), error))?;
        let text = String::from_utf8_lossy(&line);
        Ok((read > 0).then(|| text.trim_end_matches(['\n', '\r']).to_owned()))
    };
    while let Some(mut text) = next_line()? {
        if is_wrapped(&text)
            && let Some(next) = next_line()?
        {
            join_wrapped(&mut text, &next);
        }
        let annotated = match annotate_line(&index, &mut inner, &text) {
            // Input cannot be read twice, so a damaged state is replaced here and not by running the command again.
            Err(IndexError::Unusable(_)) if session.rebuild() => {
                (root, index) = session.index()?;
                inner = Inner::new(&index, &root);
                annotate_line(&index, &mut inner, &text)?
            }
            annotated => annotated?,
        };
        out.line(&annotated);
    }
    Ok(OK)
}

pub(super) fn diff(session: &Session, old: &Path, new: &Path) -> Result<u8, Failure> {
    let read = |path: &Path| {
        store::read(path).map_err(|error| {
            let diag = Diag::new(Code::UnityInput, error.to_string()).path(path.display());
            match error {
                StoreError::Io(_) => diag,
                _ => diag.hint("compare two versions of asset-db.bin, which unity-assetdb bake writes"),
            }
        })
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
        rows.push(&[what.into(), Cell::Guid(guid), Cell::optional(&before), Cell::optional(&after)]);
    }
    rows.print(&mut session.reporter.out(), session.reporter.json);
    Ok(if rows.len() == 0 { OK } else { FAILED })
}

fn kind(db: &AssetDb, entry: &AssetEntry) -> String {
    match entry.asset_type {
        AssetType::Native(class) => ::unity_assetdb::class_id::class_name(class).into_owned(),
        script => {
            format!("Script:{}", db.script_of(script).map(|guid| Guid(guid).to_string()).unwrap_or_default())
        }
    }
}
