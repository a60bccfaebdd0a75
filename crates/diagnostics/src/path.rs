//! Relative paths that cannot leave the root they are joined to.
//!
//! A [`RelPath`] is UTF-8 with `/` between non-empty components, none of which is `.` or `..`. It refuses
//! what another platform would read as a root, a drive, a separator or a stream, so that the same project
//! means the same files everywhere.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path inside a root; cheap to clone. Ordered by its bytes, which is the order of everything Kiln writes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Arc<str>);

/// Why a text is not a [`RelPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// There is nothing in it, or nothing between two slashes.
    Empty,
    /// It starts at a root or names a drive.
    Absolute,
    /// It has a `..` that would leave the root.
    Escapes,
    /// It has a character that some platform reads as something else: `\`, `:` or a control character.
    Character(char),
    /// It is not valid UTF-8.
    NotUtf8,
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadPath::Empty => f.write_str("a component is empty"),
            BadPath::Absolute => f.write_str("it is absolute"),
            BadPath::Escapes => f.write_str("it leaves the root"),
            BadPath::Character(c) => write!(f, "it contains {c:?}"),
            BadPath::NotUtf8 => f.write_str("it is not UTF-8"),
        }
    }
}

impl std::error::Error for BadPath {}

impl RelPath {
    /// Takes a normalised path as it is.
    pub fn new(path: impl Into<Arc<str>>) -> Result<RelPath, BadPath> {
        let path = path.into();
        RelPath::check(&path)?;
        Ok(RelPath(path))
    }

    /// Whether a text is a relative path, without making one.
    pub fn check(path: &str) -> Result<(), BadPath> {
        if path.starts_with('/') {
            return Err(BadPath::Absolute);
        }
        path.split('/').try_for_each(check_component)
    }

    /// This path and one more component, or several joined by `/`.
    pub fn join(&self, more: &str) -> Result<RelPath, BadPath> {
        more.split('/').try_for_each(check_component)?;
        let mut path = String::with_capacity(self.0.len() + 1 + more.len());
        path.push_str(&self.0);
        path.push('/');
        path.push_str(more);
        Ok(RelPath(path.into()))
    }

    /// Follows a reference found in a file that lies in `dir` (`None` is the root itself): `.` and `..` are
    /// resolved by name, and a reference that climbs above the root is refused.
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

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts between the slashes.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether a name on the way starts with a dot: such files are nobody's source, and no output of a cook.
    pub fn is_hidden(&self) -> bool {
        self.components().any(|part| part.starts_with('.'))
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The directory it lies in, or `None` in the root.
    pub fn parent(&self) -> Option<RelPath> {
        self.0.rsplit_once('/').map(|(dir, _)| RelPath(dir.into()))
    }

    /// Whether it lies in `dir`, at any depth; a path does not lie in itself.
    pub fn is_under(&self, dir: &RelPath) -> bool {
        self.0.strip_prefix(&*dir.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Where it is on disk, below `root`.
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

    fn refused(path: &str, why: BadPath) {
        assert_eq!(RelPath::new(path).unwrap_err(), why, "{path}");
    }

    #[test]
    fn nothing_leaves_the_root() {
        refused("", BadPath::Empty);
        refused("/etc/passwd", BadPath::Absolute);
        refused("a//b", BadPath::Empty);
        refused("a/", BadPath::Empty);
        refused("./a", BadPath::Empty);
        refused("..", BadPath::Escapes);
        refused("a/../../b", BadPath::Escapes);
        refused("a\\..\\b", BadPath::Character('\\'));
        refused("C:/x", BadPath::Character(':'));
        refused("a\0b", BadPath::Character('\0'));
    }

    #[test]
    fn references_resolve_inside_the_root_only() {
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
    fn parts() {
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
