//! The references of an index as a graph of integers: for each asset the assets that refer to it, in one array. A search
//! through the whole graph of a project reads these two sections and no record of an asset.

use super::{Index, Result};
use crate::state::pages::Damage;
use crate::state::{EntryRec, FolderRec, MAY_BE_ROOT, NONE, OUT_OF_ORDER, ReferredFolderRec, Section};
use std::ops::Range;

/// The assets that refer to each asset.
pub(crate) struct Incoming<'a> {
    /// The first source of each entry, as little-endian numbers.
    firsts: &'a [u8],
    /// The sources, as little-endian numbers.
    sources: &'a [u8],
    entries: u32,
    /// The folders that something refers to, with the entries inside each. By start, those that contain others first.
    ranges: Vec<FolderRange>,
}

/// A range of entries that are inside of a folder that something refers to.
struct FolderRange {
    entries: Range<u32>,
    /// The entry of the folder.
    folder: u32,
    /// The index of the innermost range that contains this one, or [`NONE`].
    parent: u32,
}

impl Index {
    /// Reads the graph of references.
    pub(crate) fn incoming(&self) -> Result<Incoming<'_>> {
        let state = &self.state;
        let entries = state.count::<EntryRec>(Section::Entries) as u32;
        let (firsts, sources) = (state.section(Section::Incoming)?, state.section(Section::Sources)?);
        if firsts.len() as u64 != u64::from(entries) * 4 {
            return Err(OUT_OF_ORDER.into());
        }
        let first_entry = |folder: u32| -> Result<u32> {
            let rec: Option<FolderRec> = state.get(Section::Folders, folder as usize)?;
            Ok(rec.map_or(entries, |rec| rec.first_entry.min(entries)))
        };
        let mut ranges = Vec::new();
        for at in 0..state.count::<ReferredFolderRec>(Section::ReferredFolders) as u32 {
            let rec: ReferredFolderRec = state.record(Section::ReferredFolders, at)?;
            for (first, end) in [(rec.folder, rec.folder.saturating_add(1)), (rec.first_below, rec.end_below)]
            {
                let entries = first_entry(first)?..first_entry(end)?;
                if !entries.is_empty() {
                    ranges.push(FolderRange { entries, folder: rec.entry, parent: NONE });
                }
            }
        }
        ranges.sort_by_key(|range| (range.entries.start, std::cmp::Reverse(range.entries.end), range.folder));
        let mut open: Vec<u32> = Vec::new();
        for at in 0..ranges.len() {
            while open.last().is_some_and(|last| ranges[*last as usize].entries.end < ranges[at].entries.end)
            {
                open.pop();
            }
            ranges[at].parent = open.last().copied().unwrap_or(NONE);
            open.push(at as u32);
        }
        Ok(Incoming { firsts, sources, entries, ranges })
    }

    /// Returns the index of an asset among [`entries`](Self::entries).
    pub(crate) fn position(&self, entry: &super::Entry<'_>) -> u32 {
        entry.at
    }
}

impl Incoming<'_> {
    /// Returns whether an asset may be a root of a build, by its path.
    pub(crate) fn may_be_root(&self, entry: u32) -> bool {
        number(self.firsts, entry).is_some_and(|first| first & MAY_BE_ROOT != 0)
    }

    /// Iterates over the assets that refer to an asset.
    pub(crate) fn sources(&self, entry: u32) -> std::result::Result<impl Iterator<Item = u32>, Damage> {
        let count = (self.sources.len() / 4) as u32;
        let first = number(self.firsts, entry).ok_or(OUT_OF_ORDER)? & !MAY_BE_ROOT;
        let end = number(self.firsts, entry + 1).map_or(count, |end| end & !MAY_BE_ROOT);
        let bytes = self.sources.get(first as usize * 4..end as usize * 4).ok_or(OUT_OF_ORDER)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let entries = self.entries;
        Ok(numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).filter(move |source| *source < entries))
    }

    /// Iterates over the folders that something refers to and that contain an asset, by their entries.
    pub(crate) fn folders_around(&self, entry: u32) -> impl Iterator<Item = u32> {
        let after = self.ranges.partition_point(|range| range.entries.start <= entry);
        let mut next = (after as u32).wrapping_sub(1);
        std::iter::from_fn(move || {
            while let Some(range) = self.ranges.get(next as usize) {
                next = range.parent;
                if range.entries.contains(&entry) {
                    return Some(range.folder);
                }
            }
            None
        })
    }
}

