//! Directory access for the bake: lists directories, and stats and opens files relative to them, because resolving an
//! absolute path for every file would cost more than all the rest of a warm bake.
//!
//! On Linux this is `openat` and `fstatat`; on other platforms, and in a test that compares both, the standard library.

use kiln_engine::Stamp;
use kiln_engine::inputs::racy_until;
use std::fs::File;
use std::io;
use std::path::Path;

/// The type of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// The metadata of a file, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStat {
    pub(crate) kind: Kind,
    pub(crate) mtime_ns: i64,
    /// The change time of the inode; where the platform has none, the modification time again.
    pub(crate) ctime_ns: i64,
    pub(crate) len: u64,
    pub(crate) inode: u64,
    pub(crate) device: u64,
}

impl FileStat {
    /// Returns the [identity](Self::identity) of the file, or 0 if its timestamp is racy: the file was changed so shortly
    /// before `now_ns` that its next change could have the same timestamp. 0 equals no identity.
    pub(crate) fn stamp(&self, now_ns: i64) -> u64 {
        let stamp = Stamp { mtime_ns: self.mtime_ns, changed_ns: self.ctime_ns, len: self.len };
        if racy_until(stamp) >= now_ns { 0 } else { self.identity() }
    }

    /// Hashes the times, the length and the inode: two versions of one file differ in at least one of them.
    pub(crate) fn identity(&self) -> u64 {
        let parts = [self.mtime_ns as u64, self.ctime_ns as u64, self.len, self.inode];
        let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        parts.into_iter().fold(0x517C_C1B7_2722_0A95, mix).max(1)
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{Dir, Root, read};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{Dir, Root, read};

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat};
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;

    /// The root of a project.
    pub(crate) struct Root(OwnedFd);

    /// An open directory, by descriptor.
    pub(crate) struct Dir(OwnedFd);

    const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

    impl Root {
        pub(crate) fn open(path: &Path) -> io::Result<Root> {
            Ok(Root(rustix::fs::open(path, READ | OFlags::DIRECTORY, Mode::empty())?))
        }

        pub(crate) fn dir(&self, path: &str) -> io::Result<Dir> {
            Ok(Dir(rustix::fs::openat(&self.0, path, READ | OFlags::DIRECTORY, Mode::empty())?))
        }
    }

    impl Dir {
        pub(crate) fn file_stat(&self) -> io::Result<FileStat> {
            Ok(file_stat(&rustix::fs::fstat(&self.0)?))
        }

        pub(crate) fn list(&self, mut each: impl FnMut(&[u8], Kind)) -> io::Result<()> {
            let mut buffer = [MaybeUninit::uninit(); 32 << 10];
            let mut dir = RawDir::new(&self.0, &mut buffer);
            while let Some(entry) = dir.next() {
                let entry = entry?;
                let name = entry.file_name();
                let kind = match entry.file_type() {
                    FileType::RegularFile => Kind::File,
                    FileType::Directory => Kind::Folder,
                    FileType::Symlink => Kind::Link,
                    // Some file systems do not return the type in a listing.
                    FileType::Unknown => match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => file_stat(&stat).kind,
                        Err(_) => Kind::Other,
                    },
                    _ => Kind::Other,
                };
                if !matches!(name.to_bytes(), b"." | b"..") {
                    each(name.to_bytes(), kind);
                }
            }
            Ok(())
        }

        pub(crate) fn stat(&self, name: &str) -> io::Result<FileStat> {
            Ok(file_stat(&rustix::fs::statat(&self.0, name, AtFlags::empty())?))
        }

        /// Opens a regular file. Does not block on a pipe.
        pub(crate) fn open(&self, name: &str) -> io::Result<(File, FileStat)> {
            let file = rustix::fs::openat(&self.0, name, READ | OFlags::NONBLOCK, Mode::empty())?;
            let file_stat = file_stat(&rustix::fs::fstat(&file)?);
            if file_stat.kind != Kind::File {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
            }
            Ok((File::from(file), file_stat))
        }
    }

    /// Reads from the current position of a file. Returns the number of bytes: 0 at the end of the file. Unlike that of libc,
    /// this call is no cancellation point, which would take longer than the rest of it in user space.
    pub(crate) fn read(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(file, buffer)?)
    }

    // These fields are narrower on other architectures.
    #[allow(clippy::unnecessary_cast)]
    fn file_stat(stat: &Stat) -> FileStat {
        let kind = match FileType::from_raw_mode(stat.st_mode as _) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        FileStat {
            kind,
            mtime_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            len: stat.st_size as u64,
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
        }
    }
}

