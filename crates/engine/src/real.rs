//! A directory on disk as a [`Fs`].
//!
//! Files appear by rename only: they are written under a temporary name in the root, made durable in a batch,
//! then renamed. The log is held by an advisory lock that ends with the process, so a killed run never blocks
//! the next one, and whoever gets the lock sweeps up what the last owner left under temporary names.

use crate::fs::{Fill, Fs, Held, Log, Occupant, Staged, Stamp, Tree};
use crate::lock::{LockMode, open_locked};
use crate::publish::{Durability, publish, publish_batch};
use crate::{Hash, RelPath, regular_file, walk};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How every temporary name starts. Such names are never part of a tree.
pub const TEMPORARY: &str = ".kiln-";

/// The largest source that is read: whole files are held in memory.
const LARGEST: u64 = 4 << 30;

/// A directory on disk.
pub struct Real {
    root: PathBuf,
    prefix: String,
}

impl Real {
    /// Opens an existing directory.
    pub fn open(root: &Path) -> io::Result<Real> {
        Real::named(root, "")
    }

    /// Opens a directory in which temporary files carry a name of their own, so that whoever sweeps after
    /// other temporaries there does not take these.
    pub fn named(root: &Path, name: &str) -> io::Result<Real> {
        let root = fs::canonicalize(root)?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory"));
        }
        // A digest: as long for every name, so that none is the beginning of another and all are short enough.
        let digest = Hash::of(name.as_bytes()).to_string();
        Ok(Real { root, prefix: format!("{TEMPORARY}{}-", &digest[..12]) })
    }

    /// The directory, without links or dots in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes what a killed run left under temporary names. Only the owner of the log may call this.
    pub fn sweep(&self) -> io::Result<()> {
        for item in fs::read_dir(&self.root)? {
            let item = item?;
            if item.file_name().to_string_lossy().starts_with(&self.prefix) {
                gone_is_fine(fs::remove_file(item.path()))?;
            }
        }
        Ok(())
    }

    fn temporary(&self) -> PathBuf {
        // One counter per process: two trees of one directory can read the same time.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        self.root.join(format!("{}{:x}-{:x}.{n}", self.prefix, std::process::id(), now_ns()))
    }

    /// Creates a file under a temporary name, for reading and writing. It is removed when it is dropped, or by
    /// [`sweep`](Self::sweep) if the process is killed.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn temporary_file(&self) -> io::Result<TemporaryFile> {
        let path = self.temporary();
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        Ok(TemporaryFile { path, file })
    }

    /// Opens a regular file that lies inside the root, through whatever links.
    fn open_inside(&self, path: &RelPath) -> io::Result<File> {
        let full = fs::canonicalize(path.below(&self.root))?;
        if !full.starts_with(&self.root) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "a link leads outside the tree"));
        }
        regular_file::open(&full)
    }

    /// The directory above a path that is no directory, if there is one. A link to a directory is none: what lies behind
    /// it is not ours to write or to remove.
    fn barrier(&self, path: &RelPath) -> Option<RelPath> {
        let blocks =
            |dir: &RelPath| fs::symlink_metadata(dir.below(&self.root)).is_ok_and(|meta| !meta.is_dir());
        std::iter::successors(path.parent(), RelPath::parent).filter(blocks).last()
    }

    fn place(&self, pending: &TemporaryFile, path: &RelPath) -> io::Result<Stamp> {
        let target = path.below(&self.root);
        if matches!(self.occupant(path)?, Occupant::Link | Occupant::Special) {
            let why = "a link or a special file is at its path, and such files are not replaced";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        if let Err(error) = fs::rename(&pending.path, &target) {
            if !fs::symlink_metadata(&target).is_ok_and(|meta| meta.is_dir()) {
                return Err(error);
            }
            // Directories that have become empty may stand where a file is wanted now.
            if !is_hollow(&target)? {
                let why = "a directory with files of someone else stands in its place";
                return Err(io::Error::new(io::ErrorKind::IsADirectory, why));
            }
            remove_hollow(&target)?;
            fs::rename(&pending.path, &target)?;
        }
        Ok(walk::stamp(&fs::symlink_metadata(&target)?))
    }
}

/// Whether a directory holds nothing but directories that are hollow as well.
fn is_hollow(dir: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || !is_hollow(&entry.path())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes such a directory. A file that has come into it since is an error, and stays.
fn remove_hollow(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        remove_hollow(&entry?.path())?;
    }
    fs::remove_dir(dir)
}

/// A file under its temporary name.
pub struct TemporaryFile {
    path: PathBuf,
    file: File,
}

