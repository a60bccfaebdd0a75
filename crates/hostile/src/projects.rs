//! What takes more than one file, or a directory: small projects on disk, with the attacked file in them.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use pak::bake::Bake;
use tempfile::TempDir;
use unity_assetdb::bake::{BakeOptions, Extra, bake_with};
use unity_assetdb::index::Index;

/// A project that is made once; one attack at a time uses it.
type Shared = OnceLock<Mutex<TempDir>>;

const META: &str = "fileFormatVersion: 2\nguid: 0123456789abcdef0123456789abcdef\n";
const OTHER_META: &str = "fileFormatVersion: 2\nguid: fedcba9876543210fedcba9876543210\n";

fn write(path: PathBuf, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("a writable folder");
    fs::write(path, bytes).expect("a writable folder");
}

fn unity(root: &Path, asset: &[u8], meta: &[u8]) {
    write(root.join("ProjectSettings/ProjectVersion.txt"), b"m_EditorVersion: 2022.3.1f1\n");
    write(root.join("Assets/a.prefab"), asset);
    write(root.join("Assets/a.prefab.meta"), meta);
    write(root.join("Assets/b.asset"), b"%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: b\n");
    write(root.join("Assets/b.asset.meta"), OTHER_META.as_bytes());
    let options = BakeOptions {
        project_root: root.to_owned(),
        out_dir: root.join("Library/db"),
        name_sanitizer: None,
        on_warn: None,
        on_progress: None,
        verbose_timing: false,
        verbose_collisions: false,
    };
    let extra = Extra { jobs: Some(1), ..Extra::default() };
    let _ = black_box(bake_with(&options, &extra));
}

/// An asset of a Unity project as YAML; after a line of `%%` its `.meta`, if it is not the usual one.
pub(crate) fn unity_yaml(bytes: &[u8]) {
    static PROJECT: Shared = OnceLock::new();
    let project = PROJECT.get_or_init(|| Mutex::new(TempDir::new().expect("a temporary folder")));
    let project = project.lock().unwrap_or_else(|broken| broken.into_inner());
    let at = bytes.windows(4).position(|four| four == b"\n%%\n");
    let (asset, meta) = at.map_or((bytes, META.as_bytes()), |at| (&bytes[..at], &bytes[at + 4..]));
    unity(project.path(), asset, meta);
    walk_index(&project.path().join("Library/db"));
}

/// The second file of a Unity database, beside a first one that fits it.
pub(crate) fn asset_db_cache(bytes: &[u8]) {
    static PROJECT: Shared = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let dir = TempDir::new().expect("a temporary folder");
        unity(dir.path(), b"%YAML 1.1\n--- !u!1 &1\nGameObject:\n  m_Name: a\n", META.as_bytes());
        Mutex::new(dir)
    });
    let project = project.lock().unwrap_or_else(|broken| broken.into_inner());
    let out_dir = project.path().join("Library/db");
    fs::write(unity_assetdb::store::cache_path(&out_dir), bytes).expect("a writable folder");
    walk_index(&out_dir);
}

fn walk_index(out_dir: &Path) {
    let Ok(index) = Index::open(out_dir) else { return };
    for entry in index.entries().flatten() {
        let guid = entry.guid();
        black_box((entry.type_name().is_ok(), index.find_by_guid(guid).is_ok(), index.uses(guid).is_ok()));
        black_box(index.resolve(guid, 11_400_000).is_ok());
    }
    black_box((
        index.targets().count(),
        index.files().count(),
        index.warnings().is_ok(),
        index.note().is_ok(),
    ));
    black_box(index.find_by_name("a").is_ok());
}

/// A description of an asset of a pak: the file decides what kind it is.
pub(crate) fn pak_toml(bytes: &[u8]) {
    static PROJECT: Shared = OnceLock::new();
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
