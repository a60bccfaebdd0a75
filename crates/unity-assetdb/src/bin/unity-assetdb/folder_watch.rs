//! Watches the folders of a project, so that a server knows without a walk that its index is up to date.
//!
//! Linux only: inotify queues an event before the system call that caused it returns. A read that does not block therefore
//! sees every change before it. Other systems deliver events later, and servers on them refresh at each request.

#[cfg(target_os = "linux")]
pub(super) use linux::FolderWatch;
#[cfg(not(target_os = "linux"))]
pub(super) use unavailable::FolderWatch;

#[cfg(target_os = "linux")]
mod linux {
    use ::unity_assetdb::index::Index;
    use rustix::fd::OwnedFd;
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;
    use std::collections::HashSet;
    use std::mem::MaybeUninit;
    use std::path::{Path, PathBuf};

    /// The file systems whose changes all pass through this kernel: btrfs, ext, f2fs, overlayfs, tmpfs, XFS, ZFS, bcachefs.
    /// On a network share, or in a virtual machine on a folder of its host, changes of others have no event.
    const LOCAL: [u32; 8] =
        [0x9123_683E, 0xEF53, 0xF2F5_2010, 0x794C_7630, 0x0102_1994, 0x5846_5342, 0x2FC1_2FC1, 0xCA45_1A4E];

    /// The folders of a project that are walked.
    const ROOTS: [&[u8]; 3] = [b"Assets", b"Packages", b"ProjectSettings"];

    /// Watches on all folders of a project.
    pub(crate) struct FolderWatch {
        root: PathBuf,
        inotify: OwnedFd,
        /// The watch of the project itself, in which only the names of [`ROOTS`] matter.
        root_watch: i32,
        watches: HashSet<i32>,
    }

    impl FolderWatch {
        /// Creates a watch of a project, without its folders; `None` if events of its file system are not reliable.
        pub(crate) fn new(root: &Path) -> Option<FolderWatch> {
            let file_system = rustix::fs::statfs(root).ok()?;
            if !LOCAL.contains(&(file_system.f_type as u32)) {
                return None;
            }
            let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let root_watch = inotify::add_watch(&inotify, root, mask()).ok()?;
            Some(FolderWatch { root: root.to_owned(), inotify, root_watch, watches: HashSet::new() })
        }

        /// Returns whether this is the watch of a project.
        pub(crate) fn is_of(&self, root: &Path) -> bool {
            self.root == root
        }

        /// Watches all folders of an index. Returns whether some of them were not watched before, so that changes in them may
        /// have been missed; `None` if they cannot be watched, for example because a file is a link to one elsewhere.
        pub(crate) fn add_folders(&mut self, index: &Index) -> Option<bool> {
            if index.has_links().ok()? {
                return None;
            }
            let mut any = false;
            for folder in index.folders() {
                let path = self.root.join(folder.ok()?);
                match inotify::add_watch(&self.inotify, &path, mask()) {
                    Ok(watch) => any |= self.watches.insert(watch),
                    // Removed after the refresh: there is an event.
                    Err(Errno::NOENT) => any = true,
                    Err(_) => return None,
                }
            }
            Some(any)
        }

        /// Returns whether a file or folder changed since the last call.
        pub(crate) fn changed(&mut self) -> bool {
            let mut buffer = [MaybeUninit::uninit(); 16 << 10];
            let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
            let mut changed = false;
            loop {
                match events.next() {
                    Ok(event) if event.events().contains(ReadFlags::IGNORED) => {
                        self.watches.remove(&event.wd());
                    }
                    Ok(event) if event.wd() == self.root_watch => {
                        let name = event.file_name().map(std::ffi::CStr::to_bytes);
                        changed |= name.is_none_or(|name| ROOTS.contains(&name));
                    }
                    Ok(_) => changed = true,
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return changed,
                    Err(_) => return true,
                }
            }
        }
    }

    /// The events that a change causes. A write through a memory map has none but the last of them.
    fn mask() -> WatchFlags {
        WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
    }
}

#[cfg(not(target_os = "linux"))]
mod unavailable {
    use ::unity_assetdb::index::Index;
    use std::path::Path;

    /// Watches on all folders of a project, which this platform does not have.
    pub(crate) enum FolderWatch {}

    impl FolderWatch {
        pub(crate) fn new(_: &Path) -> Option<FolderWatch> {
            None
        }

        pub(crate) fn is_of(&self, _: &Path) -> bool {
            match *self {}
        }

        pub(crate) fn add_folders(&mut self, _: &Index) -> Option<bool> {
            match *self {}
        }

        pub(crate) fn changed(&mut self) -> bool {
            match *self {}
        }
    }
}
