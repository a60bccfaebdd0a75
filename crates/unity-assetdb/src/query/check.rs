//! Checks a project for problems, for use before a commit and in continuous integration.
//!
//! The severity of a finding is its effect in Unity: a value that is lost and a GUID that Unity replaces are errors, anything
//! that Unity ignores or that cannot be decided on this machine is a warning.

use super::broken::{Broken, BrokenKind, INCOMPLETE_SEARCH, for_each_broken};
use super::duplicates::duplicates;
use super::packages::{Packages, packages};
use crate::guid::{self, Guid};
use crate::index::{File, Index, Result};
use kiln_engine::{Code, Diag};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// A problem of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The message, with path and line.
    pub diag: Diag,
    /// The GUID or object that the finding is about; empty for findings about the file itself. With code and path it
    /// identifies the finding when lines move.
    pub subject: String,
}

impl Finding {
    pub(super) fn new(diag: Diag, subject: impl Into<String>) -> Finding {
        Finding { diag, subject: subject.into() }
    }

    /// Returns the path of the finding; empty if it is about the project.
    pub fn path(&self) -> &str {
        self.diag.path.as_deref().unwrap_or_default()
    }
}

/// Looks up GUIDs that no asset has: returns the last path of each asset that the project once contained.
pub type FindRemoved<'a> = &'a dyn Fn(&[u128]) -> HashMap<u128, String>;

/// Returns all findings as diagnostics: see [`findings`].
///
/// # Errors
/// If the index is damaged.
pub fn check(index: &Index, root: &Path) -> Result<Vec<Diag>> {
    let found = findings(index, root, &|_| HashMap::new())?;
    Ok(found.into_iter().map(|finding| finding.diag).collect())
}

/// Returns all findings: those of the bake, then problems of files, then broken references, each by path. `find_removed` is
/// called once with the GUIDs that no asset on this machine has, if there are any.
///
/// # Errors
/// If the index is damaged.
pub fn findings(index: &Index, root: &Path, find_removed: FindRemoved<'_>) -> Result<Vec<Finding>> {
    let mut found = of_bake(index.warnings()?);
    for file in index.files() {
        found.extend(of_file(&file?));
    }
    found.extend(
        duplicates(index, root)?.into_iter().map(|(guid, diag)| Finding::new(diag, Guid(guid).to_string())),
    );
    let packages = packages(root, index);
    let mut broken = Vec::new();
    let is_complete = for_each_broken(index, root, &packages, |_, each| {
        broken.push(each.clone());
        Ok(())
    })?;
    let mut missing: Vec<u128> =
        broken.iter().filter(|each| each.target.is_none()).map(|each| each.reference.guid).collect();
    missing.sort_unstable();
    missing.dedup();
    let removed = if missing.is_empty() { HashMap::new() } else { find_removed(&missing) };
    found.extend(of_references(&broken, &packages, &removed)?);
    if !is_complete {
        found.push(Finding::new(Diag::new(Code::UnityUnknownObject, INCOMPLETE_SEARCH), ""));
    }
    Ok(found)
}

/// Groups warnings of a bake that editors cause in many files at once: byte order marks are one warning.
pub fn grouped(warnings: Vec<Diag>) -> Vec<Diag> {
    let is_mark = |diag: &Diag| diag.code == Code::UnityBom;
    let count = warnings.iter().filter(|diag| is_mark(diag)).count();
    if count < 2 {
        return warnings;
    }
    let mut is_first = true;
    let group = |mut diag: Diag| {
        if is_mark(&diag) {
            if !std::mem::take(&mut is_first) {
                return None;
            }
            diag.message = format!("{count} files start with a byte order mark; this is the first");
            diag.hint = Some("save the files as UTF-8 without a byte order mark".to_owned());
        }
        Some(diag)
    };
    warnings.into_iter().filter_map(group).collect()
}

/// Converts the warnings of the bake. Faults after which Unity assigns another GUID or cannot load the file are errors.
pub(super) fn of_bake(warnings: Vec<Diag>) -> Vec<Finding> {
    let convert = |mut diag: Diag| {
        diag.code = match diag.code {
            Code::UnityMetaEmpty => Code::UnityUnusableMeta,
            Code::UnityMetaGuid => Code::UnityInvalidGuid,
            Code::UnityMergeConflict => Code::UnityUnmergedFile,
            code => code,
        };
        Finding::new(diag, "")
    };
    grouped(warnings).into_iter().map(convert).collect()
}

