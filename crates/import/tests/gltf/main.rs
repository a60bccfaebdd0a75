//! glTF import: every form that the specification allows, and malformed files.

mod accessors;
mod compression;
mod conformance;
mod files;
mod imported;
mod malformed;
mod materials;
mod model;
mod motion;
mod mutations;
mod placement;
mod primitives;
mod scene_data;
mod specular_glossiness;
mod support;
