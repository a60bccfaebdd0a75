//! Source files for importers: a map of bytes in memory, a directory, or either with a record of every access.

mod directory;

pub use directory::Directory;

use kiln_diagnostics::{BadPath, Diag, Limits, RelPath, SourceFiles};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The limits of a program that sets none: the default ones without a deadline.
fn limits_without_deadline() -> Limits {
    Limits { max_time: None, ..Limits::default() }
}

/// Source files in memory, by path.
///
/// ```
/// use kiln_import::{MemoryFiles, RelPath, obj};
///
/// let mut files = MemoryFiles::new();
/// files.insert("triangle.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")?;
/// let scene = obj::import(&mut files, &RelPath::new("triangle.obj")?)?.value;
/// assert_eq!(scene.meshes[0].primitives[0].triangles(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryFiles {
    files: BTreeMap<RelPath, Vec<u8>>,
    limits: Limits,
    deadline: Option<Instant>,
}

impl MemoryFiles {
    /// Creates an empty map with the default limits and no deadline.
    pub fn new() -> MemoryFiles {
        MemoryFiles { files: BTreeMap::new(), limits: limits_without_deadline(), deadline: None }
    }

    /// Sets the limits of every import from these files. The time limit counts from now.
    pub fn with_limits(self, limits: Limits) -> MemoryFiles {
        MemoryFiles { limits, deadline: limits.deadline(), ..self }
    }

    /// Adds a file, or replaces the one at this path.
    ///
    /// # Errors
    /// [`BadPath`] when the path is not a relative path with `/` between its components.
    pub fn insert(&mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Result<(), BadPath> {
        self.files.insert(RelPath::new(path)?, bytes.into());
        Ok(())
    }
}

impl Default for MemoryFiles {
    fn default() -> MemoryFiles {
        MemoryFiles::new()
    }
}

impl FromIterator<(RelPath, Vec<u8>)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (RelPath, Vec<u8>)>>(files: I) -> MemoryFiles {
        MemoryFiles { files: files.into_iter().collect(), ..MemoryFiles::new() }
    }
}

impl SourceFiles for MemoryFiles {
    fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        Ok(self.files.get(path).cloned())
    }

    fn list(&mut self, dir: &RelPath) -> Result<Vec<RelPath>, Diag> {
        let inside = self.files.keys().filter(|path| path.parent().as_ref() == Some(dir));
        Ok(inside.cloned().collect())
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn exists(&mut self, path: &RelPath) -> Result<bool, Diag> {
        Ok(self.files.contains_key(path))
    }
}

/// Source files with a record of every access: the dependencies of what was imported from them.
///
/// An import has to be repeated when a file of [`files_read`](Self::files_read) changes, when a file of
/// [`files_missing`](Self::files_missing) appears, or when the files inside a directory of
/// [`directories_listed`](Self::directories_listed) change.
#[derive(Clone, Debug)]
pub struct Recorder<F> {
    files: F,
    read: Vec<RelPath>,
    missing: BTreeSet<RelPath>,
    listed: BTreeSet<RelPath>,
}

impl<F: SourceFiles> Recorder<F> {
    /// Records what is read from `files` from now on.
    pub fn new(files: F) -> Recorder<F> {
        Recorder { files, read: Vec::new(), missing: BTreeSet::new(), listed: BTreeSet::new() }
    }

    /// Returns the files that were read, in the order of their first read.
    pub fn files_read(&self) -> &[RelPath] {
        &self.read
    }

    /// Returns the paths that were looked up and have no file, sorted.
    pub fn files_missing(&self) -> impl Iterator<Item = &RelPath> {
        self.missing.iter()
    }

    /// Returns the directories that were listed, sorted.
    pub fn directories_listed(&self) -> impl Iterator<Item = &RelPath> {
        self.listed.iter()
    }

    fn record(&mut self, path: &RelPath, exists: bool) {
        if !exists {
            self.missing.insert(path.clone());
        } else if !self.read.contains(path) {
            self.read.push(path.clone());
        }
    }
}

impl<F: SourceFiles> SourceFiles for Recorder<F> {
    fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        let bytes = self.files.read_opt(path)?;
        self.record(path, bytes.is_some());
        Ok(bytes)
    }

    fn list(&mut self, dir: &RelPath) -> Result<Vec<RelPath>, Diag> {
        self.listed.insert(dir.clone());
        self.files.list(dir)
    }

    fn limits(&self) -> &Limits {
        self.files.limits()
    }

    fn deadline(&self) -> Option<Instant> {
        self.files.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_diagnostics::Code;

    #[test]
    fn records_reads_missing_files_and_listings_once() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let mut files = MemoryFiles::new();
        files.insert("a/x.bin", "x").unwrap();
        files.insert("a/b/y.bin", "y").unwrap();
        assert!(files.insert("../x", "").is_err());
        let mut recorder = Recorder::new(files);
        for _ in 0..2 {
            assert_eq!(recorder.read(&path("a/x.bin")), Ok(b"x".to_vec()));
            assert_eq!(recorder.exists(&path("z.bin")), Ok(false));
            assert_eq!(recorder.read(&path("a/b")).unwrap_err().code, Code::FileMissing);
            assert_eq!(recorder.list(&path("a")), Ok(vec![path("a/x.bin")]));
        }
        assert_eq!(recorder.files_read(), [path("a/x.bin")]);
        assert!(recorder.files_missing().eq(&[path("a/b"), path("z.bin")]));
        assert!(recorder.directories_listed().eq(&[path("a")]));
    }
}
