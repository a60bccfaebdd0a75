//! Walks a project in parallel, folder by folder, and reads the files that changed since the last bake.
//!
//! A folder with an unchanged stamp has the same names and is not listed again; every `.meta` and every asset whose content
//! was read is still compared by its stamp, because an edit in place does not change the folder. Where all stamps are equal,
//! nothing is read and nothing is allocated for the folder.

use super::dir::{Dir, FileStat, Kind, Root};
use super::folder::{Asset, Child, Folder, FolderView, NONE, StringRange, Sub};
use super::folder_batch::FolderBatch;
use super::previous::Previous;
use super::read::{Reader, unreadable};
use crate::state::{FolderRec, Section};
use crate::walk::is_hidden_bytes;
use kiln_engine::{Code, Diag};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of a project's settings: its files refer to assets, and nothing refers to them.
pub(crate) const SETTINGS: &str = "ProjectSettings";

/// The result of a walk.
#[derive(Default)]
pub(crate) struct Scan {
    /// The folders that changed, or whose files were read to compare them.
    pub(crate) fresh: Vec<FolderBatch>,
    /// The unchanged folders: their indices in the previous state.
    pub(crate) same: Vec<u32>,
    /// The number of `.meta` files.
    pub(crate) walked: usize,
    /// The number of `.meta` files that were parsed.
    pub(crate) parsed: usize,
    /// True if the content of a folder differs from the previous state.
    pub(crate) changed: bool,
    /// True if a stamp changed that was not racy.
    pub(crate) restamped: bool,
}

/// The shared state of a parallel walk.
struct Walk<'a> {
    root: &'a Root,
    old: Option<&'a Previous<'a>>,
    now_ns: i64,
    same: Mutex<Vec<u32>>,
    /// One for each thread, so that no thread waits for another, or for its cache lines.
    readers: Vec<Mutex<Reader>>,
    walked: AtomicUsize,
    changed: AtomicBool,
    restamped: AtomicBool,
    progress: &'a (dyn Fn(usize) + Sync),
}

/// The ancestors of a folder by device and inode, to detect cycles of links.
struct Above {
    device: u64,
    inode: u64,
    next: Option<Arc<Above>>,
}

