//! Writes a linked project: the database, and the state that belongs to it.

mod search;

use super::Linked;
use crate::bake::folder::{Asset, Child, Type};
use crate::bake::name::Renamed;
use crate::file_name::stem;
use crate::state::write::Writer;
use crate::state::{
    ChildRec, DiagRec, EntryRec, FLAG_BITS, FolderRec, GuidRec, Header, NONE, NameRec, RefRec, SUB,
    ScriptRec, Section, SubRec, TargetRec, UseRec, mtime_ns, name_hash,
};
use kiln_engine::Real;
use kiln_engine::temporary::TemporaryFile;
use kiln_format::assetdb::{self, RowType, SubAssetRow};
use std::io::{self, Write};

/// The number of rows of the database that are encoded in one batch: the more, the more neighbours in memory are encoded one
/// after the other, and the more memory the batch takes.
const ROWS: usize = 24 << 10;
/// The number of rows whose memory is loaded before the first of them is encoded.
const AHEAD: usize = 64;
/// The number of bytes of the database that are written at once.
const PIECE: usize = 256 << 10;

/// A database under its temporary name.
pub(crate) struct Written {
    pub(crate) db: TemporaryFile,
    pub(crate) header: Header,
}

/// A state whose header is not written yet, because it describes the database.
pub(crate) struct Unfinished {
    out: Writer,
    sanitized: u64,
    note: (u32, u32),
}

impl Unfinished {
    /// Completes the state with the header that describes its database.
    pub(crate) fn finish(self, header: Header) -> io::Result<TemporaryFile> {
        self.out.finish(Header { sanitized: self.sanitized, note: self.note, ..header })
    }
}

