//! Lookups in an index without reading it: the state beside a database is mapped into memory, and only what is asked
//! for is looked at. Opening costs the same for a project of any size.
//!
//! A state that is damaged, of another version or not of the database beside it is refused; [`crate::bake`] makes it
//! anew.

use crate::class_id::{ClassId, canonical_fid, class_name};
use crate::guid::Guid;
use crate::state::blocks::Damage;
use crate::state::{
    ChildRec, EntryRec, FolderRec, GuidRec, IN_META, NONE, NameRec, NoState, RefRec, SUB, ScriptRec, Section,
    State, SubRec, TargetRec, UseRec, child, flags, name_hash,
};
use crate::store::AssetType;
use std::ops::Range;
use std::path::Path;
use std::{fmt, io};

/// Why an index cannot answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum IndexError {
    /// There is none in this directory.
    Missing,
    /// It cannot be used; the text goes on "the index is …".
    Unusable(&'static str),
    /// Database and state are not of one bake.
    Torn,
    /// The system refused.
    Io(io::Error),
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Missing => f.write_str("there is no index yet"),
            IndexError::Unusable(why) => write!(f, "the index is {why}"),
            IndexError::Torn => f.write_str("asset-db.cache.bin is not of this asset-db.bin"),
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

/// What lookups return.
pub type Result<T> = std::result::Result<T, IndexError>;

/// An open index.
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
    state: State,
}

/// An asset of an index.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    index: &'a Index,
    at: u32,
    rec: EntryRec,
}

/// Something inside an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubEntry<'a> {
    /// The number that references carry.
    pub file_id: i64,
    /// Its class.
    pub class_id: u32,
    /// Its name.
    pub name: &'a str,
}

/// A reference from one file to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The GUID that it names.
    pub guid: u128,
    /// The object inside, or 0.
    pub file_id: i64,
    /// The line that it is first on.
    pub line: u32,
    /// Whether that line is in the `.meta` of the file.
    pub in_meta: bool,
    /// How often it occurs.
    pub count: u32,
}

