//! Whether a path that a project file names lies inside the project.
//!
//! A project may come from a stranger, so a path is judged by the directory that it leads to: through links, `..` and
//! aliases of names, as far as it exists. Forms that are absolute on some system count as such on every system, so that
//! a project means the same everywhere. Directories of version control are not inside: whoever can write to `.git` can
//! have `git` run programs.

use std::path::{Component, Path, PathBuf};

/// Directories inside a project that its files cannot provide and that must not be written for it.
const VERSION_CONTROL: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];

/// A path outside the project.
#[derive(Debug, PartialEq, Eq)]
pub struct Outside {
    /// The path that it leads to, if that can be told.
    pub resolved: PathBuf,
    /// A clause that says why: "leads to /etc, outside the project".
    pub why: String,
}

/// Resolves a path relative to the project directory, which exists, and checks that it lies inside.
pub fn inside(project: &Path, text: &str) -> Result<PathBuf, Outside> {
    if let Some(why) = foreign_form(text) {
        return Err(Outside { resolved: PathBuf::from(text), why: why.to_owned() });
    }
    inside_path(project, &tidy(&project.join(text)))
}

/// Checks that a path without `..` lies inside the project.
pub fn inside_path(project: &Path, path: &Path) -> Result<PathBuf, Outside> {
    let outside = |resolved: &Path, why: String| Err(Outside { resolved: resolved.to_path_buf(), why });
    let Some(resolved) = resolve(path) else {
        return outside(path, "is a link that leads nowhere".to_owned());
    };
    let project = resolve(project).unwrap_or_else(|| project.to_path_buf());
    let Ok(below) = resolved.strip_prefix(&project) else {
        return outside(&resolved, format!("leads to '{}', outside the project", resolved.display()));
    };
    let reserved = |part: Component<'_>| {
        let name = part.as_os_str().to_string_lossy();
        VERSION_CONTROL.into_iter().find(|reserved| name.eq_ignore_ascii_case(reserved))
    };
    match below.components().find_map(reserved) {
        Some(name) => outside(&resolved, format!("lies in '{name}', which belongs to version control")),
        None => Ok(resolved),
    }
}

/// Returns why a text is an absolute path on Windows, if it is one and this system takes it for a plain name.
fn foreign_form(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    if cfg!(windows) {
        return None;
    }
    match bytes {
        [b'\\', ..] => Some("is an absolute path on Windows"),
        [drive, b':', ..] if drive.is_ascii_alphabetic() => Some("names a drive of Windows"),
        _ if text.split('\\').any(|part| part == "..") => Some("leaves its directory on Windows"),
        _ => None,
    }
}

/// The path without `.`, `..` and needless slashes. A link is followed only where a `..` climbs out of it, so that
/// names stay as the user gave them.
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

/// The path with every link followed, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (existing.canonicalize(), path.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_path_buf()
}

/// The path with every link followed; `None` if it goes through a link whose target is missing. Whoever creates such a
/// target would create it elsewhere.
fn resolve(path: &Path) -> Option<PathBuf> {
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    let found = existing.canonicalize().ok()?;
    let rest = path.strip_prefix(existing).ok()?;
    Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
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
    fn paths_below_the_project_are_inside() {
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
    fn paths_that_leave_the_project_are_outside_on_every_system() {
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
        // A sibling whose name starts with that of the project.
        assert!(inside(&root, "../game2").is_err());
    }

    #[test]
    fn directories_of_version_control_are_outside() {
        let (_dir, root) = project();
        for text in [".git", ".git/hooks", "sub/.GIT/x", ".hg", "a/../.git/x"] {
            assert!(inside(&root, text).unwrap_err().why.contains("version control"), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_judged_by_their_targets() {
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
}
