//! Reads the names in an FBX file: nodes, their meshes, materials and takes. Geometry is not read.
//!
//! Binary files are trees of records that store their end offsets, so that irrelevant records are skipped without being read.
//! Versions 7 and later number their objects; version 6 names them. ASCII files are scanned by lines. Rejected: files that
//! are neither, and records whose end offset is before their start or after the end of the file.

use super::model::{MAX_OBJECTS, Mesh, Model, ModelError, Node, Window};
use std::collections::HashMap;

const MAGIC: &[u8] = b"Kaydara FBX Binary  \x00";
/// The maximum size of an ASCII file in bytes.
const MAX_ASCII_SIZE: u64 = 256 << 20;
/// The number of bytes of properties that are read per record: an ID, a name and a kind.
const PROPERTIES: usize = 4 << 10;

/// The ID of an object: a number since version 7, a name in version 6.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Number(i64),
    Name(String),
}

/// The objects and connections of the file, in file order.
#[derive(Default)]
struct Objects {
    /// Kind (`Model`, `Geometry`), id, name and sub-kind (`Mesh`).
    list: Vec<(Kind, Id, String, String)>,
    /// Connections: child and parent.
    links: Vec<(Id, Id)>,
    takes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Model,
    Geometry,
    Material,
    Deformer,
    Stack,
}

fn kind(name: &[u8]) -> Option<Kind> {
    Some(match name {
        b"Model" => Kind::Model,
        b"Geometry" => Kind::Geometry,
        b"Material" => Kind::Material,
        b"Deformer" => Kind::Deformer,
        b"AnimationStack" => Kind::Stack,
        _ => return None,
    })
}

/// Reads the names of a binary or ASCII file.
pub(crate) fn read(window: &mut Window<'_>) -> Result<Model, ModelError> {
    let objects = if window.get(0, MAGIC.len())? == MAGIC { binary(window)? } else { text(window)? };
    Ok(objects.model())
}

impl Objects {
    fn add(&mut self, kind: Kind, properties: Vec<Property>) {
        let mut properties = properties.into_iter();
        let first = properties.next();
        let (id, name) = match first {
            Some(Property::Number(id)) => (Id::Number(id), properties.next().and_then(Property::string)),
            Some(Property::String(name)) => (Id::Name(name.clone()), Some(name)),
            _ => return,
        };
        let sub_kind = properties.next().and_then(Property::string).unwrap_or_default();
        if self.list.len() < MAX_OBJECTS {
            self.list.push((kind, id, bare(&name.unwrap_or_default()), sub_kind));
        }
    }

    fn link(&mut self, properties: Vec<Property>) {
        let mut properties = properties.into_iter();
        let objects = properties.next().and_then(Property::string).is_some_and(|kind| kind == "OO");
        let mut id = || match properties.next() {
            Some(Property::Number(id)) => Some(Id::Number(id)),
            Some(Property::String(name)) => Some(Id::Name(name)),
            _ => None,
        };
        if let (true, Some(child), Some(parent)) = (objects, id(), id())
            && self.links.len() < 10 * MAX_OBJECTS
        {
            self.links.push((child, parent));
        }
    }

