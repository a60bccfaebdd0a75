//! Finds the problems that changes since a base revision introduced, and no older ones: for the check of a pull request.
//!
//! The revision is passed as [`Changes`], so that this module does not depend on a version control system. Problems are:
//! references to assets that were removed or have another GUID, new references to missing assets or objects, objects removed
//! from an asset while others refer to them, GUIDs that several assets share, missing and orphaned `.meta` files, merge
//! conflict markers, and GUIDs that Unity does not accept.

use super::base_objects::BaseObjects;
use super::broken::{Broken, BrokenKind, broken};
use super::check::{
    Finding, leftover, missing_asset, missing_object, of_bake, of_file, source_path, unknown_asset,
};
use super::duplicates::duplicates;
use super::packages::packages;
use crate::guid::Guid;
use crate::index::{File, Index, Result};
use crate::{meta, refs};
use kiln_engine::{Code, Diag};
use memchr::memmem;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::Path;

/// The maximum size of a changed file that is searched for merge conflict markers, in bytes.
const MAX_TEXT_SIZE: u64 = 64 << 20;

/// The change of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The base revision does not contain the file.
    Added,
    /// The content differs.
    Modified,
    /// Only the base revision contains the file.
    Deleted,
}

/// The files of a project that differ from a base revision.
pub struct Changes<'a> {
    /// The changed files by path, relative to the project, with `/`. A moved file is deleted and added.
    pub files: BTreeMap<String, Status>,
    /// Returns the content of a changed file in the base revision; `None` if there is none or it cannot be read.
    pub read_base: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl Changes<'_> {
    /// Returns the content of a file in the base revision, if the file differs and was in that revision.
    pub(super) fn base(&self, path: &str) -> Option<Vec<u8>> {
        match self.files.get(path) {
            Some(Status::Modified | Status::Deleted) => (self.read_base)(path),
            _ => None,
        }
    }

    /// Returns whether the asset or its `.meta` differs.
    pub(super) fn touches(&self, asset: &str) -> bool {
        self.files.contains_key(asset) || self.files.contains_key(&format!("{asset}.meta"))
    }
}

/// Returns the problems that the changes introduced, by path and line.
///
/// # Errors
/// If the index is damaged.
pub fn changed_since(index: &Index, root: &Path, changes: &Changes<'_>) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    found.extend(of_bake(index.warnings()?).into_iter().filter(|finding| is_new_fault(finding, changes)));
    for file in index.files() {
        let file = file?;
        if let Some(finding) = of_file(&file)
            && is_new_file_problem(index, &file, &finding, changes)?
        {
            found.push(finding);
        }
    }
    for (guid, diag) in duplicates(index, root)? {
        let claimants = index.claimants(guid)?;
        let hints = claimants.iter().map(|entry| entry.hint()).collect::<Result<Vec<_>>>()?;
        if hints.iter().any(|hint| changes.files.contains_key(&format!("{hint}.meta"))) {
            found.push(Finding::new(diag, Guid(guid).to_string()));
        }
    }
    found.extend(conflict_markers(root, changes, &found));
    found.extend(new_broken(index, root, changes)?);
    let line = |finding: &Finding| finding.diag.at.as_deref().and_then(|at| at.parse::<u32>().ok());
    found.sort_by(|a, b| (a.path(), line(a), &a.subject).cmp(&(b.path(), line(b), &b.subject)));
    Ok(found)
}

/// An asset that the base revision contains, and whose GUID no asset has now.
pub(super) struct LostAsset {
    pub(super) path: String,
    /// The GUID that the asset at this path has now, if there is still one.
    pub(super) now: Option<u128>,
}

/// Returns the GUIDs that the changes removed, with the asset that each belonged to.
pub(super) fn lost_assets(index: &Index, changes: &Changes<'_>) -> Result<HashMap<u128, LostAsset>> {
    let mut lost = HashMap::new();
    for path in changes.files.keys() {
        let Some(asset) = path.strip_suffix(".meta") else { continue };
        let Some(guid) = changes.base(path).and_then(|base| meta::parse(&base).guid) else { continue };
        if index.find_by_guid(guid)?.is_none() {
            let now = index.find_by_hint(asset)?.map(|entry| entry.guid());
            lost.insert(guid, LostAsset { path: asset.to_owned(), now });
        }
    }
    Ok(lost)
}

