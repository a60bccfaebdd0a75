//! The objects that assets contained in a base revision: those of changed files as they were, all others as they are.

use super::changed_since::Changes;
use crate::documents::parse_header;
use crate::index::{Index, Resolved, Result};
use crate::refs;
use memchr::memmem;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The maximum depth of nested prefabs.
const MAX_DEPTH: usize = 12;
/// The maximum number of assets that are searched for objects of prefab instances.
const MAX_PROBES: u64 = 1 << 26;
/// The maximum size of a file that is read, in bytes.
const MAX_FILE_SIZE: u64 = 512 << 20;

/// Looks up objects in the base revision; reads each file at most once.
pub(super) struct BaseObjects<'a> {
    index: &'a Index,
    root: PathBuf,
    changes: &'a Changes<'a>,
    known: HashMap<u128, Rc<Objects>>,
    probes_left: u64,
}

/// The fileIDs of one asset.
#[derive(Default)]
struct Objects {
    ids: HashSet<i64>,
    /// Instances of other prefabs: own fileID and the prefab's GUID.
    instances: Vec<(i64, u128)>,
    /// The `.meta` of the base revision, if it differs: it lists sprites and clips.
    meta: Vec<u8>,
}

impl<'a> BaseObjects<'a> {
    pub(super) fn new(index: &'a Index, root: &Path, changes: &'a Changes<'a>) -> BaseObjects<'a> {
        BaseObjects { index, root: root.to_owned(), changes, known: HashMap::new(), probes_left: MAX_PROBES }
    }

    /// Returns whether the asset contained the object in the base revision. Prefabs that contain so many instances of each
    /// other that a search would not end are searched in part.
    pub(super) fn existed(&mut self, guid: u128, file_id: i64, depth: usize) -> Result<bool> {
        if depth > MAX_DEPTH || self.probes_left == 0 {
            return Ok(false);
        }
        self.probes_left -= 1;
        // Where nothing changed, the index answers.
        if let Some(Resolved::Asset(_) | Resolved::Sub(..)) = self.index.resolve(guid, file_id)? {
            return Ok(true);
        }
        let Some(objects) = self.objects(guid)? else { return Ok(false) };
        if objects.ids.contains(&file_id) || has_number(&objects.meta, file_id) {
            return Ok(true);
        }
        // See `super::inner` for the rule: an object of an instance has no negative fileID.
        for (instance, prefab) in objects.instances.iter().filter(|_| file_id >= 0) {
            let source = file_id ^ instance;
            for source in [source & i64::MAX, source | i64::MIN] {
                if self.existed(*prefab, source, depth + 1)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn objects(&mut self, guid: u128) -> Result<Option<Rc<Objects>>> {
        if let Some(known) = self.known.get(&guid) {
            return Ok(Some(known.clone()));
        }
        let Some(entry) = self.index.find_by_guid(guid)? else { return Ok(None) };
        let hint = entry.hint()?;
        let text = match self.changes.files.contains_key(&hint) {
            true => self.changes.base(&hint).unwrap_or_default(),
            false => {
                let mut text = Vec::new();
                let _ = kiln_engine::regular_file::open(&self.root.join(&hint))
                    .and_then(|file| file.take(MAX_FILE_SIZE).read_to_end(&mut text));
                text
            }
        };
        let mut objects = Objects::read(&text);
        objects.meta = self.changes.base(&format!("{hint}.meta")).unwrap_or_default();
        let objects = Rc::new(objects);
        self.known.insert(guid, objects.clone());
        Ok(Some(objects))
    }
}

impl Objects {
    fn read(text: &[u8]) -> Objects {
        let mut objects = Objects::default();
        let starts: Vec<usize> = memmem::find_iter(text, b"--- !u!")
            .filter(|at| *at == 0 || text[at - 1] == b'\n')
            .chain([text.len()])
            .collect();
        for range in starts.windows(2) {
            let body = &text[range[0]..range[1]];
            let Some(document) = parse_header(body) else { continue };
            objects.ids.insert(document.file_id);
            let source = [&b"\n  m_SourcePrefab:"[..], b"\n  m_ParentPrefab:"];
            if let Some(at) = source.iter().find_map(|key| memmem::find(body, key)) {
                let value = &body[at..body.len().min(at + 160)];
                let mut prefab = None;
                refs::scan(value, 0, |each| prefab = prefab.or(Some(each.guid)));
                objects.instances.extend(prefab.map(|prefab| (document.file_id, prefab)));
            }
        }
        objects
    }
}

/// Returns whether a text contains a number that is not part of another word.
fn has_number(text: &[u8], number: i64) -> bool {
    let digits = number.to_string();
    let word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_');
    memmem::find_iter(text, digits.as_bytes())
        .any(|at| !word(at.checked_sub(1).and_then(|at| text.get(at))) && !word(text.get(at + digits.len())))
}
