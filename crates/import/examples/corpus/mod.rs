//! Every model below the directory that an example is given: found, imported, counted. What is said of one is the
//! example's own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kiln_engine::{Diag, Inputs, Real, RelPath, SourceTree, Tree};
use kiln_import::Imported;
use kiln_ir::{Scene, Valid};

/// Reads a model.
pub(crate) type Import = fn(&mut Inputs<'_>, &RelPath) -> Result<Imported<Valid<Scene>>, Diag>;

/// A model that was read.
#[allow(dead_code, reason = "no example tells all of it")]
pub(crate) struct Model<'a> {
    /// Its file.
    pub(crate) file: &'a Path,
    /// The path below the directory.
    pub(crate) name: &'a str,
    /// What it came to.
    pub(crate) found: Imported<Valid<Scene>>,
    /// How long that took.
    pub(crate) took: Duration,
}

/// Imports every file with one of these extensions and has it told; `tell` returns whether it is as it should be. Ends
/// with 1 when one is not, or cannot be read.
pub(crate) fn every(extensions: &[&str], import: Import, tell: impl Fn(Model<'_>) -> bool) -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        println!("name a directory");
        return ExitCode::from(2);
    };
    let mut models = Vec::new();
    collect(&dir, extensions, &mut models);
    models.sort();
    let src = Real::open(&dir).expect("a directory");
    let tree = Tree::default();
    let mut failed = 0;
    for file in &models {
        let name = &file.strip_prefix(&dir).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let source = RelPath::new(name.as_str()).expect("a relative path");
        let mut cx = Inputs::new(SourceTree { fs: &src, tree: &tree });
        let start = Instant::now();
        match import(&mut cx, &source) {
            Ok(found) => failed += usize::from(!tell(Model { file, name, found, took: start.elapsed() })),
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