/// Returns the diagnostic for a reference to an asset that the changes removed.
pub(super) fn lost_asset(guid: u128, lost: &LostAsset) -> Diag {
    match lost.now {
        None => missing_asset(guid, Some(&lost.path)),
        Some(now) => {
            let message = format!(
                "the file refers to {} by the GUID {}, which was changed to {}",
                lost.path,
                Guid(guid),
                Guid(now)
            );
            Diag::new(Code::UnityRemovedAsset, message).hint("restore the GUID of the .meta")
        }
    }
}

fn new_broken(index: &Index, root: &Path, changes: &Changes<'_>) -> Result<Vec<Finding>> {
    let lost = lost_assets(index, changes)?;
    let mut base_refs = BaseReferences { changes, known: HashMap::new() };
    let mut base_objects = BaseObjects::new(index, root, changes);
    let mut found = Vec::new();
    let mut missing = HashSet::new();
    let mut leftovers: BTreeMap<(String, u128), (Broken<'_>, usize)> = BTreeMap::new();
    for each in broken(index, root, &packages(root, index))? {
        let path = source_path(&each)?;
        let (guid, id) = (each.reference.guid, each.reference.file_id);
        let is_new_reference = changes.files.contains_key(&path) && !base_refs.contains(&path, guid, id);
        let diag = match (each.kind, &each.target) {
            (BrokenKind::UnreadableBase, _) => continue,
            (_, None) => {
                let known = lost.get(&guid);
                let is_new_guid = changes.files.contains_key(&path) && !base_refs.contains_guid(&path, guid);
                if known.is_none() && !is_new_guid || !missing.insert((path.clone(), guid)) {
                    continue;
                }
                match (known, each.kind) {
                    (Some(lost), _) => lost_asset(guid, lost),
                    (None, BrokenKind::MissingPackage) if is_used_elsewhere(index, guid, changes)? => {
                        continue;
                    }
                    (None, BrokenKind::MissingPackage) => unknown_asset(guid),
                    (None, _) => missing_asset(guid, None),
                }
            }
            (kind, Some(_)) => {
                if !is_new_reference && !base_objects.existed(guid, id, 0)? {
                    continue;
                }
                if kind == BrokenKind::LeftoverOverride {
                    leftovers.entry((path, guid)).or_insert((each, 0)).1 += 1;
                    continue;
                }
                missing_object(&each)?
            }
        };
        let subject = match each.target {
            Some(_) => format!("{}:{id}", Guid(guid)),
            None => Guid(guid).to_string(),
        };
        found.push(Finding::new(diag.path(path).at(each.reference.line), subject));
    }
    for ((path, guid), (first, count)) in leftovers {
        let same = vec![&first; count];
        found.push(leftover(path, guid, &same)?);
    }
    Ok(found)
}

/// Returns whether a file that did not change refers to the GUID, so that the GUID is one of a package.
fn is_used_elsewhere(index: &Index, guid: u128, changes: &Changes<'_>) -> Result<bool> {
    for (source, _) in index.uses(guid)? {
        if !changes.touches(&source.hint()?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the changes introduced a fault that the bake found.
fn is_new_fault(finding: &Finding, changes: &Changes<'_>) -> bool {
    let path = finding.path();
    if !changes.files.contains_key(path) {
        return false;
    }
    let base = changes.base(path);
    match finding.diag.code {
        Code::UnityUnmergedFile => base.is_none_or(|base| has_conflict_markers(&base).is_none()),
        Code::UnityUnusableMeta | Code::UnityInvalidGuid => {
            let faults =
                |bytes: &[u8]| meta::parse(bytes).faults.iter().any(|fault| fault.kind.is_about_guid());
            !base.is_some_and(|base| faults(&base))
        }
        _ => false,
    }
}

/// Returns whether the changes introduced a missing, orphaned or invalid `.meta`.
fn is_new_file_problem(
    index: &Index,
    file: &File<'_>,
    finding: &Finding,
    changes: &Changes<'_>,
) -> Result<bool> {
    let asset = format!("{}/{}", file.folder, file.name);
    let meta = format!("{asset}.meta");
    Ok(match finding.diag.code {
        Code::UnityOrphanMeta => changes.touches(&asset) || is_deleted_folder(&asset, changes),
        Code::UnityMissingMeta if changes.files.get(&meta) == Some(&Status::Deleted) => true,
        Code::UnityMissingMeta if file.is_file => changes.files.get(&asset) == Some(&Status::Added),
        Code::UnityMissingMeta => is_new_folder(index, &asset, changes)?,
        _ => {
            let before = changes.base(&meta).and_then(|base| meta::parse(&base).guid);
            changes.files.contains_key(&meta) && before != file.entry.map(|entry| entry.guid())
        }
    })
}

fn is_deleted_folder(folder: &str, changes: &Changes<'_>) -> bool {
    let below = format!("{folder}/");
    let mut inside = changes.files.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
    inside.any(|(_, status)| *status == Status::Deleted)
}

/// Returns whether all files of a folder were added, so that the folder is new.
fn is_new_folder(index: &Index, folder: &str, changes: &Changes<'_>) -> Result<bool> {
    let below = format!("{folder}/");
    if is_deleted_folder(folder, changes) {
        return Ok(false);
    }
    let mut any = false;
    for file in index.files() {
        let file = file?;
        let path = format!("{}/{}", file.folder, file.name);
        if !path.starts_with(&below) || !file.is_file {
            continue;
        }
        any = true;
        if changes.files.get(&path) != Some(&Status::Added) {
            return Ok(false);
        }
    }
    Ok(any)
}

/// Returns the conflict markers of changed files that the bake does not read, such as scripts.
fn conflict_markers(root: &Path, changes: &Changes<'_>, known: &[Finding]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, status) in &changes.files {
        let reported =
            |finding: &Finding| finding.diag.code == Code::UnityUnmergedFile && finding.path() == path;
        if *status == Status::Deleted || known.iter().any(reported) {
            continue;
        }
        let mut text = Vec::new();
        let read = kiln_engine::regular_file::open(&root.join(path))
            .and_then(|file| file.take(MAX_TEXT_SIZE).read_to_end(&mut text));
        if read.is_err() {
            continue;
        }
        if let Some(line) = has_conflict_markers(&text)
            && changes.base(path).is_none_or(|base| has_conflict_markers(&base).is_none())
        {
            let diag = Diag::new(Code::UnityUnmergedFile, "the file contains merge conflict markers")
                .path(path)
                .at(line)
                .hint("resolve the conflict");
            found.push(Finding::new(diag, ""));
        }
    }
    found
}

/// Returns the line of the first conflict marker of a text that has an opening and a closing one.
fn has_conflict_markers(text: &[u8]) -> Option<usize> {
    if memchr::memchr(0, &text[..text.len().min(8000)]).is_some() {
        return None;
    }
    let find = |marker: &[u8]| memmem::find_iter(text, marker).find(|at| *at == 0 || text[at - 1] == b'\n');
    let (open, close) = (find(b"<<<<<<< ")?, find(b">>>>>>> ")?);
    (open < close).then(|| 1 + memchr::memchr_iter(b'\n', &text[..open]).count())
}

/// The references of changed files in the base revision.
struct BaseReferences<'a> {
    changes: &'a Changes<'a>,
    known: HashMap<String, HashSet<(u128, i64)>>,
}

impl BaseReferences<'_> {
    fn of(&mut self, path: &str) -> &HashSet<(u128, i64)> {
        let changes = self.changes;
        self.known.entry(path.to_owned()).or_insert_with(|| {
            let mut found = HashSet::new();
            if let Some(base) = changes.base(path) {
                refs::scan(&base, 0, |each| {
                    found.insert((each.guid, each.file_id));
                });
            }
            found
        })
    }

    fn contains(&mut self, path: &str, guid: u128, file_id: i64) -> bool {
        self.of(path).contains(&(guid, file_id))
    }

    fn contains_guid(&mut self, path: &str, guid: u128) -> bool {
        self.of(path).iter().any(|(known, _)| *known == guid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflict_markers_come_in_pairs() {
        assert_eq!(has_conflict_markers(b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n"), Some(2));
        assert_eq!(has_conflict_markers(b"<<<<<<< HEAD\n>>>>>>> x\n"), Some(1));
        assert_eq!(has_conflict_markers(b"// <<<<<<< HEAD\n>>>>>>> x\n"), None);
        assert_eq!(has_conflict_markers(b"<<<<<<< HEAD\n"), None);
        assert_eq!(has_conflict_markers(b"\0<<<<<<< HEAD\n>>>>>>> x\n"), None);
    }
}
