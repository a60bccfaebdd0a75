//! Names of resources that are built into Unity, and of scripts of Unity's packages.
//!
//! Each row of the two tables is one that real projects prove, with its evidence; other resources have no name rather than a
//! guess. [`bench/unity/builtin_evidence.py`](../../../bench/unity/builtin_evidence.py) prints the evidence.

use crate::guid;
use std::collections::HashMap;
use std::sync::LazyLock;

type Resources = HashMap<(u128, i64), (&'static str, &'static str)>;

static RESOURCES: LazyLock<Resources> = LazyLock::new(|| {
    let rows = rows(include_str!("builtin/resources.tsv"));
    rows.filter_map(|row| {
        let digit = u128::from_str_radix(row[0], 16).ok()?;
        Some(((digit << 60, row[1].parse().ok()?), (row[2], row[3])))
    })
    .collect()
});

static SCRIPTS: LazyLock<HashMap<(u128, i64), &'static str>> = LazyLock::new(|| {
    let rows = rows(include_str!("builtin/scripts.tsv"));
    rows.filter_map(|row| Some(((guid::parse(row[0])?, row[1].parse().ok()?), row[2]))).collect()
});

/// Returns the columns of the rows of a table, without its comments.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect::<Vec<_>>()).filter(|row| row.len() >= 5)
}

/// Returns the name and the class of a built-in resource. The name is empty where only the class is known.
///
/// ```
/// use unity_assetdb::{builtin, guid};
/// let resources = guid::parse("0000000000000000e000000000000000").unwrap();
/// assert_eq!(builtin::resource(resources, 10202), Some(("Cube", "Mesh")));
/// assert_eq!(builtin::resource(resources, 7), None);
/// ```
pub fn resource(guid: u128, file_id: i64) -> Option<(&'static str, &'static str)> {
    let script = || SCRIPTS.get(&(guid, file_id)).map(|name| (*name, "MonoScript"));
    RESOURCES.get(&(guid, file_id)).copied().or_else(script)
}

/// Returns the name of a script of the editor or of a package that is known by its GUID and fileID.
///
/// ```
/// use unity_assetdb::{builtin, guid};
/// let image = guid::parse("fe87c0e1cc204ed48ad3b37840f39efc").unwrap();
/// assert_eq!(builtin::script(image, 11500000), Some("Image"));
/// ```
pub fn script(guid: u128, file_id: i64) -> Option<&'static str> {
    let resource = || RESOURCES.get(&(guid, file_id)).filter(|(_, class)| *class == "MonoScript");
    SCRIPTS.get(&(guid, file_id)).copied().or_else(|| resource().map(|(name, _)| *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_evidence_and_are_unique() {
        for (table, unique) in [
            (include_str!("builtin/resources.tsv"), RESOURCES.len()),
            (include_str!("builtin/scripts.tsv"), SCRIPTS.len()),
        ] {
            let lines = table.lines().filter(|line| !line.starts_with('#'));
            assert_eq!(lines.clone().count(), unique);
            for line in lines {
                let row: Vec<&str> = line.split('\t').collect();
                assert!(row.len() == 5 && !row[4].is_empty() && !row[3].is_empty(), "{line}");
            }
        }
    }

    #[test]
    fn classes_exist() {
        for row in rows(include_str!("builtin/resources.tsv")) {
            assert!(crate::class_id::ClassId::from_name(row[3]).is_some(), "{}", row[3]);
        }
    }
}
