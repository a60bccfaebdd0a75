//! Parses `.meta` files: the GUID of an asset, its import settings, and the names of its sub-assets.
//!
//! Unity writes them in a small part of YAML. They are parsed line by line, and the meaning of a line follows from
//! its indentation, so that keys of nested lists are never mistaken for those around them. Parsing never fails: problems
//! are collected as [`Fault`]s with their lines.

use crate::guid;
use crate::scalar;
use memchr::memmem;
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

/// The settings of a ScriptedImporter, as far as they determine the objects that it makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptedSettings<'a> {
    /// The GUID of the importer's script.
    pub script: u128,
    /// `animatedSpriteImportData` of 2D Aseprite: name and `spriteID` of each sprite.
    pub animated_sprites: Vec<(Cow<'a, str>, &'a str)>,
    /// `fileImportMode` of 2D Aseprite: 0 is a sprite sheet, 1 an animated sprite.
    pub file_import_mode: Option<i64>,
    /// `generateModelPrefab` of 2D Aseprite.
    pub generates_prefab: bool,
    /// `generateAnimationClips` of 2D Aseprite.
    pub generates_clips: bool,
    /// `characterMode` of 2D PSD.
    pub is_character: bool,
    /// `prefabAssetName` of 2D PSD, which files have that an old version imported.
    pub prefab_name: &'a str,
    /// `svgType` of Vector Graphics; 0 is a vector sprite.
    pub svg_type: Option<i64>,
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
    let mut reader =
        Parser { lines: Lines { text: bytes, at: 0, number: 0 }, seen_guid: None, bad_guid: false };
    reader.parse(&mut meta);
    meta.guid = reader.seen_guid.filter(|_| !reader.bad_guid);
    if reader.seen_guid.is_none() && !reader.bad_guid {
        meta.fault(1, FaultKind::NoGuid);
    }
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

/// A line without its indentation and its line ending.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: u32,
    indent: usize,
    text: &'a [u8],
    /// The bytes from the text to the end of the file: scalars may continue in the next lines.
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    /// Returns the value, if the line has this key.
    fn value(&self, key: &str) -> Option<&'a [u8]> {
        let text = self.text.strip_prefix(key.as_bytes())?.strip_prefix(b":")?;
        (text.is_empty() || text[0] == b' ').then(|| &self.rest[key.len() + 1..])
    }

    fn number_of(&self, key: &str) -> Option<i64> {
        integer(first_line(self.value(key)?))
    }

    /// Returns the line without the dash of a list item.
    fn undashed(&self) -> Option<Line<'a>> {
        let text = self.text.strip_prefix(b"-")?;
        let spaces = text.iter().take_while(|b| **b == b' ').count();
        if spaces == 0 && !text.is_empty() {
            return None;
        }
        let skip = 1 + spaces;
        Some(Line { indent: self.indent + skip, text: &self.text[skip..], rest: &self.rest[skip..], ..*self })
    }
}

fn first_line(text: &[u8]) -> &[u8] {
    text.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii()
}

fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Returns whether a key with these first bytes matters inside the block of an importer.
fn is_relevant(start: [u8; 4]) -> bool {
    matches!(
        &start,
        b"main"
            | b"text"
            | b"spri"
            | b"pres"
            | b"clip"
            | b"anim"
            | b"file"
            | b"inte"
            | b"name"
            | b"avat"
            | b"addC"
            | b"scri"
            | b"gene"
            | b"char"
            | b"pref"
            | b"svgT"
    )
}

/// Repeats a byte eight times.
const fn each_byte(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

#[derive(Clone, Copy)]
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    number: u32,
}