impl TemporaryFile {
    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After a rename there is nothing under this name any more.
        let _ = fs::remove_file(&self.path);
    }
}

impl Fs for Real {
    fn walk(&self, boundary: Option<&str>) -> io::Result<Tree> {
        walk::walk(&self.root, TEMPORARY, boundary)
    }

    fn read(&self, path: &RelPath) -> io::Result<Vec<u8>> {
        let file = self.open_inside(path)?;
        let len = file.metadata()?.len();
        if len > LARGEST {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{len} bytes; at most {LARGEST} are read"),
            ));
        }
        whole(file.take(LARGEST), len)
    }

    fn peek(&self, path: &RelPath, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_inside(path)?.take(len as u64).read_to_end(&mut bytes)?;
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
            Err(e) if absent(&e) => Ok(None),
            stamp => stamp,
        }
    }

    fn occupant(&self, path: &RelPath) -> io::Result<Occupant> {
        if let Some(barrier) = self.barrier(path) {
            let why = format!("{barrier} stands in the way: it is a link or a file, not a directory");
            return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
        }
        match fs::symlink_metadata(path.below(&self.root)) {
            Ok(meta) if meta.is_symlink() => Ok(Occupant::Link),
            Ok(meta) if meta.is_file() => Ok(Occupant::File),
            Ok(meta) if meta.is_dir() => Ok(Occupant::Directory),
            Ok(_) => Ok(Occupant::Special),
            Err(e) if absent(&e) => Ok(Occupant::Nothing),
            Err(e) => Err(e),
        }
    }

    fn now_ns(&self) -> i64 {
        now_ns()
    }

    fn stage(&self, fill: Fill<'_>) -> io::Result<Staged> {
        let mut pending = self.temporary_file()?;
        fill(&mut pending.file)?;
        Ok(Staged::new(pending))
    }

    /// Between two files the system copies, and shares the blocks until one is changed where the disk can do that.
    fn stage_copy(&self, from: &mut File) -> io::Result<Staged> {
        let mut pending = self.temporary_file()?;
        io::copy(from, &mut pending.file)?;
        Ok(Staged::new(pending))
    }

    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        // Only a file system hands out its own staged files, so that none is of another type.
        let pending = |(staged, path): (Staged, RelPath)| Some((staged.into_inner::<TemporaryFile>()?, path));
        let (count, batch) = (batch.len(), batch.into_iter().filter_map(pending).collect::<Vec<_>>());
        debug_assert_eq!(batch.len(), count, "staged by another file system");
        publish_batch(batch, |(pending, _)| &pending.file, |(pending, path)| self.place(&pending, &path))
    }

    fn remove(&self, path: &RelPath) -> io::Result<()> {
        if self.barrier(path).is_some() {
            return Ok(());
        }
        match self.occupant(path)? {
            Occupant::Nothing => {}
            Occupant::File => gone_is_fine(fs::remove_file(path.below(&self.root)))?,
            // Someone put this in the place of the file that was written: that is not the file, and stays.
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
        let path = name.below(&self.root);
        let file = open_locked(&path, LockMode::Exclusive, waiting)?;
        self.sweep()?;
        Ok(Box::new(RealLog { file, path, temporary: self.temporary() }))
    }

    fn read_log(&self, name: &RelPath, waiting: &dyn Fn()) -> io::Result<(Vec<u8>, Held)> {
        match open_locked(&name.below(&self.root), LockMode::Shared, waiting) {
            Ok(file) => Ok((whole(&file, file.metadata()?.len())?, Held(Box::new(file)))),
            Err(e) if absent(&e) => Ok((vec![], Held::nothing())),
            Err(e) => Err(e),
        }
    }
}

struct RealLog {
    file: File,
    path: PathBuf,
    temporary: PathBuf,
}

impl Log for RealLog {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(0))?;
        whole(&self.file, self.file.metadata()?.len())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(bytes)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&self.temporary)?;
        // Locked before it has the name that others open, so that ownership has no gap.
        file.lock()?;
        let rename = || fs::rename(&self.temporary, &self.path);
        let written = file.write_all(bytes);
        if let Err(error) = written.and_then(|()| publish(&file, Durability::Durable, rename)) {
            let _ = fs::remove_file(&self.temporary);
            return Err(error);
        }
        self.file = file;
        Ok(())
    }
}

