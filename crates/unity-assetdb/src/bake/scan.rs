//! Walks a project in parallel, folder by folder, and reads what changed since the last bake.
//!
//! A folder whose own stamp is as it was has the same names in it, and is not listed again; every `.meta` and every asset
//! whose bytes matter is stamped all the same, because an edit in place leaves no trace in the folder. Where all stamps
//! are equal, nothing is read and nothing is allocated for the folder.

use super::dir::{Dir, Facts, Kind, Root};
use super::folder::{Asset, Child, Folder, NONE, Sub, Text, Type};
use super::read::{Reader, unreadable};
use crate::documents::Ref;
use crate::state::blocks::Damage;
use crate::state::{
    ChildRec, DiagRec, EntryRec, FolderRec, RefRec, ScriptRec, Section, State, SubRec, TargetRec,
};
use crate::walk::{ROOTS, is_hidden};
use kiln_engine::{Code, Diag};
use std::collections::HashMap;
use std::io;
use std::path::is_separator;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The folder of a project's settings: its files refer to assets, and nothing refers to them.
pub(crate) const SETTINGS: &str = "ProjectSettings";

/// A folder of the project.
pub(crate) enum Scanned {
    /// As it was: its place in the old state.
    Same(u32),
    /// Looked through.
    Fresh(Box<Folder>),
}

/// What a walk found.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) folders: Vec<Scanned>,
    /// How many `.meta` files there are.
    pub(crate) walked: usize,
    /// How many of them were read.
    pub(crate) parsed: usize,
    /// Whether anything means something else than before.
    pub(crate) changed: bool,
    /// Whether stamps changed that were good before.
    pub(crate) restamped: bool,
}

/// A walk.
struct Walk<'a> {
    root: &'a Root,
    old: Option<&'a Old<'a>>,
    now_ns: i64,
    found: Mutex<Vec<Scanned>>,
    readers: Mutex<Vec<Reader>>,
    walked: AtomicUsize,
    parsed: AtomicUsize,
    changed: AtomicBool,
    restamped: AtomicBool,
    progress: &'a (dyn Fn(usize) + Sync),
}

/// The folders above one, by what the system knows them by.
struct Above {
    device: u64,
    inode: u64,
    next: Option<Arc<Above>>,
}

/// The state of the last bake.
pub(crate) struct Old<'a> {
    pub(crate) state: &'a State,
    diags: OnceLock<HashMap<String, Vec<Diag>>>,
}

/// Walks a project.
pub(crate) fn scan(
    root: &Root,
    old: Option<&Old<'_>>,
    now_ns: i64,
    progress: &(dyn Fn(usize) + Sync),
) -> Scan {
    let walk = Walk {
        root,
        old,
        now_ns,
        found: Mutex::default(),
        readers: Mutex::default(),
        walked: AtomicUsize::new(0),
        parsed: AtomicUsize::new(0),
        changed: AtomicBool::new(false),
        restamped: AtomicBool::new(false),
        progress,
    };
    rayon::scope(|scope| {
        for name in ROOTS.into_iter().chain([SETTINGS]) {
            let walk = &walk;
            scope.spawn(move |scope| walk.visit(scope, name.to_owned(), None));
        }
    });
    let folders = walk.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let before = old.map_or(0, |old| old.state.count::<FolderRec>(Section::Folders));
    let same = folders.len() == before;
    Scan {
        changed: walk.changed.into_inner() || !same,
        folders,
        walked: walk.walked.into_inner(),
        parsed: walk.parsed.into_inner(),
        restamped: walk.restamped.into_inner(),
    }
}

