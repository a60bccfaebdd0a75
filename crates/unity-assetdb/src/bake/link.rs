//! Puts the folders of a project together: finds duplicates, interns scripts, resolves names, sorts references, and writes
//! the database and the state that belongs to it.

use super::folder::{Asset, Child, Folder, Type, stem};
use super::name::{Ambiguous, Namer, Place, Renamed};
use crate::state::write::Writer;
use crate::state::{
    ChildRec, DiagRec, EntryRec, FolderRec, Head, NONE, NameRec, RefRec, SUB, ScriptRec, Section, SubRec, TargetRec,
    UseRec, mtime_ns, name_hash,
};
use crate::store::Temporary;
use kiln_format::assetdb::{self, Kind, Part};
use kiln_kit::Diag;
use rayon::slice::ParallelSliceMut;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// How much of the database is kept before it is written.
const BUFFER: usize = 1 << 20;

/// A whole project, ready to be written.
pub(crate) struct Linked {
    folders: Vec<Folder>,
    places: Vec<Place>,
    scripts: Vec<u128>,
    renamed: Vec<Renamed>,
    /// GUIDs that something refers to, with the reference: sorted.
    uses: Vec<(u128, u32)>,
    /// What the sanitizer made of all names.
    pub(crate) sanitized: u64,
}

/// Why there is no database.
pub(crate) enum Refused {
    /// GUIDs that several assets have, with their paths.
    Duplicates(Vec<(u128, Vec<String>)>),
    /// Names that nothing separates.
    Ambiguous(Vec<Ambiguous>),
    /// More than the layout can count.
    TooLarge,
}

/// Rewrites a name, or leaves it.
pub(crate) type Sanitize<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Links folders. `renames` is told of each name that the sanitizer changed: path, whether it is inside an asset, before
/// and after.
pub(crate) fn link(
    mut folders: Vec<Folder>,
    strict: bool,
    sanitize: Option<Sanitize<'_>>,
    renames: &mut dyn FnMut(&str, bool, &str, &str),
) -> Result<Linked, Refused> {
    folders.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let total: usize = folders.iter().map(|folder| folder.assets.len()).sum();
    let texts: usize = folders.iter().map(|folder| folder.texts.len() + folder.path.len()).sum();
    let refs: usize = folders.iter().map(|folder| folder.refs.len()).sum();
    let subs: usize = folders.iter().map(|folder| folder.subs.len()).sum();
    if total.max(refs).max(subs) >= SUB as usize || texts >= (u32::MAX / 2) as usize {
        return Err(Refused::TooLarge);
    }
    let mut places = Vec::with_capacity(total);
    for (n, folder) in folders.iter().enumerate() {
        let place = |(asset, each): (usize, &Asset)| Place { guid: each.guid, folder: n as u32, asset: asset as u32 };
        places.extend(folder.assets.iter().enumerate().map(place));
    }
    places.par_sort_unstable_by_key(|place| (place.guid, place.folder, place.asset));
    duplicates(&folders, &places)?;
    let uses = uses(&folders, &places);
    mark_listed(&mut folders, &places, &uses);
    let mut scripts: Vec<u128> = folders
        .iter()
        .flat_map(|folder| &folder.assets)
        .filter_map(|asset| match asset.kind {
            Type::Script(guid) => Some(guid),
            Type::Native(_) => None,
        })
        .collect();
    scripts.sort_unstable();
    scripts.dedup();
    let mut changed = BTreeMap::new();
    let mut sanitized = 0;
    if let Some(sanitize) = sanitize {
        sanitized = sanitize_all(&folders, &places, sanitize, &mut changed, renames);
    }
    let namer = Namer { folders: &folders, places: &places, scripts: &scripts, sanitized: &changed, strict };
    let renamed = namer.resolve().map_err(Refused::Ambiguous)?;
    Ok(Linked { folders, places, scripts, renamed, uses, sanitized })
}

fn duplicates(folders: &[Folder], places: &[Place]) -> Result<(), Refused> {
    let same = places.chunk_by(|a, b| a.guid == b.guid).filter(|same| same.len() > 1 && same[0].guid != 0);
    let paths = |same: &[Place]| {
        let path = |place: &Place| {
            let folder = &folders[place.folder as usize];
            folder.hint(folder.assets[place.asset as usize].child as usize)
        };
        let mut paths: Vec<String> = same.iter().map(path).collect();
        paths.sort();
        (same[0].guid, paths)
    };
    let found: Vec<_> = same.map(paths).collect();
    if found.is_empty() { Ok(()) } else { Err(Refused::Duplicates(found)) }
}