/// Everything that is to be read, of which there should be this much. Where less comes, a disk or a server does not do
/// what it said: that is no content, and must not be taken for a file that was cut short.
fn whole(mut from: impl Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    from.read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < len {
        let why = format!("it ends after {} of {len} bytes", bytes.len());
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
    }
    Ok(bytes)
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// Whether an error says that nothing is there: no such file, or a file where a directory would have to be.
fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if absent(&e) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    /// A reader that waits for the owner gets what the owner left, also when the owner replaced the file, and keeps
    /// the next owner waiting while it looks.
    #[test]
    fn readers_and_owners_of_the_log_wait_for_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let real = Real::open(dir.path()).unwrap();
        let name = path("log");
        let (waits, waiting) = std::sync::mpsc::channel();
        let waits = || waits.send(()).unwrap();
        let mut log = real.open_log(&name, &|| ()).unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| real.read_log(&name, &waits.clone()).unwrap());
            waiting.recv().unwrap();
            log.replace(b"first").unwrap();
            log.append(b", second").unwrap();
            drop(log);
            let (bytes, held) = reader.join().unwrap();
            assert_eq!(bytes, b"first, second");

            let owner = scope.spawn(|| real.open_log(&name, &waits.clone()).unwrap().read().unwrap());
            waiting.recv().unwrap();
            drop(held);
            assert_eq!(owner.join().unwrap(), b"first, second");
        });
    }

    #[test]
    fn temporaries_are_swept_by_their_owner_alone() {
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
    fn less_than_there_is_said_to_be_is_no_content() {
        assert_eq!(whole(&b"four"[..], 4).unwrap(), b"four");
        assert_eq!(whole(&b"it grew"[..], 4).unwrap(), b"it grew");
        assert_eq!(whole(&b"cut"[..], 4).unwrap_err().to_string(), "it ends after 3 of 4 bytes");
    }

    /// `fdatasync` fails for a socket. A file that is renamed all the same was not flushed before, or its failure was
    /// not looked at: after a power cut there would be a name without content.
    #[test]
    #[cfg(unix)]
    fn a_file_that_cannot_be_flushed_does_not_get_its_name() {
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

    /// A pipe would be waited for without end, and a link could have a file made wherever it leads.
    #[test]
    #[cfg(unix)]
    fn a_log_is_a_regular_file_or_none() {
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

    /// What lies behind a link is someone else's.
    #[test]
    #[cfg(unix)]
    fn nothing_is_written_or_removed_through_a_link() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let real = Real::open(dir.path()).unwrap();
        fs::write(outside.path().join("a.out"), "theirs").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("sub")).unwrap();
        for name in ["sub/a.out", "sub/b.out", "sub/deep/c.out"] {
            let staged = real.stage(&mut |out| out.write_all(b"ours")).unwrap();
            let error = real.publish(vec![(staged, path(name))]).remove(0).unwrap_err();
            assert!(error.to_string().starts_with("sub stands in the way"), "{error}");
            real.remove(&path(name)).unwrap();
        }
        assert_eq!(fs::read(outside.path().join("a.out")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(fs::symlink_metadata(dir.path().join("sub")).unwrap().is_symlink());
    }

    #[test]
    #[cfg(unix)]
    fn a_link_at_the_path_of_a_file_is_neither_replaced_nor_removed() {
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
    fn a_directory_in_the_place_of_a_file_is_not_that_file() {
        let dir = tempfile::tempdir().unwrap();
        let real = Real::open(dir.path()).unwrap();
        fs::create_dir_all(dir.path().join("a.out/theirs")).unwrap();
        real.remove(&path("a.out")).unwrap();
        real.remove(&path("a.out/theirs")).unwrap();
        assert!(dir.path().join("a.out/theirs").is_dir());
    }

    #[test]
    fn empty_directories_make_way_for_a_file_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let real = Real::open(dir.path()).unwrap();
        let publish = || {
            let staged = real.stage(&mut |out| out.write_all(b"ours")).unwrap();
            real.publish(vec![(staged, path("a.out"))]).remove(0)
        };
        fs::create_dir_all(dir.path().join("a.out/b/c")).unwrap();
        fs::create_dir(dir.path().join("a.out/empty")).unwrap();
        fs::write(dir.path().join("a.out/b/theirs"), "").unwrap();
        assert!(publish().unwrap_err().to_string().contains("files of someone else"));
        assert!(dir.path().join("a.out/empty").is_dir() && dir.path().join("a.out/b/c").is_dir());
        fs::remove_file(dir.path().join("a.out/b/theirs")).unwrap();
        publish().unwrap();
        assert_eq!(fs::read(dir.path().join("a.out")).unwrap(), b"ours");
    }
}
