//! Queries about one asset or one name.
//!
//! Each returns an [`Answer`], which the command line prints and the MCP server sends.

use super::argument::{Subject, subject};
use super::not_indexed;
use super::rows::{Cell, Rows};
use super::{Failure, Session};
use ::unity_assetdb::class_id::{ClassId, class_name};
use ::unity_assetdb::guid::Guid;
use ::unity_assetdb::index::{Entry, Index, IndexError, Reference, Resolved};
use ::unity_assetdb::query::graph::{Reached, dependencies, dependents, why as shortest_chain};
use ::unity_assetdb::query::inner::{Inner, TargetStatus};
use ::unity_assetdb::query::suggest::{suggest, suggest_type};
use ::unity_assetdb::query::type_names::{short_type, types_named};
use ::unity_assetdb::store::AssetType;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::{Code, Diag};
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::path::Path;

const ASSET: &[&str] = &["guid", "name", "type", "path"];
const OBJECT: &[&str] = &["guid", "fileID", "name", "type", "path"];

/// The result of a query: rows, remarks for the user, and the exit code.
pub(super) struct Answer {
    pub(super) rows: Rows,
    pub(super) notes: Vec<String>,
    pub(super) code: u8,
}

impl Answer {
    /// Makes an answer that succeeds if there are rows.
    pub(super) fn of(rows: Rows) -> Answer {
        let code = if rows.len() > 0 { OK } else { FAILED };
        Answer { rows, notes: Vec::new(), code }
    }

    fn note(mut self, note: impl Into<String>) -> Answer {
        self.notes.push(note.into());
        self
    }

    /// Prints rows to standard output and remarks to standard error.
    pub(super) fn print(&self, session: &Session) -> u8 {
        self.rows.print(&mut session.reporter.out(), session.reporter.json);
        self.notes.iter().for_each(|note| session.reporter.note(note));
        self.code
    }
}

/// The names of types that rows show. A project has many assets and few types.
#[derive(Default)]
struct TypeNames(HashMap<AssetType, String>);

impl TypeNames {
    fn of(&mut self, index: &Index, entry: &Entry<'_>) -> Result<&str, IndexError> {
        Ok(match self.0.entry(entry.asset_type()) {
            Occupied(shown) => shown.into_mut(),
            Vacant(place) => place.insert(short_type(index, &entry.type_name()?)?),
        })
    }
}

/// Adds the row of an asset.
fn push_asset(
    rows: &mut Rows,
    index: &Index,
    types: &mut TypeNames,
    entry: &Entry<'_>,
) -> Result<(), IndexError> {
    let kind = types.of(index, entry)?;
    rows.push(&[Cell::Guid(entry.guid()), entry.name()?.into(), kind.into(), (&entry.hint()?).into()]);
    Ok(())
}

/// Adds the row of an asset or of something inside it.
fn push_object(
    rows: &mut Rows,
    index: &Index,
    types: &mut TypeNames,
    resolved: &Resolved<'_>,
) -> Result<(), IndexError> {
    match resolved {
        Resolved::Sub(_, sub) => push_typed(rows, resolved, &class_name(sub.class_id)),
        _ => push_typed(rows, resolved, types.of(index, &resolved.entry())?),
    }
}

/// Adds the row of an object whose type is known.
fn push_typed(rows: &mut Rows, resolved: &Resolved<'_>, kind: &str) -> Result<(), IndexError> {
    let entry = resolved.entry();
    let (file_id, name) = match resolved {
        Resolved::Sub(_, sub) => (sub.file_id, sub.name),
        _ => (entry.main_file_id(), entry.name()?),
    };
    let hint = entry.hint()?;
    let (guid, file_id) = (Cell::Guid(entry.guid()), Cell::FileId(file_id));
    rows.push(&[guid, file_id, name.into(), kind.into(), (&hint).into()]);
    Ok(())
}

