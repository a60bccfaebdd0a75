//! Resolves the objects inside prefabs and scenes, which the index leaves out, by reading the files.
//!
//! A component has the name of its GameObject. An object of a nested prefab has the fileID of the original, combined by
//! XOR with that of the instance, so that it is searched for in the prefabs that the file has instances of.

use crate::class_id::ClassId;
use crate::documents::{Document, parse_header};
use crate::index::{Entry, Index, Resolved, Result};
use crate::refs;
use crate::scalar;
use memchr::memmem;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The maximum depth of nested prefabs.
const MAX_DEPTH: usize = 12;
/// The maximum size of a file that is read, in bytes.
const MAX_FILE_SIZE: u64 = 512 << 20;

/// An object inside an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InnerObject {
    /// The name of the object, or of the GameObject of a component; empty if there is none.
    pub name: String,
    /// The class ID of the object.
    pub class_id: u32,
}

/// Resolves objects inside files; reads each file at most once.
pub struct Inner<'a> {
    index: &'a Index,
    root: PathBuf,
    files: HashMap<u128, Option<Rc<Objects>>>,
}

#[derive(Debug, Default)]
struct Objects {
    by_id: HashMap<i64, Object>,
    /// Instances of other prefabs: own fileID and the prefab's GUID.
    instances: Vec<(i64, u128)>,
}

#[derive(Debug)]
struct Object {
    class_id: u32,
    name: Option<String>,
    /// The GameObject of a component.
    owner: Option<i64>,
    /// The GUID and fileID of the object that a placeholder stands for.
    source: Option<(u128, i64)>,
}

impl<'a> Inner<'a> {
    /// Creates a resolver for the project at `root`.
    pub fn new(index: &'a Index, root: &Path) -> Inner<'a> {
        Inner { index, root: root.to_owned(), files: HashMap::new() }
    }

    /// Returns whether the asset is in Unity's YAML, so that an object that is not found does not exist.
    ///
    /// # Errors
    /// If the index is damaged.
    pub fn lists_all_objects(&mut self, entry: &Entry<'_>) -> Result<bool> {
        Ok(self.file(entry)?.is_some_and(|objects| !objects.by_id.is_empty()))
    }

    /// Returns the object with this fileID.
    ///
    /// # Errors
    /// If the index is damaged.
    pub fn find(&mut self, guid: u128, file_id: i64) -> Result<Option<InnerObject>> {
        self.find_at_depth(guid, file_id, 0)
    }

    fn find_at_depth(&mut self, guid: u128, file_id: i64, depth: usize) -> Result<Option<InnerObject>> {
        if depth > MAX_DEPTH {
            return Ok(None);
        }
        match self.index.resolve(guid, file_id)? {
            Some(Resolved::Sub(_, sub)) => {
                Ok(Some(InnerObject { name: sub.name.to_owned(), class_id: sub.class_id }))
            }
            Some(Resolved::Inner(entry) | Resolved::Asset(entry)) => {
                let Some(objects) = self.file(&entry)? else { return Ok(None) };
                self.find_in_file(&objects, file_id, depth)
            }
            None => Ok(None),
        }
    }

    fn find_in_file(
        &mut self,
        objects: &Rc<Objects>,
        file_id: i64,
        depth: usize,
    ) -> Result<Option<InnerObject>> {
        if let Some(object) = objects.by_id.get(&file_id) {
            let own = object.name.clone().filter(|name| !name.is_empty());
            let of_owner =
                object.owner.and_then(|owner| objects.by_id.get(&owner)).and_then(|owner| owner.name.clone());
            if let Some(name) = own.or(of_owner) {
                return Ok(Some(InnerObject { name, class_id: object.class_id }));
            }
            if let Some((guid, source)) = object.source
                && let Some(found) = self.find_at_depth(guid, source, depth + 1)?
            {
                return Ok(Some(InnerObject { class_id: object.class_id, ..found }));
            }
            if let Some(owner) = object.owner.filter(|owner| *owner != file_id)
                && depth < MAX_DEPTH
                && let Some(found) = self.find_in_file(objects, owner, depth + 1)?
            {
                return Ok(Some(InnerObject { class_id: object.class_id, ..found }));
            }
            return Ok(Some(InnerObject { name: String::new(), class_id: object.class_id }));
        }
        for (instance, guid) in &objects.instances {
            let source = (file_id ^ instance) & i64::MAX;
            for source in [source, file_id ^ instance] {
                if let Some(found) = self.find_at_depth(*guid, source, depth + 1)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn file(&mut self, entry: &Entry<'_>) -> Result<Option<Rc<Objects>>> {
        if let Some(known) = self.files.get(&entry.guid()) {
            return Ok(known.clone());
        }
        let path = self.root.join(entry.hint()?);
        let small = fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE_SIZE);
        let bytes = if small { fs::read(&path).ok() } else { None };
        let objects = bytes.filter(|bytes| is_yaml(bytes)).map(|bytes| Rc::new(Objects::read(&bytes)));
        self.files.insert(entry.guid(), objects.clone());
        Ok(objects)
    }
}

fn is_yaml(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.starts_with(b"%YAML") || bytes.starts_with(b"--- ")
}

impl Objects {
    fn read(bytes: &[u8]) -> Objects {
        let mut objects = Objects::default();
        let starts: Vec<usize> = memmem::find_iter(bytes, b"--- !u!")
            .filter(|at| *at == 0 || bytes[at - 1] == b'\n')
            .chain([bytes.len()])
            .collect();
        for range in starts.windows(2) {
            let text = &bytes[range[0]..range[1]];
            if let Some(document) = parse_header(text) {
                objects.add(&document, text);
            }
        }
        objects
    }

    fn add(&mut self, document: &Document, text: &[u8]) {
        let value = |key: &[u8]| memmem::find(text, key).map(|at| &text[at + key.len()..]);
        let local = |key: &[u8]| {
            let rest = value(key)?.trim_ascii_start().strip_prefix(b"{fileID: ")?;
            let end = rest.iter().position(|b| !matches!(b, b'-' | b'0'..=b'9'))?;
            std::str::from_utf8(&rest[..end]).ok()?.parse::<i64>().ok()
        };
        let foreign = |key: &[u8]| {
            let rest = value(key)?;
            let mut found = None;
            refs::scan(&rest[..rest.len().min(160)], 0, |each| {
                found = found.or(Some((each.guid, each.file_id)))
            });
            found
        };
        if document.class_id == ClassId::Prefab as u32
            && let Some((guid, _)) =
                foreign(b"\n  m_SourcePrefab:").or_else(|| foreign(b"\n  m_ParentPrefab:"))
        {
            self.instances.push((document.file_id, guid));
        }
        let object = Object {
            class_id: document.class_id,
            name: value(b"\n  m_Name:").map(|rest| scalar::decode(rest, 2).into_owned()),
            owner: local(b"\n  m_GameObject:").filter(|id| *id != 0),
            source: foreign(b"\n  m_CorrespondingSourceObject:").filter(|_| document.stripped),
        };
        self.by_id.insert(document.file_id, object);
    }
}
