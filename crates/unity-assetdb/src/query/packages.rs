//! Finds the packages outside the project's own folders, in Unity's package cache and at `file:` paths, and indexes their
//! assets. They have no rows in the database: they are in a side index that queries build on demand.
//!
//! The side index is the folder `packages` beside the database. It is safe to delete.

use crate::bake::{BakeError, refresh_packages};
use crate::index::Index;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The packages outside the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packages {
    /// The GUIDs of their assets.
    pub guids: BTreeSet<u128>,
    /// The packages of the manifest that are not on this machine, and whose assets are therefore unknown.
    pub missing: Vec<String>,
}

/// The folder of the side index in the directory of an index.
pub const SIDE_INDEX: &str = "packages";
/// The package cache of Unity, relative to the project.
const CACHE: &str = "Library/PackageCache";
/// The maximum size of a manifest in bytes.
const MAX_MANIFEST: u64 = 16 << 20;

/// Collects the packages of a project, and brings the side index of `index` up to date. Unreadable files are ignored.
pub fn packages(root: &Path, index: &Index) -> Packages {
    let (_, missing) = locate(root);
    let mut guids = BTreeSet::new();
    if let Ok(Some(side)) = side_index(root, index) {
        guids =
            side.entries().filter_map(|entry| Some(entry.ok()?.guid()).filter(|guid| *guid != 0)).collect();
    }
    Packages { guids, missing }
}

/// Opens the side index of the packages of a project; `None` if no package is on this machine. It is updated first, unless
/// `index` was opened without a refresh and there is one.
///
/// # Errors
/// If it cannot be written.
pub fn side_index(root: &Path, index: &Index) -> Result<Option<Index>, BakeError> {
    let out_dir = index.out_dir.join(SIDE_INDEX);
    if !index.is_fresh
        && let Ok(side) = Index::open(&out_dir)
    {
        return Ok(Some(side));
    }
    let (roots, _) = locate(root);
    if roots.is_empty() { Ok(None) } else { refresh_packages(root, &out_dir, roots).map(Some) }
}

/// Returns the folders of the packages, relative to the project, and the names of packages that are not on this machine.
fn locate(root: &Path) -> (Vec<String>, Vec<String>) {
    let cached: Vec<String> = list(&root.join(CACHE));
    let mut folders: BTreeSet<String> = cached.iter().map(|name| format!("{CACHE}/{name}")).collect();
    let mut missing = Vec::new();
    for (name, version) in dependencies(root) {
        if let Some(path) = version.strip_prefix("file:")
            && let Some(folder) = normal(&Path::new("Packages").join(path))
            && root.join(&folder).is_dir()
        {
            // The folders of the project itself have rows.
            if !["Assets", "Packages"].iter().any(|own| Path::new(&folder).starts_with(own)) {
                folders.insert(folder);
            }
            continue;
        }
        let here = root.join("Packages").join(&name).is_dir();
        let is_cached = cached.iter().any(|folder| {
            *folder == name || folder.strip_prefix(&name).is_some_and(|rest| rest.starts_with('@'))
        });
        // Modules are part of the editor and have no assets.
        if !here && !is_cached && !name.starts_with("com.unity.modules.") {
            missing.push(name);
        }
    }
    (folders.into_iter().collect(), missing)
}

/// Resolves `.` and `..` in a path without reading links. Returns it with `/`.
fn normal(path: &Path) -> Option<String> {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if parts.file_name().is_some() => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.to_str()?.replace('\\', "/"))
}

/// Returns the content of a regular file; empty if it cannot be read.
fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = kiln_engine::regular_file::open(path)
        .and_then(|file| file.take(MAX_MANIFEST).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8(bytes).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// Returns the names of the folders in a folder.
fn list(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !crate::walk::is_hidden(name));
    names.sort();
    names
}

/// Returns the packages of the manifest and of the lock file, which also has their dependencies, with their versions.
fn dependencies(root: &Path) -> BTreeMap<String, String> {
    let mut found = locked(&read(&root.join("Packages/packages-lock.json")));
    found.extend(listed(&read(&root.join("Packages/manifest.json"))));
    found
}

