//! What takes more than one file, or a directory: small projects on disk, with the attacked file in them.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use pak::bake::Bake;
use tempfile::TempDir;

/// A project that is made once; one attack at a time uses it.
pub(crate) type Shared<T> = OnceLock<Mutex<T>>;

pub(crate) fn write(path: PathBuf, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("a writable folder");
    fs::write(path, bytes).expect("a writable folder");
}

/// A description of an asset of a pak: the file decides what kind it is.
pub(crate) fn pak_toml(bytes: &[u8]) {
    static PROJECT: Shared<TempDir> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let dir = TempDir::new().expect("a temporary folder");
        write(dir.path().join("b.bin"), b"some bytes");
        Mutex::new(dir)
    });
    let project = project.lock().unwrap_or_else(|broken| broken.into_inner());
    let content = project.path().join("content.toml");
    write(content.clone(), bytes);
    let _ = black_box(Bake::new(&content, project.path().join("a.pak")).jobs(1).run());
    // Once more as what another description refers to.
    write(project.path().join("asset.toml"), bytes);
    write(content.clone(), b"[content]\n[[content.group]]\nassets = [\"asset.toml\"]\n");
    let _ = black_box(Bake::new(&content, project.path().join("a.pak")).jobs(1).run());
}
