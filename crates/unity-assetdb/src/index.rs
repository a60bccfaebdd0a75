//! Lookups in an index without loading it: the state beside the database is memory-mapped, and a lookup reads a few pages.
//! Opening reads the header and the checksum table, which is 1/4096 of the file.
//!
//! A state that is damaged, of another version or of another database is rejected; a bake rebuilds it.

mod entry;
#[cfg(feature = "bake")]
pub(crate) mod incoming;
mod names;
mod types;

use crate::state::pages::Damage;
use crate::state::{
    ChildRec, EntryRec, FLAG_BITS, FolderRec, GuidRec, IN_META, NONE, NameRec, RefRec, SUB, Section, State,
    StateError, SubRec, TargetRec, UseRec, child, name_hash,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The error of opening or querying an index.
#[derive(Debug)]
#[non_exhaustive]
pub enum IndexError {
    /// There is no index in the directory.
    Missing,
    /// The state file cannot be used, for this reason: it is damaged or another version wrote it.
    Unusable(&'static str),
    /// The database and the state are not of the same bake.
    Torn,
    /// The system could not open or map a file.
    Io(io::Error),
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Missing => f.write_str("there is no index yet"),
            IndexError::Unusable(why) => write!(f, "asset-db.cache.bin cannot be used: {why}"),
            IndexError::Torn => f.write_str("asset-db.cache.bin does not belong to this asset-db.bin"),
            IndexError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for IndexError {}

impl From<Damage> for IndexError {
    fn from(Damage(why): Damage) -> IndexError {
        IndexError::Unusable(why)
    }
}

/// The result of a lookup.
pub type Result<T> = std::result::Result<T, IndexError>;

/// An open index: the memory-mapped state of a bake.
///
/// ```
/// # use unity_assetdb::bake::{BakeOptions, bake};
/// use unity_assetdb::index::Index;
/// # let dir = tempfile::tempdir()?;
/// # let project_root = dir.path().to_owned();
/// # std::fs::create_dir_all(project_root.join("Assets"))?;
/// # std::fs::write(project_root.join("Assets/Flag.png"), "")?;
/// # std::fs::write(project_root.join("Assets/Flag.png.meta"), "guid: 8f57b4a070f7b43bbb3925467e6752ab\n")?;
/// # let out_dir = project_root.join("out");
/// # bake(&BakeOptions { project_root, out_dir: out_dir.clone(), name_sanitizer: None, on_warn: None, on_progress: None,
/// #     verbose_timing: false, verbose_collisions: false })?;
/// let index = Index::open(&out_dir)?;
/// let entry = index.find_by_guid(0x8f57b4a070f7b43bbb3925467e6752ab)?.unwrap();
/// assert_eq!(entry.name()?, "Flag");
/// assert_eq!(entry.hint()?, "Assets/Flag.png");
/// assert_eq!(entry.type_name()?, "Texture2D");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Index {
    pub(crate) state: State,
    /// The directory of the index, where queries keep their side index of packages.
    pub(crate) out_dir: PathBuf,
    /// True if the index was brought up to date when it was opened.
    pub(crate) is_fresh: bool,
}

/// An asset of an index, as a view into it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    index: &'a Index,
    at: u32,
    rec: EntryRec,
}

impl PartialEq for Entry<'_> {
    /// Returns whether both are the same asset of the same index.
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at && std::ptr::eq(self.index, other.index)
    }
}

impl Eq for Entry<'_> {}

/// A named object inside an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubEntry<'a> {
    /// The fileID that references use.
    pub file_id: i64,
    /// The class ID of the object.
    pub class_id: u32,
    /// The name of the object.
    pub name: &'a str,
}

/// A reference from one file to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference {
    /// The GUID of the asset that it points to.
    pub guid: u128,
    /// The fileID of the object inside that asset, or 0.
    pub file_id: i64,
    /// The line of its first occurrence, counted from 1.
    pub line: u32,
    /// True if that line is in the `.meta` of the file.
    pub in_meta: bool,
    /// The number of occurrences in the file.
    pub count: u32,
}

/// A reference to an asset, with the asset that it comes from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Use<'a> {
    /// The asset that refers to the other.
    pub source: Entry<'a>,
    /// The asset that is referred to.
    pub target: Entry<'a>,
    /// The reference.
    pub reference: Reference,
}

