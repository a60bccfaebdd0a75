//! The file system of a directory on disk.
//!
//! Files appear by rename only: they are written under a temporary name in the root, flushed in a batch, then renamed into
//! place. The log is protected by a lock that ends with the process (`log_file`), so a killed run never blocks the next
//! one. The next owner of the lock removes the temporary files that a killed run left behind.

use crate::file_in_use::retry_while_in_use;
use crate::fs::{Fill, Fs, Log, LogGuard, Occupant, Staged, Stamp, StampedRead, Tree, read_stamped};
use crate::log_file::{self, LockPlacement, LogFile};
use crate::open_root::OpenRoot;
use crate::publish::publish_batch;
use crate::temporary::TemporaryFile;
use crate::{Hash, RelPath, regular_file, walk};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The prefix of every temporary file name. Such files are never part of a tree.
pub const TEMPORARY: &str = ".kiln-";

/// The largest file that is read, in bytes: whole files are held in memory.
const MAX_FILE_LEN: u64 = 4 << 30;

/// A directory on disk.
pub struct Real {
    root: PathBuf,
    /// The open directory, if system calls relative to it are possible.
    open_root: Option<OpenRoot>,
    prefix: String,
    process_id: u32,
}

impl Real {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// If the path does not exist or is not a directory.
    pub fn open(root: &Path) -> io::Result<Real> {
        Real::named(root, "")
    }

    /// Opens a directory and gives its temporary files a prefix derived from `name`, so that [`sweep`](Self::sweep) of another
    /// owner in the same directory does not remove them.
    ///
    /// # Errors
    /// If the path does not exist or is not a directory.
    pub fn named(root: &Path, name: &str) -> io::Result<Real> {
        let root = fs::canonicalize(root)?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory"));
        }
        // A digest has a fixed length, so no prefix is the start of another, and all are short.
        let digest = Hash::of(name.as_bytes()).to_string();
        let prefix = format!("{TEMPORARY}{}-", &digest[..12]);
        Ok(Real { open_root: OpenRoot::open(&root), root, prefix, process_id: std::process::id() })
    }

    /// Returns the canonical path of the directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the temporary files of a killed run. Only the owner of the log may call this.
    ///
    /// # Errors
    /// If the directory cannot be listed or a file cannot be removed.
    pub fn sweep(&self) -> io::Result<()> {
        for item in fs::read_dir(&self.root)? {
            let item = item?;
            if item.file_name().to_string_lossy().starts_with(&self.prefix) {
                let path = item.path();
                ignore_not_found(retry_while_in_use(|| fs::remove_file(&path)))?;
            }
        }
        Ok(())
    }

    fn temporary(&self) -> PathBuf {
        // One counter for the process: two instances for one directory can read the same time.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        self.root.join(format!("{}{:x}-{:x}.{n}", self.prefix, self.process_id, now_ns()))
    }

    /// Creates a file under a temporary name, for reading and writing. It is removed when it is dropped, or by
    /// [`sweep`](Self::sweep) if the process is killed.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn temporary_file(&self) -> io::Result<TemporaryFile> {
        TemporaryFile::create(self.temporary())
    }

    /// Opens a regular file whose canonical path is inside the root; returns it with its length.
    fn open_inside(&self, path: &RelPath) -> io::Result<(File, u64)> {
        if let Some((file, stamp)) = self.open_root.as_ref().and_then(|root| root.open_regular(path)) {
            return Ok((file, stamp.len));
        }
        let full = fs::canonicalize(path.below(&self.root))?;
        if !full.starts_with(&self.root) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the symbolic link leads outside the tree",
            ));
        }
        let file = regular_file::open(&full)?;
        let len = file.metadata()?.len();
        Ok((file, len))
    }

    /// Returns the topmost parent of a path that exists and is not a directory. A symbolic link to a directory counts as one:
    /// files behind it do not belong to the output.
    fn blocked_by(&self, path: &RelPath) -> Option<RelPath> {
        let blocks =
            |dir: &RelPath| fs::symlink_metadata(dir.below(&self.root)).is_ok_and(|meta| !meta.is_dir());
        std::iter::successors(path.parent(), RelPath::parent).filter(blocks).last()
    }

    /// Renames a file of a batch into place. `prepared` has the parents that earlier files of the batch were placed in.
    fn place(
        &self,
        pending: &TemporaryFile,
        path: &RelPath,
        prepared: &mut HashSet<RelPath>,
    ) -> io::Result<Stamp> {
        let parent = path.parent();
        let is_prepared = parent.as_ref().is_none_or(|parent| prepared.contains(parent));
        // The open file is the one at the path, and needs no lookup.
        let stamp = || Ok(walk::stamp(&pending.file.metadata()?));
        let rename = |root: &OpenRoot, from: &Path| {
            from.file_name().is_some_and(|name| root.rename_to_vacant(name, path))
        };
        let is_placed = |root: &OpenRoot| pending.rename_by(|from| rename(root, from));
        if is_prepared && self.open_root.as_ref().is_some_and(is_placed) {
            return stamp();
        }
        let target = path.below(&self.root);
        let occupant = if is_prepared { self.occupant_of_leaf(path) } else { self.occupant(path) };
        if matches!(occupant?, Occupant::Link | Occupant::Special) {
            let why = "a symbolic link or a special file is at its path and is not replaced";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        if let Some(parent) = parent.filter(|_| !is_prepared) {
            fs::create_dir_all(parent.below(&self.root))?;
            prepared.insert(parent);
        }
        if let Err(error) = pending.rename(&target) {
            if !fs::symlink_metadata(&target).is_ok_and(|meta| meta.is_dir()) {
                return Err(error);
            }
            // A tree of empty directories may be at the path of the file.
            if !contains_no_files(&target)? {
                let why = "a directory that contains other files is at its path";
                return Err(io::Error::new(io::ErrorKind::IsADirectory, why));
            }
            remove_empty_dirs(&target)?;
            pending.rename(&target)?;
        }
        stamp()
    }

    /// Returns what is at a path whose parents are directories or do not exist.
    fn occupant_of_leaf(&self, path: &RelPath) -> io::Result<Occupant> {
        match fs::symlink_metadata(path.below(&self.root)) {
            Ok(meta) if meta.is_symlink() => Ok(Occupant::Link),
            Ok(meta) if meta.is_file() => Ok(Occupant::File),
            Ok(meta) if meta.is_dir() => Ok(Occupant::Directory),
            Ok(_) => Ok(Occupant::Special),
            Err(e) if is_not_found(&e) => Ok(Occupant::Nothing),
            Err(e) => Err(e),
        }
    }
}

