//! Models through the library: small glTF files, built piece by piece, and what becomes of them.

mod files;
mod layout;
mod materials;
#[path = "../../../import/tests/gltf/model.rs"]
#[allow(dead_code, reason = "the builder is shared with the tests of the importer")]
mod model;
mod placement;
mod pose;
mod project;
mod shapes;
mod sharing;
mod skins;