/// Returns rows of objects, sorted by these columns.
fn sorted_objects(index: &Index, found: &[Resolved<'_>], columns: &[usize]) -> Result<Rows, IndexError> {
    let (mut rows, mut types) = (Rows::new(OBJECT), TypeNames::default());
    for each in found {
        push_object(&mut rows, index, &mut types, each)?;
    }
    rows.sort_by_columns(columns);
    Ok(rows)
}

/// The answer for an argument that no asset has: the reason, if a file of the project has it, or suggestions.
fn no_asset(index: &Index, root: &Path, wanted: &str) -> Result<Answer, Failure> {
    if wanted.trim().is_empty() {
        let message = "expected an asset, found an empty argument";
        return Err(Diag::new(Code::Usage, message).hint("pass its path, name or GUID").into());
    }
    match not_indexed::reason(index, root, wanted)? {
        Some(reason) => {
            Ok(Answer::of(Rows::new(OBJECT)).note(format!("no asset found: {wanted}")).note(reason))
        }
        None => not_found(index, "asset", wanted),
    }
}

/// The answer for an argument that nothing in the project has, with suggestions.
fn not_found(index: &Index, what: &str, wanted: &str) -> Result<Answer, Failure> {
    if let Some((path, line)) = wanted.rsplit_once(':')
        && line.parse::<usize>().is_ok()
        && index.find_by_hint(path.strip_suffix(".meta").unwrap_or(path))?.is_some()
    {
        return Ok(Answer::of(Rows::new(OBJECT)).note(format!("no reference found on line {line} of {path}")));
    }
    let near = suggest(index, wanted)?;
    let answer = Answer::of(Rows::new(OBJECT)).note(format!("no {what} found: {wanted}"));
    Ok(match near.is_empty() {
        true => answer,
        false => answer.note(format!("did you mean: {}", near.join(", "))),
    })
}

/// The answer for a name that several objects have: all of them.
fn candidates(index: &Index, wanted: &str, found: &[Resolved<'_>]) -> Result<Answer, Failure> {
    let table = sorted_objects(index, found, &[4, 1])?;
    let note =
        format!("{} objects are named {wanted}; pass the GUID or the path of one of them", found.len());
    Ok(Answer { code: FAILED, ..Answer::of(table).note(note) })
}

/// The assets that an argument denotes, or the answer that explains why there are none.
pub(super) enum Assets<'a> {
    Found(Vec<Entry<'a>>),
    Unanswered(Answer),
}

pub(super) fn assets<'a>(index: &'a Index, root: &Path, text: &str) -> Result<Assets<'a>, Failure> {
    Ok(match subject(index, root, text)? {
        Subject::Asset { guid, .. } => match index.find_by_guid(guid)? {
            Some(entry) => Assets::Found(vec![entry]),
            None => Assets::Unanswered(no_asset(index, root, text)?),
        },
        Subject::Folder { assets, .. } => Assets::Found(assets),
        Subject::Candidates(found) => Assets::Unanswered(candidates(index, text, &found)?),
        Subject::Unknown => Assets::Unanswered(no_asset(index, root, text)?),
    })
}

/// Prints the answer of a query on the index.
pub(super) fn answer(
    session: &Session,
    query: impl FnOnce(&Index, &Path) -> Result<Answer, Failure>,
) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    Ok(query(&index, &root)?.print(session))
}

/// Finds the row of an asset by whatever names it.
pub(super) fn asset(index: &Index, root: &Path, text: &str) -> Result<Answer, Failure> {
    let entries = match subject(index, root, text)? {
        // The folder itself, not its content.
        Subject::Folder { hint, .. } => index.find_by_hint(&hint)?.into_iter().collect(),
        Subject::Asset { guid, .. } => match index.claimants(guid)? {
            none if none.is_empty() => {
                let note = format!("no asset has the GUID {}", Guid(guid));
                return Ok(Answer::of(Rows::new(ASSET)).note(note));
            }
            found => found,
        },
        _ => match assets(index, root, text)? {
            Assets::Found(found) => found,
            Assets::Unanswered(answer) => return Ok(answer),
        },
    };
    let (mut rows, mut types) = (Rows::new(ASSET), TypeNames::default());
    for entry in entries {
        push_asset(&mut rows, index, &mut types, &entry)?;
    }
    match rows.len() {
        0 => no_asset(index, root, text),
        _ => Ok(Answer::of(rows)),
    }
}

