//! Source files below a directory on disk. The only file of the importers that opens files.

use super::limits_without_deadline;
use kiln_diagnostics::{Code, Diag, Limits, RelPath, SourceFiles};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Instant;

/// Source files below a directory on disk.
///
/// A path cannot leave the directory by its spelling; symbolic links below the directory are followed. Files are read
/// as they are at that moment: a program that caches results has to detect modifications by itself.
///
/// ```no_run
/// use kiln_import::{Directory, RelPath, gltf};
///
/// let imported = gltf::import(&mut Directory::new("assets"), &RelPath::new("models/crate.gltf")?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
    limits: Limits,
    deadline: Option<Instant>,
}

impl Directory {
    /// Reads below this directory, with the default limits and no deadline. The directory is not opened yet.
    pub fn new(root: impl Into<PathBuf>) -> Directory {
        Directory { root: root.into(), limits: limits_without_deadline(), deadline: None }
    }

    /// Sets the limits of every import from this directory. The time limit counts from now.
    pub fn with_limits(self, limits: Limits) -> Directory {
        Directory { limits, deadline: limits.deadline(), ..self }
    }
}

impl SourceFiles for Directory {
    fn read_opt(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, Diag> {
        let on_disk = path.below(&self.root);
        let Some(metadata) = found(fs::metadata(&on_disk), path)? else { return Ok(None) };
        if !metadata.is_file() {
            return Err(unreadable(path, "the path is not a regular file"));
        }
        self.limits.check_memory(metadata.len(), "the bytes of the file").map_err(|diag| diag.path(path))?;
        found(fs::read(&on_disk), path)
    }

    fn list(&mut self, dir: &RelPath) -> Result<Vec<RelPath>, Diag> {
        let Some(entries) = found(fs::read_dir(dir.below(&self.root)), dir)? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(dir, error))?;
            let name = entry.file_name();
            // No path of a source can spell these names, so no importer can ask for them.
            let Some(path) = name.to_str().and_then(|name| dir.join(name).ok()) else { continue };
            if found(fs::metadata(entry.path()), &path)?.is_some_and(|metadata| metadata.is_file()) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

/// The result of a file operation, or `None` when there is nothing at the path.
fn found<T>(result: io::Result<T>, path: &RelPath) -> Result<Option<T>, Diag> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}

fn unreadable(path: &RelPath, reason: impl std::fmt::Display) -> Diag {
    Diag::new(Code::Unreadable, format!("cannot read the file: {reason}")).path(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_lists_below_the_root() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let mut files = Directory::new(env!("CARGO_MANIFEST_DIR"));
        assert!(files.read(&path("Cargo.toml")).unwrap().starts_with(b"[package]"));
        assert_eq!(files.read_opt(&path("Cargo.toml/x")), Ok(None));
        assert_eq!(files.exists(&path("missing")), Ok(false));
        assert_eq!(files.read(&path("src")).unwrap_err().code, Code::Unreadable);
        assert!(files.list(&path("src")).unwrap().contains(&path("src/lib.rs")));
        assert!(!files.list(&path("src")).unwrap().contains(&path("src/gltf")));
        assert_eq!(files.list(&path("missing")), Ok(vec![]));
        let mut limited = files.with_limits(Limits { max_memory: 1, ..Limits::default() });
        assert_eq!(limited.read(&path("Cargo.toml")).unwrap_err().code, Code::MemoryLimit);
    }
}
