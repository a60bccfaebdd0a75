//! Ownership of output paths: decides whether an output may replace an existing file.
//!
//! A run replaces files of an earlier run, which the journal records. A journal may be deleted to force a rebuild, so a
//! file that starts with the magic of the output's own format may be replaced too, and a file with the bytes of the
//! output is adopted as it is. Any other file at the path of an output is an error, unless the user asks to overwrite
//! it. Symbolic links, pipes, sockets and devices are never replaced.

use crate::fold::fold;
use crate::fs::{Fs, Occupant, Stamp};
use crate::inputs::read_unmodified;
use crate::publish::unwritable;
use crate::record::{Output, Seen};
use crate::remote::Blob;
use crate::{Code, Diag, Hash, Limits, Records, RelPath};
use std::collections::HashMap;

/// The conditions under which an output may replace a regular file at its path.
#[derive(Clone, Copy)]
pub struct Replace<'a> {
    /// True if the user asked to replace any regular file.
    pub overwrite: bool,
    /// The first bytes of every file of the output's format; `None` when the format has no magic.
    pub magic: Option<&'static [u8]>,
    /// Returns whether the journal records the path. Called only if no other condition applies.
    pub owned: &'a dyn Fn() -> bool,
}

/// The decision about an output that may take its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The output must be written.
    Write,
    /// The file at the path already has the content of the output; the stamp is that of the file.
    Adopt(Stamp),
}

/// Decides whether an output may take a path. `blob` is the content of the output; `None` if a file with equal content is
/// not adopted.
///
/// # Errors
/// `output-not-owned` if a regular file at the path may not be replaced, `output-not-regular` for a symbolic link or a
/// special file, and `unwritable` if a parent of the path is a symbolic link or a file.
pub fn admit(
    out: &dyn Fs,
    path: &RelPath,
    blob: Option<Blob>,
    replace: Replace<'_>,
) -> Result<Admission, Diag> {
    match out.occupant(path).map_err(|e| unwritable(path, &e))? {
        // Publishing replaces a directory that contains no files, and fails for any other directory.
        Occupant::Nothing | Occupant::Directory => return Ok(Admission::Write),
        Occupant::Link => return Err(not_regular(path, "a symbolic link")),
        Occupant::Special => return Err(not_regular(path, "a pipe, a socket or a device")),
        Occupant::File => {}
    }
    let starts_with = |magic: &[u8]| out.peek(path, magic.len()).is_ok_and(|head| head == magic);
    if replace.overwrite || replace.magic.is_some_and(starts_with) || (replace.owned)() {
        return Ok(Admission::Write);
    }
    blob.and_then(|blob| adopt(out, path, blob)).map(Admission::Adopt).ok_or_else(|| not_owned(path))
}

/// Returns the stamp of a file with exactly this content.
fn adopt(out: &dyn Fs, path: &RelPath, blob: Blob) -> Option<Stamp> {
    if out.stamp(path).ok()??.len != blob.len {
        return None;
    }
    // The file was checked to be as long as the output.
    let limits = Limits { max_memory: blob.len, ..Limits::default() };
    match read_unmodified(out, path, &limits).ok()?? {
        (_, Seen::File { stamp, hash, .. }) => (hash == blob.hash).then_some(stamp),
        _ => None,
    }
}

fn not_regular(path: &RelPath, kind: &str) -> Diag {
    Diag::new(Code::OutputNotRegular, format!("{kind} is at the path of an output and was not replaced"))
        .path(path)
        .hint("remove it, or choose another output; --overwrite replaces regular files only")
}

fn not_owned(path: &RelPath) -> Diag {
    let message = "an existing file at the path of an output was not written by a recorded build and has different \
        content; it was not replaced";
    Diag::new(Code::OutputNotOwned, message)
        .path(path)
        .hint("move the file away, or replace it with --overwrite")
}

/// Returns whether the file at a path is a recorded output. An output with a recorded intent that was never confirmed must
/// have the recorded content: anything else was written by another program.
pub(crate) fn is_recorded(out: &dyn Fs, output: &Output<'_>, path: &RelPath) -> bool {
    output.stamp != Stamp::NONE || out.read(path).is_ok_and(|bytes| Hash::of(&bytes) == output.hash)
}

