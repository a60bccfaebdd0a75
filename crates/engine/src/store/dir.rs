//! Directories of the local cache, opened without following symbolic links below the root.
//!
//! A cache directory can come with an untrusted project. A link in it would redirect reads, renames and deletions to files of
//! the user outside the cache. On Unix every step is relative to an open directory and does not follow links (`openat` with
//! `O_NOFOLLOW`), so a link that appears later is not followed either (no TOCTOU race). On other platforms each name is checked
//! before it is used. The root may be a link, because the caller chooses its path.

use crate::regular_file::not_regular;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// The type of a directory entry; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Dir,
    Link,
    Other,
}

/// The type, length and modification time of a directory entry; links are not followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryMeta {
    pub(super) kind: EntryKind,
    pub(super) len: u64,
    pub(super) modified: SystemTime,
}

#[cfg(not(unix))]
pub(super) use portable::Dir;
#[cfg(unix)]
pub(super) use unix::Dir;

#[cfg(unix)]
mod unix {
    use super::*;
    use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
    use rustix::io::Errno;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    /// An open directory.
    pub(in crate::store) struct Dir(OwnedFd);

    const OPEN: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

    impl Dir {
        /// Opens the root of a cache, through links if its path has any.
        pub(in crate::store) fn root(path: &Path) -> io::Result<Dir> {
            Ok(Dir(rustix::fs::open(path, OPEN | OFlags::DIRECTORY, Mode::empty())?))
        }

        /// Opens a directory in this one.
        pub(in crate::store) fn dir(&self, name: &str) -> io::Result<Dir> {
            let flags = OPEN | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            Ok(Dir(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
        }

        /// Opens a directory in this one, and creates it if it does not exist.
        pub(in crate::store) fn make_dir(&self, name: &str) -> io::Result<Dir> {
            match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => self.dir(name),
                Err(error) => Err(error.into()),
            }
        }

        /// Opens a regular file for reading. A pipe is not waited for.
        pub(in crate::store) fn open(&self, name: &str) -> io::Result<File> {
            let flags = OPEN | OFlags::NOFOLLOW | OFlags::NONBLOCK;
            regular(rustix::fs::openat(&self.0, name, flags, Mode::empty())?.into())
        }

        /// Opens a regular file in a directory in this one for reading.
        pub(in crate::store) fn open_in(&self, dir: &str, name: &str) -> io::Result<File> {
            // One system call in place of three, where the kernel has it.
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::ResolveFlags;
                let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
                let path = format!("{dir}/{name}");
                match rustix::fs::openat2(&self.0, path, OPEN | OFlags::NONBLOCK, Mode::empty(), resolve) {
                    Ok(file) => return regular(file.into()),
                    Err(Errno::NOENT) => return Err(io::ErrorKind::NotFound.into()),
                    Err(_) => {}
                }
            }
            self.dir(dir)?.open(name)
        }

        /// Creates a file for writing; fails if the name exists.
        pub(in crate::store) fn create(&self, name: &str) -> io::Result<File> {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?))
        }

        /// Sets the modification time of a file that was opened from this directory; only its owner may.
        pub(in crate::store) fn touch(&self, _: &str, file: &File, time: SystemTime) -> io::Result<()> {
            file.set_modified(time)
        }

        /// Moves a file; replaces the file, or the link itself, that has the new name.
        pub(in crate::store) fn rename(&self, name: &str, to: &Dir, new: &str) -> io::Result<()> {
            Ok(rustix::fs::renameat(&self.0, name, &to.0, new)?)
        }

        /// Removes a file, or a link itself.
        pub(in crate::store) fn remove(&self, name: &str) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
        }

        pub(in crate::store) fn meta(&self, name: &str) -> io::Result<EntryMeta> {
            Ok(meta(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
        }

        /// Lists the entries of this directory. Names that are not UTF-8 are not cache files, so they are converted lossily.
        pub(in crate::store) fn list(&self) -> io::Result<Vec<(String, EntryKind)>> {
            let mut entries = Vec::new();
            for entry in rustix::fs::Dir::read_from(&self.0)? {
                let entry = entry?;
                let kind = match entry.file_type() {
                    // Some file systems do not report the type.
                    FileType::Unknown => {
                        match rustix::fs::statat(&self.0, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                            Ok(stat) => meta(&stat).kind,
                            Err(_) => EntryKind::Other,
                        }
                    }
                    known => kind(known),
                };
                let name = entry.file_name().to_string_lossy();
                if !matches!(&*name, "." | "..") {
                    entries.push((name.into_owned(), kind));
                }
            }
            Ok(entries)
        }
    }

    fn regular(file: File) -> io::Result<File> {
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
    }

    fn kind(kind: FileType) -> EntryKind {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Dir,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        }
    }

    // The types of these fields differ between platforms.
    #[allow(clippy::unnecessary_cast)]
    fn meta(stat: &Stat) -> EntryMeta {
        let since =
            Duration::new(u64::try_from(stat.st_mtime as i64).unwrap_or(0), stat.st_mtime_nsec as u32);
        EntryMeta {
            kind: kind(FileType::from_raw_mode(stat.st_mode as _)),
            len: stat.st_size as u64,
            modified: SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(dead_code, reason = "compared with the Unix implementation by a test"))]
