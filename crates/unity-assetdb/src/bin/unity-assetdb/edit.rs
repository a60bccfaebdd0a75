//! The commands that change a project: `replace` rewrites references, `mv` moves an asset with its `.meta`.
//!
//! Both refuse to work on files with uncommitted changes, so that Git can undo them; `--force` overrides that. Each file is
//! replaced atomically, and `--dry-run` shows the changes without writing.

use super::args::EditArgs;
use super::argument::{Subject, subject};
use super::git::Git;
use super::not_indexed;
use super::{Failure, Session};
use ::unity_assetdb::index::{Entry, Index};
use ::unity_assetdb::query::replace::{ReplaceTarget, RewrittenFile, parse_replace_target, replace as plan};
use ::unity_assetdb::query::suggest::suggest;
use ::unity_assetdb::query::type_names::short_type;
use ::unity_assetdb::walk::is_hidden;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::publish::Durability;
use kiln_engine::{Code, Diag, Real};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The result of an edit: a line for each file, remarks for the user, and whether something changed.
pub(super) struct Edited {
    pub(super) lines: Vec<String>,
    pub(super) notes: Vec<String>,
    changed: bool,
}

impl Edited {
    fn print(&self, session: &Session) -> u8 {
        let mut out = session.reporter.out();
        self.lines.iter().for_each(|line| out.line(line));
        drop(out);
        self.notes.iter().for_each(|note| session.reporter.note(note));
        if self.changed { OK } else { FAILED }
    }
}

fn usage(message: String) -> Failure {
    Diag::new(Code::Usage, message).into()
}

/// The failure for an argument that no asset of the project has, or several have. The exit code is that of a lookup.
fn not_one_asset(index: &Index, root: &Path, subject: &Subject<'_>, text: &str) -> Result<Failure, Failure> {
    let diag = match subject {
        Subject::Candidates(found) => {
            let count = found.len();
            Diag::new(
                Code::Usage,
                format!("{count} objects are named {text}; pass the path or GUID of one of them"),
            )
        }
        _ => {
            let diag = Diag::new(Code::Usage, format!("no asset found: {text}"));
            match not_indexed::reason(index, root, text)? {
                Some(reason) => diag.hint(reason),
                None => match suggest(index, text)? {
                    none if none.is_empty() => diag,
                    near => diag.hint(format!("did you mean: {}", near.join(", "))),
                },
            }
        }
    };
    Ok(Failure::new(vec![diag], FAILED))
}

/// Checks that none of the files has uncommitted changes.
fn check_clean(root: &Path, paths: &[String], options: EditArgs) -> Result<(), Failure> {
    if options.force || options.dry_run {
        return Ok(());
    }
    let refuse = |why: String| -> Failure {
        Diag::new(Code::UnityDirty, why).hint("commit first, or pass --force").into()
    };
    let git = Git::open(root)
        .map_err(|diag| refuse(format!("cannot tell whether files are committed: {}", diag.message)))?;
    let dirty = git.dirty_files()?;
    let prefix = git.prefix()?;
    let is_affected = |dirty: &&String| {
        let Some(dirty) = dirty.strip_prefix(&prefix) else { return false };
        paths.iter().any(|path| {
            dirty == path
                || dirty.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
                || dirty.ends_with('/') && path.starts_with(dirty)
        })
    };
    match dirty.iter().find(is_affected) {
        Some(path) => Err(refuse(format!("{path} has uncommitted changes"))),
        None => Ok(()),
    }
}

/// Returns the asset or object that an argument of `replace` denotes.
fn target(index: &Index, root: &Path, text: &str) -> Result<ReplaceTarget, Failure> {
    if let Some(target) = parse_replace_target(text) {
        return Ok(target);
    }
    match subject(index, root, text)? {
        Subject::Asset { guid, file_id } => Ok(ReplaceTarget::new(guid, file_id)),
        Subject::Folder { .. } => Err(usage(format!("expected an asset, found the folder {text:?}"))),
        other => Err(not_one_asset(index, root, &other, text)?),
    }
}