/// Resolves a reference by the three lookup rules: the exact sub-asset, the asset whose main object has the fileID, and the
/// texture for the fileID of its sprite; then objects inside prefabs and scenes.
pub(super) fn resolve(
    index: &Index,
    root: &Path,
    text: &str,
    file_id: Option<i64>,
) -> Result<Answer, Failure> {
    let (guid, found) = match subject(index, root, text)? {
        Subject::Asset { guid, file_id } => (guid, file_id),
        Subject::Folder { hint, .. } => match index.find_by_hint(&hint)? {
            Some(entry) => (entry.guid(), None),
            None => return no_asset(index, root, text),
        },
        Subject::Candidates(found) => return candidates(index, text, &found),
        Subject::Unknown => return no_asset(index, root, text),
    };
    let file_id = file_id.or(found).unwrap_or(0);
    let mut rows = Rows::new(OBJECT);
    let mut note = None;
    let target = Inner::new(index, root).target(guid, file_id)?;
    match target.status {
        TargetStatus::UnknownGuid => note = Some(format!("no asset has the GUID {}", Guid(guid))),
        TargetStatus::NoSuchObject | TargetStatus::Opaque => {
            note = Some(format!("{}: fileID {file_id}: {}", target.path, target.status.describe()));
        }
        TargetStatus::UnknownBuiltIn => note = Some(target.status.describe().to_owned()),
        _ => {
            let shown = match index.resolve(guid, file_id)? {
                Some(Resolved::Asset(entry)) => entry.main_file_id(),
                _ => file_id,
            };
            rows.push(&[
                Cell::Guid(guid),
                Cell::FileId(shown),
                (&target.name).into(),
                (&target.type_name).into(),
                (&target.path).into(),
            ]);
        }
    }
    // The others that claim the GUID, in a project whose bake fails because of them.
    let mut types = TypeNames::default();
    for entry in index.claimants(guid)?.iter().skip(1) {
        let resolved = match entry.sub(file_id)? {
            Some(sub) => Resolved::Sub(*entry, sub),
            None => Resolved::Asset(*entry),
        };
        push_object(&mut rows, index, &mut types, &resolved)?;
    }
    let answer = Answer::of(rows);
    Ok(match note {
        Some(note) => answer.note(note),
        None => answer,
    })
}

pub(super) fn find(index: &Index, pattern: &str) -> Result<Answer, Failure> {
    let lower = pattern.to_lowercase();
    let found = index.named_like(literal(&lower), |name| matches(&lower, name))?;
    if found.is_empty() {
        return not_found(index, "matching name", pattern);
    }
    Ok(Answer::of(sorted_objects(index, &found, &[2, 4, 1])?))
}

fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

/// Returns the longest string that a name has to contain to match a pattern.
fn literal(pattern: &str) -> &str {
    pattern.split(['*', '?']).max_by_key(|part| part.len()).unwrap_or_default()
}

