//! Random edits of `pak` and `unity-assetdb` projects with few, colliding file names. After every few edits an incremental
//! run has to give the output of a clean run, or fail where that fails and keep the old output.

use super::corruption::corrupt;
use super::files::{self, Files};
use super::sample::guid;
use super::tool::{self, Ran, Tools};
use crate::file_contents;
use crate::random::Random;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A tool, and the files that its projects consist of.
#[derive(Clone)]
pub struct Fixture {
    /// The name of the tool.
    pub name: &'static str,
    program: PathBuf,
    args: &'static [&'static str],
    /// The paths of files that are added and removed. There are few, so that they collide.
    pool: &'static [&'static str],
    /// The files that always exist.
    fixed: &'static [&'static str],
    content: fn(&mut Random, &str) -> Vec<u8>,
    output: &'static str,
    journal: &'static str,
}

const PAK_POOL: &[&str] = &[
    "art/a.txt",
    "art/A.txt",
    "art/b.txt",
    "art/p.png",
    "art/q.png",
    "art/sub",
    "art/sub/c.txt",
    "art/sub/p.png",
    "art/m.toml",
    "art/n.toml",
    "art/s.toml",
    "art/b.txt/d.txt",
];

const UNITY_POOL: &[&str] = &[
    "Assets/a.prefab",
    "Assets/a.prefab.meta",
    "Assets/A.prefab",
    "Assets/A.prefab.meta",
    "Assets/b.mat",
    "Assets/b.mat.meta",
    "Assets/sub",
    "Assets/sub.meta",
    "Assets/sub/b.mat",
    "Assets/sub/b.mat.meta",
    "Assets/sub/c.png",
    "Assets/sub/c.png.meta",
    "Assets/d.cs",
    "Assets/d.cs.meta",
    "Packages/x/e.mat",
    "Packages/x/e.mat.meta",
    "Assets/.hidden/f.mat.meta",
];

impl Fixture {
    /// Returns the fixtures of the two tools.
    pub fn all(tools: &Tools) -> [Fixture; 2] {
        let pak = Fixture {
            name: "pak",
            program: tools.pak.clone(),
            args: &["bake", "pak.toml", "out/a.pak"],
            pool: PAK_POOL,
            fixed: &["pak.toml"],
            content: pak_content,
            output: "out/a.pak",
            journal: "out/.a.pak.cache",
        };
        let unity = Fixture {
            name: "unity",
            program: tools.unity.clone(),
            args: &["bake"],
            pool: UNITY_POOL,
            fixed: &["ProjectSettings/ProjectVersion.txt", "Assets/z.txt"],
            content: unity_content,
            output: "Library/unity-assetdb/asset-db.bin",
            journal: "Library/unity-assetdb/asset-db.cache.bin",
        };
        [pak, unity]
    }

    fn run(&self, dir: &Path) -> Ran {
        tool::run(tool::command(&self.program, dir, self.args)).assert_no_crash()
    }

    /// Runs one sequence of random edits with `steps` runs.
    pub fn run_random_edits(&self, random: &mut Random, steps: usize, dir: &Path) {
        let (here, clean) = (dir.join("p"), dir.join("clean"));
        let mut log = Vec::new();
        for path in self.fixed.iter().chain(self.pool.iter().take(6)) {
            self.write(random, path, &here);
        }
        for _ in 0..steps {
            for _ in 0..1 + random.below(3) {
                log.push(self.edit(random, &here));
            }
            let before = fs::read(here.join(self.output)).ok();
            let ran = self.run(&here);
            files::put(&clean, &Files::new(), &self.sources(&here));
            for top in ["Assets", "Packages", "art"].map(Path::new) {
                make_directories(&here.join(top), &clean.join(top));
            }
            let fresh = self.run(&clean);
            let context = || format!("after\n  {}\n{ran:#?}\nclean run {fresh:#?}", log.join("\n  "));
            assert!(ran.code() == fresh.code(), "exit codes differ {}", context());
            let after = fs::read(here.join(self.output)).ok();
            let expected = if fresh.code() == 0 { fs::read(clean.join(self.output)).ok() } else { before };
            assert!(after == expected, "different output {}", context());
            files::remove(&clean);
            if ran.code() == 0 && random.one_in(4) {
                let stamp = || fs::metadata(here.join(self.output)).unwrap().modified().unwrap();
                let before = stamp();
                self.run(&here).expect(0);
                assert!(stamp() == before, "a second run rewrote the output {}", context());
            }
        }
    }

    fn sources(&self, dir: &Path) -> Files {
        let mut all = files::tree(dir);
        all.retain(|path, _| !path.starts_with("out/") && !path.starts_with("Library/"));
        all
    }

    /// Writes new content to a path, and removes whatever conflicts with it.
    fn write(&self, random: &mut Random, path: &str, dir: &Path) {
        let bytes = (self.content)(random, path);
        remove_conflicts(path, dir);
        files::write(&dir.join(path), bytes);
    }

    fn some(&self, random: &mut Random, dir: &Path) -> Option<String> {
        let existing: Vec<String> =
            self.sources(dir).into_keys().filter(|path| !self.fixed.contains(&path.as_str())).collect();
        (!existing.is_empty()).then(|| random.pick(&existing).clone())
    }

