//! `asset-db.cache.bin`: the state that bakes and queries share, laid out to be used from a memory map.
//!
//! The layout is private to this version of the crate. A header of [`HEADER`] bytes locates the sections, which follow
//! one another; the file ends with the checksums of its pages of [`pages::PAGE`] bytes. The header and the checksum
//! table are verified when the file is opened, a page when it is first read: a query checks the pages it reads and no
//! others, and no damage goes unnoticed. Sections are arrays of fixed-size records; strings lie in one section and are
//! referred to by offset and length.

pub(crate) mod pages;
#[cfg(feature = "bake")]
mod verify;
#[cfg(feature = "bake")]
pub(crate) mod write;

use crate::store::{LOCK, cache_path, db_path};
use kiln_engine::lock::{LockMode, open_locked};
use kiln_engine::regular_file;
use pages::{Damage, PagedFile, UNEXPECTED_END};
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// The magic. Not that of unity-assetdb 0.2.0 (`UADCACHE`), whose cache has another layout.
pub(crate) const MAGIC: [u8; 8] = *b"KILNUADB";
/// The version of the layout, and of everything that changes the result of a bake.
pub(crate) const VERSION: u32 = 9;
/// The size of the header.
pub(crate) const HEADER: usize = 512;

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
    /// The names of all entries and then of all sub-assets in lower case, each ended by [`NAME_END`].
    LowerNames,
    LowerNameBlocks,
    Types,
    TypeItems,
    Incoming,
    Sources,
    ReferredFolders,
    Strings,
}

/// The number of sections.
pub(crate) const SECTIONS: usize = 19;

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

/// A fixed-size record of a section.
pub(crate) trait Record: Sized {
    const SIZE: usize;

    fn get(bytes: &[u8]) -> Option<Self>;

    #[cfg(feature = "bake")]
    fn put(&self, out: &mut Vec<u8>);
}

records! {
    /// A folder, sorted by path. Its children end where those of the next one start.
    FolderRec [32] { path_at: u32, path_len: u32, stamp: u64, first_child: u32, first_entry: u32, }
    /// A name in a folder, sorted by name.
    ChildRec [32] { name_at: u32, name_len: u16, flags: u16, meta_stamp: u64, asset_stamp: u64, entry: u32, }
    /// An asset, in the order of paths. `flags` has the length of the file name in its upper half, so that a path is known
    /// without the record of the child.
    EntryRec [64] {
        guid: u128, main: i64, script: u32, class: u32, folder: u32, child: u32,
        name_at: u32, name_len: u32, first_sub: u32, first_ref: u32, flags: u32, file_at: u32,
    }
    /// The GUID of an asset, sorted.
    GuidRec [20] { guid: u128, entry: u32, }
    /// A sub-asset, in the order of the entries and their fileIDs.
    SubRec [32] { file_id: i64, class: u32, entry: u32, name_at: u32, name_len: u32, raw_at: u32, raw_len: u32, }
    /// A reference, in the order of the entries it comes from.
    RefRec [24] { file_id: i64, target: u32, line: u32, count: u32, source: u32, }
    /// A GUID that something refers to, sorted. Its uses end where those of the next one start.
    TargetRec [24] { guid: u128, first_use: u32, entry: u32, }
    /// A reference, in the order of its target.
    UseRec [4] { reference: u32, }
    /// A name, sorted by its hash: an entry, or a sub-asset with the highest bit set.
    NameRec [12] { hash: u64, item: u32, }
    /// The offset of every [`NAMES_PER_BLOCK`]th name in lower case.
    NameBlockRec [4] { at: u32, }
    /// A type of listed assets or of their sub-assets, by class and then by script. Its items end where those of the next
    /// one start.
    TypeRec [12] { kind: u32, is_script: u32, first_item: u32, }
    /// An asset of a type, or a sub-asset with the highest bit set.
    TypeItemRec [4] { item: u32, }
    /// The first of the assets that refer to an entry, with [`MAY_BE_ROOT`]. They end where those of the next entry start.
    IncomingRec [4] { first: u32, }
    /// An asset that refers to another, each once for each target, ascending.
    SourceRec [4] { entry: u32, }
    /// A folder that something refers to: its entry, its own record, and the range of the folders below it.
    ReferredFolderRec [16] { entry: u32, folder: u32, first_below: u32, end_below: u32, }
    /// The GUID of a script.
    ScriptRec [16] { guid: u128, }
    /// A warning: five strings.
    DiagRec [40] {
        code_at: u32, code_len: u32, path_at: u32, path_len: u32, at_at: u32, at_len: u32,
        message_at: u32, message_len: u32, hint_at: u32, hint_len: u32,
    }
}

