//! The sections of the state that searches use, against a pass over all assets.

use crate::project::Project;
use unity_assetdb::index::{Entry, Index, Resolved};
use unity_assetdb::query::suggest::suggest;
use unity_assetdb::store::AssetType;

/// Writes an asset; there are more of them than [`Project::asset`] has GUIDs for.
fn asset(project: &Project, path: &str, n: u128, body: &str, text: &str) {
    project.write(path, text);
    project.write(&format!("{path}.meta"), format!("fileFormatVersion: 2\nguid: {}\n{body}", guid(n)));
}

fn guid(n: u128) -> String {
    format!("{:032x}", n * 0x0123_4567_89ab_cdef_0011_2233_4455)
}

/// A project with contested names, names beyond ASCII, sprites, scripts and nested folders.
fn sample() -> Project {
    let project = Project::new();
    let sheet = "TextureImporter:\n  spriteMode: 2\n  textureType: 8\n  spriteSheet:\n    sprites:\n    - name: Ölfass_0\n      internalID: 7\n    - name: \"two\\nlines\"\n      internalID: 8\n";
    asset(&project, "Assets/UI/Straße.png", 1, sheet, "");
    asset(&project, "Assets/UI/İstanbul.png", 2, "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n", "");
    for (n, folder) in (10..).zip(["Assets/A", "Assets/A/B", "Assets/A-x", "Assets/A/B/C", "Assets/AB"]) {
        asset(&project, &format!("{folder}/Shared.png"), n, "TextureImporter:\n", "");
        let text = format!(
            "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: x\n",
            guid(200 + n % 2)
        );
        asset(
            &project,
            &format!("{folder}/Data{n}.asset"),
            n + 100,
            "NativeFormatImporter:\n  mainObjectFileID: 0\n",
            &text,
        );
        let meta = format!("fileFormatVersion: 2\nguid: {}\nfolderAsset: yes\n", guid(n + 300));
        project.write(&format!("{folder}.meta"), meta);
    }
    asset(&project, "Assets/Item.cs", 200, "MonoImporter:\n", "");
    // More than one block of names.
    for n in 0..150 {
        asset(&project, &format!("Assets/Many/Name{n}.txt"), 1000 + n, "", "");
    }
    project.write("ProjectSettings/TagManager.asset", "%YAML 1.1\n");
    project.bake();
    project
}

fn all(index: &Index) -> Vec<Entry<'_>> {
    index.entries().map(|entry| entry.unwrap()).collect()
}

