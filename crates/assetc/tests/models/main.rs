//! Models with the library: small synthetic glTF files and their compiled outputs.

mod clusters;
mod compress;
mod extra;
mod files;
mod layout;
mod materials;
#[path = "../../../import/tests/gltf/model.rs"]
#[allow(dead_code, reason = "the builder is shared with the tests of the importer")]
mod model;
mod placement;
mod pose;
mod project;
mod scene;
mod shapes;
mod sharing;
mod skins;
