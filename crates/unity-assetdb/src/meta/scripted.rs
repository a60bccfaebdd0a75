//! Parses the settings of ScriptedImporters of packages, as far as they determine the objects that an importer makes.

use super::Meta;
use super::lines::{Line, first_line};
use super::parser::Parser;
use crate::guid;
use memchr::memmem;
use std::borrow::Cow;

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
    /// `rigSpriteImportData` of 2D PSD: name and `spriteID` of each sprite of a character rig.
    pub rig_sprites: Vec<(Cow<'a, str>, &'a str)>,
    /// `skeletonAssetReferenceID` of 2D PSD: true if the rig is that of another asset, and so are its sprites.
    pub shares_skeleton: bool,
    /// `prefabAssetName` of 2D PSD, which files have that an old version imported.
    pub prefab_name: &'a str,
    /// `svgType` of Vector Graphics; 0 is a vector sprite.
    pub svg_type: Option<i64>,
}

impl<'a> Parser<'a> {
    /// Parses a line of the block of a ScriptedImporter. Returns whether it was one of its settings.
    pub(super) fn scripted_line(&mut self, line: Line<'a>, meta: &mut Meta<'a>) -> bool {
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
                self.sprite_ids(line.indent, &mut settings.animated_sprites);
                return true;
            }
            (2, Some(b'r')) if line.text == b"rigSpriteImportData:" => {
                self.sprite_ids(line.indent, &mut settings.rig_sprites);
                return true;
            }
            (2, Some(b'c')) => settings.is_character |= line.number_of("characterMode") == Some(1),
            (2, Some(b'p')) => {
                if let Some(name) = line.value("prefabAssetName") {
                    settings.prefab_name = std::str::from_utf8(first_line(name)).unwrap_or_default();
                }
            }
            (2, Some(b's')) => {
                settings.svg_type = line.number_of("svgType").or(settings.svg_type);
                settings.shares_skeleton |=
                    line.value("skeletonAssetReferenceID").is_some_and(|id| !first_line(id).is_empty());
            }
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

    /// Parses a list of sprites: the name and the `spriteID` of each that has one.
    fn sprite_ids(&mut self, indent: usize, sprites: &mut Vec<(Cow<'a, str>, &'a str)>) {
        self.list(indent, "spriteID", |name, id| {
            if let Some(id) = std::str::from_utf8(id).ok().filter(|id| !id.is_empty()) {
                sprites.push((name, id));
            }
        });
    }
}
