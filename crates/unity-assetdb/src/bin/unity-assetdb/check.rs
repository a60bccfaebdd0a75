//! The `check` command: findings, without those of the baseline and the ignore file, or only those of a branch.

use super::args::CheckArgs;
use super::git::Git;
use super::{Failure, Session};
use ::unity_assetdb::index::Index;
use ::unity_assetdb::query::baseline::Baseline;
use ::unity_assetdb::query::changed_since::{Changes, changed_since};
use ::unity_assetdb::query::check::{Finding, findings};
use ::unity_assetdb::query::ignore::{IGNORE_FILE, IgnoreFile};
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::publish::Durability;
use kiln_engine::{Code, Diag, Real, Severity};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;

/// The maximum size of a baseline or an ignore file, in bytes.
const MAX_FILE_SIZE: u64 = 256 << 20;

pub(super) fn check(session: &Session, args: &CheckArgs) -> Result<u8, Failure> {
    let (root, index) = session.index_with_duplicates()?;
    let found = find(&index, &root, args)?;
    let (found, ignored) = without_ignored(found, &root, args)?;
    let (found, known) = match &args.baseline {
        Some(path) if args.update_baseline => {
            let baseline = Baseline::new(&found);
            write(path, &baseline.to_text())?;
            session.reporter.note(&format!("wrote {} to {}", findings_count(baseline.len()), path.display()));
            return Ok(OK);
        }
        Some(path) => {
            let result = Baseline::parse(&read(path, Code::UnityBaseline)?)
                .map_err(|diag| diag.path(path.display()))?
                .compare(found);
            if result.fixed > 0 {
                session.reporter.note(&format!(
                    "{} of the baseline no longer found; write it again with --update-baseline",
                    findings_count(result.fixed)
                ));
            }
            (result.new, result.known)
        }
        None => (found, 0),
    };
    let (errors, warnings) = report(session, &found);
    let count = |n, what: &str| render::count(n, what, &format!("{what}s"));
    let mut summary = format!("{}, {}", count(errors, "error"), count(warnings, "warning"));
    if known > 0 {
        summary += &format!("; {known} in the baseline");
    }
    if ignored > 0 {
        summary += &format!("; {ignored} ignored");
    }
    session.reporter.note(&summary);
    Ok(if errors == 0 { OK } else { FAILED })
}

/// Returns the findings of the project, or of the changes since a revision.
pub(super) fn find(index: &Index, root: &Path, args: &CheckArgs) -> Result<Vec<Finding>, Failure> {
    if let Some(revision) = &args.changed_since {
        return since(index, root, revision);
    }
    Ok(findings(index, root, &|guids| match args.no_history {
        true => HashMap::new(),
        // Outside of a repository, nothing is known about removed assets.
        false => Git::open(root).and_then(|git| git.removed_assets(guids)).unwrap_or_default(),
    })?)
}

/// Reports findings. Returns the number of errors, denied warnings included, and of warnings.
fn report(session: &Session, found: &[Finding]) -> (usize, usize) {
    let (mut errors, mut warnings) = (0, 0);
    let mut out = session.reporter.out();
    for finding in found {
        match session.reporter.say_result(&mut out, &finding.diag) {
            Some(Severity::Error) => errors += 1,
            Some(Severity::Warning) => warnings += 1,
            None => {}
        }
    }
    (errors, warnings)
}

/// Returns the problems that the current branch introduced since it left a revision.
pub(super) fn since(index: &Index, root: &Path, revision: &str) -> Result<Vec<Finding>, Failure> {
    let git = Git::open(root)?;
    let base = git.merge_base(revision, "HEAD")?;
    let changed = git.changes(&base)?;
    let blobs = git.blobs()?;
    let files = changed.iter().map(|(path, changed)| (path.clone(), changed.status)).collect();
    let read_base = |path: &str| changed.get(path)?.read(&blobs);
    Ok(changed_since(index, root, &Changes { files, read_base: &read_base })?)
}

/// Removes the findings that the ignore file covers. Returns the others, and the number of those that were removed.
pub(super) fn without_ignored(
    found: Vec<Finding>,
    root: &Path,
    args: &CheckArgs,
) -> Result<(Vec<Finding>, usize), Failure> {
    let default = root.join(IGNORE_FILE);
    let path = match &args.ignore_file {
        Some(path) => path,
        None if default.is_file() => &default,
        None => return Ok((found, 0)),
    };
    let file =
        IgnoreFile::parse(&read(path, Code::UnityIgnoreFile)?).map_err(|diag| diag.path(path.display()))?;
    let total = found.len();
    let found: Vec<Finding> = found.into_iter().filter(|finding| !file.covers(finding)).collect();
    let ignored = total - found.len();
    Ok((found, ignored))
}

fn read(path: &Path, code: Code) -> Result<String, Diag> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        kiln_engine::regular_file::open(path)?.take(MAX_FILE_SIZE).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|error| {
        let diag = Diag::new(code, format!("cannot read the file: {error}")).path(path.display());
        match code {
            Code::UnityBaseline => diag.hint("create it with --update-baseline"),
            _ => diag,
        }
    })
}

/// Writes a file by a rename in its directory.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Diag> {
    let write = || -> io::Result<()> {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary = Real::open(dir)?.temporary_file()?;
        temporary.file().write_all(text.as_bytes())?;
        temporary.publish(path, Durability::Durable)
    };
    write().map_err(|error| {
        Diag::new(Code::UnityBaseline, format!("cannot write the file: {error}")).path(path.display())
    })
}

fn findings_count(n: usize) -> String {
    render::count(n, "finding", "findings")
}
