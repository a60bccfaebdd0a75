//! The `pak diff` command: the keys whose asset or references changed, and the size of the blocks that only the new file
//! has.

use super::open;
use ::pak::{Change, Entry, PakBuf};
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Diag, Json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) fn diff(reporter: &Reporter, old: &Path, new: &Path) -> Result<u8, Diag> {
    let (old, new) = (open(old)?, open(new)?);
    let (before, after) = (entries(&old), entries(&new));
    let stored_len = |key: &str| after.get(key).or(before.get(key)).map_or(0, |entry| entry.stored_len);
    let changes = new.changes_since(&old);
    let changes: Vec<(&str, Change, u64)> =
        changes.iter().map(|(key, change)| (key.as_str(), *change, stored_len(key))).collect();
    let known = blocks(&old);
    let patch_len: u64 = blocks(&new).difference(&known).map(|(_, len)| u64::from(*len)).sum();
    let mut out = reporter.out();
    if reporter.json {
        let change = |(key, change, bytes): &(&str, Change, u64)| {
            Json::object([
                ("key", (*key).into()),
                ("change", change.name().into()),
                ("bytes", (*bytes).into()),
            ])
        };
        let list = Json::list(changes.iter().map(change));
        out.line(&Json::object([("changes", list), ("patch", patch_len.into())]).to_string());
    } else {
        for (key, change, bytes) in &changes {
            out.line(&format!(
                "{:<8} {:>10}  {}",
                change.name(),
                render::size(*bytes),
                render::printable(key)
            ));
        }
        let count = render::count(changes.len(), "key differs", "keys differ");
        out.line(&format!(
            "{count}; a patch contains {} of {}",
            render::size(patch_len),
            render::size(new.file_len())
        ));
    }
    Ok(if changes.is_empty() { OK } else { FAILED })
}

fn entries(pak: &PakBuf) -> BTreeMap<&str, Entry<'_>> {
    pak.entries().map(|entry| (entry.key, entry)).collect()
}

/// Returns every block of a pak as checksum and stored length.
fn blocks(pak: &PakBuf) -> BTreeSet<(u64, u32)> {
    pak.all_blocks().collect()
}
