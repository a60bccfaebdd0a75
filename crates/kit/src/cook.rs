//! The only window a cook has: it reads sources, emits outputs and warns through [`Cook`], and everything it
//! saw is recorded on the way.

use crate::fold::fold;
use crate::fs::{Entry, Fs, Staged, Stamp, Tree};
use crate::hash::Hash;
use crate::record::{Input, Seen};
use crate::remote::Blob;
use crate::run::{Memory, Reservation};
use crate::share::{Made, WorkKey, Works};
use crate::store::{Found, Store};
use crate::{Code, Diag, Limits, RelPath, Severity};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// A file that was changed less than this before it was read may be changed again without its stamp telling:
/// clocks of file systems tick every 1–10 ms.
pub const RACY_NS: i64 = 20_000_000;

/// The same where times are whole seconds: such file systems count in steps of one second, or two.
const COARSE_NS: i64 = 2_000_000_000 + RACY_NS;

/// Until when a file with this stamp may be changed without its stamp telling.
pub fn racy_until(stamp: Stamp) -> i64 {
    let whole = stamp.changed_ns % 1_000_000_000 == 0;
    stamp.changed_ns.saturating_add(if whole { COARSE_NS } else { RACY_NS })
}

/// How often a source that changes while it is read is tried again.
const TRIES: usize = 3;

/// An output that waits to be given its name.
pub(crate) struct Emitted {
    pub(crate) path: RelPath,
    pub(crate) staged: Staged,
    pub(crate) blob: Blob,
    pub(crate) work: Option<WorkKey>,
}

/// The memory that a cook was admitted with.
#[derive(Clone, Copy)]
pub struct MemoryAdmission<'a>(Option<(&'a Memory, u64)>);

impl<'a> MemoryAdmission<'a> {
    /// Waits until the other cooks leave room for this many bytes, unless this cook was estimated to take as much. For a
    /// part of a source that turns out to be large; the reservation ends when it is dropped.
    pub fn reserve(self, bytes: u64) -> Reservation<'a> {
        match self.0 {
            Some((memory, weight)) if bytes > weight => memory.reserve(bytes - weight),
            _ => Reservation::nothing(),
        }
    }
}

/// What one cook may do, and the record of what it did.
pub struct Cook<'a> {
    source: &'a RelPath,
    src: &'a dyn Fs,
    tree: &'a Tree,
    out: &'a dyn Fs,
    works: Option<&'a Works>,
    store: Option<&'a Store>,
    /// Whether results of others may be taken from it, and not only put into it.
    finds: bool,
    limits: Limits,
    deadline: Option<Instant>,
    /// The memory that all cooks of a run share, and what this one was admitted with.
    memory: Option<(&'a Memory, u64)>,
    pub(crate) seen: BTreeMap<RelPath, Seen>,
    pub(crate) kept: Option<Blob>,
    pub(crate) emitted: Vec<Emitted>,
    pub(crate) warnings: Vec<Diag>,
}

