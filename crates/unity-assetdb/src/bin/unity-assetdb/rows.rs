//! Prints rows of results: as a table on a terminal, as tab-separated values otherwise, or as JSON.
//!
//! JSON has numbers, booleans and `null` where the values are such. A fileID is a string, because its 64 bits do not fit the
//! numbers of JavaScript. `docs/reference/unity-assetdb.schema.json` describes the rows of every command.
//!
//! An answer may have hundreds of thousands of rows, so that all strings of the rows lie in one buffer.

use ::unity_assetdb::guid::Guid;
use kiln_cli::render::printable;
use kiln_cli::terminal::Out;
use kiln_engine::Json;
use std::fmt::Write as _;
use std::io::IsTerminal;

/// The maximum width of a column on a terminal, in characters; the last column is not limited.
const MAX_COLUMN_WIDTH: usize = 48;
/// The number of rows that a stream collects before it prints them.
pub(super) const STREAM_ROWS: usize = 4096;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    /// No value: an empty cell, `null` in JSON.
    None,
    Text(&'a str),
    Number(u64),
    /// `yes` or `no`.
    Bool(bool),
    Guid(u128),
    FileId(i64),
}

impl<'a> Cell<'a> {
    /// Makes a cell of a string that may be absent.
    pub(super) fn optional(text: &'a str) -> Cell<'a> {
        if text.is_empty() { Cell::None } else { Cell::Text(text) }
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Cell<'a> {
        Cell::Text(text)
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Cell<'a> {
        Cell::Text(text)
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Cell::Number(number)
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Cell::Number(number.into())
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Cell::Bool(value)
    }
}

/// A cell of [`Rows`].
#[derive(Clone, Copy)]
enum Stored {
    None,
    /// A range of the strings.
    Text {
        at: usize,
        len: u32,
    },
    Number(u64),
    Bool(bool),
}

/// Rows of the same columns.
pub(super) struct Rows {
    columns: &'static [&'static str],
    /// The strings of all cells, one after the other.
    strings: String,
    cells: Vec<Stored>,
}

