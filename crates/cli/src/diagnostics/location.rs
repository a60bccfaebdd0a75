//! Locations of diagnostics for other programs: line and column, and the path of the file from the working directory.

use kiln_engine::Diag;
use std::path::{Path, PathBuf};

/// A line and column of a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, if known.
    pub column: Option<u32>,
}

impl Position {
    /// Returns the position of a diagnostic; `None` if its location is not a line, for example `skins[1]`.
    pub fn of(diag: &Diag) -> Option<Position> {
        let at = diag.at.as_deref()?;
        let at = at.strip_prefix("line ").unwrap_or(at);
        let (line, column) = match at.split_once(", column ").or_else(|| at.split_once(':')) {
            Some((line, column)) => (line, Some(column.parse().ok()?)),
            None => (at, None),
        };
        let line = line.parse().ok()?;
        (line > 0 && column != Some(0)).then_some(Position { line, column })
    }
}

/// The directories that relative paths in diagnostics refer to.
#[derive(Debug, Default)]
pub(super) struct PathBases(Vec<PathBuf>);

impl PathBases {
    pub(super) fn set(&mut self, bases: Vec<PathBuf>) {
        self.0 = bases;
    }

    /// Returns the path of a file with `/`, relative to the root of the checkout (`GITHUB_WORKSPACE`) or to the working
    /// directory if it is below one of them.
    pub(super) fn locate(&self, path: &str) -> String {
        let given = Path::new(path);
        let candidates = || self.0.iter().map(|base| base.join(given));
        let file = match given.is_absolute() {
            true => given.to_path_buf(),
            false => candidates()
                .chain([given.to_path_buf()])
                .find(|file| file.symlink_metadata().is_ok())
                .or_else(|| candidates().next())
                .unwrap_or_else(|| given.to_path_buf()),
        };
        let workspace = crate::environment::env("GITHUB_WORKSPACE").map(PathBuf::from);
        let current = std::env::current_dir().ok();
        let file = match &current {
            Some(current) => current.join(&file),
            None => file,
        };
        let roots = workspace.iter().chain(&current);
        let relative = roots.filter_map(|root| file.strip_prefix(root).ok()).next();
        let relative = relative.filter(|path| !path.as_os_str().is_empty()).unwrap_or(&file);
        relative.display().to_string().replace('\\', "/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::Code;

    #[test]
    fn reads_lines_and_columns() {
        let position = |at: &str| {
            Position::of(&Diag::new(Code::Usage, "").at(at)).map(|position| (position.line, position.column))
        };
        assert_eq!(position("12:3"), Some((12, Some(3))));
        assert_eq!(position("line 12"), Some((12, None)));
        assert_eq!(position("line 12, column 3"), Some((12, Some(3))));
        assert_eq!(position("7"), Some((7, None)));
        for other in ["", "skins[1]", "0", "1:0", "1:x", "-1", "IHDR"] {
            assert_eq!(position(other), None, "{other}");
        }
    }

    #[test]
    fn finds_the_directory_that_has_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (input, output) = (dir.path().join("assets"), dir.path().join("runtime"));
        std::fs::create_dir_all(&input).unwrap();
        std::fs::create_dir_all(output.join("a")).unwrap();
        std::fs::write(output.join("a/b.ktx2"), "").unwrap();
        let mut bases = PathBases::default();
        assert_eq!(bases.locate("a/b.ktx2"), "a/b.ktx2");
        bases.set(vec![input.clone(), output.clone()]);
        let shown = |path: PathBuf| path.display().to_string().replace('\\', "/");
        assert_eq!(bases.locate("a/b.ktx2"), shown(output.join("a/b.ktx2")));
        assert_eq!(bases.locate("missing.png"), shown(input.join("missing.png")));
        let here = std::env::current_dir().unwrap();
        assert_eq!(bases.locate(&here.join("x").display().to_string()), "x");
    }
}