/// Returns whether a directory contains no files at any depth.
fn contains_no_files(dir: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || !contains_no_files(&entry.path())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes a directory that contains no files. A file that appears meanwhile is an error, and is kept.
fn remove_empty_dirs(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        remove_empty_dirs(&entry?.path())?;
    }
    fs::remove_dir(dir)
}

impl Fs for Real {
    fn walk(&self, boundary: Option<&str>) -> io::Result<Tree> {
        let tree = walk::walk(&self.root, TEMPORARY, boundary)?;
        // Some file systems, such as FAT and those on networks, do not stamp a directory when an entry changes.
        Ok(if self.open_root.is_some() { tree } else { tree.with_directories(Vec::new()) })
    }

    fn read(&self, path: &RelPath) -> io::Result<Vec<u8>> {
        let (file, len) = self.open_inside(path)?;
        read_file(file, len)
    }

    fn read_stamped(&self, path: &RelPath, max_len: u64) -> io::Result<Option<StampedRead>> {
        match self.open_root.as_ref().and_then(|root| root.read_stamped(path, max_len)) {
            Some(read) => Ok(Some(read)),
            None => read_stamped(self, path, max_len),
        }
    }

    fn peek(&self, path: &RelPath, len: usize) -> io::Result<Vec<u8>> {
        let (file, file_len) = self.open_inside(path)?;
        let len = file_len.min(len as u64);
        let mut bytes = Vec::with_capacity(len as usize);
        file.take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn stamp(&self, path: &RelPath) -> io::Result<Option<Stamp>> {
        let full = path.below(&self.root);
        let stamp = fs::symlink_metadata(&full).and_then(|meta| match meta.is_symlink() {
            true => {
                let meta = fs::metadata(&full)?;
                Ok(meta.is_file().then(|| walk::stamp(&meta).through_link()))
            }
            false => Ok(meta.is_file().then(|| walk::stamp(&meta))),
        });
        match stamp {
            Err(e) if is_not_found(&e) => Ok(None),
            stamp => stamp,
        }
    }

    fn occupant(&self, path: &RelPath) -> io::Result<Occupant> {
        if self.open_root.as_ref().is_some_and(|root| root.is_vacant(path)) {
            return Ok(Occupant::Nothing);
        }
        if let Some(parent) = self.blocked_by(path) {
            let why = format!("the parent {parent} is a symbolic link or a file, not a directory");
            return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
        }
        self.occupant_of_leaf(path)
    }

    fn now_ns(&self) -> i64 {
        now_ns()
    }

    fn stage(&self, fill: Fill<'_>) -> io::Result<Staged> {
        let mut pending = self.temporary_file()?;
        fill(&mut pending.file)?;
        Ok(Staged::new(pending))
    }

    /// Copies in the kernel, as a copy-on-write clone where the file system supports it.
    fn stage_copy(&self, from: &mut File) -> io::Result<Staged> {
        let mut pending = self.temporary_file()?;
        io::copy(from, &mut pending.file)?;
        Ok(Staged::new(pending))
    }

    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        // Staged files come from the same file system, so all have this type.
        let pending = |(staged, path): (Staged, RelPath)| Some((staged.into_inner::<TemporaryFile>()?, path));
        let (count, batch) = (batch.len(), batch.into_iter().filter_map(pending).collect::<Vec<_>>());
        debug_assert_eq!(batch.len(), count, "staged by another file system");
        let mut prepared = HashSet::new();
        publish_batch(
            self.open_root.as_ref(),
            batch,
            |(pending, _)| &pending.file,
            |(pending, path)| self.place(&pending, &path, &mut prepared),
        )
    }