#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(target_os = "linux", allow(dead_code))]
mod portable {
    use super::*;
    use std::fs::{self, Metadata};
    use std::path::PathBuf;
    use std::time::UNIX_EPOCH;

    /// The root of a project.
    pub(crate) struct Root(PathBuf);

    /// An open directory, by path.
    pub(crate) struct Dir(PathBuf);

    impl Root {
        pub(crate) fn open(path: &Path) -> io::Result<Root> {
            fs::read_dir(path)?;
            Ok(Root(path.to_owned()))
        }

        pub(crate) fn dir(&self, path: &str) -> io::Result<Dir> {
            let path = self.0.join(path);
            if fs::metadata(&path)?.is_dir() {
                Ok(Dir(path))
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }
    }

    impl Dir {
        pub(crate) fn file_stat(&self) -> io::Result<FileStat> {
            Ok(file_stat(&fs::metadata(&self.0)?))
        }

        pub(crate) fn list(&self, mut each: impl FnMut(&[u8], Kind)) -> io::Result<()> {
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                each(entry.file_name().as_encoded_bytes(), kind(entry.file_type()?));
            }
            Ok(())
        }

        pub(crate) fn stat(&self, name: &str) -> io::Result<FileStat> {
            Ok(file_stat(&fs::metadata(self.0.join(name))?))
        }

        pub(crate) fn open(&self, name: &str) -> io::Result<(File, FileStat)> {
            let path = self.0.join(name);
            let file_stat = file_stat(&fs::metadata(&path)?);
            if file_stat.kind != Kind::File {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
            }
            Ok((File::open(path)?, file_stat))
        }
    }

    /// Reads from the current position of a file. Returns the number of bytes: 0 at the end of the file.
    pub(crate) fn read(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut file, buffer)
    }

    fn kind(kind: fs::FileType) -> Kind {
        match kind {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_symlink() => Kind::Link,
            _ => Kind::Other,
        }
    }

    fn file_stat(meta: &Metadata) -> FileStat {
        let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let mtime_ns = since.map_or(0, |since| since.as_nanos() as i64);
        let (ctime_ns, inode, device) = identity(meta, mtime_ns);
        FileStat { kind: kind(meta.file_type()), mtime_ns, ctime_ns, len: meta.len(), inode, device }
    }

    #[cfg(unix)]
    fn identity(meta: &Metadata, _: i64) -> (i64, u64, u64) {
        use std::os::unix::fs::MetadataExt;
        (meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec()), meta.ino(), meta.dev())
    }

    #[cfg(not(unix))]
    fn identity(_: &Metadata, mtime_ns: i64) -> (i64, u64, u64) {
        (mtime_ns, 0, 0)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn linux_and_portable_listings_agree() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/f.txt"), "four").unwrap();
        std::os::unix::fs::symlink("f.txt", dir.path().join("a/link")).unwrap();
        let fast = linux::Root::open(dir.path()).unwrap().dir("a").unwrap();
        let plain = portable::Root::open(dir.path()).unwrap().dir("a").unwrap();
        let (mut seen, mut expected) = (Vec::new(), Vec::new());
        fast.list(|name, kind| seen.push((name.to_vec(), kind))).unwrap();
        plain.list(|name, kind| expected.push((name.to_vec(), kind))).unwrap();
        seen.sort();
        expected.sort();
        assert_eq!(seen.len(), 3);
        assert_eq!(seen, expected);
        for name in ["b", "f.txt", "link"] {
            let (ours, theirs) = (fast.stat(name).unwrap(), plain.stat(name).unwrap());
            assert_eq!(ours, theirs, "{name}");
        }
        assert!(fast.open("b").is_err() && fast.open("none").is_err());
        assert!(linux::Root::open(dir.path()).unwrap().dir("a/f.txt").is_err());
    }

    #[test]
    fn racy_timestamps_have_no_stamp() {
        let file_stat =
            FileStat { kind: Kind::File, mtime_ns: 7, ctime_ns: 5_000_000_001, len: 1, inode: 1, device: 1 };
        assert_eq!(file_stat.stamp(5_000_000_002), 0);
        assert_eq!(file_stat.stamp(5_100_000_000), file_stat.identity());
        // A whole second may come from a file system that counts in steps of two.
        let whole = FileStat { ctime_ns: 5_000_000_000, ..file_stat };
        assert_eq!(whole.stamp(7_000_000_001), 0);
        assert_eq!(whole.stamp(7_020_000_001), whole.identity());
        assert_ne!(whole.identity(), file_stat.identity());
    }
}
