//! Summarizes the changes between two revisions in Unity's terms: assets added, removed and moved; objects added, removed and
//! renamed; values changed, with names in place of GUIDs.
//!
//! Names of other assets are those of the index, which is that of the project on disk; an asset that the project no longer has
//! is shown by its path in the old revision.

use super::annotate::label;
use super::inner::Inner;
use super::properties::{ParsedObject, Properties, local_file_id, parse_objects, parse_properties};
use crate::class_id::class_name;
use crate::index::{Index, Result};
use crate::{meta, refs};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The content of a file in two revisions.
#[derive(Clone, Debug, Default)]
pub struct FileVersions {
    /// The path, relative to the project.
    pub path: String,
    /// The content in the old revision; `None` if the file was added.
    pub old: Option<Vec<u8>>,
    /// The content in the new revision; `None` if the file was removed.
    pub new: Option<Vec<u8>>,
}

/// The summary of all changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Review {
    /// The paths of new assets.
    pub added: Vec<String>,
    /// The paths of removed assets.
    pub removed: Vec<String>,
    /// Assets that kept their GUID under another path: old and new path.
    pub moved: Vec<(String, String)>,
    /// The files in Unity's YAML whose objects changed, by path.
    pub files: Vec<FileReview>,
    /// The paths of other files whose content changed.
    pub other: Vec<String>,
}

/// The changes of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileReview {
    /// The path, relative to the project; that of the `.meta` for import settings.
    pub path: String,
    /// The objects that changed, by kind of change and fileID.
    pub objects: Vec<ObjectChange>,
}

/// The change of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectChange {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The fileID; 0 for the import settings of a `.meta`.
    pub file_id: i64,
    /// The class, such as `GameObject`.
    pub class: String,
    /// The name of the object, or of the GameObject of a component; empty if there is none.
    pub name: String,
    /// The old name, if it differs.
    pub old_name: Option<String>,
    /// The values that changed; empty for objects that were added or removed.
    pub values: Vec<ValueChange>,
}

/// The kind of the change of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Only the new revision has the object.
    Added,
    /// Only the old revision has the object.
    Removed,
    /// The name of the object differs.
    Renamed,
    /// Values of the object differ.
    #[default]
    Changed,
}

impl ChangeKind {
    /// Returns the kind as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Renamed => "renamed",
            ChangeKind::Changed => "changed",
        }
    }
}

/// The change of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueChange {
    /// The path of the property, such as `m_Materials[0]`.
    pub property: String,
    /// The old value with names in place of references; `None` if the property is new.
    pub old: Option<String>,
    /// The new value with names in place of references; `None` if the property was removed.
    pub new: Option<String>,
}

/// Summarizes the changes of files. `.meta` files should come first: they tell the paths of assets that were removed.
///
/// # Errors
/// If the index is damaged.
pub fn review(index: &Index, root: &Path, files: impl IntoIterator<Item = FileVersions>) -> Result<Review> {
    let mut names = Names { index, inner: Inner::new(index, root), old_paths: BTreeMap::new() };
    let mut result = Review::default();
    let mut new: BTreeMap<u128, String> = BTreeMap::new();
    let mut written = BTreeSet::new();
    for file in files {
        if let Some(asset) = file.path.strip_suffix(".meta") {
            let guid = |text: &Option<Vec<u8>>| text.as_ref().and_then(|text| meta::parse(text).guid);
            names.old_paths.extend(guid(&file.old).map(|guid| (guid, asset.to_owned())));
            new.extend(guid(&file.new).map(|guid| (guid, asset.to_owned())));
        } else if file.new.is_some() {
            written.insert(file.path.clone());
        }
        let (Some(old), Some(new)) = (&file.old, &file.new) else { continue };
        if old == new {
            continue;
        }
        let objects = match is_yaml(old) && is_yaml(new) {
            true => names.objects(old, new)?,
            false if file.path.ends_with(".meta") => names.import_settings(old, new)?,
            false => {
                result.other.push(file.path);
                continue;
            }
        };
        if !objects.is_empty() {
            result.files.push(FileReview { path: file.path, objects });
        }
    }
    let old = names.old_paths;
    result.added =
        new.iter().filter(|(guid, _)| !old.contains_key(guid)).map(|(_, path)| path.clone()).collect();
    for (guid, path) in old {
        match new.get(&guid) {
            Some(now) if *now != path => result.moved.push((path, now.clone())),
            Some(_) => {}
            None => result.removed.push(path),
        }
    }
    // An asset with another GUID is neither new nor gone: its `.meta` shows the change.
    let has_other_guid: BTreeSet<String> =
        result.added.iter().filter(|path| result.removed.contains(path)).cloned().collect();
    // Nor is a `.meta` without its file or folder, which is one of the problems.
    let is_there = |path: &String| -> Result<bool> {
        let inside = format!("{path}/");
        let is_folder = written.range(inside.clone()..).next().is_some_and(|next| next.starts_with(&inside));
        Ok(is_folder || written.contains(path) || index.find_by_hint(path)?.is_some())
    };
    let mut orphans = BTreeSet::new();
    for path in &result.added {
        if !is_there(path)? {
            orphans.insert(path.clone());
        }
    }
    result.added.retain(|path| !has_other_guid.contains(path) && !orphans.contains(path));
    result.removed.retain(|path| !has_other_guid.contains(path));
    result.added.sort();
    result.removed.sort();
    result.moved.sort();
    result.other.sort();
    result.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(result)
}

fn is_yaml(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.starts_with(b"%YAML") || text.starts_with(b"--- !u!")
}