/// Returns whether a name matches a pattern, both in lower case: a substring, or a glob for the whole name.
fn matches(pattern: &str, name: &str) -> bool {
    if is_glob(pattern) { matches_glob(pattern, name) } else { name.contains(pattern) }
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

/// Lists all assets, or the assets and sub-assets of one type.
pub(super) fn list(index: &Index, kind: Option<&str>) -> Result<Answer, Failure> {
    let mut rows = Rows::new(if kind.is_some() { OBJECT } else { ASSET });
    match kind {
        Some(kind) => {
            for (wanted, shown) in types_named(index, kind)? {
                for object in index.of_type(wanted)? {
                    push_typed(&mut rows, &object?, &shown)?;
                }
            }
            rows.sort_by_columns(&[4, 1]);
        }
        None => {
            let mut types = TypeNames::default();
            for entry in index.entries() {
                let entry = entry?;
                if entry.is_listed() {
                    push_asset(&mut rows, index, &mut types, &entry)?;
                }
            }
            rows.sort_by_columns(&[3, 1]);
        }
    }
    let answer = Answer::of(rows);
    let Some(kind) = kind.filter(|_| answer.rows.len() == 0) else { return Ok(answer) };
    let is_class = ClassId::from_name(kind).is_some() || kind.parse::<u32>().is_ok();
    if is_class {
        return Ok(answer.note(format!("no asset has the type {kind}")));
    }
    let near = suggest_type(index, kind)?;
    let answer = answer.note(format!("no type is named {kind}"));
    Ok(match near.is_empty() {
        true => answer,
        false => answer.note(format!("did you mean: {}", near.join(", "))),
    })
}

/// The references that `uses` lists.
#[derive(Default)]
struct ListedUses<'a> {
    /// The paths of the files with references, each once.
    paths: Vec<String>,
    /// The references, each with the index of its path and the name of the object.
    uses: Vec<(u32, Reference, &'a str)>,
}

impl<'a> ListedUses<'a> {
    /// Adds the references of one asset: those in its file and those in its `.meta`.
    fn push(&mut self, source: &str, uses: impl Iterator<Item = (Reference, &'a str)>) {
        let mut at = [None; 2];
        for (reference, object) in uses {
            let path = *at[usize::from(reference.in_meta)].get_or_insert_with(|| {
                self.paths.push(if reference.in_meta { format!("{source}.meta") } else { source.to_owned() });
                self.paths.len() as u32 - 1
            });
            self.uses.push((path, reference, object));
        }
    }

    /// Returns the rows by path, line, count, fileID and object.
    fn rows(mut self) -> Rows {
        let mut order: Vec<u32> = (0..self.paths.len() as u32).collect();
        order.sort_by(|a, b| self.paths[*a as usize].cmp(&self.paths[*b as usize]));
        let mut rank = vec![0; order.len()];
        order.iter().zip(0u32..).for_each(|(at, n)| rank[*at as usize] = n);
        self.uses.sort_unstable_by_key(|(path, each, object)| {
            (rank[*path as usize], each.line, each.count, each.file_id, *object)
        });
        let mut rows = Rows::new(&["path", "line", "count", "fileID", "object"]);
        for (path, Reference { line, count, file_id, .. }, object) in self.uses {
            let (path, object) = ((&self.paths[path as usize]).into(), Cell::optional(object));
            rows.push(&[path, line.into(), count.into(), Cell::FileId(file_id), object]);
        }
        rows
    }
}

/// Lists the references to an asset, an object, or the assets of a folder from outside of it.
pub(super) fn uses(index: &Index, root: &Path, text: &str) -> Result<Answer, Failure> {
    let found = match subject(index, root, text)? {
        Subject::Asset { guid, file_id } => uses_of_guid(index, guid, file_id)?,
        Subject::Folder { hint, assets } => uses_of_folder(index, &hint, assets)?,
        Subject::Candidates(found) => return candidates(index, text, &found),
        Subject::Unknown => return no_asset(index, root, text),
    };
    let answer = Answer::of(found.rows());
    Ok(if answer.rows.len() == 0 { answer.note(format!("no asset refers to {text}")) } else { answer })
}

/// Returns the references to a GUID, which the index may not know, or to one object of its asset.
fn uses_of_guid(index: &Index, guid: u128, file_id: Option<i64>) -> Result<ListedUses<'_>, IndexError> {
    let target = index.find_by_guid(guid)?;
    let mut found = ListedUses::default();
    let mut listed = Vec::new();
    for uses in index.uses(guid)?.chunk_by(|a, b| a.0 == b.0) {
        for (_, reference) in uses.iter().filter(|(_, each)| file_id.is_none_or(|id| id == each.file_id)) {
            let object = match target {
                Some(target) => target.resolve(reference.file_id)?.name()?,
                None => "",
            };
            listed.push((*reference, object));
        }
        found.push(&uses[0].0.hint()?, listed.drain(..));
    }
    Ok(found)
}

/// Returns the references to a folder and to the assets in it, except those among these assets.
fn uses_of_folder<'a>(
    index: &'a Index,
    hint: &str,
    mut assets: Vec<Entry<'a>>,
) -> Result<ListedUses<'a>, IndexError> {
    assets.extend(index.find_by_hint(hint)?);
    let inside = format!("{hint}/");
    let mut found = ListedUses::default();
    // The file that is being read: the asset, and its path unless that is in the folder.
    let mut source: Option<(Entry<'a>, Option<String>)> = None;
    let mut listed = Vec::new();
    index.for_each_use(&assets, |each| {
        if source.as_ref().is_none_or(|(known, _)| *known != each.source) {
            if let Some((_, Some(path))) = &source {
                found.push(path, listed.drain(..));
            }
            let path = Some(each.source.hint()?).filter(|path| !path.starts_with(&inside));
            source = Some((each.source, path));
        }
        if let Some((_, Some(_))) = source {
            listed.push((each.reference, each.target.resolve(each.reference.file_id)?.name()?));
        }
        Ok(())
    })?;
    if let Some((_, Some(path))) = &source {
        found.push(path, listed.drain(..));
    }
    Ok(found)
}

