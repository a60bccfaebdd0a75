//! Incremental bakes: changed files are detected, unchanged ones are not read.

use crate::project::{Project, guid, named, number, subs};
use std::fs;
use std::time::SystemTime;
use unity_assetdb::index::{Index, IndexError};

fn times(project: &Project) -> [SystemTime; 2] {
    ["asset-db.bin", "asset-db.cache.bin"]
        .map(|name| fs::metadata(project.out().join(name)).unwrap().modified().unwrap())
}

fn sample() -> Project {
    let project = Project::new();
    project.object("Assets/A.asset", 1, 50).asset("Assets/B.png", 2, "TextureImporter:\n", "").asset(
        "Assets/D/C.txt",
        3,
        "",
        "",
    );
    project.write("Assets/D.meta", format!("guid: {}\nfolderAsset: yes\n", guid(4)));
    project.write("ProjectSettings/TagManager.asset", "%YAML 1.1\n");
    project.write("ProjectSettings/Packages/com.x/Settings.json", "{}");
    project.rest();
    project
}

#[test]
fn unchanged_project_writes_nothing() {
    let project = sample();
    let cold = project.bake();
    assert!(cold.wrote);
    assert_eq!((cold.walked, cold.parsed, cold.hit), (4, 4, 0));
    let before = times(&project);
    for _ in 0..2 {
        project.rest();
        let warm = project.bake();
        assert!(!warm.wrote);
        assert_eq!((warm.walked, warm.parsed, warm.hit, warm.entries), (4, 0, 4, cold.entries));
        assert_eq!(times(&project), before);
    }
}

#[test]
fn detects_an_edit_of_the_asset_alone() {
    let project = sample();
    project.bake();
    let text = fs::read_to_string(project.root().join("Assets/A.asset")).unwrap();
    // The new content has the same length.
    project.write("Assets/A.asset", text.replace(&guid(50), &guid(51)));
    let report = project.bake();
    assert_eq!(report.parsed, 1);
    assert_eq!(project.db().script_types, [number(51)]);
}

#[test]
fn detects_an_edit_with_restored_mtime() {
    let project = sample();
    project.bake();
    let path = project.root().join("Assets/A.asset");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&guid(50), &guid(51))).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    project.bake();
    assert_eq!(project.db().script_types, [number(51)]);
}

#[test]
fn detects_an_edit_within_a_clock_tick() {
    for n in 60..90u128 {
        let project = Project::new();
        project.object("Assets/A.asset", 1, 50);
        project.bake();
        project.object("Assets/A.asset", 1, n);
        project.bake();
        assert_eq!(project.db().script_types, [number(n)]);
    }
}

#[test]
fn touched_file_keeps_the_database() {
    let project = sample();
    project.bake();
    let before = times(&project);
    project.rest();
    let file = fs::File::options().write(true).open(project.root().join("Assets/A.asset")).unwrap();
    file.set_modified(SystemTime::now()).unwrap();
    project.rest();
    project.bake();
    assert_eq!(times(&project)[0], before[0]);
    assert_eq!(project.bake().parsed, 0, "the state has the new timestamp");
}

#[test]
fn removes_a_deleted_asset_whose_meta_remains() {
    let project = sample();
    project.bake();
    fs::remove_file(project.root().join("Assets/B.png")).unwrap();
    project.bake();
    let db = project.db();
    assert_eq!(db.entries.len(), 2);
    assert!(db.find_by_guid(number(2)).is_none());
    fs::remove_dir_all(project.root().join("Assets/D")).unwrap();
    project.bake();
    assert_eq!(project.db().entries.len(), 1);
    assert!(!project.bake().wrote);
}