    fn remove(&self, path: &RelPath) -> io::Result<()> {
        if self.blocked_by(path).is_some() {
            return Ok(());
        }
        match self.occupant(path)? {
            Occupant::Nothing => {}
            Occupant::File => {
                let file = path.below(&self.root);
                ignore_not_found(retry_while_in_use(|| fs::remove_file(&file)))?;
            }
            // This replaced the file that was written, so it is not ours and is kept.
            Occupant::Directory | Occupant::Link | Occupant::Special => return Ok(()),
        }
        let mut dir = path.parent();
        while let Some(empty) = dir {
            if fs::remove_dir(empty.below(&self.root)).is_err() {
                break;
            }
            dir = empty.parent();
        }
        Ok(())
    }

    fn open_log(&self, name: &RelPath, waiting: &dyn Fn()) -> io::Result<Box<dyn Log>> {
        let log = LogFile::open(name.below(&self.root), self.temporary(), LockPlacement::NATIVE, waiting)?;
        self.sweep()?;
        Ok(Box::new(log))
    }

    fn read_log(&self, name: &RelPath, waiting: &dyn Fn()) -> io::Result<(Vec<u8>, LogGuard)> {
        log_file::read(&name.below(&self.root), LockPlacement::NATIVE, waiting)
    }

    fn remove_lock(&self, name: &RelPath) {
        log_file::remove_lock(&name.below(&self.root), LockPlacement::NATIVE);
    }
}

