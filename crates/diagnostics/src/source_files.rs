//! Access to the source files that a reader of a multi-file format refers to, without a file system in its signature.

use crate::{Code, Diag, Limits, RelPath};
use std::time::Instant;

/// The files of a project as an importer sees them: read by a path relative to the root, within limits.
///
/// An implementation decides where the bytes come from, and can record every access. A build engine does so: a file
/// that was read, looked up without being there, or listed is a dependency of the result. Methods take `&mut self`
/// for that reason.
///
/// ```
/// use kiln_diagnostics::{Diag, Limits, RelPath, SourceFiles};
///
/// /// A project with one file.
/// struct OneFile(Limits);
///
/// impl SourceFiles for OneFile {
///     fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
///         Ok((path.as_str() == "a/b.txt").then(|| b"hello".to_vec()))
///     }
///     fn list(&mut self, dir: &RelPath) -> Result<Vec<RelPath>, Diag> {
///         Ok(if dir.as_str() == "a" { vec![RelPath::new("a/b.txt").unwrap()] } else { vec![] })
///     }
///     fn limits(&self) -> &Limits {
///         &self.0
///     }
/// }
///
/// let mut files = OneFile(Limits::default());
/// assert!(files.exists(&RelPath::new("a/b.txt").unwrap())?);
/// assert_eq!(files.read(&RelPath::new("b.txt").unwrap()).unwrap_err().code.as_str(), "file-missing");
/// # Ok::<(), Diag>(())
/// ```
pub trait SourceFiles {
    /// Reads a file; returns `None` when there is no file at this path.
    ///
    /// # Errors
    /// `unreadable` when the file cannot be read, `memory-limit` when it is larger than the limits admit, and
    /// whatever else the implementation reports.
    fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag>;

    /// Lists the files directly inside a directory, sorted by path; an empty list when there is no such directory.
    ///
    /// # Errors
    /// `unreadable` when the directory cannot be listed completely.
    fn list(&mut self, dir: &RelPath) -> Result<Vec<RelPath>, Diag>;

    /// Returns the limits on the asset that is imported from these files.
    fn limits(&self) -> &Limits;

    /// Returns the time at which the import has to be finished, or `None` for no deadline.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Reads a file that has to exist.
    ///
    /// # Errors
    /// `file-missing`, or an error of [`read_opt`](Self::read_opt).
    fn read(&mut self, path: &RelPath) -> Result<Vec<u8>, Diag> {
        self.read_opt(path)?.ok_or_else(|| Diag::new(Code::FileMissing, "there is no such file").path(path))
    }

    /// Reports if there is a file at this path. The provided method reads the file, so that an implementation that
    /// records what it read also records this.
    ///
    /// # Errors
    /// Fails as [`read_opt`](Self::read_opt) does.
    fn exists(&mut self, path: &RelPath) -> Result<bool, Diag> {
        Ok(self.read_opt(path)?.is_some())
    }
}
