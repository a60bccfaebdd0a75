//! `asset-db.cache.bin`: all that bakes and queries know, laid out to be used from a memory map.
//!
//! The layout is private to this version of the crate. A head of [`HEAD`] bytes names the sections, which follow one
//! another; then come the checksums of the blocks of [`blocks::BLOCK`] bytes that the file is made of. The head is checked when the
//! file is opened, a block when it is first looked at, so that opening costs the same for any project and no damage
//! goes unnoticed. Sections are arrays of records of a fixed size; texts lie in one section and are named by place and
//! length.

pub(crate) mod blocks;
#[cfg(feature = "bake")]
mod whole;
#[cfg(feature = "bake")]
pub(crate) mod write;

use crate::store::db_path;
use blocks::{Blocks, Damage};
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// The first bytes. Not those of unity-assetdb 0.2.0 (`UADCACHE`), whose file is of another kind.
pub(crate) const MAGIC: [u8; 8] = *b"KILNUADB";
/// Changed with the layout, and with whatever changes what a bake finds.
pub(crate) const VERSION: u32 = 3;
/// The size of the head.
pub(crate) const HEAD: usize = 512;

/// The sections, in the order of the file.
#[cfg_attr(not(feature = "bake"), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Folders,
    Children,
    Entries,
    Guids,
    Subs,
    Refs,
    Targets,
    Uses,
    Names,
    Scripts,
    Diags,
    Texts,
}

/// How many sections there are.
pub(crate) const SECTIONS: usize = 12;

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident [$size:literal] { $($field:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[cfg_attr(not(feature = "bake"), allow(dead_code))]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $name { $(pub(crate) $field: $ty,)* }

        impl Record for $name {
            const SIZE: usize = $size;

            #[inline]
            fn get(bytes: &[u8]) -> Option<$name> {
                let mut rest = bytes;
                $(let $field = {
                    let (head, tail) = rest.split_first_chunk::<{ size_of::<$ty>() }>()?;
                    rest = tail;
                    <$ty>::from_le_bytes(*head)
                };)*
                let _ = rest;
                Some($name { $($field,)* })
            }

            #[cfg(feature = "bake")]
            fn put(&self, out: &mut Vec<u8>) {
                let mut bytes = [0; $size];
                let rest = &mut bytes[..];
                $(let rest = {
                    let (head, tail) = rest.split_at_mut(size_of::<$ty>());
                    head.copy_from_slice(&self.$field.to_le_bytes());
                    tail
                };)*
                let _ = rest;
                out.extend_from_slice(&bytes);
            }
        }

        const _: () = assert!(0 $(+ size_of::<$ty>())* <= $size);
    )*};
}

/// Something of a fixed size in a section.
pub(crate) trait Record: Sized {
    const SIZE: usize;

    fn get(bytes: &[u8]) -> Option<Self>;

    #[cfg(feature = "bake")]
    fn put(&self, out: &mut Vec<u8>);
}

records! {
    /// A folder, sorted by path. Its children end where those of the next one start.
    FolderRec [32] { path_at: u32, path_len: u32, stamp: u64, first_child: u32, }
    /// A name in a folder, sorted by name.
    ChildRec [32] { name_at: u32, name_len: u16, flags: u16, meta_stamp: u64, asset_stamp: u64, entry: u32, }
    /// An asset, in the order of paths.
    EntryRec [64] {
        guid: u128, main: i64, script: u32, class: u32, folder: u32, child: u32,
        name_at: u32, name_len: u32, first_sub: u32, first_ref: u32, flags: u32, reserved: u32,
    }
    /// The GUID of an asset, sorted.
    GuidRec [20] { guid: u128, entry: u32, }
    /// Something inside an asset.
    SubRec [32] { file_id: i64, class: u32, entry: u32, name_at: u32, name_len: u32, raw_at: u32, raw_len: u32, }
    /// A reference, in the order of the entries it comes from.
    RefRec [24] { file_id: i64, target: u32, line: u32, count: u32, source: u32, }
    /// A GUID that something refers to, sorted. Its uses end where those of the next one start.
    TargetRec [24] { guid: u128, first_use: u32, entry: u32, }
    /// A reference, in the order of its target.
    UseRec [4] { reference: u32, }
    /// A name, sorted by its hash: an entry, or a sub-asset with the highest bit set.
    NameRec [12] { hash: u64, item: u32, }
    /// The GUID of a script.
    ScriptRec [16] { guid: u128, }
    /// A warning: five texts.
    DiagRec [40] {
        code_at: u32, code_len: u32, path_at: u32, path_len: u32, at_at: u32, at_len: u32,
        message_at: u32, message_len: u32, hint_at: u32, hint_len: u32,
    }
}

/// Records do not follow those that they belong to.
const OUT_OF_ORDER: Damage = Damage("out of order");

/// No index.
pub(crate) const NONE: u32 = u32::MAX;
/// Marks [`NameRec::item`] as a sub-asset.
pub(crate) const SUB: u32 = 1 << 31;

