//! Compares two databases by GUID, which an asset keeps when it moves.

use crate::store::{AssetDb, AssetEntry};

/// A change of one asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Only the new database has the asset.
    Added(&'a AssetEntry),
    /// Only the old database has the asset.
    Removed(&'a AssetEntry),
    /// The asset is in another folder.
    Moved(&'a AssetEntry, &'a AssetEntry),
    /// The asset has another file name in the same folder.
    Renamed(&'a AssetEntry, &'a AssetEntry),
    /// The asset has another type.
    Retyped(&'a AssetEntry, &'a AssetEntry),
}

/// Returns all changes, by GUID. An asset that moved and has another type is listed twice.
pub fn diff<'a>(old: &'a AssetDb, new: &'a AssetDb) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    let (mut before, mut after) = (old.entries.iter().peekable(), new.entries.iter().peekable());
    loop {
        match (before.peek(), after.peek()) {
            (None, None) => return changes,
            (Some(a), Some(b)) if a.guid == b.guid => {
                compare(old, new, a, b, &mut changes);
                before.next();
                after.next();
            }
            (Some(a), b) if b.is_none_or(|b| a.guid < b.guid) => {
                changes.push(Change::Removed(a));
                before.next();
            }
            (_, Some(b)) => {
                changes.push(Change::Added(b));
                after.next();
            }
            (Some(_), None) => return changes,
        }
    }
}

fn compare<'a>(
    old: &AssetDb,
    new: &AssetDb,
    a: &'a AssetEntry,
    b: &'a AssetEntry,
    changes: &mut Vec<Change<'a>>,
) {
    let folder = |entry: &'a AssetEntry| entry.hint.rsplit_once('/').map_or("", |(folder, _)| folder);
    if a.hint != b.hint {
        let moved = folder(a) != folder(b);
        changes.push(if moved { Change::Moved(a, b) } else { Change::Renamed(a, b) });
    }
    let kind = |db: &AssetDb, entry: &AssetEntry| (db.script_of(entry.asset_type), entry.asset_type);
    let same = match (kind(old, a), kind(new, b)) {
        ((Some(a), _), (Some(b), _)) => a == b,
        (a, b) => a == b,
    };
    if !same {
        changes.push(Change::Retyped(a, b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::AssetType;

    fn entry(guid: u128, hint: &str, asset_type: AssetType) -> AssetEntry {
        AssetEntry { guid, asset_type, name: "n".into(), sub_assets: Vec::new(), hint: hint.into() }
    }

    #[test]
    fn reports_every_kind_of_change() {
        let native = AssetType::Native(28);
        let old = AssetDb {
            script_types: vec![5],
            entries: vec![
                entry(1, "A/a", native),
                entry(2, "A/b", native),
                entry(3, "A/c", native),
                entry(4, "A/d", AssetType::Script(0)),
                entry(6, "A/f", native),
            ],
            ..AssetDb::new()
        };
        let new = AssetDb {
            script_types: vec![4, 5],
            entries: vec![
                entry(2, "B/b", native),
                entry(3, "A/x", AssetType::Native(1)),
                entry(4, "A/d", AssetType::Script(1)),
                entry(5, "A/e", native),
                entry(6, "A/f", native),
            ],
            ..AssetDb::new()
        };
        let kinds: Vec<(&str, u128)> = diff(&old, &new)
            .iter()
            .map(|change| match change {
                Change::Added(entry) => ("added", entry.guid),
                Change::Removed(entry) => ("removed", entry.guid),
                Change::Moved(entry, _) => ("moved", entry.guid),
                Change::Renamed(entry, _) => ("renamed", entry.guid),
                Change::Retyped(entry, _) => ("retyped", entry.guid),
            })
            .collect();
        assert_eq!(kinds, [("removed", 1), ("moved", 2), ("renamed", 3), ("retyped", 3), ("added", 5)]);
        assert!(diff(&old, &old).is_empty());
    }
}
