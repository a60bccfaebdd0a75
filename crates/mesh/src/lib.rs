//! Mesh algorithms on slices: what happens between a decoded model and the bytes of a runtime mesh.
//!
//! Every stage is a function of its own over plain slices; [`process()`] runs them in the right order. Nothing here
//! reads files, prints, or knows a file format. The same input gives the same output on every number of threads:
//! work is cut by the size of the input, never by the number of workers.
//!
//! | stage | module |
//! |---|---|
//! | influences of a skin: the four largest, summing to one | [`skin`] |
//! | normals where there are none | [`normals`] |
//! | equal vertices become one | [`weld`] |
//! | tangents, as MikkTSpace makes them, in glTF's handedness | [`tangents`] |
//! | a node's matrix baked in, mirrored ones too | [`transform`] |
//! | order for vertex cache, overdraw and vertex fetch | [`order`] |
//! | clusters for mesh shaders, with culling bounds | [`meshlets`] |
//! | levels of detail | [`simplify`] |
//! | box and sphere | [`bounds`] |
//! | unit vectors in 32 bits | [`octahedral`] |
//!
//! # Preconditions
//!
//! Indices reach the algorithms as [`Triangles`], which can only be made from indices that are in range. A slice of
//! attributes holds one element per vertex; a function that is handed a shorter one panics, and says so.
//! Coordinates are finite: [`process()`] checks, the single stages trust.

pub mod bounds;
mod high_valence;
pub mod meshlets;
pub mod normals;
pub mod octahedral;
pub mod order;
mod partition;
pub mod process;
pub mod simplify;
pub mod skin;
pub mod tangents;
pub mod transform;
mod triangles;
mod vector;
pub mod weld;

pub use process::{process, process_watched};
pub use triangles::{Error, Triangles};

#[cfg(test)]
mod samples;