/// What a GUID and a fileID lead to.
#[derive(Clone, Copy, Debug)]
pub enum Resolved<'a> {
    /// The asset itself.
    Asset(Entry<'a>),
    /// Something inside it that the index names.
    Sub(Entry<'a>, SubEntry<'a>),
    /// The asset is there; what is inside it is not in the index, which leaves out the objects of prefabs and scenes.
    Inner(Entry<'a>),
}

impl Index {
    /// Opens the index in an output directory.
    pub fn open(out_dir: &Path) -> Result<Index> {
        match State::look(out_dir) {
            Ok(state) => Ok(Index { state }),
            Err(NoState::Missing) => Err(IndexError::Missing),
            Err(NoState::Unusable(why)) => Err(IndexError::Unusable(why)),
            Err(NoState::OtherDb) => Err(IndexError::Torn),
            Err(NoState::Io(error)) => Err(IndexError::Io(error)),
        }
    }

    /// How many assets it knows, folders and settings among them.
    pub fn len(&self) -> usize {
        self.state.count::<EntryRec>(Section::Entries)
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn entry(&self, at: u32) -> Result<Entry<'_>> {
        Ok(Entry { index: self, at, rec: self.state.must(Section::Entries, at)? })
    }

    /// Every asset in the order of paths, folders and settings among them.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'_>>> {
        (0..self.len() as u32).map(|at| self.entry(at))
    }

    /// The asset with this GUID.
    pub fn find_by_guid(&self, guid: u128) -> Result<Option<Entry<'_>>> {
        let before = |rec: &GuidRec| rec.guid < guid;
        // GUIDs are drawn: how large one is tells where it is, so that few blocks are looked at.
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

    /// The first record for which a test that holds for all before it does not hold.
    fn search<R: crate::state::Record>(
        &self,
        section: Section,
        before: impl Fn(&R) -> bool,
    ) -> Result<Option<(u32, R)>> {
        self.search_in(section, 0, self.state.count::<R>(section), before)
    }

    /// The same where it is known to be at or after `low` and at or before `high`.
    fn search_in<R: crate::state::Record>(
        &self,
        section: Section,
        mut low: usize,
        mut high: usize,
        before: impl Fn(&R) -> bool,
    ) -> Result<Option<(u32, R)>> {
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.state.must(section, middle as u32)?) { low = middle + 1 } else { high = middle }
        }
        Ok(self.state.get(section, low)?.map(|rec| (low as u32, rec)))
    }

    /// The asset at this path, relative to the project.
    pub fn find_by_hint(&self, hint: &str) -> Result<Option<Entry<'_>>> {
        let Some((folder, name)) = hint.rsplit_once('/') else { return Ok(None) };
        let Some(folder) = self.folder(folder)? else { return Ok(None) };
        let Range { start: mut low, end: mut high } = self.state.children(folder)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let child: ChildRec = self.state.must(Section::Children, middle)?;
            match self.state.text(child.name_at, child.name_len.into())?.cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal if child.entry == NONE => return Ok(None),
                std::cmp::Ordering::Equal => return self.entry(child.entry).map(Some),
            }
        }
        Ok(None)
    }

    fn folder(&self, path: &str) -> Result<Option<u32>> {
        let (mut low, mut high) = (0, self.state.count::<FolderRec>(Section::Folders) as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            let rec: FolderRec = self.state.must(Section::Folders, middle)?;
            match self.state.text(rec.path_at, rec.path_len)?.cmp(path) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }

    /// Everything with exactly this name.
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
                    let sub: SubRec = self.state.must(Section::Subs, rec.item & !SUB)?;
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
        let name = self.state.text(rec.name_at, rec.name_len)?;
        Ok(SubEntry { file_id: rec.file_id, class_id: rec.class, name })
    }

    /// What a reference leads to: something inside the asset, or the asset itself where the fileID is its main object's,
    /// the usual one of its class, or none; a texture also answers for the sprite made of it.
    pub fn resolve(&self, guid: u128, file_id: i64) -> Result<Option<Resolved<'_>>> {
        let Some(entry) = self.find_by_guid(guid)? else { return Ok(None) };
        if let Some(sub) = entry.sub(file_id)? {
            return Ok(Some(Resolved::Sub(entry, sub)));
        }
        let itself = entry.answers_to(file_id);
        Ok(Some(if itself { Resolved::Asset(entry) } else { Resolved::Inner(entry) }))
    }

    /// Who refers to a GUID, known or not: each file once for each fileID.
    pub fn uses(&self, guid: u128) -> Result<Vec<(Entry<'_>, Reference)>> {
        let found = self.search::<TargetRec>(Section::Targets, |rec| rec.guid < guid)?;
        let Some((at, target)) = found.filter(|(_, rec)| rec.guid == guid) else { return Ok(Vec::new()) };
        self.state
            .uses(at, &target)?
            .map(|at| {
                let each: UseRec = self.state.must(Section::Uses, at)?;
                let rec: RefRec = self.state.must(Section::Refs, each.reference)?;
                Ok((self.entry(rec.source)?, reference(&rec, guid)))
            })
            .collect()
    }

    /// Every GUID that something refers to, with how many references lead there and whether it is an asset.
    pub fn targets(&self) -> impl Iterator<Item = Result<(u128, u32, Option<Entry<'_>>)>> {
        let count = self.state.count::<TargetRec>(Section::Targets) as u32;
        (0..count).map(move |at| {
            let rec: TargetRec = self.state.must(Section::Targets, at)?;
            let uses = self.state.uses(at, &rec)?;
            let entry = if rec.entry == NONE { None } else { Some(self.entry(rec.entry)?) };
            Ok((rec.guid, uses.end - uses.start, entry))
        })
    }

    /// Every file and folder of the project, with or without `.meta`, in the order of paths.
    pub fn files(&self) -> impl Iterator<Item = Result<File<'_>>> {
        let folders = (0..self.state.count::<FolderRec>(Section::Folders) as u32).map(|at| {
            let rec: FolderRec = self.state.must(Section::Folders, at)?;
            Ok((self.state.text(rec.path_at, rec.path_len)?, self.state.children(at)?))
        });
        folders.flat_map(move |folder: Result<_>| {
            let (path, range, error) = match folder {
                Ok((path, children)) => (path, children, None),
                Err(error) => ("", 0..0, Some(Err(error))),
            };
            let children = range.map(move |at| {
                let child: ChildRec = self.state.must(Section::Children, at)?;
                let has = |flag| child.flags & flag != 0;
                Ok(File {
                    folder: path,
                    name: self.state.text(child.name_at, child.name_len.into())?,
                    has_meta: has(child::META),
                    is_file: has(child::FILE),
                    is_folder: has(child::FOLDER),
                    entry: if child.entry == NONE { None } else { Some(self.entry(child.entry)?) },
                })
            });
            children.chain(error)
        })
    }

    /// What the last bake was told to leave for the next one.
    pub fn note(&self) -> Result<&str> {
        let (at, len) = self.state.head.note;
        Ok(self.state.text(at, len)?)
    }

    /// Whether names were made without the extension step.
    pub fn has_strict_names(&self) -> bool {
        self.state.head.options & crate::state::STRICT_NAMES != 0
    }

    /// The warnings of the bake that made this index.
    #[cfg(feature = "bake")]
    pub fn warnings(&self) -> Result<Vec<kiln_engine::Diag>> {
        Ok(crate::bake::warnings(&self.state)?)
    }
}

