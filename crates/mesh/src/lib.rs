//! The mesh pipeline of `assetc` and `pak`. Its stages are private; [`process()`] runs them.
//!
#![doc = include_str!("../README.md")]

pub mod bounds;
pub mod clusters;
mod encode;
mod high_valence;
pub mod meshlets;
mod normals;
pub mod octahedral;
mod order;
pub mod packed;
mod partition;
mod process;
mod simplify;
mod skin;
mod tangents;
mod transform;
mod triangles;
mod vector;
mod weld;

pub use bounds::Bounds;
pub use encode::{VertexCodec, encode_indices, encode_triangles, encode_vertices};
pub use meshlets::Meshlets;
pub use process::{
    ExtraAttributes, LodRule, MeshInput, MeshOptions, MeshOutput, MorphInput, MorphTarget, Note,
    ShadowGeometry, Stage, TangentMode, Vertex, VertexStreams, process, process_streams, process_watched,
    working_set,
};
pub use simplify::Lod;
pub use skin::{InfluenceSet, Influences};
pub use transform::Transform;
pub use triangles::Error;
use triangles::Triangles;

#[cfg(test)]
mod samples;
