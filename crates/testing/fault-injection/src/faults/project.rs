//! A project of `assetc` in a directory, and builds of it.

use super::files::{self, Files};
use super::tool::{self, Ran};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory with sources, and the executable to build them.
pub struct Project {
    root: PathBuf,
    assetc: PathBuf,
}

/// How a build ended: which sources there are, which failed, how many were cooked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Every source.
    pub sources: BTreeSet<String>,
    /// Those that failed.
    pub failed: BTreeSet<String>,
    /// How many were cooked.
    pub built: usize,
}

impl Project {
    /// An empty project.
    pub fn new(root: PathBuf, assetc: &Path) -> Project {
        fs::create_dir_all(root.join("assets")).unwrap();
        Project { root, assetc: assetc.to_path_buf() }
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The executable.
    pub fn assetc(&self) -> &Path {
        &self.assetc
    }

    /// A path in it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file, and its directories.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        files::write(&self.path(path), bytes);
    }

    /// The bytes of a file.
    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// All files below a directory with their bytes, without journals.
    pub fn tree(&self, dir: &str) -> Files {
        let mut found = files::tree(&self.path(dir));
        found.retain(|path, _| path != ".assetc-cache");
        found
    }

    /// Runs the executable.
    pub fn run(&self, args: &[&str]) -> Ran {
        tool::run(tool::command(&self.assetc, &self.root, args))
    }

    /// Builds.
    pub fn build(&self, pack: bool) -> Result<Ended, String> {
        let ran =
            self.run(if pack { &["--json", "-j", "2", "--pack"] } else { &["--json", "-j", "2"] }).calm();
        let mut ended = Ended::default();
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
        let said = ran.stdout.starts_with(if ok { "{\"ok\":true," } else { "{\"ok\":false," });
        if said && ran.code() == i32::from(!ok) { Ok(ended) } else { Err(format!("{ran:#?}")) }
    }
}
