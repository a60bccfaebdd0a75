//! Parsed `.meta` files that differ from others in nothing but the GUID.
//!
//! In real projects five of six `.meta` files are, after the line of the GUID, byte for byte equal to one that was read before:
//! scripts, folders, prefabs and materials nearly always, textures mostly. Comparing bytes is ten times as fast as parsing them.

use crate::guid;
use crate::meta::Meta;
use crate::refs;

/// The number of files that are remembered. Real projects have more kinds, but the kinds of one folder are few.
const SLOTS: usize = 64;
/// The maximum length of a file that is remembered, in bytes. Longer ones list sprites or clips, which are never equal.
const MAX_LEN: usize = 8 << 10;
/// The lines up to the digits of the GUID, as all versions of Unity write them.
const HEAD: &[u8] = b"fileFormatVersion: 2\nguid: ";

/// The importers whose files are remembered. A file of another importer is parsed.
const IMPORTERS: [&str; 18] = [
    "",
    "AssemblyDefinitionImporter",
    "AssemblyDefinitionReferenceImporter",
    "AudioImporter",
    "ComputeShaderImporter",
    "DefaultImporter",
    "ModelImporter",
    "MonoImporter",
    "NativeFormatImporter",
    "PackageManifestImporter",
    "PluginImporter",
    "PrefabImporter",
    "ShaderImporter",
    "ShaderIncludeImporter",
    "TextScriptImporter",
    "TextureImporter",
    "TrueTypeFontImporter",
    "VideoClipImporter",
];

/// The last `.meta` files that were parsed, by their bytes after the GUID.
#[derive(Default)]
pub(super) struct MetaCache {
    slots: Vec<Slot>,
}

#[derive(Default)]
struct Slot {
    /// The bytes after the digits of the GUID; empty for a free slot.
    tail: Vec<u8>,
    meta: Meta<'static>,
}

impl MetaCache {
    /// Returns the content of a `.meta` file, if it was parsed before with another GUID. Such a file refers to no asset.
    pub(super) fn get(&mut self, bytes: &[u8]) -> Option<&Meta<'static>> {
        let (digits, tail) = split(bytes)?;
        let slot = self.slots.get_mut(slot_of(tail))?;
        if slot.tail != tail {
            return None;
        }
        slot.meta.guid = Some(guid::parse_bytes(digits).filter(|guid| *guid != 0)?);
        Some(&slot.meta)
    }

    /// Remembers the content of a `.meta` file, unless it names objects, refers to assets or has faults.
    pub(super) fn put(&mut self, bytes: &[u8], meta: &Meta<'_>) {
        let Some((_, tail)) = split(bytes).filter(|_| bytes.len() <= MAX_LEN) else { return };
        let Some(meta) = without_names(meta) else { return };
        // A reference to the asset itself would be one to another asset in an equal file.
        let mut has_references = false;
        refs::scan_meta(tail, |_| has_references = true);
        if has_references {
            return;
        }
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, Slot::default);
        }
        let slot = &mut self.slots[slot_of(tail)];
        slot.tail.clear();
        slot.tail.extend_from_slice(tail);
        slot.meta = meta;
    }
}

/// Splits a file at the GUID. `None` unless it starts as Unity writes it: anything else is for the parser.
fn split(bytes: &[u8]) -> Option<(&[u8; 32], &[u8])> {
    let (digits, tail) = bytes.strip_prefix(HEAD)?.split_first_chunk::<32>()?;
    let is_plain =
        tail.starts_with(b"\n") && digits.iter().fold(true, |all, b| all & !b.is_ascii_uppercase());
    is_plain.then_some((digits, tail))
}

