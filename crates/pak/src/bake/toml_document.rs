//! TOML with source locations: every value knows its file, line, column and name, and every table records which fields
//! were read.
//!
//! Rejects values of the wrong type or out of range. Unknown fields are warnings: every reader of a table ends with
//! [`Fields::finish`], which suggests the nearest known field.

use kiln_engine::nearest;
use kiln_engine::{Code, Diag, RelPath};
use std::cell::RefCell;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed TOML file.
pub(crate) struct Document<'a> {
    name: String,
    /// The directory that relative paths are resolved against; `None` for the root.
    pub(crate) dir: Option<RelPath>,
    text: &'a str,
    table: Spanned<DeTable<'a>>,
    warnings: RefCell<Vec<Diag>>,
}

impl<'a> Document<'a> {
    /// Parses a file. `name` is the path to show in diagnostics.
    pub(crate) fn parse(name: String, dir: Option<RelPath>, text: &'a str) -> Result<Document<'a>, Diag> {
        match DeTable::parse(text) {
            Ok(table) => Ok(Document { name, dir, text, table, warnings: RefCell::default() }),
            Err(error) => {
                let at = error.span().unwrap_or_default().start;
                let message = error.message().lines().collect::<Vec<_>>().join("; ");
                Err(Diag::new(Code::PakSyntax, format!("invalid TOML: {message}"))
                    .path(name)
                    .at(place(text, at)))
            }
        }
    }

    /// Returns the top-level table.
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields {
            document: self,
            name: String::new(),
            table: self.table.get_ref(),
            span: 0..0,
            asked: RefCell::default(),
        }
    }

    /// Adds a warning.
    pub(crate) fn warn(&self, warning: Diag) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Returns the warnings so far.
    pub(crate) fn take_warnings(&self) -> Vec<Diag> {
        self.warnings.take()
    }

    fn error(&self, code: Code, span: Range<usize>, message: String) -> Diag {
        Diag::new(code, message).path(&self.name).at(place(self.text, span.start))
    }
}

/// Formats a byte offset as `line:column`, both starting at 1.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

/// A table whose fields are being read.
pub(crate) struct Fields<'a> {
    document: &'a Document<'a>,
    name: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Fields<'a> {
    /// Returns a field, if it is present.
    pub(crate) fn get(&self, key: &'static str) -> Option<Value<'a>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key).map(|value| self.value(key, value))
    }

    /// Reads a field with a function, if it is present.
    pub(crate) fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(Value<'a>) -> Result<T, Diag>,
    ) -> Result<Option<T>, Diag> {
        self.get(key).map(read).transpose()
    }

    /// Reads a boolean field; returns `default` if it is absent.
    pub(crate) fn flag(&self, key: &'static str, default: bool) -> Result<bool, Diag> {
        Ok(self.read(key, |value| value.bool())?.unwrap_or(default))
    }

    fn value(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        let name = if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) };
        Value { document: self.document, name, value }
    }

    /// Returns all fields, for tables with user-defined keys.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.table.iter().map(|(key, value)| (&**key.get_ref(), self.value(key.get_ref(), value)))
    }

    /// Adds a warning for each field that was not read.
    pub(crate) fn finish(self) {
        let asked = self.asked.borrow();
        let mut unknown: Vec<_> =
            self.table.keys().filter(|key| !asked.contains(&&**key.get_ref())).collect();
        unknown.sort_by_key(|key| key.span().start);
        let table =
            if self.name.is_empty() { "the top-level table".to_owned() } else { format!("[{}]", self.name) };
        for key in unknown {
            let message = format!("unknown field {:?} in {table} is ignored", key.get_ref());
            let diag = self.document.error(Code::PakField, key.span(), message);
            self.document.warn(match nearest(key.get_ref(), asked.iter().copied()) {
                Some(near) => diag.hint(format!("did you mean {near:?}?")),
                None => diag.hint(format!("the known fields are {}", asked.join(", "))),
            });
        }
    }

    /// Creates a diagnostic about the table as a whole.
    pub(crate) fn error(&self, code: Code, message: impl Into<String>) -> Diag {
        self.document.error(code, self.span.clone(), message.into())
    }
}