impl Walk<'_> {
    fn visit<'s>(&'s self, scope: &rayon::Scope<'s>, path: String, above: Option<Arc<Above>>) {
        let opened = self.root.dir(&path).and_then(|dir| dir.facts().map(|facts| (dir, facts)));
        let (dir, facts) = match opened {
            Ok(opened) => opened,
            // A project without packages is fine; so is a folder that went away while we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.unreadable(path, &error),
        };
        let mut next = &above;
        while let Some(link) = next {
            if (link.device, link.inode) == (facts.device, facts.inode) && facts.inode != 0 {
                return;
            }
            next = &link.next;
        }
        let here = Arc::new(Above { device: facts.device, inode: facts.inode, next: above });
        match self.folder(&dir, &path, facts) {
            Ok((scanned, names)) => {
                for name in names {
                    let (path, here) = (format!("{path}/{name}"), here.clone());
                    scope.spawn(move |scope| self.visit(scope, path, Some(here)));
                }
                let metas = match &scanned {
                    Scanned::Same(at) => self.old.map_or(0, |old| old.metas(*at)),
                    Scanned::Fresh(folder) => {
                        folder.children.iter().filter(|child| child.has(Child::META)).count()
                    }
                };
                let walked = self.walked.fetch_add(metas, Ordering::Relaxed) + metas;
                (self.progress)(walked);
                self.push(scanned);
            }
            Err(error) => self.unreadable(path, &error),
        }
    }

    fn push(&self, scanned: Scanned) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push(scanned);
    }

    fn unreadable(&self, path: String, error: &io::Error) {
        let diag = unreadable(&format!("{path}/"), error);
        let folder = Folder { path, diags: vec![diag], ..Folder::default() };
        let before = self.old.and_then(|old| old.find(&folder.path)).map(|(at, _)| at);
        let same = before.and_then(|at| self.old?.load(at).ok()).is_some_and(|old| old.means(&folder));
        self.changed.fetch_or(!same, Ordering::Relaxed);
        self.push(Scanned::Fresh(Box::new(folder)));
    }

    /// A folder, and the names of those in it.
    fn folder(&self, dir: &Dir, path: &str, facts: Facts) -> io::Result<(Scanned, Vec<String>)> {
        let before = self.old.and_then(|old| old.find(path).map(|(at, rec)| (old, at, rec)));
        let mut listed = None;
        if let Some((old, at, rec)) = &before {
            let known = rec.stamp == facts.identity();
            if !known {
                listed = Some(list(dir, path)?);
            }
            let same_names =
                listed.as_ref().is_none_or(|(names, diags)| diags.is_empty() && old.lists(*at, names));
            if same_names && let Ok(Some(names)) = old.unchanged(dir, *at) {
                // Of the settings, only the files at the top are looked at.
                let names = if path == SETTINGS { Vec::new() } else { names };
                return Ok((Scanned::Same(*at), names));
            }
        }
        let (names, diags) = match listed {
            Some(listed) => listed,
            None => list(dir, path)?,
        };
        let folders = names.iter().filter(|(_, flags)| flags & Child::FOLDER != 0 && path != SETTINGS);
        let inside = folders.map(|(name, _)| name.to_owned()).collect();
        let old = match &before {
            Some((old, at, _)) => old.load(*at).ok(),
            None => None,
        };
        let folder = self.read(dir, path, facts, &names, diags, old.as_ref());
        match old {
            Some(old) if old.means(&folder) => {
                let good = |stamp: u64| stamp != 0;
                let child = |(a, b): (&Child, &Child)| {
                    good(a.meta_stamp) && a.meta_stamp != b.meta_stamp
                        || good(a.asset_stamp) && a.asset_stamp != b.asset_stamp
                };
                let restamped = old.children.iter().zip(&folder.children).any(child);
                self.restamped.fetch_or(restamped, Ordering::Relaxed);
            }
            _ => self.changed.store(true, Ordering::Relaxed),
        }
        Ok((Scanned::Fresh(Box::new(folder)), inside))
    }

    fn read(
        &self,
        dir: &Dir,
        path: &str,
        facts: Facts,
        names: &Names,
        diags: Vec<Diag>,
        old: Option<&Folder>,
    ) -> Folder {
        let mut reader =
            self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        reader.now_ns = self.now_ns;
        let mut folder = std::mem::take(&mut reader.folder);
        (folder.path, folder.stamp, folder.diags) = (path.to_owned(), facts.stamp(self.now_ns), diags);
        for (name, flags) in names.iter() {
            let text = folder.text(name);
            let child = folder.children.len();
            folder.children.push(Child { name: text, flags, asset: NONE, ..Child::default() });
            let there = flags & (Child::FILE | Child::FOLDER) != 0;
            if path == SETTINGS {
                if flags & Child::FILE != 0 && name.ends_with(".asset") && !kept(dir, &mut folder, child, old)
                {
                    reader.settings(dir, &mut folder, child);
                }
            } else if there && flags & Child::META != 0 && !kept(dir, &mut folder, child, old) {
                self.parsed.fetch_add(1, Ordering::Relaxed);
                reader.asset(dir, &mut folder, child);
            }
        }
        let finished = folder.finish();
        reader.folder = folder;
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        finished
    }
}

