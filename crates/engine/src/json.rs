//! JSON values: members are written in the given order; [`Json::parse`] reads JSON back.

mod read;

pub use read::JsonError;

use crate::is_unprintable;
use std::fmt::{self, Write};

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A non-negative integer.
    Number(u64),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object: members in this order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Makes an object.
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Makes an array.
    pub fn list<T: Into<Json>>(items: impl IntoIterator<Item = T>) -> Json {
        Json::List(items.into_iter().map(Into::into).collect())
    }

    /// Formats the value with one member or item per line, for files that people read.
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        self.write_pretty(&mut text, 0);
        text.push('\n');
        text
    }

    fn write_pretty(&self, text: &mut String, depth: usize) {
        let line = |text: &mut String, depth: usize| {
            text.push('\n');
            text.push_str(&"  ".repeat(depth));
        };
        let is_flat =
            |items: &[Json]| !items.iter().any(|item| matches!(item, Json::List(_) | Json::Object(_)));
        match self {
            Json::List(items) if !is_flat(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    line(text, depth + 1);
                    item.write_pretty(text, depth + 1);
                }
                line(text, depth);
                text.push(']');
            }
            Json::Object(members) if !members.is_empty() => {
                text.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    line(text, depth + 1);
                    text.push_str(&format!("{}: ", Json::Text(name.clone())));
                    value.write_pretty(text, depth + 1);
                }
                line(text, depth);
                text.push('}');
            }
            other => text.push_str(&other.to_string()),
        }
    }

    /// Returns the member of an object; `None` if it is absent or the value is not an object.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the string, if the value is one.
    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the number, if the value is a non-negative integer.
    pub fn number(&self) -> Option<u64> {
        if let Json::Number(number) = self { Some(*number) } else { None }
    }

    /// Returns the items, if the value is an array.
    pub fn items(&self) -> Option<&[Json]> {
        if let Json::List(items) = self { Some(items) } else { None }
    }
}

macro_rules! from {
    ($($from:ty => |$value:ident| $json:expr;)*) => {$(
        impl From<$from> for Json {
            fn from($value: $from) -> Json {
                $json
            }
        }
    )*};
}

from! {
    &str => |text| Json::Text(text.to_owned());
    String => |text| Json::Text(text);
    u64 => |number| Json::Number(number);
    u32 => |number| Json::Number(number.into());
    usize => |number| Json::Number(number as u64);
    bool => |value| Json::Bool(value);
    // Through its shortest decimal form, so that 0.8 does not become 0.800000011920929.
    f32 => |number| number.to_string().parse().map_or(Json::Null, Json::Float);
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

/// Formats as one line without spaces; characters that affect a terminal are escaped.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(number) => write!(f, "{number}"),
            Json::Float(number) if number.is_finite() => write!(f, "{number}"),
            Json::Float(_) => f.write_str("null"),
            Json::Text(text) => quote(f, text),
            Json::List(items) => {
                f.write_char('[')?;
                for (n, item) in items.iter().enumerate() {
                    let comma = if n > 0 { "," } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_char(']')
            }
            Json::Object(members) => {
                f.write_char('{')?;
                for (n, (name, value)) in members.iter().enumerate() {
                    f.write_str(if n > 0 { "," } else { "" })?;
                    quote(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c if is_unprintable(c) => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_control_characters() {
        let text = Json::from("\u{1b}[2J\u{9b}\u{202e}\u{2066}").to_string();
        assert_eq!(text, r#""\u001b[2J\u009b\u202e\u2066""#);
    }

    #[test]
    fn writes_valid_json() {
        let value = Json::object([
            ("a\"b\\c\n\u{1}ü", Json::list([1u64, u64::MAX])),
            ("none", Json::from(None::<u64>)),
            ("yes", true.into()),
            ("part", 0.8f32.into()),
            ("no number", f32::NAN.into()),
            ("o", Json::object([])),
        ]);
        assert_eq!(
            value.to_string(),
            r#"{"a\"b\\c\n\u0001ü":[1,18446744073709551615],"none":null,"yes":true,"part":0.8,"no number":null,"o":{}}"#
        );
    }
}
