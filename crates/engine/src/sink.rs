//! Sinks: where artifacts are placed, and how they are found again on the next run.
//!
//! The scheduler, the journal and the caches know artifacts by name, content and metadata alone. A sink gives the names a
//! meaning: paths in a [directory](DirectorySink), payloads of one pak.

mod directory;

pub use directory::DirectorySink;

use crate::fs::{Fill, Staged, Stamp};
use crate::journal::Records;
use crate::record::Output;
use crate::remote::Blob;
use crate::stale::Why;
use crate::{Diag, RelPath};
use std::fs::File;
use std::io;

/// An artifact that asks for its name.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The source of its action.
    pub source: &'a RelPath,
    /// The name.
    pub name: &'a RelPath,
    /// The content.
    pub blob: Blob,
    /// The first bytes of every file of its format, if the format has any.
    pub magic: Option<&'static [u8]>,
}

/// Places artifacts and finds them again.
pub trait Sink: Sync {
    /// Writes content to where it can be placed from. What is never placed disappears when it is dropped.
    ///
    /// # Errors
    /// If the system refuses.
    fn stage(&self, blob: Blob, fill: Fill<'_>) -> io::Result<Staged>;

    /// Stages what is left of an open file, which is the same content.
    ///
    /// # Errors
    /// If the system refuses.
    fn stage_copy(&self, blob: Blob, from: &mut File) -> io::Result<Staged> {
        self.stage(blob, &mut |to| io::copy(from, to).map(drop))
    }

    /// The slot that an artifact of this name takes: of two artifacts in one slot the later would replace the other, so
    /// both are refused. `None` in a sink that finds artifacts by their content.
    fn slot(&self, name: &RelPath) -> Option<String>;

    /// Decides whether an artifact may take its name; returns the stamp of one that is there already, with the same
    /// content, and stays.
    ///
    /// # Errors
    /// If something is there that may not be replaced.
    fn admit(&self, candidate: Candidate<'_>, records: &Records) -> Result<Option<Stamp>, Diag>;

    /// Places staged artifacts, after the journal has recorded the intent; returns the stamp of each. One fails alone.
    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>>;

    /// Finds an artifact of an earlier run; returns its stamp now. Content is compared if the stamp differs, or to
    /// `verify`. Searches that come in the order of names are fast: `hint` is where the last one ended.
    ///
    /// # Errors
    /// The reason to run its action again.
    fn find(&self, recorded: &Output<'_>, verify: bool, hint: &mut usize) -> Result<Stamp, Why>;

    /// Reads an artifact that was placed before; `None` if that is not possible.
    fn read(&self, name: &RelPath) -> Option<Vec<u8>>;

    /// Removes an artifact that is not wanted any more, if it is what an earlier run placed.
    ///
    /// # Errors
    /// If the system refuses.
    fn remove(&self, recorded: &Output<'_>) -> Result<(), Diag>;
}