fn shown(found: &[Resolved<'_>]) -> Vec<(String, String)> {
    let row = |each: &Resolved<'_>| (each.entry().hint().unwrap(), each.name().unwrap().to_owned());
    found.iter().map(row).collect()
}

#[test]
fn search_by_name_finds_what_a_pass_over_all_names_finds() {
    let project = sample();
    let index = project.index();
    let assets = all(&index).into_iter().filter(|entry| !entry.is_settings());
    let mut names: Vec<Resolved<'_>> = assets.map(Resolved::Asset).collect();
    for entry in all(&index) {
        names.extend(entry.subs().unwrap().into_iter().map(|sub| Resolved::Sub(entry, sub)));
    }
    let mut patterns: Vec<String> =
        ["", "a", "shared^", "ß", "i̇", "name1", "\n", "absent", "\u{ff}"].map(str::to_owned).into();
    patterns.extend(names.iter().map(|each| each.name().unwrap().to_lowercase()));
    for pattern in &patterns {
        let has = |each: &&Resolved<'_>| each.name().unwrap().to_lowercase().contains(pattern);
        let expected: Vec<Resolved<'_>> = names.iter().filter(has).copied().collect();
        let found = index.named_like(pattern, |_| true).unwrap();
        assert_eq!(shown(&found), shown(&expected), "{pattern:?}");
        let is = |each: &&Resolved<'_>| each.name().unwrap().to_lowercase() == *pattern;
        let expected: Vec<Resolved<'_>> = names.iter().filter(is).copied().collect();
        let found = index.named_like(pattern, |name| name == pattern).unwrap();
        assert_eq!(shown(&found), shown(&expected), "{pattern:?}");
    }
    assert_eq!(suggest(&index, "Nam7").unwrap()[0], "Name7");
}

#[test]
fn search_by_type_finds_what_a_pass_over_all_assets_finds() {
    let project = sample();
    let index = project.index();
    let listed: Vec<Entry<'_>> = all(&index).into_iter().filter(Entry::is_listed).collect();
    let (mut types, mut count) = (index.types().unwrap(), 0);
    types.push(AssetType::Native(74));
    for wanted in types {
        let is = |entry: &&Entry<'_>| entry.asset_type() == wanted;
        let mut expected: Vec<Resolved<'_>> =
            listed.iter().filter(is).map(|entry| Resolved::Asset(*entry)).collect();
        for entry in &listed {
            let subs = entry.subs().unwrap().into_iter();
            let subs = subs.filter(|sub| AssetType::Native(sub.class_id) == wanted);
            expected.extend(subs.map(|sub| Resolved::Sub(*entry, sub)));
        }
        let found: Vec<Resolved<'_>> = index.of_type(wanted).unwrap().map(|each| each.unwrap()).collect();
        assert_eq!(shown(&found), shown(&expected), "{wanted:?}");
        count += found.len();
        if let Some(script) = index.script_of_type(wanted).unwrap() {
            assert_eq!(index.script_type(script).unwrap(), Some(wanted));
        }
    }
    let subs: usize = listed.iter().map(|entry| entry.subs().unwrap().len()).sum();
    assert_eq!(count, listed.len() + subs, "every listed object has one type");
    assert_eq!(index.script_type(12345).unwrap(), None);
}

#[test]
fn folder_contains_what_a_pass_over_all_paths_finds() {
    let project = sample();
    let index = project.index();
    for folder in [
        "Assets",
        "Assets/A",
        "Assets/A/B",
        "Assets/A-x",
        "Assets/UI",
        "Assets/None",
        "Assets/Many",
        "Packages",
        "",
    ] {
        let below = format!("{folder}/");
        let inside = |entry: &&Entry<'_>| entry.hint().unwrap().starts_with(&below) && !entry.is_folder();
        let expected: Vec<String> =
            all(&index).iter().filter(inside).map(|entry| entry.hint().unwrap()).collect();
        let found: Vec<String> =
            index.assets_below(folder).unwrap().iter().map(|entry| entry.hint().unwrap()).collect();
        assert_eq!(found, expected, "{folder}");
    }
}

#[test]
fn uses_of_many_assets_are_the_uses_of_each() {
    let project = sample();
    // One asset that refers to several, and several that refer to one.
    let mut text = String::from("%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: x\n");
    for (n, file_id) in [(10, 2_800_000), (1, 7), (1, 8), (1149, 4_900_000), (7777, 1), (10, 5)] {
        text += &format!("  - {{fileID: {file_id}, guid: {}, type: 3}}\n", guid(n));
    }
    for n in 0..3 {
        asset(&project, &format!("Assets/Z/Refers{n}.asset"), 5000 + n, "NativeFormatImporter:\n", &text);
    }
    project.bake();
    let index = project.index();
    let assets = all(&index);
    let mut expected = Vec::new();
    for target in assets.iter().filter(|entry| !entry.is_settings()) {
        for (source, reference) in index.uses(target.guid()).unwrap() {
            expected.push((
                source.hint().unwrap(),
                reference.line,
                reference.file_id,
                target.hint().unwrap(),
            ));
        }
    }
    expected.sort();
    // Five references of each new asset to assets that exist, and three scripts.
    assert_eq!(expected.len(), 3 * 5 + 3, "{expected:?}");
    for assets in [assets.clone(), assets.iter().rev().copied().collect()] {
        let found = index.uses_of_any(&assets).unwrap();
        let sources: Vec<String> = found.iter().map(|each| each.source.hint().unwrap()).collect();
        let order = |hint: &String| assets_order(&index, hint);
        assert!(sources.is_sorted_by_key(order), "{sources:?}");
        let row = |each: &unity_assetdb::index::Use<'_>| {
            let (source, target) = (each.source.hint().unwrap(), each.target.hint().unwrap());
            (source, each.reference.line, each.reference.file_id, target)
        };
        let mut found: Vec<_> = found.iter().map(row).collect();
        found.sort();
        assert_eq!(found, expected);
    }
    assert!(index.uses_of_any(&[]).unwrap().is_empty());
}

/// Returns the position of an asset among all.
fn assets_order(index: &Index, hint: &str) -> Option<usize> {
    all(index).iter().position(|entry| entry.hint().unwrap() == hint)
}
