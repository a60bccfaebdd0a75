//! Parses YAML into a tree of nodes with their locations.
//!
//! A file is one document of plain data. Rejected, each with its location: invalid YAML, several documents, keys that are not
//! scalars, duplicate keys, tags and merge keys. Aliases are expanded, and every expansion counts against `MAX_NODES`, so a
//! few lines cannot become a billion nodes.

use std::collections::HashMap;

use kiln_engine::{Code, Diag};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput};

/// The longest accepted file, in bytes. A thousand rules take a hundredth of it.
pub const MAX_BYTES: usize = 1 << 20;
/// The largest number of nodes after aliases are expanded.
const MAX_NODES: usize = 100_000;
/// The deepest accepted nesting; `assetc.yml` needs six levels.
const MAX_DEPTH: usize = 32;

/// A location in a file: line and column, both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl From<&Marker> for At {
    fn from(mark: &Marker) -> At {
        At { line: mark.line(), column: mark.col() + 1 }
    }
}

/// A value and its location.
#[derive(Clone, Debug)]
pub struct Node {
    /// The location of its start.
    pub at: At,
    /// The value itself.
    pub value: Value,
}

/// The value of a node.
#[derive(Clone, Debug)]
pub enum Value {
    /// A map, with its entries in file order.
    Map(Vec<Entry>),
    /// A sequence of nodes.
    Seq(Vec<Node>),
    /// A scalar: a string, number, boolean or null.
    Scalar(Scalar),
}

/// A key of a map with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key as a string.
    pub key: String,
    /// The location of the key.
    pub at: At,
    /// The value of the key.
    pub node: Node,
}

/// A scalar. Only a plain (unquoted) scalar can be a number, a boolean or null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The string after escapes are resolved.
    pub text: String,
    /// True if the scalar is not quoted.
    pub plain: bool,
}

impl Scalar {
    /// Returns whether the scalar is null: empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

impl Node {
    /// Returns the number of nodes in the tree, keys included.
    fn count(&self) -> usize {
        1 + match &self.value {
            Value::Map(entries) => entries.iter().map(|e| 1 + e.node.count()).sum(),
            Value::Seq(items) => items.iter().map(Node::count).sum(),
            Value::Scalar(_) => 0,
        }
    }

    /// Describes the value for a message.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Map(_) => "a map".into(),
            Value::Seq(_) => "a list".into(),
            Value::Scalar(scalar) if scalar.is_null() => "null".into(),
            Value::Scalar(scalar) if scalar.plain => format!("'{}'", excerpt(&scalar.text)),
            Value::Scalar(scalar) => format!("the string \"{}\"", excerpt(&scalar.text)),
        }
    }
}

