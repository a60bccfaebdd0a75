//! Collects the assets of packages outside the project's own folders: in Unity's package cache, or at `file:` paths of the
//! manifest. They have no rows in the database, but references to them are not broken.

use crate::meta;
use crate::walk::is_hidden;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The packages outside the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packages {
    /// The GUIDs of their assets.
    pub guids: BTreeSet<u128>,
    /// The packages of the manifest that are not on this machine, and whose assets are therefore unknown.
    pub missing: Vec<String>,
}

/// The maximum depth of folders in a package.
const MAX_DEPTH: usize = 64;

/// Collects the packages of a project. Unreadable files are ignored.
pub fn packages(root: &Path) -> Packages {
    let mut found = Packages::default();
    let cache = root.join("Library/PackageCache");
    let cached: Vec<PathBuf> = list(&cache);
    for package in &cached {
        collect(package, 0, &mut found.guids);
    }
    let manifest = read(&root.join("Packages/manifest.json"));
    let manifest = String::from_utf8(manifest).unwrap_or_default();
    for (name, version) in dependencies(&manifest) {
        if let Some(path) = version.strip_prefix("file:") {
            let path = root.join("Packages").join(path);
            if path.is_dir() {
                collect(&path, 0, &mut found.guids);
                continue;
            }
        }
        let here = root.join("Packages").join(&name).is_dir();
        let cached = cached.iter().any(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            file == name || file.strip_prefix(&name).is_some_and(|rest| rest.starts_with('@'))
        });
        // Modules are part of the editor and have no assets.
        if !here && !cached && !name.starts_with("com.unity.modules.") {
            found.missing.push(name);
        }
    }
    found.missing.sort();
    found
}

/// Returns the content of a regular file; empty if it cannot be read.
fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = kiln_engine::regular_file::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    bytes
}

fn list(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn collect(dir: &Path, depth: usize, guids: &mut BTreeSet<u128>) {
    for path in list(dir) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.ends_with(".meta") {
            guids.extend(meta::parse(&read(&path)).guid);
        } else if depth < MAX_DEPTH && !is_hidden(name) && path.is_dir() {
            collect(&path, depth + 1, guids);
        }
    }
}

/// Returns the names and versions under `"dependencies"`: pairs of strings up to the closing brace.
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = manifest.split_once("\"dependencies\"") else { return Vec::new() };
    let Some((_, body)) = rest.split_once('{') else { return Vec::new() };
    let body = body.split('}').next().unwrap_or_default();
    let texts: Vec<&str> = body.split('"').skip(1).step_by(2).collect();
    texts.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_guids_of_external_packages() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let guid = "8f57b4a070f7b43bbb3925467e6752ab";
        put("project/Library/PackageCache/com.a@1.0/Runtime/a.cs.meta", &format!("guid: {guid}\n"));
        put("local/b.cs.meta", &format!("guid: {}\n", guid.replace('8', "9")));
        let manifest = r#"{"dependencies": {"com.a": "1.0", "com.b": "file:../../local", "com.c": "2.0",
            "com.unity.modules.ui": "1.0.0"}, "scopedRegistries": []}"#;
        put("project/Packages/manifest.json", manifest);
        let found = packages(&dir.path().join("project"));
        assert_eq!(found.guids.len(), 2);
        assert_eq!(found.missing, ["com.c"]);
        assert_eq!(packages(&dir.path().join("nowhere")), Packages::default());
    }
}
