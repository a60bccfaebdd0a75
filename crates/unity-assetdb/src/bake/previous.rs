//! The state of the last bake, as the next one uses it: compared with the files of the project, and loaded where a folder is
//! unchanged.
//!
//! Pages of the state are verified as they are read. Damage in one is an error of [`Previous::load`]; where folders are
//! compared, it makes a folder count as changed, so that its files are read again.

use super::dir::Dir;
use super::folder::{Asset, Child, Folder, NONE, StringRange, Sub, Type};
use super::scan::Names;
use crate::documents::Ref;
use crate::state::pages::Damage;
use crate::state::{
    ChildRec, DiagRec, EntryRec, FLAG_BITS, FolderRec, Record, RefRec, ScriptRec, Section, State, SubRec,
    TargetRec,
};
use kiln_engine::{Code, Diag};
use std::collections::HashMap;
use std::path::is_separator;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A record of the state costs more memory than its size.
const SHARED_RECORDS: Damage = Damage("its records share strings or other records");

/// The state of the last bake, with the diagnostics by folder.
pub(crate) struct Previous<'a> {
    pub(crate) state: &'a State,
    diags: OnceLock<Result<HashMap<String, Vec<Diag>>, Damage>>,
    /// The number of bytes that were loaded.
    loaded: AtomicU64,
}

