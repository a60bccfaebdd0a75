//! One folder of a project in memory: its children, its assets, their sub-assets and references.
//!
//! A thread reads one folder after the other into a [`Folder`], whose buffers it reuses, and collects them in a
//! [`FolderBatch`](super::folder_batch::FolderBatch). All steps after the walk work on the [`FolderView`]s of batches.

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

/// A folder of the project that is being read.
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

/// A folder of the project that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderView<'a> {
    /// See [`Folder::path`].
    pub(crate) path: &'a str,
    /// See [`Folder::stamp`].
    pub(crate) stamp: u64,
    pub(crate) strings: &'a str,
    /// The children, sorted by name.
    pub(crate) children: &'a [Child],
    pub(crate) assets: &'a [Asset],
    pub(crate) subs: &'a [Sub],
    pub(crate) refs: &'a [Ref],
    pub(crate) diags: &'a [Diag],
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
    /// The asset is in the database, not only in the state. Only in the state: it is known when all references are.
    pub(crate) const LISTED: u32 = flags::LISTED;
}

/// A sub-asset of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sub {
    pub(crate) file_id: i64,
    pub(crate) class_id: u32,
    pub(crate) name: StringRange,
}

impl<'a> FolderView<'a> {
    /// Returns a string of the buffer.
    pub(crate) fn get(&self, text: StringRange) -> &'a str {
        text.of(self.strings)
    }

    pub(crate) fn name(&self, child: usize) -> &'a str {
        self.get(self.children[child].name)
    }

    /// Returns the path of a child.
    pub(crate) fn hint(&self, child: usize) -> String {
        format!("{}/{}", self.path, self.name(child))
    }

    pub(crate) fn subs_of(&self, asset: usize) -> &'a [Sub] {
        let start = asset.checked_sub(1).map_or(0, |before| self.assets[before].subs_end);
        &self.subs[start as usize..self.assets[asset].subs_end as usize]
    }

    pub(crate) fn refs_of(&self, asset: usize) -> &'a [Ref] {
        let start = asset.checked_sub(1).map_or(0, |before| self.assets[before].refs_end);
        &self.refs[start as usize..self.assets[asset].refs_end as usize]
    }

    /// Returns whether two versions of a folder have equal content; stamps are ignored.
    pub(crate) fn means(&self, other: &FolderView<'_>) -> bool {
        fn child<'c>(folder: &FolderView<'c>, at: usize) -> (u16, u32, &'c str) {
            let child = folder.children[at];
            (child.flags, child.asset, folder.get(child.name))
        }
        let same_children = || (0..self.children.len()).all(|at| child(self, at) == child(other, at));
        let same_subs = || {
            let same = |(a, b): (&Sub, &Sub)| {
                (a.file_id, a.class_id, self.get(a.name)) == (b.file_id, b.class_id, other.get(b.name))
            };
            self.subs.iter().zip(other.subs).all(same)
        };
        self.path == other.path
            && self.children.len() == other.children.len()
            && self.assets == other.assets
            && self.refs == other.refs
            && self.subs.len() == other.subs.len()
            && self.diags == other.diags
            && same_children()
            && same_subs()
    }
}

impl Folder {
    pub(crate) fn view(&self) -> FolderView<'_> {
        FolderView {
            path: &self.path,
            stamp: self.stamp,
            strings: &self.strings,
            children: &self.children,
            assets: &self.assets,
            subs: &self.subs,
            refs: &self.refs,
            diags: &self.diags,
        }
    }

    /// Removes the content and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.path.clear();
        self.stamp = 0;
        self.strings.clear();
        self.children.clear();
        self.assets.clear();
        self.subs.clear();
        self.refs.clear();
        self.diags.clear();
    }

    /// Adds a string to the buffer.
    pub(crate) fn intern(&mut self, text: &str) -> StringRange {
        let at = self.strings.len() as u32;
        self.strings.push_str(text);
        StringRange { at, len: text.len() as u32 }
    }

    pub(crate) fn name(&self, child: usize) -> &str {
        self.view().name(child)
    }

    /// Returns the path of a child.
    pub(crate) fn hint(&self, child: usize) -> String {
        self.view().hint(child)
    }
}