/// Bits of [`EntryRec::flags`].
pub(crate) mod flags {
    /// A folder.
    pub(crate) const FOLDER: u32 = 1;
    /// The names of its parts belong to it alone.
    pub(crate) const SCOPED: u32 = 2;
    /// A file of the project's settings.
    pub(crate) const SETTINGS: u32 = 4;
    /// Git LFS did not fetch its content.
    pub(crate) const POINTER: u32 = 8;
    /// In the database, and not only known to queries.
    pub(crate) const LISTED: u32 = 16;
}

/// Bits of [`ChildRec::flags`].
pub(crate) mod child {
    /// There is a `.meta` of this name.
    pub(crate) const META: u16 = 1;
    /// There is a file of this name.
    pub(crate) const FILE: u16 = 2;
    /// There is a folder of this name.
    pub(crate) const FOLDER: u16 = 4;
}

/// Marks [`RefRec::line`] as one of the `.meta`.
pub(crate) const IN_META: u32 = 1 << 31;

/// What the head says beside the places of the sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The length of the database that was written with this state.
    pub(crate) db_len: u64,
    /// Its checksum.
    pub(crate) db_crc: u32,
    /// Its time, by which it is known without reading it.
    pub(crate) db_mtime_ns: i64,
    /// What the sanitizer made of all names; 0 without one.
    pub(crate) sanitized: u64,
    /// Bits of options.
    pub(crate) options: u32,
    /// A text for whoever bakes next: place and length.
    pub(crate) note: (u32, u32),
    /// The sections: place and length.
    pub(crate) sections: [(u64, u64); SECTIONS],
    /// Where the checksums of blocks start.
    pub(crate) checksums: u64,
    /// Their own checksum.
    pub(crate) checksums_crc: u32,
}

/// Names in the database have no extension step.
pub(crate) const STRICT_NAMES: u32 = 1;

impl Head {
    #[cfg(feature = "bake")]
    pub(crate) fn put(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend(self.options.to_le_bytes());
        out.extend(self.db_len.to_le_bytes());
        out.extend(self.db_mtime_ns.to_le_bytes());
        out.extend(self.sanitized.to_le_bytes());
        out.extend(self.db_crc.to_le_bytes());
        out.extend(self.checksums_crc.to_le_bytes());
        out.extend(self.checksums.to_le_bytes());
        out.extend(self.note.0.to_le_bytes());
        out.extend(self.note.1.to_le_bytes());
        for (at, len) in self.sections {
            out.extend(at.to_le_bytes());
            out.extend(len.to_le_bytes());
        }
        out.resize(HEAD - 4, 0);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    fn get(bytes: &[u8], file_len: u64) -> Result<Head, Damage> {
        let head = bytes.first_chunk::<HEAD>().ok_or(Damage("shorter than its head"))?;
        if !head.starts_with(&MAGIC) {
            return Err(Damage("of another kind"));
        }
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if u32_at(8) != VERSION {
            return Err(Damage("of another version"));
        }
        if crc32fast::hash(&head[..HEAD - 4]) != u32_at(HEAD - 4) {
            return Err(Damage("damaged in its head"));
        }
        let mut sections = [(0, 0); SECTIONS];
        for (n, section) in sections.iter_mut().enumerate() {
            *section = (u64_at(64 + 16 * n), u64_at(72 + 16 * n));
            if section.0.checked_add(section.1).is_none_or(|end| end > file_len) {
                return Err(Damage("cut off"));
            }
        }
        Ok(Head {
            options: u32_at(12),
            db_len: u64_at(16),
            db_mtime_ns: u64_at(24) as i64,
            sanitized: u64_at(32),
            db_crc: u32_at(40),
            checksums_crc: u32_at(44),
            checksums: u64_at(48),
            note: (u32_at(56), u32_at(60)),
            sections,
        })
    }
}

/// An open state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) head: Head,
    blocks: Blocks,
}

/// Why there is no state to work from.
#[derive(Debug)]
pub(crate) enum NoState {
    /// There is none.
    Missing,
    /// It cannot be used; the text goes on "the state is …".
    Unusable(&'static str),
    /// It belongs to another database.
    OtherDb,
    /// The system refused.
    Io(std::io::Error),
}

impl State {
    /// Opens the state of an output directory, if it belongs to the database beside it.
    pub(crate) fn open(out_dir: &Path) -> Result<State, NoState> {
        let state = State::open_file(&crate::store::cache_path(out_dir))?;
        if state.belongs_to(&db_path(out_dir)).map_err(NoState::Io)? {
            Ok(state)
        } else {
            Err(NoState::OtherDb)
        }
    }

    /// The same for whoever only looks. A bake that runs may have put one of its two files in place and not yet the other:
    /// then its end is waited for.
    pub(crate) fn look(out_dir: &Path) -> Result<State, NoState> {
        match State::open(out_dir) {
            Err(NoState::OtherDb) => {
                if let Ok(lock) = crate::store::open(&out_dir.join(crate::store::LOCK)) {
                    lock.lock_shared().map_err(NoState::Io)?;
                }
                State::open(out_dir)
            }
            state => state,
        }
    }