/// Records are not in the order of those that they belong to.
pub(crate) const OUT_OF_ORDER: Damage = Damage("its records are out of order");

/// The index that stands for no record.
pub(crate) const NONE: u32 = u32::MAX;
/// Marks [`NameRec::item`] as a sub-asset.
pub(crate) const SUB: u32 = 1 << 31;
/// Marks [`IncomingRec::first`] of an entry that may be a root of a build, by its path.
pub(crate) const MAY_BE_ROOT: u32 = 1 << 31;
/// Ends a name of [`Section::LowerNames`]: a byte that UTF-8 never contains.
pub(crate) const NAME_END: u8 = 0xFF;
/// The number of names between two records of [`Section::LowerNameBlocks`].
pub(crate) const NAMES_PER_BLOCK: usize = 64;

/// The number of bits of [`EntryRec::flags`] below the length of the file name.
pub(crate) const FLAG_BITS: u32 = 16;

/// The bits of [`EntryRec::flags`].
pub(crate) mod flags {
    /// The asset is a folder.
    pub(crate) const FOLDER: u32 = 1;
    /// The names of the sub-assets are scoped to the asset.
    pub(crate) const SCOPED: u32 = 2;
    /// A file of the project's settings.
    pub(crate) const SETTINGS: u32 = 4;
    /// The file is a Git LFS pointer, whose content was not fetched.
    pub(crate) const LFS_POINTER: u32 = 8;
    /// The asset is in the database, not only in the state.
    pub(crate) const LISTED: u32 = 16;
}

/// The bits of [`ChildRec::flags`].
pub(crate) mod child {
    /// There is a `.meta` for this name.
    pub(crate) const META: u16 = 1;
    /// There is a file of this name.
    pub(crate) const FILE: u16 = 2;
    /// There is a folder of this name.
    pub(crate) const FOLDER: u16 = 4;
    /// The file or folder is reached through a link.
    pub(crate) const LINK: u16 = 16;
    /// The `.meta` is reached through a link.
    pub(crate) const META_LINK: u16 = 32;
}

/// Marks [`RefRec::line`] as one of the `.meta`.
pub(crate) const IN_META: u32 = 1 << 31;

/// The header: the database that the state belongs to, options, and the location of the sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// The length of the database that was written with this state.
    pub(crate) db_len: u64,
    /// The CRC-32 of that database.
    pub(crate) db_crc: u32,
    /// The modification time of that database, by which it is recognized without reading it.
    pub(crate) db_mtime_ns: i64,
    /// A digest of the names that the sanitizer changed; 0 without a sanitizer.
    pub(crate) sanitized: u64,
    /// The options of the bake, as bits.
    pub(crate) options: u32,
    /// The number of assets in the database.
    pub(crate) listed: u32,
    /// The note for the next bake: offset and length of a string.
    pub(crate) note: (u32, u32),
    /// The sections: offset and length of each.
    pub(crate) sections: [(u64, u64); SECTIONS],
    /// The offset of the checksum table.
    pub(crate) checksums: u64,
    /// The CRC-32 of the checksum table.
    pub(crate) checksums_crc: u32,
}

/// The bit of options for names that were made unique without extensions.
pub(crate) const STRICT_NAMES: u32 = 1;
/// The bit of options for a state in which several assets share a GUID. Such a state belongs to no database.
pub(crate) const DUPLICATES: u32 = 2;

