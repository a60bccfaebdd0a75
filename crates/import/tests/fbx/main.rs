//! FBX import: small files written here, models that Blender wrote as FBX and as glTF, and every way to be wrong.

mod blender;
mod hostile;
mod materials;
mod motion;
mod shapes;
mod text;

use kiln_engine::mem::Mem;
use kiln_engine::{Diag, Fs, Inputs, RelPath, SourceTree};
use kiln_import::{Imported, fbx};
use kiln_ir::{Scene, Valid};

/// Imports `models/m.fbx` among other files; also tells which files were read.
fn import_with(bytes: &[u8], files: &[(&str, &[u8])]) -> (Result<Imported<Valid<Scene>>, Diag>, Vec<String>) {
    let src = Mem::new();
    src.put("models/m.fbx", bytes);
    for (path, content) in files {
        src.put(path, *content);
    }
    let tree = src.walk(None).unwrap();
    let source = RelPath::new("models/m.fbx").unwrap();
    let mut cx = Inputs::new(SourceTree { fs: &src, tree: &tree });
    let found = fbx::import(&mut cx, &source);
    (found, src.take_reads())
}

fn import(bytes: &[u8]) -> Result<Imported<Valid<Scene>>, Diag> {
    import_with(bytes, &[]).0
}

/// A model that is fine.
fn good(bytes: &[u8]) -> Imported<Valid<Scene>> {
    import(bytes).unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(bytes)))
}

/// The codes of warnings.
fn codes(found: &Imported<Valid<Scene>>) -> Vec<&str> {
    found.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[track_caller]
fn near(found: &[f32], wanted: &[f32], slack: f32) {
    let is_near =
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= slack);
    assert!(is_near, "{found:?} is not {wanted:?}");
}
