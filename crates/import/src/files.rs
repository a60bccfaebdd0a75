//! The files that a source refers to: anywhere inside the project, and nowhere else.
//!
//! Absolute paths, and `..` that climbs above the root of the project, are rejected by name before any file is looked
//! up. Every file that is read or looked up goes through [`SourceFiles`], which may record it as a dependency.

use kiln_diagnostics::{Code, Diag, Limits, RelPath, SourceFiles};
use std::time::Instant;

/// The most bytes that one source may reference in files: a source may name the same file a thousand times.
const MAX_REFERENCED_BYTES: u64 = 4 << 30;

/// The files that one source refers to, relative to its directory.
pub(crate) struct Files<'c> {
    source_files: &'c mut dyn SourceFiles,
    dir: Option<RelPath>,
    bytes_left: u64,
}

/// The result of looking up a file reference.
pub(crate) enum Lookup {
    /// The path and the content of the file.
    Found(RelPath, Vec<u8>),
    /// The reference is a valid path inside the project, and there is no such file.
    Missing(RelPath),
    /// The reference is no path inside the project, for this reason.
    Rejected(String),
}

impl<'c> Files<'c> {
    /// Resolves references relative to the directory of `source`.
    pub(crate) fn beside(source_files: &'c mut dyn SourceFiles, source: &RelPath) -> Files<'c> {
        Files { source_files, dir: source.parent(), bytes_left: MAX_REFERENCED_BYTES }
    }

    /// Returns the limits on the source.
    pub(crate) fn limits(&self) -> &Limits {
        self.source_files.limits()
    }

    /// Returns the time at which the import has to be finished.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.source_files.deadline()
    }

    /// Resolves references relative to the directory of another file from now on.
    pub(crate) fn go_beside(&mut self, file: &RelPath) {
        self.dir = file.parent();
    }

    /// Returns the path that a reference stands for, or the reason why it is rejected.
    pub(crate) fn resolve(&self, reference: &str) -> Result<RelPath, String> {
        match reference {
            "" => Err("the path is empty".to_owned()),
            reference => RelPath::resolve(self.dir.as_ref(), reference).map_err(|why| why.to_string()),
        }
    }

    /// Reads the file that a reference stands for. Files that cannot be read, or are empty, are errors.
    pub(crate) fn lookup(&mut self, reference: &str) -> Result<Lookup, Diag> {
        let path = match self.resolve(reference) {
            Ok(path) => path,
            Err(reason) => return Ok(Lookup::Rejected(reason)),
        };
        let Some(bytes) = self.source_files.read_opt(&path)? else { return Ok(Lookup::Missing(path)) };
        self.bytes_left = self.bytes_left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            let message =
                format!("with {path}, the referenced files have more than {MAX_REFERENCED_BYTES} bytes");
            Diag::new(Code::ReferencesTooLarge, message)
        })?;
        match crate::absent_content(&bytes) {
            Some(diag) => Err(diag.path(&path)),
            None => Ok(Lookup::Found(path, bytes)),
        }
    }
}
