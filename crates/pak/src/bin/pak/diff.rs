//! The `pak diff` command: the keys whose asset or references changed, and on request the size of a patch.

use super::{damaged, open};
use ::pak::bake::make_patch;
use ::pak::{Change, Entry, PakBuf};
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Diag, Json};
use std::collections::BTreeMap;
use std::path::Path;

/// Compares the indices of two paks. With `patch_size` both are read as a whole, and a patch is made in memory.
pub(super) fn diff(reporter: &Reporter, old: &Path, new: &Path, patch_size: bool) -> Result<u8, Diag> {
    // The diagnostic of a damaged file names it.
    let (old_path, new_path) = (old, new);
    let (old, new) = (open(old)?, open(new)?);
    let patch = patch_size.then(|| make_patch(old_path, new_path)).transpose();
    let patch_len = patch.map_err(|error| damaged(new_path, &error))?.map(|patch| patch.bytes.len() as u64);
    let (before, after) = (entries(&old), entries(&new));
    let stored_len = |key: &str| after.get(key).or(before.get(key)).map_or(0, |entry| entry.stored_len);
    let changes = new.changes_since(&old);
    let changes: Vec<(&str, Change, u64)> =
        changes.iter().map(|(key, change)| (key.as_str(), *change, stored_len(key))).collect();
    if reporter.json {
        let change = |(key, change, bytes): &(&str, Change, u64)| {
            Json::object([
                ("key", (*key).into()),
                ("change", change.name().into()),
                ("bytes", (*bytes).into()),
            ])
        };
        let list = Json::list(changes.iter().map(change));
        let patch = patch_len.map_or(Json::Null, Json::from);
        reporter.print_json(Json::object([("changes", list), ("patch", patch)]));
    } else {
        let mut out = reporter.out();
        for (key, change, bytes) in &changes {
            out.line(&format!(
                "{:<8} {:>10}  {}",
                change.name(),
                render::size(*bytes),
                render::printable(key)
            ));
        }
        let count = render::count(changes.len(), "key differs", "keys differ");
        out.line(&match patch_len {
            Some(len) => {
                let (len, new_len) = (render::size(len), render::size(new.file_len()));
                format!("{count}; a patch has {len} for a pak of {new_len}")
            }
            None => count,
        });
    }
    Ok(if changes.is_empty() { OK } else { FAILED })
}

fn entries(pak: &PakBuf) -> BTreeMap<&str, Entry<'_>> {
    pak.entries().map(|entry| (entry.key, entry)).collect()
}