/// Parses one document; `None` if the text has none. Diagnostics have a location but no path.
///
/// # Errors
///
/// `config-syntax`, `config-duplicate-key`, or `config-too-large` for a file or an expansion beyond the limits.
pub fn parse(text: &str) -> Result<Option<Node>, Diag> {
    if text.len() > MAX_BYTES {
        return Err(Diag::new(Code::ConfigTooLarge, format!("the file has more than {MAX_BYTES} bytes")));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { text, parser: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
    let mut document = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(document),
            (Event::DocumentStart(_), at) => {
                if document.is_some() {
                    return Err(reader.bad(at, "a second document starts here", "keep one document"));
                }
                let first = reader.next()?;
                document = Some(reader.node(first, 0)?);
            }
            _ => {}
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, At), Diag> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, At::from(&span.start))),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, At { line: 1, column: 1 })),
        }
    }

    /// Reads the node that starts with `event`.
    fn node(&mut self, (event, at): (Event<'a>, At), depth: usize) -> Result<Node, Diag> {
        if depth > MAX_DEPTH {
            return Err(self.bad(at, "the value is nested too deeply", "assetc.yml needs six levels"));
        }
        self.grow(1, at)?;
        let (anchor, tag, value) = match event {
            Event::Alias(anchor) => return self.alias(anchor, at),
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                (anchor, tag, Value::Scalar(Scalar { text: text.into_owned(), plain }))
            }
            Event::SequenceStart(anchor, tag) => (anchor, tag, self.seq(depth)?),
            Event::MappingStart(anchor, tag) => (anchor, tag, self.map(depth)?),
            _ => return Err(self.bad(at, "a value is missing", "")),
        };
        if tag.is_some() {
            return Err(self.bad(at, "tags such as '!!str' are not supported", "remove the tag"));
        }
        let node = Node { at, value };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn seq(&mut self, depth: usize) -> Result<Value, Diag> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::Seq(items)),
                first => items.push(self.node(first, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Diag> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: HashMap<String, At> = HashMap::new();
        loop {
            let (key, at) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(Value::Map(entries)),
                (Event::Scalar(key, _, 0, None), at) => (key.into_owned(), at),
                (_, at) => return Err(self.bad(at, "a key must be a scalar", "")),
            };
            if key == "<<" {
                let hint = "use 'default' and 'presets' to share settings";
                return Err(self.bad(at, "merge keys ('<<') are not part of YAML 1.2", hint));
            }
            if let Some(first) = seen.insert(key.clone(), at) {
                let message = format!("duplicate key '{}', first on line {}", excerpt(&key), first.line);
                return Err(Diag::new(Code::ConfigDuplicateKey, message).at(at).hint("keep one of them"));
            }
            self.grow(1, at)?;
            let first = self.next()?;
            let mut node = self.node(first, depth + 1)?;
            if matches!(&node.value, Value::Scalar(s) if s.plain && s.text.is_empty()) {
                // An omitted value has no location of its own, so it gets that of its key.
                node.at = at;
            }
            entries.push(Entry { key, at, node });
        }
    }

    /// Copies the node of an anchor, with the locations of the original.
    fn alias(&mut self, anchor: usize, at: At) -> Result<Node, Diag> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(self.bad(at, "recursive alias", "write the value out"));
        };
        let copies = node.count();
        let node = node.clone();
        self.grow(copies, at)?;
        Ok(node)
    }

    fn grow(&mut self, by: usize, at: At) -> Result<(), Diag> {
        self.nodes += by;
        if self.nodes > MAX_NODES {
            let message = format!("the file has more than {MAX_NODES} values after aliases are expanded");
            return Err(Diag::new(Code::ConfigTooLarge, message).at(at));
        }
        Ok(())
    }

    fn syntax(&self, error: &ScanError) -> Diag {
        let at = At::from(error.marker());
        let tab = self.line(at).trim_start_matches(' ').starts_with('\t');
        let hint = if tab { "YAML is indented with spaces; replace the tab" } else { "" };
        self.bad(at, error.info(), hint)
    }

    /// Returns a syntax error that quotes the line of its location.
    fn bad(&self, at: At, what: &str, hint: &str) -> Diag {
        let line = excerpt(self.line(at));
        let message = if line.is_empty() { what.into() } else { format!("{what}: `{line}`") };
        Diag::new(Code::ConfigSyntax, message).at(at).hint(hint)
    }

    fn line(&self, at: At) -> &'a str {
        self.text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default()
    }
}

