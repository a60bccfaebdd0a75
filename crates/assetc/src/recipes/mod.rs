//! One file a kind of source.

pub(crate) mod array;
pub(crate) mod cubemap;
pub(crate) mod embed;
pub(crate) mod font;
pub(crate) mod light;
pub(crate) mod lut;
pub(crate) mod material;
pub(crate) mod mesh;
pub(crate) mod shader;
pub(crate) mod texture;

mod folder;
mod ktx;