impl<'a> Lines<'a> {
    /// Returns the next line that is not indented or may have a relevant key. Most lines are skipped here, eight bytes at a
    /// time: they are too short for wider SIMD to pay off.
    fn next_relevant(&mut self) -> Option<Line<'a>> {
        while let Some(eight) = self.text.get(self.at..).and_then(<[u8]>::first_chunk) {
            let indent = (u64::from_le_bytes(*eight) ^ each_byte(b' ')).trailing_zeros() as usize / 8;
            let start = self.text.get(self.at + indent..).and_then(<[u8]>::first_chunk);
            if indent == 0 || start.is_some_and(|start| is_relevant(*start)) {
                break;
            }
            let mut end = self.at + indent;
            loop {
                let Some(eight) = self.text.get(end..).and_then(<[u8]>::first_chunk) else {
                    return self.next();
                };
                let breaks = u64::from_le_bytes(*eight) ^ each_byte(b'\n');
                // The lowest zero byte has the lowest bit that remains.
                let found = breaks.wrapping_sub(each_byte(1)) & !breaks & each_byte(0x80);
                if found != 0 {
                    end += found.trailing_zeros() as usize / 8 + 1;
                    break;
                }
                end += 8;
            }
            self.at = end;
            self.number += 1;
        }
        self.next()
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.at += end + 1;
        self.number += 1;
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        let indent = line.iter().take_while(|b| **b == b' ').count();
        Some(Line { number: self.number, indent, text: &line[indent..], rest: &rest[indent..] })
    }
}

/// An item of a list of maps: its indentation, its name and the value of another key.
type ListItem<'a> = (usize, Option<Cow<'a, str>>, &'a [u8]);

struct Parser<'a> {
    lines: Lines<'a>,
    seen_guid: Option<u128>,
    bad_guid: bool,
}

impl<'a> Parser<'a> {
    fn parse(&mut self, meta: &mut Meta<'a>) {
        while let Some(line) = self.lines.next_relevant() {
            match line.indent {
                0 => self.top_level_line(line, meta),
                _ if meta.importer.is_empty() => {}
                _ => self.importer_line(line, meta),
            }
        }
    }

    fn top_level_line(&mut self, line: Line<'a>, meta: &mut Meta<'a>) {
        match line.text.first() {
            Some(b'g') => {
                if let Some(value) = line.value("guid") {
                    self.guid(line.number, first_line(value), meta);
                }
            }
            Some(b'f') => {
                meta.folder |= line.value("folderAsset").is_some_and(|value| first_line(value) == b"yes");
            }
            Some(b'<' | b'=' | b'>') => {
                let marks = [&b"<<<<<<<"[..], b"=======", b">>>>>>>"];
                if marks.iter().any(|mark| line.text.starts_with(mark)) {
                    meta.fault(line.number, FaultKind::Conflict);
                }
            }
            Some(b'A'..=b'Z') => {
                let name = line.text.strip_suffix(b":").and_then(|name| std::str::from_utf8(name).ok());
                if let Some(name) = name.filter(|_| meta.importer.is_empty()) {
                    meta.importer = name;
                    self.skip_irrelevant_importer(meta);
                }
            }
            _ => {}
        }
    }

    /// Skips the block of an importer without relevant keys, which most importers are.
    fn skip_irrelevant_importer(&mut self, meta: &Meta<'a>) {
        let plain = matches!(
            meta.importer,
            "MonoImporter"
                | "DefaultImporter"
                | "AudioImporter"
                | "ShaderImporter"
                | "PluginImporter"
                | "TextScriptImporter"
                | "AssemblyDefinitionImporter"
                | "ComputeShaderImporter"
        );
        if plain {
            let rest = &self.lines.text[self.lines.at.min(self.lines.text.len())..];
            // Lines that are not indented are still parsed: they may be conflict markers.
            for at in memchr::memchr_iter(b'\n', rest) {
                if rest.get(at + 1).is_some_and(|next| !matches!(next, b' ' | b'\n' | b'\r')) {
                    self.lines.number += memchr::memchr_iter(b'\n', &rest[..at + 1]).count() as u32;
                    self.lines.at += at + 1;
                    return;
                }
            }
            self.lines.at = self.lines.text.len();
        }
    }