/// A name in a folder of the project.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The path of its folder.
    pub folder: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Whether a `.meta` is beside it.
    pub has_meta: bool,
    /// Whether it is a file.
    pub is_file: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// The asset, if its `.meta` could be read.
    pub entry: Option<Entry<'a>>,
}

fn reference(rec: &RefRec, guid: u128) -> Reference {
    let (file_id, line, count) = (rec.file_id, rec.line & !IN_META, rec.count);
    Reference { guid, file_id, line, in_meta: rec.line & IN_META != 0, count }
}

pub(crate) fn hint_of(state: &State, rec: &EntryRec) -> std::result::Result<String, Damage> {
    let folder: FolderRec = state.must(Section::Folders, rec.folder)?;
    let child: ChildRec = state.must(Section::Children, folder.first_child.saturating_add(rec.child))?;
    let path = state.text(folder.path_at, folder.path_len)?;
    Ok(format!("{path}/{}", state.text(child.name_at, child.name_len.into())?))
}

impl<'a> Entry<'a> {
    /// Its GUID; 0 for a file of the project's settings, which has none.
    pub fn guid(&self) -> u128 {
        self.rec.guid
    }

    /// What it is.
    pub fn asset_type(&self) -> AssetType {
        match self.rec.script {
            NONE => AssetType::Native(self.rec.class),
            script => AssetType::Script(script),
        }
    }

    /// The GUID of its script, if it is a ScriptableObject.
    pub fn script(&self) -> Result<Option<u128>> {
        match self.rec.script {
            NONE => Ok(None),
            script => Ok(Some(self.index.state.must::<ScriptRec>(Section::Scripts, script)?.guid)),
        }
    }

    /// Its class, or `Script:` and the GUID of its script.
    pub fn type_name(&self) -> Result<String> {
        Ok(match self.script()? {
            Some(script) => format!("Script:{}", Guid(script)),
            None => class_name(self.rec.class).into_owned(),
        })
    }

