//! The `pak list` command: keys with kind, sizes and codec, or with `--all` every asset and the sizes by kind. With
//! `--long` assets are read, and their properties shown.

use super::facts::{Fact, facts, summary};
use super::inspect::entry_json;
use super::{damaged, open};
use ::pak::{Entry, Kind, PakBuf};
use kiln_cli::render;
use kiln_cli::reporter::{OK, Reporter};
use kiln_engine::{Diag, Json};
use std::path::Path;

pub(super) fn list(reporter: &Reporter, path: &Path, all: bool, long: bool) -> Result<u8, Diag> {
    let pak = open(path)?;
    let entries: Vec<Entry<'_>> = if all { pak.assets().collect() } else { pak.entries().collect() };
    let totals = Totals::of(&pak, &entries);
    let read = |entry: &Entry<'_>| facts(&pak, entry.kind, entry.id).map_err(|error| damaged(path, &error));
    if reporter.json {
        let mut list = Vec::with_capacity(entries.len());
        for entry in &entries {
            let mut json = entry_json(entry);
            if let (true, Json::Object(members)) = (long, &mut json) {
                members.push(("facts".to_owned(), Json::list(read(entry)?.iter().map(Fact::json))));
            }
            list.push(json);
        }
        let list = Json::List(list);
        let mut members = vec![
            ("bytes".to_owned(), pak.file_len().into()),
            (if all { "assets" } else { "keys" }.to_owned(), list),
        ];
        if all {
            members.push(("kinds".to_owned(), Json::list(totals.kinds.iter().map(KindTotal::json))));
            members.push(("index".to_owned(), totals.rest.into()));
        }
        reporter.print_json(Json::Object(members));
        return Ok(OK);
    }
    let mut out = reporter.out();
    let width = entries.iter().map(|entry| entry.name().chars().count()).max().unwrap_or(0).min(60);
    for entry in &entries {
        let size = match entry.kind {
            Kind::Material => "in the index".to_owned(),
            _ => sizes(entry.len, entry.stored_len) + " " + entry.codec.name(),
        };
        let details = if long { format!("  {}", summary(&read(entry)?)) } else { String::new() };
        let name = entry.name();
        let line = format!("{:<11} {:width$}  {size}{details}", entry.kind.name(), render::printable(&name));
        out.line(line.trim_end());
    }
    if all {
        out.line("");
        for total in totals.kinds.iter().filter(|total| total.assets > 0) {
            let count = render::count(total.assets, "asset", "assets");
            let unnamed = match total.without_key {
                0 => String::new(),
                n => format!(", {n} without a key"),
            };
            let sizes = sizes(total.len, total.stored_len);
            out.line(&format!("{:<11} {sizes}  {count}{unnamed}", total.kind.name()));
        }
        out.line(&format!("{:<11} {:>10}    {:>10}", "index", "", render::size(totals.rest)));
        out.line(&format!("{:<11} {:>10}    {:>10}", "file", "", render::size(pak.file_len())));
    }
    Ok(OK)
}

fn sizes(len: u64, stored_len: u64) -> String {
    format!("{:>10} -> {:>10}", render::size(len), render::size(stored_len))
}

/// The assets of one kind.
struct KindTotal {
    kind: Kind,
    assets: usize,
    without_key: usize,
    len: u64,
    stored_len: u64,
}

impl KindTotal {
    fn json(&self) -> Json {
        Json::object([
            ("kind", self.kind.name().into()),
            ("assets", self.assets.into()),
            ("without_key", self.without_key.into()),
            ("len", self.len.into()),
            ("stored", self.stored_len.into()),
        ])
    }
}

/// The sizes of a pak by kind. Together with `rest` they are the size of the file.
struct Totals {
    kinds: Vec<KindTotal>,
    /// The size of header, index and padding in bytes.
    rest: u64,
}

impl Totals {
    fn of(pak: &PakBuf, entries: &[Entry<'_>]) -> Totals {
        let kinds: Vec<KindTotal> = Kind::ALL
            .into_iter()
            .map(|kind| {
                let own = || entries.iter().filter(move |entry| entry.kind == kind);
                KindTotal {
                    kind,
                    assets: own().count(),
                    without_key: own().filter(|entry| entry.key.is_empty()).count(),
                    len: own().map(|entry| entry.len).fold(0, u64::saturating_add),
                    stored_len: own().map(|entry| entry.stored_len).sum(),
                }
            })
            .collect();
        let stored: u64 = kinds.iter().map(|total| total.stored_len).sum();
        Totals { rest: pak.file_len().saturating_sub(stored), kinds }
    }
}
