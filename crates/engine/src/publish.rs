//! Atomic publishing of files: the single policy for all files that Kiln writes.
//!
//! A file is written under a temporary name in the file system of its target and renamed into place, so that a reader sees
//! the old content or the complete new content. The temporary file is created exclusively (`O_EXCL`), so that a link
//! or a foreign file at that name is neither followed nor changed, and it is removed if anything fails.
//!
//! - **Data** is flushed (`fdatasync`, or `syncfs` for a large batch) before the rename where a reader would accept a torn
//!   file ([`Durability::Durable`]): outputs, the journal, the tag of a cache directory. It is not flushed where every reader
//!   verifies the content against a hash, so that a torn file is a cache miss ([`Durability::Verified`]): entries of the
//!   local cache.
//! - **Directories** are not flushed. After a power failure a name may have its old content again, or none; the journal
//!   then has another stamp than the file, or does not have the record either, and the next run builds it again.

use crate::open_root::OpenRoot;
use crate::{Code, Diag, RelPath};
use std::fs::File;
use std::io;

/// The number of concurrent flushes. A flush waits for the disk, not for a core, and a disk completes many together in nearly
/// the time of one: on a busy disk ten thousand small files took 60 s two at a time, and 30 s this way.
const FLUSHES: usize = 32;

/// The number of files from which a batch is flushed by one `syncfs`. It also flushes the files of other processes, so it
/// does not pay for a few.
const SYNCFS_FILES: usize = 16;

/// The durability of a published file after a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The data is flushed to disk before the rename.
    Durable,
    /// Readers verify the content, so the data is not flushed.
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

/// Publishes a complete temporary file. `rename` renames it into place, and is not called if the flush fails.
///
/// # Errors
/// If the flush or `rename` fails. The caller then removes the temporary file.
pub fn publish<T>(
    file: &File,
    durability: Durability,
    rename: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    durability.flush(file)?;
    rename()
}

/// Publishes a batch of durable files of the file system of `root`: all are flushed, then renamed in order. Each file has
/// its own result. A large batch is flushed by one `syncfs` where there is one, a small one concurrently, which takes about
/// as long as one flush.
pub(crate) fn publish_batch<F: Sync, T>(
    root: Option<&OpenRoot>,
    batch: Vec<F>,
    file: impl Fn(&F) -> &File + Sync,
    mut rename: impl FnMut(F) -> io::Result<T>,
) -> Vec<io::Result<T>> {
    // If it fails, the flush of each file tells which of them cannot be written.
    if batch.len() >= SYNCFS_FILES && root.is_some_and(|root| root.flush().is_ok()) {
        return batch.into_iter().map(rename).collect();
    }
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

/// Returns the error about an output that cannot be written.
pub(crate) fn unwritable(path: &RelPath, error: &io::Error) -> Diag {
    use io::ErrorKind::*;
    let diag = Diag::new(Code::Unwritable, format!("the output cannot be written: {error}")).path(path);
    match error.kind() {
        StorageFull | QuotaExceeded => diag.hint("free disk space and run the build again"),
        PermissionDenied | ReadOnlyFilesystem => diag.hint("check the permissions of the output directory"),
        NotADirectory | IsADirectory => {
            diag.hint("move the file or directory that is in the way, or choose another output")
        }
        InvalidFilename => diag.hint("shorten the name of the source"),
        _ => diag,
    }
}