impl<'a> Cook<'a> {
    /// A window for one source: reads come from `src`, whose files are listed in `tree`, and outputs go to `out`.
    pub fn new(source: &'a RelPath, src: &'a dyn Fs, tree: &'a Tree, out: &'a dyn Fs) -> Cook<'a> {
        Cook {
            source,
            src,
            tree,
            out,
            works: None,
            store: None,
            finds: false,
            limits: Limits { max_time: None, ..Limits::default() },
            deadline: None,
            memory: None,
            seen: BTreeMap::new(),
            kept: None,
            emitted: vec![],
            warnings: vec![],
        }
    }

    /// The same window, with the work that all cooks of a run share.
    pub(crate) fn sharing(self, works: &'a Works) -> Cook<'a> {
        Cook { works: Some(works), ..self }
    }

    /// The same window, with a store that results are put into and, if it `finds`, taken from.
    pub(crate) fn storing(self, store: Option<&'a Store>, finds: bool) -> Cook<'a> {
        Cook { store, finds, ..self }
    }

    /// The same window with these limits in place of the default ones without a deadline. The time counts from now.
    pub fn limited(self, limits: Limits) -> Cook<'a> {
        Cook { limits, deadline: limits.deadline(), ..self }
    }

    /// The same window, for a cook that was admitted with this weight.
    pub(crate) fn admitted(self, memory: &'a Memory, weight: u64) -> Cook<'a> {
        Cook { memory: Some((memory, weight)), ..self }
    }

    /// Takes over what a stored result says a cook would have done; all or nothing.
    pub(crate) fn take_over(&mut self, found: &mut Found) -> io::Result<()> {
        let mut emitted = Vec::with_capacity(found.answer.outputs.len());
        for (output, file) in found.answer.outputs.iter().zip(&mut found.files) {
            let staged = self.out.stage_copy(file)?;
            // Which work it is the result of is not taken from a cache: another source would use it as that.
            emitted.push(Emitted { path: output.path.clone(), staged, blob: output.blob, work: None });
        }
        self.emitted = emitted;
        self.seen = std::mem::take(&mut found.seen);
        self.warnings = found.answer.warnings.clone();
        Ok(())
    }

    /// The file or directory that is cooked.
    pub fn source(&self) -> &'a RelPath {
        self.source
    }

    /// The limits on this cook. They decide whether there is a result, and never what it is.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The moment at which this cook has to be done, for work that looks at the clock by itself.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How this cook was admitted, to ask for more memory while the cook itself is in use.
    pub fn admission(&self) -> MemoryAdmission<'a> {
        MemoryAdmission(self.memory)
    }

    /// Ends a cook that takes too long. A cook cannot be stopped from outside, so this is called between its steps.
    ///
    /// # Errors
    /// `time-limit` when the deadline has passed.
    pub fn check_deadline(&self) -> Result<(), Diag> {
        self.limits.check_time(self.deadline)
    }

    /// The bytes of a file that has to be there.
    pub fn read(&mut self, path: &RelPath) -> Result<Vec<u8>, Diag> {
        self.read_opt(path)?.ok_or_else(|| Diag::new(Code::FileMissing, "there is no such file").path(path))
    }

    /// The bytes of a file, or `None` when nothing is there.
    pub fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        let read = read_settled(self.src, path, &self.limits)?;
        self.saw(path, read.as_ref().map_or(Seen::Absent, |(_, seen)| *seen))?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// The direct children of a directory, by name.
    pub fn list(&mut self, dir: &RelPath) -> Result<Vec<&'a Entry>, Diag> {
        // Made from the part of a directory that could be seen, a result would be another one.
        let inside = |path: &str| RelPath::new(path).is_ok_and(|path| path.parent().as_ref() == Some(dir));
        let hidden = |problem: &&Diag| {
            problem.severity() == Severity::Error && problem.path.as_deref().is_some_and(inside)
        };
        if let Some(problem) = self.tree.problems.iter().find(hidden) {
            return Err(problem.clone());
        }
        self.saw(dir, Seen::Listing(listing(self.tree, dir)))?;
        Ok(self.tree.children(dir).collect())
    }

    /// Writes an output; it gets its name when the whole cook has succeeded.
    pub fn emit(&mut self, path: &RelPath, bytes: &[u8]) -> Result<(), Diag> {
        self.stage(path, bytes, None)
    }

    /// Keeps content that goes elsewhere than to an output, so that a stored result can stand in for this cook: it is
    /// given to [`crate::Task::restore`] then. A cook keeps one content at the most.
    pub fn keep(&mut self, bytes: &[u8]) {
        self.kept = Some(self.blob(bytes));
    }

    /// Writes an output that is the result of work which others may ask for too, and returns what there is to say
    /// about it. `make` depends on nothing but what `key` was made from; it is not called when somebody's result for
    /// this key is at hand. `accept` says whether stored bytes can be such a result: they may be anybody's.
    pub fn emit_shared(
        &mut self,
        path: &RelPath,
        key: WorkKey,
        accept: impl FnOnce(&[u8]) -> bool,
        make: impl FnOnce() -> Result<Made, Diag>,
    ) -> Result<Vec<Diag>, Diag> {
        let (out, store, finds) = (self.out, self.store, self.finds);
        let make = || {
            if let Some(made) = store.filter(|_| finds).and_then(|store| store.find_work(key, accept)) {
                return Ok(made);
            }
            let start = Instant::now();
            let made = make()?;
            store.inspect(|store| store.remember_work(key, &made, start.elapsed()));
            Ok(made)
        };
        let made = match self.works {
            Some(works) => works.get(key, path, |kept| out.read(kept).ok(), make)?,
            None => make()?.into(),
        };
        // A later run would not know of the warnings, so it does the work again.
        self.stage(path, &made.bytes, made.warnings.is_empty().then_some(key))?;
        Ok(made.warnings.clone())
    }

    fn stage(&mut self, path: &RelPath, bytes: &[u8], work: Option<WorkKey>) -> Result<(), Diag> {
        if path.is_hidden() {
            let message = format!("it writes {path}, and hidden files belong to the tool");
            return Err(Diag::new(Code::OutputConflict, message).path(self.source));
        }
        let folded = fold(path.as_str());
        if let Some(e) = self.emitted.iter().find(|e| fold(e.path.as_str()) == folded) {
            let path = &e.path;
            return Err(Diag::new(Code::OutputConflict, format!("it writes {path} twice")).path(self.source));
        }
        let staged = self.out.stage(&mut |file| file.write_all(bytes)).map_err(|e| unwritable(path, &e))?;
        let blob = self.blob(bytes);
        self.emitted.push(Emitted { path: path.clone(), staged, blob, work });
        Ok(())
    }

    fn blob(&self, bytes: &[u8]) -> Blob {
        let blob = Blob::of(bytes);
        self.store.inspect(|store| store.put_blob(blob, bytes));
        blob
    }

    /// Says something about the source, now and whenever its cached result is used.
    pub fn warn(&mut self, warning: Diag) {
        self.warnings.push(warning.or_path(self.source));
    }

    /// Whether this was said already, whatever its hint.
    pub fn has_warned(&self, warning: &Diag) -> bool {
        let same = |said: &Diag| {
            (&said.code, &said.at, &said.message) == (&warning.code, &warning.at, &warning.message)
        };
        self.warnings.iter().any(same)
    }

    /// A file that is read twice has to be the same both times, or the record would lie about one of them.
    fn saw(&mut self, path: &RelPath, seen: Seen) -> Result<(), Diag> {
        let same = |old: &Seen| match (old, &seen) {
            (Seen::File { hash: a, .. }, Seen::File { hash: b, .. }) => a == b,
            (a, b) => a == b,
        };
        match self.seen.get(path) {
            Some(old) if !same(old) => Err(Diag::new(Code::SourceChanging, "it changes while it is read")
                .path(path)
                .hint("build again when it rests")),
            Some(_) => Ok(()),
            None => {
                self.seen.insert(path.clone(), seen);
                Ok(())
            }
        }
    }

    /// The files that were read so far, by path.
    pub fn files_read(&self) -> impl Iterator<Item = &RelPath> {
        let read = |(_, seen): &(&RelPath, &Seen)| matches!(seen, Seen::File { .. });
        self.seen.iter().filter(read).map(|(path, _)| path)
    }

    /// Everything that was read, looked for in vain or listed so far, by path.
    pub fn inputs(&self) -> Vec<Input<'static>> {
        self.seen.iter().map(|(path, seen)| Input { path: path.to_string().into(), seen: *seen }).collect()
    }
}

