//! JSON values of a document with typed accessors and errors that name their place.
//!
//! All reads of a document go through here, so every invalid value is reported with its JSON pointer (RFC 6901). The
//! pointer is computed for an error only, by searching the document for the value: reading costs nothing for it.

use std::fmt::Display;

use kiln_diagnostics::{Code, Diag};

use super::json::Json;

/// The hint of an error about a document that violates the specification.
const INVALID_HINT: &str = "the file is damaged or its exporter has a bug: export the model again, with another exporter if this persists";

/// A value of a document.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    value: &'a Json<'a>,
    root: &'a Json<'a>,
}

/// An array of a document; empty where the document has none.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    items: &'a [Json<'a>],
    root: &'a Json<'a>,
}

impl<'a> Value<'a> {
    /// Creates the value of the whole document.
    pub(super) fn new(root: &'a Json<'a>) -> Value<'a> {
        Value { value: root, root }
    }

    /// Returns the JSON of the value.
    pub(super) fn json(self) -> &'a Json<'a> {
        self.value
    }

    /// Returns the JSON pointer of the value; empty for the whole document.
    pub(super) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        find(self.root, self.value, &mut steps);
        steps.iter().rev().map(|step| format!("/{step}")).collect()
    }

    /// Creates an error about this value, with a hint that a caller may replace.
    pub(super) fn error(&self, code: Code, message: impl Display) -> Diag {
        Diag::new(code, message.to_string()).at(self.pointer()).hint(INVALID_HINT)
    }

    /// Creates a `gltf-value` error about this value.
    pub(super) fn invalid(&self, message: impl Display) -> Diag {
        self.error(Code::GltfValue, message)
    }

    fn expected(&self, what: &str) -> Diag {
        self.invalid(format_args!("expected {what}, found {}", self.value.kind()))
    }

    /// Checks that this is an object.
    pub(super) fn object(self) -> Result<Value<'a>, Diag> {
        if matches!(self.value, Json::Object(_)) { Ok(self) } else { Err(self.expected("an object")) }
    }

    /// Returns a member, unless it is absent or null. Of duplicate members, the last counts.
    pub(super) fn get(self, name: &str) -> Option<Value<'a>> {
        let Json::Object(members) = self.value else { return None };
        let (_, value) = members.iter().rev().find(|(found, _)| found == name)?;
        (!matches!(value, Json::Null)).then_some(Value { value, ..self })
    }

    /// Returns a required member.
    pub(super) fn required(self, name: &str) -> Result<Value<'a>, Diag> {
        self.get(name).ok_or_else(|| {
            let message = format!("the required member {name:?} is missing");
            Diag::new(Code::GltfValue, message)
                .at(format_args!("{}/{name}", self.pointer()))
                .hint(INVALID_HINT)
        })
    }

    /// Returns the names of all members, in the order of the document.
    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        let members = if let Json::Object(members) = self.value { members.as_slice() } else { &[] };
        members.iter().map(|(name, _)| name.as_ref())
    }

    /// Returns the application-specific data of this object as JSON text; empty where there is none.
    pub(super) fn extras(self) -> String {
        match self.get("extras").map(Value::json) {
            None => String::new(),
            Some(Json::Object(members)) if members.is_empty() => String::new(),
            Some(extras) => extras.to_text(),
        }
    }

    /// Returns an extension of this object.
    pub(super) fn extension(self, name: &str) -> Option<Value<'a>> {
        self.get("extensions")?.get(name)
    }

    /// Returns a member that is an array; empty where it is absent.
    pub(super) fn list(self, name: &str) -> Result<List<'a>, Diag> {
        match self.get(name) {
            Some(Value { value: Json::Array(items), root }) => Ok(List { items, root }),
            Some(other) => Err(other.expected("an array")),
            None => Ok(List { items: &[], root: self.root }),
        }
    }

    /// Returns the value as a finite `f32`.
    pub(super) fn float(self) -> Result<f32, Diag> {
        let Json::Number(number) = *self.value else { return Err(self.expected("a number")) };
        let float = number as f32;
        if float.is_finite() {
            Ok(float)
        } else {
            Err(self.invalid(format_args!("{number:e} is too large for a 32-bit float")))
        }
    }

    /// Returns the value as a non-negative integer.
    pub(super) fn uint(self) -> Result<usize, Diag> {
        let Json::Number(number) = *self.value else { return Err(self.expected("a non-negative integer")) };
        // JSON numbers are doubles, which cannot represent every integer beyond this.
        const EXACT: f64 = (1u64 << 53) as f64;
        if number.fract() != 0.0 || !(0.0..EXACT).contains(&number) {
            return Err(self.invalid(format_args!("expected a non-negative integer, found {number}")));
        }
        usize::try_from(number as u64).map_err(|_| self.invalid(format_args!("{number} is too large")))
    }

    /// Returns the value as a string.
    pub(super) fn string(self) -> Result<&'a str, Diag> {
        if let Json::String(string) = self.value { Ok(string) } else { Err(self.expected("a string")) }
    }

    /// Returns the value as a boolean.
    pub(super) fn boolean(self) -> Result<bool, Diag> {
        if let Json::Bool(flag) = self.value { Ok(*flag) } else { Err(self.expected("a boolean")) }
    }

    /// Returns the value as an array of exactly `N` numbers.
    pub(super) fn floats<const N: usize>(self) -> Result<[f32; N], Diag> {
        let Json::Array(items) = self.value else { return Err(self.expected("an array")) };
        if items.len() != N {
            return Err(self.invalid(format_args!("expected {N} numbers, found {}", items.len())));
        }
        let mut floats = [0.0; N];
        for (float, value) in floats.iter_mut().zip(items) {
            *float = Value { value, ..self }.float()?;
        }
        Ok(floats)
    }

    /// Returns a member as a non-negative integer, or `default` where it is absent.
    pub(super) fn uint_or(self, name: &str, default: usize) -> Result<usize, Diag> {
        self.get(name).map_or(Ok(default), Value::uint)
    }

    /// Returns a member as a number, or `default` where it is absent.
    pub(super) fn float_or(self, name: &str, default: f32) -> Result<f32, Diag> {
        self.get(name).map_or(Ok(default), Value::float)
    }

    /// Returns a member as `N` numbers, or `default` where it is absent.
    pub(super) fn floats_or<const N: usize>(self, name: &str, default: [f32; N]) -> Result<[f32; N], Diag> {
        self.get(name).map_or(Ok(default), Value::floats)
    }

    /// Returns a member as a boolean, or `false` where it is absent.
    pub(super) fn is_true(self, name: &str) -> Result<bool, Diag> {
        self.get(name).map_or(Ok(false), Value::boolean)
    }

    /// Returns a member as a string, or an empty one where it is absent.
    pub(super) fn string_or_empty(self, name: &str) -> Result<&'a str, Diag> {
        self.get(name).map_or(Ok(""), Value::string)
    }

    /// Resolves this value as an index into an array; returns the index and the element.
    pub(super) fn resolve(self, list: List<'a>, noun: &str) -> Result<(u32, Value<'a>), Diag> {
        let index = self.uint()?;
        match (list.get(index), u32::try_from(index)) {
            (Some(item), Ok(id)) => Ok((id, item)),
            _ => {
                let message =
                    format!("{noun} index {index} is out of range: the document has {}", list.items.len());
                Err(self.error(Code::GltfReference, message))
            }
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<Value<'a>> {
        self.items.get(index).map(|value| Value { value, root: self.root })
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Value<'a>> + use<'a> {
        let root = self.root;
        self.items.iter().map(move |value| Value { value, root })
    }
}

/// Finds the steps from a value in a tree up to its root, by identity and not by equality.
fn find<'a>(tree: &Json<'a>, wanted: &Json<'a>, steps: &mut Vec<String>) -> bool {
    if std::ptr::eq(tree, wanted) {
        return true;
    }
    let mut enter = |step: String, value| {
        let found = find(value, wanted, steps);
        if found {
            steps.push(step);
        }
        found
    };
    match tree {
        Json::Array(items) => items.iter().enumerate().any(|(index, item)| enter(index.to_string(), item)),
        Json::Object(members) => {
            let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
            members.iter().any(|(name, value)| enter(escape(name), value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    #[test]
    fn pointers_name_the_value_itself() {
        let json = json::parse(br#"{"a": [1, {"x/y~": 1}], "b": 1, "b": 2, "c": null}"#).unwrap();
        let root = Value::new(&json);
        assert_eq!(root.pointer(), "");
        let list = root.list("a").unwrap();
        assert_eq!(list.get(0).unwrap().pointer(), "/a/0");
        assert_eq!(list.get(1).unwrap().get("x/y~").unwrap().pointer(), "/a/1/x~1y~0");
        assert_eq!(root.get("b").unwrap().uint().unwrap(), 2);
        assert!(root.get("c").is_none() && list.get(2).is_none());
        assert_eq!(root.required("d").err().unwrap().at.as_deref(), Some("/d"));
        assert_eq!(root.names().collect::<Vec<_>>(), ["a", "b", "b", "c"]);
    }

    #[test]
    fn rejects_values_of_the_wrong_type() {
        let json =
            json::parse(br#"{"n": 1.5, "w": 3, "h": 1e300, "m": -1, "t": "x", "l": [1, 2, "3"]}"#).unwrap();
        let get = |name| Value::new(&json).get(name).unwrap();
        assert_eq!((get("n").float().unwrap(), get("w").uint().unwrap()), (1.5, 3));
        for (error, at) in [
            (get("n").uint().err(), "/n"),
            (get("m").uint().err(), "/m"),
            (get("h").float().err(), "/h"),
            (get("h").uint().err(), "/h"),
            (get("t").float().err(), "/t"),
            (get("w").string().err(), "/w"),
            (get("w").boolean().err(), "/w"),
            (get("l").floats::<2>().err(), "/l"),
            (get("l").floats::<3>().err(), "/l/2"),
            (Value::new(&json).list("w").err(), "/w"),
        ] {
            let error = error.expect(at);
            assert_eq!(
                (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
                ("gltf-value", at),
                "{error}"
            );
        }
    }

    #[test]
    fn rejects_indices_out_of_range() {
        let json = json::parse(br#"{"list": ["a", "b"], "good": 1, "bad": 2}"#).unwrap();
        let root = Value::new(&json);
        let list = root.list("list").unwrap();
        let (index, item) = root.get("good").unwrap().resolve(list, "thing").unwrap();
        assert_eq!((index, item.string().unwrap()), (1, "b"));
        let error = root.get("bad").unwrap().resolve(list, "thing").err().unwrap();
        assert_eq!(
            (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
            ("gltf-reference", "/bad")
        );
        assert!(error.message.contains("thing index 2 is out of range: the document has 2"), "{error}");
    }
}