impl Rows {
    pub(super) fn new(columns: &'static [&'static str]) -> Rows {
        Rows { columns, strings: String::new(), cells: Vec::new() }
    }

    /// Adds a row, which must have a cell for each column.
    pub(super) fn push(&mut self, row: &[Cell<'_>]) {
        debug_assert_eq!(row.len(), self.columns.len());
        for cell in row {
            let at = self.strings.len();
            let stored = match cell {
                Cell::None => Stored::None,
                Cell::Number(number) => Stored::Number(*number),
                Cell::Bool(value) => Stored::Bool(*value),
                Cell::Text(text) => {
                    self.strings.push_str(text);
                    Stored::Text { at, len: text.len() as u32 }
                }
                // Writing to a string cannot fail.
                Cell::Guid(guid) => {
                    let _ = write!(self.strings, "{}", Guid(*guid));
                    Stored::Text { at, len: (self.strings.len() - at) as u32 }
                }
                Cell::FileId(id) => {
                    let _ = write!(self.strings, "{id}");
                    Stored::Text { at, len: (self.strings.len() - at) as u32 }
                }
            };
            self.cells.push(stored);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len() / self.columns.len()
    }

    fn clear(&mut self) {
        self.strings.clear();
        self.cells.clear();
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, Stored> {
        self.cells.chunks_exact(self.columns.len())
    }

    /// Returns the string of a cell; empty for other values.
    fn string(&self, cell: Stored) -> &str {
        match cell {
            Stored::Text { at, len } => &self.strings[at..at + len as usize],
            _ => "",
        }
    }

    /// Appends a cell as it is shown.
    fn show(&self, cell: Stored, line: &mut String) {
        match cell {
            Stored::None => {}
            Stored::Text { .. } => {
                let text = self.string(cell);
                // Without an early exit, so that the compiler can use SIMD: nearly all cells pass.
                match text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
                    true => line.push_str(text),
                    false => line.push_str(&printable(text)),
                }
            }
            Stored::Number(number) => drop(write!(line, "{number}")),
            Stored::Bool(value) => line.push_str(if value { "yes" } else { "no" }),
        }
    }

    /// Sorts rows by the strings of these columns; the last one is compared last.
    pub(super) fn sort_by_columns(&mut self, columns: &[usize]) {
        let mut rows: Vec<&[Stored]> = self.rows().collect();
        // Most answers are almost in order, which a stable sort makes use of.
        rows.sort_by(|a, b| {
            let key = |row: &[Stored], column: usize| self.string(row[column]).as_bytes();
            let mut order = columns.iter().map(|column| key(a, *column).cmp(key(b, *column)));
            order.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        self.cells = rows.concat();
    }

    /// Returns each row as a JSON object.
    pub(super) fn json(&self) -> Vec<Json> {
        let value = |cell: &Stored| match cell {
            Stored::None => Json::Null,
            Stored::Text { .. } => Json::Text(self.string(*cell).to_owned()),
            Stored::Number(number) => Json::Number(*number),
            Stored::Bool(value) => Json::Bool(*value),
        };
        let object = |row: &[Stored]| {
            let members = self.columns.iter().zip(row);
            Json::Object(members.map(|(name, cell)| ((*name).to_owned(), value(cell))).collect())
        };
        self.rows().map(object).collect()
    }

    pub(super) fn print(&self, out: &mut Out, json: bool) {
        if json {
            self.json().iter().for_each(|row| out.line(&row.to_string()));
        } else if std::io::stdout().is_terminal() {
            self.table(out);
        } else {
            let mut line = String::new();
            for row in self.rows() {
                // Cells are escaped one by one; the tabs between them are not.
                line.clear();
                for (n, cell) in row.iter().enumerate() {
                    line.push_str(if n > 0 { "\t" } else { "" });
                    self.show(*cell, &mut line);
                }
                out.escaped_line(&line);
            }
        }
    }

    fn table(&self, out: &mut Out) {
        let shown = |cell: &Stored| {
            let mut text = String::new();
            self.show(*cell, &mut text);
            text
        };
        let rows: Vec<Vec<String>> = self.rows().map(|row| row.iter().map(shown).collect()).collect();
        let width = |n: usize| {
            let cells = rows.iter().map(|row| row[n].chars().count());
            cells.chain([self.columns[n].len()]).max().unwrap_or(0).min(MAX_COLUMN_WIDTH)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &[String]| {
            let last = cells.len().saturating_sub(1);
            let pad = |(n, cell): (usize, &String)| {
                if n == last { cell.clone() } else { format!("{cell:<width$}", width = widths[n]) }
            };
            cells.iter().enumerate().map(pad).collect::<Vec<_>>().join("  ")
        };
        if !rows.is_empty() {
            let head: Vec<String> = self.columns.iter().map(|name| (*name).to_owned()).collect();
            let head = out.style.strong(&line(&head));
            out.line(&head);
        }
        for row in &rows {
            out.line(&line(row));
        }
    }
}

/// Rows that are printed while they are found, so that memory does not grow with their number. A table on a terminal needs
/// the widths of all rows and is printed at the end.
pub(super) struct RowStream {
    rows: Rows,
    out: Out,
    json: bool,
    is_table: bool,
    printed: usize,
}

impl RowStream {
    pub(super) fn new(columns: &'static [&'static str], out: Out, json: bool) -> RowStream {
        let is_table = !json && std::io::stdout().is_terminal();
        RowStream { rows: Rows::new(columns), out, json, is_table, printed: 0 }
    }

    pub(super) fn push(&mut self, row: &[Cell<'_>]) {
        self.rows.push(row);
        if !self.is_table && self.rows.len() >= STREAM_ROWS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.rows.print(&mut self.out, self.json);
        self.printed += self.rows.len();
        self.rows.clear();
    }

    /// Prints the rest. Returns the number of rows.
    pub(super) fn finish(mut self) -> usize {
        self.flush();
        self.printed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_rows_by_columns_in_order() {
        let mut rows = Rows::new(&["path", "line", "fileID"]);
        for (path, line, id) in [("b", 1u32, 9), ("a", 2, 10), ("a", 3, 9), ("", 4, 0)] {
            rows.push(&[Cell::optional(path), line.into(), Cell::FileId(id)]);
        }
        rows.sort_by_columns(&[0, 2]);
        let shown: Vec<String> = rows.json().iter().map(ToString::to_string).collect();
        let expected = [
            r#"{"path":null,"line":4,"fileID":"0"}"#,
            r#"{"path":"a","line":2,"fileID":"10"}"#,
            r#"{"path":"a","line":3,"fileID":"9"}"#,
            r#"{"path":"b","line":1,"fileID":"9"}"#,
        ];
        assert_eq!(shown, expected);
    }
}
