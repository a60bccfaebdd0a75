//! What the importer makes of small glTF files.

use crate::model::Model;
use kiln_engine::mem::Mem;
use kiln_engine::{Diag, Fs, Inputs, RelPath, SourceTree};
use kiln_import::{Imported, gltf};
use kiln_ir::{Primitive, Scene, Valid};

impl Model {
    /// What it is imported as.
    pub(crate) fn import(&self) -> Result<Imported<Valid<Scene>>, Diag> {
        import("model.glb", &[("model.glb", self.glb())])
    }

    /// The scene it has; there may be warnings.
    pub(crate) fn scene(&self) -> Valid<Scene> {
        self.import().unwrap_or_else(|error| panic!("{error}\n{:#}", self.json)).value
    }

    /// The first primitive of the first mesh.
    pub(crate) fn primitive(&self) -> Primitive {
        self.scene().meshes[0].primitives[0].clone()
    }

    /// The codes of its warnings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.import().unwrap().warnings.into_iter().map(|warning| warning.code.to_string()).collect()
    }

    /// Asserts that it is refused, with this code at this place.
    #[track_caller]
    pub(crate) fn refused(&self, code: &str, at: &str) -> Diag {
        match self.import() {
            Ok(_) => panic!("{code} at {at} is accepted\n{:#}", self.json),
            Err(error) => {
                assert_eq!(
                    (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
                    (code, at),
                    "{error}"
                );
                assert_eq!(error.path.as_deref(), Some("model.glb"));
                error
            }
        }
    }
}

/// Imports one of these files.
pub(crate) fn import(source: &str, files: &[(&str, Vec<u8>)]) -> Result<Imported<Valid<Scene>>, Diag> {
    let src = Mem::new();
    for (path, bytes) in files {
        src.put(path, bytes.clone());
    }
    let tree = src.walk(None).unwrap();
    let source = RelPath::new(source).unwrap();
    gltf::import(&mut Inputs::new(SourceTree { fs: &src, tree: &tree }), &source)
}