/// Every reference by the GUID it leads to. References are counted in the order of the entries they come from.
fn uses(folders: &[Folder], places: &[Place]) -> Vec<(u128, u32)> {
    let mut uses = Vec::with_capacity(folders.iter().map(|folder| folder.refs.len()).sum());
    for place in places {
        for each in folders[place.folder as usize].refs_of(place.asset as usize) {
            uses.push((each.guid, uses.len() as u32));
        }
    }
    uses.par_sort_unstable();
    uses
}

/// Files are always in the database, folders where something refers to them.
fn mark_listed(folders: &mut [Folder], places: &[Place], uses: &[(u128, u32)]) {
    let mut targets = uses.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0).peekable();
    for place in places {
        while targets.next_if(|target| *target < place.guid).is_some() {}
        let asset = &mut folders[place.folder as usize].assets[place.asset as usize];
        let used = targets.peek() == Some(&place.guid);
        let listed = asset.flags & Asset::SETTINGS == 0 && (asset.flags & Asset::FOLDER == 0 || used);
        asset.flags = asset.flags & !Asset::LISTED | if listed { Asset::LISTED } else { 0 };
    }
}

/// Asks the sanitizer about every name, in the order of the entries. Returns a number that is the same for the same
/// answers.
fn sanitize_all(
    folders: &[Folder],
    places: &[Place],
    sanitize: Sanitize<'_>,
    changed: &mut BTreeMap<(u32, u32), String>,
    renames: &mut dyn FnMut(&str, bool, &str, &str),
) -> u64 {
    let mut sum = Sum::default();
    for (entry, place) in places.iter().enumerate() {
        let folder = &folders[place.folder as usize];
        let asset = &folder.assets[place.asset as usize];
        if asset.flags & (Asset::FOLDER | Asset::SETTINGS) != 0 {
            continue;
        }
        let name = stem(folder.name(asset.child as usize));
        let subs = folder.subs_of(place.asset as usize).iter().map(|sub| folder.get(sub.name));
        for (sub, name) in [name].into_iter().chain(subs).enumerate() {
            if let Some(new) = sanitize(name).filter(|new| new != name) {
                renames(&folder.hint(asset.child as usize), sub > 0, name, &new);
                sum.add(entry as u32, sub as u32, &new);
                changed.insert((entry as u32, sub as u32), new);
            }
        }
    }
    sum.done()
}

/// The answers of a sanitizer in one number.
#[derive(Default)]
pub(crate) struct Sum(u64);

impl Sum {
    pub(crate) fn add(&mut self, entry: u32, sub: u32, name: &str) {
        let place = u64::from(entry) << 32 | u64::from(sub);
        self.0 = (self.0 ^ place).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31) ^ name_hash(name);
    }

    pub(crate) fn done(&self) -> u64 {
        self.0 | 1
    }
}

/// A database that waits for its name.
pub(crate) struct Written {
    pub(crate) db: Temporary,
    pub(crate) head: Head,
}

impl Linked {
    /// How many assets are in the database.
    pub(crate) fn listed(&self) -> usize {
        let listed = |asset: &&Asset| asset.flags & Asset::LISTED != 0;
        self.folders.iter().flat_map(|folder| &folder.assets).filter(listed).count()
    }

    /// Each name that differs from the file's: path, GUID, whether it is inside an asset, before and after.
    pub(crate) fn renames(&self, mut each: impl FnMut(u128, bool, &str, &str)) {
        for renamed in &self.renamed {
            let place = self.places[renamed.entry as usize];
            let folder = &self.folders[place.folder as usize];
            let asset = &folder.assets[place.asset as usize];
            let before = match renamed.sub {
                0 => stem(folder.name(asset.child as usize)),
                sub => folder.get(folder.subs_of(place.asset as usize)[sub as usize - 1].name),
            };
            each(place.guid, renamed.sub > 0, before, &renamed.name);
        }
    }

    /// Everything odd, in the order of paths.
    pub(crate) fn diags(&self) -> impl Iterator<Item = &Diag> {
        self.folders.iter().flat_map(|folder| &folder.diags)
    }

    fn script_index(&self, kind: Type) -> u32 {
        match kind {
            Type::Native(_) => NONE,
            Type::Script(guid) => self.scripts.binary_search(&guid).map_or(NONE, |at| at as u32),
        }
    }

