//! A small project for each tool in two states, an edit apart, and the output of a clean run of each state.

use super::files::{self, Files};
use super::tool::{self, Ran, Tools};
use crate::file_contents::{png, random_image};
use crate::random::Random;
use kiln_format::hman::{self, HmanView};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A sample project of one tool.
pub struct Sample {
    /// The name of the tool.
    pub name: &'static str,
    /// The path of the executable.
    pub program: PathBuf,
    /// The arguments that bring the output up to date.
    pub args: Vec<&'static str>,
    /// The arguments that verify the output.
    pub check: Vec<&'static str>,
    /// The sources before and after an edit.
    pub states: [Files; 2],
    /// The outputs of clean runs of the two states.
    pub expected: [Files; 2],
}

/// Journals and locks: private to the tools; they contain timestamps and are never equal.
const PRIVATE: [&str; 4] = [".assetc-cache", ".a.pak.cache", "asset-db.cache.bin", ".asset-db.lock"];

impl Sample {
    /// Creates the samples of all three tools, and does their clean runs below `work_dir`.
    pub fn all(tools: &Tools, work_dir: &Path) -> Vec<Sample> {
        vec![assetc(tools, work_dir), pak(tools, work_dir), unity(tools, work_dir)]
    }

    fn new(
        name: &'static str,
        program: &Path,
        args: &[&'static str],
        check: &[&'static str],
        states: [Files; 2],
        work_dir: &Path,
    ) -> Sample {
        let (program, args, check) = (program.to_path_buf(), args.to_vec(), check.to_vec());
        let mut sample = Sample { name, program, args, check, states, expected: Default::default() };
        let expected = [0, 1].map(|state| {
            let dir = work_dir.join(format!("clean-{name}-{state}"));
            sample.put(&dir, state);
            sample.run(&dir).expect(0);
            let found = sample.outputs(&dir);
            files::remove(&dir);
            found
        });
        sample.expected = expected;
        sample
    }

    /// Returns the command that brings the output up to date.
    pub fn command(&self, dir: &Path) -> std::process::Command {
        tool::command(&self.program, dir, &self.args)
    }

    /// Runs the command that brings the output up to date.
    #[track_caller]
    pub fn run(&self, dir: &Path) -> Ran {
        tool::run(self.command(dir))
    }

    /// Writes the sources of a state.
    pub fn put(&self, dir: &Path, state: usize) {
        files::put(dir, &self.states[1 - state], &self.states[state]);
    }

    /// Returns `true` if a file is a source.
    pub fn is_source(&self, path: &str) -> bool {
        self.states.iter().any(|state| state.contains_key(path))
    }

    /// Returns every file that is not a source, private files with empty content.
    pub fn outputs(&self, dir: &Path) -> Files {
        let mut all = files::tree(dir);
        all.retain(|path, _| !self.is_source(path));
        for (path, bytes) in &mut all {
            if is_private(path) {
                bytes.clear();
            }
        }
        all
    }

    /// Asserts that the outputs are exactly those of a clean run of a state.
    #[track_caller]
    pub fn assert_equals_clean_run(&self, dir: &Path, state: usize) {
        let found = self.outputs(dir);
        let differ = files::differences(&found, &self.expected[state]);
        assert!(differ.is_empty(), "differs from a clean run: {differ:?}");
    }

    /// Asserts that every visible output is complete: it equals that of one of the states. Temporary files do not count.
    #[track_caller]
    pub fn assert_no_partial_files(&self, dir: &Path) {
        for (path, bytes) in self.outputs(dir) {
            let hidden = is_temporary(&path) || is_private(&path);
            let known = self.expected.iter().any(|expected| expected.get(&path) == Some(&bytes));
            // The manifest of a build with failures lists fewer files.
            let known = known || (path.ends_with(hman::PATH) && HmanView::read(&bytes).is_ok());
            assert!(hidden || known, "{path} is partially written: {} bytes", bytes.len());
        }
    }

    /// Asserts that after a fault the next run succeeds and its output equals that of a clean run.
    #[track_caller]
    pub fn assert_recovers(&self, dir: &Path, state: usize) {
        let ran = self.run(dir).expect(0);
        let differ = files::differences(&self.outputs(dir), &self.expected[state]);
        assert!(differ.is_empty(), "after the next run: {differ:?}\n{ran:?}");
        tool::run(tool::command(&self.program, dir, &self.check)).expect(0);
    }

    /// Returns the path components of all sources and outputs of the two states.
    pub fn names(&self) -> BTreeSet<&str> {
        let all = self.states.iter().chain(&self.expected).flat_map(Files::keys);
        all.flat_map(|path| path.split('/')).collect()
    }
}

/// Returns `true` if a path is that of a temporary file of the tools.
pub fn is_temporary(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".kiln-", ".asset-db-", ".a.pak.cache."].iter().any(|start| name.starts_with(start))
}

fn is_private(path: &str) -> bool {
    PRIVATE.contains(&path.rsplit('/').next().unwrap_or(path))
}

fn text(files: &mut Files, path: &str, text: impl Into<Vec<u8>>) {
    files.insert(path.to_owned(), text.into());
}

/// Returns a glTF file of one triangle and its buffer, with a texture beside it.
pub fn triangle(buffer: &str, image: &str) -> (String, Vec<u8>) {
    let gltf = format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],
"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"TEXCOORD_0":1}},"indices":2,"material":0}}]}}],
"materials":[{{"name":"Paint","pbrMetallicRoughness":{{"baseColorTexture":{{"index":0}}}}}}],
"textures":[{{"source":0}}],"images":[{{"uri":{}}}],
"accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}},
{{"bufferView":1,"componentType":5126,"count":3,"type":"VEC2"}},
{{"bufferView":2,"componentType":5123,"count":3,"type":"SCALAR"}}],
"bufferViews":[{{"buffer":0,"byteOffset":0,"byteLength":36}},{{"buffer":0,"byteOffset":36,"byteLength":24}},
{{"buffer":0,"byteOffset":60,"byteLength":6}}],"buffers":[{{"uri":{},"byteLength":68}}]}}"#,
        super::report::quoted(image),
        super::report::quoted(buffer),
    );
    let mut bytes = Vec::new();
    for value in [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0] {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0, 0, 1, 0, 2, 0, 0, 0]);
    (gltf, bytes)
}

