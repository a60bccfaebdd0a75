//! The objects of one file in Unity's YAML: a table of the document headers, and single documents that are parsed on demand.
//!
//! A file is scanned once, in chunks, and only the position of each document is kept, so that one lookup in a scene of a
//! hundred megabytes reads the file through but holds a few megabytes.

use crate::class_id::ClassId;
use crate::documents::parse_header;
use crate::refs;
use crate::scalar;
use memchr::memmem::{self, Finder};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::LazyLock;

/// The size of a chunk of the scan in bytes.
const CHUNK: usize = 256 << 10;
/// The maximum size of a document that is parsed, in bytes; the rest is ignored.
const MAX_DOCUMENT: usize = 64 << 20;
/// The maximum length of a header line in bytes.
const MAX_HEADER: usize = 80;
/// Set in [`Position::class_id`] of a placeholder. Class IDs are below it.
const STRIPPED: u32 = 1 << 31;

/// The position of a document in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) file_id: i64,
    start: u64,
    len: u32,
    class_id: u32,
}

impl Position {
    pub(super) fn class_id(&self) -> u32 {
        self.class_id & !STRIPPED
    }

    /// Returns whether the document is a placeholder of an object in another prefab.
    pub(super) fn is_stripped(&self) -> bool {
        self.class_id & STRIPPED != 0
    }
}

/// A key of a document.
#[derive(Clone, Copy)]
enum Key {
    Name,
    GameObject,
    Script,
    EditorClassIdentifier,
    CorrespondingSourceObject,
    PrefabParentObject,
    PrefabInstance,
    PrefabInternal,
    SourcePrefab,
    ParentPrefab,
}

/// The keys as they are in a file, in the order of [`Key`].
const KEYS: [&[u8]; 10] = [
    b"\n  m_Name:",
    b"\n  m_GameObject:",
    b"\n  m_Script:",
    b"\n  m_EditorClassIdentifier:",
    b"\n  m_CorrespondingSourceObject:",
    b"\n  m_PrefabParentObject:",
    b"\n  m_PrefabInstance:",
    b"\n  m_PrefabInternal:",
    b"\n  m_SourcePrefab:",
    b"\n  m_ParentPrefab:",
];

impl Key {
    /// Returns the text after the key.
    fn value(self, text: &[u8]) -> Option<&[u8]> {
        // Most documents are so short that making a searcher would take longer than the search.
        static SEARCHERS: LazyLock<[Finder<'static>; KEYS.len()]> = LazyLock::new(|| KEYS.map(Finder::new));
        let at = SEARCHERS[self as usize].find(text)?;
        Some(&text[at + KEYS[self as usize].len()..])
    }
}

/// The documents of a file.
#[derive(Debug, Default)]
pub(super) struct YamlObjects {
    /// All documents, ascending by fileID; of equal ones the first in the file counts.
    positions: Vec<Position>,
    /// The fileIDs of the prefab instances, in the order of the file, with the GUIDs of their prefabs as far as those were
    /// found by the scan.
    pub(super) instances: Vec<(i64, Option<u128>)>,
}

/// The keys of a document that names depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    /// `m_Name`, if it is not empty.
    pub(super) name: Option<String>,
    /// The fileID of the GameObject of a component.
    pub(super) owner: Option<i64>,
    /// The GUID and fileID of `m_Script`.
    pub(super) script: Option<(u128, i64)>,
    /// The class in `m_EditorClassIdentifier`, without assembly and namespace.
    pub(super) class_identifier: Option<String>,
    /// The GUID and fileID of the object that a placeholder stands for.
    pub(super) source: Option<(u128, i64)>,
    /// The fileID of the prefab instance that the object belongs to.
    pub(super) instance: Option<i64>,
    /// The GUID of the prefab that an instance is made of.
    pub(super) prefab: Option<u128>,
    /// The names that an instance gives to objects of its prefab, by GUID and fileID.
    pub(super) names: HashMap<(u128, i64), String>,
}