    /// Writes the database under a temporary name.
    pub(crate) fn write_db(&self, target: &Path) -> io::Result<Written> {
        let mut file = Temporary::beside(target)?;
        let mut crc = crc32fast::Hasher::new();
        let mut len = 0;
        let mut buffer = Vec::with_capacity(BUFFER * 2);
        assetdb::Writer::new(&mut buffer, &self.scripts, self.listed());
        let mut flush = |buffer: &mut Vec<u8>| {
            crc.update(buffer);
            len += buffer.len() as u64;
            file.write_all(buffer)?;
            buffer.clear();
            io::Result::Ok(())
        };
        let mut renamed = self.renamed.iter().peekable();
        let mut hint = String::new();
        let mut names: Vec<&str> = Vec::new();
        for (entry, place) in self.places.iter().enumerate() {
            let folder = &self.folders[place.folder as usize];
            let asset = &folder.assets[place.asset as usize];
            let file_name = folder.name(asset.child as usize);
            let mut own = if asset.flags & Asset::FOLDER == 0 { stem(file_name) } else { file_name };
            let subs = folder.subs_of(place.asset as usize);
            names.clear();
            names.extend(subs.iter().map(|sub| folder.get(sub.name)));
            while let Some(each) = renamed.next_if(|each| each.entry as usize == entry) {
                match each.sub {
                    0 => own = &each.name,
                    sub => names[sub as usize - 1] = &each.name,
                }
            }
            if asset.flags & Asset::LISTED == 0 {
                continue;
            }
            hint.clear();
            hint.push_str(&folder.path);
            hint.push('/');
            hint.push_str(file_name);
            let kind = match asset.kind {
                Type::Native(class) => Kind::Native(class),
                Type::Script(_) => Kind::Script(self.script_index(asset.kind)),
            };
            let parts = subs.iter().zip(&names).map(|(sub, name)| Part { file_id: sub.file_id, class_id: sub.class_id, name });
            assetdb::Writer::resume(&mut buffer).row(asset.guid, kind, own, &hint, parts);
            if buffer.len() >= BUFFER {
                flush(&mut buffer)?;
            }
        }
        flush(&mut buffer)?;
        let head = Head {
            db_len: len,
            db_crc: crc.finalize(),
            db_mtime_ns: mtime_ns(&file.file().metadata()?),
            ..Head::default()
        };
        Ok(Written { db: file, head })
    }

