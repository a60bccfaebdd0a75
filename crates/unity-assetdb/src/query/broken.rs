//! Finds broken references: to a GUID that no asset has, or to an object that its asset does not contain.
//!
//! Each is classified by its effect in Unity ([`BrokenKind`]): a broken value is lost, a leftover override of an object that
//! the prefab no longer has is ignored, and a reference into a package, prefab or model that is not on this machine is
//! unknown. The objects inside libraries, unreadable models and assets of ScriptedImporters are unknown as well and never
//! reported.

use super::inner::{Inner, is_scripted};
use super::occurrences::{Role, occurrences};
use super::packages::Packages;
use crate::class_id::ClassId;
use crate::index::{Entry, Index, NumberedTarget, Reference, Resolved, Result};
use crate::store::AssetType;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The fileID by which a prefab instance refers to its prefab or model.
const SOURCE_PREFAB: i64 = 100_100_000;
/// The maximum depth of nested prefabs.
const MAX_DEPTH: usize = 12;

/// The remark about a search that was given up.
pub const INCOMPLETE_SEARCH: &str = "prefab instances are nested too many times over to search all of them: references to \
                                     their objects were checked in part";

/// A reference whose target does not exist.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Broken<'a> {
    /// The asset that contains the reference.
    pub source: Entry<'a>,
    /// The reference itself: GUID, fileID and the line of its first occurrence that has this kind.
    pub reference: Reference,
    /// The asset with the GUID, if only the object inside is missing.
    pub target: Option<Entry<'a>>,
    /// The effect in Unity.
    pub kind: BrokenKind,
}

/// The effect of a broken reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BrokenKind {
    /// No asset has the GUID: Unity shows the value as missing.
    MissingAsset,
    /// The asset does not contain the object: Unity shows the value as missing.
    MissingObject,
    /// An override of an object that the prefab does not contain, which Unity ignores.
    LeftoverOverride,
    /// No asset has the GUID, but a package of the manifest is not on this machine and may contain the asset.
    MissingPackage,
    /// The asset does not contain the object, but the content of its base prefab or model is not on this machine.
    UnreadableBase,
}

impl BrokenKind {
    /// Returns whether the reference is broken without doubt.
    pub fn is_certain(self) -> bool {
        !matches!(self, BrokenKind::MissingPackage | BrokenKind::UnreadableBase)
    }

    /// Returns the kind in kebab case, as in the results of `unity-assetdb broken`.
    pub fn as_str(self) -> &'static str {
        match self {
            BrokenKind::MissingAsset => "missing-asset",
            BrokenKind::MissingObject => "missing-object",
            BrokenKind::LeftoverOverride => "leftover-override",
            BrokenKind::MissingPackage => "missing-package",
            BrokenKind::UnreadableBase => "unreadable-base",
        }
    }
}

/// Returns all broken references, by path and line.
///
/// # Errors
/// If the index is damaged.
pub fn broken<'a>(index: &'a Index, root: &Path, packages: &Packages) -> Result<Vec<Broken<'a>>> {
    let mut found = Vec::new();
    for_each_broken(index, root, packages, |_, each| {
        found.push(each.clone());
        Ok(())
    })?;
    Ok(found)
}

/// Calls `each` for every broken reference, by path and line, with the path of the file that contains the reference. Needs a
/// byte of memory for each reference of the project, however many are broken.
///
/// Returns true if all references were checked. Prefabs that contain so many instances of each other that a search would not
/// end are searched in part, and then references to their objects are not broken.
///
/// # Errors
/// If the index is damaged, or that of `each`.
pub fn for_each_broken<'a>(
    index: &'a Index,
    root: &Path,
    packages: &Packages,
    mut each: impl FnMut(&str, &Broken<'a>) -> Result<()>,
) -> Result<bool> {
    // By target first, so that each file is searched for objects once, and then by source, in the order of the rows.
    let mut inner = Inner::new(index, root);
    let kinds = kinds_of_references(index, &mut inner, packages)?;
    for (hint, in_meta, source) in broken_sources(index, &kinds)? {
        let path = if in_meta { format!("{hint}.meta") } else { hint };
        let mut found = Vec::new();
        for (at, reference, target) in source.numbered_references()? {
            if let Some(kind) = kinds[at as usize].filter(|_| reference.in_meta == in_meta) {
                found.push(Broken { source, reference, target, kind });
            }
        }
        find_overrides(&root.join(&path), &mut found);
        found.sort_by_key(|each| (each.reference.line, each.reference.guid, each.reference.file_id));
        found.iter().try_for_each(|found| each(&path, found))?;
    }
    Ok(!inner.is_exhausted())
}

