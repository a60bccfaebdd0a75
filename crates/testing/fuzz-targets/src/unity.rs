//! Targets with a small Unity project on disk that contains the input.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use crate::projects::{Shared, write};
use crate::{checksums, split_input};
use tempfile::TempDir;
use unity_assetdb::bake::{BakeError, BakeOptions, Extra, Report, bake_with};
use unity_assetdb::index::{Index, IndexError};
use unity_assetdb::query::broken::broken;
use unity_assetdb::query::check::check;
use unity_assetdb::query::graph::why;
use unity_assetdb::query::packages::packages;
use unity_assetdb::query::suggest::suggest;
use unity_assetdb::query::unused::{UnusedOptions, unused};

const META: &str = "fileFormatVersion: 2\nguid: 0123456789abcdef0123456789abcdef\n";
const OTHER_META: &str = "fileFormatVersion: 2\nguid: fedcba9876543210fedcba9876543210\n";

fn bake(root: &Path) -> Result<Report, BakeError> {
    let options = BakeOptions {
        project_root: root.to_owned(),
        out_dir: out_dir(root),
        name_sanitizer: None,
        on_warn: None,
        on_progress: None,
        verbose_timing: false,
        verbose_collisions: false,
    };
    bake_with(&options, &Extra::default().jobs(1))
}

fn out_dir(root: &Path) -> PathBuf {
    root.join("Library/db")
}

/// Writes a project with this asset.
fn unity(root: &Path, asset: &[u8], meta: &[u8]) {
    write(root.join("ProjectSettings/ProjectVersion.txt"), b"m_EditorVersion: 2022.3.1f1\n");
    write(root.join("Assets/a.prefab"), asset);
    write(root.join("Assets/a.prefab.meta"), meta);
    write(root.join("Assets/b.asset"), b"%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: b\n");
    write(root.join("Assets/b.asset.meta"), OTHER_META.as_bytes());
}

/// Bakes a Unity project with this YAML asset, and the `.meta` file after a line of `%%`, if any.
pub(crate) fn unity_yaml(bytes: &[u8]) {
    static PROJECT: Shared<TempDir> = OnceLock::new();
    let project = PROJECT.get_or_init(|| Mutex::new(TempDir::new().expect("a temporary directory")));
    let project = project.lock().unwrap_or_else(|broken| broken.into_inner());
    let (asset, meta) = split_input(bytes);
    unity(project.path(), asset, meta.unwrap_or(META.as_bytes()));
    let _ = black_box(bake(project.path()));
    let _ = black_box(walk_index(project.path()));
}

/// A baked project, and the files that the bake wrote.
struct Baked {
    dir: TempDir,
    db: Vec<u8>,
    state: Vec<u8>,
}

impl Baked {
    /// Bakes a project with at least one record of every kind in its state file.
    fn new() -> Baked {
        let dir = TempDir::new().expect("a temporary directory");
        let root = dir.path();
        let asset = "%YAML 1.1\n--- !u!1 &1\nGameObject:\n  m_Name: a\n--- !u!114 &2\nMonoBehaviour:\n  \
            m_Script: {fileID: 11500000, guid: 00112233445566778899aabbccddeeff, type: 3}\n  \
            other: {fileID: 11400000, guid: fedcba9876543210fedcba9876543210, type: 2}\n";
        unity(root, asset.as_bytes(), META.as_bytes());
        let script = "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: c\n  \
            m_Script: {fileID: 11500000, guid: 00112233445566778899aabbccddeeff, type: 3}\n";
        write(root.join("Assets/in/c.asset"), script.as_bytes());
        write(root.join("Assets/in/c.asset.meta"), b"guid: 11111111111111111111111111111111\n");
        write(root.join("Assets/in/a.png"), b"");
        let sprites = "guid: 22222222222222222222222222222222\nTextureImporter:\n  textureType: 8\n  \
            spriteMode: 2\n  spriteSheet:\n    sprites:\n    - name: a\n      internalID: 5\n    \
            - name: b\n      internalID: 6\n";
        write(root.join("Assets/in/a.png.meta"), sprites.as_bytes());
        write(root.join("Assets/in.meta"), b"guid: 33333333333333333333333333333333\nfolderAsset: yes\n");
        write(root.join("Assets/bad.txt"), b"");
        write(root.join("Assets/bad.txt.meta"), b"guid: none\n");
        let settings = b"%YAML 1.1\n--- !u!129 &1\nPlayerSettings:\n  productName: a\n";
        write(root.join("ProjectSettings/ProjectSettings.asset"), settings);
        // A file that is younger than the timestamp granularity has no stamp.
        std::thread::sleep(Duration::from_millis(60));
        bake(root).expect("a valid project");
        let read = |path| fs::read(path).expect("the bake wrote it");
        let db = read(unity_assetdb::store::db_path(&out_dir(root)));
        let state = read(unity_assetdb::store::cache_path(&out_dir(root)));
        Baked { db, state, dir }
    }
}