#[test]
fn detects_moved_and_new_files() {
    let project = sample();
    project.bake();
    fs::rename(project.root().join("Assets/B.png"), project.root().join("Assets/D/E.png")).unwrap();
    fs::rename(project.root().join("Assets/B.png.meta"), project.root().join("Assets/D/E.png.meta")).unwrap();
    project.asset("Assets/New/N.txt", 9, "", "");
    let report = project.bake();
    assert_eq!(report.parsed, 2);
    let db = project.db();
    assert_eq!(&*db.find_by_guid(number(2)).unwrap().hint, "Assets/D/E.png");
    assert_eq!(&*named(&db, "Assets/New/N.txt").name, "N");
}

#[test]
fn incremental_bake_equals_clean_bake() {
    let mut project = sample();
    project.bake();
    project.asset("Assets/D/A.asset", 8, "", "").object("Assets/D/Q.asset", 9, 44);
    project.write(
        "Assets/B.png.meta",
        format!("guid: {}\nTextureImporter:\n  spriteMode: 1\n  textureType: 8\n", guid(2)),
    );
    project.bake();
    let warm = fs::read(project.out().join("asset-db.bin")).unwrap();
    project.extra.no_cache = true;
    project.bake();
    assert_eq!(fs::read(project.out().join("asset-db.bin")).unwrap(), warm);
    assert_eq!(subs(named(&project.db(), "Assets/B.png")), [("B", 213, 21_300_000)]);
}

#[test]
fn detects_a_changed_sanitizer_or_option() {
    let mut project = Project::new();
    project.asset("Assets/a#b.txt", 1, "", "").rest();
    project.bake();
    let name = |project: &Project| project.db().entries[0].name.to_string();
    assert_eq!(name(&project), "a#b");
    project.scrub = Some("#");
    assert!(project.bake().wrote);
    assert_eq!(name(&project), "a_b");
    let messages = project.messages();
    let before = times(&project);
    assert!(!project.bake().wrote);
    assert_eq!(project.messages(), messages, "an incremental bake repeats the warnings of a clean one");
    assert_eq!(times(&project), before);
    project.scrub = Some("b");
    project.bake();
    assert_eq!(name(&project), "a#_");
    project.scrub = None;
    project.bake();
    assert_eq!(name(&project), "a#b");
    project.extra.strict_names = true;
    assert!(project.bake().wrote);
}

#[test]
fn repeats_warnings_until_fixed() {
    let project = sample();
    project.write("Assets/bad.txt", "").write("Assets/bad.txt.meta", "guid: 123\n");
    project.write("Assets/D/bad.txt", "").write("Assets/D/bad.txt.meta", "");
    project.rest();
    let cold: Vec<String> = project.bake().warnings.iter().map(ToString::to_string).collect();
    assert_eq!(cold.len(), 2, "{cold:?}");
    let warm = project.bake();
    assert!(!warm.wrote);
    assert_eq!(warm.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), cold);
    // A change to another file of the folder keeps them.
    project.asset("Assets/new.txt", 70, "", "");
    assert_eq!(project.bake().warnings.len(), 2);
    fs::remove_file(project.root().join("Assets/bad.txt.meta")).unwrap();
    assert_eq!(project.bake().warnings.len(), 1);
}