/// Returns the problem of one file, if there is one: a missing, orphaned or hand-written `.meta`.
pub(super) fn of_file(file: &File<'_>) -> Option<Finding> {
    let path = format!("{}/{}", file.folder, file.name);
    let asset = file.folder != "ProjectSettings" && !is_package_file(&path) && !is_in_plugin(file.folder);
    let diag = if file.has_meta && !file.is_file && !file.is_folder {
        let message = "the .meta has no asset: neither a file nor a folder of that name exists";
        Diag::new(Code::UnityOrphanMeta, message)
            .path(format!("{path}.meta"))
            .hint("remove the .meta or restore its asset; Git does not store empty folders")
    } else if !file.has_meta && asset {
        Diag::new(Code::UnityMissingMeta, "the asset has no .meta").path(path).hint(
            "open the project in Unity and commit the .meta that it writes; without it, references break",
        )
    } else if let Some(entry) = file.entry
        && !entry.is_settings()
        && guid::is_builtin(entry.guid())
    {
        let message =
            format!("the GUID {} is in the range of Unity's built-in resources", Guid(entry.guid()));
        Diag::new(Code::UnityInvalidGuid, message)
            .path(format!("{path}.meta"))
            .hint("delete the .meta and let Unity write a new one")
    } else if let Some(entry) = file.entry
        && is_placeholder(entry.guid())
        && !entry.is_settings()
    {
        let message = format!("the GUID {} looks like a placeholder", Guid(entry.guid()));
        Diag::new(Code::UnityPlaceholderGuid, message)
            .path(format!("{path}.meta"))
            .hint("let Unity generate a GUID; another project may use the same placeholder")
    } else {
        return None;
    };
    Some(Finding::new(diag, ""))
}