    /// Makes one random edit and returns its description.
    fn edit(&self, random: &mut Random, dir: &Path) -> String {
        let Some(path) = self.some(random, dir) else { return self.put(random, dir) };
        let full = dir.join(&path);
        match random.below(16) {
            0..=4 => self.put(random, dir),
            5 | 6 => {
                self.write(random, &path, dir);
                format!("modify {path}")
            }
            7 => {
                let before = fs::metadata(&full).unwrap().modified().unwrap();
                let bytes: Vec<u8> = fs::read(&full)
                    .unwrap()
                    .iter()
                    .map(|byte| if *byte == b'0' { b'1' } else { *byte })
                    .collect();
                fs::write(&full, bytes).unwrap();
                set_modified(&full, before);
                format!("modify {path} and restore its mtime")
            }
            8 | 9 => {
                fs::remove_file(&full).unwrap();
                format!("delete {path}")
            }
            10 => {
                let to = *random.pick(self.pool);
                let spare = dir.join("spare");
                fs::rename(&full, &spare).unwrap();
                remove_conflicts(to, dir);
                fs::create_dir_all(dir.join(to).parent().unwrap()).unwrap();
                fs::rename(&spare, dir.join(to)).unwrap();
                format!("rename {path} to {to}")
            }
            11 => {
                let years = Duration::from_secs(100 * 365 * 86400);
                let times = [SystemTime::UNIX_EPOCH, SystemTime::now() + years, SystemTime::now()];
                set_modified(&full, *random.pick(&times));
                format!("touch {path}")
            }
            12 => {
                let mut bytes = fs::read(&full).unwrap();
                let how = corrupt(&mut bytes, random);
                fs::write(&full, bytes).unwrap();
                format!("{how} {path}")
            }
            13 => {
                let path = *random.pick(self.fixed);
                self.write(random, path, dir);
                format!("rewrite {path}")
            }
            _ => self.corrupt_output(random, dir),
        }
    }

    fn put(&self, random: &mut Random, dir: &Path) -> String {
        let path = *random.pick(self.pool);
        self.write(random, path, dir);
        format!("put {path}")
    }

    /// Corrupts or removes the output or the journal, after the file system clock has advanced.
    fn corrupt_output(&self, random: &mut Random, dir: &Path) -> String {
        let path = if random.one_in(2) { self.output } else { self.journal };
        let full = dir.join(path);
        let Ok(mut bytes) = fs::read(&full) else { return self.put(random, dir) };
        std::thread::sleep(Duration::from_millis(12));
        if path == self.output || random.one_in(3) {
            // A corrupted output would stay after a failed run, which is not compared here.
            fs::remove_file(&full).unwrap();
            return format!("remove {path}");
        }
        let how = corrupt(&mut bytes, random);
        fs::write(&full, bytes).unwrap();
        format!("{how} {path}")
    }
}

/// Creates the directories of one tree in another one, including empty ones: a directory is an asset in Unity.
fn make_directories(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            make_directories(&from.join(&name), &to.join(name));
        }
    }
}

/// Removes whatever conflicts with a file or its parent directories.
fn remove_conflicts(path: &str, dir: &Path) {
    for (at, _) in path.match_indices('/') {
        let parent = dir.join(&path[..at]);
        if parent.is_file() {
            fs::remove_file(parent).unwrap();
        }
    }
    let full = dir.join(path);
    if full.is_dir() {
        fs::remove_dir_all(full).unwrap();
    }
}

fn set_modified(path: &Path, time: SystemTime) {
    File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn pak_content(random: &mut Random, path: &str) -> Vec<u8> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == "pak.toml" {
        let codec = random.pick(&["none", "snap", "lz4", "zstd", "brotli"]);
        let assets = random.pick(&["'art/**'", "'art/*.txt', 'art/*.toml'", "'art/**/*.png'", "'art/a.txt'"]);
        let exclude = random.pick(&["", "exclude = ['art/sub/**']\n"]);
        return format!(
            "[content]\ncompression = '{codec}'\n[[content.group]]\nassets = [{assets}]\n{exclude}"
        )
        .into();
    }
    if name.ends_with(".png") {
        return file_contents::for_name(random, path);
    }
    let color =
        random.pick(&["'#f00'", "'#0f0'", "'p.png'", "'sub/p.png'", "{ src = 'q.png', mip-levels = true }"]);
    match name {
        "m.toml" => format!("[material]\ncolor = {color}\nrough = 0.{}\n", random.below(9)).into(),
        "n.toml" => format!("[bitmap]\nsrc = '{}'\n", random.pick(&["p.png", "q.png", "none.png"])).into(),
        "s.toml" => {
            format!("[scene]\n[[scene.ref]]\nid = 'i{}'\nmaterials = ['m.toml']\n", random.below(9)).into()
        }
        _ => format!("0{} ", random.below(100)).repeat(*random.pick(&[0, 1, 100, 3000])).into(),
    }
}

fn unity_content(random: &mut Random, path: &str) -> Vec<u8> {
    if path.ends_with(".meta") {
        // Few GUIDs, so that two files sometimes share one.
        let importer = match path {
            path if path.contains(".png") => {
                format!("TextureImporter:\n  spriteMode: {}\n  textureType: 8\n", random.below(3))
            }
            _ => "DefaultImporter:\n".to_owned(),
        };
        return format!("fileFormatVersion: 2\nguid: {}\n{importer}", guid(random.below(60) as u128)).into();
    }
    if path.ends_with(".prefab") {
        let (name, other) = (random.below(20), guid(random.below(60) as u128));
        return format!("%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: N0{name}\n--- !u!212 &101\nSpriteRenderer:\n  m_GameObject: {{fileID: 100}}\n  m_Sprite: {{fileID: 21300000, guid: {other}, type: 3}}\n").into();
    }
    if path.ends_with(".mat") {
        return format!("%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: M0{}\n", random.below(20))
            .into();
    }
    format!("0{}\n", random.below(100)).into()
}
