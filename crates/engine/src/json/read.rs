//! A strict JSON parser (RFC 8259).
//!
//! Rejects duplicate member names, nesting deeper than [`MAX_DEPTH`] and numbers that are not finite.
//!
//! Reads the data of an earlier report (`assetc report --since`) back. The parser of `kiln-import` cannot serve: it borrows from
//! the text, tolerates what glTF exporters write (a byte order mark, NUL padding), and is in a crate above this one.

use super::Json;
use std::collections::BTreeSet;

/// The deepest accepted nesting of arrays and objects. The JSON that Kiln writes needs five levels.
const MAX_DEPTH: u32 = 32;

impl Json {
    /// Parses a string that consists of one value.
    ///
    /// # Errors
    ///
    /// The offset and the kind of the first syntax error.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at < text.len() {
            Err(reader.error("unexpected characters after the value"))
        } else {
            Ok(value)
        }
    }
}

/// A JSON syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The offset in bytes.
    pub at: usize,
    /// A description of the error.
    pub why: &'static str,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, why: &'static str) -> JsonError {
        JsonError { at: self.at, why }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn value(&mut self, depth: u32) -> Result<Json, JsonError> {
        if depth > MAX_DEPTH {
            return Err(self.error("the value is nested too deeply"));
        }
        self.space();
        match self.rest().bytes().next() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.parse_number(),
            _ if self.eat("null") => Ok(Json::Null),
            _ if self.eat("true") => Ok(Json::Bool(true)),
            _ if self.eat("false") => Ok(Json::Bool(false)),
            _ => Err(self.error("expected a value")),
        }
    }

    /// Parses a comma-separated list between brackets; `each` parses one element.
    fn elements(
        &mut self,
        end: &str,
        mut each: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.at += 1;
        self.space();
        if self.eat(end) {
            return Ok(());
        }
        loop {
            each(self)?;
            self.space();
            if self.eat(end) {
                return Ok(());
            }
            if !self.eat(",") {
                return Err(self.error("expected `,` or the end of the array or object"));
            }
        }
    }

    fn array(&mut self, depth: u32) -> Result<Json, JsonError> {
        let mut items = Vec::new();
        self.elements("]", |reader| {
            items.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Json::List(items))
    }

    fn object(&mut self, depth: u32) -> Result<Json, JsonError> {
        let mut members = Vec::new();
        let mut names = BTreeSet::new();
        self.elements("}", |reader| {
            reader.space();
            let name = reader.string()?;
            if !names.insert(name.clone()) {
                return Err(reader.error("duplicate member name"));
            }
            reader.space();
            if !reader.eat(":") {
                return Err(reader.error("expected `:`"));
            }
            members.push((name, reader.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Json::Object(members))
    }

    fn parse_number(&mut self) -> Result<Json, JsonError> {
        let rest = self.rest();
        let len = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
        let token = &rest[..len.unwrap_or(rest.len())];
        let digits = token.strip_prefix('-').unwrap_or(token);
        let (whole, tail) = digits.split_at(digits.find(['.', 'e', 'E']).unwrap_or(digits.len()));
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let (fraction, exponent) = tail.split_at(tail.find(['e', 'E']).unwrap_or(tail.len()));
        let good = plain(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && fraction.strip_prefix('.').is_none_or(plain)
            && (exponent.is_empty() || plain(exponent[1..].trim_start_matches(['+', '-'])));
        if !good {
            return Err(self.error("invalid number"));
        }
        let value = match token.parse() {
            Ok(number) => Json::Number(number),
            Err(_) => match token.parse::<f64>() {
                Ok(number) if number.is_finite() => Json::Float(number),
                _ => return Err(self.error("number out of range")),
            },
        };
        self.at += token.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, JsonError> {
        if !self.eat("\"") {
            return Err(self.error("expected a string"));
        }
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let end = rest.find(|c: char| c == '"' || c == '\\' || c < ' ');
            let Some(end) = end else { return Err(self.error("unexpected end of input in a string")) };
            out.push_str(&rest[..end]);
            self.at += end;
            if self.eat("\"") {
                return Ok(out);
            }
            if !self.eat("\\") {
                return Err(self.error("control character in a string"));
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let simple = [
            ('"', '"'),
            ('\\', '\\'),
            ('/', '/'),
            ('b', '\u{8}'),
            ('f', '\u{c}'),
            ('n', '\n'),
            ('r', '\r'),
            ('t', '\t'),
        ];
        let bad = self.error("invalid escape sequence");
        let first = self.rest().chars().next().ok_or(bad)?;
        if let Some((_, meant)) = simple.into_iter().find(|(letter, _)| *letter == first) {
            self.at += 1;
            return Ok(meant);
        }
        let unit = self.unit().ok_or(bad)?;
        if !(0xd800..0xe000).contains(&unit) {
            return char::from_u32(unit).ok_or(bad);
        }
        let low = if self.eat("\\") { self.unit() } else { None };
        let low = low.filter(|low| unit < 0xdc00 && (0xdc00..0xe000).contains(low)).ok_or(bad)?;
        char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).ok_or(bad)
    }

    /// Parses `u` and four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.rest().strip_prefix('u')?.get(..4)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 5;
        u32::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<u64>().prop_map(Json::Number),
            (-1e9..-1e-9f64).prop_map(Json::Float),
            any::<String>().prop_map(Json::Text),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::List),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn round_trips(value in any_json()) {
            let text = value.to_string();
            prop_assert_eq!(Json::parse(&text), Ok(value));
            prop_assert!(!text.contains(char::is_control));
        }

        #[test]
        fn agrees_with_serde_json(value in any_json()) {
            let read: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(Json::parse(&read.to_string()).is_ok(), true);
        }

        #[test]
        fn accepts_only_what_serde_json_accepts(text in r#"[\[\]{}",:0-9a-z\\.eE+\- ]{0,24}"#) {
            let theirs: Result<serde_json::Value, _> = serde_json::from_str(&text);
            if Json::parse(&text).is_ok() {
                prop_assert!(theirs.is_ok(), "{}", text);
            }
        }
    }

    #[test]
    fn rejects_invalid_json() {
        for text in [
            "",
            "nul",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\ud800\"",
            "\"\\udc00\\ud800\"",
            "\"\n\"",
            "1e999",
            "[] []",
            "\"\\u+123\"",
        ] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert_eq!(Json::parse("{\"a\":1,\"a\":2}").unwrap_err().why, "duplicate member name");
        let deep = "[".repeat(100_000);
        assert_eq!(Json::parse(&deep).unwrap_err().why, "the value is nested too deeply");
        assert_eq!(Json::parse("\"\\ud83d\\ude00\""), Ok("😀".into()));
    }
}