impl<'a> Previous<'a> {
    pub(crate) fn new(state: &'a State) -> Previous<'a> {
        Previous { state, diags: OnceLock::new(), loaded: AtomicU64::new(0) }
    }

    /// Counts a record and its string before it is loaded. Every record belongs to one other and every string to one
    /// record, so that a bake loads no more than there is. Checksums reject accidental damage; a file that was crafted with
    /// correct checksums could still refer to one long string a million times, and exhaust the memory with it.
    fn charge<R: Record>(&self, string_len: u32) -> Result<(), Damage> {
        let cost = R::SIZE as u64 + u64::from(string_len);
        if self.loaded.fetch_add(cost, Ordering::Relaxed) + cost > self.state.len() {
            return Err(SHARED_RECORDS);
        }
        Ok(())
    }

    /// Returns the folder with this path.
    pub(super) fn find(&self, path: &str) -> Option<(u32, FolderRec)> {
        let (mut low, mut high) = (0, self.state.count::<FolderRec>(Section::Folders));
        while low < high {
            let middle = low + (high - low) / 2;
            let rec: FolderRec = self.state.get(Section::Folders, middle).ok()??;
            match self.state.string(rec.path_at, rec.path_len).ok()?.cmp(path) {
                std::cmp::Ordering::Equal => return Some((middle as u32, rec)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn children(
        &self,
        folder: u32,
    ) -> Result<impl ExactSizeIterator<Item = Result<ChildRec, Damage>> + use<'a>, Damage> {
        let state = self.state;
        Ok(state.children(folder)?.map(move |at| state.record(Section::Children, at)))
    }

    pub(super) fn metas(&self, folder: u32) -> usize {
        let has_meta = |child: &Result<ChildRec, _>| child.is_ok_and(|child| child.flags & Child::META != 0);
        self.children(folder).map_or(0, |children| children.filter(has_meta).count())
    }

    /// Returns whether the folder had exactly these names.
    pub(super) fn lists(&self, folder: u32, names: &Names) -> bool {
        let same = |(child, (name, flags)): (Result<ChildRec, Damage>, (&str, u16))| {
            let Ok(child) = child else { return false };
            child.flags & Child::LISTED == flags
                && self.state.string(child.name_at, child.name_len.into()).is_ok_and(|known| known == name)
        };
        let Ok(children) = self.children(folder) else { return false };
        children.len() == names.list.len() && children.zip(names.iter()).all(same)
    }

    /// Returns the names of the subfolders, if the stamps of all files are unchanged.
    pub(super) fn unchanged(&self, dir: &Dir, folder: u32) -> Result<Option<Vec<String>>, Damage> {
        let mut folders = Vec::new();
        let mut meta_name = String::new();
        for child in self.children(folder)? {
            let child = child?;
            let has = |flags: u16| child.flags & flags == flags;
            let name = self.state.string(child.name_at, child.name_len.into())?;
            // No listing has such names; opening one would lead out of the folder.
            if matches!(name, "" | "." | "..") || name.bytes().any(|byte| is_separator(byte.into())) {
                return Err(Damage("a file name leads out of its folder"));
            }
            let is = |name: &str, stamp: u64| {
                stamp != 0 && dir.stat(name).is_ok_and(|file_stat| file_stat.identity() == stamp)
            };
            let there = has(Child::FILE) || has(Child::FOLDER);
            if there && has(Child::META) {
                meta_name.clear();
                meta_name.push_str(name);
                meta_name.push_str(".meta");
                if !is(&meta_name, child.meta_stamp) {
                    return Ok(None);
                }
            }
            if has(Child::STAMPED) && !is(name, child.asset_stamp) {
                return Ok(None);
            }
            if has(Child::FOLDER) {
                folders.push(name.to_owned());
            }
        }
        Ok(Some(folders))
    }

    /// Loads a folder as the last bake found it.
    pub(crate) fn load(&self, at: u32) -> Result<Folder, Damage> {
        let mut folder = Folder::default();
        self.load_into(at, &mut folder)?;
        Ok(folder)
    }

    /// Loads a folder into an empty one.
    pub(crate) fn load_into(&self, at: u32, folder: &mut Folder) -> Result<(), Damage> {
        let state = self.state;
        let rec: FolderRec = state.record(Section::Folders, at)?;
        self.charge::<FolderRec>(rec.path_len)?;
        folder.path.push_str(state.string(rec.path_at, rec.path_len)?);
        folder.stamp = rec.stamp;
        for (n, child) in self.children(at)?.enumerate() {
            let child = child?;
            self.charge::<ChildRec>(child.name_len.into())?;
            let name = folder.intern(state.string(child.name_at, child.name_len.into())?);
            let mut asset = NONE;
            if child.entry != NONE {
                asset = folder.assets.len() as u32;
                self.load_asset(folder, (at, n as u32), child.entry)?;
            }
            let ChildRec { flags, meta_stamp, asset_stamp, .. } = child;
            folder.children.push(Child { name, flags, meta_stamp, asset_stamp, asset });
        }
        let diags = self.diags.get_or_init(|| self.all_diags()).as_ref().map_err(|damage| *damage)?;
        folder.diags = diags.get(&folder.path).cloned().unwrap_or_default();
        Ok(())
    }

    /// Loads an asset into its folder. `place` has the index of the folder and that of the child in it.
    fn load_asset(&self, folder: &mut Folder, place: (u32, u32), entry: u32) -> Result<(), Damage> {
        let state = self.state;
        let rec: EntryRec = state.record(Section::Entries, entry)?;
        let nameless = rec.guid == 0;
        if (rec.folder, rec.child) != place || nameless != (rec.flags & Asset::SETTINGS != 0) {
            return Err(Damage("an asset does not belong to its folder"));
        }
        let kind = match rec.script {
            NONE => Type::Native(rec.class),
            script => Type::Script(state.record::<ScriptRec>(Section::Scripts, script)?.guid.into()),
        };
        for at in state.subs(entry, &rec)? {
            let sub: SubRec = state.record(Section::Subs, at)?;
            self.charge::<SubRec>(sub.raw_len)?;
            let name: StringRange = folder.intern(state.string(sub.raw_at, sub.raw_len)?);
            folder.subs.push(Sub { file_id: sub.file_id, class_id: sub.class, name });
        }
        for at in state.refs(entry, &rec)? {
            let each: RefRec = state.record(Section::Refs, at)?;
            self.charge::<RefRec>(0)?;
            let target: TargetRec = state.record(Section::Targets, each.target)?;
            folder.refs.push(Ref {
                guid: target.guid,
                file_id: each.file_id,
                line: each.line,
                count: each.count,
            });
        }
        folder.assets.push(Asset {
            guid: rec.guid,
            kind,
            main: rec.main,
            child: rec.child,
            subs_end: folder.subs.len() as u32,
            refs_end: folder.refs.len() as u32,
            flags: rec.flags & ((1 << FLAG_BITS) - 1) & !Asset::LISTED,
        });
        Ok(())
    }

    /// Returns all warnings by folder.
    fn all_diags(&self) -> Result<HashMap<String, Vec<Diag>>, Damage> {
        let mut map: HashMap<String, Vec<Diag>> = HashMap::new();
        // A project-wide warning is computed from all folders again.
        for diag in diags(self.state)?.into_iter().filter(|diag| diag.code != Code::UnityCrlf) {
            let path = diag.path.as_deref().unwrap_or_default();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            map.entry(folder).or_default().push(diag);
        }
        Ok(map)
    }
}

/// Returns the warnings of the last bake.
pub(crate) fn diags(state: &State) -> Result<Vec<Diag>, Damage> {
    let mut loaded = 0;
    (0..state.count::<DiagRec>(Section::Diags) as u32)
        .map(|at| {
            let rec: DiagRec = state.record(Section::Diags, at)?;
            let lens = [rec.code_len, rec.path_len, rec.at_len, rec.message_len, rec.hint_len];
            loaded += lens.map(u64::from).iter().sum::<u64>();
            if loaded > state.len() {
                return Err(SHARED_RECORDS);
            }
            let code = state.string(rec.code_at, rec.code_len)?;
            let code = code.parse().map_err(|_| Damage("a diagnostic code is unknown"))?;
            let optional =
                |at, len| state.string(at, len).map(|text| (!text.is_empty()).then(|| text.to_owned()));
            let mut diag = Diag::new(code, state.string(rec.message_at, rec.message_len)?);
            diag.path = optional(rec.path_at, rec.path_len)?;
            diag.at = optional(rec.at_at, rec.at_len)?;
            diag.hint = optional(rec.hint_at, rec.hint_len)?;
            Ok(diag)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::write::Writer;
    use crate::state::{Header, mtime_ns};
    use crate::store::{cache_path, db_path, output};
    use kiln_engine::publish::Durability;
    use std::fs;

    /// Loads a state with these folders (the first child of each), entries of the first folder (the first sub-asset of each)
    /// and sub-assets (the length of the name of each), and ten bytes of strings.
    fn load(folders: &[u32], entries: &[u32], subs: &[u32]) -> Result<(), Damage> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(db_path(dir.path()), "").unwrap();
        let mut out = Writer::new(output(dir.path()).unwrap().temporary_file().unwrap());
        out.section(Section::Folders);
        for first_child in folders {
            out.put(&FolderRec { first_child: *first_child, ..FolderRec::default() }).unwrap();
        }
        out.section(Section::Children);
        for entry in 0..entries.len().max(2) {
            let entry = if entry < entries.len() { entry as u32 } else { NONE };
            out.put(&ChildRec { entry, ..ChildRec::default() }).unwrap();
        }
        out.section(Section::Entries);
        for (child, first_sub) in entries.iter().enumerate() {
            let rec = EntryRec { guid: 1, script: NONE, child: child as u32, ..EntryRec::default() };
            out.put(&EntryRec { first_sub: *first_sub, ..rec }).unwrap();
        }
        out.section(Section::Subs);
        for raw_len in subs {
            out.put(&SubRec { raw_len: *raw_len, ..SubRec::default() }).unwrap();
        }
        out.section(Section::Strings);
        out.bytes(b"ten  bytes").unwrap();
        let db_mtime_ns = mtime_ns(&fs::metadata(db_path(dir.path())).unwrap());
        let written = out.finish(Header { db_mtime_ns, ..Header::default() }).unwrap();
        written.publish(&cache_path(dir.path()), Durability::Verified).unwrap();
        let state = State::open(dir.path()).unwrap();
        let previous = Previous::new(&state);
        (0..folders.len() as u32).try_for_each(|folder| previous.load(folder).map(drop))
    }

    /// A crafted state, correct in all its checksums.
    #[test]
    fn rejects_a_state_that_loads_more_than_it_contains() {
        assert_eq!(load(&[0], &[0, 1, 1], &[4, 6]), Ok(()));
        assert_eq!(load(&[0, 2], &[], &[]), Ok(()));
        assert_eq!(load(&[], &[], &[]), Ok(()));
        // One string that every sub-asset refers to.
        assert!(load(&[0], &[0], &[10; 1000]).is_err());
        // Children and sub-assets that belong to several records, or are out of range.
        for bad in [[2, 0, 2], [0, 2, 1], [0, 1, 3], [0, 0, u32::MAX]] {
            assert!(load(&bad, &[], &[]).is_err(), "{bad:?}");
            assert!(load(&[0], &bad, &[1, 1]).is_err(), "{bad:?}");
        }
    }
}