/// Returns the kind of each reference of the index; `None` for one that is not broken.
fn kinds_of_references(
    index: &Index,
    inner: &mut Inner<'_>,
    packages: &Packages,
) -> Result<Vec<Option<BrokenKind>>> {
    let mut bases = UnreadableBases { index, known: HashMap::new() };
    let mut kinds = vec![None; index.reference_count()];
    for target in index.numbered_targets() {
        let NumberedTarget { guid, entry, uses } = target?;
        let Some(entry) = entry else {
            if !packages.guids.contains(&guid) {
                let kind = match packages.missing.is_empty() {
                    true => BrokenKind::MissingAsset,
                    false => BrokenKind::MissingPackage,
                };
                uses.iter().for_each(|(at, _)| kinds[*at as usize] = Some(kind));
            }
            continue;
        };
        // Many files refer to the same few objects of an asset.
        let mut known: HashMap<i64, Option<BrokenKind>> = HashMap::new();
        for (at, file_id) in uses {
            let kind = match known.get(&file_id) {
                Some(kind) => *kind,
                None => match is_broken(inner, &entry, file_id)? {
                    false => None,
                    true if bases.behind(inner, &entry, 0)? => Some(BrokenKind::UnreadableBase),
                    true => Some(BrokenKind::MissingObject),
                },
            };
            known.insert(file_id, kind);
            kinds[at as usize] = kind;
        }
        inner.limit_memory();
    }
    Ok(kinds)
}

/// Returns the files with broken references, by path: the path of the asset, whether the file is its `.meta`, and the asset.
fn broken_sources<'a>(
    index: &'a Index,
    kinds: &[Option<BrokenKind>],
) -> Result<Vec<(String, bool, Entry<'a>)>> {
    let mut sources = Vec::new();
    for entry in index.entries() {
        let entry = entry?;
        let range = entry.reference_range()?;
        if kinds[range.start as usize..range.end as usize].iter().all(Option::is_none) {
            continue;
        }
        let (mut in_file, mut in_meta) = (false, false);
        for (at, reference, _) in entry.numbered_references()? {
            if kinds[at as usize].is_some() {
                *(if reference.in_meta { &mut in_meta } else { &mut in_file }) = true;
            }
        }
        for in_meta in
            [(in_file, false), (in_meta, true)].into_iter().filter_map(|(is, in_meta)| is.then_some(in_meta))
        {
            sources.push((entry.hint()?, in_meta, entry));
        }
    }
    sources.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    Ok(sources)
}

/// Reads the file to tell broken values from leftover overrides, and moves each reference to its first broken value. Values
/// that leftover overrides assign are dropped: the overrides are reported. All references are from this file.
fn find_overrides(path: &Path, found: &mut Vec<Broken<'_>>) {
    let key = |each: &Broken<'_>| (each.reference.guid, each.reference.file_id);
    let settled = |kind| matches!(kind, BrokenKind::MissingAsset | BrokenKind::MissingObject);
    let wanted: HashSet<(u128, i64)> = found.iter().map(key).collect();
    let missing = found.iter().filter(|each| settled(each.kind)).map(key).collect();
    // A file that was removed meanwhile keeps what the index says.
    let Some(places) = occurrences(path, &wanted, &missing) else { return };
    found.retain_mut(|each| {
        let Some(places) = places.get(&key(each)) else { return true };
        let first = |role: Role| places.iter().find(|place| place.role == role);
        match (first(Role::Value), first(Role::Override)) {
            (Some(value), _) => each.reference.line = value.line,
            (None, Some(place)) => {
                each.reference.line = place.line;
                if settled(each.kind) {
                    each.kind = BrokenKind::LeftoverOverride;
                }
            }
            (None, None) => return false,
        }
        true
    });
}

fn is_broken(inner: &mut Inner<'_>, entry: &Entry<'_>, file_id: i64) -> Result<bool> {
    let Resolved::Inner(_) = entry.resolve(file_id)? else { return Ok(false) };
    if inner.lists_all_objects(entry)? {
        return Ok(!inner.contains(entry.guid(), file_id)?);
    }
    let class = match entry.asset_type() {
        AssetType::Native(class) => ClassId::from_raw(class),
        AssetType::Script(_) => None,
    };
    Ok(match class {
        // The `.meta` of a texture lists all its sprites, and a script has no sub-assets.
        Some(ClassId::Texture2D | ClassId::MonoScript) => !is_scripted(&entry.hint()?),
        _ => false,
    })
}

/// The prefabs whose chain of base prefabs ends in a file that cannot be read.
struct UnreadableBases<'a> {
    index: &'a Index,
    known: HashMap<u128, bool>,
}

impl UnreadableBases<'_> {
    /// Returns whether a base prefab or model of the asset, at any depth, is not on this machine or cannot be read.
    fn behind(&mut self, inner: &mut Inner<'_>, entry: &Entry<'_>, depth: usize) -> Result<bool> {
        if let Some(known) = self.known.get(&entry.guid()) {
            return Ok(*known);
        }
        // A cycle of prefabs ends here, and so does a chain that is too long to follow.
        self.known.insert(entry.guid(), depth >= MAX_DEPTH);
        let mut unreadable = depth >= MAX_DEPTH;
        let mut bases = inner.base_guids(entry)?;
        let is_prefab = |each: &Reference| each.file_id == SOURCE_PREFAB && !each.in_meta;
        bases.extend(entry.references()?.into_iter().filter(is_prefab).map(|each| each.guid));
        for base in bases {
            if unreadable {
                break;
            }
            unreadable = match self.index.find_by_guid(base)? {
                None => true,
                Some(base) if base.is_pointer() => true,
                Some(base) if inner.lists_all_objects(&base)? => self.behind(inner, &base, depth + 1)?,
                // Of the objects that a package's importer makes, some have rows at most; a model has all or none.
                Some(base) => is_scripted(&base.hint()?) || base.subs()?.is_empty(),
            };
        }
        self.known.insert(entry.guid(), unreadable);
        Ok(unreadable)
    }
}