/// Returns a number of an array of little-endian numbers.
fn number(bytes: &[u8], at: u32) -> Option<u32> {
    let at = at as usize * 4;
    bytes.get(at..at + 4).and_then(<[u8]>::first_chunk).map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::write::Writer;
    use crate::state::{Header, Record, SECTIONS, State, mtime_ns};
    use crate::store::{AssetType, cache_path, db_path, output};
    use kiln_engine::publish::Durability;
    use std::fs;

    /// A generator of numbers that are small, near a limit, or anything.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (self.0 >> 32) as u32;
            match number % 8 {
                0..=4 => (number >> 8) % 9,
                5 => MAY_BE_ROOT | ((number >> 8) % 9),
                6 => u32::MAX - (number >> 8) % 3,
                _ => number,
            }
        }
    }

    /// Opens a state with eight entries whose other sections contain random numbers; all checksums are correct.
    fn forged(seed: u64) -> (tempfile::TempDir, Index) {
        const ALL: [Section; SECTIONS] = [
            Section::Folders,
            Section::Children,
            Section::Entries,
            Section::Guids,
            Section::Subs,
            Section::Refs,
            Section::Targets,
            Section::Uses,
            Section::Names,
            Section::Scripts,
            Section::Diags,
            Section::LowerNames,
            Section::LowerNameBlocks,
            Section::Types,
            Section::TypeItems,
            Section::Incoming,
            Section::Sources,
            Section::ReferredFolders,
            Section::Strings,
        ];
        let dir = tempfile::tempdir().unwrap();
        fs::write(db_path(dir.path()), "").unwrap();
        let mut random = Random(seed);
        let mut out = Writer::new(output(dir.path()).unwrap().temporary_file().unwrap());
        for section in ALL {
            out.section(section);
            let numbers = match section {
                Section::Entries => 8 * EntryRec::SIZE / 4,
                Section::Incoming => 8,
                _ => (random.next() % 48) as usize,
            };
            for _ in 0..numbers {
                out.bytes(&random.next().to_le_bytes()).unwrap();
            }
        }
        let db_mtime_ns = mtime_ns(&fs::metadata(db_path(dir.path())).unwrap());
        let written = out.finish(Header { db_mtime_ns, ..Header::default() }).unwrap();
        written.publish(&cache_path(dir.path()), Durability::Verified).unwrap();
        let state = State::open(dir.path()).unwrap();
        let out_dir = dir.path().to_owned();
        (dir, Index { state, out_dir, is_fresh: false })
    }

    /// A crafted state may give any answer or an error, and neither a panic nor an endless loop.
    #[test]
    fn searches_survive_forged_tables() {
        let mut graphs = 0;
        for seed in 0..400 {
            let (_dir, index) = forged(seed);
            if let Ok(incoming) = index.incoming() {
                for entry in 0..8 {
                    graphs += u32::from(incoming.sources(entry).is_ok_and(|sources| sources.count() > 0));
                    assert!(incoming.folders_around(entry).count() <= incoming.ranges.len());
                    let _ = incoming.may_be_root(entry);
                }
            }
            let _ = index.named_like("", |_| true);
            let _ = index.named_like("\0", |_| true);
            let _ = index.lower_names("a", |_, _, _| ());
            for kind in index.types().unwrap().into_iter().chain([AssetType::Native(3)]) {
                if let Ok(objects) = index.of_type(kind) {
                    assert!(objects.take_while(|object| object.is_ok()).count() < 100);
                }
            }
            let _ = index.assets_below("");
            for entry in index.entries() {
                let _ = crate::query::graph::why(&index, index.out_dir.as_path(), entry.unwrap(), false);
            }
        }
        assert!(graphs > 0, "no forged table was accepted");
    }
}