impl Header {
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
        out.extend(self.listed.to_le_bytes());
        out.extend([0; 4]);
        for (at, len) in self.sections {
            out.extend(at.to_le_bytes());
            out.extend(len.to_le_bytes());
        }
        out.resize(HEADER - 4, 0);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    fn get(bytes: &[u8], file_len: u64) -> Result<Header, Damage> {
        let header = bytes.first_chunk::<HEADER>().ok_or(Damage(UNEXPECTED_END))?;
        if !header.starts_with(&MAGIC) {
            return Err(Damage("it is not a state file of unity-assetdb"));
        }
        let u32_at =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if u32_at(8) != VERSION {
            return Err(Damage("another version of unity-assetdb wrote it"));
        }
        if crc32fast::hash(&header[..HEADER - 4]) != u32_at(HEADER - 4) {
            return Err(Damage("its header is damaged"));
        }
        let checksums = u64_at(48);
        let mut sections = [(0, 0); SECTIONS];
        for (n, section) in sections.iter_mut().enumerate() {
            *section = (u64_at(72 + 16 * n), u64_at(80 + 16 * n));
            // No section reaches into the checksum table, whose bytes no page checksum covers.
            if section.0.checked_add(section.1).is_none_or(|end| end > checksums.min(file_len)) {
                return Err(Damage(UNEXPECTED_END));
            }
        }
        Ok(Header {
            options: u32_at(12),
            db_len: u64_at(16),
            db_mtime_ns: u64_at(24) as i64,
            sanitized: u64_at(32),
            db_crc: u32_at(40),
            checksums_crc: u32_at(44),
            checksums,
            note: (u32_at(56), u32_at(60)),
            listed: u32_at(64),
            sections,
        })
    }
}

/// An open state, memory-mapped.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) header: Header,
    file: PagedFile,
}

/// The reason why no state can be opened.
#[derive(Debug)]
pub(crate) enum StateError {
    /// There is no state file.
    Missing,
    /// It cannot be used, for this reason.
    Unusable(&'static str),
    /// It belongs to another database.
    OtherDatabase,
    /// The system could not open or map a file.
    Io(io::Error),
}

impl State {
    /// Opens the state of an output directory, if it belongs to the database beside it.
    pub(crate) fn open(out_dir: &Path) -> Result<State, StateError> {
        let state = State::open_file(&cache_path(out_dir))?;
        if state.belongs_to(&db_path(out_dir)).map_err(StateError::Io)? {
            Ok(state)
        } else {
            Err(StateError::OtherDatabase)
        }
    }

