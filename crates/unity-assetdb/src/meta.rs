//! Parses `.meta` files: the GUID of an asset, its import settings, and the names of its sub-assets.
//!
//! Unity writes them in a small part of YAML. They are parsed line by line, and the meaning of a line follows from
//! its indentation, so that keys of nested lists are never mistaken for those around them. Parsing never fails: problems
//! are collected as [`Fault`]s with their lines.

mod lines;
mod parser;
mod scripted;

pub use scripted::ScriptedSettings;

use parser::Parser;
use std::borrow::Cow;

/// The content of a `.meta` file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meta<'a> {
    /// The GUID; `None` when it is missing, malformed or contradicts itself.
    pub guid: Option<u128>,
    /// True if the asset is a folder.
    pub folder: bool,
    /// The name of the importer block (`TextureImporter`); empty if there is none.
    pub importer: &'a str,
    /// `mainObjectFileID`, unless it is 0.
    pub main_file_id: Option<i64>,
    /// `textureType`; 8 is a sprite.
    pub texture_type: Option<i64>,
    /// `textureShape`; 2 is a cubemap, 4 an array, 8 a volume.
    pub texture_shape: Option<i64>,
    /// `spriteMode`; 1 is a single sprite, 2 a sheet.
    pub sprite_mode: Option<i64>,
    /// The sprites of a sheet: name and `internalID`, which is 0 in old files.
    pub sprites: Vec<(Cow<'a, str>, i64)>,
    /// `nameFileIdTable`: name and fileID.
    pub name_table: Vec<(Cow<'a, str>, i64)>,
    /// `internalIDToNameTable`: class, fileID and name.
    pub id_table: Vec<(u32, i64, Cow<'a, str>)>,
    /// `fileIDToRecycleName`: fileID and name.
    pub recycled: Vec<(i64, Cow<'a, str>)>,
    /// The clips cut from the animations of a model: name and `internalID`.
    pub clips: Vec<(Cow<'a, str>, i64)>,
    /// `preserveHierarchy`: true if a model keeps a single root node instead of folding it into the asset.
    pub preserve_hierarchy: bool,
    /// `fileIdsGeneration` of a model: the scheme of the fileIDs of its objects.
    pub file_ids_generation: Option<i64>,
    /// `animationType` of a model: 1 legacy, 2 generic, 3 humanoid.
    pub animation_type: Option<i64>,
    /// `avatarSetup` of a model: 0 none, 1 created from this model, 2 copied from another.
    pub avatar_setup: Option<i64>,
    /// `addColliders`: true if each mesh of a model has a MeshCollider.
    pub add_colliders: bool,
    /// The settings of a ScriptedImporter of a package.
    pub scripted: Option<Box<ScriptedSettings<'a>>>,
    /// The problems in the file.
    pub faults: Vec<Fault>,
}

/// A problem in a `.meta` file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The line, counted from 1.
    pub line: u32,
    /// The kind of the problem.
    pub kind: FaultKind,
}

/// The kinds of problems in a `.meta` file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The file is empty.
    Empty,
    /// There is no `guid:`.
    NoGuid,
    /// The value of `guid:` is not 32 hexadecimal digits.
    BadGuid(String),
    /// The GUID is zero, which denotes no asset.
    ZeroGuid,
    /// The GUID has upper-case digits, which Unity never writes.
    UpperCaseGuid,
    /// A second `guid:` has another value.
    SecondGuid(u128),
    /// The file contains merge conflict markers.
    Conflict,
    /// The file starts with a byte order mark.
    Bom,
    /// Lines end in CR LF, which Unity never writes.
    Crlf,
    /// The file is not valid UTF-8.
    NotUtf8,
    /// The file is a Git LFS pointer, whose content was not fetched.
    LfsPointer,
}

impl FaultKind {
    /// Returns whether Unity assigns another GUID to the asset because of the fault.
    #[cfg(feature = "bake")]
    pub(crate) fn is_about_guid(&self) -> bool {
        use FaultKind::{BadGuid, Empty, NoGuid, SecondGuid, UpperCaseGuid, ZeroGuid};
        matches!(self, Empty | NoGuid | BadGuid(_) | ZeroGuid | UpperCaseGuid | SecondGuid(_))
    }
}

/// The first bytes of a Git LFS pointer file.
pub(crate) const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Parses a `.meta` file. Never fails: see [`Meta::faults`].
///
/// ```
/// let meta = unity_assetdb::meta::parse(b"fileFormatVersion: 2\nguid: 8f57b4a070f7b43bbb3925467e6752ab\n");
/// assert_eq!(meta.guid, unity_assetdb::guid::parse("8f57b4a070f7b43bbb3925467e6752ab"));
/// assert!(meta.faults.is_empty());
/// ```
pub fn parse(bytes: &[u8]) -> Meta<'_> {
    let mut meta = Meta::default();
    let mut bytes = bytes;
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
        meta.fault(1, FaultKind::Bom);
    }
    if let Some(at) = memchr::memchr(b'\r', bytes)
        && bytes.get(at + 1) == Some(&b'\n')
    {
        meta.fault(line_of(bytes, at), FaultKind::Crlf);
    }
    if !bytes.is_ascii()
        && let Err(error) = std::str::from_utf8(bytes)
    {
        meta.fault(line_of(bytes, error.valid_up_to()), FaultKind::NotUtf8);
    }
    let kind = match bytes {
        bytes if bytes.trim_ascii().is_empty() => Some(FaultKind::Empty),
        bytes if bytes.starts_with(LFS) => Some(FaultKind::LfsPointer),
        _ => None,
    };
    if let Some(kind) = kind {
        meta.fault(1, kind);
        return meta;
    }
    Parser::new(bytes).parse(&mut meta);
    meta
}

/// Returns the line of an offset, counted from 1.
fn line_of(bytes: &[u8], at: usize) -> u32 {
    memchr::memchr_iter(b'\n', &bytes[..at]).count() as u32 + 1
}

impl Meta<'_> {
    fn fault(&mut self, line: u32, kind: FaultKind) {
        if !self.faults.iter().any(|fault| fault.kind == kind) {
            self.faults.push(Fault { line, kind });
        }
    }
}

#[cfg(test)]
mod tests;