/// Walks a project from the folders `roots`, which are relative to it.
pub(crate) fn scan(
    root: &Root,
    roots: &[String],
    old: Option<&Previous<'_>>,
    now_ns: i64,
    progress: &(dyn Fn(usize) + Sync),
) -> Scan {
    let walk = Walk {
        root,
        old,
        now_ns,
        same: Mutex::default(),
        readers: (0..rayon::current_num_threads()).map(|_| Mutex::default()).collect(),
        walked: AtomicUsize::new(0),
        changed: AtomicBool::new(false),
        restamped: AtomicBool::new(false),
        progress,
    };
    rayon::scope(|scope| {
        for name in roots {
            let walk = &walk;
            scope.spawn(move |scope| walk.visit(scope, name.clone(), None));
        }
    });
    let readers = walk.readers.into_iter();
    let readers: Vec<Reader> =
        readers.map(|reader| reader.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    let parsed = readers.iter().map(|reader| reader.parsed).sum();
    let fresh: Vec<FolderBatch> = readers.into_iter().map(|reader| reader.batch).collect();
    let same = walk.same.into_inner().unwrap_or_else(PoisonError::into_inner);
    let before = old.map_or(0, |old| old.state.count::<FolderRec>(Section::Folders));
    let count = same.len() + fresh.iter().map(FolderBatch::len).sum::<usize>();
    Scan {
        changed: walk.changed.into_inner() || count != before,
        fresh,
        same,
        walked: walk.walked.into_inner(),
        parsed,
        restamped: walk.restamped.into_inner(),
    }
}

impl Walk<'_> {
    fn visit<'s>(&'s self, scope: &rayon::Scope<'s>, path: String, above: Option<Arc<Above>>) {
        let opened = self.root.dir(&path).and_then(|dir| dir.file_stat().map(|file_stat| (dir, file_stat)));
        let (dir, file_stat) = match opened {
            Ok(opened) => opened,
            // `Packages` is optional, and a folder may be removed during the walk.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.unreadable(path, &error),
        };
        let mut next = &above;
        while let Some(link) = next {
            if (link.device, link.inode) == (file_stat.device, file_stat.inode) && file_stat.inode != 0 {
                return;
            }
            next = &link.next;
        }
        let here = Arc::new(Above { device: file_stat.device, inode: file_stat.inode, next: above });
        match self.folder(&dir, &path, file_stat) {
            Ok((metas, names)) => {
                for name in names {
                    let (path, here) = (format!("{path}/{name}"), here.clone());
                    scope.spawn(move |scope| self.visit(scope, path, Some(here)));
                }
                let walked = self.walked.fetch_add(metas, Ordering::Relaxed) + metas;
                (self.progress)(walked);
            }
            Err(error) => self.unreadable(path, &error),
        }
    }

    fn unreadable(&self, path: String, error: &io::Error) {
        let diag = unreadable(&format!("{path}/"), error);
        let mut folder = Folder { path, diags: vec![diag], ..Folder::default() };
        let before = self.old.and_then(|old| old.find(&folder.path)).map(|(at, _)| at);
        let old = before.and_then(|at| self.old?.load(at).ok());
        let same = old.is_some_and(|old| old.view().means(&folder.view()));
        self.changed.fetch_or(!same, Ordering::Relaxed);
        self.with_reader(|reader| reader.batch.push(&mut folder));
    }

    /// Calls a function with the reader of this thread.
    fn with_reader<T>(&self, each: impl FnOnce(&mut Reader) -> T) -> T {
        let reader = &self.readers[rayon::current_thread_index().unwrap_or(0)];
        each(&mut reader.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Compares or reads a folder. Returns the number of its `.meta` files and the names of its subfolders.
    fn folder(&self, dir: &Dir, path: &str, file_stat: FileStat) -> io::Result<(usize, Vec<String>)> {
        let before = self.old.and_then(|old| old.find(path).map(|(at, rec)| (old, at, rec)));
        let mut listed = None;
        if let Some((old, at, rec)) = &before {
            let known = rec.stamp == file_stat.identity();
            if !known {
                listed = Some(list(dir, path)?);
            }
            let same_names =
                listed.as_ref().is_none_or(|(names, diags)| diags.is_empty() && old.lists(*at, names));
            if same_names && let Ok(Some(names)) = old.unchanged(dir, *at) {
                // Subfolders of the settings are not walked.
                let names = if path == SETTINGS { Vec::new() } else { names };
                self.same.lock().unwrap_or_else(PoisonError::into_inner).push(*at);
                return Ok((old.metas(*at), names));
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
        let old = old.as_ref().map(Folder::view);
        let metas = self.with_reader(|reader| {
            let mut folder = std::mem::take(&mut reader.folder);
            folder.path.push_str(path);
            (folder.stamp, folder.diags) = (file_stat.stamp(self.now_ns), diags);
            self.read(reader, dir, &mut folder, &names, old.as_ref());
            self.compare(old.as_ref(), &folder.view());
            let metas = folder.children.iter().filter(|child| child.has(Child::META)).count();
            reader.batch.push(&mut folder);
            reader.folder = folder;
            metas
        });
        Ok((metas, inside))
    }

    /// Records how a folder differs from the previous state.
    fn compare(&self, old: Option<&FolderView<'_>>, folder: &FolderView<'_>) {
        let Some(old) = old.filter(|old| old.means(folder)) else {
            if !self.changed.load(Ordering::Relaxed) {
                self.changed.store(true, Ordering::Relaxed);
            }
            return;
        };
        let good = |stamp: u64| stamp != 0;
        let child = |(a, b): (&Child, &Child)| {
            good(a.meta_stamp) && a.meta_stamp != b.meta_stamp
                || good(a.asset_stamp) && a.asset_stamp != b.asset_stamp
        };
        let restamped = old.children.iter().zip(folder.children).any(child);
        self.restamped.fetch_or(restamped, Ordering::Relaxed);
    }

    /// Reads the children of a folder.
    fn read(
        &self,
        reader: &mut Reader,
        dir: &Dir,
        folder: &mut Folder,
        names: &Names,
        old: Option<&FolderView<'_>>,
    ) {
        reader.now_ns = self.now_ns;
        let is_settings = folder.path == SETTINGS;
        for (name, flags) in names.iter() {
            let text = folder.intern(name);
            let child = folder.children.len();
            folder.children.push(Child { name: text, flags, asset: NONE, ..Child::default() });
            let there = flags & (Child::FILE | Child::FOLDER) != 0;
            if is_settings {
                if flags & Child::FILE != 0 && name.ends_with(".asset") && !kept(dir, folder, child, old) {
                    reader.settings(dir, folder, child);
                }
            } else if there && flags & Child::META != 0 && !kept(dir, folder, child, old) {
                reader.asset(self.root, dir, folder, child);
            }
        }
    }
}

/// Copies a child from the previous state, if its files are unchanged. Returns whether it did.
fn kept(dir: &Dir, folder: &mut Folder, child: usize, old: Option<&FolderView<'_>>) -> bool {
    let Some(old) = old else { return false };
    let name = folder.name(child).to_owned();
    let Ok(at) = old.children.binary_search_by(|known| old.get(known.name).cmp(&name)) else { return false };
    let known = old.children[at];
    let is = |name: &str, stamp: u64| {
        stamp != 0 && dir.stat(name).is_ok_and(|file_stat| file_stat.identity() == stamp)
    };
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
            let name = folder.intern(old.get(sub.name));
            folder.subs.push(Sub { name, ..*sub });
        }
        folder.refs.extend_from_slice(old.refs_of(asset));
        let (subs_end, refs_end) = (folder.subs.len() as u32, folder.refs.len() as u32);
        folder.assets.push(Asset { child: child as u32, subs_end, refs_end, ..old.assets[asset] });
    }
    true
}

/// A directory listing: names with the flags of [`Child`] that follow from them.
pub(super) struct Names {
    strings: String,
    pub(super) list: Vec<(StringRange, u16)>,
}

impl Names {
    fn push(&mut self, name: &str, flags: u16) {
        self.list.push((StringRange { at: self.strings.len() as u32, len: name.len() as u32 }, flags));
        self.strings.push_str(name);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u16)> {
        self.list.iter().map(|(text, flags)| (text.of(&self.strings), *flags))
    }

    /// Sorts the names and merges the flags of equal ones.
    fn sort(&mut self) {
        let Names { strings, list } = self;
        let bytes = |text: StringRange| &strings.as_bytes()[text.at as usize..][..text.len as usize];
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

/// Lists a directory, sorted by name; a `.meta` is a flag of the name that it belongs to.
fn list(dir: &Dir, path: &str) -> io::Result<(Names, Vec<Diag>)> {
    let mut bytes: Vec<u8> = Vec::with_capacity(1 << 10);
    let mut list = Vec::with_capacity(64);
    dir.list(|full, kind| {
        let (name, is_meta) = match full.strip_suffix(b".meta") {
            Some(about) => (about, true),
            None => (full, false),
        };
        if name.is_empty() || is_hidden_bytes(name) {
            return;
        }
        let (kind, link) = match kind {
            Kind::Link => match std::str::from_utf8(full).map(|full| dir.stat(full)) {
                Ok(Ok(file_stat)) => (file_stat.kind, true),
                Ok(Err(_)) => return,
                // Reported below.
                Err(_) => (Kind::File, true),
            },
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
        list.push((StringRange { at: bytes.len() as u32, len: name.len() as u32 }, flags));
        bytes.extend_from_slice(name);
        // Two names that are not UTF-8 must not be UTF-8 together.
        bytes.push(0);
    })?;
    let mut diags = Vec::new();
    // All names are checked at once, and one by one only if one of them is not UTF-8.
    let mut names = match String::from_utf8(bytes) {
        Ok(strings) => Names { strings, list },
        Err(error) => {
            let bytes = error.into_bytes();
            let mut names = Names { strings: String::new(), list: Vec::new() };
            for (text, flags) in list {
                let name = &bytes[text.at as usize..][..text.len as usize];
                match std::str::from_utf8(name) {
                    Ok(name) => names.push(name, flags),
                    Err(_) => diags.push(not_utf8_name(path, name, flags)),
                }
            }
            names
        }
    };
    names.sort();
    diags.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((names, diags))
}

fn not_utf8_name(path: &str, name: &[u8], flags: u16) -> Diag {
    let suffix = if flags & Child::META != 0 { ".meta" } else { "" };
    Diag::new(Code::UnityNameNotUtf8, "the file name is not valid UTF-8; the file was ignored")
        .path(format!("{path}/{}{suffix}", String::from_utf8_lossy(name)))
        .hint("rename the file")
}