impl YamlObjects {
    /// Scans a file for document headers. Returns `None` if it is not in Unity's YAML.
    pub(super) fn scan(file: &mut File) -> io::Result<Option<YamlObjects>> {
        let mut found = YamlObjects::default();
        let finder = Finder::new(b"\n--- !u!");
        // Most files are much smaller than a chunk.
        let len = file.metadata()?.len().saturating_add(2).min(CHUNK as u64) as usize;
        let mut buffer = vec![0; len + MAX_HEADER];
        // The first byte is a line break before the file, so that the first line is no special case.
        buffer[0] = b'\n';
        let (mut filled, mut at) = (1, 0u64);
        let mut is_first = true;
        loop {
            let read = fill(file, &mut buffer[filled..])?;
            let ended = filled + read < buffer.len();
            filled += read;
            if std::mem::take(&mut is_first) && !is_yaml(&buffer[1..filled]) {
                return Ok(None);
            }
            // A header at the end of the chunk may be incomplete: it is found again at the start of the next one.
            let end = if ended { filled } else { filled - MAX_HEADER };
            for place in finder.find_iter(&buffer[..filled]).take_while(|place| *place < end) {
                found.push(at + place as u64, &buffer[place + 1..filled]);
            }
            if ended {
                found.close(at + filled as u64 - 1);
                break;
            }
            buffer.copy_within(end..filled, 0);
            at += end as u64;
            filled -= end;
        }
        // Not a stable sort, which allocates half of the table again.
        found.positions.sort_unstable_by_key(|each| (each.file_id, each.start));
        found.positions.dedup_by_key(|each| each.file_id);
        // Most files fit the buffer, and their documents need not be read again.
        if at == 0 && !found.instances.is_empty() {
            found.find_prefabs(&buffer[..filled], 1);
        }
        Ok(Some(found))
    }

    /// Adds the document whose header is at offset `start` of the file.
    fn push(&mut self, start: u64, text: &[u8]) {
        self.close(start);
        let Some(header) = parse_header(text) else { return };
        if header.class_id & STRIPPED != 0 {
            return;
        }
        if header.class_id == ClassId::Prefab as u32 && !header.stripped {
            self.instances.push((header.file_id, None));
        }
        let class_id = header.class_id | if header.stripped { STRIPPED } else { 0 };
        self.positions.push(Position { file_id: header.file_id, start, len: 0, class_id });
    }

    fn close(&mut self, end: u64) {
        if let Some(last) = self.positions.last_mut().filter(|last| last.len == 0) {
            last.len = u32::try_from(end - last.start).unwrap_or(u32::MAX);
        }
    }

    /// Finds the prefabs of the instances in the whole text of the file, where `start` is the offset of its first byte.
    fn find_prefabs(&mut self, text: &[u8], start: usize) {
        let mut instances = std::mem::take(&mut self.instances);
        for (file_id, prefab) in &mut instances {
            *prefab = self.find(*file_id).and_then(|position| {
                let start = start + usize::try_from(position.start).ok()?;
                Details::prefab_of(text.get(start..start + position.len as usize)?)
            });
        }
        self.instances = instances;
    }

    /// Returns the number of documents.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the document with this fileID.
    pub(super) fn find(&self, file_id: i64) -> Option<Position> {
        let at = self.positions.binary_search_by_key(&file_id, |each| each.file_id).ok()?;
        Some(self.positions[at])
    }
}

impl Details {
    /// Reads and parses a document. A file that was modified since the scan has no such document.
    pub(super) fn read(file: &mut File, position: Position) -> io::Result<Option<Details>> {
        file.seek(SeekFrom::Start(position.start))?;
        let mut text = vec![0; (position.len as usize).min(MAX_DOCUMENT)];
        let read = fill(file, &mut text)?;
        text.truncate(read);
        let header = parse_header(&text).filter(|header| header.file_id == position.file_id);
        Ok(header.map(|header| Details::parse(&text, header.class_id)))
    }