struct Names<'a> {
    index: &'a Index,
    inner: Inner<'a>,
    /// The paths of changed assets in the old revision, by GUID.
    old_paths: BTreeMap<u128, String>,
}

type Objects = BTreeMap<i64, ParsedObject>;

/// Returns the name of an object, or of the GameObject of a component.
fn name_of(objects: &Objects, object: &ParsedObject) -> String {
    match object.name() {
        name if !name.is_empty() => name,
        _ => object.owner().and_then(|owner| objects.get(&owner)).map(ParsedObject::name).unwrap_or_default(),
    }
}

impl Names<'_> {
    fn objects(&mut self, old: &[u8], new: &[u8]) -> Result<Vec<ObjectChange>> {
        let (old, new) = (parse_objects(old), parse_objects(new));
        let ids: BTreeSet<i64> = old.keys().chain(new.keys()).copied().collect();
        let mut found = Vec::new();
        for file_id in ids {
            let class = |object: &ParsedObject| class_name(object.class_id).into_owned();
            let change = match (old.get(&file_id), new.get(&file_id)) {
                // Placeholders come and go with the objects that refer to them.
                (Some(object), None) | (None, Some(object)) if object.stripped => continue,
                (Some(object), None) => ObjectChange {
                    kind: ChangeKind::Removed,
                    class: class(object),
                    name: name_of(&old, object),
                    ..ObjectChange::default()
                },
                (None, Some(object)) => ObjectChange {
                    kind: ChangeKind::Added,
                    class: class(object),
                    name: name_of(&new, object),
                    ..ObjectChange::default()
                },
                (Some(before), Some(after)) if before.properties != after.properties => {
                    let (old_name, name) = (before.name(), after.name());
                    let mut values = self.values(&before.properties, &after.properties, &old, &new)?;
                    values.retain(|value| value.property != "m_Name");
                    let renamed = old_name != name;
                    ObjectChange {
                        kind: if renamed { ChangeKind::Renamed } else { ChangeKind::Changed },
                        class: class(after),
                        name: name_of(&new, after),
                        old_name: renamed.then_some(old_name),
                        values,
                        file_id,
                    }
                }
                _ => continue,
            };
            found.push(ObjectChange { file_id, ..change });
        }
        found.sort_by_key(|change| (change.kind, change.file_id));
        Ok(found)
    }

    fn import_settings(&mut self, old: &[u8], new: &[u8]) -> Result<Vec<ObjectChange>> {
        let read = |text: &[u8]| parse_properties(&String::from_utf8_lossy(text));
        let values = self.values(&read(old), &read(new), &Objects::new(), &Objects::new())?;
        let change = ObjectChange { class: "import settings".to_owned(), values, ..ObjectChange::default() };
        Ok(if change.values.is_empty() { Vec::new() } else { vec![change] })
    }

    fn values(
        &mut self,
        before: &Properties,
        after: &Properties,
        old: &Objects,
        new: &Objects,
    ) -> Result<Vec<ValueChange>> {
        let mut found = Vec::new();
        let paths: BTreeSet<&String> = before.values.keys().chain(after.values.keys()).collect();
        for path in paths {
            let (was, is) = (before.values.get(path), after.values.get(path));
            if was != is {
                found.push(ValueChange {
                    property: self.shown(path, new)?,
                    old: was.map(|value| self.shown(value, old)).transpose()?,
                    new: is.map(|value| self.shown(value, new)).transpose()?,
                });
            }
        }
        let lists: BTreeSet<&String> = before.lists.keys().chain(after.lists.keys()).collect();
        for path in lists {
            let (was, is) = (before.lists.get(path), after.lists.get(path));
            let (was, is) = (was.cloned().unwrap_or_default(), is.cloned().unwrap_or_default());
            for item in without(&was, &is) {
                let old = Some(self.shown(&item, old)?);
                found.push(ValueChange { property: path.clone(), old, new: None });
            }
            for item in without(&is, &was) {
                let new = Some(self.shown(&item, new)?);
                found.push(ValueChange { property: path.clone(), old: None, new });
            }
            if was != is && without(&was, &is).is_empty() && without(&is, &was).is_empty() {
                let order = Some("another order".to_owned());
                found.push(ValueChange { property: path.clone(), old: None, new: order });
            }
        }
        Ok(found)
    }

    /// Replaces references in a value by names.
    fn shown(&mut self, value: &str, objects: &Objects) -> Result<String> {
        if value == "{fileID: 0}" {
            return Ok("None".to_owned());
        }
        if let Some(object) = local_file_id(value).and_then(|id| objects.get(&id)) {
            let name = name_of(objects, object);
            return Ok(format!("{name} ({})", class_name(object.class_id)).trim_start().to_owned());
        }
        let mut found = Vec::new();
        refs::scan(value.as_bytes(), 0, |each| found.push(each));
        let mut out = String::new();
        let mut from = 0;
        for each in found {
            let span = each.span(value.as_bytes());
            let label = label(self.index, &mut self.inner, each.guid, each.file_id)?;
            let removed = || Some(format!("{} (removed)", self.old_paths.get(&each.guid)?));
            let Some(label) = label.or_else(removed) else { continue };
            if span.start < from || !value.is_char_boundary(span.start) || !value.is_char_boundary(span.end) {
                continue;
            }
            out += &value[from..span.start];
            out += &label;
            from = span.end;
        }
        Ok(out + &value[from..])
    }
}

/// Returns the items of a list that another does not have, with multiplicity.
fn without(list: &[String], other: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    other.iter().for_each(|item| *counts.entry(item).or_insert(0) += 1);
    for item in list {
        match counts.get_mut(item) {
            Some(count) if *count > 0 => *count -= 1,
            _ => found.push(item.clone()),
        }
    }
    found
}