/// Takes over what the last bake knew of a child whose files are as they were.
fn kept(dir: &Dir, folder: &mut Folder, child: usize, old: Option<&Folder>) -> bool {
    let Some(old) = old else { return false };
    let name = folder.name(child).to_owned();
    let Ok(at) = old.children.binary_search_by(|known| old.get(known.name).cmp(&name)) else { return false };
    let known = old.children[at];
    let is =
        |name: &str, stamp: u64| stamp != 0 && dir.stat(name).is_ok_and(|facts| facts.identity() == stamp);
    let same = known.flags & Child::LISTED == folder.children[child].flags & Child::LISTED
        && (!known.has(Child::META) || is(&format!("{name}.meta"), known.meta_stamp))
        && (!known.has(Child::STAMPED) || is(&name, known.asset_stamp));
    if !same {
        return false;
    }
    let text = folder.children[child].name;
    folder.children[child] = Child { name: text, asset: NONE, ..known };
    let (hint, meta) = (folder.hint(child), format!("{}.meta", folder.hint(child)));
    let is_about = |diag: &&Diag| diag.path.as_ref().is_some_and(|path| *path == hint || *path == meta);
    folder.diags.extend(old.diags.iter().filter(is_about).cloned());
    if known.asset != NONE {
        let asset = known.asset as usize;
        folder.children[child].asset = folder.assets.len() as u32;
        for sub in old.subs_of(asset) {
            let name = folder.text(old.get(sub.name));
            folder.subs.push(Sub { name, ..*sub });
        }
        folder.refs.extend_from_slice(old.refs_of(asset));
        let (subs_end, refs_end) = (folder.subs.len() as u32, folder.refs.len() as u32);
        folder.assets.push(Asset { child: child as u32, subs_end, refs_end, ..old.assets[asset] });
    }
    true
}

/// Names with the flags of [`Child`] that a listing tells.
struct Names {
    texts: String,
    list: Vec<(Text, u16)>,
}

impl Names {
    fn push(&mut self, name: &str, flags: u16) {
        self.list.push((Text { at: self.texts.len() as u32, len: name.len() as u32 }, flags));
        self.texts.push_str(name);
    }

    fn iter(&self) -> impl Iterator<Item = (&str, u16)> {
        self.list.iter().map(|(text, flags)| (text.of(&self.texts), *flags))
    }

    /// Each name once, with all its flags, in order.
    fn sort(&mut self) {
        let Names { texts, list } = self;
        let bytes = |text: Text| &texts.as_bytes()[text.at as usize..][..text.len as usize];
        list.sort_unstable_by(|a, b| bytes(a.0).cmp(bytes(b.0)));
        list.dedup_by(|next, kept| {
            let same = bytes(next.0) == bytes(kept.0);
            if same {
                kept.1 |= next.1;
            }
            same
        });
    }
}