    /// Builds the node hierarchy, parents first.
    fn model(self) -> Model {
        let place: HashMap<&Id, usize> =
            self.list.iter().enumerate().map(|(at, object)| (&object.1, at)).collect();
        let mut parent = vec![None; self.list.len()];
        let mut mesh = vec![Mesh::None; self.list.len()];
        let mut deformed = vec![false; self.list.len()];
        for (child, above) in &self.links {
            if let (Some(child), Some(above)) = (place.get(child), place.get(above))
                && (self.list[*child].0, self.list[*above].0) == (Kind::Deformer, Kind::Geometry)
            {
                deformed[*above] = true;
            }
        }
        for (child, above) in &self.links {
            let (Some(child), Some(above)) = (place.get(child), place.get(above)) else { continue };
            match (self.list[*child].0, self.list[*above].0) {
                (Kind::Model, Kind::Model) => parent[*child] = Some(*above),
                (Kind::Geometry, Kind::Model) => {
                    mesh[*above] = if deformed[*child] { Mesh::Skinned } else { Mesh::Rigid };
                }
                // Version 6 keeps the geometry in the node.
                (Kind::Deformer, Kind::Model) => mesh[*above] = Mesh::Skinned,
                _ => {}
            }
        }
        let mut model = Model { clips: self.takes, ..Model::default() };
        let mut placed = vec![None; self.list.len()];
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (at, (kind, _, name, sub_kind)) in self.list.iter().enumerate() {
            match kind {
                Kind::Model => {
                    if mesh[at] == Mesh::None && sub_kind == "Mesh" {
                        mesh[at] = Mesh::Rigid;
                    }
                    children.entry(parent[at]).or_default().push(at);
                }
                Kind::Material => model.materials.push(name.clone()),
                Kind::Stack if !model.clips.contains(name) && model.clips.len() < 4096 => {
                    model.clips.push(name.clone())
                }
                _ => {}
            }
        }
        // Traversed from the roots: nodes in a cycle are never reached.
        let mut waiting: Vec<usize> = children.remove(&None).unwrap_or_default();
        waiting.reverse();
        while let Some(at) = waiting.pop() {
            placed[at] = Some(model.nodes.len());
            let above = parent[at].and_then(|above| placed[above]);
            model.nodes.push(Node { name: self.list[at].2.clone(), parent: above, mesh: mesh[at] });
            waiting.extend(children.remove(&Some(at)).unwrap_or_default().into_iter().rev());
        }
        model
    }
}

/// Strips the class from a name: `Name\0\x01Model` in binary files, `Model::Name` in ASCII files.
fn bare(name: &str) -> String {
    if let Some((name, _)) = name.split_once("\0\u{1}") {
        return name.to_owned();
    }
    name.split_once("::").map_or(name, |(_, name)| name).to_owned()
}

/// A property of a record.
#[derive(Debug)]
enum Property {
    Number(i64),
    String(String),
    Other,
}

impl Property {
    fn string(self) -> Option<String> {
        match self {
            Property::String(text) => Some(text),
            _ => None,
        }
    }
}

/// A record of a binary file.
struct Record {
    name: Vec<u8>,
    count: u64,
    properties: u64,
    children: u64,
    end: u64,
}

fn binary(window: &mut Window<'_>) -> Result<Objects, ModelError> {
    let version =
        window.get(23, 4)?.try_into().map(u32::from_le_bytes).map_err(|_| damaged("file header", 23))?;
    let wide = version >= 7500;
    let mut objects = Objects::default();
    let (mut at, end) = (27, window.len);
    while let Some(section) = record(window, at, end, wide)? {
        at = section.end;
        let wanted = matches!(&*section.name, b"Objects" | b"Connections" | b"Takes");
        let mut inner = section.children;
        while wanted && let Some(item) = record(window, inner, section.end, wide)? {
            inner = item.end;
            match (&*section.name, &*item.name) {
                (b"Objects", name) => {
                    if let Some(kind) = kind(name) {
                        let properties = properties(window, &item)?;
                        objects.add(kind, properties);
                    }
                }
                (b"Connections", b"C" | b"Connect") => {
                    let properties = properties(window, &item)?;
                    objects.link(properties);
                }
                (b"Takes", b"Take") => {
                    let name = properties(window, &item)?.into_iter().next().and_then(Property::string);
                    objects.takes.extend(name.filter(|_| objects.takes.len() < 4096));
                }
                _ => {}
            }
        }
    }
    Ok(objects)
}

/// Parses the record at an offset; `None` at the end of a list.
fn record(window: &mut Window<'_>, at: u64, limit: u64, wide: bool) -> Result<Option<Record>, ModelError> {
    let number = if wide { 8 } else { 4 };
    let head = window.get(at, 3 * number + 1)?;
    if head.len() < 3 * number + 1 {
        return Ok(None);
    }
    let field = |n: usize| {
        let mut bytes = [0; 8];
        bytes[..number].copy_from_slice(&head[n * number..(n + 1) * number]);
        u64::from_le_bytes(bytes)
    };
    let (end, count, size, name_len) = (field(0), field(1), field(2), u64::from(head[3 * number]));
    if end == 0 {
        return Ok(None);
    }
    let name_at = at + 3 * number as u64 + 1;
    let properties = name_at + name_len;
    let children =
        properties.checked_add(size).filter(|children| *children <= end && end <= limit && end > at);
    let Some(children) = children else { return Err(damaged("record", at)) };
    let name = window.get(name_at, name_len as usize)?.to_vec();
    Ok(Some(Record { name, count, properties, children, end }))
}

