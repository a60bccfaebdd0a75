//! Trees of files: put there, looked at, compared, removed.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Files by path, with their bytes.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Writes a file, and its directories.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).unwrap();
    }
    fs::write(path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Makes files what they should be; those that are right already stay untouched, those of `old` that are not wanted go.
pub fn put(dir: &Path, old: &Files, wanted: &Files) {
    for path in old.keys().filter(|path| !wanted.contains_key(*path)) {
        let _ = fs::remove_file(dir.join(path));
    }
    for (path, bytes) in wanted {
        let full = dir.join(path);
        if fs::read(&full).ok().as_ref() != Some(bytes) {
            write(&full, bytes);
        }
    }
}

/// Every file below a directory; what is neither file nor directory has its kind in place of bytes.
pub fn tree(dir: &Path) -> Files {
    let mut files = Files::new();
    collect(dir, "", &mut files);
    files
}

fn collect(dir: &Path, prefix: &str, files: &mut Files) {
    let Ok(listing) = fs::read_dir(dir) else { return };
    for entry in listing.flatten() {
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            files.insert(path, fs::read(entry.path()).unwrap_or_default());
        } else {
            files.insert(path, format!("{kind:?}").into_bytes());
        }
    }
}

/// The paths in which two trees differ.
pub fn differences(there: &Files, wanted: &Files) -> Vec<String> {
    let mut paths: Vec<&String> = there.keys().chain(wanted.keys()).collect();
    paths.sort();
    paths.dedup();
    let paths = paths.into_iter().filter(|path| there.get(*path) != wanted.get(*path));
    paths
        .map(|path| {
            let len =
                |files: &Files| files.get(path).map_or("none".to_owned(), |bytes| bytes.len().to_string());
            format!("{path} ({} bytes, wanted {})", len(there), len(wanted))
        })
        .collect()
}

/// Removes a tree, whatever its permissions say.
pub fn remove(dir: &Path) {
    if fs::remove_dir_all(dir).is_err() {
        open_up(dir);
        // It also gets rid of trees that are deeper than there are descriptors.
        let removed = std::process::Command::new("rm").arg("-rf").arg(dir).output().unwrap();
        assert!(removed.status.success(), "{removed:?}");
    }
}

fn open_up(dir: &Path) {
    let _ = fs::set_permissions(dir, Permissions::from_mode(0o755));
    let Ok(listing) = fs::read_dir(dir) else { return };
    for entry in listing.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
