//! Interprets the argument that names an asset: whatever a user has at hand.
//!
//! In this order: a whole reference `{fileID: …, guid: …}`, a GUID in any notation, a path relative to the project or to the
//! current directory, a path with a line (`Assets/Main.unity:12`) for the reference on that line, the name of an asset or
//! sub-asset. A folder stands for all assets in it.

use ::unity_assetdb::guid;
use ::unity_assetdb::index::{Entry, Index, IndexError, Resolved};
use ::unity_assetdb::refs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The maximum length of a line that is searched for a reference, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// The meaning of an argument.
pub(super) enum Subject<'a> {
    /// One asset, or one object in it if there is a fileID. The GUID may be unknown to the index.
    Asset { guid: u128, file_id: Option<i64> },
    /// A folder: its path, and the assets in it.
    Folder { hint: String, assets: Vec<Entry<'a>> },
    /// A name that several objects have.
    Candidates(Vec<Resolved<'a>>),
    /// Nothing that the project has.
    Unknown,
}

/// Interprets an argument.
pub(super) fn subject<'a>(index: &'a Index, root: &Path, text: &str) -> Result<Subject<'a>, IndexError> {
    if let Some(found) = reference(text) {
        return Ok(found);
    }
    if let Some(guid) = guid::parse_loose(text) {
        return Ok(Subject::Asset { guid, file_id: None });
    }
    if let Some(entry) = at_path(index, root, text)? {
        return match entry.is_folder() {
            true => folder(index, entry.hint()?),
            false => Ok(Subject::Asset { guid: entry.guid(), file_id: None }),
        };
    }
    if let Some((path, line)) = text.rsplit_once(':')
        && let Ok(line) = line.parse::<usize>()
        && let Some(found) = on_line(root, path, line)
    {
        return Ok(found);
    }
    let folder_path = text.replace('\\', "/");
    let folder_path = folder_path.trim_end_matches('/');
    if matches!(folder_path, "Assets" | "Packages") || folder_path.contains('/') {
        let found = folder(index, folder_path.strip_prefix("./").unwrap_or(folder_path).to_owned())?;
        if matches!(&found, Subject::Folder { assets, .. } if !assets.is_empty()) {
            return Ok(found);
        }
    }
    named(index, text)
}

/// Returns the target of a reference in Unity's notation.
fn reference<'a>(text: &str) -> Option<Subject<'a>> {
    let mut found = None;
    refs::scan(text.as_bytes(), 0, |each| found = found.or(Some((each.guid, each.file_id))));
    let (guid, file_id) = found?;
    Some(Subject::Asset { guid, file_id: Some(file_id).filter(|id| *id != 0) })
}

/// Returns the target of the first reference on a line, or on it and the next one, of a file in the project.
fn on_line<'a>(root: &Path, path: &str, line: usize) -> Option<Subject<'a>> {
    let path = path.replace('\\', "/");
    let inside = |candidate: std::path::PathBuf| {
        let real = candidate.canonicalize().ok()?;
        real.starts_with(root.canonicalize().ok()?).then_some(real)
    };
    let path = inside(root.join(&path)).or_else(|| inside(std::path::absolute(&path).ok()?))?;
    let mut lines = BufReader::new(kiln_engine::regular_file::open(&path).ok()?);
    let mut text = Vec::new();
    for number in 1..=line + 1 {
        let mut next = Vec::new();
        lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut next).ok()?;
        if number >= line {
            text.extend(next);
            // A reference may be wrapped: its second line is read only if the first has none that is complete.
            if let Some(found) = reference(&String::from_utf8_lossy(&text)) {
                return Some(found);
            }
        }
    }
    None
}

fn folder<'a>(index: &'a Index, hint: String) -> Result<Subject<'a>, IndexError> {
    let assets = index.assets_below(&hint)?;
    Ok(Subject::Folder { hint, assets })
}