    fn open_file(path: &Path) -> Result<State, NoState> {
        let file = match crate::store::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(NoState::Missing),
            Err(error) => return Err(NoState::Io(error)),
        };
        let mut blocks = Blocks::map(&file).map_err(NoState::Io)?;
        let head = Head::get(blocks.raw(), blocks.raw().len() as u64)
            .map_err(|Damage(why)| NoState::Unusable(why))?;
        blocks.checksums(head.checksums, head.checksums_crc).map_err(|Damage(why)| NoState::Unusable(why))?;
        Ok(State { head, blocks })
    }

    /// Whether the database was written with this state: by its length and time, or by its content where only the time
    /// differs, as after copying both.
    fn belongs_to(&self, db: &Path) -> std::io::Result<bool> {
        let meta = match fs::metadata(db) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if meta.len() != self.head.db_len {
            return Ok(false);
        }
        Ok(mtime_ns(&meta) == self.head.db_mtime_ns || crc_of(db)? == self.head.db_crc)
    }

    /// How many records a section has.
    pub(crate) fn count<R: Record>(&self, section: Section) -> usize {
        self.head.sections[section as usize].1 as usize / R::SIZE
    }

    /// A record of a section; `None` beyond its end.
    #[inline]
    pub(crate) fn get<R: Record>(&self, section: Section, index: usize) -> Result<Option<R>, Damage> {
        let (at, len) = self.head.sections[section as usize];
        let from = index as u64 * R::SIZE as u64;
        if from + R::SIZE as u64 > len {
            return Ok(None);
        }
        Ok(R::get(self.blocks.get(at + from, R::SIZE)?))
    }

    /// A record that another one names.
    #[inline]
    pub(crate) fn must<R: Record>(&self, section: Section, index: u32) -> Result<R, Damage> {
        self.get(section, index as usize)?.ok_or(Damage("a number in it leads nowhere"))
    }

    /// A text.
    #[inline]
    pub(crate) fn text(&self, at: u32, len: u32) -> Result<&str, Damage> {
        let (start, size) = self.head.sections[Section::Texts as usize];
        if u64::from(at) + u64::from(len) > size {
            return Err(Damage("a text in it leads nowhere"));
        }
        let bytes = self.blocks.get(start + u64::from(at), len as usize)?;
        std::str::from_utf8(bytes).map_err(|_| Damage("a text in it is not UTF-8"))
    }

    /// The records of a section from one to where those of the next one start, or to the end. Neighbours never share any,
    /// so that whoever goes through all of them in order goes through the section once.
    pub(crate) fn run<R: Record>(
        &self,
        section: Section,
        first: u32,
        next: Option<u32>,
    ) -> Result<Range<u32>, Damage> {
        let count = self.count::<R>(section) as u32;
        let end = next.unwrap_or(count);
        if first <= end && end <= count { Ok(first..end) } else { Err(OUT_OF_ORDER) }
    }

    /// The children of a folder.
    pub(crate) fn children(&self, folder: u32) -> Result<Range<u32>, Damage> {
        let rec: FolderRec = self.must(Section::Folders, folder)?;
        let next: Option<FolderRec> = self.get(Section::Folders, folder as usize + 1)?;
        self.run::<ChildRec>(Section::Children, rec.first_child, next.map(|next| next.first_child))
    }

    /// What is inside an entry.
    pub(crate) fn subs(&self, entry: u32, rec: &EntryRec) -> Result<Range<u32>, Damage> {
        let next: Option<EntryRec> = self.get(Section::Entries, entry as usize + 1)?;
        self.run::<SubRec>(Section::Subs, rec.first_sub, next.map(|next| next.first_sub))
    }

    /// What an entry refers to.
    pub(crate) fn refs(&self, entry: u32, rec: &EntryRec) -> Result<Range<u32>, Damage> {
        let next: Option<EntryRec> = self.get(Section::Entries, entry as usize + 1)?;
        self.run::<RefRec>(Section::Refs, rec.first_ref, next.map(|next| next.first_ref))
    }

    /// What refers to a target.
    pub(crate) fn uses(&self, target: u32, rec: &TargetRec) -> Result<Range<u32>, Damage> {
        let next: Option<TargetRec> = self.get(Section::Targets, target as usize + 1)?;
        self.run::<UseRec>(Section::Uses, rec.first_use, next.map(|next| next.first_use))
    }
}

/// The checksum of a file.
fn crc_of(path: &Path) -> std::io::Result<u32> {
    let mut file = crate::store::open(path)?;
    let mut crc = crc32fast::Hasher::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(crc.finalize()),
            Ok(len) => crc.update(&piece[..len]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn mtime_ns(meta: &fs::Metadata) -> i64 {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as i64)
}

/// The hash that names are sorted by.
pub(crate) fn name_hash(name: &str) -> u64 {
    xxhash_rust::xxh64::xxh64(name.as_bytes(), 0)
}
