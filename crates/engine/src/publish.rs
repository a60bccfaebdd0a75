//! Publishing a file atomically: the one policy by which files of Kiln appear under their names.
//!
//! A file is written under a temporary name in the file system of its target and renamed into place, so that a name has
//! the old content or all of the new one and never a part. The temporary file is created exclusively (`O_EXCL`), so that a link
//! or a file of someone else at that name is neither followed nor changed, and is removed if anything fails.
//!
//! - **Data** is flushed (`fdatasync`) before the rename where a reader would believe a torn file ([`Durability::Durable`]):
//!   outputs, the journal, the tag of a cache directory. It is not flushed where every reader verifies the content
//!   against a hash, so that a torn file is a cache miss ([`Durability::Verified`]): entries of the local cache.
//! - **Directories** are not flushed. After a power failure a name may have its old content again, or none; the journal
//!   then has another stamp than the file, or does not have the record either, and the next run builds it again.

use crate::{Code, Diag, RelPath};
use std::fs::File;
use std::io;

/// The number of files that are flushed at once. A flush waits for the disk, not for a core, and a disk takes many together
/// for nearly the price of one: on a busy disk ten thousand small files took 60 s two at a time, and 30 s this way.
const FLUSHES: usize = 32;

/// The guarantee that a published file needs after a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The data is on the disk before the file has its name.
    Durable,
    /// Readers verify the content, so the data need not be on the disk.
    Verified,
}

impl Durability {
    fn flush(self, file: &File) -> io::Result<()> {
        match self {
            Durability::Durable => file.sync_data(),
            Durability::Verified => Ok(()),
        }
    }
}

/// Publishes a file that is complete under its temporary name. `rename` gives it its name, and is not called for a file
/// that could not be flushed.
///
/// # Errors
/// If the file cannot be flushed, or `rename` fails. Then the caller removes the temporary file.
pub fn publish<T>(
    file: &File,
    durability: Durability,
    rename: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    durability.flush(file)?;
    rename()
}

/// Publishes a batch of durable files: all are flushed concurrently, which costs the disk about one flush, then renamed in
/// their order. Each fails alone.
pub(crate) fn publish_batch<F: Sync, T>(
    batch: Vec<F>,
    file: impl Fn(&F) -> &File + Sync,
    mut rename: impl FnMut(F) -> io::Result<T>,
) -> Vec<io::Result<T>> {
    let share = batch.len().div_ceil(FLUSHES).max(1);
    let flush = |part: &[F]| -> Vec<io::Result<()>> {
        part.iter().map(|each| Durability::Durable.flush(file(each))).collect()
    };
    let flushed: Vec<io::Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> = batch.chunks(share).map(|part| scope.spawn(|| flush(part))).collect();
        let lost = || io::Error::other("the thread that flushed the file panicked");
        let parts = threads.into_iter().zip(batch.chunks(share));
        parts
            .flat_map(|(thread, part)| {
                thread.join().unwrap_or_else(|_| part.iter().map(|_| Err(lost())).collect())
            })
            .collect()
    });
    batch.into_iter().zip(flushed).map(|(each, flushed)| flushed.and_then(|()| rename(each))).collect()
}

/// The error about a file that cannot be published.
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