    /// Opens the state for a reader. A concurrent bake may have published one of its two files and not yet the other: then
    /// the reader waits until the bake ends.
    pub(crate) fn open_shared(out_dir: &Path) -> Result<State, StateError> {
        match State::open(out_dir) {
            Err(StateError::OtherDatabase) => {
                let _lock = match open_locked(&out_dir.join(LOCK), LockMode::Shared, &|| ()) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(StateError::Io(error));
                    }
                    lock => lock.ok(),
                };
                State::open(out_dir)
            }
            state => state,
        }
    }

    fn open_file(path: &Path) -> Result<State, StateError> {
        let file = match regular_file::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(StateError::Missing),
            Err(error) => return Err(StateError::Io(error)),
        };
        let mut file = PagedFile::open(&file).map_err(StateError::Io)?;
        let unusable = |Damage(why)| StateError::Unusable(why);
        let header = Header::get(file.raw(), file.raw().len() as u64).map_err(unusable)?;
        file.load_checksums(header.checksums, header.checksums_crc).map_err(unusable)?;
        Ok(State { header, file })
    }

    /// Returns whether the database was written with this state: by its length and time, or by its content where only the
    /// time differs, as after both files were copied.
    fn belongs_to(&self, db: &Path) -> io::Result<bool> {
        if self.header.options & DUPLICATES != 0 {
            return Ok(true);
        }
        let meta = match fs::metadata(db) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if meta.len() != self.header.db_len {
            return Ok(false);
        }
        Ok(mtime_ns(&meta) == self.header.db_mtime_ns || crc_of(db)? == self.header.db_crc)
    }

    /// Verifies the checksums of all pages.
    pub(crate) fn verify_pages(&self) -> Result<(), Damage> {
        self.file.get(0, self.file.raw().len()).map(drop)
    }

    /// Returns the number of records in a section.
    pub(crate) fn count<R: Record>(&self, section: Section) -> usize {
        self.header.sections[section as usize].1 as usize / R::SIZE
    }

    /// Returns a record of a section; `None` beyond its end.
    #[inline]
    pub(crate) fn get<R: Record>(&self, section: Section, index: usize) -> Result<Option<R>, Damage> {
        let (at, len) = self.header.sections[section as usize];
        let from = index as u64 * R::SIZE as u64;
        if from + R::SIZE as u64 > len {
            return Ok(None);
        }
        Ok(R::get(self.file.get(at + from, R::SIZE)?))
    }

    /// Returns a record that another record refers to.
    #[inline]
    pub(crate) fn record<R: Record>(&self, section: Section, index: u32) -> Result<R, Damage> {
        self.get(section, index as usize)?.ok_or(Damage("a record index is out of range"))
    }

    /// Returns all bytes of a section.
    pub(crate) fn section(&self, section: Section) -> Result<&[u8], Damage> {
        let (at, len) = self.header.sections[section as usize];
        self.file.get(at, usize::try_from(len).map_err(|_| Damage(UNEXPECTED_END))?)
    }

    /// Returns a string by its offset and length.
    #[inline]
    pub(crate) fn string(&self, at: u32, len: u32) -> Result<&str, Damage> {
        std::str::from_utf8(self.string_bytes(at, len)?).map_err(|_| Damage("a string is not UTF-8"))
    }

    /// Returns the bytes of a string, which may not be UTF-8 if the state is damaged.
    #[inline]
    pub(crate) fn string_bytes(&self, at: u32, len: u32) -> Result<&[u8], Damage> {
        let (start, size) = self.header.sections[Section::Strings as usize];
        if u64::from(at) + u64::from(len) > size {
            return Err(Damage("a string is out of range"));
        }
        self.file.get(start + u64::from(at), len as usize)
    }

    /// Returns the range of records that belong to one owner: from its first to the first of the next owner, or to the end of
    /// the section. Ranges of neighbours never overlap, so that visiting all owners visits the section once.
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

    /// Returns the range of the children of a folder.
    pub(crate) fn children(&self, folder: u32) -> Result<Range<u32>, Damage> {
        let rec: FolderRec = self.record(Section::Folders, folder)?;
        let next: Option<FolderRec> = self.get(Section::Folders, folder as usize + 1)?;
        self.run::<ChildRec>(Section::Children, rec.first_child, next.map(|next| next.first_child))
    }

    /// Returns the range of the sub-assets of an entry.
    pub(crate) fn subs(&self, entry: u32, rec: &EntryRec) -> Result<Range<u32>, Damage> {
        let next: Option<EntryRec> = self.get(Section::Entries, entry as usize + 1)?;
        self.run::<SubRec>(Section::Subs, rec.first_sub, next.map(|next| next.first_sub))
    }

    /// Returns the range of the references of an entry.
    pub(crate) fn refs(&self, entry: u32, rec: &EntryRec) -> Result<Range<u32>, Damage> {
        let next: Option<EntryRec> = self.get(Section::Entries, entry as usize + 1)?;
        self.run::<RefRec>(Section::Refs, rec.first_ref, next.map(|next| next.first_ref))
    }

    /// Returns the range of the uses of a target.
    pub(crate) fn uses(&self, target: u32, rec: &TargetRec) -> Result<Range<u32>, Damage> {
        let next: Option<TargetRec> = self.get(Section::Targets, target as usize + 1)?;
        self.run::<UseRec>(Section::Uses, rec.first_use, next.map(|next| next.first_use))
    }
}

/// Returns the CRC-32 of a file.
pub(crate) fn crc_of(path: &Path) -> io::Result<u32> {
    let mut file = regular_file::open(path)?;
    let mut crc = crc32fast::Hasher::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(crc.finalize()),
            Ok(len) => crc.update(&piece[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn mtime_ns(meta: &fs::Metadata) -> i64 {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as i64)
}

/// Returns the hash that names are sorted by.
pub(crate) fn name_hash(name: &str) -> u64 {
    xxhash_rust::xxh64::xxh64(name.as_bytes(), 0)
}