/// Returns the slot of a file: a hash of its length and of bytes from all over it.
fn slot_of(tail: &[u8]) -> usize {
    const SAMPLES: usize = 12;
    let mut hash = tail.len() as u64;
    for sample in 1..=SAMPLES {
        let end = (tail.len() * sample / SAMPLES).max(8);
        let eight =
            tail.get(end - 8..end).and_then(<[u8]>::first_chunk).map_or(0, |b| u64::from_le_bytes(*b));
        hash = (hash ^ eight).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    hash as usize % SLOTS
}

/// Returns the content of a file that has no strings of its own, apart from its file.
fn without_names(meta: &Meta<'_>) -> Option<Meta<'static>> {
    let Meta { sprites, name_table, id_table, recycled, clips, scripted, faults, .. } = meta;
    let has_names = !sprites.is_empty()
        || !name_table.is_empty()
        || !id_table.is_empty()
        || !recycled.is_empty()
        || !clips.is_empty()
        || scripted.is_some();
    if has_names || !faults.is_empty() {
        return None;
    }
    Some(Meta {
        guid: meta.guid,
        folder: meta.folder,
        importer: IMPORTERS.into_iter().find(|name| *name == meta.importer)?,
        main_file_id: meta.main_file_id,
        texture_type: meta.texture_type,
        texture_shape: meta.texture_shape,
        sprite_mode: meta.sprite_mode,
        preserve_hierarchy: meta.preserve_hierarchy,
        file_ids_generation: meta.file_ids_generation,
        animation_type: meta.animation_type,
        avatar_setup: meta.avatar_setup,
        add_colliders: meta.add_colliders,
        ..Meta::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::parse;

    const A: &str = "8f57b4a070f7b43bbb3925467e6752ab";
    const B: &str = "0123456789abcdef0123456789abcdef";

    fn file(guid: &str, rest: &str) -> Vec<u8> {
        format!("fileFormatVersion: 2\nguid: {guid}\n{rest}").into_bytes()
    }

    /// Looks up a file after another one was parsed and remembered.
    fn get(known: &[u8], wanted: &[u8]) -> Option<Meta<'static>> {
        let mut cache = MetaCache::default();
        cache.put(known, &parse(known));
        cache.get(wanted).cloned()
    }

    #[test]
    fn equal_files_differ_in_guid_only() {
        for rest in [
            "",
            "folderAsset: yes\nDefaultImporter:\n  externalObjects: {}\n",
            "TextureImporter:\n  textureType: 8\n  textureShape: 2\n  spriteMode: 1\n",
            "NativeFormatImporter:\n  mainObjectFileID: 2100000\n",
            "ModelImporter:\n  meshes:\n    addColliders: 1\n    fileIdsGeneration: 2\n  preserveHierarchy: 1\n  animationType: 3\n  avatarSetup: 1\n",
        ] {
            let other = file(B, rest);
            assert_eq!(get(&file(A, rest), &other), Some(parse(&other)), "{rest}");
        }
    }

    #[test]
    fn other_files_are_parsed() {
        let rest = "TextureImporter:\n  textureType: 8\n  spriteMode: 1\n";
        let known = file(A, rest);
        for other in [
            file(B, "TextureImporter:\n  textureType: 8\n  spriteMode: 2\n"),
            file(B, &format!("{rest}  x: 1\n")),
            file(&B.to_uppercase(), rest),
            file(&"0".repeat(32), rest),
            file(&B.replace('a', "x"), rest),
            file(&B[1..], rest),
            file(&format!("{B} "), rest),
            [&b"\xef\xbb\xbf"[..], &file(B, rest)].concat(),
            file(B, &rest.replace('\n', "\r\n")),
            Vec::new(),
        ] {
            assert_eq!(get(&known, &other), None, "{}", String::from_utf8_lossy(&other));
        }
    }

    #[test]
    fn names_references_and_faults_are_not_remembered() {
        for rest in [
            "TextureImporter:\n  spriteSheet:\n    sprites:\n    - name: a\n      internalID: 5\n",
            "TextureImporter:\n  spriteSheet:\n    nameFileIdTable:\n      a: 5\n",
            "ModelImporter:\n  fileIDToRecycleName:\n    100000: a\n",
            "ScriptedImporter:\n  script: {fileID: 11500000, guid: 8f57b4a070f7b43bbb3925467e6752ab, type: 3}\n",
            "SomebodysImporter:\n  a: 1\n",
            "guid: 8f57b4a070f7b43bbb3925467e6752ac\n",
            "DefaultImporter:\n  userData: 'guid: 8f57b4a070f7b43bbb3925467e6752ab'\n",
            "<<<<<<< HEAD\nDefaultImporter:\n",
            "DefaultImporter:\n  userData: \u{e4}\r\n",
        ] {
            assert_eq!(get(&file(A, rest), &file(B, rest)), None, "{rest}");
        }
    }
}
