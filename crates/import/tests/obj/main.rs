//! OBJ import: every statement that draws something, materials, and every way to be wrong.

mod geometry;
mod hostile;
mod materials;
mod oracle;

use kiln_engine::mem::Mem;
use kiln_engine::{Diag, Fs, Inputs, RelPath, SourceTree};
use kiln_import::{Imported, obj};
use kiln_ir::{Primitive, Scene, Valid};

/// Imports `models/m.obj` among other files; also tells which files were read.
fn import_with(text: &[u8], files: &[(&str, &str)]) -> (Result<Imported<Valid<Scene>>, Diag>, Vec<String>) {
    let src = Mem::new();
    src.put("models/m.obj", text);
    for (path, content) in files {
        src.put(path, *content);
    }
    let tree = src.walk(None).unwrap();
    let source = RelPath::new("models/m.obj").unwrap();
    let mut cx = Inputs::new(SourceTree { fs: &src, tree: &tree });
    let found = obj::import(&mut cx, &source);
    (found, src.take_reads())
}

fn import(text: &str) -> Result<Imported<Valid<Scene>>, Diag> {
    import_with(text.as_bytes(), &[]).0
}

/// A model that is fine.
fn good(text: &str) -> Imported<Valid<Scene>> {
    import(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The primitives of a model that is fine.
fn parts(text: &str) -> Vec<Primitive> {
    good(text).value.meshes[0].primitives.clone()
}

/// The codes and lines of warnings.
fn warnings(found: &Imported<Valid<Scene>>) -> Vec<(&str, &str)> {
    found
        .warnings
        .iter()
        .map(|warning| (warning.code.as_str(), warning.at.as_deref().unwrap_or_default()))
        .collect()
}

/// The positions of the corners of all triangles.
fn triangles(part: &Primitive) -> Vec<[[f32; 3]; 3]> {
    let at = |index: &u32| part.positions[*index as usize];
    part.indices.chunks_exact(3).map(|t| [at(&t[0]), at(&t[1]), at(&t[2])]).collect()
}
