//! Finds all occurrences of references in a file, and tells values from overrides of a prefab instance.
//!
//! The index has one row for each file and object; the places of the other occurrences, and the keys before them, are read
//! from the file when they are needed.

use crate::refs;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

/// The maximum size of a file that is read, in bytes.
const MAX_FILE_SIZE: u64 = 512 << 20;

/// A place where a reference occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occurrence {
    /// The line, counted from 1.
    pub(crate) line: u32,
    pub(crate) role: Role,
}

/// The role of a reference in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A value that Unity loads.
    Value,
    /// The reference says which object of a prefab is overridden, removed or stands for another.
    Override,
    /// A value that an override of a missing object assigns, which Unity ignores with the override.
    Ignored,
}

/// The keys of references that select an object of the base prefab.
const OVERRIDES: [&[u8]; 6] = [
    b"target",
    b"m_CorrespondingSourceObject",
    b"targetCorrespondingSourceObject",
    b"m_PrefabParentObject",
    b"m_RemovedComponents",
    b"m_RemovedGameObjects",
];

/// Returns all places of the wanted references (GUID and fileID) in a file, by line; `None` if the file cannot be read.
/// Overrides of the objects in `missing` are ignored.
pub(crate) fn occurrences(
    path: &Path,
    wanted: &HashSet<(u128, i64)>,
    missing: &HashSet<(u128, i64)>,
) -> Option<HashMap<(u128, i64), Vec<Occurrence>>> {
    let file = kiln_engine::regular_file::open(path).ok()?;
    let mut text = Vec::new();
    file.take(MAX_FILE_SIZE).read_to_end(&mut text).ok()?;
    Some(occurrences_in(&text, wanted, missing))
}

pub(crate) fn occurrences_in(
    text: &[u8],
    wanted: &HashSet<(u128, i64)>,
    missing: &HashSet<(u128, i64)>,
) -> HashMap<(u128, i64), Vec<Occurrence>> {
    let mut found: HashMap<(u128, i64), Vec<Occurrence>> = HashMap::new();
    let (mut line, mut at) = (1, 0);
    // The target of the modification that the scan is in.
    let mut target = None;
    refs::scan(text, 0, |each| {
        let reference = (each.guid, each.file_id);
        let key = key_before(text, each.key);
        if key == b"target" {
            target = Some(reference);
        }
        if !wanted.contains(&reference) {
            return;
        }
        line += memchr::memchr_iter(b'\n', &text[at..each.at]).count() as u32;
        at = each.at;
        let ignored = key == b"objectReference" && target.is_some_and(|target| missing.contains(&target));
        let role = match OVERRIDES.contains(&key) {
            true => Role::Override,
            false if ignored => Role::Ignored,
            false => Role::Value,
        };
        found.entry(reference).or_default().push(Occurrence { line, role });
    });
    found
}

/// Returns the key of the value at an offset: on the same line, or that of the list whose item the value is.
fn key_before(text: &[u8], at: usize) -> &[u8] {
    let line_start = |at: usize| memchr::memrchr(b'\n', &text[..at]).map_or(0, |at| at + 1);
    let mut start = line_start(at);
    let head = text[start..at].trim_ascii().strip_suffix(b"{").unwrap_or(text[start..at].trim_ascii());
    if let Some(key) = key_of(head) {
        return key;
    }
    // A list item: the key is on the nearest line above that is no item. Lists of removed objects are short.
    for _ in 0..10_000 {
        if start == 0 {
            break;
        }
        let end = start - 1;
        start = line_start(end);
        let above = text[start..end].trim_ascii();
        if !above.starts_with(b"- {") && !above.starts_with(b"type:") {
            return key_of(above).unwrap_or_default();
        }
    }
    b""
}

/// Returns the key of `key: …` or `- key: …`.
fn key_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"- ").unwrap_or(line).trim_ascii_start();
    let end = memchr::memchr(b':', line)?;
    (!line.starts_with(b"{")).then(|| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_values_from_overrides() {
        let guid = "8f57b4a070f7b43bbb3925467e6752ab";
        let text = format!(
            "  m_Modification:\n    m_Modifications:\n    - target: {{fileID: 1, guid: {guid},\n        type: 3}}\n      \
             propertyPath: m_Name\n      objectReference: {{fileID: 2, guid: {guid}, type: 3}}\n    \
             - target: {{fileID: 5, guid: {guid}, type: 3}}\n      objectReference: {{fileID: 3, guid: {guid}, type: 3}}\n    \
             m_RemovedComponents:\n    - {{fileID: 4, guid: {guid}, type: 3}}\n    - {{fileID: 4, guid: {guid},\n      type: 3}}\n  \
             m_SourcePrefab: {{fileID: 1, guid: {guid}, type: 3}}\n  list:\n  - {{fileID: 4, guid: {guid}, type: 3}}\n"
        );
        let known = crate::guid::parse(guid).unwrap();
        let found =
            occurrences_in(text.as_bytes(), &[1, 2, 3, 4].map(|id| (known, id)).into(), &[(known, 1)].into());
        use Role::{Ignored, Override, Value};
        let places = |id| -> Vec<(u32, Role)> {
            found[&(known, id)].iter().map(|place| (place.line, place.role)).collect()
        };
        assert_eq!(places(1), [(3, Override), (13, Value)]);
        assert_eq!(places(2), [(6, Ignored)], "the object that it overrides is missing");
        assert_eq!(places(3), [(8, Value)]);
        assert_eq!(places(4), [(10, Override), (11, Override), (15, Value)]);
    }
}
