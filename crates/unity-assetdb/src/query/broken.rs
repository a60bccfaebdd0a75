//! Finds broken references: to a GUID that no asset has, or to an object that its asset does not contain.
//!
//! Each is classified by its effect in Unity ([`BrokenKind`]): a broken value is lost, a leftover override of an object that
//! the prefab no longer has is ignored, and a reference into a package, prefab or model that is not on this machine is
//! unknown. The objects inside libraries, unreadable models and assets of ScriptedImporters are unknown as well and never
//! reported.

use super::inner::Inner;
use super::occurrences::{Role, occurrences};
use super::packages::Packages;
use crate::class_id::ClassId;
use crate::index::{Entry, Index, Reference, Resolved, Result};
use crate::store::AssetType;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// The fileID by which a prefab instance refers to its prefab or model.
const SOURCE_PREFAB: i64 = 100_100_000;
/// The maximum depth of nested prefabs.
const MAX_DEPTH: usize = 12;

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
    let mut inner = Inner::new(index, root);
    let mut bases = UnreadableBases { index, known: HashMap::new() };
    let mut found = Vec::new();
    for target in index.targets() {
        let (guid, _, entry) = target?;
        if entry.is_none() && packages.guids.contains(&guid) {
            continue;
        }
        for (source, reference) in index.uses(guid)? {
            let kind = match &entry {
                None if packages.missing.is_empty() => BrokenKind::MissingAsset,
                None => BrokenKind::MissingPackage,
                Some(entry) => match is_broken(index, &mut inner, entry, reference.file_id)? {
                    false => continue,
                    true if bases.behind(&mut inner, entry, 0)? => BrokenKind::UnreadableBase,
                    true => BrokenKind::MissingObject,
                },
            };
            found.push(Broken { source, reference, target: entry, kind });
        }
    }
    let mut by_source: BTreeMap<(String, bool), Vec<Broken<'a>>> = BTreeMap::new();
    for each in found {
        by_source.entry((each.source.hint()?, each.reference.in_meta)).or_default().push(each);
    }
    let mut sorted = Vec::new();
    for ((hint, in_meta), mut same) in by_source {
        let path = if in_meta { format!("{hint}.meta") } else { hint };
        find_overrides(&root.join(path), &mut same);
        same.sort_by_key(|each| (each.reference.line, each.reference.guid, each.reference.file_id));
        sorted.extend(same);
    }
    Ok(sorted)
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

fn is_broken(index: &Index, inner: &mut Inner<'_>, entry: &Entry<'_>, file_id: i64) -> Result<bool> {
    let Some(Resolved::Inner(_)) = index.resolve(entry.guid(), file_id)? else { return Ok(false) };
    if inner.lists_all_objects(entry)? {
        return Ok(inner.find(entry.guid(), file_id)?.is_none());
    }
    let class = match entry.asset_type() {
        AssetType::Native(class) => ClassId::from_raw(class),
        AssetType::Script(_) => None,
    };
    Ok(match class {
        // The `.meta` of a texture lists all its sprites, and a script has no sub-assets.
        Some(ClassId::Texture2D | ClassId::MonoScript) => !is_imported(entry)?,
        _ => false,
    })
}

/// Returns whether a ScriptedImporter of a package may have created the sub-assets.
fn is_imported(entry: &Entry<'_>) -> Result<bool> {
    let hint = entry.hint()?.to_ascii_lowercase();
    Ok([".psb", ".psd", ".ase", ".aseprite", ".svg"].iter().any(|end| hint.ends_with(end)))
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
        for reference in entry.references()? {
            if unreadable || reference.file_id != SOURCE_PREFAB || reference.in_meta {
                continue;
            }
            unreadable = match self.index.find_by_guid(reference.guid)? {
                None => true,
                Some(base) if base.is_pointer() => true,
                Some(base) if inner.lists_all_objects(&base)? => self.behind(inner, &base, depth + 1)?,
                // A model: its sub-assets are listed if it could be read.
                Some(base) => base.subs()?.is_empty(),
            };
        }
        self.known.insert(entry.guid(), unreadable);
        Ok(unreadable)
    }
}
