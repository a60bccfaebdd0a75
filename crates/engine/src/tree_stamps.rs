//! The recorded names and stamps of a tree on disk, compared with it without listing its directories.
//!
//! A directory with an unchanged stamp has the same names, so it is not listed again; every file is still compared by its own
//! stamp, because an edit in place does not change the directory. The comparison allocates nothing for a file. Files are
//! stamped relative to their directory, because resolving an absolute path for every file would cost more than the rest.
//!
//! A tree is recorded only if every later change shows in a stamp: on Linux and a local file system that stamps directories,
//! not if a stamp is so recent that a second change could have the same one, not if a file is a symbolic link, whose target
//! changes without a trace, and not if a part of the tree could not be read.

use crate::Real;
use crate::fs::{Stamp, Tree};
use crate::inputs::racy_until;
use crate::record::put_stamp;
use crate::wire::Writer;
use std::collections::HashMap;
#[cfg(target_os = "linux")]
use {crate::RelPath, crate::record::get_stamp, crate::wire::Reader, rayon::prelude::*, std::ffi::CStr};

/// Most files of one section: the unit of parallel comparison.
const SECTION_FILES: usize = 256;

/// Serialises the names and stamps of a tree that was walked from the time `walked_ns` on, without the file `except`. Returns
/// `None` if a later change might not show.
pub fn record(tree: &Tree, walked_ns: i64, except: &str) -> Option<Vec<u8>> {
    let is_settled = |stamp: Stamp| racy_until(stamp) < walked_ns;
    if tree.directories().is_empty() || !tree.problems.is_empty() {
        return None;
    }
    let mut by_directory: HashMap<&str, Vec<(&str, Stamp)>> = HashMap::new();
    for (path, stamp) in tree.files().filter(|(path, _)| path.as_str() != except) {
        let (dir, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        by_directory.entry(dir).or_default().push((name, stamp));
        if !is_settled(stamp) {
            return None;
        }
    }
    let mut all = Writer::new();
    for (dir, stamp) in tree.directories() {
        if !is_settled(*stamp) {
            return None;
        }
        let files = by_directory.remove(dir.as_str()).unwrap_or_default();
        // A directory without files has one section, too, with its stamp.
        for start in (0..files.len().max(1)).step_by(SECTION_FILES) {
            let files = &files[start..files.len().min(start + SECTION_FILES)];
            let mut section = Writer::new();
            section.text(dir);
            put_stamp(&mut section, *stamp);
            for (name, stamp) in files {
                // Terminated, so that it can be passed to the system as it is.
                section.count(name.len() + 1);
                section.raw(name.as_bytes());
                section.u8(0);
                put_stamp(&mut section, *stamp);
            }
            all.bytes(&section.finish());
        }
    }
    by_directory.is_empty().then(|| all.finish())
}

/// Returns whether the tree below a root is the one that was recorded. Runs in the current thread pool.
#[cfg(target_os = "linux")]
pub fn is_unchanged(root: &Real, recorded: &[u8]) -> bool {
    let mut sections = Vec::new();
    let mut r = Reader::new(recorded);
    while !r.is_empty() {
        let Some(section) = r.bytes() else { return false };
        sections.push(section);
    }
    let Ok(root) = linux::Directory::root(root.root()) else { return false };
    !sections.is_empty() && sections.par_iter().all(|section| compare(&root, section) == Some(true))
}

/// Returns false: no tree is recorded on this platform.
#[cfg(not(target_os = "linux"))]
pub fn is_unchanged(_: &Real, _: &[u8]) -> bool {
    false
}

/// Compares a section with the disk; `None` if it is invalid or something does not exist.
#[cfg(target_os = "linux")]
fn compare(root: &linux::Directory, section: &[u8]) -> Option<bool> {
    let mut r = Reader::new(section);
    let path = r.text()?;
    let dir = match path {
        "" => root.open(".").ok()?,
        path => root.open(RelPath::check(path).ok().map(|()| path)?).ok()?,
    };
    if dir.own_stamp()? != get_stamp(&mut r)? {
        return Some(false);
    }
    while !r.is_empty() {
        let name = CStr::from_bytes_with_nul(r.bytes()?).ok()?;
        let stamp = get_stamp(&mut r)?;
        if name.to_bytes().contains(&b'/') || dir.stamp(name)? != stamp {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    /// An open directory, by descriptor.
    pub(super) struct Directory(OwnedFd);

    const OPEN: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    impl Directory {
        pub(super) fn root(path: &Path) -> io::Result<Directory> {
            Ok(Directory(rustix::fs::open(path, OPEN, Mode::empty())?))
        }

        pub(super) fn open(&self, path: &str) -> io::Result<Directory> {
            Ok(Directory(rustix::fs::openat(&self.0, path, OPEN, Mode::empty())?))
        }

        pub(super) fn own_stamp(&self) -> Option<Stamp> {
            Some(stamp(&rustix::fs::fstat(&self.0).ok()?))
        }

        /// Returns the stamp of a regular file.
        pub(super) fn stamp(&self, name: &CStr) -> Option<Stamp> {
            let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| stamp(&stat))
        }
    }

    // These fields are narrower on other architectures.
    #[allow(clippy::unnecessary_cast)]
    fn stamp(stat: &Stat) -> Stamp {
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        Stamp {
            mtime_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            len: stat.st_size as u64,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::Fs;
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    /// Waits until no stamp is racy. The change time cannot be set.
    fn settle() {
        std::thread::sleep(Duration::from_millis(45));
    }

    fn recorded(root: &Path) -> Option<Vec<u8>> {
        let real = Real::open(root).unwrap();
        let walked_ns = real.now_ns();
        record(&real.walk(Some("boundary")).unwrap(), walked_ns, "journal")
    }

    /// A tree with a file in its root, a deep one, an empty directory and the output of another build.
    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for path in ["a/b/deep.txt", "a.txt", "journal", "other/boundary", "other/x.txt"] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), path).unwrap();
        }
        fs::create_dir(dir.path().join("empty")).unwrap();
        settle();
        dir
    }

    #[test]
    fn every_change_of_a_tree_shows() {
        type Edit = fn(&Path);
        let edits: &[(&str, bool, Edit)] = &[
            ("nothing", true, |_| ()),
            ("the excepted file", true, |root| fs::write(root.join("journal"), "other").unwrap()),
            ("inside another output", true, |root| fs::write(root.join("other/x.txt"), "other").unwrap()),
            ("content", false, |root| fs::write(root.join("a/b/deep.txt"), "A/b/deep.txt").unwrap()),
            ("length", false, |root| fs::write(root.join("a.txt"), "").unwrap()),
            ("restored time", false, |root| {
                let time = fs::metadata(root.join("a.txt")).unwrap().modified().unwrap();
                fs::write(root.join("a.txt"), "b.txt").unwrap();
                fs::File::options().write(true).open(root.join("a.txt")).unwrap().set_modified(time).unwrap();
            }),
            ("touched", false, |root| {
                let file = fs::File::options().write(true).open(root.join("a.txt")).unwrap();
                file.set_modified(SystemTime::now()).unwrap();
            }),
            ("new file", false, |root| fs::write(root.join("empty/new"), "").unwrap()),
            ("new directory", false, |root| fs::create_dir(root.join("a/b/c")).unwrap()),
            ("removed file", false, |root| fs::remove_file(root.join("a/b/deep.txt")).unwrap()),
            ("removed directory", false, |root| fs::remove_dir(root.join("empty")).unwrap()),
            ("renamed directory", false, |root| fs::rename(root.join("a/b"), root.join("a/c")).unwrap()),
            ("no other output", false, |root| fs::remove_file(root.join("other/boundary")).unwrap()),
            ("a file became a link", false, |root| {
                fs::rename(root.join("a.txt"), root.join("empty/moved")).unwrap();
                std::os::unix::fs::symlink("empty/moved", root.join("a.txt")).unwrap();
            }),
            ("a directory became a link", false, |root| {
                fs::rename(root.join("a"), root.join("moved")).unwrap();
                std::os::unix::fs::symlink("moved", root.join("a")).unwrap();
            }),
        ];
        for (what, unchanged, edit) in edits {
            let dir = tree();
            let bytes = recorded(dir.path()).unwrap();
            edit(dir.path());
            assert_eq!(is_unchanged(&Real::open(dir.path()).unwrap(), &bytes), *unchanged, "{what}");
        }
    }

    #[test]
    fn trees_whose_changes_might_not_show_are_not_recorded() {
        let recent = tree();
        fs::write(recent.path().join("empty/new"), "").unwrap();
        assert_eq!(recorded(recent.path()), None, "a recent file and directory");
        fs::remove_file(recent.path().join("empty/new")).unwrap();
        assert_eq!(recorded(recent.path()), None, "a recent directory");
        settle();
        assert!(recorded(recent.path()).is_some());
        std::os::unix::fs::symlink("a.txt", recent.path().join("link")).unwrap();
        settle();
        assert_eq!(recorded(recent.path()), None, "a link");
        fs::remove_file(recent.path().join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", recent.path().join("dangling")).unwrap();
        settle();
        assert_eq!(recorded(recent.path()), None, "a problem");
        let mem = crate::mem::Mem::new();
        mem.put("a", "");
        assert_eq!(record(&mem.walk(None).unwrap(), i64::MAX - 1, ""), None, "no directories");
    }

    #[test]
    fn invalid_bytes_are_a_change() {
        let dir = tree();
        let (bytes, real) = (recorded(dir.path()).unwrap(), Real::open(dir.path()).unwrap());
        assert!(is_unchanged(&real, &bytes));
        // A prefix of whole sections is the recording of fewer directories.
        let (mut ends, mut end) = (Vec::new(), 0);
        while end < bytes.len() {
            end += 4 + Reader::new(&bytes[end..]).bytes().unwrap().len();
            ends.push(end);
        }
        for end in 0..bytes.len() {
            assert_eq!(is_unchanged(&real, &bytes[..end]), ends.contains(&end), "{end}");
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(!is_unchanged(&real, &flipped), "{at}");
        }
    }

    #[test]
    fn large_directories_have_several_sections() {
        let dir = tempfile::tempdir().unwrap();
        (0..600).for_each(|n| fs::write(dir.path().join(n.to_string()), "").unwrap());
        settle();
        let bytes = recorded(dir.path()).unwrap();
        let real = Real::open(dir.path()).unwrap();
        assert!(is_unchanged(&real, &bytes));
        fs::write(dir.path().join("599"), "x").unwrap();
        assert!(!is_unchanged(&real, &bytes));
    }

    /// The walk and the comparison read metadata by different calls.
    #[test]
    fn stamps_are_those_of_the_walk() {
        let dir = tree();
        let walked = Real::open(dir.path()).unwrap().walk(None).unwrap();
        let root = linux::Directory::root(dir.path()).unwrap();
        for (path, stamp) in walked.directories().iter().filter(|(path, _)| !path.is_empty()) {
            assert_eq!(root.open(path).unwrap().own_stamp(), Some(*stamp), "{path}");
        }
        assert_eq!(root.stamp(c"a.txt"), walked.stamp("a.txt"));
        assert_eq!((root.stamp(c"a"), root.stamp(c"none")), (None, None));
    }
}
