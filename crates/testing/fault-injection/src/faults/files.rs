//! File trees: writing, reading, comparing and removing them.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Files by relative path, with their content.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Writes a file, and creates its parent directories.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).unwrap();
    }
    fs::write(path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Updates files to the expected content: unchanged files are not touched, files of `old` that are not expected are
/// removed.
pub fn put(dir: &Path, old: &Files, expected: &Files) {
    for path in old.keys().filter(|path| !expected.contains_key(*path)) {
        let _ = fs::remove_file(dir.join(path));
    }
    for (path, bytes) in expected {
        let full = dir.join(path);
        if fs::read(&full).ok().as_ref() != Some(bytes) {
            write(&full, bytes);
        }
    }
}

/// Returns every file below a directory. Anything else than a file or a directory has its file type as content.
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

/// Returns the paths in which two trees differ.
pub fn differences(found: &Files, expected: &Files) -> Vec<String> {
    let mut paths: Vec<&String> = found.keys().chain(expected.keys()).collect();
    paths.sort();
    paths.dedup();
    let paths = paths.into_iter().filter(|path| found.get(*path) != expected.get(*path));
    paths
        .map(|path| {
            let len =
                |files: &Files| files.get(path).map_or("none".to_owned(), |bytes| bytes.len().to_string());
            format!("{path} ({} bytes, expected {})", len(found), len(expected))
        })
        .collect()
}

/// Removes a tree, whatever its permissions.
pub fn remove(dir: &Path) {
    if fs::remove_dir_all(dir).is_err() {
        make_accessible(dir);
        // `rm` also removes trees that are deeper than the descriptor limit.
        let removed = std::process::Command::new("rm").arg("-rf").arg(dir).output().unwrap();
        assert!(removed.status.success(), "{removed:?}");
    }
}

fn make_accessible(dir: &Path) {
    let _ = fs::set_permissions(dir, Permissions::from_mode(0o755));
    let Ok(listing) = fs::read_dir(dir) else { return };
    for entry in listing.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_accessible(&entry.path());
        }
    }
}
