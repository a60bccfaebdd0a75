//! `assetc check`: whether an output directory or a pack is whole.
//!
//! Every file of a known format has to be sound in itself and agree with the files it refers to. In an output
//! directory that still has its journal, every output also has to be the one that was written, byte for byte, and
//! no file of a known format may be there that nobody wrote.
//!
//! A subdirectory with a journal of its own is another output, and is left to a check of its own; so is the pack
//! beside it, but for its structure.

use crate::output::{JOURNAL, at_root};
use crate::runtime::Runtime;
use kiln_engine::{Code, Diag, Hash};
use kiln_format::{FORMATS, by_path};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Everything that is wrong, by path.
    pub problems: Vec<Diag>,
    /// How many files of each format are there, in the order of the format table: what one and what several are
    /// called, and how many.
    pub counts: Vec<(&'static str, &'static str, usize)>,
    /// How many outputs were compared with the journal; none without one.
    pub compared: usize,
}

/// Checks an output directory or a pack; calls `waiting` when a build has to end first.
pub fn check(path: &Path, waiting: &dyn Fn()) -> Result<Checked, Diag> {
    let runtime = match Runtime::open(path, waiting) {
        // A pack that cannot be opened because it is damaged is what a check is to find.
        Err(diag) if diag.code == Code::CheckBroken => {
            return Ok(Checked { problems: vec![diag], ..Checked::default() });
        }
        opened => opened?,
    };
    let records = runtime.records.as_ref().map_err(Clone::clone)?;
    let files: Vec<&str> = runtime.files().map(|(path, _)| path).collect();
    let written: BTreeMap<String, Hash> = records
        .names()
        .into_iter()
        .filter_map(|name| records.get(name))
        .flat_map(|record| record.outputs)
        .map(|output| (output.path.into_owned(), output.hash))
        .collect();

    let mut problems: Vec<Diag> = runtime.problems.clone();
    problems
        .par_extend(files.par_iter().flat_map_iter(|path| check_file(&runtime, path, written.get(*path))));
    if path.join(JOURNAL).is_file() && (records.is_cut() || records.is_empty()) {
        let message = "it is cut off or damaged, and files cannot be compared with it";
        problems.push(problem(Code::CheckJournal, JOURNAL, message, "build again"));
    }
    if let Some(at) = runtime.stray_byte().map_err(|e| at_root(Code::Unreadable, path, &e))? {
        let message = format!("the byte at {at} lies between two files and is not zero");
        let shown = path.display().to_string();
        problems.push(problem(Code::CheckBroken, &shown, &message, "pack again with --pack"));
    }
    if !records.is_empty() {
        let missing = written.keys().filter(|path| files.binary_search(&path.as_str()).is_err());
        problems
            .extend(missing.map(|path| problem(Code::CheckMissing, path, "it is missing", "build again")));
        let orphans = files.iter().filter(|file| {
            by_path(file).is_some() && !written.contains_key(**file) && !is_pack_of_another(path, file)
        });
        problems.extend(orphans.map(|path| {
            problem(
                Code::CheckOrphan,
                path,
                "nothing in the project writes it",
                "remove it, or keep it outside the output",
            )
        }));
    }
    problems.sort_by(|a, b| (&a.path, &a.code, &a.message).cmp(&(&b.path, &b.code, &b.message)));
    let count = |ext: &str| files.iter().filter(|path| by_path(path).is_some_and(|f| f.ext() == ext)).count();
    let counts = FORMATS.iter().map(|f| (f.noun(), f.title(), count(f.ext())));
    let counts = counts.filter(|(_, _, n)| *n > 0).collect();
    Ok(Checked { problems, counts, compared: written.len() })
}

/// Whether a file is the pack beside another output that lies inside this one.
fn is_pack_of_another(output: &Path, file: &str) -> bool {
    file.strip_suffix(".hpack").is_some_and(|dir| output.join(dir).join(JOURNAL).is_file())
}

fn check_file(runtime: &Runtime, path: &str, written: Option<&Hash>) -> Vec<Diag> {
    let format = by_path(path);
    if format.is_none() && written.is_none() {
        return vec![];
    }
    let bytes = match runtime.read(path) {
        Ok(bytes) => bytes,
        Err(e) => return vec![problem(Code::Unreadable, path, &format!("cannot read it: {e}"), "")],
    };
    let mut problems = Vec::new();
    if written.is_some_and(|hash| Hash::of(&bytes) != *hash) {
        problems.push(problem(
            Code::CheckChanged,
            path,
            "it is not what was written",
            "build again with --verify",
        ));
    }
    if let Some(format) = format {
        if let Err(e) = format.verify(&bytes) {
            problems.push(problem(Code::CheckBroken, path, &e.to_string(), "build again with --verify"));
        } else {
            let mut bad = |found: kiln_format::Problem| {
                problems.push(problem(found.code, path, &found.message, found.hint))
            };
            if let Err(e) = format.cross(path, &bytes, runtime, &mut bad) {
                problems.push(problem(Code::CheckBroken, path, &e.to_string(), "build again with --verify"));
            }
        }
    }
    problems
}

fn problem(code: Code, path: &str, message: &str, hint: &str) -> Diag {
    Diag::new(code, message).path(path).hint(hint)
}