    /// Returns the GUID of the prefab that an instance is made of.
    fn prefab_of(text: &[u8]) -> Option<u128> {
        foreign(text, [Key::SourcePrefab, Key::ParentPrefab]).map(|(guid, _)| guid)
    }

    fn parse(text: &[u8], class_id: u32) -> Details {
        let reference = |key: Key| reference(text, key);
        let foreign = |keys: [Key; 2]| foreign(text, keys);
        let local = |key: Key| reference(key).map(|(_, id)| id).filter(|id| *id != 0);
        let string = |key: Key| {
            let decoded = key.value(text).map(|rest| scalar::decode(rest, 2).into_owned());
            decoded.filter(|name| !name.is_empty())
        };
        let mut details = Details {
            name: string(Key::Name),
            owner: local(Key::GameObject),
            script: foreign([Key::Script, Key::Script]),
            class_identifier: string(Key::EditorClassIdentifier).and_then(|text| class_of(&text)),
            source: foreign([Key::CorrespondingSourceObject, Key::PrefabParentObject]),
            instance: local(Key::PrefabInstance).or_else(|| local(Key::PrefabInternal)),
            ..Details::default()
        };
        if class_id == ClassId::Prefab as u32 {
            details.prefab = Details::prefab_of(text);
            details.names = name_overrides(text);
        }
        details
    }
}

/// Returns the reference after a key of a document: its GUID, if it has one, and its fileID.
fn reference(text: &[u8], key: Key) -> Option<(Option<u128>, i64)> {
    let rest = key.value(text)?.trim_ascii_start().strip_prefix(b"{fileID:")?;
    let end = memchr::memchr(b'}', &rest[..rest.len().min(160)])?;
    let id = rest[..end].split(|byte| *byte == b',').next()?.trim_ascii();
    let id: i64 = std::str::from_utf8(id).ok()?.parse().ok()?;
    let mut guid = None;
    refs::scan(&rest[..end], 0, |found| guid = guid.or(Some(found.guid)));
    Some((guid, id))
}

/// Returns the first reference to another file after one of two keys.
fn foreign(text: &[u8], keys: [Key; 2]) -> Option<(u128, i64)> {
    keys.into_iter().find_map(|key| {
        let (guid, id) = reference(text, key)?;
        Some((guid?, id))
    })
}

/// Returns whether a file is in another format than Unity's YAML, by its extension.
pub(super) fn is_other_format(path: &str) -> bool {
    const OTHER: [&str; 26] = [
        "png", "jpg", "jpeg", "tga", "tif", "tiff", "bmp", "gif", "exr", "hdr", "psd", "cs", "dll", "wav",
        "mp3", "ogg", "fbx", "obj", "dae", "blend", "ttf", "otf", "shader", "hlsl", "cginc", "compute",
    ];
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    OTHER.iter().any(|other| extension.eq_ignore_ascii_case(other))
}