fn baked() -> MutexGuard<'static, Baked> {
    static PROJECT: Shared<Baked> = OnceLock::new();
    let project = PROJECT.get_or_init(|| Mutex::new(Baked::new()));
    project.lock().unwrap_or_else(|broken| broken.into_inner())
}

/// Passes a valid state file and its database to a function.
#[cfg(test)]
pub(crate) fn with_good_state(then: impl FnOnce(&[u8], &[u8])) {
    let Baked { db, state, .. } = &*baked();
    then(state, db);
}

/// Opens and bakes with a forged state file: a whole one, or a patch of a valid one; unchanged, and with recomputed
/// checksums. Its records count where no file has changed since; a file that a bake writes has to be valid.
pub(crate) fn asset_db_cache(bytes: &[u8]) {
    let Baked { dir, db, state } = &*baked();
    let bytes = if bytes.starts_with(b"KILNUADB") { bytes.to_vec() } else { changed(state, bytes) };
    let root = dir.path();
    for state in [&bytes, &checksums::state(&bytes, db)] {
        write(unity_assetdb::store::db_path(&out_dir(root)), db);
        write(unity_assetdb::store::cache_path(&out_dir(root)), state);
        let _ = black_box(walk_index(root));
        if bake(root).is_ok_and(|report| report.wrote) {
            walk_index(root).expect("just baked");
            stays_inside(root).expect("just baked");
        }
    }
}

/// Asserts that no path of the index leaves the project, whatever the previous state contained.
fn stays_inside(root: &Path) -> Result<(), IndexError> {
    Index::open(&out_dir(root))?.files().try_for_each(|file| {
        let file = file?;
        assert!(file.folder.split('/').all(|part| part != ".."), "{}", file.folder);
        Ok(())
    })
}

/// Applies patches to bytes: offset, length and content of each.
fn changed(bytes: &[u8], mut changes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while let [low, high, len, rest @ ..] = changes {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len();
        let len = (usize::from(*len) % 17).min(rest.len()).min(bytes.len() - at);
        bytes[at..at + len].copy_from_slice(&rest[..len]);
        changes = &rest[len..];
    }
    bytes
}

/// Runs every query on an index.
fn walk_index(root: &Path) -> Result<(), IndexError> {
    let index = Index::open(&out_dir(root))?;
    for entry in index.entries() {
        let entry = entry?;
        black_box((
            entry.type_name()?,
            index.find_by_name(entry.name()?)?,
            index.find_by_hint(&entry.hint()?)?,
        ));
        black_box((index.find_by_guid(entry.guid())?, index.uses(entry.guid())?, entry.references()?));
        for sub in entry.subs()? {
            black_box(index.resolve(entry.guid(), sub.file_id)?);
        }
        black_box(index.resolve(entry.guid(), 11_400_000)?);
    }
    for found in index.named_like("", |_| true)? {
        black_box(why(&index, root, found.entry(), false)?);
    }
    for each in index.types()? {
        index.of_type(each)?.try_for_each(|object| object.map(drop))?;
    }
    black_box((index.named_like("a", |name| name.len() < 9)?, index.assets_below("Assets")?));
    index.targets().try_for_each(|target| target.map(drop))?;
    index.files().try_for_each(|file| file.map(drop))?;
    black_box((index.warnings()?, index.note()?));
    black_box((unused(&index, root, UnusedOptions::default())?, suggest(&index, "a")?, check(&index, root)?));
    black_box(broken(&index, root, &packages(root, &index))?);
    Ok(())
}