#[test]
fn rebuilds_damaged_foreign_and_torn_files() {
    let project = sample();
    project.bake();
    let good = fs::read(project.out().join("asset-db.bin")).unwrap();
    let state = project.out().join("asset-db.cache.bin");
    let whole = fs::read(&state).unwrap();
    let mut cases: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"UADCACHE\x06\x00".to_vec(),
        whole[..whole.len() - 1].to_vec(),
        whole[..600].to_vec(),
    ];
    for at in (0..whole.len()).step_by(97) {
        let mut bad = whole.clone();
        bad[at] ^= 0x10;
        cases.push(bad);
    }
    for bad in cases {
        fs::write(&state, &bad).unwrap();
        // A lookup fails, or does not read the damaged page; it never returns a wrong answer.
        match Index::open(&project.out())
            .and_then(|index| Ok(index.find_by_guid(number(2))?.map(|e| e.hint())))
        {
            Ok(Some(hint)) => assert_eq!(hint.ok().unwrap_or_else(|| "Assets/B.png".into()), "Assets/B.png"),
            Ok(None) => panic!("lost"),
            Err(error) => assert!(matches!(error, IndexError::Unusable(_)), "{error}"),
        }
        let report = project.bake();
        assert_eq!(report.entries, 3);
        assert_eq!(fs::read(project.out().join("asset-db.bin")).unwrap(), good);
        assert!(project.messages().iter().any(|line| line.contains("everything is read again")));
    }
    // A database of another bake beside the state.
    fs::write(project.out().join("asset-db.bin"), b"UADBIN__\x06\x00\x00").unwrap();
    assert!(matches!(Index::open(&project.out()), Err(IndexError::Torn)));
    project.bake();
    assert_eq!(fs::read(project.out().join("asset-db.bin")).unwrap(), good);
    fs::remove_file(project.out().join("asset-db.bin")).unwrap();
    project.bake();
    assert_eq!(fs::read(project.out().join("asset-db.bin")).unwrap(), good);
    // Copies have other timestamps and still belong together.
    let copy = tempfile::tempdir().unwrap();
    for name in ["asset-db.bin", "asset-db.cache.bin"] {
        fs::copy(project.out().join(name), copy.path().join(name)).unwrap();
    }
    assert_eq!(
        Index::open(copy.path()).unwrap().find_by_guid(number(2)).unwrap().unwrap().name().unwrap(),
        "B"
    );
}

#[test]
fn detects_a_damaged_database_by_checksum() {
    let project = sample();
    project.bake();
    let db = project.out().join("asset-db.bin");
    let good = fs::read(&db).unwrap();
    let time = fs::metadata(&db).unwrap().modified().unwrap();
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(&db, bad).unwrap();
    fs::File::options().write(true).open(&db).unwrap().set_modified(time).unwrap();
    assert!(project.bake().wrote);
    assert_eq!(fs::read(&db).unwrap(), good);
}

#[test]
fn finds_every_guid() {
    let project = Project::new();
    // Clustered at one end, as random GUIDs never are, and evenly distributed ones.
    let guids =
        (1..=400u128).chain((1..400u128).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)));
    let guids: Vec<u128> = guids.collect();
    for (n, guid) in guids.iter().enumerate() {
        project.write(&format!("Assets/a{n}.txt"), "");
        project.write(&format!("Assets/a{n}.txt.meta"), format!("guid: {guid:032x}\n"));
    }
    project.bake();
    let index = Index::open(&project.out()).unwrap();
    for (n, guid) in guids.iter().enumerate() {
        assert_eq!(index.find_by_guid(*guid).unwrap().unwrap().name().unwrap(), format!("a{n}"));
        assert!(index.find_by_guid(guid + 401).unwrap().is_none());
    }
    assert!(index.find_by_guid(0).unwrap().is_none() && index.find_by_guid(u128::MAX).unwrap().is_none());
}

#[test]
fn concurrent_bakes_leave_complete_files() {
    let project = sample();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..10u128 {
                    project.object("Assets/A.asset", 1, 50 + n % 2);
                    project.try_bake().unwrap();
                    match Index::open(&project.out()) {
                        // The reader was between the two renames of another bake.
                        Err(IndexError::Torn) => {}
                        index => assert!(index.unwrap().find_by_guid(number(2)).unwrap().is_some()),
                    }
                }
            });
        }
    });
    project.bake();
    assert_eq!(project.db().entries.len(), 3);
    let left: Vec<_> = fs::read_dir(project.out()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn temporary_files_of_a_killed_bake_are_removed() {
    let project = sample();
    fs::create_dir_all(project.out()).unwrap();
    let before = || fs::read_dir(project.out()).unwrap().count();
    let temporary = kiln_engine::Real::named(&project.out(), "asset-db").unwrap().temporary_file().unwrap();
    std::mem::forget(temporary);
    assert_eq!(before(), 1);
    project.bake();
    assert_eq!(before(), 3, "the database, the state and the lock");
}
