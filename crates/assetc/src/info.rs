//! `assetc info`: what is in an output directory or a pack, file by file and in total.

use crate::runtime::Runtime;
use kiln_engine::Diag;
use kiln_format::{FORMATS, Fact, by_path};
use rayon::prelude::*;
use std::path::Path;

/// A fact about a file, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number that adds up over files.
    Total(u64),
    /// A number that means something for this file only.
    Number(u64),
    /// A word or a name.
    Text(String),
    /// Several things of one kind, each with facts of its own.
    Rows(Vec<Vec<(&'static str, Value)>>),
}

/// What is known of one file.
#[derive(Clone, Debug)]
pub struct FileInfo {
    /// Where it is, relative to the runtime root.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// One line for a person, or why there is none.
    pub line: Result<String, String>,
    /// All of it as text, if that was asked for.
    pub dump: String,
    /// The same for a program.
    pub facts: Vec<(&'static str, Value)>,
}

/// The files of one format.
#[derive(Clone, Debug)]
pub struct Section {
    /// What several of them are called.
    pub title: &'static str,
    /// Their extension.
    pub ext: &'static str,
    /// Each of them, by path.
    pub files: Vec<FileInfo>,
    /// What adds up over them, in the order of the facts.
    pub totals: Vec<(&'static str, u64)>,
}

impl Section {
    /// Their size together.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// Everything about an output.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// One section a format that occurs, in the order of the format table.
    pub sections: Vec<Section>,
    /// Files of no known format, with their sizes.
    pub others: Vec<(String, u64)>,
    /// What could not be looked at.
    pub problems: Vec<Diag>,
}

impl Info {
    /// The size of everything.
    pub fn size(&self) -> u64 {
        self.sections.iter().map(Section::size).chain(self.others.iter().map(|(_, size)| *size)).sum()
    }

    /// How many files could not be read as what they claim to be.
    pub fn failed(&self) -> usize {
        self.sections.iter().flat_map(|s| &s.files).filter(|f| f.line.is_err()).count()
    }
}

/// Looks at every file of an output directory or a pack; with `dump`, all of it is told. Calls `waiting` when a build
/// has to end first.
pub fn info(path: &Path, dump: bool, waiting: &dyn Fn()) -> Result<Info, Diag> {
    let runtime = Runtime::open(path, waiting)?;
    let files: Vec<(&str, u64)> = runtime.files().collect();
    let looked: Vec<(&str, FileInfo)> = files
        .par_iter()
        .filter_map(|(path, size)| Some((by_path(path)?.name(), look(&runtime, path, *size, dump))))
        .collect();
    let mut sections = Vec::new();
    for format in FORMATS {
        let files: Vec<FileInfo> =
            looked.iter().filter(|(name, _)| *name == format.name()).map(|(_, f)| f.clone()).collect();
        if !files.is_empty() {
            let totals = totals(&files);
            sections.push(Section { title: format.title(), ext: format.ext(), files, totals });
        }
    }
    let others = files
        .iter()
        .filter(|(path, _)| by_path(path).is_none())
        .map(|(path, size)| ((*path).to_owned(), *size));
    Ok(Info { sections, others: others.collect(), problems: runtime.problems.clone() })
}

fn look(runtime: &Runtime, path: &str, size: u64, dump: bool) -> FileInfo {
    let mut info =
        FileInfo { path: path.to_owned(), size, line: Ok(String::new()), dump: String::new(), facts: vec![] };
    let Some(format) = by_path(path) else { return info };
    let told = runtime.read(path).map_err(|e| e.to_string()).and_then(|bytes| {
        let mut line = String::new();
        format.describe(&bytes, &mut line).map_err(|e| e.to_string())?;
        format
            .facts(&bytes, &mut |name, fact| info.facts.push((name, value(fact))))
            .map_err(|e| e.to_string())?;
        if dump {
            format.dump(&bytes, &mut info.dump).map_err(|e| e.to_string())?;
        }
        Ok(line)
    });
    info.line = told;
    info
}

/// Sums by name, in the order in which the names first come.
fn totals(files: &[FileInfo]) -> Vec<(&'static str, u64)> {
    let mut totals: Vec<(&'static str, u64)> = Vec::new();
    for (name, value) in files.iter().flat_map(|file| &file.facts) {
        let Value::Total(number) = value else { continue };
        match totals.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += number,
            None => totals.push((name, *number)),
        }
    }
    totals
}

fn value(fact: Fact<'_>) -> Value {
    match fact {
        Fact::Total(number) => Value::Total(number),
        Fact::Number(number) => Value::Number(number),
        Fact::Text(text) => Value::Text(text.to_owned()),
        Fact::Rows(rows) => {
            let row = |row: &&[_]| row.iter().map(|(name, fact)| (*name, value(*fact))).collect();
            Value::Rows(rows.iter().map(row).collect())
        }
        _ => Value::Text(String::new()),
    }
}