/// The outputs of all records of a journal, keyed by folded path.
pub(crate) struct OwnedPaths(HashMap<Box<str>, Vec<Output<'static>>>);

impl OwnedPaths {
    /// Collects the outputs of a journal.
    pub(crate) fn new(records: &Records) -> OwnedPaths {
        let mut paths: HashMap<Box<str>, Vec<Output<'static>>> = HashMap::new();
        let records = records.names().into_iter().filter_map(|name| records.get(name));
        for output in records.flat_map(|record| record.into_owned().outputs) {
            paths.entry(fold(&output.path).into()).or_default().push(output);
        }
        OwnedPaths(paths)
    }

    /// Returns whether the file at a path is a recorded output: under this path or, on a case-insensitive file system, under
    /// a path that differs in case only.
    pub(crate) fn contains(&self, out: &dyn Fs, path: &RelPath) -> bool {
        let stamp = |path: &RelPath| out.stamp(path).ok().flatten();
        let same_file = |output: &Output<'_>| {
            output.path == path.as_str()
                || RelPath::new(&*output.path).is_ok_and(|other| stamp(&other) == stamp(path))
        };
        let outputs = self.0.get(&*fold(path.as_str()));
        outputs.into_iter().flatten().any(|output| same_file(output) && is_recorded(out, output, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Mem;
    use crate::record::Record;
    use crate::{Journal, Real};
    use std::fs;

    fn path(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    /// Returns the decision about an output with the content `new`, as a string.
    fn decide(out: &dyn Fs, name: &str, replace: Replace<'_>) -> String {
        match admit(out, &path(name), Some(Blob::of(b"new")), replace) {
            Ok(Admission::Write) => "write".into(),
            Ok(Admission::Adopt(_)) => "adopt".into(),
            Err(diag) => diag.code.to_string(),
        }
    }

    const NEVER: Replace<'_> = Replace { overwrite: false, magic: None, owned: &|| false };

    #[test]
    fn replaces_owned_files_and_files_of_the_format() {
        let mem = Mem::new();
        mem.put("text", "old");
        mem.put("equal", "new");
        mem.put("format", "MAGIC and more");
        mem.put("short", "MAG");
        let magic = Replace { magic: Some(b"MAGIC"), ..NEVER };
        for (name, replace, expected) in [
            ("absent", NEVER, "write"),
            ("text", NEVER, "output-not-owned"),
            ("text", magic, "output-not-owned"),
            ("text", Replace { owned: &|| true, ..NEVER }, "write"),
            ("text", Replace { overwrite: true, ..NEVER }, "write"),
            ("equal", NEVER, "adopt"),
            ("equal", magic, "adopt"),
            ("format", NEVER, "output-not-owned"),
            ("format", magic, "write"),
            ("short", magic, "output-not-owned"),
        ] {
            assert_eq!(decide(&mem, name, replace), expected, "{name}");
        }
    }

    #[test]
    fn intended_output_is_owned_only_with_the_recorded_content() {
        let mem = Mem::new();
        mem.put("placed", "whatever it is now");
        mem.put("intended", "as recorded");
        mem.put("foreign", "someone else's");
        mem.put("Other", "placed under another case, where case counts");
        let mut journal = Journal::open(&mem, &path(".journal"), &|| ()).unwrap();
        let output = |name: &'static str, stamp, bytes: &[u8]| Output {
            path: name.into(),
            stamp,
            hash: Hash::of(bytes),
            work: None,
            metadata: b"".into(),
        };
        let placed = Stamp { mtime_ns: 1, changed_ns: 1, len: 1 };
        let outputs = vec![
            output("placed", placed, b"as it was"),
            output("intended", Stamp::NONE, b"first"),
            output("intended", Stamp::NONE, b"as recorded"),
            output("foreign", Stamp::NONE, b"never placed"),
            output("other", placed, b""),
        ];
        journal.append(&[("a", Some(&Record { outputs, ..Record::default() }))]).unwrap();
        let owned = OwnedPaths::new(journal.records());
        let owns = |name: &str| owned.contains(&mem, &path(name));
        assert!(owns("placed") && owns("intended"));
        assert!(!owns("foreign") && !owns("Other") && !owns("unknown"));
    }

    #[test]
    #[cfg(unix)]
    fn never_replaces_links_and_special_files() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| dir.path().join(name);
        fs::write(outside.path().join("file"), "new").unwrap();
        std::os::unix::fs::symlink(outside.path().join("file"), at("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        std::os::unix::fs::symlink(outside.path(), at("parent")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let out = Real::open(dir.path()).unwrap();
        let any = Replace { overwrite: true, magic: Some(b"n"), owned: &|| true };
        for replace in [any, NEVER] {
            for name in ["link", "dangling", "socket"] {
                assert_eq!(decide(&out, name, replace), "output-not-regular", "{name}");
            }
            assert_eq!(decide(&out, "parent/file", replace), "unwritable");
        }
    }
}
