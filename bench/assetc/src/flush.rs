//! The floor of a cold build of many small files: write files of the same names and sizes on all cores, then flush the file
//! system once.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Writes a copy of a tree whose files have the same sizes and other contents, and flushes it with one `syncfs`.
pub fn write(like: &Path, to: &Path) {
    let mut files = Vec::new();
    list(like, to, &mut files);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for part in files.chunks(files.len().div_ceil(threads).max(1)) {
            scope.spawn(move || {
                for (path, len) in part {
                    fs::write(path, vec![b'x'; *len as usize]).expect("room for a file");
                }
            });
        }
    });
    let root = File::open(to).expect("the folder was written");
    // SAFETY: the descriptor is open for the whole call, which writes to no memory of this program.
    assert_eq!(unsafe { libc::syncfs(root.as_raw_fd()) }, 0, "syncfs fails");
}

/// Creates the directories of a tree, and lists the paths and sizes of its files in the new one.
fn list(like: &Path, to: &Path, files: &mut Vec<(PathBuf, u64)>) {
    fs::create_dir_all(to).expect("folders can be made");
    for entry in fs::read_dir(like).expect("a folder").flatten() {
        let path = to.join(entry.file_name());
        match entry.metadata().expect("metadata") {
            meta if meta.is_dir() => list(&entry.path(), &path, files),
            meta => files.push((path, meta.len())),
        }
    }
}
