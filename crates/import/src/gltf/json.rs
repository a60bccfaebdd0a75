//! A JSON parser (RFC 8259) whose tree borrows from the text.
//!
//! Made for glTF: strings of a hundred megabytes of base64 are not copied, and the memory of the tree is bounded by the
//! length of the text. A byte order mark and padding with NUL are accepted, because exporters write them. Rejects
//! syntax errors, numbers beyond `f64`, nesting deeper than [`MAX_DEPTH`] and more values than [`MAX_VALUES`].

use std::borrow::Cow;

use kiln_diagnostics::{Code, Diag};

/// The maximum nesting depth. glTF itself needs ten levels; the rest is for application data.
const MAX_DEPTH: usize = 128;

/// The maximum number of values: 128 MiB of them. A scene of a hundred thousand nodes has half as many.
const MAX_VALUES: usize = 1 << 22;

/// A JSON value. Members are in the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A finite number.
    Number(f64),
    /// A string.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object. Of duplicate members, the last counts.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl Json<'_> {
    /// Returns the type of the value, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

impl Json<'_> {
    /// Writes the value as JSON text without whitespace.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    // The depth is bounded by that of the parser.
    fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            // Without an exponent, the text of a number may be hundreds of times as long as in the source.
            Json::Number(number) if *number == 0.0 || (1e-5..1e17).contains(&number.abs()) => {
                out.push_str(&number.to_string());
            }
            Json::Number(number) => out.push_str(&format!("{number:e}")),
            Json::String(string) => write_string(string, out),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_string(string: &str, out: &mut String) {
    out.push('"');
    for char in string.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => out.push(char),
        }
    }
    out.push('"');
}

/// Parses a JSON text.
pub(super) fn parse(bytes: &[u8]) -> Result<Json<'_>, Diag> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        syntax(
            bytes,
            at,
            format!("byte {:#04x} is not valid UTF-8", bytes.get(at).copied().unwrap_or_default()),
        )
    })?;
    let mut parser = Parser { text, at: 0, depth: 0, values: 0 };
    let value = parser.value()?;
    parser.skip_whitespace();
    match text.as_bytes()[parser.at..].iter().find(|&&byte| byte != 0) {
        None => Ok(value),
        Some(_) => Err(parser.syntax_error("unexpected characters after the JSON value")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    values: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips a character and the whitespace after it, if it is next.
    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
            self.skip_whitespace();
        }
        found
    }

    fn value(&mut self) -> Result<Json<'a>, Diag> {
        self.skip_whitespace();
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.too_large(format!("the document has more than {MAX_VALUES} JSON values")));
        }
        match self.peek() {
            Some(b'{') => self.nested(Parser::object),
            Some(b'[') => self.nested(Parser::array),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => Err(self.syntax_error("expected a JSON value")),
            None => Err(self.syntax_error("unexpected end of file, expected a JSON value")),
        }
    }

    fn nested(&mut self, inside: impl FnOnce(&mut Self) -> Result<Json<'a>, Diag>) -> Result<Json<'a>, Diag> {
        if self.depth == MAX_DEPTH {
            return Err(self.too_large(format!("JSON values nest deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_whitespace();
        let value = inside(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Json<'a>, Diag> {
        let mut items = Vec::new();
        if !self.eat(b']') {
            loop {
                items.push(self.value()?);
                self.skip_whitespace();
                if self.eat(b']') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(self.syntax_error("expected a comma or the end of the array"));
                }
            }
        }
        items.shrink_to_fit();
        Ok(Json::Array(items))
    }

    fn object(&mut self) -> Result<Json<'a>, Diag> {
        let mut members = Vec::new();
        if !self.eat(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(self.syntax_error("expected a member name"));
                }
                let name = self.string()?;
                self.skip_whitespace();
                if !self.eat(b':') {
                    return Err(self.syntax_error("expected a colon"));
                }
                members.push((name, self.value()?));
                self.skip_whitespace();
                if self.eat(b'}') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(self.syntax_error("expected a comma or the end of the object"));
                }
            }
        }
        members.shrink_to_fit();
        Ok(Json::Object(members))
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, Diag> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.syntax_error("expected a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> Result<(), Diag> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.syntax_error("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json<'a>, Diag> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        match self.text[start..self.at].parse() {
            Ok(number) if f64::is_finite(number) => Ok(Json::Number(number)),
            _ => Err(syntax(self.text.as_bytes(), start, "the number is too large for a 64-bit float")),
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Diag> {
        self.at += 1;
        let mut owned: Option<String> = None;
        let mut piece = self.at;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.text[piece..self.at]);
                    text.push(self.escape()?);
                    piece = self.at;
                }
                Some(0..0x20) => return Err(self.syntax_error("unescaped control character in a string")),
                Some(_) => self.at += 1,
                None => return Err(self.syntax_error("unexpected end of file in a string")),
            }
        }
        let rest = &self.text[piece..self.at];
        self.at += 1;
        Ok(match owned {
            Some(mut text) => {
                text.push_str(rest);
                Cow::Owned(text)
            }
            None => Cow::Borrowed(rest),
        })
    }

    /// Decodes an escape sequence, or two that are a surrogate pair.
    fn escape(&mut self) -> Result<char, Diag> {
        self.at += 1;
        let char = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.syntax_error("invalid escape sequence")),
        };
        self.at += 1;
        Ok(char)
    }

    fn unicode(&mut self) -> Result<char, Diag> {
        let high = self.hex()?;
        let code = if (0xD800..0xDC00).contains(&high) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex()?;
            if !(0xDC00..0xE000).contains(&low) {
                return Err(self.syntax_error("unpaired surrogate in a string"));
            }
            0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.syntax_error("unpaired surrogate in a string"))
    }

    fn hex(&mut self) -> Result<u32, Diag> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or_default();
        let digit = |value: u32, byte: &u8| Some(value << 4 | char::from(*byte).to_digit(16)?);
        match digits.iter().try_fold(0, digit) {
            Some(value) if digits.len() == 4 => {
                self.at += 4;
                Ok(value)
            }
            _ => Err(self.syntax_error("expected four hexadecimal digits")),
        }
    }

    fn syntax_error(&self, message: &str) -> Diag {
        syntax(self.text.as_bytes(), self.at, message)
    }

    fn too_large(&self, message: String) -> Diag {
        Diag::new(Code::GltfTooLarge, message).at(line_and_column(self.text.as_bytes(), self.at))
    }
}