pub(super) fn replace(session: &Session, old: &str, new: &str, options: EditArgs) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    Ok(replace_in(&index, &root, old, new, options)?.print(session))
}

/// Rewrites the references to an asset.
pub(super) fn replace_in(
    index: &Index,
    root: &Path,
    old: &str,
    new: &str,
    options: EditArgs,
) -> Result<Edited, Failure> {
    let (old, new) = (target(index, root, old)?, target(index, root, new)?);
    if old == new {
        return Err(usage("the old and the new asset are the same".to_owned()));
    }
    if index.find_by_guid(new.guid)?.is_none() {
        return Err(usage(format!("no asset has the new GUID {}", ::unity_assetdb::guid::Guid(new.guid))));
    }
    let plan = plan(index, root, old, new)?;
    let paths: Vec<String> = plan.files.keys().cloned().collect();
    check_clean(root, &paths, options)?;
    let (mut lines, mut count) = (Vec::new(), 0);
    for (path, file) in &plan.files {
        count += file.count;
        if options.dry_run {
            lines.push(diff(path, file));
        } else {
            write(root, path, file)?;
            lines.push(format!("{path}\t{}", file.count));
        }
    }
    let kept = |(path, line, file_id): &(String, u32, i64)| {
        format!("{path}:{line}: kept, because the new asset has no object with the fileID {file_id}")
    };
    let mut notes: Vec<String> = plan.skipped.iter().map(kept).collect();
    notes.extend(type_change(index, old, new)?.filter(|_| count > 0));
    let done = if options.dry_run { "would change" } else { "changed" };
    let references = render::count(count, "reference", "references");
    if count == 0 && plan.skipped.is_empty() {
        notes.push("nothing to replace: no file refers to the old asset".to_owned());
    } else {
        notes.push(format!("{references} in {} {done}", render::count(paths.len(), "file", "files")));
    }
    Ok(Edited { lines, notes, changed: count > 0 })
}

/// Returns a remark if both assets as a whole have different types: Unity drops a reference of a type that a field cannot hold.
fn type_change(index: &Index, old: ReplaceTarget, new: ReplaceTarget) -> Result<Option<String>, Failure> {
    let whole = |target: ReplaceTarget| target.file_id.is_none().then_some(target.guid);
    let (Some(old), Some(new)) = (whole(old), whole(new)) else { return Ok(None) };
    let (Some(old), Some(new)) = (index.find_by_guid(old)?, index.find_by_guid(new)?) else {
        return Ok(None);
    };
    if old.asset_type() == new.asset_type() {
        return Ok(None);
    }
    let kind = |entry: &Entry<'_>| short_type(index, &entry.type_name()?);
    let (was, is) = (kind(&old)?, kind(&new)?);
    Ok(Some(format!(
        "the old asset is a {was}, the new one a {is}: a field that holds no {is} becomes empty"
    )))
}

/// Replaces a file, if its content is still the one that was planned for.
fn write(root: &Path, path: &str, file: &RewrittenFile) -> Result<(), Diag> {
    let full = root.join(path);
    let write = || -> io::Result<()> {
        if fs::read(&full)? != file.old {
            return Err(io::Error::other("the file was modified meanwhile; run the command again"));
        }
        let dir = full.parent().unwrap_or(root);
        let temporary = Real::open(dir)?.temporary_file()?;
        temporary.file().write_all(&file.new)?;
        temporary.file().set_permissions(fs::metadata(&full)?.permissions())?;
        temporary.publish(&full, Durability::Durable)
    };
    write().map_err(|error| Diag::new(Code::UnityWrite, format!("cannot write the file: {error}")).path(path))
}

/// Formats the changed lines of a file as a unified diff without context. The number of lines is the same in both versions.
fn diff(path: &str, file: &RewrittenFile) -> String {
    let mut lines = vec![format!("--- a/{path}"), format!("+++ b/{path}")];
    let (old, new) = (file.old.split(|b| *b == b'\n'), file.new.split(|b| *b == b'\n'));
    for (n, (old, new)) in old.zip(new).enumerate().filter(|(_, (old, new))| old != new) {
        lines.push(format!("@@ -{0} +{0} @@", n + 1));
        lines.push(format!("-{}", String::from_utf8_lossy(old).trim_end_matches('\r')));
        lines.push(format!("+{}", String::from_utf8_lossy(new).trim_end_matches('\r')));
    }
    lines.join("\n")
}

