//! `assetc info`: describes the files of an output directory or a pack, or a single runtime file, one by one and in total.

use crate::runtime::RuntimeFiles;
use kiln_engine::Diag;
use kiln_format::{FORMATS, Fact};
use rayon::prelude::*;
use std::path::Path;

/// A property of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FactValue {
    /// A number that is summed over files, such as triangles.
    Total(u64),
    /// A number that is not summed, such as a width.
    Number(u64),
    /// A string, such as the name of a format.
    Text(String),
    /// A list of items, each with properties of its own.
    Rows(Vec<Vec<(&'static str, FactValue)>>),
}

/// The description of one file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileInfo {
    /// The path, relative to the output directory.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// A one-line summary, or the error of the reader.
    pub line: Result<String, String>,
    /// All details as text; empty unless requested.
    pub dump: String,
    /// The properties by name, for programs.
    pub facts: Vec<(&'static str, FactValue)>,
}

/// The files of one format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FormatSection {
    /// The plural noun of the format, such as `textures`.
    pub title: &'static str,
    /// The file extension without a dot.
    pub ext: &'static str,
    /// The files, sorted by path.
    pub files: Vec<FileInfo>,
    /// The sums of the numbers that are summed over files, in the order of the facts.
    pub totals: Vec<(&'static str, u64)>,
}

impl FormatSection {
    /// Returns the total size of the files in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// The description of an output directory or a pack.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Info {
    /// One section per format that occurs, in the order of the format table.
    pub sections: Vec<FormatSection>,
    /// Files of unknown formats, with their sizes in bytes.
    pub others: Vec<(String, u64)>,
    /// Files and directories that could not be read.
    pub problems: Vec<Diag>,
}

impl Info {
    /// Returns the total size of all files in bytes.
    pub fn size(&self) -> u64 {
        self.sections.iter().map(FormatSection::size).chain(self.others.iter().map(|(_, size)| *size)).sum()
    }

    /// Adds another description, with every path replaced by `name`.
    pub fn append(&mut self, other: Info, name: impl Fn(&str) -> String) {
        for section in other.sections {
            let mut files = section.files;
            files.iter_mut().for_each(|file| file.path = name(&file.path));
            match self.sections.iter_mut().find(|known| known.ext == section.ext) {
                Some(known) => {
                    known.files.append(&mut files);
                    known.totals = totals(&known.files);
                }
                None => self.sections.push(FormatSection { files, ..section }),
            }
        }
        let order = |section: &FormatSection| FORMATS.iter().position(|format| format.ext() == section.ext);
        self.sections.sort_by_key(order);
        self.others.extend(other.others.into_iter().map(|(path, size)| (name(&path), size)));
        self.problems.extend(other.problems.into_iter().map(|problem| renamed(problem, &name)));
    }

    /// Returns the number of files that could not be parsed in the format of their extension.
    pub fn failed(&self) -> usize {
        self.sections.iter().flat_map(|s| &s.files).filter(|f| f.line.is_err()).count()
    }
}

/// Replaces the path of a diagnostic.
pub(crate) fn renamed(mut problem: Diag, name: impl Fn(&str) -> String) -> Diag {
    problem.path = problem.path.map(|path| name(&path));
    problem
}

/// Describes every file of an output directory or a pack, or a single file, with `dump` in full detail. Calls `waiting` when a build holds
/// the lock of the directory.
///
/// # Errors
///
/// The path does not exist, cannot be read, or is a damaged pack. A damaged file of another format is no error.
pub fn info(path: &Path, dump: bool, waiting: &dyn Fn()) -> Result<Info, Diag> {
    let runtime = RuntimeFiles::open(path, waiting)?;
    let files: Vec<(&str, u64)> = runtime.files().collect();
    let described: Vec<(&str, FileInfo)> = files
        .par_iter()
        .filter_map(|(path, size)| {
            Some((runtime.format(path)?.name(), describe(&runtime, path, *size, dump)))
        })
        .collect();
    let mut sections = Vec::new();
    for format in FORMATS {
        let files: Vec<FileInfo> =
            described.iter().filter(|(name, _)| *name == format.name()).map(|(_, f)| f.clone()).collect();
        if !files.is_empty() {
            let totals = totals(&files);
            sections.push(FormatSection { title: format.title(), ext: format.ext(), files, totals });
        }
    }
    let others = files
        .iter()
        .filter(|(path, _)| runtime.format(path).is_none())
        .map(|(path, size)| ((*path).to_owned(), *size));
    Ok(Info { sections, others: others.collect(), problems: runtime.problems.clone() })
}

fn describe(runtime: &RuntimeFiles, path: &str, size: u64, dump: bool) -> FileInfo {
    let mut info =
        FileInfo { path: path.to_owned(), size, line: Ok(String::new()), dump: String::new(), facts: vec![] };
    let Some(format) = runtime.format(path) else { return info };
    let line = runtime.read(path).map_err(|e| e.to_string()).and_then(|bytes| {
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
    info.line = line;
    info
}

/// Sums facts by name, in the order in which the names first occur.
fn totals(files: &[FileInfo]) -> Vec<(&'static str, u64)> {
    let mut totals: Vec<(&'static str, u64)> = Vec::new();
    for (name, value) in files.iter().flat_map(|file| &file.facts) {
        let FactValue::Total(number) = value else { continue };
        match totals.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += number,
            None => totals.push((name, *number)),
        }
    }
    totals
}

fn value(fact: Fact<'_>) -> FactValue {
    match fact {
        Fact::Total(number) => FactValue::Total(number),
        Fact::Number(number) => FactValue::Number(number),
        Fact::Text(text) => FactValue::Text(text.to_owned()),
        Fact::Rows(rows) => {
            let row = |row: &&[_]| row.iter().map(|(name, fact)| (*name, value(*fact))).collect();
            FactValue::Rows(rows.iter().map(row).collect())
        }
        _ => FactValue::Text(String::new()),
    }
}
