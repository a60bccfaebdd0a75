//! The open root directory of a tree: system calls relative to it, where the kernel resolves a path without symbolic links
//! in one call, and its file system flushed as a whole.
//!
//! Linux only. Everything here is a shortcut of a portable implementation that the caller has, which costs a system call for
//! each component of a path: ten thousand tiny files took 1.5 times the time in the kernel.

use crate::RelPath;
use crate::fs::{Stamp, StampedRead};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(not(target_os = "linux"))]
pub(crate) use fallback::OpenRoot;
#[cfg(target_os = "linux")]
pub(crate) use linux::OpenRoot;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::walk::stamp;
    use rustix::fs::{Mode, OFlags, RenameFlags, ResolveFlags};
    use rustix::io::Errno;
    use std::io::Read;

    /// An open directory on a local file system.
    #[derive(Debug)]
    pub(crate) struct OpenRoot(File);

    impl OpenRoot {
        /// The file systems (`f_type` of `statfs`) whose `syncfs` waits for the disk as `fdatasync` does: ext2 to ext4, XFS,
        /// Btrfs, F2FS, bcachefs, overlayfs and tmpfs. Those in user space and on networks need not.
        const FILE_SYSTEMS: [u32; 7] =
            [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x794c_7630, 0x0102_1994];

        /// Opens a directory before files are written there: [`flush`](Self::flush) reports the failed writes since then.
        /// Returns `None` if its file system has to be flushed file by file.
        pub(crate) fn open(root: &Path) -> Option<OpenRoot> {
            let dir = File::open(root).ok()?;
            let file_system = rustix::fs::fstatfs(&dir).ok()?.f_type as u32;
            Self::FILE_SYSTEMS.contains(&file_system).then_some(OpenRoot(dir))
        }

        /// Flushes all files of the file system. Linux reports failed writes since version 5.8.
        pub(crate) fn flush(&self) -> io::Result<()> {
            Ok(rustix::fs::syncfs(&self.0)?)
        }

        fn open_below(&self, path: &RelPath, flags: OFlags) -> rustix::io::Result<File> {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            let flags = flags | OFlags::CLOEXEC;
            rustix::fs::openat2(&self.0, path.as_str(), flags, Mode::empty(), resolve).map(File::from)
        }

        /// Opens a regular file; returns it with its stamp. `None` if there is none, if its path has a symbolic link, or if
        /// the kernel cannot tell: then the caller resolves the path.
        pub(crate) fn open_regular(&self, path: &RelPath) -> Option<(File, Stamp)> {
            // A pipe would block until a writer opens it.
            let file = self.open_below(path, OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK).ok()?;
            let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((file, stamp(&meta)))
        }

        /// Reads a regular file of at most `max_len` bytes with its stamps before and after; `None` as for
        /// [`open_regular`](Self::open_regular).
        pub(crate) fn read_stamped(&self, path: &RelPath, max_len: u64) -> Option<StampedRead> {
            let (mut file, before) = self.open_regular(path)?;
            let bytes = match before.len <= max_len {
                true => crate::real::read_file((&mut file).take(before.len), before.len),
                false => Ok(Vec::new()),
            };
            let after = file.metadata().ok().map(|meta| stamp(&meta));
            Some(StampedRead { before, bytes, after })
        }

        /// Returns whether nothing is at a path, and no parent is a symbolic link or a file. False if the kernel cannot tell.
        pub(crate) fn is_vacant(&self, path: &RelPath) -> bool {
            matches!(self.open_below(path, OFlags::PATH | OFlags::NOFOLLOW), Err(Errno::NOENT))
        }

        /// Renames a file of the directory to a path where nothing is, whose parents are directories. False if it was not
        /// renamed: something is there, or the file system cannot tell.
        pub(crate) fn rename_to_vacant(&self, from: &OsStr, path: &RelPath) -> bool {
            let flags = RenameFlags::NOREPLACE;
            rustix::fs::renameat_with(&self.0, from, &self.0, path.as_str(), flags).is_ok()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod fallback {
    use super::*;

    /// Cannot be opened: the caller uses its portable implementation.
    #[derive(Debug)]
    pub(crate) enum OpenRoot {}

    impl OpenRoot {
        pub(crate) fn open(_: &Path) -> Option<OpenRoot> {
            None
        }

        pub(crate) fn flush(&self) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn open_regular(&self, _: &RelPath) -> Option<(File, Stamp)> {
            match *self {}
        }

        pub(crate) fn read_stamped(&self, _: &RelPath, _: u64) -> Option<StampedRead> {
            match *self {}
        }

        pub(crate) fn is_vacant(&self, _: &RelPath) -> bool {
            match *self {}
        }

        pub(crate) fn rename_to_vacant(&self, _: &OsStr, _: &RelPath) -> bool {
            match *self {}
        }
    }
}
