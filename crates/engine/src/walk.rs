//! Parallel directory walk that returns every file with its stamp, with one `stat` call each.
//!
//! Symbolic links to files inside the root count as files; links to directories, links that lead out of the root, dangling
//! links and names that are not a valid [`RelPath`] are reported and ignored. Devices, pipes and sockets are ignored.

use crate::fs::{Entry, Stamp, Tree};
use crate::{Code, Diag, RelPath};
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

/// Walks everything below `root`, which must be canonical. Names that start with `hidden` are ignored, and so is a directory
/// below the root that contains a file named `boundary`.
pub(crate) fn walk(root: &Path, hidden: &str, boundary: Option<&str>) -> io::Result<Tree> {
    // The stamp of a directory is taken before it is listed, so that a change during the walk shows in the next stamp.
    let directories = Mutex::new(vec![(String::new(), stamp(&fs::metadata(root)?))]);
    let found =
        Found { root, hidden, boundary, parts: Mutex::default(), problems: Mutex::default(), directories };
    let top = fs::read_dir(root)?.collect::<io::Result<Vec<_>>>()?;
    rayon::scope(|scope| found.visit(scope, None, top));
    let mut parts = found.parts.into_inner().unwrap_or_default();
    parts.sort_unstable_by(|a, b| a.first().map(|e| &e.path).cmp(&b.first().map(|e| &e.path)));
    let mut entries = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|part| entries.extend(part));
    let tree = Tree::new(entries, found.problems.into_inner().unwrap_or_default());
    Ok(tree.with_directories(found.directories.into_inner().unwrap_or_default()))
}

struct Found<'a> {
    root: &'a Path,
    hidden: &'a str,
    boundary: Option<&'a str>,
    /// One list for each directory, so that the lock is taken once for many files.
    parts: Mutex<Vec<Vec<Entry>>>,
    problems: Mutex<Vec<Diag>>,
    directories: Mutex<Vec<(String, Stamp)>>,
}

impl<'a> Found<'a> {
    fn visit<'s>(&'s self, scope: &rayon::Scope<'s>, dir: Option<RelPath>, listing: Vec<DirEntry>) {
        let mut entries = Vec::with_capacity(listing.len());
        for item in listing {
            let Ok(name) = item.file_name().into_string() else {
                self.problem(
                    Code::PathNotUtf8,
                    &item,
                    "the file name is not UTF-8, so the file was ignored",
                    Some("rename the file"),
                );
                continue;
            };
            if name.starts_with(self.hidden) {
                continue;
            }
            let path = match &dir {
                Some(dir) => dir.join(&name),
                None => RelPath::new(name),
            };
            match path {
                Ok(path) => self.entry(scope, &item, path, &mut entries),
                Err(bad) => {
                    self.problem(
                        Code::PathNotPortable,
                        &item,
                        &format!("the file was ignored: {bad}"),
                        Some("rename the file"),
                    );
                }
            }
        }
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        if let Ok(mut parts) = self.parts.lock() {
            parts.push(entries);
        }
    }

    fn entry<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        item: &DirEntry,
        path: RelPath,
        entries: &mut Vec<Entry>,
    ) {
        let meta = match item.metadata() {
            Ok(meta) => meta,
            // Deleted since it was listed, as if the walk had been later.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            Err(e) => return self.problem(Code::Unreadable, item, &e.to_string(), None),
        };
        if meta.is_file() {
            entries.push(Entry { path, file: Some(stamp(&meta)) });
        } else if meta.is_dir() {
            scope.spawn(move |scope| self.directory(scope, path, stamp(&meta)));
        } else if meta.is_symlink() {
            match self.follow(item) {
                Ok(meta) if meta.is_file() => {
                    entries.push(Entry { path, file: Some(stamp(&meta).through_link()) })
                }
                Ok(_) => self.problem(
                    Code::SymlinkIgnored,
                    item,
                    "a symbolic link to a directory is not followed",
                    Some("copy the directory, or set `input` to it"),
                ),
                Err(why) => self.problem(
                    Code::SymlinkIgnored,
                    item,
                    &why,
                    Some("only symbolic links to files inside the tree are followed"),
                ),
            }
        }
    }

    fn directory<'s>(&'s self, scope: &rayon::Scope<'s>, path: RelPath, stamp: Stamp) {
        let full = path.below(self.root);
        let listing = match fs::read_dir(&full).and_then(|dir| dir.collect::<io::Result<Vec<_>>>()) {
            Ok(listing) => listing,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            Err(e) => {
                let diag = Diag::new(Code::Unreadable, e.to_string()).path(&path);
                return self.problems.lock().map(|mut p| p.push(diag)).unwrap_or_default();
            }
        };
        if let Ok(mut directories) = self.directories.lock() {
            directories.push((path.to_string(), stamp));
        }
        if self.boundary.is_some_and(|name| listing.iter().any(|item| item.file_name() == name)) {
            return;
        }
        if let Ok(mut parts) = self.parts.lock() {
            parts.push(vec![Entry { path: path.clone(), file: None }]);
        }
        self.visit(scope, Some(path), listing);
    }

    /// Returns the metadata of the target of a link, if it is inside the root.
    fn follow(&self, link: &DirEntry) -> Result<Metadata, String> {
        let target = fs::canonicalize(link.path()).map_err(|e| format!("dangling symbolic link: {e}"))?;
        if !target.starts_with(self.root) {
            return Err("the symbolic link leads outside the tree".to_owned());
        }
        fs::metadata(target).map_err(|e| e.to_string())
    }

    fn problem(&self, code: Code, item: &DirEntry, message: &str, hint: Option<&str>) {
        let full = item.path();
        let path = full.strip_prefix(self.root).unwrap_or(&full).to_string_lossy().into_owned();
        let mut diag = Diag::new(code, message).path(path);
        diag.hint = hint.map(str::to_owned);
        if let Ok(mut problems) = self.problems.lock() {
            problems.push(diag);
        }
    }
}

/// Converts file metadata to a stamp.
pub(crate) fn stamp(meta: &Metadata) -> Stamp {
    let mtime_ns = match meta.modified() {
        Ok(time) => match time.duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_nanos() as i64,
            Err(before) => -(before.duration().as_nanos() as i64),
        },
        Err(_) => 0,
    };
    #[cfg(unix)]
    let changed_ns = {
        use std::os::unix::fs::MetadataExt;
        meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed_ns = mtime_ns;
    Stamp { mtime_ns, changed_ns, len: meta.len() }
}