/// The bytes of a file that rests while it is read, and what was seen of it; `None` when nothing is there.
pub(crate) fn read_settled(
    src: &dyn Fs,
    path: &RelPath,
    limits: &Limits,
) -> Result<Option<(Vec<u8>, Seen)>, Diag> {
    for _ in 0..TRIES {
        let before = src.stamp(path).map_err(|e| unreadable(path, &e))?;
        let Some(stamp) = before else { return Ok(None) };
        limits.check_memory(stamp.len, "the bytes of the file").map_err(|diag| diag.path(path))?;
        let read = src.read(path);
        let now_ns = src.now_ns();
        let after = src.stamp(path).map_err(|e| unreadable(path, &e))?;
        if after != before {
            continue;
        }
        let bytes = read.map_err(|e| unreadable(path, &e))?;
        let seen = seen_file(stamp, now_ns, Hash::of(&bytes));
        return Ok(Some((bytes, seen)));
    }
    Err(Diag::new(Code::SourceChanging, "it changes while it is read")
        .path(path)
        .hint("build again when it rests"))
}

/// What was seen of a file, with the mark of one that was too young to trust its stamp.
pub(crate) fn seen_file(stamp: Stamp, now_ns: i64, hash: Hash) -> Seen {
    Seen::File { stamp, racy: racy_until(stamp) >= now_ns, hash }
}

/// The hash of a directory's names and kinds.
pub(crate) fn listing(tree: &Tree, dir: &RelPath) -> Hash {
    let kind = |e: &Entry| if e.file.is_some() { "f" } else { "d" };
    let fields: Vec<String> =
        tree.children(dir).map(|e| format!("{}{}", kind(e), e.path.file_name())).collect();
    Hash::of_fields(fields.iter().map(|f| f.as_bytes()))
}

pub(crate) fn unreadable(path: &RelPath, error: &io::Error) -> Diag {
    Diag::new(Code::Unreadable, format!("cannot read it: {error}")).path(path)
}

pub(crate) fn unwritable(path: &RelPath, error: &io::Error) -> Diag {
    use io::ErrorKind::*;
    let diag = Diag::new(Code::Unwritable, format!("cannot write it: {error}")).path(path);
    match error.kind() {
        StorageFull | QuotaExceeded => diag.hint("make room, and run it again"),
        PermissionDenied | ReadOnlyFilesystem => diag.hint("see to the permissions of the output directory"),
        NotADirectory | IsADirectory => diag.hint("move it away, or let the output be somewhere else"),
        _ => diag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Mem;

    #[test]
    fn a_directory_of_which_a_part_cannot_be_seen_is_not_listed() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let mem = Mem::new();
        mem.put("layers/1.png", "x");
        mem.put("others/1.png", "x");
        let mut tree = mem.walk(None).unwrap();
        tree.problems.push(Diag::new(Code::LinkIgnored, "it leads nowhere").path("others/2.png"));
        tree.problems.push(Diag::new(Code::Unreadable, "the disk says no").path("layers/2.png"));
        let source = path("layers");
        let mut cx = Cook::new(&source, &mem, &tree, &mem);
        assert_eq!(cx.list(&source).unwrap_err().path.as_deref(), Some("layers/2.png"));
        assert_eq!(cx.list(&path("others")).unwrap().len(), 1);
    }
}
