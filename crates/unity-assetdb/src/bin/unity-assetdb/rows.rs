//! Prints rows of results: as a table on a terminal, as tab-separated values otherwise, or as JSON.

use kiln_cli::render::printable;
use kiln_cli::terminal::Out;
use kiln_engine::Json;
use std::io::IsTerminal;

/// The maximum width of a column on a terminal, in characters; the last column is not limited.
const MAX_COLUMN_WIDTH: usize = 48;

/// Rows of the same columns.
pub(super) struct Rows {
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Rows {
    pub(super) fn new(columns: &'static [&'static str]) -> Rows {
        Rows { columns, rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn print(&self, out: &mut Out, json: bool) {
        if json {
            for row in &self.rows {
                let members = self.columns.iter().zip(row);
                let members = members.map(|(name, value)| ((*name).to_owned(), Json::Text(value.clone())));
                out.line(&Json::Object(members.collect()).to_string());
            }
        } else if std::io::stdout().is_terminal() {
            self.table(out);
        } else {
            for row in &self.rows {
                let cells: Vec<_> = row.iter().map(|cell| printable(cell)).collect();
                out.line(&cells.join("\t"));
            }
        }
    }

    fn table(&self, out: &mut Out) {
        let width = |n: usize| {
            let cells = self.rows.iter().map(|row| row[n].chars().count());
            cells.chain([self.columns[n].len()]).max().unwrap_or(0).min(MAX_COLUMN_WIDTH)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &[String]| {
            let last = cells.len().saturating_sub(1);
            let pad = |(n, cell): (usize, &String)| {
                let cell = printable(cell);
                if n == last { cell.into_owned() } else { format!("{cell:<width$}", width = widths[n]) }
            };
            cells.iter().enumerate().map(pad).collect::<Vec<_>>().join("  ")
        };
        if !self.rows.is_empty() {
            let head: Vec<String> = self.columns.iter().map(|name| (*name).to_owned()).collect();
            let head = out.style.strong(&line(&head));
            out.line(&head);
        }
        for row in &self.rows {
            out.line(&line(row));
        }
    }
}
