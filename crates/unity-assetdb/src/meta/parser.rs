//! Parses the lines of a `.meta` file: the GUID, and the block of its importer.

use super::lines::{Line, Lines, first_line, integer};
use super::{FaultKind, Meta};
use crate::guid;
use crate::scalar;
use std::borrow::Cow;

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
            | b"rigS"
            | b"skel"
    )
}

/// An item of a list of maps: its indentation, its name and the value of another key.
type ListItem<'a> = (usize, Option<Cow<'a, str>>, &'a [u8]);

pub(super) struct Parser<'a> {
    lines: Lines<'a>,
    seen_guid: Option<u128>,
    bad_guid: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a [u8]) -> Parser<'a> {
        Parser { lines: Lines::new(text), seen_guid: None, bad_guid: false }
    }

    /// Parses all lines.
    pub(super) fn parse(mut self, meta: &mut Meta<'a>) {
        loop {
            self.lines.skip_irrelevant(0, is_relevant);
            let Some(line) = self.lines.next() else { break };
            match line.indent {
                0 => self.top_level_line(line, meta),
                _ if meta.importer.is_empty() => {}
                _ => self.importer_line(line, meta),
            }
        }
        meta.guid = self.seen_guid.filter(|_| !self.bad_guid);
        if self.seen_guid.is_none() && !self.bad_guid {
            meta.fault(1, FaultKind::NoGuid);
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
            // Lines that are not indented are still parsed: they may be conflict markers.
            self.lines.skip_block();
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

    /// Parses a list of maps: the `name` of each and the value of `key`, at its own indentation and no deeper.
    pub(super) fn list(&mut self, indent: usize, key: &str, mut put: impl FnMut(Cow<'a, str>, &'a [u8])) {
        let mut item: Option<ListItem<'a>> = None;
        let mut put = |item: Option<ListItem<'a>>| {
            if let Some((_, Some(name), id)) = item {
                put(name, id);
            }
        };
        let is_relevant = |start: [u8; 4]| start[0] == b'-' || matches!(&start, b"name" | b"inte" | b"spri");
        let mut dashes = None;
        loop {
            self.lines.skip_irrelevant(indent, is_relevant);
            let Some(mut line) = self.next_within(indent, true) else { break };
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
