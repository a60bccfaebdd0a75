//! Finds the root of a Unity project, and tells which file names Unity ignores.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The error of locating a project.
#[derive(Debug)]
#[non_exhaustive]
pub enum WalkError {
    /// The path does not exist or cannot be resolved.
    Canonicalize(PathBuf, io::Error),
    /// The directory is not a Unity project.
    NotAProject(PathBuf),
    /// No directory above the current one is a project.
    NoProject,
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WalkError::Canonicalize(path, error) => {
                write!(f, "canonicalize project {}: {error}", path.display())
            }
            WalkError::NotAProject(path) => {
                write!(f, "not a Unity project: {} (missing Assets/ or ProjectSettings/)", path.display())
            }
            WalkError::NoProject => {
                f.write_str("no Unity project root found above CWD: needs `Assets/` + `ProjectSettings/`")
            }
        }
    }
}

impl std::error::Error for WalkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WalkError::Canonicalize(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Returns the root of a project: the given directory, or the nearest one at or above the current directory. The only
/// function of this library that reads the current directory.
///
/// # Errors
/// If the path cannot be resolved or is not a project, or no project is found.
pub fn resolve_project_root(project: Option<&Path>) -> Result<PathBuf, WalkError> {
    match project {
        Some(path) => {
            let root = path.canonicalize().map_err(|e| WalkError::Canonicalize(path.to_owned(), e))?;
            if is_project(&root) { Ok(root) } else { Err(WalkError::NotAProject(root)) }
        }
        None => {
            let here = std::env::current_dir().map_err(|e| WalkError::Canonicalize(".".into(), e))?;
            resolve_above(&here).ok_or(WalkError::NoProject)
        }
    }
}

/// Returns the nearest project at or above a directory.
pub fn resolve_above(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| is_project(dir)).map(Path::to_owned)
}

fn is_project(dir: &Path) -> bool {
    dir.join("Assets").is_dir() && dir.join("ProjectSettings").is_dir()
}

/// The directories of a project that contain assets.
pub const ROOTS: [&str; 2] = ["Assets", "Packages"];

/// Returns whether Unity ignores a file or folder of this name: hidden files, backups, temporary files and `cvs`.
///
/// ```
/// use unity_assetdb::walk::is_hidden;
/// assert!(is_hidden(".git") && is_hidden("Samples~") && is_hidden("CVS") && is_hidden("a.tmp"));
/// assert!(!is_hidden("Foo.prefab"));
/// ```
pub fn is_hidden(name: &str) -> bool {
    is_hidden_bytes(name.as_bytes())
}

/// Returns whether Unity ignores a file or folder of this name, which may not be UTF-8: see [`is_hidden`].
pub(crate) fn is_hidden_bytes(name: &[u8]) -> bool {
    name.starts_with(b".")
        || name.ends_with(b"~")
        || name.eq_ignore_ascii_case(b"cvs")
        || name.last_chunk::<4>().is_some_and(|end| end.eq_ignore_ascii_case(b".tmp"))
}

/// Calls a visitor with the path of every `.meta` file below `Assets` and `Packages`, sorted by folder. Names that Unity
/// ignores are skipped, links to folders are followed once. `factory` makes the visitor.
///
/// # Errors
/// [`WalkError::NotAProject`] if there is no `Assets`, [`WalkError::Canonicalize`] if a folder cannot be listed.
pub fn walk_meta_files<F, V>(project_root: &Path, factory: F) -> Result<(), WalkError>
where
    F: Fn() -> V + Sync,
    V: FnMut(&Path) + Send + 'static,
{
    if !project_root.join("Assets").is_dir() {
        return Err(WalkError::NotAProject(project_root.to_owned()));
    }
    let mut visit = factory();
    let mut seen = HashSet::new();
    let mut folders: Vec<PathBuf> = ROOTS.iter().rev().map(|root| project_root.join(root)).collect();
    folders.retain(|folder| folder.is_dir());
    while let Some(folder) = folders.pop() {
        let failed = |error| WalkError::Canonicalize(folder.clone(), error);
        if !seen.insert(folder.canonicalize().map_err(failed)?) {
            continue;
        }
        let mut names = Vec::new();
        for entry in folder.read_dir().map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort_unstable_by(|a, b| b.cmp(a));
        for name in names {
            let path = folder.join(&name);
            let text = name.to_string_lossy();
            let about = text.strip_suffix(".meta");
            if is_hidden(about.unwrap_or(&text)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if about.is_some() {
                visit(&path);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn project_root_has_assets_and_settings() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let message = |error: WalkError| error.to_string();
        assert!(message(resolve_project_root(Some(&root)).unwrap_err()).starts_with("not a Unity project: "));
        assert!(
            message(resolve_project_root(Some(&root.join("x"))).unwrap_err())
                .starts_with("canonicalize project ")
        );
        fs::create_dir_all(root.join("Assets/Deep/Down")).unwrap();
        assert_eq!(resolve_above(&root.join("Assets/Deep")), None);
        fs::create_dir(root.join("ProjectSettings")).unwrap();
        assert_eq!(resolve_project_root(Some(&root)).unwrap(), root);
        assert_eq!(resolve_above(&root.join("Assets/Deep/Down")), Some(root));
    }
}
