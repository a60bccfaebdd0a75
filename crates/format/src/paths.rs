//! Paths in manifests and packs: UTF-8, `/` between components, relative to the runtime root.
//!
//! Rejects paths that could escape that root on some platform, so that a reader can join paths from untrusted
//! files.

use core::fmt;

/// The reason why a path is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFault {
    /// The path or one of its components is empty.
    Empty,
    /// The path starts with a slash.
    Absolute,
    /// A component is `.` or `..`.
    Dots,
    /// The path contains a character that is special on some platform: `\`, `:` or a control character.
    Character(char),
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathFault::Empty => f.write_str("a component is empty"),
            PathFault::Absolute => f.write_str("the path is absolute"),
            PathFault::Dots => f.write_str("a component is \".\" or \"..\""),
            PathFault::Character(c) => write!(f, "the path contains {c:?}"),
        }
    }
}

/// Checks that `path` can be joined to a root and stays below it.
pub(crate) fn check(path: &str) -> Result<(), PathFault> {
    if path.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    path.split('/').try_for_each(|part| match part {
        "" => Err(PathFault::Empty),
        "." | ".." => Err(PathFault::Dots),
        _ => match part.chars().find(|c| matches!(c, '\\' | ':') || c.is_control()) {
            Some(c) => Err(PathFault::Character(c)),
            None => Ok(()),
        },
    })
}

/// Returns the extension: the part after the last dot of the file name. A leading dot does not begin an
/// extension.
pub(crate) fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, ext) = name.rsplit_once('.')?;
    (!stem.is_empty()).then_some(ext)
}

/// Returns the path without its extension.
#[cfg(feature = "tools")]
pub(crate) fn stem(path: &str) -> &str {
    let dotted = extension(path).map_or(0, |ext| ext.len() + 1);
    &path[..path.len() - dotted]
}

/// Returns the length of a path as the two-byte field of a record.
#[cfg(feature = "tools")]
pub(crate) fn len_u16(path: &str) -> Result<u16, crate::Error> {
    u16::try_from(path.len()).map_err(|_| crate::Error::TooLarge {
        field: "path_len",
        found: path.len() as u64,
        max: u16::MAX.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_paths_outside_root() {
        for (path, fault) in [
            ("", PathFault::Empty),
            ("a//b", PathFault::Empty),
            ("a/", PathFault::Empty),
            ("/etc/passwd", PathFault::Absolute),
            ("./a", PathFault::Dots),
            ("a/../../b", PathFault::Dots),
            ("a\\..\\b", PathFault::Character('\\')),
            ("C:/x", PathFault::Character(':')),
            ("a\0b", PathFault::Character('\0')),
            ("a\nb", PathFault::Character('\n')),
        ] {
            assert_eq!(check(path), Err(fault), "{path:?}");
        }
        for path in ["a", "a/b.c", ".assetc-cache", "...", "models/Stuhl/größe 2.ktx2"] {
            assert_eq!(check(path), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn extensions() {
        for (path, ext) in [
            ("a.ktx2", Some("ktx2")),
            ("a.b/c.lut.ktx2", Some("ktx2")),
            ("a.b/c", None),
            (".ktx2", None),
            ("a/.hman", None),
            ("a.", Some("")),
        ] {
            assert_eq!(extension(path), ext, "{path:?}");
        }
    }

    #[test]
    #[cfg(feature = "tools")]
    fn stems() {
        for (path, expected) in
            [("models/a.b.hmesh", "models/a.b"), ("x.y/c", "x.y/c"), (".hmesh", ".hmesh"), ("a.", "a")]
        {
            assert_eq!(stem(path), expected, "{path:?}");
        }
    }
}