    /// Writes the state under a temporary name.
    pub(crate) fn write_state(&self, target: &Path, head: Head, note: &str) -> io::Result<Temporary> {
        let mut out = Writer::new(Temporary::beside(target)?);
        let mut entry_of: Vec<u32> = vec![NONE; self.places.len()];
        let mut base = Vec::with_capacity(self.folders.len());
        let (mut assets, mut at) = (0u32, 0u32);
        // Where the texts of each folder start: its path, then its buffer. Names that were made up come after all.
        for folder in &self.folders {
            base.push((assets, at));
            assets += folder.assets.len() as u32;
            at += (folder.path.len() + folder.texts.len()) as u32;
        }
        let mut extra = Extra { start: at, texts: String::new() };
        for (entry, place) in self.places.iter().enumerate() {
            entry_of[(base[place.folder as usize].0 + place.asset) as usize] = entry as u32;
        }
        out.section(Section::Folders);
        let mut first_child = 0;
        for (folder, (_, at)) in self.folders.iter().zip(&base) {
            let (path_at, path_len) = (*at, folder.path.len() as u32);
            let children = folder.children.len() as u32;
            out.put(&FolderRec { path_at, path_len, stamp: folder.stamp, first_child, children })?;
            first_child += children;
        }
        out.section(Section::Children);
        for (folder, (first, at)) in self.folders.iter().zip(&base) {
            let texts = at + folder.path.len() as u32;
            for child in &folder.children {
                let entry = entry_of.get(first.wrapping_add(child.asset) as usize).filter(|_| child.asset != NONE);
                let Child { name, flags, meta_stamp, asset_stamp, .. } = *child;
                let entry = entry.copied().unwrap_or(NONE);
                let (name_at, name_len) = (texts + name.at, u16::try_from(name.len).unwrap_or(u16::MAX));
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
            let mut put = |text: &str| extra.put(text);
            let (code_at, code_len) = put(&diag.code);
            let (path_at, path_len) = put(&diag.path);
            let (at_at, at_len) = put(&diag.at);
            let (message_at, message_len) = put(&diag.message);
            let (hint_at, hint_len) = put(&diag.hint);
            out.put(&DiagRec {
                code_at, code_len, path_at, path_len, at_at, at_len, message_at, message_len, hint_at, hint_len,
            })?;
        }
        let note = extra.put(note);
        out.section(Section::Texts);
        for folder in &self.folders {
            out.bytes(folder.path.as_bytes())?;
            out.bytes(folder.texts.as_bytes())?;
        }
        out.bytes(extra.texts.as_bytes())?;
        out.finish(Head { sanitized: self.sanitized, note, ..head })
    }

    fn put_entries(&self, out: &mut Writer, base: &[(u32, u32)], extra: &mut Extra) -> io::Result<()> {
        let mut names = Vec::with_capacity(self.places.len());
        let mut subs_out = Vec::new();
        out.section(Section::Entries);
        let mut renamed = self.renamed.iter().peekable();
        let (mut first_sub, mut first_ref) = (0u32, 0u32);
        for (entry, place) in self.places.iter().enumerate() {
            let folder = &self.folders[place.folder as usize];
            let asset = &folder.assets[place.asset as usize];
            let texts = base[place.folder as usize].1 + folder.path.len() as u32;
            let child = folder.children[asset.child as usize];
            let file_name = folder.get(child.name);
            let own = if asset.flags & Asset::FOLDER == 0 { stem(file_name) } else { file_name };
            let mut name = (texts + child.name.at, own.len() as u32);
            let mut hash = name_hash(own);
            let subs = folder.subs_of(place.asset as usize);
            let start = subs_out.len();
            for sub in subs {
                let raw = (texts + sub.name.at, sub.name.len);
                subs_out.push(SubRec {
                    file_id: sub.file_id,
                    class: sub.class_id,
                    entry: entry as u32,
                    name_at: raw.0,
                    name_len: raw.1,
                    raw_at: raw.0,
                    raw_len: raw.1,
                });
                names.push(NameRec { hash: name_hash(folder.get(sub.name)), item: SUB | (subs_out.len() - 1) as u32 });
            }
            let first_name = names.len() - subs.len();
            while let Some(each) = renamed.next_if(|each| each.entry as usize == entry) {
                let new = extra.put(&each.name);
                match each.sub.checked_sub(1) {
                    None => (name, hash) = (new, name_hash(&each.name)),
                    Some(sub) => {
                        let rec = &mut subs_out[start + sub as usize];
                        (rec.name_at, rec.name_len) = new;
                        names[first_name + sub as usize].hash = name_hash(&each.name);
                    }
                }
            }
            if asset.flags & Asset::SETTINGS == 0 {
                names.push(NameRec { hash, item: entry as u32 });
            }
            let class = match asset.kind {
                Type::Native(class) => class,
                Type::Script(_) => crate::class_id::ClassId::MonoBehaviour as u32,
            };
            out.put(&EntryRec {
                guid: asset.guid,
                main: asset.main,
                script: self.script_index(asset.kind),
                class,
                folder: place.folder,
                child: asset.child,
                name_at: name.0,
                name_len: name.1,
                first_sub,
                first_ref,
                flags: asset.flags,
                reserved: 0,
            })?;
            first_sub += subs.len() as u32;
            first_ref += folder.refs_of(place.asset as usize).len() as u32;
        }
        out.section(Section::Subs);
        for sub in &subs_out {
            out.put(sub)?;
        }
        drop(subs_out);
        names.par_sort_unstable_by_key(|name| (name.hash, name.item));
        out.section(Section::Names);
        names.iter().try_for_each(|name| out.put(name))
    }

    fn put_refs(&self, out: &mut Writer) -> io::Result<()> {
        let mut target_of = vec![NONE; self.uses.len()];
        let mut targets = Vec::new();
        let mut places = self.places.iter().enumerate().peekable();
        let mut first_use = 0;
        for same in self.uses.chunk_by(|a, b| a.0 == b.0) {
            let guid = same[0].0;
            while places.next_if(|(_, place)| place.guid < guid).is_some() {}
            let entry = places.peek().filter(|(_, place)| place.guid == guid).map_or(NONE, |(at, _)| *at as u32);
            for (_, reference) in same {
                target_of[*reference as usize] = targets.len() as u32;
            }
            targets.push(TargetRec { guid, first_use, entry });
            first_use += same.len() as u32;
        }
        out.section(Section::Refs);
        let mut n = 0;
        for (source, place) in self.places.iter().enumerate() {
            for each in self.folders[place.folder as usize].refs_of(place.asset as usize) {
                let (file_id, line, count) = (each.file_id, each.line, each.count);
                out.put(&RefRec { file_id, target: target_of[n], line, count, source: source as u32 })?;
                n += 1;
            }
        }
        out.section(Section::Targets);
        for target in &targets {
            out.put(target)?;
        }
        out.section(Section::Uses);
        self.uses.iter().try_for_each(|(_, reference)| out.put(&UseRec { reference: *reference }))
    }
}

/// Texts that stand in no folder.
struct Extra {
    start: u32,
    texts: String,
}

impl Extra {
    fn put(&mut self, text: &str) -> (u32, u32) {
        let at = self.start + self.texts.len() as u32;
        self.texts.push_str(text);
        (at, text.len() as u32)
    }
}
