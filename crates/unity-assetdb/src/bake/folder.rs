//! One folder of a project as the bake holds it in memory: its children, its assets, and what is inside them.
//!
//! Texts lie in one buffer per folder and lists in one vector per folder, so that two hundred thousand assets take a few
//! allocations per folder and not several per asset.

use crate::documents::Ref;
use crate::state::{child, flags};
use kiln_engine::Diag;

/// A range of a folder's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Text {
    /// The text itself.
    pub(crate) fn of(self, texts: &str) -> &str {
        texts.get(self.at as usize..(self.at + self.len) as usize).unwrap_or_default()
    }
}

/// A folder.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// Relative to the project, with `/`.
    pub(crate) path: String,
    /// What its list of names was read from; 0 when that may have changed since.
    pub(crate) stamp: u64,
    pub(crate) texts: String,
    /// Sorted by name.
    pub(crate) children: Vec<Child>,
    pub(crate) assets: Vec<Asset>,
    pub(crate) subs: Vec<Sub>,
    pub(crate) refs: Vec<Ref>,
    pub(crate) diags: Vec<Diag>,
}

/// One name in a folder, with or without `.meta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) name: Text,
    /// Bits of [`Child`].
    pub(crate) flags: u16,
    pub(crate) meta_stamp: u64,
    /// Of the asset, if [`Child::STAMPED`].
    pub(crate) asset_stamp: u64,
    /// Its place in [`Folder::assets`], or [`NONE`].
    pub(crate) asset: u32,
}

pub(crate) use crate::state::NONE;

impl Child {
    /// There is a `.meta` of this name.
    pub(crate) const META: u16 = child::META;
    /// There is a file of this name.
    pub(crate) const FILE: u16 = child::FILE;
    /// There is a folder of this name.
    pub(crate) const FOLDER: u16 = child::FOLDER;
    /// The asset's bytes matter.
    pub(crate) const STAMPED: u16 = 8;
    /// The file or folder is reached through a link.
    pub(crate) const LINK: u16 = 16;
    /// The `.meta` is reached through a link.
    pub(crate) const META_LINK: u16 = 32;
    /// The lines of the file end in CR LF.
    pub(crate) const CRLF: u16 = 64;
    /// The lines of the `.meta` end in CR LF.
    pub(crate) const META_CRLF: u16 = 128;
    /// What the names of a directory alone tell.
    pub(crate) const LISTED: u16 = Child::META | Child::FILE | Child::FOLDER | Child::LINK | Child::META_LINK;

    pub(crate) fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// What an asset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Native(u32),
    /// The GUID of the script.
    Script(u128),
}

/// One asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    /// 0 for a file of the project's settings, which nothing can refer to.
    pub(crate) guid: u128,
    pub(crate) kind: Type,
    /// The fileID of the asset itself.
    pub(crate) main: i64,
    /// Its place in [`Folder::children`].
    pub(crate) child: u32,
    /// Where its parts end in [`Folder::subs`].
    pub(crate) subs_end: u32,
    /// Where its references end in [`Folder::refs`].
    pub(crate) refs_end: u32,
    /// Bits of [`Asset`].
    pub(crate) flags: u32,
}

impl Asset {
    /// A folder.
    pub(crate) const FOLDER: u32 = flags::FOLDER;
    /// The names of its parts belong to it alone.
    pub(crate) const SCOPED: u32 = flags::SCOPED;
    /// A file of the project's settings.
    pub(crate) const SETTINGS: u32 = flags::SETTINGS;
    /// Git LFS did not fetch its content.
    pub(crate) const POINTER: u32 = flags::POINTER;
    /// In the database, and not only known to queries. Set when all references are known.
    pub(crate) const LISTED: u32 = flags::LISTED;
}

/// Something inside an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sub {
    pub(crate) file_id: i64,
    pub(crate) class_id: u32,
    pub(crate) name: Text,
}

impl Folder {
    /// Keeps a text.
    pub(crate) fn text(&mut self, text: &str) -> Text {
        let at = self.texts.len() as u32;
        self.texts.push_str(text);
        Text { at, len: text.len() as u32 }
    }

    /// A text that was kept.
    pub(crate) fn get(&self, text: Text) -> &str {
        text.of(&self.texts)
    }

    pub(crate) fn name(&self, child: usize) -> &str {
        self.get(self.children[child].name)
    }

    /// The path of a child.
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

    /// The folder in buffers of just its size; this one is empty then, and keeps its buffers for the next folder.
    pub(crate) fn finish(&mut self) -> Folder {
        let folder = Folder {
            path: std::mem::take(&mut self.path),
            stamp: self.stamp,
            texts: self.texts.as_str().to_owned(),
            children: self.children.clone(),
            assets: self.assets.clone(),
            subs: self.subs.clone(),
            refs: self.refs.clone(),
            diags: std::mem::take(&mut self.diags),
        };
        self.texts.clear();
        self.children.clear();
        self.assets.clear();
        self.subs.clear();
        self.refs.clear();
        folder
    }

    /// Whether two states of one folder mean the same, whatever the stamps say.
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

/// A file's name without its last extension.
pub(crate) fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}
