//! Correctness of the database: types and sprites against a second, naive reading of the same files, and how many of a
//! project's own references can be named.

use crate::{bake_ours, bake_theirs, canonical};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use unity_assetdb::index::{Index, Resolved};
use unity_assetdb::query::inner::Inner;
use unity_assetdb::store::{AssetDb, AssetType};

/// Every `.meta` below a folder, the plain way.
fn metas(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.')
            || name.ends_with('~')
            || name.eq_ignore_ascii_case("cvs")
            || name.ends_with(".tmp")
        {
            continue;
        }
        match entry.path() {
            path if path.is_dir() => metas(&path, found),
            path if name.ends_with(".meta") => found.push(path),
            _ => {}
        }
    }
}

/// The value of the first line that starts with a key at this indentation.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

/// Findings of one project: the name of a row and its cell.
type Cells = Vec<(&'static str, String)>;

/// Judges projects and prints a table; what is wrong goes to the other stream.
pub fn judge(projects: &[&Path]) -> bool {
    let mut fine = true;
    let all: Vec<Cells> = projects.iter().map(|project| one(project, &mut fine)).collect();
    let heads =
        projects.iter().map(|p| format!(" {} |", p.file_name().unwrap_or_default().to_string_lossy()));
    println!("## unity-quality\n\n| |{}\n|---|{}", heads.collect::<String>(), "---|".repeat(projects.len()));
    for (row, (name, _)) in all.first().into_iter().flatten().enumerate() {
        let cells = all.iter().map(|cells| format!(" {} |", cells.get(row).map_or("", |cell| &cell.1)));
        println!("| {name} |{}", cells.collect::<String>());
    }
    fine
}

fn one(project: &Path, fine: &mut bool) -> Cells {
    let project = canonical(project);
    let out = tempfile::tempdir().expect("a folder");
    let report = bake_ours(&project, out.path(), None);
    let db = unity_assetdb::store::read(&out.path().join("asset-db.bin")).expect("a database");
    let mut found = Vec::new();
    for root in ["Assets", "Packages"] {
        metas(&project.join(root), &mut found);
    }
    let mut cells = vec![("assets", report.entries.to_string())];
    *fine &= types(&project, &found, &db, &mut cells);
    *fine &= sprites(&found, &db, &mut cells);
    *fine &= references(&project, out.path(), &mut cells) >= 0.95;
    cells
}

/// The type of every asset in YAML, from its documents split at `--- !u!`.
fn types(project: &Path, metas: &[PathBuf], db: &AssetDb, cells: &mut Cells) -> bool {
    let (mut right, mut wrong, mut missing) = (0, Vec::new(), Vec::new());
    for meta in metas {
        let text = String::from_utf8_lossy(&fs::read(meta).expect("a file")).into_owned();
        let Some(guid) = value(&text, "guid: ").and_then(unity_assetdb::guid::parse) else { continue };
        let asset = meta.with_extension("");
        if !asset.is_file() {
            continue;
        }
        let hint = asset.strip_prefix(project).expect("inside").to_string_lossy().into_owned();
        let Some(entry) = db.find_by_guid(guid) else {
            missing.push(hint);
            continue;
        };
        let ext = asset.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let content = fs::read(&asset).expect("a file");
        if !content.starts_with(b"%YAML") || ["prefab", "unity"].contains(&&*ext) {
            continue;
        }
        let content = String::from_utf8_lossy(&content).into_owned();
        let docs: Vec<&str> = content.split("\n--- !u!").skip(1).collect();
        let heads: Vec<(u32, i64, bool)> = docs
            .iter()
            .filter_map(|doc| {
                let head = doc.lines().next()?;
                let (class, rest) = head.split_once(" &")?;
                let id = rest.split(' ').next()?.trim().parse().ok()?;
                Some((class.parse().ok()?, id, rest.contains("stripped")))
            })
            .collect();
        let main =
            value(&text, "  mainObjectFileID: ").and_then(|id| id.parse::<i64>().ok()).filter(|id| *id != 0);
        let at = heads
            .iter()
            .position(|head| Some(head.1) == main)
            .or_else(|| heads.iter().position(|head| head.1 == i64::from(head.0) * 100_000))
            .or_else(|| heads.iter().position(|head| !head.2));
        let Some(at) = at else { continue };
        let script = docs[at].lines().find(|line| line.starts_with("  m_Script: ")).and_then(|line| {
            let digits = line.split("guid: ").nth(1)?.get(..32)?;
            unity_assetdb::guid::parse(digits)
        });
        let expected = match (heads[at].0, script) {
            (114, Some(script)) => Err(script),
            (class, _) => Ok(class),
        };
        let seen = match entry.asset_type {
            AssetType::Native(class) => Ok(class),
            script => Err(db.script_of(script).unwrap_or_default()),
        };
        if expected == seen { right += 1 } else { wrong.push((hint, expected, seen)) }
    }
    cells.push(("types of YAML assets right / wrong", format!("{right} / {}", wrong.len())));
    cells.push(("files without a row", missing.len().to_string()));
    wrong.iter().take(5).for_each(|each| eprintln!("    {each:?}"));
    missing.iter().take(5).for_each(|each| eprintln!("    no row: {each}"));
    wrong.is_empty() && missing.is_empty()
}

/// The sprites of every sheet, from its lines by exact indentation.
fn sprites(metas: &[PathBuf], db: &AssetDb, cells: &mut Cells) -> bool {
    let (mut right, mut wrong) = (0, 0);
    for meta in metas {
        let text = String::from_utf8_lossy(&fs::read(meta).expect("a file")).replace("\r\n", "\n");
        let Some(guid) = value(&text, "guid: ").and_then(unity_assetdb::guid::parse) else { continue };
        let Some(entry) = db.find_by_guid(guid).filter(|_| text.contains("\nTextureImporter:")) else {
            continue;
        };
        let has = |id: i64| entry.sub_assets.iter().any(|sub| sub.file_id == id && sub.class_id == 213);
        let mut judge = |id: i64| if has(id) { right += 1 } else { wrong += 1 };
        if value(&text, "  textureType: ") == Some("8") && value(&text, "  spriteMode: ") == Some("1") {
            judge(21_300_000);
        }
        let Some((_, list)) = text.split_once("\n    sprites:\n") else { continue };
        let list: String = list
            .lines()
            .take_while(|line| line.starts_with("    - ") || line.starts_with("      "))
            .map(|line| format!("{line}\n"))
            .collect();
        for item in list.split("    - ").skip(1) {
            let id = item
                .lines()
                .find_map(|line| line.strip_prefix("      internalID: "))
                .and_then(|id| id.parse().ok());
            if let Some(id) = id.filter(|id| *id != 0) {
                judge(id);
            }
        }
    }
    cells.push(("sprites right / wrong", format!("{right} / {wrong}")));
    wrong == 0
}

/// Counts the references to assets of the project that can be named.
fn references(project: &Path, out: &Path, cells: &mut Cells) -> f64 {
    let index = Index::open(out).expect("an index");
    let mut inner = Inner::new(&index, project);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut unnamed: HashMap<(String, i64), u64> = HashMap::new();
    let mut emptied = HashMap::new();
    for entry in index.entries() {
        for each in entry.expect("sound").references().expect("sound") {
            let n = u64::from(each.count);
            let kind = match index.resolve(each.guid, each.file_id).expect("sound") {
                None => "outside the project",
                Some(Resolved::Asset(_) | Resolved::Sub(..)) => "named",
                Some(Resolved::Inner(target)) => {
                    let hint = target.hint().expect("sound");
                    let empty = *emptied.entry(hint.clone()).or_insert_with(|| {
                        fs::metadata(project.join(&hint)).is_ok_and(|meta| meta.len() == 0)
                    });
                    let yaml = hint.ends_with(".prefab") || hint.ends_with(".unity");
                    let found = inner.find(each.guid, each.file_id).expect("sound");
                    match found {
                        Some(object) if !object.name.is_empty() => "inner objects, named",
                        Some(_) => "inner objects, known without a name",
                        None if yaml => {
                            *unnamed.entry((hint, each.file_id)).or_default() += n;
                            "inner objects, unknown"
                        }
                        None if empty => "into emptied files",
                        None => {
                            *unnamed.entry((hint, each.file_id)).or_default() += n;
                            "unnamed"
                        }
                    }
                }
            };
            *counts.entry(kind).or_default() += n;
        }
    }
    let get = |kind: &str| counts.get(kind).copied().unwrap_or(0) as f64;
    let share = get("named") / (get("named") + get("unnamed")).max(1.0);
    let inside =
        ["named", "known without a name", "unknown"].map(|kind| get(&format!("inner objects, {kind}")));
    cells.push((
        "references into the project that are named, inner objects and emptied files aside",
        format!("{:.1} %", share * 100.0),
    ));
    let inner_share = inside[0] / inside.iter().sum::<f64>().max(1.0);
    cells.push(("inner objects of prefabs and scenes named", format!("{:.1} %", inner_share * 100.0)));
    let mut unnamed: Vec<_> = unnamed.into_iter().collect();
    unnamed.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    unnamed.iter().take(8).for_each(|each| eprintln!("    {each:?}"));
    let theirs = tempfile::tempdir().expect("a folder");
    if bake_theirs(project, theirs.path()).is_ok() {
        let db = theirs::store::read(&theirs.path().join("asset-db.bin")).expect("a database");
        let (mut named, mut all) = (0u64, 0u64);
        for entry in index.entries() {
            for each in entry.expect("sound").references().expect("sound") {
                if index.find_by_guid(each.guid).expect("sound").is_none() {
                    continue;
                }
                all += u64::from(each.count);
                let known = db.find_by_guid(each.guid).is_some_and(|entry| {
                    let class = match entry.asset_type {
                        theirs::store::AssetType::Native(class) => class,
                        theirs::store::AssetType::Script(_) => 114,
                    };
                    let itself = each.file_id == 0 || each.file_id == i64::from(class) * 100_000;
                    itself || entry.sub_assets.iter().any(|sub| sub.file_id == each.file_id)
                });
                named += if known { u64::from(each.count) } else { 0 };
            }
        }
        let ours = (get("named") + get("inner objects, named")) / all as f64;
        cells.push((
            "all references into the project: 0.2.0 names",
            format!("{:.1} %", named as f64 / all as f64 * 100.0),
        ));
        cells.push(("all references into the project: ours names", format!("{:.1} %", ours * 100.0)));
    } else {
        cells.push(("all references into the project: 0.2.0 names", "it fails".to_owned()));
    }
    share
}

/// 0.2.0 reads our database and finds what we do.
pub fn interop(project: &Path) {
    let project = canonical(project);
    let out = tempfile::tempdir().expect("a folder");
    bake_ours(&project, out.path(), None);
    let path = out.path().join("asset-db.bin");
    let ours = unity_assetdb::store::read(&path).expect("a database");
    let read = theirs::store::read(&path).expect("0.2.0 reads it");
    assert_eq!(read.script_types, ours.script_types);
    assert_eq!(read.entries.len(), ours.entries.len());
    for entry in &ours.entries {
        let seen = read.find_by_guid(entry.guid).expect("0.2.0 finds it");
        assert_eq!((&*seen.name, &*seen.hint), (&*entry.name, &*entry.hint));
        let kind = match seen.asset_type {
            theirs::store::AssetType::Native(class) => AssetType::Native(class),
            theirs::store::AssetType::Script(index) => AssetType::Script(index),
        };
        assert_eq!(kind, entry.asset_type);
        let subs: Vec<_> =
            seen.sub_assets.iter().map(|sub| (sub.file_id, sub.class_id, &*sub.name)).collect();
        let expected: Vec<_> =
            entry.sub_assets.iter().map(|sub| (sub.file_id, sub.class_id, &*sub.name)).collect();
        assert_eq!(subs, expected);
    }
    // The documentation says what 0.2.0 does for an index beyond the table.
    let beyond = std::panic::catch_unwind(|| read.script_guid(u32::MAX));
    println!(
        "script_guid of an unknown index: 0.2.0 {}, ours {}",
        if beyond.is_err() { "panics" } else { "returns" },
        ours.script_guid(u32::MAX)
    );
    println!("{}: 0.2.0 reads our database and finds all {} entries", project.display(), ours.entries.len());
}