/// Converts broken references. Each missing asset is one finding for each file that refers to it, and so are all leftover
/// overrides of one prefab; a GUID that may be in a missing package is one finding for the project.
fn of_references(
    broken: &[Broken<'_>],
    packages: &Packages,
    removed: &HashMap<u128, String>,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut unknown: BTreeMap<u128, Vec<&Broken<'_>>> = BTreeMap::new();
    let mut leftovers: BTreeMap<(String, u128), Vec<&Broken<'_>>> = BTreeMap::new();
    let mut missing = HashSet::new();
    for each in broken {
        let path = source_path(each)?;
        let (guid, id) = (each.reference.guid, each.reference.file_id);
        let diag = match each.kind {
            BrokenKind::LeftoverOverride => {
                leftovers.entry((path, guid)).or_default().push(each);
                continue;
            }
            BrokenKind::MissingPackage if !removed.contains_key(&guid) => {
                unknown.entry(guid).or_default().push(each);
                continue;
            }
            BrokenKind::MissingAsset | BrokenKind::MissingPackage => {
                if !missing.insert((path.clone(), guid)) {
                    continue;
                }
                missing_asset(guid, removed.get(&guid).map(String::as_str))
            }
            BrokenKind::MissingObject => missing_object(each)?,
            BrokenKind::UnreadableBase => {
                let target = each.target.map(|target| target.hint()).transpose()?.unwrap_or_default();
                let message = format!(
                    "the file refers to the object {id} in {target}, whose base prefab or model cannot be read"
                );
                Diag::new(Code::UnityUnknownObject, message)
                    .hint("fetch the base if it is not on this machine; a file of a package's importer lists no objects")
            }
        };
        let subject = match each.target {
            Some(_) => format!("{}:{id}", Guid(guid)),
            None => Guid(guid).to_string(),
        };
        found.push(Finding::new(diag.path(path).at(each.reference.line), subject));
    }
    for ((path, guid), same) in leftovers {
        // The overrides of an instance whose prefab is missing are lost with it, which is reported.
        if !missing.contains(&(path.clone(), guid)) {
            found.push(leftover(path, guid, &same)?);
        }
    }
    for (guid, same) in unknown {
        found.push(unknown_guid(guid, &same, packages)?);
    }
    // Stable, so that findings of one line keep their order.
    found.sort_by(|a, b| (a.path(), line(&a.diag)).cmp(&(b.path(), line(&b.diag))));
    Ok(found)
}

fn line(diag: &Diag) -> u32 {
    diag.at.as_deref().and_then(|at| at.parse().ok()).unwrap_or(0)
}

/// Returns the file with the reference: the asset or its `.meta`.
pub(super) fn source_path(each: &Broken<'_>) -> Result<String> {
    let source = each.source.hint()?;
    Ok(if each.reference.in_meta { format!("{source}.meta") } else { source })
}

/// Returns the diagnostic for a GUID that no asset has, with the path that the project's history knows for it.
pub(super) fn missing_asset(guid: u128, last_path: Option<&str>) -> Diag {
    let guid = Guid(guid);
    match last_path {
        Some(path) => {
            let message = format!(
                "the file refers to the GUID {guid} of {path}, which was removed or has another GUID"
            );
            Diag::new(Code::UnityRemovedAsset, message)
                .hint("restore the asset with its .meta, or update the reference")
        }
        None => {
            let message = format!("the file refers to the GUID {guid}, which no asset has");
            Diag::new(Code::UnityBrokenGuid, message)
                .hint("restore the asset with its .meta, or remove the reference")
        }
    }
}

/// Returns the diagnostic for a GUID that an asset of a package may have.
pub(super) fn unknown_asset(guid: u128) -> Diag {
    let message = format!("the file refers to the GUID {}, which no asset of the project has", Guid(guid));
    Diag::new(Code::UnityUnknownGuid, message)
        .hint("the asset may be in a package that is not on this machine")
}

/// Returns the diagnostic for an object that its asset does not contain.
pub(super) fn missing_object(each: &Broken<'_>) -> Result<Diag> {
    let target = each.target.map(|target| target.hint()).transpose()?.unwrap_or_default();
    let id = each.reference.file_id;
    let message = format!("the file refers to the object {id} in {target}, which does not exist");
    Ok(Diag::new(Code::UnityBrokenObject, message))
}

pub(super) fn leftover(path: String, guid: u128, same: &[&Broken<'_>]) -> Result<Finding> {
    let target = same.iter().find_map(|each| each.target).map(|target| target.hint()).transpose()?;
    let target = target.unwrap_or_else(|| format!("the missing asset {}", Guid(guid)));
    let objects = match same.len() {
        1 => "1 object".to_owned(),
        count => format!("{count} objects"),
    };
    let message = format!("the file overrides {objects} that {target} does not contain");
    let diag = Diag::new(Code::UnityLeftoverOverride, message)
        .path(path)
        .at(same.iter().map(|each| each.reference.line).min().unwrap_or(0))
        .hint("Unity ignores these overrides; remove them with Overrides > Unused overrides in the editor");
    Ok(Finding::new(diag, Guid(guid).to_string()))
}

fn unknown_guid(guid: u128, same: &[&Broken<'_>], packages: &Packages) -> Result<Finding> {
    let files: HashSet<String> = same.iter().map(|each| source_path(each)).collect::<Result<_>>()?;
    let message = match files.len() {
        1 => format!("the file refers to the GUID {}, which no asset of the project has", Guid(guid)),
        count => {
            format!(
                "{count} files refer to the GUID {}, which no asset of the project has; this is the first",
                Guid(guid)
            )
        }
    };
    let some = packages.missing.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    let diag = Diag::new(Code::UnityUnknownGuid, message)
        .path(source_path(same[0])?)
        .at(same[0].reference.line)
        .hint(format!("the asset may be in a package that is not on this machine, such as {some}"));
    Ok(Finding::new(diag, Guid(guid).to_string()))
}

/// Returns whether a folder is inside a plugin that Unity imports as one asset, so that its files have no `.meta`.
fn is_in_plugin(folder: &str) -> bool {
    const PLUGINS: [&str; 6] =
        [".androidlib", ".androidpack", ".bundle", ".framework", ".plugin", ".xcframework"];
    folder.split('/').any(|part| PLUGINS.iter().any(|end| part.len() > end.len() && part.ends_with(end)))
}

/// Returns whether a file belongs to Unity's package manager and is no asset.
fn is_package_file(path: &str) -> bool {
    matches!(path, "Packages/manifest.json" | "Packages/packages-lock.json" | "Packages/boot.config")
        || path.strip_prefix("Packages/").is_some_and(|rest| !rest.contains('/'))
}

/// Returns whether a GUID was typed by hand and not generated: few distinct digits, or consecutive ones.
fn is_placeholder(guid: u128) -> bool {
    let digits = Guid(guid).to_string();
    let mut distinct: Vec<u8> = digits.bytes().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let step =
        |by: u8| digits.bytes().zip(digits.bytes().skip(1)).all(|(a, b)| value(b) == (value(a) + by) % 16);
    distinct.len() <= 3 || step(1) || step(15)
}

fn value(digit: u8) -> u8 {
    (digit as char).to_digit(16).unwrap_or(0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_placeholder_guids() {
        let check = |text: &str, expected| {
            assert_eq!(is_placeholder(crate::guid::parse(text).unwrap()), expected, "{text}")
        };
        check("11111111111111111111111111111111", true);
        check("0123456789abcdef0123456789abcdef", true);
        check("fedcba9876543210fedcba9876543210", true);
        check("12121212121212121212121212121212", true);
        check("8f57b4a070f7b43bbb3925467e6752ab", false);
    }
}