/// The names in a directory with what they are, sorted, each `.meta` with what it is about.
fn list(dir: &Dir, path: &str) -> io::Result<(Names, Vec<Diag>)> {
    let mut names = Names { texts: String::with_capacity(1 << 10), list: Vec::with_capacity(64) };
    let mut diags = Vec::new();
    dir.list(|bytes, kind| {
        let Ok(name) = std::str::from_utf8(bytes) else {
            let name = String::from_utf8_lossy(bytes);
            let diag = Diag::new(Code::UnityNameNotUtf8, "the name is not UTF-8 and was passed over")
                .path(format!("{path}/{name}"))
                .hint("rename the file");
            return diags.push(diag);
        };
        let (name, is_meta) = match name.strip_suffix(".meta") {
            Some(about) => (about, true),
            None => (name, false),
        };
        if name.is_empty() || is_hidden(name) {
            return;
        }
        let (kind, link) = match kind {
            Kind::Link => {
                let full = if is_meta { format!("{name}.meta") } else { name.to_owned() };
                match dir.stat(&full) {
                    Ok(facts) => (facts.kind, true),
                    Err(_) => return,
                }
            }
            kind => (kind, false),
        };
        let flags = match (is_meta, kind) {
            (true, Kind::File) if link => Child::META | Child::META_LINK,
            (true, Kind::File) => Child::META,
            (false, Kind::File) if link => Child::FILE | Child::LINK,
            (false, Kind::File) => Child::FILE,
            (false, Kind::Folder) if link => Child::FOLDER | Child::LINK,
            (false, Kind::Folder) => Child::FOLDER,
            _ => return,
        };
        names.push(name, flags);
    })?;
    names.sort();
    diags.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((names, diags))
}

