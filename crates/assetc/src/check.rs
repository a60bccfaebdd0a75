//! `assetc check`: validates the integrity of an output directory or a pack.
//!
//! Every file of a known format must be valid by itself, with all compressed data decoded, and consistent with the files
//! it refers to. In an output directory that still has its journal, every output must also have the bytes that were
//! written, and a file of a known format that no build wrote is reported, as is every source that failed in the last
//! build. In a pack, and in a directory without a journal, the digests take the place of the journal.
//!
//! A single runtime file is compared with the journal and with the files it refers to, if it is inside an output
//! directory; elsewhere it is checked by itself.
//!
//! A subdirectory with a journal of its own is another output with a check of its own. Of the pack beside it only the
//! structure is checked.

use crate::content;
use crate::digests::{self, DIGEST_FILE, Digest};
use crate::failures;
use crate::info::renamed;
use crate::output::{JOURNAL, at_root};
use crate::runtime::RuntimeFiles;
use kiln_engine::{Code, Diag, Hash};
use kiln_format::{FORMATS, by_path};
use rayon::prelude::*;
use std::path::Path;

/// The result of a check.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// All problems, sorted by path.
    pub problems: Vec<Diag>,
    /// The number of files of each format, in the order of the format table: singular and plural of the format's noun,
    /// and the number.
    pub counts: Vec<(&'static str, &'static str, usize)>,
    /// The number of outputs that were compared with the journal or, in a pack or a directory without a journal, with
    /// [`DIGEST_FILE`]; 0 without both.
    pub compared: usize,
    /// True if outputs were compared with [`DIGEST_FILE`].
    pub by_digests: bool,
}

impl CheckReport {
    /// Adds another report, with the paths of its problems replaced by `name`.
    pub fn append(&mut self, other: CheckReport, name: impl Fn(&str) -> String) {
        self.problems.extend(other.problems.into_iter().map(|problem| renamed(problem, &name)));
        for (one, many, count) in other.counts {
            match self.counts.iter_mut().find(|(known, ..)| *known == one) {
                Some((.., sum)) => *sum += count,
                None => self.counts.push((one, many, count)),
            }
        }
        let order = |noun: &str| FORMATS.iter().position(|format| format.noun() == noun);
        self.counts.sort_by_key(|(one, ..)| order(one));
        self.compared += other.compared;
        self.by_digests |= other.by_digests;
    }
}