/// A value with its name and source location.
#[derive(Clone)]
pub(crate) struct Value<'a> {
    document: &'a Document<'a>,
    name: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    /// Creates a diagnostic about this value.
    pub(crate) fn error(&self, code: Code, message: impl std::fmt::Display) -> Diag {
        self.document.error(code, self.value.span(), format!("{}: {message}", self.name))
    }

    /// Adds a warning to the document.
    pub(crate) fn warn(&self, warning: Diag) {
        self.document.warn(warning);
    }

    /// Creates a diagnostic of the form "expected …, found …".
    pub(crate) fn expected(&self, expected: &str) -> Diag {
        let found = match self.value.get_ref() {
            DeValue::String(text) => format!("the string {text:?}"),
            DeValue::Integer(number) => format!("the integer {number}"),
            DeValue::Float(number) => format!("the number {number}"),
            DeValue::Boolean(value) => format!("the boolean {value}"),
            DeValue::Array(array) if array.len() == 1 => "an array of 1 element".to_owned(),
            DeValue::Array(array) => format!("an array of {} elements", array.len()),
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Datetime(_) => "a datetime".to_owned(),
        };
        self.error(Code::PakValue, format_args!("expected {expected}, found {found}"))
    }

    /// Returns the directory that relative paths are resolved against.
    pub(crate) fn dir(&self) -> Option<&'a RelPath> {
        self.document.dir.as_ref()
    }

    /// Returns the qualified name, such as `mesh.scale`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn raw(&self) -> &'a DeValue<'a> {
        self.value.get_ref()
    }

    pub(crate) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub(crate) fn bool(&self) -> Result<bool, Diag> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected("a boolean"))
    }

    pub(crate) fn string(&self) -> Result<&'a str, Diag> {
        self.value.get_ref().as_str().ok_or_else(|| self.expected("a string"))
    }

    /// Reads a string that is not empty.
    pub(crate) fn non_empty_string(&self) -> Result<String, Diag> {
        let text = self.string()?;
        if text.is_empty() { Err(self.expected("a non-empty string")) } else { Ok(text.to_owned()) }
    }

    /// Reads a string that is one of several keywords.
    pub(crate) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, Diag> {
        let text = self.string()?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let all: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        let diag = self.expected(&format!("one of {}", all.join(", ")));
        Err(match nearest(text, words.iter().map(|(word, _)| *word)) {
            Some(near) => diag.hint(format!("did you mean {near:?}?")),
            None => diag,
        })
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        let number = self.value.get_ref().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// Reads an integer in a range.
    pub(crate) fn number(&self, range: std::ops::RangeInclusive<u32>) -> Result<u32, Diag> {
        let found = self.integer().and_then(|n| u32::try_from(n).ok()).filter(|n| range.contains(n));
        found.ok_or_else(|| match *range.end() {
            u32::MAX => self.expected(&format!("an integer of at least {}", range.start())),
            end => self.expected(&format!("an integer from {} to {end}", range.start())),
        })
    }

    pub(crate) fn float64(&self) -> Option<f64> {
        match self.value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(_) => self.integer().map(|n| n as f64),
            _ => None,
        }
    }

    /// Reads a finite number; integers are converted.
    pub(crate) fn float(&self) -> Result<f32, Diag> {
        let value = self.float64().map(|n| n as f32).filter(|n| n.is_finite());
        value.ok_or_else(|| self.expected("a finite number"))
    }

    /// Reads a number from 0 to 1.
    pub(crate) fn unit(&self) -> Result<f32, Diag> {
        Some(self.float()?)
            .filter(|n| (0.0..=1.0).contains(n))
            .ok_or_else(|| self.expected("a number from 0 to 1"))
    }

    /// Returns the elements of an array.
    pub(crate) fn list(&self) -> Result<Vec<Value<'a>>, Diag> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.expected("an array"))?;
        Ok((0..)
            .zip(array.iter())
            .map(|(n, value): (u32, _)| Value {
                document: self.document,
                name: format!("{}[{n}]", self.name),
                value,
            })
            .collect())
    }

    pub(crate) fn strings(&self) -> Result<Vec<String>, Diag> {
        self.list()?.iter().map(|value| Ok(value.string()?.to_owned())).collect()
    }

    pub(crate) fn floats(&self) -> Result<Vec<f32>, Diag> {
        self.list()?.iter().map(Value::float).collect()
    }

    /// Reads an array of exactly `N` numbers.
    pub(crate) fn array<const N: usize>(&self) -> Result<[f32; N], Diag> {
        <[f32; N]>::try_from(self.floats()?).map_err(|_| self.expected(&format!("an array of {N} numbers")))
    }

    /// Returns the fields of a table.
    pub(crate) fn fields(&self) -> Result<Fields<'a>, Diag> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.expected("a table"))?;
        Ok(Fields {
            document: self.document,
            name: self.name.clone(),
            table,
            span: self.value.span(),
            asked: RefCell::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(text: &str, read: impl FnOnce(Fields<'_>) -> Result<T, Diag>) -> Result<T, String> {
        let document = Document::parse("a.toml".into(), None, text).map_err(|d| d.to_string())?;
        read(document.fields()).map_err(|d| d.to_string())
    }

    #[test]
    fn errors_name_file_line_and_field() {
        let scale = |fields: Fields<'_>| fields.read("scale", |v| v.array::<3>());
        assert_eq!(read("scale = [1, 2.5, -3]", scale), Ok(Some([1.0, 2.5, -3.0])));
        let error = read("# x\nscale = [1, 2]", scale).unwrap_err();
        assert_eq!(
            error,
            "error[pak-value]: a.toml:2:9: scale: expected an array of 3 numbers, found an array of 2 elements"
        );
        let error = read("scale = [1, nan, 2]", scale).unwrap_err();
        assert!(
            error.contains("a.toml:1:13: scale[1]: expected a finite number, found the number nan"),
            "{error}"
        );
        assert!(read("a = 1\na = 2", scale).unwrap_err().starts_with("error[pak-syntax]: a.toml:2:"));
    }

    #[test]
    fn unknown_field_is_a_warning_with_a_suggestion() {
        let text = "lod = true\nnormal = false\nzzz = 1";
        let document = Document::parse("a.toml".into(), None, text).unwrap();
        let fields = document.fields();
        fields.flag("lod", false).unwrap();
        fields.flag("normals", true).unwrap();
        fields.finish();
        let warnings: Vec<String> = document.take_warnings().iter().map(ToString::to_string).collect();
        assert_eq!(
            warnings,
            [
                "warning[pak-field]: a.toml:2:1: unknown field \"normal\" in the top-level table is ignored (did you \
                 mean \"normals\"?)",
                "warning[pak-field]: a.toml:3:1: unknown field \"zzz\" in the top-level table is ignored (the known \
                 fields are lod, normals)",
            ]
        );
        assert_eq!(document.take_warnings(), []);
    }
}