impl Linked<'_> {
    /// Writes the database under a temporary name.
    pub(crate) fn write_db(&self, out: &Real) -> io::Result<Written> {
        let file = out.temporary_file()?;
        let mut crc = crc32fast::Hasher::new();
        let mut len = 0;
        let mut put = |bytes: &[u8]| {
            crc.update(bytes);
            len += bytes.len() as u64;
            file.file().write_all(bytes)
        };
        let mut first_renamed = vec![0u32; self.places.len() + 1];
        self.renamed.iter().for_each(|each| first_renamed[each.entry as usize + 1] += 1);
        for at in 1..first_renamed.len() {
            first_renamed[at] += first_renamed[at - 1];
        }
        let mut sorted = Vec::new();
        assetdb::Writer::new(&mut sorted, &self.scripts, self.listed());
        put(&sorted)?;
        // Neighbours by GUID are scattered over memory. Rows are encoded by path, therefore, and then permuted.
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        let mut hint = String::new();
        for order in self.batches_by_path() {
            rows.clear();
            places.clear();
            places.resize(order.len(), 0..0);
            for some in order.chunks(AHEAD) {
                // Loads that do not depend on each other overlap, while one after the other each would wait for memory.
                let touch = |(entry, _): &(u32, u32)| self.touch(*entry);
                std::hint::black_box(some.iter().map(touch).fold(0, |all, byte| all ^ byte));
                for (entry, rank) in some {
                    let start = rows.len();
                    let [first, end] = [first_renamed[*entry as usize], first_renamed[*entry as usize + 1]];
                    self.put_row(*entry, &self.renamed[first as usize..end as usize], &mut hint, &mut rows);
                    places[*rank as usize] = start..rows.len();
                }
            }
            sorted.clear();
            for place in &places {
                sorted.extend_from_slice(&rows[place.clone()]);
                if sorted.len() >= PIECE {
                    put(&sorted)?;
                    sorted.clear();
                }
            }
            put(&sorted)?;
        }
        let header = Header {
            db_len: len,
            db_crc: crc.finalize(),
            db_mtime_ns: mtime_ns(&file.file().metadata()?),
            listed: self.listed() as u32,
            ..Header::default()
        };
        Ok(Written { db: file, header })
    }

    /// Returns the assets in the order of GUIDs, in batches: those of a batch by path, each with its position in the batch.
    fn batches_by_path(&self) -> Vec<Vec<(u32, u32)>> {
        let mut rank = vec![NONE; self.places.len()];
        self.by_guid.iter().zip(0u32..).for_each(|(each, at)| rank[each.entry as usize] = at);
        let mut batches: Vec<Vec<(u32, u32)>> =
            self.by_guid.chunks(ROWS).map(|some| Vec::with_capacity(some.len())).collect();
        for (entry, rank) in (0u32..).zip(rank).filter(|(_, rank)| *rank != NONE) {
            batches[rank as usize / ROWS].push((entry, rank % ROWS as u32));
        }
        batches
    }

    /// Loads the memory that a row is encoded from.
    fn touch(&self, entry: u32) -> u8 {
        let place = self.places[entry as usize];
        let folder = &self.folders[place.folder as usize];
        let asset = &folder.assets[place.asset as usize];
        let name = folder.children[asset.child as usize].name;
        let subs = asset.subs_end.checked_sub(1).and_then(|last| folder.subs.get(last as usize));
        let byte = |at: u32| folder.strings.as_bytes().get(at as usize).copied().unwrap_or_default();
        byte(name.at) ^ subs.map_or(0, |sub| sub.class_id as u8)
    }

    /// Encodes the row of an entry, if it is listed. `renamed` has the names of the entry and its sub-assets that differ from
    /// those of the files.
    fn put_row(&self, entry: u32, renamed: &[Renamed], hint: &mut String, out: &mut Vec<u8>) {
        let place = self.places[entry as usize];
        let folder = &self.folders[place.folder as usize];
        let asset = &folder.assets[place.asset as usize];
        if !self.listed[entry as usize] {
            return;
        }
        let file_name = folder.name(asset.child as usize);
        let new_name = |sub: u32| {
            let at = renamed.binary_search_by_key(&sub, |each| each.sub).ok()?;
            Some(&*renamed[at].name)
        };
        let usual = if asset.flags & Asset::FOLDER == 0 { stem(file_name) } else { file_name };
        let name = new_name(0).unwrap_or(usual);
        hint.clear();
        hint.push_str(folder.path);
        hint.push('/');
        hint.push_str(file_name);
        let kind = match asset.kind {
            Type::Native(class) => RowType::Native(class),
            Type::Script(_) => RowType::Script(self.script_of[entry as usize]),
        };
        let parts = folder.subs_of(place.asset as usize).iter().enumerate().map(|(n, sub)| SubAssetRow {
            file_id: sub.file_id,
            class_id: sub.class_id,
            name: new_name(n as u32 + 1).unwrap_or(folder.get(sub.name)),
        });
        assetdb::Writer::resume(out).row(asset.guid, kind, name, hint, parts);
    }

    /// Writes the state under a temporary name, except for its header.
    pub(crate) fn write_state(&self, out: &Real, note: &str) -> io::Result<Unfinished> {
        let mut out = Writer::new(out.temporary_file()?);
        let mut base = Vec::with_capacity(self.folders.len());
        let (mut assets, mut at) = (0u32, 0u32);
        // The offset of the strings of each folder: its path, then its buffer. Generated names come last.
        for folder in &self.folders {
            base.push((assets, at));
            assets += folder.assets.len() as u32;
            at += (folder.path.len() + folder.strings.len()) as u32;
        }
        let mut extra = ExtraStrings { start: at, strings: String::new() };
        out.section(Section::Folders);
        let mut first_child = 0;
        for (folder, (first_entry, at)) in self.folders.iter().zip(&base) {
            let (path_at, path_len, first_entry) = (*at, folder.path.len() as u32, *first_entry);
            out.put(&FolderRec { path_at, path_len, stamp: folder.stamp, first_child, first_entry })?;
            first_child += folder.children.len() as u32;
        }
        out.section(Section::Children);
        for (folder, (first, at)) in self.folders.iter().zip(&base) {
            let strings = at + folder.path.len() as u32;
            for child in folder.children {
                let Child { name, flags, meta_stamp, asset_stamp, .. } = *child;
                let entry = if child.asset == NONE { NONE } else { first + child.asset };
                let (name_at, name_len) = (strings + name.at, u16::try_from(name.len).unwrap_or(u16::MAX));
                out.put(&ChildRec { name_at, name_len, flags, meta_stamp, asset_stamp, entry })?;
            }
        }
        self.put_entries(&mut out, &base, &mut extra)?;
        self.put_refs(&mut out)?;
        out.section(Section::Scripts);
        for guid in &self.scripts {
            out.put(&ScriptRec { guid: *guid })?;
        }
        out.section(Section::Diags);
        for diag in self.diags() {
            let mut put = |text: Option<&str>| extra.put(text.unwrap_or_default());
            let (code_at, code_len) = put(Some(diag.code.as_str()));
            let (path_at, path_len) = put(diag.path.as_deref());
            let (at_at, at_len) = put(diag.at.as_deref());
            let (message_at, message_len) = put(Some(&diag.message));
            let (hint_at, hint_len) = put(diag.hint.as_deref());
            out.put(&DiagRec {
                code_at,
                code_len,
                path_at,
                path_len,
                at_at,
                at_len,
                message_at,
                message_len,
                hint_at,
                hint_len,
            })?;
        }
        let note = extra.put(note);
        self.put_lower_names(&mut out)?;
        self.put_types(&mut out)?;
        self.put_incoming(&mut out)?;
        out.section(Section::Strings);
        for folder in &self.folders {
            out.bytes(folder.path.as_bytes())?;
            out.bytes(folder.strings.as_bytes())?;
        }
        out.bytes(extra.strings.as_bytes())?;
        Ok(Unfinished { out, sanitized: self.sanitized, note })
    }

    fn put_entries(&self, out: &mut Writer, base: &[(u32, u32)], extra: &mut ExtraStrings) -> io::Result<()> {
        let made: Vec<(u32, u32)> = self.renamed.iter().map(|each| extra.put(&each.name)).collect();
        let subs: usize = self.folders.iter().map(|folder| folder.subs.len()).sum();
        let mut names = Vec::with_capacity(self.places.len() + subs);
        out.section(Section::Entries);
        let (mut first_sub, mut first_ref, mut next) = (0u32, 0u32, 0);
        for (entry, place) in self.places.iter().enumerate() {
            let folder = &self.folders[place.folder as usize];
            let asset = &folder.assets[place.asset as usize];
            let child = folder.children[asset.child as usize];
            let file_name = folder.get(child.name);
            let mut own = if asset.flags & Asset::FOLDER == 0 { stem(file_name) } else { file_name };
            let strings = base[place.folder as usize].1 + folder.path.len() as u32;
            let mut name = (strings + child.name.at, own.len() as u32);
            while let Some(each) = self.renamed.get(next).filter(|each| each.entry as usize == entry) {
                if each.sub == 0 {
                    (name, own) = (made[next], &each.name);
                }
                next += 1;
            }
            if asset.flags & Asset::SETTINGS == 0 {
                names.push(PackedName::new(name_hash(own), entry as u32));
            }
            let class = match asset.kind {
                Type::Native(class) => class,
                Type::Script(_) => crate::class_id::ClassId::MonoBehaviour as u32,
            };
            let listed = if self.listed[entry] { Asset::LISTED } else { 0 };
            let is_shadowed = !self.shadowed.is_empty() && self.shadowed.contains(&(entry as u32));
            out.put(&EntryRec {
                guid: if is_shadowed { 0 } else { asset.guid },
                main: asset.main,
                script: self.script_of[entry],
                class,
                folder: place.folder,
                child: asset.child,
                name_at: name.0,
                name_len: name.1,
                first_sub,
                first_ref,
                flags: asset.flags
                    | listed
                    | u32::from(u16::try_from(file_name.len()).unwrap_or(u16::MAX)) << FLAG_BITS,
                file_at: strings + child.name.at,
            })?;
            first_sub += folder.subs_of(place.asset as usize).len() as u32;
            first_ref += folder.refs_of(place.asset as usize).len() as u32;
        }
        out.section(Section::Guids);
        for each in &self.by_guid {
            out.put(&GuidRec { guid: each.guid(), entry: each.entry })?;
        }
        self.put_subs(out, base, &made, &mut names)?;
        names.sort_unstable_by_key(|name| name.key());
        out.section(Section::Names);
        names.iter().try_for_each(|name| out.put(&NameRec { hash: name.hash(), item: name.item }))
    }

    fn put_subs(
        &self,
        out: &mut Writer,
        base: &[(u32, u32)],
        made: &[(u32, u32)],
        names: &mut Vec<PackedName>,
    ) -> io::Result<()> {
        out.section(Section::Subs);
        let (mut count, mut next) = (0u32, 0);
        for (entry, place) in self.places.iter().enumerate() {
            let folder = &self.folders[place.folder as usize];
            let strings = base[place.folder as usize].1 + folder.path.len() as u32;
            let renamed = |next: usize| self.renamed.get(next).filter(|each| each.entry as usize == entry);
            while renamed(next).is_some_and(|each| each.sub == 0) {
                next += 1;
            }
            for (n, sub) in folder.subs_of(place.asset as usize).iter().enumerate() {
                let raw = (strings + sub.name.at, sub.name.len);
                let (mut name, mut text) = (raw, folder.get(sub.name));
                if let Some(each) = renamed(next).filter(|each| each.sub as usize == n + 1) {
                    (name, text) = (made[next], &each.name);
                    next += 1;
                }
                out.put(&SubRec {
                    file_id: sub.file_id,
                    class: sub.class_id,
                    entry: entry as u32,
                    name_at: name.0,
                    name_len: name.1,
                    raw_at: raw.0,
                    raw_len: raw.1,
                })?;
                names.push(PackedName::new(name_hash(text), SUB | count));
                count += 1;
            }
        }
        Ok(())
    }

    /// Writes all references and their targets.
    fn put_refs(&self, out: &mut Writer) -> io::Result<()> {
        out.section(Section::Refs);
        let mut targets = self.targets.of_ref.iter();
        for (source, place) in self.places.iter().enumerate() {
            for each in self.folders[place.folder as usize].refs_of(place.asset as usize) {
                let (file_id, line, count) = (each.file_id, each.line, each.count);
                let target = targets.next().copied().unwrap_or(NONE);
                out.put(&RefRec { file_id, target, line, count, source: source as u32 })?;
            }
        }
        out.section(Section::Targets);
        let targets = self.targets.guids.iter().zip(&self.targets.first_use).zip(&self.targets.entries);
        for ((guid, first_use), entry) in targets {
            out.put(&TargetRec { guid: *guid, first_use: *first_use, entry: *entry })?;
        }
        out.section(Section::Uses);
        // Sorted here and not before: other steps of a bake need more memory than this one.
        let references = self.targets.order(0..);
        references.into_iter().try_for_each(|reference| out.put(&UseRec { reference }))
    }
}

/// A [`NameRec`] with the alignment of its halves, which takes a quarter less memory.
#[derive(Clone, Copy)]
struct PackedName {
    high: u32,
    low: u32,
    item: u32,
}

impl PackedName {
    fn new(hash: u64, item: u32) -> PackedName {
        PackedName { high: (hash >> 32) as u32, low: hash as u32, item }
    }

    fn hash(self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }

    /// Returns the key to sort by: the hash, then the item. One number is compared faster than three.
    fn key(self) -> u128 {
        u128::from(self.hash()) << 32 | u128::from(self.item)
    }
}

/// Strings that belong to no folder: generated names, diagnostics, the note.
struct ExtraStrings {
    start: u32,
    strings: String,
}

impl ExtraStrings {
    fn put(&mut self, text: &str) -> (u32, u32) {
        let at = self.start + self.strings.len() as u32;
        self.strings.push_str(text);
        (at, text.len() as u32)
    }
}
