//! FBX import: small generated files, models that Blender exported as FBX and as glTF, and malformed files.

mod blender;
mod malformed;
mod materials;
mod motion;
mod shapes;
mod text;

use kiln_import::{Diag, Imported, MemoryFiles, Recorder, RelPath, fbx};
use kiln_ir::{Scene, Valid};

/// Imports `models/m.fbx` among other files; also returns the files that were read.
fn import_with(bytes: &[u8], files: &[(&str, &[u8])]) -> (Result<Imported<Valid<Scene>>, Diag>, Vec<String>) {
    let mut source_files = MemoryFiles::new();
    source_files.insert("models/m.fbx", bytes).unwrap();
    for (path, content) in files {
        source_files.insert(path, *content).unwrap();
    }
    let mut recorder = Recorder::new(source_files);
    let found = fbx::import(&mut recorder, &RelPath::new("models/m.fbx").unwrap());
    (found, recorder.files_read().iter().map(RelPath::to_string).collect())
}

fn import(bytes: &[u8]) -> Result<Imported<Valid<Scene>>, Diag> {
    import_with(bytes, &[]).0
}

/// Imports a valid model.
fn good(bytes: &[u8]) -> Imported<Valid<Scene>> {
    import(bytes).unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(bytes)))
}

/// Returns the codes of warnings.
fn codes(found: &Imported<Valid<Scene>>) -> Vec<&str> {
    found.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[track_caller]
fn near(found: &[f32], wanted: &[f32], slack: f32) {
    let is_near =
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= slack);
    assert!(is_near, "{found:?} is not {wanted:?}");
}