mod portable {
    use super::*;
    use crate::file_in_use;
    use std::fs;
    use std::path::PathBuf;

    /// The path of a directory, which was a directory when it was checked.
    pub(in crate::store) struct Dir(PathBuf);

    impl Dir {
        pub(in crate::store) fn root(path: &Path) -> io::Result<Dir> {
            fs::read_dir(path)?;
            Ok(Dir(path.to_owned()))
        }

        pub(in crate::store) fn dir(&self, name: &str) -> io::Result<Dir> {
            match self.meta(name)?.kind {
                EntryKind::Dir => Ok(Dir(self.0.join(name))),
                _ => Err(io::ErrorKind::NotADirectory.into()),
            }
        }

        pub(in crate::store) fn make_dir(&self, name: &str) -> io::Result<Dir> {
            match fs::create_dir(self.0.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => self.dir(name),
            }
        }

        pub(in crate::store) fn open(&self, name: &str) -> io::Result<File> {
            match self.meta(name)?.kind {
                EntryKind::File => File::open(self.0.join(name)),
                _ => Err(not_regular()),
            }
        }

        pub(in crate::store) fn open_in(&self, dir: &str, name: &str) -> io::Result<File> {
            self.dir(dir)?.open(name)
        }

        pub(in crate::store) fn create(&self, name: &str) -> io::Result<File> {
            File::options().read(true).write(true).create_new(true).open(self.0.join(name))
        }

        pub(in crate::store) fn touch(&self, name: &str, _: &File, time: SystemTime) -> io::Result<()> {
            match self.meta(name)?.kind {
                EntryKind::File => File::options().write(true).open(self.0.join(name))?.set_modified(time),
                _ => Err(not_regular()),
            }
        }

        pub(in crate::store) fn rename(&self, name: &str, to: &Dir, new: &str) -> io::Result<()> {
            file_in_use::rename(&self.0.join(name), &to.0.join(new))
        }

        pub(in crate::store) fn remove(&self, name: &str) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        pub(in crate::store) fn meta(&self, name: &str) -> io::Result<EntryMeta> {
            let meta = fs::symlink_metadata(self.0.join(name))?;
            Ok(EntryMeta { kind: kind(meta.file_type()), len: meta.len(), modified: meta.modified()? })
        }

        pub(in crate::store) fn list(&self) -> io::Result<Vec<(String, EntryKind)>> {
            let entries = fs::read_dir(&self.0)?.map(|entry| {
                let entry = entry?;
                Ok((entry.file_name().to_string_lossy().into_owned(), kind(entry.file_type()?)))
            });
            entries.collect()
        }
    }

    fn kind(kind: fs::FileType) -> EntryKind {
        match kind {
            kind if kind.is_symlink() => EntryKind::Link,
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_dir() => EntryKind::Dir,
            _ => EntryKind::Other,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    macro_rules! follows_no_link {
        ($name:ident, $dir:ty) => {
            #[test]
            fn $name() {
                let (temp, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
                fs::write(victim.path().join("file"), "precious").unwrap();
                symlink(victim.path(), temp.path().join("dir")).unwrap();
                symlink(victim.path().join("file"), temp.path().join("file")).unwrap();
                symlink(victim.path().join("absent"), temp.path().join("dangling")).unwrap();
                let root = <$dir>::root(temp.path()).unwrap();
                assert!(root.dir("dir").is_err() && root.make_dir("dir").is_err());
                assert!(root.open("file").is_err() && root.open("dir").is_err());
                assert!(root.open_in("dir", "file").is_err() && root.open_in("absent", "file").is_err());
                assert!(root.create("file").is_err() && root.create("dangling").is_err());
                for name in ["dir", "file", "dangling"] {
                    assert_eq!(root.meta(name).unwrap().kind, EntryKind::Link, "{name}");
                }
                root.create("new").unwrap().write_all(b"new").unwrap();
                root.rename("new", &root, "file").unwrap();
                assert_eq!(root.meta("file").unwrap().kind, EntryKind::File);
                root.remove("dir").unwrap();
                let sub = root.make_dir("sub").unwrap();
                sub.create("a").unwrap();
                symlink("a", temp.path().join("sub/link")).unwrap();
                assert!(root.open_in("sub", "a").is_ok());
                assert!(["link", "."].iter().all(|name| root.open_in("sub", name).is_err()));
                assert_eq!(root.open_in("sub", "b").unwrap_err().kind(), io::ErrorKind::NotFound);
                assert!(root.make_dir("sub").is_ok() && sub.create("a").is_err());
                let mut names = root.list().unwrap();
                names.sort_by(|a, b| a.0.cmp(&b.0));
                let expected =
                    [("dangling", EntryKind::Link), ("file", EntryKind::File), ("sub", EntryKind::Dir)];
                assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
                assert_eq!(fs::read(victim.path().join("file")).unwrap(), b"precious");
                assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 1);
                // The root itself may be a link.
                let link = temp.path().join("link");
                symlink(victim.path(), &link).unwrap();
                assert!(<$dir>::root(&link).unwrap().open("file").is_ok());
            }
        };
    }

    follows_no_link!(unix_follows_no_link, unix::Dir);
    follows_no_link!(portable_follows_no_link, portable::Dir);
}
