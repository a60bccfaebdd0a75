//! Rivals that are no crates: gltfpack. The native one is compiled from the sources inside a crate, the newer one is an npm
//! package, WebAssembly for Node. Both are kept in the target directory.

use crate::results::said;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Command lines of the rivals for the mesh benchmark, and the rivals that are unavailable.
#[derive(Default)]
pub struct Rivals {
    pub gltfpack: Vec<String>,
    pub missing: Vec<String>,
}

impl Rivals {
    /// Gets both, into `folder`.
    pub fn get(root: &Path, folder: &Path) -> Self {
        let mut rivals = Self::default();
        match native(root, folder) {
            Ok(program) => {
                rivals.gltfpack.push(format!("0.25 native+={} -tr -i {{in}} -o {{out}}", program.display()));
            }
            Err(why) => rivals.missing.push(format!("gltfpack 0.25, native ({why})")),
        }
        match package(folder) {
            Ok(script) => {
                rivals
                    .gltfpack
                    .push(format!("1.3 wasm -gt=node {} -gt -tr -i {{in}} -o {{out}}", script.display()));
            }
            Err(why) => rivals.missing.push(format!("gltfpack 1.3, WebAssembly ({why})")),
        }
        rivals.missing.push("gltfpack 1.3, native (no registry has its sources or a build)".to_owned());
        rivals
    }
}

/// Compiles the sources that the crate `gltfpack-sys` carries.
fn native(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join("gltfpack");
    if program.exists() {
        return Ok(program);
    }
    let manifest = root.join("bench/mesh/rival/Cargo.toml").display().to_string();
    let arguments = ["metadata", "--format-version", "1", "--manifest-path", &manifest];
    let text = said("cargo", &arguments).ok_or("cargo cannot fetch gltfpack-sys")?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let package = value["packages"].as_array().into_iter().flatten().find(|p| p["name"] == "gltfpack-sys");
    let manifest =
        package.and_then(|p| p["manifest_path"].as_str()).ok_or("gltfpack-sys is not in the metadata")?;
    let sources = Path::new(manifest).with_file_name("meshoptimizer");
    let mut files = Vec::new();
    for part in ["src", "gltf"] {
        for entry in fs::read_dir(sources.join(part)).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "cpp") {
                files.push(path);
            }
        }
    }
    files.sort();
    fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let unfinished = folder.join("gltfpack.new");
    let mut compiler = Command::new("g++");
    compiler
        .args(["-O2", "-DNDEBUG", "-o"])
        .arg(&unfinished)
        .arg("-I")
        .arg(sources.join("extern"))
        .arg("-I")
        .arg(sources.join("src"));
    let done = compiler.args(&files).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match done {
        Ok(status) if status.success() => {
            fs::rename(&unfinished, &program).map_err(|e| e.to_string()).map(|()| program)
        }
        Ok(_) => Err("g++ cannot compile it".to_owned()),
        Err(_) => Err("no g++".to_owned()),
    }
}

/// Installs the npm package.
fn package(folder: &Path) -> Result<PathBuf, String> {
    let script = folder.join("node_modules/gltfpack/cli.js");
    if said("node", &["--version"]).is_none() {
        return Err("no Node".to_owned());
    }
    if !script.exists() {
        let place = folder.display().to_string();
        let arguments = ["install", "--prefix", &place, "--no-audit", "--no-fund", "gltfpack@1.3.0"];
        said("npm", &arguments).ok_or("npm cannot install it")?;
    }
    if script.exists() { Ok(script) } else { Err("the package has no cli.js".to_owned()) }
}