fn syntax(text: &[u8], at: usize, message: impl Into<String>) -> Diag {
    Diag::new(Code::GltfJson, message)
        .at(line_and_column(text, at))
        .hint("the file is damaged: export or download it again")
}

/// Returns the line and the column of a byte, both from one; columns count bytes.
fn line_and_column(text: &[u8], at: usize) -> String {
    let before = &text[..at.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &Json<'_>) -> String {
        match json {
            Json::String(text) => text.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parses_values_of_every_type() {
        let found = parse(b" { \"a\" : [ 1 , -0.5e+1, true,false,null , \"x\" , {} , [] ] } \n\0\0").unwrap();
        let list = Json::Array(vec![
            Json::Number(1.0),
            Json::Number(-5.0),
            Json::Bool(true),
            Json::Bool(false),
            Json::Null,
            Json::String("x".into()),
            Json::Object(vec![]),
            Json::Array(vec![]),
        ]);
        assert_eq!(found, Json::Object(vec![("a".into(), list)]));
        assert_eq!(parse(b"\xEF\xBB\xBF0").unwrap(), Json::Number(0.0));
    }

    #[test]
    fn writes_what_it_parses() {
        let source = r#"{"a":[1,-0.5,true,false,null,"x\"\\\n\t\r\u0001é",{},[]],"big":1e300,"small":-2.5e-9,"zero":0}"#;
        let value = parse(source.as_bytes()).unwrap();
        assert_eq!(value.to_text(), source);
        assert_eq!(parse(b"1e22").unwrap().to_text(), "1e22");
    }

    #[test]
    fn borrows_strings_without_escapes() {
        let plain = parse("\"d\u{e9}j\u{e0} vu\"".as_bytes()).unwrap();
        assert!(matches!(plain, Json::String(Cow::Borrowed("d\u{e9}j\u{e0} vu"))));
        let escaped = parse(br#""a\/b\\\"\u00e9\uD83D\uDE00\n\t.""#).unwrap();
        assert_eq!(text(&escaped), "a/b\\\"\u{e9}\u{1F600}\n\t.");
    }

    #[test]
    fn errors_name_line_and_column() {
        let check = |input: &[u8], at: &str| {
            let error = parse(input).expect_err(&String::from_utf8_lossy(input));
            assert_eq!(
                (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
                ("gltf-json", at),
                "{error}"
            );
        };
        check(b"", "1:1");
        check(b"{\n \"a\": }", "2:7");
        check(b"[1,\n\n2,]", "3:3");
        check(b"[1 2]", "1:4");
        check(b"{\"a\" 1}", "1:6");
        check(b"{a:1}", "1:2");
        check(b"{\"a\":1,}", "1:8");
        check(b"nul", "1:1");
        check(b"01", "1:2");
        check(b"-", "1:2");
        check(b"1.", "1:3");
        check(b"1e", "1:3");
        check(b"+1", "1:1");
        check(b"[1e999]", "1:2");
        check(b"\"abc", "1:5");
        check(b"\"a\nb\"", "1:3");
        check(br#""\x""#, "1:3");
        check(br#""\u12""#, "1:4");
        check(br#""\ud800""#, "1:8");
        check(br#""\ud800\u0041""#, "1:14");
        check(br#""\udc00""#, "1:8");
        check(b"{} x", "1:4");
        check(b"\"a\xFF\"", "1:3");
    }

    #[test]
    fn rejects_deep_nesting() {
        let nest = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(nest(MAX_DEPTH).as_bytes()).is_ok());
        let error = parse(nest(MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert_eq!(error.code, Code::GltfTooLarge);
        assert!(parse("[".repeat(1_000_000).as_bytes()).is_err());
    }
}
