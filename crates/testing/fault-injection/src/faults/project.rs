//! An `assetc` project in a directory, and builds of it.

use super::files::{self, Files};
use super::tool::{self, Ran};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A project directory, and the executable that builds it.
pub struct Project {
    root: PathBuf,
    assetc: PathBuf,
}

/// The result of a build: all sources, the failed ones, and the number of rebuilt ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BuildResult {
    /// All sources.
    pub sources: BTreeSet<String>,
    /// The sources that failed.
    pub failed: BTreeSet<String>,
    /// The number of sources that were rebuilt.
    pub built: usize,
}

impl Project {
    /// Creates an empty project.
    pub fn new(root: PathBuf, assetc: &Path) -> Project {
        fs::create_dir_all(root.join("assets")).unwrap();
        Project { root, assetc: assetc.to_path_buf() }
    }

    /// Returns the directory of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the executable.
    pub fn assetc(&self) -> &Path {
        &self.assetc
    }

    /// Returns a path in the project.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file, and creates its parent directories.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        files::write(&self.path(path), bytes);
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Returns all files below a directory with their content, without the journal.
    pub fn tree(&self, dir: &str) -> Files {
        let mut found = files::tree(&self.path(dir));
        // Builds without a pack keep the digests or remove them; those that a pack has are compared with it.
        found.retain(|path, _| ![".assetc-cache", "assets.sha256"].contains(&path.as_str()));
        found
    }

    /// Runs the executable in the project.
    pub fn run(&self, args: &[&str]) -> Ran {
        tool::run(tool::command(&self.assetc, &self.root, args))
    }

    /// Builds the project.
    ///
    /// # Errors
    /// A dump of the run if its output or its exit code does not match the state of the sources.
    pub fn build(&self, pack: bool) -> Result<BuildResult, String> {
        let ran = self
            .run(if pack { &["--json", "-j", "2", "--pack"] } else { &["--json", "-j", "2"] })
            .assert_no_crash();
        let mut ended = BuildResult::default();
        for asset in ran.stdout.split("{\"source\":\"").skip(1) {
            let (source, rest) = asset.split_once('"').ok_or("no JSON")?;
            let state = rest.split_once("\"state\":\"").and_then(|(_, rest)| rest.split('"').next());
            ended.sources.insert(source.to_owned());
            match state {
                Some("built") => ended.built += 1,
                Some("failed") => _ = ended.failed.insert(source.to_owned()),
                _ => {}
            }
        }
        let ok = ended.failed.is_empty();
        let said = ran.stdout.contains(if ok {
            "{\"version\":1,\"ok\":true,"
        } else {
            "{\"version\":1,\"ok\":false,"
        });
        if said && ran.code() == i32::from(!ok) { Ok(ended) } else { Err(format!("{ran:#?}")) }
    }
}