/// Shortens a string to one line of at most 80 characters, with control characters escaped.
pub fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let text = text.trim_end();
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i == MAX_CHARS => return out + "…",
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Formats the tree without locations, like JSON.
    fn shape(node: &Node) -> String {
        match &node.value {
            Value::Map(entries) => {
                let inner: Vec<_> = entries.iter().map(|e| format!("{}:{}", e.key, shape(&e.node))).collect();
                format!("{{{}}}", inner.join(","))
            }
            Value::Seq(items) => format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(",")),
            Value::Scalar(s) if s.is_null() => "~".into(),
            Value::Scalar(s) if s.plain => s.text.clone(),
            Value::Scalar(s) => format!("{:?}", s.text),
        }
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(shape(&parse(text).unwrap().unwrap()), expected, "{text:?}");
    }

    fn rejects(text: &str, code: &str, at: &str) -> Diag {
        let diag = parse(text).unwrap_err();
        assert_eq!((diag.code.as_str(), diag.at.as_deref().unwrap_or_default()), (code, at), "{diag}");
        diag
    }

    #[test]
    fn parses_every_style() {
        check("a: 1\nb:\n  - x\n  - 'true'\nc: {d: [], e: }\n", r#"{a:1,b:[x,"true"],c:{d:[],e:~}}"#);
        check("\u{feff}a: 1\r\nb: 2\r\n", "{a:1,b:2}");
        check("%YAML 1.2\n---\na: \"x\\ty\"\n...\n", r#"{a:"x\ty"}"#);
        check("a: # note\n  b\n# end", "{a:b}");
        assert!(parse("").unwrap().is_none());
        assert!(parse("# nothing\n\n").unwrap().is_none());
    }

    #[test]
    fn locations_count_from_one() {
        let node = parse("a:\n  - match: x\n    ü: y\n").unwrap().unwrap();
        let Value::Map(top) = &node.value else { panic!() };
        let Value::Seq(rules) = &top[0].node.value else { panic!() };
        let Value::Map(rule) = &rules[0].value else { panic!() };
        assert_eq!(top[0].at, At { line: 1, column: 1 });
        assert_eq!(rule[0].at, At { line: 2, column: 5 });
        assert_eq!(rule[1].at, At { line: 3, column: 5 });
        assert_eq!(rule[1].node.at, At { line: 3, column: 8 });
    }

    #[test]
    fn rejects_unsupported_yaml_with_its_location() {
        let tab = rejects("a:\n\tb: 1\n", "config-syntax", "2:2");
        assert!(
            tab.message.contains("`\\tb: 1`")
                && tab.hint.as_deref().is_some_and(|hint| hint.contains("spaces")),
            "{tab}"
        );
        assert!(rejects("a: [1, 2\nb: 3\n", "config-syntax", "2:2").message.contains("`b: 3`"));
        rejects("a: 1\n---\nb: 2\n", "config-syntax", "2:1");
        rejects("a: !!str 1\n", "config-syntax", "1:4");
        rejects("a: &x 1\n<<: *x\n", "config-syntax", "2:1");
        rejects("? [a]\n: b\n", "config-syntax", "1:3");
        rejects("a: *missing\n", "config-syntax", "1:4");
        let duplicate = rejects("a: 1\nb: 2\na: 3\n", "config-duplicate-key", "3:1");
        assert!(duplicate.message.contains("'a'") && duplicate.message.contains("line 1"), "{duplicate}");
    }

    #[test]
    fn expands_aliases_up_to_a_limit() {
        check("a: &x [1, {b: 2}]\nc: *x\n", "{a:[1,{b:2}],c:[1,{b:2}]}");
        rejects("a: &x [*x]\n", "config-syntax", "1:8");
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
        for i in 1..20 {
            let inner = format!("*a{}", i - 1);
            bomb += &format!("a{i}: &a{i} [{}]\n", vec![inner; 10].join(", "));
        }
        assert_eq!(parse(&bomb).unwrap_err().code, Code::ConfigTooLarge);
    }

    #[test]
    fn limits_size_and_depth() {
        for open in ["[", "{a: ", "- ", "? "] {
            let diag = parse(&open.repeat(MAX_BYTES / open.len())).unwrap_err();
            assert_eq!(diag.code, Code::ConfigSyntax, "{diag}");
        }
        assert_eq!(parse(&"- a\n".repeat(MAX_NODES)).unwrap_err().code, Code::ConfigTooLarge);
        assert_eq!(parse(&"#".repeat(MAX_BYTES + 1)).unwrap_err().code, Code::ConfigTooLarge);
        let wide: String = (0..40_000).map(|i| format!("k{i}: 1\n")).collect();
        assert!(parse(&wide).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn never_panics(text in "([ \t\r\n:,*&!|>%@`'\"#?\\[\\]{}~-]|[a-c0]|---|\\.\\.\\.|: |\n  |<<|\\PC|\u{feff}|\u{0}){0,40}") {
            let _ = parse(&text);
        }
    }
}