fn damaged(what: &str, at: u64) -> ModelError {
    ModelError::Damaged(format!("invalid {what} at byte {at}"))
}

/// Parses the first properties of a record.
fn properties(window: &mut Window<'_>, record: &Record) -> Result<Vec<Property>, ModelError> {
    let size = (record.children - record.properties).min(PROPERTIES as u64) as usize;
    let mut bytes = window.get(record.properties, size)?;
    let mut found = Vec::new();
    while found.len() < 3 && (found.len() as u64) < record.count {
        let Some((kind, rest)) = bytes.split_first() else { break };
        let fixed = |n: usize| rest.split_at_checked(n);
        let taken = match kind {
            b'C' | b'B' => fixed(1),
            b'Y' => fixed(2),
            b'I' | b'F' => fixed(4),
            b'L' | b'D' => fixed(8),
            b'S' | b'R' => fixed(4).and_then(|(len, rest)| {
                let len = u32::from_le_bytes(len.try_into().ok()?) as usize;
                rest.split_at_checked(len)
            }),
            _ => None,
        };
        let Some((value, after)) = taken else { break };
        found.push(match kind {
            b'L' => Property::Number(value.try_into().map(i64::from_le_bytes).unwrap_or(0)),
            b'I' => Property::Number(value.try_into().map(i32::from_le_bytes).unwrap_or(0).into()),
            b'S' => Property::String(String::from_utf8_lossy(value).into_owned()),
            _ => Property::Other,
        });
        bytes = after;
    }
    Ok(found)
}

/// Parses an ASCII file, `Model: 123, "Model::Name", "Mesh" {`, by lines and braces.
fn text(window: &mut Window<'_>) -> Result<Objects, ModelError> {
    if window.len > MAX_ASCII_SIZE {
        return Err(ModelError::Damaged(format!(
            "the ASCII file has {} bytes, the limit is {MAX_ASCII_SIZE}",
            window.len
        )));
    }
    let all = window.get(0, window.len as usize)?;
    if !all.starts_with(b";")
        && memchr::memmem::find(&all[..all.len().min(4096)], b"FBXHeaderExtension").is_none()
    {
        return Err(ModelError::Damaged("the file has no FBX header".into()));
    }
    let mut objects = Objects::default();
    let mut depth = 0usize;
    let mut section = Vec::new();
    for line in all.split(|b| *b == b'\n') {
        let line = line.trim_ascii();
        if line.first().is_none_or(|b| *b == b';') {
            continue;
        }
        if let Some(colon) = memchr::memchr(b':', line).filter(|_| depth <= 1) {
            let name = &line[..colon];
            match (depth, &*section) {
                (0, _) => section = name.to_vec(),
                (_, b"Objects") => {
                    if let Some(kind) = kind(name) {
                        objects.add(kind, values(&line[colon + 1..]));
                    }
                }
                (_, b"Connections") if matches!(name, b"C" | b"Connect") => {
                    objects.link(values(&line[colon + 1..]))
                }
                (_, b"Takes") if name == b"Take" => {
                    let name = values(&line[colon + 1..]).into_iter().next().and_then(Property::string);
                    objects.takes.extend(name.filter(|_| objects.takes.len() < 4096));
                }
                _ => {}
            }
        }
        let mut quoted = false;
        for byte in line {
            match byte {
                b'"' => quoted = !quoted,
                b'{' if !quoted => depth += 1,
                b'}' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    Ok(objects)
}

/// Parses the values after a colon.
fn values(text: &[u8]) -> Vec<Property> {
    let mut found = Vec::new();
    let mut rest = text;
    while found.len() < 3 {
        rest = rest.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
        match rest.first() {
            Some(b'"') => {
                let end = memchr::memchr(b'"', &rest[1..]).map_or(rest.len(), |at| at + 1);
                found.push(Property::String(String::from_utf8_lossy(&rest[1..end]).replace("&quot;", "\"")));
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            Some(b'-' | b'0'..=b'9') => {
                let end = rest.iter().position(|b| !matches!(b, b'-' | b'0'..=b'9')).unwrap_or(rest.len());
                let number = std::str::from_utf8(&rest[..end]).ok().and_then(|text| text.parse().ok());
                found.push(number.map_or(Property::Other, Property::Number));
                rest = &rest[end..];
            }
            _ => break,
        }
    }
    found
}

#[cfg(test)]
mod tests;
