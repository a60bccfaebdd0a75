//! A project in a temporary directory, with helpers to run the executable and to generate images.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The executable under test.
pub(crate) const ASSETC: &str = env!("CARGO_BIN_EXE_assetc");

/// A directory with sources.
pub(crate) struct Project {
    dir: TempDir,
}

/// The exit code and output of a run of the executable.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Parses standard output as one JSON value without duplicate members.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        kiln_engine::Json::parse(&self.stdout).unwrap_or_else(|fault| panic!("{fault:?}: {}", self.stdout));
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Asserts the exit code; prints all output if it differs.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

impl From<Output> for Ran {
    fn from(Output { status, stdout, stderr }: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
    }
}

impl Project {
    /// Creates an empty project.
    pub(crate) fn new() -> Project {
        Project { dir: TempDir::new().unwrap() }
    }

    /// Creates an empty project on a memory file system, if there is one: for tests of thousands of builds, which mostly
    /// wait for fsync.
    pub(crate) fn in_memory() -> Project {
        TempDir::new_in("/dev/shm").map_or_else(|_| Project::new(), |dir| Project { dir })
    }

    /// Returns the directory of the project.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file, and its directories.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Project {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    pub(crate) fn remove(&self, path: &str) -> &Project {
        let path = self.path(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        self
    }

    /// Prepares a run of the executable in this directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(ASSETC);
        command.args(args).current_dir(self.root()).env_remove("NO_COLOR");
        // Tests must not share a cache.
        command.env("KILN_CACHE", "off");
        // Tests must not depend on the configuration of the user.
        command.env("KILN_CONFIG_DIR", self.path("no-such-directory")).env_remove("KILN_TRUST");
        command
    }

    /// Runs the executable to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Builds and expects it to succeed; returns (built, cached).
    #[track_caller]
    pub(crate) fn build(&self) -> (usize, usize) {
        let json = self.run(&["--json"]).expect(0).json();
        let number = |name: &str| json[name].as_u64().unwrap() as usize;
        (number("built"), number("cached"))
    }

    /// Returns all files below a directory with their bytes, without journals and the digests that builds with a pack write.
    pub(crate) fn tree(&self, dir: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.path(dir), "", &mut files);
        files
    }
}

fn collect(dir: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(listing) = fs::read_dir(dir) else { return };
    for entry in listing {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &path, files);
        } else if ![".assetc-cache", "assets.sha256"].contains(&name.as_str()) {
            files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

/// Encodes a small opaque PNG with a gradient that depends on `seed`.
pub(crate) fn test_image(width: u32, height: u32, seed: u32) -> Vec<u8> {
    let mut rgba = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let v = |k: u32| (x * (3 + k) + y * (5 + 2 * k) + seed * (17 + k)) as u8;
            rgba.extend([v(0), v(1), v(2), 255]);
        }
    }
    png(width, height, png::ColorType::Rgba, &rgba)
}

/// Encodes eight-bit samples as PNG.
pub(crate) fn png(width: u32, height: u32, color: png::ColorType, samples: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header().unwrap().write_image_data(samples).unwrap();
    bytes
}
