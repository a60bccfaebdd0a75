//! The JSON tree of a document: access to members, changes, and its text.

use std::borrow::Cow;
use std::fmt::Write;

use kiln_import::gltf;

/// An owned JSON value.
pub(crate) type Json = gltf::Json<'static>;

/// Returns a copy that borrows nothing.
pub(crate) fn owned(json: &gltf::Json<'_>) -> Json {
    match json {
        gltf::Json::Null => Json::Null,
        gltf::Json::Bool(value) => Json::Bool(*value),
        gltf::Json::Number(number) => Json::Number(*number),
        gltf::Json::String(string) => Json::String(Cow::Owned(string.clone().into_owned())),
        gltf::Json::Array(items) => Json::Array(items.iter().map(owned).collect()),
        gltf::Json::Object(members) => Json::Object(
            members.iter().map(|(name, value)| (name.to_string().into(), owned(value))).collect(),
        ),
    }
}

/// Returns a member of an object, unless it is absent or null.
pub(crate) fn get<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    let Json::Object(members) = json else { return None };
    let (_, value) = members.iter().rev().find(|(found, _)| found == name)?;
    (*value != Json::Null).then_some(value)
}

/// Returns a member of an object for changes.
pub(crate) fn get_mut<'j>(json: &'j mut Json, name: &str) -> Option<&'j mut Json> {
    let Json::Object(members) = json else { return None };
    members.iter_mut().rev().find(|(found, _)| found == name).map(|(_, value)| value)
}

/// Sets a member of an object; a new one is the last.
pub(crate) fn set(json: &mut Json, name: &str, value: Json) {
    match get_mut(json, name) {
        Some(member) => *member = value,
        None => {
            if let Json::Object(members) = json {
                members.push((Cow::Owned(name.to_owned()), value));
            }
        }
    }
}

/// Removes all members of a name; returns the last.
pub(crate) fn remove(json: &mut Json, name: &str) -> Option<Json> {
    let Json::Object(members) = json else { return None };
    let mut removed = None;
    while let Some(at) = members.iter().position(|(found, _)| found == name) {
        removed = Some(members.remove(at).1);
    }
    removed
}

/// Returns an extension of an object.
pub(crate) fn extension<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    get(get(json, "extensions")?, name)
}

/// Sets an extension of an object.
pub(crate) fn set_extension(json: &mut Json, name: &str, value: Json) {
    match get_mut(json, "extensions") {
        Some(extensions @ Json::Object(_)) => set(extensions, name, value),
        _ => set(json, "extensions", object([(name, value)])),
    }
}

/// Removes an extension of an object, and the list of extensions if it is empty then.
pub(crate) fn remove_extension(json: &mut Json, name: &str) -> Option<Json> {
    let extensions = get_mut(json, "extensions")?;
    let removed = remove(extensions, name);
    if matches!(extensions, Json::Object(members) if members.is_empty()) {
        remove(json, "extensions");
    }
    removed
}

/// Returns a value as an index; `None` if it is not a non-negative integer.
pub(crate) fn index(json: &Json) -> Option<usize> {
    match json {
        Json::Number(number) if number.fract() == 0.0 && (0.0..4294967296.0).contains(number) => {
            Some(*number as usize)
        }
        _ => None,
    }
}

/// Returns a member as an index.
pub(crate) fn index_of(json: &Json, name: &str) -> Option<usize> {
    get(json, name).and_then(index)
}

/// Returns a member as a string; empty if it is absent.
pub(crate) fn string_of<'j>(json: &'j Json, name: &str) -> &'j str {
    match get(json, name) {
        Some(Json::String(string)) => string,
        _ => "",
    }
}

/// Returns the items of a member that is an array; none if it is absent.
pub(crate) fn items<'j>(json: &'j Json, name: &str) -> &'j [Json] {
    match get(json, name) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

/// Returns the items of a member for changes.
pub(crate) fn items_mut<'j>(json: &'j mut Json, name: &str) -> &'j mut [Json] {
    match get_mut(json, name) {
        Some(Json::Array(items)) => items,
        _ => &mut [],
    }
}

/// Returns the members of an object; none for any other value.
pub(crate) fn members(json: Option<&Json>) -> &[(Cow<'static, str>, Json)] {
    match json {
        Some(Json::Object(members)) => members,
        _ => &[],
    }
}

/// Makes an object.
pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (Cow::Owned(name.to_owned()), value)).collect())
}

/// Makes a number from a count or an index.
pub(crate) fn number(value: usize) -> Json {
    Json::Number(value as f64)
}

/// Makes a string.
pub(crate) fn string(value: &str) -> Json {
    Json::String(Cow::Owned(value.to_owned()))
}

/// Makes numbers with the shortest decimals that are these floats.
pub(crate) fn floats(values: &[f32]) -> Json {
    Json::Array(values.iter().map(|&value| Json::Number(shortest(value))).collect())
}

/// Returns the number whose shortest decimal is that of the float: 0.1 instead of 0.10000000149.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

/// Writes a value without spaces.
pub(crate) fn text(json: &Json) -> String {
    let mut out = String::new();
    write(json, &mut out);
    out
}

fn write(json: &Json, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        // Never fails: the target is a string.
        Json::Number(number) => _ = write!(out, "{number}"),
        Json::String(string) => quote(string, out),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                quote(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn quote(string: &str, out: &mut String) {
    out.push('"');
    for c in string.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0'..='\x1f' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_an_independent_reader_reads() {
        let value = object([
            ("a\"\\\n\u{e9}", Json::Array(vec![Json::Null, Json::Bool(true), number(7)])),
            ("b", floats(&[0.1, -1e-9, 3e20])),
            ("c", object([])),
        ]);
        let read: serde_json::Value = serde_json::from_str(&text(&value)).unwrap();
        assert_eq!(read["a\"\\\n\u{e9}"][2], 7);
        assert_eq!(read["b"][0], 0.1);
        assert_eq!(read["b"][1].as_f64().unwrap() as f32, -1e-9);
        assert_eq!(read["b"][2].as_f64().unwrap() as f32, 3e20);
        assert!(read["c"].as_object().unwrap().is_empty());
    }

    #[test]
    fn members_are_set_and_removed() {
        let mut value = object([("a", number(1)), ("b", Json::Null)]);
        assert!(get(&value, "b").is_none());
        set(&mut value, "b", string("x"));
        assert_eq!(string_of(&value, "b"), "x");
        set_extension(&mut value, "E", number(2));
        assert_eq!(extension(&value, "E").and_then(index), Some(2));
        assert!(remove_extension(&mut value, "E").is_some() && get(&value, "extensions").is_none());
        assert_eq!(remove(&mut value, "a").as_ref().and_then(index), Some(1));
        assert_eq!(index(&Json::Number(1.5)), None);
        assert_eq!(index(&Json::Number(-1.0)), None);
    }
}
