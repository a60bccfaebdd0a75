//! Kiln's neutral model: plain data that importers produce and algorithms and writers consume.
//!
//! Nothing here reads files, knows a byte layout or holds a type of an importer. Invariants that the rest of
//! the workspace relies on are established by constructors and cannot be broken afterwards; a [`Scene`], which
//! is too large to be built in one call, is plain until [`Scene::validate`] makes a [`Valid`] one of it.

pub mod anim;
pub mod image;
pub mod light;
pub mod lut;
pub mod material;
pub mod mesh;
pub mod scene;
pub mod skin;
pub mod transform;
pub mod valid;

pub use anim::{Animation, Channel, Interpolation, Property};
pub use image::{Image, Texels};
pub use light::LightMap;
pub use lut::Lut;
pub use material::{AlphaMode, ImageId, ImageSource, Material, MaterialId, Slot};
pub use mesh::{Mesh, MeshId, Primitive};
pub use scene::{Draw, DrawnSize, Node, NodeId, Scene};
pub use skin::{Skin, SkinId};
pub use transform::{Matrix, Transform, Trs, normalize, rotate};
pub use valid::{Flaw, Valid};
