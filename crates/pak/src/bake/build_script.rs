//! Baking from the build script of a Cargo package.

use super::{Bake, BakeError, content, toml_document::Document};
use kiln_engine::{Code, Diag};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Bakes a content file from a build script into `OUT_DIR`, and tells Cargo when to run the script again. Returns the path
/// of the pak, which has the name of the content file and the extension `.pak`.
///
/// Prints a `cargo::rerun-if-changed` line for every source file, for every folder in which a new file would match a
/// pattern, and for the pak itself, so that a deleted pak is baked again; and a `cargo::warning` line for every warning.
///
/// ```no_run
/// // In `fn main` of build.rs.
/// let pak = pak::bake::build_script("art/game.toml")?;
/// # Ok::<(), pak::bake::BakeError>(())
/// ```
///
/// The game then opens `concat!(env!("OUT_DIR"), "/game.pak")`, or includes it with `include_bytes!`.
///
/// # Errors
/// As for [`Bake::run`], and `usage` if `OUT_DIR` is not set: the function is for build scripts.
#[allow(clippy::print_stdout, reason = "Cargo reads the standard output of a build script")]
pub fn build_script(src: impl AsRef<Path>) -> Result<PathBuf, BakeError> {
    let src = src.as_ref();
    let Some(out) = std::env::var_os("OUT_DIR") else {
        let message = "OUT_DIR is not set: build_script is to be called by a build script";
        return Err(Diag::new(Code::Usage, message).path(src.display()).into());
    };
    let name = src.file_stem().unwrap_or(src.as_os_str());
    let pak = Path::new(&out).join(name).with_extension("pak");
    let bake = Bake::new(src, &*pak);
    // First of all, so that Cargo knows the files also when the bake fails.
    let paths = bake.rerun_if_changed(Path::new(&out));
    for path in paths.iter().flatten() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for warning in bake.run()?.warnings {
        println!("cargo::warning={}", warning.to_string().replace('\n', " "));
    }
    paths?;
    Ok(pak)
}

impl Bake<'_> {
    /// Returns the paths for `cargo::rerun-if-changed`: the source files, the folders in which a new file would match a
    /// pattern of the content file, and the pak. Cargo watches a folder with everything below, so none of them contains
    /// `out_dir`.
    ///
    /// # Errors
    /// As for [`Bake::source_files`].
    pub fn rerun_if_changed(&self, out_dir: &Path) -> Result<Vec<PathBuf>, BakeError> {
        let mut paths: BTreeSet<PathBuf> = self.source_files()?.into_iter().collect();
        let text = self.read_content_file()?;
        let document = Document::parse(self.src.display().to_string(), None, &text)?;
        let (root, out_dir) = (self.root(), absolute(out_dir));
        for folder in content::folders(&document)? {
            let mut folder = root.join(folder);
            // Cargo runs the script every time for a path that does not exist.
            while !folder.is_dir() && folder != root && folder.pop() {}
            insert_folder(folder, &out_dir, &mut paths);
        }
        paths.insert(self.dst.clone());
        Ok(paths.into_iter().collect())
    }
}

/// Inserts a folder, or those of its folders that do not contain `out_dir`.
fn insert_folder(folder: PathBuf, out_dir: &Path, paths: &mut BTreeSet<PathBuf>) {
    if !out_dir.starts_with(absolute(&folder)) {
        paths.insert(folder);
        return;
    }
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            insert_folder(folder.join(entry.file_name()), out_dir, paths);
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
}
