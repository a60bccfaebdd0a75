//! Lookups in an index without loading it: the state beside the database is memory-mapped, and a lookup reads a few pages.
//! Opening reads the header and the checksum table, which is 1/4096 of the file.
//!
//! A state that is damaged, of another version or of another database is rejected; a bake rebuilds it.

mod entry;
#[cfg(feature = "bake")]
pub(crate) mod incoming;
mod lookup;
mod names;
mod paths;
mod types;
mod uses;

pub use paths::File;
#[cfg(feature = "bake")]
pub(crate) use uses::NumberedTarget;
pub use uses::{Reference, Use};

use crate::state::pages::Damage;
use crate::state::{EntryRec, FLAG_BITS, FolderRec, Section, State, StateError, SubRec};
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

    /// Verifies the checksums of all pages, so that no lookup finds damage later.
    ///
    /// # Errors
    /// [`IndexError::Unusable`] if a page is damaged.
    pub fn verify(&self) -> Result<()> {
        Ok(self.state.verify_pages()?)
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

    fn sub(&self, rec: &SubRec) -> Result<SubEntry<'_>> {
        let name = self.state.string(rec.name_at, rec.name_len)?;
        Ok(SubEntry { file_id: rec.file_id, class_id: rec.class, name })
    }

    /// Marks the index as up to date: the side index of packages is then refreshed when a query needs it, as after
    /// [`refresh`](crate::bake::refresh).
    #[cfg(feature = "bake")]
    pub fn assume_fresh(self) -> Index {
        Index { is_fresh: true, ..self }
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

pub(crate) fn hint_of(state: &State, rec: &EntryRec) -> std::result::Result<String, Damage> {
    let folder: FolderRec = state.record(Section::Folders, rec.folder)?;
    let path = state.string(folder.path_at, folder.path_len)?;
    let name = file_name_of(state, rec)?;
    let mut hint = String::with_capacity(path.len() + 1 + name.len());
    hint.push_str(path);
    hint.push('/');
    hint.push_str(name);
    Ok(hint)
}

/// Returns the file name of an asset.
fn file_name_of<'a>(state: &'a State, rec: &EntryRec) -> std::result::Result<&'a str, Damage> {
    state.string(rec.file_at, rec.flags >> FLAG_BITS)
}
