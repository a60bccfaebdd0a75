//! Puts the folders of a project together: finds duplicates, interns scripts, resolves names, sorts references, and writes
//! the database and the state that belongs to it.

use super::folder::{Asset, Child, Folder, Type, stem};
use super::name::{Ambiguous, Namer, Place, Renamed};
use crate::state::write::Writer;
use crate::state::{
    ChildRec, DiagRec, EntryRec, FolderRec, GuidRec, Head, NONE, NameRec, RefRec, SUB, ScriptRec, Section,
    SubRec, TargetRec, UseRec, mtime_ns, name_hash,
};
use crate::store::Temporary;
use kiln_format::assetdb::{self, Kind, Part};
use kiln_kit::Diag;
use rayon::slice::ParallelSliceMut;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// How many rows of the database are made at once.
const ROWS: usize = 16 << 10;

/// A whole project, ready to be written.
pub(crate) struct Linked {
    folders: Vec<Folder>,
    /// Every asset, in the order of paths: what is near in the project is near in memory.
    places: Vec<Place>,
    /// GUIDs of assets with their places in `places`, ascending. Settings have none.
    by_guid: Vec<(u128, u32)>,
    scripts: Vec<u128>,
    renamed: Vec<Renamed>,
    targets: Targets,
    /// One warning for all files with other line ends than Unity's.
    crlf: Option<Diag>,
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
    folders.par_sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let total: usize = folders.iter().map(|folder| folder.assets.len()).sum();
    let texts: usize = folders.iter().map(|folder| folder.texts.len() + folder.path.len()).sum();
    let refs: usize = folders.iter().map(|folder| folder.refs.len()).sum();
    let subs: usize = folders.iter().map(|folder| folder.subs.len()).sum();
    if total.max(refs).max(subs) >= SUB as usize || texts >= (u32::MAX / 2) as usize {
        return Err(Refused::TooLarge);
    }
    let mut places = Vec::with_capacity(total);
    for (n, folder) in folders.iter().enumerate() {
        places.extend((0..folder.assets.len() as u32).map(|asset| Place { folder: n as u32, asset }));
    }
    let guids = folders.iter().flat_map(|folder| &folder.assets).map(|asset| asset.guid);
    let mut by_guid: Vec<(u128, u32)> = guids.zip(0..).filter(|(guid, _)| *guid != 0).collect();
    by_guid.par_sort_unstable();
    duplicates(&folders, &places, &by_guid)?;
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
    let (renamed, targets) = rayon::join(|| namer.resolve(), || Targets::new(&folders, &by_guid, refs));
    let renamed = renamed.map_err(Refused::Ambiguous)?;
    mark_listed(&mut folders, places.len(), &targets);
    let crlf = crlf(&folders);
    Ok(Linked { folders, places, by_guid, scripts, renamed, targets, crlf, sanitized })
}

fn duplicates(folders: &[Folder], places: &[Place], by_guid: &[(u128, u32)]) -> Result<(), Refused> {
    let same = by_guid.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1);
    let paths = |same: &[(u128, u32)]| {
        let path = |(_, at): &(u128, u32)| {
            let place = &places[*at as usize];
            let folder = &folders[place.folder as usize];
            folder.hint(folder.assets[place.asset as usize].child as usize)
        };
        let mut paths: Vec<String> = same.iter().map(path).collect();
        paths.sort();
        (same[0].0, paths)
    };
    let found: Vec<_> = same.map(paths).collect();
    if found.is_empty() { Ok(()) } else { Err(Refused::Duplicates(found)) }
}