/// Checks an output directory, a pack or a single runtime file; calls `waiting` when a build holds the lock of the directory.
///
/// # Errors
///
/// The path does not exist or cannot be read. A damaged file, also a damaged pack, is no error: it is in
/// the [problems](CheckReport::problems).
pub fn check(path: &Path, waiting: &dyn Fn()) -> Result<CheckReport, Diag> {
    let runtime = match RuntimeFiles::open(path, waiting) {
        // A damaged pack is a finding of the check.
        Err(diag) if diag.code == Code::CheckCorrupt => {
            return Ok(CheckReport { problems: vec![diag], ..CheckReport::default() });
        }
        opened => opened?,
    };
    let records = runtime.records.as_ref().map_err(Clone::clone)?;
    let files: Vec<&str> = runtime.files().map(|(path, _)| path).collect();
    let mut written = digests::recorded(records);
    written.retain(|path, _| runtime.lists(path));
    let mut unreadable = None;
    let is_pack = path.is_file();
    let has_digests = records.is_empty() && runtime.files().any(|(path, _)| path == DIGEST_FILE);
    if has_digests {
        let digests = runtime.read(DIGEST_FILE).map_err(|e| e.to_string());
        match digests.and_then(|bytes| digests::parse(&bytes)) {
            Ok(digests) => written = digests,
            Err(why) => {
                unreadable = Some(problem(Code::CheckCorrupt, DIGEST_FILE, &why, "build and pack again"))
            }
        }
    }

    let mut problems: Vec<Diag> = runtime.problems.clone();
    // The state of the last build is no property of a single file.
    problems.extend(failures::problems(records).filter(|_| path.is_dir()));
    problems.extend(unreadable);
    problems
        .par_extend(files.par_iter().flat_map_iter(|path| check_file(&runtime, path, written.get(*path))));
    if path.join(JOURNAL).is_file() && (records.is_truncated() || records.is_empty()) {
        let message = "the journal is truncated or damaged, so files cannot be compared with it";
        problems.push(problem(Code::CheckJournal, JOURNAL, message, "run the build again"));
    }
    if let Some(at) = runtime.nonzero_padding().map_err(|e| at_root(Code::Unreadable, path, &e))? {
        let message = format!("the padding byte at offset {at} is not zero");
        let shown = path.display().to_string();
        problems.push(problem(Code::CheckCorrupt, &shown, &message, "write the pack again with --pack"));
    }
    if !written.is_empty() {
        let missing = written.keys().filter(|path| files.binary_search(&path.as_str()).is_err());
        problems.extend(missing.map(|path| {
            problem(Code::CheckMissing, path, "the output file is missing", "run the build again")
        }));
        let orphans = files.iter().filter(|file| {
            (by_path(file).is_some() || has_digests && is_pack && **file != DIGEST_FILE)
                && !written.contains_key(**file)
                && !is_pack_of_another(path, file)
        });
        problems.extend(orphans.map(|path| {
            problem(
                Code::CheckOrphan,
                path,
                "no source of the project writes this file",
                "remove the file, or move it out of the output directory",
            )
        }));
    }
    problems.sort_by(|a, b| (&a.path, &a.code, &a.message).cmp(&(&b.path, &b.code, &b.message)));
    let count =
        |ext: &str| files.iter().filter(|path| runtime.format(path).is_some_and(|f| f.ext() == ext)).count();
    let counts = FORMATS.iter().map(|f| (f.noun(), f.title(), count(f.ext())));
    let counts = counts.filter(|(_, _, n)| *n > 0).collect();
    Ok(CheckReport { problems, counts, compared: written.len(), by_digests: has_digests })
}

/// Returns whether a file is the pack of another output directory inside this one.
fn is_pack_of_another(output: &Path, file: &str) -> bool {
    file.strip_suffix(".hpack").is_some_and(|dir| output.join(dir).join(JOURNAL).is_file())
}

fn check_file(runtime: &RuntimeFiles, path: &str, written: Option<&Digest>) -> Vec<Diag> {
    let format = runtime.format(path);
    if format.is_none() && written.is_none() {
        return vec![];
    }
    let bytes = match runtime.read(path) {
        Ok(bytes) => bytes,
        Err(e) => return vec![problem(Code::Unreadable, path, &format!("cannot read the file: {e}"), "")],
    };
    let mut problems = Vec::new();
    if written.is_some_and(|digest| Hash::of(&bytes) != digest.hash) {
        problems.push(problem(
            Code::CheckModified,
            path,
            "the file was modified after the build",
            "run the build again with --verify",
        ));
    }
    // A copy of its source is what it should be, whatever its format.
    if let Some(format) = format.filter(|_| written.is_none_or(|digest| !digest.is_embedded)) {
        if let Err(why) = content::verify(format, &bytes) {
            problems.push(problem(Code::CheckCorrupt, path, &why, "run the build again with --verify"));
        } else if runtime.has_references() {
            let mut bad = |found: kiln_format::Problem| {
                problems.push(problem(found.code, path, &found.message, found.hint))
            };
            if let Err(e) = format.check_references(path, &bytes, runtime, &mut bad) {
                problems.push(problem(
                    Code::CheckCorrupt,
                    path,
                    &e.to_string(),
                    "run the build again with --verify",
                ));
            }
        }
    }
    problems
}

fn problem(code: Code, path: &str, message: &str, hint: &str) -> Diag {
    Diag::new(code, message).path(path).hint(hint)
}
