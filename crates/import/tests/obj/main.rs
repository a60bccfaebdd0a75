//! OBJ import: every supported statement, materials, and malformed files.

mod geometry;
mod malformed;
mod materials;
mod oracle;

use kiln_import::{Diag, Imported, MemoryFiles, Recorder, RelPath, obj};
use kiln_ir::{Primitive, Scene, Valid};

/// Imports `models/m.obj` among other files; also returns the files that were read.
fn import_with(text: &[u8], files: &[(&str, &str)]) -> (Result<Imported<Valid<Scene>>, Diag>, Vec<String>) {
    let mut source_files = MemoryFiles::new();
    source_files.insert("models/m.obj", text).unwrap();
    for (path, content) in files {
        source_files.insert(path, *content).unwrap();
    }
    let mut recorder = Recorder::new(source_files);
    let found = obj::import(&mut recorder, &RelPath::new("models/m.obj").unwrap());
    (found, recorder.files_read().iter().map(RelPath::to_string).collect())
}

fn import(text: &str) -> Result<Imported<Valid<Scene>>, Diag> {
    import_with(text.as_bytes(), &[]).0
}

/// Imports a valid model.
fn good(text: &str) -> Imported<Valid<Scene>> {
    import(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Imports a valid model and returns its primitives.
fn parts(text: &str) -> Vec<Primitive> {
    good(text).value.meshes[0].primitives.clone()
}

/// Returns the codes and lines of warnings.
fn warnings(found: &Imported<Valid<Scene>>) -> Vec<(&str, &str)> {
    found
        .warnings
        .iter()
        .map(|warning| (warning.code.as_str(), warning.at.as_deref().unwrap_or_default()))
        .collect()
}

/// Returns the vertex positions of all triangles.
fn triangles(part: &Primitive) -> Vec<[[f32; 3]; 3]> {
    let at = |index: &u32| part.positions[*index as usize];
    part.indices.chunks_exact(3).map(|t| [at(&t[0]), at(&t[1]), at(&t[2])]).collect()
}
