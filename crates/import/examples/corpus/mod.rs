//! Imports every model below a directory; each example prints its own report of a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kiln_import::{Diag, Directory, Imported, RelPath, SourceFiles};
use kiln_ir::{Scene, Valid};

/// The importer of a format.
pub(crate) type Import = fn(&mut dyn SourceFiles, &RelPath) -> Result<Imported<Valid<Scene>>, Diag>;

/// An imported model.
#[allow(dead_code, reason = "no example prints all fields")]
pub(crate) struct Model<'a> {
    /// The file of the model.
    pub(crate) file: &'a Path,
    /// The path relative to the directory.
    pub(crate) name: &'a str,
    /// The scene and its warnings.
    pub(crate) found: Imported<Valid<Scene>>,
    /// The duration of the import.
    pub(crate) took: Duration,
}

/// Imports every file with one of these extensions and calls `report`, which returns `false` for a wrong result. The exit
/// code is 1 when a result is wrong or a file cannot be imported.
pub(crate) fn every(extensions: &[&str], import: Import, report: impl Fn(Model<'_>) -> bool) -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        println!("usage: pass a directory of models");
        return ExitCode::from(2);
    };
    let mut models = Vec::new();
    collect(&dir, extensions, &mut models);
    models.sort();
    let mut source_files = Directory::new(&dir);
    let mut failed = 0;
    for file in &models {
        let name = &file.strip_prefix(&dir).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let source = RelPath::new(name.as_str()).expect("a relative path");
        let start = Instant::now();
        match import(&mut source_files, &source) {
            Ok(found) => failed += usize::from(!report(Model { file, name, found, took: start.elapsed() })),
            Err(diag) => {
                failed += 1;
                println!("FAIL  {name}\n      {diag}");
            }
        }
    }
    println!("{} models, {failed} failed", models.len());
    ExitCode::from(u8::from(failed > 0 || models.is_empty()))
}

fn collect(dir: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, extensions, found);
        } else if path
            .extension()
            .is_some_and(|own| extensions.iter().any(|ext| own.eq_ignore_ascii_case(ext)))
        {
            found.push(path);
        }
    }
}
