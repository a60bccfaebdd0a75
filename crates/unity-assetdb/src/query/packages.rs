//! The assets of packages that lie outside the project's own folders: in Unity's package cache, or where the manifest
//! says with `file:`. They have no rows in the database, but references to them are not broken.

use crate::meta;
use crate::walk::is_hidden;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is known of packages outside the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packages {
    /// The GUIDs of their assets.
    pub guids: BTreeSet<u128>,
    /// Packages that the manifest asks for and that are not on this machine: what they hold is unknown.
    pub absent: Vec<String>,
}

/// The deepest folder of a package that is looked into.
const DEEPEST: usize = 64;

/// Looks at the packages of a project.
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
        // Modules are part of the editor and hold no assets.
        if !here && !cached && !name.starts_with("com.unity.modules.") {
            found.absent.push(name);
        }
    }
    found.absent.sort();
    found
}

/// What a file holds; nothing where it is not there or is none.
fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = crate::store::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
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
        } else if depth < DEEPEST && !is_hidden(name) && path.is_dir() {
            collect(&path, depth + 1, guids);
        }
    }
}

/// The names and versions under `"dependencies"`: pairs of texts up to the closing brace.
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
    fn packages_outside_the_project() {
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
        assert_eq!(found.absent, ["com.c"]);
        assert_eq!(packages(&dir.path().join("nowhere")), Packages::default());
    }
}
