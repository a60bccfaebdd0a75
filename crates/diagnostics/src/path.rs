//! Relative paths that cannot leave the root they are joined to.
//!
//! A [`RelPath`] is UTF-8 with `/` between non-empty components, none of which is `.` or `..`. Strings
//! that another platform would read as a root, a drive, a separator or an alternate data stream are rejected, so that a
//! project refers to the same files on every platform.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A relative path inside a root, with `/` separators; cheap to clone. Ordered by its UTF-8 bytes, which is the order of
/// everything that Kiln writes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Arc<str>);

/// The reason that a string is not a [`RelPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadPath {
    /// The path or one of its components is empty, or a component is `.`.
    Empty,
    /// The path starts with a slash.
    Absolute,
    /// A `..` component leads out of the root.
    Escapes,
    /// The path has a character with a special meaning on some platform: `\`, `:` or a control character.
    Character(char),
    /// The path is not valid UTF-8.
    NotUtf8,
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadPath::Empty => f.write_str("the path has an empty component"),
            BadPath::Absolute => f.write_str("the path is absolute"),
            BadPath::Escapes => f.write_str("the path leaves its root"),
            BadPath::Character(c) => write!(f, "the path contains {c:?}"),
            BadPath::NotUtf8 => f.write_str("the path is not UTF-8"),
        }
    }
}

impl std::error::Error for BadPath {}

impl RelPath {
    /// Makes a path from a normalised string.
    ///
    /// # Errors
    ///
    /// The reason that the string is not a relative path; `.` and `..` components are rejected as well.
    pub fn new(path: impl Into<Arc<str>>) -> Result<RelPath, BadPath> {
        let path = path.into();
        RelPath::check(&path)?;
        Ok(RelPath(path))
    }

    /// Checks that a string is a relative path, without allocating one.
    ///
    /// # Errors
    ///
    /// The reason that the string is not a relative path.
    pub fn check(path: &str) -> Result<(), BadPath> {
        if path.starts_with('/') {
            return Err(BadPath::Absolute);
        }
        path.split('/').try_for_each(check_component)
    }

    /// Appends one component, or several joined by `/`.
    ///
    /// # Errors
    ///
    /// A component is empty, `.`, `..` or contains a reserved character.
    pub fn join(&self, more: &str) -> Result<RelPath, BadPath> {
        more.split('/').try_for_each(check_component)?;
        let mut path = String::with_capacity(self.0.len() + 1 + more.len());
        path.push_str(&self.0);
        path.push('/');
        path.push_str(more);
        Ok(RelPath(path.into()))
    }

    /// Resolves a reference found in a file of the directory `dir` (`None` for the root): `.` and `..` are resolved
    /// lexically.
    ///
    /// # Errors
    ///
    /// The reference is absolute, leads out of the root, or the result is not a relative path.
    pub fn resolve(dir: Option<&RelPath>, reference: &str) -> Result<RelPath, BadPath> {
        if reference.starts_with('/') {
            return Err(BadPath::Absolute);
        }
        let mut parts: Vec<&str> = dir.map(|d| d.components().collect()).unwrap_or_default();
        for part in reference.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop().ok_or(BadPath::Escapes)?),
                part => parts.push(part),
            }
        }
        RelPath::new(parts.join("/"))
    }

    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Iterates over the components between the slashes.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns whether a component starts with a dot: hidden files are neither sources nor outputs.
    pub fn is_hidden(&self) -> bool {
        self.components().any(|part| part.starts_with('.'))
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the parent directory, or `None` for a path directly in the root.
    pub fn parent(&self) -> Option<RelPath> {
        self.0.rsplit_once('/').map(|(dir, _)| RelPath(dir.into()))
    }

    /// Returns whether the path is inside `dir`, at any depth; a path is not inside itself.
    pub fn is_under(&self, dir: &RelPath) -> bool {
        self.0.strip_prefix(&*dir.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Joins the path to the directory `root` of the file system.
    pub fn below(&self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        path.extend(self.components());
        path
    }
}

fn check_component(part: &str) -> Result<(), BadPath> {
    match part {
        "" | "." => Err(BadPath::Empty),
        ".." => Err(BadPath::Escapes),
        _ => match part.bytes().find(|b| matches!(b, b'\\' | b':' | 0..=0x1f | 0x7f)) {
            Some(b) => Err(BadPath::Character(b.into())),
            None => Ok(()),
        },
    }
}

impl AsRef<str> for RelPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for RelPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejects(path: &str, why: BadPath) {
        assert_eq!(RelPath::new(path).unwrap_err(), why, "{path}");
    }

    #[test]
    fn rejects_paths_outside_the_root() {
        rejects("", BadPath::Empty);
        rejects("/etc/passwd", BadPath::Absolute);
        rejects("a//b", BadPath::Empty);
        rejects("a/", BadPath::Empty);
        rejects("./a", BadPath::Empty);
        rejects("..", BadPath::Escapes);
        rejects("a/../../b", BadPath::Escapes);
        rejects("a\\..\\b", BadPath::Character('\\'));
        rejects("C:/x", BadPath::Character(':'));
        rejects("a\0b", BadPath::Character('\0'));
    }

    #[test]
    fn resolves_references_inside_the_root_only() {
        let dir = RelPath::new("models/chair").unwrap();
        let resolve = |r: &str| RelPath::resolve(Some(&dir), r);
        assert_eq!(resolve("a.bin").unwrap().as_str(), "models/chair/a.bin");
        assert_eq!(resolve("../tex/./a.png").unwrap().as_str(), "models/tex/a.png");
        assert_eq!(resolve("../../a.png").unwrap().as_str(), "a.png");
        assert_eq!(resolve("../../../a.png").unwrap_err(), BadPath::Escapes);
        assert_eq!(resolve("/a.png").unwrap_err(), BadPath::Absolute);
        assert_eq!(resolve("..").unwrap().as_str(), "models");
        assert_eq!(RelPath::resolve(None, "..").unwrap_err(), BadPath::Escapes);
    }

    #[test]
    fn splits_into_components() {
        let path = RelPath::new("a/b.c/d.e").unwrap();
        assert_eq!(path.file_name(), "d.e");
        assert_eq!(path.parent().unwrap().as_str(), "a/b.c");
        assert!(path.is_under(&RelPath::new("a").unwrap()));
        assert!(path.is_under(&RelPath::new("a/b.c").unwrap()));
        assert!(!path.is_under(&RelPath::new("a/b").unwrap()));
        assert!(!path.is_under(&path));
        assert_eq!(RelPath::new("a").unwrap().parent(), None);
    }
}