pub(super) fn mv(session: &Session, from: &str, to: &str, options: EditArgs) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    Ok(mv_in(&index, &root, from, to, options)?.print(session))
}

/// Moves an asset with its `.meta`.
pub(super) fn mv_in(
    index: &Index,
    root: &Path,
    from: &str,
    to: &str,
    options: EditArgs,
) -> Result<Edited, Failure> {
    let subject = subject(index, root, from)?;
    let entry = match &subject {
        Subject::Asset { guid, .. } => index.find_by_guid(*guid)?,
        Subject::Folder { hint, .. } => index.find_by_hint(hint)?,
        _ => None,
    };
    let Some(entry) = entry.filter(|entry| !entry.is_settings()) else {
        return Err(not_one_asset(index, root, &subject, from)?);
    };
    let old = entry.hint()?;
    let new = destination(root, &old, to)?;
    check_clean(root, &[old.clone(), format!("{old}.meta")], options)?;
    let pairs = [(old.clone(), new.clone()), (format!("{old}.meta"), format!("{new}.meta"))];
    for (_, new) in &pairs {
        if fs::symlink_metadata(root.join(new)).is_ok() {
            return Err(usage(format!("{new} exists")));
        }
    }
    if !options.dry_run {
        let error = |error: io::Error| {
            Diag::new(Code::UnityWrite, format!("cannot move the asset to {new}: {error}")).path(&old)
        };
        let path = |name: &str| root.join(name);
        fs::rename(path(&pairs[0].0), path(&pairs[0].1)).map_err(error)?;
        if let Err(failed) = fs::rename(path(&pairs[1].0), path(&pairs[1].1)) {
            // Without its `.meta` the asset would lose its GUID.
            fs::rename(path(&pairs[0].1), path(&pairs[0].0)).map_err(error)?;
            return Err(error(failed).into());
        }
    }
    let lines = pairs.iter().map(|(old, new)| format!("{old}\t{new}")).collect();
    Ok(Edited { lines, notes: Vec::new(), changed: true })
}

/// Returns the path of a moved asset, relative to the project: in a folder that exists, or under the name that is given.
fn destination(root: &Path, old: &str, to: &str) -> Result<String, Failure> {
    let given = to.replace('\\', "/");
    let wants_folder = given.ends_with('/');
    let given = given.trim_end_matches('/');
    let hint = match given.split('/').next() {
        Some("Assets" | "Packages") => given.to_owned(),
        _ => {
            let absolute = std::path::absolute(given).ok();
            let relative =
                absolute.as_deref().and_then(|path| path.strip_prefix(root).ok()).and_then(Path::to_str);
            relative.map(|path| path.replace('\\', "/")).unwrap_or_else(|| given.to_owned())
        }
    };
    let parts: Vec<&str> = hint.split('/').collect();
    let hidden = |part: &&str| part.is_empty() || *part == "." || *part == ".." || is_hidden(part);
    if !matches!(parts[0], "Assets" | "Packages") || parts.iter().any(hidden) || hint.ends_with(".meta") {
        return Err(usage(format!(
            "expected a path below Assets or Packages that Unity imports, found {to:?}"
        )));
    }
    let name = old.rsplit('/').next().unwrap_or(old);
    let is_folder = root.join(&hint).is_dir();
    let hint = if is_folder || wants_folder { format!("{hint}/{name}") } else { hint };
    let parent: PathBuf = root.join(&hint).parent().unwrap_or(root).to_owned();
    let inside = parent.canonicalize().is_ok_and(|parent| {
        parent.is_dir() && root.canonicalize().is_ok_and(|root| parent.starts_with(root))
    });
    if !inside {
        return Err(usage(format!("the folder of {hint} does not exist in the project")));
    }
    if hint.starts_with(&format!("{old}/")) {
        return Err(usage(format!("cannot move {old} into itself")));
    }
    Ok(hint)
}
