//! Reads the objects of a file in Unity's YAML as flat lists of properties, for comparisons.
//!
//! A property has the path of its keys: `m_Materials[0]`, `m_LocalPosition`. Values are strings as the file has them, inline
//! maps such as `{x: 0, y: 1}` included. Lists whose items are single values are kept as lists, so that an insertion is one
//! change and not one for every item after it; overrides of prefab instances are keyed by object and property.

use crate::class_id::ClassId;
use crate::documents::parse_header;
use crate::scalar;
use memchr::memmem;
use std::collections::{BTreeMap, HashMap};

/// The properties of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    /// Scalars by path.
    pub(crate) values: BTreeMap<String, String>,
    /// Lists of single values by path.
    pub(crate) lists: BTreeMap<String, Vec<String>>,
}

/// An object of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParsedObject {
    pub(crate) class_id: u32,
    pub(crate) stripped: bool,
    pub(crate) properties: Properties,
}

impl ParsedObject {
    /// Returns the name of the object itself; empty if it has none.
    pub(crate) fn name(&self) -> String {
        let raw = self.properties.values.get("m_Name").map(String::as_str).unwrap_or_default();
        scalar::decode(raw.as_bytes(), 2).trim().to_owned()
    }

    /// Returns the fileID of the GameObject of a component.
    pub(crate) fn owner(&self) -> Option<i64> {
        local_file_id(self.properties.values.get("m_GameObject")?).filter(|id| *id != 0)
    }
}

/// Returns the fileID of a reference inside the same file, `{fileID: 5}`.
pub(crate) fn local_file_id(value: &str) -> Option<i64> {
    value.strip_prefix("{fileID:")?.strip_suffix('}')?.trim().parse().ok()
}

/// Parses all objects of a file, by fileID. The first of several with one fileID counts.
pub(crate) fn parse_objects(text: &[u8]) -> BTreeMap<i64, ParsedObject> {
    let mut objects = BTreeMap::new();
    let starts: Vec<usize> = memmem::find_iter(text, b"--- !u!")
        .filter(|at| *at == 0 || text[at - 1] == b'\n')
        .chain([text.len()])
        .collect();
    for range in starts.windows(2) {
        let document = &text[range[0]..range[1]];
        let Some(header) = parse_header(document) else { continue };
        let body = document.splitn(3, |b| *b == b'\n').nth(2).unwrap_or_default();
        let mut properties = parse_properties(&String::from_utf8_lossy(body));
        if header.class_id == ClassId::Prefab as u32 {
            properties.key_overrides();
        }
        let object = ParsedObject { class_id: header.class_id, stripped: header.stripped, properties };
        objects.entry(header.file_id).or_insert(object);
    }
    objects
}

/// Parses the lines of one object, or of a `.meta`.
pub(crate) fn parse_properties(text: &str) -> Properties {
    let mut parser = Parser::default();
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches('\r')).collect();
    for (n, line) in lines.iter().enumerate() {
        parser.line(line, lines.get(n + 1).copied().unwrap_or_default());
    }
    parser.finish()
}

#[derive(Default)]
struct Parser {
    /// Open keys and list items: indentation, path, and whether it is an item.
    open: Vec<(usize, String, bool)>,
    values: Vec<(String, String)>,
    items: HashMap<String, usize>,
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

impl Parser {
    fn line(&mut self, line: &str, next: &str) {
        let mut indent = indent_of(line);
        let mut content = line.trim();
        if content.is_empty() || content.starts_with('%') {
            return;
        }
        // Unity wraps long inline maps, and the second line looks like a key: `type: 3}`.
        if let Some((_, last)) = self.values.last_mut()
            && last.starts_with('{')
            && !last.contains('}')
        {
            last.push(' ');
            last.push_str(content);
            return;
        }
        while let Some(rest) = content.strip_prefix("- ").or((content == "-").then_some("")) {
            self.open.retain(|(known, _, is_item)| *known < indent || *known == indent && !is_item);
            let list = self.open.last().map(|(_, path, _)| path.clone()).unwrap_or_default();
            let at = self.items.entry(list.clone()).or_insert(0);
            let path = format!("{list}[{at}]");
            *at += 1;
            self.open.push((indent, path.clone(), true));
            content = rest.trim_start();
            indent += 2;
            if content.is_empty() {
                return;
            }
            if key_value(content).is_none() && !content.starts_with("- ") {
                self.values.push((path, content.to_owned()));
                return;
            }
        }
        let Some((key, value)) = key_value(content) else {
            // The continuation of a value.
            if let Some((_, last)) = self.values.last_mut() {
                last.push(' ');
                last.push_str(content);
            }
            return;
        };
        self.open.retain(|(known, ..)| *known < indent);
        let parent = self.open.last().map(|(_, path, _)| path.as_str()).unwrap_or_default();
        let path = if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") };
        let nested = !next.trim().is_empty()
            && (indent_of(next) > indent || indent_of(next) == indent && next.trim_start().starts_with("- "));
        if value.is_empty() && nested {
            self.open.push((indent, path, false));
        } else {
            self.values.push((path, value.to_owned()));
        }
    }