/// Reads a regular file of `len` bytes whole, or what it has grown to since.
///
/// # Errors
/// If the file has more than [`MAX_FILE_LEN`] bytes, or reading fails.
pub(crate) fn read_file(file: impl Read, len: u64) -> io::Result<Vec<u8>> {
    if len > MAX_FILE_LEN {
        let why = format!("the file has {len} bytes; the limit is {MAX_FILE_LEN}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    read_to_len(file.take(MAX_FILE_LEN), len)
}

/// Reads a stream to its end and checks that it has at least `len` bytes. A short read is an error of the disk or the
/// server, and must not be mistaken for a truncated file.
pub(crate) fn read_to_len(mut from: impl Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    from.read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < len {
        let why = format!("unexpected end of file after {} of {len} bytes", bytes.len());
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
    }
    Ok(bytes)
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// Returns whether an error means that the file does not exist: not found, or a parent is not a directory.
pub(crate) fn is_not_found(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn ignore_not_found(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if is_not_found(&e) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::{Durability, publish};
    use std::io::Write;

    fn path(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    #[test]
    fn sweep_removes_only_own_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["", "a", "a.hpack", "a.hpack.b", &"long".repeat(63)];
        let owners = names.map(|name| Real::named(dir.path(), name).unwrap());
        let _staged = owners.each_ref().map(|real| real.stage(&mut |file| file.write_all(b"x")).unwrap());
        for (left, owner) in (0..owners.len()).rev().zip(&owners) {
            owner.sweep().unwrap();
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), left);
        }
    }

    #[test]
    fn short_reads_are_errors() {
        assert_eq!(read_to_len(&b"four"[..], 4).unwrap(), b"four");
        assert_eq!(read_to_len(&b"it grew"[..], 4).unwrap(), b"it grew");
        assert_eq!(
            read_to_len(&b"cut"[..], 4).unwrap_err().to_string(),
            "unexpected end of file after 3 of 4 bytes"
        );
    }

    /// `fdatasync` fails for a socket. If the file is renamed nevertheless, it was not flushed or the error was ignored, and a
    /// power failure could leave a name without content.
    #[test]
    #[cfg(unix)]
    fn file_that_cannot_be_flushed_is_not_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let real = Real::open(dir.path()).unwrap();
        let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        let socket = File::from(std::os::fd::OwnedFd::from(socket));
        assert!(socket.sync_data().is_err(), "the test needs a descriptor that cannot be flushed");
        let mut unflushable = real.temporary_file().unwrap();
        unflushable.file.write_all(b"bytes that may not be on the disk").unwrap();
        unflushable.file = socket;
        let flushed = real.stage(&mut |out| out.write_all(b"flushed")).unwrap();
        let batch = vec![(Staged::new(unflushable), path("lost")), (flushed, path("kept"))];
        let published = real.publish(batch);
        assert!(published[0].is_err() && published[1].is_ok(), "{published:?}");
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["kept"], "neither the name nor the temporary file is left");

        // A single file is published in the same way.
        let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        let socket = File::from(std::os::fd::OwnedFd::from(socket));
        assert!(publish(&socket, Durability::Durable, || Ok("renamed")).is_err());
        assert_eq!(publish(&socket, Durability::Verified, || Ok("renamed")).unwrap(), "renamed");
    }

    /// Opening a pipe would block forever, and a link could create a file outside the directory.
    #[test]
    #[cfg(unix)]
    fn rejects_a_log_that_is_not_a_regular_file() {
        let dir = tempfile::tempdir().unwrap();
        let real = Real::open(dir.path()).unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        fs::create_dir(dir.path().join("directory")).unwrap();
        for name in ["link", "socket", "directory"] {
            assert!(real.open_log(&path(name), &|| ()).is_err(), "{name}");
            assert!(real.read_log(&path(name), &|| ()).is_err(), "{name}");
        }
        assert!(!dir.path().join("elsewhere").exists());
    }

    /// Files behind a symbolic link do not belong to the output.
    #[test]
    #[cfg(unix)]
    fn does_not_write_or_remove_through_a_link() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let real = Real::open(dir.path()).unwrap();
        fs::write(outside.path().join("a.out"), "theirs").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("sub")).unwrap();
        for name in ["sub/a.out", "sub/b.out", "sub/deep/c.out"] {
            let staged = real.stage(&mut |out| out.write_all(b"ours")).unwrap();
            let error = real.publish(vec![(staged, path(name))]).remove(0).unwrap_err();
            assert!(error.to_string().starts_with("the parent sub is a symbolic link"), "{error}");
            real.remove(&path(name)).unwrap();
        }
        assert_eq!(fs::read(outside.path().join("a.out")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(fs::symlink_metadata(dir.path().join("sub")).unwrap().is_symlink());
    }

    #[test]
    #[cfg(unix)]
    fn neither_replaces_nor_removes_a_link() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let real = Real::open(dir.path()).unwrap();
        fs::write(outside.path().join("theirs"), "theirs").unwrap();
        for (name, target) in [("link", outside.path().join("theirs")), ("dangling", "nowhere".into())] {
            std::os::unix::fs::symlink(&target, dir.path().join(name)).unwrap();
            let staged = real.stage(&mut |out| out.write_all(b"ours")).unwrap();
            real.publish(vec![(staged, path(name))]).remove(0).unwrap_err();
            real.remove(&path(name)).unwrap();
            assert_eq!(fs::read_link(dir.path().join(name)).unwrap(), target);
        }
        assert_eq!(fs::read(outside.path().join("theirs")).unwrap(), b"theirs");
    }

    #[test]
    fn does_not_remove_a_directory_at_the_path_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let real = Real::open(dir.path()).unwrap();
        fs::create_dir_all(dir.path().join("a.out/theirs")).unwrap();
        real.remove(&path("a.out")).unwrap();
        real.remove(&path("a.out/theirs")).unwrap();
        assert!(dir.path().join("a.out/theirs").is_dir());
    }

    #[test]
    fn replaces_only_directories_without_files() {
        let dir = tempfile::tempdir().unwrap();
        let real = Real::open(dir.path()).unwrap();
        let publish = || {
            let staged = real.stage(&mut |out| out.write_all(b"ours")).unwrap();
            real.publish(vec![(staged, path("a.out"))]).remove(0)
        };
        fs::create_dir_all(dir.path().join("a.out/b/c")).unwrap();
        fs::create_dir(dir.path().join("a.out/empty")).unwrap();
        fs::write(dir.path().join("a.out/b/theirs"), "").unwrap();
        assert!(publish().unwrap_err().to_string().contains("contains other files"));
        assert!(dir.path().join("a.out/empty").is_dir() && dir.path().join("a.out/b/c").is_dir());
        fs::remove_file(dir.path().join("a.out/b/theirs")).unwrap();
        publish().unwrap();
        assert_eq!(fs::read(dir.path().join("a.out")).unwrap(), b"ours");
    }
}