    fn guid(&mut self, number: u32, text: &[u8], meta: &mut Meta<'a>) {
        let text = text.split(|b| *b == b'#').next().unwrap_or_default().trim_ascii();
        match text.try_into().ok().and_then(guid::parse_bytes) {
            Some(0) => {
                self.bad_guid = true;
                meta.fault(number, FaultKind::ZeroGuid);
            }
            Some(guid) => match self.seen_guid {
                Some(first) if first != guid => {
                    self.bad_guid = true;
                    meta.fault(number, FaultKind::SecondGuid(guid));
                }
                first => {
                    if first.is_none() && text.iter().any(u8::is_ascii_uppercase) {
                        meta.fault(number, FaultKind::UpperCaseGuid);
                    }
                    self.seen_guid = Some(guid);
                }
            },
            None => {
                self.bad_guid = true;
                let shown = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
                meta.fault(number, FaultKind::BadGuid(shown));
            }
        }
    }

    /// Parses a line of the importer block.
    fn importer_line(&mut self, line: Line<'a>, meta: &mut Meta<'a>) {
        let direct = line.indent == 2;
        if meta.importer == "ScriptedImporter" && self.scripted_line(line, meta) {
            return;
        }
        match line.text.first() {
            Some(b'm') if direct => {
                if let Some(id) = line.number_of("mainObjectFileID") {
                    meta.main_file_id = Some(id).filter(|id| *id != 0);
                }
            }
            Some(b't') if direct => {
                if let Some(value) = line.number_of("textureType") {
                    meta.texture_type.get_or_insert(value);
                } else if let Some(value) = line.number_of("textureShape") {
                    meta.texture_shape.get_or_insert(value);
                }
            }
            Some(b's') => {
                if direct && let Some(value) = line.number_of("spriteMode") {
                    meta.sprite_mode.get_or_insert(value);
                } else if line.indent == 4 && line.text == b"sprites:" {
                    self.list(line.indent, "internalID", |name, id| {
                        meta.sprites.push((name, integer(id).unwrap_or(0)));
                    });
                }
            }
            Some(b'p') => {
                meta.preserve_hierarchy |= line.number_of("preserveHierarchy") == Some(1);
            }
            Some(b'c') if line.text == b"clipAnimations:" => {
                self.list(line.indent, "internalID", |name, id| {
                    meta.clips.push((name, integer(id).unwrap_or(0)));
                });
            }
            Some(b'a') if direct => {
                meta.animation_type = meta.animation_type.or(line.number_of("animationType"));
                meta.avatar_setup = meta.avatar_setup.or(line.number_of("avatarSetup"));
            }
            Some(b'a') => meta.add_colliders |= line.number_of("addColliders") == Some(1),
            Some(b'f') if line.text.starts_with(b"fileIdsGeneration") => {
                meta.file_ids_generation = line.number_of("fileIdsGeneration");
            }
            Some(b'i') if direct && line.text == b"internalIDToNameTable:" => {
                self.id_table(line.indent, meta)
            }
            Some(b'f') if direct && line.text == b"fileIDToRecycleName:" => {
                self.mapping(line.indent, |key, value| {
                    if let Some(id) = integer(key.text.split(|b| *b == b':').next().unwrap_or_default()) {
                        meta.recycled.push((id, scalar::decode(value, key.indent)));
                    }
                });
            }
            Some(b'n') if line.text == b"nameFileIdTable:" => {
                self.mapping(line.indent, |key, _| {
                    let Some(colon) = memchr::memrchr(b':', key.text) else { return };
                    if let Some(id) = integer(key.text[colon + 1..].trim_ascii()) {
                        meta.name_table.push((scalar::decode(&key.text[..colon], 0), id));
                    }
                });
            }
            _ => {}
        }
    }

