//! References that lead nowhere: to a GUID that no asset has, or to an object that its asset does not hold.
//!
//! Nothing is called broken that cannot be known to be: the inside of libraries, of models that could not be read and of
//! assets that importers of packages make is unknown, and so is what packages hold that are not on this machine.

use super::inner::Inner;
use super::packages::Packages;
use crate::class_id::ClassId;
use crate::index::{Entry, Index, Reference, Resolved, Result};
use crate::store::AssetType;
use std::path::Path;

/// A reference that leads nowhere.
#[derive(Clone, Debug)]
pub struct Broken<'a> {
    /// The file that it is in.
    pub source: Entry<'a>,
    /// The reference.
    pub reference: Reference,
    /// The asset that it leads to, if there is one.
    pub target: Option<Entry<'a>>,
    /// Whether the GUID may be that of an asset in a package that is not on this machine.
    pub perhaps_absent: bool,
}

/// Every broken reference, in the order of the paths and lines they are on.
pub fn broken<'a>(index: &'a Index, root: &Path, packages: &Packages) -> Result<Vec<Broken<'a>>> {
    let mut inner = Inner::new(index, root);
    let mut found = Vec::new();
    for target in index.targets() {
        let (guid, _, entry) = target?;
        match entry {
            None if packages.guids.contains(&guid) => {}
            None => {
                for (source, reference) in index.uses(guid)? {
                    let perhaps_absent = !packages.absent.is_empty();
                    found.push(Broken { source, reference, target: None, perhaps_absent });
                }
            }
            Some(entry) => {
                for (source, reference) in index.uses(guid)? {
                    if leads_nowhere(index, &mut inner, &entry, reference.file_id)? {
                        found.push(Broken { source, reference, target: Some(entry), perhaps_absent: false });
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

fn leads_nowhere(index: &Index, inner: &mut Inner<'_>, entry: &Entry<'_>, file_id: i64) -> Result<bool> {
    let Some(Resolved::Inner(_)) = index.resolve(entry.guid(), file_id)? else { return Ok(false) };
    if inner.can_tell(entry)? {
        return Ok(inner.find(entry.guid(), file_id)?.is_none());
    }
    let class = match entry.asset_type() {
        AssetType::Native(class) => ClassId::from_raw(class),
        AssetType::Script(_) => None,
    };
    Ok(match class {
        // A sheet lists all its sprites, a model that could be read all its parts.
        Some(ClassId::Texture2D | ClassId::MonoScript) => !is_imported(entry)?,
        _ => false,
    })
}

/// Whether an importer of a package may have put anything inside.
fn is_imported(entry: &Entry<'_>) -> Result<bool> {
    let hint = entry.hint()?.to_ascii_lowercase();
    Ok([".psb", ".psd", ".ase", ".aseprite", ".svg"].iter().any(|end| hint.ends_with(end)))
}
