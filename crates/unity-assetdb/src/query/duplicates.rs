//! Lists the assets that share a GUID, the damage that a copied `.meta` or a merge leaves.

use crate::guid::Guid;
use crate::index::{Index, Result};
use kiln_engine::{Code, Diag};
use std::io::Read;
use std::path::Path;

/// Returns one diagnostic for each GUID that several assets share, with all paths and lines.
///
/// # Errors
/// If the index is damaged.
pub fn duplicates(index: &Index, root: &Path) -> Result<Vec<(u128, Diag)>> {
    let guids = index.duplicate_guids()?;
    let diag = |guid: u128| {
        let mut paths =
            index.claimants(guid)?.iter().map(|entry| entry.hint()).collect::<Result<Vec<_>>>()?;
        paths.sort();
        Ok((guid, duplicate_guid(root, guid, &paths)))
    };
    guids.into_iter().map(diag).collect()
}

/// Returns the diagnostic for a GUID that the assets at these paths share. Reads their `.meta` files for the lines.
pub fn duplicate_guid(root: &Path, guid: u128, paths: &[String]) -> Diag {
    let place = |path: &String| match guid_line(&root.join(format!("{path}.meta"))) {
        Some(line) => format!("{path}.meta:{line}"),
        None => format!("{path}.meta"),
    };
    let places: Vec<String> = paths.iter().map(place).collect();
    let message = format!("{} assets share the GUID {}: {}", paths.len(), Guid(guid), places.join(", "));
    let diag = Diag::new(Code::UnityDuplicateGuid, message)
        .hint("delete the .meta of all but one of them and let Unity write new ones");
    match paths.first() {
        Some(first) => {
            diag.path(format!("{first}.meta")).at(guid_line(&root.join(format!("{first}.meta"))).unwrap_or(2))
        }
        None => diag,
    }
}

/// Returns the line of the `guid:` in a `.meta`, counted from 1. A `.meta` starts with it.
fn guid_line(path: &Path) -> Option<usize> {
    let mut head = Vec::new();
    kiln_engine::regular_file::open(path).ok()?.take(4096).read_to_end(&mut head).ok()?;
    let at = head.split(|b| *b == b'\n').position(|line| line.trim_ascii_start().starts_with(b"guid:"))?;
    Some(at + 1)
}
