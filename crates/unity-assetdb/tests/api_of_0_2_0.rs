//! Code written for version 0.2.0 of the original: the signatures of its rustdoc, as far as `docs/reference/differences.md`
//! lists no deviation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use unity_assetdb::class_id::{ClassId, class_from_ext};
use unity_assetdb::store::{self, AssetDb, AssetEntry, AssetType, StoreError, SubAsset};
use unity_assetdb::walk::{WalkError, resolve_project_root, walk_meta_files};

#[test]
fn signatures_are_those_of_0_2_0() {
    let _: fn(&AssetDb, u32) -> u128 = AssetDb::script_guid;
    let _: fn(&mut AssetDb, u128) -> u32 = AssetDb::intern_script;
    let _: fn(&AssetDb) -> Result<Vec<u8>, StoreError> = store::encode;
    let _: fn(&[u8]) -> Result<AssetDb, StoreError> = store::decode;
    let _: fn(&Path) -> Result<AssetDb, StoreError> = store::read;
    let _: fn(&Path, &AssetDb) -> Result<(), StoreError> = store::write;
    let _: fn(&Path) -> PathBuf = store::db_path;
    let _: fn(&Path) -> PathBuf = store::cache_path;
    let _: [u8; 8] = store::MAGIC;
    let _: u16 = store::SCHEMA_VERSION;
    let _: fn(ClassId) -> AssetType = AssetType::native;
    let _: fn(u32) -> Option<ClassId> = ClassId::from_raw;
    let _: fn(&str) -> Option<ClassId> = class_from_ext;
    let _: fn(Option<&Path>) -> Result<PathBuf, WalkError> = resolve_project_root;
}

#[test]
fn databases_round_trip_through_the_api_of_0_2_0() {
    let mut db = AssetDb::new();
    let script = db.intern_script(0xb);
    let sub = SubAsset { file_id: 21_300_000, class_id: 213, name: "Flag".into() };
    db.entries.push(AssetEntry {
        guid: 2,
        asset_type: AssetType::Script(script),
        name: "A".into(),
        sub_assets: vec![sub],
        hint: "Assets/A.asset".into(),
    });
    let other = db.intern_script(0xa);
    assert_eq!((db.script_guid(other), db.entries[0].asset_type), (0xa, AssetType::Script(1)));
    db.sort();
    let again = store::decode(&store::encode(&db).unwrap()).unwrap();
    assert_eq!(again, db);
    assert_eq!(again.find_by_guid(2).map(|entry| &*entry.name), Some("A"));
}

#[test]
fn walks_every_meta_file_once() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        "Assets/a.png.meta",
        "Assets/Deep/b.cs.meta",
        "Packages/p/c.cs.meta",
        "Assets/Samples~/no.cs.meta",
        "Library/no.cs.meta",
        "Assets/a.png",
        "Assets/.x.meta",
    ] {
        fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        fs::write(dir.path().join(path), "").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("..", dir.path().join("Assets/Deep/loop")).unwrap();
    let found: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    walk_meta_files(dir.path(), || {
        let found = found.clone();
        move |path: &Path| found.lock().unwrap().push(path.to_owned())
    })
    .unwrap();
    let mut found: Vec<String> = found
        .lock()
        .unwrap()
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, ["a.png.meta", "b.cs.meta", "c.cs.meta"]);
    assert!(matches!(
        walk_meta_files(&dir.path().join("Library"), || |_: &Path| {}),
        Err(WalkError::NotAProject(_))
    ));
}