/// The direction of a recursive query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Uses,
    Dependencies,
}

/// Lists everything that depends on an asset, or that it depends on, directly or not.
pub(super) fn recursive(
    index: &Index,
    root: &Path,
    text: &str,
    direction: Direction,
    size: bool,
) -> Result<Answer, Failure> {
    let entries = match assets(index, root, text)? {
        Assets::Found(entries) => entries,
        Assets::Unanswered(answer) => return Ok(answer),
    };
    let found: Vec<Reached<'_>> = match direction {
        Direction::Uses => dependents(index, &entries)?,
        Direction::Dependencies => dependencies(index, &entries)?,
    };
    let columns: &[&str] = match size {
        true => &["path", "type", "depth", "through", "bytes"],
        false => &["path", "type", "depth", "through"],
    };
    let mut rows = Rows::new(columns);
    let bytes = |hint: &str| match std::fs::symlink_metadata(root.join(hint)) {
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    };
    let mut total = 0;
    let mut types = TypeNames::default();
    for each in found {
        let kind = types.of(index, &each.entry)?;
        let len = if size { bytes(&each.hint) } else { 0 };
        total += len;
        let row = [(&each.hint).into(), kind.into(), each.depth.into(), (&each.through).into(), len.into()];
        rows.push(&row[..columns.len()]);
    }
    let count = rows.len();
    let answer = Answer::of(rows);
    let answer =
        Answer { code: if direction == Direction::Dependencies { OK } else { answer.code }, ..answer };
    Ok(match (count, direction) {
        (0, Direction::Uses) => answer.note(format!("no asset refers to {text}")),
        (0, Direction::Dependencies) => answer.note(format!("{text} refers to no other asset")),
        (_, _) if size => {
            let own: u64 =
                entries.iter().map(|entry| entry.hint().map(|hint| bytes(&hint))).sum::<Result<u64, _>>()?;
            let assets = render::count(count, "asset", "assets");
            answer.note(format!(
                "{assets}, {} ({total} bytes), and {own} bytes of {text} itself",
                render::size(total)
            ))
        }
        _ => answer,
    })
}

/// Shows the shortest chain of references from a root of the build to an asset.
pub(super) fn why(index: &Index, root: &Path, text: &str, all_scenes: bool) -> Result<Answer, Failure> {
    let entry = match assets(index, root, text)? {
        Assets::Found(entries) if entries.len() == 1 => entries[0],
        Assets::Found(_) => {
            let message = format!("expected one asset, found the folder {text:?}");
            return Err(kiln_engine::Diag::new(kiln_engine::Code::Usage, message).into());
        }
        Assets::Unanswered(answer) => return Ok(answer),
    };
    let mut rows = Rows::new(&["path", "type", "line", "inMeta", "root"]);
    let Some(chain) = shortest_chain(index, root, entry, all_scenes)? else {
        let note = format!("no root of the build reaches {}; see unity-assetdb unused", entry.hint()?);
        return Ok(Answer::of(rows).note(note));
    };
    for step in chain {
        let kind = short_type(index, &step.entry.type_name()?)?;
        let line = if step.line == 0 { Cell::None } else { step.line.into() };
        let reason = step.root.map(|root| root.to_string()).unwrap_or_default();
        let row = [(&step.hint).into(), (&kind).into(), line, step.in_meta.into(), Cell::optional(&reason)];
        rows.push(&row);
    }
    Ok(Answer::of(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_substrings_and_globs() {
        let check = |pattern: &str, name: &str, expected: bool| {
            let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
            assert_eq!(matches(&pattern, &name), expected, "{pattern} {name}");
            assert!(!expected || name.contains(literal(&pattern)), "{pattern} {name}");
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
