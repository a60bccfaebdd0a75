//! Targets that need a directory: small projects on disk that contain the input.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use pak::bake::Bake;
use tempfile::TempDir;

/// A project that is created once and used by one input at a time.
pub(crate) type Shared<T> = OnceLock<Mutex<T>>;

pub(crate) fn write(path: PathBuf, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a parent directory")).expect("a writable directory");
    fs::write(path, bytes).expect("a writable directory");
}

/// Bakes an input as the content file, and as the description of an asset.
pub(crate) fn pak_toml(bytes: &[u8]) {
    static PROJECT: Shared<TempDir> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let dir = TempDir::new().expect("a temporary directory");
        write(dir.path().join("b.bin"), b"some bytes");
        Mutex::new(dir)
    });
    let project = project.lock().unwrap_or_else(|broken| broken.into_inner());
    let content = project.path().join("content.toml");
    write(content.clone(), bytes);
    let _ = black_box(Bake::new(&content, project.path().join("a.pak")).jobs(1).run());
    // Once more as a description that the content file lists.
    write(project.path().join("asset.toml"), bytes);
    write(content.clone(), b"[content]\n[[content.group]]\nassets = [\"asset.toml\"]\n");
    let _ = black_box(Bake::new(&content, project.path().join("a.pak")).jobs(1).run());
}