/// The object that a GUID and a fileID point to.
#[derive(Clone, Copy, Debug)]
pub enum Resolved<'a> {
    /// The main object of the asset.
    Asset(Entry<'a>),
    /// A sub-asset that the index contains.
    Sub(Entry<'a>, SubEntry<'a>),
    /// The asset exists, the object is not in the index: objects of prefabs and scenes are left out.
    Inner(Entry<'a>),
}

impl Index {
    /// Opens the index in an output directory. Waits for a concurrent bake that has published one of its two files.
    ///
    /// # Errors
    /// [`IndexError`] if there is no index, or it cannot be used.
    pub fn open(out_dir: &Path) -> Result<Index> {
        match State::open_shared(out_dir) {
            Ok(state) => Ok(Index { state, out_dir: out_dir.to_owned(), is_fresh: false }),
            Err(StateError::Missing) => Err(IndexError::Missing),
            Err(StateError::Unusable(why)) => Err(IndexError::Unusable(why)),
            Err(StateError::OtherDatabase) => Err(IndexError::Torn),
            Err(StateError::Io(error)) => Err(IndexError::Io(error)),
        }
    }

    /// Returns the number of assets, including folders and settings.
    pub fn len(&self) -> usize {
        self.state.count::<EntryRec>(Section::Entries)
    }

    /// Returns whether the index has no assets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn entry(&self, at: u32) -> Result<Entry<'_>> {
        Ok(Entry { index: self, at, rec: self.state.record(Section::Entries, at)? })
    }

    /// Every asset in the order of paths, folders and settings among them.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'_>>> {
        (0..self.len() as u32).map(|at| self.entry(at))
    }

    /// Iterates over the sub-assets of all assets, in the order of [`entries`](Self::entries), for which `wanted` returns
    /// true.
    pub fn subs_by<'a>(
        &'a self,
        wanted: impl Fn(&SubEntry<'a>) -> bool + 'a,
    ) -> impl Iterator<Item = Result<(Entry<'a>, SubEntry<'a>)>> {
        let found = move |at: u32| -> Result<Option<(Entry<'a>, SubEntry<'a>)>> {
            let rec: SubRec = self.state.record(Section::Subs, at)?;
            let sub = self.sub(&rec)?;
            // The asset is read only where it is asked for: most names do not match.
            if wanted(&sub) { Ok(Some((self.entry(rec.entry)?, sub))) } else { Ok(None) }
        };
        (0..self.state.count::<SubRec>(Section::Subs) as u32).filter_map(move |at| found(at).transpose())
    }

    /// Returns the asset with this GUID.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn find_by_guid(&self, guid: u128) -> Result<Option<Entry<'_>>> {
        let before = |rec: &GuidRec| rec.guid < guid;
        // GUIDs are random, so that interpolation finds the neighbourhood of one and few pages are read.
        let count = self.state.count::<GuidRec>(Section::Guids);
        let guess = (((guid >> 64) * count as u128) >> 64) as usize;
        let reach = 2 * count.isqrt() + 1;
        let (low, high) = (guess.saturating_sub(reach), (guess + reach).min(count));
        let inside = |at: usize| -> Result<bool> {
            Ok(self.state.get(Section::Guids, at)?.is_some_and(|rec| before(&rec)))
        };
        let near = (low == 0 || inside(low)?) && (high == count || !inside(high)?);
        let (low, high) = if near { (low, high) } else { (0, count) };
        match self.search_in(Section::Guids, low, high, before)? {
            Some((_, found)) if found.guid == guid => self.entry(found.entry).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns all assets with this GUID, the one that lookups return first. There are more than one only if assets share the
    /// GUID, which a bake rejects.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn claimants(&self, guid: u128) -> Result<Vec<Entry<'_>>> {
        let Some((first, _)) = self.search::<GuidRec>(Section::Guids, |rec| rec.guid < guid)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for at in first as usize.. {
            match self.state.get::<GuidRec>(Section::Guids, at)? {
                Some(rec) if rec.guid == guid => found.push(self.entry(rec.entry)?),
                _ => break,
            }
        }
        Ok(found)
    }

    /// Returns the GUIDs that several assets share, ascending; empty for the index of a bake that succeeded.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn duplicate_guids(&self) -> Result<Vec<u128>> {
        let mut found = Vec::new();
        if self.state.header.options & crate::state::DUPLICATES == 0 {
            return Ok(found);
        }
        let mut last = 0;
        for at in 0..self.state.count::<GuidRec>(Section::Guids) {
            let rec: GuidRec = self.state.record(Section::Guids, at as u32)?;
            if rec.guid == last && found.last() != Some(&last) {
                found.push(last);
            }
            last = rec.guid;
        }
        Ok(found)
    }

    /// Returns the first record that is not `before` the one searched for, by binary search.
    fn search<R: crate::state::Record>(
        &self,
        section: Section,
        before: impl Fn(&R) -> bool,
    ) -> Result<Option<(u32, R)>> {
        self.search_in(section, 0, self.state.count::<R>(section), before)
    }

    /// Searches between `low` and `high`.
    fn search_in<R: crate::state::Record>(
        &self,
        section: Section,
        mut low: usize,
        mut high: usize,
        before: impl Fn(&R) -> bool,
    ) -> Result<Option<(u32, R)>> {
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.state.record(section, middle as u32)?) { low = middle + 1 } else { high = middle }
        }
        Ok(self.state.get(section, low)?.map(|rec| (low as u32, rec)))
    }

    /// Returns the asset at a path, relative to the project.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn find_by_hint(&self, hint: &str) -> Result<Option<Entry<'_>>> {
        let Some((folder, name)) = hint.rsplit_once('/') else { return Ok(None) };
        let Some(folder) = self.folder(folder)? else { return Ok(None) };
        let Range { start: mut low, end: mut high } = self.state.children(folder)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let child: ChildRec = self.state.record(Section::Children, middle)?;
            match self.state.string(child.name_at, child.name_len.into())?.cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal if child.entry == NONE => return Ok(None),
                std::cmp::Ordering::Equal => return self.entry(child.entry).map(Some),
            }
        }
        Ok(None)
    }

    /// Returns all assets in a folder, at any depth, without the folders among them, in the order of
    /// [`entries`](Self::entries).
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn assets_below(&self, folder: &str) -> Result<Vec<Entry<'_>>> {
        let position = |path: &str| -> Result<usize> {
            let (mut low, mut high) = (0, self.state.count::<FolderRec>(Section::Folders));
            while low < high {
                let middle = low + (high - low) / 2;
                let rec: FolderRec = self.state.record(Section::Folders, middle as u32)?;
                let is_before = self.state.string(rec.path_at, rec.path_len)? < path;
                if is_before { low = middle + 1 } else { high = middle }
            }
            Ok(low)
        };
        let first_entry = |at: usize| -> Result<u32> {
            let rec: Option<FolderRec> = self.state.get(Section::Folders, at)?;
            Ok(rec.map_or(self.len() as u32, |rec| rec.first_entry))
        };
        let own = match self.folder(folder)? {
            Some(at) => first_entry(at as usize)?..first_entry(at as usize + 1)?,
            None => 0..0,
        };
        // All folders below it lie between the slash after its path and the character after the slash.
        let below =
            first_entry(position(&format!("{folder}/"))?)?..first_entry(position(&format!("{folder}0"))?)?;
        let entries = own.chain(below).map(|at| self.entry(at));
        entries.filter(|entry| entry.as_ref().map_or(true, |entry| !entry.is_folder())).collect()
    }

    fn folder(&self, path: &str) -> Result<Option<u32>> {
        let (mut low, mut high) = (0, self.state.count::<FolderRec>(Section::Folders) as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            let rec: FolderRec = self.state.record(Section::Folders, middle)?;
            match self.state.string(rec.path_at, rec.path_len)?.cmp(path) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }

    /// Returns all assets and sub-assets with exactly this name.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn find_by_name(&self, name: &str) -> Result<Vec<Resolved<'_>>> {
        let hash = name_hash(name);
        let mut found = Vec::new();
        let Some((first, _)) = self.search::<NameRec>(Section::Names, |rec| rec.hash < hash)? else {
            return Ok(found);
        };
        for at in first.. {
            let Some(rec) = self.state.get::<NameRec>(Section::Names, at as usize)? else { break };
            if rec.hash != hash {
                break;
            }
            let resolved = match rec.item & SUB {
                0 => Resolved::Asset(self.entry(rec.item)?),
                _ => {
                    let sub: SubRec = self.state.record(Section::Subs, rec.item & !SUB)?;
                    Resolved::Sub(self.entry(sub.entry)?, self.sub(&sub)?)
                }
            };
            if resolved.name()? == name {
                found.push(resolved);
            }
        }
        Ok(found)
    }

    fn sub(&self, rec: &SubRec) -> Result<SubEntry<'_>> {
        let name = self.state.string(rec.name_at, rec.name_len)?;
        Ok(SubEntry { file_id: rec.file_id, class_id: rec.class, name })
    }

    /// Resolves a reference: to a sub-asset, or to the asset itself where the fileID is that of its main object, the
    /// canonical one of its class, or 0; a texture also stands for the sprite made of it.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn resolve(&self, guid: u128, file_id: i64) -> Result<Option<Resolved<'_>>> {
        self.find_by_guid(guid)?.map(|entry| entry.resolve(file_id)).transpose()
    }

    /// Returns the references to a GUID, known or not: each file once for each fileID.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn uses(&self, guid: u128) -> Result<Vec<(Entry<'_>, Reference)>> {
        let found = self.search::<TargetRec>(Section::Targets, |rec| rec.guid < guid)?;
        let Some((at, target)) = found.filter(|(_, rec)| rec.guid == guid) else { return Ok(Vec::new()) };
        self.state
            .uses(at, &target)?
            .map(|at| {
                let each: UseRec = self.state.record(Section::Uses, at)?;
                let rec: RefRec = self.state.record(Section::Refs, each.reference)?;
                Ok((self.entry(rec.source)?, reference(&rec, guid)))
            })
            .collect()
    }

    /// Returns the references to any of these assets, in the order of the [`entries`](Self::entries) that they come from: each
    /// file once for each asset and fileID. Reads the index from front to back, which makes it faster than
    /// [`uses`](Self::uses) for each of many assets.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn uses_of_any<'a>(&'a self, assets: &[Entry<'a>]) -> Result<Vec<Use<'a>>> {
        let mut wanted: Vec<(u128, usize)> = assets.iter().map(Entry::guid).zip(0..).collect();
        wanted.sort_unstable();
        wanted.dedup_by_key(|(guid, _)| *guid);
        let count = self.state.count::<TargetRec>(Section::Targets);
        let mut references = Vec::new();
        let mut low = 0;
        for (guid, asset) in wanted {
            // Both lists ascend: the next one is searched for from here on, in steps that double.
            let mut step = 1;
            while low + step < count
                && self.state.record::<TargetRec>(Section::Targets, (low + step) as u32)?.guid < guid
            {
                low += step;
                step *= 2;
            }
            let high = (low + step + 1).min(count);
            let Some((at, target)) =
                self.search_in(Section::Targets, low, high, |rec: &TargetRec| rec.guid < guid)?
            else {
                break;
            };
            low = at as usize;
            if target.guid == guid {
                for at in self.state.uses(at, &target)? {
                    let each: UseRec = self.state.record(Section::Uses, at)?;
                    references.push((each.reference, asset));
                }
            }
        }
        references.sort_unstable();
        let mut source: Option<Entry<'a>> = None;
        let mut found = Vec::with_capacity(references.len());
        for (at, asset) in references {
            let rec: RefRec = self.state.record(Section::Refs, at)?;
            let source = match source {
                Some(source) if source.at == rec.source => source,
                _ => *source.insert(self.entry(rec.source)?),
            };
            let target = assets[asset];
            found.push(Use { source, target, reference: reference(&rec, target.guid()) });
        }
        Ok(found)
    }

    /// Iterates over all GUIDs that are referred to, with the number of references and the asset, if there is one.
    pub fn targets(&self) -> impl Iterator<Item = Result<(u128, u32, Option<Entry<'_>>)>> {
        let count = self.state.count::<TargetRec>(Section::Targets) as u32;
        (0..count).map(move |at| {
            let rec: TargetRec = self.state.record(Section::Targets, at)?;
            let uses = self.state.uses(at, &rec)?;
            let entry = if rec.entry == NONE { None } else { Some(self.entry(rec.entry)?) };
            Ok((rec.guid, uses.end - uses.start, entry))
        })
    }

    /// Iterates over the paths of all folders that were walked, ascending.
    pub fn folders(&self) -> impl Iterator<Item = Result<&str>> {
        (0..self.state.count::<FolderRec>(Section::Folders) as u32).map(|at| {
            let rec: FolderRec = self.state.record(Section::Folders, at)?;
            Ok(self.state.string(rec.path_at, rec.path_len)?)
        })
    }

    /// Returns whether a file or folder of the project is a symbolic link.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn has_links(&self) -> Result<bool> {
        for at in 0..self.state.count::<ChildRec>(Section::Children) as u32 {
            let child: ChildRec = self.state.record(Section::Children, at)?;
            if child.flags & (child::LINK | child::META_LINK) != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Marks the index as up to date: the side index of packages is then refreshed when a query needs it, as after
    /// [`refresh`](crate::bake::refresh).
    #[cfg(feature = "bake")]
    pub fn assume_fresh(self) -> Index {
        Index { is_fresh: true, ..self }
    }

    /// Iterates over all files and folders of the project, with or without `.meta`, by path.
    pub fn files(&self) -> impl Iterator<Item = Result<File<'_>>> {
        let folders = (0..self.state.count::<FolderRec>(Section::Folders) as u32).map(|at| {
            let rec: FolderRec = self.state.record(Section::Folders, at)?;
            Ok((self.state.string(rec.path_at, rec.path_len)?, self.state.children(at)?))
        });
        folders.flat_map(move |folder: Result<_>| {
            let (path, range, error) = match folder {
                Ok((path, children)) => (path, children, None),
                Err(error) => ("", 0..0, Some(Err(error))),
            };
            let children = range.map(move |at| {
                let child: ChildRec = self.state.record(Section::Children, at)?;
                let has = |flag| child.flags & flag != 0;
                Ok(File {
                    folder: path,
                    name: self.state.string(child.name_at, child.name_len.into())?,
                    has_meta: has(child::META),
                    is_file: has(child::FILE),
                    is_folder: has(child::FOLDER),
                    entry: if child.entry == NONE { None } else { Some(self.entry(child.entry)?) },
                })
            });
            children.chain(error)
        })
    }

    /// Returns the note that the last bake stored for the next one.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    pub fn note(&self) -> Result<&str> {
        let (at, len) = self.state.header.note;
        Ok(self.state.string(at, len)?)
    }

    /// Returns whether names were made unique without extensions (`--strict-names`).
    pub fn has_strict_names(&self) -> bool {
        self.state.header.options & crate::state::STRICT_NAMES != 0
    }

    /// Returns the warnings of the bake that wrote this index.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page that it reads is damaged.
    #[cfg(feature = "bake")]
    pub fn warnings(&self) -> Result<Vec<kiln_engine::Diag>> {
        Ok(crate::bake::warnings(&self.state)?)
    }
}

/// A file or folder of the project.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct File<'a> {
    /// The path of the folder that contains it.
    pub folder: &'a str,
    /// The name of the file or folder.
    pub name: &'a str,
    /// True if there is a `.meta` beside it.
    pub has_meta: bool,
    /// True if there is a file of this name.
    pub is_file: bool,
    /// True if there is a folder of this name.
    pub is_folder: bool,
    /// The asset, if the `.meta` could be read.
    pub entry: Option<Entry<'a>>,
}

fn reference(rec: &RefRec, guid: u128) -> Reference {
    let (file_id, line, count) = (rec.file_id, rec.line & !IN_META, rec.count);
    Reference { guid, file_id, line, in_meta: rec.line & IN_META != 0, count }
}

pub(crate) fn hint_of(state: &State, rec: &EntryRec) -> std::result::Result<String, Damage> {
    let folder: FolderRec = state.record(Section::Folders, rec.folder)?;
    let path = state.string(folder.path_at, folder.path_len)?;
    let name = state.string(rec.file_at, rec.flags >> FLAG_BITS)?;
    let mut hint = String::with_capacity(path.len() + 1 + name.len());
    hint.push_str(path);
    hint.push('/');
    hint.push_str(name);
    Ok(hint)
}
