//! Sinks: the destinations of artifacts, which also find the artifacts of an earlier run.
//!
//! The scheduler, the journal and the caches know artifacts by name, content and metadata alone. A sink interprets the names:
//! as paths in a [directory](DirectorySink), or as payloads of a pak.

mod directory;

pub use directory::DirectorySink;

use crate::fs::{Fill, Staged, Stamp};
use crate::journal::Records;
use crate::record::Output;
use crate::remote::Blob;
use crate::stale::RebuildReason;
use crate::{Diag, RelPath};
use std::fs::File;
use std::io;

/// An artifact that is about to be published.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The source of the action.
    pub source: &'a RelPath,
    /// The name of the artifact.
    pub name: &'a RelPath,
    /// The digest and length of the content.
    pub blob: Blob,
    /// The magic number of the format, if it has one.
    pub magic: Option<&'static [u8]>,
}

/// Publishes artifacts and finds those of an earlier run.
pub trait Sink: Sync {
    /// Writes content to a staging area. Staged content that is not published is deleted when dropped.
    ///
    /// # Errors
    /// If writing fails.
    fn stage(&self, blob: Blob, fill: Fill<'_>) -> io::Result<Staged>;

    /// Stages the content of an artifact of `source`, which the sink may keep in memory.
    ///
    /// # Errors
    /// If writing fails.
    fn stage_bytes(&self, _source: &RelPath, blob: Blob, bytes: Vec<u8>) -> io::Result<Staged> {
        self.stage(blob, &mut |to| to.write_all(&bytes))
    }

    /// Returns the size of the staged content that the sink holds in memory. Actions start only as far as it fits the memory
    /// limit together with them.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Stages a copy of the rest of an open file, which has this content.
    ///
    /// # Errors
    /// If copying fails.
    fn stage_copy(&self, blob: Blob, from: &mut File) -> io::Result<Staged> {
        self.stage(blob, &mut |to| io::copy(from, to).map(drop))
    }

    /// Returns the slot of a name: two artifacts in one slot would overwrite each other, so both fail. `None` in a sink that
    /// finds artifacts by content.
    fn slot(&self, name: &RelPath) -> Option<String>;

    /// Decides whether an artifact may be published; returns the stamp of an existing artifact with equal content, which is
    /// kept.
    ///
    /// # Errors
    /// If an existing file may not be replaced.
    fn admit(&self, candidate: Candidate<'_>, records: &Records) -> Result<Option<Stamp>, Diag>;

    /// Publishes staged artifacts, after the journal has recorded the intent; returns the stamp or the error of each.
    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>>;

    /// Finds an artifact of an earlier run; returns its current stamp. Its content is compared if the stamp differs or `verify`
    /// is set. `hint` is the index after the last hit, for fast lookups in sorted order.
    ///
    /// # Errors
    /// The reason to run the action again.
    fn find(&self, recorded: &Output<'_>, verify: bool, hint: &mut usize) -> Result<Stamp, RebuildReason>;

    /// Reads a published artifact; `None` if it cannot be read.
    fn read(&self, name: &RelPath) -> Option<Vec<u8>>;

    /// Removes an obsolete artifact, if it is still the file that an earlier run published.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn remove(&self, recorded: &Output<'_>) -> Result<(), Diag>;
}
