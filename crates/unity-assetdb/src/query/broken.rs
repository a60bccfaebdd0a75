//! Finds broken references: to a GUID that no asset has, or to an object that its asset does not contain.
//!
//! Only certain cases are reported: the objects inside libraries, unreadable models and assets of ScriptedImporters are
//! unknown, and so is the content of packages that are not on this machine.

use super::inner::Inner;
use super::packages::Packages;
use crate::class_id::ClassId;
use crate::index::{Entry, Index, Reference, Resolved, Result};
use crate::store::AssetType;
use std::path::Path;

/// A reference whose target does not exist.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Broken<'a> {
    /// The asset that contains the reference.
    pub source: Entry<'a>,
    /// The reference itself: GUID, fileID and line.
    pub reference: Reference,
    /// The asset with the GUID, if only the object inside is missing.
    pub target: Option<Entry<'a>>,
    /// True if the GUID may be that of an asset in a package that is not on this machine.
    pub may_be_in_missing_package: bool,
}

/// Returns all broken references, by path and line.
///
/// # Errors
/// If the index is damaged.
pub fn broken<'a>(index: &'a Index, root: &Path, packages: &Packages) -> Result<Vec<Broken<'a>>> {
    let mut inner = Inner::new(index, root);
    let mut found = Vec::new();
    for target in index.targets() {
        let (guid, _, entry) = target?;
        match entry {
            None if packages.guids.contains(&guid) => {}
            None => {
                for (source, reference) in index.uses(guid)? {
                    let may_be_in_missing_package = !packages.missing.is_empty();
                    found.push(Broken { source, reference, target: None, may_be_in_missing_package });
                }
            }
            Some(entry) => {
                for (source, reference) in index.uses(guid)? {
                    if is_broken(index, &mut inner, &entry, reference.file_id)? {
                        found.push(Broken {
                            source,
                            reference,
                            target: Some(entry),
                            may_be_in_missing_package: false,
                        });
                    }
                }
            }
        }
    }
    let mut keyed = Vec::with_capacity(found.len());
    for each in found {
        keyed.push((
            each.source.hint()?,
            each.reference.in_meta,
            each.reference.line,
            each.reference.guid,
            each,
        ));
    }
    keyed.sort_by(|a, b| (&a.0, a.1, a.2, a.3).cmp(&(&b.0, b.1, b.2, b.3)));
    Ok(keyed.into_iter().map(|(.., each)| each).collect())
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