    fn finish(self) -> Properties {
        let mut properties = Properties::default();
        for (path, value) in self.values {
            match path.strip_suffix(']').and_then(|path| path.rsplit_once('[')) {
                Some((list, _)) => properties.lists.entry(list.to_owned()).or_default().push(value),
                // The components of a GameObject: a list of maps with one key.
                None => match path.strip_suffix("].component").and_then(|path| path.rsplit_once('[')) {
                    Some((list, _)) => properties.lists.entry(list.to_owned()).or_default().push(value),
                    None => _ = properties.values.insert(path, value),
                },
            }
        }
        properties
    }
}

/// Splits `key: value`. A key has no spaces at its ends, and inline maps and strings are no keys.
fn key_value(content: &str) -> Option<(&str, &str)> {
    if content.starts_with(['{', '[', '"', '\'']) {
        return None;
    }
    match content.split_once(": ") {
        Some((key, value)) => Some((key, value.trim())),
        None => content.strip_suffix(':').map(|key| (key, "")),
    }
}

impl Properties {
    /// Keys the overrides of a prefab instance by the object that they override and by its property.
    fn key_overrides(&mut self) {
        const LIST: &str = "m_Modification.m_Modifications[";
        let (overrides, values): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.values).into_iter().partition(|(path, _)| path.starts_with(LIST));
        self.values = values;
        let mut by_item: BTreeMap<&str, HashMap<&str, &str>> = BTreeMap::new();
        for (path, value) in &overrides {
            if let Some((item, key)) = path[LIST.len()..].split_once("].") {
                by_item.entry(item).or_default().insert(key, value);
            }
        }
        for item in by_item.values() {
            let get = |key: &str| item.get(key).copied().unwrap_or_default();
            let value = match get("value") {
                "" => get("objectReference"),
                value => value,
            };
            let key = format!("override {} {}", get("target"), get("propertyPath"));
            self.values.insert(key, value.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattens_keys_lists_and_items() {
        let text = "  m_Name: Pole\n  m_Component:\n  - component: {fileID: 1}\n  - component: {fileID: 2}\n  m_Tags:\n  - a\n  - b\n  \
             m_Empty: \n  m_Nested:\n    x: 1\n    list:\n    - first: 1\n      second: {fileID: 7, guid: ab,\n        type: 3}\n    - first: 2\n  \
             m_Long: one two\n    three\n  m_None: []\n";
        let found = parse_properties(text);
        let value = |path: &str| found.values.get(path).map(String::as_str);
        assert_eq!(value("m_Name"), Some("Pole"));
        assert_eq!(value("m_Empty"), Some(""));
        assert_eq!(value("m_Nested.x"), Some("1"));
        assert_eq!(value("m_Nested.list[0].second"), Some("{fileID: 7, guid: ab, type: 3}"));
        assert_eq!(value("m_Nested.list[1].first"), Some("2"));
        assert_eq!(value("m_Long"), Some("one two three"));
        assert_eq!(value("m_None"), Some("[]"));
        assert_eq!(found.lists["m_Component"], ["{fileID: 1}", "{fileID: 2}"]);
        assert_eq!(found.lists["m_Tags"], ["a", "b"]);
    }

    #[test]
    fn keys_overrides_by_object_and_property() {
        let text = "--- !u!1001 &7\nPrefabInstance:\n  m_Modification:\n    m_Modifications:\n    \
             - target: {fileID: 5, guid: ab, type: 3}\n      propertyPath: m_Name\n      value: New\n      objectReference: {fileID: 0}\n    \
             - target: {fileID: 6, guid: ab, type: 3}\n      propertyPath: m_Mesh\n      value: \n      objectReference: {fileID: 8}\n";
        let objects = parse_objects(text.as_bytes());
        let values = &objects[&7].properties.values;
        assert_eq!(values["override {fileID: 5, guid: ab, type: 3} m_Name"], "New");
        assert_eq!(values["override {fileID: 6, guid: ab, type: 3} m_Mesh"], "{fileID: 8}");
    }

    #[test]
    fn any_text_is_accepted() {
        for text in
            ["", "-", "- - - a", ":", "  : \n - :", "a: {", "--- !u!1 &1\n", "--- !u!1 &1\nX:\n- \n  -\n"]
        {
            parse_properties(text);
            parse_objects(text.as_bytes());
        }
    }
}
