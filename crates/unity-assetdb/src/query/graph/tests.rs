//! Compares [`why`] with a search that walks paths, on random projects.

use super::*;
use crate::bake::{BakeOptions, bake};
use std::fs;

/// The shortest chain as paths and lines, the plain way: a queue of assets, each with the assets that refer to it by path.
fn plain_why(index: &Index, root: &Path, asset: Entry<'_>, all_scenes: bool) -> Option<Vec<(String, u32)>> {
    let roots = Roots::new(root, all_scenes);
    let mut seen = HashSet::from([asset.hint().unwrap()]);
    let mut queue = vec![(asset, asset.hint().unwrap(), 0, usize::MAX)];
    let mut at = 0;
    while at < queue.len() {
        let (entry, hint, ..) = queue[at].clone();
        if roots.kind(&entry, &hint).is_some() {
            let (mut chain, mut next) = (Vec::new(), at);
            while let Some((_, hint, line, after)) = queue.get(next) {
                chain.push((hint.clone(), *line));
                next = *after;
            }
            return Some(chain);
        }
        let mut before = Vec::new();
        for (source, reference) in index.uses(entry.guid()).unwrap() {
            let hint = source.hint().unwrap();
            if !roots.is_disabled(&hint, &reference) {
                before.push((hint, reference.line, source));
            }
        }
        for (end, _) in hint.match_indices('/') {
            if let Some(folder) = index.find_by_hint(&hint[..end]).unwrap() {
                let uses = index.uses(folder.guid()).unwrap();
                before.extend(uses.into_iter().map(|(source, _)| (source.hint().unwrap(), 0, source)));
            }
        }
        before.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        for (hint, line, source) in before {
            if seen.insert(hint.clone()) {
                queue.push((source, hint, line, at));
            }
        }
        at += 1;
    }
    None
}

/// A generator of small numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn guid(n: u64) -> String {
    format!("{:032x}", (u128::from(n) + 1) * 0x0101_0101_0101_0101_0101_0101_0101_0101)
}

/// Writes a project of assets in nested folders that refer to each other, to folders, and from settings.
fn project(seed: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let write = |path: &str, text: String| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let folders = ["A", "A/B", "A/B/Resources", "A-x", "A/C", "A/B/D"];
    for (n, folder) in folders.iter().enumerate() {
        let meta = format!("fileFormatVersion: 2\nguid: {}\nfolderAsset: yes\n", guid(100 + n as u64));
        write(&format!("Assets/{folder}.meta"), meta);
    }
    let reference = |random: &mut Random| match random.below(12) {
        0 => guid(100 + random.below(folders.len() as u64)),
        _ => guid(random.below(30)),
    };
    for n in 0..30 {
        let folder = folders[random.below(folders.len() as u64) as usize];
        let ext =
            ["mat", "mat", "prefab", "unity", "mat", "mat", "cs", "inputactions"][random.below(8) as usize];
        let mut text = "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n".to_owned();
        for _ in 0..random.below(4) {
            text += &format!("  a: {{fileID: 1, guid: {}, type: 3}}\n", reference(&mut random));
        }
        let wrapper = random.below(2);
        let meta =
            format!("fileFormatVersion: 2\nguid: {}\nImporter:\n  generateWrapperCode: {wrapper}\n", guid(n));
        write(&format!("Assets/{folder}/x{n}.{ext}"), text);
        write(&format!("Assets/{folder}/x{n}.{ext}.meta"), meta);
    }
    let mut scenes = "  m_Scenes:\n".to_owned();
    for _ in 0..3 {
        let enabled = random.below(2);
        scenes += &format!("  - enabled: {enabled}\n    path: x\n    guid: {}\n", guid(random.below(30)));
    }
    write("ProjectSettings/EditorBuildSettings.asset", scenes);
    let quality = format!("  m_Pipeline: {{fileID: 11400000, guid: {}, type: 2}}\n", reference(&mut random));
    write("ProjectSettings/QualitySettings.asset", quality);
    dir
}

#[test]
fn finds_the_chain_that_a_search_by_paths_finds() {
    let (mut reached, mut unreached) = (0, 0);
    for seed in 0..24 {
        let dir = project(seed);
        let out_dir = dir.path().join("Library");
        bake(&BakeOptions {
            project_root: dir.path().to_owned(),
            out_dir: out_dir.clone(),
            name_sanitizer: None,
            on_warn: None,
            on_progress: None,
            verbose_timing: false,
            verbose_collisions: false,
        })
        .unwrap();
        let index = Index::open(&out_dir).unwrap();
        for entry in index.entries() {
            let entry = entry.unwrap();
            for all_scenes in [false, true] {
                let expected = plain_why(&index, dir.path(), entry, all_scenes);
                let found = why(&index, dir.path(), entry, all_scenes).unwrap();
                let shown = |steps: &Vec<Step<'_>>| -> Vec<(String, u32)> {
                    steps.iter().map(|step| (step.hint.clone(), step.line)).collect()
                };
                assert_eq!(found.as_ref().map(shown), expected, "{seed} {}", entry.hint().unwrap());
                assert!(found.iter().all(|steps| steps[0].root.is_some()));
                *if found.is_some() { &mut reached } else { &mut unreached } += 1;
            }
        }
    }
    assert!(reached > 100 && unreached > 100, "{reached} {unreached}");
}
