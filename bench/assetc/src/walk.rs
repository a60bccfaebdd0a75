//! The floor: list every directory, stat every file, in parallel, and remember nothing but a sum.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of all files below a directory.
pub fn walk(root: &Path) -> u64 {
    let total = AtomicU64::new(0);
    rayon::scope(|scope| visit(scope, root.to_owned(), &total));
    total.into_inner()
}

fn visit<'s>(scope: &rayon::Scope<'s>, dir: PathBuf, total: &'s AtomicU64) {
    let Ok(listing) = fs::read_dir(&dir) else { return };
    let mut sum = 0;
    for entry in listing.flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            let path = entry.path();
            scope.spawn(move |scope| visit(scope, path, total));
        } else {
            sum += meta.len();
        }
    }
    total.fetch_add(sum, Ordering::Relaxed);
}

/// Copies a tree, in parallel: the least that turning it into another one costs.
pub fn copy(from: &Path, to: &Path) {
    rayon::scope(|scope| copy_below(scope, from.to_owned(), to.to_owned()));
}

fn copy_below(scope: &rayon::Scope<'_>, from: PathBuf, to: PathBuf) {
    fs::create_dir_all(&to).expect("a folder");
    for entry in fs::read_dir(&from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            scope.spawn(move |scope| copy_below(scope, from, to));
        } else {
            fs::copy(from, to).expect("room for a file");
        }
    }
}
