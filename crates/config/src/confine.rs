//! Confines the paths of a project file to the project directory.
//!
//! A project may come from an untrusted author, so a path is judged by the directory that it resolves to: through symbolic
//! links, `..` and aliases of names, as far as it exists. Paths that are absolute on some platform count as absolute on
//! every platform, so that a project behaves the same everywhere. Directories of version control are never inside: a file
//! written to `.git` can make `git` run programs.

use std::path::{Component, Path, PathBuf};

/// Directories of version control systems, which a build must not write to.
const VERSION_CONTROL: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];

/// The error of a path outside the project.
#[derive(Debug, PartialEq, Eq)]
pub struct Outside {
    /// The resolved path, or the path as given if it cannot be resolved.
    pub resolved: PathBuf,
    /// A clause with the reason: "resolves to /etc, outside the project".
    pub why: String,
}

/// Resolves a path relative to the project directory, which must exist, and checks that it is inside.
///
/// # Errors
///
/// The path is outside the project or in a directory of version control.
pub fn inside(project: &Path, text: &str) -> Result<PathBuf, Outside> {
    if let Some(why) = foreign_form(text) {
        return Err(Outside { resolved: PathBuf::from(text), why: why.to_owned() });
    }
    inside_path(project, &tidy(&project.join(text)))
}

/// Checks that a path without `..` is inside the project, and returns it with every symbolic link resolved.
///
/// # Errors
///
/// The path is outside the project or in a directory of version control.
pub fn inside_path(project: &Path, path: &Path) -> Result<PathBuf, Outside> {
    let outside = |resolved: &Path, why: String| Err(Outside { resolved: resolved.to_path_buf(), why });
    let Some(resolved) = resolve(path) else {
        return outside(path, "is a dangling symbolic link".to_owned());
    };
    let project = resolve(project).unwrap_or_else(|| project.to_path_buf());
    let Ok(below) = resolved.strip_prefix(&project) else {
        return outside(&resolved, format!("resolves to '{}', outside the project", resolved.display()));
    };
    let reserved = |part: Component<'_>| {
        let name = part.as_os_str().to_string_lossy();
        VERSION_CONTROL.into_iter().find(|reserved| name.eq_ignore_ascii_case(reserved))
    };
    match below.components().find_map(reserved) {
        Some(name) => outside(&resolved, format!("is inside '{name}', which belongs to version control")),
        None => Ok(resolved),
    }
}

/// Returns the reason that a string is an absolute path on Windows, if this platform reads it as a relative one.
fn foreign_form(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    if cfg!(windows) {
        return None;
    }
    match bytes {
        [b'\\', ..] => Some("is an absolute path on Windows"),
        [drive, b':', ..] if drive.is_ascii_alphabetic() => Some("has a Windows drive letter"),
        _ if text.split('\\').any(|part| part == "..") => Some("has a `..` component on Windows"),
        _ => None,
    }
}

/// Returns the reason that a path of a project file means different directories on different platforms: `\\` and drive
/// letters, except in a path that is absolute on this platform.
pub fn not_portable(text: &str) -> Option<&'static str> {
    let is_absolute = cfg!(windows)
        && Path::new(text)
            .components()
            .next()
            .is_some_and(|first| matches!(first, Component::Prefix(_) | Component::RootDir));
    match text.as_bytes() {
        _ if is_absolute => None,
        [drive, b':', ..] if drive.is_ascii_alphabetic() => Some("has a Windows drive letter"),
        _ if text.contains('\\') => Some("contains `\\`; directories are separated by `/` on every platform"),
        _ => None,
    }
}

/// Normalizes a path: removes `.`, `..` and redundant slashes. A symbolic link is resolved only where a `..` follows it, so
/// that names stay as the user wrote them.
pub fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out = real(&out);
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// Resolves every symbolic link of a path, as far as the path exists.
pub fn real(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (existing.canonicalize(), path.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_path_buf()
}

/// Resolves every symbolic link of a path; `None` if it goes through a dangling link: creating the path would create its
/// target elsewhere.
fn resolve(path: &Path) -> Option<PathBuf> {
    for existing in path.ancestors() {
        match existing.canonicalize() {
            Ok(found) => {
                let rest = path.strip_prefix(existing).ok()?;
                return Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) });
            }
            // Only a link counts: a directory that another process has just created or removed is not there.
            Err(_) if existing.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) => return None,
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("game");
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        (dir, root)
    }

    #[test]
    fn accepts_paths_inside_the_project() {
        let (_dir, root) = project();
        for (text, path) in [
            ("a", "a"),
            ("a/b/", "a/b"),
            ("./a/../b", "b"),
            ("../game/a", "a"),
            (".", ""),
            (".github", ".github"),
        ] {
            assert_eq!(inside(&root, text), Ok(root.join(path).components().collect()), "{text}");
        }
        assert!(inside(&root, root.join("a").to_str().unwrap()).is_ok());
    }

    #[test]
    fn rejects_paths_outside_the_project_on_every_platform() {
        let (_dir, root) = project();
        for text in [
            "..",
            "../x",
            "a/../../x",
            "/",
            "/etc",
            "C:\\x",
            "c:x",
            "C:/x",
            "\\x",
            "\\\\server\\share",
            "\\\\?\\C:\\x",
            "..\\x",
            "a\\..\\..\\x",
        ] {
            assert!(inside(&root, text).is_err(), "{text}");
        }
        // A sibling directory whose name has the name of the project as a prefix.
        assert!(inside(&root, "../game2").is_err());
    }

    #[test]
    fn rejects_separators_and_drives_of_windows() {
        for text in ["a\\b", "a/b\\c", "..\\x"] {
            assert!(not_portable(text).unwrap().contains("separated by `/`"), "{text}");
        }
        for text in ["C:x\\y", "c:/x", "C:\\x", "\\x", "\\\\server\\share"] {
            assert_eq!(not_portable(text).is_none(), cfg!(windows), "{text}");
        }
        for text in ["a/b", "../a", ".", "", "ab:c"] {
            assert_eq!(not_portable(text), None, "{text}");
        }
    }

    #[test]
    fn rejects_directories_of_version_control() {
        let (_dir, root) = project();
        for text in [".git", ".git/hooks", "sub/.GIT/x", ".hg", "a/../.git/x"] {
            assert!(inside(&root, text).unwrap_err().why.contains("version control"), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn resolves_symbolic_links_before_checking() {
        use std::os::unix::fs::symlink;
        let (_dir, root) = project();
        fs::create_dir_all(root.join("disk")).unwrap();
        symlink("disk", root.join("within")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../new", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink(".git", root.join("git")).unwrap();
        assert_eq!(inside(&root, "within/x"), Ok(root.join("disk/x")));
        assert_eq!(inside(&root, "up/game/x"), Ok(root.join("x")));
        for text in ["up", "up/x", "within/../../x", "dangling", "dangling/x", "loop", "loop/x", "git/hooks"]
        {
            assert!(inside(&root, text).is_err(), "{text}");
        }
    }

    /// A concurrent build creates the output directory, and a concurrent `clean` removes it.
    #[test]
    fn accepts_a_directory_that_appears_and_disappears() {
        let (_dir, root) = project();
        let out = root.join("out");
        std::thread::scope(|scope| {
            let toggling = scope.spawn(|| {
                for _ in 0..2000 {
                    fs::create_dir(&out).unwrap();
                    fs::remove_dir(&out).unwrap();
                }
            });
            while !toggling.is_finished() {
                assert_eq!(inside(&root, "out"), Ok(out.clone()));
            }
        });
    }
}