    /// Its name.
    pub fn name(&self) -> Result<&'a str> {
        Ok(self.index.state.text(self.rec.name_at, self.rec.name_len)?)
    }

    /// Its path, relative to the project.
    pub fn hint(&self) -> Result<String> {
        Ok(hint_of(&self.index.state, &self.rec)?)
    }

    /// The fileID of the asset itself.
    pub fn main_file_id(&self) -> i64 {
        self.rec.main
    }

    /// Whether it is in `asset-db.bin`, too: files are, folders where something refers to them.
    pub fn is_listed(&self) -> bool {
        self.rec.flags & flags::LISTED != 0
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.rec.flags & flags::FOLDER != 0
    }

    /// Whether it is a file of the project's settings.
    pub fn is_settings(&self) -> bool {
        self.rec.flags & flags::SETTINGS != 0
    }

    /// Whether Git LFS did not fetch its content.
    pub fn is_pointer(&self) -> bool {
        self.rec.flags & flags::POINTER != 0
    }

    /// Whether the names of what is inside belong to it alone.
    pub fn is_scoped(&self) -> bool {
        self.rec.flags & flags::SCOPED != 0
    }

    /// What is inside it, ascending by fileID.
    pub fn subs(&self) -> Result<Vec<SubEntry<'a>>> {
        let state = &self.index.state;
        let subs = state.subs(self.at, &self.rec)?;
        subs.map(|at| self.index.sub(&state.must(Section::Subs, at)?)).collect()
    }

    /// What is inside it under this fileID.
    pub fn sub(&self, file_id: i64) -> Result<Option<SubEntry<'a>>> {
        let Range { start: mut low, end: mut high } = self.index.state.subs(self.at, &self.rec)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let rec: SubRec = self.index.state.must(Section::Subs, middle)?;
            match rec.file_id.cmp(&file_id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.index.sub(&rec).map(Some),
            }
        }
        Ok(None)
    }

    /// Whether a fileID means the asset itself.
    pub fn answers_to(&self, file_id: i64) -> bool {
        let class = self.rec.class;
        let is = |classes: &[ClassId]| classes.iter().any(|each| *each as u32 == class);
        let textures = [ClassId::Texture2D, ClassId::Cubemap, ClassId::Texture2DArray, ClassId::Texture3D];
        let also = match file_id {
            0 => true,
            // Models are referred to as the prefabs that they once were.
            100_100_000 => is(&[ClassId::GameObject, ClassId::Prefab]),
            102_900_000 => is(&[ClassId::SceneAsset, ClassId::DefaultAsset]) || self.is_folder(),
            2_800_000 | 21_300_000 => is(&textures),
            8_900_000 => is(&[ClassId::Cubemap]),
            11_500_000 => is(&[ClassId::MonoScript]),
            // The root of a model and its Transform, by each of the three ways that Unity numbered them.
            100_000
            | 400_000
            | -927_199_367_670_048_503
            | -4_216_859_302_048_453_862
            | 919_132_149_155_446_097
            | -8_679_921_383_154_817_045 => is(&[ClassId::GameObject]),
            _ => false,
        };
        file_id == self.rec.main || file_id == canonical_fid(class) || also
    }

    /// What it refers to.
    pub fn references(&self) -> Result<Vec<Reference>> {
        let state = &self.index.state;
        let refs = state.refs(self.at, &self.rec)?;
        refs.map(|at| {
            let rec: RefRec = state.must(Section::Refs, at)?;
            let target: TargetRec = state.must(Section::Targets, rec.target)?;
            Ok(reference(&rec, target.guid))
        })
        .collect()
    }
}

impl<'a> Resolved<'a> {
    /// The asset.
    pub fn entry(&self) -> Entry<'a> {
        match self {
            Resolved::Asset(entry) | Resolved::Sub(entry, _) | Resolved::Inner(entry) => *entry,
        }
    }

    /// The name of what was found: that of the part where there is one, or else of the asset.
    pub fn name(&self) -> Result<&'a str> {
        match self {
            Resolved::Sub(_, sub) => Ok(sub.name),
            Resolved::Asset(entry) | Resolved::Inner(entry) => entry.name(),
        }
    }
}
