//! Finds assets by path, and lists the folders and files of a project.

use super::{Entry, Index, Result};
use crate::state::{ChildRec, FolderRec, NONE, Section, child};
use std::ops::Range;

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

impl Index {
    /// Returns the asset at a path, relative to the project.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
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
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
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
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn has_links(&self) -> Result<bool> {
        for at in 0..self.state.count::<ChildRec>(Section::Children) as u32 {
            let child: ChildRec = self.state.record(Section::Children, at)?;
            if child.flags & (child::LINK | child::META_LINK) != 0 {
                return Ok(true);
            }
        }
        Ok(false)
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
}
