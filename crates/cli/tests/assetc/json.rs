//! A reader of JSON as RFC 8259 has it, to hold what the executable prints against. Refuses anything else.

use std::collections::BTreeMap;

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Reads one value with nothing but white space around it.
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Json {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value();
        reader.space();
        assert_eq!(reader.at, text.len(), "something follows the value: {text}");
        value
    }

    /// The member of an object, which has to be there.
    #[track_caller]
    pub(crate) fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => {
                members.get(name).unwrap_or_else(|| panic!("no {name:?} in {members:?}"))
            }
            other => panic!("no object: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn number(&self) -> u64 {
        match self {
            Json::Number(number) => *number as u64,
            other => panic!("no number: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn list(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            other => panic!("no list: {other:?}"),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) {
        assert!(self.take(token), "{token} expected at {}: {}", self.at, self.text);
    }

    fn value(&mut self) -> Json {
        self.space();
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => Json::Text(self.string()),
            b'-' | b'0'..=b'9' => self.figure(),
            _ if self.take("null") => Json::Null,
            _ if self.take("true") => Json::Bool(true),
            _ if self.take("false") => Json::Bool(false),
            _ => panic!("no value at {}: {}", self.at, self.text),
        }
    }

    fn object(&mut self) -> Json {
        let mut members = BTreeMap::new();
        self.expect("{");
        while !self.take("}") {
            if !members.is_empty() {
                self.expect(",");
            }
            self.space();
            let name = self.string();
            self.expect(":");
            let value = self.value();
            assert!(members.insert(name, value).is_none(), "a name twice: {}", self.text);
        }
        Json::Object(members)
    }

    fn array(&mut self) -> Json {
        let mut items = Vec::new();
        self.expect("[");
        while !self.take("]") {
            if !items.is_empty() {
                self.expect(",");
            }
            items.push(self.value());
        }
        Json::List(items)
    }

    fn string(&mut self) -> String {
        assert_eq!(self.peek(), b'"', "a text expected at {}: {}", self.at, self.text);
        let mut out = String::new();
        let mut rest = self.text[self.at + 1..].chars();
        loop {
            match rest.next().expect("the end of a text") {
                '"' => break,
                '\\' => out.push(match rest.next().expect("an escape") {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'u' => {
                        let digits: String = rest.by_ref().take(4).collect();
                        char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).expect("no surrogate")
                    }
                    plain @ ('"' | '\\' | '/') => plain,
                    other => panic!("\\{other} is no escape"),
                }),
                c => {
                    assert!(c >= ' ', "a control character in a text");
                    out.push(c);
                }
            }
        }
        self.at = self.text.len() - rest.as_str().len();
        out
    }

    fn figure(&mut self) -> Json {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(rest.len());
        self.at += end;
        Json::Number(rest[..end].parse().unwrap())
    }
}