impl<'a> Old<'a> {
    pub(crate) fn new(state: &'a State) -> Old<'a> {
        Old { state, diags: OnceLock::new() }
    }

    /// The folder with this path.
    fn find(&self, path: &str) -> Option<(u32, FolderRec)> {
        let (mut low, mut high) = (0, self.state.count::<FolderRec>(Section::Folders));
        while low < high {
            let middle = low + (high - low) / 2;
            let rec: FolderRec = self.state.get(Section::Folders, middle).ok()??;
            match self.state.text(rec.path_at, rec.path_len).ok()?.cmp(path) {
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
        Ok(state.children(folder)?.map(move |at| state.must(Section::Children, at)))
    }

    fn metas(&self, folder: u32) -> usize {
        let has_meta = |child: &Result<ChildRec, _>| child.is_ok_and(|child| child.flags & Child::META != 0);
        self.children(folder).map_or(0, |children| children.filter(has_meta).count())
    }

    /// Whether these are the names that the folder had.
    fn lists(&self, folder: u32, names: &Names) -> bool {
        let same = |(child, (name, flags)): (Result<ChildRec, Damage>, (&str, u16))| {
            let Ok(child) = child else { return false };
            child.flags & Child::LISTED == flags
                && self.state.text(child.name_at, child.name_len.into()).is_ok_and(|known| known == name)
        };
        let Ok(children) = self.children(folder) else { return false };
        children.len() == names.list.len() && children.zip(names.iter()).all(same)
    }

    /// The names of the folders inside, if every file that matters is as it was.
    fn unchanged(&self, dir: &Dir, folder: u32) -> Result<Option<Vec<String>>, Damage> {
        let mut folders = Vec::new();
        let mut meta_name = String::new();
        for child in self.children(folder)? {
            let child = child?;
            let has = |flags: u16| child.flags & flags == flags;
            let name = self.state.text(child.name_at, child.name_len.into())?;
            // It is looked for, and gone into: no listing has such names, and they would lead elsewhere.
            if matches!(name, "" | "." | "..") || name.bytes().any(|byte| is_separator(byte.into())) {
                return Err(Damage("of names that lead out of their folder"));
            }
            let is = |name: &str, stamp: u64| {
                stamp != 0 && dir.stat(name).is_ok_and(|facts| facts.identity() == stamp)
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

    /// The folder as the last bake left it.
    pub(crate) fn load(&self, at: u32) -> Result<Folder, Damage> {
        let state = self.state;
        let rec: FolderRec = state.must(Section::Folders, at)?;
        let path = state.text(rec.path_at, rec.path_len)?.to_owned();
        let mut folder = Folder { path, stamp: rec.stamp, ..Folder::default() };
        for (n, child) in self.children(at)?.enumerate() {
            let child = child?;
            let name = folder.text(state.text(child.name_at, child.name_len.into())?);
            let mut asset = NONE;
            if child.entry != NONE {
                asset = folder.assets.len() as u32;
                self.load_asset(&mut folder, (at, n as u32), child.entry)?;
            }
            let ChildRec { flags, meta_stamp, asset_stamp, .. } = child;
            folder.children.push(Child { name, flags, meta_stamp, asset_stamp, asset });
        }
        let diags = self.diags.get_or_init(|| self.all_diags().unwrap_or_default());
        folder.diags = diags.get(&folder.path).cloned().unwrap_or_default();
        Ok(folder)
    }

    /// Adds an asset to its folder, of which `place` is the number, with that of the child in it.
    fn load_asset(&self, folder: &mut Folder, place: (u32, u32), entry: u32) -> Result<(), Damage> {
        let state = self.state;
        let rec: EntryRec = state.must(Section::Entries, entry)?;
        let nameless = rec.guid == 0;
        if (rec.folder, rec.child) != place || nameless != (rec.flags & Asset::SETTINGS != 0) {
            return Err(Damage("of assets that are not where they belong"));
        }
        let kind = match rec.script {
            NONE => Type::Native(rec.class),
            script => Type::Script(state.must::<ScriptRec>(Section::Scripts, script)?.guid),
        };
        for at in state.subs(entry, &rec)? {
            let sub: SubRec = state.must(Section::Subs, at)?;
            let name: Text = folder.text(state.text(sub.raw_at, sub.raw_len)?);
            folder.subs.push(Sub { file_id: sub.file_id, class_id: sub.class, name });
        }
        for at in state.refs(entry, &rec)? {
            let each: RefRec = state.must(Section::Refs, at)?;
            let target: TargetRec = state.must(Section::Targets, each.target)?;
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
            flags: rec.flags,
        });
        Ok(())
    }

    /// Every warning, by the folder that it lies in.
    fn all_diags(&self) -> Result<HashMap<String, Vec<Diag>>, Damage> {
        let mut map: HashMap<String, Vec<Diag>> = HashMap::new();
        // What is about many files is found anew.
        for diag in diags(self.state)?.into_iter().filter(|diag| diag.code != Code::UnityCrlf) {
            let path = diag.path.as_deref().unwrap_or_default();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            map.entry(folder).or_default().push(diag);
        }
        Ok(map)
    }
}

/// The warnings of the last bake.
pub(crate) fn diags(state: &State) -> Result<Vec<Diag>, Damage> {
    (0..state.count::<DiagRec>(Section::Diags) as u32)
        .map(|at| {
            let rec: DiagRec = state.must(Section::Diags, at)?;
            let code =
                state.text(rec.code_at, rec.code_len)?.parse().map_err(|_| Damage("of diagnostic codes"))?;
            let optional =
                |at, len| state.text(at, len).map(|text| (!text.is_empty()).then(|| text.to_owned()));
            let mut diag = Diag::new(code, state.text(rec.message_at, rec.message_len)?);
            diag.path = optional(rec.path_at, rec.path_len)?;
            diag.at = optional(rec.at_at, rec.at_len)?;
            diag.hint = optional(rec.hint_at, rec.hint_len)?;
            Ok(diag)
        })
        .collect()
}
