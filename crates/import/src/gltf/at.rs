//! A place in a document: a value, with what is needed to read it and to name it in a message.
//!
//! Everything an importer asks of a document goes through here, so every wrong value is reported with its JSON
//! pointer (RFC 6901). The pointer is found when it is needed, by looking for the value in the document: reading
//! costs nothing for it.

use std::fmt::Display;

use kiln_engine::{Code, Diag};

use super::json::Json;

/// A value of a document.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    value: &'a Json<'a>,
    root: &'a Json<'a>,
}

/// A list of a document; the empty list where the document has none.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    items: &'a [Json<'a>],
    root: &'a Json<'a>,
}

impl<'a> At<'a> {
    /// The whole document.
    pub(super) fn new(root: &'a Json<'a>) -> At<'a> {
        At { value: root, root }
    }

    /// The place, as a JSON pointer; empty for the whole document.
    pub(super) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        find(self.root, self.value, &mut steps);
        steps.iter().rev().map(|step| format!("/{step}")).collect()
    }

    /// An error about this place.
    pub(super) fn fault(&self, code: Code, message: impl Display) -> Diag {
        Diag::new(code, message.to_string()).at(self.pointer())
    }

    /// An error about this value.
    pub(super) fn bad(&self, message: impl Display) -> Diag {
        self.fault(Code::GltfValue, message)
    }

    fn expected(&self, what: &str) -> Diag {
        self.bad(format_args!("{what} is expected, and this is {}", self.value.kind()))
    }

    /// Whether this is an object.
    pub(super) fn object(self) -> Result<At<'a>, Diag> {
        if matches!(self.value, Json::Object(_)) { Ok(self) } else { Err(self.expected("an object")) }
    }

    /// A member, unless it is absent or null. Of members with one name, the last counts.
    pub(super) fn get(self, name: &str) -> Option<At<'a>> {
        let Json::Object(members) = self.value else { return None };
        let (_, value) = members.iter().rev().find(|(found, _)| found == name)?;
        (!matches!(value, Json::Null)).then_some(At { value, ..self })
    }

    /// A member that has to be there.
    pub(super) fn need(self, name: &str) -> Result<At<'a>, Diag> {
        self.get(name).ok_or_else(|| {
            let message = format!("{name:?} is missing");
            Diag::new(Code::GltfValue, message).at(format_args!("{}/{name}", self.pointer()))
        })
    }

    /// The names of all members, in the order of the text.
    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        let members = if let Json::Object(members) = self.value { members.as_slice() } else { &[] };
        members.iter().map(|(name, _)| name.as_ref())
    }

    /// An extension of this object.
    pub(super) fn extension(self, name: &str) -> Option<At<'a>> {
        self.get("extensions")?.get(name)
    }

    /// A member that is a list; empty where it is absent.
    pub(super) fn list(self, name: &str) -> Result<List<'a>, Diag> {
        match self.get(name) {
            Some(At { value: Json::Array(items), root }) => Ok(List { items, root }),
            Some(other) => Err(other.expected("a list")),
            None => Ok(List { items: &[], root: self.root }),
        }
    }

    /// A number.
    pub(super) fn float(self) -> Result<f32, Diag> {
        let Json::Number(number) = *self.value else { return Err(self.expected("a number")) };
        let float = number as f32;
        if float.is_finite() { Ok(float) } else { Err(self.bad(format_args!("{number:e} is too large"))) }
    }

    /// A whole number that is not negative.
    pub(super) fn uint(self) -> Result<usize, Diag> {
        let Json::Number(number) = *self.value else { return Err(self.expected("a whole number")) };
        // Numbers beyond this are not told apart by the format that carries them.
        const EXACT: f64 = (1u64 << 53) as f64;
        if number.fract() != 0.0 || !(0.0..EXACT).contains(&number) {
            return Err(self.bad(format_args!("{number} is not a whole number from 0 on")));
        }
        usize::try_from(number as u64).map_err(|_| self.bad(format_args!("{number} is too large")))
    }

    /// A text.
    pub(super) fn text(self) -> Result<&'a str, Diag> {
        if let Json::String(text) = self.value { Ok(text) } else { Err(self.expected("a text")) }
    }

    /// True or false.
    pub(super) fn flag(self) -> Result<bool, Diag> {
        if let Json::Bool(flag) = self.value { Ok(*flag) } else { Err(self.expected("true or false")) }
    }

    /// Exactly `N` numbers.
    pub(super) fn floats<const N: usize>(self) -> Result<[f32; N], Diag> {
        let Json::Array(items) = self.value else { return Err(self.expected("a list")) };
        if items.len() != N {
            return Err(self.bad(format_args!("{N} numbers are expected, and there are {}", items.len())));
        }
        let mut floats = [0.0; N];
        for (float, value) in floats.iter_mut().zip(items) {
            *float = At { value, ..self }.float()?;
        }
        Ok(floats)
    }

    /// A member's whole number, or another where it is absent.
    pub(super) fn uint_or(self, name: &str, otherwise: usize) -> Result<usize, Diag> {
        self.get(name).map_or(Ok(otherwise), At::uint)
    }

    /// A member's number, or another where it is absent.
    pub(super) fn float_or(self, name: &str, otherwise: f32) -> Result<f32, Diag> {
        self.get(name).map_or(Ok(otherwise), At::float)
    }

    /// A member's numbers, or others where it is absent.
    pub(super) fn floats_or<const N: usize>(self, name: &str, otherwise: [f32; N]) -> Result<[f32; N], Diag> {
        self.get(name).map_or(Ok(otherwise), At::floats)
    }

    /// A member's truth, or false where it is absent.
    pub(super) fn is(self, name: &str) -> Result<bool, Diag> {
        self.get(name).map_or(Ok(false), At::flag)
    }

    /// A member's text, or nothing where it is absent.
    pub(super) fn text_of(self, name: &str) -> Result<&'a str, Diag> {
        self.get(name).map_or(Ok(""), At::text)
    }

    /// Reads this value as an index into a list, and gives the index and what is there.
    pub(super) fn refer(self, list: List<'a>, noun: &str) -> Result<(u32, At<'a>), Diag> {
        let index = self.uint()?;
        match (list.get(index), u32::try_from(index)) {
            (Some(item), Ok(id)) => Ok((id, item)),
            _ => {
                let message = format!("there is no {noun} {index}: there are {}", list.items.len());
                Err(self.fault(Code::GltfReference, message))
            }
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<At<'a>> {
        self.items.get(index).map(|value| At { value, root: self.root })
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = At<'a>> + use<'a> {
        let root = self.root;
        self.items.iter().map(move |value| At { value, root })
    }
}

/// The steps from a value in a tree up to its root; found by identity, not by equality.
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
    fn pointers_lead_to_the_value_itself() {
        let json = json::parse(br#"{"a": [1, {"x/y~": 1}], "b": 1, "b": 2, "c": null}"#).unwrap();
        let root = At::new(&json);
        assert_eq!(root.pointer(), "");
        let list = root.list("a").unwrap();
        assert_eq!(list.get(0).unwrap().pointer(), "/a/0");
        assert_eq!(list.get(1).unwrap().get("x/y~").unwrap().pointer(), "/a/1/x~1y~0");
        assert_eq!(root.get("b").unwrap().uint().unwrap(), 2);
        assert!(root.get("c").is_none() && list.get(2).is_none());
        assert_eq!(root.need("d").err().unwrap().at.as_deref(), Some("/d"));
        assert_eq!(root.names().collect::<Vec<_>>(), ["a", "b", "b", "c"]);
    }

    #[test]
    fn values_are_what_they_are_asked_to_be() {
        let json =
            json::parse(br#"{"n": 1.5, "w": 3, "h": 1e300, "m": -1, "t": "x", "l": [1, 2, "3"]}"#).unwrap();
        let get = |name| At::new(&json).get(name).unwrap();
        assert_eq!((get("n").float().unwrap(), get("w").uint().unwrap()), (1.5, 3));
        for (error, at) in [
            (get("n").uint().err(), "/n"),
            (get("m").uint().err(), "/m"),
            (get("h").float().err(), "/h"),
            (get("h").uint().err(), "/h"),
            (get("t").float().err(), "/t"),
            (get("w").text().err(), "/w"),
            (get("w").flag().err(), "/w"),
            (get("l").floats::<2>().err(), "/l"),
            (get("l").floats::<3>().err(), "/l/2"),
            (At::new(&json).list("w").err(), "/w"),
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
    fn references_stay_in_their_list() {
        let json = json::parse(br#"{"list": ["a", "b"], "good": 1, "bad": 2}"#).unwrap();
        let root = At::new(&json);
        let list = root.list("list").unwrap();
        let (index, item) = root.get("good").unwrap().refer(list, "thing").unwrap();
        assert_eq!((index, item.text().unwrap()), (1, "b"));
        let error = root.get("bad").unwrap().refer(list, "thing").err().unwrap();
        assert_eq!(
            (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
            ("gltf-reference", "/bad")
        );
        assert!(error.message.contains("no thing 2: there are 2"), "{error}");
    }
}
