//! The document that is written again: its JSON tree, accessors and images.

use kiln_diagnostics::Diag;
use kiln_import::gltf::{AccessorData, DracoPrimitive, SourceDocument};
use kiln_ir::ImageSource;

use crate::tree::{self, Json};

/// A document with its binary data.
pub(crate) trait Source {
    /// Returns the JSON tree.
    fn json(&self) -> Json;

    /// Decodes an accessor.
    fn accessor(&self, index: usize) -> Result<AccessorData, Diag>;

    /// Decodes a primitive with Draco compression; `None` for any other.
    fn draco(&self, mesh: usize, primitive: usize) -> Result<Option<DracoPrimitive>, Diag>;

    /// Reads an image, not decoded.
    fn image(&self, index: usize) -> Result<ImageSource, Diag>;
}

impl Source for SourceDocument<'_, '_> {
    fn json(&self) -> Json {
        tree::owned(SourceDocument::json(self))
    }

    fn accessor(&self, index: usize) -> Result<AccessorData, Diag> {
        SourceDocument::accessor(self, index)
    }

    fn draco(&self, mesh: usize, primitive: usize) -> Result<Option<DracoPrimitive>, Diag> {
        SourceDocument::draco(self, mesh, primitive)
    }

    fn image(&self, index: usize) -> Result<ImageSource, Diag> {
        SourceDocument::image(self, index)
    }
}