/// An OBJ file of two triangles, with its material library beside it.
pub const OBJ: &str = "mtllib box.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl wood\nf 1/1 2/2 3/3\nf 1/1 3/2 4/3\n";

fn assetc(tools: &Tools, work_dir: &Path) -> Sample {
    let states = [0_u32, 1].map(|state| {
        let random = &mut Random::new(7 + u64::from(state));
        let mut files = Files::new();
        let same = &mut Random::new(1);
        text(&mut files, "assetc.yml", "default: {rules: [{match: \"ui/*\", texture: {compress: false}}]}\n");
        files.insert("assets/same.png".into(), random_image(same, 8, 8));
        files.insert("assets/sub/same.n.png".into(), random_image(same, 5, 3));
        files.insert("assets/both.png".into(), random_image(random, 8, 8));
        files.insert("assets/ui/both.png".into(), random_image(random, 6, 2));
        files.insert(format!("assets/sub/only{state}.r.png"), random_image(random, 4, 4));
        files.insert("assets/g.array/0.png".into(), random_image(same, 4, 4));
        files.insert("assets/g.array/1.png".into(), random_image(random, 4, 4));
        text(&mut files, "assets/w.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)));
        let (gltf, buffer) = triangle("tri.bin", "../both.png");
        text(&mut files, "assets/models/tri.gltf", gltf);
        files.insert("assets/models/tri.bin".into(), buffer);
        text(&mut files, "assets/models/box.obj", OBJ);
        text(
            &mut files,
            "assets/models/box.mtl",
            format!("newmtl wood\nKd 0.{state} 1 1\nmap_Kd ../same.png\n"),
        );
        files
    });
    Sample::new("assetc", &tools.assetc, &["--pack", "-j", "1"], &["check"], states, work_dir)
}

fn pak(tools: &Tools, work_dir: &Path) -> Sample {
    let states = [0_u32, 1].map(|state| {
        let random = &mut Random::new(70 + u64::from(state));
        let same = &mut Random::new(2);
        let mut files = Files::new();
        let content = "[content]\ncompression = 'zstd'\n[[content.group]]\nassets = ['art/**/*.toml', 'art/*.txt', 'art/*.png']\n";
        text(&mut files, "pak.toml", content);
        text(&mut files, "art/red.toml", "[material]\ncolor = 'same.png'\nrough = 0.5\n");
        text(&mut files, "art/blue.toml", format!("[material]\ncolor = '#00{state}'\n"));
        text(
            &mut files,
            "art/level.toml",
            "[scene]\n[[scene.ref]]\nid = 'a'\nmesh = 'tri.toml'\nmaterials = ['red.toml']\n",
        );
        text(&mut files, "art/tri.toml", "[mesh]\nsrc = 'tri.gltf'\n");
        let (gltf, buffer) = triangle("tri.bin", "same.png");
        text(&mut files, "art/tri.gltf", gltf);
        files.insert("art/tri.bin".into(), buffer);
        files.insert("art/same.png".into(), random_image(same, 8, 8));
        files.insert("art/both.png".into(), random_image(random, 8, 4));
        text(&mut files, "art/notes.txt", format!("state {state} ").repeat(500));
        text(&mut files, &format!("art/only{state}.txt"), "here today ".repeat(300));
        files
    });
    let args = ["bake", "pak.toml", "out/a.pak", "-j", "1"];
    Sample::new("pak", &tools.pak, &args, &["verify", "out/a.pak"], states, work_dir)
}

/// Returns a distinct GUID that looks random.
pub fn guid(n: u128) -> String {
    format!("{:032x}", 0x8f57_b4a0_70f7_b43b_bb39_2546_7e67_0000_u128 + n)
}

fn unity(tools: &Tools, work_dir: &Path) -> Sample {
    let states = [0_u32, 1].map(|state| {
        let mut files = Files::new();
        let mut asset = |path: &str, n: u128, importer: &str, content: String| {
            text(&mut files, &format!("{path}.meta"), format!("fileFormatVersion: 2\nguid: {}\n{importer}", guid(n)));
            text(&mut files, path, content);
        };
        let sprite = format!("TextureImporter:\n  spriteMode: {}\n  textureType: 8\n", 1 + state);
        asset("Assets/Art/Flag.png", 1, &sprite, String::new());
        let prefab = format!(
            "%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: Pole{state}\n--- !u!212 &101\nSpriteRenderer:\n  m_GameObject: {{fileID: 100}}\n  m_Sprite: {{fileID: 21300000, guid: {}, type: 3}}\n",
            guid(1)
        );
        asset("Assets/Pole.prefab", 2, "PrefabImporter:\n", prefab);
        let scene = format!(
            "%YAML 1.1\n--- !u!1001 &7\nPrefabInstance:\n  m_SourcePrefab: {{fileID: 100100000, guid: {}, type: 3}}\n",
            guid(2)
        );
        asset("Assets/Main.unity", 3, "DefaultImporter:\n", scene);
        asset("Assets/Code.cs", 5, "MonoImporter:\n", "class Code {}\n".into());
        let material = "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: M\n";
        asset(&format!("Assets/Deep/Er/Only{state}.mat"), 6 + u128::from(state), "NativeFormatImporter:\n", material.into());
        let settings = format!("%YAML 1.1\n--- !u!1045 &1\nEditorBuildSettings:\n  m_Scenes:\n  - enabled: 1\n    path: Assets/Main.unity\n    guid: {}\n", guid(3));
        text(&mut files, "ProjectSettings/EditorBuildSettings.asset", settings);
        files
    });
    Sample::new("unity", &tools.unity, &["bake", "-j", "1"], &["list", "--no-refresh"], states, work_dir)
}

/// Returns a solid-color image that decodes quickly, so that parts of two such files never form a third valid one.
pub fn flat(seed: u8, side: u32) -> Vec<u8> {
    let samples = [seed.wrapping_mul(37), seed, seed.wrapping_mul(91), 255].repeat((side * side) as usize);
    png(side, side, &samples)
}