/// Returns the objects with a name: those that have exactly this name, else those that differ in case, else those whose
/// file or object has the name, which others contest.
fn named<'a>(index: &'a Index, name: &str) -> Result<Subject<'a>, IndexError> {
    let mut found = index.find_by_name(name)?;
    if found.is_empty() {
        found = similarly_named(index, &name.to_lowercase())?;
    }
    // A texture and the sprite made of it are one asset to the user.
    let mut guids: Vec<u128> = found.iter().map(|each| each.entry().guid()).collect();
    guids.sort_unstable();
    guids.dedup();
    Ok(match (&guids[..], &found[..]) {
        ([], _) => Subject::Unknown,
        ([guid], [Resolved::Sub(_, sub)]) => Subject::Asset { guid: *guid, file_id: Some(sub.file_id) },
        ([guid], _) => Subject::Asset { guid: *guid, file_id: None },
        _ => Subject::Candidates(found),
    })
}

/// Returns the objects with a name in lower case. If no unique name is equal to it, those whose file name, with or without
/// its extension, or whose object name is: a name that several have is unique only with a suffix (`Flag^UI`,
/// `Flag.png^UI`, `Bloom@Low.asset^Profiles`).
fn similarly_named<'a>(index: &'a Index, lower: &str) -> Result<Vec<Resolved<'a>>, IndexError> {
    let stem = lower.rsplit_once('.').map_or(lower, |(stem, _)| stem);
    let has_suffix = |known: &str| {
        let rest = known.strip_prefix(lower).or_else(|| known.strip_prefix(stem));
        rest.is_some_and(|rest| rest.starts_with(['^', '.', '@']) && rest.contains('^'))
    };
    let candidates = index.named_like(stem, |known| known == lower || known == stem || has_suffix(known))?;
    let is_same = |each: &Resolved<'_>| Ok(each.name()?.to_lowercase() == lower);
    let is_contested = |each: &Resolved<'_>| -> Result<bool, IndexError> {
        let hint = each.entry().hint()?.to_lowercase();
        let file = hint.rsplit('/').next().unwrap_or_default();
        Ok(match each {
            Resolved::Sub(_, sub) => {
                let name = sub.name.to_lowercase();
                name.strip_prefix(lower).is_some_and(|rest| rest.starts_with(['^', '@']))
            }
            _ => file == lower || each.entry().stem()?.to_lowercase() == lower,
        })
    };
    let same = only(&candidates, is_same)?;
    if same.is_empty() { only(&candidates, is_contested) } else { Ok(same) }
}

/// Returns the objects that pass a test.
fn only<'a>(
    objects: &[Resolved<'a>],
    test: impl Fn(&Resolved<'a>) -> Result<bool, IndexError>,
) -> Result<Vec<Resolved<'a>>, IndexError> {
    let mut passed = Vec::new();
    for object in objects {
        if test(object)? {
            passed.push(*object);
        }
    }
    Ok(passed)
}

/// Returns the asset at a path, relative to the project or to the current directory.
pub(super) fn at_path<'a>(
    index: &'a Index,
    root: &Path,
    path: &str,
) -> Result<Option<Entry<'a>>, IndexError> {
    for hint in paths_in_project(root, path) {
        if let Some(entry) = index.find_by_hint(&hint)? {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Returns the paths relative to the project that a path may stand for: it is relative to the project or to the current
/// directory. That of a `.meta` stands for its asset.
pub(super) fn paths_in_project(root: &Path, path: &str) -> Vec<String> {
    let given = path.replace('\\', "/");
    let given = given.trim_end_matches('/');
    let given = given.strip_suffix(".meta").unwrap_or(given);
    let mut paths = Vec::new();
    if !Path::new(given).has_root() {
        paths.push(given.strip_prefix("./").unwrap_or(given).to_owned());
    }
    let here = std::path::absolute(given).ok();
    // The asset itself may be a link: only its directory is canonicalized.
    let real =
        here.as_ref().and_then(|path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)));
    for path in [here.as_ref(), real.as_ref()].into_iter().flatten() {
        if let Some(hint) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            paths.push(hint.replace('\\', "/"));
        }
    }
    paths
}
