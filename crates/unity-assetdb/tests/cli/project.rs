//! A Unity project in a temporary directory, and the executable.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A Unity project on disk.
pub(crate) struct Project {
    dir: tempfile::TempDir,
}

/// The exit code and the output of a run.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Returns a GUID that is easy to recognize and looks random.
pub(crate) fn guid(n: u128) -> String {
    format!("{:032x}", 0x8f57_b4a0_70f7_b43b_bb39_2546_7e67_0000_u128 + n)
}

impl Project {
    pub(crate) fn new() -> Project {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("Assets")).unwrap();
        fs::create_dir(dir.path().join("ProjectSettings")).unwrap();
        Project { dir }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> &Project {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn asset(&self, path: &str, n: u128, importer: &str, text: &str) -> &Project {
        self.write(path, text)
            .write(&format!("{path}.meta"), &format!("fileFormatVersion: 2\nguid: {}\n{importer}", guid(n)))
    }

    /// A flag with a sprite, a prefab and a scene that use it, and settings that list the scene.
    pub(crate) fn sample() -> Project {
        let project = Project::new();
        project.asset("Assets/Art/Flag.png", 1, "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n", "");
        let prefab = format!(
            "%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: Pole\n--- !u!212 &101\nSpriteRenderer:\n  m_GameObject: {{fileID: 100}}\n  m_Sprite: {{fileID: 21300000, guid: {}, type: 3}}\n",
            guid(1)
        );
        project.asset("Assets/Pole.prefab", 2, "PrefabImporter:\n", &prefab);
        let scene = format!(
            "%YAML 1.1\n--- !u!1001 &7\nPrefabInstance:\n  m_Modification:\n    m_Modifications:\n    - target: {{fileID: 101, guid: {0}, type: 3}}\n      propertyPath: m_Color\n  m_SourcePrefab: {{fileID: 100100000, guid: {0}, type: 3}}\n",
            guid(2)
        );
        project.asset("Assets/Main.unity", 3, "DefaultImporter:\n", &scene);
        project.asset(
            "Assets/Art/Unused.mat",
            4,
            "NativeFormatImporter:\n",
            "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: Unused\n",
        );
        project.asset("Assets/Code.cs", 5, "MonoImporter:\n", "class Code {}\n");
        project.write("ProjectSettings/EditorBuildSettings.asset", &format!("%YAML 1.1\n--- !u!1045 &1\nEditorBuildSettings:\n  m_Scenes:\n  - enabled: 1\n    path: Assets/Main.unity\n    guid: {}\n", guid(3)));
        project
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unity-assetdb"));
        command
            .args(args)
            .current_dir(self.root().join("Assets"))
            .env_remove("UNITY_ASSETDB_TIMING")
            .env_remove("UNITY_ASSETDB_VERBOSE");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        finish(self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    pub(crate) fn pipe(&self, args: &[&str], input: &str) -> Run {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that fails early does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        finish(child.wait_with_output().unwrap())
    }
}

pub(crate) fn finish(output: std::process::Output) -> Run {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// The tab-separated cells of a result.
pub(crate) fn cells(out: &str) -> Vec<Vec<&str>> {
    out.lines().map(|line| line.split('\t').collect()).collect()
}
