//! `pak diff`: which keys changed, and how many bytes of blocks the new file has that the old one has not.

use super::{FAILED, OK, Session, open};
use crate::json::Json;
use crate::render;
use ::pak::{Entry, Pak, PakBuf};
use kiln_kit::Diag;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
    Changed,
}

impl Change {
    fn name(self) -> &'static str {
        ["added", "removed", "changed"][self as usize]
    }
}

pub(super) fn diff(session: &Session, old: &Path, new: &Path) -> Result<u8, Diag> {
    let (old, new) = (open(old)?, open(new)?);
    let (before, after) = (entries(&old), entries(&new));
    let keys: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let mut changes: Vec<(&str, Change, u64)> = Vec::new();
    for key in keys {
        match (before.get(key), after.get(key)) {
            (None, Some(now)) => changes.push((key, Change::Added, now.stored_len)),
            (Some(was), None) => changes.push((key, Change::Removed, was.stored_len)),
            (Some(was), Some(now)) if !same(&old, was, &new, now) => {
                changes.push((key, Change::Changed, now.stored_len));
            }
            _ => {}
        }
    }
    let known = blocks(&old);
    let carried: u64 = blocks(&new).difference(&known).map(|(_, len)| u64::from(*len)).sum();
    let mut out = session.out();
    if session.json {
        let change = |(key, change, bytes): &(&str, Change, u64)| {
            Json::object([
                ("key", (*key).into()),
                ("change", change.name().into()),
                ("bytes", (*bytes).into()),
            ])
        };
        let list = Json::list(changes.iter().map(change));
        out.line(&Json::object([("changes", list), ("patch", carried.into())]).to_string());
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
            "{count}; a patch carries {} of {}",
            render::size(carried),
            render::size(new.file_len())
        ));
    }
    Ok(if changes.is_empty() { OK } else { FAILED })
}

fn entries(pak: &PakBuf) -> BTreeMap<&str, Entry<'_>> {
    pak.entries().map(|entry| (entry.key, entry)).collect()
}

/// Every block of a file, by checksum and length.
fn blocks(pak: &PakBuf) -> BTreeSet<(u64, u32)> {
    pak.all_blocks().collect()
}

/// Whether two assets have the same content; materials by the content of their bitmaps.
fn same(old: &PakBuf, was: &Entry<'_>, new: &PakBuf, now: &Entry<'_>) -> bool {
    if was.kind != now.kind || was.blocks != now.blocks || was.len != now.len {
        return false;
    }
    let (Some(a), Some(b)) = (old.read_material_id(was.id), new.read_material_id(now.id)) else {
        return was.kind != ::pak::Kind::Material;
    };
    if was.kind != ::pak::Kind::Material {
        return true;
    }
    let bitmap = |pak: &PakBuf, id: Option<::pak::BitmapId>| id.map(|id| pak.bitmap_blocks(id));
    let flat = |info: &::pak::MaterialInfo| {
        (info.params_used, info.double_sided, info.alpha_test, info.alpha_cutoff.to_bits())
    };
    flat(&a) == flat(&b)
        && bitmap(old, Some(a.color)) == bitmap(new, Some(b.color))
        && bitmap(old, a.normal) == bitmap(new, b.normal)
        && bitmap(old, a.emissive) == bitmap(new, b.emissive)
        && bitmap(old, a.params) == bitmap(new, b.params)
}
