//! One folder of a project in memory: its children, its assets, their sub-assets and references.
//!
//! A folder has one buffer of strings and one vector for each list, so that two hundred thousand assets take a few
//! allocations per folder and not several per asset.

use crate::documents::Ref;
use crate::state::{child, flags};
use kiln_engine::Diag;

/// A range of the string buffer of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StringRange {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl StringRange {
    /// Returns the string in a buffer.
    pub(crate) fn of(self, strings: &str) -> &str {
        strings.get(self.at as usize..(self.at + self.len) as usize).unwrap_or_default()
    }
}

/// A folder of the project.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// The path, relative to the project, with `/`.
    pub(crate) path: String,
    /// The stamp of the directory that the children were listed from; 0 if its timestamp was racy.
    pub(crate) stamp: u64,
    pub(crate) strings: String,
    /// The children, sorted by name.
    pub(crate) children: Vec<Child>,
    pub(crate) assets: Vec<Asset>,
    pub(crate) subs: Vec<Sub>,
    pub(crate) refs: Vec<Ref>,
    pub(crate) diags: Vec<Diag>,
}

/// A file or folder in a folder, with or without `.meta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) name: StringRange,
    /// The flags of the child: see the constants of [`Child`].
    pub(crate) flags: u16,
    pub(crate) meta_stamp: u64,
    /// The stamp of the asset, if [`Child::STAMPED`].
    pub(crate) asset_stamp: u64,
    /// The index in [`Folder::assets`], or [`NONE`].
    pub(crate) asset: u32,
}

pub(crate) use crate::state::NONE;

impl Child {
    /// There is a `.meta` for this name.
    pub(crate) const META: u16 = child::META;
    /// There is a file of this name.
    pub(crate) const FILE: u16 = child::FILE;
    /// There is a folder of this name.
    pub(crate) const FOLDER: u16 = child::FOLDER;
    /// The bytes of the asset were read, so that its stamp is compared.
    pub(crate) const STAMPED: u16 = 8;
    /// The file or folder is reached through a link.
    pub(crate) const LINK: u16 = child::LINK;
    /// The `.meta` is reached through a link.
    pub(crate) const META_LINK: u16 = child::META_LINK;
    /// The lines of the file end in CR LF.
    pub(crate) const CRLF: u16 = 64;
    /// The lines of the `.meta` end in CR LF.
    pub(crate) const META_CRLF: u16 = 128;
    /// The flags that follow from a directory listing.
    pub(crate) const LISTED: u16 = Child::META | Child::FILE | Child::FOLDER | Child::LINK | Child::META_LINK;

    pub(crate) fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// The type of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Native(u32),
    /// The GUID of the script.
    Script(PackedGuid),
}

/// A GUID with the alignment of a byte: with that of a number, an [`Asset`] would be a quarter larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedGuid([u8; 16]);

impl PackedGuid {
    pub(crate) fn get(self) -> u128 {
        u128::from_ne_bytes(self.0)
    }
}

impl From<u128> for PackedGuid {
    fn from(guid: u128) -> PackedGuid {
        PackedGuid(guid.to_ne_bytes())
    }
}

/// A folder where the walk put it: moving all of them would hold them twice.
pub(crate) type BoxedFolder = Box<Folder>;

/// An asset of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    /// The GUID; 0 for a file of the project's settings, which nothing can refer to.
    pub(crate) guid: u128,
    pub(crate) kind: Type,
    /// The fileID of the main object.
    pub(crate) main: i64,
    /// The index in [`Folder::children`].
    pub(crate) child: u32,
    /// The end of its sub-assets in [`Folder::subs`].
    pub(crate) subs_end: u32,
    /// The end of its references in [`Folder::refs`].
    pub(crate) refs_end: u32,
    /// The flags of the asset: see the constants of [`Asset`].
    pub(crate) flags: u32,
}

impl Asset {
    /// The asset is a folder.
    pub(crate) const FOLDER: u32 = flags::FOLDER;
    /// The names of the sub-assets are scoped to the asset.
    pub(crate) const SCOPED: u32 = flags::SCOPED;
    /// A file of the project's settings.
    pub(crate) const SETTINGS: u32 = flags::SETTINGS;
    /// The file is a Git LFS pointer, whose content was not fetched.
    pub(crate) const LFS_POINTER: u32 = flags::LFS_POINTER;
    /// The asset is in the database, not only in the state. Set when all references are known.
    pub(crate) const LISTED: u32 = flags::LISTED;
}

/// A sub-asset of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sub {
    pub(crate) file_id: i64,
    pub(crate) class_id: u32,
    pub(crate) name: StringRange,
}

impl Folder {
    /// Adds a string to the buffer.
    pub(crate) fn intern(&mut self, text: &str) -> StringRange {
        let at = self.strings.len() as u32;
        self.strings.push_str(text);
        StringRange { at, len: text.len() as u32 }
    }

    /// Returns a string of the buffer.
    pub(crate) fn get(&self, text: StringRange) -> &str {
        text.of(&self.strings)
    }

    pub(crate) fn name(&self, child: usize) -> &str {
        self.get(self.children[child].name)
    }

    /// Returns the path of a child.
    pub(crate) fn hint(&self, child: usize) -> String {
        format!("{}/{}", self.path, self.name(child))
    }

    pub(crate) fn subs_of(&self, asset: usize) -> &[Sub] {
        let start = asset.checked_sub(1).map_or(0, |before| self.assets[before].subs_end);
        &self.subs[start as usize..self.assets[asset].subs_end as usize]
    }

    pub(crate) fn refs_of(&self, asset: usize) -> &[Ref] {
        let start = asset.checked_sub(1).map_or(0, |before| self.assets[before].refs_end);
        &self.refs[start as usize..self.assets[asset].refs_end as usize]
    }

    /// Moves the folder into buffers of exact size. `self` is empty then and keeps its buffers for the next folder.
    pub(crate) fn finish(&mut self) -> Folder {
        let folder = Folder {
            path: std::mem::take(&mut self.path),
            stamp: self.stamp,
            strings: self.strings.as_str().to_owned(),
            children: self.children.clone(),
            assets: self.assets.clone(),
            subs: self.subs.clone(),
            refs: self.refs.clone(),
            diags: std::mem::take(&mut self.diags),
        };
        self.strings.clear();
        self.children.clear();
        self.assets.clear();
        self.subs.clear();
        self.refs.clear();
        folder
    }

    /// Returns whether two versions of a folder have equal content; stamps are ignored.
    pub(crate) fn means(&self, other: &Folder) -> bool {
        let child = |folder: &Folder, at: usize| {
            let child = folder.children[at];
            (child.flags, child.asset, folder.get(child.name).to_owned())
        };
        let same_children = || (0..self.children.len()).all(|at| child(self, at) == child(other, at));
        let sub = |folder: &Folder, sub: &Sub| (sub.file_id, sub.class_id, folder.get(sub.name).to_owned());
        let same_subs = || self.subs.iter().zip(&other.subs).all(|(a, b)| sub(self, a) == sub(other, b));
        let unlisted = |asset: &Asset| Asset { flags: asset.flags & !Asset::LISTED, ..*asset };
        self.path == other.path
            && self.children.len() == other.children.len()
            && self.assets.len() == other.assets.len()
            && self.assets.iter().zip(&other.assets).all(|(a, b)| unlisted(a) == unlisted(b))
            && self.refs == other.refs
            && self.subs.len() == other.subs.len()
            && self.diags == other.diags
            && same_children()
            && same_subs()
    }
}

/// Returns a file name without its last extension.
pub(crate) fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}