/// Says once how many files end their lines otherwise than Unity does, and which is the first: a project checked out so has
/// nothing else.
fn crlf(folders: &[Folder]) -> Option<Diag> {
    let files = || {
        folders.iter().flat_map(|folder| {
            let children = folder.children.iter().enumerate();
            children.flat_map(move |(at, child)| {
                let (asset, meta) = (child.has(Child::CRLF), child.has(Child::META_CRLF));
                [asset.then_some((folder, at, "")), meta.then_some((folder, at, ".meta"))]
                    .into_iter()
                    .flatten()
            })
        })
    };
    let (folder, child, suffix) = files().next()?;
    let message = match files().count() {
        1 => "the lines of this file end in CR LF".to_owned(),
        count => format!("the lines of {count} files end in CR LF; this is the first"),
    };
    let diag = Diag::warning("unity-crlf", message).path(format!("{}{suffix}", folder.hint(child))).at(1);
    Some(diag.hint("Unity writes LF: tell Git so with `*.meta text eol=lf` and the like in .gitattributes"))
}

/// Files are always in the database, folders where something refers to them.
fn mark_listed(folders: &mut [Folder], count: usize, targets: &Targets) {
    let mut used = vec![false; count];
    targets.entries.iter().filter(|entry| **entry != NONE).for_each(|entry| used[*entry as usize] = true);
    let assets = folders.iter_mut().flat_map(|folder| &mut folder.assets);
    for (asset, used) in assets.zip(used) {
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

/// A state that does not know its database yet.
pub(crate) struct Unfinished {
    out: Writer,
    sanitized: u64,
    note: (u32, u32),
}

impl Unfinished {
    /// Ends the state of the database that this head is about.
    pub(crate) fn finish(self, head: Head) -> io::Result<Temporary> {
        self.out.finish(Head { sanitized: self.sanitized, note: self.note, ..head })
    }
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
            each(asset.guid, renamed.sub > 0, before, &renamed.name);
        }
    }

    /// Everything odd, in the order of paths; at last what is odd about many files at once.
    pub(crate) fn diags(&self) -> impl Iterator<Item = &Diag> {
        self.folders.iter().flat_map(|folder| &folder.diags).chain(&self.crlf)
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
        let mut put = |bytes: &[u8]| {
            crc.update(bytes);
            len += bytes.len() as u64;
            file.write_all(bytes)
        };
        let mut first_renamed = vec![0u32; self.places.len() + 1];
        self.renamed.iter().for_each(|each| first_renamed[each.entry as usize + 1] += 1);
        for at in 1..first_renamed.len() {
            first_renamed[at] += first_renamed[at - 1];
        }
        let mut sorted = Vec::new();
        assetdb::Writer::new(&mut sorted, &self.scripts, self.listed());
        put(&sorted)?;
        // In the order of GUIDs, neighbours are strangers: what one row needs is all over the memory. Rows are made in
        // the order of paths, therefore, and put in theirs when they are whole.
        let (mut rows, mut order, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut hint = String::new();
        for some in self.by_guid.chunks(ROWS) {
            order.clear();
            order.extend(some.iter().zip(0u32..).map(|((_, entry), rank)| (*entry, rank)));
            order.sort_unstable();
            rows.clear();
            places.clear();
            places.resize(some.len(), 0..0);
            for (entry, rank) in &order {
                let start = rows.len();
                let [first, end] = [first_renamed[*entry as usize], first_renamed[*entry as usize + 1]];
                self.put_row(*entry, &self.renamed[first as usize..end as usize], &mut hint, &mut rows);
                places[*rank as usize] = start..rows.len();
            }
            sorted.clear();
            places.iter().for_each(|place| sorted.extend_from_slice(&rows[place.clone()]));
            put(&sorted)?;
        }
        let head = Head {
            db_len: len,
            db_crc: crc.finalize(),
            db_mtime_ns: mtime_ns(&file.file().metadata()?),
            ..Head::default()
        };
        Ok(Written { db: file, head })
    }

    /// The row of an entry, if it has one. `renamed` are the names that differ from the files', of it and its parts.
    fn put_row(&self, entry: u32, renamed: &[Renamed], hint: &mut String, out: &mut Vec<u8>) {
        let place = self.places[entry as usize];
        let folder = &self.folders[place.folder as usize];
        let asset = &folder.assets[place.asset as usize];
        if asset.flags & Asset::LISTED == 0 {
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
        hint.push_str(&folder.path);
        hint.push('/');
        hint.push_str(file_name);
        let kind = match asset.kind {
            Type::Native(class) => Kind::Native(class),
            Type::Script(_) => Kind::Script(self.script_index(asset.kind)),
        };
        let parts = folder.subs_of(place.asset as usize).iter().enumerate().map(|(n, sub)| Part {
            file_id: sub.file_id,
            class_id: sub.class_id,
            name: new_name(n as u32 + 1).unwrap_or(folder.get(sub.name)),
        });
        assetdb::Writer::resume(out).row(asset.guid, kind, name, hint, parts);
    }

    /// Writes the state under a temporary name, all but what it says about the database.
    pub(crate) fn write_state(&self, target: &Path, note: &str) -> io::Result<Unfinished> {
        let mut out = Writer::new(Temporary::beside(target)?);
        let mut base = Vec::with_capacity(self.folders.len());
        let (mut assets, mut at) = (0u32, 0u32);
        // Where the texts of each folder start: its path, then its buffer. Names that were made up come after all.
        for folder in &self.folders {
            base.push((assets, at));
            assets += folder.assets.len() as u32;
            at += (folder.path.len() + folder.texts.len()) as u32;
        }
        let mut extra = Extra { start: at, texts: String::new() };
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
                let Child { name, flags, meta_stamp, asset_stamp, .. } = *child;
                let entry = if child.asset == NONE { NONE } else { first + child.asset };
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
        out.section(Section::Texts);
        for folder in &self.folders {
            out.bytes(folder.path.as_bytes())?;
            out.bytes(folder.texts.as_bytes())?;
        }
        out.bytes(extra.texts.as_bytes())?;
        Ok(Unfinished { out, sanitized: self.sanitized, note })
    }

    fn put_entries(&self, out: &mut Writer, base: &[(u32, u32)], extra: &mut Extra) -> io::Result<()> {
        let made: Vec<(u32, u32)> = self.renamed.iter().map(|each| extra.put(&each.name)).collect();
        let mut names = Vec::with_capacity(self.places.len());
        out.section(Section::Entries);
        let (mut first_sub, mut first_ref, mut next) = (0u32, 0u32, 0);
        for (entry, place) in self.places.iter().enumerate() {
            let folder = &self.folders[place.folder as usize];
            let asset = &folder.assets[place.asset as usize];
            let child = folder.children[asset.child as usize];
            let file_name = folder.get(child.name);
            let mut own = if asset.flags & Asset::FOLDER == 0 { stem(file_name) } else { file_name };
            let texts = base[place.folder as usize].1 + folder.path.len() as u32;
            let mut name = (texts + child.name.at, own.len() as u32);
            while let Some(each) = self.renamed.get(next).filter(|each| each.entry as usize == entry) {
                if each.sub == 0 {
                    (name, own) = (made[next], &each.name);
                }
                next += 1;
            }
            if asset.flags & Asset::SETTINGS == 0 {
                names.push(NameRec { hash: name_hash(own), item: entry as u32 });
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
            first_sub += folder.subs_of(place.asset as usize).len() as u32;
            first_ref += folder.refs_of(place.asset as usize).len() as u32;
        }
        out.section(Section::Guids);
        for (guid, entry) in &self.by_guid {
            out.put(&GuidRec { guid: *guid, entry: *entry })?;
        }
        self.put_subs(out, base, &made, &mut names)?;
        names.par_sort_unstable_by_key(|name| (name.hash, name.item));
        out.section(Section::Names);
        names.iter().try_for_each(|name| out.put(name))
    }

    fn put_subs(
        &self,
        out: &mut Writer,
        base: &[(u32, u32)],
        made: &[(u32, u32)],
        names: &mut Vec<NameRec>,
    ) -> io::Result<()> {
        out.section(Section::Subs);
        let (mut count, mut next) = (0u32, 0);
        for (entry, place) in self.places.iter().enumerate() {
            let folder = &self.folders[place.folder as usize];
            let texts = base[place.folder as usize].1 + folder.path.len() as u32;
            let renamed = |next: usize| self.renamed.get(next).filter(|each| each.entry as usize == entry);
            while renamed(next).is_some_and(|each| each.sub == 0) {
                next += 1;
            }
            for (n, sub) in folder.subs_of(place.asset as usize).iter().enumerate() {
                let raw = (texts + sub.name.at, sub.name.len);
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
                names.push(NameRec { hash: name_hash(text), item: SUB | count });
                count += 1;
            }
        }
        Ok(())
    }

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
        self.targets.uses.iter().try_for_each(|reference| out.put(&UseRec { reference: *reference }))
    }
}

/// What references lead to. References are counted in the order of the entries they come from.
struct Targets {
    /// Every GUID that something refers to, ascending.
    guids: Vec<u128>,
    /// The asset that has it, or [`NONE`].
    entries: Vec<u32>,
    /// Where the uses of each start.
    first_use: Vec<u32>,
    /// References, in the order of what they lead to.
    uses: Vec<u32>,
    /// What each reference leads to.
    of_ref: Vec<u32>,
}

impl Targets {
    fn new(folders: &[Folder], by_guid: &[(u128, u32)], refs: usize) -> Targets {
        let mut known = Known::default();
        let mut of_ref = Vec::with_capacity(refs);
        of_ref.extend(folders.iter().flat_map(|folder| &folder.refs).map(|each| known.number(each.guid)));
        let mut order: Vec<u32> = (0..known.guids.len() as u32).collect();
        order.par_sort_unstable_by_key(|at| known.guids[*at as usize]);
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(n, at)| rank[*at as usize] = n as u32);
        let guids: Vec<u128> = order.iter().map(|at| known.guids[*at as usize]).collect();
        // Count, add up, put in place.
        let mut next = vec![0u32; guids.len() + 1];
        for target in &mut of_ref {
            *target = rank[*target as usize];
            next[*target as usize + 1] += 1;
        }
        for at in 1..next.len() {
            next[at] += next[at - 1];
        }
        let first_use = next[..guids.len()].to_vec();
        let mut uses = vec![0; of_ref.len()];
        for (reference, target) in of_ref.iter().enumerate() {
            let at = &mut next[*target as usize];
            uses[*at as usize] = reference as u32;
            *at += 1;
        }
        let mut assets = by_guid.iter().peekable();
        let entry = |guid: &u128| {
            while assets.next_if(|asset| asset.0 < *guid).is_some() {}
            assets.peek().filter(|asset| asset.0 == *guid).map_or(NONE, |asset| asset.1)
        };
        let entries = guids.iter().map(entry).collect();
        Targets { guids, entries, first_use, uses, of_ref }
    }
}

/// GUIDs by number, in the order in which they were first seen. GUIDs are drawn, so their own bits are a hash.
#[derive(Default)]
struct Known {
    guids: Vec<u128>,
    /// Numbers plus 1; 0 is free.
    slots: Vec<u32>,
}

impl Known {
    fn number(&mut self, guid: u128) -> u32 {
        if self.guids.len() * 2 >= self.slots.len() {
            self.slots = vec![0; (self.guids.len() * 4).next_power_of_two().max(64)];
            for at in 0..self.guids.len() {
                let slot = self.slot(self.guids[at]);
                self.slots[slot] = at as u32 + 1;
            }
        }
        let slot = self.slot(guid);
        match self.slots[slot].checked_sub(1) {
            Some(at) => at,
            None => {
                self.guids.push(guid);
                self.slots[slot] = self.guids.len() as u32;
                self.guids.len() as u32 - 1
            }
        }
    }

    fn slot(&self, guid: u128) -> usize {
        let mask = self.slots.len() - 1;
        let mut at =
            (((guid >> 64) as u64 ^ guid as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.slots[at].checked_sub(1).is_some_and(|known| self.guids[known as usize] != guid) {
            at = (at + 1) & mask;
        }
        at
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
