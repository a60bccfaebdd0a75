//! Import of the test models, with assertions on the result.

use crate::model::Model;
use kiln_import::{Code, Diag, Imported, MemoryFiles, RelPath, gltf};
use kiln_ir::{Primitive, Scene, Valid};

impl Model {
    /// Imports the model as a GLB.
    pub(crate) fn import(&self) -> Result<Imported<Valid<Scene>>, Diag> {
        import("model.glb", &[("model.glb", self.glb())])
    }

    /// Imports the model and returns its scene; warnings are ignored.
    pub(crate) fn scene(&self) -> Valid<Scene> {
        self.import().unwrap_or_else(|error| panic!("{error}\n{:#}", self.json)).value
    }

    /// Returns the first primitive of the first mesh.
    pub(crate) fn primitive(&self) -> Primitive {
        self.scene().meshes[0].primitives[0].clone()
    }

    /// Returns the codes of the warnings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.import().unwrap().warnings.into_iter().map(|warning| warning.code.to_string()).collect()
    }

    /// Returns the code with which the import is rejected.
    pub(crate) fn rejected_code(&self) -> Code {
        self.import().map(|_| ()).unwrap_err().code
    }

    /// Asserts that the import is rejected with this code at this place.
    #[track_caller]
    pub(crate) fn rejected(&self, code: &str, at: &str) -> Diag {
        match self.import() {
            Ok(_) => panic!("{code} at {at} is accepted\n{:#}", self.json),
            Err(error) => {
                assert_eq!(
                    (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
                    (code, at),
                    "{error}"
                );
                assert_eq!(error.path.as_deref(), Some("model.glb"));
                assert!(error.hint.is_some(), "{error}");
                error
            }
        }
    }
}

/// Imports one of these files.
pub(crate) fn import(source: &str, files: &[(&str, Vec<u8>)]) -> Result<Imported<Valid<Scene>>, Diag> {
    gltf::import(&mut memory_files(files), &RelPath::new(source).unwrap())
}

/// Source files in memory.
pub(crate) fn memory_files(files: &[(&str, Vec<u8>)]) -> MemoryFiles {
    files.iter().map(|(path, bytes)| (RelPath::new(*path).unwrap(), bytes.clone())).collect()
}