    /// Returns the next line, if it belongs to the value of a key at `indent`; a list may have the indent of its key.
    fn next_within(&mut self, indent: usize, list: bool) -> Option<Line<'a>> {
        let mut ahead = self.lines;
        let line = ahead.next()?;
        let within = line.indent > indent
            || line.text.is_empty()
            || (list && line.indent == indent && line.text.starts_with(b"-"));
        within.then(|| {
            self.lines = ahead;
            line
        })
    }

    /// Parses a line of the block of a ScriptedImporter. Returns whether it was one of its settings.
    fn scripted_line(&mut self, line: Line<'a>, meta: &mut Meta<'a>) -> bool {
        if let Some(value) = line.value("script").filter(|_| line.indent == 2) {
            let value = first_line(value);
            let digits = memmem::find(value, b"guid: ").and_then(|at| value.get(at + 6..)?.first_chunk());
            if let Some(script) = digits.and_then(guid::parse_bytes) {
                meta.scripted.get_or_insert_default().script = script;
            }
            return true;
        }
        // Unity writes the script before the settings.
        let Some(settings) = &mut meta.scripted else { return false };
        match (line.indent, line.text.first()) {
            (2, Some(b'a')) if line.text == b"animatedSpriteImportData:" => {
                self.list(line.indent, "spriteID", |name, id| {
                    if let Some(id) = std::str::from_utf8(id).ok().filter(|id| !id.is_empty()) {
                        settings.animated_sprites.push((name, id));
                    }
                });
                return true;
            }
            (2, Some(b'c')) => settings.is_character |= line.number_of("characterMode") == Some(1),
            (2, Some(b'p')) => {
                if let Some(name) = line.value("prefabAssetName") {
                    settings.prefab_name = std::str::from_utf8(first_line(name)).unwrap_or_default();
                }
            }
            (2, Some(b's')) => settings.svg_type = line.number_of("svgType").or(settings.svg_type),
            // The current settings of 2D Aseprite follow the previous ones.
            (4, Some(b'f')) => {
                settings.file_import_mode = line.number_of("fileImportMode").or(settings.file_import_mode);
            }
            (4, Some(b'g')) => {
                if let Some(value) = line.number_of("generateModelPrefab") {
                    settings.generates_prefab = value == 1;
                } else if let Some(value) = line.number_of("generateAnimationClips") {
                    settings.generates_clips = value == 1;
                }
            }
            _ => {}
        }
        false
    }

    /// Parses a list of maps: the `name` of each and the value of `key`, at its own indentation and no deeper.
    fn list(&mut self, indent: usize, key: &str, mut put: impl FnMut(Cow<'a, str>, &'a [u8])) {
        let mut item: Option<ListItem<'a>> = None;
        let mut put = |item: Option<ListItem<'a>>| {
            if let Some((_, Some(name), id)) = item {
                put(name, id);
            }
        };
        let mut dashes = None;
        while let Some(line) = self.next_within(indent, true) {
            let mut line = line;
            let opens = line.text.starts_with(b"-") && line.indent <= *dashes.get_or_insert(line.indent);
            if opens && let Some(first) = line.undashed() {
                put(item.replace((first.indent, None, &[])));
                line = first;
            }
            let Some((own, name, id)) = &mut item else { continue };
            if line.indent != *own {
                continue;
            }
            match line.text.first_chunk() {
                Some(b"name") => {
                    if let Some(value) = line.value("name") {
                        name.get_or_insert_with(|| scalar::decode(value, line.indent));
                    }
                }
                Some(b"inte" | b"spri") => *id = line.value(key).map_or(*id, first_line),
                _ => {}
            }
        }
        put(item);
    }

    fn id_table(&mut self, indent: usize, meta: &mut Meta<'a>) {
        let mut key = None;
        while let Some(line) = self.next_within(indent, true) {
            let line = line.undashed().unwrap_or(line);
            if let Some(value) = line.value("second") {
                if let Some((class, id)) = key.take() {
                    meta.id_table.push((class, id, scalar::decode(value, line.indent)));
                }
            } else if line.text.first().is_some_and(u8::is_ascii_digit) {
                let mut halves = line.text.splitn(2, |b| *b == b':');
                let class = halves.next().and_then(integer).and_then(|class| u32::try_from(class).ok());
                let id = halves.next().and_then(|id| integer(id.trim_ascii()));
                key = class.zip(id);
            }
        }
    }

    /// Calls `put` for each line of a map one level below `indent`, with the value after its first colon.
    fn mapping(&mut self, indent: usize, mut put: impl FnMut(Line<'a>, &'a [u8])) {
        let mut own = None;
        while let Some(line) = self.next_within(indent, false) {
            if line.text.is_empty() || line.indent != *own.get_or_insert(line.indent) {
                continue;
            }
            if let Some(colon) = memchr::memchr(b':', line.text) {
                put(line, &line.rest[colon + 1..]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