/// Returns the names and versions under `"dependencies"` of a manifest: pairs of strings up to the closing brace.
fn listed(manifest: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = manifest.split_once("\"dependencies\"") else { return Vec::new() };
    let Some((_, body)) = rest.split_once('{') else { return Vec::new() };
    let body = body.split('}').next().unwrap_or_default();
    let texts: Vec<&str> = body.split('"').skip(1).step_by(2).collect();
    texts.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// Returns the names and versions of a lock file: the keys of the objects that have a `"version"`.
fn locked(lock: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut strings = lock.split('"').skip(1).step_by(2).zip(lock.split('"').skip(2).step_by(2)).peekable();
    let mut package = None;
    while let Some((text, after)) = strings.next() {
        let after = after.trim_start().strip_prefix(':').map(str::trim_start);
        match after {
            Some(after) if after.starts_with('{') && text != "dependencies" => {
                package = Some(text.to_owned())
            }
            Some("") if text == "version" => {
                if let (Some(name), Some((version, _))) = (package.take(), strings.peek()) {
                    found.insert(name, (*version).to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::{Extra, refresh};

    #[test]
    fn indexes_external_packages() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let guid = |digit: &str| "8f57b4a070f7b43bbb3925467e6752ab".replace('8', digit);
        put("project/Library/PackageCache/com.a@1.0/Runtime/a.cs.meta", &format!("guid: {}\n", guid("1")));
        put("project/Library/PackageCache/com.a@1.0/Runtime/a.cs", "");
        // A second version with the same GUIDs is no error.
        put("project/Library/PackageCache/com.a@2.0/Runtime/a.cs.meta", &format!("guid: {}\n", guid("1")));
        put("project/Library/PackageCache/com.a@2.0/Runtime/a.cs", "");
        put("local/b.cs.meta", &format!("guid: {}\n", guid("2")));
        put("local/b.cs", "");
        put("deep/d.cs.meta", &format!("guid: {}\n", guid("3")));
        put("deep/d.cs", "");
        put("project/ProjectSettings/x.asset", "");
        put("project/Assets/x.txt", "");
        let manifest = r#"{"dependencies": {"com.a": "1.0", "com.b": "file:../../local", "com.c": "2.0",
            "com.unity.modules.ui": "1.0.0"}, "scopedRegistries": []}"#;
        put("project/Packages/manifest.json", manifest);
        let lock = r#"{"dependencies": {"com.d": {"version": "file:../../deep", "depth": 1, "source": "local",
            "dependencies": {"com.a": "1.0"}}, "com.e": {"version": "3.0", "depth": 0}}}"#;
        put("project/Packages/packages-lock.json", lock);
        let root = dir.path().join("project");
        let index = refresh(&root, &root.join("Library/index"), Extra::default(), &|_| None).unwrap();
        let found = packages(&root, &index);
        assert_eq!(found.guids.len(), 3);
        assert_eq!(found.missing, ["com.c", "com.e"]);
        let side = side_index(&root, &index).unwrap().unwrap();
        let hint = |digit: &str| {
            let guid = crate::guid::parse(&guid(digit)).unwrap();
            side.find_by_guid(guid).unwrap().unwrap().hint().unwrap()
        };
        assert_eq!(hint("1"), "Library/PackageCache/com.a@1.0/Runtime/a.cs");
        assert_eq!(hint("2"), "../local/b.cs");
        assert_eq!(hint("3"), "../deep/d.cs");
        // It is safe to delete.
        fs::remove_dir_all(root.join("Library/index/packages")).unwrap();
        assert_eq!(packages(&root, &index), found);
    }

    #[test]
    fn projects_without_packages_have_no_side_index() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("Assets")).unwrap();
        let index = refresh(dir.path(), &dir.path().join("out"), Extra::default(), &|_| None).unwrap();
        assert_eq!(packages(dir.path(), &index), Packages::default());
        assert!(!dir.path().join("out/packages").exists());
    }
}
