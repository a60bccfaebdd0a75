//! The keys that differ between two paks, for hot reload and patches.

use crate::PakBuf;
use kiln_format::pak::Kind;
use std::collections::BTreeMap;

/// The change of a key between two paks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Only the new pak has the key.
    Added,
    /// Only the old pak has the key.
    Removed,
    /// The asset, its kind, or something that it refers to differs.
    Changed,
}

impl Change {
    /// Returns the name in messages: `added`, `removed` or `changed`.
    pub const fn name(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Changed => "changed",
        }
    }
}

impl PakBuf {
    /// Returns the keys that differ from an older pak, sorted. Reads the indices only.
    pub fn changes_since(&self, old: &PakBuf) -> Vec<(String, Change)> {
        let (before, after) = (keys(old), keys(self));
        let mut changes = Vec::new();
        for (key, (kind, id)) in &after {
            match before.get(key) {
                None => changes.push(((*key).to_owned(), Change::Added)),
                Some((was, old_id)) => {
                    if was != kind || old.identity(*was, *old_id) != self.identity(*kind, *id) {
                        changes.push(((*key).to_owned(), Change::Changed));
                    }
                }
            }
        }
        let removed = before.keys().filter(|key| !after.contains_key(*key));
        changes.extend(removed.map(|key| ((*key).to_owned(), Change::Removed)));
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        changes
    }
}

/// Returns the kind and id of the asset of each key.
fn keys(pak: &PakBuf) -> BTreeMap<&str, (Kind, usize)> {
    pak.view_keys().map(|(key, kind, id)| (key, (kind, id))).collect()
}
