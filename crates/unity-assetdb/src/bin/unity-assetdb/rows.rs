//! Prints rows of results: as a table on a terminal, as tab-separated values otherwise, or as JSON.
//!
//! JSON has numbers, booleans and `null` where the values are such. A fileID is a string, because its 64 bits do not fit the
//! numbers of JavaScript. `docs/reference/unity-assetdb.schema.json` describes the rows of every command.

use kiln_cli::render::printable;
use kiln_cli::terminal::Out;
use kiln_engine::Json;
use std::io::IsTerminal;

/// The maximum width of a column on a terminal, in characters; the last column is not limited.
const MAX_COLUMN_WIDTH: usize = 48;

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    /// No value: an empty cell, `null` in JSON.
    None,
    Text(String),
    Number(u64),
    /// `yes` or `no`.
    Bool(bool),
}

impl Cell {
    pub(super) fn text(&self) -> String {
        match self {
            Cell::None => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Number(number) => number.to_string(),
            Cell::Bool(value) => if *value { "yes" } else { "no" }.to_owned(),
        }
    }

    fn json(&self) -> Json {
        match self {
            Cell::None => Json::Null,
            Cell::Text(text) => Json::Text(text.clone()),
            Cell::Number(number) => Json::Number(*number),
            Cell::Bool(value) => Json::Bool(*value),
        }
    }

    /// Makes a cell of a string that may be absent.
    pub(super) fn optional(text: String) -> Cell {
        if text.is_empty() { Cell::None } else { Cell::Text(text) }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Number(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Cell {
        Cell::Number(number.into())
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        Cell::Bool(value)
    }
}

/// Rows of the same columns.
pub(super) struct Rows {
    columns: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl Rows {
    pub(super) fn new(columns: &'static [&'static str]) -> Rows {
        Rows { columns, rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns each row as a JSON object.
    pub(super) fn json(&self) -> Vec<Json> {
        let object = |row: &Vec<Cell>| {
            let members = self.columns.iter().zip(row);
            Json::Object(members.map(|(name, cell)| ((*name).to_owned(), cell.json())).collect())
        };
        self.rows.iter().map(object).collect()
    }

    pub(super) fn print(&self, out: &mut Out, json: bool) {
        if json {
            self.json().iter().for_each(|row| out.line(&row.to_string()));
        } else if std::io::stdout().is_terminal() {
            self.table(out);
        } else {
            let mut line = String::new();
            for row in &self.rows {
                line.clear();
                for (n, cell) in row.iter().enumerate() {
                    line.push_str(if n > 0 { "\t" } else { "" });
                    match cell {
                        Cell::Text(text) if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) => {
                            line += text
                        }
                        cell => line += &printable(&cell.text()),
                    }
                }
                out.line(&line);
            }
        }
    }

    fn table(&self, out: &mut Out) {
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| printable(&cell.text()).into_owned()).collect())
            .collect();
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