/// Returns the class in `Assembly::Namespace.Class`, as Unity 6 writes it.
pub(super) fn class_of(identifier: &str) -> Option<String> {
    let name = identifier.rsplit(['.', ':', '/', '+']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the modifications of `m_Name` in a prefab instance, by the GUID and fileID of their target.
fn name_overrides(text: &[u8]) -> HashMap<(u128, i64), String> {
    const KEY: &[u8] = b"propertyPath: m_Name";
    /// The maximum distance in bytes between a target and its property path.
    const TARGET: usize = 200;
    let mut names = HashMap::new();
    for at in memmem::find_iter(text, KEY) {
        let rest = &text[at + KEY.len()..];
        let line_end = rest.strip_prefix(b"\r").unwrap_or(rest);
        let Some(value) = line_end.strip_prefix(b"\n").map(<[u8]>::trim_ascii_start) else { continue };
        let Some(value) = value.strip_prefix(b"value:") else { continue };
        let before = &text[at.saturating_sub(TARGET)..at];
        let Some(target) = memmem::rfind(before, b"target: {") else { continue };
        let mut found = None;
        refs::scan(&before[target..], 0, |each| found = found.or(Some((each.guid, each.file_id))));
        if let Some(target) = found {
            names.insert(target, scalar::decode(value, 6).into_owned());
        }
    }
    names
}

fn is_yaml(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.starts_with(b"%YAML") || bytes.starts_with(b"--- ")
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(text: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn finds_documents_across_chunks() {
        let mut text = "%YAML 1.1\n".to_owned();
        for n in 0..20_000 {
            text += &format!(
                "--- !u!1 &{n}{}\nGameObject:\n  m_Name: n{n}\n",
                if n % 2 == 0 { "" } else { " stripped" }
            );
        }
        let mut file = file(&text);
        let objects = YamlObjects::scan(&mut file).unwrap().unwrap();
        assert_eq!(objects.positions.len(), 20_000);
        for n in [0, 1, 5_000, 12_345, 19_999] {
            let position = objects.find(n).unwrap();
            assert_eq!(position.is_stripped(), n % 2 == 1);
            let details = Details::read(&mut file, position).unwrap().unwrap();
            assert_eq!(details.name, Some(format!("n{n}")));
        }
        assert!(objects.find(20_000).is_none());
    }

    #[test]
    fn first_of_equal_anchors_counts() {
        let mut file =
            file("--- !u!1 &7\nGameObject:\n  m_Name: first\n--- !u!1 &7\nGameObject:\n  m_Name: second\n");
        let objects = YamlObjects::scan(&mut file).unwrap().unwrap();
        let details = Details::read(&mut file, objects.find(7).unwrap()).unwrap().unwrap();
        assert_eq!(details.name.as_deref(), Some("first"));
    }

    #[test]
    fn other_formats_have_no_objects() {
        assert!(YamlObjects::scan(&mut file("version https://git-lfs")).unwrap().is_none());
        assert!(YamlObjects::scan(&mut file("")).unwrap().is_none());
        assert!(YamlObjects::scan(&mut file("%YAML 1.1\n")).unwrap().unwrap().is_empty());
    }

    #[test]
    fn parses_overrides_of_names() {
        let guid = "8f57b4a070f7b43bbb3925467e6752ab";
        let text = format!(
            "--- !u!1001 &5\nPrefabInstance:\n  m_Modification:\n    m_Modifications:\n    - target: {{fileID: -7, guid: {guid},\n        type: 3}}\n      \
             propertyPath: m_Name\n      value: 'a: b'\n      objectReference: {{fileID: 0}}\n    - target: {{fileID: 8, guid: {guid}, type: 3}}\n      \
             propertyPath: m_NameOther\n      value: no\n  m_SourcePrefab: {{fileID: 100100000, guid: {guid}, type: 3}}\n"
        );
        let mut file = file(&text);
        let objects = YamlObjects::scan(&mut file).unwrap().unwrap();
        assert_eq!(objects.instances, [(5, crate::guid::parse(guid))]);
        let details = Details::read(&mut file, objects.find(5).unwrap()).unwrap().unwrap();
        let guid = crate::guid::parse(guid).unwrap();
        assert_eq!(details.prefab, Some(guid));
        assert_eq!(details.names, HashMap::from([((guid, -7), "a: b".to_owned())]));
    }

    #[test]
    fn class_identifiers_lose_assembly_and_namespace() {
        let class = |text| class_of(text);
        assert_eq!(class("UnityEngine.UI::UnityEngine.UI.Image").as_deref(), Some("Image"));
        assert_eq!(class("Assembly-CSharp::Player").as_deref(), Some("Player"));
        assert_eq!(class("::"), None);
    }
}
